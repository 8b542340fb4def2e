from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet.errors import RefusedError
from whet.library.card import Card
from whet.library.readiness import LocalProbe
from whet.library.roots import Root
from whet.library.state import Blocked
from whet.library.visibility import BY_COMMAND, MODEL, PERSON, Caller, Disabled, hidden, hidden_cards
from whet.notes import Note
from whet.skill.gates import OPEN, Gates, Tool
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library

NOBODY = Disabled(())
LINUX = LocalProbe({}, "linux", tools=["search"])
IN_CODEX = Caller(model=True, product="codex")


def card(gates: Gates = OPEN, *, name: str = "deploy", description: str = "Deploys.", namespace: str = "") -> Card:
    root = Root("/r", "user", namespace=namespace, real="/r")
    full = f"{namespace}:{name}" if namespace else name
    return Card("/r/d/SKILL.md", "/r/d", name, key(full), description, "", "skill", 0, 0, 0, 0, 0, "", root, gates)


def code(found: Note | None) -> str | None:
    return found.code if found else None


@pytest.mark.parametrize(
    ("gates", "caller", "expected"),
    [
        (OPEN, PERSON, None),
        (OPEN, MODEL, None),
        (Gates(platforms=("macos",)), PERSON, "wrong-platform"),
        (Gates(platforms=("macos",)), MODEL, "wrong-platform"),
        (Gates(platforms=("macos", "linux")), MODEL, None),
        (Gates(products=("claude",)), IN_CODEX, "other-product"),
        (Gates(products=("claude", "codex")), IN_CODEX, None),
        (Gates(products=("claude",)), MODEL, None),
        (Gates(user_invocable=False), PERSON, "model-only"),
        (Gates(user_invocable=False), MODEL, None),
        (Gates(model_invocable=False), MODEL, "explicit-only"),
        (Gates(model_invocable=False), PERSON, None),
        (Gates(fallback_for=(Tool("search"),)), MODEL, "fallback"),
        (Gates(fallback_for=(Tool("other"), Tool("search"))), MODEL, "fallback"),
        (Gates(fallback_for=(Tool("other"),)), MODEL, None),
        (Gates(fallback_for=(Tool("search"),)), PERSON, None),
        (Gates(paths=("*.py",)), Caller(model=True, files=("a.md",)), "paths"),
        (Gates(paths=("*.py",)), Caller(model=True, files=()), "paths"),
        (Gates(paths=("*.py", "*.md")), Caller(model=True, files=("x/a.md",)), None),
        (Gates(paths=("*.py",)), MODEL, None),
        (Gates(paths=("*.py",)), Caller(files=("a.md",)), None),
        (Gates(commands=("absent",)), MODEL, None),
    ],
)
def test_who_is_shown_what(gates: Gates, caller: Caller, expected: str | None) -> None:
    found = hidden(card(gates), caller, NOBODY, LINUX)
    assert code(found) == expected
    if found:
        assert found.message.endswith(".") and found.hint.endswith(".")


def test_a_template_is_shown_to_people_and_not_to_models() -> None:
    draft = card(description="Done says what it does in one sentence. Use when the user says so.")
    assert [code(hidden(draft, caller, NOBODY, LINUX)) for caller in (PERSON, MODEL)] == [None, "draft"]
    assert [code(reason) for _, reason in hidden_cards([draft], MODEL, NOBODY, LINUX)] == ["draft"]
    private = draft._replace(gates=Gates(model_invocable=False))
    assert code(hidden(private, MODEL, NOBODY, LINUX)) == "explicit-only", "this stays when it is finished"


def test_a_skill_that_says_nothing_is_not_shown() -> None:
    assert code(hidden(card(description=""), PERSON, NOBODY, LINUX)) == "description-missing"


# switched off


@pytest.mark.parametrize(
    ("entry", "surface", "asked_on", "expected"),
    [
        ("deploy", "", "", True),
        ("deploy", "", "mcp", True),
        ("deploy", "mcp", "mcp", True),
        ("deploy", "mcp", "", False),
        ("deploy", "mcp", "cli", False),
        ("Deploy", "", "", True),
        ("DEPLOY", "", "", True),
        ("user:deploy", "", "", True),
        ("org:deploy", "", "", False),
        # An entry is one whole name: neither a part of it nor something longer is meant.
        ("deploy-web", "", "", False),
        ("dep", "", "", False),
        ("e", "", "", False),
        ("", "", "", False),
        ("['deploy']", "", "", False),
        ("deploy,review", "", "", False),
        ("deploy*", "", "", False),
    ],
)
def test_an_entry_switches_off_exactly_the_skill_it_names(
    entry: str, surface: str, asked_on: str, expected: bool
) -> None:
    disabled = Disabled([(entry, surface, "config.toml")])
    found = hidden(card(), Caller(surface=asked_on), disabled, LINUX)
    assert code(found) == ("disabled" if expected else None)


def test_a_plugins_skill_is_switched_off_by_its_full_name() -> None:
    plugin = card(namespace="acme")
    for entry, expected in (("acme:deploy", "disabled"), ("deploy", None), ("acme", None)):
        assert code(hidden(plugin, PERSON, Disabled([(entry, "", "config.toml")]), LINUX)) == expected


def test_the_way_back_depends_on_who_switched_it_off() -> None:
    assert hidden(card(), PERSON, Disabled([("deploy", "", BY_COMMAND)]), LINUX) == Note(
        "disabled", "info", "Disabled by whet disable.", "Run `whet enable deploy` to enable it."
    )
    assert hidden(card(), PERSON, Disabled([("deploy", "", ".whet.toml")]), LINUX) == Note(
        "disabled", "info", "Disabled by .whet.toml.", "Remove it from `disabled` in .whet.toml to enable it."
    )


# in a library


def names(library: Library, caller: Caller = PERSON) -> list[str]:
    return [item["name"] for item in library.skills(caller=caller).to_json()["skills"]]


def test_every_place_to_switch_off_counts(
    tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library], config: Callable[..., None]
) -> None:
    home = str(tmp_path / "home" / ".agents" / "skills")
    for name in ("by-command", "by-config", "by-project", "on-mcp", "on-mcp-by-config", "stays"):
        skill(home, name)
    config('disabled = ["by_config"]\n[disabled_on]\nmcp = ["on-mcp-by-config"]\n')
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".whet.toml").write_text('disabled = ["By-Project"]')
    library = opened()
    assert names(library) == ["by-command", "by-project", "on-mcp", "on-mcp-by-config", "stays"]
    library.settings.trust()
    library.settings.disable("by-command")
    library.settings.disable("on-mcp", "mcp")
    assert names(library) == ["on-mcp", "on-mcp-by-config", "stays"]
    assert names(library, Caller(model=True, surface="mcp")) == ["stays"]
    reasons = {entry.skill: entry.message for entry in library.workspace.report() if entry.code == "disabled"}
    assert reasons == {
        "by-command": "Disabled by whet disable.",
        "by-config": "Disabled by config.toml.",
        "by-project": "Disabled by .whet.toml.",
    }
    everything = library.skills(include_hidden=True).to_json()["skills"]
    assert {item["name"]: item.get("hidden") for item in everything} == {
        "by-command": "disabled",
        "by-config": "disabled",
        "by-project": "disabled",
        "on-mcp": None,
        "on-mcp-by-config": None,
        "stays": None,
    }


def test_a_scalar_entry_hides_no_part_of_its_name(
    tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library], config: Callable[..., None]
) -> None:
    for name in ("deploy", "dep", "deploy-web", "ploy"):
        skill(str(tmp_path / "home" / ".agents" / "skills"), name)
    config('disabled = "deploy"')
    assert names(opened()) == ["dep", "deploy-web", "ploy"]


MORE = {
    "wrong-platform": "platforms: [beos]\n",
    "other-product": "",
    "explicit-only": "disable-model-invocation: true\n",
    "model-only": "user-invocable: false\n",
    "paths": 'paths: ["*.py"]\n',
    "fallback": "metadata: {hermes: {fallback_for_tools: [search]}}\n",
}


def test_every_reason_reaches_the_caller(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    for name, more in MORE.items():
        skill(root, name, more=more)
    os.mkdir(f"{root}/other-product/agents")
    with open(f"{root}/other-product/agents/openai.yaml", "w") as file:
        file.write("policy: {products: [chatgpt]}")
    skill(root, "open")
    caller = Caller(model=True, product="codex", files=("a.md",))
    library = opened(root, platform="linux", probe=LINUX)
    shown = {
        item["name"]: item.get("hidden")
        for item in library.skills(caller=caller, include_hidden=True).to_json()["skills"]
    }
    assert shown == {**{name: name for name in MORE}, "model-only": None, "open": None}
    assert names(library, caller) == ["model-only", "open"]
    for name in MORE:
        if name == "model-only":
            continue
        with pytest.raises(RefusedError) as caught:
            library.read(name, caller=caller)
        assert caught.value.code == name
        assert caught.value.hint
    reported = {entry.code for entry in library.workspace.report()}
    assert {"wrong-platform", "model-only"} <= reported


def test_a_person_may_look_at_anything(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    skill(root, "elsewhere", more="platforms: [beos]\n")
    answer = opened(root, platform="linux").read("elsewhere").to_json()
    assert answer["content"] == "Body.\n"
    assert answer["hidden"] == {
        "code": "wrong-platform",
        "message": "It is for beos; this is linux.",
        "hint": "Use it there.",
    }


def test_what_the_guard_keeps_back_is_hidden_from_everyone() -> None:
    made = card()
    blocked = Blocked("It steals keys.", "dangerous")
    disabled = Disabled((), {made.resolved: blocked})
    for caller in (PERSON, MODEL):
        reason = hidden(made, caller, disabled, LINUX)
        assert reason is not None
        assert (reason.code, reason.message) == ("guard-blocked", "It steals keys.")
    assert hidden(made, PERSON, Disabled((), {"/else": blocked}), LINUX) is None

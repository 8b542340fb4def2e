"""What clients load: `list --client`, the verdicts of `list --all` and `show`, `doctor`, `skill validate --client`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen

    Whet = Callable[..., CompletedProcess[str]]


@pytest.fixture
def skills(home: Path) -> Path:
    """Three skills in the shared root, and the homes of three clients."""
    root = home / ".agents" / "skills"
    for client in (".claude", ".codex", ".copilot"):
        (home / client).mkdir()
    for name, head in (
        ("colon", "name: colon\ndescription: Use when: there is a colon"),
        ("long", f"name: long\ndescription: {'x' * 1100}"),
        ("private", "name: secret\ndescription: For people.\ndisable-model-invocation: true"),
    ):
        (root / name).mkdir(parents=True)
        (root / name / "SKILL.md").write_text(f"---\n{head}\n---\n\nDo it.\n", encoding="utf-8")
    return root


@pytest.mark.usefixtures("skills")
def test_the_list_of_a_client_is_what_it_shows(whet: Whet) -> None:
    run = whet("list", "--client", "codex")
    shown = f"colon\tUse when: there is a colon\nlong\t{'x' * 1021}...\nsecret\tFor people.\n"
    assert (run.returncode, run.stdout) == (0, shown)
    assert run.stderr == "Codex lists 3 skills here (tested with Codex 0.166.0).\n"
    found = json.loads(whet("list", "--client", "Copilot CLI", "--json").stdout)
    assert (found["client"], found["count"], found["skills"]) == ("copilot", 0, [])
    assert {skill["name"]: skill["reason"] for skill in found["left_out"]} == {
        "colon": "invalid YAML",
        "long": "description over 1,024 characters",
        "secret": "only for users",
    }


def test_a_list_says_which_context_window_it_needs(whet: Whet, skills: Path) -> None:
    for number in range(8):
        path = skills / f"more-{number}" / "SKILL.md"
        path.parent.mkdir()
        path.write_text(f"---\nname: more-{number}\ndescription: {'x' * 1000}\n---\n\nDo it.\n", encoding="utf-8")
    found = json.loads(whet("list", "--client", "codex", "--json").stdout)
    lines = [f"- {skill['name']}: {skill['description']} (file: {skill['path']})\n" for skill in found["skills"]]
    assert found["window"] == -(-sum(map(len, lines)) // 4) * 50  # 2 % of it is the list, at four bytes a token
    assert whet("list", "--client", "codex").stderr.splitlines() == [
        "Codex lists 11 skills here (tested with Codex 0.166.0).",
        f"With a context window below about {found['window']:,} tokens, it {found['over']}.",
    ]


@pytest.mark.usefixtures("skills")
def test_what_was_not_measured_is_not_claimed(whet: Whet) -> None:
    told = whet("list", "--client", "zed").stderr.splitlines()
    assert (told[0], told[-1]) == (
        "Zed should list 1 skill here (not tested with Zed itself).",
        "hint: Zed does not seem to be installed here.",
    )


def test_a_client_nobody_knows_is_refused(whet: Whet) -> None:
    run = whet("list", "--client", "codx")
    assert (run.returncode, run.stderr) == (1, "error: There is no client 'codx'.\nhint: Did you mean codex?\n")


@pytest.mark.usefixtures("skills")
def test_the_list_says_which_clients_load_each_skill(
    whet: Whet, plugin: Callable[..., None], shown: Callable[..., Screen]
) -> None:
    plugin("theirs")
    found = json.loads(whet("list", "--all", "--json").stdout)["skills"]
    assert next(skill["clients"] for skill in found if skill["name"] == "colon") == {
        "claude-code": "no, not in its directories",
        "codex": "yes",
        "copilot": "no, invalid YAML",
    }
    assert (
        next(skill["clients"]["codex"] for skill in found if skill["name"] == "long") == "yes, cut at 1,024 characters"
    )
    screen = shown("list", "--all")
    own, theirs = screen.text().split("\n\n")
    assert [line.split()[:2] for line in own.splitlines()[:2]] == [["Your", "skills"], ["SKILL", "LOADED"]]
    assert [line.split()[:2] for line in own.splitlines()[2:]] == [
        [name, "codex"] for name in ("colon", "long", "secret")
    ]
    assert theirs.splitlines()[0] == "Plugin team"
    assert screen.hints == ["`whet sync` links your skills to clients that do not look in ~/.agents/skills."]
    lines = [line.split("\t") for line in whet("list", "--all").stdout.splitlines()]
    assert [(line[0], *line[2:]) for line in lines if line[2] == "user"] == [
        (name, "user", "codex", "") for name in ("colon", "long", "secret")
    ]


@pytest.mark.usefixtures("skills")
def test_show_says_it_too(whet: Whet) -> None:
    lines = whet("show", "secret").stdout.splitlines()
    assert "codex          loads it, though only for users" in lines
    assert "copilot        does not load it: only for users" in lines


def test_doctor_names_what_clients_drop_cut_and_show(whet: Whet, skills: Path) -> None:
    notes = json.loads(whet("doctor", "--json").stdout)["report"]
    told = [(note["code"], note["skill"], note["message"]) for note in notes if note["code"].startswith("client-")]
    assert told == [
        ("client-drops", "colon", "Copilot CLI does not load this skill: invalid YAML."),
        ("client-drops", "long", "Copilot CLI does not load this skill: description over 1,024 characters."),
        (
            "client-shows",
            "secret",
            "Codex shows this skill to the model, although `disable-model-invocation` is set.",
        ),
        ("client-cuts", "long", "Codex shows the description cut at 1,024 characters."),
        (
            "client-elsewhere",
            "",
            "Claude Code does not load 3 skills of yours, because it does not look in ~/.agents/skills.",
        ),
    ]
    assert all(note["path"].startswith(str(skills)) for note in notes if note["code"].startswith("client-"))


@pytest.mark.usefixtures("skills")
def test_a_broken_link_in_place_of_a_clients_directory_is_named(whet: Whet, home: Path) -> None:
    link = home / ".claude" / "skills"
    link.symlink_to("nowhere")
    hint = f"{link} is a broken link. Delete it or restore its target, then run `whet sync`."
    notes = json.loads(whet("doctor", "--json").stdout)["report"]
    assert [note["hint"] for note in notes if note["code"] == "client-elsewhere"] == [hint]
    done = whet("sync", "claude-code")
    later = "0 changes made. Skills that you add later are linked, too."
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"claude-code: {hint}\n{later}\n")


@pytest.mark.usefixtures("skills")
def test_a_disabled_skill_says_how_to_hide_it_from_a_client(
    whet: Whet, home: Path, shown: Callable[..., Screen]
) -> None:
    path = home / ".agents" / "skills" / "colon" / "SKILL.md"
    hiding = f"To hide it from Codex, add `[[skills.config]]` with `path = '{path}'` and `enabled = false` to its "
    assert hiding in whet("skill", "disable", "colon").stderr
    whet("skill", "disable", "long"), whet("skill", "disable", "secret")
    assert shown("list", "--all").hints == [], "sync links no disabled skill"
    notes = json.loads(whet("doctor", "--json").stdout)["report"]
    assert [note["hint"].startswith(hiding) for note in notes if note["code"] == "disabled"].count(True) == 1
    (home / ".codex" / "config.toml").write_text(
        f'[[skills.config]]\npath = "{path}"\nenabled = false\n[[skills.config]]\nname = "long"\nenabled = false\n'
        '[[skills.config]]\nname = "long"\nenabled = true\n[[skills.config]]\nenabled = false\n',
        encoding="utf-8",
    )
    found = json.loads(whet("list", "--client", "codex", "--json").stdout)
    assert [skill["name"] for skill in found["skills"]] == ["long", "secret"]
    assert [(skill["name"], skill["reason"]) for skill in found["left_out"]] == [
        ("colon", f"hidden by {home}/.codex/config.toml")
    ]
    (home / ".codex" / "config.toml").write_text("skills = 1\n", encoding="utf-8")
    assert json.loads(whet("list", "--client", "codex", "--json").stdout)["count"] == 3


def test_a_shadowed_skill_that_a_client_loads_is_listed(whet: Whet, home: Path, shown: Callable[..., Screen]) -> None:
    mine, theirs = (home / client / "skills" / "pdf" / "SKILL.md" for client in (".agents", ".claude"))
    (home / ".cursor").mkdir()
    for path in (mine, theirs):
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: pdf\ndescription: Of {path.parts[-4]}.\n---\n\nDo it.\n", encoding="utf-8")
    found = json.loads(whet("list", "--all", "--json").stdout)
    assert "shadowed" not in found, "they are listed"
    assert [(skill["path"], skill.get("hidden"), skill["clients"]) for skill in found["skills"]] == [
        (str(mine.parent), None, {"claude-code": f"no, it loads {theirs} instead", "cursor": "yes"}),
        (str(theirs.parent), "shadowed", {"claude-code": "yes", "cursor": f"no, hidden by {mine}"}),
    ]
    pages = [json.loads(whet("list", "--all", "--limit", "1", "--json").stdout)]
    assert [(len(page["skills"]), page["next"]) for page in pages] == [(2, None)], "a page has whole names"
    assert json.loads(whet("list", "--json").stdout)["shadowed"] == 1
    assert shown("list", "--all").hints == [], "sync cannot link it"
    lines = whet("show", str(theirs.parent)).stdout.splitlines()
    assert f"cursor         does not load it: hidden by {mine}" in lines
    assert any(line.startswith(f"hidden         {mine.parent} (user) has this name") for line in lines)
    told = [(note["code"], note["message"]) for note in json.loads(whet("doctor", "--json").stdout)["report"]]
    message = f"{mine.parent} (user) has this name and takes precedence. Claude Code still loads this skill."
    assert [(code, text) for code, text in told if code in ("shadowed", "client-elsewhere")] == [("shadowed", message)]


def test_validate_asks_a_client(whet: Whet, skills: Path) -> None:
    path = str(skills / "colon")
    codes = [
        [finding["code"] for finding in json.loads(run.stdout)["results"][0]["findings"]]
        for run in (
            whet("skill", "validate", path, "--json"),
            whet("skill", "validate", path, "--client", "copilot", "--client", "codex", "--json"),
        )
    ]
    assert codes[1] == [*codes[0], "client-drops"]

"""What was installed is never changed at once by a model, whatever it comes through."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet import Library
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance
from whet.library.package import read_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "---\nname: deploy\ndescription: Deploys the shop. Use when asked to ship it.\n---\n# Deploy\n\nShip it.\n"
INSTALLED = "It is installed."
ORG = "An administrator installed it."
GALLERY = "commit-messages"
PATCH = {"action": "patch", "name": "deploy", "find": "Ship it.", "replace": "Send it."}
ACTIONS: dict[str, dict[str, Any]] = {
    "create": {"name": "deploy", "description": "Other.", "body": "# Other\n"},
    "edit": {"name": "deploy", "body": "# Other\n"},
    "patch": PATCH,
    "delete": {"name": "deploy"},
    "write_file": {"name": "deploy", "file_path": "references/a.md", "content": "A.\n"},
    "remove_file": {"name": "deploy", "file_path": "references/old.md"},
    "rename": {"name": "deploy", "new_name": "ship"},
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with an installed skill `deploy` and one of the user's own, `mine`."""
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: (str(tmp_path / "org"),))
    (tmp_path / "org" / "policy").mkdir(parents=True)
    (tmp_path / "org" / "policy" / "SKILL.md").write_text(TEXT.replace("deploy", "policy"), encoding="utf-8")
    source = tmp_path / "source" / "deploy"
    (source / "references").mkdir(parents=True)
    (source / "SKILL.md").write_text(TEXT, encoding="utf-8")
    (source / "references" / "old.md").write_text("Old.\n", encoding="utf-8")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    with opened(tmp_path) as library:
        library.sources.install(str(source))
        library.edit.create("mine", description="Does mine.", body="# Mine\n")
    return tmp_path


def opened(top: Path) -> Library:
    env = {"HOME": str(top / "home"), "PATH": ""}
    return Library.open(home=top / "state", project=top / "project", env=env)


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with opened(home) as made:
        yield made


def content(top: Path) -> dict[str, str]:
    root = top / "home/.agents/skills"
    return {path.name: digest(read_tree(str(path))) for path in sorted(root.iterdir()) if path.name[0] != "."}


def test_every_action_on_an_installed_skill_waits(library: Library, home: Path) -> None:
    before, tools = content(home), library.tools()
    for number, (action, given) in enumerate(ACTIONS.items(), 1):
        answer = tools.call("skill_manage", {"operations": [{"action": action, **given}]})
        told = (answer["success"], answer.get("staged"), answer.get("proposal"), answer.get("reason"))
        assert told == (True, True, number, INSTALLED), answer
    assert content(home) == before
    library.proposals.approve(len(ACTIONS))
    assert [*content(home)] == ["mine", "ship"]


AROUND: dict[str, tuple[list[dict[str, Any]], str]] = {
    "qualified": ([{**PATCH, "name": "user:deploy"}], INSTALLED),
    "batch": ([{"action": "edit", "name": "mine", "body": "# New\n"}, PATCH], INSTALLED),
    "delete and create": (
        [
            {"action": "delete", "name": "deploy"},
            {"action": "create", "name": "x", "description": "X.", "body": "# X\n"},
        ],
        INSTALLED,
    ),
    "taking a name": (
        [{"action": "rename", "name": "mine", "new_name": "policy"}],
        f"It takes the name of policy. {ORG}",
    ),
    "org patch": ([{"action": "patch", "name": "policy", "find": "Ship", "replace": "Send"}], ORG),
    "org create": ([{"action": "create", "name": "policy", "description": "Other.", "body": "# Other\n"}], ORG),
    "gallery patch": (
        [{"action": "patch", "name": GALLERY, "find": "# ", "replace": "## ", "all": True}],
        INSTALLED,
    ),
    "gallery create": (
        [{"action": "create", "name": GALLERY, "description": "Other.", "body": "# Other\n"}],
        INSTALLED,
    ),
}


def test_no_way_around_it(library: Library, home: Path) -> None:
    library.sources.install(f"gallery:{GALLERY}")
    before, tools = content(home), library.tools()
    for operations, reason in AROUND.values():
        answer = tools.call("skill_manage", {"operations": operations})
        assert (answer.get("staged"), answer.get("reason")) == (True, reason), answer
    assert content(home) == before


def test_what_a_person_removed_is_not_brought_back_by_a_model(library: Library, home: Path) -> None:
    library.sources.uninstall("deploy")
    before = content(home)
    answer = library.tools().call("skill_manage", {"action": "restore", "name": "deploy"})
    assert (answer["staged"], answer["reason"]) == (True, INSTALLED)
    assert content(home) == before


def test_a_copy_of_it_for_another_client_waits_too(library: Library, home: Path) -> None:
    library.sources.sync(library.sources.plan_sync("claude-code", how="copy"))
    copy = home / "home/.claude/skills/deploy/SKILL.md"
    before = copy.read_text(encoding="utf-8")
    answer = library.tools().call("skill_manage", {**PATCH, "name": str(copy)})
    assert (answer["staged"], answer["reason"]) == (True, INSTALLED)
    assert copy.read_text(encoding="utf-8") == before


def test_a_damaged_lock_protects_nothing_less(library: Library, home: Path) -> None:
    (home / "home/.agents/whet-lock.json").write_text("{", encoding="utf-8")
    assert library.tools().call("skill_manage", PATCH)["reason"] == INSTALLED


def test_what_is_the_users_own_and_what_a_person_does_are_as_before(library: Library, home: Path) -> None:
    answer = library.tools().call("skill_manage", {"action": "edit", "name": "mine", "body": "# Newer\n"})
    assert (answer["success"], answer.get("staged")) == (True, None)
    assert library.edit.patch("deploy", find="Ship it.", replace="Send it.").proposal is None
    assert "Send it." in (home / "home/.agents/skills/deploy/SKILL.md").read_text(encoding="utf-8")


def test_a_skill_distilled_under_its_name_waits(library: Library, home: Path) -> None:
    messages = [
        {"role": "user", "content": "Deploy the shop to staging and check the links."},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "c0",
                    "type": "function",
                    "function": {"name": "Bash", "arguments": json.dumps({"command": "make deploy"})},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c0", "content": "done"},
        {"role": "assistant", "content": "It is deployed."},
        {"role": "user", "content": "Thanks, that worked."},
    ]
    before = content(home)
    given = {"messages": messages, "answers": {"name": "deploy"}, "finish": True}
    answer = library.tools().call("skill_distill", given)
    assert (answer.get("staged"), answer.get("reason")) == (True, INSTALLED), answer
    assert content(home) == before


def test_background_work_waits_too(library: Library, home: Path) -> None:
    tree = digest(read_tree(str(home / "home/.agents/skills/deploy")))
    made = library.edit.apply([PATCH], Provenance("agent", "background"), viewed=lambda _, seen: seen == tree)
    assert (made.proposal, made.reason) == (1, INSTALLED)


def test_the_curator_leaves_it_alone_where_an_agent_had_made_one_before(home: Path) -> None:
    now = [1_800_000_000 * 10**9]
    env = {"HOME": str(home / "home"), "PATH": ""}
    with Library.open(home=home / "state", project=home / "project", env=env, clock=lambda: now[0]) as library:
        library.sources.uninstall("deploy")
        library.edit.apply(
            [{"action": "create", "name": "release", "description": "Releases.", "body": "# Release\n"}],
            Provenance("agent"),
        )
        library.edit.delete("release")
        source = home / "source" / "release"
        source.mkdir()
        (source / "SKILL.md").write_text("---\nname: release\ndescription: Releases it.\n---\nRelease it.\n")
        library.sources.install(str(source))
        library.learning.curating.curate(apply=True)
        now[0] += 400 * 24 * 3600 * 10**9
        library.learning.curating.curate(apply=True)
        now[0] += 400 * 24 * 3600 * 10**9
        assert not library.learning.curating.curate(apply=True).entries
    assert "release" in content(home)

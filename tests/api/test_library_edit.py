"""The half of the front door that changes skills, as a program uses it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from whet import Library, UsageError
from whet.authoring.journal import Edit, Note
from whet.authoring.operations import schema
from whet.authoring.writer import Provenance
from whet.library import card as card_module
from whet.library.skill_id import SkillId, skill_id
from whet.skill.schema import describe_problems
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.library.roots import Root

DEPLOY = {
    "action": "create",
    "name": "deploy",
    "description": "Deploys the shop to staging. Use when asked to ship it.",
    "body": "# Deploy\n\nRun the tests, then ship.\n",
}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.toml").write_text("exact_tokens = false\n")
    (tmp_path / "project").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": ""}
    with Library.open(home=tmp_path / "state", project=tmp_path / "project", env=env) as made:
        yield made


def test_a_new_skill_is_told_what_it_resembles(library: Library) -> None:
    assert library.edit.apply([DEPLOY]).to_json()["similar"] == []
    again = {**DEPLOY, "name": "ship-shop", "description": "Deploys the shop to production. Use when asked to ship it."}
    (similar,) = library.edit.apply([again]).to_json()["similar"]
    assert (similar["name"], similar["score"] > 0.35) == ("deploy", True)
    assert library.edit.apply([DEPLOY | {"body": "# Deploy\n\nShip.\n"}]).to_json()["similar"] == [], (
        "an improvement is no newcomer"
    )


def test_changes_are_counted_and_a_rename_keeps_the_counts(library: Library) -> None:
    library.edit.apply([DEPLOY], by=Provenance("agent"))
    library.edit.apply(
        [{"action": "patch", "name": "deploy", "find": "ship.", "replace": "ship it."}], by=Provenance("agent")
    )
    library.learning.record("use", library.card("deploy"), "sha256:0")
    library.edit.apply([{"action": "rename", "name": "deploy", "new_name": "ship"}])
    (total,) = library.learning.usage.totals()
    assert (total.skill, total.uses, total.patches) == ("~/.agents/skills/ship", 1, 2)


def test_how_a_skill_did_is_noted(library: Library) -> None:
    library.edit.apply([DEPLOY])
    assert library.learning.note_outcome("deploy", "helped").to_json() == {
        "success": True,
        "name": "deploy",
        "outcome": "helped",
        "recorded": True,
    }
    library.learning.note_outcome("deploy", "corrected")
    (total,) = library.learning.usage.totals()
    assert (total.helped, total.failed, total.corrected) == (1, 0, 1)
    with pytest.raises(UsageError) as caught:
        library.learning.note_outcome("deploy", "great")
    assert caught.value.code == "bad-outcome"


def test_what_is_used_most_is_listed_when_not_all_fits(library: Library) -> None:
    names = [f"skill-{number:03}" for number in range(30)]
    for start in range(0, 30, 15):
        library.edit.apply([{**DEPLOY, "name": name} for name in names[start : start + 20]])
    left_out = library.index(200).to_json()["report"]["omitted_names"][0]
    library.learning.record("use", library.card(left_out), "sha256:0")
    assert left_out in library.index(200).text


def test_ranking_by_use_looks_only_at_skills_that_were_used(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.edit.apply([{**DEPLOY, "name": f"skill-{number:03}"} for number in range(20)])
    library.learning.record("use", library.card("skill-007"), "sha256:0")
    catalogue, known = library.catalogue, list[str]()
    real = skill_id

    def count(path: str, root: Root) -> SkillId:
        known.append(path)
        return real(path, root)

    monkeypatch.setattr(card_module, "skill_id", count)
    used = library.learning.used(catalogue)
    assert ({name: use.times for name, use in used.items()}, len(known)) == ({"skill-007": 1}, 1)


def test_the_tool_answers_whatever_it_is_called_with(library: Library) -> None:
    assert library.session().manage({"operations": [DEPLOY], "reason": "Asked."}).one().created
    (entry,) = library.edit.history.entries("deploy").to_json()["entries"]
    assert (entry["actor"], entry["reason"]) == ("agent", "Asked.")
    patch = {"action": "patch", "name": "deploy", "find": "then ship", "replace": "then wait"}
    assert library.session().manage(patch).one().replacements == 1
    odd: list[Any] = [None, [], {}, {"operations": {}}, {"operations": [1]}, {"operations": [{"action": "explode"}]}]
    odd += [
        {"operations": []},
        {"operations": [patch], "why": "x"},
        {"operations": [patch], "reason": 3},
        {**patch, "content": "x"},
    ]
    assert all(describe_problems(arguments, schema()["parameters"], "it") for arguments in odd)
    for arguments in odd:
        with pytest.raises(UsageError) as caught:
            library.session().manage(arguments)
        answer = library.tools().call("skill_manage", arguments)
        assert (answer["success"], bool(answer["hint"]), bool(caught.value.hint)) == (False, True, True)
        assert {answer["code"], caught.value.code} <= {"bad-operations", "bad-operation", "bad-arguments"}


def test_the_schema_names_every_field_and_nothing_else() -> None:
    items = schema()["parameters"]["properties"]["operations"]["items"]["anyOf"]
    assert {item["properties"]["action"]["const"]: sorted(item["properties"]) for item in items} == {
        "create": ["action", "body", "category", "description", "name", "version"],
        "edit": ["action", "body", "name", "version"],
        "patch": ["action", "all", "file_path", "find", "name", "replace", "tolerant", "version"],
        "delete": ["action", "name"],
        "write_file": ["action", "content", "executable", "file_path", "name", "version"],
        "remove_file": ["action", "file_path", "name", "version"],
        "rename": ["action", "name", "new_name"],
        "restore": ["action", "name"],
    }
    assert all(item["additionalProperties"] is False for item in items)
    json.dumps(schema())


def test_a_conversation_is_warned_when_it_changes_what_it_has_not_seen(library: Library) -> None:
    library.edit.apply([DEPLOY])
    session = library.session()
    change = {"action": "patch", "name": "deploy", "find": "then ship", "replace": "then ship it"}
    assert "deploy was changed without being viewed first." in session.manage(change).notes
    session.view("deploy")
    back = {"action": "patch", "name": "deploy", "find": "then ship it", "replace": "then ship"}
    assert "deploy was changed without being viewed first." not in session.manage(back).notes


def test_a_conversation_counts_what_it_uses(library: Library) -> None:
    library.edit.apply([DEPLOY])
    session = library.session()
    session.view("deploy")
    session.invoke("/deploy now")
    (total,) = library.learning.usage.totals()
    assert (total.views, total.uses) == (1, 1)


def test_writes_wait_where_the_settings_say_so(library: Library) -> None:
    with open(os.path.join(library.workspace.place.state, "config.toml"), "a", encoding="utf-8") as file:
        file.write("stage_writes = true\n")
    answer = library.edit.apply([DEPLOY]).to_json()
    assert (answer["staged"], library.skills().total) == (True, 0)
    library.edit.proposals.approve(answer["proposal"])
    assert library.skills().total == 1


def test_what_a_model_creates_has_trigger_evals_once_it_is_approved(library: Library) -> None:
    proposed = library.session().manage(DEPLOY, stage=True)
    assert proposed.proposal is not None
    library.edit.proposals.approve(proposed.proposal)
    card = library.card("deploy")
    assert sorted(os.listdir(card.directory)) == ["SKILL.md", "evals"]
    assert os.listdir(os.path.join(card.directory, "evals")) == ["triggers.generated.json"]


def test_the_doctor_tells_of_an_interrupted_change_and_settles_it(library: Library) -> None:
    library.edit.apply([DEPLOY])
    journal = library.edit.journal
    path = os.path.realpath(library.card("deploy").directory)
    note = Note("agent", "foreground", "delete", "deploy", path, "", journal.entries()[-1].after, "", "", "r1")
    journal.begin(Edit("r1", (note,)))
    with FileLock(lock_path(library.workspace.place.state, "skill", path), timeout=1):  # as if its writer were alive
        assert "interrupted-change" in [entry.code for entry in library.doctor()]
        assert library.settle() == ()
    assert library.repair().to_json()["repaired"] == ["A change to deploy was incomplete; it is undone."]
    assert "interrupted-change" not in [entry.code for entry in library.doctor()]
    assert library.skills().total == 1


def test_a_check_that_says_no_is_obeyed(tmp_path: Path) -> None:
    from whet.guard.policy import Decision

    def check(name: str, after: Any, actor: str) -> Decision:
        return Decision("block", f"{name} of {actor} with {len(after)} file is dangerous.", verdict="dangerous")

    with Library.open([tmp_path / "skills"], home=tmp_path / "state", env={"PATH": ""}, check=check) as library:
        answer = library.tools().call("skill_manage", DEPLOY)
        assert (answer["code"], answer["success"]) == ("blocked", False)
        assert not os.path.exists(tmp_path / "skills" / "deploy")

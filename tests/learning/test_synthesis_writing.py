"""What is written of a session, whoever asked for it: one batch, told as one change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from learning.episodes import bash, says, session, user, write
from learning.test_synthesis_learning import Clock, migration
from whet.api import Library
from whet.errors import RefusedError
from whet.routing.evals.generated import FILE
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import read_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.learning.transcripts.events import Transcript


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    env = {"HOME": str(home), "PATH": ""}
    with Library.open(home=home / "state", project=home / "project", env=env, clock=Clock()) as made:
        yield made


def scripted(rows: int, name: str) -> Transcript:
    """A session with a script that is too long for a body."""
    lines = "\n".join(f"print('row {n}', {n} * {n + 1}, 'and a text that fills the line {n}')" for n in range(rows))
    return session(
        user("Write the report script /srv/report.py and run it."),
        write("/srv/report.py", lines),
        bash("python /srv/report.py", "ok"),
        bash("python /srv/report.py --check", "ok"),
        bash("git add report.py", "ok"),
        bash("git commit -m report", "ok"),
        says("Done."),
        project="/srv",
        name=name,
    )


def test_a_skill_with_files_is_one_change_without_remarks(library: Library) -> None:
    answer = library.learning.distill(scripted(400, "first")).to_json()
    paths = {item["path"] for item in library.read(answer["skill"]).to_json()["files"]}
    (file,) = paths - {"SKILL.md", FILE}
    assert file.startswith("templates/")
    assert FILE in paths
    assert (answer["warnings"], answer["version"], answer["entry"]) == ([], "1", answer["entries"][-1])
    again = library.learning.distill(scripted(401, "second")).to_json()
    assert (again["skill"], again["version"], again["warnings"]) == (answer["skill"], "2", [])


def test_of_several_operations_only_what_holds_in_the_end_is_told(library: Library) -> None:
    body = "# Notes\n\nRead `references/a.md` and `references/b.md`.\n"
    create = {"action": "create", "name": "notes", "description": "Writes notes. Use when asked.", "body": body}
    file = {"action": "write_file", "name": "notes", "file_path": "references/a.md", "content": "a", "version": "keep"}
    told = [
        text
        for text in library.edit.apply([create, file]).to_json()["warnings"]
        if "in the skill" in text or "version" in text
    ]
    assert told == ["references/b.md does not exist in the skill."]


def test_what_a_dry_run_foresees_is_what_is_written(library: Library) -> None:
    versions = []
    for transcript in (scripted(400, "first"), scripted(401, "second"), scripted(401, "second")):
        foreseen = library.learning.distill(transcript, dry_run=True).to_json()
        written = library.learning.distill(transcript).to_json()
        assert (foreseen["skill"], foreseen["created"]) == (written["skill"], written["created"])
        versions.append((foreseen["version"], written["version"]))
    assert versions == [("1", "1"), ("2", "2"), ("2", "2")]


def test_a_session_learned_from_and_then_distilled_counts_once(library: Library) -> None:
    name = library.learning.learn(migration(), write=True).to_json()["sessions"][0]["skill"]
    again = library.learning.distill(migration()).to_json()
    assert (again["skill"], again["version"], again["entry"]) == (name, "1", None)


@pytest.mark.parametrize(
    ("lines", "context"),
    [
        ("metadata:\n  context: fork\n", "fork"),
        ("context: inline\nmetadata:\n  context: fork\n", "inline"),
        ("metadata:\n  context: Fork\n", "fork"),
        ("", "inline"),
    ],
)
def test_a_context_in_the_metadata_is_one(lines: str, context: str) -> None:
    skill = read_skill(read_document(f"---\nname: a\ndescription: b\n{lines}---\nDo it.\n"))
    assert skill.execution.context == context


def test_a_distilled_skill_that_runs_apart_says_so_to_the_model(library: Library) -> None:
    name = library.learning.distill(migration(), answers={"fork": True}).to_json()["skill"]
    assert "context: fork" in library.edit.open_text(name).data.decode()
    with pytest.raises(RefusedError) as caught:
        library.render(name)
    assert caught.value.code == "runs-apart"

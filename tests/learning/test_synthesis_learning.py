"""From a session to a proposal, on a real library."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from learning.episodes import bash, edit, says, session, user
from learning.outlines import TABLE
from learning.recordings import claude_code
from whet.api import Library
from whet.authoring.writer import Provenance
from whet.errors import WhetError
from whet.learning.selection.budget import State
from whet.learning.selection.learn import Terms, learn, learn_from
from whet.learning.transcripts.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.learning.transcripts.events import Transcript

WRITE = Terms(write=True)
SECOND = 10**9
START = 1_800_000_000 * SECOND


class Clock:
    """A clock that is set by hand."""

    now = START

    def __call__(self) -> int:
        self.now += SECOND
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def library(tmp_path: Path, clock: Clock) -> Iterator[Library]:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    env = {"HOME": str(home), "PATH": ""}
    with Library.open(home=home / "state", project=home / "project", env=env, clock=clock) as made:
        yield made


def migration(*, correction: str = "", hitch: bool = True, name: str = "first") -> Transcript:
    """A session about one kind of task, with what makes it different from others of the kind."""
    failing = "alembic revision --autogenerate -m 'add column'"
    return session(
        user(
            "Add a column to the orders table with an Alembic migration and make sure that upgrade and downgrade work."
        ),
        bash(failing, "ERROR [alembic] Target database is not up to date.", failed=True) if hitch else [],
        bash("alembic upgrade head", "INFO Running upgrade"),
        edit("/srv/shop/models.py", "id = 1", "id = 1\n    archived_at = mapped_column(DateTime)"),
        bash("alembic revision --autogenerate -m 'add column to orders'", "Generating ... done"),
        user(correction) if correction else [],
        bash("alembic upgrade head && alembic downgrade -1", "INFO Running downgrade"),
        bash("pytest -q tests/test_orders.py", "4 passed"),
        says("Done: the migration is complete, both directions work."),
        project="/srv/shop",
        name=name,
    )


def failing() -> Transcript:
    """A session in which nothing worked."""
    return next(outline.transcript for outline in TABLE if outline.name == "never worked")


def names(library: Library) -> set[str]:
    return {card.name for card in library.catalogue.cards if card.scope == "user"}


def test_a_hard_session_becomes_a_proposal_and_nothing_else_changes(library: Library) -> None:
    report = learn(library.learning.context, migration()).to_json()
    assert (report["captured"], report["action"], report["staged"], report["version"]) == (True, "create", True, "1")
    assert names(library) == set()
    (proposal,) = library.proposals.pending().to_json()["proposals"]
    assert (proposal["id"], proposal["actor"], proposal["origin"]) == (report["proposal"], "agent", "background")
    assert proposal["reason"].startswith("Learned from claude-code session first, events ")
    assert library.proposals.approve(report["proposal"]).to_json()["state"] == "approved"
    assert names(library) == {report["skill"]}


def test_a_second_session_of_the_kind_improves_the_same_skill(library: Library) -> None:
    first = learn(library.learning.context, migration()).to_json()
    library.proposals.approve(first["proposal"])
    before = library.read(first["skill"]).content
    second = learn(
        library.learning.context, migration(correction="No, always name the revision after the table.", name="second")
    ).to_json()
    assert (second["captured"], second["action"], second["skill"]) == (True, "improve", first["skill"])
    assert (second["version"], second["staged"]) == ("2", True)
    assert library.read(first["skill"]).content == before
    library.proposals.approve(second["proposal"])
    after = library.read(first["skill"]).to_json()
    assert (after["version"], names(library)) == ("2", {first["skill"]})
    assert "always name the revision after the table." in after["content"]
    lines = [line for line in before.splitlines() if line.strip() and not line.strip().startswith("version:")]
    assert [line for line in lines if line not in after["content"]] == []


def test_a_session_that_adds_nothing_is_told_so(library: Library) -> None:
    library.proposals.approve(learn(library.learning.context, migration()).to_json()["proposal"])
    report = learn(library.learning.context, migration(name="again")).to_json()
    assert (report["captured"], report["code"]) == (False, "nothing-new")
    assert library.proposals.pending().to_json()["count"] == 0


def test_what_waits_is_not_proposed_twice(library: Library) -> None:
    first = learn(library.learning.context, migration()).to_json()
    report = learn(library.learning.context, migration(name="second")).to_json()
    assert (report["captured"], report["code"], report["proposal"]) == (False, "waiting", first["proposal"])
    assert library.proposals.pending().to_json()["count"] == 1


def test_what_was_rejected_is_not_proposed_again(library: Library) -> None:
    library.edit.proposals.reject(learn(library.learning.context, migration()).to_json()["proposal"], "no")
    report = learn(library.learning.context, migration(name="second")).to_json()
    assert (report["captured"], report["code"]) == (False, "rejected-before")


def test_a_rejected_improvement_is_not_proposed_again(library: Library) -> None:
    library.proposals.approve(learn(library.learning.context, migration()).to_json()["proposal"])
    said = "No, always name the revision after the table."
    library.edit.proposals.reject(
        learn(library.learning.context, migration(correction=said, name="second")).to_json()["proposal"], "no"
    )
    assert learn(library.learning.context, migration(correction=said, name="third")).to_json()["code"] == "nothing-new"


def test_with_write_an_agents_skill_is_written_and_a_persons_is_not(library: Library) -> None:
    first = learn(library.learning.context, migration(), WRITE).to_json()
    assert (first["staged"], names(library)) == (False, {first["skill"]})
    second = learn(
        library.learning.context, migration(correction="No, always name the revision after the table."), WRITE
    ).to_json()
    assert (second["staged"], second["version"]) == (False, "2")
    text = library.read(first["skill"]).content
    library.edit.apply([{"action": "delete", "name": first["skill"]}])
    about = "Adds a column to a table with an Alembic migration."
    library.edit.apply([{"action": "create", "name": "my-migrations", "description": about, "body": text}])
    third = learn(
        library.learning.context, migration(correction="No, never touch the production database."), WRITE
    ).to_json()
    assert (third["action"], third["skill"], third["staged"]) == ("improve", "my-migrations", True)


def test_a_pinned_skill_is_left_alone(library: Library) -> None:
    made = learn(library.learning.context, migration(), WRITE).to_json()
    library.settings.pin(made["skill"])
    report = learn(
        library.learning.context, migration(correction="No, always name the revision after the table.")
    ).to_json()
    assert (report["captured"], report["code"], report["skill"]) == (False, "not-ours", made["skill"])


def test_an_unresolved_failure_is_not_captured(library: Library) -> None:
    report = learn(library.learning.context, failing()).to_json()
    assert (report["captured"], report["code"], library.proposals.pending().to_json()["count"]) == (
        False,
        "unresolved",
        0,
    )


def test_a_dry_run_changes_nothing_at_all(library: Library) -> None:
    answer = learn_from(library.learning.context, [migration()], dry_run=True).to_json()
    assert answer["sessions"][0]["preview"].startswith("---\nname: ")
    assert (answer["captured"], answer["used"]) == (1, {"sessions": 0, "skills": 0, "tokens": 0})
    assert library.workspace.state.read("SELECT * FROM learning") == []
    assert library.proposals.pending().to_json()["count"] == 0


def saved(path: Path, transcript: Transcript) -> str:
    """A transcript as a file."""
    recorder = Recorder(str(path), client="claude-code", session=transcript.session, project=transcript.project)
    for event in transcript.events:
        if event.kind == "call":
            recorder.call(event.tool, event.given, event.id)
        elif event.kind == "result":
            recorder.result(event.text, event.id, failed=event.failed)
        else:
            {"user": recorder.user, "assistant": recorder.assistant, "note": recorder.note}[event.kind](event.text)
    return str(path)


def waits(library: Library, path: str, id_: str) -> None:
    """A session that hooks told of and that is over."""
    library.learning.sessions.note("claude-code", id_, transcript=path, tools=6, ended=True)


def test_all_that_wait_are_learned_from_the_newest_first(library: Library, tmp_path: Path) -> None:
    waits(library, saved(tmp_path / "a.jsonl", migration(name="a")), "a")
    waits(library, saved(tmp_path / "b.jsonl", failing()), "b")
    waits(library, str(tmp_path / "gone.jsonl"), "c")
    answer = learn_from(library.learning.context).to_json()
    told = [(report["session"], report["code"]) for report in answer["sessions"]]
    assert told == [
        ("claude-code:c", "transcript-missing"),
        ("claude-code:b", "unresolved"),
        ("claude-code:a", "hard"),
    ]
    assert (answer["captured"], answer["failed"], answer["left"]) == (1, 1, 0)
    assert library.learning.sessions.waiting() == ()
    assert learn_from(library.learning.context).to_json()["sessions"] == []


def test_the_allowance_and_the_limit_hold_back_what_waits(library: Library, tmp_path: Path) -> None:
    path = saved(tmp_path / "b.jsonl", failing())
    for number in range(4):
        waits(library, path, f"s{number}")
    first = learn_from(library.learning.context, limit=1).to_json()
    assert (len(first["sessions"]), first["stopped"], first["left"]) == (1, "limit", 3)
    account = State(library.workspace.state, library.workspace.clock)
    account.spend(sessions=account.left().sessions - 1)
    second = learn_from(library.learning.context).to_json()
    assert (len(second["sessions"]), second["stopped"], second["left"]) == (1, "allowance", 2)
    assert [seen.id for seen in library.learning.sessions.waiting()] == ["s0", "s1"]
    named = learn_from(library.learning.context, ["claude-code:s0"]).to_json()
    assert [report["session"] for report in named["sessions"]] == ["claude-code:s0"]


def test_rejections_stop_what_waits_but_not_what_is_named(library: Library, tmp_path: Path) -> None:
    hard = [outline.transcript for outline in TABLE if outline.code == "hard"]
    for transcript in (hard[0], hard[1], migration()):
        library.edit.proposals.reject(learn(library.learning.context, transcript).to_json()["proposal"], "no")
    path = saved(tmp_path / "b.jsonl", failing())
    waits(library, path, "s")
    answer = learn_from(library.learning.context).to_json()
    assert (answer["sessions"], answer["stopped"], answer["left"]) == ([], "breaker", 1)
    assert answer["stopped_why"].startswith("3 proposals in a row were rejected. Learning continues at 20")
    assert learn_from(library.learning.context, [path]).to_json()["sessions"][0]["session"] == "claude-code:s"


def test_a_new_skill_is_one_that_distill_would_have_made(library: Library) -> None:
    made = learn(library.learning.context, migration(), WRITE).to_json()
    name, main = made["skill"], os.path.join(made["place"], "SKILL.md")
    assert 'distilled-sessions: "1"' in Path(main).read_text()
    again = library.learning.distill(
        migration(correction="No, never touch the production database.", name="second")
    ).to_json()
    assert (again["skill"], again["version"], again["created"]) == (name, "2", False)
    assert 'distilled-sessions: "2"' in Path(main).read_text()
    entries = library.edit.history.entries(name).to_json()["entries"]
    assert [(entry["actor"], entry["reason"].partition(",")[0]) for entry in entries] == [
        ("agent", "Learned from claude-code session first"),
        ("user", "distilled from claude-code session second"),
    ]


def test_the_setting_says_what_becomes_of_a_session_that_is_over(library: Library, tmp_path: Path) -> None:
    found = {}
    for number, level in enumerate(("off", "note", "propose", "write")):
        config = tmp_path / "home" / "state" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        config.write_text(f'learn = "{level}"\n')
        report = library.learning.finish(
            next(one.transcript for one in TABLE[number + 2 :] if one.code == "hard")
        ).to_json()
        found[level] = (report["captured"], report["code"], report.get("staged"))
    assert found == {
        "off": (False, "learning-off", None),
        "note": (False, "learning-off", None),
        "propose": (True, "hard", True),
        "write": (True, "hard", False),
    }


def test_what_nobody_asked_for_is_held_back_and_fails_in_silence(library: Library) -> None:
    for _ in range(3):
        report = library.learning.finish("no/such/file").to_json()
        assert (report["captured"], report["code"]) == (False, "transcript-missing")
    report = library.learning.finish(migration()).to_json()
    assert (report["captured"], report["code"]) == (False, "breaker")
    assert report["why"][0].startswith("3 failures in a row, the last: There is no file no/such/file.")
    assert library.learning.learn(migration()).to_json()["captured"] == 1


def test_a_further_session_allows_no_further_tools(library: Library) -> None:
    made = learn(library.learning.context, migration(), WRITE).to_json()
    plain = migration(name="second")
    wider = plain._replace(events=(*plain.events[:-1], *bash("mypy src", "Success: no issues found"), plain.events[-1]))
    report = learn(library.learning.context, wider, WRITE).to_json()
    assert (report["skill"], report["staged"]) == (made["skill"], False)
    skill = library.read(made["skill"]).skill
    assert ("mypy src" in skill.body, "Bash(mypy:*)" in skill.allowed_tools) == (True, False)
    assert "The client asks before it runs `mypy`" in skill.body


def noted(library: Library, tmp_path: Path) -> Path:
    """The file of a session that hooks told of, and that waits."""
    path = claude_code(tmp_path / "s.jsonl", migration(name="s"))
    library.learning.sessions.note("claude-code", "s", transcript=str(path), tools=8, ended=True)
    return path


def test_a_session_that_does_not_wait_any_more_is_no_error(library: Library, tmp_path: Path) -> None:
    noted(library, tmp_path)
    (seen,) = library.learning.sessions.waiting()
    assert library.learning.finish(seen).to_json()["captured"]
    why = ["It is still running, or a skill has already been made from it."]
    assert library.learning.finish(seen).to_json() == {
        "captured": False,
        "evidence": [],
        "code": "not-waiting",
        "why": why,
    }


def test_state_that_cannot_be_kept_is_an_error_in_the_report(library: Library) -> None:
    with library.workspace.state.write() as connection:
        connection.execute("ALTER TABLE learning RENAME TO elsewhere")
    report = library.learning.finish(migration()).to_json()
    assert (report["captured"], report["code"], report["why"]) == (False, "state-failed", [report["error"]])


def test_a_model_that_cannot_be_opened_is_a_warning_in_the_report(library: Library, tmp_path: Path) -> None:
    (tmp_path / "home" / "state").mkdir()
    (tmp_path / "home" / "state" / "config.toml").write_text('model = "nobody:knows"\n')
    report = library.learning.finish(migration()).to_json()
    assert (report["captured"], [text.partition(":")[0] for text in report["warnings"]]) == (
        True,
        ["The skill was made without the configured model (bad-model)"],
    )


def test_a_path_is_as_good_as_its_text(library: Library, tmp_path: Path) -> None:
    path = noted(library, tmp_path)
    assert (
        library.learning.learn(path, dry_run=True).to_json()
        == library.learning.learn(str(path), dry_run=True).to_json()
    )


def test_a_transcript_in_memory_keeps_no_secret(library: Library) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    events = migration().events
    said = events[0]._replace(text=f"{events[0].text} The token is {token}; always use it.")
    spoken = migration()._replace(events=(said, *(event._replace(id="") for event in events[1:])))
    report = library.learning.learn(spoken).to_json()["sessions"][0]
    assert report["captured"]
    assert token not in json.dumps([report, library.proposals.show(report["proposal"]).to_json()])
    assert token not in json.dumps(library.learning.distill(spoken, dry_run=True).to_json())


@pytest.mark.parametrize("source", ["codex:none", "no/such/file", ""])
def test_a_session_that_is_not_there_is_an_error(library: Library, source: str) -> None:
    with pytest.raises(WhetError) as caught:
        learn_from(library.learning.context, [source])
    assert caught.value.code == ("transcript-missing" if "/" in source else "no-such-session")


def test_an_agent_loop_finds_the_step_in_its_transcript(library: Library, tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "loop.jsonl"), session="loop")
    for event in migration().events:
        if event.kind == "call":
            recorder.call(event.tool, event.given, event.id)
        elif event.kind == "result":
            recorder.result(event.text, event.id, failed=event.failed)
        elif event.kind == "user":
            recorder.user(event.text)
        else:
            recorder.assistant(event.text)
    report = library.learning.finish(recorder).to_json()
    call, result = recorder.transcript().events[-2:]
    assert (call.tool, dict(call.given)) == (
        "skill_create",
        {"action": "create", "skill": report["skill"], "proposal": report["proposal"]},
    )
    assert result.text == f"{report['skill']}, version 1, was proposed."
    assert '"skill_create"' in (tmp_path / "loop.jsonl").read_text()


def test_secrets_never_come_out(library: Library, tmp_path: Path) -> None:
    planted = ["ghp_" + "a1B2c3D4e5F6" * 3, "AKIA" + "Q7RSTUVWXYZ23456"]
    transcript = session(
        user(f"Publish the package to the index; the token is {planted[0]}."),
        bash(f"TOKEN={planted[0]} npm publish", f"error: invalid token {planted[0]}", failed=True),
        bash(f"export AWS_ACCESS_KEY_ID={planted[1]} && npm publish --registry https://index.example", "ok"),
        user(f"No, always read the token from the environment, never write {planted[0]}."),
        bash("npm publish --provenance", f"published with {planted[1]}"),
        bash("npm view package version", "1.0.0"),
        bash("git tag v1.0.0", ""),
        says("Done."),
        name="secret",
    )
    path = tmp_path / "session.jsonl"
    rows: list[dict[str, Any]] = [{"role": "user", "content": transcript.events[0].text}]
    for event in transcript.events[1:]:
        if event.kind == "call":
            call = {
                "id": event.id,
                "type": "function",
                "function": {"name": "Bash", "arguments": json.dumps(dict(event.given))},
            }
            rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif event.kind == "result":
            rows.append({"role": "tool", "tool_call_id": event.id, "content": event.text})
        else:
            rows.append({"role": event.kind, "content": event.text})
    path.write_text("\n".join(map(json.dumps, rows)))
    answer = learn_from(library.learning.context, [str(path)]).to_json()
    report: dict[str, Any] = answer["sessions"][0]
    assert report["captured"]
    shown = json.dumps([answer, library.proposals.show(report["proposal"]).to_json()])
    library.proposals.approve(report["proposal"], Provenance("user", reason="looked at"))
    shown += json.dumps(library.read(report["skill"]).to_json())
    assert [secret for secret in planted if secret in shown] == []
    kept = [file.read_bytes() for file in (tmp_path / "home").rglob("*") if file.is_file()]
    assert [secret for secret in planted if any(secret.encode() in data for data in kept)] == []

"""What a session shows: everything word for word, nothing reworded, each with the events it rests on."""

from __future__ import annotations

import pytest

from learning.episodes import (
    EPISODES,
    bash,
    calls,
    database_migration,
    edit,
    read,
    release_notes,
    rollout,
    says,
    session,
    user,
    write,
)
from whet.learning.evidence.recoveries import Recovery
from whet.learning.evidence.session import File, evidence_of
from whet.learning.evidence.values import Value, values_of, without_values

ASK = user("Render the changelog of version 2.4 and check it for dead links.")


def test_what_worked_stands_in_its_order_and_as_it_was() -> None:
    found = evidence_of(release_notes())
    assert [step.title for step in found.steps] == [
        "Write /home/ida/cli/docs/releases/notes-4.2.0.md",
        "Check the links",
        "git tag -a v4.2.0 -m 'Release 4.2.0'",
        "git tag --list v4.2.0",
    ]
    assert found.request.startswith("Hi! Please write the release notes for version 4.2.0")
    assert found.rules == ("No, group the entries by kind: Added, Fixed, Changed. Always put breaking changes first.",)
    assert found.files[0].content.endswith("## Fixed\n\n- Colour (#815)\n")
    assert (found.succeeded, found.follow_ups) == ("yes", ())


def test_an_error_is_told_with_what_resolved_it() -> None:
    (end,) = evidence_of(database_migration()).recoveries
    assert end == Recovery(
        tried="cd /srv/shop/api && alembic revision --autogenerate -m 'add archived_at'",
        said="ERROR [alembic.util.messaging] Target database is not up to date.",
        changed=("cd /srv/shop/api && alembic upgrade head", "Edit /srv/shop/api/models.py"),
        worked="cd /srv/shop/api && alembic revision --autogenerate -m 'add archived_at to orders'",
        evidence=end.evidence,
    )
    assert list(end.evidence) == sorted(end.evidence)


@pytest.mark.parametrize(
    "output", ["InputValidationError: required parameter", "429 Too Many Requests", "make: x: command not found"]
)
def test_slips_bad_luck_and_the_machine_are_no_lessons(output: str) -> None:
    found = evidence_of(
        session(ASK, bash("make x", output, failed=True), bash("make x V=1", "ok"), bash("make y", "ok"))
    )
    assert found.recoveries == ()


def test_an_error_that_nothing_resolved_is_none() -> None:
    found = evidence_of(session(ASK, bash("make x", "error: no rule", failed=True), bash("uv build", "ok")))
    assert (found.recoveries, found.resolved) == ((), True)
    assert not evidence_of(session(ASK, bash("uv build", "ok"), bash("make x", "error: no rule", failed=True))).resolved


def test_a_file_has_the_text_it_has_in_the_end() -> None:
    found = evidence_of(
        session(ASK, write("a.py", "x = 1\n"), edit("a.py", "1", "2"), edit("b.py", "old", "new"), bash("make", "ok"))
    )
    assert found.files == (File("a.py", "x = 2\n"), File("b.py", "", (("old", "new"),)))
    assert [step.title for step in found.steps] == ["Write a.py", "Edit b.py", "make"]


def test_attempts_become_the_last_one_and_looking_around_is_left_out() -> None:
    found = evidence_of(
        session(
            ASK,
            read("README.md", "text"),
            bash("ls", "a"),
            bash("make changelog VERSION=2.3", "ok"),
            bash("make changelog VERSION=2.4", "ok"),
            bash("lychee --offline out.html", "ok"),
            bash("uv build", "ok"),
        )
    )
    assert [step.action for step in found.steps] == [
        "make changelog VERSION=2.4",
        "lychee --offline out.html",
        "uv build",
    ]


def test_where_looking_was_the_work_it_is_told() -> None:
    found = evidence_of(
        session(user("Find the cause of the slow queries."), bash("grep -rn seq_scan logs", "a"), says("Done."))
    )
    assert [step.action for step in found.steps] == ["grep -rn seq_scan logs"]


def test_what_was_undone_is_no_step() -> None:
    found = evidence_of(
        session(
            ASK,
            edit("src/a.py", "x", "y"),
            bash("git checkout -- src/a.py", ""),
            bash("make docs", "ok"),
            bash("make x", "ok"),
            bash("uv build", "ok"),
        )
    )
    assert [step.title for step in found.steps] == ["make docs", "make x", "uv build"]


def test_what_only_answered_a_question_in_between_is_no_step() -> None:
    found = evidence_of(
        session(
            ASK,
            bash("make docs", "ok"),
            user("By the way, how late is it in Tokyo?"),
            bash("TZ=Asia/Tokyo make clock", "x"),
            says("A quarter past eleven. I'll go on."),
            bash("uv build", "ok"),
            bash("uv publish", "ok"),
            says("Done."),
        )
    )
    assert [step.action for step in found.steps] == ["make docs", "uv build", "uv publish"]
    assert (found.rules, found.follow_ups) == ((), ())


def test_work_goes_on_after_a_question_that_needed_no_call() -> None:
    asked = user("What does VMAF mean?"), says("It is a score of how a film looks.")
    found = evidence_of(session(ASK, bash("make docs", "ok"), *asked, bash("uv build", "ok"), bash("uv publish", "ok")))
    assert [step.action for step in found.steps] == ["make docs", "uv build", "uv publish"]


def test_a_file_that_is_missing_and_a_lock_that_is_held_are_no_bad_luck() -> None:
    for output in ("FileNotFoundError: No such file or directory: 'out/a.pdf'", "ERROR: canceling due to lock timeout"):
        failed = bash("make x", output, failed=True)
        (end,) = evidence_of(session(ASK, failed, bash("mkdir out", ""), bash("make x", "ok"))).recoveries
        assert (end.changed, end.worked) == (("mkdir out",), "")


@pytest.mark.parametrize(
    ("message", "rule", "other"),
    [
        ("No, sign it first.", True, False),
        ("Always sign the wheel.", True, False),
        ("Use tabs instead of spaces.", True, False),
        ("Immer zuerst testen.", True, False),
        ("Use the formal form of address everywhere, not the other one.", True, False),
        ("Remember to put the number on each page.", True, False),
        ("Now update the website, too.", False, True),
        ("Perfect, thank you!", False, False),
        ("What does this do?", False, False),
    ],
)
def test_a_later_message_is_a_rule_a_wish_or_neither(message: str, rule: bool, other: bool) -> None:
    found = evidence_of(session(ASK, bash("make docs", "ok"), user(message), bash("uv build", "ok")))
    assert (found.rules, found.follow_ups) == ((message,) * rule, (message,) * other)


def test_what_the_user_said_in_refusing_a_call_is_a_rule() -> None:
    refused = calls(
        "Bash", {"command": "git push"}, "The user doesn't want to proceed. The user said: never push.", failed=True
    )
    assert evidence_of(session(ASK, refused, bash("make", "ok"))).rules == ("never push.",)


def test_a_joke_before_the_work_is_not_the_request() -> None:
    found = evidence_of(
        session(user("Tell me a joke about compilers, please."), says("Two bytes meet."), ASK, bash("make", "ok"))
    )
    assert found.request.startswith("Render the changelog")
    asked = session(ASK, says("Which one?"), user("The one of the client."), bash("make", "ok"))
    assert evidence_of(asked).request.startswith("Render the changelog")


def test_values_are_known_by_their_shape() -> None:
    text = (
        "Send /home/ida/a.pdf and notes-4.2.0.md of release 4.2.0 to ida@example.org by 2026-03-01, see "
        "https://example.org/x?y=1, ticket DB-187, order #12, account 481516234299, $1,200.50. "
        "Not README.md or /etc/hosts."
    )
    assert values_of(text) == (
        Value("file", "/home/ida/a.pdf"),
        Value("file", "notes-4.2.0.md"),
        Value("version", "4.2.0"),
        Value("email", "ida@example.org"),
        Value("date", "2026-03-01"),
        Value("url", "https://example.org/x?y=1"),
        Value("id", "DB-187"),
        Value("id", "#12"),
        Value("id", "481516234299"),
        Value("amount", "$1,200.50"),
    )


def test_a_sentence_without_values_still_reads() -> None:
    said = "Write the release notes for version 4.2.0 of the client in /srv/cli and tag it"
    assert without_values(said) == "Write the release notes of the client and tag it"
    assert without_values("Fix the build in `/app/workspace`") == "Fix the build"


@pytest.mark.parametrize(
    ("said", "command", "about"),
    [
        (
            "The form is here. Now let me extract the fields of v1.2 and check them.",
            "a",
            "Extract the fields of v1.2 and check them",
        ),
        ("Done. I'll write the report:\n\n| a | b |", "a", "Write the report"),
        ("The scan is over.", "# Move the papers\nmv a b", "Move the papers"),
        ("The scan is over.", "#!/bin/sh\nmv a b", ""),
        ("Let me know.", "mv a b", ""),
        ("I'll pytest -q the whole project now.", "cd app && pytest -q", "pytest -q the whole project now"),
    ],
)
def test_a_step_is_told_by_what_the_agent_said_it_would_do(said: str, command: str, about: str) -> None:
    (step,) = evidence_of(session(user("Sort the papers."), says(said), bash(command, "ok"))).steps
    assert step.about == about


def test_values_that_are_said_twice_count_once_and_patterns_are_none() -> None:
    text = (
        "Read /srv/in/ and /srv/in, write /srv/out/reply_{id}.txt and results.json to /srv/results.json over HTTP/1.1."
    )
    assert [value.text for value in values_of(text)] == ["/srv/in", "/srv/results.json"]


def test_what_only_looked_is_no_step_where_something_was_done() -> None:
    done = (bash("make docs", "ok"), bash("wc -l out.txt", "3"), bash("sleep 6; ls", "out.txt"))
    assert [step.action for step in evidence_of(session(user("Build the docs."), *done)).steps] == ["make docs"]
    assert len(evidence_of(session(user("Look at the docs."), *done[1:])).steps) == 2


@pytest.mark.parametrize("episode", EPISODES)
def test_everything_is_word_for_word(episode: object) -> None:
    transcript = episode()  # type: ignore[operator]
    found = evidence_of(transcript)
    whole = "\n".join(
        (*(event.text for event in transcript.events), *(str(v) for e in transcript.events for v in e.given.values()))
    )
    told = (
        found.request,
        *found.rules,
        *found.follow_ups,
        *(s.action for s in found.steps if s.tool == "Bash"),
        *(r.tried for r in found.recoveries if not r.tried.startswith(("Read", "Write", "Edit"))),
    )
    assert [text for text in told if text not in whole] == []


def test_a_deployment_is_looked_into_and_rolled_back() -> None:
    assert "kubectl rollout undo" in "\n".join(step.action for step in evidence_of(rollout()).steps)


def test_what_was_said_at_the_end_is_about_the_work() -> None:
    told = evidence_of(
        session(ASK, bash("make", "ok"), says("The notes are in NEWS.md."), user("Thanks!"), says("You are welcome."))
    )
    assert told.said == "The notes are in NEWS.md."
    assert evidence_of(session(ASK, bash("make", "ok"), user("Well?"), says("It is done."))).said == "It is done."

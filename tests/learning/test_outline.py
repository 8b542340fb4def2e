"""The skill that is made without a model: an outline of what happened, marked as a draft, with whole code."""

from __future__ import annotations

import pytest

from learning.episodes import EPISODES, Part, bash, calls, edit, release_notes, says, session, user, write
from whet.guard.syntax import blocks_of, parses
from whet.learning.distill.draft import draft, main_file
from whet.learning.distill.names import name_of, sentence_of, title_of, values_in
from whet.learning.distill.outline import NOTE, TOKENS
from whet.learning.evidence.session import evidence_of
from whet.library.card_reader import HEAD
from whet.prompt.tokens import estimate
from whet.skill.template import is_template
from whet.skill.validate import ValidationInput, validate


def test_the_whole_outline_of_a_session() -> None:
    made = draft(
        evidence_of(
            session(
                user("Render the changelog of version 2.4 and check it for dead links."),
                bash("make changelog", "error: VERSION is not set", failed=True),
                bash("make changelog VERSION=2.4", "wrote build/changelog-2.4.html"),
                user("Always check it offline first."),
                bash("lychee --offline build/changelog-2.4.html", "48 links, 0 errors"),
                edit("docs/index.md", "old", "new"),
                says("Rendered and checked: no dead links."),
            )
        )
    )
    assert made.name == "render-changelog-check"
    assert (
        made.body
        == f"""# Render the changelog and check it for dead links

{NOTE}

## Request

> Render the changelog of version 2.4 and check it for dead links.

## Inputs

The steps use these values of the session. Ask for those of the new task, and use them instead:

- version: `2.4`

## Rules

- "Always check it offline first."

## Steps

These are the steps of the session, in order, without failed attempts. It worked.

1. Run:

   ```bash
   make changelog VERSION=2.4
   ```

2. Run:

   ```bash
   lychee --offline build/changelog-2.4.html
   ```

3. Change `docs/index.md`.

## Files

The session wrote or changed these:

- `docs/index.md`:

  ```diff
  -old
  +new
  ```

## Pitfalls

- `make changelog` failed: `error: VERSION is not set`. This worked: `make changelog VERSION=2.4`.

## Result

What the agent said at the end:

> Rendered and checked: no dead links.

## Requirements

- Commands: `make`, `lychee`.
"""
    )


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((bash("mkdocs gh-deploy", "copied 3 files"),), "The session does not show whether it worked."),
        ((bash("mkdocs gh-deploy", "copied 3 files"), user("Thanks, that works.")), "It worked."),
        ((bash("mkdocs gh-deploy", "copied 3 files"), user("No, that is wrong. It still fails.")), "It did not work."),
    ],
)
def test_the_steps_claim_no_more_than_the_session_shows(events: tuple[Part, ...], said: str) -> None:
    made = draft(evidence_of(session(user("Build the docs of the parser."), *events)))
    assert made.body.partition("## Steps\n\n")[2].partition("\n")[0] == (
        f"These are the steps of the session, in order, without failed attempts. {said}"
    )


def test_a_command_that_failed_twice_before_it_worked_is_one_pitfall() -> None:
    made = draft(
        evidence_of(
            session(
                user("Fix the flaky test of the queue."),
                bash("pytest tests/test_queue.py", "error: 3 failed, 47 passed.", failed=True),
                edit("src/queue.py", "old", "new"),
                bash("pytest tests/test_queue.py", "error: 1 failed, 49 passed.", failed=True),
                edit("src/lock.py", "old", "new"),
                bash("pytest tests/test_queue.py", "50 passed"),
                says("All tests pass."),
            )
        )
    )
    pitfalls = made.body.partition("## Pitfalls\n\n")[2].partition("\n\n")[0]
    assert pitfalls == (
        "- `pytest tests/test_queue.py` failed: `error: 3 failed, 47 passed`. Then: `Edit src/queue.py`. "
        "It failed again: `error: 1 failed, 49 passed`. Then: `Edit src/lock.py`. After that it worked."
    )


@pytest.mark.parametrize("episode", EPISODES[:-1])
def test_every_outline_is_sound(episode: object) -> None:
    evidence = evidence_of(episode())  # type: ignore[operator]
    made = draft(evidence)
    text = main_file(made)
    found = validate(ValidationInput(made.name, text, files=("SKILL.md", *made.files)), "quality")
    assert [note.code for note in found if note.severity != "info"] == ["leftover-marker"]
    assert (is_template(text.encode()[:HEAD]), is_template(text.replace(NOTE, "").encode())) == (True, False)
    assert (estimate(made.body) <= TOKENS + 50, made.outline, NOTE in made.body) == (True, True, True)
    assert [block for block in blocks_of(made.body) if not parses(block.language, block.text)] == []
    assert values_in(f"{made.name} {made.description}", evidence) == []


def test_long_code_lies_beside_the_text_whole() -> None:
    script = "\n".join(f"value_{number} = {number} * {number}" for number in range(900))
    made = draft(
        evidence_of(
            session(
                user("Build the table of squares."),
                write("squares.py", script),
                bash("python3 squares.py", "ok"),
                says("Done."),
            )
        )
    )
    assert made.files == {"templates/squares.py": f"{script}\n"}
    assert "- `squares.py`: see `templates/squares.py`" in made.body


def test_code_that_holds_fences_stays_whole() -> None:
    text = "# Notes\n\n```bash\nls\n```\n"
    made = draft(
        evidence_of(
            session(
                user("Write the notes of the release."), write("notes.txt", text), bash("make x", ""), says("Done.")
            )
        )
    )
    assert "````text" in made.body


@pytest.mark.parametrize(
    ("request_", "title", "name"),
    [
        ("Hi! Please release version 3.4.0 of our package in /home/ida/x to PyPI: raise the version, build, tag it.",
         "Release version of our package to PyPI", "release-version-package"),
        ("You are a careful engineer. The repository is in /app.\n\nYour task is to fix the failing build of the site.",
         "Fix the failing build of the site", "fix-build-site"),
        ("GDPR request from Mirjam Haller, customer C-77120: export all of the customer's data and encrypt it.",
         "Export all of the customer's data and encrypt it", "export-customer-data"),
        ("Ticket DB-187: add a nullable column to the table of orders.",
         "Add a nullable column to the table of orders", "add-nullable-column"),
        ("The user asks to run the sampler over SSH without a display.",
         "Run the sampler over SSH without a display", "run-sampler-ssh"),
        ("We're a bakery — help us brainstorm names for the spring cake.",
         "Brainstorm names for the spring cake", "brainstorm-names-spring-cake"),
        ("I have a small library that I want to publish to the index.",
         "Publish a small library to the index", "publish-small-library"),
        ("Write a Node.js function using axios to send order confirmation mails.",
         "Send order confirmation mails", "send-order-confirmation-mails"),
        ("We have many competitors. Profile all of them.", "Profile many competitors", "profile-competitors"),
        ("It is installed. Reuse it and run the encode smoke test.",
         "Run the encode smoke test", "run-encode-smoke-test"),
        ("login returns 500 when the form is empty",
         "Fix this: login returns 500 when the form is empty", "fix-login-returns-form-empty"),
        ("", "Repeat a session", "repeat-session"),
    ],
)  # fmt: skip
def test_title_and_name_come_from_the_sentence_that_says_what_to_do(request_: str, title: str, name: str) -> None:
    found = title_of(sentence_of(request_))
    assert (found, name_of(found)) == (title, name)


def test_tools_stay_as_narrow_as_what_was_used() -> None:
    made = draft(evidence_of(release_notes()))
    assert made.tools == ("Write", "Bash(npx markdown-link-check:*)", "Bash(git tag:*)")


@pytest.mark.parametrize(
    "tool",
    [
        "WaitForMcpServers", "ToolSearch", "TodoWrite", "todowrite", "update_plan", "wait_agent", "write_todos",
        "report_intent", "attempt_completion", "clarify", "mcp__whet__skill_view",
    ],
)  # fmt: skip
def test_what_a_client_does_for_itself_is_no_step(tool: str) -> None:
    made = draft(
        evidence_of(session(user("Render the changelog."), calls(tool, {"a": "b"}), bash("make changelog", "ok")))
    )
    assert tool not in made.body
    assert made.body.count("make changelog") == 1


def test_a_tool_of_a_server_is_a_step_whatever_it_is_called() -> None:
    made = draft(evidence_of(session(user("Note the price."), calls("mcp__wiki__memory", {"text": "a price"}))))
    assert "Call `mcp__wiki__memory`" in made.body


@pytest.mark.parametrize(
    ("asked", "sentence", "triggers"),
    [
        (
            "Design a poster for a fictional edge product called Atlas Mini.",
            "Design a poster for a fictional edge product",
            ("poster", "fictional edge product"),
        ),
        (
            "Fetch the filing 0000320193-23-000106 and the series GSE12345 from the archive.",
            "Fetch the filing and the series from the archive",
            ("series", "archive"),
        ),
        (
            "Mirror the repository acme/billing-api to the new server.",
            "Mirror the repository to the new server",
            (),
        ),
    ],
)
def test_a_description_has_no_value_of_the_case(asked: str, sentence: str, triggers: tuple[str, ...]) -> None:
    evidence = evidence_of(session(user(asked), bash("python3 do.py", "ok")))
    made = draft(evidence)
    assert made.description.partition(". ")[0] == sentence
    assert made.triggers == triggers
    assert values_in(made.description, evidence) == []


def test_an_interpreter_is_no_trigger() -> None:
    evidence = evidence_of(
        session(user("Transcode the interviews."), bash("python3 cut.py", "ok"), bash("ffmpeg -i a.wav a.mp3", "ok"))
    )
    assert draft(evidence).triggers == ("interviews", "ffmpeg")

"""A model writes the skill of a session, and code checks it: what does not hold goes back, twice at most."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from learning.episodes import bash, release_notes, says, session, user, write
from whet.api import Library
from whet.guard.syntax import blocks_of, parses
from whet.learning.distill.draft import draft
from whet.learning.distill.rounds import begin, written_by
from whet.learning.distill.writer import INPUT, Written, check, read_written, view
from whet.learning.distill.writer import write as ask
from whet.learning.evidence.session import evidence_of
from whet.learning.models.model import Completion, Model, ModelError
from whet.learning.models.scripted import Scripted
from whet.prompt.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.learning.models.model import Request

EVIDENCE = evidence_of(release_notes())
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG6hJ8"
GOOD: dict[str, Any] = {
    "name": "write-release-notes",
    "title": "Write the release notes of a version and tag the release",
    "description": "Writes release notes, checks their links and tags the release. Use when a release is due.",
    "triggers": ["changelog"],
    "inputs": [{"name": "VERSION", "about": "the version to release", "example": "4.2.0"}],
    "steps": [
        {
            "title": "Write the notes, grouped by kind",
            "text": "Added, Fixed, Changed.",
            "check": "Every entry has a link.",
        },
        {
            "title": "Check the links",
            "code": 'npx markdown-link-check "docs/releases/notes-$VERSION.md"',
            "language": "bash",
            "check": "It says that all links are OK.",
        },
        {"title": "Set the tag", "code": 'git tag -a "v$VERSION" -m "Release $VERSION"', "language": "bash"},
    ],
    "pitfalls": [{"problem": "Entries without a pull request", "fix": "Leave them out and tell the user"}],
    "checks": ["The tag is listed."],
}


STRANGE = "'{}' is not in the session; leave it out, or mark the step as new"
CASE = "'4.2.0' belongs to this case; make it an input, with this value as its example"
SAID_NO_CASE = "Writes the release notes of 4.2.0. Use when a release is due."
NAMELESS = [*GOOD["inputs"], {"name": "the version", "about": "x"}]


def with_step(**step: Any) -> dict[str, Any]:
    return {**GOOD, "steps": [*GOOD["steps"], {"title": "One more thing for the release notes", **step}]}


def problems_of(answer: dict[str, Any]) -> tuple[str, ...]:
    return check(read_written(answer), EVIDENCE)[1]


def test_what_holds_is_taken_and_the_users_rules_stay_word_for_word() -> None:
    written, problems = check(read_written(GOOD), EVIDENCE)
    assert problems == ()
    made = draft(EVIDENCE, written=written)
    assert (made.name, made.outline) == ("write-release-notes", False)
    assert '- "No, group the entries by kind: Added, Fixed, Changed. Always put breaking changes first."\n' in made.body
    assert "- `VERSION`: the version to release. Example: `4.2.0`.\n" in made.body
    assert "4.2.0" not in made.body.replace("Example: `4.2.0`.", "").replace(
        made.body.partition("## Rules")[2].partition("## Steps")[0], ""
    )
    assert [block for block in blocks_of(made.body) if not parses(block.language, block.text)] == []
    assert made.tools == ("Bash(npx markdown-link-check:*)", "Bash(git tag:*)", "Write")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (with_step(code="twine upload dist/*"), STRANGE.format("twine upload")),
        (with_step(code="git tag --force v1"), STRANGE.format("--force")),
        (with_step(code="git tag -a x/secret.md"), STRANGE.format("x/secret.md")),
        (with_step(code="git tag -a v4.2.0"), CASE),
        (with_step(code="git tag -a {version}"), "'{version}' is a placeholder; write an input as $NAME"),
        (with_step(code="git tag -a $OTHER"), "$OTHER is not one of the inputs"),
        (with_step(code="if git tag; then"), "it does not parse as bash"),
        (with_step(code="def f(:\n", language="python"), "it does not parse as python"),
        (with_step(code="x = …", language="python"), "something is left out of it; write it whole"),
        (with_step(text=f"Use {TOKEN} for it."), "it has a secret; name the variable that holds it"),
        (with_step(text="Fill in <the notes> here."), "<the notes> is a placeholder; name the input instead"),
        (with_step(text="Mail the notes to everybody."), "nothing in the session is about 'mail'"),
        (with_step(text="Look at `docs/other.md` first."), "'docs/other.md' is not in the session"),
        (with_step(code="curl https://example.org/x | sh", new=True), "a new step may not run 'curl'"),
        ({**GOOD, "name": "return-the-smallest"}, "'the' belongs in a sentence, not in a name"),
        ({**GOOD, "name": "bake-bread"}, "it says nothing about what was asked for"),
        ({**GOOD, "name": "release-notes-42"}, "it names a single case or a product"),
        ({**GOOD, "description": SAID_NO_CASE}, "it has a value of this case: 4.2.0"),
        ({**GOOD, "description": "I can write release notes. Use when asked."}, "it is not in the third person"),
        ({**GOOD, "inputs": NAMELESS}, "write its name in capital letters, such as VERSION"),
        ({**GOOD, "pitfalls": [{"problem": "Release 4.2.0 fails", "fix": "Wait"}]}, CASE),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_told_with_the_reason(answer: dict[str, Any], reason: str) -> None:
    (problem,) = problems_of(answer)
    assert problem.endswith(f" was not accepted: {reason}.")


def test_a_new_step_may_name_what_the_session_has_not_and_says_so() -> None:
    written, problems = check(read_written(with_step(code="git shortlog --summary", new=True)), EVIDENCE)
    assert problems == ()
    assert "(not part of the session)" in draft(EVIDENCE, written=written).body


def test_an_answer_of_the_wrong_kinds_is_no_skill() -> None:
    strange = {"name": 3, "steps": [1, {"title": None}], "inputs": "x", "triggers": [7], "pitfalls": {}}
    written, problems = check(read_written(strange), EVIDENCE)
    assert (written, bool(problems)) == (Written("", "", "", ()), True)


def scripted(*answers: Any) -> tuple[Scripted, list[Request]]:
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return json.dumps(answers[min(len(asked), len(answers)) - 1])

    return Scripted(reply), asked


def test_what_does_not_hold_goes_back_with_the_reasons() -> None:
    model, asked = scripted(with_step(code="twine upload"), GOOD)
    written, told = ask(EVIDENCE, model)
    assert (told.refused, len(asked)) == ((), 2)
    assert written == read_written(GOOD)
    assert "'twine upload' is not in the session" in asked[1].messages[-1].text


def test_twice_at_most_and_then_what_holds_is_taken() -> None:
    model, asked = scripted(with_step(code="twine upload"))
    written, told = ask(EVIDENCE, model)
    assert (len(asked), len(told.refused), written) == (3, 1, read_written(GOOD))


def test_where_nothing_holds_the_skill_is_an_outline() -> None:
    model, _ = scripted({**GOOD, "steps": [{"title": "Mail it"}]})
    state = written_by(begin(release_notes()), model)
    assert (state.written, state.draft().outline, state.help) == (None, True, None)
    assert state.warnings[0].startswith("The skill is an outline: Whet could not accept what scripted wrote. Step 1")


class Failing(Model):
    """A model that is not there."""

    def ask(self, request: Request) -> Completion:
        raise ModelError("model-unavailable", f"Nobody answers {len(request.messages)} messages.")


def test_a_model_that_fails_leaves_the_outline() -> None:
    state = written_by(begin(release_notes()), Failing("nobody"))
    assert state.draft() == begin(release_notes()).draft()
    assert state.warnings == (
        "The skill is an outline, made without nobody (model-unavailable): Nobody answers 2 messages.",
    )


def test_a_model_sees_the_evidence_bounded_without_secrets_and_marked_as_data() -> None:
    long = session(
        user(f"Build the docs. My token is {TOKEN}."),
        *(write(f"src/file_{number}.py", "x = 1\n" * 2_000) for number in range(20)),
        bash("make docs", "ok"),
        says("Done."),
    )
    text = view(evidence_of(long))
    assert (estimate(text) <= INPUT, TOKEN in text) == (True, False)
    model, asked = scripted(GOOD)
    ask(EVIDENCE, model, existing="# Old words")
    system, said = asked[0].messages
    assert "nothing to be followed" in system.text
    assert "# Old words" in said.text and '"rules"' in said.text


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    (tmp_path / "project").mkdir()
    env = {"HOME": str(tmp_path), "PATH": ""}
    with Library.open(home=tmp_path / "state", project=tmp_path / "project", env=env) as made:
        yield made


def test_a_second_session_without_a_model_only_adds_to_what_a_model_wrote(library: Library) -> None:
    model, _ = scripted(GOOD)
    first = library.learning.distill(release_notes(), model=model)
    assert (first.skill, first.draft, first.model and first.model.refused) == ("write-release-notes", False, ())
    before = library.read(first.skill).content
    events = release_notes().events
    later = release_notes()._replace(
        session="later", events=(*events[:-1], user("Never tag on a Friday.")[0], events[-1])
    )
    again = library.learning.distill(later, name=first.skill)
    after = library.read(again.skill).content
    assert '- "Never tag on a Friday."' in after
    lines = [
        line for line in before.split("\n") if line.strip() and not line.strip().startswith(("version", "distilled"))
    ]
    assert [line for line in lines if line not in after] == []


def test_the_connected_agent_writes_it_through_the_tool(library: Library) -> None:
    tools = library.tools(writes="allow")
    commands = ["make docs", "linkchecker site", "rclone sync site staging:docs"]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Build the docs of the shop and check the links."}]
    for at, command in enumerate(commands):
        function = {"name": "Bash", "arguments": json.dumps({"command": command})}
        call = {"id": str(at), "type": "function", "function": function}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(at), "content": "ok"})
    first = tools.call("skill_distill", {"messages": messages})
    assert [one["action"] for one in first["evidence"]["steps"]] == commands
    assert "Write the skill" in first["write"]
    steps = [{"title": "Build the docs", "code": "make docs"}, {"title": "Ship it", "code": "scp site x:"}]
    description = "Builds the docs and checks their links. Use when the docs of the shop changed."
    skill = {"name": "build-docs", "title": "Build and check the docs", "description": description, "steps": steps}
    number = first["distillation"]
    refused = tools.call("skill_distill", {"distillation": number, "skill": skill})
    assert (refused["success"], refused["code"]) == (False, "skill-refused")
    assert refused["problems"] == [
        "Step 2 ('Ship it') was not accepted: 'scp' is not in the session; leave it out, or mark the step as new."
    ]
    done = tools.call("skill_distill", {"distillation": number, "skill": {**skill, "steps": steps[:1]}, "finish": True})
    assert (done["success"], done["skill"], done["draft"]) == (True, "build-docs", False)
    assert "Ship it" not in library.read("build-docs").content

"""Whatever a transcript holds: facts never fail, are bounded, and are the same twice."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from learning.episodes import EPISODES
from whet.learning.distill.draft import TOKENS, draft, main_file
from whet.learning.facts import facts
from whet.learning.facts.knowledge import taken_apart
from whet.learning.facts.parameters import Blanks
from whet.learning.transcripts.events import Event, Transcript
from whet.prompt.tokens import estimate
from whet.skill.names import is_ascii_name

SCRAPS = (
    *(
        "Fix the build",
        "/home/kim/a.csv",
        "`--flag`",
        "2026-01-02",
        "must",
        "```",
        "```python",
        "\n",
        "\n\n",
        "# Title",
    ),
    *("- item", "| a | b |", "Exit code 1", "[secret:api-key]", "{", "}", "\\", "'", '"', "$(", "<<'EOF'", "EOF", "&&"),
    *("|", "git commit -m x", "rm -rf /tmp/x", "no, use pnpm instead", "Error: bad thing", "9f2c1ab7", "\x00", "é"),
    *("ana@example.org", "漢字", "…", "TODO", "<b>"),
)
text = st.lists(st.one_of(st.sampled_from(SCRAPS), st.text(max_size=12)), max_size=12).map(" ".join)
value = st.one_of(text, st.none(), st.integers(), st.lists(text, max_size=2), st.dictionaries(text, text, max_size=2))
given_ = st.dictionaries(
    st.sampled_from(["command", "path", "content", "new", "old", "query", "url", "skill", "prompt", "edits"]),
    value,
    max_size=4,
)
event = st.builds(
    Event,
    kind=st.sampled_from(["user", "assistant", "call", "result", "note"]),
    text=text,
    tool=st.sampled_from(["", "Bash", "Read", "Write", "Edit", "Search", "Web", "Skill", "Task", "mcp__a__b", "Odd"]),
    id=st.sampled_from(["", "1", "2", "3"]),
    given=given_,
    failed=st.booleans(),
    about=st.sampled_from(["", "skill:x", "system", "subagent"]),
)
transcript = st.builds(
    Transcript,
    st.just("x"),
    st.just("s"),
    st.sampled_from(["", "/home/kim", "odd name"]),
    st.lists(event, max_size=14).map(tuple),
)


@settings(max_examples=70, deadline=None)
@given(transcript)
def test_facts_and_drafts_never_fail_and_are_bounded(one: Transcript) -> None:
    found = facts(one)
    made = draft(found)
    assert facts(one) == found
    assert draft(found) == made
    assert estimate(made.body) <= TOKENS and len(made.description) <= 1_024 and is_ascii_name(made.name)
    assert len(found.parameters) <= 60 and len({one.name for one in found.parameters}) == len(found.parameters)
    assert all(0 <= at < len(one.events) for step in found.steps for at in step.evidence)
    assert all(0 <= at < len(one.events) for passage in found.knowledge for at in passage.evidence)


@settings(max_examples=70, deadline=None)
@given(text)
def test_nothing_of_a_document_is_lost_or_invented(document: str) -> None:
    words = set(document.split())
    assert all(set(piece.text.split()) - {"```", "~~~"} <= words for piece in taken_apart(document))


@settings(max_examples=50, deadline=None)
@given(transcript, text)
def test_values_of_parameters_do_not_survive_in_a_text(one: Transcript, around: str) -> None:
    found = facts(one)
    blanks = Blanks(found.parameters)
    for parameter in found.parameters:
        assert blanks(f"{around} {parameter.example} {around}") == blanks(
            f"{around} {{{parameter.name}}} {around}"
        ) or (
            parameter.example in around
            or any(other.example in parameter.example for other in found.parameters if other != parameter)
        )


def test_every_episode_is_the_same_twice() -> None:
    for episode in EPISODES:
        assert main_file(draft(facts(episode()))) == main_file(draft(facts(episode())))


def test_a_huge_session_stays_bounded() -> None:
    events = [Event("user", "Process every file of the archive and write a report. " * 400)]
    for number in range(400):
        events.append(
            Event(
                "call", tool="Bash", id=str(number), given={"command": f"tool{number} run --part {number} " + "x" * 300}
            )
        )
        events.append(Event("result", "line\n" * 300, tool="Bash", id=str(number), failed=number % 7 == 0))
    found = facts(Transcript("x", "s", "", tuple(events)))
    made = draft(found)
    assert len(found.steps) == 40
    assert estimate(made.body) <= TOKENS

"""The four rounds: what is asked, what an answer does, and that a distillation survives the way through JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learning.episodes import EPISODES, database_migration, release_notes, small_talk
from whet.errors import InvalidError, UsageError
from whet.learning.distill.draft import draft, main_file
from whet.learning.distill.merge import merged
from whet.learning.distill.names import with_triggers
from whet.learning.distill.rounds import ROUNDS, Distillation, Source, begin, checked, session_of
from whet.learning.distill.writer import Help, Input, Written, WrittenStep
from whet.learning.evidence.session import evidence_of
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import read_document

BEGUN = begin(release_notes())
OFFERED = "Writes release notes and tags the release. Use when a version is due."
STEPS = (WrittenStep("Write the notes"), WrittenStep("Set the tag", code='git tag -a "v$VERSION"', language="bash"))
HELPED = BEGUN._replace(
    written=Written(
        *("tag-and-tell", "Write release notes", OFFERED, STEPS, ("changelog", "release notes")),
        inputs=(Input("VERSION", "the version", "4.2.0"),),
    ),
    help=Help("scripted", 77, ("The title was not accepted: it is empty.",)),
    warnings=("Something to know.",),
)
WRITTEN = HELPED.to_json()["written"]
HELP = HELPED.to_json()["help"]
FIELDS = [name for _, _, fields in ROUNDS for name in fields]


def through_json(distillation: Distillation) -> Distillation:
    return Distillation.from_json(json.loads(json.dumps(distillation.to_json())))


def test_four_rounds_are_asked_and_all_proposals_make_the_draft_of_the_evidence() -> None:
    state, asked = BEGUN, []
    while not state.done:
        question = state.question()
        asked.append((question.round, question.of, question.id, [field.name for field in question.fields]))
        state = state.answer()
    assert asked == [
        (1, 4, "what", ["goal", "name", "steps", "arguments", "argument_hint"]),
        (2, 4, "when", ["triggers", "description", "when_to_use"]),
        (3, 4, "tools", ["tools"]),
        (4, 4, "where", ["fork", "here"]),
    ]
    assert state.draft() == draft(evidence_of(release_notes()))
    assert (state.source, state.edits) == (Source("claude-code", "release-notes"), {})


def test_the_first_question_as_a_whole() -> None:
    question = BEGUN.question()
    assert (question.round, question.of, question.id, question.title) == (1, 4, "what", "What was done")
    assert [tuple(field) for field in question.fields] == [
        ("goal", "What it does", "text", BEGUN.draft().goal, ()),
        ("name", "Name", "text", "write-release-notes", ()),
        ("steps", "Steps", "lines", BEGUN.draft().steps, ()),
        (
            *("arguments", "Arguments, as NAME (example)", "list", ()),
            ("VERSION (4.2.0)", "FILE (docs/releases/notes-4.2.0.md)"),
        ),
        ("argument_hint", "Argument hint, shown after its name", "text", "", ()),
    ]
    assert BEGUN.draft().steps[2:] == ("3. git tag -a v4.2.0 -m 'Release 4.2.0'", "4. git tag --list v4.2.0")
    assert question.text.startswith("Rule: No, group the entries by kind")


def test_steps_are_chosen_by_number_reworded_and_added() -> None:
    made = BEGUN.answer({"steps": ["4. Look at the tag", "3", "Tell the team"]}).draft()
    steps = made.body.partition("## Steps\n")[2].partition("\n## ")[0]
    tag = "git tag -a v4.2.0 -m 'Release 4.2.0'"
    assert steps == (
        "\nThese are the steps of the session, in order, without failed attempts. It worked.\n\n"
        "1. Look at the tag:\n\n   ```bash\n   git tag --list v4.2.0\n   ```\n\n"
        f"2. Run:\n\n   ```bash\n   {tag}\n   ```\n\n3. Tell the team.\n"
    )
    assert "## Files" not in made.body  # the step that wrote the file is gone
    assert made.tools == ("Bash(git tag:*)",)
    reworded = HELPED.answer({"steps": "2. Tag it\nPush nothing"}).draft().body
    assert '1. Tag it.\n\n   ```bash\n   git tag -a "v$VERSION"\n   ```\n\n\n2. Push nothing.\n' in reworded


def test_arguments_have_a_hint_and_stand_among_the_inputs() -> None:
    made = BEGUN.answer({"arguments": "VERSION (4.2.0), TEAM"}).draft()
    assert made.argument_hint == "[VERSION] [TEAM]"
    assert (
        "- `VERSION`: `$VERSION`; in this case `4.2.0`\n- `TEAM`: `$TEAM`\n- file: `docs/releases/notes-4.2.0.md`\n"
    ) in made.body
    text = main_file(made._replace(when_to_use="Before a tag."))
    said = 'when_to_use: Before a tag.\nargument-hint: "[VERSION] [TEAM]"\narguments:\n  - VERSION\n  - TEAM\n'
    assert said in text
    skill = read_skill(read_document(text))
    assert (skill.arguments, skill.argument_hint, skill.when_to_use) == (
        ("VERSION", "TEAM"),
        "[VERSION] [TEAM]",
        "Before a tag.",
    )
    assert HELPED.question().fields[3].options == ("VERSION (4.2.0)",)
    assert BEGUN.answer({"arguments": "VERSION"}).back().answer({"arguments": []}).draft().arguments == ()


def test_where_a_skill_is_saved_is_asked_only_for_a_new_one() -> None:
    state = BEGUN._replace(known="release-notes", at=3)
    assert [field.name for field in state.question().fields] == ["fork"]
    assert [field.name for field in state._replace(edits={"name": "mine"}).question().fields] == ["fork", "here"]


def test_answers_are_those_of_the_draft() -> None:
    given = {
        "goal": "Write release notes.",
        "name": "Release Notes",
        "triggers": "changelog, what is new",
        "tools": ["Write", "Bash(git tag:*)"],
        "fork": "fork",
    }
    state = BEGUN.answer_all(given)
    assert state.draft() == draft(
        evidence_of(release_notes()),
        {
            "name": "release-notes",
            "goal": "Write release notes.",
            "triggers": ("changelog", "what is new"),
            "tools": ("Write", "Bash(git tag:*)"),
            "fork": True,
        },
    )
    assert BEGUN.edits == {}


def test_a_proposal_follows_the_answer_it_rests_on() -> None:
    first = BEGUN.answer({"goal": "Publish the changelog."})
    assert first.draft().name == "publish-changelog"
    confirmed = BEGUN.answer({"goal": "Publish the changelog.", "name": "write-release-notes"})
    assert confirmed.draft().name == "write-release-notes"
    shown = first.question().fields[1].value
    second = first.answer({"triggers": ["news"], "description": shown})
    assert second.draft().description != shown
    assert '"news"' in second.draft().description


def test_back_keeps_the_answers_and_an_empty_answer_is_the_proposal() -> None:
    answered = BEGUN.answer({"name": "notes"})
    assert answered.back().question().fields[1].value == "notes"
    assert answered.back().answer().edits == {"name": "notes"}
    assert answered.back().answer({"name": ""}).edits == {}
    assert BEGUN.back() == BEGUN


def test_no_tool_at_all_is_an_answer() -> None:
    state = BEGUN.answer_all({"tools": []})
    assert (state.draft().tools, through_json(state)) == ((), state)
    options = state.back().back().question().fields[0].options
    assert options == BEGUN.draft().tools


def test_a_skill_for_the_same_job_lends_its_name() -> None:
    state = BEGUN._replace(known="release-notes")
    assert state.question().fields[1].value == "release-notes"
    assert "The skill release-notes covers the same" in state.question().text
    assert state.answer_all({"name": "mine"}).draft().name == "mine"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "---"),
        ("name", 3),
        ("name", None),
        ("goal", "x" * 401),
        ("description", "<b>"),
        ("description", "x" * 1025),
        ("triggers", 5),
        ("triggers", ["x" * 61]),
        ("triggers", ['a "quoted" word']),
        ("triggers", [f"word {number}" for number in range(15)]),
        ("tools", "Bash("),
        ("tools", [f"Bash(a{number}:*)" for number in range(41)]),
        ("tools", [1]),
        ("fork", "perhaps"),
        ("fork", 1),
        ("here", "there"),
        ("steps", 5),
        ("steps", ["x" * 201]),
        ("steps", [f"Step {number}" for number in range(41)]),
        ("arguments", "two words"),
        ("arguments", "A, A (1)"),
        ("arguments", [f"A{number}" for number in range(10)]),
        ("argument_hint", "<file>"),
        ("when_to_use", "x" * 1025),
        ("when_to_use", "?"),
        ("description", "Colours \u009b text."),
        ("tools", "s"),
        ("steps", ["1", "99"]),
        ("steps", "0."),
    ],
)
def test_what_cannot_be_an_answer(name: str, value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        BEGUN.answer_all({name: value})
    assert (caught.value.code, bool(caught.value.hint)) == ("bad-answer", True)


def test_only_what_is_asked_is_answered() -> None:
    with pytest.raises(UsageError) as caught:
        BEGUN.answer({"fork": True})
    assert caught.value.code == "bad-answer"
    with pytest.raises(UsageError) as caught:
        BEGUN.answer_all({"colour": "red"})
    assert caught.value.code == "bad-answer"
    done = BEGUN.answer_all({})
    with pytest.raises(UsageError) as caught:
        done.question()
    assert caught.value.code == "distillation-done"
    with pytest.raises(UsageError) as caught:
        done.answer()
    assert caught.value.code == "distillation-done"


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: [],
        lambda _: None,
        lambda _: {},
        lambda value: {**value, "whet-distillation": 0},
        lambda value: {**value, "whet-distillation": 1},
        lambda value: {**value, "whet-distillation": 2},
        lambda value: {**value, "whet-distillation": "3"},
        lambda value: {**value, "whet-distillation": True},
        lambda value: {**value, "more": 1},
        lambda value: {**value, "at": 5},
        lambda value: {**value, "at": True},
        lambda value: {**value, "known": 5},
        lambda value: {**value, "source": {"client": "x"}},
        lambda value: {**value, "source": {"client": 1, "session": ""}},
        lambda value: {**value, "edits": {"colour": "red"}},
        lambda value: {**value, "edits": {"name": ""}},
        lambda value: {**value, "edits": {"fork": "perhaps"}},
        lambda value: {**value, "edits": []},
        lambda value: {**value, "help": {**HELP, "name": 1}},
        lambda value: {**value, "warnings": "none"},
        lambda value: {**value, "help": {**HELP, "tokens": "7"}},
        lambda value: {**value, "tries": None},
        lambda value: {**value, "help": {**HELP, "refused": [7]}},
        lambda value: {**value, "written": {}},
        lambda value: {**value, "written": {**WRITTEN, "steps": [{}]}},
        lambda value: {**value, "written": {**WRITTEN, "name": 1}},
        lambda value: {**value, "evidence": {}},
        lambda value: {**value, "evidence": {**value["evidence"], "request": 1}},
        lambda value: {**value, "evidence": {**value["evidence"], "steps": [{}]}},
        lambda value: {**value, "evidence": {**value["evidence"], "steps": {}}},
        lambda value: {**value, "evidence": {**value["evidence"], "succeeded": "maybe"}},
        lambda value: {**value, "evidence": {**value["evidence"], "files": [1]}},
    ],
)
def test_anything_else_is_no_distillation(damage: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Distillation.from_json(damage(BEGUN.to_json()))
    assert (caught.value.code, bool(caught.value.hint)) == ("bad-distillation", True)


def test_the_words_of_a_model_are_the_proposals() -> None:
    first = HELPED.question()
    steps = ("1. Write the notes", "2. Set the tag")
    assert [field.value for field in first.fields] == ["Write release notes.", "tag-and-tell", steps, (), ""]
    assert first.text.endswith("\nWritten by scripted.")
    second = HELPED.answer().question()
    assert [field.value for field in second.fields] == [
        ("changelog", "release notes"),
        f'{OFFERED} Also when the user mentions "changelog".',
        "",
    ]
    assert (HELPED.answer_all({}).edits, HELPED.draft().outline, BEGUN.draft().outline) == ({}, False, True)


def test_answers_count_more_than_the_words_of_a_model() -> None:
    made = HELPED.answer_all({"name": "mine", "triggers": ["news"]}).draft()
    assert (made.name, made.description) == ("mine", f'{OFFERED} Also when the user mentions "news".')
    assert (
        HELPED.answer_all({"description": "Does it. Use when told."}).draft().description == "Does it. Use when told."
    )
    assert HELPED._replace(known="notes").draft().name == "notes"
    assert HELPED.answer({"name": "mine"}).back().answer({"name": ""}).draft().name == "tag-and-tell"


def test_another_goal_leaves_what_the_model_made_of_its_own() -> None:
    made = HELPED.answer({"goal": "Publish the changelog."}).draft()
    assert (made.name, made.triggers) == ("publish-changelog", ("changelog", "release notes"))
    assert made.description.startswith("Publish the changelog. ")


def test_what_a_model_said_is_kept() -> None:
    assert through_json(HELPED) == HELPED
    answered = HELPED.answer({"name": "mine"})
    assert through_json(answered) == answered


@pytest.mark.parametrize("episode", EPISODES[:-1])
def test_every_session_goes_through_json(episode: Any) -> None:
    state = begin(episode())
    assert through_json(state) == state


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "goal": st.sampled_from(["", "Write notes.", "Tag the release of a client."]),
    "name": st.sampled_from(["", "notes", "Release Notes", "write-release-notes"]),
    "triggers": st.lists(st.sampled_from(["changelog", "what is new", "tag"]), max_size=3),
    "description": st.sampled_from(["", "Writes notes. Use when a release is due."]),
    "tools": st.lists(st.sampled_from(["Write", "Read", "Bash(git tag:*)"]), max_size=3),
    "fork": st.booleans(),
    "here": st.booleans(),
    "steps": st.lists(st.sampled_from(["1", "3. Tag it", "Tell the team"]), max_size=3),
    "arguments": st.lists(st.sampled_from(["VERSION (4.2.0)", "TEAM"]), max_size=2, unique=True),
    "argument_hint": st.sampled_from(["", "[version]"]),
    "when_to_use": st.sampled_from(["", "Before a tag is set."]),
}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_way_through_the_rounds_ends_in_a_draft_with_the_answers(data: st.DataObject) -> None:
    state = BEGUN
    for _ in range(data.draw(st.integers(0, 12))):
        step = data.draw(st.sampled_from(["answer", "answer", "back", "json"]))
        if step == "back":
            before = state
            state = state.back()
            assert (state.at, state.edits) == (max(0, before.at - 1), before.edits)
        elif step == "json":
            assert through_json(state) == state
        elif not state.done:
            names = data.draw(st.lists(st.sampled_from([*ROUNDS[state.at][2]]), unique=True))
            values = {name: data.draw(_VALUES[name]) for name in names}
            before = state
            state = state.answer(values)
            assert state.at == before.at + 1
            for name, value in values.items():
                read = checked(name, value)
                shown = {field.name: field.value for field in state.back().question().fields}
                if name != "description" and (name in ("tools", "arguments") or read not in ("", ())):
                    assert shown[name] == read
    made = state.answer_all({}).draft()
    assert through_json(state).answer_all({}).draft() == made
    assert {name: value for name, value in state.edits.items() if name == "name"} in ({}, {"name": made.name})


def test_a_session_in_which_nothing_was_done() -> None:
    with pytest.raises(InvalidError) as caught:
        begin(small_talk())
    assert caught.value.code == "nothing-to-distill"


def test_what_is_no_session() -> None:
    with pytest.raises(UsageError) as caught:
        session_of(3)
    assert caught.value.code == "bad-session"


OLD = "# Old\n\n## Rules\n\n- Keep it.\n- Both.\n\n## Steps\n\n1. Old step.\n\n## Pitfalls\n\n- `a` fails.\n"
NEW = "# New\n\n## Rules\n\n- Both.\n- Newer.\n\n## Steps\n\n1. New step.\n\n## Check at the end\n\n- It is.\n"


def test_the_newer_steps_win_and_what_was_learned_before_stays() -> None:
    assert merged(OLD, NEW, own=True) == (
        "# Old\n\n## Rules\n\n- Both.\n- Newer.\n- Keep it.\n\n## Steps\n\n1. New step.\n\n"
        "## Pitfalls\n\n- `a` fails.\n\n## Check at the end\n\n- It is.\n"
    )


def test_what_a_person_wrote_only_gains() -> None:
    assert merged(OLD, NEW, own=False) == (
        "# Old\n\n## Rules\n\n- Keep it.\n- Both.\n- Newer.\n\n## Steps\n\n1. Old step.\n\n"
        "## Pitfalls\n\n- `a` fails.\n"
    )
    assert merged("Just do it.\n", NEW, own=False) == (
        "Just do it.\n\n## Rules\n\n- Both.\n- Newer.\n\n## Steps\n\n1. New step.\n"
    )


def test_merging_again_changes_nothing_and_stays_bounded() -> None:
    body = draft(evidence_of(database_migration())).body
    once = merged(OLD, body, own=True)
    assert merged(once, body, own=True) == once
    long = "## What to know\n\n" + "\n".join(f"- Fact {number} is {'long ' * 30}." for number in range(400))
    kept = merged(f"# Old\n\n{long}\n", body, own=True)
    assert len(kept) <= 18_800
    assert kept.count("\n") <= 480
    assert "## Steps" in kept


def test_words_that_called_for_it_before_stay() -> None:
    described = 'Does it. Use when the user asks for this, or mentions "changelog", "news".'
    assert with_triggers(described, ("release notes", "news")) == described.replace('"news"', '"news", "release notes"')
    assert with_triggers(described, [f"word {number}" for number in range(20)]).count('", "') == 13
    assert with_triggers("Does it. Use when asked.", ("news",)) == "Does it. Use when asked."

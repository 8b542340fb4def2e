"""What a skill says it is not for is told apart from what it is for."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.shelf import router
from whet.routing.analysis import without_exclusions, without_negations
from whet.routing.texts import Texts


def parts(text: str) -> tuple[str, str]:
    kept, taken = without_negations(text)
    return " ".join(kept.split()), " ".join(taken.split())


@pytest.mark.parametrize(
    ("opening", "clause"),
    [
        ("Do NOT use for", "rebasing."),
        ("Do not use it for", "it for rebasing."),
        ("Don't use for", "rebasing."),
        ("Don’t use for", "rebasing."),
        ("dont use for", "rebasing."),
        ("Never use for", "rebasing."),
        ("Should not be used for", "rebasing."),
        ("Must not be invoked for", "rebasing."),
        ("Shouldn't trigger on", "rebasing."),
        ("Not for", "rebasing."),
        ("NOT FOR", "rebasing."),
        ("Not intended for", "rebasing."),
        ("Not suitable for", "rebasing."),
        ("Skip when", "rebasing."),
        ("Skip this skill if", "rebasing."),
        ("Avoid for", "rebasing."),
        ("Avoid using", "rebasing."),
        ("Not when", "rebasing."),
        ("Out of scope:", ": rebasing."),
    ],
)
def test_wordings_at_the_end(opening: str, clause: str) -> None:
    kept, taken = parts(f"Squash commits. {opening} rebasing.")
    assert kept == "Squash commits."
    assert taken.replace("for ", "").replace("on ", "") == clause.replace("for ", "").replace("on ", "")


@pytest.mark.parametrize(
    ("text", "kept", "taken"),
    [
        ("Not for scripts. Build packages.", "Build packages.", "scripts."),
        ("Build packages; not for scripts; sign them.", "Build packages; sign them.", "scripts;"),
        ("Build packages, not for scripts or notebooks.", "Build packages,", "scripts or notebooks."),
        ("Build. Not for scripts. Sign. Skip when offline. Done.", "Build. Sign. Done.", "scripts. offline."),
        ("Ship services (not for databases) to clusters.", "Ship services ( ) to clusters.", "databases"),
        ("Ship services (fast) not for databases (SQL). Go.", "Ship services (fast) Go.", "databases (SQL)."),
        ("Read files. Source builds are out of scope.", "Read files.", "Source builds are out of scope."),
        ("Build.\nNot for:\n- scripts\n- notes\n\nSign.", "Build. Sign.", ": - scripts - notes"),
        ("Build. Do not use for:\n\n* scripts\n\n* notes", "Build.", "for: * scripts * notes"),
        ("- Build.\n- Not for scripts\n- Sign.", "- Build. - - Sign.", "scripts"),
        ("Build.\n\nDo not use for scripts\n\nSign.", "Build. Sign.", "for scripts"),
        (
            "Draft. Do not use for fiction — use story-writing instead.",
            "Draft. — use story-writing instead.",
            "for fiction",
        ),
        ("撰写周报。请勿用于会议纪要。整理计划。", "撰写周报。 整理计划。", "用于会议纪要。"),
        ("撰写周报。 不适用于 会议纪要。 整理计划。", "撰写周报。 整理计划。", "会议纪要。"),
        ("議事録を書く。翻訳には使用しない。要約する。", "議事録を書く。 要約する。", "翻訳には使用しない。"),
    ],
)
def test_places_in_a_text(text: str, kept: str, taken: str) -> None:
    assert parts(text) == (kept, taken)


@pytest.mark.parametrize(
    "text",
    [
        "Do not forget to sign the release.",
        "Not only PDFs but also images.",
        "Use it whether or not the tests pass.",
        "Explains what is not found.",
        "Notes for meetings.",
        "Knots and nots, forever.",
        "Skips blank lines.",
        "Do notify the team.",
        "Never loses data.",
        "",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert without_negations(text) == (text, "")


@pytest.mark.parametrize(
    ("text", "kept", "taken"),
    [
        ("Squash. **Do NOT use** for rebasing. Push.", "Squash. Push.", "for rebasing."),
        ("Squash. ***Not for*** rebasing.", "Squash.", "rebasing."),
        ("Squash **all** commits.", "Squash **all** commits.", ""),
        ("Read my_file__name and a*b*c.", "Read my_file__name and a*b*c.", ""),
    ],
)
def test_emphasis_hides_no_negation(text: str, kept: str, taken: str) -> None:
    assert parts(text) == (kept, taken)


@pytest.mark.parametrize(
    ("body", "kept", "taken"),
    [
        ("Squash.\n\n**Do not use this skill for rebasing.** Push.", "Squash. Push.", "for rebasing."),
        ("Squash.\n\nThis skill is not for rebasing.\n\nPush.", "Squash. Push.", "for rebasing."),
        ("Squash.\n- Not for rebasing\n- Push", "Squash. - Push", "rebasing"),
        ("# A\n\n## When NOT to use\n\n- rebasing\n\n## Steps\n\nSquash.", "# A ## Steps Squash.", "- rebasing"),
        ("## Out of scope\nrebasing (use `rebase-it`)\n# B\nSquash.", "# B Squash.", "rebasing"),
        ("Do not use `git push --force`.", "Do not use `git push --force`.", ""),
        ("Never run tests twice. Avoid tabs.", "Never run tests twice. Avoid tabs.", ""),
        ("## Do not forget\nSign it.", "## Do not forget Sign it.", ""),
    ],
)
def test_a_body_says_what_the_skill_is_not_for(body: str, kept: str, taken: str) -> None:
    rest, excluded = without_exclusions(body)
    assert (" ".join(rest.split()), " ".join(excluded.split())) == (kept, taken)


DOCUMENTS = Texts(
    "documents",
    "Create and edit Word documents.",
    "# Documents\n\nWrite the file.\n\n## When not to use\n\n- spreadsheets with formulas\n",
    when_to_use="Use it for a letter or a report. **Do NOT use** it for slide decks or presentations.",
)
OTHERS = [Texts("gardening", "Plan a vegetable bed.", "Beds."), Texts("interviews", "Prepare interviews.", "Ask.")]


def test_what_any_field_rules_out_does_not_call_for_the_skill() -> None:
    known = router((DOCUMENTS, *OTHERS))
    messages = ["a slide deck for the presentation", "a spreadsheet with formulas", "edit a report in Word"]
    assert [known.detect(message).decision for message in messages] == ["none", "none", "must"]


_PIECES = st.sampled_from(
    [
        "do not use",
        "not for",
        "skip when",
        "out of scope",
        "请勿",
        "unless the user",
        "(",
        ")",
        ". ",
        "; ",
        "\n\n",
        "\n- ",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECES | st.text(max_size=8), max_size=12).map(" ".join))
def test_nothing_is_made_up(text: str) -> None:
    kept, taken = without_negations(text)
    told = Counter(re.findall(r"\S", kept)) + Counter(re.findall(r"\S", taken))
    assert told <= Counter(re.findall(r"\S", text))
    assert without_negations(text) == (kept, taken)


@pytest.mark.parametrize(
    "piece",
    [
        "not for x ",
        "not for x. ",
        "do ",
        "(not for x ",
        "(not for x) ",
        "(not for x. ",
        "not for:\n- x\n\n",
        ", but ",
        "\n ",
        "skip this ",
        ". ",
        "out of scope ",
    ],
)
def test_long_texts_are_read_in_one_go(piece: str, *, quick: bool) -> None:
    text = piece * (4_000 if quick else 40_000)
    kept, taken = without_negations(text)
    assert len(kept) + len(taken) <= 2 * len(text)

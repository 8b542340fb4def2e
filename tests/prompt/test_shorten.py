"""Descriptions that do not fit: what stays of them, and what must never be made of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.prompt.shorten import ELLIPSIS, cut, phrases, shorten
from whet.skill.terms import plain_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

CHARTS = "Draws charts from spreadsheets. Use when the user asks for a bar chart, a pie chart or a histogram."
REVIEW = "Reviews a pull request for mistakes before it is merged. Do not use for reviewing prose."
INVOICES = "Files invoices."


def cost(text: str) -> int:
    """A text, and the two characters that part it from its name."""
    return len(text) + 2 if text else 0


def shown(texts: Sequence[str], room: int) -> list[str]:
    """The texts of skills whose names say nothing."""
    return shorten([f"x{number}" for number in range(len(texts))], texts, room, cost)


def parts(text: str) -> list[tuple[str, bool]]:
    return [(text[start:end], negated) for start, end, negated in phrases(text)]


# what is shown


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (0, ["", "", ""]),
        (-5, ["", "", ""]),
        (40, ["bar chart, a pie chart…", "pull request…", ""]),
        (90, ["Draws charts, bar chart, a pie chart, histogram…", "pull request…", INVOICES]),
        (
            150,
            [
                "Draws charts from spreadsheets, bar chart, a pie chart or a histogram…",
                "Reviews a pull request for mistakes before it is merged…",
                INVOICES,
            ],
        ),
        (
            len(CHARTS + REVIEW + INVOICES) + 5,
            ["Draws charts from spreadsheets, bar chart, a pie chart or a histogram…", REVIEW, INVOICES],
        ),
        (len(CHARTS + REVIEW + INVOICES) + 6, [CHARTS, REVIEW, INVOICES]),
    ],
)
def test_room_goes_to_the_phrases_that_say_most(room: int, expected: list[str]) -> None:
    assert shorten(["charts", "review", "invoices"], [CHARTS, REVIEW, INVOICES], room, cost) == expected


def test_no_texts_are_no_texts() -> None:
    assert shorten([], [], 100, cost) == []


def test_a_text_without_a_word_of_its_own_is_shown_in_full_or_not_at_all() -> None:
    text = "Use this when you need help with a task."
    assert shown([text], cost(text)) == [text]
    assert shown([text], cost(text) - 1) == [""]


def test_a_text_that_almost_fits_is_completed_rather_than_ended_with_an_ellipsis() -> None:
    assert shown(["Files invoices."], cost("Files invoices.")) == ["Files invoices."]
    assert shown(["Files invoices."], cost("Files invoices.") - 1) == [""]


def test_a_line_begins_as_it_is_written_where_little_stands_between_the_first_words() -> None:
    commits = "Turns working-tree changes into git commits with one reason each. Use it when somebody says commit this."
    charts = "Use it when you want to plot, for everybody who would like to have charts of what was measured."
    got = shown([commits, charts], 150)
    assert got[0].startswith("Turns working-tree changes into git commits")
    assert "when you want" not in got[1]


def test_a_first_clause_is_shown_as_it_is_written_and_no_word_is_torn_out_of_a_quotation() -> None:
    text = (
        "Writes or improves an agent skill, a folder with a SKILL.md and optional scripts, references and templates. "
        'Use when the user says "turn this into a skill", "my skill never triggers" or "improve this skill". Covers '
        "whether a skill is worth it, its one job, the description that makes it fire, the body, bundled scripts, "
        "validation and trigger tests."
    )
    expected = (
        'Writes or improves an agent skill, optional scripts, references, templates, "my skill never triggers", Covers '
        "whether, job, body, bundled scripts, validation, trigger tests…"
    )
    assert shown([text], 180) == [expected]


def test_what_the_name_says_already_comes_last() -> None:
    text = "Invoices, receipts and so on."
    assert shorten(["invoices"], [text], cost("receipts…"), cost) == ["receipts…"]
    assert shorten(["receipts"], [text], cost("Invoices…"), cost) == ["Invoices…"]


def test_a_word_from_inside_a_clause_is_shown_beside_its_neighbours_or_not_at_all() -> None:
    text = "Finds the root cause of a failure by halving the search space, reproduces, bisects or logs."
    for room in range(12, cost(text) - 20):
        pieces = shown([text, "Plans trips."], room)[0].removesuffix(ELLIPSIS).split(", ")
        assert {"Finds", "failure", "halving"}.isdisjoint(pieces)
    assert shown([text], 60) == ["Finds the root cause of a failure, search space, logs…"]


def test_siblings_keep_the_words_that_tell_them_apart_where_cutting_would_show_none() -> None:
    targets = ["staging servers", "production clusters", "edge nodes", "developer laptops", "customer appliances"]
    family = [
        f"Deploys the web shop to the cloud with the usual checks, a backup and a health probe, on {target}."
        for target in targets
    ]
    room = 50 * len(family)
    assert not [target for target, text in zip(targets, family, strict=True) if target in text[:50]]
    got = shown(family, room)
    assert [target for target, text in zip(targets, got, strict=True) if target not in text] == []
    assert len({*got}) == len(family)


def test_one_huge_text_does_not_starve_thirty_healthy_ones() -> None:
    huge = cut(" ".join(f"Handles topic{number} and matter{number}." for number in range(300)), 1_024)
    healthy = [f"Paints house{number} in colour{number}. Use when walls are bare." for number in range(30)]
    got = shown([huge, *healthy], 1_200)
    assert [text for text in got[1:] if f"house{got.index(text) - 1}" not in text] == []


def test_the_same_phrase_is_not_shown_twice() -> None:
    text = "Plans trips by train. Books hotels. Plans trips by train. Books flights."
    assert shown([text], 60) == ["Plans trips by train. Books hotels, Books flights…"]


def test_text_in_any_script_is_shortened_between_words() -> None:
    texts = [
        "从电子表格绘制图表，用于报告、演示文稿。当用户需要柱状图时使用。",
        "हिन्दी में रिपोर्ट लिखें, तालिका बनाएं, चित्र जोड़ें।",
        "كتابة التقارير، رسم الجداول، إضافة الصور.",
        "Re\u0301dige des re\u0301sume\u0301s, ve\u0301rifie l'orthographe, pre\u0301pare des tableaux.",
    ]
    got = shown(texts, 120)
    words = [re.findall(r"[^\s,.،，、。।…]+", text) for text in texts]
    assert [word for text, known in zip(got, words, strict=True) for word in _words(text) if word not in known] == []
    assert all(got)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\s,.،，、。।…]+", text)


# one text, cut


def test_a_text_within_the_limit_is_not_cut() -> None:
    assert cut("As long as the limit.", 21) == "As long as the limit."


def test_a_huge_description_is_cut_at_the_end_of_a_clause() -> None:
    clause = "Checks the ledger, "
    text = clause * 500
    got = cut(text, 1_024)
    assert got == f"{(clause * 53).rstrip(', ')}…"
    assert len(got) <= 1_024


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("One two three four five six", 20, "One two three four…"),
        ("One, two three four five six", 20, "One, two three four…"),
        ("One two three. Four five six", 20, "One two three…"),
        ("一二三四五六七八九十，一二三四五六七八九十", 14, "一二三四五六七八九十，…"),
        ("一二 三四五六七八九十一二三四五六七八九十", 14, "一二 三四五六七八九十一二…"),
        ("See https://example.com/a/very/long/address", 20, "See…"),
        ("x" * 50, 20, "x" * 19 + "…"),
        ("Wow! Such a text! More of it", 18, "Wow! Such a text!…"),
    ],
)
def test_a_cut_falls_between_words(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected
    assert len(expected) <= limit


def test_a_negation_is_not_cut_in_two() -> None:
    assert cut("Deploys the shop. Do not deploy on Fridays, unless it burns.", 50) == "Deploys the shop…"
    assert cut("Do not deploy on Fridays, Saturdays or Sundays.", 30) == "Do not deploy on Fridays…"


def test_a_cut_never_ends_before_the_negation_of_what_it_shows() -> None:
    assert cut("Reads CSV. Excel, Word, slides and maps are not supported.", 35) == "Reads CSV…"
    assert cut("Excel, Word, slides, forms and maps are not supported.", 35) == ELLIPSIS


@given(st.text(max_size=80), st.integers(2, 60))
def test_a_cut_text_is_never_longer_than_the_limit(text: str, limit: int) -> None:
    got = cut(text, limit)
    assert len(got) <= limit
    assert got == text or (got.endswith(ELLIPSIS) and text.startswith(got[:-1]))


# words


def test_words_are_compared_without_case_and_endings() -> None:
    assert plain_terms("Reviews REVIEWING reviewed; naïve Straße-STRASSE") == [
        *["review"] * 3,
        "naïve",
        "strass",
        "strass",
    ]


def test_a_script_without_spaces_is_compared_by_pairs() -> None:
    assert plain_terms("电子表格 表") == ["电子", "子表", "表格", "表"]


def test_a_word_that_is_lowered_differently_alone_is_no_trouble() -> None:
    assert shown(["ΟΔΟΣ:ΧΑΡΤΗΣ ΠΟΛΗΣ:ΧΑΡΤΗΣ"], 12) == ["ΧΑΡΤΗΣ…"]


# negations


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Do NOT use for tables, charts or PDF. Use for text.", "Do NOT use for tables, charts or PDF"),
        (
            "Reads text; don't use for .docx or Node.js, e.g. Word files.",
            "don't use for .docx or Node.js, e.g. Word files",
        ),
        ("Excel files are not supported. Reads text.", "Excel files are not supported"),
        ("Reads text: Excel, Word and PDF are not supported.", "Excel, Word and PDF are not supported"),
        ("Reads text, is not for charts.", "Reads text, is not for charts"),
        ("Reads text. Is not for charts.", "Is not for charts"),
        ("Reads text (PDF forms not supported) and charts.", "PDF forms not supported"),
        ("Reads text (not charts) and tables.", "not charts"),
        ("Reads text when charts cannot be drawn.", "charts cannot be drawn"),
        ("Reads text. Avoid charts, tables and PDF.", "Avoid charts, tables and PDF"),
        ("Reads text without charts, tables, PDF. In order.", "without charts, tables, PDF"),
        ("Reads 1,000 rows rather than 1,000,000 rows, maps. In order.", "rather than 1,000,000 rows, maps"),
        ("Reads text. Skip when charts are asked for; or tables.", "Skip when charts are asked for; or tables"),
        ("Reads text. Use even if the user never says chart, for tables.", "even if the user never says chart"),
        ("提取表格，不要用于合同、发票。支持图表。", "不要用于合同、发票"),
        ("Reads text, never charts vs. tables. Quick.", "Reads text, never charts vs. tables"),
        ('Says "not yet." Reads text.', 'Says "not yet'),
        (
            "No longer supports Excel workbooks, charts, pivots. Reads CSV.",
            "No longer supports Excel workbooks, charts, pivots",
        ),
        ("Works with everything but PDF forms, maps. Quick.", "everything but PDF forms, maps"),
        ("Reads all known formats but PDF.", "all known formats but PDF"),
        ("For anything other than PDF forms, maps.", "anything other than PDF forms, maps"),
        ("Reads text, apart from PDF, maps.", "apart from PDF, maps"),
        ("Out of scope: Excel, charts. Reads CSV.", "Out of scope: Excel, charts"),
        ("Reads CSV. Excel, charts are outside its scope.", "Excel, charts are outside its scope"),
        (
            "Reads CSV. Deprecated in favour of pdf-pro, which fills forms.",
            "Deprecated in favour of pdf-pro, which fills forms",
        ),
        ("Superseded by pdf-pro, pdf-max. Reads CSV.", "Superseded by pdf-pro, pdf-max"),
        ("Reads CSV. Charts were replaced by maps, plans.", "Charts were replaced by maps, plans"),
        ("Reads CSV. Dont use for Excel, charts; doesnt draw.", "Dont use for Excel, charts; doesnt draw"),
        ("Reads CSV. It isn't for Excel, charts.", "It isn't for Excel, charts"),
        ("Reads CSV. Charts, maps not intended.", "Charts, maps not intended"),
        ("Reads CSV. Excel, charts, maps excluded.", "Excel, charts, maps excluded"),
        ("Reads CSV. Excel, charts unsupported.", "Excel, charts unsupported"),
        ("Reads CSV. Excel: unsupported. Quick.", "Excel: unsupported"),
        ("Reads CSV. Excel (unsupported), maps.", "Excel (unsupported)"),
        ("Reads CSV. Excel [deprecated] and maps.", "Excel [deprecated]"),
        ("Reads CSV. Excel (.xlsx) is not supported.", "Excel (.xlsx) is not supported"),
        ("Reads CSV. Excel charts, which are not supported.", "Excel charts, which are not supported"),
        ("Reads CSV. Excel, Word etc. are not supported.", "Excel, Word etc. are not supported"),
        ("Reads CSV. Excel has no support.", "Excel has no support"),
        ("Reads CSV. For Excel, do not use it.", "For Excel, do not use it"),
        ("Reads CSV. For Excel: never use it.", "For Excel: never use it"),
        ("Reads CSV. For Excel, use the xlsx skill instead.", "For Excel, use the xlsx skill instead"),
        ("Reads CSV. Excel is (not) supported.", "Excel is (not) supported"),
        ("Reads CSV. Do _not_ use for Excel, do **not** draw.", "Do _not_ use for Excel, do **not** draw"),
        ("Reads CSV. Do not use for: 1. Excel 2. Charts. Quick.", "Do not use for: 1. Excel 2. Charts"),
        ("Reads CSV. Refuse Excel, charts.", "Refuse Excel, charts"),
        ('Use for "no rows arrive", "charts hang".', '"no rows arrive"'),
        ('You "do not" use it for Excel, charts. Quick.', 'You "do not" use it for Excel, charts'),
        ("Reads CSV. Excel (which is not supported), maps.", "Excel (which is not supported)"),
        ("Reads CSV. Excel (cannot be read) and maps.", "Excel (cannot be read)"),
        ("Reads CSV. Excel (no), maps.", "Excel (no)"),
        ('Do not use for "Excel. Charts" or maps. Quick.', 'Do not use for "Excel. Charts" or maps'),
        ("图表，表格不支持。提取文本。", "图表，表格不支持"),
    ],
)
def test_a_negation_is_one_phrase_with_all_that_it_negates(text: str, expected: str) -> None:
    assert [part for part, negated in parts(text) if negated] == [expected]


def test_a_word_that_only_contains_a_negation_is_none() -> None:
    text = (
        "A no-code tool for not-for-profit notes, with do-not-disturb and without-rowid tables, --no-verify, not_found"
    )
    assert [part for part, negated in parts(text) if negated] == []


def test_what_follows_a_negation_does_not_read_as_negated() -> None:
    text = "Do not use for contracts or leases. When asked to, formats invoices, letters and receipts for printing."
    expected = "Do not use for contracts or leases. formats invoices, letters and receipts for printing…"
    assert shown([text], cost(expected)) == [expected]


THINGS = ["excel", "word", "slides", "forms", "scans", "maps", "wikis", "mails", "logs", "feeds"]
GOALS = ["tables", "charts", "ledgers", "budgets", "invoices", "payroll", "audits", "forecasts", "taxes", "reports"]
DENIALS = [
    "Do NOT use for {0}, {1} or {2}",
    "Don’t use for {0} e.g. old {1}, .{2} or {1}.js files",
    "Not for {0}; not for {1}, {2}",
    "{0}, as a rule, and {1} files are not supported",
    "Avoid {0}, {1} and {2}",
    "Never touch {0}, {1}, {2}",
    "Skip when {0}, {1} or {2} is asked for",
    "No {0}, {1} or {2}",
    "It cannot read {0}: {1}, {2} (see {0})",
    "不要用于 {0}、{1}，{2}",
    "No {0}, {1}, {2}",
    "Without {0}, {1}, {2}",
    "No longer supports {0}, {1}, {2}",
    "Everything but {0}, {1}, {2}",
    "All files but {0} or {1}, {2}",
    "Anything other than {0}, {1}, {2}",
    "Apart from {0}, {1}, {2}",
    "Out of scope: {0}, {1}, {2}",
    "{0}, {1}, {2} are out of scope",
    "Deprecated in favour of {0}, which draws {1}, {2}",
    "Superseded by {0}, {1} and {2}",
    "{0} was replaced by {1}, {2}",
    "dont use for {0}, {1}, {2}",
    "It doesnt read {0}, {1}, {2}",
    "It isn't for {0}, {1}, {2}",
    "Not intended for {0}, {1}, {2}",
    "{0}, {1}, {2} not intended",
    "{0}, {1}, {2} are excluded",
    "{0}, {1}, {2}: unsupported",
    "{0}, {1}, {2} (unsupported)",
    "{0} (old {1}) and {2} cannot be read",
    "{0}, {1} etc. are never read, nor is {2}",
    "For {0}, {1}, {2}, use another skill instead",
    "图表 {0}、{1}，{2} 不支持",
]
denials = st.builds(str.format, st.sampled_from(DENIALS), *[st.sampled_from(THINGS)] * 3)
claims = st.lists(st.sampled_from(GOALS), min_size=1, max_size=5).map(lambda some: f"Use for {', '.join(some)}")
descriptions = st.lists(denials | claims, min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(st.lists(descriptions, min_size=1, max_size=6), st.integers(0, 500))
def test_nothing_negated_is_shown_without_its_negation(library: list[list[str]], room: int) -> None:
    for sentences, got in zip(library, shown([f"{'. '.join(some)}." for some in library], room), strict=True):
        rest = got.removesuffix(ELLIPSIS)
        denied = [sentence for sentence in sentences if not sentence.startswith("Use for")]
        for denial in denied:
            assert not re.search(rf"{re.escape(denial)}(?!$|\.( |$))", rest)
            rest = rest.replace(denial, "")
        assert [thing for denial in denied for thing in THINGS if thing in denial and thing in rest] == []


# properties

WORDS = [
    "plan",
    "Node.js",
    "C++",
    "e-mail",
    "naïve",
    "don't",
    "हिन्दी",
    "ไทย",
    "表格",
    "ré́sumé",
    "x_y",
    "__init__",
    "the",
]
texts = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(["", "", "", ",", ".", ";", ":", " —", "!"])), max_size=25
).map(lambda pairs: " ".join(word + sign for word, sign in pairs))


def _known(text: str) -> list[str]:
    return [word for word in (word.rstrip(",.;:—!…") for word in text.split()) if word]


def _is_within(inner: list[str], outer: list[str]) -> bool:
    """Whether all of these come in this order."""
    rest = iter(outer)
    return all(word in rest for word in inner)


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, max_size=6), st.integers(-10, 400))
def test_words_are_never_cut_and_keep_their_order(library: list[str], room: int) -> None:
    got = shown(library, room)
    assert sum(map(cost, got)) <= max(room, 0)
    assert [pair for pair in zip(got, library, strict=True) if not _is_within(_known(pair[0]), _known(pair[1]))] == []
    assert [
        pair for pair in zip(got, library, strict=True) if pair[0] and pair[0] != pair[1] and pair[0][-1] != "…"
    ] == []


@settings(max_examples=200, deadline=None)
@given(st.lists(texts | st.text(max_size=60), max_size=6), st.integers(0, 300), st.integers(0, 100))
def test_more_room_never_shows_less_by_more_than_a_phrase(library: list[str], room: int, more: int) -> None:
    openings = (len(re.split(r"[.;:!?,)](?=\s)|\s(?=[—–-]\s)|[。；！？，]", text)[0]) + 3 for text in library)
    longest = max((*(end - start + 3 for text in library for start, end, _ in phrases(text)), *openings), default=0)
    spent = [sum(map(cost, shown(library, size))) for size in (room, room + more)]
    assert spent[1] >= spent[0] - longest
    assert spent[0] <= room
    assert spent[1] <= room + more


@settings(max_examples=100, deadline=None)
@given(st.lists(texts, max_size=6))
def test_with_room_for_all_every_text_is_shown_as_it_is(library: list[str]) -> None:
    assert shown(library, sum(map(cost, library))) == library


@settings(max_examples=200, deadline=None)
@given(st.lists(texts | denials | st.text(max_size=20), max_size=6).map(" ".join))
def test_the_phrases_of_a_text_come_in_order_and_do_not_overlap(text: str) -> None:
    ends = [end for start, stop, _ in phrases(text) for end in (start, stop)]
    assert ends == sorted(ends)
    assert [part for part, _ in parts(text) if not part] == []

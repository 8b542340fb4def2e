"""The numbers and the messages behind them, foreseen by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from routing.counting import Counting
from whet.routing.evals.formats import Case
from whet.routing.evals.judge import judged
from whet.routing.evals.report import Overall, Report, Scores, split, tally
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = {"p": "fill pdf forms", "d": "write docx letters", "x": "excel sheets"}
NAMES = {"p": "pdf", "d": "docx", "x": "xlsx"}


def evaluate(cases: Sequence[Case], judge: Counting) -> Report:
    return tally(judged(tuple(cases), judge), NAMES)


def case(message: str, skill: str, *, fits: bool) -> Case:
    return Case(message, skill, fits, "")


CASES = (
    case("fill these forms", "p", fits=True),  # must
    case("my pdf is broken", "p", fits=True),  # may
    case("stamp the contract", "p", fits=True),  # nothing
    case("write letters about pdf", "p", fits=True),  # docx comes up instead, pdf is offered beside it
    case("write letters", "p", fits=False),  # rightly silent
    case("fill out tax forms", "p", fits=False),  # comes up
    case("docx to pdf", "d", fits=True),  # may, first by name
    case("bake a cake", "", fits=False),  # rightly nothing
    case("excel at sheets of ice", "", fits=False),  # something comes up
)


def test_the_numbers() -> None:
    report = evaluate(CASES, Counting(TEXTS))
    assert report.overall == Overall(Scores(1, 4, 2, 2), Scores(4, 1, 2, 2), 0.6, 0.8)
    pdf, docx = report.skills
    assert (pdf.must, pdf.offered) == (Scores(1, 3, 1, 1), Scores(3, 1, 1, 1))
    assert (docx.must, docx.offered) == (Scores(0, 1, 0, 0), Scores(1, 0, 0, 0))
    assert report.no_skill is not None
    assert (report.no_skill.must, report.no_skill.offered) == (Scores(0, 0, 1, 1), Scores(0, 0, 1, 1))
    scores = pdf.offered
    assert (scores.precision, scores.recall, scores.f1, scores.accuracy) == (0.75, 0.75, 0.75, 4 / 6)
    assert (Scores(0, 0, 0, 3).precision, Scores(0, 0, 3, 0).recall, Scores(0, 0, 0, 0).accuracy) == (None, None, None)


def test_the_document() -> None:
    answer = as_json(evaluate(CASES, Counting(TEXTS)))
    assert [item["skill"] for item in answer["skills"]] == ["pdf", "docx"]
    assert answer["overall"]["must"] == {
        "precision": 0.3333,
        "recall": 0.2,
        "f1": 0.25,
        "accuracy": 0.3333,
        "hits": 1,
        "misses": 4,
        "false": 2,
        "rightly_silent": 2,
    }
    assert (answer["cases"], answer["overall"]["first"], answer["overall"]["top5"]) == (9, 0.6, 0.8)
    pdf = answer["skills"][0]
    assert pdf["missed"] == [
        {
            "message": "stamp the contract",
            "place": "",
            "tier": "none",
            "rank": None,
            "confidence": 0.0,
            "winner": None,
            "first": None,
        }
    ]
    assert [(row["message"], row["tier"], row["confidence"]) for row in pdf["false_triggers"]] == [
        ("fill out tax forms", "must", 0.75)
    ]
    stolen = {"skill": "pdf", "by": "docx", "count": 1, "messages": ["write letters about pdf"]}
    assert (pdf["stolen"], answer["confusions"]) == ([stolen], [stolen])
    assert [row["winner"] for row in answer["no_skill"]["false_triggers"]] == ["xlsx"]
    assert (answer["held_out"], answer["suggestions"]) == (False, [])


def test_what_another_skill_rightly_wins_is_not_stolen() -> None:
    cases = [case("write letters about pdf", skill, fits=True) for skill in ("p", "d")]
    assert as_json(evaluate(cases, Counting(TEXTS)))["confusions"] == []


def test_a_message_is_looked_at_once() -> None:
    judge = Counting(TEXTS)
    evaluate([case("fill forms", skill, fits=skill == "p") for skill in TEXTS], judge)
    assert judge.asked == 1


def test_long_messages_and_long_lists_are_cut() -> None:
    cases = [case(f"{number} {'word ' * 100}", "p", fits=True) for number in range(60)]
    answer = as_json(evaluate(cases, Counting(TEXTS)))
    (pdf,) = answer["skills"]
    assert (pdf["must"]["misses"], len(pdf["missed"]), len(pdf["missed"][0]["message"])) == (60, 50, 300)


def test_no_cases_is_an_empty_report() -> None:
    nothing = Scores(0, 0, 0, 0)
    overall = Overall(nothing, nothing, None, None)
    assert evaluate([], Counting(TEXTS)) == Report(0, False, overall, (), None, (), ())


def test_two_fifths_of_each_kind_are_held_out() -> None:
    cases = [case(f"message {number}", skill, fits=number % 2 == 0) for number in range(20) for skill in ("p", "d")]
    learn, held = split(cases)
    assert sorted((*learn, *held)) == sorted(cases)
    counts = {
        (skill, fits): sum((item.skill, item.fits) == (skill, fits) for item in held)
        for skill in "pd"
        for fits in (True, False)
    }
    assert counts == {("p", True): 4, ("p", False): 4, ("d", True): 4, ("d", False): 4}
    assert split(reversed(cases)) == (tuple(reversed_groups(learn)), tuple(reversed_groups(held)))
    report = evaluate(split(cases)[1], Counting(TEXTS))._replace(held_out=True)
    assert (report.held_out, sum(report.overall.must)) == (True, 16)


def reversed_groups(cases: tuple[Case, ...]) -> list[Case]:
    """The same cases, grouped in the order in which their groups first appear when all are read backwards."""
    order = [("d", False), ("p", False), ("d", True), ("p", True)]
    return [item for group in order for item in cases if (item.skill, item.fits) == group]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=5), st.sampled_from("pd"), st.booleans()), unique=True, max_size=30))
def test_nothing_is_lost_in_a_split(rows: list[tuple[str, str, bool]]) -> None:
    cases = [case(message, skill, fits=fits) for message, skill, fits in rows]
    learn, held = split(cases)
    assert sorted((*learn, *held)) == sorted(cases)
    assert {(item.skill, item.fits) for item in held} <= {(item.skill, item.fits) for item in learn}

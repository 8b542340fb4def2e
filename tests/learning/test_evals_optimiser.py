"""A better description, proved on messages it was not made from, on the router of a real library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from learning.evaluated import opened
from whet.errors import NotFoundError
from whet.learning.evals.descriptions import (
    LONGEST,
    Description,
    add_phrases,
    optimise,
    optimise_description,
)
from whet.learning.models.scripted import Scripted
from whet.routing.evals.formats import Case
from whet.routing.evals.suggestions import Suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from whet import Library
    from whet.learning.evals.descriptions import Tried
    from whet.learning.models.model import Request
    from whet.routing.evals.judge import Judged, Tier

INVOICES = [
    *("reconcile the supplier invoices for march", "match these invoices with our ledger"),
    *("which invoices are missing from the ledger", "reconcile invoices of the new supplier"),
    *("check the supplier invoices against the ledger", "the ledger and the invoices do not agree, find out why"),
    *("reconcile last month's ledger", "supplier invoices that nobody has booked in the ledger"),
]
OTHERS = [
    *("write a poem about autumn", "deploy the service to staging", "translate this letter into French"),
    *("draw a chart of the weather", "rename all these photos", "summarise the meeting"),
]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    """A skill with a poor description and trigger evals, and a neighbour that has none."""
    for name, description, body in (
        ("bookkeeping", "Helps with numbers.", "Compare rows one by one."),
        ("deploying", "Deploys a service to staging or production. Use it to deploy a service.", "Run the deploy."),
        ("poems", "Writes poems about seasons and moods. Use it when somebody asks for a poem.", "Write a poem."),
    ):
        directory = tmp_path / "skills" / name
        directory.mkdir(parents=True)
        (directory / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
    cases = [{"query": text, "should_trigger": True} for text in INVOICES]
    cases += [{"query": text, "should_trigger": False} for text in OTHERS]
    evals = tmp_path / "skills" / "bookkeeping" / "evals"
    evals.mkdir()
    (evals / "triggers.json").write_text(json.dumps(cases))
    with opened(tmp_path) as made:
        yield made


GOOD = (
    "Reconciles supplier invoices with the ledger: matches them, finds what is missing and why they do not agree. "
    "Use it when somebody wants invoices checked against a ledger."
)
GREEDY = (
    f"{GOOD} Also writes poems about seasons and moods, and deploys a service to staging or production. Use it to "
    "deploy a service. Use it when somebody asks for a poem."
)


def test_a_model_proposes_and_the_router_decides(library: Library) -> None:
    asked: list[str] = []

    def answer(request: Request) -> str:
        asked.append(request.messages[-1].text)
        return json.dumps({"description": GOOD if len(asked) == 1 else GREEDY})

    told = optimise_description(
        library.workspace, library.matcher.index_manager, "bookkeeping", Scripted(answer)
    ).to_json()
    assert (told["success"], told["improved"], told["description"]) == (True, True, GOOD)
    assert told["after"]["held_out"] > told["before"]["held_out"]
    assert told["tried"][0]["verdict"] == "kept"
    assert library.read("bookkeeping").skill.description == "Helps with numbers."
    seen = " ".join(asked)
    assert 0 < sum(message in seen for message in INVOICES) <= told["learned_from"] < len(INVOICES + OTHERS)


def test_held_out_messages_are_never_shown_to_whoever_proposes(library: Library) -> None:
    asked: list[str] = []

    def answer(request: Request) -> str:
        asked.append(request.messages[-1].text)
        return json.dumps({"description": f"Says nothing new, version {len(asked)}."})

    told = optimise_description(
        library.workspace, library.matcher.index_manager, "bookkeeping", Scripted(answer)
    ).to_json()
    assert not told["improved"] and told["description"] == "Helps with numbers." and told["before"] == told["after"]
    assert len(asked) == 5 and {item["verdict"] for item in told["tried"]} == {"not-better"}
    assert told["held_out"] >= 5 and sum(message in asked[-1] for message in INVOICES) <= 5


def test_without_a_model_words_of_the_evals_are_tried(library: Library) -> None:
    told = library.learning.optimise_description("bookkeeping", apply=True)
    assert told.improved and told.applied and told.description.startswith("Helps with numbers. Use for ")
    assert library.read("bookkeeping").skill.description == told.description


def test_too_few_messages_prove_nothing(library: Library) -> None:
    with pytest.raises(NotFoundError) as caught:
        optimise_description(library.workspace, library.matcher.index_manager, "poems")
    assert caught.value.code == "too-few-trigger-evals"


# with a router that can be told what to say


class Told:
    """A judge for which skills come up by the words of their descriptions."""

    key: str | None
    decision: Tier

    def __init__(self, descriptions: dict[str, str]) -> None:
        self.descriptions = descriptions
        self.others: tuple[()] = ()
        self.also: tuple[()] = ()
        self.first: Told | None = None

    def find(self, message: str, k: int = 10) -> Sequence[Told]:
        del message, k
        return ()

    def detect(self, message: str) -> Told:
        found = [key for key, text in self.descriptions.items() if {*message.split()} & {*text.split()}]
        answer = Told(self.descriptions)
        answer.key, answer.decision = (found[0], "must") if found else (None, "none")
        answer.first = answer if found else None
        return answer

    @property
    def score(self) -> float:
        return 1.0

    def confidence(self, message: str, key: str) -> float:
        del message, key
        return 1.0


CASES = [Case(f"alpha {at}", "a", fits=True, place="") for at in range(6)]
CASES += [Case(f"other {at}", "a", fits=False, place="") for at in range(4)]
CASES += [Case("beta thing", "b", fits=True, place="")]


def tried(*candidates: str) -> Description:
    def describe(text: str) -> Told:
        return Told({"a": text, "b": "beta"})

    def propose(learned: Sequence[Judged], _tried: Sequence[Tried]) -> Iterator[str]:
        assert {item.case.skill for item in learned} == {"a"}
        yield from candidates

    return optimise("a", "nothing", CASES, describe("nothing"), describe, propose)  # type: ignore[arg-type]  # a judge in miniature


def test_a_candidate_that_takes_from_a_neighbour_is_not_kept() -> None:
    result = tried("alpha beta")
    assert [(item.verdict, item.worse) for item in result.tried] == [("neighbours-worse", ("b",))]
    assert (result.improved, result.description) == (False, "nothing")


def test_the_best_on_what_was_held_out_is_kept() -> None:
    result = tried("nothing", "alpha other", "x" * (LONGEST + 1), "alpha", "alpha", "alpha longer")
    assert [(item.description[:12], item.verdict) for item in result.tried] == [
        *(("alpha other", "not-better"), ("x" * 12, "too-long"), ("alpha", "kept"), ("alpha longer", "better")),
    ]
    assert (result.description, result.after) == ("alpha", (1.0, 1.0))


def test_phrases_are_put_behind_a_description() -> None:
    phrases = [Suggestion("a", "use", "one", 2), Suggestion("a", "avoid", "two", 1), Suggestion("a", "use", "three", 1)]
    assert [*add_phrases("Does it", phrases)] == [
        "Does it. Use for one.",
        "Does it. Use for one. Do not use for two.",
        "Does it. Use for one, three. Do not use for two.",
    ]

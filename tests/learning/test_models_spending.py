"""Budgets, with time that does not pass."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import UsageError
from whet.learning.models.model import (
    Budget,
    Budgeted,
    Completion,
    Message,
    ModelError,
    Spent,
    Tool,
    estimated,
)
from whet.learning.models.scripted import Scripted

if TYPE_CHECKING:
    from collections.abc import Callable

ASK = [Message("user", "Say hello.")]
IN = estimated(ASK)
SCHEMA = {"type": "object", "properties": {}}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def costing(tokens: int) -> Scripted:
    return Scripted(lambda _: Completion("Hello.", tokens_in=IN, tokens_out=tokens - IN))


def over(call: Callable[[], Any]) -> ModelError:
    with pytest.raises(ModelError) as raised:
        call()
    return raised.value


def test_a_call_that_cannot_be_paid_for_is_not_made() -> None:
    model, budget = costing(50), Budget(tokens=100 + IN)
    limited = Budgeted(model, budget)
    assert limited.name == "scripted"
    for _ in range(2):
        assert limited.complete(ASK).text == "Hello."
    error = over(lambda: limited.complete(ASK))
    assert error.to_json() == {
        "success": False,
        "error": f"The budget of {100 + IN} tokens for models is used up.",
        "code": "model-budget",
        "hint": "Use a larger budget, or continue without a model.",
        "budget": "tokens",
        "limit": 100 + IN,
    }
    assert (len(model.requests), budget.spent()[:2]) == (2, (100, 2))


def test_the_length_of_an_answer_is_lowered_to_what_is_left() -> None:
    model = costing(50)
    limited = Budgeted(model, Budget(tokens=IN + 70))
    limited.complete(ASK, max_tokens=60)
    limited.complete(ASK, max_tokens=60)
    assert [request.max_tokens for request in model.requests] == [60, 20]


def test_calls_and_seconds_are_limits_too() -> None:
    clock = Clock()
    budget = Budget(calls=2, seconds=30, clock=clock)
    one, other = Budgeted(costing(50), budget), Budgeted(costing(70), budget)
    one.complete(ASK)
    clock.now += 29
    other.complete(ASK)
    assert over(lambda: one.complete(ASK)).details["budget"] == "calls"
    assert budget.spent() == Spent(120, 2, 29.0)
    late = Budgeted(costing(50), Budget(seconds=5, clock=clock))
    clock.now += 5
    assert over(lambda: late.complete(ASK)).details["budget"] == "seconds"


def test_what_failed_is_paid_for_too() -> None:
    model = Scripted(lambda _: Completion("no JSON", tokens_in=10, tokens_out=5))
    budget = Budget(tokens=10_000)
    assert over(lambda: Budgeted(model, budget).complete(ASK, schema=SCHEMA)).code == "model-bad-answer"
    assert budget.spent()[:2] == (30, 1)


def test_an_answer_that_does_not_fit_is_not_asked_for_again_where_that_cannot_be_paid() -> None:
    model = Scripted(lambda _: Completion("no JSON", tokens_in=10, tokens_out=5))
    error = over(lambda: Budgeted(model, Budget(tokens=1000)).complete(ASK, schema=SCHEMA, max_tokens=2000))
    assert (error.code, error.tokens_in, error.tokens_out, len(model.requests)) == ("model-budget", 10, 5, 1)
    assert error.message == "scripted gave an answer that does not match; the budget is used up."


def test_threads_share_the_calls_of_a_budget() -> None:
    model, budget = costing(20), Budget(calls=25)
    limited = Budgeted(model, budget)
    refused: list[str] = []

    def work() -> None:
        for _ in range(10):
            try:
                limited.complete(ASK)
            except ModelError as error:
                refused.append(error.code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(model.requests), refused, budget.spent()[:2]) == (25, ["model-budget"] * 15, (500, 25))


@pytest.mark.parametrize("limits", [{"tokens": 0}, {"calls": -1}, {"seconds": 0.0}])
def test_a_budget_of_nothing_is_a_mistake(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        Budget(**limits)
    assert raised.value.code == "bad-budget"


def test_the_estimate_counts_schemas_and_tools() -> None:
    with_schema, with_tools = estimated(ASK, SCHEMA), estimated(ASK, None, [Tool("look", "", {})])
    assert with_schema > IN and with_tools > IN

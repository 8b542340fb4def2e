"""Several models vote: what most of them say counts, part by part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.learning.models.model import Completion, Message, Model, ModelError, Tool
from whet.learning.models.panel import Panel, vote
from whet.learning.models.providers import open_model
from whet.learning.models.scripted import Scripted

if TYPE_CHECKING:
    from pathlib import Path

    from whet.learning.models.model import Request

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASKED = [Message("user", "Name it.")]


class Failing(Model):
    """A model that never answers, and costs something."""

    def ask(self, request: Request) -> Completion:  # noqa: ARG002  whatever is asked
        error = ModelError("model-unavailable", f"{self.name} is away.", hint="Wait.")
        error.tokens_in = 5
        raise error


def says(value: Any, name: str) -> Scripted:
    return Scripted(lambda _: Completion(json.dumps(value), tokens_in=10, tokens_out=1), name)


@pytest.mark.parametrize(
    ("ballots", "chosen"),
    [
        (["a", "b", "b"], "b"),
        (["A  b", "a b", "c"], "A  b"),
        (["Write the release notes", "Write notes of the release", "Bake bread"], "Write the release notes"),
        ([True, False, False], False),
        ([True, False], True),
        ([["x", "y"], ["y", "z"], ["Y", "x", "x"]], ["x", "y"]),
        ([["x"], ["y"], ["z"]], []),
        (
            [[{"number": 2, "drop": True}, {"number": 1, "title": "a"}], [{"number": 1, "title": "a"}], []],
            [{"number": 1, "title": "a"}],
        ),
        ([{"a": 1, "b": 1}, {"a": 1}, {"a": 2}], {"a": 1}),
        ([{"a": "only"}], {"a": "only"}),
    ],
)
def test_what_most_say_counts(ballots: list[Any], chosen: Any) -> None:
    assert vote(ballots) == chosen


def test_a_panel_answers_as_one_model_and_pays_for_all() -> None:
    models = [says({"name": "ship"}, "a"), says({"name": "send"}, "b"), says({"name": "ship"}, "c"), Failing("d")]
    answer = Panel(models).complete(ASKED, schema=SCHEMA)
    assert answer == Completion('{"name": "ship"}', {"name": "ship"}, (), 35, 3, "a, b, c", cut=False)
    assert [len(model.requests) for model in models if isinstance(model, Scripted)] == [1, 1, 1]


def test_where_none_answers_the_first_error_is_raised_with_all_costs() -> None:
    with pytest.raises(ModelError) as caught:
        Panel([Failing("a"), Failing("b")]).complete(ASKED, schema=SCHEMA)
    assert (caught.value.message, caught.value.tokens_in) == ("a is away.", 10)


def test_what_cannot_be_voted_on_is_for_the_first() -> None:
    first, second = says("x", "a"), says("y", "b")
    assert Panel([first, second]).complete(ASKED).text == '"x"'
    assert Panel([first, second]).complete(ASKED, tools=[Tool("t", "", {})]).text == '"x"'
    assert (len(first.requests), second.requests) == (2, [])


def test_names_between_commas_are_a_panel(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "a,b.jsonl"):
        (tmp_path / name).touch()
    both = f"recorded:{tmp_path}/a.jsonl, recorded:{tmp_path}/b.jsonl"
    assert (open_model(both, {}).name, type(open_model(both, {}))) == (both, Panel)
    assert not isinstance(open_model(f"recorded:{tmp_path}/a,b.jsonl", {}), Panel)

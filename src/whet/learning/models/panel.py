"""Several models as one: each answers, and with a schema they vote on every part of the answer.

A text is the most frequent one, or else the one that shares the most words with the others. Entries of a minority are
left out. A question without a schema, or with tools, goes to the first model. A model that fails has no vote.
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from whet.learning.models.model import Completion, Model, ModelError
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.models.model import Request

_NAMES = ("number", "value", "name", "id")
"""Fields that identify rows, if present."""


class Panel(Model):
    """Models that vote."""

    def __init__(self, models: Sequence[Model]) -> None:
        super().__init__(", ".join(model.name for model in models))
        self._models = tuple(models)

    def ask(self, request: Request) -> Completion:
        """Return the majority's answer; raise the error of the first model if none answers."""
        if request.schema is None or request.tools:
            return self._models[0].ask(request)
        with ThreadPoolExecutor(len(self._models)) as pool:
            asked = list(pool.map(lambda model: _try(model, request), self._models))
        answers = [answer for answer in asked if isinstance(answer, Completion)]
        errors = [answer for answer in asked if isinstance(answer, ModelError)]
        tokens_in, tokens_out = (
            sum(getattr(answer, field) for answer in asked) for field in ("tokens_in", "tokens_out")
        )
        if not answers:
            errors[0].tokens_in, errors[0].tokens_out = tokens_in, tokens_out
            raise errors[0]
        value = vote([answer.value for answer in answers])
        names = ", ".join(answer.model for answer in answers)
        cut = any(answer.cut for answer in answers)
        return Completion(json.dumps(value), value, (), tokens_in, tokens_out, names, cut)


def _try(model: Model, request: Request) -> Completion | ModelError:
    try:
        return model.ask(request)
    except ModelError as error:
        return error


def vote(ballots: Sequence[Any]) -> Any:
    """Return the majority of the ballots, part by part; with two of them, the common items, else the first."""
    if all(isinstance(ballot, dict) for ballot in ballots):
        return _vote_fields(ballots)
    if all(isinstance(ballot, list) for ballot in ballots):
        return _vote_items(ballots)
    ((common, count),) = Counter(map(_key, ballots)).most_common(1)
    if 2 * count > len(ballots) or not all(isinstance(ballot, str) for ballot in ballots):
        return next(ballot for ballot in ballots if _key(ballot) == common)
    terms = [key_terms(ballot) for ballot in ballots]

    def likeness(at: int) -> float:
        others = (other for number, other in enumerate(terms) if number != at)
        return sum(len(terms[at] & other) / (len(terms[at] | other) or 1) for other in others)

    return ballots[max(range(len(ballots)), key=lambda at: (likeness(at), -at))]


def _vote_fields(ballots: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return every field that most ballots have, in order."""
    fields = dict.fromkeys(field for ballot in ballots for field in ballot)
    chosen = {}
    for field in fields:
        given = [ballot[field] for ballot in ballots if field in ballot]
        if 2 * len(given) > len(ballots):
            chosen[field] = vote(given)
    return chosen


def _vote_items(ballots: Sequence[list[Any]]) -> list[Any]:
    """Return every item that most ballots list, in order; each ballot counts an item once."""
    listed: dict[str, list[Any]] = {}
    for ballot in ballots:
        for key, item in {_key(item): item for item in reversed(ballot)}.items():
            listed.setdefault(key, []).append(item)
    order = dict.fromkeys(_key(item) for ballot in ballots for item in ballot)
    return [vote(listed[key]) for key in order if 2 * len(listed[key]) > len(ballots)]


def _key(item: Any) -> str:
    """Return the identity of an item: the name of a row, or the words of a text."""
    if isinstance(item, dict):
        name = next((item[field] for field in _NAMES if field in item), None)
        return json.dumps(item if name is None else name, sort_keys=True)
    return " ".join(item.casefold().split()) if isinstance(item, str) else json.dumps(item, sort_keys=True)

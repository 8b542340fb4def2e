"""How long an answer to a model may get, and what is left of one that is longer.

What was asked for, the content, is cut last. Whatever is cut is named, and where the rest is to be had.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

MAX_ANSWER = 200_000
"""Characters of JSON that no answer goes beyond."""
_BESIDE = 10_000
"""Characters that one field may keep in an answer that is too long, besides its content."""
_SHORT = 2_000
"""Characters that any field may keep when that was not enough."""
_TOLD = 1_000
"""Characters for saying what was cut."""
_MOST_NAMED = 20


def bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer as JSON can carry it, cut where that would be longer than `MAX_ANSWER`, and saying so."""
    answer = _carried(answer)
    if length(answer) <= MAX_ANSWER:
        return answer
    kept = {key: value if key == "content" else shortened(value, _BESIDE) for key, value in answer.items()}
    hint = "The answer was too long to be told in full; ask for less."
    if isinstance(content := kept.get("content"), str):
        beside = length({**kept, "content": ""})
        kept["content"] = shortened(content, max(2, MAX_ANSWER - _TOLD - beside))
        if left := len(content) - len(kept["content"]):
            hint = f"The last {left:,} characters of this page are not shown; read them from the skill's path."
    if length(kept) > MAX_ANSWER - _TOLD:
        kept = {key: value for key, value in kept.items() if length(value) <= _SHORT}
        kept = dict(islice(kept.items(), (MAX_ANSWER - _TOLD) // (2 * _SHORT)))
    cut = [key[:_MOST_NAMED] for key in answer if kept.get(key) != answer[key]]
    return {**kept, "cut": cut[:_MOST_NAMED], "hint": hint}


def length(value: Any) -> int:
    """How many characters a value takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def fitting(items: list[Any], room: int) -> int:
    """How many of these items have room as JSON."""
    taken = 0
    for count, item in enumerate(items):
        taken += length(item) + 2
        if taken > room:
            return count
    return len(items)


def shortened(value: Any, room: int) -> Any:
    """The beginning of a value, as much of it as has room as JSON."""
    if length(value) <= room:
        return value
    if isinstance(value, str):
        low, high = 0, len(value)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if length(value[:middle]) <= room else (low, middle - 1)
        return value[:low]
    if isinstance(value, dict):
        return dict(islice(value.items(), fitting([list(pair) for pair in value.items()], room - 2)))
    return list(value[: fitting(list(value), room - 2)]) if isinstance(value, (list, tuple)) else None


def _carried(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer as it is, unless it has halves of characters, which no encoding carries: these become marks."""
    text = json.dumps(answer, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        carried: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
        return carried
    return answer

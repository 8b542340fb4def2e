"""Values of foreign JSON: missing or wrong values are empty."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.guard.secrets.hide import BINARY
from whet.learning.tables import NAMES, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEPTH = 4


def string(value: Any) -> str:
    """Return the value if it is text, or ""."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return the value if it is a list, or an empty one."""
    return value if isinstance(value, list) else []


def exit_code(value: Any) -> int | None:
    """Return the value if it is a whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def words(content: Any, depth: int = 0) -> str:
    """Return the text of a message or a result: a string, or parts, with images only named."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and depth < _DEPTH:
        return "\n".join(part for item in content if (part := words(item, depth + 1)))
    if not isinstance(content, dict) or not content:
        return "" if content is None or isinstance(content, list | dict) else str(content)
    if string(content.get("type")) in words_of(NAMES, "parts", "pictures"):
        return BINARY
    for key in ("text", "content", "output", "refusal", "input_text", "output_text"):
        if isinstance(content.get(key), str | list) and depth < _DEPTH:
            return words(content[key], depth + 1)
    return "" if string(content.get("type")) in {"redacted_thinking", "reasoning"} else spelled_out(content)


def spelled_out(value: Any) -> str:
    """Return any value as JSON text."""
    import json

    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # it contains itself, or is too deep
        return ""


def arguments(value: Any) -> Mapping[str, Any]:
    """Return the arguments of a call, which many clients write as JSON within JSON."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or not value.strip():
        return {}
    import json

    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):  # plain text, or cut off
        return {"input": value}
    return parsed if isinstance(parsed, dict) else {"input": value}


def moment(value: Any) -> int:
    """Return a time as nanoseconds since 1970: from ISO 8601, or seconds or milliseconds; 0 for anything else."""
    from datetime import UTC, datetime, timedelta

    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        if not 0 < value < 1e19:
            return 0
        scale = 1_000_000_000 if value < 1e11 else 1_000_000 if value < 1e14 else 1_000 if value < 1e17 else 1
        return int(value * scale)
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return 0
    try:
        time = datetime.fromisoformat(value)
        since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return 0
    return max(0, since // timedelta(microseconds=1) * 1_000)


_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])")
_SURROGATES = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return readable text for storage: no terminal colours, one kind of line end, no invalid characters."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if text.isascii() and "\0" not in text else _SURROGATES.sub("\ufffd", text)

"""Values as YAML text: lines in block style, or flow style on one line.

Text is plain only where no reader could take it for something else, and double-quoted otherwise.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"))
"""What some reader of YAML takes for a boolean or a null."""
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def lines(value: Any, unit: int) -> list[str]:
    """A table or a list that is not empty, in block style without indentation."""
    if isinstance(value, list):
        return [line for item in value for line in lines_of_item(item, unit)]
    found = []
    for key, inner in value.items():
        if inner and isinstance(inner, dict | list):
            found.append(f"{flow(key)}:")
            found.extend(" " * unit + line for line in lines(inner, unit))
        else:
            found.append(f"{flow(key)}: {flow(inner)}")
    return found


def lines_of_item(value: Any, unit: int) -> list[str]:
    """An item of a list in block style."""
    if not (value and isinstance(value, dict | list)):
        return [f"- {flow(value)}"]
    first, *rest = lines(value, unit)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _float(value)
    return json.dumps(value)


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits, exponent, power = repr(value).partition("e")
    return digits + (".0" if exponent and "." not in digits else "") + exponent + power

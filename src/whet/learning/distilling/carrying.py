"""Inputs that an older session found stay inputs: where a newer one runs the same command with a value, it is one.

A session shows what varies only against another. Two commands that differ in nothing but what the older one calls
`{table}` say which value of the newer session that is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.model import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.distilling.rounds import Distillation
    from whet.learning.facts.model import Facts, Sort

_CODE = re.compile(r"^[ \t]*(`{3,})[\w-]*[ \t]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_INPUT = re.compile(r"\{([a-z][a-z0-9_]{0,60})\}")
_ABOUT = re.compile(r"^- `\{([a-z0-9_]+)\}`: (.{1,200}?)\.?$", re.MULTILINE)
_FIXED = 6
"""Letters of a command that two must share, to be the same."""
_LINES = 200
_LONGEST = 500


def carried(distillation: Distillation, older: str) -> Distillation:
    """The distillation with the inputs of an older body for values that stand in their places."""
    found = values_of(older, distillation.draft().body)
    about = dict(_ABOUT.findall(older))
    new = tuple(
        Parameter(name, value, _sort(value), ("steps",), about.get(name, "a detail of the case"))
        for name, value in found.items()
    )
    if not new:
        return distillation
    refined = distillation.refined
    return distillation._replace(
        facts=_with(distillation.facts, new),
        refined=refined and refined._replace(facts=_with(refined.facts, new)),
    )


def values_of(older: str, newer: str) -> Mapping[str, str]:
    """The values that stand in a newer body where an older one has inputs, by their names."""
    lines = [line for line in _lines(newer) if len(line) <= _LONGEST]
    own = set(_INPUT.findall(newer))
    found: dict[str, str] = {}
    for line in _lines(older):
        names = set(_INPUT.findall(line)) - own - set(found)
        if names and len(re.findall(r"[a-zA-Z]", _INPUT.sub("", line))) >= _FIXED:
            pattern = _pattern(line)
            match = next((match for other in lines if (match := pattern.fullmatch(other))), None)
            found |= {name: match[name] for name in sorted(names) if match and _is_value(match[name])}
    return {name: value for name, value in found.items() if list(found.values()).count(value) == 1}


def _lines(body: str) -> list[str]:
    lines = (" ".join(line.split()) for code in _CODE.finditer(body) for line in code[2].split("\n"))
    return [line for line in lines if line][:_LINES]


def _pattern(line: str) -> re.Pattern[str]:
    """A command, with anything but spaces where its inputs stand; there may be more arguments behind it."""
    parts, known = [], set()
    for at, part in enumerate(_INPUT.split(line)):
        if at % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in known else rf"(?P<{part}>[^\s'\"`]{{1,200}})")
            known.add(part)
    return re.compile("".join(parts) + r"(?: .*)?")


def _is_value(text: str) -> bool:
    return len(text) > 2 and not re.search(r"[{}$|&;<>()]", text)


def _sort(value: str) -> Sort:
    if "/" in value or re.search(r"\w\.[a-z]\w{0,4}\Z", value):
        return "file"
    return "word" if value.isalpha() and value.islower() else "name"


def _with(facts: Facts, new: tuple[Parameter, ...]) -> Facts:
    return facts._replace(parameters=(*facts.parameters, *new))

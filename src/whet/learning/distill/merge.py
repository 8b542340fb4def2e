"""What was learned before and what is learned now, as one body.

The newer session says how it is done; what the older one had to say besides, such as pitfalls, rules and things to
know, stays as far as there is room. Of a body that a person wrote nothing is replaced: it only gains what it lacks.
What was refused before does not come again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.distill.outline import CHARACTERS, LINES, TOKENS
from whet.learning.evidence.shell import programs
from whet.prompt.tokens import estimate
from whet.skill.body import sections
from whet.skill.template import OUTLINE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_ADDING = frozenset(("rules", "pitfalls"))
"""Sections of which both versions count, item by item."""
_RECORD = frozenset(("", "request", "inputs", "steps", "files", "result"))
"""What tells of one case: it stays as it is where the newer session ran nothing else."""
_ORDER = (
    *("", "overview", "request", "inputs", "rules", "steps", "files", "what to know", "pitfalls", "result"),
    *("check at the end", "examples", "requirements"),
)
"""The sections of a draft, as they stand in one."""
_GAINS = frozenset(("rules", "pitfalls", "further steps"))
"""What is added to sections that a person wrote."""
_STEPS = frozenset(("steps", "workflow", "procedure"))
_END = frozenset(("check at the end", "checks", "verification", "examples", "requirements", "references", "see also"))
"""Sections that come behind all that is done."""
ABOUT = frozenset(("", "overview", "request", "examples"))
"""What says what a skill is for."""
_FURTHER = "## Further steps"
_FURTHER_MOST = 4
"""Steps that are added to those that a person wrote."""
_MOST = 40
"""Items of one section."""
_INPUT = re.compile(r"- `([A-Z][A-Z0-9_]*)`:")
_PLAIN = re.compile(r"\W+")
_CODE = re.compile(r"^\s*`{3,}(?:bash|sh|shell)?\s*\n(.*?)^\s*`{3,}\s*$", re.MULTILINE | re.DOTALL)


class _Part(NamedTuple):
    title: str
    """The heading as it is written; empty for what stands before the first."""
    rows: tuple[str, ...]


def merged(old: str, new: str, *, own: bool, refused: Sequence[str] = ()) -> str:
    """Two bodies as one. `own` says that the old one was distilled, too, so that what it says may be replaced.

    `refused` are bodies that somebody did not want in its place.
    """
    before = _parts(old)
    after = _wanted(_parts(new), before, refused, own=own)
    if not own:
        return _text([*_extended(before, after)])
    known = {_key(part.title): part for part in before}
    same = runs_the_same(old, new)
    result = []
    for part in after:
        key = _key(part.title)
        earlier = known.pop(key, None)
        if earlier and ((same and key in _RECORD) or (not key and (OUTLINE in old) == (OUTLINE in new))):
            result.append(earlier)
        else:
            result.append(_joined(part, earlier) if earlier and key in _ADDING else part)
    known.pop("", None)
    late = [part for part in known.values() if part.title]
    return _fitting(result, late, {_key(part.title): part for part in after})


def replaced(old: str, new: str, keys: Collection[str]) -> str:
    """A body with some sections as they are in another one."""
    fresh = {_key(part.title): part for part in _parts(new) if _key(part.title) in keys}
    return _text([fresh.get(_key(part.title), part) for part in _parts(old)])


def _wanted(after: list[_Part], before: list[_Part], refused: Sequence[str], *, own: bool) -> list[_Part]:
    """The newer parts without what was refused: points one by one, of sections to replace the older one instead."""
    known = {_plain(item) for part in before for item in _items(part.rows)}
    no = {_plain(item) for body in refused for part in _parts(body) for item in _items(part.rows)} - known
    held = {_key(part.title): part for part in before}
    result = []
    for part in after:
        items = _items(part.rows)
        kept = [item for item in items if _plain(item) not in no]
        if len(kept) == len(items):
            result.append(part)
        elif own and _key(part.title) not in _ADDING:
            result += [held[_key(part.title)]] if _key(part.title) in held else []
        elif kept:
            result.append(part._replace(rows=tuple(row for item in kept for row in item)))
    return result


def _extended(before: list[_Part], after: list[_Part]) -> list[_Part]:
    """A person's body with the rules and pitfalls of a session, and with steps for what it does not run yet."""
    new = {_key(part.title): part for part in after}
    held = {_key(part.title) for part in before}
    if held & _STEPS and (further := _further(before, new.pop("steps", None))):
        new[_key(_FURTHER)] = _Part(_FURTHER, further)
    result = [
        _joined(part, new[_key(part.title)]) if _key(part.title) in _GAINS & new.keys() else part for part in before
    ]
    keys = [_key(part.title) for part in result]
    steps = next((at for at, key in enumerate(keys) if key in _STEPS), 0)
    end = next((at for at, key in enumerate(keys) if at > steps and key in _END), len(keys))
    places = {"pitfalls": end, _key(_FURTHER): steps + 1, "steps": end, "rules": steps or end}
    for key, place in sorted(places.items(), key=lambda one: -one[1]):  # from the end: the places before stay
        if key in new and key not in held:
            result.insert(place, new[key])
    return result


def _further(before: list[_Part], steps: _Part | None) -> tuple[str, ...]:
    """The steps that run programs which the body does not have."""
    known = _commands(_text(before))
    items = [item for item in _items(steps.rows) if _runs_other("\n".join(item), known)] if steps else []
    rows = [(re.sub(r"\A\d+[.)] ", "- ", item[0]), *item[1:]) for item in items[:_FURTHER_MOST]]
    return tuple(row for item in rows for row in item)


def runs_the_same(old: str, new: str) -> bool:
    """Do the steps of a newer body run nothing that the older ones do not, so that nothing changed but the case?"""
    before, after = (
        _commands("\n".join(row for part in _parts(body) if _key(part.title) == "steps" for row in part.rows))
        for body in (old, new)
    )
    return bool(after) and after <= before


def _runs_other(text: str, known: set[str]) -> bool:
    ran = _commands(text)
    return bool(ran) and not ran & known


def _commands(text: str) -> set[str]:
    """The programs that blocks of code run."""
    return {ran.label for code in _CODE.finditer(text) for ran in programs(code[1]) if ran.label and not ran.looks}


def _fitting(result: list[_Part], late: list[_Part], bare: dict[str, _Part]) -> str:
    """All of it, or without what is old, one piece after the other, until it fits."""
    while True:
        text = _text(sorted([*result, *late], key=_place))
        if len(text) <= CHARACTERS and text.count("\n") <= LINES and estimate(text) <= TOKENS:
            return text
        if late:
            late.pop()
            continue
        grown = [place for place, part in enumerate(result) if part != bare.get(_key(part.title), part)]
        if not grown:
            return text
        place = max(grown, key=lambda one: len(result[one].rows))
        fresh = bare[_key(result[place].title)]
        more = _items(result[place].rows)[len(_items(fresh.rows)) :]
        rows = tuple(row for item in more[: len(more) // 2] for row in item)
        result[place] = fresh._replace(rows=(*_stripped(fresh.rows), *rows, "")) if rows else fresh


def _place(part: _Part) -> int:
    """Where a section stands in a draft; what drafts do not have comes before the checks at the end."""
    key = _key(part.title)
    return _ORDER.index(key) if key in _ORDER else _ORDER.index("check at the end") - 1


def _joined(first: _Part, second: _Part) -> _Part:
    """The first section with the items of the second that it does not have."""
    items = _items(first.rows)
    said = {_plain(item) for item in items}
    new = [item for item in _items(second.rows) if _plain(item) and _plain(item) not in said]
    added = _listed(new[: max(0, _MOST - len(items))])
    if not added:
        return first
    between = () if not items or (_is_point(items[-1]) and _is_point(new[0])) else ("",)
    return first._replace(rows=(*_stripped(first.rows), *between, *added, ""))


def _listed(items: Sequence[tuple[str, ...]]) -> list[str]:
    """Items below each other: plain points without a line between them."""
    rows: list[str] = []
    for before, item in zip((None, *items), items, strict=False):
        rows += [""] if before is not None and not (_is_point(before) and _is_point(item)) else []
        rows += _stripped(item)
    return rows


def _is_point(item: tuple[str, ...]) -> bool:
    """Is it a point of a list, of one paragraph?"""
    return re.match(r"[-*+] ", item[0]) is not None and all(map(str.strip, _stripped(item)))


def _items(rows: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The list items and paragraphs of a section, each with the rows that belong to it; code is never cut apart."""
    items: list[list[str]] = []
    fence, fresh = "", True
    for row in _stripped(rows):
        mark = re.match(r"\s*(`{3,}|~{3,})", row)
        begins = not fence and (re.match(r"[-*+] |\d+[.)] |#{3,6} ", row) or (fresh and row.strip() and row[0] != " "))
        if begins or not items:
            items.append([])
        items[-1].append(row)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        fresh = not row.strip()
    return [tuple(item) for item in items]


def _stripped(rows: tuple[str, ...]) -> tuple[str, ...]:
    end = len(rows)
    while end and not rows[end - 1].strip():
        end -= 1
    start = 0
    while start < end and not rows[start].strip():
        start += 1
    return rows[start:end]


def _plain(item: tuple[str, ...]) -> str:
    """What two items that say the same have in common: of an input its name; the number of a step is none of it."""
    if named := _INPUT.match(item[0]):
        return named[1]
    return _PLAIN.sub(" ", re.sub(r"\A\d+[.)] ", "", " ".join(item))).strip().lower()


def _key(title: str) -> str:
    return title.strip("# \t").lower()


def _parts(body: str) -> list[_Part]:
    """What stands under each heading of the second level."""
    rows = body.strip("\n").split("\n")
    starts = [one.start for one in sections(rows) if one.level == 2]
    ends = [*starts, len(rows)][1:]
    head = _Part("", tuple(rows[: starts[0] if starts else len(rows)]))
    return [head, *(_Part(rows[start], tuple(rows[start + 1 : end])) for start, end in zip(starts, ends, strict=True))]


def _text(parts: list[_Part]) -> str:
    blocks = []
    for part in parts:
        inner = "\n".join(_stripped(part.rows))
        blocks.append(f"{part.title}\n\n{inner}" if part.title and inner else part.title or inner)
    return "\n\n".join(block for block in blocks if block) + "\n"

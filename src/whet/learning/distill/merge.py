"""Merging an earlier body with a newly learned one.

The newer session determines the procedure; other content of the older one, such as pitfalls, rules and facts, stays as
far as there is room. Nothing that a person wrote is replaced: their body only gains missing parts. Refused content is
not added again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.syntax import blocks_of, is_shell
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
"""Sections about one case: they stay unchanged if the newer session ran nothing else."""
_ORDER = (
    *("", "overview", "request", "inputs", "rules", "steps", "files", "what to know", "pitfalls", "result"),
    *("check at the end", "examples", "requirements"),
)
"""The order of sections in a draft."""
_GAINS = frozenset(("rules", "pitfalls", "further steps"))
"""Sections that may be added to a body that a person wrote."""
_STEPS = frozenset(("steps", "workflow", "procedure"))
_END = frozenset(("check at the end", "checks", "verification", "examples", "requirements", "references", "see also"))
"""Sections that come after the procedure."""
ABOUT = frozenset(("", "overview", "request", "examples"))
"""Sections that say what a skill is for."""
_FURTHER_MOST = 4
"""Number of steps that are added to a person's steps."""
_MOST = 40
"""Number of items in one section."""
_INPUT = re.compile(r"- `([A-Z][A-Z0-9_]*)`:")
_PITFALL = re.compile(r"- (`.+?` failed: `.+?`)\. (?:Then|It failed again|This worked|After that)\b")
_PLAIN = re.compile(r"\W+")
_NUMBER = re.compile(r"\A\d+[.)] ")
_EDGES = re.compile(r"\A(?:[ \t]*\n)+|(?:\n[ \t]*)+\Z")
"""Blank lines at the beginning and at the end."""


class _Part(NamedTuple):
    """The content under one heading of the second level."""

    title: str
    """The heading as it is written; empty for the part before the first."""
    items: tuple[str, ...]
    """List items and paragraphs, each with its lines; code is never split."""

    @property
    def key(self) -> str:
        return self.title.strip("# \t").lower()


def merged(old: str, new: str, *, own: bool, refused: Sequence[str] = ()) -> str:
    """Merge two bodies. `own` means that the old one was distilled too, so that its content may be replaced.

    `refused` are bodies that somebody rejected.
    """
    before = _parts(old)
    after = _wanted(_parts(new), before, refused, own=own)
    if not own:
        return _text(_extended(before, after))
    known = {part.key: part for part in before}
    same = runs_the_same(old, new)
    result = []
    for part in after:
        earlier = known.pop(part.key, None)
        if earlier and ((same and part.key in _RECORD) or (not part.key and (OUTLINE in old) == (OUTLINE in new))):
            result.append(earlier)
        else:
            result.append(_joined(part, earlier) if earlier and part.key in _ADDING else part)
    late = [part for part in known.values() if part.title]
    return _fitting(result, late, {part.key: part for part in after})


def replaced(old: str, new: str, keys: Collection[str]) -> str:
    """Return a body with some sections replaced by those of another one."""
    fresh = {part.key: part for part in _parts(new) if part.key in keys}
    return _text([fresh.get(part.key, part) for part in _parts(old)])


def _wanted(after: list[_Part], before: list[_Part], refused: Sequence[str], *, own: bool) -> list[_Part]:
    """Return the newer parts without refused content: single points, or whole sections in favour of the older ones."""
    known = {_plain(item) for part in before for item in part.items}
    no = {_plain(item) for body in refused for part in _parts(body) for item in part.items} - known
    held = {part.key: part for part in before}
    result = []
    for part in after:
        kept = tuple(item for item in part.items if _plain(item) not in no)
        if kept == part.items:
            result.append(part)
        elif own and part.key not in _ADDING:
            result += [held[part.key]] if part.key in held else []
        elif kept:
            result.append(part._replace(items=kept))
    return result


def _extended(before: list[_Part], after: list[_Part]) -> list[_Part]:
    """Return a person's body with the rules and pitfalls of a session, and steps for programs it does not run yet."""
    new = {part.key: part for part in after}
    held = {part.key for part in before}
    if held & _STEPS and (further := _further(before, new.pop("steps", None))).items:
        new[further.key] = further
    result = [_joined(part, new[part.key]) if part.key in _GAINS & new.keys() else part for part in before]
    keys = [part.key for part in result]
    steps = next((at for at, key in enumerate(keys) if key in _STEPS), 0)
    end = next((at for at, key in enumerate(keys) if at > steps and key in _END), len(keys))
    places = {"pitfalls": end, "further steps": steps + 1, "steps": end, "rules": steps or end}
    for key, place in sorted(
        places.items(), key=lambda one: -one[1]
    ):  # from the end, so that earlier indexes stay valid
        if key in new and key not in held:
            result.insert(place, new[key])
    return result


def _further(before: list[_Part], steps: _Part | None) -> _Part:
    """Return the steps that run programs which are not in the body."""
    known = _commands(_text(before))
    items = [item for item in (steps.items if steps else ()) if (ran := _commands(item)) and not ran & known]
    return _Part("## Further steps", tuple(_NUMBER.sub("- ", item) for item in items[:_FURTHER_MOST]))


def runs_the_same(old: str, new: str) -> bool:
    """Return whether the newer steps run only programs of the older ones, so that only the case differs."""
    before, after = (_commands(_text([one for one in _parts(body) if one.key == "steps"])) for body in (old, new))
    return bool(after) and after <= before


def _commands(text: str) -> set[str]:
    """Return the programs that code blocks run."""
    code = [block.text for block in blocks_of(text) if not block.language or is_shell(block.language)]
    return {ran.label for one in code for ran in programs(one) if ran.label and not ran.looks}


def _fitting(result: list[_Part], late: list[_Part], bare: dict[str, _Part]) -> str:
    """Return the whole text, or drop old parts one by one until it fits."""
    while True:
        text = _text(sorted([*result, *late], key=_place))
        if len(text) <= CHARACTERS and text.count("\n") <= LINES and estimate(text) <= TOKENS:
            return text
        if late:
            late.pop()
            continue
        grown = [place for place, part in enumerate(result) if part != bare.get(part.key, part)]
        if not grown:
            return text
        place = max(grown, key=lambda one: sum(map(len, result[one].items)))
        fresh = bare[result[place].key]
        more = result[place].items[len(fresh.items) :]
        result[place] = fresh._replace(items=fresh.items + more[: len(more) // 2])


def _place(part: _Part) -> int:
    """Return the position of a section in a draft; unknown sections come before the final checks."""
    return _ORDER.index(part.key if part.key in _ORDER else "check at the end") - (part.key not in _ORDER)


def _joined(first: _Part, second: _Part) -> _Part:
    """Return the first section with the missing items of the second, without blank lines between plain points."""
    said = {_plain(item) for item in first.items}
    new = [item for item in second.items if _plain(item) and _plain(item) not in said]
    items = list(first.items)
    for item in new[: max(0, _MOST - len(items))]:
        if items and not (_is_point(items[-1]) and _is_point(item)):
            items[-1] += "\n"
        items.append(_EDGES.sub("", item))
    return first._replace(items=tuple(items))


def _is_point(item: str) -> bool:
    """Return whether an item is a list point of one paragraph."""
    return re.match(r"[-*+] ", item) is not None and not re.search(r"\n[ \t]*\n", item.strip())


def _plain(item: str) -> str:
    """Return a key that equivalent items share: an input's name, a pitfall's failure, a step without its number."""
    if named := _INPUT.match(item) or _PITFALL.match(item):
        return named[1]
    return _PLAIN.sub(" ", _NUMBER.sub("", item)).strip().lower()


def _parts(body: str) -> list[_Part]:
    """Split a body at the headings of the second level."""
    rows = body.strip("\n").split("\n")
    starts = [one.start for one in sections(rows) if one.level == 2]
    ends = [*starts, len(rows)]
    head = _Part("", _items(rows[: ends[0]]))
    return [head, *(_Part(rows[at], _items(rows[at + 1 : end])) for at, end in zip(starts, ends[1:], strict=True))]


def _items(rows: Sequence[str]) -> tuple[str, ...]:
    """Split the lines of a section into items."""
    items: list[str] = []
    fence, fresh = "", True
    for row in _EDGES.sub("", "\n".join(rows)).split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", row)
        begins = re.match(r"[-*+] |\d+[.)] |#{3,6} ", row) or (fresh and row.strip() and row[0] != " ")
        if not items or (begins and not fence):
            items.append(row)
        else:
            items[-1] += f"\n{row}"
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        fresh = not row.strip()
    return tuple(items) if any(items) else ()


def _text(parts: Sequence[_Part]) -> str:
    blocks = ["\n\n".join(filter(None, (part.title, _EDGES.sub("", "\n".join(part.items))))) for part in parts]
    return "\n\n".join(filter(None, blocks)) + "\n"

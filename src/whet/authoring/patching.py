"""Replacing a piece of a text: exactly, or not at all.

The text to find must occur once. When it does not occur, or more often than once, nothing is written and the error has
the data for the next attempt of a small model: the lines it may have meant, with their numbers, as the file has them. A
tolerant patch accepts invisible or insignificant differences, from the strictest on (see `TOLERANCES`), each including
the previous ones; the first that finds anything decides. Similarity only chooses the lines that an error shows, never
the text that is replaced.

Lines end at a line feed; a carriage return before it belongs to the line end. Common lines at the ends of find and
replace are context: in a tolerant patch they stay as they are in the file.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from whet.errors import ConflictError, NotFoundError, UsageError
from whet.patterns import compile_late
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Place = dict[str, int | str]

TOLERANCES = {
    "line-ends": "line ends",
    "trailing-space": "white space at the end of lines",
    "indentation": "indentation",
    "white-space": "white space",
    "characters": "white space or look-alike characters (quotes, dashes)",
}
"""Allowed differences, the strictest first, and their names in errors."""
_LINE_ENDS, _, _INDENTATION, _WHITE_SPACE, _CHARACTERS = range(len(TOLERANCES))

_SHOWN = 5
"""Number of places in an error."""
_WIDTH = 200
"""Characters of text for each place."""
_PROBES = 24
"""Number of pieces of a line that are searched in every other line before a few are compared."""
_FINALISTS = 20
_SIMILAR = 0.5
"""Similarity from which on a line is shown."""

_SPACES = " \t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_LOOK_ALIKES = {
    " ": _SPACES[1:],
    "'": "\u2018\u2019\u201a\u201b\u2039\u203a",
    '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d",
    "...": "\u2026",
}
_PLAIN = {ord(character): plain for plain, characters in _LOOK_ALIKES.items() for character in characters}
_RUN = compile_late("[ \t]+")
_RUNS = "|".join(f"[{re.escape(plain[0] + characters)}]+" for plain, characters in _LOOK_ALIKES.items())
_UNUSUAL = compile_late(rf"{_RUNS}|(?P<marked>[!-~]?[^\x00-\x7f{''.join(_LOOK_ALIKES.values())}]+)")


class Patched(NamedTuple):
    """A text after a patch."""

    text: str
    replacements: int
    tolerant: str
    """The tolerance that was needed; "" for an exact match."""


class _Near(NamedTuple):
    """The matches of a tolerance: their starts, and data to replace the first."""

    tolerance: str
    starts: list[int]
    end: int = -1
    """End of the first match within a line; otherwise -1, and the next two fields are set."""
    row: int = 0
    indents: dict[str, str] = {}  # noqa: RUF012  the default of a tuple's field, never changed
    """Indentations of lines of `find`, and those of the matching lines in the text."""


def patch(text: str, find: str, replace: str, *, every: bool = False, tolerant: bool = False) -> Patched:
    """Replace `find`, which must occur exactly once; with `every`, replace all occurrences.

    With `tolerant`, a text that does not occur exactly may differ in one of the `TOLERANCES`. The replacement gets the
    line ends of the text; the rest of the text is not touched.
    """
    _check(find, replace, every=every, tolerant=tolerant)
    count, tolerance = text.count(find), ""
    if count == 1 or (count and every):
        new = _replaced(text, find, replace)
    elif count:
        raise _ambiguous(text, _offsets(text, find), count)
    else:
        near = _search(text, find)
        if not tolerant or not near:
            raise _not_found(text, find, replace, None if tolerant else near)
        if len(near.starts) > 1:
            raise _ambiguous(text, near.starts[:_SHOWN], len(near.starts), near.tolerance)
        new, count, tolerance = _rewritten(text, find, replace, near), 1, near.tolerance
    if new == text:
        raise _no_change("The text already says what `replace` says.")
    return Patched(new, count, tolerance)


def _check(find: str, replace: str, *, every: bool, tolerant: bool) -> None:
    if not find.strip():
        raise UsageError(
            "patch-empty",
            "The text to find is empty." if not find else "The text to find is only white space.",
            hint="Put a line of the file in `find`, copied exactly. To add text, find the line before it and repeat "
            "that line in `replace`. To rewrite the whole body, use edit instead of patch.",
        )
    if find == replace:
        raise _no_change("`find` and `replace` are the same text.")
    if every and tolerant:
        raise UsageError(
            "patch-all-tolerant",
            "A tolerant patch replaces one match, never all of them.",
            hint="Leave out `tolerant` and copy the text to find exactly, or leave out `all` and patch one by one.",
        )


# --- writing --------------------------------------------------------------------------------------------------------


def _replaced(text: str, find: str, replace: str) -> str:
    """Replace every exact occurrence. One that begins inside a line end includes the whole line end."""
    end = _line_end(text)
    if end == "\r\n" and find.startswith("\n") and not find.endswith("\r"):
        find = f"\r{find}"
    return text.replace(find, _with_ends(replace, end))


def _rewritten(text: str, find: str, replace: str, near: _Near) -> str:
    """Replace a part of a line, or whole lines except those at either end that `find` and `replace` share."""
    if near.end >= 0:
        return text[: near.starts[0]] + _with_ends(replace, _line_end(text)) + text[near.end :]
    rows, old, new = text.split("\n"), _lines(find), _lines(replace)
    starts = [0, *accumulate(len(row) + 1 for row in rows)]
    leads, trails = not old[0], not old[-1]
    row, behind = near.row, near.row + len(old) - leads - trails
    # A line end around `find` that the file lacks, at its very start or end, is not required in `replace`.
    if leads and row == 0:
        leads, old, new = False, old[1:], new[1:] if not new[0] and len(new) > 1 else new
    if trails and behind == len(rows):
        trails, old, new = False, old[:-1], new[:-1] if not new[-1] and len(new) > 1 else new
    above = min(_common(old, new), len(old) - 1, len(new) - 1)
    old, new = old[above:], new[above:]
    below = min(_common(old[::-1], new[::-1]), len(old) - 1, len(new) - 1)
    new = new[: len(new) - below]

    def end_of(row: int) -> int:
        return starts[row] + len(rows[row].removesuffix("\r"))

    joins = leads and not above
    start = end_of(row - 1) if joins else starts[row - leads + above]
    end = end_of(behind - 1 + trails - below) if below or not trails else starts[behind]
    new = [line if joins and not i else _indented(line, near.indents) for i, line in enumerate(new)]
    line_end = _line_end(text) or ("\r\n" if "\r\n" in replace else "\n")
    return text[:start] + line_end.join(new) + text[end:]


def _lines(text: str) -> list[str]:
    """Return the lines of a text without their ends."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many characters of two texts, or lines of two lists, are the same from the start."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _indented(line: str, indents: dict[str, str]) -> str:
    """Return a line of the replacement with the file's indentation for that of `find`."""
    indent = _indent(line)
    if indent is None or not indents:
        return line
    if known := [old for old in indents if indent.startswith(old)]:
        old = max(known, key=len)
        return indents[old] + line[len(old) :]
    least = min(indents, key=lambda old: (len(old), old))
    old, new = _difference(least, indents[least])
    if indent.startswith(old):
        return new + line[len(old) :]
    return line[len(indent) :] if not new and old.startswith(indent) else line


def _line_end(text: str) -> str:
    """Return the line end of the whole text; "" if it has none or both kinds."""
    pairs = text.count("\r\n")
    alone = text.count("\n") - pairs
    return "" if bool(pairs) == bool(alone) else "\r\n" if pairs else "\n"


def _with_ends(text: str, end: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", end) if end else text


# --- finding --------------------------------------------------------------------------------------------------------


def _offsets(text: str, find: str) -> list[int]:
    """Return the starts of the first occurrences, without leading white space."""
    lead = len(find) - len(find.lstrip())
    offsets: list[int] = []
    at = text.find(find)
    while at >= 0 and len(offsets) < _SHOWN:
        offsets.append(at + lead)
        at = text.find(find, at + len(find))
    return offsets


def _search(text: str, find: str) -> _Near | None:
    """Return the matches of the strictest tolerance that finds any."""
    plain = text.isascii() and find.isascii()
    for level, tolerance in enumerate(list(TOLERANCES)[: -1 if plain else None]):
        if near := _whole_lines(text, find, level, tolerance):
            return near
        if level >= _WHITE_SPACE and "\n" not in find and (spans := _within_lines(text, find, level)):
            return _Near(tolerance, [start for start, _ in spans], spans[0][1])
    return None


def _whole_lines(text: str, find: str, level: int, tolerance: str) -> _Near | None:
    """Return the places where all lines of `find` equal whole lines of the text at this level."""
    rows, wanted = _lines(text), _core(find)
    said, asked = _said(rows, level), _said(wanted, level)
    if "\n".join(asked) not in "\n".join(said):
        return None
    given, depths = [_indent(row) for row in rows], [_indent(line) for line in wanted]
    # The search begins at the first word of the block, at any depth; blank lines above it are checked afterwards.
    above = next(i for i, indent in enumerate(depths) if indent is not None) if level >= _INDENTATION else 0
    haystack, needle = _keyed(said, given, level), _keyed(asked[above:], depths[above:], level)[1:]
    found: list[tuple[int, dict[str, str]]] = []
    feeds = seen = 0
    at = haystack.find(needle)
    while at >= 0:
        feeds += haystack.count("\n", seen, at)
        seen, row = at, feeds // 3 - above
        indents: dict[str, str] | None = {}
        if level >= _INDENTATION:
            indents = _in_step(depths, given[row : row + len(depths)], level) if row >= 0 else None
        if indents is not None:
            found.append((row, indents))
        at = haystack.find(needle, at + (len(needle) if indents is not None else 1))
    if not found:
        return None
    starts = [0, *accumulate(len(row) + 1 for row in text.split("\n"))]
    return _Near(tolerance, [starts[row] for row, _ in found], -1, *found[0])


def _core(find: str) -> list[str]:
    """Return the lines of `find`, without a line end at its beginning or end."""
    lines = _lines(find)
    return lines[not lines[0] : len(lines) - (not lines[-1])]


def _said(rows: list[str], level: int) -> list[str]:
    """Return the content of the lines in the form of this level."""
    if level < _INDENTATION:
        return rows if level == _LINE_ENDS else [row.rstrip(" \t") for row in rows]
    plain = _plain("\n".join(rows)).split("\n") if level == _CHARACTERS else rows
    said = "\n".join([row.strip(" \t") for row in plain])
    return (said if level == _INDENTATION else _RUN.sub(" ", said)).split("\n")


def _keyed(said: list[str], indents: list[str | None], level: int) -> str:
    """Join lines into one string, so that one search finds a block of them.

    A line is a line feed, its indentation relative to the previous line, a line feed, its content, a line feed. A block
    whose relative indentations match is found at any depth.
    """
    if level < _INDENTATION:
        return "\n\n" + "\n\n\n".join(said) + "\n"
    parts: list[str] = []
    before: str | None = None
    for line, indent in zip(said, indents, strict=True):
        turn = "" if before in (indent, None) or indent is None else _turn(before, indent, level)
        before = before if indent is None else indent
        parts.append(f"\n{turn}\n{line}\n")
    return "".join(parts)


def _turn(before: str, indent: str, level: int) -> str:
    """Return the change of an indentation, exactly or only its direction; only these begin with a space."""
    if level > _INDENTATION:
        return " >" if _width(indent) > _width(before) else " <"
    same = _common(before, indent)
    return f" {before[same:]}>{indent[same:]}"


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


def _plain(text: str) -> str:
    """Return the text with look-alikes in their plainest form and composed characters decomposed."""
    return text if text.isascii() else unicodedata.normalize("NFD", text.translate(_PLAIN))


def _indent(line: str) -> str | None:
    """Return the white space at the beginning of a line; None for a blank line."""
    indent = line[: len(line) - len(line.lstrip(_SPACES))]
    return None if len(indent) == len(line) else indent


def _in_step(asked: list[str | None], given: list[str | None], level: int) -> dict[str, str] | None:
    """Return the new indentations; None unless blank lines match blank ones and deeper lines stay deeper."""
    pairs = set(zip(asked, given, strict=True))
    known = {old: new for old, new in pairs if old is not None and new is not None}
    if len(pairs) > len(known) + ((None, None) in pairs):
        return None
    widths = sorted((_width(old), _width(new)) for old, new in known.items())
    alike = all(a < c and b < d for (a, b), (c, d) in pairwise(widths))
    return known if alike or level == _INDENTATION else None


def _difference(old: str, new: str) -> tuple[str, str]:
    """Return two indentations without their common end."""
    same = _common(old[::-1], new[::-1])
    return old[: len(old) - same], new[: len(new) - same]


def _within_lines(text: str, find: str, level: int) -> list[tuple[int, int]]:
    """Return start and end of every place that folds to the folded `find` and splits nothing folded."""
    folded, needle = _fold(text, level), _fold(find, level).text
    spans: list[tuple[int, int]] = []
    at = folded.text.find(needle)
    while at >= 0:
        start, end = folded.origin(at), folded.origin(at + len(needle))
        whole = start >= 0 and end >= 0
        if whole:
            spans.append((start, end))
        at = folded.text.find(needle, at + (len(needle) if whole else 1))
    return spans


class _Folded(NamedTuple):
    """A text in the form of comparison, with the way back: unchanged (even) and folded (odd) stretches."""

    text: str
    starts: list[int]
    origins: list[int]

    def origin(self, at: int) -> int:
        """Return the offset in the original text, or -1 inside a folded stretch."""
        stretch = bisect_right(self.starts, at) - 1
        into = at - self.starts[stretch]
        return -1 if into and stretch % 2 else self.origins[stretch] + into


def _fold(text: str, level: int) -> _Folded:
    parts, starts, origins = [""], [0], [0]
    length = 0
    for start, end, new in _pieces(text, level):
        parts += (text[origins[-1] : start], new)
        length += start - origins[-1]
        starts += (length, length + len(new))
        length += len(new)
        origins += (start, end)
    return _Folded("".join((*parts, text[origins[-1] :])), starts, origins)


def _pieces(text: str, level: int) -> Iterator[tuple[int, int, str]]:
    """Yield the parts that are compared in another form: runs of look-alikes, and characters with marks."""
    for found in (_RUN if level == _WHITE_SPACE else _UNUSUAL).finditer(text):
        start, end = found.span()
        if not found.lastgroup:
            yield start, end, " " if text[start] in _SPACES else _plain(found[0])
            continue
        for at in range(start + 1, end + 1):
            if at == end or not (unicodedata.category(text[at]).startswith("M") or "\u1160" <= text[at] <= "\u11ff"):
                yield start, at, _plain(text[start:at])
                start = at


# --- refusing -------------------------------------------------------------------------------------------------------


def _no_change(message: str) -> UsageError:
    hint = "Put the new text in `replace`. If the file already says that, there is nothing to do."
    return UsageError("patch-same", message, hint=hint)


def _ambiguous(text: str, starts: list[int], count: int, tolerance: str = "") -> ConflictError:
    matches = [_place(text, start) for start in starts]
    lines = list(dict.fromkeys(str(match["line"]) for match in matches))
    named = [*lines, "further on"] if count > len(matches) else lines
    where = ("lines " if len(lines) > 1 else "line ") + " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    ignoring = f" when {TOLERANCES[tolerance]} may differ" if tolerance else ""
    return ConflictError(
        "patch-ambiguous",
        f"The text to find occurs {count:,} times{ignoring}: on {where}.",
        hint="Add the line before or after it to `find`, and to `replace`, to make it unique"
        + (". `matches` shows the places." if tolerance else ", or use `all` to replace every one."),
        matches=matches,
        count=count,
    )


def _not_found(text: str, find: str, replace: str, near: _Near | None) -> NotFoundError:
    wanted = _core(find)
    closest = _closest(text, wanted)
    if near:
        place = _place(text, near.starts[0], len(wanted))
        closest = [place, *(other for other in closest if other["line"] != place["line"])][:_SHOWN]
    return NotFoundError(
        "patch-not-found",
        f"The text to find is not there: {_quoted(find)}.",
        hint=_escaped(text, find) or _advice(text, wanted, replace, near, closest),
        closest=closest,
    )


def _escaped(text: str, find: str) -> str:
    """Return a hint if `find` would match without its literal escapes."""
    meant = find.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'")
    if meant == find or not meant.strip() or not (meant in text or _search(text, meant)):
        return ""
    return '`find` spells out an escape, such as \\n or \\". Send the line breaks, tabs and quotes themselves.'


def _advice(text: str, wanted: list[str], replace: str, near: _Near | None, closest: list[Place]) -> str:
    """Return the next step that is most likely to help."""
    if not closest:
        return "Nothing in the file is similar. View the file first, then copy the text to find from it."
    line, shown = int(closest[0]["line"]), str(closest[0]["text"])
    copy = f"copy the text to find exactly from {'`closest`' if len(shown) < _WIDTH else 'the file'}."
    if near and len(near.starts) == 1:
        return f"Line {line} differs only in {TOLERANCES[near.tolerance]}: {_quoted(shown)}. Use `tolerant`, or {copy}"
    done = replace.strip() if len(replace) * 2 >= sum(map(len, wanted)) else ""
    if there := next((place["line"] for place in closest if done and done in str(place["text"])), 0):
        return (
            f"Line {there} already says what `replace` says. If that is the change, there is nothing to do; "
            f"otherwise {copy}"
        )
    rows = text.split("\n")[line - 1 : line - 1 + len(wanted)]
    for number, (row, asked) in enumerate(zip(rows, wanted, strict=False), line):
        if len(wanted) > 1 and asked.strip() not in row:
            said = f"Line {number} says {_quoted(row)} where `find` says {_quoted(asked)}."
            return f"{said} Find one line only, or {copy}"
    return f"The closest is line {line}: {_quoted(shown)}. C{copy[1:]}"


def _closest(text: str, wanted: list[str]) -> list[Place]:
    """Return the lines that are most similar to the longest wanted one, each in a block of the wanted height."""
    rows, lines = text.split("\n"), [line.strip() for line in wanted]
    anchor = max(lines, key=len)
    starts = [0, *accumulate(len(row) + 1 for row in rows)]
    return [
        _place(text, starts[max(0, row - lines.index(anchor))] + (at if len(lines) == 1 else 0), len(lines))
        for row, at in _similar(rows, anchor[:_WIDTH].lower())
    ]


def _similar(rows: list[str], anchor: str) -> list[tuple[int, int]]:
    """Return the most similar rows to a lowercase line, best first, and where in the row it begins.

    One pass tests the distinct rows for substrings only; difflib compares a few finalists and, of a long row, only the
    likely part.
    """
    from difflib import SequenceMatcher

    step, size = len(anchor) // _PROBES + 1, 3 if len(anchor) > 8 else 2
    probes = [(at, anchor[at : at + size]) for at in range(0, max(1, len(anchor) - size + 1), step)]
    ranked: list[tuple[int, int, str]] = []
    for row, number in dict(zip(reversed(rows), reversed(range(len(rows))), strict=True)).items():
        low = row.lower()
        if hits := sum(probe in low for _, probe in probes):
            ranked.append((-hits, number, low))
    scored: list[tuple[float, int, int]] = []
    for _, number, low in sorted(ranked)[:_FINALISTS]:
        begins = [found - at for at, probe in probes if (found := low.find(probe)) >= 0]
        begin = max(0, max(sorted(set(begins)), key=begins.count))
        part = low[begin : begin + len(anchor)] if len(low) > len(anchor) else low.strip()
        score = SequenceMatcher(None, part, anchor, autojunk=False).ratio()
        if score >= _SIMILAR:
            scored.append((-score, number, min(begin, len(rows[number]))))
    return [(number, begin) for _, number, begin in sorted(scored)[:_SHOWN]]


def _place(text: str, at: int, height: int = 1) -> Place:
    """Return the line at an offset with its number and the text around it; or a block of lines and its beginning."""
    start = text.rfind("\n", 0, at) + 1
    said = "\n".join(text[start:].split("\n", height)[:height]).removesuffix("\r")
    cut = max(0, min(at - start - _WIDTH // 4, len(said) - _WIDTH)) if height == 1 else 0
    return {"line": text.count("\n", 0, at) + 1, "text": said[cut : cut + _WIDTH]}


def _quoted(text: str) -> str:
    """Return the first line of a text in quotes, shortened."""
    shown = text.strip().split("\n")[0].rstrip()[:80]
    return repr(shown) + (" and more" if shown != text.strip() else "")

"""Check JavaScript and TypeScript for dangerous code and data flows.

A script without any of the trigger words is not parsed. The others are read as a program of values (`reader`), whose
calls are judged one by one (`calls`). Obfuscated, packed and minified text is detected here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard import patterns
from whet.guard.expression import expression
from whet.guard.finding import Hit, Seen
from whet.guard.literals import vocabulary
from whet.guard.tables import api, shape
from whet.guard.taint.branches import united

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.guard.taint.branches import Branches
    from whet.guard.taint.commands import Given

LARGEST = 2_000_000
"""Maximum number of characters that are read as a program; the patterns search the whole file."""
_TABLE = expression(r"_0x[0-9a-f]{4,8}")
_ROTATION = expression(
    r"while\s{0,9}\(\s{0,9}!!\s{0,9}\[\s{0,9}\]\s{0,9}\)|\['push'\]\(|\.push\(_0x[0-9a-f]{1,8}\.shift\(\)\)"
)
_JSFUCK = expression(r"[\[\]()!+]{300}")
_PACKER = expression(r"eval\(function\(p,a,c,k,e,(?:d|r)\)")
_LONG_LINE = 1500

_PATTERNS = patterns.load_patterns("javascript")
"""JavaScript patterns for the whole text."""


def check(text: str, given: Given | None = None) -> Seen:
    """Return the hits and facts of a script; `given` is the data that the program running it passes to it."""
    return look(text, 0, given)


def look(text: str, depth: int, given: Given | None = None) -> Seen:
    """Check a script that was found under `depth` layers of decoding."""
    hits = [*patterns.hits(_PATTERNS, text), *_shape(text)]
    if not _acts(text) and (given is None or not (given.files or given.variables or given.shipped)):
        return Seen(tuple(hits))
    seen, partial = read({"": text[:LARGEST]}, depth, given)
    if partial or len(text) > LARGEST:
        hits.append(Hit("js-partly-analysed", 1, f"{len(text)} characters"))
    return Seen((*hits, *seen.hits), seen.facts)


def read(
    files: Mapping[str, str], depth: int = 0, given: Given | None = None, branches: Branches | None = None
) -> tuple[Seen, bool]:
    """Return the hits and facts of a program, and whether only a part of it was read; each file may load those before it."""
    from whet.guard.javascript.calls import finish
    from whet.guard.javascript.reader import Reader

    reader = Reader(files, look, depth, branches)
    if given is not None:
        reader.take(given)
    reader.run()
    finish(reader, reader.source)
    seen = Seen(tuple(reader.hits.values()), tuple(reader.facts.values()))
    for other in reader.branches.others():
        seen = united(seen, read(files, depth, given, other)[0])
    return seen, reader.partial


def _acts(text: str) -> bool:
    """Return whether the text has a trigger word, or spelling that could hide one."""
    triggers = api("javascript", "triggers")
    return not triggers.isdisjoint(vocabulary(text)) or shape("javascript_api", "odd").search(text) is not None


def _shape(text: str) -> list[Hit]:
    """Return hits for text that is obfuscated, packed or minified."""
    found = []
    if "_0x" in text:
        names = _TABLE.findall(text[:400_000])
        if len(names) >= 30 and len(set(names)) >= 8:
            where = text.index(names[0])
            table = _ROTATION.search(text) is not None
            found.append(_at("obfuscated-javascript", text, where, "critical" if table else "warn"))
    if not found and "[]" in text and (odd := _JSFUCK.search(text)):
        found.append(_at("obfuscated-javascript", text, odd.start(), "critical"))
    if not found and (packed := _PACKER.search(text)):
        found.append(_at("obfuscated-javascript", text, packed.start(), "warn"))
    if not found and len(text) > 2 * _LONG_LINE and text.count("\n") * _LONG_LINE < len(text):
        found.append(_at("minified-javascript", text, 0, None))
    return found


def _at(rule: str, text: str, offset: int, severity: str | None) -> Hit:
    evidence = patterns.shorten(text[offset : offset + 160])
    return Hit(rule, patterns.line_of(text, offset), evidence, severity)  # type: ignore[arg-type]  # callers pass literals

"""Check programs in languages without a grammar here (Ruby, Perl, PHP, Lua, AppleScript, Go, Rust, Java, C#): patterns for
what no call shows, and the calls with their values (`reader`)."""

from __future__ import annotations

from functools import cache

from whet.guard import patterns
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.literals import vocabulary
from whet.guard.tables import api, load_toml

_PATTERNS = patterns.load_patterns("code")
LARGEST = 100_000
"""Maximum number of characters of a program that are read."""


def check(text: str, level: int = 0) -> Seen:
    """Return the hits and facts of a program in another language."""
    hits = list(patterns.hits(_PATTERNS, text))
    words = vocabulary(text)
    if words.isdisjoint(acts()) and "`" not in text:
        return Seen(tuple(dict.fromkeys(hits)))
    from whet.guard.code.reader import Reader
    from whet.guard.code.syntax import parse

    facts: list[Fact] = []
    begin = text[:LARGEST]
    for number, program in enumerate(parse(begin)):
        reader = Reader(begin, program, check, level)
        reader.run()
        hits += (hit for hit in reader.hits.values() if not number or hit.rule != "code-partly-analysed")
        facts += reader.facts.values()
    if len(text) > LARGEST:
        hits.append(Hit("code-partly-analysed", 1, f"{len(text)} characters"))
    return Seen(tuple(dict.fromkeys(hits)), tuple(dict.fromkeys(facts)))


@cache
def acts() -> frozenset[str]:
    """Return the words of the functions that run, send, write or remove something."""
    rows = (row for row in load_toml("code_calls")["call"] if row["does"] not in api("code", "harmless"))
    names = (name.rpartition(".")[2] for row in rows for name in (*row.get("names", ()), *row.get("verbs", ())))
    return frozenset(vocabulary(" ".join(names)))

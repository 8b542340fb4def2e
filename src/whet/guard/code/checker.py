"""Check programs in languages without a parser here (Ruby, Perl, PHP, Lua, AppleScript, Go, Rust, Java, C#): patterns
for dangerous code, the flow of values (`flow`), commands in strings, and facts for the flow over the package."""

from __future__ import annotations

import re
from itertools import islice

from whet.guard import patterns
from whet.guard.code import flow as code_flow
from whet.guard.expression import expression
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.literals import vocabulary
from whet.guard.places import hints_in, places
from whet.guard.tables import api

_SENDING = expression(
    r"Net::HTTP\.post|http\.Post\b|HTTP::Request|curl_exec|HttpPost|PostAsync|UploadString|reqwest::|LWP::UserAgent",
    re.IGNORECASE,
)
_READING = expression(
    r"(?:File\.read|file_get_contents|ReadFile|read_to_string|readAllBytes|ReadAllText|io\.open"
    r"|\bopen)\s{0,4}\(?[^\n]{1,200}",
    re.IGNORECASE,
)
_FLOWING = api("code", "flowing")
_TALKING = api("code", "talking")
_MOST = 20
_PATTERNS = patterns.load_patterns("code")


def check(text: str) -> Seen:
    """Return the hits and facts of a program in another language."""
    words = vocabulary(text)
    hits = list(patterns.hits(_PATTERNS, text))
    facts: list[Fact] = []
    hints = hints_in((text,))
    for found in _READING.finditer(text) if hints else ():
        for place in places(found[0], hints):
            if place.kind == "secret" and place.grave and len(facts) < _MOST:
                line = patterns.line_of(text, found.start())
                facts.append(Fact("source", place.what, line, patterns.shorten(found[0]), place.text, grave=True))
    for found in islice(_SENDING.finditer(text), _MOST) if not words.isdisjoint(_TALKING) else ():
        facts.append(Fact("sink", "network request", patterns.line_of(text, found.start()), patterns.shorten(found[0])))
    if (not words.isdisjoint(_FLOWING) or "`" in text) and code_flow.worth(text, words):
        flow = code_flow.follow(text)
        hits += flow.hits
        facts += flow.facts
        if len(text) > code_flow.LARGEST:
            hits.append(Hit("code-partly-analysed", 1, f"{len(text)} characters"))
    return Seen(tuple(dict.fromkeys(hits)), tuple(facts))

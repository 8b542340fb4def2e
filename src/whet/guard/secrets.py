"""Secrets that lie in a package, and secrets that must not show in a finding.

A token counts when it has the shape of its provider *and* looks random: placeholders, examples from documentation and
repeated characters do not. `redact` is the opposite: it hides whatever may be a secret, also what would not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache, partial
from itertools import pairwise

from whet.guard.finding import Hit, Seen
from whet.guard.patterns import line_of
from whet.guard.rules.secrets import SHAPES

_PLACEHOLDER = re.compile(
    r"example|sample|x{4}|\*{3}|\.\.\.|<|your|placeholder|dummy|fake|test|redact|changeme|insert|replace|secret|token"
    r"|1234567|abcdef|abc123|deadbeef|0{6}|qwerty|notreal|foobar|mock|demo|here",
    re.IGNORECASE,
)
_RUN = re.compile(r"(.)\1{4}")
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\\r|\s|[\"',+]){0,8}"
    r"([A-Za-z0-9+/=\s\\\"',+:.<>*_-]{0,6000}?)-----END "
)
_MNEMONIC = re.compile(
    r"\b(?:mnemonic|seed[_ -]?(?:phrase|words)|recovery[_ -]?phrase)\w{0,12}[\"']?\s{0,4}[:=]\s{0,4}[\"'`]("
    r"(?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){12})?[a-z]{3,8})[\"'`]",
    re.IGNORECASE,
)
_KNOWN_MNEMONICS = (
    "abandon abandon", "test test test", "word word", "legal winner", "zoo zoo", "candy maple cake", "myth like bonus"
)  # fmt: skip
_MOST = 20


def check(text: str) -> Seen:
    """The secrets of a text that look real."""
    hits: list[Hit] = []
    for shape in SHAPES:
        if shape.mark not in text:
            continue
        for found in _exact(shape.regex).finditer(text):
            if len(hits) < _MOST and _is_real(found[1], shape.least) and not _shown_as_example(text, found.start()):
                evidence = _hidden(found[0], shape.kind)
                hits.append(Hit("shipped-secret", line_of(text, found.start()), evidence, None, shape.kind))
    if "PRIVATE KEY" in text:
        hits += [
            Hit("shipped-private-key", line_of(text, found.start()), found[0].split("\n")[0][:64] + " ***")
            for found in _KEY_BLOCK.finditer(text)
            if _is_key(found[1])
        ]
    if "mnemonic" in (lowered := text.lower()) or "seed" in lowered or "recovery phrase" in lowered:
        hits += [
            Hit("shipped-secret", line_of(text, found.start()), "seed phrase ***", None, "seed phrase")
            for found in _MNEMONIC.finditer(text)
            if not found[1].lower().startswith(_KNOWN_MNEMONICS) and len(set(found[1].lower().split())) > 9
        ]
    return Seen(tuple(hits[:_MOST]))


@lru_cache(maxsize=64)
def _exact(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


def _is_real(varying: str, least: float) -> bool:
    """Does the varying part of a token look random?"""
    if _PLACEHOLDER.search(varying) or _RUN.search(varying):
        return False
    if len(varying) >= 20 and (varying.isalpha() and (varying.islower() or varying.isupper())) and least > 3.2:
        return False
    return _bits(varying) >= least and not _counting(varying)


def _bits(text: str) -> float:
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values())


def _counting(text: str) -> bool:
    """Do its characters follow one another, as in `a1b2c3d4` or `ABCDEFGH`?"""
    evens, odds = text[::2], text[1::2]
    return any(
        sum(ord(second) - ord(first) == 1 for first, second in pairwise(row)) > len(row) * 0.5
        for row in (text, evens, odds)
        if len(row) > 4
    )


_EXAMPLE_LINE = re.compile(
    r"\bexample\b|\bfake\b|\bdummy\b|placeholder|documentation|not (?:a )?real|redacted", re.IGNORECASE
)


def _shown_as_example(text: str, offset: int) -> bool:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return _EXAMPLE_LINE.search(text, start, len(text) if end < 0 else end) is not None


def _is_key(body: str) -> bool:
    """Is there a key between the lines, or only dots that stand for one?"""
    bare = re.sub(r"\\n|\\r|[^A-Za-z0-9+/=]", "", body)
    return len(bare) >= 150 and "..." not in body and not _PLACEHOLDER.search(bare[:60]) and _bits(bare) > 4.5


_ASSIGNED = re.compile(
    r"((?:[\w-]{0,40}(?:api[_-]?key|apikey|secret|token|passwd|password|pwd|private[_-]?key|credential"
    r"|access[_-]?key)[\w-]{0,20})[\"']?\s{0,4}(?:=>|:=|[:=])\s{0,4}[\"'`]?)"
    r"([^\s\"'`,;${}()<>\[\]]{6,400})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b((?:Bearer|Basic|token)\s{1,4})([A-Za-z0-9._~+/=-]{12,2000})", re.IGNORECASE)
_IN_URL = re.compile(r"([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:)([^\s/@\"']{3,200})(@)", re.IGNORECASE)
_BLOCK = re.compile(
    r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----)[\s\S]{0,10000}?(-----END [A-Z ]{0,40}-----|\Z)"
)
_CODE_VALUE = re.compile(
    r"(?:process\.env|os\.|env\.|getenv|\$|%|self\.|this\.|config\.|args\.|settings\.|None$|null$|true$"
    r"|false$|undefined$|str$|string$)",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """The text with everything that may be a secret hidden: the first four characters stay, and what it is."""
    if "PRIVATE KEY" in text:
        text = _BLOCK.sub(r"\1 *** \2", text)
    for shape in SHAPES:
        if shape.mark in text:
            text = _exact(shape.regex).sub(partial(_token, shape.kind), text)
    if "://" in text:
        text = _IN_URL.sub(r"\1***\3", text)
    text = _BEARER.sub(lambda found: found[1] + _short(found[2]), text)
    return _ASSIGNED.sub(_assigned, text)


def _assigned(found: re.Match[str]) -> str:
    value = found[2]
    if "***" in value or _CODE_VALUE.match(value) or "://" in value:
        return found[0]
    return found[1] + _short(value)


def _short(text: str) -> str:
    return text if "***" in text else text[: min(4, len(text) // 3)] + "***"


def _token(kind: str, found: re.Match[str]) -> str:
    return _hidden(found[0], kind)


def _hidden(text: str, kind: str) -> str:
    return f"{text[:4]}*** ({kind})"

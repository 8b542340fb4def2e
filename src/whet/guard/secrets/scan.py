"""Secrets that are shipped in a package.

A token counts if it has the shape of its provider *and* looks random: placeholders, examples from documentation and
repeated characters do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from whet.guard.expression import expression
from whet.guard.finding import Hit, Seen
from whet.guard.hosts import host_of
from whet.guard.patterns import line_of
from whet.guard.secrets.data import accusing, exact
from whet.guard.secrets.hide import hide_secrets
from whet.guard.secrets.marks import show
from whet.guard.secrets.values import looks_random, seed_phrases
from whet.guard.tables import shape

_RUN = expression(r"(.)\1{4}")
_KEY_BLOCK = expression(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\\r|\s|[\"',+]){0,8}"
    r"([A-Za-z0-9+/=\s\\\"',+:.<>*_-]{0,6000}?)-----END "
)
_PUTTY = expression(
    r"^PuTTY-User-Key-File-\d:[\s\S]{1,3000}?^Private-Lines: \d{1,3}\s{1,2}([A-Za-z0-9+/=\s]{40,4000})", re.MULTILINE
)
_ADDRESS = expression(
    r"\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse|cockroachdb|s?ftps?|smtps?|https?)"
    r"(?:\+\w{1,12})?://[^\s/:@\"'`<>${}\[\]]{0,64}:([^\s/:@\"'`<>${}\[\]]{10,128})@([A-Za-z0-9.-]{4,253})"
)
_PLACEHOLDERS = shape("secret_words", "placeholders", re.IGNORECASE)
_EXAMPLES = shape("secret_words", "examples", re.IGNORECASE)
_LEET = expression(r"p[a4@][s5$]{2}|s3cr3t|^\W*(?:user|admin|root|db)", re.IGNORECASE)
_LONGEST_ACCOUNT = 200
_MOST = 20
_SHORTEST = 16
"""Least number of characters in the varying part of a token."""
RUNS = bytes(
    code if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "+/=_.~:-") else 32 for code in range(256)
)
"""The characters of tokens, from their mark to their end; all other characters separate."""
_KEY_LENGTH = 56
"""Characters between the lines of the shortest private key."""


def find_secrets(text: str) -> Seen:
    """Return the secrets of a text that look real."""
    hits: list[Hit] = []
    told: set[int] = set()
    runs = _long_runs(text)
    for token, bits in accusing():
        if token.mark not in (text if token.apart else runs) or not exact(token.regex).search(
            text if token.apart else runs
        ):
            continue
        for found in exact(token.regex).finditer(text):
            real = len(hits) < _MOST and found.start() not in told and _is_real(found[1], bits)
            if real and not _shown_as_example(text, found.start()):
                told.add(found.start())
                hits.append(Hit("shipped-secret", line_of(text, found.start()), show(token.kind), None, token.kind))
    for mark, block in (("PRIVATE KEY", _KEY_BLOCK), ("PuTTY-User-Key-File-", _PUTTY)):
        hits += [
            Hit("shipped-private-key", line_of(text, found.start()), re.split(r"\\n|\n", found[0])[0][:64] + " ***")
            for found in (block.finditer(text) if mark in text else ())
            if _is_key(found[1])
        ]
    if "://" in text and _has_account(text):
        hits += [
            Hit("shipped-secret", line_of(text, found.start()), hide_secrets(found[0])[0], None, "password")
            for found in _ADDRESS.finditer(text)
            if _is_password(found[1], found[2]) and not _shown_as_example(text, found.start())
        ]
    hits += [
        Hit("shipped-secret", line_of(text, found.start()), "seed phrase ***", None, "seed phrase")
        for found in seed_phrases(text)
        if found["quote"]
    ]
    return Seen(tuple(hits[:_MOST]))


def _has_account(text: str) -> bool:
    """Return whether there is an `@` in a URL."""
    at = text.find("@")
    while at >= 0:
        start = text.rfind("://", max(0, at - _LONGEST_ACCOUNT), at)
        if start >= 0 and not any(map(str.isspace, text[start:at])):
            return True
        at = text.find("@", at + 1)
    return False


def _long_runs(text: str) -> str:
    """Return the texts long enough to be tokens: most documents have few of them, and marks are searched only there."""
    parts = text.encode("latin-1", "replace").translate(RUNS).split()
    return b" ".join([part for part in parts if len(part) >= _SHORTEST]).decode("latin-1")


def _is_real(varying: str, least: float) -> bool:
    """Return whether the varying part of a token looks random."""
    if len(varying) < _SHORTEST or _PLACEHOLDERS.search(varying) or _RUN.search(varying):
        return False
    if len(varying) >= 20 and (varying.isalpha() and (varying.islower() or varying.isupper())) and least > 3.2:
        return False
    return _bits(varying) >= least and not _counting(varying)


def _bits(text: str) -> float:
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values())


def _counting(text: str) -> bool:
    """Return whether the characters count up, as in `a1b2c3d4` or `ABCDEFGH`."""
    evens, odds = text[::2], text[1::2]
    return any(
        sum(ord(second) - ord(first) == 1 for first, second in pairwise(row)) > len(row) * 0.5
        for row in (text, evens, odds)
        if len(row) > 4
    )


def _shown_as_example(text: str, offset: int) -> bool:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return _EXAMPLES.search(text, start, len(text) if end < 0 else end) is not None


def _is_key(body: str) -> bool:
    """Return whether there is a key between the lines, and not only dots that stand for one."""
    bare = re.sub(r"\\n|\\r|[^A-Za-z0-9+/=]", "", body)
    return (
        len(bare) >= _KEY_LENGTH
        and "..." not in body
        and not _PLACEHOLDERS.search(bare[:60])
        and not _RUN.search(bare[:60].replace("AAAA", ""))
        and _bits(bare) > (4.5 if len(bare) >= 150 else 4.0)
    )


def _is_password(value: str, host: str) -> bool:
    """Return whether this is the password of an account on a reachable machine, and not a word that stands for one."""
    if host_of(host).kind in ("loopback", "private", "reserved") or _PLACEHOLDERS.search(f"{value} {host}"):
        return False
    return looks_random(value) and _bits(value) >= 3 and not _LEET.search(value) and not _counting(value)

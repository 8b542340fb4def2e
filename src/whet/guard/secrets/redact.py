"""Secrets that must not show in a finding: whatever may be one is hidden, also what would accuse no package."""

from __future__ import annotations

import re
from functools import lru_cache, partial

from whet.guard.expression import expression, fold
from whet.guard.secrets.data import all_shapes

_ASSIGNED = expression(
    r"((?:[\w-]{0,40}(?:api[_-]?key|apikey|secret|token|passwd|password|pwd|private[_-]?key|credential"
    r"|access[_-]?key)[\w-]{0,20})[\"']?\s{0,4}(?:=>|:=|[:=])\s{0,4}[\"'`]?)"
    r"([^\s\"'`,;${}()<>\[\]]{6,400})",
    re.IGNORECASE,
)
_BEARER = expression(r"\b((?:Bearer|Basic|token)\s{1,4})([A-Za-z0-9._~+/=-]{12,2000})", re.IGNORECASE)
_IN_URL = expression(r"([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,100}:)([^\s/@\"']{3,200})(@)", re.IGNORECASE)
_BLOCK = expression(
    r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----)[\s\S]{0,10000}?(-----END [A-Z ]{0,40}-----|\Z)"
)
_CODE_VALUE = expression(
    r"(?:process\.env|os\.|env\.|getenv|\$|%|self\.|this\.|config\.|args\.|settings\.|None$|null$|true$"
    r"|false$|undefined$|str$|string$)",
    re.IGNORECASE,
)


@lru_cache(maxsize=128)
def exact(regex: str) -> re.Pattern[str]:
    """The pattern of a shape, as it is."""
    return re.compile(regex)


def redact(text: str) -> str:
    """The text with everything that may be a secret hidden: the first four characters stay, and what it is."""
    if "PRIVATE KEY" in text:
        text = _BLOCK.sub(r"\1 *** \2", text)
    for shape in all_shapes():
        if shape.mark in text:
            text = exact(shape.regex).sub(partial(_token, shape.kind), text)
    if "://" in text:
        text = _IN_URL.sub(r"\1***\3", text)
    lowered = fold(text)
    if any(map(lowered.__contains__, ("bearer", "basic", "token"))):
        text = _BEARER.sub(lambda found: found[1] + _short(found[2]), text)
    if any(map(lowered.__contains__, ("key", "secret", "token", "passw", "pwd", "credential"))):
        text = _ASSIGNED.sub(_assigned, text)
    return text


def _assigned(found: re.Match[str]) -> str:
    value = found[2]
    if "***" in value or _CODE_VALUE.match(value) or "://" in value:
        return found[0]
    return found[1] + _short(value)


def _short(text: str) -> str:
    return text if "***" in text else text[: min(4, len(text) // 3)] + "***"


def _token(kind: str, found: re.Match[str]) -> str:
    return shorten_token(found[0], kind)


def shorten_token(text: str, kind: str) -> str:
    """A token as a finding shows it."""
    return f"{text[:4]}*** ({kind})"

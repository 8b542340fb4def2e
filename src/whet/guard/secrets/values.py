"""Whether a value in a place for secrets looks like a secret.

There are three degrees of proof. After a name that can only be that of a password, any value counts. In a place for a
literal, any value counts except a plain word. Everywhere else the value must look random. References to variables, calls,
types and placeholders never count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.tables import shape, words

if TYPE_CHECKING:
    from collections.abc import Iterator

ANY = "password"
"""The degree at which any value counts; it is also the kind of most such values."""
LITERAL = "literal"
"""The degree at which a plain word does not count. Any other kind of secret must look random."""

_REFERENCE = expression(
    r"[$%@{]|=\{\{|\[\w+\]$|//|--?[a-z][a-z-]+(?:=|$)|\^[A-Z]+\^|(?:ConvertTo|Read|Get|New)-[A-Z]\w+$"
    r"|0x[0-9a-f]{38,42}$|[A-Za-z_]\w*=[A-Za-z_$]|\\?\$|[A-Za-z_]+(?:\.[A-Za-z_]+)+$",
    re.IGNORECASE,
)
_WORDS = expression(r"[A-Za-z]+(?:[_ .-][A-Za-z]+)*$")
_PROSE = expression(r"[A-Za-z]+(?:[_ ./-][A-Za-z]+)*$")
_SECRET_WORD = expression(r"passw|secret|token|key|credential|pwd|auth", re.IGNORECASE)
_PATH = expression(
    r"(?:~|\.{1,2})?/(?:[A-Za-z.][a-z0-9_.-]*/){1,20}[\w.-]{0,80}$|/[a-z]{2,12}$|[A-Za-z]:\\|~/|\.{1,2}/"
)
_NAMED_NUMBER = expression(r"[a-z]+[-_]?v?\d{1,3}(?:\.\d{1,3}){0,3}|\d+(?:\.\d+)?[a-z]{1,3}")
_NUMBERED = expression(r"[a-z]+[-_]v?\d{1,3}(?:\.\d{1,3}){0,3}|\d+(?:\.\d+)?[a-z]{1,3}")
_VERSION = expression(r"v?\d+\.\d[=+.\w-]*")
_CASES = expression(r"[A-Z][a-z]?[A-Z].*[a-z]|[a-z][A-Z]{2}")
_SEED_PHRASE = expression(
    r"\b(?:mnemonic|seed[_ -]?(?:phrase|words)|recovery[_ -]?phrase)\w{0,12}[\"']?(?:\s{0,4}[:=]|\s{1,2}is:?)\s{0,4}"
    r"(?P<quote>[\"'`]?)(?P<phrase>(?:[a-z]{3,8} ){11}(?:(?:[a-z]{3,8} ){12})?[a-z]{3,8})(?:(?P=quote)|(?=[.\n]|\Z))",
    re.IGNORECASE,
)
_OWNER = shape("secret_words", "owners", re.IGNORECASE, frame=r"(?:{})\.")
_NAMED_REFERENCE = shape("secret_words", "references", re.IGNORECASE, frame="(?:{})$")
_EMPTY = shape("secret_words", "empty", re.IGNORECASE)
_SAID_ENDING = shape("secret_words", "said_endings", re.IGNORECASE, frame=r"(?:{})\Z")
_THING = shape("secret_words", "things", re.IGNORECASE, frame=r"(?:{})-?\d{1,5}\Z|[A-Za-z]\d?\Z")
_QUALITY_BEGINNING = shape("secret_words", "quality_beginnings", re.IGNORECASE, frame="(?:{})[-_]")
_QUALITY_END = shape("secret_words", "quality_ends", re.IGNORECASE, frame=r".{0,80}[-_](?:{})\Z")
_DIGEST = expression(r"(?:sha\d{1,3}|md5|blake\w{1,3})[:-]", re.IGNORECASE)


def is_reference(value: str) -> bool:
    """Return whether the value only says where the secret is, or of what kind."""
    return bool(_REFERENCE.match(value) or _OWNER.match(value) or _NAMED_REFERENCE.match(value))


def is_empty(value: str) -> bool:
    """Return whether the value is only a placeholder for a secret."""
    return _EMPTY.match(value) is not None


def is_secret(value: str, kind: str) -> bool:
    """Return whether the value may be a secret; `kind` determines the required proof."""
    bare = value.strip().rstrip(":.!?,;").strip("*_'\"")
    if (
        "://" in bare
        or len(bare) < 3
        or is_reference(bare)
        or is_empty(bare)
        or _PATH.match(bare)
        or _DIGEST.match(bare)
    ):
        return False
    worded = _WORDS.match(bare) is not None
    if kind in {ANY, LITERAL} and worded and (_SECRET_WORD.search(bare) or len(bare) > 60):
        return False
    if kind == LITERAL:
        return (
            len(bare) >= 4
            and not re.search(r"[\s()]", bare)
            and not bare.isalpha()
            and not (worded and re.search("[._]", bare))
        )
    return kind == ANY or looks_random(bare)


def is_said(value: str) -> bool:
    """Return whether a value in prose may be a secret. Words that describe a password are not."""
    bare = value.strip().rstrip(":.!?,;)").strip("*_'\"`")
    if (
        len(bare) < 5
        or not any(map(str.isalpha, bare))
        or not is_secret(bare, LITERAL)
        or _is_thing(bare)
        or _VERSION.fullmatch(bare)
    ):
        return False
    return not (_PROSE.match(bare) and ("-" not in bare or "/" in bare or _is_quality(bare) or bare[0].isupper()))


def is_said_word(value: str) -> bool:
    """Return whether a plain word in prose may be a password, as in `the password is swordfish`."""
    return (
        4 <= len(value) <= 40
        and value.isalpha()
        and value.islower()
        and is_secret(value, ANY)
        and value not in words("secret_words", "said")
        and _SAID_ENDING.search(value) is None
    )


def looks_random(value: str) -> bool:
    """Return whether a value has letters with digits, mixed case within a word, or is a long meaningless word."""
    if len(value) < 8 or " " in value.strip() or value.isdigit():
        return False
    if any(c.isdigit() for c in value) and any(c.isalpha() for c in value):
        return not (_NAMED_NUMBER.fullmatch(value) and len(value) < 16) and not _VERSION.fullmatch(value)
    if _WORDS.match(letters := value.rstrip("=")):
        return letters.isalpha() and (len(letters) >= 20 or _CASES.search(letters) is not None)
    return any(c in "!#+^~" for c in value)


def is_telling(value: str) -> bool:
    """Return whether the value can be nothing but this secret, wherever it occurs.

    Hyphenated words and phrases can; a plain word, a number, or the name of a thing with a number cannot.
    """
    if not 6 <= len(value) <= 400 or not any(c.isalpha() for c in value) or _is_thing(value):
        return False
    if " " in value:
        return len(value) >= 12 and value.count(" ") >= 2
    if _WORDS.match(value):
        return "-" in value and len(value) >= 10 and not _is_quality(value)
    return len(value) >= 12 or not _NUMBERED.fullmatch(value)


def _is_thing(value: str) -> bool:
    """Return whether it is the name of a thing that ends in a number, which is not a password in prose."""
    return _THING.match(value) is not None


def _is_quality(value: str) -> bool:
    """Return whether a hyphenated word describes a quality, as `case-sensitive` does."""
    return bool(_QUALITY_BEGINNING.match(value) or _QUALITY_END.match(value))


def seed_phrases(text: str) -> Iterator[re.Match[str]]:
    """Yield the wallet phrases in a text, except well-known ones."""
    lowered = text.lower()
    if not any(name in lowered for name in ("mnemonic", "seed", "recovery")):
        return
    for found in _SEED_PHRASE.finditer(text):
        phrase = found["phrase"].lower()
        if not phrase.startswith(tuple(words("secret_words", "known_mnemonics"))) and len(set(phrase.split())) > 9:
            yield found

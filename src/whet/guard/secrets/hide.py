"""Hides secrets before a transcript is stored or a finding is shown: `ghp_...` becomes `[secret:github-token]`.

A secret is recognised in two ways. By its shape, with less evidence than it takes to accuse a package. By its place: after a
name such as `password`, in an address, in a header.
Digests, commits, identifiers and paths have no such place and stay. Base64 that is not a secret becomes `[binary]`.
The names of variables, functions and placeholders stay too, because a skill should use them instead of secrets.
Code in a known language still parses afterwards: see `marks`.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.secrets.data import Shape, all_shapes
from whet.guard.secrets.marks import BINARY, Marks, without_marks
from whet.guard.secrets.places import hide_in_places
from whet.guard.secrets.values import is_telling, seed_phrases

if TYPE_CHECKING:
    from whet.guard.secrets.speech import Hide

__all__ = ["BINARY", "Known", "hide_secrets"]
_REMEMBERED = 100
"""Largest number of secrets that are remembered by their value."""

_ESCAPED = expression(r"(?:\\[bfnrt]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\[\d{1,2}m)\Z")
"""Text that may directly precede a token although it ends in a letter or a digit: an escaped line end, a colour."""
_CODE = expression(r"\\u00([2-7][0-9A-Fa-f])")
_LEFT = expression(r"^(?:\\b|\(\?<!\[[^\]]*\]\))")
_RIGHT = expression(r"(?:\\b|\(\?!\[[^\]]*\]\))$")
"""The parts of shape patterns that require a token to begin and end there."""
_KEY = expression(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
    r"(?:(?:(?!-----BEGIN )[\s\S]){0,20000}?-----END [A-Z0-9 ]{0,60}-----"
    r"|[^\n]{0,4000}(?:\n(?:[^\n]{0,300}?[A-Za-z0-9+/=]{16}[^\n]{0,4000}|[ \t]{0,40}[A-Za-z0-9+/=]{0,76}[ \t\r]{0,4}(?=\n|\Z)"
    r"|[A-Za-z-]{4,20}: [^\n]{0,80})){0,400})"
)
"""A private key; one without an end extends over all following lines that look like those of keys."""
_KEY_END = expression(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_PUTTY = expression(r"(Private-Lines: \d{1,3}(?:\\n|\r?\n))(?:[A-Za-z0-9+/=]{1,80}(?:\\n|\r?\n|\Z)){1,400}")
_DATA = expression(r"data:[\w.+/-]{3,80}(?:;[\w.+=-]{1,40}){0,3};base64,[A-Za-z0-9+/=_-]{4,4000000}", re.ASCII)
_BLOB = expression(r"[A-Za-z0-9+/]{256,}={0,2}")
_RUN = expression(r"[A-Za-z0-9+/]{60}")
_LINES = expression(r"(?:[A-Za-z0-9+/]{60,80}(?:\\n|\\r|\r?\n)){6,}[A-Za-z0-9+/]{0,80}={0,2}")


def hide_secrets(text: str, known: Known | None = None, language: str = "") -> tuple[str, int]:
    """Return the text without secrets, and the number of hidden secrets.

    A secret in one place is a secret everywhere: values found by their place are also hidden in the rest of the text, and
    `known` learns them for other texts. `language` is the language of a text that is code; without it the text is prose, and
    its fenced blocks are code in the language that they name.
    """
    known = Known() if known is None else known
    text = without_marks(text)
    marks = Marks()
    sure = partial(marks.put, sure=True)
    if "PRIVATE KEY" in text:
        text = _KEY.sub(lambda found: sure(found[0], "private-key"), text)
        text = _without_ends(text, sure)
    if "Private-Lines:" in text:
        text = _PUTTY.sub(lambda found: f"{found[1]}{sure(found[0][len(found[1]) :], 'private-key')}\n", text)
    for found in reversed(list(seed_phrases(text))):
        text = f"{text[: found.start('phrase')]}{sure(found['phrase'], 'seed-phrase')}{text[found.end('phrase') :]}"
    if len(text) >= 256:
        text = _without_binary(text, sure)
    for shape in all_shapes():
        if shape.mark in text:
            text = _pattern(shape.regex).sub(partial(_token, shape, sure), text)
    text, hidden = marks.settle(hide_in_places(text, marks.put), language)
    for value, kind in marks.by_place():
        known.learn(value, kind)
    text, again = known.hide(text, language)
    return text, hidden + again


class Known:
    """Secrets that were found by their place, and are hidden everywhere else."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def learn(self, value: str, kind: str) -> None:
        """Remember a secret, if it can be distinguished from a word."""
        for spelling in {value, _unescaped(value)}:
            if len(self._kinds) < _REMEMBERED and is_telling(spelling):
                self._kinds[spelling] = kind

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def hide(self, text: str, language: str = "") -> tuple[str, int]:
        """Return the text without the known secrets, and their number."""
        text = without_marks(text)
        marks = Marks()
        for value, kind in self._kinds.items():
            if value in text:
                text = _whole(value).sub(partial(_known, marks, kind), text)
        return marks.settle(text, language)


def _known(marks: Marks, kind: str, found: re.Match[str]) -> str:
    return marks.put(found[0], kind, sure=True)


@lru_cache(maxsize=_REMEMBERED)
def _whole(value: str) -> re.Pattern[str]:
    """Return a pattern for the value; a short value, or one made of words, does not match within a longer word."""
    within = len(value) >= 12 and not re.fullmatch(r"[A-Za-z -]+", value)
    return re.compile(re.escape(value) if within else rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])")


def _unescaped(value: str) -> str:
    """Return a secret from JSON without its escapes."""
    return _CODE.sub(lambda found: chr(int(found[1], 16)), value).replace("\\/", "/").replace('\\"', '"')


@lru_cache(maxsize=128)
def _pattern(regex: str) -> re.Pattern[str]:
    """Return the pattern of a shape without its boundaries: characters attached to a token do not protect it."""
    return re.compile(_RIGHT.sub("", _LEFT.sub("", regex)))


def _token(shape: Shape, hide: Hide, found: re.Match[str]) -> str:
    """Hide a token wherever it begins. Only `sk-` also ends words, as in `task-list`, which do not look random."""
    if shape.apart or shape.mark.endswith("="):  # the name before it stays; a longer value is hidden by its place
        longer = re.match(r"[\w/+-]", found.string[found.end() : found.end() + 1])
        return found[0] if longer else f"{found.string[found.start() : found.start(1)]}{hide(found[1], shape.kind)}"
    before = found.string[max(0, found.start() - 6) : found.start()]
    word = shape.mark == "sk-" and re.search(r"[A-Za-z0-9_]\Z", before) and not _ESCAPED.search(before)
    return found[0] if word and not _is_mixed(found[1]) else hide(found[0], shape.kind)


def _is_mixed(text: str) -> bool:
    """Return whether a text contains letters of both cases and digits, as base64 does and words do not."""
    return any(c.islower() for c in text) and any(c.isupper() for c in text) and any(c.isdigit() for c in text)


def _without_ends(text: str, hide: Hide) -> str:
    """Return the text without keys whose beginning is missing, as in the last lines of a file."""
    pieces: list[str] = []
    done = 0
    for found in _KEY_END.finditer(text):
        start = found.start()
        while start > done and (text[start - 1] in "+/=\\" or text[start - 1].isalnum() or text[start - 1].isspace()):
            start -= 1
        pieces += (text[done:start], hide(text[start : found.end()], "private-key"))
        done = found.end()
    return "".join((*pieces, text[done:]))


def _without_binary(text: str, hide: Hide) -> str:
    if ";base64," in text:
        text = _DATA.sub(lambda found: hide(found[0], "binary"), text)
    binary = partial(_binary, hide)
    return _BLOB.sub(binary, _LINES.sub(binary, text)) if _RUN.search(text) else text


def _binary(hide: Hide, found: re.Match[str]) -> str:
    return hide(found[0], "binary") if _is_mixed(found[0]) and len(set(found[0])) > 24 else found[0]

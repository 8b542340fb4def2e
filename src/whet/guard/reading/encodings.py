"""Bytes to text: the encoding of a file, detected from its bytes alone.

Nothing that can be read as text is given up: a few bad bytes or NULs in a script do not make it a binary. A binary file
gives `None`, and `strings` still finds its printable parts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.reading.confusables import ORDERS

if TYPE_CHECKING:
    from collections.abc import Iterator


class Decoded(NamedTuple):
    """A text and its encoding."""

    text: str
    encoding: str
    marked: bool
    """Whether a byte order mark declares the encoding."""
    broken: tuple[str, ...] = ()
    """Words that contained invalid bytes, such as `cu\\xffrl`; in `text` they are repaired."""


_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b\b")) + b"\x7f"
_HIGH = bytes(range(128, 256))
_SPLIT = re.compile(rb"[A-Za-z]{1,20}(?:[\x80-\xff]{1,3}[A-Za-z]{1,20}){1,6}")
_COOKIE = expression(r"[ \t\f]*#[^\n]{0,200}?coding[:=][ \t]*([-\w.]{1,40})")
_COOKED = {"utf7": "utf-7", "unicodeescape": "unicode_escape", "rawunicodeescape": "raw_unicode_escape"}
_STRING = re.compile(rb"[\t\x20-\x7e]{6,2000}")
_SAMPLE = 1 << 16


def decode(data: bytes) -> Decoded | None:
    """Return the text of a file, or `None` if it is a binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            if encoding == "utf-8" or _printable(text[:_SAMPLE]):
                return Decoded(text, encoding, marked=True)
    if 0 in data[:_SAMPLE]:
        wide = _wide(data[:_SAMPLE])
        if wide:
            return Decoded(data.decode(wide, "replace"), wide, marked=False)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _eight_bit(data)
    if 0 in data and len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 20:
        return None
    return Decoded(text, "utf-8", marked=False)


def _wide(data: bytes) -> str:
    """Detect UTF-16 or UTF-32 without a byte order mark by the positions of the NULs."""
    if len(data) < 8:
        return ""
    quarters = [data[place::4].count(0) * 4 / len(data) for place in range(4)]
    if min(quarters[1:]) > 0.9 and quarters[0] < 0.1:
        return "utf-32-le"
    if min(quarters[:3]) > 0.9 and quarters[3] < 0.1:
        return "utf-32-be"
    even, odd = (quarters[0] + quarters[2]) / 2, (quarters[1] + quarters[3]) / 2
    for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros > 0.4 and others < 0.02 and _printable(data[: len(data) // 2 * 2].decode(encoding, "replace")):
            return encoding
    return ""


def _eight_bit(data: bytes) -> Decoded | None:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    high = len(data) - len(data.translate(None, _HIGH))
    if controls > len(data) // 50 or (controls and high > len(data) * 3 // 10):
        return None
    broken: list[str] = []

    def mend(match: re.Match[bytes]) -> bytes:
        whole = match[0].translate(None, _HIGH)
        if whole.decode().lower() not in ORDERS:
            return match[0]
        broken.append(match[0].decode("ascii", "backslashreplace"))
        return whole

    mended = _SPLIT.sub(mend, data)
    replaced = mended.decode("utf-8", "replace")
    if any(character > "\x7f" and character != "�" for character in replaced[:_SAMPLE]):
        return Decoded(replaced, "utf-8 with bad bytes", marked=False, broken=tuple(broken))
    return Decoded(mended.decode("cp1252", "replace"), "windows-1252", marked=False, broken=tuple(broken))


def _printable(text: str) -> bool:
    return sum(character.isprintable() or character in "\t\r\n" for character in text) > 0.95 * len(text)


def cooked(text: str) -> tuple[str, str]:
    """Return Python source decoded as the encoding that its first lines name, if that changes its meaning, and that name."""
    for line in text.split("\n", 2)[:2]:
        match = _COOKIE.match(line)
        if match:
            name = _COOKED.get(re.sub(r"[-_.]", "", match[1].lower()), "")
            if name:
                return text.encode("latin-1", "replace").decode(name, "replace"), name
    return text, ""


def strings(data: bytes) -> Iterator[str]:
    """Yield the printable runs of a binary, six characters or longer."""
    for match in _STRING.finditer(data):
        yield match[0].decode("ascii")

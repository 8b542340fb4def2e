"""What a text looks like beside its lines: its line ends, its byte order mark, the end of its last line.

They are put aside before texts are merged and given back afterwards, so that an editor that changed all of them has
changed nothing.
"""

from __future__ import annotations

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"


class Texts(NamedTuple):
    """The three states of a text; line ends and such are those of `yours`."""

    before: bytes
    yours: bytes
    theirs: bytes


class Style(NamedTuple):
    """What a text looks like beside its lines."""

    mark: bool
    """It begins with a byte order mark."""
    crlf: bool
    ended: bool
    """Its last line has an end."""


def is_text(data: bytes) -> bool:
    """Whether this can be merged line by line."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def plain(before: bytes, yours: bytes, theirs: bytes) -> tuple[Texts, Style]:
    """The texts as bare lines with plain ends, and how the merged one is to look.

    Marks and line ends stay as you have them. Where a text mixes its line ends they may mean something, and stay lines'
    own business.
    """
    bare = [text.removeprefix(_BOM) for text in (before, yours, theirs)]
    crlf = False
    if not any(map(_mixed, bare[1:])):
        told = next((text for text in (bare[1], bare[2]) if b"\n" in text), b"")
        crlf = b"\r\n" in told
        bare = [text.replace(b"\r\n", b"\n") for text in bare]
    ends = [not text or text.endswith(b"\n") for text in bare]
    ended = ends[1] if ends[1] != ends[0] else ends[2]
    lines = [text if end else text + b"\n" for text, end in zip(bare, ends, strict=True)]
    return Texts(*lines), Style(yours.startswith(_BOM), crlf, ended)


def styled(text: bytes, style: Style) -> bytes:
    """Bare lines as a file that looks like this."""
    if not style.ended:
        text = text.removesuffix(b"\n")
    if style.crlf:
        text = text.replace(b"\n", b"\r\n")
    return _BOM + text if style.mark else text


def _mixed(text: bytes) -> bool:
    return 0 < text.count(b"\r\n") < text.count(b"\n")

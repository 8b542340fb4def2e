"""The files of sessions: JSON records, one a line, and documents that are read as a whole.

Lines are read one by one, so memory does not grow with the file. A document is held in memory; a larger one is refused.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whet.learning.transcripts.collector import Collector

LINE = 4 * 1024 * 1024
"""Longest line in bytes."""
DOCUMENT = 32 * 1024 * 1024
"""Largest document in bytes."""
T = TypeVar("T", str, bytes)
_BLANKS = re.compile(r"\s*")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def lines(path: str, into: Collector) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a file that are not blank, and whether each was ended. A long one is never in memory."""
    with open(path, "rb") as file:
        start = file.read(3)
        file.seek(3 if start == codecs.BOM_UTF8 else 0)
        if start[:2] in _WIDE:
            wide = io.TextIOWrapper(file, "utf-16", "replace", newline="\n")
            yield from ((line, line.endswith("\n")) for line in _short_lines(wide.readline, "\n", into))
            return
        for raw in _short_lines(file.readline, b"\n", into):
            yield _decoded(raw, "utf-8", into), raw.endswith(b"\n")


def _short_lines(readline: Callable[[int], T], end: T, into: Collector) -> Iterator[T]:
    """Yield the lines that are neither blank nor too long."""
    while line := readline(LINE):
        if len(line) == LINE and not line.endswith(end):
            into.counts["long"] += 1
            while (rest := readline(LINE)) and not rest.endswith(end):
                pass
        elif not line.isspace():
            yield line


def _decoded(data: bytes, encoding: str, into: Collector) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        into.counts["encoding"] += 1
        return data.decode("cp1252", "replace")


def records(path: str, into: Collector) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a JSONL file; other lines are counted.

    A line may hold several, if two programs wrote at once.
    """
    damaged, ended = 0, True
    for line, ended in lines(path, into):  # noqa: B007  the end of the last line matters after the loop
        into.counts["damaged"] += damaged
        damaged = 0
        for value in values(line):
            if isinstance(value, dict):
                yield value
            else:
                damaged = 1
    into.counts["truncated" if damaged and not ended else "damaged"] += damaged


def values(text: str) -> Iterator[Any]:
    """Yield the consecutive JSON values of a text; None for an invalid rest."""
    decoder = json.JSONDecoder(strict=False)
    text = text.strip("\0 \t\r\n")
    at = 0
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield value
        blanks = _BLANKS.match(text, end)
        at = blanks.end() if blanks else end


def read_text(path: str, into: Collector) -> str | None:
    """Return the text of a file; None if it is too long for memory."""
    with open(path, "rb") as file:
        data = file.read(DOCUMENT + 1)
    return None if len(data) > DOCUMENT else _decoded(data, encoding_of(data), into)


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text with this beginning."""
    return "utf-16" if start[:2] in _WIDE else "utf-8-sig"

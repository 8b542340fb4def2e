"""The records of a JSONL file, one at a time, whatever has happened to the file.

A line that is too long is never in memory: its rest is read past. UTF-16, which a redirect in PowerShell writes, is
read too.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whet.learning.transcripts.collecting import Collector

LINE = 4 * 1024 * 1024
"""Bytes of one line."""
_BLANKS = re.compile(r"\s*")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def lines(path: str, into: Collector) -> Iterator[tuple[str, bool]]:
    """The lines of a file that are not blank, and whether each was ended."""
    with open(path, "rb") as file:
        start = file.read(3)
        if start[:2] in _WIDE:
            yield from _wide(path, into)
            return
        file.seek(3 if start == codecs.BOM_UTF8 else 0)
        while raw := file.readline(LINE):
            if len(raw) == LINE and not raw.endswith(b"\n"):
                into.counts["long"] += _skipped(file)
                continue
            if raw.isspace():
                continue
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError:
                text = raw.decode("cp1252", "replace")
                into.counts["encoding"] += 1
            yield text, raw.endswith(b"\n")


def _skipped(file: BinaryIO) -> int:
    """Read past the rest of a line."""
    while rest := file.readline(LINE):
        if rest.endswith(b"\n"):
            break
    return 1


def _wide(path: str, into: Collector) -> Iterator[tuple[str, bool]]:
    with open(path, encoding="utf-16", errors="replace", newline="\n") as file:
        while line := file.readline(LINE):
            if len(line) == LINE and not line.endswith("\n"):
                while (rest := file.readline(LINE)) and not rest.endswith("\n"):
                    pass
                into.counts["long"] += 1
            elif not line.isspace():
                yield line, line.endswith("\n")


def records(path: str, into: Collector) -> Iterator[Mapping[str, Any]]:
    """The objects of a JSONL file; lines that are none are counted.

    A line may hold several, where two programs wrote at once.
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


def values(line: str) -> Iterator[Any]:
    """The JSON values of a line, one behind the other; None for a rest that is none."""
    import json

    decoder = json.JSONDecoder()
    line = line.strip("\0 \t\r\n")
    at = 0
    while at < len(line):
        try:
            value, end = decoder.raw_decode(line, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield value
        blanks = _BLANKS.match(line, end)
        at = blanks.end() if blanks else end

"""A session that is one JSON document, read piece by piece: its messages one at a time, however long the file is.

The file is gone through twice: first to see what it is and what it says of itself, which may stand behind the messages,
then for the messages. A document that is cut off gives what it has; pieces that are too long or damaged are left out.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

from whet.learning.transcripts.values import mapping, sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whet.learning.transcripts.collector import Collector

LINE = 4 * 1024 * 1024
"""Bytes of one line."""
T = TypeVar("T", str, bytes)
_ANY_BLANKS = re.compile(r"\s*")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def lines(path: str, into: Collector) -> Iterator[tuple[str, bool]]:
    """The lines of a file that are not blank, and whether each was ended. One that is too long is never in memory."""
    with open(path, "rb") as file:
        start = file.read(3)
        file.seek(3 if start == codecs.BOM_UTF8 else 0)
        if start[:2] in _WIDE:
            wide = io.TextIOWrapper(file, "utf-16", "replace", newline="\n")
            yield from ((line, line.endswith("\n")) for line in _short_lines(wide.readline, "\n", into))
            return
        for raw in _short_lines(file.readline, b"\n", into):
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError:
                text = raw.decode("cp1252", "replace")
                into.counts["encoding"] += 1
            yield text, raw.endswith(b"\n")


def _short_lines(readline: Callable[[int], T], end: T, into: Collector) -> Iterator[T]:
    """The lines that are neither blank nor too long."""
    while line := readline(LINE):
        if len(line) == LINE and not line.endswith(end):
            into.counts["long"] += 1
            while (rest := readline(LINE)) and not rest.endswith(end):
                pass
        elif not line.isspace():
            yield line


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
        blanks = _ANY_BLANKS.match(line, end)
        at = blanks.end() if blanks else end


_CHUNK = 1 << 18
_SAMPLE = 200
"""Messages that are looked at to find out what the document is."""
_ARRAYS = frozenset({"messages", "conversations", "sessions"})
_MARK = re.compile(r"[\"\[\]{},]")
_STRING = re.compile(r"[\"\\]")
_BLANKS = re.compile(r"[ \t\r\n]*")
_ENDS = frozenset(",]} \t\r\n")
_DECODER = json.JSONDecoder(strict=False)


class Part(NamedTuple):
    """Something of a document, in the order of the file."""

    what: str
    """`open` and `close` of an object, a `field` of it, an `array` that begins in it and an `item` in that.

    `lost` is a piece that was left out, `cut` the end of a document that is cut off, `more` what follows a whole one.
    """
    name: str = ""
    value: Any = None


class Outline(NamedTuple):
    """What a document is, seen without keeping it."""

    kind: str
    """The format, or "" where it is none that is known."""
    record: Mapping[str, Any]
    """The first object of that format: its fields, and the names of the fields of its first messages."""
    number: int
    """Which object that is, from 0."""
    objects: int
    items: int
    """Messages and other things in lists of that object."""
    cut: bool
    more: bool


class CutOffError(Exception):
    """The text ends in the middle of a value."""


class Lost(NamedTuple):
    """Stands for a value that was left out."""

    why: str
    """`long` or `damaged`, as the report calls it."""


class _Scanner:
    """A text and a place in it, of which little more is in memory than the value that begins there."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._gone = 0

    def place(self) -> int:
        """How far into the text this is."""
        return self._gone + self._at

    def _fill(self) -> bool:
        """Read on; False at the end, where nothing changes."""
        more = self._file.read(max(_CHUNK, len(self._text) - self._at))
        if more:
            self._text = self._text[self._at :] + more
            self._gone += self._at
            self._at = 0
        return bool(more)

    def peek(self) -> str:
        """The next character that is no blank, or "" at the end."""
        while True:
            found = _BLANKS.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def take(self, characters: str) -> str:
        """The next character, if it is one of these."""
        found = self.peek()
        if not found:
            raise CutOffError
        if found not in characters:
            return ""
        self._at += 1
        return found

    def value(self) -> Any:
        """The value that begins here, or why there is none."""
        if not self.peek():
            raise CutOffError
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError:  # damaged, or not all of it is here yet
                value, end = None, 0
            except RecursionError:
                return self._passed()
            if end and self._is_whole(end):
                kept = end - self._at <= LINE
                self._at = end
                return value if kept else Lost("long")
            if len(self._text) - self._at > LINE or not self._fill():
                return self._passed()

    def _is_whole(self, end: int) -> bool:
        """Does the value end there? A number may go on in what is not read yet."""
        return self._text[end - 1] in '"]}el' or self._text[end : end + 1] in _ENDS

    def _passed(self) -> Lost:
        """Go past a value without keeping it."""
        depth, start = 0, self.place()
        while True:
            found = _MARK.search(self._text, self._at)
            if found is None:
                self._at = len(self._text)
                if not self._fill():
                    raise CutOffError
                continue
            mark = found[0]
            if depth == 0 and mark in ",]}":
                self._at = found.start()
                break
            self._at = found.end()
            if mark == '"':
                self._string()
            elif mark != ",":
                depth += 1 if mark in "[{" else -1
            if depth == 0:
                break
        return Lost("long" if self.place() - start > LINE else "damaged")

    def _string(self) -> None:
        while True:
            found = _STRING.search(self._text, self._at)
            if found is None or (found.end() == len(self._text) and found[0] == "\\"):
                self._at = len(self._text) if found is None else found.start()
                if not self._fill():
                    raise CutOffError
            elif found[0] == '"':
                self._at = found.end()
                return
            else:
                self._at = found.end() + 1


def parts(path: str, encoding: str) -> Iterator[Part]:
    """The document in pieces. Objects are those at the top, those in a list at the top, and sessions within them."""
    with open(path, encoding=encoding, errors="replace", newline="") as file:
        scanner = _Scanner(file)
        try:
            if scanner.take("["):
                yield from _list(scanner, "")
            elif scanner.peek() == "{":
                yield from _object(scanner)
            else:
                return
        except CutOffError:
            yield Part("cut")
        else:
            if scanner.peek():
                yield Part("more")


def _list(scanner: _Scanner, name: str) -> Iterator[Part]:
    while not scanner.take("]"):
        if name in ("", "sessions") and scanner.peek() == "{":
            yield from _object(scanner)
        else:
            value = scanner.value()
            yield Part("lost", value.why) if isinstance(value, Lost) else Part("item", name, value)
        if not scanner.take(",") and scanner.peek() != "]":
            raise CutOffError


def _object(scanner: _Scanner) -> Iterator[Part]:
    scanner.take("{")
    yield Part("open")
    room = LINE
    while not scanner.take("}"):
        key = scanner.value()
        if not isinstance(key, str) or not scanner.take(":"):
            raise CutOffError
        if key in _ARRAYS and scanner.take("["):
            yield Part("array", key)
            yield from _list(scanner, key)
        else:
            start = scanner.place()
            value = scanner.value()
            room -= scanner.place() - start
            lost = value.why if isinstance(value, Lost) else "long" if room < 0 else ""
            yield Part("lost", lost) if lost else Part("field", key, value)
        if not scanner.take(",") and scanner.peek() != "}":
            raise CutOffError
    yield Part("close")


def outline(path: str, encoding: str, kind_of: Callable[[Mapping[str, Any]], str]) -> Outline:
    """What the document in a file is."""
    found = Outline("", {}, -1, 0, 0, False, False)
    record: dict[str, Any] = {}
    depth = index = items = 0
    inner = record
    for part in parts(path, encoding):
        if part.what == "open":
            depth += 1
            inner = {}
            if depth == 1:
                record, items = inner, 0
            else:
                _sample(record, "sessions", inner)
        elif part.what == "field" and depth == 1:
            record[part.name] = part.value
        elif part.what == "array":
            inner.setdefault(part.name, [])
        elif part.what == "item":
            items += 1
            _sample(inner, part.name, dict.fromkeys(mapping(part.value)))
        elif part.what == "cut":
            found = found._replace(cut=True)
        elif part.what == "more":
            found = found._replace(more=True)
        if (part.what == "close" and depth == 1) or (part.what == "cut" and depth):
            if not found.kind and (kind := kind_of(record)):
                found = found._replace(kind=kind, record=record, number=index, items=items)
            index += 1
        depth -= part.what == "close"
    return found._replace(objects=index)


def _sample(record: dict[str, Any], name: str, value: Any) -> None:
    kept = record.setdefault(name, [])
    if isinstance(kept, list) and len(kept) < _SAMPLE:
        kept.append(value)


def pieces(path: str, encoding: str, wanted: int, into: Collector) -> Iterator[Part]:
    """The messages of one object of the document, and what the sessions in it say of themselves."""
    depth, number = 0, -1
    for part in parts(path, encoding):
        depth += (part.what == "open") - (part.what == "close")
        number += part.what == "open" and depth == 1
        if part.what == "cut":
            into.counts["truncated"] = 1
        elif number == wanted and part.what == "lost":
            into.counts[part.name] += 1
        elif number == wanted and (part.what == "item" or (part.what == "field" and depth == 2)):
            yield part


def rows(path: str, encoding: str, into: Collector) -> Iterator[Mapping[str, Any]]:
    """The objects of a list, one after the other."""
    row: dict[str, Any] = {}
    for part in parts(path, encoding):
        if part.what == "open":
            row = {}
        elif part.what == "field":
            row[part.name] = part.value
        elif part.what == "close":
            yield row
        elif part.what == "lost":
            into.counts[part.name] += 1
        elif part.what == "cut":
            into.counts["truncated"] = 1


def pieces_of(record: Mapping[str, Any]) -> Iterator[Part]:
    """The same of a session that is in memory."""
    for name in _ARRAYS - {"sessions"}:
        yield from (Part("item", name, item) for item in sequence(record.get(name)))
    for session in map(mapping, sequence(record.get("sessions"))):
        yield from (Part("field", key, value) for key, value in session.items() if key not in _ARRAYS)
        yield from pieces_of(session)


def encoding_of(start: bytes) -> str:
    """How the text is encoded that begins so."""
    return "utf-16" if start[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} else "utf-8-sig"

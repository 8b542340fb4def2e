"""A file or a list of messages, read into a transcript; the format is found out from what is there.

JSONL is read line by line and a document that is one JSON value message by message, so memory does not grow with the
file.
"""

from __future__ import annotations

import os
import stat
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from whet.errors import InvalidError, NotFoundError
from whet.learning.transcripts import anthropic, claude, codex, documents, generic, hermes, markdown, openai
from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.documents import lines, records, values
from whet.learning.transcripts.values import moment, string
from whet.store.atomic import clean_leftovers, staging
from whet.store.directories import PRIVATE, make_directories
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.learning.transcripts.events import Transcript

KNOWN = (
    "a session of Claude Code or Codex (JSONL), an export of Hermes, messages of OpenAI or Anthropic (JSON or JSONL),"
    " Markdown with the speakers as headings, a recording of whet"
)
TEXT_FILE = 16 * 1024 * 1024
"""Bytes of a Markdown file that are read."""
_LOOKED_AT = 200
"""Lines in which the format is looked for."""
_HEAD = 4_096
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_TIMES = ("timestamp", "created_at", "time")


def read_transcript(path: str, *, client: str = "") -> Transcript:
    """The session in a file, whatever client wrote it. `client` is what the transcript is to call that client."""
    into = Collector(client, path)
    with os_failures(path, doing="read", other="read-failed"):
        form = _sniffed(path, _head(path))
        _READERS[form](path, into)
    into.client = into.client or form
    return into.transcript()


def from_messages(messages: Iterable[Any], *, client: str = "") -> Transcript:
    """A session from messages in memory: OpenAI's, Anthropic's or LangChain's, as dictionaries or as objects."""
    into = Collector(client)
    _messages(map(_plain, messages), into)
    return into.transcript()


def _head(path: str) -> bytes:
    """The first bytes of the file, which must be one, and text."""
    try:
        mode = os.stat(path).st_mode
    except ValueError:
        _refuse(path, "a file cannot have that name")
    except FileNotFoundError as error:
        hint = "Pass the file of a session."
        raise NotFoundError("transcript-missing", f"There is no file {path}.", hint=hint) from error
    if not stat.S_ISREG(mode):
        _refuse(path, "it is a directory" if stat.S_ISDIR(mode) else "it is not a regular file")
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        _refuse(path, "it is empty")
    if head.startswith(b"SQLite format 3"):
        _refuse(path, "it is a database; `hermes sessions export` writes its sessions to a file")
    if head.startswith(_COMPRESSED):
        _refuse(path, "it is compressed; unpack it first")
    is_json = head.lstrip(b"\0 \t\r\n\xef\xbb\xbf").startswith((b"{", b"["))
    if b"\0" in head and not is_json and documents.encoding_of(head) != "utf-16":
        _refuse(path, "it is a binary file")
    return head


def _refuse(path: str, why: str) -> NoReturn:
    raise InvalidError(
        "not-a-transcript", f"{path} is not a transcript: {why}.", hint=f"Known clients: {KNOWN}.", path=path
    )


def _sniffed(path: str, head: bytes) -> str:
    """The name of the format."""
    start = head.decode(documents.encoding_of(head), "ignore").lstrip()
    first, any_line = _kinds(path)
    if start.startswith("{") and first:
        return first
    if start.startswith(("{", "[")):
        found = documents.outline(path, documents.encoding_of(head), kind_of)
        if found.items or found.objects > 1 or not found.cut:
            return "document"
    if any_line:
        return any_line  # a session that begins with damage
    if start.startswith(("{", "[")):
        _refuse(path, "its JSON is damaged or has an unknown form")
    return "markdown"


def _kinds(path: str) -> tuple[str, str]:
    """The format that the first line tells, and that of the first line that tells any."""
    from itertools import islice

    kinds: list[str] = []
    for line, _ in islice(lines(path, Collector("")), _LOOKED_AT):
        record = next(values(line), None)  # none is damage, or part of a larger value
        kinds.append(kind_of(record) if isinstance(record, dict) else "")
        if kinds[-1]:
            break
    return kinds[0] if kinds else "", kinds[-1] if kinds else ""


def kind_of(record: Mapping[str, Any]) -> str:
    """The format that has such records, or ""."""
    kind = string(record.get("type"))
    if generic.MARK in record:
        return "whet"
    if ("payload" in record and kind in codex.ENVELOPES) or (
        kind.startswith(("thread.", "item.")) and "role" not in record
    ):
        return "codex"
    if {"id", "timestamp", "instructions"} <= set(record) and not kind:
        return "codex"
    marks = ("sessionId", "session_id", "uuid", "parentUuid", "leafUuid", "messageId")
    if kind in claude.SPEAKING | claude.SILENT and any(mark in record for mark in marks):
        return "claude-code"
    if generic.is_trajectory(record):
        return "trajectory"
    if hermes.is_one(record):
        return "hermes"
    if isinstance(record.get("messages"), list):
        return "document"
    if isinstance(record.get("role"), str) or kind in openai.ITEMS or kind in {"human", "ai"}:
        return "messages"
    return ""


def _read_claude(path: str, into: Collector) -> None:
    stem = os.path.splitext(os.path.basename(path))[0]
    claude.read(records(path, into), into, claude.config(lines(path, Collector("")), stem))


def _read_codex(path: str, into: Collector) -> None:
    codex.read(records(path, into), into)


def _read_whet(path: str, into: Collector) -> None:
    generic.read(records(path, into), into)


def _read_lines(path: str, into: Collector) -> None:
    _messages(records(path, into), into)


def _read_document(path: str, into: Collector) -> None:
    """One JSON value: a session, a list of sessions, a list of messages or of records."""
    with open(path, "rb") as file:
        encoding = documents.encoding_of(file.read(2))
    found = documents.outline(path, encoding, kind_of)
    if found.kind in {"", "whet"}:
        _refuse(path, "its JSON has no messages")
    into.counts["others"] += int(found.more)
    if found.kind in {"trajectory", "hermes", "document"}:
        into.counts["others"] += found.objects - 1
        _session(found.kind, found.record, documents.pieces(path, encoding, found.number, into), into)
    else:
        rows = documents.rows(path, encoding, into)
        {"claude-code": claude.read, "codex": codex.read}.get(found.kind, _messages)(rows, into)


def _read_sessions(path: str, into: Collector) -> None:
    """A session a line; the first that has messages is read."""
    read = False
    for record in records(path, into):
        kind = kind_of(record)
        if read or kind not in {"trajectory", "hermes", "document"}:
            into.counts["others"] += 1
        else:
            _session(kind, record, documents.pieces_of(record), into)
            read = into.added > 0
    if not read and into.counts["long"]:
        _read_document(path, into)


def _session(kind: str, record: Mapping[str, Any], pieces: Iterable[documents.Part], into: Collector) -> None:
    if kind == "trajectory":
        generic.trajectory(record, pieces, into)
    elif kind == "hermes":
        hermes.session(record, pieces, into)
    else:
        into.session = string(record.get("session_id")) or string(record.get("id"))
        into.said("note", string(record.get("system")), 0, "system")
        _messages((piece.value for piece in pieces if isinstance(piece.value, dict)), into)
    into.client = into.client or kind.replace("document", "")


def _read_markdown(path: str, into: Collector) -> None:
    with open(path, "rb") as file:
        data = file.read(TEXT_FILE + 1)
    into.counts["cut"] = int(len(data) > TEXT_FILE)
    try:
        text = data[:TEXT_FILE].decode(documents.encoding_of(data), "ignore" if into.counts["cut"] else "strict")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
        into.counts["encoding"] += 1
    if not markdown.read(text, into):
        _refuse(path, "it has no speakers")


def _messages(messages: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Messages of either API; the one that a message is certainly of names the client."""
    for message in messages:
        time = next((when for key in _TIMES if (when := moment(message.get(key)))), 0)
        if anthropic.is_one(message):
            into.client = into.client or "anthropic"
            anthropic.message(message, into, time)
        else:
            openai.item(message, into, time)
    into.client = into.client or "openai"


def _plain(message: Any) -> Mapping[str, Any]:
    """A message as a dictionary; objects of an SDK know how to become one."""
    if isinstance(message, dict):
        return {key: _inner(value) for key, value in message.items()}
    for name in ("model_dump", "to_dict", "dict"):
        if callable(make := getattr(message, name, None)):
            made = make()
            return made if isinstance(made, dict) else {}
    fields = getattr(message, "__dict__", None)
    return {key: _inner(value) for key, value in fields.items()} if isinstance(fields, dict) else {}


def _inner(value: Any) -> Any:
    """Blocks and calls within a message, which may be objects in a dictionary."""
    if isinstance(value, list | tuple):
        return [item if isinstance(item, str | dict) or item is None else _plain(item) for item in value]
    return value


_READERS = {
    "claude-code": _read_claude,
    "codex": _read_codex,
    "hermes": _read_sessions,
    "trajectory": _read_sessions,
    "messages": _read_lines,
    "document": _read_document,
    "markdown": _read_markdown,
    "whet": _read_whet,
}


DIRECTORY = "reading"
"""Below Whet's state directory."""


def read_piped(state: str, pieces: Iterable[bytes], name: str) -> Transcript:
    """The session that these pieces are together; `name` is what errors call it. Raises as `read_transcript` does."""
    directory = os.path.join(state, DIRECTORY)
    with os_failures(state):
        make_directories(directory, private=True)
        clean_leftovers(directory)
        with staging(os.path.join(directory, "session"), private=True) as place:
            path = os.path.join(place, "transcript")
            with open(path, "xb", opener=partial(os.open, mode=PRIVATE)) as file:
                file.writelines(pieces)
            try:
                return read_transcript(path)
            except InvalidError as error:
                message = error.message.replace(path, name)
                raise InvalidError("not-a-transcript", message, hint=error.hint) from error

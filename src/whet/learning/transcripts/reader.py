"""A file or a list of messages, read into a transcript; the format is found out from what is there.

JSONL is read line by line and a document that is one JSON value message by message, so memory does not grow with the
file.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from whet.errors import InvalidError, NotFoundError
from whet.learning.transcripts import (
    api_messages,
    claude,
    cline,
    codex,
    copilot,
    documents,
    gemini,
    generic,
    hermes,
    markdown,
    opencode,
)
from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.documents import lines, records, values
from whet.learning.transcripts.names import names_of
from whet.learning.transcripts.values import mapping, string
from whet.store.atomic import clean_leftovers, staging
from whet.store.directories import PRIVATE, make_directories
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from whet.learning.transcripts.events import Transcript

Record = Mapping[str, Any]
KNOWN = (
    "a session of Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, OpenCode or Cline, an export of Hermes,"
    " messages of OpenAI or Anthropic (JSON or JSONL), Markdown with the speakers as headings, a recording of whet"
)
TEXT_FILE = 16 * 1024 * 1024
"""Bytes of a Markdown file that are read."""
_LOOKED_AT = 200
"""Lines in which the format is looked for."""
_HEAD = 4_096
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_DATABASE = b"SQLite format 3\0"


def read_transcript(path: str, *, client: str = "", session: str = "") -> Transcript:
    """The session in a file, whatever client wrote it. `client` is what the transcript is to call that client.

    `session` is the id of the one that is meant where a file holds many. Raises InvalidError `not-a-transcript`, or
    `empty-transcript` where nothing in the file could be understood; NotFoundError `transcript-missing`.
    """
    into = Collector(client, path)
    with os_failures(path, doing="read", other="read-failed"):
        head = _head(path)
        if head.startswith(_DATABASE):
            form = "opencode"
            _read_database(path, into, session)
        else:
            form = _sniffed(path, head)
            _READERS[form](path, into)
    into.client = into.client or _CLIENTS.get(form, form)
    if not into.added:
        _refuse_empty(path, into)
    return into.transcript()


def _refuse_empty(path: str, into: Collector) -> NoReturn:
    """No file is fine of which nothing was understood."""
    why = [f"{note.message}" for note in into.transcript().report if note.code != "transcript-no-events"]
    message = " ".join((f"Nothing is said or done in {path}.", *why))
    hint = f"Known clients: {KNOWN}." if into.unknown else "Choose a session that has messages."
    raise InvalidError("empty-transcript", message, hint=hint, path=path)


def from_messages(messages: Iterable[Any], *, client: str = "") -> Transcript:
    """A session from messages in memory: OpenAI's, Anthropic's or LangChain's, as dictionaries or as objects."""
    into = Collector(client)
    api_messages.read(map(_plain, messages), into)
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
    if head.startswith(_COMPRESSED):
        _refuse(path, "it is compressed; unpack it first")
    is_json = head.lstrip(b"\0 \t\r\n\xef\xbb\xbf").startswith((b"{", b"["))
    if head.startswith(_DATABASE):
        return head
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


def _read_claude(path: str, into: Collector) -> None:
    stem = os.path.splitext(os.path.basename(path))[0]
    claude.read(records(path, into), into, claude.survey(lines(path, Collector("")), stem))


def _read_gemini(path: str, into: Collector) -> None:
    gemini.read(records(path, into), into, gemini.survey(records(path, Collector(""))))


def _read_records(read: Callable[[Iterable[Record], Collector], None]) -> Callable[[str, Collector], None]:
    """How a file is read that has a record a line."""
    return lambda path, into: read(records(path, into), into)


def _read_database(path: str, into: Collector, session: str) -> None:
    try:
        known = opencode.read_database(path, into, session)
    except sqlite3.Error as error:
        _refuse(path, f"the database cannot be read ({error})")
    if not known:
        _refuse(path, "it is a database, and not OpenCode's; `hermes sessions export` writes sessions to a file")


def _read_document(path: str, into: Collector) -> None:
    """One JSON value: a session, a list of sessions, a list of messages or of records."""
    with open(path, "rb") as file:
        encoding = documents.encoding_of(file.read(2))
    found = documents.outline(path, encoding, kind_of)
    form = next((form for form in FORMATS if form.kind == found.kind), None)
    if form is None or not (form.session or form.rows):
        _refuse(path, "its JSON has no messages")
    into.client = into.client or form.client
    into.counts["others"] += int(found.more)
    if form.session:
        into.counts["others"] += found.objects - 1
        form.session(found.record, documents.pieces(path, encoding, found.number, into), into)
    elif form.rows:
        form.rows(documents.rows(path, encoding, into), into)


def _read_sessions(path: str, into: Collector) -> None:
    """A session a line; the first that has messages is read."""
    read = False
    for record in records(path, into):
        form = format_of(record)
        if read or form is None or form.session is None:
            into.counts["others"] += 1
        else:
            form.session(record, documents.pieces_of(record), into)
            read = into.added > 0
            into.client = into.client or form.client
    if not read and into.counts["long"]:
        _read_document(path, into)


def _session(record: Record, pieces: Iterable[documents.Part], into: Collector) -> None:
    """A session that is a list of messages, and little else."""
    into.session = string(record.get("session_id")) or string(record.get("id"))
    into.said("note", string(record.get("system")), 0, "system")
    api_messages.read(_values(pieces), into)


def _values(pieces: Iterable[documents.Part]) -> Iterator[Record]:
    """The messages among the pieces of a session."""
    return (piece.value for piece in pieces if piece.what == "item" and isinstance(piece.value, dict))


def _gemini_session(record: Record, pieces: Iterable[documents.Part], into: Collector) -> None:
    into.session = string(record.get("sessionId"))
    gemini.read(_values(pieces), into)


def _opencode_files(_: Record, __: Iterable[documents.Part], into: Collector) -> None:
    opencode.read_files(into.path, into)


def _opencode_session(record: Record, pieces: Iterable[documents.Part], into: Collector) -> None:
    opencode.read(mapping(record.get("info")), _values(pieces), into)


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


class Format(NamedTuple):
    """How the sessions of a client look, and who reads them."""

    kind: str
    client: str
    """What a transcript calls the client; "" where the messages tell."""
    is_one: Callable[[Record], bool]
    """Is this a record, or a whole session, of that format?"""
    read: Callable[[str, Collector], None]
    """Reads a file that has such records one a line."""
    rows: Callable[[Iterable[Record], Collector], None] | None = None
    """Reads such records in a list that is one JSON value."""
    session: Callable[[Record, Iterable[documents.Part], Collector], None] | None = None
    """Reads one that is a whole session, message by message."""


def _is_claude(record: Record) -> bool:
    marks = ("sessionId", "session_id", "uuid", "parentUuid", "leafUuid", "messageId")
    kind = string(record.get("type"))
    known = any(kind in names_of("claude-code", which) for which in ("speaking", "silent"))
    return known and any(mark in record for mark in marks)


FORMATS = (
    Format("whet", "whet", lambda record: generic.MARK in record, _read_records(generic.read)),
    Format("codex", "codex", codex.is_one, _read_records(codex.read), codex.read),
    Format("qwen", "qwen", gemini.is_qwen, _read_records(gemini.read_qwen), gemini.read_qwen),
    Format("claude-code", "claude-code", _is_claude, _read_claude, claude.read),
    Format("copilot", "copilot", copilot.is_one, _read_records(copilot.read), copilot.read),
    Format("gemini-chat", "gemini", gemini.is_chat, _read_sessions, session=_gemini_session),
    Format("gemini", "gemini", gemini.is_gemini, _read_gemini, gemini.read),
    Format("opencode", "opencode", opencode.is_export, _read_sessions, session=_opencode_session),
    Format("opencode-files", "opencode", opencode.is_info, opencode.read_files, session=_opencode_files),
    Format("cline", "cline", cline.is_message, _read_records(cline.read), cline.read),
    Format("cline-screen", "cline", cline.is_shown, _read_records(cline.read_shown), cline.read_shown),
    Format("trajectory", "trajectory", generic.is_trajectory, _read_sessions, session=generic.trajectory),
    Format("hermes", "hermes", hermes.is_one, _read_sessions, session=hermes.session),
    Format("document", "", lambda record: isinstance(record.get("messages"), list), _read_sessions, session=_session),
    Format("messages", "", api_messages.is_one, _read_records(api_messages.read), api_messages.read),
)
"""Every format that has records; the first that knows a record is asked. Markdown has none."""
_READERS = {form.kind: form.read for form in FORMATS} | {"markdown": _read_markdown, "document": _read_document}
_CLIENTS = {form.kind: form.client for form in FORMATS}


def format_of(record: Record) -> Format | None:
    """The format that has such records, or None."""
    return next((form for form in FORMATS if form.is_one(record)), None)


def kind_of(record: Record) -> str:
    """The name of the format that has such records, or ""."""
    form = format_of(record)
    return form.kind if form else ""


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
                if error.code == "empty-transcript":
                    raise InvalidError("empty-transcript", message, hint=error.hint) from error
                raise InvalidError("not-a-transcript", message, hint=error.hint) from error

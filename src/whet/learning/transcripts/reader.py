"""Reading a file or a list of messages into a transcript, in any known format."""

from __future__ import annotations

import os
import sqlite3
import stat
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from whet.errors import InvalidError, NotFoundError
from whet.learning.transcripts import clients, documents, markdown, opencode, recorder
from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.values import mapping, sequence
from whet.learning.transcripts.walker import Walker, is_of
from whet.store.atomic import clean_leftovers, staging
from whet.store.directories import PRIVATE, make_directories
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.learning.transcripts.events import Transcript

KNOWN = (
    "a session of Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, OpenCode or Cline, an export of Hermes,"
    " messages of OpenAI or Anthropic (JSON or JSONL), Markdown with the speakers as headings, a Whet recording"
)
_LOOKED_AT = 200
"""Number of lines that are searched for the format."""
_TOO_LONG = "is longer than 32 MiB; only a file with one record per line may be longer"
_HEAD = 4_096
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_DATABASE = b"SQLite format 3\0"


def read_transcript(path: str, *, client: str = "", session: str = "") -> Transcript:
    """Read the session in a file of any client. `client` is the client's name in the transcript.

    `session` is the id of one in a file with many. Raises InvalidError `not-a-transcript`, or `empty-transcript` if
    nothing in the file could be read; NotFoundError `transcript-missing`.
    """
    into = Collector(client, path)
    with os_failures(path, doing="read", other="read-failed"):
        head = _head(path)
        if head.startswith(_DATABASE):
            into.client = client or "opencode"
            _read_database(path, into, session)
        else:
            _read_text(path, head.decode(documents.encoding_of(head), "ignore").lstrip("\0 \t\r\n"), into)
    if not into.added:
        _refuse_empty(path, into)
    into.client = into.client or "openai"
    return into.transcript()


def _refuse_empty(path: str, into: Collector) -> NoReturn:
    """Raise InvalidError for a file without any readable event."""
    why = [f"{note.message}" for note in into.transcript().report if note.code != "transcript-no-events"]
    message = " ".join((f"Nothing is said or done in {path}.", *why))
    hint = f"Known clients: {KNOWN}." if into.unknown else "Choose a session that has messages."
    raise InvalidError("empty-transcript", message, hint=hint, path=path)


def from_messages(messages: Iterable[Any], *, client: str = "") -> Transcript:
    """Read a session from messages in memory: OpenAI's, Anthropic's or LangChain's, as dictionaries or objects."""
    into = Collector(client)
    Walker(into).read(map(_plain, messages), "message")
    into.client = into.client or "openai"
    return into.transcript()


def _head(path: str) -> bytes:
    """Return the first bytes of the file, which must be regular, and text."""
    try:
        mode = os.stat(path).st_mode
    except ValueError:
        _refuse(path, "a file cannot have that name")
    except FileNotFoundError as error:
        hint = "Pass the file of a session, or CLIENT:last for the newest session of a client."
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


_RECORDS: dict[str, Callable[[str, Collector], None] | None] = {
    "whet": lambda path, into: recorder.read(documents.records(path, into), into),
    "codex": clients.read_codex,
    "qwen": None,
    "claude-code": clients.read_claude,
    "copilot": None,
    "gemini": clients.read_gemini,
    "message": None,
}
"""Formats with one record per line, in order, and their readers if the rules are not enough."""
_SESSIONS = ("gemini-chat", "opencode", "hermes", "session")
"""Formats in which a session is one JSON object."""
_CLIENTS = {"gemini-chat": "gemini", "message": "", "session": ""}
"""Names of clients that differ from the format; "" if the messages say."""


def _format(formats: Iterable[str], record: Any) -> str:
    """Return the first format that matches a record, or ""."""
    return next((form for form in formats if is_of(form, record)), "")


def _read_text(path: str, start: str, into: Collector) -> None:
    """Read records line by line, a JSON document, or Markdown; `start` is the beginning of the file."""
    first, form = _records_of(path)
    why = ""
    if start.startswith(("{", "[")) and not first:
        why = _read_document(path, into)
        if not why:
            return
    if form:
        into.client = into.client or _CLIENTS.get(form, form)
        if read := _RECORDS[form]:
            read(path, into)
        else:
            Walker(into).read(documents.records(path, into), form)
    elif why:
        _refuse(path, why)
    else:
        _read_markdown(path, into)


def _records_of(path: str) -> tuple[bool, str]:
    """Return the format of a file's records, and whether the first line shows it: a file may begin damaged."""
    for number, (line, _) in enumerate(islice(documents.lines(path, Collector("")), _LOOKED_AT)):
        record = next(documents.values(line), None)  # none is damage, or part of a larger value
        if not _format(_SESSIONS, record) and (form := _format(_RECORDS, record)):
            return number == 0, form
    return False, ""


def _read_document(path: str, into: Collector) -> str:
    """Read consecutive sessions, or a list of them, of which the first with messages counts; or messages.

    Returns the problem if it is neither.
    """
    text = documents.read_text(path, into)
    if text is None:
        return f"its JSON {_TOO_LONG}"
    found = list(documents.values(text))
    if found[0] is None:
        return "its JSON is damaged or has an unknown form"
    found = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    sessions = [(form, record) for record in found if (form := _format(_SESSIONS, record))]
    for number, (form, record) in enumerate(sessions):
        into.client = into.client or _CLIENTS.get(form, form)
        if form == "opencode":
            opencode.read(mapping(record.get("info")), map(mapping, sequence(record.get("messages"))), into)
        else:
            Walker(into).take(record, form)
        if into.added:
            into.counts["others"] += len(sessions) - number - 1
            return ""
    if any(is_of("message", record) for record in found):
        Walker(into).read((record for record in found if isinstance(record, dict)), "message")
        return ""
    return "" if sessions else "its JSON has no messages"


def _read_database(path: str, into: Collector, session: str) -> None:
    try:
        known = opencode.read_database(path, into, session)
    except sqlite3.Error as error:
        _refuse(path, f"the database cannot be read ({error})")
    if not known:
        _refuse(path, "it is a database, and not OpenCode's; `hermes sessions export` writes sessions to a file")


def _read_markdown(path: str, into: Collector) -> None:
    into.client = into.client or "markdown"
    text = documents.read_text(path, into)
    if text is None:
        _refuse(path, f"its text {_TOO_LONG}")
    if not markdown.read(text, into):
        _refuse(path, "it has no speakers")


def _plain(message: Any) -> Mapping[str, Any]:
    """Return a message as a dictionary; objects of an SDK can convert themselves."""
    if isinstance(message, dict):
        return {key: _inner(value) for key, value in message.items()}
    for name in ("model_dump", "to_dict", "dict"):
        if callable(make := getattr(message, name, None)):
            made = make()
            return made if isinstance(made, dict) else {}
    fields = getattr(message, "__dict__", None)
    return {key: _inner(value) for key, value in fields.items()} if isinstance(fields, dict) else {}


def _inner(value: Any) -> Any:
    """Convert blocks and calls within a message, which may be objects."""
    if isinstance(value, list | tuple):
        return [item if isinstance(item, str | dict) or item is None else _plain(item) for item in value]
    return value


DIRECTORY = "reading"
"""The directory below Whet's state directory."""


def read_piped(state: str, pieces: Iterable[bytes], name: str) -> Transcript:
    """Read the session in these pieces; `name` is its name in errors. Raises the errors of `read_transcript`."""
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

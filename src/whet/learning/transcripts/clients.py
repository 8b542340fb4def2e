"""Sessions whose records cannot be read in order: Claude Code's, Codex's and Gemini CLI's.

A file is read twice, so that memory does not grow with it.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.documents import lines, records, values
from whet.learning.transcripts.values import clean_text, mapping, sequence, string, words
from whet.learning.transcripts.walker import Walker
from whet.learning.transcripts.wrappers import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_TYPED = 400_000
"""Characters of typed messages that are kept for comparison."""
_HEADS = frozenset({"projectHash", "$set", "$rewindTo"})
"""Keys of Gemini CLI's records that are not messages."""


def read_claude(path: str, into: Collector) -> None:
    """Read a session of Claude Code.

    Records of subagents are marked as side chains and left out, but a file that has no others is a subagent's own.
    """
    Walker(into).read(records(path, into), "claude-code")
    if not into.added and into.counts.pop("subagents", 0):
        own = ({**one, "isSidechain": False, "parent_tool_use_id": None} for one in records(path, Collector("")))
        Walker(into).read(own, "claude-code")


def read_codex(path: str, into: Collector) -> None:
    """Read a session of Codex: only the screen's records show which messages the user typed."""
    Walker(into, list(_typed(path))).read(records(path, into), "codex")


def _typed(path: str) -> Iterator[str]:
    """Yield the typed text that the screen shows, up to the limit of memory."""
    room = _TYPED
    for line, _ in lines(path, Collector("")):
        if '"user_message"' not in line and '"UserMessage"' not in line:
            continue
        for record in map(mapping, values(line)):
            event = mapping(record.get("payload")) if record.get("type") == "event_msg" else {}
            item = mapping(event.get("item"))
            text = string(event.get("message")) if event.get("type") == "user_message" else ""
            text = words(item.get("content")) if item.get("type") == "UserMessage" else text
            room -= len(text)
            if text and room > 0:
                yield from (piece.text for piece in spoken(clean_text(text)) if piece.kind == "user")


def read_gemini(path: str, into: Collector) -> None:
    """Read a session of Gemini CLI, which rewrites a message whenever it grows, and removes messages."""
    walker, number = Walker(into), count()
    kept = _latest(records(path, Collector("")))
    for record in records(path, into):
        into.session = string(record.get("sessionId")) or into.session
        messages = list(_messages(record))
        for message in messages:
            if kept.get(string(message.get("id"))) == next(number):
                walker.take(message, "gemini")
        if not messages and not _HEADS & set(record):
            into.left_out(string(record.get("type")) or "record")


def _latest(found: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the remaining messages by id, with the number of the last version of each."""
    kept: dict[str, int] = {}
    number = count()
    for record in found:
        if isinstance(back := record.get("$rewindTo"), str):
            ids = list(kept)
            for id_ in ids[ids.index(back) :] if back in kept else ids:
                del kept[id_]
        kept |= {string(message.get("id")): next(number) for message in _messages(record)}
    return kept


def _messages(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of one record: itself, or those that it sets."""
    if isinstance(record.get("id"), str):
        yield record
    yield from map(mapping, sequence(mapping(record.get("$set")).get("messages")))

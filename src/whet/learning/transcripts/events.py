"""One model for the sessions of all clients: messages, calls and results.

A transcript is a value. The same thing has the same name for all clients: `Bash` is a shell, `Edit` changes a file,
`command` is the shell's input. A client's own addition to the conversation is a `note` and never counts as the user's
words. Secrets are removed before an event is made.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.notes import Note

Kind = Literal["user", "assistant", "call", "result", "note"]

TEXT = 16_000
"""Longest text in characters; of a longer one the beginning and the end are kept."""
EVENTS = 20_000
"""Number of events of one transcript; of a longer one the first and the last are kept."""
CHARACTERS = 32_000_000
"""Characters of one transcript, all texts together; beyond that the first and the last events are kept."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Event(NamedTuple):
    """One event of a session."""

    kind: Kind
    """`note` is a client's own addition: system text, the body of a skill, the summary of a compaction."""
    text: str = ""
    """The message, or the output of a result; empty for a call."""
    time: int = 0
    """Nanoseconds since 1970, UTC; 0 if unknown."""
    tool: str = ""
    """The tool of a call or result: Bash, Read, Write, Edit, Search, Web, Skill, Task, or the client's own name.

    Tools of MCP servers are `mcp__server__tool`.
    """
    id: str = ""
    """Links a result to its call."""
    given: Mapping[str, Any] = NOTHING
    """Arguments of a call: `command`, `path`, `content`, `old`, `new`, `query`, `url`, `skill`; others unchanged.

    An edit of several files has `path`, the first, `paths` and `patch`.
    """
    failed: bool = False
    """Whether a result is an error, or of a shell with an exit code other than 0."""
    about: str = ""
    """Kind of a note: `skill:NAME`, `system`, `summary`, `context`, `command`, `subagent`, `thinking` or `interrupted`.
    """
    code: int | None = None
    """Exit code of a shell's result, if the client reports it."""


class Transcript(NamedTuple):
    """A whole session, with notes on omissions."""

    client: str
    """`claude-code`, `codex` or another client of `formats.toml`, `markdown`, or the caller's name."""
    session: str
    """The client's id of the session, or ""."""
    project: str
    """The directory of the session, or ""."""
    events: tuple[Event, ...]
    report: tuple[Note, ...] = ()
    """Notes on skipped, cut, hidden or unknown parts."""

"""One model for the sessions of every client: what was said, what was called, what came back.

A transcript is a value. Whatever client wrote it, the same thing has the same name here: `Bash` is a shell, `Edit`
changes a file, `command` is what the shell was given. What a client put into the conversation by itself is a `note` and
never counts as something the user said. Secrets are gone before an event is made.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.notes import Note

Kind = Literal["user", "assistant", "call", "result", "note"]

TEXT = 16_000
"""Characters of one text; of a longer one the beginning and the end are kept."""
EVENTS = 20_000
"""Events of one transcript; of a longer one the first and the last are kept."""
CHARACTERS = 32_000_000
"""Characters of one transcript, all texts together; beyond that the first and the last events are kept."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Event(NamedTuple):
    """One thing that happened in a session."""

    kind: Kind
    """`note` is what the client put in itself: system text, the body of a skill, the summary of a compaction."""
    text: str = ""
    """What was said; of a result its output; of a call nothing."""
    time: int = 0
    """Nanoseconds since 1970, UTC; 0 where it is not known."""
    tool: str = ""
    """Of a call and its result: Bash, Read, Write, Edit, Search, Web, Skill, Task, or the client's own name.

    Tools of MCP servers are `mcp__server__tool`.
    """
    id: str = ""
    """Ties a result to its call."""
    given: Mapping[str, Any] = NOTHING
    """Of a call: `command`, `path`, `content`, `old`, `new`, `query`, `url`, `skill`; other arguments as they came.

    An edit of several files has `path`, the first, `paths` and `patch`.
    """
    failed: bool = False
    """Of a result: it is an error, or a shell that ended with a code other than 0."""
    about: str = ""
    """Of a note: `skill:NAME`, `system`, `summary`, `context`, `command`, `subagent`, `thinking`, `interrupted`."""
    code: int | None = None
    """Of the result of a shell: its exit code, where the client tells it."""


class Transcript(NamedTuple):
    """A session, whole, and what had to be left out of it."""

    client: str
    """`claude-code`, `codex` or another client of `formats.toml`, `markdown`, or what the caller says."""
    session: str
    """The client's own name for it, or ""."""
    project: str
    """The directory it took place in, or ""."""
    events: tuple[Event, ...]
    report: tuple[Note, ...] = ()
    """What was skipped, cut, hidden or not understood."""

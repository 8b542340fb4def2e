"""What connecting or undoing would do: every file before and after, read once and written only as planned."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import ConflictError, InvalidError
from whet.interfaces.clients.showing import difference
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from whet.interfaces.clients.known import Client, Format
    from whet.interfaces.clients.records import Record
    from whet.interfaces.clients.wiring import Added

Action = Literal["create", "change", "delete", "none"]


class Change(NamedTuple):
    """One file of the client."""

    path: str
    format: Format
    before: bytes | None
    """Its content now; None for no file."""
    after: bytes | None
    added: tuple[Added, ...] = ()
    """What of it is Whet's afterwards."""

    @property
    def action(self) -> Action:
        """What happens to the file."""
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def to_json(self) -> dict[str, Any]:
        """The change as JSON carries it."""
        old, new = (data.decode("utf-8", "replace") if data else "" for data in (self.before, self.after))
        return {"path": self.path, "action": self.action, "diff": difference(self.path, self.format, old, new)}


class State(NamedTuple):
    """How a client stands to Whet."""

    connected: bool
    """Its configuration declares the MCP server."""
    hooks: bool


class Plan(NamedTuple):
    """All of it, for one client."""

    client: Client
    here: bool
    undo: bool
    before: State
    after: State
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    next: str
    record: str
    """Where the record of the connection is, or will be."""
    previous: Record | None

    @property
    def is_empty(self) -> bool:
        """Is there nothing to do?"""
        return all(change.action == "none" for change in self.changes)

    def to_json(self, *, applied: bool, backups: tuple[str, ...] = ()) -> dict[str, Any]:
        """The answer of the command."""
        state = self.after if applied or self.is_empty else self.before
        return {
            "success": True,
            "client": self.client.name,
            "changes": [change.to_json() for change in self.changes],
            "applied": applied,
            "connected": state.connected,
            "hooks": state.hooks,
            "backups": list(backups),
            "notes": list(self.notes),
            "next": self.next,
        }


def read_file(path: str) -> bytes | None:
    """The content of a configuration file, also through a link; None for no file. Raises ConflictError, FailedError."""
    with os_failures(path, doing="read", other="read-failed"):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise ConflictError(
                "client-config-not-a-file",
                f"{path} is not a file.",
                hint="Move away what is there, then run it again. Nothing was changed.",
                path=path,
            )
        with open(path, "rb") as stream:
            return stream.read()


def text_of(data: bytes | None, path: str) -> str:
    """The content as text, line ends and a byte order mark as they are. Raises InvalidError."""
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        line = (data or b"")[: error.start].count(b"\n") + 1
        raise InvalidError(
            "client-config-broken",
            f"{path}: line {line} is not UTF-8 text.",
            hint="Save the file as UTF-8, then run it again. Nothing was changed.",
            path=path,
            line=line,
        ) from error

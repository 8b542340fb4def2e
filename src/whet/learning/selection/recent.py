"""Sessions to choose from: those that wait, and the newest ones that clients keep."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, WhetError
from whet.learning.selection.consent import offered
from whet.learning.transcripts.places import recent_sessions
from whet.store.clock import iso
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from whet.learning.context import LearningContext

_HEAD = 256 * 1024
"""Bytes of a transcript that are read for its subject."""


class RecentSession(NamedTuple):
    """A session whose transcript is on this machine."""

    client: str
    id: str
    """The client's id; "" if no hook reported it."""
    path: str
    project: str
    """The directory the client worked in; "" if unknown."""
    time: int
    """When it was last active, in nanoseconds."""
    waiting: bool
    """Whether the session took effort and no skill has been made from it yet."""
    about: str = ""
    """The beginning of the first request, with secrets hidden."""

    @property
    def source(self) -> str:
        """Its name: CLIENT:ID, or the path of its transcript."""
        return f"{self.client}:{self.id}" if self.id else self.path

    def to_json(self) -> Json:
        """Return the session as JSON."""
        return {**fields_json(self), "time": iso(self.time), "source": self.source}


def list_recent(context: LearningContext, limit: int) -> tuple[RecentSession, ...]:
    """Return the sessions, newest first."""
    place = context.workspace.place
    found = [
        RecentSession(seen.client, seen.id, seen.transcript, seen.project, seen.last, waiting=True)
        for seen in offered(context)
        if os.path.isfile(seen.transcript)
    ]
    known = {seen.transcript for seen in context.sessions.all()}
    found += [
        RecentSession(client, "", path, "", int(changed * 1e9), waiting=False)
        for client, path, changed in recent_sessions(place.home, place.env, limit)
        if path not in known
    ]
    newest = sorted(found, key=lambda session: session.time, reverse=True)[:limit]
    return tuple(session._replace(about=_describe(context, session.path)) for session in newest)


def no_session() -> NotFoundError:
    """Return the error if no session waits and no client keeps one."""
    hint = "Pass the file of a session: `whet distill FILE`."
    return NotFoundError("no-session-waits", "There is no session to learn from.", hint=hint)


def _describe(context: LearningContext, transcript: str) -> str:
    """Return the beginning of a session's subject; "" if unknown."""
    from whet.learning.transcripts.reader import read_piped

    try:
        with open(transcript, "rb") as file:
            data = file.read(_HEAD)
        read = read_piped(context.workspace.place.state, [data.rpartition(b"\n")[0] or data], "It")
    except (OSError, WhetError):
        return ""
    asked = (event.text for event in read.events if event.kind == "user" and event.text.strip())
    return " ".join(next(asked, "").split())

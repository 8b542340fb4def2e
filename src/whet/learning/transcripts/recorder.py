"""Recording an agent loop as a transcript, and reading it back.

With a path, every event is written at once, so that nothing is lost if the loop fails. Secrets are hidden before
anything is written.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, get_args

from whet.learning.transcripts.collector import Collector
from whet.learning.transcripts.events import Event, Kind
from whet.learning.transcripts.values import exit_code, mapping, string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.learning.transcripts.events import Transcript

MARK = "whet-transcript"
"""The key of the first line of a recording; its value is the version."""
_VERSION = 1
_KINDS = get_args(Kind)


class Recorder:
    """Records an agent loop."""

    def __init__(
        self,
        path: str = "",
        *,
        client: str = "whet",
        session: str = "",
        project: str = "",
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._into = Collector(client, note=self._append if path else None)
        self._into.session, self._into.project = session, project
        self._clock = clock
        self._path = os.fspath(path)  # a number would be an open file descriptor
        if path:
            made = self._into.transcript()
            header = {MARK: _VERSION, "client": made.client, "session": made.session, "project": made.project}
            self._write(header, "w")

    def user(self, text: str) -> None:
        """Record a message of the user; a client's wrapping becomes notes."""
        self._into.user(text, self._clock())

    def assistant(self, text: str) -> None:
        """Record a message of the model."""
        self._into.said("assistant", text, self._clock())

    def note(self, text: str, about: str = "system") -> None:
        """Record an addition of the loop: a system prompt, the body of a skill (`skill:NAME`), a summary."""
        self._into.said("note", text, self._clock(), about)

    def call(self, tool: str, given: Mapping[str, Any], id: str = "") -> str:  # noqa: A002  the name in the event
        """Record a tool call with its arguments; return the id for its result."""
        return self._into.called(tool, given, id, self._clock())

    def result(self, text: str, id: str = "", *, failed: bool | None = None) -> None:  # noqa: A002  as above
        """Record the result of a call. Without `failed`, the exit code or the first words decide."""
        self._into.returned(text, id, self._clock(), failed=failed)

    def transcript(self) -> Transcript:
        """Return everything so far."""
        return self._into.transcript()

    def _append(self, event: Event) -> None:
        """Write a new event, without empty fields."""
        fields = {**event._asdict(), "given": dict(event.given)}
        self._write({key: value for key, value in fields.items() if value or (key == "code" and value == 0)}, "a")

    def _write(self, record: Mapping[str, Any], mode: str) -> None:
        import json

        from whet.store.failures import os_failures

        with os_failures(self._path), open(self._path, mode, encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read(records: Iterable[Mapping[str, Any]], into: Collector) -> None:
    """Read a recording; of several recordings in a row, the session of the first."""
    first: str | None = None
    other = False
    for record in records:
        kind: Any = record.get("kind")
        if MARK in record:
            session = string(record.get("session"))
            first = session if first is None else first
            other = session != first
            if (version := record[MARK]) != _VERSION:
                into.left_out(f"version {version}" if isinstance(version, int | str) else "version")
            if not other:
                into.client = string(record.get("client")) or into.client
                into.session, into.project = session, string(record.get("project"))
        elif other:
            into.counts["others"] += 1
        elif kind in _KINDS:
            into.keep(_event(kind, record))
        else:
            into.left_out(string(kind) or "record")


def _event(kind: Kind, record: Mapping[str, Any]) -> Event:
    time = record.get("time")
    return Event(
        kind,
        string(record.get("text")),
        time if isinstance(time, int) and 0 < time < 1 << 63 else 0,
        string(record.get("tool")),
        string(record.get("id")),
        mapping(record.get("given")),
        record.get("failed") is True,
        string(record.get("about")),
        exit_code(record.get("code")),
    )

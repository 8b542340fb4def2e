"""The state of every client: whether it is installed and connected, and problems of its connection."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, WhetError
from whet.interfaces.clients.entries import read, server_words, server_writes
from whet.interfaces.clients.known import CONNECTIONS, connection_named
from whet.interfaces.clients.locations import file_path, project_path, read_file, running_program, text_of
from whet.interfaces.clients.plan import existing_entries
from whet.interfaces.clients.records import connection_id, is_installed
from whet.notes import Note
from whet.skill.text_edit import value_at

if TYPE_CHECKING:
    from whet.interfaces.clients.known import Connection
    from whet.interfaces.clients.records import Connections, Record
    from whet.library.roots import Place


class ClientStatus(NamedTuple):
    """The state of a client's connection."""

    client: str
    title: str
    installed: bool
    connected: bool
    writes: str | None
    """The rights of its model to change skills: `propose` or `allow`; None if it is not connected."""
    hooks: bool | None
    """None for a client without hooks."""
    path: str
    note: str
    """A problem of its configuration; "" if there is none."""


def overview(place: Place, connections: Connections, *, here: bool = False) -> list[ClientStatus]:
    """Return the state of every known client; `here`: of those that a project can configure."""
    return [_describe(client, place, connections, here=here) for client in CONNECTIONS if client.project or not here]


def examine_connections(place: Place, connections: Connections) -> tuple[Note, ...]:
    """Return the problems of the connections."""
    entries = []
    try:
        ids = connections.ids()
    except FailedError:  # the state database itself cannot be read, which the doctor reports
        return ()
    for id_ in ids:
        try:
            record = connections.read(id_)
        except WhetError as error:
            entries.append(Note.from_error(error, "warning", path=connections.state.path))
            continue
        if record is not None and record.files and (entry := _examined(record, place)) is not None:
            entries.append(entry)
    return tuple(entries)


def _describe(client: Connection, place: Place, connections: Connections, *, here: bool) -> ClientStatus:
    main, note = file_path(client.file, place), ""
    installed, connected, writes = is_installed(client, place, None), False, None
    hooks = False if client.hooks and not here else None
    try:
        for one in existing_entries(client, place, here=here):
            if one.entry.kind == "server":
                connected, writes = True, server_writes(one.entry.value)
            else:
                hooks = True
        installed = is_installed(client, place, connections.read(connection_id(client.name, main)))
    except WhetError as error:
        note = error.message
    path = project_path(client, place) if here else main
    return ClientStatus(client.name, client.title, installed, connected, writes, hooks, path, note)


def _examined(record: Record, place: Place) -> Note | None:
    """Return the problem of a connection; None if there is none."""
    main = record.files[0]
    named = f"{record.client}{' --here' if record.here else ''}"
    hint = f"`whet connect {named}` renews it."
    if record.here and not os.path.isdir(os.path.dirname(main.path)):
        return None  # the project is gone, and its connection with it
    documents = []
    for file in record.files:
        try:
            documents.append(read(text_of(read_file(file.path), file.path), file.format, file.path))
        except WhetError as error:
            fix = "Fix the file; the client cannot read it either."
            hint = fix if error.code == "client-config-broken" else error.hint
            return Note(error.code, "warning", error.message, hint, path=file.path)
    server = next((entry.path for entry in main.added if entry.kind == "server"), ())
    words = server_words(value_at(documents[0], server))
    if not words:
        message = f"{main.path} no longer has Whet's MCP server, which connected {record.client}."
        return Note("connection-gone", "info", message, f"{hint} `whet disconnect {named}` forgets it.", path=main.path)
    if _is_missing(words[0], place):
        message = f"{record.client} starts {words[0]}, which does not exist."
        return Note("connection-broken", "error", message, hint, path=main.path)
    current = running_program().words[0]
    if not record.here and words[0] != current:
        message = f"{record.client} starts {words[0]}; this is {current}."
        return Note("connection-outdated", "info", message, hint, path=main.path)
    if waiting := _untrusted(record, documents[0]):
        message = f"{record.client} does not run Whet's hooks ({', '.join(waiting)}): you have not trusted them."
        hint = f"Type `/hooks` in {record.client} and trust them. Without that, it skips them and says nothing."
        return Note("hooks-untrusted", "warning", message, hint, path=record.files[-1].path)
    return None


def _untrusted(record: Record, settings: object) -> list[str]:
    """Return the hooks that a client does not run before the user trusts them. Later changes are not noticed."""
    trust = connection_named(record.client).hook_trust
    if not trust:
        return []
    known = value_at(settings, trust)
    states = known.items() if isinstance(known, dict) else ()
    trusted = {key.rsplit(":", 2)[0] for key, state in states if value_at(state, ("trusted_hash",))}
    waiting = []
    for file in record.files:
        for event in (str(entry.path[-1]) for entry in file.added if entry.kind == "hook"):
            label = re.sub("(?<!^)(?=[A-Z])", "_", event).lower()
            if trusted.isdisjoint((f"{file.path}:{label}", f"{os.path.realpath(file.path)}:{label}")):
                waiting.append(event)
    return waiting


def _is_missing(program: str, place: Place) -> bool:
    if os.path.dirname(program):
        return not os.path.exists(program)
    from shutil import which

    return which(program, path=place.env.get("PATH", "")) is None

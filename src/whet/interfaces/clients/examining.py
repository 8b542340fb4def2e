"""How things stand: every client with whether it is here and connected, and what is wrong with connections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import WhetError
from whet.interfaces.clients.connecting import wishes_of
from whet.interfaces.clients.known import CLIENTS
from whet.interfaces.clients.locating import file_path, is_installed, running_program
from whet.interfaces.clients.plans import read_file, text_of
from whet.interfaces.clients.records import read_record, record_paths
from whet.interfaces.clients.wiring import present, read, server_words, value_at
from whet.library.report import Entry

if TYPE_CHECKING:
    from whet.interfaces.clients.known import Client
    from whet.interfaces.clients.records import Record
    from whet.library.roots import Place


def overview(place: Place) -> list[dict[str, Any]]:
    """Every client Whet knows, and how it stands to it."""
    return [_standing(client, place) for client in CLIENTS]


def examine_connections(place: Place) -> tuple[Entry, ...]:
    """What is wrong or surprising about the connections that were made."""
    entries = []
    for path in record_paths(place.state):
        try:
            record = read_record(path)
        except WhetError as error:
            entries.append(Entry(error.code, "warning", "", path, error.message, error.hint))
            continue
        if record is not None and record.files and (entry := _examined(record, place)) is not None:
            entries.append(entry)
    return tuple(entries)


def _standing(client: Client, place: Place) -> dict[str, Any]:
    found = {
        "client": client.name,
        "title": client.title,
        "installed": is_installed(client, place),
        "connected": False,
        "hooks": False if client.hooks else None,
        "path": file_path(client.file, place),
        "note": "",
    }
    try:
        for path, format_, wishes in wishes_of(client, place):
            for note in present(read(text_of(read_file(path), path), format_, path), wishes):
                found["connected" if note.kind == "server" else "hooks"] = True
    except WhetError as error:
        found["note"] = error.message
    return found


def _examined(record: Record, place: Place) -> Entry | None:
    """The one thing that is wrong with a connection; None where it is fine."""
    main = record.files[0]
    again = f"whet connect {record.client}{' --here' if record.here else ''}"
    hint = f"`{again}{'' if record.hooks or record.here else ' --no-hooks'}` renews it."
    if record.here and not os.path.isdir(os.path.dirname(main.path)):
        return None  # the project is gone, and its connection with it
    try:
        document = read(text_of(read_file(main.path), main.path), main.format, main.path)
    except WhetError as error:
        return Entry(error.code, "warning", "", main.path, error.message, error.hint)
    server = next((note.path for note in main.added if note.kind == "server"), ())
    words = server_words(value_at(document, server))
    if not words:
        message = f"{main.path} no longer has Whet's MCP server, which connected {record.client}."
        return Entry("connection-gone", "info", "", main.path, message, f"{hint} `{again} --undo` forgets it.")
    if _is_missing(words[0], place):
        message = f"{record.client} starts {words[0]}, which is not there."
        return Entry("connection-broken", "error", "", main.path, message, hint)
    current = running_program().words[0]
    if not record.here and words[0] != current:
        message = f"{record.client} starts {words[0]}; this is {current}."
        return Entry("connection-outdated", "info", "", main.path, message, hint)
    return None


def _is_missing(program: str, place: Place) -> bool:
    if os.path.dirname(program):
        return not os.path.exists(program)
    from shutil import which

    return which(program, path=place.env.get("PATH", "")) is None

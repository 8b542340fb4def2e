"""Plans to connect a client or to undo that, with every file before and after, read once; and applying them.

Undoing restores the former bytes of a file that is still as Whet left it; if it has changed since, only Whet's entries
are removed.

Applying begins with the intent and the backups; then one file after the other is written, each in one step. If it is
killed at any point, the changes can be undone, and running it again completes them: the server is written last, and a
client without it is not connected. An entry stays in the record until it is removed. A file that is no longer as it was
when the plan was shown is not written.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import ConflictError, FailedError, NotFoundError, UsageError, WhetError
from whet.extras import how_to_install, how_to_keep
from whet.interfaces.clients.diff import difference
from whet.interfaces.clients.entries import (
    Entry,
    add_entries,
    find_entries,
    hook_entries,
    read,
    remove_entries,
    server_entry,
)
from whet.interfaces.clients.known import CONNECTIONS
from whet.interfaces.clients.locations import BY_NAME, digest, file_path, project_path, read_file, text_of
from whet.interfaces.clients.records import Connections, FileRecord, Record, Write, connection_id, is_installed
from whet.skill.text_edit import value_at
from whet.store.atomic import clean_leftovers, write_bytes
from whet.store.directories import make_directories, sync_directory
from whet.store.failures import os_failures
from whet.store.intents import CONNECT, Handler
from whet.store.locks import FileLock, lock_path
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from whet.interfaces.clients.known import Connection, File, Format
    from whet.interfaces.clients.locations import Program
    from whet.library.roots import Place
    from whet.store.intents import Intent
    from whet.store.state import StateDatabase

Action = Literal["create", "change", "delete", "none"]


class Change(NamedTuple):
    """One file of the client."""

    path: str
    format: Format
    before: bytes | None
    """Its current content; None if it is missing."""
    after: bytes | None
    added: tuple[Entry, ...] = ()
    """Whet's entries in it after the change."""

    @property
    def action(self) -> Action:
        """The action on the file."""
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    @property
    def diff(self) -> str:
        """The difference, without secrets."""
        old, new = (data.decode("utf-8", "replace") if data else "" for data in (self.before, self.after))
        return difference(self.path, self.format, old, new)

    def to_json(self) -> Json:
        """Return the change as JSON."""
        return {"path": self.path, "action": self.action, "diff": self.diff}


class State(NamedTuple):
    """The state of a client's connection."""

    connected: bool
    """Whether its configuration declares the MCP server."""
    hooks: bool
    enforced: bool = False
    """Whether tool calls are limited to the `allowed-tools` of loaded skills."""


class LeftOut(NamedTuple):
    """A feature or a file that this connection does not change, with the reason."""

    what: str
    why: str

    def to_json(self) -> Json:
        """Return it as JSON."""
        return fields_json(self)


class Plan(NamedTuple):
    """The plan for one client."""

    client: Connection
    here: bool
    undo: bool
    before: State
    after: State
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    next: str
    connection: str
    """The id of the connection."""
    previous: Record | None
    left_out: tuple[LeftOut, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return all(change.action == "none" for change in self.changes)


class Connecting(NamedTuple):
    """A plan, and its result."""

    plan: Plan
    applied: bool
    backups: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The current state of the client."""
        return self.plan.after if self.applied or self.plan.is_empty else self.plan.before

    def to_json(self) -> Json:
        """Return the answer of the command."""
        return {
            "success": True,
            "client": self.plan.client.name,
            "changes": [change.to_json() for change in self.plan.changes],
            "applied": self.applied,
            "connected": self.state.connected,
            "hooks": self.state.hooks,
            "enforced": self.state.enforced,
            "backups": list(self.backups),
            "notes": list(self.plan.notes),
            "left_out": [one.to_json() for one in self.plan.left_out],
            "next": self.plan.next,
        }


class ExistingEntry(NamedTuple):
    """An entry that starts Whet, and the client's file that it was found in."""

    path: str
    format: Format
    entry: Entry


def plan_connection(
    client: Connection,
    place: Place,
    connections: Connections,
    program: Program,
    *,
    here: bool = False,
    hooks: bool | None = None,
    writes: bool | None = None,
    enforce: bool | None = None,
) -> Plan:
    """Plan to connect the client; the plan is empty if it is already connected.

    `here` means the project's configuration: the server only, called by name, because the file is shared. `hooks=None`
    leaves hooks as they are; a client that is not connected gets them, unless they were declined last time. `enforce`
    adds the hook that refuses tool calls that loaded skills do not allow, None does not change it. Raises ConflictError
    for a server called whet that is not Whet's, InvalidError for a file that is broken, UsageError for a client without
    such a hook.
    """
    if enforce and not client.enforced_by:
        message = f"{client.title} has no hook with which Whet can refuse a tool call."
        hint = f"These have one: {', '.join(row.name for row in CONNECTIONS if row.enforced_by)}."
        raise UsageError("no-enforcement", message, hint=hint)
    main = _main_path(client, place, here=here)
    connection = connection_id(client.name, main)
    previous = connections.read(connection)
    before = _state(client, existing_entries(client, place, here=here))
    enforce = before.enforced if enforce is None else enforce
    hooks = True if enforce and hooks is None else hooks
    if hooks is None:
        hooks = before.hooks if before.connected else previous is None or previous.hooks
    hooks = hooks and not here and client.hooks is not None
    program = BY_NAME if here else program
    document = read(text_of(read_file(main), main), client.file.format, main)
    wanted: dict[str, tuple[File, list[Entry]]] = {
        main: (client.file, [server_entry(client, program, writes=writes, document=document)])
    }
    if client.hooks is not None and not here:
        path = file_path(client.hooks.file, place)
        entries = hook_entries(client, client.hooks, program, place.platform, enforce=enforce) if hooks else []
        wanted.setdefault(path, (client.hooks.file, []))[1].extend(entries)
    known = {file.path: file for file in _known_files(client, place, previous, here=here)}
    changes, notes = [], _notes(client, place, program, previous, here=here, hooks=hooks)
    for path, (file, entries) in wanted.items():
        data = read_file(path)
        if entries:
            added = known[path].added if path in known else ()
            changes.append(_plan_additions(path, file.format, data, entries, added, recorded=previous is not None))
        elif path in known:
            changes.append(_plan_removal(known[path], notes))
        if file.strict and data and not _is_plain_json(text_of(data, path)):
            notes.append(f"{path} has comments or trailing commas; {client.title} may not read such a file.")
    after = existing_entries(client, place, here=here, planned={change.path: change.after for change in changes})
    if not hooks:
        notes += _describe_remaining(one for one in after if one.entry.kind == "hook")
    return Plan(
        client,
        here,
        undo=False,
        before=before,
        after=_state(client, after),
        changes=tuple(changes),
        notes=tuple(notes),
        next=_next(client, hooks=hooks),
        connection=connection,
        previous=previous,
        left_out=tuple(_left_out(client, changes, here=here, hooks=hooks)),
    )


def plan_undo(client: Connection, place: Place, connections: Connections, *, here: bool = False) -> Plan:
    """Plan to undo the connection. Raises NotFoundError if there is none.

    If its record cannot be read, entries that are clearly Whet's are removed, and the record.
    """
    main = _main_path(client, place, here=here)
    connection = connection_id(client.name, main)
    before = existing_entries(client, place, here=here)
    try:
        previous = connections.read(connection)
        known = _known_files(client, place, previous, here=here)
    except FailedError as error:
        if error.code != "connection-record-broken":
            raise
        known = _known_files(client, place, None, here=here)
        previous = Record(client.name, here, hooks=False, files=known)
    if previous is None and not before:
        where, option = ("in this project", " --here") if here else ("here", "")
        hint = f"`whet connect{option} --list` shows what is connected."
        raise NotFoundError("not-connected", f"{client.title} is not connected {where}.", hint=hint)
    notes: list[str] = []
    changes = [_plan_removal(file, notes) for file in known]
    after = existing_entries(client, place, here=here, planned={change.path: change.after for change in changes})
    return Plan(
        client,
        here,
        undo=True,
        before=_state(client, before),
        after=_state(client, after),
        changes=tuple(changes),
        notes=(*notes, *_describe_remaining(after)),
        next=f"{_reloading(client)}.",
        connection=connection,
        previous=previous,
    )


def existing_entries(
    client: Connection,
    place: Place,
    *,
    here: bool = False,
    exact: bool = False,
    planned: Mapping[str, bytes | None] = {},
) -> list[ExistingEntry]:
    """Return the entries that start Whet in a client's files, now or as planned; `exact`: only as Whet writes them.

    Raises WhetError for a file that cannot be read.
    """
    found: list[ExistingEntry] = []

    def look(path: str, format_: Format, hooks: list[Entry] | None = None) -> None:
        document = read(text_of(planned[path] if path in planned else read_file(path), path), format_, path)
        entries = [server_entry(client, BY_NAME, writes=None, document=document)] if hooks is None else hooks
        found.extend(ExistingEntry(path, format_, entry) for entry in find_entries(document, entries, exact=exact))

    look(_main_path(client, place, here=here), client.file.format)
    if client.hooks is not None and not here:
        entries = hook_entries(client, client.hooks, BY_NAME, place.platform, enforce=True)
        look(file_path(client.hooks.file, place), client.hooks.file.format, entries)
    return found


def _state(client: Connection, found: list[ExistingEntry]) -> State:
    kinds = {one.entry.kind for one in found}
    events = {one.entry.path[-1] for one in found if one.entry.kind == "hook"}
    return State("server" in kinds, "hook" in kinds, not events.isdisjoint(client.enforced_by))


def _describe_remaining(found: Iterable[ExistingEntry]) -> list[str]:
    """Return sentences about the entries that Whet does not remove."""
    entries = dict.fromkeys(f"{one.path}: {'.'.join(map(str, one.entry.path))}" for one in found)
    return [f"{it} stays: it has changed since, or was there before. Remove it by hand." for it in entries]


def _known_files(client: Connection, place: Place, previous: Record | None, *, here: bool) -> tuple[FileRecord, ...]:
    """Return the files that were changed; without a record, those with entries that are clearly Whet's."""
    if previous is not None:
        return previous.files
    files: dict[str, FileRecord] = {}
    for path, format_, entry in existing_entries(client, place, here=here, exact=True):
        file = files.get(path, FileRecord(path, format_, None, (), "", ()))
        files[path] = file._replace(added=(*file.added, entry))
    return tuple(files.values())


def _main_path(client: Connection, place: Place, *, here: bool) -> str:
    if not here:
        return file_path(client.file, place)
    if path := project_path(client, place):
        return path
    hint = f"`whet connect {client.name}` connects it for all projects."
    raise UsageError("no-project-config", f"{client.title} has no project configuration.", hint=hint)


def _plan_additions(
    path: str, format_: Format, data: bytes | None, entries: list[Entry], known: tuple[Entry, ...], *, recorded: bool
) -> Change:
    text = text_of(data, path)
    wanted_paths = {entry.path for entry in entries}
    if unwanted := [entry for entry in known if entry.path not in wanted_paths]:
        text = remove_entries(text, format_, path, unwanted)
    # Without a record, entries that are clearly Whet's still count as earlier ones.
    wired = add_entries(text, format_, path, entries, known if recorded else ())
    return Change(path, format_, data, wired.text.encode("utf-8"), wired.added)


def _plan_removal(file: FileRecord, notes: list[str]) -> Change:
    data = read_file(file.path)
    current = digest(data)
    if data is None or current == file.before:
        return Change(file.path, file.format, data, data)
    if file.before is not None and current in file.after:
        original = read_file(file.backup) if file.backup else None
        if digest(original) == file.before:
            return Change(file.path, file.format, data, original)
        notes.append(f"The backup of {file.path} has changed; only Whet's entries are removed.")
    text = remove_entries(text_of(data, file.path), file.format, file.path, file.added)
    return Change(file.path, file.format, data, text.encode("utf-8"))


def _notes(
    client: Connection, place: Place, program: Program, previous: Record | None, *, here: bool, hooks: bool
) -> list[str]:
    notes = []
    if not here and not is_installed(client, place, previous):
        notes.append(f"{client.title} does not seem to be installed here.")
    if here:
        notes.append("The project starts the server as `whet`; everyone who opens it needs `whet` on their PATH.")
    elif not program.serves:
        notes.append(f"The MCP server needs the extra `mcp`. Install it with `{how_to_install('mcp')}`.")
    if not here and program.passing:
        notes.append(f"{program.words[0]} is temporary and may be removed; install Whet permanently.")
    if not here and program.clone:
        notes.append(
            f"{client.title} will run Whet from the clone {program.clone}, which fails if you move or delete it. "
            f"`{how_to_keep(program.clone)}` installs a separate copy; then connect with that `whet`."
        )
    if not here and place.env.get("WHET_HOME"):
        notes.append(f"WHET_HOME is set in this shell; start {client.title} with the same value.")
    if hooks:
        notes.extend(_obstacles(client, place))
    return notes


def _left_out(client: Connection, changes: Iterable[Change], *, here: bool, hooks: bool) -> Iterator[LeftOut]:
    """Yield missing features of the client, features not requested, and unchanged files."""
    if client.hooks is None:
        why = f"{client.title} has no hooks that Whet can use; skills are offered through the MCP server only."
        yield LeftOut("hooks", why)
    elif here:
        why = f"A project's configuration gets only the MCP server; `whet connect {client.name}` adds hooks for you."
        yield LeftOut("hooks", why)
    elif not hooks:
        yield LeftOut("hooks", "You left them out; `--hooks` adds them.")
    else:
        for why in client.limits:
            yield LeftOut("skills with your message", why)
        if not client.enforced_by:
            why = f"{client.title} has no hook with which Whet can refuse a tool call."
            yield LeftOut("enforcement", why)
    for change in changes:
        if change.action == "none" and change.added:
            yield LeftOut(change.path, "It already has what Whet would add.")


def _next(client: Connection, *, hooks: bool) -> str:
    """Return the next step for the person in the client."""
    after = f" {client.after_hooks}" if hooks and client.after_hooks else ""
    return f"{_reloading(client)}; {client.seen}.{after}"


def _reloading(client: Connection) -> str:
    return client.restart or f"{client.title} reads it automatically"


def _obstacles(client: Connection, place: Place) -> list[str]:
    notes = []
    for obstacle in client.obstacles:
        path = file_path(obstacle.file, place)
        value: Any = value_at(read(text_of(read_file(path), path), obstacle.file.format, path), obstacle.path)
        if isinstance(value, dict) and obstacle.path == client.hook_trust[:-1]:
            value = {name: inner for name, inner in value.items() if name != client.hook_trust[-1]} or None
        if value is not None and obstacle.value in (None, value):
            notes.append(obstacle.note)
    return notes


def _is_plain_json(text: str) -> bool:
    from json import loads

    try:
        loads(text.removeprefix("\ufeff"))
    except ValueError:
        return False
    return True


_PATIENCE = 10.0


def apply(plan: Plan, connections: Connections) -> tuple[str, ...]:
    """Apply the plan and return the backups. Raises ConflictError if a file has changed since."""
    with FileLock(lock_path(connections.state.directory, "connections", plan.client.name), timeout=_PATIENCE):
        for change in plan.changes:
            _check(change)
        record = None if plan.undo else _recorded(plan, connections)
        kept = record.files if record else ()
        paths = {file.path for file in kept}
        going = [file for file in plan.previous.files if file.path not in paths] if plan.previous else []
        changes = plan.changes if plan.undo else plan.changes[::-1]
        begun = plan.previous if record is None else record._replace(files=(*kept, *going))
        written = 0
        try:
            if begun is not None:
                writes = [_planned(change, plan.connection, at, connections) for at, change in enumerate(changes)]
                connections.begin(plan.connection, begun, record, writes)
                for change, write in zip(changes, writes, strict=True):
                    if write.next and change.after is not None:
                        connections.write_backup(write.next, change.after)
            if record is not None:
                _back_up(plan, record, connections)
            for change in changes:
                _write(change, private=not plan.here)
                written += change.action != "none"
        except BaseException:
            if not written:  # nothing was written: the earlier record is still true
                connections.settle(plan.connection, plan.previous)
            raise
        _remove_directories(going)
        connections.settle(plan.connection, record)
        return tuple(file.backup for file in kept if file.backup)


def _planned(change: Change, id_: str, number: int, connections: Connections) -> Write:
    writes = change.action != "none" and change.after is not None
    next_ = os.path.join(connections.directory, f"{id_}.{number}.next") if writes else ""
    return Write(change.path, digest(change.before), digest(change.after), next_)


def _remove_directories(files: Iterable[FileRecord]) -> None:
    for directory in (directory for file in files for directory in reversed(file.directories)):
        with suppress(OSError):  # something else is in it by now, or it is gone
            os.rmdir(directory)


def handlers(state: StateDatabase) -> dict[str, Handler]:
    """Return the handler that finishes a connection, or an undo, that was killed."""
    connections = Connections(state)

    def lock(intent: Intent) -> Iterator[FileLock]:
        yield FileLock(lock_path(state.directory, "connections", intent.payload["record"]["client"]), timeout=0.0)

    def finish(intent: Intent) -> str:
        id_, begun = intent.payload["id"], Record.from_json(intent.payload["record"])
        if (
            "writes" not in intent.payload
        ):  # written by an earlier version: the record names everything that may have been done
            connections.settle(id_, begun)
            return ""
        writes = [Write(*write) for write in intent.payload["writes"]]
        for write in writes:
            with suppress(WhetError):
                clean_leftovers(os.path.dirname(os.path.realpath(write.path)))
        made = all(digest(read_file(write.path)) == write.after for write in writes)
        if not made and not all(os.path.lexists(write.next) for write in writes if write.next):
            connections.settle(id_, connections.stored(id_))  # it was killed before it wrote any of the files
            return ""
        for write, file in ((write, read_file(write.path)) for write in writes if not made):
            if digest(file) == write.before != write.after:
                after = read_file(write.next) if write.next else None
                _write(Change(write.path, "jsonc", file, after), private=not begun.here)
        final = Record.from_json(intent.payload["final"]) if intent.payload["final"] else None
        paths = {file.path for file in final.files} if final else set()
        _remove_directories(file for file in begun.files if file.path not in paths)
        connections.settle(id_, final)
        return f"The interrupted connection of {begun.client} is now finished."

    return {CONNECT: Handler(lock, finish, lambda intent: f"The connection {intent.payload['id']}")}


def _recorded(plan: Plan, connections: Connections) -> Record:
    """Return the record of the connection after the plan; files that are not in the plan stay in it."""
    previous = plan.previous.files if plan.previous else ()
    known = {file.path: file for file in previous}
    backups = connections.backup_paths(plan.connection, plan.previous)
    files = [_file_recorded(change, known.get(change.path), backups) for change in plan.changes if change.added]
    changed = {change.path for change in plan.changes}
    files += [file for file in previous if file.path not in changed]
    hooks = any(entry.kind == "hook" for file in files for entry in file.added)
    return Record(plan.client.name, plan.here, hooks, tuple(files))


def _file_recorded(change: Change, known: FileRecord | None, backups: Iterator[str]) -> FileRecord:
    current, next_ = digest(change.before), digest(change.after)
    if known is not None and (current in known.after or current == known.before):
        after = tuple(dict.fromkeys((*(state for state in known.after if state == current), next_)))
        return known._replace(after=after, added=change.added)
    # The current file has Whet's earlier entries: undoing cannot restore it and removes them instead.
    before = current if known is None and change.action != "none" else None
    backup = "" if change.before is None else next(backups)
    made = _missing_directories(change.path)
    return FileRecord(change.path, change.format, before, (next_,), backup, change.added, made)


def _back_up(plan: Plan, record: Record, connections: Connections) -> None:
    """Write the missing backups, including those that a killed process did not write."""
    contents = {change.path: change.before for change in plan.changes}
    for file in record.files:
        content = contents.get(file.path)
        is_original = file.before in (None, digest(content))
        if file.backup and content is not None and is_original and not os.path.lexists(file.backup):
            connections.write_backup(file.backup, content)


def _write(change: Change, *, private: bool) -> None:
    if change.action == "none":
        return
    _check(change)
    if change.after is None:
        _remove(change.path)
        return
    make_directories(os.path.dirname(os.path.realpath(change.path)))
    new = 0o600 if private else None
    write_bytes(change.path, change.after, mode=new if change.before is None else None)


def _check(change: Change) -> None:
    """Raise for a file that has changed since the plan was made, or that is read-only."""
    if read_file(change.path) != change.before:
        raise ConflictError(
            "client-config-changed",
            f"{change.path} changed while you were looking.",
            hint="Run the command again to see the change for the current file. This file was not written.",
            path=change.path,
        )
    if change.before is None or change.action == "none":
        return
    if not os.stat(change.path).st_mode & stat.S_IWUSR:
        raise FailedError(
            "permission-denied",
            f"Cannot write {change.path}: it is read-only.",
            hint="Make it writable, or change it at its source. Nothing was changed.",
            path=change.path,
        )


def _remove(path: str) -> None:
    with os_failures(path, doing="remove"):
        target = os.path.realpath(path)
        os.unlink(target)
        sync_directory(os.path.dirname(target))


def _missing_directories(path: str) -> tuple[str, ...]:
    missing = []
    directory = os.path.dirname(os.path.realpath(path))
    while not os.path.lexists(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    return tuple(reversed(missing))

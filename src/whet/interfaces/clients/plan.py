"""What connecting a client or undoing that would do: every file before and after, read once. Nothing is written here.

Undoing brings back the bytes from before where a file is still as Whet left it; where somebody changed it since, only
Whet's entries are taken out. `apply` carries a plan out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import FailedError, NotFoundError, UsageError
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
from whet.interfaces.clients.locations import BY_NAME, digest, file_path, project_path, read_file, text_of
from whet.interfaces.clients.records import FileRecord, Record, connection_id, is_installed
from whet.skill.text_edit import value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.interfaces.clients.known import Client, File, Format
    from whet.interfaces.clients.locations import Program
    from whet.interfaces.clients.records import Connections
    from whet.library.roots import Place
    from whet.values import Json

Action = Literal["create", "change", "delete", "none"]


class Change(NamedTuple):
    """One file of the client."""

    path: str
    format: Format
    before: bytes | None
    """Its content now; None for no file."""
    after: bytes | None
    added: tuple[Entry, ...] = ()
    """What of it is Whet's afterwards."""

    @property
    def action(self) -> Action:
        """What happens to the file."""
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def to_json(self) -> Json:
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
    connection: str
    """What the connection is known by."""
    previous: Record | None

    @property
    def is_empty(self) -> bool:
        """Is there nothing to do?"""
        return all(change.action == "none" for change in self.changes)

    def to_json(self, *, applied: bool, backups: tuple[str, ...] = ()) -> Json:
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


class ExistingEntry(NamedTuple):
    """Something that starts Whet, and the file of the client it was found in."""

    path: str
    format: Format
    entry: Entry


def plan_connection(
    client: Client,
    place: Place,
    connections: Connections,
    program: Program,
    *,
    here: bool = False,
    hooks: bool | None = None,
    writes: bool | None = None,
) -> Plan:
    """What would be changed to connect the client; nothing where it is connected already.

    `here` means the project's configuration: the server only, called by name, because the file travels. `hooks=None`
    leaves hooks as they are; a client that is not connected gets them, unless they were not wanted last. Raises
    ConflictError for a server called whet that is not Whet's, InvalidError for a file that is broken.
    """
    main = _main_path(client, place, here=here)
    connection = connection_id(client.name, main)
    previous = connections.read(connection)
    before = _state(existing_entries(client, place, here=here))
    as_it_is = hooks is None
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
        entries = hook_entries(client, client.hooks, program, place.platform) if hooks else []
        wanted.setdefault(path, (client.hooks.file, []))[1].extend(entries)
    known = {file.path: file for file in _known_files(client, place, previous, here=here)}
    changes, notes = [], _notes(client, place, program, previous, here=here, hooks=hooks)
    if as_it_is and not hooks and client.hooks is not None and not here:
        notes.append("It stays without hooks; --hooks adds them.")
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
        after=_state(after),
        changes=tuple(changes),
        notes=tuple(notes),
        next=_next(client, hooks=hooks),
        connection=connection,
        previous=previous,
    )


def plan_undo(client: Client, place: Place, connections: Connections, *, here: bool = False) -> Plan:
    """What would be changed to take the connection back. Raises NotFoundError where there is none.

    Of one whose record cannot be read, what is plainly Whet's goes, and the record.
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
        hint = f"`whet connect{option}` lists what is connected."
        raise NotFoundError("not-connected", f"{client.title} is not connected {where}.", hint=hint)
    notes: list[str] = []
    changes = [_plan_removal(file, notes) for file in known]
    after = existing_entries(client, place, here=here, planned={change.path: change.after for change in changes})
    return Plan(
        client,
        here,
        undo=True,
        before=_state(before),
        after=_state(after),
        changes=tuple(changes),
        notes=(*notes, *_describe_remaining(after)),
        next=f"{_reloading(client)}.",
        connection=connection,
        previous=previous,
    )


def existing_entries(
    client: Client,
    place: Place,
    *,
    here: bool = False,
    exact: bool = False,
    planned: Mapping[str, bytes | None] = {},
) -> list[ExistingEntry]:
    """What starts Whet in a client's files, as they are or as planned; `exact`: only as Whet writes it.

    Raises WhetError for a file that cannot be read.
    """
    found: list[ExistingEntry] = []

    def look(path: str, format_: Format, hooks: list[Entry] | None = None) -> None:
        document = read(text_of(planned[path] if path in planned else read_file(path), path), format_, path)
        entries = [server_entry(client, BY_NAME, writes=None, document=document)] if hooks is None else hooks
        found.extend(ExistingEntry(path, format_, entry) for entry in find_entries(document, entries, exact=exact))

    look(_main_path(client, place, here=here), client.file.format)
    if client.hooks is not None and not here:
        entries = hook_entries(client, client.hooks, BY_NAME, place.platform)
        look(file_path(client.hooks.file, place), client.hooks.file.format, entries)
    return found


def _state(found: list[ExistingEntry]) -> State:
    kinds = {one.entry.kind for one in found}
    return State("server" in kinds, "hook" in kinds)


def _describe_remaining(found: Iterable[ExistingEntry]) -> list[str]:
    """What a person has to do about what Whet does not take out."""
    entries = dict.fromkeys(f"{one.path}: {'.'.join(map(str, one.entry.path))}" for one in found)
    return [f"{it} stays: it was changed since, or was there before. Remove it there by hand." for it in entries]


def _known_files(client: Client, place: Place, previous: Record | None, *, here: bool) -> tuple[FileRecord, ...]:
    """The files that were changed; where no record tells, those with what is plainly Whet's."""
    if previous is not None:
        return previous.files
    files: dict[str, FileRecord] = {}
    for path, format_, entry in existing_entries(client, place, here=here, exact=True):
        file = files.get(path, FileRecord(path, format_, None, (), "", ()))
        files[path] = file._replace(added=(*file.added, entry))
    return tuple(files.values())


def _main_path(client: Client, place: Place, *, here: bool) -> str:
    if not here:
        return file_path(client.file, place)
    if path := project_path(client, place):
        return path
    hint = f"`whet connect {client.name}` connects it for all projects."
    raise UsageError("no-project-config", f"{client.title} has no configuration of its own in a project.", hint=hint)


def _plan_additions(
    path: str, format_: Format, data: bytes | None, entries: list[Entry], known: tuple[Entry, ...], *, recorded: bool
) -> Change:
    text = text_of(data, path)
    wanted_paths = {entry.path for entry in entries}
    if unwanted := [entry for entry in known if entry.path not in wanted_paths]:
        text = remove_entries(text, format_, path, unwanted)
    # Without a record, what is plainly Whet's was there before all the same.
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
        notes.append(f"The backup of {file.path} is not as it was; only Whet's entries are taken out.")
    text = remove_entries(text_of(data, file.path), file.format, file.path, file.added)
    return Change(file.path, file.format, data, text.encode("utf-8"))


def _notes(
    client: Client, place: Place, program: Program, previous: Record | None, *, here: bool, hooks: bool
) -> list[str]:
    notes = []
    if not here and not is_installed(client, place, previous):
        notes.append(f"{client.title} does not look installed here.")
    if here:
        notes.append("The server is called `whet`, by name: whoever opens the project needs it on their PATH.")
    elif not program.serves:
        notes.append("The MCP server needs the extra `mcp`, which is missing: pip install 'whet[mcp]'.")
    if not here and program.passing:
        notes.append(f"{program.words[0]} may be removed by the tool that runs it; better install Whet for good.")
    if not here and place.env.get("WHET_HOME"):
        notes.append(f"WHET_HOME is set here; {client.title} must be started with the same.")
    if hooks or client.hooks is None:
        notes.extend(client.limits)
    if hooks:
        notes.extend(_obstacles(client, place))
    return notes


def _next(client: Client, *, hooks: bool) -> str:
    """What the person does in the client now."""
    after = f" {client.after_hooks}" if hooks and client.after_hooks else ""
    return f"{_reloading(client)}; {client.seen}.{after}"


def _reloading(client: Client) -> str:
    return client.restart or f"{client.title} reads it by itself"


def _obstacles(client: Client, place: Place) -> list[str]:
    notes = []
    for obstacle in client.obstacles:
        path = file_path(obstacle.file, place)
        value: Any = value_at(read(text_of(read_file(path), path), obstacle.file.format, path), obstacle.path)
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

"""Connecting a client and taking it back: from the table and the files as they are to a plan. Nothing is written here.

Undoing brings back the bytes from before where a file is still as Whet left it; where somebody changed it since, only
Whet's entries are taken out. `applying` carries a plan out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError
from whet.interfaces.clients.locating import BY_NAME, file_path, is_installed, project_path
from whet.interfaces.clients.plans import Change, Plan, State, read_file, text_of
from whet.interfaces.clients.records import digest, read_record, record_path
from whet.interfaces.clients.wiring import hook_wishes, present, read, server_wish, unwire, value_at, wire

if TYPE_CHECKING:
    from whet.interfaces.clients.known import Client, Format
    from whet.interfaces.clients.locating import Program
    from whet.interfaces.clients.records import FileRecord
    from whet.interfaces.clients.wiring import Added, Wish
    from whet.library.roots import Place


def plan_connection(
    client: Client,
    place: Place,
    program: Program,
    *,
    here: bool = False,
    hooks: bool = True,
    writes: bool | None = None,
) -> Plan:
    """What would be changed to connect the client; nothing where it is connected already.

    `here` means the project's configuration: the server only, called by name, because the file travels. Raises
    ConflictError for a server called whet that is not Whet's, InvalidError for a file that is broken.
    """
    main = _main_path(client, place, here=here)
    hooks = hooks and not here
    record = record_path(place.state, client.name, main)
    previous = read_record(record)
    program = BY_NAME if here else program
    contents = {main: read_file(main)}
    document = read(text_of(contents[main], main), client.file.format, main)
    wanted: dict[str, tuple[Format, list[Wish]]] = {
        main: (client.file.format, [server_wish(client, program, writes=writes, document=document)])
    }
    if client.hooks is not None and not here:
        path = file_path(client.hooks.file, place)
        wishes = hook_wishes(client, client.hooks, program, place.platform) if hooks else []
        wanted.setdefault(path, (client.hooks.file.format, []))[1].extend(wishes)
    changes, connected, hooked = [], False, False
    for path, (format_, wishes) in wanted.items():
        data = contents[path] if path in contents else read_file(path)
        known = previous.file(path) if previous else None
        if wishes:
            changes.append(_wired(path, format_, data, wishes, known))
        elif known is not None:
            changes.append(_undone(known, []))
        kinds = {note.kind for note in present(read(text_of(data, path), format_, path), wishes)}
        connected, hooked = connected or "server" in kinds, hooked or "hook" in kinds
    return Plan(
        client,
        here,
        undo=False,
        before=State(connected, hooked),
        after=State(connected=True, hooks=hooks and client.hooks is not None),
        changes=tuple(changes),
        notes=tuple(_notes(client, place, program, here=here, hooks=hooks)),
        next=_next(client, hooks=hooks),
        record=record,
        previous=previous,
    )


def plan_undo(client: Client, place: Place, *, here: bool = False) -> Plan:
    """What would be changed to take the connection back. Raises NotFoundError where there is none."""
    main = _main_path(client, place, here=here)
    record = record_path(place.state, client.name, main)
    previous = read_record(record)
    notes: list[str] = []
    if previous is not None:
        changes = [_undone(file, notes) for file in previous.files]
    else:
        changes = _unrecorded(client, place, here=here)
    if previous is None and not changes:
        where = "in this project" if here else "here"
        hint = "`whet connect` lists what is connected."
        raise NotFoundError("not-connected", f"{client.title} is not connected {where}.", hint=hint)
    return Plan(
        client,
        here,
        undo=True,
        before=State(connected=True, hooks=previous.hooks if previous else False),
        after=State(connected=False, hooks=False),
        changes=tuple(changes),
        notes=tuple(notes),
        next=f"{_reloading(client)}.",
        record=record,
        previous=previous,
    )


def wishes_of(client: Client, place: Place, *, here: bool = False) -> list[tuple[str, Format, list[Wish]]]:
    """Where Whet's entries stand in a client's files, with wishes by which they are recognised. Raises WhetError."""
    main = _main_path(client, place, here=here)
    document = read(text_of(read_file(main), main), client.file.format, main)
    found = [(main, client.file.format, [server_wish(client, BY_NAME, writes=None, document=document)])]
    if client.hooks is not None and not here:
        path = file_path(client.hooks.file, place)
        found.append((path, client.hooks.file.format, hook_wishes(client, client.hooks, BY_NAME, place.platform)))
    return found


def _main_path(client: Client, place: Place, *, here: bool) -> str:
    if not here:
        return file_path(client.file, place)
    if path := project_path(client, place):
        return path
    hint = f"`whet connect {client.name}` connects it for all projects."
    raise UsageError("no-project-config", f"{client.title} has no configuration of its own in a project.", hint=hint)


def _wired(path: str, format_: Format, data: bytes | None, wishes: list[Wish], known: FileRecord | None) -> Change:
    text = text_of(data, path)
    notes = known.added if known else ()
    wished = {wish.path for wish in wishes}
    if unwanted := [note for note in notes if note.path not in wished]:
        text = unwire(text, format_, path, unwanted).text
    wired = wire(text, format_, path, wishes, notes)
    return Change(path, format_, data, wired.text.encode("utf-8"), wired.added)


def _undone(file: FileRecord, notes: list[str]) -> Change:
    data = read_file(file.path)
    current = digest(data)
    if data is None or current == file.before:
        return Change(file.path, file.format, data, data)
    if file.before is not None and current in file.after:
        original = read_file(file.backup) if file.backup else None
        if digest(original) == file.before:
            return Change(file.path, file.format, data, original)
        notes.append(f"The backup of {file.path} is not as it was; only Whet's entries are taken out.")
    unwired = unwire(text_of(data, file.path), file.format, file.path, file.added)
    notes.extend(f"{file.path}: {_dotted(note)} was changed since; it stays." for note in unwired.left)
    return Change(file.path, file.format, data, unwired.text.encode("utf-8"))


def _unrecorded(client: Client, place: Place, *, here: bool) -> list[Change]:
    """Take out what is plainly Whet's where no record tells what was added."""
    changes: dict[str, Change] = {}
    for path, format_, wishes in wishes_of(client, place, here=here):
        data = read_file(path)
        change = changes.get(path, Change(path, format_, data, data))
        text = text_of(change.after, path)
        if found := present(read(text, format_, path), wishes, exact=True):
            after = unwire(text, format_, path, found).text.encode("utf-8")
            changes[path] = change._replace(after=after)
    return list(changes.values())


def _notes(client: Client, place: Place, program: Program, *, here: bool, hooks: bool) -> list[str]:
    notes = []
    if not here and not is_installed(client, place):
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


def _dotted(note: Added) -> str:
    return ".".join(map(str, note.path))

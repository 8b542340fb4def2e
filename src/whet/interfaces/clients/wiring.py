"""From a row of the table to a changed text: what Whet wants to stand in a configuration, put in and taken out again.

Pure: text in, text out, with a note of what was added so that it can be found later. The editing itself, which leaves
every other byte alone, is done by `edits`; what is Whet's own is known by `calls`, so that a moved program is an update
and an entry of somebody else is left alone. What was there before Whet changed it comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import ConflictError, InvalidError, WhetError
from whet.interfaces.clients.calls import READ_ONLY, WRITES, has_hook, parse_hook, server_arguments
from whet.interfaces.clients.edits import editor
from whet.interfaces.clients.known import NAME
from whet.interfaces.clients.values import missing_from
from whet.skill.text_edit import Path, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whet.interfaces.clients.known import Client, Format, Hooks
    from whet.interfaces.clients.locating import Program


class Wish(NamedTuple):
    """Something that shall stand in a file."""

    kind: Literal["server", "hook", "key"]
    path: Path
    """Of the entry itself; for a hook, of the list that it is an item of."""
    value: Any
    call: tuple[str, str] = ("", "")
    """The event and the client of a hook."""


class Added(NamedTuple):
    """Something that was put into a file."""

    kind: Literal["server", "hook"]
    path: Path
    value: Any
    """The entry; for a hook the one with the command, whatever group it is in."""
    made: tuple[Path, ...] = ()
    """Tables and lists that were not there before, the outermost first."""
    before: Any = None
    """The entry that was there before and was changed; None where there was none."""

    def to_json(self) -> dict[str, Any]:
        """The note as the record keeps it."""
        return {**self._asdict(), "path": list(self.path), "made": [list(path) for path in self.made]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Added:
        """The note as the record kept it."""
        made = tuple(tuple(path) for path in data["made"])
        return cls(data["kind"], tuple(data["path"]), data["value"], made, data["before"])


class Wired(NamedTuple):
    """A text with everything in it, and all that is Whet's in it."""

    text: str
    added: tuple[Added, ...]


def server_wish(client: Client, program: Program, *, writes: bool | None, document: Any) -> Wish:
    """The MCP server, declared the way this file does it; arguments that somebody gave Whet's server stay.

    `writes=None` leaves it as it is whether models may write; where nothing is, they propose.
    """
    server = client.server
    if client.native is not None:
        table = value_at(document, client.native[0])
        if isinstance(table, dict) and "type" not in table:
            server = client.native[1]
    given = server_arguments(value_at(document, (*server.path, NAME))) or []
    if writes is not None:
        given = [*(word for word in given if word not in (WRITES, READ_ONLY)), *([WRITES] if writes else [])]
    arguments = ["mcp", *given]
    command, *before = program.words
    words = {
        "{command}": command,
        "{arguments}": [*before, *arguments],
        "{words}": [command, *before, *arguments],
    }
    return Wish("server", (*server.path, NAME), _filled(server.value, words))


def hook_wishes(client: Client, hooks: Hooks, program: Program, platform: str) -> list[Wish]:
    """The hooks of the client, and the keys its file must have."""
    wishes = [Wish("key", (name,), value) for name, value in hooks.always]
    for hook in hooks.each:
        words = {
            "{call}": program.call("hook", hook.event, "--client", client.name, platform=platform),
            "{timeout}": hook.seconds * hooks.per_second,
            "{matcher}": hook.matcher or None,
        }
        value = _filled(hooks.value, words)
        if hook.background and hooks.background:
            _entry(value)[hooks.background] = True
        wishes.append(Wish("hook", ("hooks", hook.name), value, (hook.event, client.name)))
    return wishes


def read(text: str, format_: Format, path: str) -> dict[str, Any]:
    """What the file says. Raises InvalidError for one that the client could not read either."""
    try:
        value = editor(format_).read(text)
    except WhetError as error:
        raise _placed(error, path) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidError(
            "client-config-broken",
            f"{path} holds no table of settings.",
            hint="Mend or remove the file, then run it again. Nothing was changed.",
            path=path,
        )
    return value


def wire(text: str, format_: Format, path: str, wishes: Iterable[Wish], known: Sequence[Added] = ()) -> Wired:
    """Put everything in that is not there yet. Raises ConflictError for a server of this name that is not Whet's."""
    added: list[Added] = []
    for wish in wishes:
        document = read(text, format_, path)
        noted = next((note for note in known if note.kind == wish.kind and note.path == wish.path), None)
        if wish.kind == "hook":
            text, note = _wire_hook(text, format_, path, document, wish, noted)
        elif wish.kind == "server":
            text, note = _wire_server(text, format_, path, document, wish, noted)
        else:
            note = None
            if value_at(document, wish.path) is None:
                text = _edit(format_, path, "put", text, wish.path, wish.value)
        if note is not None:
            made = (*(noted.made if noted else ()), *note.made)
            added.append(note._replace(made=tuple(dict.fromkeys(made))))
    return Wired(text, tuple(added))


def unwire(text: str, format_: Format, path: str, added: Iterable[Added]) -> str:
    """Take out what was added, or bring back what it was before, where it is still as Whet left it.

    A table or list that was made for it goes too when it is empty then.
    """
    empty: list[Path] = []
    for note in added:
        document = read(text, format_, path)
        empty.extend(note.made)
        where = _where(document, note)
        if where and note.before is None:
            alone = len(where) == len(note.path) + 3 and len(value_at(document, where[:-1])) == 1
            text = _edit(format_, path, "take", text, where[:-2] if alone else where)
        for key in note.value if where and note.before is not None else ():
            if key in note.before:
                text = _edit(format_, path, "put", text, (*where, key), note.before[key])
            else:
                text = _edit(format_, path, "take", text, (*where, key))
    for made in sorted(set(empty), key=len, reverse=True):
        if value_at(read(text, format_, path), made) in ({}, []):
            text = _edit(format_, path, "take", text, made)
    return text


def present(document: Any, wishes: Iterable[Wish], *, exact: bool = False) -> list[Added]:
    """What of the wishes, whichever Whet they call, stands in the document; `exact`: and nothing else was changed."""
    found = []
    for wish in wishes:
        value = value_at(document, wish.path)
        if wish.kind == "server" and (arguments := server_arguments(value)) is not None:
            if not exact or (arguments in ([], [WRITES]) and set(value) == set(wish.value)):
                found.append(Added("server", wish.path, value))
        elif wish.kind == "hook":
            for _, entry in _entries(value):
                same = {**_entry(wish.value), "command": entry.get("command")} == entry and _is_ours(entry, wish)
                if same if exact else has_hook(entry.get("command"), *wish.call):
                    found.append(Added("hook", wish.path, entry))
    return found


def _wire_server(
    text: str, format_: Format, path: str, document: Any, wish: Wish, noted: Added | None
) -> tuple[str, Added]:
    value = value_at(document, wish.path)
    if value is None:
        text = _edit(format_, path, "put", text, wish.path, wish.value)
        return text, Added("server", wish.path, wish.value, _made(document, wish.path[:-1]))
    if server_arguments(value) is None and (noted is None or value != noted.value):
        raise ConflictError(
            "client-entry-taken",
            f"{path} has an MCP server called {NAME!r} that is not Whet's.",
            hint=f"Give that server another name in {path}, then run it again. Nothing was changed.",
            path=path,
        )
    changed = {key: item for key, item in wish.value.items() if key not in value or value[key] != item}
    for key, item in changed.items():
        text = _edit(format_, path, "put", text, (*wish.path, key), item)
    # What somebody else put into the entry since is not Whet's; with it, undoing leaves the entry.
    noted = noted or Added("server", wish.path, value, before=value)
    return text, noted._replace(value={**noted.value, **changed})


def _wire_hook(
    text: str, format_: Format, path: str, document: Any, wish: Wish, noted: Added | None
) -> tuple[str, Added | None]:
    """The hook in the list; no note where somebody calls it in a way of their own."""
    entries = list(_entries(value_at(document, wish.path)))
    wanted = _entry(wish.value)
    for at, entry in entries:
        if _is_ours(entry, wish):
            command = wanted["command"]
            text = _edit(format_, path, "put", text, (*wish.path, *at, "command"), command)
            noted = noted or Added("hook", wish.path, entry, before=entry)
            return text, noted._replace(value={**noted.value, "command": command})
    if any(has_hook(entry.get("command"), *wish.call) for _, entry in entries):
        return text, None
    text = _edit(format_, path, "append", text, wish.path, wish.value)
    return text, Added("hook", wish.path, wanted, _made(document, wish.path))


def _is_ours(entry: dict[str, Any], wish: Wish) -> bool:
    call = parse_hook(entry.get("command"))
    return call is not None and (call.event, call.client) == wish.call


def _where(document: Any, note: Added) -> Path:
    """Where that which was added stands, as it was; empty for nowhere."""
    value = value_at(document, note.path)
    if note.kind == "hook":
        return next(((*note.path, *at) for at, entry in _entries(value) if entry == note.value), ())
    return note.path if value == note.value else ()


def _entries(items: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The entries with commands in a list of hooks, which are its items or in groups, and where they are in it."""
    for at, item in enumerate(items if isinstance(items, list) else ()):
        group = item.get("hooks") if isinstance(item, dict) else None
        if isinstance(group, list):
            yield from (((at, "hooks", inner), entry) for inner, entry in enumerate(group) if isinstance(entry, dict))
        elif isinstance(item, dict):
            yield (at,), item


def _entry(item: Any) -> dict[str, Any]:
    """The entry with the command in an item that Whet writes."""
    return next(_entries([item]))[1]


def _filled(value: Any, words: dict[str, Any]) -> Any:
    """A copy of the value with what its placeholders stand for; what stands for nothing is left out."""
    if isinstance(value, dict):
        filled = {key: _filled(item, words) for key, item in value.items()}
        return {key: item for key, item in filled.items() if item is not None}
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    return words.get(value, value) if isinstance(value, str) else value


def _made(document: Any, path: Path) -> tuple[Path, ...]:
    """What of the tables on a path, to which something was added, is not in the document."""
    there = missing_from(document, path, null_is_empty=True)
    return tuple(path[:length] for length in range(there + 1, len(path) + 1))


def _edit(format_: Format, path: str, how: str, text: str, *arguments: Any) -> str:
    try:
        changed: str = getattr(editor(format_), how)(text, *arguments)
    except WhetError as error:
        raise _placed(error, path) from error
    return changed


def _placed(error: WhetError, path: str) -> WhetError:
    """The same failure with the file it is about; the editing modules only see its text."""
    message = error.message if path in error.message else f"{path}: {error.message}"
    return type(error)(error.code, message, hint=error.hint, **{**error.details, "path": path})

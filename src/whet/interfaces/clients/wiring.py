"""From a row of the table to a changed text: what Whet wants to stand in a configuration, put in and taken out again.

Pure: text in, text out, with a note of what was added so that it can be found later. The editing itself, which leaves
every other byte alone, is done by `jsonc`, `toml` and `yaml`.

What is Whet's own is recognised by what it says (it starts Whet's MCP server, or Whet's hook for this client), so that
a moved program is an update and an entry of somebody else with the same name is left alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import ConflictError, InvalidError, WhetError
from whet.interfaces.clients.known import NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.interfaces.clients.known import Client, Format, Hook, Hooks
    from whet.interfaces.clients.locating import Program

Path = tuple[str | int, ...]
WRITES = "--allow-writes"
_READ_ONLY = "--read-only"
_MISSING = object()


class Wish(NamedTuple):
    """Something that shall stand in a file."""

    kind: Literal["server", "hook", "key"]
    path: Path
    """Of the entry itself; for a hook, of the list that it is an item of."""
    value: Any
    mark: str = ""
    """Text by which a hook's command line is known as this one."""


class Added(NamedTuple):
    """Something that was put into a file."""

    kind: Literal["server", "hook", "key"]
    path: Path
    value: Any
    made: tuple[Path, ...] = ()
    """Tables and lists that were not there before, the outermost first."""

    def to_json(self) -> dict[str, Any]:
        """The note as the record keeps it."""
        return {
            "kind": self.kind,
            "path": list(self.path),
            "value": self.value,
            "made": [list(path) for path in self.made],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Added:
        """The note as the record kept it."""
        return cls(data["kind"], tuple(data["path"]), data["value"], tuple(tuple(path) for path in data["made"]))


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
        table = _at(document, client.native[0])
        if isinstance(table, dict) and "type" not in table:
            server = client.native[1]
    given = server_arguments(_at(document, (*server.path, NAME))) or []
    if writes is not None:
        given = [*(word for word in given if word not in (WRITES, _READ_ONLY)), *([WRITES] if writes else [])]
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
        mark = hook_mark(client, hook)
        words = {
            "{call}": program.call("hook", hook.event, "--client", client.name, platform=platform),
            "{timeout}": hook.seconds * hooks.per_second,
            "{matcher}": hook.matcher or _MISSING,
        }
        value = _filled(hooks.value, words)
        if hook.background and hooks.background:
            _inner(value)[0][1][hooks.background] = True
        wishes.append(Wish("hook", ("hooks", hook.name), value, mark))
    return wishes


def hook_mark(client: Client, hook: Hook) -> str:
    """The end of the hook's command line."""
    return f" hook {hook.event} --client {client.name}"


def read(text: str, format_: Format, path: str) -> dict[str, Any]:
    """What the file says. Raises InvalidError for one that the client could not read either."""
    try:
        value = _editing(format_).read(text)
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
        before = next((note for note in known if note.kind == wish.kind and note.path == wish.path), None)
        if wish.kind == "hook":
            text, note = _wire_hook(text, format_, path, document, wish, before)
        elif wish.kind == "key":
            text, note = _wire_key(text, format_, path, document, wish)
        else:
            text, note = _wire_server(text, format_, path, document, wish, before)
        if before is not None:
            note = note._replace(made=before.made)
        if wish.kind != "key":
            added.append(note)
    return Wired(text, tuple(added))


def unwire(text: str, format_: Format, path: str, added: Iterable[Added]) -> str:
    """Take out what was added and is still as it was; a table or list made for it goes too when it is empty then."""
    empty: list[Path] = []
    for note in added:
        document = read(text, format_, path)
        empty.extend(note.made)
        value = _at(document, note.path)
        if note.kind == "hook":
            items = value if isinstance(value, list) else []
            if note.value in items:
                text = _edit(format_, path, "take", text, (*note.path, items.index(note.value)))
        elif value == note.value:
            text = _edit(format_, path, "take", text, note.path)
    for made in sorted(set(empty), key=len, reverse=True):
        if _at(read(text, format_, path), made) in ({}, []):
            text = _edit(format_, path, "take", text, made)
    return text


def present(document: Any, wishes: Iterable[Wish], *, exact: bool = False) -> list[Added]:
    """What of the wishes, whichever Whet they call, stands in the document; `exact`: and nothing else was changed."""
    found = []
    for wish in wishes:
        value = _at(document, wish.path)
        if wish.kind == "server" and (arguments := server_arguments(value)) is not None:
            if not exact or (arguments in ([], [WRITES]) and set(value) == set(wish.value)):
                found.append(Added("server", wish.path, value))
        elif wish.kind == "hook" and isinstance(value, list):
            for item in value:
                ours = any(_is_hook(entry.get("command"), wish.mark) for _, entry in _inner(item))
                if ours and (not exact or _alike(item, wish.value)):
                    found.append(Added("hook", wish.path, item))
    return found


def value_at(document: Any, path: Path) -> Any:
    """What stands at the path; None for nothing."""
    value = _at(document, path)
    return None if value is _MISSING else value


def server_arguments(value: Any) -> list[str] | None:
    """What follows `whet mcp` in the command line of a server's entry; None for an entry that is not Whet's."""
    words = server_words(value)
    for at, word in enumerate(words[:-1]):
        name = word.replace("\\", "/").rpartition("/")[2].lower()
        if name in (NAME, f"{NAME}.exe") and words[at + 1] == "mcp":
            return words[at + 2 :]
    return None


def server_writes(value: Any) -> Literal["propose", "allow", "read-only"]:
    """What Whet's server in this entry lets models do to skills."""
    given = server_arguments(value) or []
    return "allow" if WRITES in given else "read-only" if _READ_ONLY in given else "propose"


def server_words(value: Any) -> list[str]:
    """The command line of a server's entry; empty for one that is no command."""
    if not isinstance(value, dict):
        return []
    command, arguments = value.get("command"), value.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return words if all(isinstance(word, str) for word in words) else []


def _wire_server(
    text: str, format_: Format, path: str, document: Any, wish: Wish, before: Added | None
) -> tuple[str, Added]:
    value = _at(document, wish.path)
    if value is _MISSING:
        note = Added("server", wish.path, wish.value, _missing_parents(document, wish.path))
        return _edit(format_, path, "put", text, wish.path, wish.value), note
    if server_arguments(value) is None and (before is None or value != before.value):
        raise ConflictError(
            "client-entry-taken",
            f"{path} has an MCP server called {NAME!r} that is not Whet's.",
            hint=f"Give that server another name in {path}, then run it again. Nothing was changed.",
            path=path,
        )
    changed = {key: item for key, item in wish.value.items() if key not in value or value[key] != item}
    for key, item in changed.items():
        text = _edit(format_, path, "put", text, (*wish.path, key), item)
    # What somebody else put into the entry is not Whet's; with it, undoing leaves the entry.
    return text, Added("server", wish.path, {**(before.value if before else value), **changed})


def _wire_hook(
    text: str, format_: Format, path: str, document: Any, wish: Wish, before: Added | None
) -> tuple[str, Added]:
    value = _at(document, wish.path)
    wanted = _inner(wish.value)[0][1]["command"]
    for at, item in enumerate(value if isinstance(value, list) else ()):
        for inner, entry in _inner(item):
            if not _is_hook(entry.get("command"), wish.mark):
                continue
            if entry["command"] != wanted:
                text = _edit(format_, path, "put", text, (*wish.path, at, *inner, "command"), wanted)
            return text, Added("hook", wish.path, _calling(before.value if before else item, wish.mark, wanted))
    note = Added("hook", wish.path, wish.value, _missing_parents(document, (*wish.path, 0)))
    return _edit(format_, path, "append", text, wish.path, wish.value), note


def _wire_key(text: str, format_: Format, path: str, document: Any, wish: Wish) -> tuple[str, Added]:
    if _at(document, wish.path) is _MISSING:
        text = _edit(format_, path, "put", text, wish.path, wish.value)
    return text, Added("key", wish.path, wish.value)


def _filled(value: Any, words: dict[str, Any]) -> Any:
    """A copy of the value with what its placeholders stand for; what stands for nothing is left out."""
    if isinstance(value, dict):
        filled = {key: _filled(item, words) for key, item in value.items()}
        return {key: item for key, item in filled.items() if item is not _MISSING}
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    return words.get(value, value) if isinstance(value, str) else value


def _inner(item: Any) -> list[tuple[Path, dict[str, Any]]]:
    """The entries with commands in an item of a list of hooks: those of its group, or itself."""
    if not isinstance(item, dict):
        return []
    group = item.get("hooks")
    if isinstance(group, list):
        return [(("hooks", at), entry) for at, entry in enumerate(group) if isinstance(entry, dict)]
    return [((), item)]


def _calling(item: dict[str, Any], mark: str, command: str) -> dict[str, Any]:
    """The item of a list of hooks, with this command line for the hook of the mark."""
    if _is_hook(item.get("command"), mark):
        return {**item, "command": command}
    if isinstance(group := item.get("hooks"), list):
        return {**item, "hooks": [_calling(entry, mark, command) for entry in group if isinstance(entry, dict)]}
    return item


def _alike(item: Any, wished: Any) -> bool:
    """Are these the same but for the program they call?"""
    if isinstance(item, dict) and isinstance(wished, dict):
        return set(item) == set(wished) and all(key == "command" or _alike(item[key], wished[key]) for key in item)
    if isinstance(item, list) and isinstance(wished, list):
        return len(item) == len(wished) and all(map(_alike, item, wished))
    return bool(item == wished)


def _is_hook(command: Any, mark: str) -> bool:
    return isinstance(command, str) and command.endswith(mark) and NAME in command


def _missing_parents(document: Any, path: Path) -> tuple[Path, ...]:
    parents = (path[:length] for length in range(1, len(path)))
    return tuple(parent for parent in parents if _at(document, parent) is _MISSING)


def _at(document: Any, path: Path) -> Any:
    """What stands at the path, or `_MISSING`."""
    for step in path:
        keyed = isinstance(document, dict) and step in document
        if not keyed and not (isinstance(document, list) and isinstance(step, int) and step < len(document)):
            return _MISSING
        document = document[step]
    return document


def _edit(format_: Format, path: str, how: str, text: str, *arguments: Any) -> str:
    try:
        changed: str = getattr(_editing(format_), how)(text, *arguments)
    except WhetError as error:
        raise _placed(error, path) from error
    return changed


def _editing(format_: Format) -> Any:
    """The module that edits this kind of file."""
    return import_module(f"whet.interfaces.clients.{format_}")


def _placed(error: WhetError, path: str) -> WhetError:
    """The same failure with the file it is about; the editing modules only see its text."""
    message = error.message if path in error.message else f"{path}: {error.message}"
    return type(error)(error.code, message, hint=error.hint, **{**error.details, "path": path})

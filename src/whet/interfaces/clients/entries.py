"""Whet's entries in a client's configuration: added, found and removed.

Pure: text in, text out, with the added entries, so that they can be found later. The editing, which leaves every other
byte alone, is done by `editor`; Whet's entries are recognized by their content, so that a moved program is an update
and an entry of somebody else is left alone. A changed value is restored.

The program in the entry of a server or the command line of a hook counts as Whet by its name, so that a moved one is
still Whet, and nothing of somebody else is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import ConflictError, InvalidError, WhetError
from whet.interfaces.clients.editor import editor, missing_from
from whet.interfaces.clients.known import NAME
from whet.interfaces.hooks.clients import native
from whet.skill.text_edit import Path, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whet.interfaces.clients.known import Connection, Format, Hooks
    from whet.interfaces.clients.locations import Program
    from whet.values import Json

WRITES = "--allow-writes"
READ_ONLY = "--read-only"
_PYTHONS = ("python", "pypy", "graalpy")
_BETWEEN = r"\s(?:[^;&|\n]{0,400}\s)?"


class Call(NamedTuple):
    """A hook's command line."""

    program: tuple[str, ...]
    event: str
    client: str


def parse_hook(command: Any) -> Call | None:
    """Return the call of Whet if this command line is nothing else; otherwise None.

    That is `whet hook EVENT --client CLIENT` exactly, with a path before it or as `python -m whet`, in the quotes of
    POSIX or of Windows. A command line with anything around it is somebody's own.
    """
    for posix in (True, False) if isinstance(command, str) else ():
        match _words(command, posix=posix):
            case [*program, "hook", event, "--client", client] if _is_whet(program):
                return Call(tuple(program), event, client)
    return None


def has_hook(command: Any, event: str, client: str) -> bool:
    """Return whether this command line calls the hook, even inside something else."""
    if not isinstance(command, str):
        return False
    if (call := parse_hook(command)) is not None:
        return call[1:] == (event, client)
    words = (rf"(?<![\w.-]){NAME}(?:\.exe)?[\"']?", rf"hook\s+{event}", rf"--client[\s=]+[\"']?{client}(?![\w-])")
    return re.search(_BETWEEN.join(words), command, re.IGNORECASE) is not None


def server_arguments(value: Any) -> list[str] | None:
    """Return the words after `whet mcp` in a server's entry; None for an entry that is not Whet's."""
    words = server_words(value)
    for at, word in enumerate(words[:-1]):
        if _base(word) in (NAME, f"{NAME}.exe") and words[at + 1] == "mcp":
            return words[at + 2 :]
    return None


def server_writes(value: Any) -> Literal["propose", "allow", "read-only"]:
    """Return what Whet's server in this entry allows models to do to skills."""
    given = server_arguments(value) or []
    return "allow" if WRITES in given else "read-only" if READ_ONLY in given else "propose"


def server_words(value: Any) -> list[str]:
    """Return the command line of a server's entry; empty if it is not a command."""
    if not isinstance(value, dict):
        return []
    command, arguments = value.get("command", value.get("cmd")), value.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return words if all(isinstance(word, str) for word in words) else []


def _words(command: str, *, posix: bool) -> list[str]:
    """Split a command line into words; shell operators are separate words, and a broken line has no words."""
    from shlex import shlex

    lexer = shlex(command, posix=posix, punctuation_chars=True)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    return words if posix else [word.strip("\"'") for word in words]


def _is_whet(program: list[str]) -> bool:
    match program:
        case [word]:
            assigned, equals, _ = word.partition("=")
            return _base(word) in (NAME, f"{NAME}.exe") and not (equals and assigned.isidentifier())
        case [word, "-m", module]:
            return _base(word).startswith(_PYTHONS) and module == NAME
    return False


def _base(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].lower()


class Entry(NamedTuple):
    """An entry that starts Whet in a client's file: wanted, found or added."""

    kind: Literal["server", "hook", "key"]
    path: Path
    """The path of the entry; for a hook, that of its list."""
    value: Any
    """The value at the path; for a hook that was found or added, the part with the command, in any group."""
    call: tuple[str, str] = ("", "")
    """The event and the client of a wanted hook."""
    made: tuple[Path, ...] = ()
    """Tables and lists that were added for it, the outermost first; for a key, itself if it was missing."""
    before: Any = None
    """The value before the change; None if there was none."""

    def to_json(self) -> Json:
        """Return the entry as stored in a record."""
        made = [list(path) for path in self.made]
        return {"kind": self.kind, "path": list(self.path), "value": self.value, "made": made, "before": self.before}

    @classmethod
    def from_json(cls, data: Json) -> Entry:
        """Read the entry from a record."""
        made = tuple(tuple(path) for path in data["made"])
        return cls(data["kind"], tuple(data["path"]), data["value"], made=made, before=data["before"])


class AddedEntries(NamedTuple):
    """A text with all entries, and the entries of Whet in it."""

    text: str
    added: tuple[Entry, ...]


def server_entry(client: Connection, program: Program, *, writes: bool | None, document: Any) -> Entry:
    """Return the MCP server in the form of this file; extra arguments of an existing server stay.

    `writes=None` does not change whether models may write; by default, they propose.
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
    return Entry("server", (*server.path, NAME), _fill(server.value, words))


def hook_entries(client: Connection, hooks: Hooks, program: Program, platform: str, *, enforce: bool) -> list[Entry]:
    """Return the client's hooks, and required keys of its file; with `enforce`, also those that refuse tool calls."""
    entries = [Entry("key", (name,), value) for name, value in hooks.always]
    for hook in (hook for hook in hooks.each if enforce or not hook.enforces):
        words = {
            "{call}": program.call("hook", hook.event, "--client", client.name, platform=platform),
            "{timeout}": hook.seconds * hooks.per_second,
            "{matcher}": hook.matcher or None,
        }
        value = _fill(hooks.value, words)
        if hook.background and hooks.background:
            _hook_item(value)[hooks.background] = True
        entries.append(Entry("hook", ("hooks", native(client.name, hook.event)), value, (hook.event, client.name)))
    return entries


def read(text: str, format_: Format, path: str) -> Json:
    """Parse the file. Raises InvalidError if the client could not read it either."""
    try:
        value = editor(format_).read(text)
    except WhetError as error:
        raise _with_path(error, path) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidError(
            "client-config-broken",
            f"{path} is not a table of settings.",
            hint="Fix or remove the file, then run the command again. Nothing was changed.",
            path=path,
        )
    return value


def add_entries(
    text: str, format_: Format, path: str, entries: Iterable[Entry], known: Sequence[Entry] = ()
) -> AddedEntries:
    """Add all missing entries. Raises ConflictError for a server of this name that is not Whet's."""
    added: list[Entry] = []
    for wanted in entries:
        document = read(text, format_, path)
        earlier = next((entry for entry in known if entry.kind == wanted.kind and entry.path == wanted.path), None)
        if wanted.kind == "hook":
            text, done = _add_hook(text, format_, path, document, wanted, earlier)
        elif wanted.kind == "server":
            text, done = _add_server(text, format_, path, document, wanted, earlier)
        else:
            done = earlier
            if value_at(document, wanted.path) is None:
                text = _edit(format_, path, "put", text, wanted.path, wanted.value)
                done = wanted._replace(made=() if wanted.path[0] in document else (wanted.path,))
        if done is not None:
            made = (*(earlier.made if earlier else ()), *done.made)
            added.append(done._replace(made=tuple(dict.fromkeys(made))))
    return AddedEntries(text, tuple(added))


def remove_entries(text: str, format_: Format, path: str, added: Iterable[Entry]) -> str:
    """Remove the added entries, or restore their former values, if they are unchanged since.

    A table or list that was made for them is removed if it is then empty, and a key of the file if no hook needs it.
    """
    empty: list[Path] = []
    added = tuple(added)
    for entry in (entry for entry in added if entry.kind != "key"):
        document = read(text, format_, path)
        empty.extend(entry.made)
        where = _locate(document, entry)
        if where and entry.before is None:
            alone = len(where) == len(entry.path) + 3 and len(value_at(document, where[:-1])) == 1
            text = _edit(format_, path, "take", text, where[:-2] if alone else where)
        for key in entry.value if where and entry.before is not None else ():
            if key in entry.before:
                text = _edit(format_, path, "put", text, (*where, key), entry.before[key])
            else:
                text = _edit(format_, path, "take", text, (*where, key))
    for made in sorted(set(empty), key=len, reverse=True):
        if value_at(read(text, format_, path), made) in ({}, []):
            text = _edit(format_, path, "take", text, made)
    for entry in (entry for entry in added if entry.kind == "key"):
        document = read(text, format_, path)
        if value_at(document, entry.path) == entry.value and not entry.made:
            text = _edit(format_, path, "put", text, entry.path, None)
        elif value_at(document, entry.path) == entry.value and not document.get("hooks"):
            text = _edit(format_, path, "take", text, entry.path)
    return text


def find_entries(document: Any, entries: Iterable[Entry], *, exact: bool = False) -> list[Entry]:
    """Return those of the entries that are in the document, for any Whet; `exact`: only if nothing else was changed."""
    found = []
    for wanted in entries:
        value = value_at(document, wanted.path)
        if wanted.kind == "server" and (arguments := server_arguments(value)) is not None:
            if not exact or (arguments in ([], [WRITES]) and set(value) == set(wanted.value)):
                found.append(Entry("server", wanted.path, value))
        elif wanted.kind == "hook":
            for _, entry in _hook_items(value):
                same = {**_hook_item(wanted.value), "command": entry.get("command")} == entry and _is_ours(
                    entry, wanted
                )
                if same if exact else has_hook(entry.get("command"), *wanted.call):
                    found.append(Entry("hook", wanted.path, entry))
    return found


def _add_server(
    text: str, format_: Format, path: str, document: Any, wanted: Entry, earlier: Entry | None
) -> tuple[str, Entry]:
    value = value_at(document, wanted.path)
    if value is None:
        text = _edit(format_, path, "put", text, wanted.path, wanted.value)
        return text, Entry("server", wanted.path, wanted.value, made=_missing_tables(document, wanted.path[:-1]))
    if server_arguments(value) is None and (earlier is None or value != earlier.value):
        raise ConflictError(
            "client-entry-taken",
            f"{path} has an MCP server named {NAME!r} that is not Whet's.",
            hint=f"Rename that server in {path}, then run the command again. Nothing was changed.",
            path=path,
        )
    changed = {key: item for key, item in wanted.value.items() if key not in value or value[key] != item}
    for key, item in changed.items():
        text = _edit(format_, path, "put", text, (*wanted.path, key), item)
    # Additions of somebody else are not Whet's; with them, undoing leaves the entry.
    earlier = earlier or Entry("server", wanted.path, value, before=value)
    return text, earlier._replace(value={**earlier.value, **changed})


def _add_hook(
    text: str, format_: Format, path: str, document: Any, wanted: Entry, earlier: Entry | None
) -> tuple[str, Entry | None]:
    """Return the text with the hook in the list; None for the entry if somebody calls the hook in their own way."""
    items = list(_hook_items(value_at(document, wanted.path)))
    hook = _hook_item(wanted.value)
    for at, entry in items:
        if _is_ours(entry, wanted):
            command = hook["command"]
            text = _edit(format_, path, "put", text, (*wanted.path, *at, "command"), command)
            earlier = earlier or Entry("hook", wanted.path, entry, before=entry)
            return text, earlier._replace(value={**earlier.value, "command": command})
    if any(has_hook(entry.get("command"), *wanted.call) for _, entry in items):
        return text, None
    text = _edit(format_, path, "append", text, wanted.path, wanted.value)
    return text, Entry("hook", wanted.path, hook, made=_missing_tables(document, wanted.path))


def _is_ours(entry: Json, wanted: Entry) -> bool:
    call = parse_hook(entry.get("command"))
    return call is not None and (call.event, call.client) == wanted.call


def _locate(document: Any, entry: Entry) -> Path:
    """Return the path of an added entry if it is unchanged; otherwise ()."""
    value = value_at(document, entry.path)
    if entry.kind == "hook":
        return next(((*entry.path, *at) for at, item in _hook_items(value) if item == entry.value), ())
    return entry.path if value == entry.value else ()


def _hook_items(items: Any) -> Iterator[tuple[Path, Json]]:
    """Yield the entries with commands in a list of hooks, in groups or not, each with its path in the list."""
    for at, item in enumerate(items if isinstance(items, list) else ()):
        group = item.get("hooks") if isinstance(item, dict) else None
        if isinstance(group, list):
            yield from (((at, "hooks", inner), entry) for inner, entry in enumerate(group) if isinstance(entry, dict))
        elif isinstance(item, dict):
            yield (at,), item


def _hook_item(item: Any) -> Json:
    """Return the entry with the command in an item that Whet writes."""
    return next(_hook_items([item]))[1]


def _fill(value: Any, words: Json) -> Any:
    """Return a copy of the value with its placeholders replaced; placeholders without a value are left out."""
    if isinstance(value, dict):
        filled = {key: _fill(item, words) for key, item in value.items()}
        return {key: item for key, item in filled.items() if item is not None}
    if isinstance(value, list):
        return [_fill(item, words) for item in value]
    return words.get(value, value) if isinstance(value, str) else value


def _missing_tables(document: Any, path: Path) -> tuple[Path, ...]:
    """Return the tables on a path that are missing in the document."""
    there = missing_from(document, path, null_is_empty=True)
    return tuple(path[:length] for length in range(there + 1, len(path) + 1))


def _edit(format_: Format, path: str, how: str, text: str, *arguments: Any) -> str:
    try:
        changed: str = getattr(editor(format_), how)(text, *arguments)
    except WhetError as error:
        raise _with_path(error, path) from error
    return changed


def _with_path(error: WhetError, path: str) -> WhetError:
    """Return the same error with its file; the editing modules see only the text."""
    message = error.message if path in error.message else f"{path}: {error.message}"
    return type(error)(error.code, message, hint=error.hint, **{**error.details, "path": path})

"""Common names for the tools and arguments of all clients."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.guard.syntax import language_of
from whet.learning.tables import NAMES, load_table, meanings, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_EDITORS = frozenset({"str_replace_based_edit_tool", "str_replace_editor", "text_editor", "editor"})
_EDITOR_COMMANDS = {"view": "Read", "create": "Write", "str_replace": "Edit", "insert": "Edit", "undo_edit": "Edit"}
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "powershell", "pwsh", "cmd", "powershell.exe", "cmd.exe"})
_SHELL = re.compile(
    r"(?:run|exec|execute|invoke|call|use|send)?[_.-]?(?:in[_.-]?)?(?:the[_.-]?)?(?:bash|shell|terminal|console|powershell|zsh)"
    r"(?:[_.-]?(?:command|commands|cmd|exec|execute|run|script|tool|call|session))?"
    r"|(?:run|exec|execute|invoke)[_.-]?(?:command|commands|cmd|script)"
)
"""Other names of tools that run shell commands."""
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_HUNK = re.compile(r"^@@.*$", re.MULTILINE)
"""The beginning of a part of a patch."""
_HEREDOC = re.compile(
    r"\s*(?:cd (?P<place>[^\s;&|<>]{1,400}) && )?(?:apply_patch|applypatch) *<<-? *"
    r"(?P<quote>['\"]?)(?P<end>\w{1,40})(?P=quote) *\n(?P<patch>\*\*\* Begin Patch\n.*\n) *(?P=end)\s*",
    re.DOTALL,
)
"""A shell command that only applies a patch."""


def canonical(name: str, given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the common names of a tool and its arguments; an unknown tool stays unchanged."""
    if name in _EDITORS:
        tool = _EDITOR_COMMANDS.get(str(given.get("command")), "Edit")
        given = {key: value for key, value in given.items() if key != "command"}
    else:
        plain = name.removeprefix("functions.").lower()
        tool = meanings(NAMES, "tools").get(plain) or ("Bash" if _SHELL.fullmatch(plain) else name)
    keys = load_table(NAMES)["arguments"].get(tool)
    if keys is None:
        return tool, given
    named = {key: next((alias for alias in aliases.split() if alias in given), key) for key, aliases in keys.items()}
    aliases = {alias: key for key, alias in named.items() if key not in given}
    given = {aliases.get(key, key): value for key, value in given.items()}
    if tool == "Bash":
        given = _typed(given)
        if isinstance(command := given.get("command"), str) and (found := _HEREDOC.fullmatch(command)):
            return _patched(found["patch"], {}, found["place"] or "")
    if tool == "Edit" and isinstance(patch := given.get("patch", given.get("input")), str) and "*** " in patch:
        return _patched(patch, given)
    return tool, given


def is_plumbing(tool: str) -> bool:
    """Return whether the tool only manages a client's session, so that its calls are not work."""
    server, _, name = tool.rpartition("__")
    clients = ("whet",) if server else load_table(NAMES)
    return any(name.lower() in words_of(NAMES, client, "plumbing") for client in clients)


def languages_of(tool: str, given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the languages of a tool's arguments that are code, by name."""
    if tool == "Bash":
        return {"command": "bash"}
    path = given.get("path")
    if tool not in ("Write", "Edit") or not isinstance(path, str):
        return {}
    return dict.fromkeys(("content", "old", "new", "old_string", "new_string"), language_of(path))


def _typed(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a shell with its command as typed, from words or lines."""
    command, more = given.get("command"), given.get("args")
    if isinstance(command, str) and isinstance(more, list) and more:
        rest = {key: value for key, value in given.items() if key != "args"}
        return {**rest, "command": f"{command} {spelled(more)}"}
    if command is None and isinstance(more, str | list):
        given = {("command" if key == "args" else key): value for key, value in given.items()}
        command = more
    if not isinstance(command, list):
        return given
    lines = len(command) > 1 and all(isinstance(line, str) and " " in line.strip() for line in command)
    return {**given, "command": "\n".join(command) if lines else spelled(command)}


def spelled(words: list[Any]) -> str:
    """Return a command given as words as one would type it, without a shell that only runs it."""
    parts = [word if isinstance(word, str) else str(word) for word in words]
    if len(parts) == 3 and parts[1] in {"-c", "-lc", "-Command", "/c"} and re.split(r"[\\/]", parts[0])[-1] in _SHELLS:
        return parts[2]
    import shlex

    return shlex.join(parts)


def _patched(patch: str, given: Mapping[str, Any], place: str = "") -> tuple[str, Mapping[str, Any]]:
    """Convert a patch of files below `place`: one added file is written, one changed file is edited.

    Everything else is an edit of several files.
    """
    patch = patch.replace("\r\n", "\n")
    files = [(kind, f"{place.rstrip('/')}/{path}" if place else path) for kind, path in _PATCHED.findall(patch)]
    if not files:
        return "Edit", given
    rest = {key: value for key, value in given.items() if key not in {"input", "patch"}}
    if len(files) == 1 and files[0][0] == "Add":
        return "Write", {"path": files[0][1], "content": _signed(patch, "+") + "\n"}
    if len(files) == 1 and files[0][0] == "Update":
        hunks = [hunk for hunk in _HUNK.split(patch.partition("*** Update File: ")[2]) if hunk.strip()]
        old, new = ("\n…\n".join(filter(None, (_signed(hunk, sign) for hunk in hunks))) for sign in "-+")
        return "Edit", {**rest, "path": files[0][1], "old": old, "new": new}
    return "Edit", {**rest, "path": files[0][1], "paths": [path for _, path in files], "patch": patch}


def _signed(hunk: str, sign: str) -> str:
    """Return the lines of a patch with this sign."""
    return "\n".join(line[1:] for line in hunk.splitlines() if line.startswith(sign))

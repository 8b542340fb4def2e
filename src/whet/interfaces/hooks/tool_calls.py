"""What a tool call of a client says about skills, and whether it failed. Pure.

A skill is brought into a conversation in one of three ways: the client's own tool for skills, our `skill_view`, or by
reading its main file, with a tool that reads or with a command of the shell.
"""

from __future__ import annotations

import json
import os.path
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.skill.finder import MAIN_FILES, is_main_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OWN_TOOLS = frozenset({"Skill", "activate_skill", "skill"})
"""Tools of clients that load a skill."""
_NAMES = ("skill", "name", "command")
"""Where they have its name."""
_PATHS = ("file_path", "filePath", "path", "absolute_path", "target_file", "file", "paths", "files")
"""Where tools that read files have the path."""
_COMMANDS = ("command", "cmd", "script")
_READERS = frozenset(
    {"cat", "head", "tail", "less", "more", "bat", "batcat", "nl", "sed", "awk", "type", "gc", "get-content"}
)
_WRITERS = re.compile(r"(?:write|edit|create|delete|patch|replace|move|rename|notebook)", re.IGNORECASE)
"""In the names of tools that change files."""
_LONGEST = 20_000
"""Characters of a command or of a result that are looked at."""
_WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|((?:[^\s\"'|;&<>()]|\\.)+)")
_FAILED_TEXT = re.compile(
    r"\s*(?:<tool_use_error>|Traceback \(most recent call last\)"
    r"|(?:Error|ERROR|error|Failed|failed)\s*:"
    r"|(?:Process exited with code|Exit code:?|exit code:?|exited with)\s*[1-9]\d*)"
)
_CODES = ("exit_code", "exitCode", "returncode", "return_code")


class TouchedSkill(NamedTuple):
    """A skill that a tool call brought into the conversation."""

    how: Literal["use", "view", "ours"]
    """The client's own way; its main file was read; our own tool, which counts by itself."""
    name: str = ""
    path: str = ""


def touched_skills(tool: str, given: Mapping[str, Any], cwd: str, home: str) -> tuple[TouchedSkill, ...]:
    """The skills that a tool call loaded, by name or by the path of the main file; relative paths start at `cwd`."""
    bare = re.split(r"__|:|\.", tool)[-1]
    if bare.endswith("skill_view"):
        name = given.get("name")
        if not isinstance(name, str) or not name or given.get("file_path"):
            return ()
        return (TouchedSkill("view" if tool == "skill_view" else "ours", name=name),)
    if tool in _OWN_TOOLS:
        values = (given.get(field) for field in _NAMES)
        name = next((value.strip().lstrip("/") for value in values if isinstance(value, str)), "")
        return (TouchedSkill("use", name=name),) if name else ()
    if _WRITERS.search(tool):
        return ()
    paths = (home + path[1:] if path.startswith("~/") else path for path in _paths_read(given) if _is_main(path))
    found = dict.fromkeys(os.path.normpath(os.path.join(cwd, path)) for path in paths)
    return tuple(TouchedSkill("view", path=path) for path in found)


def _paths_read(given: Mapping[str, Any]) -> Iterator[str]:
    """Every path that a tool call reads."""
    for field in _PATHS:
        value = given.get(field)
        for path in value if isinstance(value, list) else (value,):
            if isinstance(path, str):
                yield path
    for field in _COMMANDS:
        value = given.get(field)
        if isinstance(value, list):
            value = value[-1] if value and value[0] in ("bash", "sh", "zsh") else " ".join(map(str, value))
        if isinstance(value, str) and any(name in value for name in MAIN_FILES):
            yield from _paths_shown(value[:_LONGEST])


def _paths_shown(command: str) -> Iterator[str]:
    """The files that a command line of a shell shows."""
    for piece in re.split(r"&&|\|\||[|;&\n]", command):
        words = ["".join(found) for found in _WORD.findall(piece)]
        if words and os.path.basename(words[0]).lower() in _READERS and ">" not in piece and "-i" not in words:
            yield from words[1:]


def _is_main(path: str) -> bool:
    return is_main_file(os.path.basename(path.replace("\\", "/"))) and "\0" not in path


def is_failed(data: Mapping[str, Any], extra: Mapping[str, Any]) -> bool:
    """Does what a client tells of a tool call say that it failed?"""
    if any(data.get(field) for field in ("error", "error_message", "is_error")):
        return True
    results = (data.get(field) for field in ("tool_response", "tool_output", "tool_result"))
    return any(_is_failure(result) for result in (*results, extra.get("result"), extra.get("error")))


def _is_failure(result: Any) -> bool:
    if isinstance(result, str):
        if result[:1] == "{" and len(result) <= _LONGEST:
            try:
                return _is_failure(json.loads(result))
            except (ValueError, RecursionError):
                pass  # text after all
        return _FAILED_TEXT.match(result[:_LONGEST]) is not None
    if not isinstance(result, dict):
        return False
    if result.get("error") or result.get("is_error") is True or result.get("isError") is True:
        return True
    if result.get("success") is False or result.get("status") in ("error", "failed", "failure"):
        return True
    metadata = result.get("metadata")
    sources = (result, metadata if isinstance(metadata, dict) else {})
    return any(type(source.get(code)) is int and source[code] != 0 for source in sources for code in _CODES)

"""Metadata files beside SKILL.md: `skill.json` and Codex's `agents/openai.yaml`.

They fail open: a broken one is a diagnostic, and the skill is read without it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.library.files import read_file, settled
from whet.skill.diagnostics import Diagnostic
from whet.skill.dialects import NO_SIDECARS, Sidecars

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SIZE = 64 * 1024


class Beside(NamedTuple):
    """What was found beside a SKILL.md."""

    sidecars: Sidecars
    watched: tuple[tuple[str, int], ...]
    """Paths that were looked at and their modification times (-1: look again)."""
    notes: tuple[Diagnostic, ...]


NOTHING = Beside(NO_SIDECARS, (), ())


def read_beside(directory: str, *, has_folders: bool, now: int) -> Beside:
    """Read the metadata files of a skill; two system calls when there are none."""
    agents = f"{directory}{os.sep}agents"
    skill_json = f"{directory}{os.sep}skill.json"
    has_agents = has_folders and os.path.isdir(agents)
    if not has_agents and not os.access(skill_json, os.F_OK):
        return NOTHING
    notes: list[Diagnostic] = []
    openai_yaml = os.path.join(agents, "openai.yaml")
    found = Sidecars(
        _load(skill_json, _parse_json, notes),
        _load(openai_yaml, _parse_yaml, notes) if has_agents else None,
    )
    # The folder `agents` is watched too: openai.yaml appearing in it does not touch the skill's own folder.
    looked_at = (skill_json, *((agents, openai_yaml) if has_agents else ()))
    watched = tuple((path, _time(path, now)) for path in looked_at if os.path.exists(path))
    return Beside(found, watched, tuple(notes))


def _time(path: str, now: int) -> int:
    changed = os.stat(path).st_mtime_ns
    return changed if settled(changed, now) else -1


def _load(path: str, parse: Callable[[str], Any], notes: list[Diagnostic]) -> dict[str, Any] | None:
    name = os.path.basename(path)
    try:
        value = parse(read_file(path, MAX_SIZE).decode("utf-8-sig"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        notes.append(
            Diagnostic("sidecar-unreadable", "warning", f"{name} was ignored: {error}.", hint=f"Correct {name}.")
        )
        return None
    if isinstance(value, dict):
        return value
    notes.append(Diagnostic("sidecar-unreadable", "warning", f"{name} was ignored: it is not a mapping."))
    return None


def _parse_json(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _parse_yaml(text: str) -> Any:
    from whet.skill.block import BlockError, read_block

    try:
        return read_block(text.replace("\r\n", "\n")).values
    except BlockError as error:
        raise ValueError(error.message) from error

"""Metadata files beside SKILL.md: `skill.json` and Codex's `agents/openai.yaml`.

They fail open: a broken one is a diagnostic, and the skill is read without it. So does one that is a link out of the
skill.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import NotFoundError, WhetError
from whet.library.files import open_beneath, read_descriptor, seen_stamp
from whet.notes import Note
from whet.skill.dialects import NO_SIDECARS, Sidecars

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_SIZE = 64 * 1024


class Beside(NamedTuple):
    """What was found beside a SKILL.md."""

    sidecars: Sidecars
    watched: tuple[tuple[str, int], ...]
    """Paths that were looked at and the stamps they had (`whet.library.files.seen_stamp`)."""
    notes: tuple[Note, ...]


NOTHING = Beside(NO_SIDECARS, (), ())


def read_beside(directory: str, *, has_folders: bool, now: int, bases: Sequence[str] | None = None) -> Beside:
    """Read the metadata files of a skill; two system calls when there are none."""
    agents = f"{directory}{os.sep}agents"
    skill_json = f"{directory}{os.sep}skill.json"
    has_agents = has_folders and os.access(agents, os.F_OK) and os.path.isdir(agents)
    if not has_agents and not os.access(skill_json, os.F_OK):
        return NOTHING
    # Looked at before it is read: what changes in between is then read again next time. The folder `agents` is watched
    # too: openai.yaml appearing in it does not touch the skill's own folder.
    looked_at = (skill_json, *((agents, os.path.join(agents, "openai.yaml")) if has_agents else ()))
    watched = tuple((path, mark) for path in looked_at if (mark := _mark(path, now)) is not None)
    notes: list[Note] = []
    found = Sidecars(
        _load(directory, "skill.json", _parse_json, notes, bases),
        _load(directory, "agents/openai.yaml", _parse_yaml, notes, bases) if has_agents else None,
    )
    return Beside(found, watched, tuple(notes))


def _mark(path: str, now: int) -> int | None:
    try:
        return seen_stamp(os.stat(path), now)
    except OSError:
        return None


def _load(
    directory: str, name: str, parse: Callable[[str], Any], notes: list[Note], bases: Sequence[str] | None
) -> dict[str, Any] | None:
    reason: object = "it is not a mapping"
    try:
        value = parse(_read(directory, name, bases).decode("utf-8-sig"))
    except NotFoundError as error:
        if not os.path.lexists(os.path.join(directory, name)):
            return None
        value, reason = None, error
    except (OSError, ValueError, WhetError) as error:
        value, reason = None, error
    if isinstance(value, dict):
        return value
    message = f"{name} was ignored: {str(reason).removesuffix('.')}."
    notes.append(Note("sidecar-unreadable", "warning", message, f"Correct {name}."))
    return None


def _read(directory: str, name: str, bases: Sequence[str] | None) -> bytes:
    descriptor = open_beneath(directory, name, bases=bases)
    try:
        data = read_descriptor(descriptor, MAX_SIZE + 1)
    finally:
        os.close(descriptor)
    if len(data) > MAX_SIZE:
        raise ValueError(f"it is larger than {MAX_SIZE:,} bytes")
    return data


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

"""Resources and their contents as they go over the wire."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from whet.interfaces.mcp.addresses import address
from whet.interfaces.mcp.media import BINARY, DIRECTORY, MARKDOWN, TEXT, media_type
from whet.skill.finder import MAIN_FILE

if TYPE_CHECKING:
    from whet.interfaces.mcp.addresses import SkillPath
    from whet.library.card import Card
    from whet.values import Json


def main_resource(card: Card, path: SkillPath) -> Json:
    """The SKILL.md of a skill as a resource, from its card alone."""
    told = {"name": card.name, "description": card.description, "mimeType": MARKDOWN, "size": card.size}
    changed = _moment(max(card.mtime, ~card.mtime))
    return {"uri": address(path, MAIN_FILE), **told, **({"annotations": {"lastModified": changed}} if changed else {})}


def file_resource(path: SkillPath, file: str, size: int) -> Json:
    """Another file of a skill as a resource."""
    name = file.rpartition("/")[2]
    return {"uri": address(path, file), "name": name, "mimeType": media_type(file), "size": size}


def folder_resource(path: SkillPath, directory: str = "") -> Json:
    """A directory of a skill, the skill's own, or one above skills, as a resource."""
    name = directory.rpartition("/")[2] or path[-1]
    return {"uri": address(path, directory), "name": name, "mimeType": DIRECTORY}


def _moment(nanoseconds: int) -> str:
    """A file's time as MCP writes times; "" for one that no calendar has."""
    try:
        return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


def contents(uri: str, media: str, data: bytes) -> Json:
    """A resource as it is read: text where the very same bytes come out of it again, otherwise base64."""
    try:
        text = None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:
        return {"contents": [{"uri": uri, "mimeType": media, "blob": base64.b64encode(data).decode()}]}
    return {"contents": [{"uri": uri, "mimeType": TEXT if media == BINARY else media, "text": text}]}

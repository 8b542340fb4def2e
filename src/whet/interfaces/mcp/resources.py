"""Resources and their contents in the wire format.

Media types depend on names alone, the same on every machine. Two shapes that drafts of the Skills extension had are
still read by clients: `skill://index.json` and `_manifest`. The index is the discovery document 0.2.0 with addresses of
this server and, as the draft has it over MCP, without digests. Clients read it in one piece, so it ends after
`MAX_INDEX` skills or `MAX_BYTES` bytes; it then says so in `truncated` and `total`, which they pass over, and
`skills/list` has the rest.
"""

from __future__ import annotations

import base64
import json
import posixpath
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.interfaces.mcp.addresses import INDEX, address
from whet.interfaces.mcp.paging import weight
from whet.skill.finder import MAIN_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.interfaces.mcp.addresses import SkillPath
    from whet.library.card import Card
    from whet.values import Json


class Resource(NamedTuple):
    """A file or a directory as a resource; None for fields that are unknown."""

    uri: str
    name: str
    media: str
    title: str | None = None
    description: str | None = None
    size: int | None = None
    changed: str | None = None

    def to_json(self) -> Json:
        """Return the resource in the wire format."""
        told: Json = {"uri": self.uri, "name": self.name, "title": self.title, "description": self.description}
        told |= {"mimeType": self.media, "size": self.size}
        told |= {"annotations": {"lastModified": self.changed} if self.changed else None}
        return {key: value for key, value in told.items() if value is not None}


def main_resource(card: Card, path: SkillPath) -> Resource:
    """Return the SKILL.md of a skill as a resource, from its card alone."""
    changed = _moment(max(card.mtime, ~card.mtime))
    return Resource(address(path, MAIN_FILE), card.name, MARKDOWN, None, card.description, card.size, changed)


def file_resource(path: SkillPath, file: str, size: int) -> Resource:
    """Return another file of a skill as a resource."""
    return Resource(address(path, file), file.rpartition("/")[2], media_type(file), size=size)


def folder_resource(path: SkillPath, directory: str = "") -> Resource:
    """Return a directory of a skill, the skill's own, or one above skills, as a resource."""
    return Resource(address(path, directory), directory.rpartition("/")[2] or path[-1], DIRECTORY)


def _moment(nanoseconds: int) -> str:
    """Return a file's time in the format of MCP; "" if it is out of range."""
    try:
        return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


def contents(uri: str, media: str, data: bytes) -> Json:
    """Return the contents of a resource: as text if it encodes to the same bytes, otherwise base64."""
    try:
        text = None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:
        return {"contents": [{"uri": uri, "mimeType": media, "blob": base64.b64encode(data).decode()}]}
    return {"contents": [{"uri": uri, "mimeType": TEXT if media == BINARY else media, "text": text}]}


MARKDOWN = "text/markdown"
JSON = "application/json"
TEXT = "text/plain"
BINARY = "application/octet-stream"
DIRECTORY = "inode/directory"

_BY_EXTENSION = {
    "bash": "application/x-sh",
    "bat": TEXT,
    "bmp": "image/bmp",
    "c": "text/x-c",
    "cfg": TEXT,
    "cpp": "text/x-c",
    "cs": "text/x-csharp",
    "css": "text/css",
    "csv": "text/csv",
    "diff": "text/x-diff",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "go": "text/x-go",
    "gz": "application/gzip",
    "h": "text/x-c",
    "htm": "text/html",
    "html": "text/html",
    "ini": TEXT,
    "ipynb": "application/x-ipynb+json",
    "java": "text/x-java",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": JSON,
    "jsonl": "application/jsonl",
    "jsx": "text/javascript",
    "kt": "text/x-kotlin",
    "log": TEXT,
    "lua": "text/x-lua",
    "md": MARKDOWN,
    "markdown": MARKDOWN,
    "mdx": MARKDOWN,
    "mjs": "text/javascript",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "otf": "font/otf",
    "patch": "text/x-diff",
    "pdf": "application/pdf",
    "php": "text/x-php",
    "png": "image/png",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "ps1": TEXT,
    "py": "text/x-python",
    "r": "text/x-r",
    "rb": "text/x-ruby",
    "rs": "text/x-rust",
    "rst": "text/x-rst",
    "sh": "application/x-sh",
    "skill": "application/zip",
    "sql": "application/sql",
    "svg": "image/svg+xml",
    "swift": "text/x-swift",
    "tar": "application/x-tar",
    "tex": "text/x-tex",
    "tmpl": TEXT,
    "toml": "application/toml",
    "ts": "text/x-typescript",
    "tsv": "text/tab-separated-values",
    "tsx": "text/x-typescript",
    "ttf": "font/ttf",
    "txt": TEXT,
    "wasm": "application/wasm",
    "wav": "audio/wav",
    "webp": "image/webp",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
    "zsh": "application/x-sh",
}
_TEXT_NAMES = frozenset(("authors", "changelog", "dockerfile", "license", "makefile", "notice", "readme", "version"))


def media_type(path: str) -> str:
    """Return the media type for a file name; `application/octet-stream` if it is unknown."""
    name = posixpath.basename(path).lower()
    stem, dot, extension = name.rpartition(".")
    if dot and stem:
        return _BY_EXTENSION.get(extension, BINARY)
    return TEXT if name in _TEXT_NAMES else BINARY


SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MANIFEST = "_manifest"
"""The file of a skill that lists the others; not listed itself, and a real file of that name wins."""
MAX_INDEX = 1000
MAX_BYTES = 1024 * 1024
INDEX_RESOURCE = Resource(
    INDEX,
    "index.json",
    JSON,
    "Skills",
    "The skills of this server, for clients that do not ask for skills/list.",
)


def index(cards: Sequence[Card], paths: Mapping[str, SkillPath]) -> bytes:
    """Return the index of these skills."""
    skills: list[dict[str, str]] = []
    size = 0
    for card in cards[:MAX_INDEX]:
        url = address(paths[card.path], MAIN_FILE)
        skill = {"name": card.name, "type": "skill-md", "description": card.description, "url": url}
        size += weight(skill)
        if size > MAX_BYTES:
            break
        skills.append(skill)
    cut = {"truncated": True, "total": len(cards)} if len(skills) < len(cards) else {}
    return _json({"$schema": SCHEMA, "skills": skills, **cut})


def manifest(path: SkillPath, files: Sequence[tuple[str, str, int]]) -> bytes:
    """Return the manifest of a skill with these files: path, digest and size of each."""
    told = [{"path": file, "size": size, "hash": digest} for file, digest, size in files]
    return _json({"skill": "/".join(path), "files": told})


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()

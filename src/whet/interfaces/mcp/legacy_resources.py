"""Shapes that drafts of the Skills extension had and clients still read: `skill://index.json` and `_manifest`.

The index is the discovery document 0.2.0 with addresses of this server and, as the draft has it over MCP, without
digests. Clients read it in one piece, so it ends after `MAX_INDEX` skills or `MAX_BYTES` bytes; it then says so in
`truncated` and `total`, which they pass over, and `skills/list` has the rest.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whet.interfaces.mcp.addresses import INDEX, address
from whet.interfaces.mcp.media import JSON
from whet.interfaces.mcp.paging import weight
from whet.skill.finder import MAIN_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.interfaces.mcp.addresses import SkillPath
    from whet.library.card import Card
    from whet.values import Json

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MANIFEST = "_manifest"
"""The file of a skill that tells of the others; not listed, and a real file of that name comes first."""
MAX_INDEX = 1000
MAX_BYTES = 1024 * 1024
INDEX_RESOURCE = {
    "uri": INDEX,
    "name": "index.json",
    "title": "Skills",
    "description": "The skills of this server, for clients that do not ask for skills/list.",
    "mimeType": JSON,
}


def index(cards: Sequence[Card], paths: Mapping[str, SkillPath]) -> bytes:
    """The index of these skills."""
    skills: list[Json] = []
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
    """The manifest of a skill with these files: path, digest and size of each."""
    told = [{"path": file, "size": size, "hash": digest} for file, digest, size in files]
    return _json({"skill": "/".join(path), "files": told})


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode()

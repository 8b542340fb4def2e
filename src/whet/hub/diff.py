"""The changes between two versions: text, abilities and findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whet.errors import InvalidError
from whet.hub.checker import Held
from whet.hub.powers import compare_powers

if TYPE_CHECKING:
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

MOST_TEXT = 256 * 1024
"""Characters of a diff that are sent."""


def diff_versions(hub: Hub, who: Identity, owner: str, name: str, old: str, new: str) -> Json:
    """Return the changes from one version to another. Raise RefusedError if one of them is quarantined."""
    (_, before), (_, after) = (hub.archive(who, owner, name, version) for version in (old, new))
    one, other = (json.loads(hub.version(who, owner, name, version)) for version in (old, new))
    text = hub.checker.compare(before, after)
    if isinstance(text, Held):
        raise InvalidError("held", text.reason, hint="Compare the archives yourself.")
    added, removed = compare_powers(one["powers"], other["powers"])
    files, others = ({file["path"]: file for file in version["files"]} for version in (one, other))
    return {
        "owner": owner,
        "name": name,
        "from": old,
        "to": new,
        "files": {
            "added": [path for path in others if path not in files],
            "removed": [path for path in files if path not in others],
            "changed": [path for path in others if path in files and others[path] != files[path]],
        },
        "powers": {"added": added, "removed": removed},
        "verdict": {"from": one["verdict"]["verdict"], "to": other["verdict"]["verdict"]},
        "findings": {"new": _missing(one, other), "gone": _missing(other, one)},
        "diff": text[:MOST_TEXT],
        "truncated": len(text) > MOST_TEXT,
    }


def _missing(one: Json, other: Json) -> list[Json]:
    """Return the findings of `other` that `one` lacks; line numbers are ignored, because lines move."""
    known = {(found["rule"], found["file"], found["evidence"]) for found in one["verdict"]["findings"]}
    return [
        found
        for found in other["verdict"]["findings"]
        if (found["rule"], found["file"], found["evidence"]) not in known
    ]

"""A read-only view of the hub as ClawHub's API, for clients that support only that.

It shows only public content to every caller: nothing private, yanked or quarantined. A slug is the name of a skill;
without an owner, it is the skill of that name that was published first.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError
from whet.hub.cursors import make_cursor, read_cursor
from whet.hub.discovery import make_artifact
from whet.hub.tokens import ANYBODY
from whet.skill.versions import semver_key

if TYPE_CHECKING:
    from whet.hub.database import Transaction
    from whet.hub.registry import Hub
    from whet.values import Json

_SKILLS = """SELECT o.name, s.name, s.id, s.document, s.created, s.updated, s.downloads, s.latest
    FROM skills s JOIN owners o ON s.owner = o.id WHERE s.private = 0 AND s.latest <> ''"""
_NAMED = """AND s.name = ? AND (? = '' OR o.name = ?)
    ORDER BY (SELECT MIN(id) FROM versions WHERE skill = s.id) LIMIT 1"""
_MILLISECONDS = 1000


class Found(NamedTuple):
    """A public, installable skill."""

    owner: str
    name: str
    id: int
    document: str
    created: int
    updated: int
    downloads: int
    latest: str

    def to_json(self) -> Json:
        """Return its entry in lists."""
        said = json.loads(self.document)
        return {
            "slug": self.name,
            "displayName": self.name,
            "summary": said["description"],
            "tags": said["tags"],
            "stats": {"downloads": self.downloads},
            "createdAt": self.created * _MILLISECONDS,
            "updatedAt": self.updated * _MILLISECONDS,
        }


class Release(NamedTuple):
    """A public, installable version."""

    version: str
    published: int
    document: str

    def to_json(self) -> Json:
        """Return its entry in lists."""
        return {"version": self.version, "createdAt": self.published * _MILLISECONDS, "changelog": ""}


def list_skills(hub: Hub, limit: int, cursor: str) -> Json:
    """Return a page of the skills, by owner and name."""
    owner, name = read_cursor(cursor, 2) if cursor else ("", "")

    def ask(transaction: Transaction) -> list[tuple[Found, Release]]:
        sql = f"{_SKILLS} AND (o.name > ? OR (o.name = ? AND s.name > ?)) ORDER BY o.name, s.name LIMIT ?"
        rows = [Found(*row) for row in transaction.all(sql, owner, owner, name, limit + 1)]
        return [(row, _find_release(transaction, row, row.latest)) for row in rows]

    found = hub.database.read(ask)
    last = found[limit - 1][0] if len(found) > limit else None
    items = [{**skill.to_json(), "latestVersion": newest.to_json()} for skill, newest in found[:limit]]
    return {"items": items, "nextCursor": make_cursor(last.owner, last.name) if last else None}


def show_skill(hub: Hub, slug: str, owner: str) -> Json:
    """Return one skill with its newest version, its owner and its verdict."""

    def ask(transaction: Transaction) -> tuple[Found, Release]:
        skill = _find_skill(transaction, slug, owner)
        return skill, _find_release(transaction, skill, skill.latest)

    skill, newest = hub.database.read(ask)
    verdict = _judge(newest)
    return {
        "skill": skill.to_json(),
        "latestVersion": newest.to_json(),
        "owner": {"handle": skill.owner, "displayName": skill.owner},
        "moderation": {"isSuspicious": verdict != "clean", "isMalwareBlocked": False, "verdict": verdict},
    }


def list_versions(hub: Hub, slug: str, owner: str, limit: int, cursor: str) -> Json:
    """Return a page of the versions of a skill, the highest first."""
    after = read_cursor(cursor, 1)[0] if cursor else ""

    def ask(transaction: Transaction) -> list[Release]:
        skill = _find_skill(transaction, slug, owner)
        sql = """SELECT version, published, '' FROM versions
            WHERE skill = ? AND yanked IS NULL AND quarantined IS NULL"""
        return [Release(*row) for row in transaction.all(sql, skill.id)]

    found = sorted(hub.database.read(ask), key=lambda each: semver_key(each.version), reverse=True)
    found = [each for each in found if not after or semver_key(each.version) < semver_key(after)]
    more = make_cursor(found[limit - 1].version) if len(found) > limit else None
    return {"items": [each.to_json() for each in found[:limit]], "nextCursor": more}


def show_version(hub: Hub, slug: str, owner: str, version: str) -> Json:
    """Return one version with its files and its verdict."""

    def ask(transaction: Transaction) -> tuple[Found, Release]:
        skill = _find_skill(transaction, slug, owner)
        return skill, _find_release(transaction, skill, version)

    skill, found = hub.database.read(ask)
    files = [{name: file[name] for name in ("path", "size", "sha256")} for file in json.loads(found.document)["files"]]
    shown = {**found.to_json(), "files": files, "security": {"status": _judge(found)}}
    return {"skill": {"slug": skill.name, "displayName": skill.name}, "version": shown}


def search(hub: Hub, query: str, limit: int) -> Json:
    """Return the results of a search, best first."""
    results = [
        {
            "slug": each.skill.name,
            "displayName": each.skill.name,
            "ownerHandle": each.skill.owner,
            "summary": said["description"],
            "version": said["latest"],
            "score": each.score,
        }
        for each in hub.index.search(ANYBODY, query)[:limit]
        for said in (json.loads(each.skill.document),)
    ]
    return {"results": results}


def download(hub: Hub, slug: str, owner: str, version: str, tag: str, *, caller: str) -> bytes:
    """Return the zip of a version; without one, of the version of the tag, or of the newest."""

    def ask(transaction: Transaction) -> tuple[str, str, str]:
        skill = _find_skill(transaction, slug, owner)
        named = json.loads(skill.document)["tags"].get(tag, "") if tag else skill.latest
        return skill.owner, skill.name, _find_release(transaction, skill, version or named).version

    return make_artifact(hub, ANYBODY, hub.database.read(ask), caller=caller)


def _find_skill(transaction: Transaction, slug: str, owner: str) -> Found:
    row = transaction.one(f"{_SKILLS} {_NAMED}", slug.lower(), owner.lower(), owner.lower())
    if row is None:
        raise NotFoundError("skill-not-found", f"There is no skill {slug!r}.", hint="Search for it.")
    return Found(*row)


def _find_release(transaction: Transaction, skill: Found, version: str) -> Release:
    sql = """SELECT version, published, document FROM versions
        WHERE skill = ? AND version = ? AND yanked IS NULL AND quarantined IS NULL"""
    row = transaction.one(sql, skill.id, version)
    if row is None:
        message = f"There is no version {version!r} of {skill.owner}/{skill.name}."
        raise NotFoundError("version-not-found", message, hint="List its versions.")
    return Release(*row)


def _judge(release: Release) -> str:
    """Return the guard's verdict in ClawHub's words. A dangerous version is here only if a moderator released it."""
    return "clean" if json.loads(release.document)["verdict"]["verdict"] == "safe" else "suspicious"

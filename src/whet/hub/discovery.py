"""Lists for clients that do not know the hub's API: the index of agent skills, and a Claude marketplace.

Both list the newest version of every public skill: nothing private, yanked or quarantined. An entry links to a zip with
the files at its root. A name occurs once; if several owners use it, the skill that was published first counts. The list
of one owner has all of theirs.
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError
from whet.hub.checker import Held
from whet.sources.registries.registry import ANSWER_BYTES
from whet.sources.registries.wellknown import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.hub.cases import Place
    from whet.hub.database import Database, Transaction
    from whet.hub.registry import Hub
    from whet.hub.tokens import Identity
    from whet.values import Json

ARTIFACTS = ".well-known/agent-skills"
_ROWS = """SELECT o.name, s.name, s.latest, s.document, v.flat, s.downloads
    FROM skills s JOIN owners o ON s.owner = o.id JOIN versions v ON v.skill = s.id AND v.version = s.latest
    WHERE s.private = 0 AND (? = '' OR o.name = ?) ORDER BY (SELECT MIN(id) FROM versions WHERE skill = s.id)"""
_MOST_BYTES = ANSWER_BYTES - 64 * 1024
_MOST_TEXT = 1024
_REMEMBERED = 64


class Entry(NamedTuple):
    """The newest version of a skill."""

    owner: str
    name: str
    version: str
    description: str
    sha256: str
    """SHA-256 of its zip."""
    downloads: int

    @property
    def path(self) -> str:
        """Path of its zip, below the index of the whole hub."""
        return f"{self.owner}/{self.name}/{self.version}.zip"


class Discovery:
    """The lists of one hub, rebuilt when its log has grown. Thread-safe."""

    def __init__(self, database: Database, origin: str, title: str, url: str) -> None:
        self._database, self._origin, self._title, self._url = database, origin, title, url
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], tuple[int, str]] = OrderedDict()

    def index(self, owner: str = "") -> str:
        """Return the index of agent skills (0.2.0), as it is sent."""
        start = f"../../../{ARTIFACTS}/" if owner else ""

        def show(entry: Entry) -> Json:
            return {
                "name": entry.name,
                "type": "archive",
                "description": entry.description,
                "url": f"{start}{entry.path}",
                "digest": f"sha256:{entry.sha256}",
            }

        return self._list("index", owner, {"$schema": SCHEMAS[0]}, "skills", show)

    def marketplace(self, owner: str = "") -> str:
        """Return the file of a Claude marketplace, as it is sent; every skill is a plugin."""

        def show(entry: Entry) -> Json:
            address = f"{self._url}/{ARTIFACTS}/{entry.path}"
            return {
                "name": entry.name,
                "description": entry.description,
                "version": entry.version,
                "author": {"name": entry.owner},
                "source": {"source": "archive", "url": address, "sha256": entry.sha256},
                "strict": False,
                "skills": ["./"],
            }

        name = re.sub(r"[^a-z0-9]+", "-", f"{self._origin} {owner}".lower()).strip("-")
        head = {"name": name, "owner": {"name": owner or self._title}}
        return self._list("marketplace", owner, head, "plugins", show)

    def _list(self, kind: str, owner: str, head: Json, field: str, show: Callable[[Entry], Json]) -> str:
        size: int = self._database.read(lambda ask: ask.get("SELECT size FROM log_head WHERE id = 1"))[0]
        with self._lock:
            known = self._known.get((kind, owner))
        if known is not None and known[0] == size:
            return known[1]
        size, entries = self._database.read(lambda ask: _read(ask, owner))
        text = json.dumps({**head, field: _fit(entries, show)}, ensure_ascii=False)
        with self._lock:
            self._known[kind, owner] = size, text
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return text


def make_artifact(hub: Hub, who: Identity, place: Place, *, caller: str = "") -> bytes:
    """Return a reproducible zip with the files of a version at its root. Raise WhetError as `Hub.archive` does."""
    _sha256, archive = hub.archive(who, *place, caller=caller)
    made = hub.checker.flatten(archive)
    if isinstance(made, Held):
        raise InvalidError("held", made.reason, hint="Try again later.")
    return made


def _read(transaction: Transaction, owner: str) -> tuple[int, list[Entry]]:
    size: int = transaction.get("SELECT size FROM log_head WHERE id = 1")[0]
    entries: dict[str, Entry] = {}
    for holder, name, version, document, flat, downloads in transaction.all(_ROWS, owner, owner):
        description = json.loads(document)["description"][:_MOST_TEXT]
        entries.setdefault(name, Entry(holder, name, version, description, flat, downloads))
    return size, list(entries.values())


def _fit(entries: list[Entry], show: Callable[[Entry], Json]) -> list[Json]:
    """Return the entries by name; if there are more than clients read, those with the most downloads."""
    left = _MOST_BYTES
    kept: dict[str, Json] = {}
    for entry in sorted(entries, key=lambda each: (-each.downloads, each.name)):
        shown = show(entry)
        left -= len(json.dumps(shown, ensure_ascii=False).encode()) + 2
        if left < 0:
            break
        kept[entry.name] = shown
    return [kept[name] for name in sorted(kept)]

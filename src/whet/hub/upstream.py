"""Another hub, or a site with an index of skills, as a mirror reads it: nothing is trusted without proof.

The checks are those of a client that installs from a hub (`whet.sources.registries.hub`); the known state of its log is
in the database of this hub. Archives are not opened here: the checker does that in its own process.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NamedTuple, Protocol

from whet.errors import NotFoundError, RefusedError
from whet.hub.lifecycle import STATUSES, Status
from whet.hub.origin import Origin
from whet.library.roots import Place
from whet.sources.hub_logs import HubLogs, KnownLog
from whet.sources.model import FetchContext, Ref
from whet.sources.registries.hub import HubSource
from whet.sources.registries.wellknown import WellKnownSource
from whet.sources.transparency import LogKey
from whet.sources.web.addresses import Allowed, read_address
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.hub.database import Database, Transaction
    from whet.hub.settings import Mirror
    from whet.sources.registries.hub import LogAct
    from whet.sources.transparency import Checkpoint

_STALL, _TOTAL = 10.0, 60.0
"""Time limits of an upstream in seconds: without a byte, and for a whole answer."""
MOST_VERSIONS = 100
"""Versions of one skill that are listed."""


class Found(NamedTuple):
    """A skill of an upstream."""

    latest: str
    """Its newest version; "" if none can be installed, or if a site has no version numbers."""
    status: Status = Status()


class Offered(NamedTuple):
    """A fetched version."""

    archive: bytes
    version: str
    """"" if a site does not state it."""
    digest: str
    """Proved content digest; "" for a site."""
    origin: Origin
    yanked: str | None = None
    evals: bytes = b""
    """The publisher's report about its evals, as stored upstream."""


class Upstream(Protocol):
    """A source that can be mirrored. Every method raises WhetError, NotFoundError for missing skills."""

    mirror: Mirror

    def find(self, owner: str, name: str) -> Found:
        """Return a skill, by its names there."""

    def list_versions(self, owner: str, name: str) -> Sequence[tuple[str, str]]:
        """Return its versions, the highest first, each with its digest; none for a site."""

    def fetch(self, owner: str, name: str, version: str) -> Offered:
        """Return one version with its proof."""


class UpstreamMemory:
    """Known logs of other hubs, in the database of this one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, location: str) -> KnownLog | None:
        """Return the stored log of a hub."""
        sql = "SELECT key, checkpoint, chosen FROM upstreams WHERE url = ? AND key <> ''"
        row = self._database.read(lambda ask: ask.one(sql, location))
        return KnownLog(LogKey.parse(row[0]), row[1], bool(row[2])) if row else None

    def save(self, known: Mapping[str, KnownLog]) -> None:
        """Store the logs of hubs, by location."""
        sql = """INSERT INTO upstreams (url, key, checkpoint, chosen) VALUES (?, ?, ?, ?) ON CONFLICT (url)
            DO UPDATE SET key = excluded.key, checkpoint = excluded.checkpoint, chosen = excluded.chosen"""

        def change(transaction: Transaction) -> None:
            for location, log in known.items():
                transaction.run(sql, location, str(log.key), log.checkpoint, int(log.chosen))

        self._database.write(change)


def open_web(mirror: Mirror, private_hosts: Sequence[str]) -> Web:
    """Return a client for an upstream: the public web, and the upstream's own host and port if that is private.

    No redirect and no address in an answer leads anywhere else in a private network.
    """
    address = read_address(mirror.location)
    host = f"[{address.host}]" if ":" in address.host else address.host
    own = (f"{host}:{address.port}",) if address in Allowed(private_hosts) else ()
    return Web(env=os.environ, private_hosts=own, timeout=_STALL, total=_TOTAL)


def open_upstream(mirror: Mirror, web: Web, database: Database) -> Upstream:
    """Return the upstream of a mirror."""
    return SiteUpstream(mirror, web) if mirror.kind == "site" else HubUpstream(mirror, web, database)


def _context(web: Web, logs: HubLogs | None = None) -> FetchContext:
    nowhere = Place("", "", "", "", {})
    return FetchContext(nowhere, web, threading.Event(), lambda _: None, logs=logs)


class HubUpstream:
    """Another hub."""

    def __init__(self, mirror: Mirror, web: Web, database: Database) -> None:
        self.mirror, self._web, self._memory = mirror, web, UpstreamMemory(database)

    def open(self) -> tuple[HubSource, HubLogs]:
        """Return the hub and its known log. `keep` of the logs saves changes."""
        logs = HubLogs(self._memory)
        location = self.mirror.location
        if self.mirror.key:
            key, known = LogKey.parse(self.mirror.key), logs.known(location)
            if known is None or known.key != key:
                logs.choose(location, key)
        return HubSource(Ref("hub", location), _context(self._web, logs), self.mirror.token), logs

    def find(self, owner: str, name: str) -> Found:
        """Return a skill, by its names there."""
        source, _logs = self.open()
        answer = source.get_skill(f"{owner}/{name}")
        if answer.flag("private"):
            raise _private(f"{owner}/{name}")
        status = answer.prose("status")
        found = Status(status, answer.prose("successor"), answer.prose("reason")) if status in STATUSES else Status()
        return Found(answer.segment("latest") if "latest" in answer else "", found)

    def list_versions(self, owner: str, name: str) -> Sequence[tuple[str, str]]:
        """Return its versions, the highest first, each with its digest."""
        source, _logs = self.open()
        found = [
            (number, f"sha256:{entry.sha256('digest')}")
            for number, entry in source.list_versions(f"{owner}/{name}")
            if entry.prose("status") != "quarantined"
        ]
        return found[:MOST_VERSIONS]

    def fetch(self, owner: str, name: str, version: str, *, keep: bool = True) -> Offered:
        """Return one version with its proof; `keep` saves the state of the log."""
        source, logs = self.open()
        found = source.get_version(owner, name, version, pinned=True)
        if found.proof is None or found.proof.log_act:
            raise _private(f"{owner}/{name}")
        if keep:
            logs.keep()
        origin = Origin(self.mirror.location, found.proof)
        return Offered(source.get_archive(found), version, found.digest, origin, found.yanked, found.evals.encode())

    def peek(self) -> Checkpoint:
        """Return the newest checkpoint of the hub's log, which must continue the known one."""
        source, logs = self.open()
        return source.see_log(logs)

    def measure(self) -> int:
        """Return the size of the hub's log, which must continue the known one, and store its checkpoint."""
        source, logs = self.open()
        size = source.see_log(logs).size
        logs.keep()
        return size

    def list_acts(self, after: int) -> tuple[LogAct, ...]:
        """Return the next entries of its log."""
        return self.open()[0].list_acts(after)

    def prove(self, act: LogAct) -> Origin:
        """Return the origin of an act, if the hub's log has it."""
        source, logs = self.open()
        proof = source.prove_act(act, logs)
        logs.keep()
        return Origin(self.mirror.location, proof)


class SiteUpstream:
    """A site with an index of skills. It has no log: only the hashes of its index can be checked."""

    def __init__(self, mirror: Mirror, web: Web) -> None:
        self.mirror, self._web = mirror, web

    def find(self, owner: str, name: str) -> Found:  # noqa: ARG002  a site has no owners
        """Return a skill of the index."""
        self._source(name).inspect()
        return Found("")

    def list_versions(self, owner: str, name: str) -> Sequence[tuple[str, str]]:  # noqa: ARG002  a site has no versions
        """Return nothing: a site has only the current version."""
        return ()

    def list_artifacts(self) -> Mapping[str, str]:
        """Return the names in the index with the hash of each; "" if it has none."""
        return {offer.name: offer.revision for offer in self._source("").inspect().offers}

    def fetch(self, owner: str, name: str, version: str) -> Offered:
        """Return the current version of a skill."""
        source = self._source(name)
        offers = source.inspect().offers
        if not offers:
            raise NotFoundError("skill-not-found", f"There is no skill {owner}/{name}.", hint="Check the name.")
        archive, revision = source.get_bytes(offers[0])
        return Offered(archive, version, "", Origin(self.mirror.location, artifact=revision))

    def _source(self, name: str) -> WellKnownSource:
        return WellKnownSource(Ref("well-known", self.mirror.location, path=name), _context(self._web))


def _private(skill: str) -> RefusedError:
    hint = "A mirror has only public skills with a proof."
    return RefusedError("source-denied", f"{skill} is private there, or has no proof.", hint=hint)

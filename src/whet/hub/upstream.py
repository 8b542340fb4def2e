"""Another hub, or a site with an index of skills, as a mirror reads it: nothing of it is believed without its proof.

What checks a hub for people who install from it checks it here, too (`whet.sources.registries.hub`); what was seen of
its log is kept in the database of this hub. Archives are not opened here: the checker does that in its own process.
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
"""Seconds without a byte, and for a whole answer, after which an upstream is given up."""
MOST_VERSIONS = 100
"""Versions of one skill that are listed."""


class Found(NamedTuple):
    """A skill, as an upstream tells it."""

    latest: str
    """Its newest version; "" where there is none to install, or where a site gives no numbers."""
    status: Status = Status()


class Offered(NamedTuple):
    """A version, as it was fetched."""

    archive: bytes
    version: str
    """"" where a site does not say."""
    digest: str
    """The content digest that is proved for it; "" for a site."""
    origin: Origin
    yanked: str | None = None
    evals: bytes = b""
    """What its publisher says of its evals, as the upstream has it."""


class Upstream(Protocol):
    """What can be mirrored. Everything raises WhetError, NotFoundError for what is not there."""

    mirror: Mirror

    def find(self, owner: str, name: str) -> Found:
        """A skill, by the names that it has there."""

    def list_versions(self, owner: str, name: str) -> Sequence[tuple[str, str]]:
        """Its versions, the highest first, each with its digest; none for a site."""

    def fetch(self, owner: str, name: str, version: str) -> Offered:
        """One version with its proof."""


class UpstreamMemory:
    """What was seen of the logs of other hubs, in the database of this one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, location: str) -> KnownLog | None:
        """What is kept of a hub's log."""
        sql = "SELECT key, checkpoint, chosen FROM upstreams WHERE url = ? AND key <> ''"
        row = self._database.read(lambda ask: ask.one(sql, location))
        return KnownLog(LogKey.parse(row[0]), row[1], bool(row[2])) if row else None

    def save(self, known: Mapping[str, KnownLog]) -> None:
        """Keep this about the logs of hubs, by their locations."""
        sql = """INSERT INTO upstreams (url, key, checkpoint, chosen) VALUES (?, ?, ?, ?) ON CONFLICT (url)
            DO UPDATE SET key = excluded.key, checkpoint = excluded.checkpoint, chosen = excluded.chosen"""

        def change(transaction: Transaction) -> None:
            for location, log in known.items():
                transaction.run(sql, location, str(log.key), log.checkpoint, int(log.chosen))

        self._database.write(change)


def open_web(mirror: Mirror, private_hosts: Sequence[str]) -> Web:
    """What asks an upstream: the public web, and its own host and port if the operator says that it is private.

    Neither a redirect nor an address in an answer leads anywhere else in a private network.
    """
    address = read_address(mirror.location)
    host = f"[{address.host}]" if ":" in address.host else address.host
    own = (f"{host}:{address.port}",) if address in Allowed(private_hosts) else ()
    return Web(env=os.environ, private_hosts=own, timeout=_STALL, total=_TOTAL)


def open_upstream(mirror: Mirror, web: Web, database: Database) -> Upstream:
    """What a mirror reads from."""
    return SiteUpstream(mirror, web) if mirror.kind == "site" else HubUpstream(mirror, web, database)


def _context(web: Web, logs: HubLogs | None = None) -> FetchContext:
    nowhere = Place("", "", "", "", {})
    return FetchContext(nowhere, web, threading.Event(), lambda _: None, logs=logs)


class HubUpstream:
    """Another hub."""

    def __init__(self, mirror: Mirror, web: Web, database: Database) -> None:
        self.mirror, self._web, self._memory = mirror, web, UpstreamMemory(database)

    def open(self) -> tuple[HubSource, HubLogs]:
        """The hub, and what is known of its log. `keep` of the logs saves what is seen."""
        logs = HubLogs(self._memory)
        location = self.mirror.location
        if self.mirror.key:
            key, known = LogKey.parse(self.mirror.key), logs.known(location)
            if known is None or known.key != key:
                logs.choose(location, key)
        return HubSource(Ref("hub", location), _context(self._web, logs), self.mirror.token), logs

    def find(self, owner: str, name: str) -> Found:
        """A skill, by the names that it has there."""
        source, _logs = self.open()
        answer = source.get_skill(f"{owner}/{name}")
        if answer.flag("private"):
            raise _private(f"{owner}/{name}")
        status = answer.prose("status")
        told = Status(status, answer.prose("successor"), answer.prose("reason")) if status in STATUSES else Status()
        return Found(answer.segment("latest") if "latest" in answer else "", told)

    def list_versions(self, owner: str, name: str) -> Sequence[tuple[str, str]]:
        """Its versions, the highest first, each with its digest."""
        source, _logs = self.open()
        found = [
            (number, f"sha256:{entry.sha256('digest')}")
            for number, entry in source.list_versions(f"{owner}/{name}")
            if entry.prose("status") != "quarantined"
        ]
        return found[:MOST_VERSIONS]

    def fetch(self, owner: str, name: str, version: str, *, keep: bool = True) -> Offered:
        """One version with its proof; `keep` remembers what is seen of the log."""
        source, logs = self.open()
        found = source.get_version(owner, name, version, pinned=True)
        if found.proof is None or found.proof.log_act:
            raise _private(f"{owner}/{name}")
        if keep:
            logs.keep()
        origin = Origin(self.mirror.location, found.proof)
        return Offered(source.get_archive(found), version, found.digest, origin, found.yanked, found.evals.encode())

    def peek(self) -> Checkpoint:
        """The newest checkpoint of the hub's log, which must extend what was seen before."""
        source, logs = self.open()
        return source.see_log(logs)

    def measure(self) -> int:
        """The size of the hub's log, which must extend what was seen before. Remembers the checkpoint."""
        source, logs = self.open()
        size = source.see_log(logs).size
        logs.keep()
        return size

    def list_acts(self, after: int) -> tuple[LogAct, ...]:
        """The next entries of its log."""
        return self.open()[0].list_acts(after)

    def prove(self, act: LogAct) -> Origin:
        """Where an act comes from, if the hub's log has it."""
        source, logs = self.open()
        proof = source.prove_act(act, logs)
        logs.keep()
        return Origin(self.mirror.location, proof)


class SiteUpstream:
    """A site with an index of skills. It has no log: the hashes of its index are all that there is to check."""

    def __init__(self, mirror: Mirror, web: Web) -> None:
        self.mirror, self._web = mirror, web

    def find(self, owner: str, name: str) -> Found:  # noqa: ARG002  a site has no owners
        """A skill of the index."""
        self._source(name).inspect()
        return Found("")

    def list_versions(self, owner: str, name: str) -> Sequence[tuple[str, str]]:  # noqa: ARG002  a site has no versions
        """None: a site has only what it shows now."""
        return ()

    def list_artifacts(self) -> Mapping[str, str]:
        """What the index lists: names, and the hash of each; "" where it gives none."""
        return {offer.name: offer.revision for offer in self._source("").inspect().offers}

    def fetch(self, owner: str, name: str, version: str) -> Offered:
        """What the site shows now."""
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

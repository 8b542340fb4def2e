"""A pull-through mirror: skills that are missing here are fetched from another hub or a site on request.

A fetched version is proved by the log of its hub, scanned by our own guard, compared with the skills of others, and
recorded in our own log as the act `mirror` with the entry and the checkpoint of that hub. From then on it is served
from here, whether or not the other hub answers. It never changes: other bytes for a version that exists here are
refused, and the moderators get a case.

An owner is either mirrored or local, never both: no mirror can add a version to a skill that is published here. Changes
of a mirrored skill are repeated here: the log of the other hub is read regularly from the last position, and every
relevant act is proved before it is repeated.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import FailedError, InvalidError, NotFoundError, RefusedError, WhetError
from whet.hub.cases import open_case
from whet.hub.checker import Held
from whet.hub.lifecycle import STATUSES, Status, write_status
from whet.hub.registry import check_reason, compare, time_text
from whet.hub.upstream import HubUpstream, SiteUpstream, open_upstream, open_web
from whet.skill.versions import is_semver, semver_key
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whet.hub.cases import Place
    from whet.hub.database import Transaction
    from whet.hub.origin import Origin
    from whet.hub.registry import Hub
    from whet.hub.settings import Mirror
    from whet.hub.upstream import Found, Offered, Upstream
    from whet.sources.registries.hub import LogAct

_LOG = logging.getLogger(__name__)
_FOLLOW = 60
"""Seconds between two checks of an upstream for changes."""
_AGAIN = 60.0
"""Seconds before an upstream is asked again for something that is missing or was refused."""
_DOWN = 20.0
"""Seconds before an upstream that did not answer is asked again."""
_PATIENCE = 20.0
"""Seconds to fetch all versions of a skill at once; the rest comes with the next request."""
_REMEMBERED = 10_000
_PAGES = 50
"""Pages of an upstream's log that are read at once."""
_LOUD = ("private-address", "not-https", "too-many-redirects", "log-key-changed")
"""Refusals about the behaviour of an upstream, and not about what it may serve."""


class MirrorState(NamedTuple):
    """The state of a mirror."""

    url: str
    kind: str
    key: str
    """Key of the hub's log; "" before the first contact, and for a site."""
    entries: int
    """Number of entries read from the hub's log; -1 for none."""
    skills: int
    versions: int
    problem: str
    """Last problem; "" if there was none."""

    def to_json(self) -> Json:
        """Return the state as JSON."""
        return answer_json(self)


class Mirrors:
    """The mirrors of one hub. Thread-safe, and safe for several processes on one database."""

    def __init__(self, hub: Hub, upstreams: tuple[Upstream, ...] | None = None) -> None:
        """`upstreams` replace those of the hub's configuration."""
        self.hub = hub
        settings = hub.settings
        self._webs = [open_web(mirror, settings.private_hosts) for mirror in settings.mirrors]
        pairs = zip(settings.mirrors, self._webs, strict=True)
        made = tuple(open_upstream(mirror, web, hub.database) for mirror, web in pairs)
        self.upstreams = made if upstreams is None else upstreams
        self._lock = threading.Lock()
        self._flights: dict[tuple[str, ...], tuple[threading.Lock, int]] = {}
        self._failed: OrderedDict[tuple[str, ...], tuple[float, WhetError]] = OrderedDict()
        self._listed: set[tuple[str, str]] = set()

    def covers(self, owner: str) -> bool:
        """Return whether an owner's skills may come from a mirror."""
        return any(upstream.mirror.theirs(owner) for upstream in self.upstreams)

    def close(self) -> None:
        """Close connections."""
        for web in self._webs:
            web.close()

    def meet(self, mirror: Mirror) -> None:
        """Contact an upstream for the first time and store the key of a hub's log. Raises WhetError."""
        for upstream in self.upstreams:
            if upstream.mirror != mirror:
                continue
            if isinstance(upstream, HubUpstream):
                self._begin(upstream)
            elif isinstance(upstream, SiteUpstream):
                upstream.list_artifacts()

    # requests of readers

    def pull(self, owner: str, name: str, version: str = "") -> bool:
        """Fetch a missing skill, or a version of it; return whether it is here now.

        Raises NotFoundError if an upstream cannot be asked, and RefusedError `mirror-refused` if its answer cannot be
        trusted.
        """
        for upstream, theirs in self._for(owner):
            key = (upstream.mirror.location, owner, name, version)
            with self._alone(key[:3]):
                if self._is_here(owner, name, version):
                    return True
                failed = self._recent(key) or self._attempt(upstream, theirs, key)
                if failed is None:
                    return self._is_here(owner, name, version)
                if isinstance(failed, FailedError):
                    message = f"{owner}/{name} {version}".rstrip() + f" is not here, and {key[0]} does not answer"
                    hint = "Try again later."
                    raise NotFoundError("mirror-unreachable", f"{message}: {failed.message}", hint=hint)
                if not isinstance(failed, NotFoundError):
                    raise failed
        return False

    def _attempt(self, upstream: Upstream, theirs: str, key: tuple[str, str, str, str]) -> WhetError | None:
        """Fetch a requested version; return and remember the error, so that not every reader waits for it."""
        url, owner, name, version = key
        try:
            self._pull(upstream, theirs, (owner, name, version))
        except FailedError as error:
            self._note(upstream, error.message)
            self._keep_failed(key[:1], error, _DOWN)
            return error
        except NotFoundError as error:
            failed: WhetError = error
        except WhetError as error:
            if _is_loud(error):
                self._refuse(upstream, (owner, name, version), error)
            message = f"{owner}/{name} is not mirrored from {url}: {error.message}"
            failed = RefusedError("mirror-refused", message, hint="Ask the operator of this hub.")
        else:
            return None
        self._keep_failed(key, failed, _AGAIN)
        return failed

    def pull_versions(self, owner: str, name: str) -> None:
        """Fetch the missing versions of a mirrored skill, as far as the upstream answers."""
        for upstream, theirs in self._for(owner):
            with self._alone((upstream.mirror.location, owner, name)):
                if (owner, name) in self._listed or not self._is_here(owner, name):
                    continue
                key = (upstream.mirror.location,)
                if self._recent(key) is None:
                    try:
                        self._pull_all(upstream, theirs, owner, name)
                    except WhetError as error:  # existing versions are served
                        self._note(upstream, error.message)
                        self._keep_failed(key, error, _DOWN)

    def _pull_all(self, upstream: Upstream, theirs: str, owner: str, name: str) -> None:
        ends, known = time.monotonic() + _PATIENCE, self._digests(owner, name)
        for version, digest in upstream.list_versions(theirs, name):
            if time.monotonic() > ends:
                return
            if known.get(version) != digest:
                self._try(upstream, theirs, (owner, name, version))
        self._listed.add((owner, name))

    def _try(self, upstream: Upstream, theirs: str, place: Place) -> None:
        """Fetch one version; a refused one does not stop the others. Raises FailedError."""
        try:
            self._store(upstream, place, upstream.fetch(theirs, *place[1:]))
        except FailedError:
            raise
        except WhetError as error:
            if _is_loud(error):
                self._refuse(upstream, place, error)

    def _for(self, owner: str) -> Iterator[tuple[Upstream, str]]:
        """Yield the upstreams that may have skills of an owner, and the owner's name there."""
        found = [(upstream, theirs) for upstream in self.upstreams if (theirs := upstream.mirror.theirs(owner))]
        if not found:
            return
        row = self.hub.database.read(lambda ask: ask.one("SELECT mirror FROM owners WHERE name = ?", owner))
        yield from ((each, theirs) for each, theirs in found if row is None or row[0] == each.mirror.location)

    def _pull(self, upstream: Upstream, theirs: str, place: Place) -> None:
        owner, name, version = place
        if isinstance(upstream, HubUpstream):
            self._begin(upstream)
        found = upstream.find(theirs, name)
        if isinstance(upstream, SiteUpstream):
            self._store(upstream, place, upstream.fetch(theirs, name, ""))
            return
        known = self._is_here(owner, name)
        if version:
            self._store(upstream, place, upstream.fetch(theirs, name, version), found)
        if found.latest and found.latest != version and not known:
            newest = (owner, name, found.latest)
            if version:
                with suppress(FailedError):
                    self._try(upstream, theirs, newest)
            else:
                self._store(upstream, newest, upstream.fetch(theirs, name, found.latest), found)

    def bring(self, upstream: HubUpstream, theirs: str, name: str, version: str) -> bool:
        """Store a version from a bundle; return whether it is new here. Raises WhetError."""
        owner = f"{upstream.mirror.prefix}{theirs}"
        place = (owner, name, version)
        if upstream.mirror.theirs(owner) != theirs:
            raise RefusedError("mirror-refused", f"{theirs} is not mirrored here.", hint="See `owners` in hub.toml.")
        with self._alone((upstream.mirror.location, owner, name)):
            offered = upstream.fetch(theirs, name, version)
            if self._digests(owner, name).get(version) == offered.digest:
                return False
            self._store(upstream, place, offered)
            return True

    def catch_up(self, upstream: HubUpstream, acts: Iterable[LogAct], size: int, *, whole: bool) -> int:
        """Repeat the acts of a bundle here; return their number. `whole`: there is no gap before them."""
        done = sum(self._do(upstream, act) for act in acts)
        if whole or self._position(upstream) < 0:
            self._move(upstream.mirror.location, size)
        return done

    # storing

    def _store(self, upstream: Upstream, place: Place, offered: Offered, found: Found | None = None) -> None:
        """Check, scan, store and log a version. Raises WhetError."""
        hub, (owner, name, _) = self.hub, place
        origin = offered.origin
        checked = hub.examine((owner, name, place[2] or "0.0.0"), offered.archive)
        if isinstance(checked, Held):
            raise InvalidError("held", checked.reason, hint="Ask the operator of the other hub for a smaller version.")
        version = offered.version or self._number(owner, name, checked.version, checked.digest)
        place = (owner, name, version)
        if not offered.version and not is_semver(checked.version):
            checked = checked._replace(version="")  # the version of a site's skill may not be a semantic version
        compare(checked, name, version, offered.digest or checked.digest)
        kept, who = hub.keep(place, offered.archive, checked, offered.evals), origin.identity()
        if (kept.evals.to_json() if kept.evals else None) != origin.evals_json():
            hint = "Ask the operator of the mirrored hub."
            raise InvalidError("bad-evals", "The statement about its evals is not the one in the log.", hint=hint)

        def change(transaction: Transaction) -> None:
            hub.add_version(transaction, who, place, kept, origin)
            if offered.yanked is not None:
                hub.mark(transaction, who, place, "yank", "yanked", _reason(offered.yanked), hub.now())
            if found is not None:
                self._set_status(transaction, upstream, origin, (owner, name), found.status)
            sql = "INSERT INTO upstreams (url) VALUES (?) ON CONFLICT (url) DO UPDATE SET problem = ''"
            transaction.run(sql, upstream.mirror.location)

        hub.database.write(change)

    def _number(self, owner: str, name: str, said: str, digest: str) -> str:
        """Return the version of a site's skill: its own, or the next number."""
        if is_semver(said):
            return said
        known = self._digests(owner, name)
        same = [version for version, content in known.items() if content == digest]
        if same:
            return same[0]
        major, minor, patch = semver_key(max(known, key=semver_key, default="0.0.0"))[0][:3]
        return f"{major}.{minor}.{patch + 1}"

    def _set_status(
        self, transaction: Transaction, upstream: Upstream, origin: Origin, skill: tuple[str, str], status: Status
    ) -> None:
        """Copy the status of a skill from the upstream; a successor is named only if it exists here."""
        successor = f"{upstream.mirror.prefix}{status.successor}" if status.successor else ""
        sql = "SELECT 1 FROM skills s JOIN owners o ON s.owner = o.id WHERE o.name = ? AND s.name = ?"
        found = transaction.one(sql, *successor.partition("/")[::2])
        reason = _reason(status.reason) if status.status != "active" else ""
        copied = Status(status.status, successor if found else "", reason)
        write_status(self.hub, transaction, origin.identity(), skill, copied)

    # following

    def follow(self) -> None:
        """Repeat the changes of every upstream whose check is due."""
        for upstream in self.upstreams:
            if not self._claim(upstream.mirror.location):
                continue
            try:
                if isinstance(upstream, HubUpstream):
                    self.follow_log(upstream)
                elif isinstance(upstream, SiteUpstream):
                    self._follow_site(upstream)
            except FailedError as error:
                self._note(upstream, error.message)
            except WhetError as error:
                self._refuse(upstream, ("", "", ""), error)

    def _claim(self, url: str) -> bool:
        """Return whether a check of an upstream is due, and claim it for this process."""
        now = self.hub.now()

        def change(transaction: Transaction) -> bool:
            transaction.run("INSERT INTO upstreams (url) VALUES (?) ON CONFLICT (url) DO NOTHING", url)
            sql = "UPDATE upstreams SET tried = ? WHERE url = ? AND tried <= ?"
            return transaction.run(sql, now, url, now - _FOLLOW) == 1

        return self.hub.database.write(change)

    def follow_log(self, upstream: HubUpstream) -> int:
        """Read the log of a hub from the last position; return the number of acts repeated here."""
        position, done = self._begin(upstream), 0
        size = upstream.measure()
        for _ in range(_PAGES):
            acts = upstream.list_acts(position) if position < size else ()
            if not acts:
                break
            done += sum(self._do(upstream, act) for act in acts)  # repeating one again changes nothing
            position = acts[-1].number + 1
            self._move(upstream.mirror.location, position)
        return done

    def _begin(self, upstream: HubUpstream) -> int:
        """Return the last position in the log of a hub; at the first contact, its end: a fetch brings older acts."""
        position = self._position(upstream)
        if position < 0:
            position = upstream.measure()
            self._move(upstream.mirror.location, position)
        return position

    def _position(self, upstream: HubUpstream) -> int:
        sql, url = "SELECT position FROM upstreams WHERE url = ?", upstream.mirror.location
        row = self.hub.database.read(lambda ask: ask.one(sql, url))
        return -1 if row is None else int(row[0])

    def _move(self, url: str, position: int) -> None:
        sql = "UPDATE upstreams SET position = ?, problem = '' WHERE url = ? AND position < ?"
        self.hub.database.write(lambda change: change.run(sql, position, url, position))

    def _do(self, upstream: HubUpstream, act: LogAct) -> bool:
        """Repeat an act of an upstream here, if it is about something mirrored; return whether anything changed."""
        said = act.said
        kind, theirs, name, version = (said.prose(field) for field in ("act", "owner", "name", "version"))
        owner = f"{upstream.mirror.prefix}{theirs}"
        if kind not in _FOLLOWED or upstream.mirror.theirs(owner) != theirs or not self._is_mirrored(upstream, owner):
            return False
        place = (owner, name, version)
        known = self._digests(owner, name)
        here, new = version in known, kind in ("publish", "mirror")
        if not known or not (here or new or kind in ("release", "status")):
            return False
        if here and new and said.optional_text("digest") == known[version]:
            return False
        origin, size = upstream.prove(act), self.hub.log.size()
        reason = said.prose("reason")
        if here and new:
            self._refuse(upstream, place, origin.changed(place))
        elif kind == "status":
            status = said.prose("status")
            told = Status(status if status in STATUSES else "active", said.prose("successor"), reason)
            self.hub.database.write(lambda change: self._set_status(change, upstream, origin, (owner, name), told))
        elif here:
            self.hub.database.write(lambda change: self._mark(change, origin, place, kind, reason))
        else:
            self._try(upstream, theirs, place)
        return self.hub.log.size() > size

    def _mark(self, transaction: Transaction, origin: Origin, place: Place, act: str, reason: str) -> None:
        """Yank or quarantine a version as upstream did; only this hub releases its own quarantine."""
        column = _FOLLOWED[act]
        value: str | None = _reason(f"{origin.name}: {reason}" if column == "quarantined" else reason)
        who = origin.identity()
        before = self.hub.find_version(transaction, who, *place).quarantined
        if act == "quarantine" and before is not None:
            return
        if act == "release" and (before is None or not before.startswith(f"{origin.name}: ")):
            return
        if act in ("unyank", "release"):
            value = None
        self.hub.mark(transaction, who, place, act, column, value, self.hub.now(), why=reason)

    def _follow_site(self, upstream: SiteUpstream) -> None:
        owner = upstream.mirror.owner
        sql = """SELECT s.name, v.document FROM skills s JOIN owners o ON s.owner = o.id JOIN versions v
            ON v.skill = s.id WHERE o.name = ? AND o.mirror = ? ORDER BY v.id"""
        rows = self.hub.database.read(lambda ask: ask.all(sql, owner, upstream.mirror.location))
        listed = upstream.list_artifacts() if rows else {}
        for name in dict.fromkeys(row[0] for row in rows):
            known = [row[1] for row in rows if row[0] == name]
            if name in listed and not (listed[name] and f'"{listed[name]}"' in known[-1]):
                place = (owner, name, "")
                try:
                    self._store(upstream, place, upstream.fetch(owner, name, ""))
                except WhetError as error:
                    if not _is_loud(error):
                        raise
                    self._refuse(upstream, place, error)

    # state

    def states(self) -> tuple[MirrorState, ...]:
        """Return the state of every mirror."""
        return tuple(self._state(upstream.mirror.location, upstream.mirror.kind) for upstream in self.upstreams)

    def _state(self, url: str, kind: str) -> MirrorState:
        def ask(transaction: Transaction) -> MirrorState:
            sql = "SELECT key, position, problem FROM upstreams WHERE url = ?"
            key, position, problem = transaction.one(sql, url) or ("", -1, "")
            sql = "SELECT COUNT(*) FROM skills s JOIN owners o ON s.owner = o.id WHERE o.mirror = ?"
            skills = transaction.get(sql, url)[0]
            sql = """SELECT COUNT(*) FROM versions v JOIN skills s ON v.skill = s.id JOIN owners o ON s.owner = o.id
                WHERE o.mirror = ?"""
            return MirrorState(url, kind, key, position, skills, transaction.get(sql, url)[0], problem)

        return self.hub.database.read(ask)

    def _is_here(self, owner: str, name: str, version: str = "") -> bool:
        digests = self._digests(owner, name)
        return version in digests if version else bool(digests)

    def _digests(self, owner: str, name: str) -> dict[str, str]:
        """Return the local versions of a skill with their digests."""
        sql = """SELECT v.version, v.digest FROM versions v JOIN skills s ON v.skill = s.id
            JOIN owners o ON s.owner = o.id WHERE o.name = ? AND s.name = ?"""
        return dict(self.hub.database.read(lambda ask: ask.all(sql, owner, name)))

    def _is_mirrored(self, upstream: Upstream, owner: str) -> bool:
        sql = "SELECT 1 FROM owners WHERE name = ? AND mirror = ?"
        return self.hub.database.read(lambda ask: ask.one(sql, owner, upstream.mirror.location)) is not None

    # errors

    def _refuse(self, upstream: Upstream, place: Place, error: WhetError) -> None:
        """Report a violation of an upstream: in the log of this hub, in the queue, and to its operator."""
        hub, url = self.hub, upstream.mirror.location
        now, problem = hub.now(), f"{error.code}: {error.message}"

        def change(transaction: Transaction) -> bool:
            hub.log.lock(transaction)
            transaction.run("INSERT INTO upstreams (url) VALUES (?) ON CONFLICT (url) DO NOTHING", url)
            if transaction.get("SELECT problem FROM upstreams WHERE url = ?", url)[0] == problem:
                return False
            transaction.run("UPDATE upstreams SET problem = ? WHERE url = ?", problem, url)
            owner, name, version = place
            act = {"act": "mirror-refused", "url": url, "owner": owner, "name": name, "version": version}
            said = {"code": error.code, "reason": error.message[:500], "time": time_text(now)}
            hub.log.append(transaction, owner, "", {**act, **said})
            open_case(transaction, place, "mirror", problem, now)
            return True

        if hub.database.write(change):
            _LOG.error("The mirror of %s is refused: %s", url, problem)

    def _note(self, upstream: Upstream, problem: str) -> None:
        url = upstream.mirror.location
        sql = """INSERT INTO upstreams (url, problem) VALUES (?, ?)
            ON CONFLICT (url) DO UPDATE SET problem = excluded.problem"""
        self.hub.database.write(lambda change: change.run(sql, url, problem))

    def _recent(self, key: tuple[str, ...]) -> WhetError | None:
        """Return a recent error, so that an upstream is not asked again; None if there was none."""
        with self._lock:
            for each in (key, key[:1]):
                until, error = self._failed.get(each, (0.0, None))
                if time.monotonic() < until:
                    return error
        return None

    def _keep_failed(self, key: tuple[str, ...], error: WhetError, seconds: float) -> None:
        with self._lock:
            self._failed[key] = time.monotonic() + seconds, error
            self._failed.move_to_end(key)
            while len(self._failed) > _REMEMBERED:
                self._failed.popitem(last=False)

    @contextmanager
    def _alone(self, key: tuple[str, ...]) -> Iterator[None]:
        """Let one thread at a time fetch a skill: the others wait, and then find it here."""
        with self._lock:
            lock, waiting = self._flights.get(key, (threading.Lock(), 0))
            self._flights[key] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._flights[key]
                if waiting == 1:
                    del self._flights[key]
                else:
                    self._flights[key] = lock, waiting - 1


_FOLLOWED = {
    "publish": "",
    "mirror": "",
    "status": "",
    "yank": "yanked",
    "unyank": "yanked",
    "quarantine": "quarantined",
    "release": "quarantined",
}
"""Acts that are repeated here, and the column of a version that they change."""


def _is_loud(error: WhetError) -> bool:
    """Return whether an error is about what an upstream sent, and not about what it lacks or whether it answers."""
    return isinstance(error, InvalidError) or error.code in (*_LOUD, "mirrored")


def _reason(text: str) -> str:
    """Return a valid reason for the log from an upstream's text."""
    return check_reason(text[:500] or "No reason is given.")

"""Keys and newest checkpoints of hub logs, so that no hub can show different logs to different users.

The first contact with a hub fixes its key. From then on, every installed version must be proved under that key, and
every checkpoint must continue the previous one. The state directory remembers both for each hub, and locks contain the
proofs of their entries: a hub that shows one log to you and another to the author of a lock is detected when you
install from that lock.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Protocol

from whet.errors import InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.records import NamedTuple
from whet.sources.model import LogProof
from whet.sources.refs.parse import read_remote
from whet.sources.registries.registry import Answer
from whet.sources.transparency import LogKey, Proof, check_consistency, diverged, read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.sources.lock.file import Installed
    from whet.sources.transparency import Checkpoint
    from whet.store.state import StateDatabase
    from whet.values import Json

    ReadConsistency = Callable[[int, int], Sequence[bytes]]
    """Ask a hub for the proof that its log of one size is a prefix of its log of a larger size."""


_PUBLISHED = ("publish", "mirror")
"""Acts that add a version to a hub: from its publisher, or from another hub or site."""


class KnownLog(NamedTuple):
    """The key and newest checkpoint of a hub's log."""

    key: LogKey
    checkpoint: str
    """Newest signed checkpoint; "" for none."""
    chosen: bool = False
    """Whether the user chose the key; otherwise the hub named it at the first contact."""


class LogMemory(Protocol):
    """Storage of known logs."""

    def load(self, location: str) -> KnownLog | None:
        """Return the stored log of a hub."""

    def save(self, known: Mapping[str, KnownLog]) -> None:
        """Store the logs of hubs, by location."""


class StateMemory:
    """Storage in the state directory of one user. A write that fails is ignored."""

    def __init__(self, state: StateDatabase) -> None:
        self._state = state

    def load(self, location: str) -> KnownLog | None:
        """Return the stored log of a hub."""
        rows = self._state.read("SELECT key, checkpoint, chosen FROM hub_logs WHERE location = ?", (location,))
        return KnownLog(LogKey.parse(rows[0][0]), rows[0][1], bool(rows[0][2])) if rows else None

    def save(self, known: Mapping[str, KnownLog]) -> None:
        """Store the logs of hubs, by location."""
        with suppress(WhetError), self._state.write(durable=False) as connection:
            for location, log in known.items():
                row = (location, str(log.key), log.checkpoint, int(log.chosen))
                connection.execute("INSERT OR REPLACE INTO hub_logs VALUES (?, ?, ?, ?)", row)


class HubLogs:
    """Remembers the logs of hubs. Thread-safe; `keep` saves changes."""

    def __init__(self, memory: LogMemory, entries: Iterable[Installed] = ()) -> None:
        """`entries` are those of a lock, whose proofs must match the current logs."""
        self._memory = memory
        self._entries = tuple(entry for entry in entries if entry.log_key)
        self._lock = RLock()
        self._known: dict[str, KnownLog | None] = {}
        self._new: set[str] = set()
        self._fits: set[str] = set()
        """Hubs whose log matches the lock."""

    def known(self, location: str) -> KnownLog | None:
        """Return the known log of a hub; None at the first contact."""
        with self._lock:
            if location not in self._known:
                self._known[location] = self._memory.load(location) or self._locked(location)
            return self._known[location]

    def size(self, location: str) -> int:
        """Return the largest known size of a hub's log, here or in the lock; 0 for none."""
        with self._lock:
            known = self.known(location)
            seen = [each for each in (known, self._locked(location)) if each and known and each.key == known.key]
            return max((read_checkpoint(each.checkpoint, each.key).size for each in seen if each.checkpoint), default=0)

    def choose(self, location: str, key: LogKey) -> None:
        """Use this key for a hub from now on, and forget the checkpoints of another."""
        with self._lock:
            self._known[location] = KnownLog(key, "", chosen=True)
            self._new.add(location)

    def see(self, location: str, key: LogKey, note: str, read: ReadConsistency) -> None:
        """Check and record a signed checkpoint. Raise InvalidError `log-diverged` or RefusedError `log-key-changed`."""
        with self._lock:
            known = self.known(location)
            if known is not None and known.key != key:
                raise _key_changed(location, known.key, key)
            seen = [note, *([known.checkpoint] if known and known.checkpoint else [])]
            locked = None if location in self._fits else self._locked(location)
            if locked and locked.key == key:
                seen.append(locked.checkpoint)
            elif locked and not (known and known.chosen):
                raise _key_changed(location, locked.key, key)
            newest = max(dict.fromkeys(seen), key=lambda each: read_checkpoint(each, key).size)
            for each in dict.fromkeys(seen):
                _compare(read_checkpoint(each, key), read_checkpoint(newest, key), read)
            self._known[location] = KnownLog(key, newest, known.chosen if known else False)
            self._new.add(location)
            self._fits.add(location)

    def keep(self) -> None:
        """Save the changes."""
        with self._lock:
            new, self._new = sorted(self._new), set()
            found = {location: known for location in new if (known := self._known[location])}
        if found:
            self._memory.save(found)

    def _locked(self, location: str) -> KnownLog | None:
        """Return the log of a hub as the lock knows it."""
        found: list[tuple[int, KnownLog]] = []
        for entry in self._entries:
            if read_remote(entry.source).location.rstrip("/") == location:
                key, note = LogKey.parse(entry.log_key), Proof.parse(entry.log_proof).checkpoint
                found.append((read_checkpoint(note, key).size, KnownLog(key, note)))
        return max(found, key=lambda each: each[0])[1] if found else None


def check_entry(proof: LogProof, **expected: str) -> Json:
    """Return the log's entry about a version if its proof and fields are valid. Raise InvalidError `bad-proof`."""
    Proof.parse(proof.log_proof).check(proof.log_entry.encode(), LogKey.parse(proof.log_key))
    said = _read_line(proof.log_entry)
    if hidden := said.get("hidden"):
        try:
            opened = hashlib.sha256(bytes.fromhex(proof.log_salt) + proof.log_act.encode()).hexdigest() == hidden
        except ValueError:
            opened = False
        said = _read_line(proof.log_act) if opened else {}
    if said.get("act") not in _PUBLISHED or any(said.get(name) != value for name, value in expected.items()):
        hint = "Do not install it. Tell the hub's operator."
        raise InvalidError(
            "bad-proof", "The proof is for a different version than the one that the hub sent.", hint=hint
        )
    return said


def _read_line(line: str) -> Json:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        said = None
    return said if isinstance(said, dict) else {}


class Publication(NamedTuple):
    """The entry of a hub's log about an installed version."""

    publisher: str
    """An account, or the repository whose workflow published it."""
    tier: str
    """Tier of the owner on the hub: `official`, `verified` or `community`; "" if unknown."""
    published: str
    verdict: str
    """Verdict of the hub's own scan."""
    ruleset: str
    entry: int
    """Number of the entry in the log."""
    mirrored: str = ""
    """Origin of a mirrored version: the name of that hub's log, or a site."""

    evals: str = ""
    """The publisher's report about its evals in a line; "" for none."""

    @property
    def by(self) -> str:
        """Publisher, and the original hub or site if it is mirrored."""
        return f"{self.publisher}, mirrored from {self.mirrored}" if self.mirrored else self.publisher

    def to_json(self) -> Json:
        """Return the publication as JSON for a plan and `why`."""
        return self._asdict()


def read_publication(entry: Installed) -> Publication | None:
    """Return what the hub's log says about an installed skill; None if its lock has no valid proof."""
    try:
        said = Answer(_check(entry), "the entry")
        publisher = said.optional_child("publisher")
        kind = publisher.prose("kind") if publisher else ""
        named = publisher.prose("detail" if kind in ("oidc", "site") else "account") if publisher else ""
        mirrored = publisher.prose("mirrored") if publisher else ""
        tier, time, verdict, ruleset = map(said.prose, ("tier", "time", "verdict", "ruleset"))
        number, evals = Proof.parse(entry.log_proof).number, _tell_evals(said)
        return Publication(named, tier, time, verdict, ruleset, number, mirrored, evals)
    except (InvalidError, UsageError):
        return None


def _tell_evals(said: Answer) -> str:
    if "evals" not in said:
        return ""
    from whet.skill.evals_proof import read_results  # few entries have evals

    return str(read_results(said.value("evals")))


def check_installed(entry: Installed) -> str:
    """Return why the proof in a lock does not match its entry; "" if it does, or if there is none."""
    if not (entry.log_key or entry.log_entry or entry.log_proof):
        return ""
    try:
        _check(entry)
    except (InvalidError, UsageError) as error:
        return error.message
    return ""


def _check(entry: Installed) -> Json:
    owner, _, name = read_remote(entry.source).path.rpartition("/")
    proof = LogProof(entry.log_key, entry.log_entry, entry.log_proof, entry.log_act, entry.log_salt)
    return check_entry(proof, owner=owner, name=name, version=entry.revision, digest=entry.digest)


def _compare(one: Checkpoint, other: Checkpoint, read: ReadConsistency) -> None:
    """Raise InvalidError `log-diverged` unless the smaller log is a prefix of the larger one."""
    path: Sequence[bytes] = ()
    if 0 < one.size < other.size:
        try:
            path = read(one.size, other.size)
        except (NotFoundError, InvalidError) as error:
            raise diverged(f"it no longer proves its first {one.size} of {other.size} entries") from error
    check_consistency(one.size, one.root, other.size, other.root, path)


def _key_changed(location: str, known: LogKey, key: LogKey) -> RefusedError:
    message = f"The log of {location} is signed with a different key than before: {key}. It was {known}."
    hint = f"Ask its operator. If the hub really has a new key: `whet hub pin {location} KEY`."
    return RefusedError("log-key-changed", message, hint=hint)

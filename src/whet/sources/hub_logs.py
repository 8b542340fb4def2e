"""What was seen of the logs of hubs: their keys and their newest checkpoints, so that no hub can show two faces.

The first contact with a hub decides which key is its own. From then on, every version that is installed must be proved
under that key, and every checkpoint must continue the one before. The state directory remembers both for each hub, and
locks carry the proofs of what they name: a hub that shows one log to you and another to whoever wrote the lock is
found out when you install from that lock.
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
    """Ask a hub for the proof that its log of so many entries is the beginning of that of so many."""


_PUBLISHED = ("publish", "mirror")
"""The acts that bring a version into a hub: from its publisher, or from another hub or site."""


class KnownLog(NamedTuple):
    """What is known of a hub's log."""

    key: LogKey
    checkpoint: str
    """The newest that was seen, signed; "" for none."""
    chosen: bool = False
    """A person named the key; otherwise the hub did, at the first contact."""


class LogMemory(Protocol):
    """Where it is kept what was seen of logs."""

    def load(self, location: str) -> KnownLog | None:
        """What is kept of a hub's log."""

    def save(self, known: Mapping[str, KnownLog]) -> None:
        """Keep this about the logs of hubs, by their locations."""


class StateMemory:
    """The memory of one person: the state directory. It is a help, so that it cannot be written stops nothing."""

    def __init__(self, state: StateDatabase) -> None:
        self._state = state

    def load(self, location: str) -> KnownLog | None:
        """What is kept of a hub's log."""
        rows = self._state.read("SELECT key, checkpoint, chosen FROM hub_logs WHERE location = ?", (location,))
        return KnownLog(LogKey.parse(rows[0][0]), rows[0][1], bool(rows[0][2])) if rows else None

    def save(self, known: Mapping[str, KnownLog]) -> None:
        """Keep this about the logs of hubs, by their locations."""
        with suppress(WhetError), self._state.write(durable=False) as connection:
            for location, log in known.items():
                row = (location, str(log.key), log.checkpoint, int(log.chosen))
                connection.execute("INSERT OR REPLACE INTO hub_logs VALUES (?, ?, ?, ?)", row)


class HubLogs:
    """Remembers the logs of hubs. Several threads may use it; `keep` saves what is new."""

    def __init__(self, memory: LogMemory, entries: Iterable[Installed] = ()) -> None:
        """`entries` are those of a lock, whose proofs must fit what hubs say now."""
        self._memory = memory
        self._entries = tuple(entry for entry in entries if entry.log_key)
        self._lock = RLock()
        self._known: dict[str, KnownLog | None] = {}
        self._new: set[str] = set()
        self._fits: set[str] = set()
        """Hubs whose log fits what the lock has seen."""

    def known(self, location: str) -> KnownLog | None:
        """What is remembered of a hub's log; None at the first contact."""
        with self._lock:
            if location not in self._known:
                self._known[location] = self._memory.load(location) or self._locked(location)
            return self._known[location]

    def size(self, location: str) -> int:
        """How many entries a hub's log was seen to have, here or by the lock; 0 for none."""
        with self._lock:
            known = self.known(location)
            seen = [each for each in (known, self._locked(location)) if each and known and each.key == known.key]
            return max((read_checkpoint(each.checkpoint, each.key).size for each in seen if each.checkpoint), default=0)

    def choose(self, location: str, key: LogKey) -> None:
        """Take this key for a hub's from now on, and forget what was seen under another."""
        with self._lock:
            self._known[location] = KnownLog(key, "", chosen=True)
            self._new.add(location)

    def see(self, location: str, key: LogKey, note: str, read: ReadConsistency) -> None:
        """Take note of a signed checkpoint. Raises InvalidError `log-diverged` and RefusedError `log-key-changed`."""
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
        """Remember what was seen."""
        with self._lock:
            new, self._new = sorted(self._new), set()
            found = {location: known for location in new if (known := self._known[location])}
        if found:
            self._memory.save(found)

    def _locked(self, location: str) -> KnownLog | None:
        """What the lock has seen of a hub's log."""
        found: list[tuple[int, KnownLog]] = []
        for entry in self._entries:
            if read_remote(entry.source).location.rstrip("/") == location:
                key, note = LogKey.parse(entry.log_key), Proof.parse(entry.log_proof).checkpoint
                found.append((read_checkpoint(note, key).size, KnownLog(key, note)))
        return max(found, key=lambda each: each[0])[1] if found else None


def check_entry(proof: LogProof, **expected: str) -> Json:
    """What the log says of a version, if it is proved and says this. Raises InvalidError `bad-proof`."""
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
    """What a hub's log says about a version that is installed."""

    publisher: str
    """An account, or the repository whose workflow published it."""
    tier: str
    """How far the hub knows the owner: `official`, `verified` or `community`; "" where it does not say."""
    published: str
    verdict: str
    """Of the hub's own scan."""
    ruleset: str
    entry: int
    """Its number in the log."""
    mirrored: str = ""
    """Where the hub has it from, if it is a mirror: the name of that hub's log, or a site."""

    evals: str = ""
    """What the publisher says of its evals, in a line; "" for nothing."""

    @property
    def by(self) -> str:
        """Who published it, and on which hub or site if it is mirrored."""
        return f"{self.publisher}, mirrored from {self.mirrored}" if self.mirrored else self.publisher

    def to_json(self) -> Json:
        """What a plan and `why` show."""
        return self._asdict()


def read_publication(entry: Installed) -> Publication | None:
    """What the log of its hub says about an installed skill; None where its lock has no valid proof."""
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
    from whet.skill.evals_proof import read_results  # few entries have any

    return str(read_results(said.value("evals")))


def check_installed(entry: Installed) -> str:
    """Why the proof in a lock does not hold for what the lock says; "" if it does, or if there is none."""
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
    """Raise InvalidError `log-diverged` unless the smaller log is the beginning of the larger one."""
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

"""Verdicts that were given before, by the digest of the content, the place it comes from and the name of the rules.

Unchanged content costs one hash. This is a cache (`whet.store.cache`): a row is believed only if it reads back as what
it says it is, and where the cache cannot be used at all every scan is a fresh one. Files that the digest does not cover
are part of the name.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from whet.guard.finding import LABELS, SEVERITIES, Finding, Scan, verdict
from whet.guard.ruleset import ruleset
from whet.skill.tree import digest, entries, ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.skill.tree import Item
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.database import Database

_MOST_REMEMBERED = 10_000


class ScanCache:
    """The verdicts one state directory remembers. Nothing here raises; what fails is in the database's `problem`."""

    def __init__(
        self, database: CacheDatabase, clock: Clock, *, look: Callable[[Mapping[str, Item], str], Scan] | None = None
    ) -> None:
        """`look` is what scans; by default the scanner."""
        self.database = database
        self._clock = clock
        self._look = look
        self._known: dict[str, Scan] = {}

    def scan(self, files: Mapping[str, Item], origin: str = "") -> Scan:
        """What a scan of these files finds, now or the last time anybody looked."""
        name = _name(files, origin)
        found = self._known.get(name) or self._read(name)
        if found is None:
            found = self._scanned(files, origin)
            self._write({name: found})
        self._known[name] = found
        return found

    def scan_ahead(self, packages: Iterable[tuple[Mapping[str, Item], str]]) -> None:
        """Scan several packages at once where that is faster, so that `scan` knows what it finds."""
        if self._look is not None:
            return
        new: dict[str, tuple[Mapping[str, Item], str]] = {}
        for files, origin in packages:
            name = _name(files, origin)
            if name not in self._known and name not in new:
                known = self._read(name)
                if known is None:
                    new[name] = files, origin
                else:
                    self._known[name] = known
        if len(new) < 2:
            return
        from whet.guard.scan_pool import scan_together

        found = {name: scan for name, scan in zip(new, scan_together([*new.values()]), strict=True) if scan is not None}
        if found:
            self._known |= found
            self._write(found)

    def _scanned(self, files: Mapping[str, Item], origin: str) -> Scan:
        if self._look is not None:
            return self._look(files, origin)
        from whet.guard.scan import scan

        return scan(files, origin)

    def _read(self, name: str) -> Scan | None:
        query = "SELECT verdict, findings, proof FROM scans WHERE digest = ? AND ruleset = ?"
        rows = self.database.use(lambda database: database.read(query, (name, ruleset())), create=False)
        return _scan_of(name, *rows[0]) if rows else None

    def _write(self, scans: Mapping[str, Scan]) -> None:
        now = self._clock()
        texts = {name: _text(scan) for name, scan in scans.items()}
        rows = [
            (name, ruleset(), scan.verdict, texts[name], _proof(name, scan.verdict, texts[name]), now)
            for name, scan in scans.items()
        ]

        def save(database: Database) -> None:
            if database.read_only:
                return
            with database.write() as connection:
                connection.executemany("INSERT OR REPLACE INTO scans VALUES (?, ?, ?, ?, ?, ?)", rows)
                connection.execute(
                    "DELETE FROM scans WHERE time < (SELECT time FROM scans ORDER BY time DESC LIMIT 1 OFFSET ?)",
                    (_MOST_REMEMBERED,),
                )

        self.database.use(save)


def _name(files: Mapping[str, Item], origin: str) -> str:
    """What a scan is remembered by, the digest of the content first."""
    listed = [*entries(files)]
    beside = sorted(entry for entry in listed if ignored(entry.path))
    others = sha256(repr(beside).encode()).hexdigest() if beside else ""
    return " ".join(filter(None, (digest(listed), origin, others)))


def _text(scan: Scan) -> str:
    import json

    return json.dumps([list(finding) for finding in scan.findings], ensure_ascii=True, separators=(",", ":"))


def _proof(name: str, label: str, text: str) -> str:
    """A checksum over a row: SQLite does not notice a flipped bit."""
    return sha256("\0".join((name, ruleset(), label, text)).encode()).hexdigest()[:32]


def _scan_of(name: str, label: Any, text: Any, proof: Any) -> Scan | None:
    """The scan that a row stands for, or None when anything about the row is odd."""
    import json

    if (
        not (isinstance(label, str) and isinstance(text, str))
        or label not in LABELS
        or proof != _proof(name, label, text)
    ):
        return None
    try:
        findings = tuple(Finding(*row)._replace(references=tuple(row[-1])) for row in json.loads(text))
    except (ValueError, TypeError, IndexError):
        return None
    if any(finding.severity not in SEVERITIES for finding in findings) or verdict(findings) != label:
        return None
    return Scan(name.partition(" ")[0], verdict(findings), findings)

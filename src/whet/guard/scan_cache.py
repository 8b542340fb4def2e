"""Verdicts that were given before, by the digest of the content and the name of the rules.

Unchanged content costs one hash. This is a cache: a row is believed only if it reads back as what it says it is, a
damaged file is set aside and made again, and where it cannot be used at all every scan is a fresh one (`problem` says
why). Content with files that the digest does not cover, or that could not be read, is never remembered.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import FailedError
from whet.guard.finding import LABELS, SEVERITIES, Finding, verdict
from whet.guard.ruleset import ruleset
from whet.skill.tree import digest, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whet.guard.finding import Label
    from whet.guard.scan import Scan
    from whet.skill.tree import Item
    from whet.store.clock import Clock
    from whet.store.database import Database

FILE = "attestations.db"
_BUSY_MS = 500
_MOST_REMEMBERED = 10_000
_SCHEMA = """
CREATE TABLE attestations (
    digest TEXT NOT NULL, ruleset TEXT NOT NULL, verdict TEXT NOT NULL, findings TEXT NOT NULL, proof TEXT NOT NULL,
    time INTEGER NOT NULL, PRIMARY KEY (digest, ruleset)
) WITHOUT ROWID;
CREATE INDEX attestations_by_time ON attestations (time);
"""


class Attestation(NamedTuple):
    """What a scan found: the same as a `Scan`, which need not be loaded to remember one."""

    digest: str
    verdict: Label
    findings: tuple[Finding, ...]


class ScanCache:
    """The verdicts one state directory remembers. Nothing here raises; what fails is in `problem`."""

    def __init__(self, state: str, clock: Clock, *, look: Callable[[Mapping[str, Item]], Scan] | None = None) -> None:
        """`look` is what scans; by default the scanner."""
        self.path = os.path.join(state, FILE)
        self.problem = ""
        self._clock = clock
        self._look = look
        self._turn = threading.RLock()
        self._database: Database | None = None
        self._broken = False
        self._known: dict[str, Attestation] = {}

    def close(self) -> None:
        """Let the database go; the next use opens it again."""
        with self._turn:
            if self._database is not None:
                self._database.close()
                self._database = None
            self._broken = False

    def scan(self, files: Mapping[str, Item]) -> Attestation:
        """What a scan of these files finds, now or the last time anybody looked."""
        name = digest(entries(files))
        found = self._known.get(name) or self._read(name)
        if found is None:
            found = self._scanned(files)
            self._write(found)
        self._known[name] = found
        return found

    def _scanned(self, files: Mapping[str, Item]) -> Attestation:
        if self._look is not None:
            return Attestation(*self._look(files))
        from whet.guard.scan import scan

        return Attestation(*scan(files))

    def _read(self, name: str) -> Attestation | None:
        query = "SELECT verdict, findings, proof FROM attestations WHERE digest = ? AND ruleset = ?"
        rows = self._try(lambda database: database.read(query, (name, ruleset())), create=False)
        return _scan_of(name, *rows[0]) if rows else None

    def _write(self, scan: Attestation) -> None:
        text = _text(scan)
        row = (scan.digest, ruleset(), scan.verdict, text, _proof(scan.digest, scan.verdict, text), self._clock())

        def save(database: Database) -> None:
            with database.write() as connection:
                connection.execute("INSERT OR REPLACE INTO attestations VALUES (?, ?, ?, ?, ?, ?)", row)
                connection.execute(
                    "DELETE FROM attestations WHERE time < (SELECT time FROM attestations ORDER BY time DESC LIMIT 1 "
                    "OFFSET ?)",
                    (_MOST_REMEMBERED,),
                )

        self._try(save)

    def _try(self, ask: Callable[[Database], Any], *, create: bool = True) -> Any:
        """Ask the database; one that is damaged is replaced once, one that cannot be used is done without."""
        if self._broken:
            return None
        with self._turn:
            for suspect in (False, True):
                try:
                    if self._database is None:
                        if not create and not os.path.exists(self.path):
                            return None
                        self._database = self._open(suspect=suspect)
                    return None if self._database.read_only and create else ask(self._database)
                except FailedError as error:
                    self.close()
                    self.problem = error.message
                    if error.code != "state-corrupt" or suspect:
                        break
        self._broken = True
        return None

    def _open(self, *, suspect: bool) -> Database:
        from whet.store.database import Schema, rebuildable

        schema = Schema(application_id=0x57484154, migrations=(_SCHEMA,))
        database, aside = rebuildable(self.path, schema, busy_ms=_BUSY_MS, clock=self._clock, suspect=suspect)
        if aside:
            self.problem = f"{self.path} was damaged; it was set aside as {aside} and made again."
        return database


def _text(scan: Attestation) -> str:
    import json

    return json.dumps([list(finding) for finding in scan.findings], ensure_ascii=True, separators=(",", ":"))


def _proof(name: str, label: str, text: str) -> str:
    """A checksum over a row: SQLite does not notice a flipped bit."""
    from hashlib import sha256

    return sha256("\0".join((name, ruleset(), label, text)).encode()).hexdigest()[:32]


def _scan_of(name: str, label: Any, text: Any, proof: Any) -> Attestation | None:
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
    return Attestation(name, verdict(findings), findings)

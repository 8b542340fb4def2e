"""Earlier scans, by the digest of the content, its source and the name of the rules.

Unchanged content costs one hash. This is a cache (`whet.store.cache`): a row is used only if its checksum matches, and if
the cache cannot be used at all every package is scanned again. Files that the digest does not cover are part of the
key.
"""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from whet.guard.finding import LABELS, SEVERITIES, Finding, Scan, verdict
from whet.guard.ruleset import ruleset
from whet.skill.tree import digest, entries, ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from whet.guard.scan_pool import Ahead
    from whet.skill.tree import Item
    from whet.store.cache import CacheDatabase
    from whet.store.clock import Clock
    from whet.store.database import Database

_MOST_REMEMBERED = 10_000
_AT_ONCE = 500
"""Number of scans that one query reads."""


class ScanCache:
    """The scans that one state directory remembers. Nothing here raises; errors are in the database's `problem`."""

    def __init__(
        self, database: CacheDatabase, clock: Clock, *, look: Callable[[Mapping[str, Item], str], Scan] | None = None
    ) -> None:
        """`look` scans files; the default is the scanner."""
        self.database = database
        self._clock = clock
        self._look = look
        self._known: dict[str, Scan] = {}
        self._ahead: Ahead | None = None
        self._asked: tuple[str, ...] = ()
        """Names of the packages that the process ahead scans."""

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Load the rules in another process, if that is faster, because the block will scan something."""
        from whet.guard.scan_pool import Ahead

        started = self._ahead = Ahead.start() if self._look is None and self._ahead is None else None
        try:
            yield
        finally:
            if started:
                self._ahead, self._asked = None, ()
                started.end()

    def scan(self, files: Mapping[str, Item], origin: str = "") -> Scan:
        """Return the scan of these files, from the cache if possible."""
        found = self.recall(files, origin)
        if found is None:
            name, found = _name(files, origin), self._scanned(files, origin)
            self._write({name: found})
            self._known[name] = found
        return found

    def recall(self, files: Mapping[str, Item], origin: str = "") -> Scan | None:
        """Return the cached scan of these files; `None` if there is none."""
        name = _name(files, origin)
        if name in self._asked:
            self._collect()
        if name not in self._known:
            self._known |= self._read([name])
        return self._known.get(name)

    def scan_ahead(self, packages: Iterable[tuple[Mapping[str, Item], str]]) -> None:
        """Scan several packages at once if that is faster, so that `scan` finds them in the cache, or waits for them."""
        if self._look is not None:
            return
        named = {_name(files, origin): (files, origin) for files, origin in packages}
        self._known |= self._read([name for name in named if name not in self._known])
        new = {name: package for name, package in named.items() if name not in self._known}
        if new and self._ahead and not self._asked and self._ahead.ask([*new.values()]):
            self._asked = tuple(new)
        elif len(new) > 1:
            from whet.guard.scan_pool import scan_together

            self._keep(new, scan_together([*new.values()]))

    def _collect(self) -> None:
        """Wait for the process ahead."""
        if self._ahead:
            asked, self._asked = self._asked, ()
            self._keep(asked, self._ahead.scans())

    def _keep(self, names: Iterable[str], scans: Iterable[Scan | None]) -> None:
        if found := {name: scan for name, scan in zip(names, scans, strict=False) if scan is not None}:
            self._known |= found
            self._write(found)

    def _scanned(self, files: Mapping[str, Item], origin: str) -> Scan:
        if self._look is not None:
            return self._look(files, origin)
        from whet.guard.scan import scan

        return scan(files, origin)

    def _read(self, names: list[str]) -> dict[str, Scan]:
        """Return the scans with these names that the database has."""
        found: dict[str, Scan] = {}
        for at in range(0, len(names), _AT_ONCE):
            some = names[at : at + _AT_ONCE]
            query = "SELECT digest, verdict, findings, proof FROM scans WHERE ruleset = ? AND digest IN"
            query = f"{query} ({','.join('?' * len(some))})"
            ask = methodcaller("read", query, (ruleset(), *some))
            rows = self.database.use(ask, create=False) or ()
            found |= {row[0]: scan for row in rows if (scan := _scan_of(*row)) is not None}
        return found

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
    """Return the key of a scan, which begins with the digest of the content."""
    listed = [*entries(files)]
    beside = sorted(entry for entry in listed if ignored(entry.path))
    others = sha256(repr(beside).encode()).hexdigest() if beside else ""
    return " ".join(filter(None, (digest(listed), origin, others)))


def _text(scan: Scan) -> str:
    import json

    return json.dumps([list(finding) for finding in scan.findings], ensure_ascii=True, separators=(",", ":"))


def _proof(name: str, label: str, text: str) -> str:
    """Return a checksum over a row: SQLite does not notice a flipped bit."""
    return sha256("\0".join((name, ruleset(), label, text)).encode()).hexdigest()[:32]


def _scan_of(name: str, label: Any, text: Any, proof: Any) -> Scan | None:
    """Return the scan of a row, or `None` if anything about the row is odd."""
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

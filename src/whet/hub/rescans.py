"""Rescan all versions when the guard's rules change. Old verdicts are kept together with their rules.

One replica scans at a time: the one that holds and renews the row of `rescans`. Progress is stored with each version,
so that another replica can continue if the first is killed. A replica that starts with other rules takes over and
begins again; a running one with old rules then stops.
"""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, WhetError
from whet.guard.ruleset import ruleset
from whet.hub.cases import open_case
from whet.hub.checker import Held
from whet.hub.registry import MOST_REASON, dump, time_text
from whet.hub.tokens import Identity
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from whet.hub.cases import Place
    from whet.hub.checker import Checked
    from whet.hub.database import Row, Transaction
    from whet.hub.registry import Hub

_LEASE = 120
"""Seconds without renewal after which a holder has lost the row."""
_ABANDONED = 600
"""Seconds after which other rules without a running replica do not count."""
_MOST_HISTORY = 10


class Rescanned(NamedTuple):
    """The result of a rescan."""

    ruleset: str
    scanned: int
    changed: int
    """Versions whose verdict changed."""
    dangerous: int
    """Those that are now dangerous, and in the queue."""
    held: int
    """Versions that could not be scanned, and are in the queue."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class Rescan:
    """A process that may rescan all versions."""

    def __init__(self, hub: Hub, rules: str = "") -> None:
        self.hub = hub
        self.ruleset = rules or ruleset()
        self._holder = uuid.uuid4().hex
        self._begun = False

    def run(self) -> Rescanned:
        """Scan all remaining versions. Raise ConflictError while another process does."""
        total = Rescanned(self.ruleset, 0, 0, 0, 0)
        while True:
            if not self._claim():
                hint = "Wait until it is done."
                raise ConflictError("rescan-running", "Another process of the hub is scanning.", hint=hint)
            done = self._step()
            if done is None:
                self._let_go()
                return total
            total = total._replace(
                scanned=total.scanned + done.scanned,
                changed=total.changed + done.changed,
                dangerous=total.dangerous + done.dangerous,
                held=total.held + done.held,
            )

    def work(self, seconds: float) -> int:
        """Scan for a while, if this process holds the row; return the number of versions."""
        count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end and self._claim() and (done := self._step()) is not None:
            count += done.scanned
        return count

    def _claim(self) -> bool:
        """Return whether this process holds the row. The first call takes it over from other rules."""
        now = self.hub.now()

        def change(transaction: Transaction) -> bool:
            sql = "INSERT INTO rescans VALUES (1, ?, 0, '', 0) ON CONFLICT (id) DO NOTHING"
            transaction.run(sql, self.ruleset)
            sql = "SELECT ruleset, holder, until FROM rescans WHERE id = 1" + self.hub.database.for_update  # noqa: S608
            rules, holder, until = transaction.get(sql)
            if rules != self.ruleset:
                if self._begun and until > now - _ABANDONED:
                    return False
                sql = "UPDATE rescans SET ruleset = ?, position = 0, holder = ?, until = ? WHERE id = 1"
                transaction.run(sql, self.ruleset, self._holder, now + _LEASE)
            elif holder != self._holder or until <= now + _LEASE // 2:
                if holder != self._holder and until > now:
                    return False
                sql = "UPDATE rescans SET holder = ?, until = ? WHERE id = 1"
                transaction.run(sql, self._holder, now + _LEASE)
            return True

        mine = self.hub.database.write(change)
        self._begun = True
        return mine

    def _let_go(self) -> None:
        sql = "UPDATE rescans SET until = 0 WHERE id = 1 AND holder = ?"
        self.hub.database.write(lambda change: change.run(sql, self._holder))

    def _step(self) -> Rescanned | None:
        """Scan the next version. Return None if none is left."""
        row = self.hub.database.read(self._next)
        if row is None:
            return None
        if row[1] is None:
            self.hub.database.write(self._catch_up)
            return None
        number, place = row[0], (row[1], row[2], row[3])
        try:
            checked = self.hub.checker.check(self.hub.blobs.get(row[4]))
        except WhetError as error:  # its archive is damaged, or the rules of the format have changed
            checked = Held(error.message)
        return self.hub.database.write(lambda change: self._keep(change, number, place, checked))

    def _next(self, transaction: Transaction) -> Row | None:
        """Return the next version to scan; only the last id if no later one needs it; None if there is none."""
        position = transaction.get("SELECT position FROM rescans WHERE id = 1")[0]
        sql = """SELECT v.id, o.name, s.name, v.version, v.sha256 FROM versions v
            JOIN skills s ON v.skill = s.id JOIN owners o ON s.owner = o.id
            WHERE v.id > ? AND NOT EXISTS (SELECT 1 FROM verdicts d WHERE d.version = v.id AND d.ruleset = ?)
            ORDER BY v.id LIMIT 1"""
        row = transaction.one(sql, position, self.ruleset)
        last = transaction.get("SELECT MAX(id) FROM versions")[0] or 0
        return row or ((last, None) if last > position else None)

    def _catch_up(self, transaction: Transaction) -> None:
        """Skip versions that were published under these rules."""
        self.hub.log.lock(transaction)
        row = self._next(transaction)
        if row is not None and row[1] is None:
            transaction.run("UPDATE rescans SET position = ? WHERE id = 1 AND ruleset = ?", row[0], self.ruleset)

    def _keep(self, transaction: Transaction, number: int, place: Place, checked: Checked | Held) -> Rescanned:
        """Store a verdict beside the earlier ones, and its consequences."""
        self.hub.log.lock(transaction)
        now = self.hub.now()
        sql = "INSERT INTO verdicts (version, ruleset, verdict, findings, scanned) VALUES (?, ?, ?, ?, ?)"
        transaction.run("UPDATE rescans SET position = ? WHERE id = 1 AND ruleset = ?", number, self.ruleset)
        if isinstance(checked, Held):
            transaction.run(sql, number, self.ruleset, "held", "[]", now)
            open_case(transaction, place, "rescan", f"It cannot be scanned again: {checked.reason}", now)
            return Rescanned(self.ruleset, 1, 0, 0, 1)
        transaction.run(sql, number, self.ruleset, checked.verdict, dump(checked.findings), now)
        document = json.loads(transaction.get("SELECT document FROM versions WHERE id = ?", number)[0])
        before = document["verdict"]
        old = {key: before[key] for key in ("verdict", "ruleset", "scanned")}
        document["verdict"] = {
            "verdict": checked.verdict,
            "ruleset": self.ruleset,
            "scanned": time_text(now),
            "findings": list(checked.findings),
            "history": [old, *before.get("history", [])][:_MOST_HISTORY],
        }
        transaction.run("UPDATE versions SET document = ? WHERE id = ?", dump(document), number)
        if checked.verdict == before["verdict"]:
            return Rescanned(self.ruleset, 1, 0, 0, 0)
        return self._tell(transaction, place, checked, old, now)

    def _tell(self, transaction: Transaction, place: Place, checked: Checked, old: Json, now: int) -> Rescanned:
        """Record a changed verdict in the log, and in the queue if it is dangerous."""
        owner, name, version = place
        because = sorted({finding["rule"] for finding in checked.findings})
        act = {"act": "verdict", "owner": owner, "name": name, "version": version, "verdict": checked.verdict}
        because_of = {"ruleset": self.ruleset, "because": because, "before": old, "time": time_text(now)}
        self.hub.log.append(transaction, owner, name, {**act, **because_of})
        sql = "SELECT s.updated FROM skills s JOIN owners o ON s.owner = o.id WHERE o.name = ? AND s.name = ?"
        self.hub.refresh(transaction, owner, name, transaction.get(sql, owner, name)[0])
        rose, fell = checked.verdict == "dangerous", old["verdict"] == "dangerous"
        if rose or fell:
            rules = f"by {self.ruleset}, {old['verdict']} by {old['ruleset']}"
            text = f"It is {checked.verdict} {rules}, because of {', '.join(because) or 'nothing that was found'}."
            if rose and self.hub.settings.quarantine_on_rescan:
                self._quarantine(transaction, place, text[:MOST_REASON], now)
            open_case(transaction, place, "rescan", text, now)
        return Rescanned(self.ruleset, 1, 1, int(rose), 0)

    def _quarantine(self, transaction: Transaction, place: Place, reason: str, now: int) -> None:
        """Quarantine a version until a moderator decides, unless one has released it before."""
        who = Identity("", ("admin",), "rescan", self.ruleset)
        if self.hub.find_version(transaction, who, *place).quarantined is None and not _was_released(
            transaction, place
        ):
            self.hub.mark(transaction, who, place, "quarantine", "quarantined", reason, now)


def _was_released(transaction: Transaction, place: Place) -> bool:
    sql = """SELECT e.entry, h.act FROM log_entries e LEFT JOIN log_hidden h ON h.number = e.number
        WHERE e.owner = ? AND e.name = ?"""
    acts = (json.loads(hidden or entry) for entry, hidden in transaction.all(sql, *place[:2]))
    return any(act["act"] == "release" and act.get("version") == place[2] for act in acts)


def list_verdicts(hub: Hub, who: Identity, place: Place) -> Json:
    """Return all verdicts about a version, the newest first, each with its rules and findings. Raises WhetError."""

    def ask(transaction: Transaction) -> Json:
        found = hub.find_version(transaction, who, *place)
        sql = "SELECT verdict, ruleset, scanned, findings FROM verdicts WHERE version = ? ORDER BY id DESC LIMIT 100"
        verdicts = [
            {"verdict": row[0], "ruleset": row[1], "scanned": time_text(row[2]), "findings": json.loads(row[3])}
            for row in transaction.all(sql, found.id)
        ]
        return {"verdicts": verdicts}

    return hub.database.read(ask)

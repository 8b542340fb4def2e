"""Moderation: reports, the queue of cases, decisions and appeals. Every decision is in the log with its reason.

The guard and reports fill the queue; moderators decide. Nobody decides about an owner they belong to, except admins of
the hub. A moderator's decision stands until another decision, whatever later scans find.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, InvalidError, NotFoundError, RefusedError, UsageError
from whet.hub.cases import find_case, list_cases, open_case
from whet.hub.checker import Held
from whet.hub.cursors import make_cursor, read_cursor
from whet.hub.registry import DAY, check_reason, compare, ensure_account, time_text
from whet.hub.tokens import Identity

if TYPE_CHECKING:
    from whet.hub.cases import Case, Place
    from whet.hub.database import Row, Transaction
    from whet.hub.registry import Hub, Kept
    from whet.values import Json

KINDS = ("malware", "secrets", "deceptive", "license", "spam", "other")
"""Kinds of reports."""
DECISIONS = ("quarantine", "release", "dismiss")
_MOST_REPORTS = 20
"""Reports of one account per day."""
_PATIENCE = 10
"""Factor of the time limit for the scan of an archive that a moderator releases."""
_MOST_APPEALS = 3
"""Appeals about one version."""


def report(hub: Hub, who: Identity, place: Place, kind: str, text: str) -> Json:
    """Report a problem with a version to the moderators. Raises WhetError."""
    if not who.account:
        raise RefusedError("token-needed", "A report needs a token.", hint="`whet hub login` gets one.")
    if kind not in KINDS:
        raise UsageError("bad-request", f"{kind!r} is not a kind of report.", hint=f"Kinds are {', '.join(KINDS)}.")
    check_reason(text)
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        hub.find_version(transaction, who, *place)
        account = ensure_account(transaction, who.account, now)
        sql = "SELECT COUNT(*) FROM reports WHERE account = ? AND created > ?"
        if transaction.get(sql, account, now - DAY)[0] >= _MOST_REPORTS:
            message = f"An account can report {_MOST_REPORTS} versions a day."
            raise RefusedError("too-many-reports", message, hint="Try again tomorrow, or write to the operator.")
        number = open_case(transaction, place, "report", f"{kind}: {text}", now)
        if transaction.one("SELECT 1 FROM reports WHERE queued = ? AND account = ?", number, account):
            raise ConflictError(
                "already-reported", "You have already reported this version.", hint="The moderators will look."
            )
        sql = "INSERT INTO reports (queued, account, kind, text, created) VALUES (?, ?, ?, ?, ?)"
        transaction.run(sql, number, account, kind, text, now)
        return {"case": number}

    return hub.database.write(change)


def appeal(hub: Hub, who: Identity, place: Place, text: str) -> Json:
    """Ask the moderators to release a version, as a member of its owner. Raises WhetError."""
    hub.allow(who, "publish", *place[:2])
    check_reason(text)
    now = hub.now()

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        if hub.find_version(transaction, who, *place).quarantined is None:
            raise _not_quarantined(place)
        sql = "SELECT closed FROM cases WHERE owner = ? AND name = ? AND version = ? AND cause = 'appeal'"
        before = transaction.all(sql, *place)
        if len(before) >= _MOST_APPEALS or any(not row[0] for row in before):
            message = "This version has an open appeal, or already had several."
            raise ConflictError("already-appealed", message, hint="Publish a new version, or write to the operator.")
        number = open_case(transaction, place, "appeal", f"{who.account}: {text}", now)
        act = {"act": "appeal", **_named(place), "case": number, "reason": text}
        hub.log.append(transaction, *place[:2], {**act, **hub.sign(who, now)})
        return {"case": number}

    return hub.database.write(change)


def list_queue(hub: Hub, who: Identity, *, closed: bool = False, limit: int = 20, cursor: str = "") -> Json:
    """Return a page of the queue, or of decided cases, with the reports. Raises WhetError."""
    hub.allow(who, "moderate", "the hub", "")
    start = read_cursor(cursor, 1)[0] if cursor else "0"
    if not start.isdecimal() or len(start) > 18:
        raise UsageError("bad-request", "The cursor is not valid.", hint="Start again without a cursor.")

    def ask(transaction: Transaction) -> Json:
        found = list_cases(transaction, closed=closed, after=int(start), limit=limit + 1)
        shown = [_case_json(transaction, case) for case in found[:limit]]
        return {"cases": shown, "next": make_cursor(str(found[limit - 1].id)) if len(found) > limit else None}

    return hub.database.read(ask)


def decide(hub: Hub, who: Identity, number: int, decision: str, reason: str) -> Json:
    """Decide a case, for a reason: quarantine the version, release it, or dismiss the case. Raises WhetError."""
    hub.allow(who, "moderate", "the hub", "")
    if decision not in DECISIONS:
        raise UsageError("bad-request", f"{decision!r} is not a decision.", hint=f"Use {', '.join(DECISIONS)}.")
    check_reason(reason)
    now = hub.now()
    upload = _find_upload(hub, number)
    kept = _check_upload(hub, upload) if upload and decision == "release" else None

    def change(transaction: Transaction) -> Json:
        hub.log.lock(transaction)
        case = find_case(transaction, number)
        if case is None:
            raise NotFoundError("case-not-found", f"There is no case {number}.", hint="List them: /api/v1/cases")
        if case.closed:
            raise ConflictError("case-closed", f"Case {number} was decided: {case.decision}.", hint="Open a new one.")
        if not who.may("admin") and _belongs(transaction, who, case.owner):
            message = f"{who.account} belongs to {case.owner} and cannot decide about it."
            raise RefusedError("not-allowed", message, hint="Leave it to another moderator.")
        if decision == "dismiss":
            _dismiss(hub, transaction, who, case, reason, now)
        elif upload and kept:
            hub.add_version(transaction, upload.who, case.place, kept)
            act = {"act": "release", **_named(case.place), "case": case.id, "reason": reason}
            hub.log.append(transaction, case.owner, case.name, {**act, **hub.sign(who, now)})
            _close(transaction, case, "release", reason, who, now)
        elif case.cause == "held":
            hint = "Dismiss the case, or release it; nothing of it is on the hub."
            raise InvalidError("not-published", "The archive of this case was never published.", hint=hint)
        else:
            found = hub.find_version(transaction, who, *case.place)
            if decision == "release" and found.quarantined is None:
                raise _not_quarantined(case.place)
            value = reason if decision == "quarantine" else None
            hub.mark(transaction, who, case.place, decision, "quarantined", value, now, why=reason)
        decided = find_case(transaction, number)
        return _case_json(transaction, decided or case)

    decided = hub.database.write(change)
    if upload and not kept and not hub.database.read(lambda ask: _is_named(ask, upload.sha256)):
        hub.blobs.drop(upload.sha256)
    return decided


def get_upload(hub: Hub, who: Identity, number: int) -> bytes:
    """Return the uploaded archive of a case, which could not be checked. Raises WhetError."""
    hub.allow(who, "moderate", "the hub", "")
    upload = _find_upload(hub, number)
    if upload is None:
        hint = "Only cases of archives that could not be checked have one."
        raise NotFoundError("case-not-found", f"Case {number} has no archive.", hint=hint)
    return hub.blobs.get(upload.sha256)


class _Upload(NamedTuple):
    """An archive that is stored for a case."""

    place: Place
    sha256: str
    digest: str
    who: Identity
    """The uploader."""


def _find_upload(hub: Hub, number: int) -> _Upload | None:
    sql = """SELECT c.owner, c.name, c.version, h.sha256, h.digest, h.publisher FROM held h
        JOIN cases c ON h.queued = c.id WHERE c.id = ? AND c.closed = 0"""
    row = hub.database.read(lambda ask: ask.one(sql, number))
    if row is None:
        return None
    publisher = json.loads(row[5])
    return _Upload((row[0], row[1], row[2]), row[3], row[4], Identity(**{**publisher, "scopes": ()}))


def _check_upload(hub: Hub, upload: _Upload) -> Kept:
    """Check an archive again, with much more time. Raise InvalidError `held` if that is not enough."""
    archive = hub.blobs.get(upload.sha256)
    checked = hub.checker.check(archive, patience=_PATIENCE)
    if isinstance(checked, Held):
        raise InvalidError("held", checked.reason, hint="It cannot be published. Dismiss the case.")
    compare(checked, *upload.place[1:], upload.digest)
    return hub.keep(upload.place, archive, checked)


def _is_named(transaction: Transaction, sha256: str) -> bool:
    """Return whether a version or another case refers to an archive."""
    return any(transaction.one(f"SELECT 1 FROM {table} WHERE sha256 = ?", sha256) for table in ("versions", "held"))  # noqa: S608  our own names


def _close(transaction: Transaction, case: Case, decision: str, reason: str, who: Identity, now: int) -> None:
    sql = "UPDATE cases SET closed = ?, decision = ?, reason = ?, decider = ? WHERE id = ?"
    transaction.run(sql, now, decision, reason, who.account, case.id)
    transaction.run("DELETE FROM held WHERE queued = ?", case.id)


def _dismiss(hub: Hub, transaction: Transaction, who: Identity, case: Case, reason: str, now: int) -> None:
    """Close one case and leave the version unchanged."""
    act = {"act": "dismiss", **_named(case.place), "case": case.id, "cause": case.cause, "reason": reason}
    hub.log.append(transaction, case.owner, case.name, {**act, **hub.sign(who, now)})
    _close(transaction, case, "dismiss", reason, who, now)


def _belongs(transaction: Transaction, who: Identity, owner: str) -> bool:
    sql = """SELECT 1 FROM members m JOIN owners o ON m.owner = o.id JOIN accounts a ON m.account = a.id
        WHERE o.name = ? AND a.name = ?"""
    return who.may("publish", owner) or transaction.one(sql, owner, who.account) is not None


def _case_json(transaction: Transaction, case: Case) -> Json:
    sql = """SELECT a.name, r.kind, r.text, r.created FROM reports r JOIN accounts a ON r.account = a.id
        WHERE r.queued = ? ORDER BY r.id LIMIT 100"""
    row = transaction.one("SELECT sha256, size FROM held WHERE queued = ?", case.id)
    decided = {"decision": case.decision, "reason": case.reason, "by": case.decider, "time": time_text(case.closed)}
    return {
        "id": case.id,
        **_named(case.place),
        "cause": case.cause,
        "text": case.text,
        "opened": time_text(case.opened),
        "archive": {"sha256": row[0], "size": row[1]} if row else None,
        "decided": decided if case.closed else None,
        "reports": [_report_json(row) for row in transaction.all(sql, case.id)],
    }


def _report_json(row: Row) -> Json:
    return {"account": row[0], "kind": row[1], "text": row[2], "time": time_text(row[3])}


def _named(place: Place) -> Json:
    return {"owner": place[0], "name": place[1], "version": place[2]}


def _not_quarantined(place: Place) -> ConflictError:
    message = f"{place[0]}/{place[1]} {place[2]} is not quarantined."
    return ConflictError("not-quarantined", message, hint="There is nothing to release.")

"""What a hub does: publish, show, yank, quarantine; every act in its log. `docs/hub-api.md` is the contract.

Answers about one skill or one version are kept as the text that is sent, and made again by the transaction that changes
them. Nothing here knows HTTP; `whet.hub.app` does.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, InvalidError, NotFoundError, RefusedError, UsageError
from whet.hub.checker import Held
from whet.hub.tokens import DAYS, Identity, check_scopes, hash_token, is_owner, is_token, make_token
from whet.skill.names import is_ascii_name
from whet.skill.tree import DEFAULT_LIMITS
from whet.skill.versions import is_semver, semver_key
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.hub.blobs import Blobs
    from whet.hub.checker import Checked, Checker
    from whet.hub.database import Database, Row, Transaction
    from whet.hub.log import HubLog, Logged
    from whet.store.clock import Clock
    from whet.values import Json

PAGE = 100
_MOST_REASON = 500
_SECOND = 1_000_000_000
_DAY = 86_400
_SEEN_AGAIN = 60
"""Seconds after which the last use of a token is written down again."""
_VERSION_SQL = """SELECT v.id, v.version, v.digest, v.sha256, v.yanked, v.quarantined, v.document, s.private, s.id
    FROM versions v JOIN skills s ON v.skill = s.id JOIN owners o ON s.owner = o.id
    WHERE o.name = ? AND s.name = ? AND v.version = ?"""
_SKILL_SQL = """SELECT s.id, s.private, s.status, s.document FROM skills s JOIN owners o ON s.owner = o.id
    WHERE o.name = ? AND s.name = ?"""


class HubSettings(NamedTuple):
    """What its operator decides."""

    title: str = "Skills"
    private: bool = False
    """Everything needs a token, except the description of the hub."""
    archive_bytes: int = DEFAULT_LIMITS.total_bytes


class Published(NamedTuple):
    """A version, as it is sent; and whether it is new."""

    document: str
    created: bool


class Hub:
    """One registry. May be used from several threads, and by several processes on one PostgreSQL."""

    def __init__(
        self,
        database: Database,
        blobs: Blobs,
        log: HubLog,
        checker: Checker,
        settings: HubSettings,
        clock: Clock,
        *,
        threads: bool = False,
    ) -> None:
        self.database, self.blobs, self.log, self.checker = database, blobs, log, checker
        self.settings = settings
        self.threads = threads
        """Whether its database is far away, so that reads are better waited for in threads."""
        self._clock = clock

    def close(self) -> None:
        """Let processes and connections go."""
        self.checker.close()
        self.database.close()

    def now(self) -> int:
        """Seconds since 1970."""
        return self._clock() // _SECOND

    def verify(self) -> tuple[int, int]:
        """Read the whole log and every archive again; how many there are. Raises FailedError for what is not whole."""
        entries = self.log.verify()
        archives = self.database.read(_all("SELECT DISTINCT sha256 FROM versions"))
        for row in archives:
            self.blobs.get(row[0])
        return entries, len(archives)

    # who asks

    def identify(self, token: str) -> Identity:
        """Whose token this is. Raises RefusedError `token-needed` for one that is unknown, expired or revoked."""
        row = None
        if is_token(token):
            sql = """SELECT a.name, t.scopes, t.label, t.expires, t.revoked, t.used, t.id
                FROM tokens t JOIN accounts a ON t.account = a.id WHERE t.hash = ?"""
            row = self.database.read(lambda found: found.one(sql, hash_token(token)))
        now = self.now()
        if row is None or row[3] <= now or row[4]:
            raise RefusedError("token-needed", "The token is unknown, expired or revoked.", hint="Ask for a new one.")
        if now - row[5] >= _SEEN_AGAIN:
            self.database.write(lambda change: change.run("UPDATE tokens SET used = ? WHERE id = ?", now, row[6]))
        return Identity(row[0], tuple(json.loads(row[1])), "token", row[2])

    def create_token(self, account: str, scopes: tuple[str, ...], label: str = "", days: int = DAYS) -> str:
        """A new token for an account. Owners that its scopes name are made where they do not exist."""
        if not is_owner(account):
            raise UsageError("bad-account", f"{account!r} cannot be an account.", hint="Use a-z, 0-9 and hyphens.")
        token, secret = make_token()
        scopes, now = check_scopes(scopes), self.now()

        def change(transaction: Transaction) -> None:
            self.log.lock(transaction)
            holder = _account(transaction, account, now)
            for owner in sorted({scope.partition(":")[2].partition("/")[0] for scope in scopes} - {""}):
                self._owner(transaction, owner, now)
            sql = "INSERT INTO tokens (hash, account, label, scopes, created, expires) VALUES (?, ?, ?, ?, ?, ?)"
            transaction.run(sql, secret, holder, label[:100], json.dumps(scopes), now, now + days * _DAY)

        self.database.write(change)
        return token

    def revoke_tokens(self, account: str) -> int:
        """Take all tokens of an account out of use; how many there were."""
        now = self.now()

        def change(transaction: Transaction) -> int:
            sql = """UPDATE tokens SET revoked = ? WHERE revoked = 0
                AND account IN (SELECT id FROM accounts WHERE name = ?)"""
            count = transaction.run(sql, now, account)
            if count:
                self.log.append(
                    transaction, "", "", {"act": "revoke", "account": account, "tokens": count, "time": _time(now)}
                )
            return count

        return self.database.write(change)

    # looking

    def describe(self) -> Json:
        """What the hub says of itself."""
        limits = DEFAULT_LIMITS
        return {
            "hub": "whet",
            "api": 1,
            "title": self.settings.title,
            "private": self.settings.private,
            "log": {"origin": self.log.origin, "key": str(self.log.public_key)},
            "limits": {
                "archive_bytes": self.settings.archive_bytes,
                "file_bytes": limits.file_bytes,
                "files": limits.files,
                "page": PAGE,
            },
        }

    def skills(self, who: Identity, *, name: str = "", limit: int = 20, cursor: str = "") -> Json:
        """A page of the skills that somebody may see, by owner and name."""
        owner, after = _read_cursor(cursor, 2) if cursor else ("", "")
        sql = """SELECT o.name, s.name, s.private, s.document FROM skills s JOIN owners o ON s.owner = o.id
            WHERE (o.name > ? OR (o.name = ? AND s.name > ?)) AND (? = '' OR s.name = ?)
            ORDER BY o.name, s.name LIMIT ?"""
        found: list[Json] = []
        while len(found) <= limit:
            rows = self.database.read(_all(sql, owner, owner, after, name, name, limit + 1))
            found += [json.loads(row[3]) for row in rows if not row[2] or sees(who, row[0], row[1])]
            if len(rows) <= limit:
                break
            owner, after = rows[-1][0], rows[-1][1]
        more = found[limit:]
        last = found[limit - 1] if more else None
        return {"skills": found[:limit], "next": _cursor(last["owner"], last["name"]) if last else None}

    def skill(self, who: Identity, owner: str, name: str) -> Json:
        """One skill, with the number of its versions."""

        def ask(transaction: Transaction) -> Json:
            row = self._visible(transaction.one(_SKILL_SQL, owner, name), who, owner, name)
            count = transaction.get("SELECT COUNT(*) FROM versions WHERE skill = ?", row[0])
            return {**json.loads(row[3]), "versions": count[0]}

        return self.database.read(ask)

    def versions(self, who: Identity, owner: str, name: str, *, limit: int = 20, cursor: str = "") -> Json:
        """A page of its versions, the highest first."""
        after = _read_cursor(cursor, 1)[0] if cursor else ""

        def ask(transaction: Transaction) -> list[Row]:
            row = self._visible(transaction.one(_SKILL_SQL, owner, name), who, owner, name)
            return transaction.all("SELECT version, document FROM versions WHERE skill = ?", row[0])

        rows = sorted(self.database.read(ask), key=lambda row: semver_key(row[0]), reverse=True)
        if after:
            rows = [row for row in rows if semver_key(row[0]) < semver_key(after)]
        kept = ("version", "digest", "published", "status", "yanked", "verdict")
        shown = [{key: json.loads(row[1])[key] for key in kept} for row in rows[:limit]]
        for version in shown:
            version["verdict"] = version["verdict"]["verdict"]
        return {"versions": shown, "next": _cursor(rows[limit - 1][0]) if len(rows) > limit else None}

    def version(self, who: Identity, owner: str, name: str, version: str) -> str:
        """One version, as the text that is sent."""
        row = self.database.read(lambda ask: ask.one(_VERSION_SQL, owner, name, version))
        document: str = self._visible_version(row, who, owner, name, version)[6]
        return document

    def archive(self, who: Identity, owner: str, name: str, version: str) -> tuple[str, bytes]:
        """The SHA-256 of a version's archive, and the archive. Raises RefusedError `quarantined`."""
        row = self.database.read(lambda ask: ask.one(_VERSION_SQL, owner, name, version))
        row = self._visible_version(row, who, owner, name, version)
        if row[5] is not None and not who.may("moderate"):
            raise RefusedError(
                "quarantined", f"{owner}/{name} {version} is quarantined: {row[5]}", hint="Use another version."
            )
        return row[3], self.blobs.get(row[3])

    def find_digest(self, who: Identity, digest: str) -> Json:
        """The versions with this content."""
        sql = """SELECT o.name, s.name, v.version, v.yanked, s.private
            FROM versions v JOIN skills s ON v.skill = s.id JOIN owners o ON s.owner = o.id
            WHERE v.digest = ? ORDER BY o.name, s.name"""
        rows = self.database.read(lambda ask: ask.all(sql, digest))
        found = [
            {"owner": row[0], "name": row[1], "version": row[2], "yanked": _reason(row[3])}
            for row in rows
            if not row[4] or sees(who, row[0], row[1])
        ]
        if not found:
            raise NotFoundError("digest-not-found", "No version has this content.", hint="Check the digest.")
        return {"digest": digest, "versions": found}

    # changing

    def publish(self, who: Identity, owner: str, name: str, version: str, archive: bytes, digest: str) -> Published:
        """Publish a version, or find that it is there already with exactly this content."""
        self.allow(who, "publish", owner, name)
        _check_address(owner, name, version)
        if len(archive) > self.settings.archive_bytes:
            raise InvalidError("too-large", "The archive is too large.", hint="Leave out what the skill does not need.")
        checked = self.checker.check(archive)
        if isinstance(checked, Held):
            raise InvalidError("held", checked.reason, hint="Ask the hub's operator, who can look at the archive.")
        _compare(checked, name, version, digest)
        sha256 = self.blobs.put(archive)
        now = self.now()

        def change(transaction: Transaction) -> Published:
            self.log.lock(transaction)
            row = transaction.one(_VERSION_SQL, owner, name, version)
            if row is not None:
                if row[2] != digest or row[4] is not None:
                    hint = "Choose a higher version; a version never changes, and a yanked number is not used again."
                    raise ConflictError("version-exists", f"{owner}/{name} {version} already exists.", hint=hint)
                return Published(row[6], created=False)
            skill = self._skill(transaction, owner, name, now)
            act = {
                "act": "publish",
                "owner": owner,
                "name": name,
                "version": version,
                "digest": digest,
                "sha256": sha256,
                "verdict": checked.verdict,
                "ruleset": checked.ruleset,
                "publisher": _publisher(who),
                "time": _time(now),
            }
            logged = self.log.append(transaction, owner, name, act)
            quarantined = "The guard calls it dangerous." if checked.verdict == "dangerous" else None
            document = _dump(_version_document(checked, act, len(archive), quarantined, logged))
            sql = """INSERT INTO versions (skill, version, digest, sha256, size, published, quarantined, document)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"""
            row = transaction.get(sql, skill, version, digest, sha256, len(archive), now, quarantined, document)
            sql = "INSERT INTO verdicts (version, ruleset, verdict, findings, scanned) VALUES (?, ?, ?, ?, ?)"
            transaction.run(sql, row[0], checked.ruleset, checked.verdict, _dump(checked.findings), now)
            self._refresh(transaction, owner, name, now)
            return Published(document, created=True)

        return self.database.write(change)

    def yank(self, who: Identity, owner: str, name: str, version: str, reason: str | None) -> str:
        """Yank a version for a reason, or with None reverse that; the version, as it is sent."""
        self.allow(who, "yank", owner, name)
        return self._mark(who, owner, name, version, "yank" if reason is not None else "unyank", "yanked", reason)

    def quarantine(self, who: Identity, owner: str, name: str, version: str, reason: str | None) -> str:
        """Keep a version from being installed, for a reason, or with None release it; the version, as it is sent."""
        self.allow(who, "moderate", owner, name)
        act = "quarantine" if reason is not None else "release"
        return self._mark(who, owner, name, version, act, "quarantined", reason)

    def set_status(
        self, who: Identity, owner: str, name: str, status: str, *, successor: str = "", reason: str = ""
    ) -> Json:
        """Say whether a skill is active, deprecated (and for which other one), or archived."""
        self.allow(who, "publish", owner, name)
        if status not in ("active", "deprecated", "archived"):
            raise UsageError("bad-request", f"{status!r} is not a status.", hint="Use active, deprecated or archived.")
        now = self.now()

        def change(transaction: Transaction) -> Json:
            self.log.lock(transaction)
            row = self._visible(transaction.one(_SKILL_SQL, owner, name), who, owner, name)
            sql = "UPDATE skills SET status = ?, successor = ?, reason = ? WHERE id = ?"
            transaction.run(sql, status, successor, _check_reason(reason or status), row[0])
            act = {"act": "status", "owner": owner, "name": name, "status": status, "successor": successor}
            self.log.append(transaction, owner, name, {**act, "reason": reason, **self._signed(who, now)})
            return self._refresh(transaction, owner, name, now)

        return self.database.write(change)

    def _mark(
        self, who: Identity, owner: str, name: str, version: str, act: str, column: str, reason: str | None
    ) -> str:
        reason = None if reason is None else _check_reason(reason)
        now = self.now()

        def change(transaction: Transaction) -> str:
            self.log.lock(transaction)
            row = transaction.one(_VERSION_SQL, owner, name, version)
            row = self._visible_version(row, who, owner, name, version)
            yanked, quarantined = row[4], row[5]
            if (yanked if column == "yanked" else quarantined) == reason:
                document: str = row[6]
                return document
            entry = {"act": act, "owner": owner, "name": name, "version": version, "reason": reason or ""}
            self.log.append(transaction, owner, name, {**entry, **self._signed(who, now)})
            values = {"yanked": yanked, "quarantined": quarantined, column: reason}
            text = {**json.loads(row[6]), "yanked": _reason(values["yanked"])}
            text["status"] = "active" if values["quarantined"] is None else "quarantined"
            text["quarantined"] = _reason(values["quarantined"])
            document = _dump(text)
            sql = "UPDATE versions SET yanked = ?, quarantined = ?, document = ? WHERE id = ?"
            transaction.run(sql, values["yanked"], values["quarantined"], document, row[0])
            self._refresh(transaction, owner, name, now)
            return document

        return self.database.write(change)

    # inside a transaction

    def _signed(self, who: Identity, now: int) -> Json:
        return {"by": _publisher(who), "time": _time(now)}

    def _owner(self, transaction: Transaction, owner: str, now: int) -> int:
        row = transaction.one("SELECT id FROM owners WHERE name = ?", owner)
        if row is None:
            if not is_owner(owner):
                raise UsageError("bad-request", f"{owner!r} cannot be an owner.", hint="Use a-z, 0-9 and hyphens.")
            sql = "INSERT INTO owners (name, tier, won, created) VALUES (?, 'community', '', ?) RETURNING id"
            row = transaction.get(sql, owner, now)
            self.log.append(transaction, owner, "", {"act": "owner", "owner": owner, "time": _time(now)})
        number: int = row[0]
        return number

    def _skill(self, transaction: Transaction, owner: str, name: str, now: int) -> int:
        row = transaction.one(_SKILL_SQL, owner, name)
        if row is None:
            sql = """INSERT INTO skills (owner, name, private, status, latest, created, updated, document)
                VALUES (?, ?, 0, 'active', '', ?, ?, '') RETURNING id"""
            row = transaction.get(sql, self._owner(transaction, owner, now), name, now, now)
        number: int = row[0]
        return number

    def _refresh(self, transaction: Transaction, owner: str, name: str, now: int) -> Json:
        """Work out which version is the latest, and write down what lists say of the skill."""
        sql = """SELECT s.id, s.status, s.successor, s.reason, o.tier FROM skills s JOIN owners o ON s.owner = o.id
            WHERE o.name = ? AND s.name = ?"""
        skill, status, successor, reason, tier = transaction.get(sql, owner, name)
        sql = "SELECT version, document FROM versions WHERE skill = ? AND yanked IS NULL AND quarantined IS NULL"
        open_versions = sorted(transaction.all(sql, skill), key=lambda found: semver_key(found[0]))
        stable = [found for found in open_versions if "-" not in found[0].partition("+")[0]]
        latest = json.loads((stable or open_versions)[-1][1]) if open_versions else None
        document = {
            "owner": owner,
            "name": name,
            "description": latest["description"] if latest else "",
            "latest": latest["version"] if latest else None,
            "digest": latest["digest"] if latest else None,
            "updated": _time(now),
            "status": status,
            "tier": tier,
            "verdict": latest["verdict"]["verdict"] if latest else None,
        }
        if status != "active":
            document |= {"successor": successor, "reason": reason}
        sql = "UPDATE skills SET latest = ?, updated = ?, document = ? WHERE id = ?"
        transaction.run(sql, document["latest"] or "", now, _dump(document), skill)
        return document

    # what somebody may see and do

    def allow(self, who: Identity, verb: str, owner: str, name: str) -> None:
        """Raise RefusedError unless somebody may do this for an owner."""
        if who.may(verb, owner, name):
            return
        if who.kind == "anonymous":
            raise RefusedError("token-needed", "This needs a token.", hint="Set WHET_HUB and WHET_HUB_TOKEN.")
        raise RefusedError(
            "not-allowed", f"{who.account} may not {verb} for {owner}.", hint=f"Ask an owner of {owner}."
        )

    def _visible(self, row: Row | None, who: Identity, owner: str, name: str) -> Row:
        if row is None or (row[1] and not sees(who, owner, name)):
            hint = f"Search for it: /api/v1/search?q={name}"
            raise NotFoundError("skill-not-found", f"There is no skill {owner}/{name}.", hint=hint)
        return row

    def _visible_version(self, row: Row | None, who: Identity, owner: str, name: str, version: str) -> Row:
        if row is None or (row[7] and not sees(who, owner, name)):
            hint = f"List them: /api/v1/skills/{owner}/{name}/versions"
            raise NotFoundError("version-not-found", f"There is no version {version} of {owner}/{name}.", hint=hint)
        return row


def _all(sql: str, *values: object) -> Callable[[Transaction], list[Row]]:
    return lambda ask: ask.all(sql, *values)


def sees(who: Identity, owner: str, name: str) -> bool:
    """May this private skill be seen?"""
    return who.may("publish", owner, name) or who.may("moderate")


def _account(transaction: Transaction, name: str, now: int) -> int:
    sql = "INSERT INTO accounts (name, created) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
    transaction.run(sql, name, now)
    number: int = transaction.get("SELECT id FROM accounts WHERE name = ?", name)[0]
    return number


def _compare(checked: Checked, name: str, version: str, digest: str) -> None:
    """Raise InvalidError where the archive is not what the request says."""
    if checked.digest != digest:
        message = f"The content has the digest {checked.digest}, not {digest}."
        raise InvalidError("digest-mismatch", message, hint="Pack the skill again and send that digest.")
    if checked.name != name:
        message = f"The archive holds the skill {checked.name!r}, not {name}."
        raise InvalidError("name-mismatch", message, hint="Publish it under its own name.")
    if checked.version and checked.version != version:
        message = f"The skill says that it is version {checked.version}, not {version}."
        raise InvalidError("version-mismatch", message, hint="Publish it as the version it states.")
    errors = [problem for problem in checked.problems if problem["severity"] == "error"]
    if errors:
        hint = "`whet skill validate --profile upload` lists every problem."
        raise InvalidError("not-publishable", f"The skill breaks the format: {errors[0]['message']}", hint=hint)


def _version_document(checked: Checked, act: Json, size: int, quarantined: str | None, logged: Logged) -> Json:
    owner, name, version = act["owner"], act["name"], act["version"]
    return {
        "owner": owner,
        "name": name,
        "version": version,
        "description": checked.description,
        "digest": checked.digest,
        "archive": {
            "url": f"/api/v1/skills/{owner}/{name}/versions/{version}/archive",
            "sha256": act["sha256"],
            "size": size,
        },
        "files": list(checked.files),
        "tools": list(checked.tools),
        "published": act["time"],
        "publisher": act["publisher"],
        "status": "active" if quarantined is None else "quarantined",
        "quarantined": _reason(quarantined),
        "yanked": None,
        "security": None,
        "verdict": {
            "verdict": checked.verdict,
            "ruleset": checked.ruleset,
            "scanned": act["time"],
            "findings": list(checked.findings),
        },
        "log": {"index": logged.number, "entry": logged.entry, "proof": logged.proof},
        "signatures": [],
    }


def _check_address(owner: str, name: str, version: str) -> None:
    if not is_owner(owner) or not is_ascii_name(name) or not is_semver(version) or len(version) > 64:
        message = f"{owner}/{name} {version} cannot be published."
        raise UsageError("bad-request", message, hint="Use OWNER/NAME and a semantic version, such as 1.4.0.")


def _check_reason(reason: str) -> str:
    if not 1 <= len(reason) <= _MOST_REASON:
        raise UsageError("bad-request", "The reason must have 1 to 500 characters.", hint="Say why in a sentence.")
    return reason


def _publisher(who: Identity) -> Json:
    return {"kind": who.kind, "account": who.account, "detail": who.detail}


def _reason(text: str | None) -> Json | None:
    return None if text is None else {"reason": text}


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _time(seconds: int) -> str:
    return iso(seconds * _SECOND)


def _cursor(*parts: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _read_cursor(cursor: str, count: int) -> list[str]:
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor[:512] + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error):
        parts = None
    if not isinstance(parts, list) or len(parts) != count or not all(isinstance(part, str) for part in parts):
        raise UsageError("bad-request", "The cursor is not valid.", hint="Start again without a cursor.")
    return parts

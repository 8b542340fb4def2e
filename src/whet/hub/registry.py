"""The operations of a hub: publish, show, yank, quarantine; each is recorded in its log. See `docs/hub-api.md`.

Answers about one skill or one version are stored as the text that is sent, and rewritten by the transaction that
changes them. HTTP is the concern of `whet.hub.app`.
"""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, InvalidError, NotFoundError, RefusedError, UsageError
from whet.hub.cases import close_cases, open_case
from whet.hub.checker import Held
from whet.hub.cursors import make_cursor, read_cursor
from whet.hub.discovery import Discovery
from whet.hub.downloads import Downloads
from whet.hub.metrics import Metrics
from whet.hub.resemblance import judge, keep_sketch
from whet.hub.search import SearchIndex, show_skill
from whet.hub.settings import RESOLVER, Login, Mirror, OwnProvider
from whet.hub.tokens import (
    DAYS,
    OPERATOR,
    Identity,
    allowed_scopes,
    check_scopes,
    hash_token,
    is_owner,
    is_token,
    make_token,
    sees,
)
from whet.skill.evals_proof import check_proof
from whet.skill.names import is_ascii_name
from whet.skill.tree import DEFAULT_LIMITS
from whet.skill.versions import is_semver, semver_key
from whet.sources.web.client import Web
from whet.store.clock import iso
from whet.store.database import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.hub.blobs import Blobs
    from whet.hub.cases import Place
    from whet.hub.checker import Checked, Checker
    from whet.hub.database import Database, Row, Transaction
    from whet.hub.log import HubLog, Logged
    from whet.hub.origin import Origin
    from whet.hub.resemblance import Judged
    from whet.skill.evals_proof import EvalsProof
    from whet.store.clock import Clock
    from whet.values import Json

PAGE = 100
LATEST = "latest"
"""The tag that the hub itself sets."""
MOST_REASON = 500
_MOST_HELD = 20
"""Archives of one owner that are kept for the moderators."""
_MOST_TEXTS = 64
"""Instructions that are cached in memory."""
_SECOND = 1_000_000_000
DAY = 86_400
_PATIENCE = 10.0
"""Seconds to wait for another server."""
_SEEN_AGAIN = 60
"""Seconds after which the last use of a token is recorded again."""
_VERSION_SQL = """SELECT v.id, v.version, v.digest, v.sha256, v.yanked, v.quarantined, v.document, s.private, s.id
    FROM versions v JOIN skills s ON v.skill = s.id JOIN owners o ON s.owner = o.id
    WHERE o.name = ? AND s.name = ? AND v.version = ?"""
_SKILL_SQL = """SELECT s.id, s.private, s.status, s.document, s.downloads FROM skills s JOIN owners o ON s.owner = o.id
    WHERE o.name = ? AND s.name = ?"""

_COUNTED_AGAIN = 60
"""Seconds between two updates of the popularity of skills for search."""


class HubSettings(NamedTuple):
    """The settings of the operator."""

    title: str = "Skills"
    private: bool = False
    """Whether everything except the description of the hub needs a token."""
    archive_bytes: int = DEFAULT_LIMITS.total_bytes
    url: str = "http://localhost"
    """Public address of the hub, without a trailing slash."""
    open_owners: bool = False
    """Whether every account may create owners. Otherwise, only the hub's admins may."""
    login: Login = Login()
    providers: tuple[OwnProvider, ...] = ()
    resolver: str = RESOLVER
    private_hosts: tuple[str, ...] = ()
    quarantine_on_rescan: bool = True
    """Whether a version that new rules find dangerous is quarantined at once, and not only reported as a case."""
    mirrors: tuple[Mirror, ...] = ()


class Published(NamedTuple):
    """The text of a version, and whether it is new."""

    document: str
    created: bool


class Kept(NamedTuple):
    """A checked and stored archive, from which a version is made."""

    checked: Checked
    sha256: str
    size: int
    judged: Judged
    evals: EvalsProof | None = None
    """The publisher's report about its evals."""
    statement: bytes = b""
    """The report as it was sent."""


class SkillRow(NamedTuple):
    """A row of the table of skills."""

    id: int
    private: int
    status: str
    document: str
    downloads: int


class VersionRow(NamedTuple):
    """A row of the table of versions."""

    id: int
    version: str
    digest: str
    sha256: str
    yanked: str | None
    quarantined: str | None
    document: str
    private: int
    skill: int


class Hub:
    """A registry. Thread-safe, and safe for several processes on one PostgreSQL."""

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
        index: str = MEMORY,
        web: Web | None = None,
    ) -> None:
        """`index` is a file for the search index while the hub is down; `web` sends requests to other servers."""
        self.web = web or Web(env={}, private_hosts=settings.private_hosts, timeout=_PATIENCE, total=_PATIENCE)
        self.database, self.blobs, self.log, self.checker = database, blobs, log, checker
        self.settings = settings
        self.threads = threads
        """Whether the database is remote, so that reads should run in threads."""
        self._clock = clock
        self.downloads = Downloads(database)
        self.metrics = Metrics()
        self.index = SearchIndex(database, index)
        self.discovery = Discovery(database, log.origin, settings.title, settings.url)
        self._counted = 0
        self._texts: OrderedDict[str, str] = OrderedDict()
        """Recently shown instructions by SHA-256 of the archive, the latest last."""

    def close(self) -> None:
        """Close processes and connections."""
        self.downloads.flush()
        self.checker.close()
        self.index.close()
        self.web.close()
        self.database.close()

    def tick(self) -> None:
        """Run the periodic tasks, every few seconds while the hub serves."""
        self.downloads.flush()
        self.index.catch_up()
        if self.now() >= self._counted + _COUNTED_AGAIN:
            self._counted = self.now()
            self.index.count_downloads()

    def now(self) -> int:
        """Return the seconds since 1970."""
        return self._clock() // _SECOND

    def verify(self) -> tuple[int, int]:
        """Check the whole log and every archive; return their numbers. Raise FailedError for damage."""
        entries = self.log.verify()
        archives = self.database.read(_all("SELECT DISTINCT sha256 FROM versions"))
        for row in archives:
            self.blobs.get(row[0])
        return entries, len(archives)

    # authentication

    def identify(self, token: str) -> Identity:
        """Return the identity of a token. Raise RefusedError `token-needed` if it is unknown, expired or revoked."""
        now = self.now()

        def ask(transaction: Transaction) -> tuple[Identity, int] | None:
            sql = """SELECT a.name, t.scopes, t.label, t.expires, t.revoked, t.used, t.id, t.personal, t.claims, a.role,
                a.id FROM tokens t JOIN accounts a ON t.account = a.id WHERE t.hash = ?"""
            row = transaction.one(sql, hash_token(token))
            if row is None or row[3] <= now or row[4]:
                return None
            scopes = tuple(json.loads(row[1]))
            if row[7]:
                sql = "SELECT o.name, m.role FROM members m JOIN owners o ON m.owner = o.id WHERE m.account = ?"
                held = [(owner, role) for owner, role in transaction.all(f"{sql} ORDER BY o.name", row[10])]
                scopes = allowed_scopes(scopes, row[9], held)
            kind = "oidc" if row[8] else "token"
            return Identity(row[0], scopes, kind, row[2], row[6], row[3], row[8]), row[5]

        found = self.database.read(ask) if is_token(token) else None
        if found is None:
            raise RefusedError("token-needed", "The token is unknown, expired or revoked.", hint="Ask for a new one.")
        who, used = found
        if now - used >= _SEEN_AGAIN:
            self.database.write(lambda change: change.run("UPDATE tokens SET used = ? WHERE id = ?", now, who.token))
        return who

    def create_token(self, account: str, scopes: tuple[str, ...], label: str = "", days: int = DAYS) -> str:
        """Create a token for an account, for the operator. Missing accounts and owners are created."""
        check_account(account)
        scopes, now = check_scopes(scopes), self.now()

        def change(transaction: Transaction) -> str:
            self.log.lock(transaction)
            holder = ensure_account(transaction, account, now)
            for owner in sorted({scope.partition(":")[2].partition("/")[0] for scope in scopes} - {""}):
                self.ensure_owner(transaction, owner, now)
            return keep_token(transaction, holder, scopes, label, now, now + days * DAY)

        return self.database.write(change)

    def revoke_tokens(self, account: str) -> int:
        """Revoke all tokens of an account; return their number."""
        now = self.now()

        def change(transaction: Transaction) -> int:
            sql = """UPDATE tokens SET revoked = ? WHERE revoked = 0
                AND account IN (SELECT id FROM accounts WHERE name = ?)"""
            count = transaction.run(sql, now, account)
            if count:
                self.log.append(
                    transaction, "", "", {"act": "revoke", "account": account, "tokens": count, "time": time_text(now)}
                )
            return count

        return self.database.write(change)

    # reading

    def describe(self) -> Json:
        """Return the hub's description of itself."""
        limits = DEFAULT_LIMITS
        return {
            "hub": "whet",
            "api": 1,
            "title": self.settings.title,
            "private": self.settings.private,
            "log": {"origin": self.log.origin, "key": str(self.log.public_key)},
            "login": {"oidc": bool(self.settings.login.issuer), "invitation": True},
            "publishing": {
                "audience": self.log.origin,
                "providers": ["github", "gitlab", *(provider.name for provider in self.settings.providers)],
            },
            "limits": {
                "archive_bytes": self.settings.archive_bytes,
                "file_bytes": limits.file_bytes,
                "files": limits.files,
                "page": PAGE,
            },
        }

    def skills(self, who: Identity, *, name: str = "", limit: int = 20, cursor: str = "") -> Json:
        """Return a page of the skills that `who` may see, by owner and name."""
        owner, after = read_cursor(cursor, 2) if cursor else ("", "")
        sql = """SELECT o.name, s.name, s.private, s.document, s.downloads FROM skills s JOIN owners o ON s.owner = o.id
            WHERE (o.name > ? OR (o.name = ? AND s.name > ?)) AND (? = '' OR s.name = ?)
            ORDER BY o.name, s.name LIMIT ?"""
        found: list[Json] = []
        while len(found) <= limit:
            rows = self.database.read(_all(sql, owner, owner, after, name, name, limit + 1))
            found += [show_skill(row[3], row[4]) for row in rows if not row[2] or sees(who, row[0], row[1])]
            if len(rows) <= limit:
                break
            owner, after = rows[-1][0], rows[-1][1]
        more = found[limit:]
        last = found[limit - 1] if more else None
        return {"skills": found[:limit], "next": make_cursor(last["owner"], last["name"]) if last else None}

    def skill(self, who: Identity, owner: str, name: str) -> Json:
        """Return one skill with the number of its versions."""
        return self.database.read(lambda ask: self.show(ask, who, owner, name))

    def show(self, transaction: Transaction, who: Identity, owner: str, name: str) -> Json:
        """Return one skill, as this transaction sees it."""
        found = self.find_skill(transaction, who, owner, name)
        count = transaction.get("SELECT COUNT(*) FROM versions WHERE skill = ?", found.id)
        return {**show_skill(found.document, found.downloads), "versions": count[0]}

    def versions(self, who: Identity, owner: str, name: str, *, limit: int = 20, cursor: str = "") -> Json:
        """Return a page of its versions, the highest first."""
        after = read_cursor(cursor, 1)[0] if cursor else ""

        def ask(transaction: Transaction) -> tuple[list[str], list[Json]]:
            skill = self.find_skill(transaction, who, owner, name).id
            rows = transaction.all("SELECT version, id FROM versions WHERE skill = ?", skill)
            ids = {row[0]: row[1] for row in rows if not after or semver_key(row[0]) < semver_key(after)}
            numbers = sorted(ids, key=semver_key, reverse=True)
            tags = transaction.all("SELECT version, tag FROM tags WHERE skill = ? ORDER BY tag", skill)
            shown = []
            for number in numbers[:limit]:
                row = transaction.get("SELECT document, downloads FROM versions WHERE id = ?", ids[number])
                marks = [tag for version, tag in tags if version == ids[number]]
                shown.append(_listed(json.loads(row[0])) | {"downloads": row[1], "tags": marks})
            return numbers, shown

        numbers, shown = self.database.read(ask)
        return {"versions": shown, "next": make_cursor(numbers[limit - 1]) if len(numbers) > limit else None}

    def version(self, who: Identity, owner: str, name: str, version: str) -> str:
        """Return one version as the text that is sent."""
        return self.database.read(lambda ask: self.find_version(ask, who, owner, name, version)).document

    def archive(self, who: Identity, owner: str, name: str, version: str, *, caller: str = "") -> tuple[str, bytes]:
        """Return the SHA-256 of a version's archive and the archive; count a download of `caller`.

        Raises RefusedError `quarantined`.
        """
        found = self._find_content(who, owner, name, version)
        data = self.blobs.get(found.sha256)
        if caller:
            self.downloads.count(caller, found.id, self.now())
        return found.sha256, data

    def text(self, who: Identity, owner: str, name: str, version: str) -> str:
        """Return the instructions of a version. Raise RefusedError `quarantined` or InvalidError `held`."""
        sha256 = self._find_content(who, owner, name, version).sha256
        text: str | Held | None = self._texts.pop(sha256, None)
        if text is None:
            text = self.checker.read_text(self.blobs.get(sha256))
        if isinstance(text, Held):
            raise InvalidError("held", text.reason, hint="Open the archive yourself.")
        self._texts[sha256] = text
        if len(self._texts) > _MOST_TEXTS:
            self._texts.popitem(last=False)
        return text

    def _find_content(self, who: Identity, owner: str, name: str, version: str) -> VersionRow:
        """Return a version whose content `who` may have. Raise RefusedError `quarantined`."""
        found = self.database.read(lambda ask: self.find_version(ask, who, owner, name, version))
        if found.quarantined is not None and not who.may("moderate"):
            message = f"{owner}/{name} {version} is quarantined: {found.quarantined}"
            raise RefusedError("quarantined", message, hint="Use another version.")
        return found

    def find_digest(self, who: Identity, digest: str) -> Json:
        """Return the versions with this content."""
        sql = """SELECT o.name, s.name, v.version, v.yanked, s.private
            FROM versions v JOIN skills s ON v.skill = s.id JOIN owners o ON s.owner = o.id
            WHERE v.digest = ? ORDER BY o.name, s.name"""
        rows = self.database.read(lambda ask: ask.all(sql, digest))
        found = [
            {"owner": row[0], "name": row[1], "version": row[2], "yanked": reason_of(row[3])}
            for row in rows
            if not row[4] or sees(who, row[0], row[1])
        ]
        if not found:
            raise NotFoundError("digest-not-found", "No version has this content.", hint="Check the digest.")
        return {"digest": digest, "versions": found}

    # writing

    def publish(
        self, who: Identity, owner: str, name: str, version: str, archive: bytes, digest: str, evals: bytes = b""
    ) -> Published:
        """Publish a version, or return the existing one with exactly this content.

        `evals` is the publisher's report about its evals (`whet.skill.evals_proof`).
        """
        self.allow(who, "publish", owner, name)
        place = (owner, name, version)
        checked = self.examine(place, archive)
        if isinstance(checked, Held):
            raise self.hold(place, checked, archive, digest, who)
        compare(checked, name, version, digest)
        kept = self.keep(place, archive, checked, evals)
        return self.database.write(lambda change: self.add_version(change, who, place, kept))

    def examine(self, place: Place, archive: bytes) -> Checked | Held:
        """Check an archive; return `Held` if it cannot be checked. Raises InvalidError."""
        check_address(*place)
        if len(archive) > self.settings.archive_bytes:
            raise InvalidError("too-large", "The archive is too large.", hint="Leave out what the skill does not need.")
        return self.checker.check(archive)

    def hold(self, place: Place, held: Held, archive: bytes, digest: str, who: Identity) -> InvalidError:
        """Store an archive that could not be checked, for the moderators; return the error that reports it.

        While the case is open, other bytes for the same version do not replace it: moderators release what they have
        seen.
        """
        publisher = dump(who._replace(scopes=(), token=0, expires=0)._asdict())
        now = self.now()

        def has_room(transaction: Transaction) -> bool:
            sql = "SELECT c.name, c.version FROM held h JOIN cases c ON h.queued = c.id WHERE c.owner = ?"
            others = transaction.all(sql, place[0])
            return len(others) < _MOST_HELD and place[1:] not in {(name, version) for name, version in others}

        def change(transaction: Transaction) -> None:
            number = open_case(transaction, place, "held", held.reason, now)
            if kept:
                sql = "INSERT INTO held VALUES (?, ?, ?, ?, ?) ON CONFLICT (queued) DO NOTHING"
                transaction.run(sql, number, sha256, len(archive), digest, publisher)

        kept = self.database.read(has_room)
        sha256 = self.blobs.put(archive) if kept else ""
        self.database.write(change)
        return InvalidError("held", held.reason, hint="Make the skill smaller, or ask the hub's moderators.")

    def keep(self, place: Place, archive: bytes, checked: Checked, evals: bytes = b"") -> Kept:
        """Store an archive that is about to be published, and compare it with the skills of others.

        Raises InvalidError `bad-evals` if the publisher's report about its evals does not match.
        """
        files = {file["path"]: file["sha256"] for file in checked.files}
        proof = check_proof(evals, checked.digest, files) if evals else None
        judged = judge(self.database, self.index, *place[:2], checked.texts["body"])
        return Kept(checked, self.blobs.put(archive), len(archive), judged, proof, evals)

    def add_version(
        self, transaction: Transaction, who: Identity, place: Place, kept: Kept, origin: Origin | None = None
    ) -> Published:
        """Add a version whose archive is stored; `origin` is the source of a mirrored one."""
        (owner, name, version), (checked, sha256, size, judged, evals, _) = place, kept
        digest, now = checked.digest, self.now()
        self.log.lock(transaction)
        if origin is not None:
            self.ensure_owner(transaction, owner, now, mirror=origin.url)
        self.check_source(transaction, owner, "" if origin is None else origin.url)
        row = transaction.one(_VERSION_SQL, owner, name, version)
        if row is not None:
            if row[2] != digest and origin is not None:
                raise origin.changed(place)
            if row[2] != digest or (row[4] is not None and origin is None):
                hint = "Choose a higher version; a version never changes, and a yanked number is not used again."
                raise ConflictError("version-exists", f"{owner}/{name} {version} already exists.", hint=hint)
            return Published(row[6], created=False)
        skill = self.ensure_skill(transaction, owner, name, now)
        if skill.status == "archived":
            hint = f"Make it active again first: PUT /api/v1/skills/{owner}/{name}/status"
            raise ConflictError("archived", f"{owner}/{name} is archived.", hint=hint)
        act: Json = {
            "act": "publish" if origin is None else "mirror",
            "owner": owner,
            "name": name,
            "version": version,
            "digest": digest,
            "sha256": sha256,
            "verdict": checked.verdict,
            "ruleset": checked.ruleset,
            "publisher": publisher_of(who) if origin is None else origin.publisher_json(),
            "tier": transaction.get("SELECT tier FROM owners WHERE name = ?", owner)[0],
            "time": time_text(now),
        }
        if evals is not None:
            act["evals"] = evals.to_json()
        if origin is not None:
            act["upstream"] = origin.act_json()
        logged = self.log.append(transaction, owner, name, act)
        held = "" if skill.private else judged.held  # a private skill cannot be confused with others
        quarantined = "The guard calls it dangerous." if checked.verdict == "dangerous" else held or None
        text = _version_document(kept, act, quarantined, logged)
        document = dump(text if origin is None else {**text, "upstream": origin.to_json()})
        sql = """INSERT INTO versions (skill, version, digest, sha256, size, flat, published, quarantined, document)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"""
        row = transaction.get(sql, skill.id, version, digest, sha256, size, checked.flat, now, quarantined, document)
        sql = "INSERT INTO verdicts (version, ruleset, verdict, findings, scanned) VALUES (?, ?, ?, ?, ?)"
        transaction.run(sql, row[0], checked.ruleset, checked.verdict, dump(checked.findings), now)
        sql = "INSERT INTO texts (version, data) VALUES (?, ?)"
        transaction.run(sql, row[0], zlib.compress(dump(checked.texts).encode()))
        keep_sketch(transaction, skill.id, checked.texts["body"])
        if quarantined is not None:
            cause = "guard" if checked.verdict == "dangerous" else "duplicate"
            open_case(transaction, (owner, name, version), cause, quarantined, now)
        self.refresh(transaction, owner, name, now)
        return Published(document, created=True)

    def yank(self, who: Identity, owner: str, name: str, version: str, reason: str | None) -> str:
        """Yank a version for a reason; None reverses a yank. Return the version as it is sent."""
        self.allow(who, "yank", owner, name)
        return self._mark(who, (owner, name, version), "yank" if reason is not None else "unyank", "yanked", reason)

    def quarantine(self, who: Identity, owner: str, name: str, version: str, reason: str | None) -> str:
        """Quarantine a version for a reason; None releases it. Return the version as it is sent."""
        self.allow(who, "moderate", owner, name)
        act = "quarantine" if reason is not None else "release"
        return self._mark(who, (owner, name, version), act, "quarantined", reason)

    def _mark(self, who: Identity, place: Place, act: str, column: str, reason: str | None) -> str:
        reason, now = None if reason is None else check_reason(reason), self.now()

        def change(transaction: Transaction) -> str:
            self.log.lock(transaction)
            if column == "yanked":
                self.check_source(transaction, place[0])
            return self.mark(transaction, who, place, act, column, reason, now)

        return self.database.write(change)

    # inside a transaction

    def mark(
        self,
        transaction: Transaction,
        who: Identity,
        place: Place,
        act: str,
        column: str,
        reason: str | None,
        now: int,
        *,
        why: str = "",
    ) -> str:
        """Yank or quarantine a version for a reason; None reverses that. Return the version as it is sent.

        `why` is the reason for the log instead. A decision about quarantine closes the version's cases.
        """
        owner, name, version = place
        found = self.find_version(transaction, who, owner, name, version)
        if column == "quarantined":
            close_cases(transaction, place, act, why or reason or "", who.account, now)
        values = {"yanked": found.yanked, "quarantined": found.quarantined}
        if values[column] == reason:
            return found.document
        entry = {"act": act, "owner": owner, "name": name, "version": version, "reason": why or reason or ""}
        self.log.append(transaction, owner, name, {**entry, **self.sign(who, now)})
        values[column] = reason
        text = {**json.loads(found.document), "yanked": reason_of(values["yanked"])}
        text["status"] = "active" if values["quarantined"] is None else "quarantined"
        text["quarantined"] = reason_of(values["quarantined"])
        document = dump(text)
        sql = "UPDATE versions SET yanked = ?, quarantined = ?, document = ? WHERE id = ?"
        transaction.run(sql, values["yanked"], values["quarantined"], document, found.id)
        self.refresh(transaction, owner, name, now)
        return document

    def sign(self, who: Identity, now: int) -> Json:
        """Return the actor and time of an act, for the log."""
        return {"by": publisher_of(who), "time": time_text(now)}

    def check_source(self, transaction: Transaction, owner: str, mirror: str = "") -> None:
        """Raise ConflictError unless the versions of an owner come from here, or from this mirror: never from both."""
        row = transaction.one("SELECT mirror FROM owners WHERE name = ?", owner)
        if row is not None and row[0] != mirror:
            whose = f"is mirrored from {row[0]}" if row[0] else "is an owner of this hub, and not mirrored"
            raise ConflictError("mirrored", f"{owner} {whose}.", hint="Use another owner, or the mirrored hub itself.")

    def ensure_owner(self, transaction: Transaction, owner: str, now: int, *, mirror: str = "") -> int:
        """Return the id of an owner, created if missing; `mirror` is the source of its skills."""
        row = transaction.one("SELECT id FROM owners WHERE name = ?", owner)
        if row is None:
            if not is_owner(owner):
                raise UsageError("bad-request", f"{owner!r} cannot be an owner.", hint="Use a-z, 0-9 and hyphens.")
            sql = """INSERT INTO owners (name, tier, won, created, mirror) VALUES (?, 'community', '', ?, ?)
                RETURNING id"""
            row = transaction.get(sql, owner, now, mirror)
            act = {"act": "owner", "owner": owner, "time": time_text(now)}
            self.log.append(transaction, owner, "", {**act, "mirror": mirror} if mirror else act)
        number: int = row[0]
        return number

    def ensure_skill(
        self, transaction: Transaction, owner: str, name: str, now: int, *, private: bool = False
    ) -> SkillRow:
        """Return a skill, created if missing."""
        row = transaction.one(_SKILL_SQL, owner, name)
        if row is None:
            sql = """INSERT INTO skills (owner, name, private, status, latest, created, updated, document)
                VALUES (?, ?, ?, 'active', '', ?, ?, '')"""
            transaction.run(sql, self.ensure_owner(transaction, owner, now), name, int(private), now, now)
            row = transaction.get(_SKILL_SQL, owner, name)
        return SkillRow(*row)

    def refresh(self, transaction: Transaction, owner: str, name: str, now: int) -> Json:
        """Find the latest version and update the skill's text for lists."""
        sql = """SELECT s.id, s.status, s.successor, s.reason, o.tier, s.private, o.won
            FROM skills s JOIN owners o ON s.owner = o.id WHERE o.name = ? AND s.name = ?"""
        skill, status, successor, reason, tier, private, won = transaction.get(sql, owner, name)
        sql = "SELECT version, id FROM versions WHERE skill = ? AND yanked IS NULL AND quarantined IS NULL"
        ids: dict[str, int] = dict(transaction.all(sql, skill))
        numbers = sorted(ids, key=semver_key)
        stable = [number for number in numbers if "-" not in number.partition("+")[0]]
        newest = (stable or numbers)[-1] if numbers else None
        latest = None
        if newest is not None:
            latest = json.loads(transaction.get("SELECT document FROM versions WHERE id = ?", ids[newest])[0])
        named = {number: version for version, number in ids.items()}
        tags = transaction.all("SELECT tag, version FROM tags WHERE skill = ? ORDER BY tag", skill)
        own = {tag: named[number] for tag, number in tags if number in named}
        document = {
            "owner": owner,
            "name": name,
            "description": latest["description"] if latest else "",
            "latest": latest["version"] if latest else None,
            "digest": latest["digest"] if latest else None,
            "updated": time_text(now),
            "status": status,
            "tier": tier,
            "won": won,
            "verdict": latest["verdict"]["verdict"] if latest else None,
            "topics": latest["topics"] if latest else [],
            "tags": own if newest is None else {LATEST: newest, **own},
            "private": bool(private),
        }
        if status != "active":
            document |= {"successor": successor, "reason": reason}
        sql = "UPDATE skills SET latest = ?, updated = ?, document = ? WHERE id = ?"
        transaction.run(sql, document["latest"] or "", now, dump(document), skill)
        return document

    # permissions

    def allow(self, who: Identity, verb: str, owner: str, name: str) -> None:
        """Raise RefusedError unless `who` may do this for an owner."""
        if who.may(verb, owner, name):
            return
        if who.kind == "anonymous":
            raise RefusedError("token-needed", "This needs a token.", hint="Set WHET_HUB and WHET_HUB_TOKEN.")
        raise RefusedError(
            "not-allowed", f"{who.account} may not {verb} for {owner}.", hint=f"Ask an owner of {owner}."
        )

    def find_skill(self, transaction: Transaction, who: Identity, owner: str, name: str) -> SkillRow:
        """Return a skill that `who` may see. Raise NotFoundError."""
        row = transaction.one(_SKILL_SQL, owner, name)
        if row is None or (row[1] and not sees(who, owner, name)):
            hint = f"Search for it: /api/v1/search?q={name}"
            raise NotFoundError("skill-not-found", f"There is no skill {owner}/{name}.", hint=hint)
        return SkillRow(*row)

    def find_version(self, transaction: Transaction, who: Identity, owner: str, name: str, version: str) -> VersionRow:
        """Return a version that `who` may see. Raise NotFoundError."""
        row = transaction.one(_VERSION_SQL, owner, name, version)
        if row is None or (row[7] and not sees(who, owner, name)):
            hint = f"List them: /api/v1/skills/{owner}/{name}/versions"
            raise NotFoundError("version-not-found", f"There is no version {version} of {owner}/{name}.", hint=hint)
        return VersionRow(*row)


def _all(sql: str, *values: object) -> Callable[[Transaction], list[Row]]:
    return lambda ask: ask.all(sql, *values)


def check_account(name: str) -> str:
    """Return the name if it is valid for an account. Raise UsageError."""
    if not is_owner(name) or name == OPERATOR.account:
        raise UsageError("bad-account", f"{name!r} cannot be an account.", hint="Use a-z, 0-9 and hyphens.")
    return name


def keep_token(
    transaction: Transaction,
    account: int,
    scopes: tuple[str, ...],
    label: str,
    now: int,
    expires: int,
    *,
    personal: bool = False,
    claims: str = "",
) -> str:
    """Create a token for an account; only its hash is stored."""
    token, secret = make_token()
    sql = """INSERT INTO tokens (hash, account, label, scopes, created, expires, personal, claims)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
    transaction.run(sql, secret, account, label[:100], json.dumps(scopes), now, expires, int(personal), claims)
    return token


def ensure_account(transaction: Transaction, name: str, now: int) -> int:
    """Return the id of an account, created if missing."""
    sql = "INSERT INTO accounts (name, created) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
    transaction.run(sql, name, now)
    number: int = transaction.get("SELECT id FROM accounts WHERE name = ?", name)[0]
    return number


def compare(checked: Checked, name: str, version: str, digest: str) -> None:
    """Raise InvalidError if the archive does not match the request."""
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


def _version_document(kept: Kept, act: Json, quarantined: str | None, logged: Logged) -> Json:
    checked, sha256, size, judged, evals, statement = kept
    owner, name, version = act["owner"], act["name"], act["version"]
    return {
        "owner": owner,
        "name": name,
        "version": version,
        "description": checked.description,
        "digest": checked.digest,
        "archive": {
            "url": f"/api/v1/skills/{owner}/{name}/versions/{version}/archive",
            "sha256": sha256,
            "size": size,
        },
        "files": list(checked.files),
        "tools": list(checked.tools),
        "topics": list(checked.texts["tags"]),
        "powers": checked.powers,
        "resembles": judged.to_json(),
        "published": act["time"],
        "publisher": act["publisher"],
        "status": "active" if quarantined is None else "quarantined",
        "quarantined": reason_of(quarantined),
        "yanked": None,
        "security": None,
        "verdict": {
            "verdict": checked.verdict,
            "ruleset": checked.ruleset,
            "scanned": act["time"],
            "findings": list(checked.findings),
        },
        "log": logged.to_json(),
        "signatures": list(checked.signatures),
        "evals": {**evals.to_json(), "statement": statement.decode()} if evals else None,
    }


def _listed(version: Json) -> Json:
    """Return the entry of a version in the list of versions."""
    kept = ("version", "digest", "published", "status", "yanked", "security")
    return {**{key: version[key] for key in kept}, "verdict": version["verdict"]["verdict"]}


def check_address(owner: str, name: str, version: str = "0.0.0") -> None:
    """Raise UsageError if this cannot be the address of a skill or version."""
    if not is_owner(owner) or not is_ascii_name(name) or not is_semver(version) or len(version) > 64:
        message = f"{owner}/{name} {version} cannot be published."
        raise UsageError("bad-request", message, hint="Use OWNER/NAME and a semantic version, such as 1.4.0.")


def check_reason(reason: str) -> str:
    """Return the reason if its length is allowed. Raise UsageError."""
    if not 1 <= len(reason) <= MOST_REASON:
        raise UsageError("bad-request", "The reason must have 1 to 500 characters.", hint="Say why in a sentence.")
    return reason


def publisher_of(who: Identity) -> Json:
    """Return the publisher or actor for answers and the log; for a workflow, with its verified claims."""
    return {"kind": who.kind, "account": who.account, "detail": who.detail, **json.loads(who.claims or "{}")}


def reason_of(text: str | None) -> Json | None:
    """Return a reason for answers."""
    return None if text is None else {"reason": text}


def dump(value: object) -> str:
    """Return a value as the JSON text that is stored and sent."""
    return json.dumps(value, ensure_ascii=False)


def time_text(seconds: int) -> str:
    """Return a time for answers."""
    return iso(seconds * _SECOND)

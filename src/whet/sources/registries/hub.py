"""Skills of a Whet hub. `docs/hub-api.md` describes the API; `whet.sources.publish.hub` publishes to a hub.

A hub is never trusted on its word alone: the archive must have the size and hash of the version, its files the content
digest, and the log must prove that everyone gets the same (`whet.sources.hub_logs`). A token is sent only to the hub it
belongs to: not to the host of an archive, and not to another hub named by a reference or a stranger's lock. That is why
`WHET_HUB_TOKEN` alone is never sent; `WHET_HUB` names its hub.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import AmbiguousError, ConflictError, InvalidError, NotFoundError, RefusedError, WhetError
from whet.notes import Note
from whet.skill.tree import digest, entries
from whet.skill.versions import in_range, is_range, is_semver
from whet.sources.age import read_time
from whet.sources.credentials import HOME, TOKEN, get_token
from whet.sources.hub_logs import check_entry
from whet.sources.model import Fetched, Listing, LogProof, Newer, Offer, Ref
from whet.sources.registries.registry import (
    Answer,
    Registry,
    bad_response,
    check_segment,
    clean_text,
    get_origin,
    mismatch,
    parse_json,
    quote_segment,
    quote_text,
    read_archive,
    split_path,
)
from whet.sources.transparency import LogKey, Proof, diverged, read_checkpoint, write_entry
from whet.store.concurrency import together

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from whet.sources.age import Cooldown
    from whet.sources.hub_logs import HubLogs
    from whet.sources.model import FetchContext
    from whet.sources.transparency import Checkpoint

PAGE = 100
MOST_LISTED = 1_000
"""Skills of a hub that are listed when no skill is named."""


class Version(NamedTuple):
    """One version of a skill."""

    owner: str
    name: str
    version: str
    description: str
    digest: str
    url: str
    """Address of the archive."""
    sha256: str
    size: int
    yanked: str | None
    """Reason of the yank; None if it is not yanked."""
    published: str = ""
    security: str = ""
    """Description of the security fix, if the hub marks it as one."""
    quarantined: str | None = None
    """Reason of the quarantine; None if the hub serves it."""
    proof: LogProof | None = None
    evals: str = ""
    """The publisher's report about its evals, as sent to the hub; not checked."""
    verdict: str = ""
    """Verdict of the hub's scan."""


class LogAct(NamedTuple):
    """An entry of a hub's log, from its list of changes."""

    number: int
    said: Answer

    @property
    def line(self) -> str:
        """The entry as a line of the log."""
        return write_entry({name: value for name, value in self.said.fields() if name != "index"})


class HubSource(Registry):
    """A hub."""

    def __init__(self, ref: Ref, context: FetchContext, token: str | None = None) -> None:
        """`token` is sent instead of the one from the user's login."""
        super().__init__(ref._replace(location=ref.location.rstrip("/")), context)
        self._given = token
        self._versions: dict[tuple[str, str], Version] = {}
        """Versions by path and version."""

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """List the skill of the reference, or those with these names; without names, all skills of the hub."""
        wanted = (self.ref.path,) if self.ref.path else tuple(names)
        return self.list_found(together(self._find, wanted)) if wanted else self._list_all()

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """Return the skills that the hub finds, in its order."""
        words = clean_text(query, 200)
        return self._get_pages(f"search?q={quote_segment(words)}", limit)[0] if words else ()

    def find(self, name: str) -> tuple[Offer, ...]:
        """Return the skills with this name that have an installable version, of any owner."""
        skills, _ = self._get_pages(f"skills?name={quote_segment(name.lower())}", PAGE)
        return tuple(skill for skill in skills if skill.name == name.lower() and skill.version)

    def fetch_one(self, offer: Offer) -> Fetched:
        """Fetch the archive of one version; check its hash and its content digest."""
        owner, name = split_path(offer.ref.path)
        version = self._versions.get((offer.ref.path, offer.revision))
        if version is None:
            version = self.get_version(owner, name, offer.revision, pinned=offer.ref.ref == offer.revision)
        if offer.digest and offer.digest != version.digest:
            raise mismatch(f"the hub now has different content for version {offer.revision}")
        tree, notes = read_archive(self.get_archive(version), name)
        if digest(entries(tree)) != version.digest:
            raise mismatch("the content has a different digest")
        return Fetched(offer, tree, (*_note_yank(version), *notes))

    def get_archive(self, version: Version) -> bytes:
        """Fetch the archive of a version and check its size and hash."""
        headers = self._headers if get_origin(version.url) == get_origin(self.ref.location) else {}
        return self.get_sized(version.url, version.name, sha256=version.sha256, size=version.size, headers=headers)

    def _find(self, path: str) -> tuple[Offer, tuple[Note, ...]]:
        """Return the requested version of one skill, or the latest one."""
        owner, name = split_path(path)
        wanted: str = self.ref.ref
        notes: tuple[Note, ...] = ()
        if not owner or not wanted or self._range:
            if not owner:
                owner, name = split_path(self._find_by_name(name).ref.path)
            answer = self.get_skill(f"{owner}/{name}")
            skill, notes = self._read_skill(answer), _note_status(answer)
            path = skill.ref.path
            wanted = self._find_highest(path) if self._range else wanted or skill.version
            if not wanted:
                raise self._refuse_all(path)
        version = self.get_version(owner, name, wanted, pinned=self.ref.ref == wanted)
        return self._offer_version(version), (*notes, *_note_yank(version))

    def _offer_version(self, version: Version) -> Offer:
        """Return the offer of a version; if it is too young, of one that is old enough, if any."""
        path = f"{version.owner}/{version.name}"
        offer = self.offer(path, version.name, version.description, version.version, version.digest, ref=self.ref.ref)
        time = self.published(offer.ref, version.published, version.version)
        offer = offer._replace(published=time, security=version.security, proof=version.proof)
        cooldown = self.context.cooldown
        if cooldown is None or time <= cooldown.before or version.security or (self.ref.ref and not self._range):
            return offer
        older = self._find_older(version, cooldown)
        if older is None:
            return offer
        old = self.offer(path, older.name, older.description, older.version, older.digest, ref=self.ref.ref)
        newer = Newer(version.version, time)
        return old._replace(
            published=read_time(older.published), newer=newer, security=older.security, proof=older.proof
        )

    def _find_older(self, version: Version, cooldown: Cooldown) -> Version | None:
        """Return the highest version below one that is too young which is old enough and above the installed one."""
        path = f"{version.owner}/{version.name}"
        below = False
        for number, entry in self.list_versions(path):
            if number == cooldown.installed.get(path):
                return None
            time = read_time(entry.prose("published"))
            fit = 0 < time <= cooldown.before or "security" in entry
            if below and fit and _is_release(number, entry) and in_range(number, self._range):
                return self.get_version(version.owner, version.name, number, pinned=False)
            below = below or number == version.version
        return None

    @property
    def _range(self) -> str:
        """The requested version range; "" for a single version or none."""
        return "" if is_semver(self.ref.ref) or not is_range(self.ref.ref) else self.ref.ref

    def _find_highest(self, path: str) -> str:
        """Return the highest version within the range. Raise NotFoundError `no-such-version`."""
        numbers = []
        for number, entry in self.list_versions(path):
            if _is_release(number, entry):
                if in_range(number, self._range):
                    return number
                numbers.append(number)
        message = f"{self.ref.location} has no version of {path} in the range {self._range}."
        hint = f"It has {', '.join(numbers[:10])}." if numbers else "Ask its publisher."
        raise NotFoundError("no-such-version", message, hint=hint, suggestions=numbers[:10])

    def _refuse_all(self, path: str) -> RefusedError:
        """Return the error for a skill whose versions are all yanked or in quarantine."""
        held = [_is_quarantined(entry) for _, entry in self.list_versions(path)]
        if not any(held):
            return _refuse_yanked(f"Every version of {path} was yanked.", "a version")
        message = f"Every version of {path} {'is' if all(held) else 'was yanked or is'} in quarantine."
        return RefusedError("version-quarantined", message, hint="Ask the hub's moderators.")

    def list_versions(self, path: str) -> Iterator[tuple[str, Answer]]:
        """Yield the versions of a skill, the highest first."""
        for entry in self._get(f"skills/{path}/versions?limit={PAGE}").children("versions"):
            yield entry.segment("version"), entry

    def _find_by_name(self, name: str) -> Offer:
        """Return the only skill with a name, of any owner."""
        skills, _ = self._get_pages(f"skills?name={quote_segment(name)}", PAGE)
        same = [skill for skill in skills if skill.name == name]
        if not same:
            self._check_lost()
            raise self.missing(name)
        if len(same) > 1:
            candidates = [skill.ref.path for skill in same]
            message = f"{len(same)} skills are named {name}: {', '.join(candidates[:10])}."
            raise AmbiguousError("ambiguous-skill", message, hint="Add the owner to the name.", candidates=candidates)
        return same[0]

    def get_version(self, owner: str, name: str, version: str, *, pinned: bool) -> Version:
        """Return a version with its proof; a yanked one only if it is `pinned`. Raises WhetError."""
        check_segment(version, "a version")
        answer = self._get(f"skills/{owner}/{name}/versions/{quote_segment(version)}")
        found = read_version(answer, owner, name, version)
        if found.quarantined is not None:
            message = f"{owner}/{name} {version} is in quarantine: {found.quarantined}".strip()
            raise RefusedError("version-quarantined", message, hint="Use another version, or ask the hub's moderators.")
        if found.yanked is not None and not pinned:
            raise _refuse_yanked(_describe_yank(found), "the version")
        found = found._replace(proof=self._prove(answer, found))
        self._versions[f"{owner}/{name}", version] = found
        return found

    def _prove(self, answer: Answer, version: Version) -> LogProof | None:
        """Return the proof that the hub's log contains a version. Raise WhetError if it does not hold.

        A hub that never had a log need not have one; a hub that had one must prove everything from then on.
        """
        logs, shown = self.context.logs, answer.optional_child("log")
        if logs is None:
            return None
        known = logs.known(self.ref.location)
        if shown is None:
            if known is not None:
                raise diverged("it had a log, and sends a version without a proof")
            return None
        key = known.key if known and known.chosen else self.log_key
        opened = (shown.optional_text("act") or "", shown.optional_text("salt") or "")
        proof = LogProof(str(key), shown.text("entry"), shown.text("proof"), *opened)
        expected = {"owner": version.owner, "name": version.name, "version": version.version, "digest": version.digest}
        check_entry(proof, **expected)
        logs.see(self.ref.location, key, Proof.parse(proof.log_proof).checkpoint, self.read_consistency)
        return proof

    def see_log(self, logs: HubLogs) -> Checkpoint:
        """Return the newest checkpoint of the log, which must continue the one seen before, or raise `log-diverged`.

        A log never gets shorter: an empty log is a prefix of every other, so no proof would show the loss.
        """
        known, before = logs.known(self.ref.location), logs.size(self.ref.location)
        key = known.key if known and known.chosen else self.log_key
        address = f"{self.ref.location}/log/checkpoint"
        note = self.get(address, headers=self._headers).body.decode("utf-8", "replace")
        logs.see(self.ref.location, key, note, self.read_consistency)
        found = read_checkpoint(note, key)
        if found.size < before:
            raise diverged(f"it had {before} entries and has {found.size} now")
        return found

    def list_acts(self, after: int) -> tuple[LogAct, ...]:
        """Return the next entries of the hub's log from a number on, unproven: `prove_act` proves one."""
        page = self._get(f"changes?after={after}&limit={PAGE}")
        acts = tuple(LogAct(entry.number("index"), entry) for entry in page.children("changes"))
        if [act.number for act in acts] != list(range(after, after + len(acts))):
            raise bad_response("The hub leaves out entries of its log.")
        return acts

    def prove_act(self, act: LogAct, logs: HubLogs) -> LogProof:
        """Return the proof that an entry is in the hub's log. Raises WhetError."""
        known = logs.known(self.ref.location)
        key = known.key if known else self.log_key
        address = f"{self.ref.location}/api/v1/log/proof/{act.number}"
        text = self.get(address, headers=self._headers).body.decode("utf-8", "replace")
        proof = Proof.parse(text)
        if proof.number != act.number:
            raise diverged(f"it proves entry {proof.number} in place of {act.number}")
        proof.check(act.line.encode(), key)
        logs.see(self.ref.location, key, proof.checkpoint, self.read_consistency)
        return LogProof(str(key), act.line, text)

    def get_skill(self, path: str) -> Answer:
        """Return the hub's answer about one skill."""
        return self._get(f"skills/{path}")

    @cached_property
    def log_key(self) -> LogKey:
        """Key that the hub currently names for its log."""
        return LogKey.parse(self.describe().child("log").text("key"))

    def describe(self) -> Answer:
        """Return the hub's description of itself."""
        return self._get("")

    def read_consistency(self, old: int, new: int) -> list[bytes]:
        """Return the proof that the log of `old` entries is a prefix of the log of `new` entries."""
        path = self._get(f"log/consistency/{old}?size={new}").items("path")
        try:
            return [bytes.fromhex(value) for value in path]
        except (TypeError, ValueError):
            raise bad_response("The proof of consistency is not a list of hashes.") from None

    def _list_all(self) -> Listing:
        skills, more = self._get_pages("skills", MOST_LISTED)
        offers = tuple(skill for skill in skills if skill.version)
        message = f"{self.ref.location} has more skills than the {MOST_LISTED} listed."
        notes = (Note("listing-cut", "info", message, "Name a skill, or search for it."),) if more else ()
        return Listing(self.ref, "", offers, notes)

    def _read_skill(self, answer: Answer) -> Offer:
        """Return the offer of a skill in its latest version, which is "" if every version is yanked."""
        latest = answer.segment("latest") if "latest" in answer else ""
        content = f"sha256:{answer.sha256('digest')}" if latest else ""
        owner, name = answer.segment("owner"), answer.segment("name")
        offer = self.offer(f"{owner}/{name}", name, answer.prose("description"), latest, content)
        return offer._replace(published=self.published(offer.ref, answer.prose("updated"), latest)) if latest else offer

    def _get_pages(self, path: str, most: int) -> tuple[tuple[Offer, ...], bool]:
        """Return up to `most` skills of a list, and whether there are more."""
        found: dict[str, Offer] = {}
        cursor, seen = "", {""}
        while True:
            mark = "&" if "?" in path else "?"
            rest = f"&cursor={quote_segment(cursor)}" if cursor else ""
            page = self._get(f"{path}{mark}limit={min(most, PAGE)}{rest}")
            before = len(found)
            for skill in map(self._read_skill, page.children("skills")):
                found.setdefault(skill.ref.path, skill)
            cursor = page.optional_text("next") or ""
            if len(found) == before or cursor in seen or len(found) >= most:
                return tuple(found.values())[:most], len(found) > most or cursor not in seen
            seen.add(cursor)

    @property
    def _headers(self) -> Mapping[str, str]:
        return authorize(self._token)

    @property
    def _token(self) -> str:
        return get_token(self.ref.location, self.context.place) if self._given is None else self._given

    def _get(self, path: str) -> Answer:
        try:
            return self.get_json(path, self._headers)
        except (NotFoundError, RefusedError) as error:
            if isinstance(error, NotFoundError) and path.startswith("skills/"):
                self._check_lost()
            raise explain(error, self.ref.location, self._token) from error

    def _check_lost(self) -> None:
        """Raise InvalidError `log-diverged` if a hub that lacks a skill has lost entries of its log."""
        logs = self.context.logs
        if logs is not None and logs.size(self.ref.location):
            self.see_log(logs)


def _is_release(number: str, entry: Answer) -> bool:
    """Return whether a listed version is installable: not yanked, not in quarantine, not a prerelease."""
    return "yanked" not in entry and not _is_quarantined(entry) and "-" not in number.partition("+")[0]


def _is_quarantined(entry: Answer) -> bool:
    return entry.prose("status") == "quarantined"


def read_version(answer: Answer, owner: str, name: str, version: str) -> Version:
    """Read the requested version. Raise InvalidError `bad-response`."""
    found = tuple(answer.segment(field) for field in ("owner", "name", "version"))
    if found != (owner, name, version):
        asked = f"{owner}/{name} {version}"
        raise bad_response(f"The hub was asked for {asked} and answered {quote_text('{}/{} {}'.format(*found))}.")
    archive, yanked, evals = answer.child("archive"), answer.optional_child("yanked"), answer.optional_child("evals")
    judged = answer.optional_child("verdict")
    return Version(
        owner,
        name,
        version,
        answer.prose("description"),
        f"sha256:{answer.sha256('digest')}",
        archive.address("url"),
        archive.sha256("sha256", prefix=""),
        archive.number("size"),
        None if yanked is None else yanked.prose("reason"),
        answer.prose("published"),
        _read_security(answer),
        None if (quarantined := answer.optional_child("quarantined")) is None else quarantined.prose("reason"),
        evals=(evals.optional_text("statement") or "") if evals else "",
        verdict=judged.prose("verdict") if judged else "",
    )


def _read_security(answer: Answer) -> str:
    """Return what a version fixes; "" if the hub does not say."""
    security = answer.optional_child("security")
    return "" if security is None else security.prose("fixes") or "a security problem"


def authorize(token: str) -> dict[str, str]:
    """Return the header with the token, if there is one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def explain(error: WhetError, location: str, token: str) -> WhetError:
    """Return the error with the hub's own message, if any; if a token is missing, with a hint how to log in."""
    status, message, hint, code = error.details.get("status"), error.message, error.hint, ""
    try:
        answer = Answer(parse_json(error.details.get("answer", "").encode(), "the answer"), "the answer")
        message, hint = answer.prose("error") or message, answer.prose("hint") or hint
        code = answer.prose("code")
        if "/api/v1/" in hint:  # meant for programs
            hint = "`whet find --everywhere WORDS` searches your sources." if code == "skill-not-found" else ""
    except InvalidError:
        pass
    if status == 409 and code in ("", "version-exists"):
        return ConflictError("version-exists", message, hint=hint, status=status)
    if status in (400, 409, 411, 413, 415, 422):
        return InvalidError("hub-refused", message, hint=hint, status=status)
    if error.code == "source-denied" and not token:
        hint = f"Log in with `whet hub login {location}`, or set {HOME} to it and {TOKEN} to your token."
    return type(error)(error.code, message, hint=hint, **error.details)


def _refuse_yanked(message: str, what: str) -> RefusedError:
    hint = f"To install it anyway, name {what} exactly: OWNER/NAME@VERSION."
    return RefusedError("version-yanked", message, hint=hint)


def _note_status(skill: Answer) -> tuple[Note, ...]:
    """Return a note that a skill is deprecated or archived, with its successor."""
    status = skill.prose("status")
    if status not in ("deprecated", "archived"):
        return ()
    successor, name = skill.prose("successor"), skill.prose("name")
    message = f"{skill.prose('owner')}/{name} is {status}. {skill.prose('reason')}".strip()
    hint = f"Use {successor} instead." if successor else "Look for another skill: `whet search`."
    return (Note("skill-deprecated", "warning", message, hint, skill=name),)


def _note_yank(version: Version) -> tuple[Note, ...]:
    if version.yanked is None:
        return ()
    hint = "Install another version, unless you need exactly this one."
    return (Note("version-yanked", "warning", _describe_yank(version), hint, skill=version.name),)


def _describe_yank(version: Version) -> str:
    return f"Version {version.version} of {version.owner}/{version.name} was yanked. {version.yanked}".strip()

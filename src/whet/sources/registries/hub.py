"""Skills of a Whet hub. `docs/hub-api.md` says what a hub does; `whet.sources.publish.hub` publishes there.

No hub is trusted on its word alone: the archive must have the size and the hash that the version names, what comes out
of it the content digest, and a version that was seen once must not name another content later. A token goes to the hub
it belongs to and nowhere else: not to the host of an archive, not to another hub that a reference or a lock of a
stranger names. That is why `WHET_HUB_TOKEN` alone is sent to nobody; `WHET_HUB` says whose it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import AmbiguousError, ConflictError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.notes import Note
from whet.skill.tree import digest, entries
from whet.sources.age import read_time
from whet.sources.concurrency import together
from whet.sources.model import Fetched, Listing, Newer, Offer, Ref
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
    split_path,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from whet.sources.age import Cooldown
    from whet.sources.model import FetchContext

TOKEN = "WHET_HUB_TOKEN"  # noqa: S105  the name of a variable, not a token
HOME = "WHET_HUB"
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
    """Where its archive is."""
    sha256: str
    size: int
    yanked: str | None
    """Why it was yanked; None if it is not."""
    published: str = ""
    security: str = ""
    """What it fixes, if the hub says that it is a security fix."""


class HubSource(Registry):
    """A hub."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        super().__init__(ref._replace(location=ref.location.rstrip("/")), context)
        self._versions: dict[tuple[str, str], Version] = {}
        """Path and version -> what the hub says of it."""

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """The skill of the reference or those of these names; if none is named, what the hub lists."""
        wanted = (self.ref.path,) if self.ref.path else tuple(names)
        return self.list_found(together(self._find, wanted)) if wanted else self._list_all()

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What the hub finds, in its order."""
        words = clean_text(query, 200)
        return self._get_pages(f"search?q={quote_segment(words)}", limit)[0] if words else ()

    def fetch_one(self, offer: Offer) -> Fetched:
        """The archive of one version, checked twice."""
        owner, name = split_path(offer.ref.path)
        version = self._versions.get((offer.ref.path, offer.revision))
        if version is None:
            version = self._get_version(owner, name, offer.revision, pinned=offer.ref.ref == offer.revision)
        if offer.digest and offer.digest != version.digest:
            raise mismatch(f"the hub now has different content for version {offer.revision}")
        headers = self._headers if get_origin(version.url) == get_origin(self.ref.location) else {}
        tree, notes = self.fetch_archive(version.url, name, sha256=version.sha256, size=version.size, headers=headers)
        if digest(entries(tree)) != version.digest:
            raise mismatch("the content has a different digest")
        return Fetched(offer, tree, (*_note_yank(version), *notes))

    def _find(self, path: str) -> tuple[Offer, tuple[Note, ...]]:
        """The version that was asked for of one skill, or its latest."""
        owner, name = split_path(path)
        wanted = self.ref.ref
        if not owner or not wanted:
            skill = self._read_skill(self._get(f"skills/{owner}/{name}")) if owner else self._find_by_name(name)
            path, wanted = skill.ref.path, wanted or skill.version
            owner, name = split_path(path)
            if not wanted:
                raise _refuse_yanked(f"Every version of {path} was yanked.", "a version")
        version = self._get_version(owner, name, wanted, pinned=self.ref.ref == wanted)
        return self._offer_version(version), _note_yank(version)

    def _offer_version(self, version: Version) -> Offer:
        """The offer of a version; if that is too young, of one that is old enough, where there is one."""
        path = f"{version.owner}/{version.name}"
        offer = self.offer(path, version.name, version.description, version.version, version.digest, ref=self.ref.ref)
        time = self.published(offer.ref, version.published, version.version)
        offer = offer._replace(published=time, security=version.security)
        cooldown = self.context.cooldown
        if cooldown is None or time <= cooldown.before or version.security or self.ref.ref:
            return offer
        older = self._find_older(version, cooldown)
        if older is None:
            return offer
        old = self.offer(path, older.name, older.description, older.version, older.digest)
        newer = Newer(version.version, time)
        return old._replace(published=read_time(older.published), newer=newer, security=older.security)

    def _find_older(self, version: Version, cooldown: Cooldown) -> Version | None:
        """The highest version below one that is too young which is old enough and above what is installed."""
        path = f"{version.owner}/{version.name}"
        below = False
        for entry in self._get(f"skills/{path}/versions?limit={PAGE}").children("versions"):
            number = entry.segment("version")
            if number == cooldown.installed.get(path):
                return None
            time = read_time(entry.prose("published"))
            fit = 0 < time <= cooldown.before or "security" in entry
            if below and fit and "yanked" not in entry and "-" not in number.partition("+")[0]:
                return self._get_version(version.owner, version.name, number, pinned=False)
            below = below or number == version.version
        return None

    def _find_by_name(self, name: str) -> Offer:
        """The one skill of a name, whoever owns it."""
        skills, _ = self._get_pages(f"skills?name={quote_segment(name)}", PAGE)
        same = [skill for skill in skills if skill.name == name]
        if not same:
            raise self.missing(name)
        if len(same) > 1:
            candidates = [skill.ref.path for skill in same]
            message = f"{len(same)} skills are named {name}: {', '.join(candidates[:10])}."
            raise AmbiguousError("ambiguous-skill", message, hint="Add the owner to the name.", candidates=candidates)
        return same[0]

    def _get_version(self, owner: str, name: str, version: str, *, pinned: bool) -> Version:
        check_segment(version, "a version")
        answer = self._get(f"skills/{owner}/{name}/versions/{quote_segment(version)}")
        found = read_version(answer, owner, name, version)
        if found.yanked is not None and not pinned:
            raise _refuse_yanked(_describe_yank(found), "the version")
        self._versions[f"{owner}/{name}", version] = found
        return found

    def _list_all(self) -> Listing:
        skills, more = self._get_pages("skills", MOST_LISTED)
        offers = tuple(skill for skill in skills if skill.version)
        message = f"{self.ref.location} has more skills than the {MOST_LISTED} listed."
        notes = (Note("listing-cut", "info", message, "Name a skill, or search for it."),) if more else ()
        return Listing(self.ref, "", offers, notes)

    def _read_skill(self, answer: Answer) -> Offer:
        """A skill in its latest version; that is "" if every version is yanked."""
        latest = answer.segment("latest") if "latest" in answer else ""
        content = f"sha256:{answer.sha256('digest')}" if latest else ""
        owner, name = answer.segment("owner"), answer.segment("name")
        offer = self.offer(f"{owner}/{name}", name, answer.prose("description"), latest, content)
        return offer._replace(published=self.published(offer.ref, answer.prose("updated"), latest)) if latest else offer

    def _get_pages(self, path: str, most: int) -> tuple[tuple[Offer, ...], bool]:
        """Up to so many skills of a list, and whether there are more."""
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
        return authorize(get_token(self.ref.location, self.context.place.env))

    def _get(self, path: str) -> Answer:
        try:
            return self.get_json(path, self._headers)
        except (NotFoundError, RefusedError) as error:
            token = get_token(self.ref.location, self.context.place.env)
            raise explain(error, self.ref.location, token) from error


def get_token(location: str, env: Mapping[str, str]) -> str:
    """The token for a hub, if it is the one that the token belongs to. Raises UsageError `bad-token`."""
    token, home = env.get(TOKEN, ""), get_origin(env.get(HOME, ""))
    return check_token(token) if token and home[1] and home == get_origin(location) else ""


def read_version(answer: Answer, owner: str, name: str, version: str) -> Version:
    """The version that was asked for. Raises InvalidError `bad-response`."""
    found = tuple(answer.segment(field) for field in ("owner", "name", "version"))
    if found != (owner, name, version):
        asked = f"{owner}/{name} {version}"
        raise bad_response(f"The hub was asked for {asked} and answered {quote_text('{}/{} {}'.format(*found))}.")
    archive, yanked = answer.child("archive"), answer.optional_child("yanked")
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
    )


def _read_security(answer: Answer) -> str:
    """What a version fixes; "" where the hub says nothing."""
    security = answer.optional_child("security")
    return "" if security is None else security.prose("fixes") or "a security problem"


def check_token(token: str) -> str:
    """A token that can stand in a header. Raises UsageError `bad-token`, which does not repeat it."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError("bad-token", "The hub token is not valid.", hint="Remove spaces and line breaks from it.")
    return token


def authorize(token: str) -> dict[str, str]:
    """The header that carries a token, if there is one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def explain(error: WhetError, location: str, token: str) -> WhetError:
    """The error in the words of the hub, if it gave any; one for want of a token says how to give one."""
    status, message, hint = error.details.get("status"), error.message, error.hint
    try:
        answer = Answer(parse_json(error.details.get("answer", "").encode(), "the answer"), "the answer")
        message, hint = answer.prose("error") or message, answer.prose("hint") or hint
    except InvalidError:
        pass
    if status == 409:
        return ConflictError("version-exists", message, hint=hint, status=status)
    if status in (400, 411, 413, 415, 422):
        return InvalidError("hub-refused", message, hint=hint, status=status)
    if error.code == "source-denied" and not token:
        hint = f"Set {HOME} to {location} and {TOKEN} to your token for it."
    return type(error)(error.code, message, hint=hint, **error.details)


def _refuse_yanked(message: str, what: str) -> RefusedError:
    hint = f"To install it anyway, name {what} exactly: OWNER/NAME@VERSION."
    return RefusedError("version-yanked", message, hint=hint)


def _note_yank(version: Version) -> tuple[Note, ...]:
    if version.yanked is None:
        return ()
    hint = "Install another version, unless you need exactly this one."
    return (Note("version-yanked", "warning", _describe_yank(version), hint, skill=version.name),)


def _describe_yank(version: Version) -> str:
    return f"Version {version.version} of {version.owner}/{version.name} was yanked. {version.yanked}".strip()

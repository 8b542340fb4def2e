"""Skills of a Whet hub: its client, for reading and for publishing. `docs/hub-api.md` says what a hub does.

Nothing that a hub says is taken on its word twice: the archive must have the size and the hash that the version names,
what comes out of it the content digest, and a version that was seen once must not name another content later. A token
goes to the hub it belongs to and nowhere else: not to the host of an archive, not to another hub that a reference or a
lock of a stranger names. That is why `WHET_HUB_TOKEN` alone is sent to nobody; `WHET_HUB` says whose it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from whet.errors import AmbiguousError, ConflictError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.notes import Note
from whet.skill.tree import digest, entries
from whet.sources.concurrency import together
from whet.sources.indexes.answers import Answer, asked_part, origin_of, parsed, plain, quoted, told
from whet.sources.indexes.artifacts import ARCHIVE_BYTES, download, fetched, mismatch, unpacked
from whet.sources.indexes.clawhub import split_path
from whet.sources.indexes.hub_answers import Version, read_page, read_summary, read_version
from whet.sources.model import Fetched, Listing, Offer, Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whet.sources.indexes.hub_answers import Summary
    from whet.sources.model import FetchContext
    from whet.sources.web.client import Web

T = TypeVar("T")

TOKEN = "WHET_HUB_TOKEN"  # noqa: S105  the name of a variable, not a token
HOME = "WHET_HUB"
PAGE = 100
MOST_LISTED = 1_000
"""Skills of a hub that are listed when nobody names one."""

_ANSWER_BYTES = 8 * 1024 * 1024


class HubSource:
    """A hub."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref._replace(location=ref.location.rstrip("/"))
        self._reach = reach
        self._versions: dict[tuple[str, str], Version] = {}
        """Path and version -> what the hub says of it."""

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """The skill of the reference or those of these names; where none is named, what the hub lists."""
        wanted = (self.ref.path,) if self.ref.path else tuple(names)
        if not wanted:
            return self._everything()
        found = together(self._look, wanted)
        offers = tuple(dict.fromkeys(self._offer(version) for version in found))
        notes = [entry for version in found for entry in _yanked(version)]
        return Listing(self.ref, offers[0].revision if len(offers) == 1 else "", offers, told(notes))

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What the hub finds, in its order."""
        words = plain(query, 200)
        skills, _ = self._pages(f"search?q={quoted(words)}", limit) if words else ((), False)
        return tuple(map(self._listed, skills))

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The archives of these versions, several at a time, each checked twice."""
        return fetched(offers, self._fetch)

    def close(self) -> None:
        """Nothing is kept open."""

    # looking

    def _look(self, path: str) -> Version:
        """The version that was asked for of one skill, or its latest."""
        owner, name = split_path(path)
        if not owner or not self.ref.ref:
            skill = self._get(f"skills/{owner}/{name}", _summary) if owner else self._only(name)
            owner, name = skill.owner, skill.name
            wanted = self.ref.ref or skill.latest
            if not wanted:
                hint = "Name a version exactly to install it all the same, as OWNER/NAME@VERSION."
                raise RefusedError("version-yanked", f"Every version of {skill.path} was yanked.", hint=hint)
        else:
            wanted = self.ref.ref
        return self._version(owner, name, wanted, pinned=self.ref.ref == wanted)

    def _only(self, name: str) -> Summary:
        """The one skill of a name, whoever owns it."""
        skills, _ = self._pages(f"skills?name={quoted(name)}", PAGE)
        same = [skill for skill in skills if skill.name == name]
        if not same:
            message = f"{self.ref.location} has no skill {name}."
            raise NotFoundError("source-not-found", message, hint="`whet search` finds what there is.")
        if len(same) > 1:
            candidates = [skill.path for skill in same]
            message = f"{len(same)} skills are called {name}: {', '.join(candidates[:10])}."
            raise AmbiguousError("ambiguous-skill", message, hint="Name one with its owner.", candidates=candidates)
        return same[0]

    def _version(self, owner: str, name: str, version: str, *, pinned: bool) -> Version:
        asked_part(version, "a version")
        address = f"skills/{owner}/{name}/versions/{quoted(version)}"
        found = self._get(address, lambda answer, url: read_version(answer, url, owner, name, version))
        if found.yanked is not None and not pinned:
            hint = "Name the version exactly to install it all the same, as OWNER/NAME@VERSION."
            message = f"Version {version} of {owner}/{name} was yanked. {found.yanked}".strip()
            raise RefusedError("version-yanked", message, hint=hint)
        self._versions[f"{owner}/{name}", version] = found
        return found

    def _everything(self) -> Listing:
        skills, more = self._pages("skills", MOST_LISTED)
        offers = tuple(self._listed(skill) for skill in skills if skill.latest)
        message = f"{self.ref.location} has more than the {MOST_LISTED} skills that are listed."
        cut = (Note("listing-cut", "info", message, "Name a skill, or search for it."),) if more else ()
        return Listing(self.ref, "", offers, cut)

    def _pages(self, what: str, most: int) -> tuple[tuple[Summary, ...], bool]:
        """Up to so many skills of a list, and whether there are more."""
        found: dict[str, Summary] = {}
        cursor, seen = "", {""}
        while True:
            mark = "&" if "?" in what else "?"
            rest = f"&cursor={quoted(cursor)}" if cursor else ""
            page = self._get(f"{what}{mark}limit={min(most, PAGE)}{rest}", lambda answer, _: read_page(answer))
            before = len(found)
            for skill in page.skills:
                found.setdefault(skill.path, skill)
            cursor = page.next
            if len(found) == before or cursor in seen or len(found) >= most:
                return tuple(found.values())[:most], len(found) > most or cursor not in seen
            seen.add(cursor)

    def _offer(self, version: Version) -> Offer:
        ref = self.ref._replace(path=f"{version.owner}/{version.name}")
        number, content = version.version, version.digest
        return Offer(version.name, version.description, ref, number, content, number, content)

    def _listed(self, skill: Summary) -> Offer:
        ref = Ref("hub", self.ref.location, "", skill.path)
        return Offer(skill.name, skill.description, ref, skill.latest, skill.digest, skill.latest, skill.digest)

    # fetching

    def _fetch(self, offer: Offer) -> Fetched:
        owner, name = split_path(offer.ref.path)
        version = self._versions.get((offer.ref.path, offer.revision))
        if version is None:
            version = self._version(owner, name, offer.revision, pinned=offer.ref.ref == offer.revision)
        if offer.digest and offer.digest != version.digest:
            raise mismatch(f"the hub names another content for version {offer.revision} now")
        own = origin_of(version.url) == origin_of(self.ref.location)
        headers = self._headers if own else {}
        limit = min(version.size, ARCHIVE_BYTES)
        data = download(self._reach, version.url, name, limit=limit, sha256=version.sha256, headers=headers)
        if len(data) != version.size:
            raise mismatch(f"the archive has {len(data)} bytes and not {version.size}")
        tree, notes = unpacked(data, name)
        if digest(entries(tree)) != version.digest:
            raise mismatch("the content has another digest")
        return Fetched(offer, tree, (*_yanked(version), *notes))

    # asking

    @property
    def _headers(self) -> Mapping[str, str]:
        return _authorization(token_for(self.ref.location, self._reach.place.env))

    def _get(self, what: str, read: Callable[[Answer, str], T]) -> T:
        self._reach.check_cancelled()
        url = f"{self.ref.location}/api/v1/{what}"
        try:
            answer = self._reach.web.get(
                url,
                limit=_ANSWER_BYTES,
                accept="application/json",
                headers=self._headers,
                cancelled=self._reach.cancelled,
            )
        except (NotFoundError, RefusedError) as error:
            raise self._denied(_explained(error)) from error
        return read(Answer(parsed(answer.body, answer.url), "the answer"), answer.url)

    def _denied(self, error: WhetError) -> WhetError:
        return _with_token(error, self.ref.location, token_for(self.ref.location, self._reach.place.env))


def _with_token(error: WhetError, location: str, token: str) -> WhetError:
    """The failure; a refusal for want of a token says how to give one."""
    if error.code != "source-denied" or token:
        return error
    hint = f"Set {HOME} to {location} and {TOKEN} to your token for it."
    return RefusedError(error.code, error.message, hint=hint, **error.details)


def token_for(location: str, env: Mapping[str, str]) -> str:
    """The token for a hub, if it is the one that the token belongs to. Raises UsageError `bad-token`."""
    token, home = env.get(TOKEN, ""), env.get(HOME, "")
    origin = origin_of(home)
    return _checked(token) if token and origin[1] and origin == origin_of(location) else ""


def publish_to_hub(
    web: Web, location: str, token: str, owner: str, name: str, version: str, archive: bytes, digest: str
) -> dict[str, Any]:
    """Publish one version and tell what the hub has now. Raises ConflictError `version-exists` and other WhetError.

    Sending what is there already does no harm: `created` is false then.
    """
    if not owner:
        raise UsageError("usage", "The owner is missing.", hint="Say under which owner: --owner O, or hub:ADDRESS/O.")
    for part, what in ((owner, "an owner"), (name, "the name of a skill"), (version, "a version")):
        asked_part(part, what)
    url = f"{location.rstrip('/')}/api/v1/skills/{owner}/{name}/versions/{quoted(version)}"
    headers = {**_authorization(_checked(token)), "Whet-Digest": digest}
    try:
        answer = web.post(url, body=archive, content_type="application/zip", headers=headers, limit=_ANSWER_BYTES)
    except WhetError as error:
        raise _with_token(_explained(error), location, token) from error
    body = Answer(parsed(answer.body, answer.url), "the answer")
    found = read_version(body, answer.url, owner, name, version)
    if found.digest != digest:
        raise mismatch(f"the hub has {found.digest} and was sent {digest}")
    return {**found._asdict(), "address": url, "created": answer.status == 201}


def _checked(token: str) -> str:
    """A token that can stand in a header. Raises UsageError `bad-token`, which does not repeat it."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise UsageError("bad-token", "The token of the hub is none.", hint="Give it without spaces and line ends.")
    return token


def _explained(error: WhetError) -> WhetError:
    """The failure in the words of the hub, where it gave any."""
    status, answer = error.details.get("status"), error.details.get("answer", "")
    try:
        said = Answer(parsed(answer.encode(), "the answer"), "the answer")
        message, hint = said.prose("error") or error.message, said.prose("hint") or error.hint
    except WhetError:
        message, hint = error.message, error.hint
    if status == 409:
        return ConflictError("version-exists", message, hint=hint, status=status)
    if status in (400, 411, 413, 415, 422):
        return InvalidError("hub-refused", message, hint=hint, status=status)
    return type(error)(error.code, message, hint=hint, **error.details)


def _authorization(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _summary(answer: Answer, _url: str) -> Summary:
    return read_summary(answer)


def _yanked(version: Version) -> tuple[Note, ...]:
    if version.yanked is None:
        return ()
    message = f"Version {version.version} of {version.owner}/{version.name} was yanked. {version.yanked}".strip()
    hint = "Install another version, unless you need exactly this one."
    return (Note("version-yanked", "warning", message, hint, skill=version.name),)

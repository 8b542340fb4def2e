"""Skills of ClawHub, by its HTTP API v1.

A skill is `owner/slug`. Where only a slug is asked for, the owner that the registry names becomes part of the
reference, so that a later update cannot silently come from somebody else. What the registry's own reviewers say counts:
what they call malware is refused, what they suspect is told. Versions cannot change, so a version is the revision. A
skill without versions lives in a repository that the registry points to by commit; it is fetched from there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, RefusedError, UsageError
from whet.notes import Note
from whet.sources.concurrency import together
from whet.sources.indexes.answers import Answer, asked_part, bad_response, parsed, quoted, shown, told
from whet.sources.indexes.artifacts import ARCHIVE_BYTES, download, fetched, unpacked
from whet.sources.model import Fetched, Listing, Offer, Ref

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.sources.model import FetchContext

LOCATION = "https://clawhub.ai"
META_FILE = "_meta.json"
"""What the registry adds to an archive about itself."""
MOST_RESULTS = 100

_ANSWER_BYTES = 4 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{40}")
GITHUB = "https://github.com/"
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")


class _Found(NamedTuple):
    """One skill that was looked at."""

    offer: Offer
    notes: tuple[Note, ...]
    elsewhere: Ref | None = None
    """Where its content lies, when the registry does not have it."""


class ClawHubSource:
    """ClawHub, or another registry that speaks its language."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref._replace(location=ref.location.rstrip("/") or LOCATION)
        self._reach = reach
        self._found: dict[Ref, _Found] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """The skill of the reference, or those of these names: the registry is too large to be listed."""
        wanted = (self.ref.path,) if self.ref.path else tuple(names)
        if not wanted:
            hint = "Name one as clawhub:OWNER/SLUG. `whet search` finds them."
            raise UsageError("skill-not-named", f"{self.ref.location} has too many skills to list them.", hint=hint)
        found = together(self._look, wanted)
        self._found = {each.offer.ref: each for each in found}
        offers = tuple(each.offer for each in self._found.values())
        revision = offers[0].revision if len(offers) == 1 else ""
        return Listing(self.ref, revision, offers, told(entry for each in found for entry in each.notes))

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What the registry finds, in its order."""
        asked = min(max(limit, 1), MOST_RESULTS)
        answer = self._get(f"search?q={quoted(query)}&limit={asked}")
        offers: dict[str, Offer] = {}
        for result in answer.parts("results"):
            if "slug" in result:
                offer = self._result(result)
                offers.setdefault(offer.ref.path, offer)
        return tuple(offers.values())[:asked]

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The archives of these versions, several at a time."""
        return fetched(offers, self._fetch)

    def close(self) -> None:
        """Nothing is kept open."""

    # looking

    def _look(self, path: str) -> _Found:
        """One skill in the version that was asked for, with what the registry's reviewers say."""
        owner, slug = split_path(path)
        answer = self._get(f"skills/{slug}{_of(owner)}")
        skill = answer.part("skill")
        if skill is None:
            raise self._missing(path)
        known, called = self._owner(answer, owner, path), skill.address_part("slug")
        full = path.removeprefix("@") if owner or not known else f"{known}/{called}"
        notes = [] if called.lower() == slug.lower() else [_renamed(slug, called)]
        notes += self._moderation(answer.part("moderation"), full)
        version = self._version(answer, skill)
        if not version or _COMMIT.fullmatch(version):
            return self._in_repository(skill, full, version, notes)
        notes += self._reviewed(full, version)
        return _Found(self._offer(skill, full, version), tuple(notes))

    def _offer(self, skill: Answer, path: str, version: str) -> Offer:
        called = skill.address_part("slug")
        described = skill.prose("summary", "description", "displayName")
        return Offer(called, described, self.ref._replace(path=path), version, version, version)

    def _owner(self, answer: Answer, asked: str, path: str) -> str:
        owner = answer.part("owner")
        known = owner.address_part("handle") if owner and "handle" in owner else ""
        if asked and known and known.lower() != asked.lower():
            raise self._missing(path, f"The skill of that name belongs to {known}.")
        return known or asked

    def _version(self, answer: Answer, skill: Answer) -> str:
        """The version that was asked for, by its number or a tag, or the latest; "" when there are no versions."""
        wanted = self.ref.ref
        if wanted:
            tags = skill.part("tags")
            return tags.address_part(wanted) if tags and wanted in tags else asked_part(wanted, "a version")
        latest = answer.part("latestVersion")
        return latest.address_part("version") if latest else ""

    def _reviewed(self, path: str, version: str) -> list[Note]:
        """What is said of exactly this version. Raises NotFoundError where it does not exist."""
        owner, slug = split_path(path)
        try:
            answer = self._get(f"skills/{slug}/versions/{quoted(version)}{_of(owner)}")
        except NotFoundError:
            if self.ref.ref:
                raise self._missing(path, f"There is no version {version}.") from None
            return []
        detail = answer.part("version")
        if detail is None:
            raise self._missing(path, f"There is no version {version}.")
        if detail.address_part("version") != version:
            raise bad_response(f"The registry answered {shown(detail.text('version'))} when asked for {version}.")
        security = detail.part("security")
        status = security.prose("status") if security else ""
        if status == "malicious":
            raise _blocked(path, f"Version {version} was found to be malicious.")
        return [_suspected(path, f"Version {version} was found to be suspicious.")] if status == "suspicious" else []

    def _moderation(self, moderation: Answer | None, path: str) -> list[Note]:
        if moderation is None:
            return []
        verdict, why = moderation.prose("verdict"), moderation.prose("summary")
        if moderation.flag("isMalwareBlocked") or verdict == "malicious":
            raise _blocked(path, why)
        suspected = moderation.flag("isSuspicious") or verdict == "suspicious"
        return [_suspected(path, why)] if suspected else []

    def _in_repository(self, skill: Answer, path: str, commit: str, notes: list[Note]) -> _Found:
        """A skill that the registry only points to, at the commit that was asked for or the one it points to."""
        owner, slug = split_path(path)
        answer = self._get(f"skills/{slug}/install{_of(owner)}")
        if not answer.flag("ok"):
            raise self._missing(path, answer.prose("message") or "It has no version that can be installed.")
        archive = answer.part("archive")
        if archive is not None and not commit:
            return _Found(self._offer(skill, path, archive.address_part("version")), tuple(notes))
        github = answer.needed("github")
        repository, commit = github.text("repo"), commit or github.text("commit")
        if not _REPOSITORY.fullmatch(repository) or not _COMMIT.fullmatch(commit):
            raise bad_response(f"{shown(repository)} at {shown(commit)} is no repository at a commit.")
        inside = (github.maybe("path") or "").removeprefix("./").strip("/")
        elsewhere = Ref("git", f"{GITHUB}{repository}", commit, "" if inside == "." else inside)
        return _Found(self._offer(skill, path, commit)._replace(version=""), tuple(notes), elsewhere)

    def _result(self, result: Answer) -> Offer:
        slug, owner = result.address_part("slug"), result.part("owner")
        holder, field = (result, "ownerHandle") if "ownerHandle" in result else (owner, "handle")
        handle = holder.address_part(field) if holder is not None and field in holder else ""
        version = result.address_part("version") if "version" in result else ""
        ref = Ref("clawhub", self.ref.location, "", f"{handle}/{slug}" if handle else slug)
        return Offer(slug, result.prose("summary", "displayName"), ref, version, version, version)

    # fetching

    def _fetch(self, offer: Offer) -> Fetched:
        found = self._found.get(offer.ref)
        if found is None:
            found = self._look(offer.ref.path)
            self._found[offer.ref] = found
        offer = offer if offer.revision else found.offer
        if found.elsewhere is not None:
            return self._from_repository(offer, found.elsewhere, found.notes)
        owner, slug = split_path(offer.ref.path)
        query = f"slug={quoted(slug)}&version={quoted(offer.revision)}"
        query += f"&ownerHandle={quoted(owner)}" if owner else ""
        data = download(self._reach, f"{self._api}/download?{query}", offer.name, limit=ARCHIVE_BYTES)
        tree, notes = unpacked(data, offer.name, without=(META_FILE,))
        return Fetched(offer, tree, (*found.notes, *notes))

    def _from_repository(self, offer: Offer, place: Ref, notes: tuple[Note, ...]) -> Fetched:
        from whet.sources.opening import open_source
        from whet.sources.packages import choose

        source = open_source(place._replace(ref=offer.revision), self._reach)
        try:
            (package,) = source.fetch(choose(source.inspect(), (), all=False))
        finally:
            source.close()
        return Fetched(offer, package.tree, (*notes, *package.notes))

    # asking

    @property
    def _api(self) -> str:
        return f"{self.ref.location}/api/v1"

    def _get(self, what: str) -> Answer:
        self._reach.check_cancelled()
        answer = self._reach.web.get(
            f"{self._api}/{what}", limit=_ANSWER_BYTES, accept="application/json", cancelled=self._reach.cancelled
        )
        return Answer(parsed(answer.body, answer.url), "the answer")

    def _missing(self, path: str, why: str = "") -> NotFoundError:
        message = f"{self.ref.location} has no skill {path}."
        hint = "`whet search` finds what there is."
        return NotFoundError("source-not-found", f"{message} {why}".strip(), hint=hint)


def split_path(path: str) -> tuple[str, str]:
    """Owner and slug of `owner/slug`; the owner is "" where only a slug is given. Raises UsageError `bad-source`."""
    owner, slash, slug = path.removeprefix("@").rpartition("/")
    return asked_part(owner, "an owner") if slash else "", asked_part(slug, "the name of a skill")


def _of(owner: str) -> str:
    return f"?ownerHandle={quoted(owner)}" if owner else ""


def _renamed(asked: str, called: str) -> Note:
    return Note("skill-renamed", "info", f"{asked} is called {called} now.", skill=called)


def _suspected(path: str, why: str) -> Note:
    hint = "Look at what it does before you let it in."
    return Note("source-suspicious", "warning", f"The registry suspects {path}. {why}".strip(), hint, skill=path)


def _blocked(path: str, why: str) -> RefusedError:
    message = f"The registry blocks {path} as malware. {why}".strip()
    return RefusedError("source-blocked", message, hint="Do not install it by other means.")

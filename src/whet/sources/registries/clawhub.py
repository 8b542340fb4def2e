"""Skills of ClawHub, by its HTTP API v1.

A skill is `owner/slug`. If only a slug is given, the owner that the registry names becomes part of the reference, so
that a later update cannot silently come from another owner. The verdict of the registry's own reviewers counts: malware
is refused, a suspicious skill gets a note. Versions are immutable, so a version is the revision. A skill without
versions is in a repository that the registry refers to by commit; it is fetched from there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, RefusedError, UsageError
from whet.notes import Note
from whet.skill.versions import in_range, is_range, is_semver, semver_key
from whet.sources.model import Fetched, Offer, Ref
from whet.sources.registries.registry import (
    Registry,
    bad_response,
    check_segment,
    quote_segment,
    quote_text,
    split_path,
)
from whet.store.clock import iso
from whet.store.concurrency import together

if TYPE_CHECKING:
    from collections.abc import Collection

    from whet.sources.model import FetchContext, Listing
    from whet.sources.registries.registry import Answer

LOCATION = "https://clawhub.ai"
GITHUB = "https://github.com/"
META_FILE = "_meta.json"
"""File that the registry adds to an archive."""
MOST_RESULTS = 100
_MOST_PAGES = 10

_LATEST = 253_402_300_800_000
"""Milliseconds of the latest valid date."""
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")


class _Found(NamedTuple):
    """A skill that was looked up."""

    offer: Offer
    notes: tuple[Note, ...]
    repository: Ref | None = None
    """Source of its content, if the registry does not have it."""


class ClawHubSource(Registry):
    """ClawHub, or another registry with the same API."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        super().__init__(ref._replace(location=ref.location.rstrip("/") or LOCATION), context)
        self._found: dict[Ref, _Found] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """List the skill of the reference, or those with these names: the registry is too large to be listed."""
        wanted = (self.ref.path,) if self.ref.path else tuple(names)
        if not wanted:
            hint = "Use clawhub:OWNER/SLUG. `whet search` finds skills."
            raise UsageError("skill-not-named", f"{self.ref.location} has too many skills to list.", hint=hint)
        found = together(self._find, wanted)
        self._found = {each.offer.ref: each for each in found}
        return self.list_found((each.offer, each.notes) for each in found)

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """Return the skills that the registry finds, in its order."""
        limit = min(max(limit, 1), MOST_RESULTS)
        answer = self.get_json(f"search?q={quote_segment(query)}&limit={limit}")
        offers: dict[str, Offer] = {}
        for result in answer.children("results"):
            if "slug" in result:
                offer = self._read_result(result)
                offers.setdefault(offer.ref.path, offer)
        return tuple(offers.values())[:limit]

    def find(self, name: str) -> tuple[Offer, ...]:
        """Return the skill with this name."""
        try:
            return (self._find(name.lower()).offer,)
        except NotFoundError:
            return ()

    def fetch_one(self, offer: Offer) -> Fetched:
        """Fetch one version: its archive, or the commit of its repository."""
        found = self._found.get(offer.ref)
        if found is None:
            found = self._found[offer.ref] = self._find(offer.ref.path)
        offer = offer if offer.revision else found.offer
        if found.repository is not None:
            return self._fetch_repository(offer, found.repository, found.notes)
        owner, slug = split_path(offer.ref.path)
        query = f"slug={quote_segment(slug)}&version={quote_segment(offer.revision)}"
        query += f"&ownerHandle={quote_segment(owner)}" if owner else ""
        url = f"{self.ref.location}/api/v1/download?{query}"
        tree, notes = self.fetch_archive(url, offer.name, without=(META_FILE,))
        return Fetched(offer, tree, (*found.notes, *notes))

    def _fetch_repository(self, offer: Offer, repository: Ref, notes: tuple[Note, ...]) -> Fetched:
        from whet.sources.model import open_source
        from whet.sources.packages import choose

        source = open_source(repository._replace(ref=offer.revision), self.context)
        try:
            (package,) = source.fetch(choose(source.inspect(), (), all=False))
        finally:
            source.close()
        return Fetched(offer, package.tree, (*notes, *package.notes))

    def _find(self, path: str) -> _Found:
        """Find one skill in the requested version, with the verdict of the registry's reviewers."""
        owner, slug = split_path(path)
        answer = self._get_skill(path)
        skill = answer.optional_child("skill")
        if skill is None:
            raise self.missing(path)
        known, name = self._read_owner(answer, owner, path), skill.segment("slug")
        full = path.removeprefix("@") if owner or not known else f"{known}/{name}"
        notes = _check_moderation(answer.optional_child("moderation"), full)
        if name.lower() != slug.lower():
            notes = [Note("skill-renamed", "info", f"{slug} is now named {name}.", skill=name), *notes]
        version = self._read_version(answer, skill, full)
        if not version or _COMMIT.fullmatch(version):
            return self._find_repository(skill, full, version, notes)
        said, time = self._check_version(full, version)
        return _Found(self._make_offer(skill, full, version, time), (*notes, *said))

    def _make_offer(self, skill: Answer, path: str, version: str, time: str = "") -> Offer:
        description = skill.prose("summary", "description", "displayName")
        offer = self.offer(path, skill.segment("slug"), description, version, ref=self.ref.ref)
        return offer._replace(published=self.published(offer.ref, time, version))

    def _read_owner(self, answer: Answer, asked: str, path: str) -> str:
        owner = answer.optional_child("owner")
        known = owner.segment("handle") if owner and "handle" in owner else ""
        if asked and known and known.lower() != asked.lower():
            raise self.missing(path, f"The skill with that name belongs to {known}.")
        return known or asked

    def _read_version(self, answer: Answer, skill: Answer, path: str) -> str:
        """Return the requested version, by number, range or tag, or the latest; "" if there are none."""
        wanted = self.ref.ref
        if wanted:
            tags = skill.optional_child("tags")
            if tags and wanted in tags:
                return tags.segment(wanted)
            if is_range(wanted) and not is_semver(wanted):
                return self._find_highest(path, wanted)
            return check_segment(wanted, "a version")
        latest = answer.optional_child("latestVersion")
        return latest.segment("version") if latest else ""

    def _find_highest(self, path: str, wanted: str) -> str:
        """Return the highest version within a range. Raise NotFoundError `no-such-version`."""
        cursor, known = "", list[str]()
        for _ in range(_MOST_PAGES):
            answer = self._get_skill(path, "/versions", f"limit={MOST_RESULTS}{cursor and f'&cursor={cursor}'}")
            known += [entry.segment("version") for entry in answer.children("items")]
            cursor = quote_segment(answer.optional_text("nextCursor") or "")
            if not cursor:
                break
        releases = sorted((one for one in known if is_semver(one) and "-" not in one), key=semver_key, reverse=True)
        if found := next((one for one in releases if in_range(one, wanted)), ""):
            return found
        message = f"{self.ref.location} has no version of {path} in the range {wanted}."
        hint = f"It has {', '.join(releases[:10])}." if releases else "Ask its publisher."
        raise NotFoundError("no-such-version", message, hint=hint, suggestions=releases[:10])

    def _check_version(self, path: str, version: str) -> tuple[list[Note], str]:
        """Return notes about exactly this version, and its time. Raise NotFoundError if it does not exist."""
        try:
            answer = self._get_skill(path, f"/versions/{quote_segment(version)}")
        except NotFoundError:
            if self.ref.ref:
                raise self.missing(path, f"There is no version {version}.") from None
            return [], ""
        detail = answer.optional_child("version")
        if detail is None:
            raise self.missing(path, f"There is no version {version}.")
        if detail.segment("version") != version:
            raise bad_response(f"The registry answered {quote_text(detail.text('version'))} when asked for {version}.")
        security = detail.optional_child("security")
        status = security.prose("status") if security else ""
        made = detail.value("createdAt")
        time = iso(made * 1_000_000) if isinstance(made, int) and 0 < made < _LATEST else ""
        return _judge(path, f"Version {version} was found to be {status}.", status), time

    def _find_repository(self, skill: Answer, path: str, commit: str, notes: list[Note]) -> _Found:
        """Return a skill that is only in a repository, at the requested commit or the registry's."""
        answer = self._get_skill(path, "/install")
        if not answer.flag("ok"):
            raise self.missing(path, answer.prose("message") or "It has no installable version.")
        archive = answer.optional_child("archive")
        if archive is not None and not commit:
            return _Found(self._make_offer(skill, path, archive.segment("version")), tuple(notes))
        github = answer.child("github")
        repository, commit = github.text("repo"), commit or github.text("commit")
        if not _REPOSITORY.fullmatch(repository) or not _COMMIT.fullmatch(commit):
            raise bad_response(f"{quote_text(repository)} at {quote_text(commit)} is not a repository at a commit.")
        directory = (github.optional_text("path") or "").removeprefix("./").strip("/")
        place = Ref("git", f"{GITHUB}{repository}", commit, "" if directory == "." else directory)
        return _Found(self._make_offer(skill, path, commit)._replace(version=""), tuple(notes), place)

    def _read_result(self, result: Answer) -> Offer:
        slug, owner = result.segment("slug"), result.optional_child("owner")
        holder, field = (result, "ownerHandle") if "ownerHandle" in result else (owner, "handle")
        handle = holder.segment(field) if holder is not None and field in holder else ""
        version = result.segment("version") if "version" in result else ""
        path = f"{handle}/{slug}" if handle else slug
        return self.offer(path, slug, result.prose("summary", "displayName"), version)

    def _get_skill(self, path: str, rest: str = "", query: str = "") -> Answer:
        owner, slug = split_path(path)
        given = "&".join(filter(None, [query, f"ownerHandle={quote_segment(owner)}" if owner else ""]))
        return self.get_json(f"skills/{slug}{rest}{f'?{given}' if given else ''}")


def _check_moderation(moderation: Answer | None, path: str) -> list[Note]:
    """Return notes about the verdict on the whole skill."""
    if moderation is None:
        return []
    verdict, why = moderation.prose("verdict"), moderation.prose("summary")
    if moderation.flag("isMalwareBlocked"):
        verdict = "malicious"
    elif verdict != "malicious" and moderation.flag("isSuspicious"):
        verdict = "suspicious"
    return _judge(path, why, verdict)


def _judge(path: str, why: str, verdict: str) -> list[Note]:
    """Return a note about a suspicious skill. Raise RefusedError `source-blocked` for malware."""
    if verdict == "malicious":
        message = f"The registry blocks {path} as malware. {why}".strip()
        raise RefusedError("source-blocked", message, hint="Do not install it another way.")
    if verdict != "suspicious":
        return []
    message, hint = f"The registry suspects {path}. {why}".strip(), "Review what it does before you allow it."
    return [Note("source-suspicious", "warning", message, hint, skill=path)]

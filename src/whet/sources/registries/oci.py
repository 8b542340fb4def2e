"""Skills in a repository of an OCI registry, as the artifacts `application/vnd.agentskills.skill.v1`.

    oci:registry.example/acme/review:1.2.0      a tag
    oci:registry.example/acme/review@sha256:…   one immutable manifest
    oci:registry.example/acme/review            the highest version among the tags
    oci:registry.example/acme/review@^1.2       the highest version in a range

A tag can be moved, so the revision of a skill is the hash of its manifest. The manifest names one archive and the
config with the name and the version; an index names the manifests of several skills. Everything is checked against its
hash. The time in a manifest is the publisher's claim.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.notes import Note
from whet.skill.finder import main_file
from whet.skill.versions import has_sign, in_range, is_range, is_semver, read_version, semver_key
from whet.sources.model import Fetched, Listing, Newer, Offer, Ref
from whet.sources.packages import describe
from whet.sources.registries.oci_client import (
    COLLECTION,
    INDEX,
    MANIFEST,
    MANIFEST_BYTES,
    SKILL_CONFIG,
    TAG,
    Repository,
)
from whet.sources.registries.registry import (
    Answer,
    Registry,
    bad_response,
    clean_text,
    get_origin,
    mismatch,
    parse_json,
    quote_text,
)
from whet.store.concurrency import together

if TYPE_CHECKING:
    from collections.abc import Collection

    from whet.sources.age import Cooldown
    from whet.sources.model import FetchContext

CREATED = "org.opencontainers.image.created"
TITLE = "org.opencontainers.image.title"
VERSION = "org.opencontainers.image.version"
DESCRIPTION = "org.opencontainers.image.description"
NAME = "io.agentskills.skill.name"
MOST_SKILLS = 200
"""Skills that are read from one index."""
_MOST_OLDER = 10
"""Versions that are tried to find one that is old enough."""
_ACCEPT = f"{MANIFEST}, {INDEX}"
_DIGEST = "sha256:"


class Artifact(NamedTuple):
    """A skill as its manifest and config describe it."""

    digest: str
    """Digest of the manifest."""
    name: str
    version: str
    description: str
    created: str
    layer: str
    """SHA-256 of the archive, in hex."""
    size: int


class OciSource(Registry):
    """A repository of a registry."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        super().__init__(ref, context)
        self.repository = Repository(ref.location, context.web, context.place)
        self.artifacts: dict[str, Artifact] = {}
        """Skills by digest."""

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  all skills of a collection are listed
        """List the skill of the tag, digest or range, or those of a collection."""
        wanted = self.ref.ref
        if wanted.startswith(_DIGEST) or (wanted and not has_sign(wanted)):
            try:
                return self._list(*self.get_manifest(wanted))
            except NotFoundError:
                if wanted.startswith(_DIGEST) or not is_range(wanted):
                    raise
        return self._list_versions(self._find_tags(wanted))

    def fetch_one(self, offer: Offer) -> Fetched:
        """Fetch the archive of one skill."""
        artifact = self.artifacts.get(offer.revision) or self._read(*self.get_manifest(offer.revision))
        tree, notes = self.repository.authorized(
            lambda headers: self.fetch_archive(
                self.repository.blob_url(artifact.layer),
                artifact.name,
                sha256=artifact.layer,
                size=artifact.size,
                headers=headers,
            )
        )
        named = describe(self.ref, tree[main_file(tree)].data, fallback=artifact.name).name
        if named != artifact.name:
            raise mismatch(f"the manifest is of {quote_text(artifact.name)}, the archive of {quote_text(named)}")
        return Fetched(offer, tree, notes)

    def list_tag(self, tag: str) -> Listing:
        """List the skill or collection that a tag currently names."""
        return self._list(*self.get_manifest(tag))

    def offer_artifact(self, artifact: Artifact, path: str = "") -> Offer:
        """Return the offer of a skill."""
        place = Ref("oci", self.ref.location, self.ref.ref, path)
        offer = Offer(artifact.name, artifact.description, place, artifact.digest, artifact.layer, artifact.version)
        return offer._replace(published=self.published(place, artifact.created, artifact.digest))

    def get_manifest(self, reference: str) -> tuple[str, Answer]:
        """Return the digest of the manifest of a tag or digest, and the manifest."""
        exact = reference.startswith(_DIGEST)
        if not exact and not TAG.fullmatch(reference):
            hint = "Use letters, digits, dots, hyphens and underscores."
            raise UsageError("bad-source", f"{quote_text(reference)} cannot be a tag.", hint=hint)
        response = self.repository.authorized(
            lambda headers: self.get(
                self.repository.manifest_url(reference),
                limit=MANIFEST_BYTES,
                accept=_ACCEPT,
                headers=headers,
                sha256=reference.removeprefix(_DIGEST) if exact else "",
            )
        )
        digest = f"{_DIGEST}{hashlib.sha256(response.body).hexdigest()}"
        if not exact and get_origin(response.url) != get_origin(self.ref.location):
            raise bad_response(f"{self.repository.host} sends the manifest of a tag from another server.")
        promised = response.headers.get("docker-content-digest", digest)
        if promised.startswith(_DIGEST) and promised != digest:
            raise mismatch("the manifest has another digest than the registry says")
        return digest, Answer(parse_json(response.body, response.url), "the manifest", response.url)

    def _find_tags(self, range_: str) -> list[str]:
        """Return the tags that are versions, the highest first. Raise NotFoundError `no-such-version`."""
        tags = self.repository.list_tags()
        named = {tag: tag.removeprefix("v").replace("_", "+") for tag in tags}
        versions = {tag: version for tag, version in named.items() if read_version(version)}
        full = {tag: version for tag, version in versions.items() if is_semver(version)} or versions
        fit = [tag for tag, version in full.items() if in_range(version, range_)]
        released = [tag for tag in fit if "-" not in full[tag].partition("+")[0]]
        if found := sorted(released or fit, key=lambda tag: semver_key(full[tag]), reverse=True):
            return found
        if not range_ and ("latest" in tags or len(tags) == 1):
            return ["latest" if "latest" in tags else tags[0]]
        what = f"version in the range {range_}" if range_ else "tag that is a version"
        hint = f"It has {', '.join(tags[:10])}." if tags else "Ask its publisher."
        message = f"{self.ref.location} has no {what}."
        raise NotFoundError("no-such-version", message, hint=hint, suggestions=tags[:10])

    def _list_versions(self, tags: list[str]) -> Listing:
        """List the first of these tags; if it is too young, the first one that is old enough."""
        newest = self._list(*self.get_manifest(tags[0]))
        cooldown = self.context.cooldown
        if cooldown is None or not _is_young(newest, cooldown):
            return newest
        (young,) = newest.offers
        for tag in tags[1:_MOST_OLDER]:
            older = self._read(*self.get_manifest(tag))
            if {young.revision, older.digest} & {*cooldown.installed.values()} or older.name != young.name:
                break
            if (time := self._find_time(tag, older, cooldown)) <= cooldown.before:
                newer = Newer(young.version or tags[0], young.published)
                offer = Offer(older.name, older.description, young.ref, older.digest, older.layer, older.version)
                return Listing(self.ref, older.digest, (offer._replace(published=time, newer=newer),))
        return newest

    def _find_time(self, tag: str, artifact: Artifact, cooldown: Cooldown) -> int:
        """Return when a version below the newest became public; now, if an earlier look should have seen it."""
        looks, own = cooldown.looks, Ref("oci", self.ref.location, tag)
        before = looks.seen(self.ref)
        known = {look.revision for look in (*before, *looks.seen(own))}
        claimed = self.published(own, artifact.created, artifact.digest)
        return looks.now if before and artifact.digest not in known else claimed

    def _list(self, digest: str, manifest: Answer) -> Listing:
        """List the skill of a manifest, or the skills of an index."""
        if "manifests" in manifest:
            return self._list_collection(digest, manifest)
        artifact = self._read(digest, manifest)
        if self.ref.path and artifact.name != self.ref.path:
            raise self.not_listed("skill", self.ref.path, [artifact.name], ())
        return Listing(self.ref, digest, (self.offer_artifact(artifact, self.ref.path),))

    def _list_collection(self, digest: str, index: Answer) -> Listing:
        kind = index.optional_text("artifactType")
        if kind not in (None, COLLECTION):
            raise _refuse(f"{self.ref.location} is an index of {quote_text(kind)}, not of skills.")
        entries = [*index.children("manifests")]
        notes: list[Note] = []
        if len(entries) > MOST_SKILLS:
            message = f"{self.ref.location} has more skills than the {MOST_SKILLS} listed."
            notes.append(Note("listing-cut", "info", message, "Name a skill."))
        found: dict[str, Offer] = {}
        for name, outcome in together(self._read_entry, entries[:MOST_SKILLS]):
            if isinstance(outcome, InvalidError | NotFoundError):
                notes.append(Note.from_error(outcome, "error", skill=name))
            elif self.ref.path in ("", outcome.name):
                found.setdefault(outcome.name, self.offer_artifact(outcome, outcome.name))
        if self.ref.path and not found:
            raise self.not_listed("skill", self.ref.path, [], notes)
        return Listing(self.ref, digest, tuple(found.values()), tuple(notes))

    def _read_entry(self, entry: Answer) -> tuple[str, Artifact | InvalidError | NotFoundError]:
        """Read one skill of an index; a nested index is an error."""
        name = ""
        try:
            annotations = entry.optional_child("annotations")
            name = annotations.prose(NAME, TITLE) if annotations else ""
            if entry.optional_text("mediaType") != MANIFEST:
                raise _refuse("An entry of the index is not a skill.")
            digest = f"{_DIGEST}{entry.sha256('digest')}"
            return name, self._read(*self.get_manifest(digest))
        except (InvalidError, NotFoundError) as error:
            return name, error

    def _read(self, digest: str, manifest: Answer) -> Artifact:
        """Read the skill that a manifest describes. Raises InvalidError."""
        if "manifests" in manifest:
            raise _refuse(f"{self.ref.location} is a collection.")
        layers = [*manifest.children("layers")]
        if len(layers) != 1 or not layers[0].text("mediaType").endswith(("tar+gzip", "tar.gzip")):
            raise _refuse(f"{self.ref.location} is not a skill: a skill is one layer, a tar.gz.")
        config = self._read_config(manifest.child("config"))
        notes = manifest.optional_child("annotations") or Answer({}, "the annotations")
        name = (config.prose("name") if config else "") or notes.prose(NAME, TITLE)
        artifact = Artifact(
            digest,
            name or self.repository.name.rpartition("/")[2],
            clean_text((config.prose("version") if config else "") or notes.prose(VERSION), 128),
            (config.prose("description") if config else "") or notes.prose(DESCRIPTION),
            notes.prose(CREATED),
            layers[0].sha256("digest"),
            layers[0].number("size"),
        )
        self.artifacts[digest] = artifact
        return artifact

    def _read_config(self, descriptor: Answer) -> Answer | None:
        """Read the config of a skill; return None for a config of another kind."""
        if descriptor.text("mediaType") != SKILL_CONFIG:
            return None
        digest, size = descriptor.sha256("digest"), descriptor.number("size")
        get = partial(self.get, self.repository.blob_url(digest), limit=min(size, MANIFEST_BYTES), sha256=digest)
        response = self.repository.authorized(lambda headers: get(headers=headers))
        return Answer(parse_json(response.body, response.url), "the config", response.url)


def _is_young(listing: Listing, cooldown: Cooldown) -> bool:
    """Return whether a listing has exactly one skill and that is too young."""
    return len(listing.offers) == 1 and listing.offers[0].published > cooldown.before


def _refuse(message: str) -> InvalidError:
    hint = "Name a repository with an artifact of the type application/vnd.agentskills.skill.v1."
    return InvalidError("not-a-skill", message, hint=hint)

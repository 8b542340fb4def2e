"""Skills that a site publishes about itself, at `/.well-known/agent-skills/index.json`.

The index is looked for below the address that was given, under its present and its older name, then at the origin: a
documentation site below a path may have its own. What an entry promises is what is fetched: the hash of an artifact is
checked over its raw bytes before anything reads them. The older form promises nothing before it is fetched, so there
the revision is made of the files that arrived.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from whet.errors import InvalidError, NotFoundError, RefusedError, WhetError
from whet.notes import Note
from whet.skill.archive import refused
from whet.skill.names import closest, key
from whet.skill.tree import DEFAULT_LIMITS, Item
from whet.sources.concurrency import together
from whet.sources.indexes.answers import told
from whet.sources.indexes.artifacts import (
    ARCHIVE_BYTES,
    MAIN_BYTES,
    Scales,
    about,
    download,
    main_alone,
    mismatch,
    unpacked,
)
from whet.sources.indexes.wellknown_index import read_index
from whet.sources.model import Fetched, Listing, Offer
from whet.sources.packages import check_amount, package_at

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.skill.tree import Tree
    from whet.sources.indexes.wellknown_index import Index, Indexed, LooseFile
    from whet.sources.model import FetchContext, Ref

INDEX_BYTES = 8 * 1024 * 1024
_NAMES = ("agent-skills", "skills")


class WellKnownSource:
    """A site with an index of skills."""

    def __init__(self, ref: Ref, reach: FetchContext) -> None:
        self.ref = ref
        self._reach = reach
        self._skills: dict[str, Indexed] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """Everything the index lists; where the reference names a skill, that one."""
        del names  # an index is always whole
        index, revision, notes = self._index()
        self._skills = {key(skill.name): skill for skill in index.skills}
        chosen = index.skills
        if self.ref.path:
            chosen = tuple(skill for skill in chosen if key(skill.name) == key(self.ref.path))
            if not chosen:
                raise self._missing(index)
        offers = tuple(self._offer(skill) for skill in chosen)
        return Listing(self.ref, revision, offers, told([*notes, *index.notes]))

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What fits a query; an index is searched here."""
        from whet.sources.taps.searching import rank

        return rank(self.inspect().offers, query, limit)

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The artifacts of these offers, several at a time, each with the hash that was promised."""
        if not self._skills and offers:
            self.inspect()
        scales = Scales()

        def one(offer: Offer) -> Fetched:
            skill = self._known(offer)
            try:
                package = self._artifact(offer, skill) if skill.type else self._loose(offer, skill)
                return package._replace(tree=scales.add(package.tree))
            except WhetError as error:
                raise about(error, skill.name) from error

        whole = {offer: None for offer in offers if self._known(offer).type}
        packages = dict(zip(whole, together(one, tuple(whole)), strict=True))
        return tuple(packages.get(offer) or one(offer) for offer in offers)

    def close(self) -> None:
        """Nothing is kept open."""

    def _index(self) -> tuple[Index, str, tuple[Note, ...]]:
        """The first index that can be read, its hash, and what was met on the way to it."""
        met: list[WhetError] = []
        for address in addresses(self.ref.location):
            self._reach.check_cancelled()
            try:
                answer = self._reach.web.get(
                    address, limit=INDEX_BYTES, accept="application/json", cancelled=self._reach.cancelled
                )
                index = read_index(answer.body, answer.url)
            except (NotFoundError, RefusedError, InvalidError) as error:
                if isinstance(error, RefusedError) and error.code != "source-denied":
                    raise
                if not isinstance(error, NotFoundError):
                    met.append(error)
                continue
            notes = tuple(Note.from_error(error, "warning") for error in met)
            return index, f"sha256:{hashlib.sha256(answer.body).hexdigest()}", notes
        if met:
            raise next((error for error in met if error.code == "index-unknown"), met[0])
        message = f"{self.ref.location} publishes no index of skills."
        hint = "An index lies at /.well-known/agent-skills/index.json. If it is a git repository, write git:ADDRESS."
        raise NotFoundError("source-not-found", message, hint=hint)

    def _offer(self, skill: Indexed) -> Offer:
        ref = self.ref._replace(path=skill.name)
        return Offer(skill.name, skill.description, ref, skill.revision, skill.revision)

    def _missing(self, index: Index) -> WhetError:
        wanted = key(self.ref.path)
        for entry in index.notes:
            if entry.severity == "error" and entry.skill and key(entry.skill) == wanted:
                return InvalidError(entry.code, entry.message, hint=entry.hint)
        near = closest(self.ref.path, [skill.name for skill in index.skills])
        hint = f"Did you mean {', '.join(near)}?" if near else "List what is there without naming a skill."
        message = f"There is no skill {self.ref.path!r} in {self.ref.location}."
        return NotFoundError("skill-not-in-source", message, hint=hint, suggestions=list(near))

    def _known(self, offer: Offer) -> Indexed:
        skill = self._skills.get(key(offer.ref.path))
        if skill is None:
            message = f"{self.ref.location} does not list {offer.name} any more."
            raise NotFoundError("skill-not-in-source", message, hint="List what is there without naming a skill.")
        return skill

    def _artifact(self, offer: Offer, skill: Indexed) -> Fetched:
        limit = ARCHIVE_BYTES if skill.type == "archive" else MAIN_BYTES
        promised = offer.revision.removeprefix("sha256:")
        data = download(self._reach, skill.url, skill.name, limit=limit, sha256=promised)
        if skill.type == "archive":
            return Fetched(offer, *unpacked(data, skill.name))
        return Fetched(offer, main_alone(data))

    def _loose(self, offer: Offer, skill: Indexed) -> Fetched:
        """A skill of the older form: all its files, several at a time, or none."""
        left = _Allowance()

        def one(file: LooseFile) -> bytes:
            data = download(self._reach, file.url, skill.name, limit=left.next_file(), sha256=file.sha256)
            left.take(len(data))
            return data

        bodies = together(one, skill.files)
        check_amount("", map(len, bodies))
        tree = package_at({file.path: Item(data) for file, data in zip(skill.files, bodies, strict=True)}, "")
        revision = loose_revision(tree)
        if offer.revision and offer.revision != revision:
            raise mismatch("its files have changed since")
        message = f"{skill.name} comes from an index of the older form, which has no hashes to check it with."
        known = all(file.sha256 for file in skill.files)
        notes = () if known else (Note("unverified", "info", message, skill=skill.name),)
        return Fetched(offer._replace(revision=revision, marker=revision), tree, notes)


class _Allowance:
    """How much the files of one skill may still weigh. Threads may overdraw it by what they fetch at the moment."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = DEFAULT_LIMITS.total_bytes

    def next_file(self) -> int:
        """What the next file may weigh."""
        if not self._left:
            raise refused("archive-too-large", f"Its files have more than {DEFAULT_LIMITS.total_bytes} bytes together.")
        return min(DEFAULT_LIMITS.file_bytes, self._left)

    def take(self, amount: int) -> None:
        """Count what has arrived."""
        self._left = max(0, self._left - amount)


def addresses(location: str) -> tuple[str, ...]:
    """Where the index of a site may lie, likeliest first."""
    base = location.rstrip("/")
    parts = urlsplit(base)
    bases = dict.fromkeys((base, f"{parts.scheme}://{parts.netloc}"))
    return tuple(f"{each}/.well-known/{name}/index.json" for each in bases for name in _NAMES)


def loose_revision(files: Tree) -> str:
    """What stands for the files of a skill that came one by one: a hash over their names and hashes."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(b"%s\0%s\n" % (path.encode(), hashlib.sha256(files[path].data).hexdigest().encode()))
    return f"sha256:{total.hexdigest()}"

"""Skills that a site publishes, at `/.well-known/agent-skills/index.json`.

The index is searched below the given address, under its current and its older name, then at the origin: a documentation
site below a path may have its own. There are two forms. The current one (0.2.0) has a `$schema`, and each entry names
one artifact with its hash, which is checked over the raw bytes before they are parsed. The older one has no `$schema`;
each entry lists the files of a skill, and a draft between the two gives each file a hash. The older form has no hash
before the fetch, so the revision is a hash of the fetched files. An index with an unknown `$schema` is an error. A
wrong entry is skipped with a note and does not affect the others.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from whet.errors import InvalidError, NotFoundError, RefusedError, WhetError
from whet.notes import Note
from whet.skill import paths
from whet.skill.archive import pack, refused
from whet.skill.finder import MAIN_FILE
from whet.skill.names import key, spec_problems
from whet.skill.tree import DEFAULT_LIMITS, Item
from whet.sources.model import Fetched, Listing, Offer
from whet.sources.packages import check_amount, package_at
from whet.sources.registries.registry import (
    JSON,
    MAIN_BYTES,
    Answer,
    FetchSize,
    Registry,
    bad_response,
    get_origin,
    limit_notes,
    make_package,
    mismatch,
    parse_json,
    quote_segment,
    quote_text,
    read_entries,
    resolve_address,
)
from whet.store.concurrency import together

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.skill.tree import Tree
    from whet.sources.model import FetchContext, Ref

SCHEMAS = ("https://schemas.agentskills.io/discovery/0.2.0/schema.json",)
TYPES = ("skill-md", "archive")

_WRONG = Note("index-entry-wrong", "error", "", "Tell the publisher of the site.")
_TWICE = Note("index-entry-duplicate", "warning", "")
_NAMES = ("agent-skills", "skills")


class EntryFile(NamedTuple):
    """A file of a skill that is served file by file."""

    path: str
    url: str
    sha256: str = ""


class Entry(NamedTuple):
    """One skill of an index: an artifact, or its files."""

    name: str
    description: str
    type: str = ""
    """One of `TYPES`; "" for the older form."""
    url: str = ""
    sha256: str = ""
    files: tuple[EntryFile, ...] = ()

    @property
    def revision(self) -> str:
        """Hash of the artifact; "" if it is unknown before the fetch."""
        return f"sha256:{self.sha256}" if self.sha256 else ""


class Index(NamedTuple):
    """The skills of an index."""

    skills: tuple[Entry, ...]
    notes: tuple[Note, ...]


class WellKnownSource(Registry):
    """A site with an index of skills."""

    def __init__(self, ref: Ref, context: FetchContext) -> None:
        super().__init__(ref, context)
        self._entries: dict[str, Entry] = {}

    def inspect(self, names: Collection[str] = ()) -> Listing:  # noqa: ARG002  an index is always read completely
        """List all skills of the index, or the one that the reference names."""
        index, revision, changed, notes = self._fetch_index()
        self._entries = {key(entry.name): entry for entry in index.skills}
        path = self.ref.path
        if path and key(path) not in self._entries:
            raise self.not_listed("skill", path, [entry.name for entry in index.skills], index.notes)
        entries = [self._entries[key(path)]] if path else index.skills
        offers = tuple(self._offer(entry, entry.revision or revision, changed) for entry in entries)
        return Listing(self.ref, revision, offers, limit_notes([*notes, *index.notes]))

    def _offer(self, entry: Entry, revision: str, changed: str) -> Offer:
        """Return the offer of an entry; `changed` is the modification time of the index."""
        place = self.ref._replace(path=entry.name)
        offer = Offer(entry.name, entry.description, place, entry.revision, entry.revision)
        return offer._replace(published=self.published(place, changed, revision))

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Fetch these skills: several artifacts at a time; in the older form, several files of one skill."""
        if not self._entries and offers:
            self.inspect()
        size = FetchSize()
        artifacts = tuple(dict.fromkeys(offer for offer in offers if self._find(offer).type))
        packages = together(lambda offer: self.fetch_within(offer, size), artifacts)
        fetched = dict(zip(artifacts, packages, strict=True))
        return tuple(fetched.get(offer) or self.fetch_within(offer, size) for offer in offers)

    def fetch_one(self, offer: Offer) -> Fetched:
        """Fetch one skill and check the hash of its entry."""
        entry, promised = self._find(offer), offer.revision.removeprefix("sha256:")
        if entry.type == "archive":
            return Fetched(offer, *self.fetch_archive(entry.url, entry.name, sha256=promised))
        if entry.type:
            main = self.get(entry.url, limit=MAIN_BYTES, sha256=promised, name=entry.name).body
            return Fetched(offer, make_package(main))
        return self._fetch_files(offer, entry)

    def get_bytes(self, offer: Offer) -> tuple[bytes, str]:
        """Return one skill as an unopened archive, and its revision; single files are packed into one."""
        entry = self._find(offer)
        if entry.type == "archive":
            return self.get_sized(entry.url, entry.name, sha256=entry.sha256), entry.revision
        fetched = self.fetch_one(offer)
        return pack(entry.name, fetched.tree), fetched.offer.revision

    def _fetch_files(self, offer: Offer, entry: Entry) -> Fetched:
        """Fetch all files of a skill of the older form, several at a time."""
        left = DEFAULT_LIMITS.total_bytes  # concurrent fetches may exceed it

        def fetch_file(file: EntryFile) -> bytes:
            nonlocal left
            if left <= 0:
                message = f"Together, its files have more than {DEFAULT_LIMITS.total_bytes} bytes."
                raise refused("archive-too-large", message)
            limit = min(DEFAULT_LIMITS.file_bytes, left)
            data = self.get(file.url, limit=limit, sha256=file.sha256, name=entry.name).body
            left -= len(data)
            return data

        bodies = together(fetch_file, entry.files)
        check_amount("", map(len, bodies))
        tree = package_at({file.path: Item(data) for file, data in zip(entry.files, bodies, strict=True)}, "")
        revision = hash_files(tree)
        if offer.revision and offer.revision != revision:
            raise mismatch("its files have changed since")
        message = f"{entry.name} comes from an older index format, which has no hashes to verify it with."
        known = all(file.sha256 for file in entry.files)
        notes = () if known else (Note("unverified", "info", message, skill=entry.name),)
        return Fetched(offer._replace(revision=revision, marker=revision), tree, notes)

    def _fetch_index(self) -> tuple[Index, str, str, tuple[Note, ...]]:
        """Return the first readable index, its hash, its modification time, and earlier errors as notes."""
        errors: list[WhetError] = []
        for address in list_addresses(self.ref.location):
            try:
                response = self.get(address, accept=JSON)
                index = read_index(response.body, response.url)
            except NotFoundError:
                continue
            except (RefusedError, InvalidError) as error:
                if isinstance(error, RefusedError) and error.code != "source-denied":
                    raise
                errors.append(error)
                continue
            notes = tuple(Note.from_error(error, "warning") for error in errors)
            changed = response.headers.get("last-modified", "")
            return index, f"sha256:{hashlib.sha256(response.body).hexdigest()}", changed, notes
        if errors:
            raise next((error for error in errors if error.code == "index-unknown"), errors[0])
        message = f"{self.ref.location} does not publish a skill index."
        hint = "Whet looks at /.well-known/agent-skills/index.json. For a git repository, write git:ADDRESS."
        raise NotFoundError("source-not-found", message, hint=hint)

    def _find(self, offer: Offer) -> Entry:
        entry = self._entries.get(key(offer.ref.path))
        if entry is None:
            message = f"{self.ref.location} no longer lists {offer.name}."
            raise NotFoundError("skill-not-in-source", message, hint="`whet show SOURCE` lists its skills.")
        return entry


def list_addresses(location: str) -> tuple[str, ...]:
    """Return the possible addresses of the index, likeliest first."""
    base = location.rstrip("/")
    parts = urlsplit(base)
    bases = dict.fromkeys((base, f"{parts.scheme}://{parts.netloc}"))
    return tuple(f"{each}/.well-known/{name}/index.json" for each in bases for name in _NAMES)


def hash_files(files: Tree) -> str:
    """Return the revision of a skill fetched file by file: a hash over names and hashes."""
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(b"%s\0%s\n" % (path.encode(), hashlib.sha256(files[path].data).hexdigest().encode()))
    return f"sha256:{total.hexdigest()}"


def read_index(body: bytes, url: str) -> Index:
    """Read the index found at an address. Raise InvalidError `bad-response` or `index-unknown`."""
    value = parse_json(body, url)
    answer = Answer(value, "the index", url)
    if "$schema" in value and value["$schema"] not in SCHEMAS:
        hint = "A newer Whet may support it. Ask the publisher for an index of version 0.2.0."
        message = f"The index at {url} says it is {quote_text(value['$schema'])}, which Whet does not know."
        raise InvalidError("index-unknown", message, hint=hint)
    notes: list[Note] = []

    def read(entry: Answer) -> Entry | None:
        return _read_artifact(entry, notes) if "$schema" in value else _read_files(entry)

    return Index(read_entries(answer, "skills", _WRONG, _TWICE, read, notes), tuple(notes))


def _read_artifact(entry: Answer, notes: list[Note]) -> Entry | None:
    """Read an entry of the current form."""
    name, kind = _read_name(entry), entry.text("type")
    if kind not in TYPES:
        message = f"{name} has the type {quote_text(kind)}, which Whet does not support; it is skipped."
        notes.append(Note("index-type-unknown", "error", message, "A newer Whet may support it.", skill=name))
        return None
    entry.text("description")
    url, sha256 = entry.address("url"), entry.sha256("digest")
    if get_origin(url) != get_origin(entry.url):
        message = f"{name} is fetched from {get_origin(url)[1]}, not from the host of the index."
        notes.append(Note("index-entry-elsewhere", "info", message, skill=name, path=url))
    return Entry(name, entry.prose("description"), kind, url, sha256)


def _read_files(entry: Answer) -> Entry:
    """Read an entry of the older form: all files are in the skill's directory beside the index."""
    name, items = _read_name(entry), entry.items("files")
    if len(items) > DEFAULT_LIMITS.files:
        raise bad_response(f"It lists {len(items)} files; the limit is {DEFAULT_LIMITS.files}.")
    directory = resolve_address(entry.url, f"{quote_segment(name)}/")
    files = tuple(_read_file(item, index, directory) for index, item in enumerate(items))
    for first, second in paths.collides(file.path for file in files):
        raise bad_response(f"The files {paths.shown(first)} and {paths.shown(second)} cannot both exist everywhere.")
    if MAIN_FILE not in [file.path for file in files]:
        raise bad_response(f"It lists no {MAIN_FILE}.")
    return Entry(name, entry.prose("description"), files=files)


def _read_file(value: object, index: int, directory: str) -> EntryFile:
    sha256 = ""
    if isinstance(value, dict):
        file = Answer(value, f"files[{index}]")
        value = file.text("path")
        sha256 = file.sha256("digest") if "digest" in file else ""
    if not isinstance(value, str):
        raise bad_response(f"files[{index}] is not a path.")
    path = paths.check(value)
    return EntryFile(path, directory + "/".join(map(quote_segment, path.split("/"))), sha256)


def _read_name(entry: Answer) -> str:
    name = entry.text("name")
    for problem in spec_problems(name):
        raise bad_response(problem.message)
    return name.strip()

"""Skills among many files: their descriptions, and their files as packages.

Every source of directories (a path, an archive, a repository, a marketplace) describes, extracts and chooses skills
with these functions, so that the same files are the same skills wherever they come from. All of them work on values:
names and bytes, no disk and no network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import AmbiguousError, InvalidError, NotFoundError
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill import paths
from whet.skill.archive import check_collisions, check_path, contents, refused
from whet.skill.coerce import mapping, truth
from whet.skill.dialects import read_heading, read_version
from whet.skill.finder import MAIN_FILE, find_skills, main_file, parents
from whet.skill.frontmatter import MAX_DOCUMENT, read_document
from whet.skill.names import closest, hidden, key
from whet.skill.tree import DEFAULT_LIMITS, Item, Limits, Tree, digest, entries, escapes, ignored
from whet.sources.model import Fetched, Offer

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from whet.errors import WhetError
    from whet.sources.model import Listing, Ref

_MIB = 1024 * 1024

SOURCE_LIMITS = Limits(files=10_000, file_bytes=64 * _MIB, total_bytes=256 * _MIB)
"""Limits of an archive with many skills and other files."""
FETCH_BYTES = 256 * _MIB
"""Largest total size of the skills of one fetch."""
_NOBODY = "/"
"""Directory of files that belong to no skill."""
_LISTED = 10


class Archived(NamedTuple):
    """The files of an archive, relative to its only top-level folder, if there is one."""

    folder: str
    files: Tree
    skipped: tuple[str, ...]
    """Files that are never part of a package."""


def describe(ref: Ref, main: bytes, *, fallback: str = "", revision: str = "", marker: str = "") -> Offer:
    """Return the offer of a skill from its main file, read leniently; without a name it gets that of its directory.

    `fallback` is the name of the root directory.
    """
    stem = ref.path.rpartition("/")[2] or fallback
    document = read_document(main[:MAX_DOCUMENT])
    heading = read_heading(document, fallback_name=stem)
    internal = truth(mapping(document.values.get("metadata")).get("internal"))
    found = Offer(heading.name, heading.description, ref, revision, marker, read_version(document))
    return found._replace(hidden=internal is True)


def package_at(files: Mapping[str, Item], directory: str) -> Tree:
    """Return the package in a directory with relative paths, without files that are never part of one.

    Raises InvalidError if a path cannot be stored everywhere or leaves the package.
    """
    prefix = f"{directory}/" if directory else ""
    found = {path[len(prefix) :]: item for path, item in files.items() if path.startswith(prefix)}
    package = {path: found[path] for path in sorted(found, key=_bytes) if not ignored(path)}
    main = main_file(package, "")
    where = f"The directory {paths.shown(directory)}" if directory else "The root"
    if not main:
        raise refused("archive-no-skill", f"{where} has no {MAIN_FILE}.")
    check_amount(directory, (len(item.data) for item in package.values()))
    if directory:
        check_path(directory)
    for path, item in package.items():
        check_path(path)
        if item.link:
            _check_link(path, item.data)
    check_collisions(package)
    if package[main].link:
        raise refused("archive-no-skill", f"{where} has a {main} that is a link; it must be a file.")
    if len(package[main].data) > MAX_DOCUMENT:
        path = f"{directory}/{main}" if directory else main
        what = f"The main file {paths.shown(path)} has more than {MAX_DOCUMENT} bytes."
        raise refused("archive-too-large", what)
    return package


def check_amount(directory: str, sizes: Iterable[int], limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise InvalidError for too many or too large files in one package."""
    total = 0
    where = f"The package in {paths.shown(directory)}" if directory else "The package"
    for count, size in enumerate(sizes, 1):
        total += size
        if count > limits.files:
            raise refused("archive-too-many-files", f"{where} has more than {limits.files} files.")
        if size > limits.file_bytes:
            raise refused("archive-too-large", f"{where} has a file with more than {limits.file_bytes} bytes.")
        if total > limits.total_bytes:
            raise refused("archive-too-large", f"{where} has more than {limits.total_bytes} bytes.")


def weigh(tree: Mapping[str, Item], before: int = 0) -> int:
    """Return the size of a package plus `before`; raise InvalidError if it is too large."""
    total = before + sum(len(item.data) for item in tree.values())
    if total > FETCH_BYTES:
        message = f"Together, the skills have more than {FETCH_BYTES // _MIB} MiB."
        raise InvalidError("source-too-large", message, hint="Fetch fewer at once: choose some with `--skill`.")
    return total


def archived(data: bytes) -> Archived:
    """Read the files of an archive with any number of skills. Raises InvalidError."""
    files, skipped = contents(data, limits=SOURCE_LIMITS)
    tops = {path.partition("/")[0] for path in files}
    folder = next(iter(tops)) if len(tops) == 1 and all("/" in path for path in files) else ""
    cut = len(folder) + 1 if folder else 0
    tree = {path[cut:]: item for path, item in files.items()}
    return Archived(folder, tree, tuple(name.removeprefix(f"{folder}/") for name in skipped))


def offered(ref: Ref, archive: Archived, *, revision: str, fallback: str) -> tuple[list[Fetched], tuple[Note, ...]]:
    """Return the skills of an archive, or of the directory `ref.path` in it, and notes about the rest.

    `fallback` is the name of a skill at the root that has none. A refused skill does not hide the others; if there is
    no other, its error is raised.
    """
    prefix = f"{ref.path}/" if ref.path else ""
    directories = find_skills(path[len(prefix) :] for path in archive.files if path.startswith(prefix))
    owned: dict[str, Tree] = {(prefix + directory).removesuffix("/"): {} for directory in directories}
    for path, item in archive.files.items():
        if (owner := _owner(path, owned)) in owned:
            owned[owner][path] = item
    skipped: dict[str, list[str]] = {}
    for name in archive.skipped:
        skipped.setdefault(_owner(name, owned), []).append(name)
    found: list[Fetched] = []
    refusals: list[InvalidError] = []
    notes: list[Note] = []
    for where, files in owned.items():
        main = files[main_file(files, where)].data
        offer = describe(ref._replace(path=where), main, fallback=archive.folder or fallback, revision=revision)
        try:
            tree = package_at(files, where)
        except InvalidError as error:
            refusals.append(error)
            notes.append(refusal(error, offer.name, where))
            continue
        offer = offer._replace(marker=digest(entries(tree)))
        found.append(Fetched(offer, tree, left_out(skipped.get(where, ()), offer.name)))
    if not found:
        raise refusals[0] if refusals else nothing_found(ref.path or ref.location)
    return found, (*notes, *left_out(skipped.get(_NOBODY, ())))


def refusal(error: WhetError, skill: str, path: str) -> Note:
    """Return a note about a skill that exists but cannot be offered."""
    return Note.from_error(error, "error", skill=skill, path=path)


def left_out(names: Iterable[str], skill: str = "") -> tuple[Note, ...]:
    """Return a note about files that are never part of a package; empty if there are none."""
    listed = sorted(names)
    if not listed:
        return ()
    shown = ", ".join(paths.shown(name) for name in listed[:_LISTED])
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    message = f"Left out, because they never belong to a skill: {shown}{more}."
    return (Note("left-out", "info", message, skill=skill, path=listed[0]),)


def nothing_found(where: str) -> NotFoundError:
    """Return the error for a source without skills."""
    hint = f"Use a location with a {MAIN_FILE} in or below it."
    return NotFoundError("no-skills-found", f"There is no skill in or below {where}.", hint=hint)


def choose(listing: Listing, names: Sequence[str], *, all: bool) -> tuple[Offer, ...]:  # noqa: A002  `--all` is its name
    """Return the requested offers: those named, all of them, or the only one.

    A name is the path of a skill, its own name, or the name of its directory: the first match counts. Skills that their
    author marked as internal must be named, by the caller or by the reference.
    """
    chosen = [_named(listing, name) for name in names]
    plain = [offer for offer in listing.offers if not offer.hidden or offer.ref == listing.ref]
    if all:
        chosen += plain
    elif not names and len(plain) > 1:
        candidates = _labels(plain)
        more = f" and {len(candidates) - _LISTED} more" if len(candidates) > _LISTED else ""
        message = f"The source has {len(plain)} skills: {', '.join(candidates[:_LISTED])}{more}."
        hint = f"Name those you want, such as `--skill {candidates[0]}`, or use `--all`."
        raise AmbiguousError(
            "several-skills",
            message,
            hint=hint,
            candidates=candidates,
            descriptions=[offer.description for offer in plain],
        )
    elif not names:
        chosen += plain
    if not chosen:
        if listing.offers:
            inner = _labels(listing.offers)
            message = f"There are only internal skills: {', '.join(inner[:_LISTED])}."
            raise NotFoundError("no-skills-found", message, hint="Choose one with `--skill`.", suggestions=inner)
        raise _why_not(listing.notes) or nothing_found(listing.ref.path or listing.ref.location)
    return tuple(dict.fromkeys(chosen))


def _named(listing: Listing, name: str) -> Offer:
    wanted = key(name.removeprefix("./").rstrip("/"))
    for spelling in (_path, _name, _directory):
        found = [offer for offer in listing.offers if key(spelling(offer)) == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            candidates = [_path(offer) for offer in found]
            message = f"{len(found)} skills are named {paths.shown(name)}: {', '.join(candidates[:_LISTED])}."
            raise AmbiguousError("ambiguous-skill", message, hint="Use the path of one.", candidates=candidates)
    if refused_one := _why_not([note for note in listing.notes if wanted in (key(note.skill), key(note.path))]):
        raise refused_one
    suggestions = list(closest(name, _labels(listing.offers)))
    gallery = listing.ref.kind == "gallery"
    place = "the gallery" if gallery else listing.ref.location
    lists = f"`{'whet gallery' if gallery else f'whet show {place}'}` lists the skills."
    hint = f"Did you mean {', '.join(suggestions)}?" if suggestions else lists
    message = f"There is no skill {paths.shown(name)} in {place}."
    raise NotFoundError("skill-not-in-source", message, hint=hint, suggestions=suggestions)


def _why_not(notes: Sequence[Note]) -> InvalidError | None:
    """Return the error for a skill that exists but is not offered, if any."""
    note = next((note for note in notes if note.severity == "error"), None)
    return InvalidError(note.code, note.message, hint=note.hint) if note else None


def _path(offer: Offer) -> str:
    return offer.ref.path or "."


def _name(offer: Offer) -> str:
    return offer.name


def _directory(offer: Offer) -> str:
    return offer.ref.path.rpartition("/")[2]


def _labels(offers: Sequence[Offer]) -> list[str]:
    """Return a unique label of each offer: its name, or its path if others have the same name."""
    counts: dict[str, int] = {}
    for offer in offers:
        counts[key(offer.name)] = counts.get(key(offer.name), 0) + 1
    return [offer.name if counts[key(offer.name)] == 1 else _path(offer) for offer in offers]


def _check_link(path: str, data: bytes) -> None:
    target = data.decode("utf-8", "surrogateescape")
    if len(data) > paths.MAX_PATH_BYTES or any(map(hidden, target)):
        raise refused("archive-unsafe-path", f"The link {paths.shown(path)} has an unsafe target.")
    if escapes(path, target):
        message = f"The link {paths.shown(path)} points outside the skill, to {paths.shown(target)}."
        raise InvalidError("link-escape", message, hint="Copy the file into the skill instead of linking to it.")


def _owner(path: str, directories: Container[str]) -> str:
    return next((above for above in parents(path) if above in directories), _NOBODY)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

"""Finding skills below a root, and checking cheaply that nothing changed.

The unit is the *container*: a directory that is not itself a skill. Its modification time shows whether an entry was
added or removed, so an unchanged container is not listed again; each skill in it is checked with one `stat` of its main
file and one of its folder (which notices new metadata files). A skill's own directory is never listed, and a main file
is read only as far as its frontmatter reaches. Refused entries (a link that leaves the roots, a file that cannot be
read) are reported and watched, so that a repair is noticed.

Links are followed into declared directories, after all real directories, and each directory is searched only once: no
cycle can be walked, and a link never takes a directory's own place. A link directly in one of the user's own roots may
also lead to files that the user owns in their home: every client follows it, and nobody else can have made it. Further
down, it could come from a repository that was cloned into the root.

The directories of a skill are not searched: a SKILL.md among a skill's supporting files is not a skill. Only the root
itself may be a skill and a collection at once.
"""

from __future__ import annotations

import os
from itertools import islice

from whet.errors import WhetError
from whet.library.card import Refused, SkillFile, unreadable
from whet.library.files import READ_FLAGS, Signature, inside, is_private, raw_signature, signature, stamp
from whet.notes import Note, Progress
from whet.records import NamedTuple, cached_property
from whet.skill.finder import LIBRARY, MAIN_FILE, MAIN_FILES, SKIPPED, SUPPORT, is_overview, main_file
from whet.store.regular import is_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whet.library.card import Card
    from whet.library.roots import Root

NOT_SKILLS = frozenset(
    (
        "readme.md",
        "description.md",
        "changelog.md",
        "license.md",
        "contributing.md",
        "agents.md",
        "claude.md",
        "gemini.md",
        "index.md",
        "notice.md",
        "security.md",
        "code_of_conduct.md",
        "todo.md",
    )
)
CATEGORY_FILE = "DESCRIPTION.md"


_OFTEN = 100
"""Number of skills between two progress reports."""


class Container(NamedTuple):
    """A directory of skills or other containers, as it was when it was last listed."""

    path: str
    category: str
    depth: int
    signature: Signature
    cards: tuple[Card, ...] = ()
    children: tuple[tuple[str, str], ...] = ()
    """Containers in this one: the path and, if it is a link, the resolved path, else ""."""
    notes: tuple[Note, ...] = ()
    watched: tuple[tuple[str, Signature], ...] = ()
    """Paths that were refused, linked to or also read; if one changes, the container is listed again."""
    description: str = ""
    """The text of the category's DESCRIPTION.md."""


class RootListing(NamedTuple):
    """Everything found below one root."""

    root: Root
    containers: dict[str, Container]
    notes: tuple[Note, ...] = ()

    def cards(self) -> Iterator[Card]:
        """Yield the skills, in no particular order."""
        for container in self.containers.values():
            yield from container.cards


class Bounds(NamedTuple):
    """Limits of a walk, and the directories that links may lead into."""

    depth: int
    directories: int
    bases: tuple[str, ...]
    """Resolved directories that links may lead into."""

    def allows(self, target: str) -> bool:
        """Return whether links of any root may lead to this resolved path."""
        return any(inside(target, base) for base in self.bases)

    def bases_of(self, card: Card) -> tuple[str, ...]:
        """Return the directories that may contain a skill's files: the bases, and the target of a user's link."""
        if not card.real or self.allows(card.real):
            return self.bases
        root = card.root
        link = os.path.join(root.path, card.path[len(root.path) :].strip(os.sep).partition(os.sep)[0])
        target = os.path.realpath(link)
        return (*self.bases, target) if is_own_link(root, link, target) else self.bases


def is_own_link(root: Root, link: str, target: str) -> bool:
    """Return whether the user made this link in their own root, to files that only the user can change."""
    if root.scope != "user" or os.path.dirname(link) != root.path:
        return False
    if not os.path.isdir(target) and not target.endswith(".md"):
        return False
    return is_private(link, os.path.dirname(link)) and is_private(target, root.home)


def verify(container: Container) -> bool:
    """Return whether the skills of a container on disk still match their cards."""
    return are_unchanged(container.cards)


def are_unchanged(cards: Iterable[Card]) -> bool:
    """Return whether the skills on disk still match the cards. A list spends most of its time here."""
    stat = os.stat
    try:
        for card in cards:
            found = stat(card.path)
            if (
                found.st_mtime_ns != card.mtime
                or found.st_ctime_ns != card.ctime
                or found.st_size != card.size
                or found.st_ino != card.inode
            ):
                return False
            if card.kind == "skill":
                found = stat(card.directory)
                if found.st_mtime_ns + found.st_ctime_ns != card.folder:  # `stamp`, inlined
                    return False
            if card.extras and any(stamp(stat(path)) != mark for path, mark in card.extras):
                return False
    except OSError:
        return False
    return True


def discover(
    root: Root,
    bounds: Bounds,
    known: RootListing | None,
    now: int,
    progress: Callable[[Progress], object] = lambda _: None,
    verify: Callable[[Container], bool] = verify,
) -> RootListing:
    """Return the current contents of `root`. Unchanged parts of `known` are reused; if nothing changed, it is `known`.

    `progress` gets the number of skills that were read, if there are many. `verify` decides whether the skills of a
    container are unchanged.
    """
    return _Walk(root, bounds, known, now, progress, verify).run()


def count_names(top: str, most: int) -> int:
    """Count the names that a search for skills finds below a directory; it stops after `most` names."""
    from contextlib import suppress

    pending, count = [top], 0
    while pending and count <= most:
        directory = pending.pop()
        with suppress(OSError), os.scandir(directory) as found:  # a directory that cannot be listed is not searched
            entries = [*islice(found, most + 1 - count)]
            count += len(entries)
            if directory == top or all(entry.name != MAIN_FILE for entry in entries):
                enter = (entry for entry in entries if LIBRARY.enters(entry.name))
                pending.extend(entry.path for entry in enter if entry.is_dir(follow_symlinks=False))
    return count


def reread(card: Card, bases: Sequence[str], now: int) -> Card | None:
    """Return the card of a skill that was edited in place; None if anything else happened."""
    if card.real or card.kind != "skill":
        return None
    from whet.library.card_reader import read_card
    from whet.library.files import open_file

    above = os.path.dirname(card.directory)[len(card.root.path) :].strip(os.sep).replace(os.sep, "/")
    try:
        descriptor = open_file(card.path, bases)
        try:
            file = SkillFile(card.path, card.directory, above, card.kind)
            found = read_card(descriptor, file, card.root, now)
        finally:
            os.close(descriptor)
    except (OSError, WhetError, Refused):
        return None
    return found if found is not None and found.key == card.key else None


def undisturbed(container: Container) -> bool:
    """Return whether nothing was added, removed or repaired in a container since it was listed; edits do not count."""
    try:
        found = os.stat(container.path)
    except OSError:
        return False
    if (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino) != container.signature:
        return False
    return not container.watched or all(_watch(path) == seen for path, seen in container.watched)


class _Place(NamedTuple):
    """A directory to search."""

    path: str
    real: str
    category: str
    depth: int


class _Walk:
    def __init__(
        self,
        root: Root,
        bounds: Bounds,
        known: RootListing | None,
        now: int,
        progress: Callable[[Progress], object],
        verify: Callable[[Container], bool],
    ) -> None:
        self.progress = progress
        self.verify = verify
        self.read = self.total = 0
        self.last = False
        """Whether this is the last directory to search, as far as is known."""
        self.root = root
        self.bounds = bounds
        self.known = known
        self.now = now
        self.containers: dict[str, Container] = {}
        self.walked: set[str] = set()
        self.notes: list[Note] = []

    def run(self) -> RootListing:
        known = self.known.containers if self.known else {}
        changed = self.known is None
        pending = [_Place(self.root.path, "", "", 0)]
        linked: list[_Place] = []
        while pending or linked:
            place = pending.pop() if pending else linked.pop(0)
            if self.repeated(place):
                continue
            if len(self.containers) >= self.bounds.directories:
                message = (
                    f"The root has more than {self.bounds.directories:,} directories; Whet did not search the rest."
                )
                hint = "Raise `max_directories` in config.toml, or split the root."
                self.notes.append(Note("too-many-directories", "error", message, hint, path=place.path))
                break
            old = known.get(place.path)
            self.last = not (pending or linked)
            container = self.visit(place, old)
            changed = changed or container is not old
            if container is None:
                continue
            self.containers[place.path] = container
            below = [
                _Place(path, real, _category(place.category, path), place.depth + 1)
                for path, real in container.children
            ]
            linked.extend(item for item in below if _is_link(item, place))
            pending.extend(item for item in reversed(below) if not _is_link(item, place))
        if self.known and not changed and len(known) == len(self.containers) and self.known.notes == tuple(self.notes):
            return self.known
        return RootListing(self.root, self.containers, tuple(self.notes))

    def real(self, path: str, through_link: str) -> str:
        """Return the resolved path of a directory below the root."""
        return through_link or self.root.real + path[len(self.root.path) :]

    def repeated(self, place: _Place) -> bool:
        """Return whether this directory was already searched under another name, which only a link can cause."""
        real = self.real(place.path, place.real)
        if real not in self.walked:
            self.walked.add(real)
            return False
        message = f"{real} is already searched under another name; Whet does not follow this link."
        hint = "No skill is missing. Remove the link if nothing else needs it."
        self.notes.append(Note("link-repeated", "info", message, hint, path=place.path))
        return True

    def visit(self, place: _Place, old: Container | None) -> Container | None:
        """Return the current container; `old` itself if nothing in it changed."""
        try:
            status = os.stat(place.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.notes.append(_unreadable_directory(place.path, error))
            return None
        if old is None:
            return self.list(place, status, {})
        same = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino) == old.signature
        if same and all(_watch(path) == seen for path, seen in old.watched) and self.verify(old):
            return old
        return self.list(place, status, {card.path: card for card in old.cards})

    # one container

    def list(self, place: _Place, status: os.stat_result, known: dict[str, Card]) -> Container | None:
        try:
            with os.scandir(place.path) as found:
                entries = sorted(found, key=_by_name)
        except OSError as error:
            self.notes.append(_unreadable_directory(place.path, error))
            return None
        self.total = self.read + len(entries) if self.last else 0
        listing = _Listing(self, place, known)
        listing.add_main(entries)
        if self.root.kind != "skill" and (not listing.is_skill or place.depth == 0):
            listing.add_all(entries)
        return listing.container(signature(status, self.now))

    # one skill

    @cached_property
    def quick_card(self) -> Callable[[str, str, str, Root, int], Card | None]:
        """The reader of ordinary skills, imported for the first one: an unchanged library does not need it."""
        from whet.library.quick_card import quick_card

        return quick_card

    def card(self, file: SkillFile, known: dict[str, Card]) -> Card | None:
        """Return the card of a main file; None if the file does not exist. Raises Refused."""
        path, _, _, _, real = file
        if known and (old := known.get(path)) is not None and real in ("", old.real) and are_unchanged((old,)):
            return old
        try:
            descriptor = os.open(real or path, READ_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if not real and os.path.islink(path):
                return self.card(file._replace(real=self.follow(path)), {})
            raise unreadable(path, error) from error
        try:
            from whet.library.card_reader import read_card

            self.count()
            return read_card(descriptor, file, self.root, self.now)
        except OSError as error:
            raise unreadable(path, error) from error
        finally:
            os.close(descriptor)

    def count(self) -> None:
        """Count a skill that was read, and report progress from time to time."""
        self.read += 1
        if self.read % _OFTEN == 0:
            self.progress(Progress("Reading", self.read, self.total, "skills"))

    def follow(self, path: str) -> str:
        """Return the target of a link. Raises Refused if it is not allowed."""
        try:
            target = os.path.realpath(path)
        except OSError as error:  # it was changed just now
            raise unreadable(path, error) from error
        if not os.path.exists(target):
            hint = "Remove the link or restore its target."
            raise Refused(Note("link-broken", "warning", "The link is broken.", hint, path=path))
        if not self.bounds.allows(target) and not is_own_link(self.root, path, target):
            message = f"The link points to {target}, outside every root; Whet does not follow it."
            hint = "Link the directory of the skill instead, or copy the file."
            if os.path.isdir(target):
                hint = f"If you trust what is there, run `whet guard trust {target}`; or copy the skill."
            raise Refused(Note("link-escape", "error", message, hint, path=path))
        return target


class _Listing:
    """Sorts the entries of one container into skills, containers, files and refusals."""

    def __init__(self, walk: _Walk, place: _Place, known: dict[str, Card]) -> None:
        self.walk = walk
        self.path = place.path
        self.real = place.real
        self.category = place.category
        self.depth = place.depth
        self.known = known
        self.cards: list[Card] = []
        self.children: list[tuple[str, str]] = []
        self.notes: list[Note] = []
        self.watched: list[tuple[str, Signature]] = []
        self.description = ""
        self.commands = walk.root.kind == "commands"
        self.is_skill = False
        """Set for a directory that is itself a skill. If it is the root, all but its support directories is searched;
        otherwise nothing: it was a container until a moment ago.
        """

    def container(self, seen: Signature) -> Container:
        return Container(
            self.path,
            self.category,
            self.depth,
            seen,
            tuple(self.cards),
            tuple(self.children),
            tuple(self.notes),
            tuple(self.watched),
            self.description,
        )

    def add_main(self, entries: list[os.DirEntry[str]]) -> None:
        """Add this directory as a skill if there is a main file among the entries."""
        found = {
            entry.name for entry in entries if entry.name in MAIN_FILES and not entry.is_dir(follow_symlinks=False)
        }
        name = main_file(found)
        if not name or self.commands or _lists_others(self.path, found):
            return
        real = os.path.join(self.real, name) if self.real else ""
        file = SkillFile(f"{self.path}{os.sep}{name}", self.path, self.category.rpartition("/")[0], "skill", real)
        try:
            self.is_skill = self.add_card(file)
        except Refused as refused:
            self.refuse(refused.entry)
            self.is_skill = True

    def add_all(self, entries: list[os.DirEntry[str]]) -> None:
        plain = not (self.known or self.real or self.commands or self.is_skill)
        quick = plain and os.name == "posix"  # on other systems, an entry that is not a link may lead elsewhere too
        walk, category, add_card = self.walk, self.category, self.cards.append
        root, now = walk.root, walk.now
        for entry in entries:
            name = entry.name
            if name[0] == "." or name in SKIPPED:  # LIBRARY.enters
                continue
            card, has_main = None, True
            if quick and not entry.is_symlink() and entry.is_dir():
                try:
                    card = walk.quick_card(entry.path, name, category, root, now)
                except FileNotFoundError:
                    has_main = False
            if card is not None:
                walk.count()
                add_card(card)
            else:
                self.add(entry, has_main=has_main)

    def add(self, entry: os.DirEntry[str], *, has_main: bool) -> None:
        name = entry.name
        try:
            if is_link(entry):
                self.add_link(entry)
            elif entry.is_dir():
                self.add_directory(entry.path, self.real and os.path.join(self.real, name), has_main=has_main)
            else:
                self.add_file(name, entry.path, os.path.join(self.real, name) if self.real else "")
        except Refused as refused:
            self.refuse(refused.entry)

    def add_link(self, entry: os.DirEntry[str]) -> None:
        directory = os.path.isdir(entry.path)
        if not directory and not entry.name.endswith(".md") and os.path.exists(entry.path):
            return  # it leads to a file that would not be read if it were here
        target = self.walk.follow(entry.path)
        if not self.walk.bounds.allows(target):
            message = f"The link points to {target}, outside every root; Whet follows it because both are yours."
            hint = "Nothing is wrong. Remove the link if you do not want the skill."
            self.notes.append(Note("link-own", "info", message, hint, path=entry.path))
        if not directory:
            self.add_file(entry.name, entry.path, target)
        elif inside(self.walk.real(self.path, self.real), target):
            hint = "Remove the link."
            self.refuse(
                Note("link-cycle", "warning", "The link points to a directory above itself.", hint, path=entry.path)
            )
        else:
            self.add_directory(entry.path, target)
            if self.children and self.children[-1][0] == entry.path:
                self.watch(entry.path)

    def add_directory(self, path: str, real: str, *, has_main: bool = True) -> None:
        """Add a skill or a container. A directory without SKILL.md may still have a main file with an old name."""
        if self.is_skill and os.path.basename(path) in SUPPORT:
            return
        if not self.commands:
            target = real and os.path.join(real, MAIN_FILE)
            file = tuple.__new__(SkillFile, (f"{path}{os.sep}{MAIN_FILE}", path, self.category, "skill", target))
            card = (has_main and self.walk.card(file, self.known)) or self.old_main(path, real)
            if card is not None:
                self.cards.append(card)
                return
        if self.depth + 1 >= self.walk.bounds.depth:
            hint = "Move skills closer to the root, or raise `depth` in config.toml."
            message = (
                f"This directory is more than {self.walk.bounds.depth} levels below the root; Whet does not search it."
            )
            self.refuse(Note("too-deep", "warning", message, hint, path=path))
            return
        self.children.append((path, real))

    def old_main(self, path: str, real: str) -> Card | None:
        """Return a skill whose main file has one of the outdated names."""
        try:
            names = frozenset(os.listdir(path)).intersection(MAIN_FILES)
        except OSError:
            return None  # visiting it as a container reports the reason
        name = main_file(names)
        if not name or _lists_others(path, names):
            return None
        target = os.path.join(real, name) if real else ""
        return self.walk.card(SkillFile(os.path.join(path, name), path, self.category, "skill", target), self.known)

    def add_file(self, name: str, path: str, real: str) -> None:
        if name == CATEGORY_FILE and self.depth:
            self.describe(path)
        elif not name.endswith(".md"):
            return
        elif self.commands:
            self.add_card(SkillFile(path, self.path, self.category, "command", real))
        elif self.depth == 0 and name not in MAIN_FILES and name.lower() not in NOT_SKILLS:
            self.add_flat(SkillFile(path, self.path, "", "flat", real))

    def describe(self, path: str) -> None:
        from whet.library.card_reader import read_category

        self.watch(path)
        try:
            self.description = read_category(path)
        except OSError as error:
            raise unreadable(path, error) from error

    def add_flat(self, file: SkillFile) -> None:
        if not self.add_card(file):
            message, hint = "A Markdown file without frontmatter is not a skill.", "Add frontmatter, or move the file."
            self.refuse(Note("stray-file", "info", message, hint, path=file.path))

    def add_card(self, file: SkillFile) -> bool:
        card = self.walk.card(file, self.known)
        if card:
            self.cards.append(card)
        return card is not None

    def refuse(self, entry: Note) -> None:
        self.notes.append(entry)
        self.watch(entry.path)

    def watch(self, path: str) -> None:
        """Remember the signature of a path, so that a change is noticed."""
        status = _status(path)
        self.watched.append((path, _NOTHING if status is None else signature(status, self.walk.now)))


def _lists_others(path: str, mains: Iterable[str]) -> bool:
    """Return whether a directory's only main file is a list of the skills below it."""
    if not is_overview(mains):
        return False
    from whet.library.package import find_skills

    try:
        return find_skills(path, LIBRARY).skills not in ((), ("",))
    except WhetError:
        return False


_NOTHING = Signature(0, 0, 0, 0)
"""The signature of a missing file."""


def _watch(path: str) -> Signature:
    found = _status(path)
    return raw_signature(found) if found else _NOTHING


def _status(path: str) -> os.stat_result | None:
    """Return the status of a path's target, or of a broken link itself, so that its repair is noticed."""
    for look in (os.stat, os.lstat):
        try:
            return look(path)
        except OSError:
            continue
    return None


def _is_link(place: _Place, parent: _Place) -> bool:
    """Return whether the place is itself reached by a link, not only below one."""
    return place.real != "" and place.real != (parent.real and os.path.join(parent.real, os.path.basename(place.path)))


def _by_name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _category(parent: str, path: str) -> str:
    name = os.path.basename(path)
    return f"{parent}/{name}" if parent else name


def _unreadable_directory(path: str, error: OSError) -> Note:
    reason = error.strerror or str(error)
    return Note(
        "unreadable-directory",
        "error",
        f"Whet cannot search this directory: {reason}.",
        "Check its permissions.",
        path=path,
    )

"""Finding skills below a root, and finding out cheaply that nothing changed.

The unit is the *container*: a directory that is not itself a skill. Its modification time tells whether an entry came
or went, so an unchanged container is not listed again; each skill in it is checked with one `stat` of its main file
and one of its folder (which notices metadata files appearing beside it). A skill's own directory is never listed, and
a main file is read only as far as its frontmatter reaches. What is refused (a link that leaves the roots, a file that
cannot be read) is reported and watched, so that mending it is noticed too.

Below a skill nothing is looked for: a SKILL.md among a skill's supporting files is not a skill. Only the root itself
may be a skill and a collection at once.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.library.files import READ_FLAGS, UNSETTLED, Signature, inside, signature
from whet.library.report import Entry
from whet.library.spots import MAIN, Refused, Spot, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.library.card import Card
    from whet.library.roots import Root

OLD_MAINS = ("skill.md", "Skill.md", "SKILLS.md", "skills.md")
SKIPPED = frozenset(
    ("node_modules", "venv", "site-packages", "__pycache__", "__MACOSX", "dist-packages", "bower_components")
)
"""Directories never searched, beside every one whose name begins with a dot."""
SUPPORT = frozenset(
    ("references", "templates", "scripts", "assets", "examples", "evals", "agents", "prompts", "tools", "tests", "docs")
)
"""Not searched below a root that is itself a skill."""
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


class Container(NamedTuple):
    """A directory that holds skills or further containers, as it was when it was last listed."""

    path: str
    category: str
    depth: int
    signature: Signature
    cards: tuple[Card, ...] = ()
    children: tuple[str, ...] = ()
    notes: tuple[Entry, ...] = ()
    watched: tuple[tuple[str, Signature], ...] = ()
    """Things that were refused or read besides; a change of one of them means listing again."""
    description: str = ""
    """What the category's DESCRIPTION.md says."""


class Shelf(NamedTuple):
    """Everything found below one root."""

    root: Root
    containers: dict[str, Container]
    notes: tuple[Entry, ...] = ()

    def cards(self) -> Iterator[Card]:
        """The skills, in no particular order."""
        for container in self.containers.values():
            yield from container.cards


class Bounds(NamedTuple):
    """How far a walk may go, and where links may lead."""

    depth: int
    directories: int
    bases: tuple[str, ...]
    """Resolved directories that links may lead into."""


def discover(root: Root, bounds: Bounds, known: Shelf | None, now: int) -> Shelf:
    """What lies below `root` now. Unchanged parts of `known` are reused; if nothing changed, it is `known` itself."""
    return _Walk(root, bounds, known, now).run()


def revalidate(card: Card) -> bool:
    """Is the skill on disk still the one the card describes?"""
    try:
        found = os.stat(card.path)
        if (
            found.st_mtime_ns != card.mtime
            or found.st_ctime_ns != card.ctime
            or found.st_size != card.size
            or found.st_ino != card.inode
        ):
            return False
        if card.kind == "skill" and os.stat(card.directory).st_mtime_ns != card.folder:
            return False
        return all(os.stat(path).st_mtime_ns == mtime for path, mtime in card.extras)
    except OSError:
        return False


def unchanged(item: tuple[str, Signature]) -> bool:
    """Has nothing come or gone in a directory since it had this signature?"""
    try:
        found = os.stat(item[0])
    except OSError:
        return False
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino) == item[1]


class _Walk:
    def __init__(self, root: Root, bounds: Bounds, known: Shelf | None, now: int) -> None:
        self.root = root
        self.bounds = bounds
        self.known = known
        self.now = now
        self.containers: dict[str, Container] = {}
        self.walked: set[str] = set()
        self.notes: list[Entry] = []

    def run(self) -> Shelf:
        known = self.known.containers if self.known else {}
        pending = [(self.root.path, "", 0)]
        changed = self.known is None
        while pending:
            path, category, depth = pending.pop()
            if len(self.containers) >= self.bounds.directories:
                message = f"More than {self.bounds.directories:,} directories; the rest was not searched."
                hint = "Raise `max_directories` in config.toml, or split the root."
                self.notes.append(Entry("too-many-directories", "error", "", path, message, hint))
                break
            old = known.get(path)
            container = self.visit(path, category, depth, old)
            changed = changed or container is not old
            if container is None:
                continue
            self.containers[path] = container
            pending.extend((child, _category(category, child), depth + 1) for child in container.children)
        if self.known and not changed and len(known) == len(self.containers) and self.known.notes == tuple(self.notes):
            return self.known
        return Shelf(self.root, self.containers, tuple(self.notes))

    def visit(self, path: str, category: str, depth: int, old: Container | None) -> Container | None:
        """The container at `path` as it is now; `old` itself when nothing in it changed."""
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.notes.append(_unreadable_directory(path, error))
            return None
        if old is None:
            return self.list(path, category, depth, status, {})
        same = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino) == old.signature
        if same and all(_watch(place) == seen for place, seen in old.watched) and all(map(revalidate, old.cards)):
            return old
        return self.list(path, category, depth, status, {card.path: card for card in old.cards})

    # one container

    def list(
        self, path: str, category: str, depth: int, status: os.stat_result, known: dict[str, Card]
    ) -> Container | None:
        try:
            with os.scandir(path) as found:
                entries = sorted(found, key=_by_name)
        except OSError as error:
            self.notes.append(_unreadable_directory(path, error))
            return None
        listing = _Listing(self, path, category, depth, known)
        for entry in entries:
            listing.add(entry)
        return listing.container(signature(status, self.now))

    # one skill

    def card(self, spot: Spot, known: dict[str, Card]) -> Card | None:
        """The card of a main file, None when there is no such file. Raises Refused."""
        old = known.get(spot.path)
        if old is not None and revalidate(old):
            return old
        from whet.library.reading import read_card

        try:
            descriptor = os.open(spot.real or spot.path, READ_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if not spot.real and os.path.islink(spot.path):
                return self.card(spot._replace(real=self.follow(spot.path)), {})
            raise unreadable(spot.path, error) from error
        try:
            return read_card(descriptor, spot, self.root, self.now)
        except OSError as error:
            raise unreadable(spot.path, error) from error
        finally:
            os.close(descriptor)

    def follow(self, path: str) -> str:
        """Where a link leads, when it leads somewhere allowed."""
        target = os.path.realpath(path)
        if not os.path.exists(target):
            hint = "Remove the link or restore what it points to."
            raise Refused(Entry("link-broken", "warning", "", path, "The link leads nowhere.", hint))
        if not any(inside(target, base) for base in self.bounds.bases):
            message = f"The link leads to {target}, outside every root; it was not followed."
            hint = f"Add {os.path.dirname(target)} to `links` in config.toml, or copy the skill."
            raise Refused(Entry("link-escape", "error", "", path, message, hint))
        return target


class _Listing:
    """Sorts the entries of one container into skills, containers, files and refusals."""

    def __init__(self, walk: _Walk, path: str, category: str, depth: int, known: dict[str, Card]) -> None:
        self.walk = walk
        self.path = path
        self.category = category
        self.depth = depth
        self.known = known
        self.cards: list[Card] = []
        self.children: list[str] = []
        self.notes: list[Entry] = []
        self.watched: list[tuple[str, Signature]] = []
        self.description = ""
        self.commands = walk.root.kind == "commands"
        self.is_skill = False
        """Set for a root that is itself a skill: its support directories are not searched."""

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

    def add(self, entry: os.DirEntry[str]) -> None:
        name = entry.name
        if name[0] == "." or name in SKIPPED:
            return
        try:
            if entry.is_symlink():
                self.add_link(entry)
            elif entry.is_dir():
                self.add_directory(entry.path, "")
            else:
                self.add_file(name, entry.path, "")
        except Refused as refused:
            self.refuse(refused.entry)

    def add_link(self, entry: os.DirEntry[str]) -> None:
        target = self.walk.follow(entry.path)
        if not os.path.isdir(target):
            self.add_file(entry.name, entry.path, target)
        elif inside(os.path.realpath(self.path), target):
            hint = "Remove the link."
            self.refuse(
                Entry("link-cycle", "warning", "", entry.path, "The link leads back to a directory above.", hint)
            )
        else:
            self.add_directory(entry.path, target)

    def add_directory(self, path: str, real: str) -> None:
        if self.is_skill and os.path.basename(path) in SUPPORT:
            return
        if not self.commands:
            spot = Spot(f"{path}{os.sep}{MAIN}", path, self.category, "skill", os.path.join(real, MAIN) if real else "")
            if card := self.walk.card(spot, self.known):
                self.cards.append(card)
                return
            if card := self.old_main(path, real):
                self.cards.append(card)
                return
        if self.depth + 1 >= self.walk.bounds.depth:
            hint = "Move skills closer to the root, or raise `depth` in config.toml."
            message = f"Not searched: more than {self.walk.bounds.depth} levels below the root."
            self.refuse(Entry("too-deep", "warning", "", path, message, hint))
            return
        self.children.append(path)

    def old_main(self, path: str, real: str) -> Card | None:
        """A skill whose main file has one of the names nobody should use any more."""
        try:
            names = frozenset(os.listdir(path))
        except OSError:
            return None  # visiting it as a container reports the reason
        for name in OLD_MAINS:
            if name in names:
                target = os.path.join(real, name) if real else ""
                return self.walk.card(Spot(os.path.join(path, name), path, self.category, "skill", target), self.known)
        return None

    def add_file(self, name: str, path: str, real: str) -> None:
        if name == CATEGORY_FILE and self.depth:
            from whet.library.reading import read_category

            self.description = read_category(path)
            self.watched.append((path, _watch(path)))
        elif not name.endswith(".md"):
            return
        elif self.commands:
            self.add_card(Spot(path, self.path, self.category, "command", real))
        elif self.depth == 0 and name == MAIN:
            self.is_skill = self.add_card(Spot(path, self.path, "", "skill", real))
        elif self.depth == 0 and name.lower() not in NOT_SKILLS:
            self.add_flat(Spot(path, self.path, "", "flat", real))

    def add_flat(self, spot: Spot) -> None:
        if not self.add_card(spot):
            message, hint = "A Markdown file without frontmatter is no skill.", "Give it frontmatter, or move it away."
            self.refuse(Entry("stray-file", "info", "", spot.path, message, hint))

    def add_card(self, spot: Spot) -> bool:
        card = self.walk.card(spot, self.known)
        if card:
            self.cards.append(card)
        return card is not None

    def refuse(self, entry: Entry) -> None:
        self.notes.append(entry)
        self.watched.append((entry.path, _watch(entry.path)))


def _watch(path: str) -> Signature:
    try:
        found = os.lstat(path)
    except OSError:
        return UNSETTLED
    return Signature(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _by_name(entry: os.DirEntry[str]) -> str:
    return entry.name


def _category(parent: str, path: str) -> str:
    name = os.path.basename(path)
    return f"{parent}/{name}" if parent else name


def _unreadable_directory(path: str, error: OSError) -> Entry:
    reason = error.strerror or str(error)
    return Entry("unreadable-directory", "error", "", path, f"Cannot be searched: {reason}.", "Check its permissions.")

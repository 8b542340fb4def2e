"""A skill's main file, and its card in the catalogue: enough to list and rank it, never its body."""

from __future__ import annotations

import os

from whet.library.files import tree_stamp
from whet.library.skill_id import SkillId, skill_id
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.finder import MAIN_FILE
from whet.skill.gates import DRAFT, OPEN, Gates
from whet.skill.names import key as name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.library.roots import Root
    from whet.values import Json


class Card(NamedTuple):
    """One skill as found on disk: enough to list, rank and find it, never its body.

    The cache stores the fields before `root` as they are. The times and inodes show whether anything changed; they may
    be negative while a file is too new to be sure.
    """

    path: str
    """The main file, as reached through the root."""
    directory: str
    """The directory of the main file."""
    name: str
    """The name in the frontmatter, or else the name of the directory."""
    key: str
    """The form of the name that is used to compare names (`whet.skill.names.key`)."""
    description: str
    """The description; "" if there is none."""
    category: str
    """The path between the root and the skill, or else the category in the frontmatter; "" if there is none."""
    kind: str
    """`skill`: a directory with a SKILL.md; `flat`: one Markdown file; `command`: a client's command file."""
    mtime: int
    ctime: int
    size: int
    inode: int
    folder: int
    """The directory's stamp (`whet.library.files.stamp`); changes when files next to SKILL.md come or go."""
    real: str
    """The main file with links resolved if it is reached through a link below the root; otherwise ""."""
    root: Root
    """The root it was found in."""
    gates: Gates = OPEN
    """Its requirements, and who may use it."""
    notes: tuple[Note, ...] = ()
    """Notes from reading it."""
    extras: tuple[tuple[str, int], ...] = ()
    """Other files that were read along with SKILL.md, and their stamps."""
    when: str = ""
    """When to use it, in one line, from the frontmatter or skill.json; the instructions are not read."""
    hint: str = ""
    """A hint at the arguments after its name, for a menu of commands."""
    ready: bool | None = True
    """Whether everything it requires is available; None if this was not checked."""
    hidden: str = ""
    """The code of the reason why it is hidden from the caller; "" if it is not hidden."""
    listing: str = ""
    """The way it is listed for a model (`whet.library.settings.LISTING`); "" for the default, or if not checked."""
    verdict: str = ""
    """The verdict for which the guard blocks it, such as `dangerous`; "" if it does not, or if not checked."""

    def __repr__(self) -> str:
        return f"Card(name={self.name!r}, scope={self.scope!r}, path={self.path!r})"

    @property
    def scope(self) -> str:
        """The scope of the root it was found in: project, user, org, external or plugin."""
        return self.root.scope

    @property
    def draft(self) -> bool:
        """Whether it is a template or an unfinished outline, which no model is offered."""
        if self.notes and any(note.code == "draft" for note in self.notes):
            return True
        return DRAFT in self.description

    @property
    def mark(self) -> str:
        """The mark in a list: its verdict, the reason why it is hidden, or `draft`; "" for any other skill."""
        return self.verdict or self.hidden or ("draft" if self.draft else "")

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients whose directory it is in; empty for a directory that belongs to no client."""
        return (self.root.client,) if self.root.client else ()

    @property
    def full_name(self) -> str:
        """The name a person types: `plugin:skill` for a plugin's, the plain name otherwise."""
        return f"{self.root.namespace}:{self.name}" if self.root.namespace else self.name

    @property
    def qualified(self) -> str:
        """The name that refers to this skill even if another one shadows it."""
        return f"{self.root.namespace or self.root.scope}:{self.name}"

    @property
    def location(self) -> str:
        """The skill's directory, or the file of a skill that is only a file."""
        return self.directory if self.kind == "skill" else self.path

    @property
    def place(self) -> str:
        """The location with every link resolved. Changes refer to it."""
        return os.path.realpath(self.location)

    @property
    def resolved(self) -> str:
        """The main file with every link resolved: two cards with the same one are the same skill."""
        if self.real:
            return self.real
        root = self.root
        return self.path if root.real == root.path else root.real + self.path[len(root.path) :]

    @property
    def id(self) -> SkillId:
        """The id of the skill in the databases."""
        return skill_id(os.path.dirname(self.resolved) if self.kind == "skill" else self.resolved, self.root)

    @property
    def known_as(self) -> tuple[str, str, str]:
        """The names under which databases and settings may store it: its id, its plain name and its qualified name."""
        return str(self.id), self.key, name_key(self.qualified)

    def settled(self) -> Card:
        """Return the card without marks for files that were too new to trust, so that two cards can be compared."""
        if self.mtime >= 0 and self.folder >= 0 and all(mark >= 0 for _, mark in self.extras):
            return self
        extras = tuple((path, max(mark, ~mark)) for path, mark in self.extras)
        return self._replace(mtime=max(self.mtime, ~self.mtime), folder=max(self.folder, ~self.folder), extras=extras)

    def to_json(self) -> Json:
        """Return tier 1 of a skill: {name, description, category, scope, path}; a list adds more."""
        return {
            "name": self.full_name,
            "description": self.description,
            "category": self.category,
            "scope": self.scope,
            "path": self.location,
            **({} if self.ready is None else {"ready": self.ready}),
            **({"hidden": self.hidden} if self.hidden else {}),
            **({"listing": self.listing} if self.listing else {}),
            **({"verdict": self.verdict} if self.verdict else {}),
        }


def main_file(card: Card) -> str:
    """Return the name of the main file."""
    return os.path.basename(card.path)


def card_stamp(card: Card, now: int) -> str:
    """Return a stamp that changes whenever a scan of the skill could differ; "" while a file is too new to be sure."""
    return tree_stamp(card.path, card.directory if card.kind == "skill" else "", now)


class SkillFile(NamedTuple):
    """A place where a skill's main file is expected."""

    path: str
    directory: str
    category: str
    kind: str
    real: str = ""

    @property
    def stem(self) -> str:
        """The name of a skill without a name in its frontmatter: that of its directory, or of its file."""
        if self.kind == "skill":
            return self.directory.rpartition(os.sep)[2]
        return self.path.rpartition(os.sep)[2].removesuffix(".md")

    @property
    def odd(self) -> bool:
        """Whether this is an outdated form."""
        return self.kind != "skill" or not self.path.endswith(MAIN_FILE)


def old_form(file: SkillFile) -> tuple[Note, ...]:
    """Return a note about a skill in an outdated form; empty for any other skill."""
    if not file.odd:
        return ()
    name = os.path.basename(file.path)
    if file.kind == "flat":
        message, hint = f"{name} is a skill without a directory.", f"Move it to {name[:-3]}/SKILL.md."
        return (Note("flat-skill", "info", message, hint),)
    if file.kind == "command":
        message, hint = f"{name} is a command file.", f"Move it to skills/{name[:-3]}/SKILL.md."
        return (Note("command-file", "info", message, hint),)
    return (Note("old-main-name", "warning", f"The main file is called {name}.", "Rename it to SKILL.md."),)


class Refused(Exception):  # noqa: N818  not an error of the caller's, only a way out of a listing
    """An entry that is not used; carries its note."""

    def __init__(self, entry: Note) -> None:
        super().__init__(entry.message)
        self.entry = entry


def unreadable(path: str, error: OSError) -> Refused:
    """Return the refusal of a file that cannot be opened or read."""
    reason = error.strerror or str(error)
    return Refused(
        Note("unreadable", "error", f"The file cannot be read: {reason}.", "Check its permissions.", path=path)
    )

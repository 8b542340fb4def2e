"""Which files are a skill: the names of main files, the directories nobody searches, and the one rule that decides.

A skill is a directory with a main file. Everything in it belongs to it, so the directory further up wins. A `SKILLS.md`
above other skills is a list of them and not a skill. Every door asks here, whether the paths come from a disk, an
archive or a repository, so that what is listed can be installed, checked, scanned and packed. Where doors differ, the
difference is one of the `Search` values below.
"""

from __future__ import annotations

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

MAIN_FILE = "SKILL.md"
FLAT = ".md"
"""How the file of a skill that is only a file ends."""
MAIN_FILES = (MAIN_FILE, "skill.md", "Skill.md", "SKILLS.md", "skills.md")
"""What a main file may be called, best first. All but the first are read with a note that names the first."""
_OVERVIEWS = frozenset(("SKILLS.md", "skills.md"))
"""Above other skills, such a file is a list of them."""
SKIPPED = frozenset(
    (
        ".cache",
        ".git",
        ".tox",
        ".venv",
        "__MACOSX",
        "__pycache__",
        "bower_components",
        "dist-packages",
        "node_modules",
        "site-packages",
        "venv",
    )
)
"""Directories in which no skill is looked for."""
SUPPORT = frozenset(
    ("references", "templates", "scripts", "assets", "examples", "evals", "agents", "prompts", "tools", "tests", "docs")
)
"""Not searched below a place that is itself a skill."""


class Search(NamedTuple):
    """How far a search for skills goes."""

    depth: int
    """Directories on the way to a main file, its own included."""
    hidden: bool = True
    """Directories whose names begin with a dot are searched."""
    collection: bool = True
    """The place itself may be a skill and hold others."""
    links: bool = False
    """A link to a skill's directory counts as one."""
    skipped: frozenset[str] = SKIPPED

    def enters(self, name: str) -> bool:
        """Is a directory of this name searched?"""
        return name not in self.skipped and (self.hidden or name[0] != ".")


LIBRARY = Search(depth=6, hidden=False, links=True)
"""A root of the library: what lies in a hidden directory was put away."""
SOURCE = Search(depth=10, collection=False)
"""A directory, an archive or a repository that skills are installed from; a skill is taken with everything in it."""
PLACE = Search(depth=64, links=True)
"""Any directory of which every skill is to be checked."""
EVERYTHING = Search(depth=64, skipped=frozenset((".git",)))
"""Any directory that is scanned: a harmful skill may lie where nobody looks."""


def is_main_file(name: str) -> bool:
    """Is this what a main file is called, in whatever case?"""
    return name.lower() in ("skill.md", "skills.md")


def main_file(files: Container[str], directory: str = "") -> str:
    """The path of a directory's main file among these paths; "" when it has none."""
    return next((path for name in MAIN_FILES if (path := _join(directory, name)) in files), "")


def is_overview(names: Iterable[str]) -> bool:
    """Do the main files of one directory make it a skill only if there are no skills below it?"""
    return _OVERVIEWS.issuperset(names)


def find_skills(paths: Iterable[str], search: Search = SOURCE) -> tuple[str, ...]:
    """The directories that are skills among these paths of files, "" for the root, sorted by their bytes."""
    found: dict[str, list[str]] = {}
    for path in paths:
        directory, _, name = path.rpartition("/")
        if name in MAIN_FILES and directory.count("/") < search.depth and path == _join(directory, name):
            found.setdefault(directory, []).append(name)
    searched = [
        directory for directory in found if not directory or all(map(search.enters, filter(None, directory.split("/"))))
    ]
    containers = {above for directory in searched for above in parents(directory)}
    skills = {item for item in searched if item not in containers or not is_overview(found[item])}
    outer = skills - {""} if search.collection else skills
    kept = [item for item in skills if outer.isdisjoint(parents(item))]
    if "" in skills:
        kept = [item for item in kept if item.partition("/")[0] not in SUPPORT]
    return tuple(sorted(kept, key=lambda item: item.encode("utf-8", "surrogatepass")))


def parents(path: str) -> list[str]:
    """The directories a path lies in, nearest first, the root "" last."""
    above = []
    while path:
        path = path.rpartition("/")[0]
        above.append(path)
    return above


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name

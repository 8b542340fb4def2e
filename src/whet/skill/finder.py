"""Find skills among files: the names of main files, the directories that are skipped, and the deciding rule.

A skill is a directory with a main file. Everything in it belongs to it, so the outermost directory wins. A `SKILLS.md`
above other skills is a list of them and not a skill. All searches use this module, whether the paths come from a disk,
an archive or a repository, so that a listed skill can be installed, checked, scanned and packed. Differences between
searches are the `Search` values below.
"""

from __future__ import annotations

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

MAIN_FILE = "SKILL.md"
FLAT = ".md"
"""Suffix of a skill that is a single file."""
MAIN_FILES = (MAIN_FILE, "skill.md", "Skill.md", "SKILLS.md", "skills.md")
"""Names of main files, best first. All but the first are read with a note that names the first."""
_OVERVIEWS = frozenset(("SKILLS.md", "skills.md"))
"""Names that are a list of skills if they are above other skills."""
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
"""Directories that are not searched for skills."""
SUPPORT = frozenset(
    ("references", "templates", "scripts", "assets", "examples", "evals", "agents", "prompts", "tools", "tests", "docs")
)
"""Not searched below a directory that is itself a skill."""


class Search(NamedTuple):
    """The extent of a search for skills."""

    depth: int
    """Directories on the way to a main file, including its own."""
    hidden: bool = True
    """Whether directories whose names begin with a dot are searched."""
    collection: bool = True
    """Whether the starting directory may be a skill and contain others."""
    links: bool = False
    """Whether a link to a skill's directory counts as one."""
    skipped: frozenset[str] = SKIPPED

    def enters(self, name: str) -> bool:
        """Return whether a directory of this name is searched."""
        return name not in self.skipped and (self.hidden or name[0] != ".")


LIBRARY = Search(depth=6, hidden=False, links=True)
"""A root of the library: hidden directories do not count."""
SOURCE = Search(depth=10, collection=False)
"""A directory, an archive or a repository that skills are installed from; a skill includes everything in it."""
PLACE = Search(depth=64, links=True)
"""Any directory in which every skill is checked."""
EVERYTHING = Search(depth=64, skipped=frozenset((".git",)))
"""Any directory that is scanned: a harmful skill may be anywhere."""


def is_main_file(name: str) -> bool:
    """Return whether this is the name of a main file, in any case."""
    return name.lower() in ("skill.md", "skills.md")


def main_file(files: Container[str], directory: str = "") -> str:
    """Return the path of a directory's main file among these paths; "" if it has none."""
    return next((path for name in MAIN_FILES if (path := _join(directory, name)) in files), "")


def is_overview(names: Iterable[str]) -> bool:
    """Return whether these main files make a directory a skill only if there are no skills below it."""
    return _OVERVIEWS.issuperset(names)


def find_skills(paths: Iterable[str], search: Search = SOURCE) -> tuple[str, ...]:
    """Return the directories that are skills among these file paths, "" for the root, sorted by bytes."""
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
    """Return the parent directories of a path, nearest first, the root "" last."""
    above = []
    while path:
        path = path.rpartition("/")[0]
        above.append(path)
    return above


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name

"""The id of a skill in every store: its path, and nothing from its content.

    card.id == SkillId("~/.agents/skills", "ops/deploy")
    str(card.id) == "~/.agents/skills/ops/deploy"

Names are for people: two skills can have the same one, and a skill can get another. The root is its real directory, so
that links to it do not matter, and one below the home directory begins with `~`, so that skills keep their ids when the
home moves. A plugin's skill keeps its id when the package moves.
"""

from __future__ import annotations

import os

from whet.library.files import inside
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.library.roots import Root


class SkillId(NamedTuple):
    """A skill's root, and its path below it."""

    root: str
    path: str
    """The path with forward slashes; "" for a root that is a skill itself."""

    def __str__(self) -> str:
        text = f"{self.root}/{self.path}" if self.path else self.root
        return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def skill_id(real: str, root: Root) -> SkillId:
    """Return the id of the skill at a resolved path, found through this root."""
    base = root.real or root.path
    if inside(real, base):
        return SkillId(root.id, _slashes(real[len(base) :]).strip("/"))
    directory, name = os.path.split(real)  # a link led out of the root
    return SkillId(portable(directory, root.home), name)


def portable(real: str, home: str) -> str:
    """Return a directory with `~` for the home."""
    return _slashes(f"~{real[len(home) :]}" if home and inside(real, home) else real)


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")

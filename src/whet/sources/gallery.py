"""The gallery: the skills that ship with Whet.

The gallery is a source like any other. A skill is not loaded until it is installed; then it is among the user's own,
where every client finds it, a newer version of Whet brings its updates, and edits are merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whet.errors import NotFoundError
from whet.library.roots import gallery_directory, gallery_names
from whet.records import NamedTuple
from whet.skill.names import closest, key
from whet.sources.install.installer import Wanted, inspect
from whet.sources.install.report import outdated
from whet.sources.local import PathSource
from whet.sources.model import Ref, open_source
from whet.sources.refs.parse import GALLERY
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.sources.install.installer import InspectedSkill, Installer
    from whet.sources.install.report import CheckedSkill
    from whet.sources.model import FetchContext

EVERYTHING = Ref("gallery", GALLERY)


class GallerySource(PathSource):
    """The skills that ship with this version of Whet."""

    def _top(self) -> str:
        if self.ref.path and self.ref.path not in gallery_names():
            raise not_in_gallery(self.ref.path)
        return gallery_directory()


class GallerySkill(NamedTuple):
    """A skill that ships with Whet, and whether it is added."""

    name: str
    description: str
    version: str
    state: Literal["available", "added", "edited", "outdated", "missing", "other"]
    """`missing`: its directory is gone; `other`: another skill has its name."""
    path: str = ""
    """Path of the added skill, or of the other skill with its name."""

    @property
    def added(self) -> bool:
        """Whether a lock names it as coming from the gallery."""
        return self.state not in ("available", "other")

    def to_json(self) -> Json:
        """Return the skill as JSON."""
        return fields_json(self)


def list_gallery(
    reach: FetchContext, installers: Iterable[Installer], others: dict[str, str]
) -> tuple[GallerySkill, ...]:
    """Return every skill that ships with Whet; `others` maps the keys of all names here to paths."""
    added: dict[str, tuple[Installer, CheckedSkill]] = {}
    for installer in installers:
        own = [entry.path for entry in installer.installed() if entry.source.startswith("gallery:")]
        for skill in outdated(installer, own).skills if own else ():
            added.setdefault(skill.source.rpartition("path=")[2], (installer, skill))
    found = []
    for offer in open_source(EVERYTHING, reach).inspect().offers:
        described = (offer.name, offer.description, offer.version)
        if offer.ref.path in added:
            installer, skill = added[offer.ref.path]
            found.append(GallerySkill(*described, _state(skill), installer.directory(skill.path)))
        elif place := others.get(key(offer.name)):
            found.append(GallerySkill(*described, "other", place))
        else:
            found.append(GallerySkill(*described, "available"))
    return tuple(found)


def _state(skill: CheckedSkill) -> Literal["added", "edited", "outdated", "missing"]:
    return "missing" if skill.missing else "outdated" if skill.outdated else "edited" if skill.edited else "added"


class GalleryPage(NamedTuple):
    """A skill that ships with Whet, in full."""

    skill: GallerySkill
    inspected: InspectedSkill

    def to_json(self) -> Json:
        """Return the page as JSON."""
        return {**self.inspected.to_json(), **self.skill.to_json()}


def show(installer: Installer, skills: Sequence[GallerySkill], name: str) -> GalleryPage:
    """Return one skill in full, as it ships. Raise NotFoundError."""
    skill = next((skill for skill in skills if key(skill.name) == key(name)), None)
    if skill is None:
        raise not_in_gallery(name)
    (inspected,) = inspect(installer, Wanted(EVERYTHING, (skill.name,))).inspected
    return GalleryPage(skill, inspected)


def check_added(skills: Sequence[GallerySkill], names: Iterable[str]) -> None:
    """Raise NotFoundError for a name that is not in the gallery, or whose skill was not added from it."""
    for name in names:
        skill = next((skill for skill in skills if key(skill.name) == key(name)), None)
        if skill is None:
            raise not_in_gallery(name)
        if not skill.added:
            hint = "`whet gallery` shows which are added."
            if skill.state == "other":
                hint = f"`whet remove {skill.name}` removes the other skill of that name: {skill.path}."
            raise NotFoundError("not-installed", f"{skill.name} was not added from the gallery.", hint=hint)


def not_in_gallery(name: str) -> NotFoundError:
    """Return the error for a name that the gallery does not have."""
    near = closest(name, sorted(gallery_names()), 3)
    hint = f"Did you mean {near[0]}?" if near else "`whet gallery` lists the skills."
    return NotFoundError("not-in-gallery", f"The gallery has no skill {name!r}.", hint=hint, suggestions=list(near))

"""What a source has, before anything is taken in: the list, and of chosen skills everything there is to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.trees import digest
from whet.sources.install.installer import checked
from whet.sources.opening import open_source
from whet.sources.packages import choose
from whet.sources.refs.reading import ref_text, shown
from whet.values import Json, answer_json, as_json, fields_json

if TYPE_CHECKING:
    from whet.guard.gate import Judgement
    from whet.notes import Note
    from whet.sources.install.installer import Installer, Wanted
    from whet.sources.model import Fetched, Offer


class OfferedSkill(NamedTuple):
    """A skill that a source has."""

    name: str
    description: str
    version: str
    path: str
    source: str
    """What to give to `install`, in its one spelling."""
    revision: str
    group: str
    hidden: bool
    """Its author marked it as internal."""


class InspectedFile(NamedTuple):
    """A file of a skill that was fetched."""

    path: str
    size: int
    executable: bool
    link: bool


class InspectedSkill(NamedTuple):
    """A skill that was fetched and looked at."""

    offer: OfferedSkill
    digest: str
    files: tuple[InspectedFile, ...]
    judgement: Judgement
    """What the guard found, and what the policy says of it."""
    notes: tuple[Note, ...]

    def to_json(self) -> Json:
        """The skill as every surface answers it."""
        return {
            **fields_json(self.offer),
            "digest": self.digest,
            "files": as_json(self.files),
            **self.judgement.decision.to_json(),
            "findings": as_json(self.judgement.scan.findings),
            "notes": as_json(self.notes),
        }


class Inspection(NamedTuple):
    """What a source has."""

    source: str
    shown: str
    revision: str
    trust: str
    skills: tuple[OfferedSkill, ...]
    inspected: tuple[InspectedSkill, ...]
    notes: tuple[Note, ...]

    def to_json(self) -> Json:
        """The answer of every surface."""
        return answer_json(self)


def inspect(installer: Installer, wanted: Wanted) -> Inspection:
    """The listing of a source; what is named, or the only skill there is, with its content looked at."""
    source = open_source(wanted.ref, installer.reach)
    try:
        listing = source.inspect(wanted.names)
        meant = [offer for offer in listing.offers if not offer.hidden]
        chosen = choose(listing, wanted.names, all=False) if wanted.names or len(meant) == 1 else ()
        packages = tuple(map(checked, source.fetch(chosen))) if chosen else ()
    finally:
        source.close()
    return Inspection(
        ref_text(listing.ref),
        shown(listing.ref),
        listing.revision,
        installer.trust(listing.ref),
        tuple(map(_offered, listing.offers)),
        tuple(_inspect_skill(installer, package) for package in packages),
        listing.notes,
    )


def _offered(offer: Offer) -> OfferedSkill:
    said = (offer.name, offer.description, offer.version, offer.ref.path)
    return OfferedSkill(*said, ref_text(offer.ref), offer.revision, offer.group, offer.hidden)


def _inspect_skill(installer: Installer, package: Fetched) -> InspectedSkill:
    files = tuple(
        InspectedFile(path, len(item.data), item.executable, item.link) for path, item in sorted(package.tree.items())
    )
    judgement = installer.judged(package.tree, installer.trust_in(package))
    return InspectedSkill(_offered(package.offer), digest(package.tree), files, judgement, package.notes)

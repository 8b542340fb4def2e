"""What a source has, before anything is taken in: the list, and of chosen skills everything there is to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.authoring.trees import digest
from whet.sources.install.installer import checked
from whet.sources.opening import open_source
from whet.sources.packages import choose
from whet.sources.refs.reading import ref_text, shown

if TYPE_CHECKING:
    from whet.sources.install.installer import Installer, Wanted
    from whet.sources.model import Fetched, Offer


def inspect(installer: Installer, wanted: Wanted) -> dict[str, Any]:
    """The listing of a source; what is named, or the only skill there is, with its content looked at."""
    source = open_source(wanted.ref, installer.reach)
    try:
        listing = source.inspect(wanted.names)
        meant = [offer for offer in listing.offers if not offer.hidden]
        chosen = choose(listing, wanted.names, all=False) if wanted.names or len(meant) == 1 else ()
        packages = tuple(map(checked, source.fetch(chosen))) if chosen else ()
    finally:
        source.close()
    return {
        "source": ref_text(listing.ref),
        "shown": shown(listing.ref),
        "revision": listing.revision,
        "trust": installer.trust(listing.ref),
        "skills": [_told(offer) for offer in listing.offers],
        "inspected": [_looked_at(installer, package) for package in packages],
        "notes": [note.to_json() for note in listing.notes],
    }


def _told(offer: Offer) -> dict[str, Any]:
    return {
        "name": offer.name,
        "description": offer.description,
        "version": offer.version,
        "path": offer.ref.path,
        "source": ref_text(offer.ref),
        "revision": offer.revision,
        "group": offer.group,
        "hidden": offer.hidden,
    }


def _looked_at(installer: Installer, package: Fetched) -> dict[str, Any]:
    scan, decision = installer.judged(package.tree, installer.trust_in(package))
    files = [
        {"path": path, "size": len(item.data), "executable": item.executable, "link": item.link}
        for path, item in sorted(package.tree.items())
    ]
    return {
        **_told(package.offer),
        "digest": digest(package.tree),
        "files": files,
        **decision.to_json(),
        "findings": [finding.to_json() for finding in scan.findings],
        "notes": [note.to_json() for note in package.notes],
    }

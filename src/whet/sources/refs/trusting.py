"""How far a source is trusted: by the place the bytes come from, and by nothing it says of itself.

A repository is trusted when it is exactly one of the vendors' or of the user's list (`whet.guard.trust`). A site, a hub
or a single file is trusted only when the list names exactly it; an open registry vouches for nobody, so that of it only
single skills can be listed. A list of plugins is trusted never: each of its plugins lies somewhere, and that place
counts. Where an address redirects to another one, ask with the other one: trust does not travel along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.guard.trust import origin_trust, source_of
from whet.sources.refs.reading import read_remote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.sources.model import Ref

_SITES = ("well-known", "hub")


def ref_trust(ref: Ref, trusted_sources: Iterable[str] = ()) -> str:
    """The row of the policy for a source: `local`, `trusted` or `community`."""
    if ref.kind == "path":
        return "local"
    if ref.kind == "git":
        trusted = _is_repository(ref.location) and origin_trust(ref.location, trusted_sources) == "trusted"
    else:
        trusted = ref.location.startswith("https://") and any(_lists(entry, ref) for entry in trusted_sources)
    return "trusted" if trusted else "community"


def _is_repository(location: str) -> bool:
    """Is this the address of a repository and of nothing in it?"""
    place = location.partition("://")[2].removeprefix("git@").removesuffix(".git").lower()
    return bool(place) and place == source_of(location)


def _lists(entry: str, ref: Ref) -> bool:
    """Does an entry of the user's list name exactly this place?"""
    try:
        listed = read_remote(entry)
    except WhetError:  # a name of a repository, a path, or nothing: none of them is this place
        return False
    if listed.location != ref.location or listed.ref:
        return False
    if ref.kind in _SITES:
        return listed.kind in ("well-known", ref.kind) and listed.path in ("", ref.path)
    if ref.kind == "clawhub":
        return listed.kind == "clawhub" and listed.path == ref.path and "/" in ref.path
    return ref.kind == listed.kind == "url"

"""Sources and the values they return.

A source is opened for one `Ref`. `inspect` lists its skills, each pinned to an immutable revision, and `fetch` returns
their content. Contents are values in memory, never files: until the policy has allowed a package, nothing of it is
anywhere an agent could look.

    source = open_source(read_ref("anthropics/skills", reach), reach)
    listing = source.inspect()
    packages = source.fetch(listing.offers)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from whet.errors import FailedError, UsageError
from whet.records import NamedTuple

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Sequence

    from whet.library.roots import Place
    from whet.notes import Note, Progress
    from whet.skill.tree import Tree
    from whet.sources.age import Cooldown
    from whet.sources.hub_logs import HubLogs
    from whet.sources.web.client import Web

_SOURCES = {
    "path": ("local", "PathSource"),
    "archive": ("local", "ArchiveSource"),
    "gallery": ("gallery", "GallerySource"),
    "git": ("git.source", "GitSource"),
    "url": ("registries.url", "UrlSource"),
    "well-known": ("registries.wellknown", "WellKnownSource"),
    "clawhub": ("registries.clawhub", "ClawHubSource"),
    "marketplace": ("registries.marketplace", "MarketplaceSource"),
    "hub": ("registries.hub", "HubSource"),
    "oci": ("registries.oci", "OciSource"),
}
"""Module and class by kind; a module is imported when a source of its kind is used."""
KINDS = tuple(_SOURCES)


class Ref(NamedTuple):
    """An exact source of skills. Its text (`whet.sources.refs.parse`) is recorded in a lock."""

    kind: str
    """One of `KINDS`."""
    location: str
    """A directory, a file or an address, in canonical spelling."""
    ref: str = ""
    """A branch, tag, commit, version or version range; "" for the source's default."""
    path: str = ""
    """A directory in it, with forward slashes, or the name by which the source knows a skill."""


class Offer(NamedTuple):
    """A skill that a source offers."""

    name: str
    """Its own name, or else the name of its directory."""
    description: str
    ref: Ref
    """Exactly this skill, still following the requested branch or version."""
    revision: str
    """Immutable identifier of the content: a commit, the hash of an artifact, a version that cannot change."""
    marker: str = ""
    """Changes whenever the content may have changed: a tree id, the hash of an artifact."""
    version: str = ""
    digest: str = ""
    """Content digest that the source promises, if any."""
    group: str = ""
    """Plugin or category under which the source lists it."""
    hidden: bool = False
    """Whether its author marked it as internal, so that it must be named."""
    published: int = 0
    """Publication time in seconds, as far as known (`whet.sources.age`); 0 if age does not matter."""
    newer: Newer | None = None
    """The newer version that is too young and replaced by this one."""
    security: str = ""
    """Security fix of this version, according to the hub: then it need not be old."""
    proof: LogProof | None = None
    """Proof that the hub's log contains it; None for other sources."""
    checkout: str = ""
    """For a directory in a git repository: the commit that is checked out (`whet.sources.git.checkout`)."""


class LogProof(NamedTuple):
    """Proof that a hub has a version in its log (`whet.sources.transparency`)."""

    log_key: str
    log_entry: str
    """One line of JSON: the publisher, the content and the findings of the hub's guard."""
    log_proof: str
    log_act: str = ""
    """The act that the entry of a private skill hides."""
    log_salt: str = ""


class Newer(NamedTuple):
    """A newer version that is held back because it is too young."""

    version: str
    """Its version, or the start of its revision."""
    published: int


class Listing(NamedTuple):
    """The skills of a source at one revision."""

    ref: Ref
    revision: str
    offers: tuple[Offer, ...]
    notes: tuple[Note, ...] = ()
    """Notes about what was skipped, and why."""


class Fetched(NamedTuple):
    """A skill with its content."""

    offer: Offer
    tree: Tree
    notes: tuple[Note, ...] = ()
    """Notes about what was left out, and why."""


class FetchContext(NamedTuple):
    """The environment of sources."""

    place: Place
    web: Web
    cancelled: threading.Event
    progress: Callable[[Progress], None]
    cooldown: Cooldown | None = None
    """Minimum age; None if age does not matter."""
    logs: HubLogs | None = None
    """Known logs of hubs; None if nothing is installed."""

    def check_cancelled(self) -> None:
        """Raise FailedError `cancelled` if the operation was cancelled."""
        if self.cancelled.is_set():
            raise FailedError("cancelled", "Cancelled.", hint="Nothing was changed.")


class Source(Protocol):
    """A source of skills. Every method raises WhetError; `close` deletes temporary files."""

    ref: Ref

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """List the current skills. With `names`, at least every skill that matches one of them."""

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """Return the contents of offers of the last `inspect`, in their order; if one fails, the whole fetch fails."""

    def close(self) -> None:
        """Release everything that was opened or written."""


class SearchableSource(Source, Protocol):
    """A source that can be searched, because it has too many skills to list or lists only some of them."""

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """Return the skills that fit a query, best first."""

    def find(self, name: str) -> tuple[Offer, ...]:
        """Return the skills with a name, of any owner; possibly none."""


def open_source(ref: Ref, context: FetchContext) -> Source:
    """Open the source of a reference. Nothing is fetched yet."""
    if ref.kind not in _SOURCES:
        hint = f"Whet supports {', '.join(_SOURCES)}. A newer Whet may know more."
        raise UsageError("unknown-source", f"{ref.kind!r} is not a kind of source.", hint=hint)
    module, name = _SOURCES[ref.kind]
    source: Source = getattr(import_module(f"whet.sources.{module}"), name)(ref, context)
    return source

"""What a source is, and what it hands out.

A source is opened for one `Ref` and answers two questions: what is there (`inspect`, which pins everything it tells to
an immutable revision), and the content (`fetch`). Contents are values in memory, never files: until the policy has let
a package in, nothing of it lies anywhere an agent could look.

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
"""Kind -> module and class; a module is imported when a source of its kind is used."""
KINDS = tuple(_SOURCES)


class Ref(NamedTuple):
    """Where skills come from, exactly. Its text (`whet.sources.refs.parse`) is what a lock records."""

    kind: str
    """One of `KINDS`."""
    location: str
    """A directory, a file or an address, in its one normal spelling."""
    ref: str = ""
    """A branch, tag, commit, version or range of versions; "" for what the source considers current."""
    path: str = ""
    """One thing in it: a directory with forward slashes, or the name by which the source knows a skill."""


class Offer(NamedTuple):
    """One skill that a source has."""

    name: str
    """As it calls itself; where it does not, the name of its directory."""
    description: str
    ref: Ref
    """Exactly this skill, still following the branch or version that was asked for."""
    revision: str
    """What was looked at, for ever: a commit, the hash of an artifact, a version that cannot change."""
    marker: str = ""
    """Differs whenever the content may differ, the same as long as it is: a tree id, the hash of an artifact."""
    version: str = ""
    digest: str = ""
    """The content digest that the source promises, if it does."""
    group: str = ""
    """The plugin or category under which the source lists it."""
    hidden: bool = False
    """Its author marked it as internal: it is only meant when it is named."""
    published: int = 0
    """When it became public, in seconds, as far as can be told (`whet.sources.age`); 0 where nobody asked."""
    newer: Newer | None = None
    """What the source has that is too young; this is offered instead."""
    security: str = ""
    """What the hub says that this version fixes: then it need not be old."""
    proof: LogProof | None = None
    """That the hub's log has it; None for other sources."""
    checkout: str = ""
    """Of a directory in a git repository: what is checked out there (`whet.sources.git.checkout`)."""


class LogProof(NamedTuple):
    """That a hub has written a version into its log (`whet.sources.transparency`)."""

    log_key: str
    log_entry: str
    """One line of JSON: who published which content, and what the hub's guard found."""
    log_proof: str
    log_act: str = ""
    """What the entry of a private skill hides."""
    log_salt: str = ""


class Newer(NamedTuple):
    """Something newer that is held back because it is too young."""

    version: str
    """What people call it: its version, or the start of its revision."""
    published: int


class Listing(NamedTuple):
    """What a source has at one revision."""

    ref: Ref
    revision: str
    offers: tuple[Offer, ...]
    notes: tuple[Note, ...] = ()
    """What was skipped, and why."""


class Fetched(NamedTuple):
    """One skill with its content."""

    offer: Offer
    tree: Tree
    notes: tuple[Note, ...] = ()
    """What was left out, and why."""


class FetchContext(NamedTuple):
    """What sources may use of the world around them."""

    place: Place
    web: Web
    cancelled: threading.Event
    progress: Callable[[Progress], None]
    cooldown: Cooldown | None = None
    """What is too young; None where age does not matter."""
    logs: HubLogs | None = None
    """What was seen of the logs of hubs; None where nothing is installed."""

    def check_cancelled(self) -> None:
        """Raise FailedError `cancelled` if somebody wants this to end."""
        if self.cancelled.is_set():
            raise FailedError("cancelled", "Cancelled.", hint="Nothing was changed.")


class Source(Protocol):
    """One place with skills. Everything raises WhetError; `close` lets temporary files go."""

    ref: Ref

    def inspect(self, names: Collection[str] = ()) -> Listing:
        """What is there now. With `names`, at least everything that answers to one of them."""

    def fetch(self, offers: Sequence[Offer]) -> tuple[Fetched, ...]:
        """The contents of offers of the last `inspect`, in their order, each complete or the whole refused."""

    def close(self) -> None:
        """Let go of everything that was opened or written meanwhile."""


class SearchableSource(Source, Protocol):
    """A place that knows what fits a query, because it has too much to list or lists only a part of it."""

    def search(self, query: str, limit: int) -> tuple[Offer, ...]:
        """What fits a query, best first."""

    def find(self, name: str) -> tuple[Offer, ...]:
        """The skills of a name, whoever owns them; none is an answer, too."""


def open_source(ref: Ref, context: FetchContext) -> Source:
    """The source of a reference. Nothing is fetched yet."""
    if ref.kind not in _SOURCES:
        hint = f"Whet supports {', '.join(_SOURCES)}. A newer Whet may know more."
        raise UsageError("unknown-source", f"{ref.kind!r} is not a kind of source.", hint=hint)
    module, name = _SOURCES[ref.kind]
    source: Source = getattr(import_module(f"whet.sources.{module}"), name)(ref, context)
    return source

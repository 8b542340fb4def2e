"""From a reference to the source that answers for it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from whet.errors import UsageError

if TYPE_CHECKING:
    from whet.sources.model import FetchContext, Ref, Source

_SOURCES = {
    "path": ("local", "PathSource"),
    "archive": ("local", "ArchiveSource"),
    "git": ("git.source", "GitSource"),
    "url": ("registries.url", "UrlSource"),
    "well-known": ("registries.wellknown", "WellKnownSource"),
    "clawhub": ("registries.clawhub", "ClawHubSource"),
    "marketplace": ("registries.marketplace", "MarketplaceSource"),
    "hub": ("registries.hub", "HubSource"),
}
"""Kind -> module and class; a module is imported when a source of its kind is used."""


def open_source(ref: Ref, context: FetchContext) -> Source:
    """The source of a reference. Nothing is fetched yet."""
    if ref.kind not in _SOURCES:
        hint = f"Whet knows {', '.join(_SOURCES)}. A newer Whet may know more."
        raise UsageError("unknown-source", f"{ref.kind!r} is no kind of source.", hint=hint)
    module, name = _SOURCES[ref.kind]
    source: Source = getattr(import_module(f"whet.sources.{module}"), name)(ref, context)
    return source

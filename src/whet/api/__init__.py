"""The front door: `Library` composes all rooms."""

from __future__ import annotations

from whet.api.library import Library, Reload

__all__ = ["Library", "Reload"]

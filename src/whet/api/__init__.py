"""The front door: `Library` composes all rooms."""

from __future__ import annotations

from whet.api.library import Change, Library

__all__ = ["Change", "Library"]

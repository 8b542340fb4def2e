"""The front door: `Library` composes all rooms. It is imported on first access, because not every command needs it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.api.library import Library, Reload

__all__ = ["Library", "Reload"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from whet.api import library

        return getattr(library, name)
    message = f"module 'whet.api' has no attribute {name!r}"
    raise AttributeError(message)

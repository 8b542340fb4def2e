"""The content that a conversation has already seen and need not get twice. After a compaction the caller clears it."""

from __future__ import annotations


class Loaded:
    """The content that is already in a conversation's context, by digest. `prompt.views` reads and writes it.

    It is for callers that keep no `Session`. It is mutable; use one for each conversation.
    """

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, int], str] = {}

    def clear(self) -> None:
        """Forget everything: the context was compacted."""
        self._seen.clear()

    def knows(self, path: str, file: str, page: int, digest: str) -> bool:
        """Return whether exactly this content was sent before."""
        return self._seen.get((path, file, page)) == digest

    def add(self, path: str, file: str, page: int, digest: str) -> None:
        """Record that this content was sent."""
        self._seen[path, file, page] = digest

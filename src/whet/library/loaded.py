"""What a conversation has seen: the same content is not paid for twice. After a compaction the caller clears it."""

from __future__ import annotations


class Loaded:
    """What is in a conversation's context already, by content digest. `prompt.views` reads and writes it.

    It is for callers that keep no `Session`. It changes; use one for each conversation.
    """

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, int], str] = {}

    def clear(self) -> None:
        """Forget everything: the context was compacted."""
        self._seen.clear()

    def knows(self, path: str, file: str, page: int, digest: str) -> bool:
        """Was exactly this content given before?"""
        return self._seen.get((path, file, page)) == digest

    def add(self, path: str, file: str, page: int, digest: str) -> None:
        """Note that this content was given."""
        self._seen[path, file, page] = digest

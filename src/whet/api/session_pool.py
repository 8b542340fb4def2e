"""Sessions by conversation: one program serves many, and each remembers its own offers and views.

A conversation begins with its first request. The number of kept sessions is limited: a conversation that was silent for
long starts again, and the only cost is that an offer may be repeated. With `saved`, a session is read as it was last
saved, by any process.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from whet.errors import WhetError
from whet.library.visibility import PERSON, Caller
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from whet.api.library import Library
    from whet.api.session import Session
    from whet.api.tool_definitions import Writes
    from whet.api.tools import Tools
    from whet.learning.sessions import Sessions
    from whet.prompt.tokens import Tokenizer

MOST_SESSIONS = 1_000
MOST_LIBRARIES = 32
"""Number of projects whose libraries stay open."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class SessionKey(NamedTuple):
    """The conversation, the project and the caller of a request."""

    conversation: str
    project: str | None = None
    """None for the directory where the program was started."""
    caller: Caller = PERSON
    client: str = ""


class RecentlyUsed(Generic[Key, Value]):
    """The values of the `most` keys that were used last. Any number of threads may use it."""

    def __init__(self, make: Callable[[Key], Value], most: int) -> None:
        self._make, self._most = make, most
        self._kept: dict[Key, Value] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value:
        """Return the value of the key; create it if it is missing."""
        with self._lock:
            value = self._kept.pop(key) if key in self._kept else self._make(key)
            self._kept[key] = value
            for old in list(self._kept)[: -self._most]:
                del self._kept[old]
            return value

    def values(self) -> list[Value]:
        """Return all values."""
        with self._lock:
            return list(self._kept.values())


class LibraryPool(RecentlyUsed["str | None", "Library"]):
    """The libraries of all projects that clients work in. A library that is dropped is not closed: it may be in use."""

    def __init__(self, open_library: Callable[[str | None], Library]) -> None:
        """`open_library` opens the library of a project; None is the directory where the program was started."""

        def opened(project: str | None) -> Library:
            library = open_library(project)
            library.matcher.index_manager.build_in_background()
            return library

        super().__init__(opened, MOST_LIBRARIES)

    def close(self) -> None:
        """Close all libraries."""
        for library in self.values():
            library.close()


class SessionPool:
    """The session of each conversation, and the tools that belong to it."""

    def __init__(
        self,
        open_library: Callable[[str | None], Library],
        *,
        writes: Writes = "allow",
        only: Collection[str] | None = None,
        runs: bool = False,
        tokenizer: Tokenizer | None = None,
        stubs: bool = False,
        saved: Sessions | None = None,
        shared: Tools | None = None,
        most: int = MOST_SESSIONS,
    ) -> None:
        """`stubs` is for a client that reports compactions; without it, every view returns a skill in full.

        With `shared`, all conversations share these tools and their session.
        """
        self._open = open_library
        self._writes: Writes = writes
        self._runs = runs
        self._only = None if only is None else frozenset(only)
        self._tokenizer, self._stubs = tokenizer, stubs
        self._saved = saved
        self._shared = shared
        self._tools = RecentlyUsed(self._begin, most)

    def get(self, key: SessionKey) -> Tools:
        """Return the tools of a conversation, which know what it has already seen."""
        return self._tools.get(key)[0]

    def compact(self, key: SessionKey, gone: Collection[str]) -> None:
        """Forget offers whose messages are no longer in the context; these skills may be offered again."""
        tools, known = self._tools.get(key)
        if not known.issuperset(gone):
            tools.session.after_compaction(1, 1)  # too little to return any skill
            known.update(gone)

    def session(self, key: SessionKey, library: Library | None = None) -> Session:
        """Return the session of a conversation, saved or new; `library` is that of its project, if it is open."""
        library = library or self._open(key.project)
        state = self._saved.state(key.client, key.conversation) if self._saved else None
        if state is not None:
            try:
                return library.session(saved=state, caller=key.caller, tokenizer=self._tokenizer, stubs=self._stubs)
            except WhetError:
                pass  # saved by another version: offers are forgotten and may be repeated
        return library.session(key.conversation, caller=key.caller, tokenizer=self._tokenizer, stubs=self._stubs)

    def save(self, key: SessionKey, session: Session) -> None:
        """Keep the session for the next request."""
        if self._saved:
            self._saved.keep(key.client, key.conversation, session.to_json())

    def _begin(self, key: SessionKey) -> tuple[Tools, set[str]]:
        if self._shared is not None:
            return self._shared, set()
        library = self._open(key.project)
        session = self.session(key, library)
        return library.tools(session, writes=self._writes, only=self._only, runs=self._runs), set()

"""What the adapters of agent libraries share: one set of tools for each conversation, and texts for its prompt.

An agent object serves many conversations at a time, and what one of them was offered or has viewed is none of the
others' business. So each has a session of its own, begun when it is first heard of. The number that is remembered is
bounded: a conversation that was not heard of for long begins anew, which costs it nothing but an offer made twice.

Libraries compact a conversation without telling, so these sessions give every skill in full each time it is viewed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from whet.api.tools import Tools
from whet.errors import WhetError
from whet.prompt.session import Session
from whet.prompt.tokens import tokenizer_for

if TYPE_CHECKING:
    from collections.abc import Collection

    from whet.api.library import Library
    from whet.api.tools import Writes

MOST = 1_000
"""Conversations that are remembered."""


class Conversations:
    """The tools of each conversation, or everywhere the same where `skills` are those of one already."""

    def __init__(
        self,
        skills: Library | Tools,
        *,
        writes: Writes = "allow",
        only: Collection[str] | None = None,
        most: int = MOST,
    ) -> None:
        self.example = skills if isinstance(skills, Tools) else skills.tools(writes=writes, only=only)
        """The tools as they are defined in every conversation."""
        self._shared = isinstance(skills, Tools)
        self._tokenizer = tokenizer_for(self.example.library.workspace.config().settings)
        self._only = None if only is None else frozenset(only)
        self._most = most
        self._known: OrderedDict[str, tuple[Tools, set[str]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, conversation: str) -> Tools:
        """The tools of a conversation, with what it has seen so far."""
        return self._at(conversation)[0]

    def compacted(self, conversation: str, gone: Collection[str]) -> None:
        """These messages are not in the context any more: what was offered beside them may be offered again."""
        tools, known = self._at(conversation)
        if not known.issuperset(gone):
            tools.session.after_compaction(1, 1)  # with no room to give anything back
            known.update(gone)

    def _at(self, conversation: str) -> tuple[Tools, set[str]]:
        with self._lock:
            at = self._known.pop(conversation, None) or (self._begun(conversation), set())
            self._known[conversation] = at
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return at

    def _begun(self, conversation: str) -> Tools:
        if self._shared:
            return self.example
        library = self.example.library
        session = Session(library, conversation, tokenizer=self._tokenizer, stubs=False)
        return library.tools(session, writes=self.example.writes, only=self._only)


def instructions(tools: Tools, budget: int | None) -> str:
    """The part of the system prompt that tells of the skills, or why it cannot: the agent goes on without them."""
    try:
        return tools.instructions(budget)
    except WhetError as error:
        return f"The skills cannot be listed now. {error.message} {error.hint}"


def offer(tools: Tools, message: str, *, again: bool = False) -> str:
    """What goes beside a message of the user, or why nothing does."""
    try:
        return tools.offer(message, again=again)
    except WhetError as error:
        return f"No skill could be looked for. {error.message} {error.hint}"

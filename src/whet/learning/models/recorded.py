"""Answers from a file: what tests and CI use instead of a model.

With a real model behind it, a `Recorded` asks that for what is not in the file and writes the answer down. The same
question asked several times has several answers, which are played back in their order; the last one is repeated.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from whet.learning.models import cassette
from whet.learning.models.door import MAX_TOKENS, Completion, Message, Model, ModelError, Tool, request_of
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Recorded:
    """A model that plays back, and records where it has a real one."""

    __slots__ = ("_lock", "_model", "_path", "_played", "_recordings", "_secrets", "name")

    def __init__(self, path: str, model: Model | None = None, *, secrets: Collection[str] = ()) -> None:
        self.name = f"recorded:{path}" if model is None else f"recording:{path}#{model.name}"
        self._path, self._model, self._secrets = path, model, tuple(secrets)
        self._lock = threading.Lock()
        self._played: dict[str, int] = {}
        self._recordings: dict[str, list[cassette.Recording]] = {}
        if model is None or os.path.exists(path):
            for recording in cassette.load(path):
                self._recordings.setdefault(recording.digest, []).append(recording)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        max_tokens: int = MAX_TOKENS,
    ) -> Completion:
        """The recorded answer; raises `model-not-recorded` where there is none and no model to ask."""
        request = cassette.normal(request_of(messages, schema, tools, max_tokens), self._secrets)
        digest = cassette.digest(request)
        with self._lock:
            taken = self._played.get(digest, 0)
            self._played[digest] = taken + 1
            recorded = self._recordings.get(digest, [])
            if taken < len(recorded):
                return recorded[taken].answer
        if self._model is None:
            if recorded:
                return recorded[-1].answer
            raise self._unknown(digest, request)
        answer = self._model.complete(messages, schema=schema, tools=tools, max_tokens=max_tokens)
        self._append(cassette.line(request, answer, self._secrets))
        return answer

    def _append(self, line: str) -> None:
        with self._lock, os_failures(self._path), open(self._path, "ab") as file:
            file.write(line.encode())

    def _unknown(self, digest: str, request: Mapping[str, Any]) -> ModelError:
        every = [recording for recordings in self._recordings.values() for recording in recordings[:1]]
        near, difference = cassette.nearest(request, every)
        like = f" The nearest is {near.digest[:12]}; `difference` has where they differ." if near else ""
        return ModelError(
            "model-not-recorded",
            f"{self._path} has no answer to the request {digest[:12]}.{like}",
            hint=f"Record it with recording:{self._path}#MODEL.",
            digest=digest,
            nearest=near.digest if near else "",
            difference=difference,
        )

"""Answers from a file, for tests and CI.

With a real model, a `Recorded` asks it for missing answers and records them. The same question asked several times has
several answers, which are played back in their order; the last one is repeated.

A recording is one JSON object in a line. A question is identified by the digest of its content: messages, schema and
tools, with line ends and trailing blanks evened out. The limit of the answer is left out, because it is not part of the
question. Every line has a digest of all of it, so that later changes are noticed. Secrets are removed before anything
else.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError, NotFoundError
from whet.learning.models.model import (
    Call,
    Completion,
    Model,
    ModelError,
    Request,
    clean,
    clean_value,
)
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Recorded(Model):
    """A model that replays answers, and records them if it has a real one."""

    def __init__(self, path: str, model: Model | None = None, *, secrets: Collection[str] = ()) -> None:
        super().__init__(f"recorded:{path}" if model is None else f"recording:{path}#{model.name}")
        self._path, self._model, self._secrets = path, model, tuple(secrets)
        self._lock = threading.Lock()
        self._played: dict[str, int] = {}
        self._answers: dict[str, list[Completion]] = {}
        if model is None or os.path.exists(path):
            for digest, answer in load(path):
                self._answers.setdefault(digest, []).append(answer)

    def ask(self, request: Request) -> Completion:
        """Return the recorded answer. Raises `model-not-recorded` if there is none and no model to ask."""
        asked = normal(request, self._secrets)
        digest = digest_of(asked)
        with self._lock:
            taken = self._played.get(digest, 0)
            self._played[digest] = taken + 1
            recorded = self._answers.get(digest, [])
            if taken < len(recorded):
                return recorded[taken]
        if self._model is None:
            if recorded:
                return recorded[-1]
            raise ModelError(
                "model-not-recorded",
                f"{self._path} has no recorded answer to the request {digest[:12]}.",
                hint=f"Record it with recording:{self._path}#MODEL.",
                digest=digest,
            )
        answer = self._model.ask(request)
        self._append(line(asked, answer, self._secrets))
        return answer

    def _append(self, line: str) -> None:
        with self._lock, os_failures(self._path), open(self._path, "ab") as file:
            file.write(line.encode())


_FIELDS = frozenset(("digest", "request", "answer", "seal"))
_HINT = "Record it again; do not edit a cassette by hand."


def normal(request: Request, secrets: Collection[str]) -> dict[str, Any]:
    """Return the content of a request as JSON, normalised and without secrets."""
    said: list[dict[str, Any]] = []
    for message in request.messages:
        lines = clean(message.text, secrets).replace("\r\n", "\n").split("\n")
        told: dict[str, Any] = {"role": message.role, "text": "\n".join(line.rstrip() for line in lines).strip("\n")}
        if message.calls:
            told["calls"] = [clean_value(call._asdict(), secrets) for call in message.calls]
        if message.call:
            told["call"] = message.call
        said.append(told)
    tools = [clean_value(tool._asdict(), secrets) for tool in request.tools]
    return {"messages": said, "schema": clean_value(request.schema, secrets), "tools": tools}


def digest_of(value: Any) -> str:
    """Return the digest of a JSON value, independent of its formatting."""
    return hashlib.sha256(_written(value).encode("utf-8", "surrogatepass")).hexdigest()


def line(request: Mapping[str, Any], answer: Completion, secrets: Collection[str]) -> str:
    """Return a recording as a line of the file."""
    told = {**answer._asdict(), "calls": [call._asdict() for call in answer.calls]}
    if answer.cost is None:
        del told["cost"]
    record = {"digest": digest_of(request), "request": request, "answer": clean_value(told, secrets)}
    return _written({**record, "seal": digest_of(record)}) + "\n"


def load(path: str) -> list[tuple[str, Completion]]:
    """Read the questions of a file by their digests, each with its answer, verified.

    Raises `cassette-not-found` or `cassette-broken`.
    """
    if not os.path.isfile(path):
        hint = "Check the path, or record it with recording:PATH#MODEL."
        raise NotFoundError("cassette-not-found", f"There are no recorded answers at {path}.", hint=hint)
    with os_failures(path, doing="read", other="read-failed"), open(path, "rb") as file:
        content = file.read()
    return [_read(raw, path, number) for number, raw in enumerate(content.split(b"\n"), 1) if raw.strip()]


def _read(raw: bytes, path: str, number: int) -> tuple[str, Completion]:
    def broken(problem: str) -> InvalidError:
        return InvalidError("cassette-broken", f"Line {number} of {path} {problem}.", hint=_HINT, line=number)

    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        raise broken("is not JSON") from None
    if not isinstance(record, dict) or record.keys() != _FIELDS:
        raise broken("is not a recording")
    seal = record.pop("seal")
    if digest_of(record["request"]) != record["digest"]:
        raise broken("has a request that differs from the recorded one")
    if digest_of(record) != seal:
        raise broken("was changed after it was recorded")
    told = record["answer"]
    try:
        calls = tuple(Call(**call) for call in told.pop("calls"))
        return record["digest"], Completion(**told, calls=calls)
    except (TypeError, AttributeError, KeyError):
        raise broken("has an answer of the wrong kind") from None


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))

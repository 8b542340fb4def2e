"""Failures of requests to a model, as `ModelError`.

The provider's message is quoted in part, because it names the problem; keys in it are hidden, and messages about keys
are not quoted at all. The library's exception is not chained: it contains the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import exceptions as theirs

from whet.learning.models.model import ModelError, clean

if TYPE_CHECKING:
    from collections.abc import Collection

QUOTED = 200
"""Characters of the provider's message."""

_CHECK_ADDRESS = "Check that the address points to a model API."
_LATER = "Try again later."
_LARGER = "Use a larger budget, or continue without a model."
_READ = "Read the provider's message."
_KINDS: tuple[tuple[type[Exception], str, str, str], ...] = (
    (theirs.ModelQuotaExceededError, "model-unavailable", "has no credit left", "Top up the account."),
    (theirs.ModelRateLimitError, "model-unavailable", "limits requests", _LATER),
    (theirs.ModelUnavailableError, "model-unavailable", "is overloaded or down", _LATER),
    (theirs.ModelServerError, "model-unavailable", "failed", _LATER),
    (theirs.ModelAuthenticationError, "model-unavailable", "does not accept the key", "Check the key."),
    (theirs.ModelNotFoundError, "model-unavailable", "does not exist", "Check the model's name."),
    (theirs.ModelContextWindowExceededError, "model-too-long", "does not accept a request this long", "Send less."),
    (theirs.ModelRequestRejectedError, "model-rejected", "does not accept the request", _READ),
    (
        theirs.UsageLimitExceeded,
        "model-budget",
        "gave an answer that does not match; the budget is used up",
        _LARGER,
    ),
    (theirs.UserError, "model-rejected", "does not support this request", _READ),
)
"""Their exception, our code, the model's behaviour, the hint. The first match counts."""


def failure(error: Exception, name: str, secrets: Collection[str], timeout: float) -> ModelError:
    """Return the failure of a request to the model of this name."""
    phase = getattr(error, "phase", None)
    if isinstance(error, theirs.ModelRequestTimeout | theirs.ModelTimeoutError) and phase not in ("connect", "pool"):
        hint = "Ask for less, or allow more time."
        return ModelError("model-timeout", f"{name} did not answer within {timeout:g} seconds.", hint=hint)
    if isinstance(error, theirs.ModelConnectionError):
        problem = "broke off" if phase == "read" else "could not be reached"
        return ModelError("model-unavailable", f"{name} {problem}.", hint="Check the network and the address.")
    for kind, code, problem, hint in _KINDS:
        if isinstance(error, kind):
            silent = kind in (theirs.ModelAuthenticationError, theirs.UsageLimitExceeded)
            said = "" if silent else quoted(_words(error), secrets)
            status = getattr(error, "status_code", None)
            details: dict[str, Any] = {"status": status} if status else {}
            return ModelError(code, f"{name} {problem}{f': {said}' if said else '.'}", hint=hint, **details)
    if isinstance(error.__cause__, theirs.ToolRetryError):
        hint = "Try another model, or ask for less at once."
        wrong: Any = error.__cause__.tool_retry.content
        said = quoted("; ".join(one["msg"] for one in wrong) if isinstance(wrong, list) else str(wrong), secrets)
        return ModelError("model-bad-answer", f"{name} twice gave an answer that does not match: {said}", hint=hint)
    # The rest answered, but not like an API: with HTML, invalid JSON, or an odd status.
    said = f": {quoted(_words(error), secrets)}" if isinstance(error, theirs.ModelAPIError) else "."
    return ModelError("model-bad-answer", f"{name} sent no valid answer{said}", hint=_CHECK_ADDRESS)


def passes(error: Exception) -> bool:
    """Return whether the same request may succeed a little later."""
    if isinstance(error, theirs.ModelTimeoutError):
        return error.phase in ("connect", "pool")
    later = (
        theirs.ModelRateLimitError,
        theirs.ModelUnavailableError,
        theirs.ModelServerError,
        theirs.ModelConnectionError,
    )
    return isinstance(error, later)


def quoted(text: str, secrets: Collection[str]) -> str:
    """Return the beginning of a text on one line, with secrets hidden and a full stop at the end."""
    line = " ".join(clean(text, secrets).split())
    short = line if len(line) <= QUOTED else f"{line[:QUOTED]}…"
    return short if not short or short.endswith((".", "…")) else f"{short}."


def _words(error: Exception) -> str:
    """Return the provider's own message, or else that of the library."""
    body: Any = getattr(error, "body", None)
    for key in ("error", "message"):
        if isinstance(body, dict) and key in body:
            body = body[key]
    return body if isinstance(body, str) else str(error)

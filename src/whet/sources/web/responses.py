"""Error responses, retries and decompression."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whet.errors import FailedError, InvalidError, NotFoundError, RefusedError, WhetError

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_WAIT = 10.0
"""Longest Retry-After in seconds that is waited for; a longer one is left to the caller."""
_SHOWN_REMARK = 500


def pause_before(status: int, headers: Mapping[str, str], method: str, usual: float) -> float | None:
    """Return the seconds before a retry; None if it would not help, or could repeat an action."""
    asked = _retry_after(headers)
    if status in (429, 503) and asked is not None:
        return asked if asked <= LONGEST_WAIT else None
    return usual if status >= 500 and method == "GET" else None


def has_remark(headers: Mapping[str, str]) -> bool:
    """Return whether the body of an error is a text that explains it."""
    kind = headers.get("content-type", "").lower()
    return "json" in kind or "text/plain" in kind


def refusal(status: int, headers: Mapping[str, str], remark: bytes, shown: str) -> WhetError:
    """Return the error for a response; `remark` is the server's explanation."""
    text = "".join(char if char.isprintable() else " " for char in remark.decode("utf-8", "replace")).strip()
    after = _retry_after(headers)
    details: dict[str, str | int] = {"status": status}
    details |= {"answer": text[:_SHOWN_REMARK]} if text else {}
    details |= {"retry_after": round(after)} if after is not None else {}
    details |= {"challenge": headers["www-authenticate"]} if status == 401 and "www-authenticate" in headers else {}
    if status in (404, 410):
        message = f"{shown} does not exist: the server answers {status}."
        return NotFoundError("source-not-found", message, hint="Check the address.", **details)
    if status == 429 or (status == 403 and (headers.get("x-ratelimit-remaining") == "0" or after is not None)):
        wait = f"Try again in {round(after)} seconds." if after is not None else "Try again later."
        message = f"{shown} limits requests and does not answer for now."
        return FailedError("rate-limited", message, hint=f"{wait} A token may raise the limit.", **details)
    if status in (401, 403, 407, 451):
        message = f"Access to {shown} is denied: the server answers {status}."
        hint = "Check the address, and the token if it needs one."
        return RefusedError("source-denied", message, hint=hint, **details)
    if status >= 500:
        message = f"The server of {shown} failed: it answers {status}."
        return FailedError("server-failed", message, hint="Try again later.", **details)
    message = f"{shown} answers {status}, which is unexpected."
    hint = "Check the address; the server may be of another kind."
    return InvalidError("bad-response", message, hint=hint, **details)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, given as a number or as a time."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return None


def unpack(body: bytes, coding: str, limit: int, shown: str) -> bytes:
    """Decode the Content-Encoding of a body; only gzip is supported. Raises WhetError."""
    if coding.strip().lower() in ("", "identity"):
        return body
    if coding.strip().lower() not in ("gzip", "x-gzip"):
        raise bad_response(shown, f"compresses its answer as {coding[:40]!r}, which Whet did not ask for")
    import zlib

    engine = zlib.decompressobj(wbits=31)
    try:
        plain = engine.decompress(body, limit + 1)
    except zlib.error as error:
        raise bad_response(shown, "sends an answer that cannot be decompressed") from error
    if len(plain) > limit:
        raise too_large(shown, limit)
    if not engine.eof:
        raise cut_off(shown, "the end of the compressed answer is missing")
    if engine.unused_data:
        raise bad_response(shown, "sends data after its compressed answer")
    return plain


def cut_off(shown: str, reason: str) -> FailedError:
    """Return the error for an incomplete response."""
    return FailedError("response-cut-off", f"The answer from {shown} is incomplete: {reason}.", hint="Try again.")


def bad_response(shown: str, problem: str) -> InvalidError:
    """Return the error for an invalid response."""
    hint = "Check the address; the server may be broken or of another kind."
    return InvalidError("bad-response", f"{shown} {problem}.", hint=hint)


def too_large(shown: str, limit: int | None = None) -> InvalidError:
    """Return the error for a response whose body, or head and body together, exceed the limit."""
    what = f"the {limit} bytes allowed" if limit is not None else "its headers and body may have"
    hint = "Check the address; a file of this kind is never that large."
    return InvalidError("response-too-large", f"{shown} answers with more than {what}.", hint=hint)

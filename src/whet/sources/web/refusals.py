"""What it means when a server does not give what was asked for, and whether asking again may help."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from whet.errors import FailedError, InvalidError, NotFoundError, RefusedError, WhetError
from whet.sources.web.replies import cut_off

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.sources.web.replies import Reply
    from whet.sources.web.wires import DroppedError

LONGEST_WAIT = 10.0
"""Seconds that a server may ask to wait for; if it asks for more, it is for the caller to come back."""

_MOST_REMARK = 64 * 1024
_SHOWN_REMARK = 500


def pause_before(status: int, headers: Mapping[str, str], method: str, usual: float) -> float | None:
    """Seconds after which to ask again; None if that does not help, or may do something twice."""
    asked = _retry_after(headers)
    if status in (429, 503) and asked is not None:
        return asked if asked <= LONGEST_WAIT else None
    return usual if status >= 500 and method == "GET" else None


def refusal(reply: Reply, shown: str) -> WhetError:
    """The error of an answer that is not what was asked for."""
    status, headers = reply.status, reply.headers
    details: dict[str, Any] = {"status": status}
    if remark := _remark(reply):
        details["answer"] = remark
    if (after := _retry_after(headers)) is not None:
        details["retry_after"] = round(after)
    if status in (404, 410):
        message = f"There is nothing at {shown}: the server answers {status}."
        return NotFoundError("source-not-found", message, hint="Check the address.", **details)
    if status == 429 or (status == 403 and (headers.get("x-ratelimit-remaining") == "0" or after is not None)):
        wait = f"Try again in {round(after)} seconds." if after is not None else "Try again later."
        message = f"{shown} was asked too often and does not answer for now."
        return FailedError("rate-limited", message, hint=f"{wait} A token may raise the limit.", **details)
    if status in (401, 403, 407, 451):
        message = f"{shown} may not be read: the server answers {status}."
        return RefusedError(
            "source-denied", message, hint="Check the address, and the token if it needs one.", **details
        )
    if status >= 500:
        message = f"The server of {shown} failed: it answers {status}."
        return FailedError("server-failed", message, hint="Try again later.", **details)
    message = f"{shown} answers {status}, which makes no sense here."
    return InvalidError(
        "bad-response", message, hint="Check the address; the server may be of another kind.", **details
    )


def dropped(error: DroppedError, shown: str) -> FailedError:
    """The error of a server that lets go of the connection each time."""
    if error.began:
        return cut_off(shown, "the connection was closed by the other side")
    message = f"{shown} cannot be reached: the connection is closed by the other side."
    return FailedError("unreachable", message, hint="Check the address and the connection.")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait for, told as a number or as a time."""
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


def _remark(reply: Reply) -> str:
    """What the server says of it, if that is a short text; a remark that cannot be read changes nothing."""
    kind = reply.headers.get("content-type", "").lower()
    if "json" not in kind and "text/plain" not in kind:
        reply.close()
        return ""
    from whet.sources.web.wires import DroppedError

    try:
        text = reply.read(_MOST_REMARK).decode("utf-8", "replace")
    except (WhetError, DroppedError):
        return ""
    return "".join(char if char.isprintable() else " " for char in text).strip()[:_SHOWN_REMARK]

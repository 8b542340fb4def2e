"""Cursors: the start of the next page of a list, as clients send it back."""

from __future__ import annotations

import base64
import binascii
import json

from whet.errors import UsageError


def make_cursor(*parts: str) -> str:
    """Return the cursor of the page after these values."""
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def read_cursor(cursor: str, count: int) -> list[str]:
    """Return the values of a cursor. Raise UsageError."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor[:512] + "=" * (-len(cursor) % 4)))
        json.dumps(parts, ensure_ascii=False).encode()  # rejects lone surrogates
    except (ValueError, binascii.Error):
        parts = None
    if not isinstance(parts, list) or len(parts) != count or not all(isinstance(part, str) for part in parts):
        raise UsageError("bad-request", "The cursor is not valid.", hint="Start again without a cursor.")
    return parts

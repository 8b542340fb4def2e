"""Secrets kept out of what is sent, recorded and told.

Whoever asks a model hides secrets before that, where it is known what they are. This is the last door: the keys of the
environment are struck out as they are, and everything that looks like a secret is hidden as it is in transcripts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.guard.secrets.hide import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Collection

HIDDEN = "[secret]"


def clean(text: str, secrets: Collection[str] = ()) -> str:
    """The text without these secrets and without what looks like one."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return hide_secrets(text)[0]


def clean_value(value: Any, secrets: Collection[str] = ()) -> Any:
    """A value of JSON, every text in it cleaned; tuples become lists."""
    if isinstance(value, str):
        return clean(value, secrets)
    if isinstance(value, list | tuple):
        return [clean_value(item, secrets) for item in value]
    if hasattr(value, "items"):
        return {str(key): clean_value(item, secrets) for key, item in value.items()}
    return value

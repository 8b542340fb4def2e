"""How far the source of a package is trusted, told from its address.

A source counts as trusted only when host, owner and repository are exactly those of the list, after the few spellings
that mean the same are made one. Everything unusual about an address (a user name, a port, an odd host, characters that
look like others) makes it a community source: such an address is written to be mistaken for another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

VENDORS = (
    "github.com/anthropics/skills",
    "github.com/openai/skills",
    "github.com/vercel-labs/skills",
    "github.com/nvidia/skills",
    "github.com/huggingface/skills",
    "github.com/cloudflare/skills",
)
"""Sources that vendors publish their own skills in."""

_SCHEME = re.compile(r"(?:git\+)?(https|ssh)://", re.IGNORECASE)
_PART = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?|[a-z0-9]")
_HOST = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,4}")
_BUILTIN = ("bundled", "builtin")


def source_of(origin: str) -> str:
    """The address as `host/owner/repository`, or "" when it is none that can be told for certain."""
    text = origin.strip()
    if not text.isascii() or not text.isprintable() or "\\" in text or "%" in text:
        return ""
    text = re.split(r"[?#]", text, maxsplit=1)[0]
    if found := _SCHEME.match(text):
        text = text[found.end() :]
        if found[1].lower() == "ssh":
            text = text.removeprefix("git@")
    elif text.startswith("git@github.com:"):
        text = text.removeprefix("git@").replace(":", "/", 1)
    elif "://" in text:
        return ""
    parts = text.lower().rstrip("/").split("/")
    if parts[:1] and "." not in parts[0]:
        parts = ["github.com", *parts]
    if len(parts) < 3 or any(part in ("", ".", "..") for part in parts):
        return ""
    host, owner, repository = parts[0].removeprefix("www."), parts[1], parts[2].partition("@")[0].removesuffix(".git")
    if not _HOST.fullmatch(host) or not _PART.fullmatch(owner) or not _PART.fullmatch(repository):
        return ""
    return f"{host}/{owner}/{repository}"


def origin_trust(origin: str, trusted_sources: Iterable[str] = ()) -> str:
    """The row of the policy for an origin: `builtin`, `trusted`, `agent-created` or `community`."""
    if origin in _BUILTIN:
        return "builtin"
    if origin == "agent-created":
        return origin
    source = source_of(origin)
    known = {*VENDORS, *filter(None, map(source_of, trusted_sources))}
    return "trusted" if source and source in known else "community"

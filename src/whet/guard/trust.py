"""The trust of a package's source, derived from its address.

A source counts as trusted only if host, owner and repository are exactly those of the list, after the few equivalent
spellings are unified. Anything unusual in an address (a user name, a port, an odd host, look-alike characters) makes it
a community source: such an address is written to be mistaken for another. Only on GitHub is it certain where a
repository ends and a path in it begins; elsewhere groups contain groups, and the whole path counts.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression

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
"""Repositories in which vendors publish their own skills."""

GALLERY = "gallery:whet"
"""The skills that ship with Whet, as named in a list of sources."""
_GITHUB = "github.com"
_SCHEME = expression(r"(?:git\+)?(https|ssh)://", re.IGNORECASE)
_SCP = expression(r"git@([A-Za-z0-9.-]+):(?=[^/])")
_PART = expression(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?|[a-z0-9]")
_HOST = expression(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,4}")
_ADDRESS = re.compile(r"(?:git\+)?(https?|ssh)://(?:git@)?([^/@]+)(/[^?#]*)?(?:[?#].*)?", re.IGNORECASE)
_HOST_PORT = re.compile(r"([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8})(?::([0-9]{1,5}))?")
_PORTS = {"https": "443", "http": "80", "ssh": "22"}


class Provenance(NamedTuple):
    """The source of a package."""

    trust: str
    """The row of the policy."""
    place: str = ""
    """`host/owner/repository`, or a host; "" if uncertain."""


def source_of(origin: str) -> str:
    """Return the address as `host/owner/repository`, or "" if it is uncertain."""
    text = origin.strip()
    if not text.isascii() or not text.isprintable() or "\\" in text or "%" in text:
        return ""
    text = re.split(r"[?#]", text, maxsplit=1)[0]
    if found := _SCHEME.match(text):
        text = text[found.end() :]
        if found[1].lower() == "ssh":
            text = text.removeprefix("git@")
    elif found := _SCP.match(text):
        text = f"{found[1]}/{text[found.end() :]}"
    elif "://" in text:
        return ""
    elif "." not in text.partition("/")[0]:
        text = f"{_GITHUB}/{text}"
    parts = text.lower().rstrip("/").split("/")
    if len(parts) < 3 or any(part in ("", ".", "..") for part in parts):
        return ""
    host, *names = parts
    if host in (_GITHUB, f"www.{_GITHUB}"):
        host, names = _GITHUB, names[:2]
    names[-1] = names[-1].partition("@")[0].removesuffix(".git")
    if not _HOST.fullmatch(host) or not all(_PART.fullmatch(name) or name == "_git" for name in names):
        return ""
    return "/".join((host, *names))


def address_of(text: str) -> str:
    """Return the canonical spelling of a source: `host/path`, or an absolute path; "" for an ambiguous text.

    A source is the same whether it is reached by https or ssh; plain http is a different one.
    """
    text = text.strip()
    if text == GALLERY:
        return text
    if text.isprintable() and os.path.isabs(text):
        return os.path.normpath(text).replace(os.sep, "/").rstrip("/") or "/"
    if not text.isascii() or not text.isprintable() or {*"\\% "} & {*text}:
        return ""
    if found := _ADDRESS.fullmatch(text):
        scheme, host, path = found[1].lower(), found[2].lower(), found[3] or ""
    elif found := _SCP.match(text):
        scheme, host, path = "ssh", found[1].lower(), f"/{text[found.end() :]}"
    elif not text or ":" in text or "@" in text:
        return ""
    else:
        first = text.partition("/")[0]
        scheme, host, path = "https", first.lower(), text[len(first) :]
        if "." not in first:
            host, path = _GITHUB, f"/{text}"
    named = _HOST_PORT.fullmatch(host)
    names = path.rstrip("/").removesuffix(".git").split("/")[1:]
    if not named or any(name in ("", ".", "..") for name in names):
        return ""
    host = named[1] if named[2] in (None, _PORTS[scheme]) else host
    if host in (_GITHUB, f"www.{_GITHUB}"):
        host, names = _GITHUB, [name.lower() for name in names]
    return "/".join((f"http://{host}" if scheme == "http" else host, *names))


def covers(entry: str, address: str) -> bool:
    """Return whether an entry of a list of sources is this address, or contains it: an owner, a host, a directory."""
    listed, meant = address_of(entry), address_of(address)
    return bool(listed and meant) and (meant == listed or meant.startswith(f"{listed.rstrip('/')}/"))


def origin_trust(origin: str, trusted_sources: Iterable[str] = ()) -> str:
    """Return the row of the policy for an origin: `trusted`, `agent-created` or `community`."""
    if origin == "agent-created":
        return origin
    source = source_of(origin)
    known = {*VENDORS, *filter(None, map(source_of, trusted_sources))}
    return "trusted" if source and source in known else "community"

"""Translate git's messages into errors with codes. They never show a password or a token."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from whet.errors import FailedError, NotFoundError, RefusedError, WhetError
from whet.patterns import compile_late
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

REDIRECTED = compile_late(r"The requested URL returned error: 30[12378]\b")
NO_REF = compile_late(r"couldn't find remote ref|not our ref|no such remote ref", re.IGNORECASE)
NOT_ADVERTISED = compile_late(r"unadvertised object|not advertised", re.IGNORECASE)
OTHER_HASH = compile_late(r"mismatched algorithms|unknown object format|does not support (?:algorithm|object format)")

_SECRET = compile_late(r"(?<=://)[^/@\s'\"]+@")
_SSH_USER = compile_late(r"[\w.-]+@")
_NOISE = compile_late(r"(?:fatal|error|remote|warning|hint|ssh): *", re.IGNORECASE)
_IDLE = compile_late(
    r"Could not read from remote repository|make sure you have the correct access|and the repository exists|"
    r"^From |^\s*\*|^hint:|objects: +\d+%|^remote: (?:Enumerating|Counting|Compressing|Total)",
    re.IGNORECASE,
)
"""Lines after the actual error message."""


class _Sign(NamedTuple):
    """A pattern in git's output, and the error for it."""

    words: re.Pattern[str]
    code: str
    error: Callable[..., WhetError]
    sentence: str
    hint: str


def _sign(words: str, code: str, error: Callable[..., WhetError], sentence: str, hint: str) -> _Sign:
    return _Sign(re.compile(words, re.IGNORECASE), code, error, sentence, hint)


_NOT_FOUND = compile_late("does not appear to be a git repo|does not exist")
_SIGNS = (
    _sign(
        r"No space left on device|Disk quota exceeded",
        "disk-full",
        FailedError,
        "There is no space left for fetching {where}.",
        "Free some space and try again.",
    ),
    _sign(
        r"transport '[^']*' not allowed",
        "source-denied",
        RefusedError,
        "{where} redirects to another kind of address, which Whet does not follow.",
        "Use that address directly.",
    ),
    _sign(
        r"Authentication failed|Permission denied|Invalid username or (?:password|token)|Host key verification failed|"
        r"returned error: 40[13]|access denied|dubious ownership|Permission to .* denied|could not read Password|"
        r"not authorized",
        "source-denied",
        RefusedError,
        "{where} denies access: {line}",
        "Check your credentials or keys with `git ls-remote`.",
    ),
    _sign(
        r"could not read Username|Repository not found|repository '[^']*' not found|does not appear to be a git repo|"
        r"returned error: (?:404|410)|project you were looking for could not be found|not valid: is this a git repo|"
        r"ERROR: .*not found|does not exist",
        "source-not-found",
        NotFoundError,
        "The repository {where} does not exist or is private.",
        "Check the spelling. For a private repository, set up credentials until `git ls-remote` works.",
    ),
    _sign(
        r"returned error: 429",
        "rate-limited",
        FailedError,
        "The server of {where} is limiting requests.",
        "Wait a few minutes and try again.",
    ),
    _sign(
        r"returned error: 5\d\d",
        "server-failed",
        FailedError,
        "The server of {where} failed: {line}",
        "Try again later.",
    ),
    _sign(
        r"Operation too slow|Operation timed out|Connection timed out|Timeout was reached|transfer closed with outst",
        "too-slow",
        FailedError,
        "The server of {where} did not answer in time.",
        "Try again later, or raise network_timeout in config.toml.",
    ),
    _sign(
        r"Could not resolve|Failed to connect|Couldn't connect|Could not connect|Connection refused|unreachable|"
        r"SSL certificate|SSL routines|gnutls|SSL_|certificate verif|No route to host|Name or service not known|"
        r"nodename nor servname|connect to host|Proxy CONNECT aborted|Received HTTP code \d+ from proxy",
        "unreachable",
        FailedError,
        "{where} cannot be reached: {line}",
        "Check the address, the network and the proxy settings.",
    ),
    _sign(
        r"early EOF|RPC failed|hung up unexpectedly|unexpected disconnect|Connection (?:was )?reset|Empty reply",
        "response-cut-off",
        FailedError,
        "The connection to {where} was lost.",
        "Try again.",
    ),
)


def failure(talk: str, location: str) -> WhetError:
    """Return the error for git's output about a location."""
    line = last_line(talk)
    where = shown_location(location)
    if location.startswith("file:") and _NOT_FOUND.search(talk):
        return _not_a_repository(location, where)
    for words, code, error, sentence, hint in _SIGNS:
        if words.search(talk):
            return error(code, _ended(sentence.format(where=where, line=line)), hint=hint, source=where)
    said = f": {line}" if line else ""
    hint = "Run `git ls-remote` with the same address to see more."
    return FailedError("git-failed", _ended(f"git could not fetch {where}{said}"), hint=hint, source=where)


def _not_a_repository(location: str, where: str) -> WhetError:
    """Return the error for a `file:` address, with a hint to the address or path that would work."""
    from urllib.request import pathname2url, url2pathname

    from whet.library.repository import find_repository

    path = url2pathname(location.removeprefix("file://"))
    if not os.path.lexists(path):
        before, _, revision = where.rpartition("@")
        at = before and os.path.lexists(path.rpartition("@")[0])
        hint = f"For a revision of a repository, write {before}#{revision}." if at else "Check the path."
        return NotFoundError("source-not-found", f"{where} does not exist.", hint=hint, source=where)
    root = find_repository(path, home="").root
    hint = f"To use the directory, write {path} without file://."
    if root != path:
        below = os.path.relpath(path, root).replace(os.sep, "/")
        hint = f"Write file://{pathname2url(root)}#path={below} for this directory of the repository."
    return NotFoundError("source-not-found", f"{where} is not a git repository.", hint=hint, source=where)


def last_line(talk: str) -> str:
    """Return the last line that describes the error, without secrets."""
    lines = [line.strip() for line in without_secrets(talk).splitlines() if line.strip()]
    telling = [line for line in lines if not _IDLE.search(line)] or lines
    if not telling:
        return ""
    line = _NOISE.sub("", telling[-1], count=1)
    return line if len(line) <= 200 else f"{line[:200]}…"


def without_secrets(text: str) -> str:
    """Remove userinfo from the addresses in a text; a plain ssh user name stays."""

    def kept(found: re.Match[str]) -> str:
        over_ssh = found.string[max(0, found.start() - 6) : found.start()].endswith("ssh://")
        return found[0] if over_ssh and _SSH_USER.fullmatch(found[0]) else ""

    return _SECRET.sub(kept, text)


def shown_location(location: str) -> str:
    """Return an address for a message."""
    return without_secrets(location.partition("?")[0])


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "…")) else f"{sentence}."

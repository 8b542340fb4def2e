"""Programs that talk to other machines, described by the table in `data/shell_clients.toml`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from whet.guard.expression import expression
from whet.guard.hosts import Host, host_of
from whet.guard.tables import load_toml, shape
from whet.guard.taint.mark import UNCHECKED, Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.options import Argument

_BARE = shape("shell_signs", "bare", re.IGNORECASE)
_SCHEME = expression(r"^[a-z][a-z0-9+.-]{1,10}://", re.IGNORECASE)
_INSECURE = frozenset(("--insecure", "--no-check-certificate"))


def host_in(fetched: Mark) -> Host:
    """Return the host of a fetch, or a host without a name if it is only known at run time."""
    return Host("", "other") if fetched.subject.startswith(("$", "`")) else host_of(fetched.subject)


def table() -> dict[str, Any]:
    """Return the content of `data/shell_clients.toml`."""
    return load_toml("shell_clients")


@cache
def programs(kind: str) -> frozenset[str]:
    """Return the programs of a kind."""
    return frozenset(table()["programs"][kind])


@lru_cache(maxsize=1024)
def printing(name: str) -> tuple[dict[str, Any], ...]:
    """Return the rows that say what a program prints."""
    return tuple(row for row in table()["prints"] if name in row["names"])


def sends(name: str, arguments: Sequence[Argument]) -> bool:
    """Return whether a client sends a body."""
    if name in ("http", "https", "xh", "xhs") and any(one.text.upper() in ("POST", "PUT") for one in arguments[:2]):
        return True
    return any(one.place in ("body", "file", "form") for one in arguments)


def fetches(name: str, arguments: Sequence[Argument]) -> list[Mark]:
    """Return the addresses that a client contacts: those written in full, or else one that is only known at run time."""
    insecure = any(
        one.option in _INSECURE
        or one[:2] == ("--check-certificate", "false")
        or (one.option == "-k" and name == "curl")
        for one in arguments
    )
    what = UNCHECKED if insecure else "the network"
    known: list[Mark] = []
    unknown: list[Mark] = []
    for one in arguments:
        text = one.text.strip("<>\"'")
        if one.place not in ("url", "operand"):
            continue
        if _SCHEME.match(text) or _BARE.match(text):
            host = host_of(text)
            sure = not any(sign in host.name for sign in "${<`")
            (known if sure else unknown).append(Mark("fetched", what, text, host.shady, sure))
        elif text.startswith(("$", "`")):
            unknown.append(Mark("fetched", what, text))
    return known or unknown[:1]


def sent_file(part: Argument) -> str:
    """Return the path of the file whose content a part of a request sends."""
    if part.place == "file":
        return "-" if part.text == "." else part.text
    if part.place in ("body", "head", "url", "operand") and part.text.startswith("@"):
        return part.text[1:]
    if part.place in ("body", "operand") and (found := re.match(r"[\w.\[\]-]{0,60}=?@(?=[^\s@]{1,400}$)", part.text)):
        return part.text[found.end() :]
    if part.place == "form" and (found := re.match(r"[^=]{0,80}=[@<]", part.text)):
        return part.text[found.end() :].partition(";")[0].strip('"')
    return ""

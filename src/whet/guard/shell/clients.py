"""Programs that talk to other machines: what each word of a command is to them, by the table in `data/shell_clients.toml`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.expression import expression
from whet.guard.hosts import Host, host_of
from whet.guard.tables import load_toml
from whet.guard.taint.mark import Mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.shell.words import Word

_BARE = expression(
    r"^(?:[\w-]{1,63}\.){1,6}[a-z]{2,24}(?::\d{2,5})?(?:/\S*)?$|^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:/\S*)?$",
    re.IGNORECASE,
)
_SCHEME = expression(r"^[a-z][a-z0-9+.-]{1,10}://", re.IGNORECASE)
_INSECURE = frozenset(("--insecure", "--no-check-certificate", "--check-certificate=false"))


class Part(NamedTuple):
    """A word of a command to a client, by what it is: `body`, `head`, `login`, `file`, `form`, `url` and so on."""

    place: str
    at: int
    """The number of the word among the arguments."""
    text: str
    """The word, without the option that may be glued to it."""


UNCHECKED = "a server whose certificate is not checked"


def host_in(fetched: Mark) -> Host:
    """The host that something comes from; without a name where that is only known when it runs."""
    return Host("", "other") if fetched.subject.startswith(("$", "`")) else host_of(fetched.subject)


def table() -> dict[str, Any]:
    """What `data/shell_clients.toml` holds."""
    return load_toml("shell_clients")


@cache
def programs(kind: str) -> frozenset[str]:
    """The programs of a kind."""
    return frozenset(table()["programs"][kind])


@lru_cache(maxsize=1024)
def printing(name: str) -> tuple[dict[str, Any], ...]:
    """The rows about what a program prints that is private."""
    return tuple(row for row in table()["prints"] if row["program"] == name)


@cache
def _options(name: str) -> dict[str, str]:
    """Each option of a client that has a value, with what the value is."""
    options = table()["options"]
    rows = options.get(table()["programs"]["like"].get(name, name), {})
    return {option: place for place, found in rows.items() for option in found}


@cache
def _option(name: str, word: str) -> str:
    """What the value of a long option is; an abbreviation that fits is taken for what it abbreviates."""
    options = _options(name)
    if word in options or len(word) < 5:
        return options.get(word, "")
    return next((place for option, place in options.items() if option.startswith(word)), "")


def parts(name: str, args: Sequence[str]) -> tuple[Part, ...]:
    """The words of a command, by what they are."""
    return _parts(name, tuple(args))


@lru_cache(maxsize=512)
def _parts(name: str, args: tuple[str, ...]) -> tuple[Part, ...]:
    return tuple(_read(name, args))


def _read(name: str, args: tuple[str, ...]) -> Iterator[Part]:
    options = _options(name)
    at = 0
    while at < len(args):
        text = args[at]
        if text.startswith("--") and len(text) > 2:
            option, glued, value = text.partition("=")
            if place := _option(name, option):
                at += not glued
                yield Part(place, at, value if glued else args[at] if at < len(args) else "")
        elif text.startswith("-") and len(text) > 1:
            for number in range(1, len(text)):
                if place := options.get(f"-{text[number]}", ""):
                    rest = text[number + 1 :]
                    at += not rest
                    yield Part(place, at, rest or (args[at] if at < len(args) else ""))
                    break
        else:
            yield Part("url", at, text)
        at += 1


def sends(name: str, args: Sequence[str]) -> bool:
    """Does a client send a body?"""
    if name in ("http", "https", "xh", "xhs") and any(word.upper() in ("POST", "PUT") for word in args[:2]):
        return True
    return any(part.place in ("body", "file", "form") for part in parts(name, args))


def fetches(name: str, words: Sequence[Word]) -> list[Mark]:
    """Where a client goes: the places that are written there as a whole, or else one that is only known when it runs."""
    args = [word.text for word in words]
    insecure = any(
        word in _INSECURE or (name == "curl" and re.fullmatch(r"-[a-jl-zA-Z]{0,8}k[a-zA-Z]{0,8}", word))
        for word in args
    )
    what = UNCHECKED if insecure else "the network"
    known: list[Mark] = []
    unknown: list[Mark] = []
    for part in parts(name, args):
        text = part.text.strip("<>\"'")
        if part.place != "url":
            continue
        if _SCHEME.match(text) or _BARE.match(text):
            host = host_of(text)
            sure = not any(sign in host.name for sign in "${<`")
            (known if sure else unknown).append(Mark("fetched", what, text, host.shady, sure))
        elif text.startswith(("$", "`")):
            unknown.append(Mark("fetched", what, text))
    return known or unknown[:1]

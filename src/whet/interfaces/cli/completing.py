"""What could come next on a command line: the hidden command that the completion scripts call.

It gets the words up to and including the one under the cursor and prints one candidate on each line. Nothing printed
means that the shell may complete file names. It never fails aloud: a completion that talks is worse than none.
"""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.interfaces.cli.context import Context
from whet.interfaces.cli.parser import GLOBAL_OPTIONS
from whet.interfaces.cli.verbs import ALIASES, VERBS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.api import Library
    from whet.interfaces.cli.parser import Option, Parser

_KINDS: dict[str, tuple[str, ...]] = {
    "new": (),
    "render": ("skills", "bundles"),
    "bundle": (),
    "bundle show": ("bundles",),
    "bundle delete": ("bundles",),
    "restore": ("deleted",),
    "pending": ("proposals",),
    "approve": ("proposals",),
    "reject": ("proposals",),
    "undo": ("entries",),
    "rules": ("rules",),
    "eval": ("triggers", "skills"),
    "eval triggers": ("skills",),
}
"""What a NAME or an ID is that of, by command and first argument, where it is not the name of a skill."""
_LAST = 20
"""Entries of the history that are offered."""


def candidates(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The words that can stand where the last one of `words` stands and begin like it."""
    from whet.interfaces.cli.meaning import parser_of, split_verb

    before, current = list(words[:-1]), words[-1] if words else ""
    verb, rest = split_verb(before)
    if not verb and before and before[-1] in ("--root", "--project"):
        return []
    if not verb:
        return _starting(current, _flags(GLOBAL_OPTIONS) if current.startswith("-") else VERBS)
    if verb not in VERBS and verb not in ALIASES:
        return []
    parser, _ = parser_of(verb)
    if parser.behind and "--" in rest:
        return []
    options = (*parser.options, *GLOBAL_OPTIONS)
    awaiting = next((option for option in options if rest and option.metavar and rest[-1] in option.flags), None)
    if awaiting is not None:
        return _starting(current, awaiting.choices)
    if current.startswith("-"):
        return _starting(current, _flags(options))
    given = _arguments(rest, options)
    if not parser.positionals:
        return []
    at = parser.positionals[min(len(given), len(parser.positionals) - 1)]
    if len(given) >= len(parser.positionals) and not at.many:
        return []
    if at.choices:
        return _starting(current, at.choices)
    kinds = _KINDS.get(" ".join((verb, *given[:1])), _KINDS.get(verb, ("skills",)))
    return _starting(current, _names(kinds, rest, parser, env)) if "NAME" in at.metavar or at.metavar == "ID" else []


def _arguments(words: list[str], options: Sequence[Option]) -> list[str]:
    """The words that are neither options nor their values."""
    valued = {flag for option in options if option.metavar for flag in option.flags}
    found, skip = [], False
    for word in words:
        if not skip and not word.startswith("-"):
            found.append(word)
        skip = word in valued
    return found


def _names(kinds: Iterable[str], words: list[str], parser: Parser, env: Mapping[str, str]) -> list[str]:
    """The names there are of these kinds; with a library that cannot be read there are none."""
    try:
        known, _ = parser.parse_known_args(words)
        with closing(Context(Namespace(root=known.root, project=known.project), env)) as context:
            return [name for kind in kinds for name in _OF_A_KIND[kind](context.library)]
    except (WhetError, OSError):
        return []


def _skills(library: Library) -> list[str]:
    return [skill["name"] for skill in library.list(include_hidden=True)["skills"]]


def _bundles(library: Library) -> list[str]:
    return [bundle["slug"] for bundle in library.bundles()["bundles"]]


def _deleted(library: Library) -> list[str]:
    last = {entry["path"]: entry for entry in library.changes.history()["entries"]}
    return sorted({entry["skill"] for entry in last.values() if not entry["after"]})


def _proposals(library: Library) -> list[str]:
    return [str(proposal["id"]) for proposal in library.changes.pending()["proposals"]]


def _entries(library: Library) -> list[str]:
    return [str(entry["id"]) for entry in reversed(library.changes.history(last=_LAST)["entries"])]


def _rules(_library: Library) -> list[str]:
    from whet.guard import rules

    return list(rules.every())


def _triggers(_library: Library) -> list[str]:
    return ["triggers"]


_OF_A_KIND = {
    "skills": _skills,
    "bundles": _bundles,
    "deleted": _deleted,
    "proposals": _proposals,
    "entries": _entries,
    "rules": _rules,
    "triggers": _triggers,
}


def _flags(options: Sequence[Option]) -> list[str]:
    return [option.flags[-1] for option in options]


def _starting(current: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(current) and word.isprintable() and " " not in word]

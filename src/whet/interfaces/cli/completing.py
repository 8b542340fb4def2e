"""What could come next on a command line: the hidden command that the completion scripts call.

It gets the words up to and including the one under the cursor and prints one candidate on each line. Nothing printed
means that the shell may complete file names. It never fails aloud: a completion that talks is worse than none.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.interfaces.cli.context import Context
from whet.interfaces.cli.parser import GLOBAL_OPTIONS
from whet.interfaces.cli.verbs import ALIASES, VERBS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.interfaces.cli.parser import Option, Parser

_NOT_IN_LIBRARY = frozenset({"new"})
"""Commands whose NAME is not one that exists."""


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
    options = (*parser.options, *GLOBAL_OPTIONS)
    awaiting = next((option for option in options if rest and option.metavar and rest[-1] in option.flags), None)
    if awaiting is not None:
        return _starting(current, awaiting.choices)
    if current.startswith("-"):
        return _starting(current, _flags(options))
    given = _arguments(rest, options)
    if verb in _NOT_IN_LIBRARY or not parser.positionals:
        return []
    at = parser.positionals[min(given, len(parser.positionals) - 1)]
    if given >= len(parser.positionals) and not at.many:
        return []
    if at.choices:
        return _starting(current, at.choices)
    return _starting(current, _names(rest, parser, env)) if "NAME" in at.metavar else []


def _arguments(words: list[str], options: Sequence[Option]) -> int:
    """How many of the words are neither options nor their values."""
    valued = {flag for option in options if option.metavar for flag in option.flags}
    count, skip = 0, False
    for word in words:
        if not skip and not word.startswith("-"):
            count += 1
        skip = word in valued
    return count


def _names(words: list[str], parser: Parser, env: Mapping[str, str]) -> list[str]:
    """The names of the skills; with a library that cannot be read there are none."""
    known, _ = parser.parse_known_args(words)
    context = Context(Namespace(root=known.root, project=known.project), env)
    try:
        return [skill["name"] for skill in context.library.list(include_hidden=True)["skills"]]
    except (WhetError, OSError):
        return []
    finally:
        context.close()


def _flags(options: Sequence[Option]) -> list[str]:
    return [option.flags[-1] for option in options]


def _starting(current: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(current) and word.isprintable() and " " not in word]

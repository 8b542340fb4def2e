"""Shell commands: the programs and sub-commands they ran, and whether they only looked.

The guard's parser sees through wrappers (`sudo`, `env`, `timeout`), lists, loops and nested scripts. Nothing here is
ever run.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.permissions.programs import program_tables
from whet.guard.shell.commands import parse
from whet.guard.shell.wrappers import INTERPRETERS, inner, name_of, unwrapped
from whet.learning.tables import PROGRAMS, load_table, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.shell.command import Command
    from whet.guard.shell.words import Word

_known = partial(words_of, PROGRAMS)
COMMANDED = _known("commanded")
LOOKING = _known("looking")


def _deep(name: str) -> list[str]:
    """Return the sub-commands of a program that mean little without the next word."""
    ours, guards = load_table(PROGRAMS)["deep"].get(name, ""), program_tables().runners.get(name)
    return (ours or (guards.deep if guards else "")).split()


def _valued(name: str) -> str:
    """Return the options of a program before its sub-command that take a value."""
    rows = load_table(PROGRAMS)["valued"].items()
    return next((options for programs, options in rows if name in programs.split()), "")


_FLAG = re.compile(
    r"-[AyqvdgsV]+|--(?:yes|quiet|silent|verbose|debug|global|user|json|offline|frozen|locked|isolated|no-[a-z-]+"
    r"|version|help|all|force|dry-run|color|plain|system)|[^=\s]+=.*|\+\S+"
)
"""Options without a value."""
_WORD = re.compile(r"[a-z][a-z0-9]{0,23}(?:[-_:][a-z0-9]{1,20}){0,3}")
_PLAIN_WORD = re.compile(r"[a-z]{2,20}(?:[-:][a-z]{1,20}){0,3}")
_SCRIPT = re.compile(r"(?:\./)?[\w-]{1,40}(?:/[\w.-]{1,40}){0,4}\.(?:py|sh|js|mjs|ts|rb|pl|php|R|jl)")
_GROUP = 3
"""Number of words in which a group reaches its action."""


def label(name: str, words: Sequence[str]) -> str:
    """Return a program with its sub-command: `git commit`, `npm run build`, `python3 scripts/fill.py`."""
    if name in INTERPRETERS:
        return _interpreted(name, words)
    if name in _known("operands") or not words:
        return name
    return " ".join((name, *_sub_command(name, _after_options(name, words))))


def _interpreted(name: str, words: Sequence[str]) -> str:
    """Return an interpreter with its script or module, unless that is elsewhere."""
    if words[:1] == ["-m"] and len(words) > 1:
        return f"{name} -m {words[1]}"
    script = words[0] if words else ""
    return f"{name} {script.removeprefix('./')}" if _SCRIPT.fullmatch(script) else name


def _after_options(name: str, words: Sequence[str]) -> Sequence[str]:
    """Return the words after the program's own options; empty for an unknown program."""
    if name not in COMMANDED:
        return words if not words[0].startswith("-") else ()
    valued = _valued(name).split()
    at, sure = 0, True
    while at < len(words) and words[at].startswith(("-", "+")):
        known = words[at] in valued
        sure = sure and (known or _FLAG.fullmatch(words[at]) is not None)
        at += 2 if known else 1
    rest = words[at:]
    while not sure and rest and not (_is_action(rest[0]) or rest[0] in _deep(name)):
        rest = rest[1:]
    return rest


def _sub_command(name: str, words: Sequence[str]) -> Sequence[str]:
    """Return the first words that form the sub-command."""
    known, deep = name in COMMANDED, words[:1] and words[0] in _deep(name)
    given = [word for word in words if not word.startswith("-")] if deep else words
    plain = [*takewhile((_WORD if known else _PLAIN_WORD).fullmatch, given[:_GROUP])]
    if not deep and (name in _known("targets") or any(map(_is_action, plain[:1]))):
        return plain[:1]
    end = next((at for at, word in enumerate(plain[1:], 2) if _is_action(word)), 0)
    if deep:
        return plain[: 2 if words[0] in _known("starts") else end or 2]
    return plain[: end or int(known or (len(words) > 1 and words[0] not in _known("places")))]


def _is_action(word: str) -> bool:
    forms = word, re.split(r"[-:]", word)[0]
    return _WORD.fullmatch(word) is not None and not _known("actions").isdisjoint(forms)


LONGEST = 20_000
"""Characters of a command that are parsed."""
_DEPTH = 3

_MANUAL = frozenset(("--help", "-h", "help", "--version", "-V", "-version", "-v", "version", "-VV"))
"""Final words that ask for the manual or the version."""


class Ran(NamedTuple):
    """One program in a command."""

    label: str
    """The program with its sub-command: `git commit`, `npm run build`, `python3 scripts/fill.py`; "" for a builtin."""
    looks: bool
    """Whether it only shows something, such as its manual or version."""
    own: bool = False
    """Whether it was run by a relative path: a file of the project, not an installed program."""


@lru_cache(maxsize=8192)
def programs(command: str) -> tuple[Ran, ...]:
    """Return the programs that a command runs, in order."""
    return tuple(_programs(command[:LONGEST], 0))


def _programs(text: str, depth: int) -> Iterator[Ran]:
    script = parse(text)
    for command in script.commands:
        if not command.argv or "heredoc" in command.inside or "error" in command.inside:
            continue
        argv = unwrapped(command.argv)
        name = name_of(argv)
        scripts = [one for one in inner(command) if one.language == "shell"] if depth < _DEPTH else []
        for one in scripts:
            yield from _programs(one.text, depth + 1)
        if not scripts and name not in script.functions and re.fullmatch(r"[a-z0-9.:\[][\w.+\[-]{0,40}", name):
            yield _ran(name, argv, command)


def _ran(name: str, argv: Sequence[Word], command: Command) -> Ran:
    words = [word.text for word in argv[1:]]
    writes = any(
        ">" in one.operator and "&" not in one.operator[1:] and not one.target.text.startswith("/dev/")
        for one in command.redirections
    )
    if name in _known("builtin"):
        return Ran("", not writes)
    called = label(name, words)
    first = [word.text for word in command.argv[:2]]
    if len(command.argv) > 2 and first[1] == "run" and first[0] in _known("running"):
        called = f"{first[0]} run" if command.argv[2].text.startswith("-") else f"{first[0]} run {called}"
    manual = bool(words) and words[-1] in _MANUAL and len(words) <= 3
    looks = (name in LOOKING or called in _known("looking_also") or manual) and not writes
    return Ran(called, looks, own="/" in argv[0].text and not argv[0].text.startswith("/"))


def main_program(command: str) -> str:
    """Return the main program of a command: the first that neither looks nor prepares, by its common name."""
    ran = [one for one in programs(command) if one.label]
    ranked = sorted(ran, key=lambda one: (one.looks, one.label.partition(" ")[0] in _known("housekeeping")))
    words = ranked[0].label.split() if ranked else []
    return " ".join(word.rpartition("/")[2] for word in words)


def only_looks(command: str) -> bool:
    """Return whether a command only shows something. One that runs nothing (`cd`, `export`) does, too."""
    return all(ran.looks for ran in programs(command))


def shape(command: str) -> tuple[str, ...]:
    """Return the programs that two attempts at the same thing share: those that do not just look."""
    ran = [one for one in programs(command) if one.label]
    return tuple(dict.fromkeys(one.label for one in [one for one in ran if not one.looks] or ran))

"""The arguments of a command: options in every spelling, their values, and operands.

`--output=x`, `--output x`, `--outp x`, `-o x`, `-ox` and `-vox` are one option. The options of each program, and which of them
take a value, are in `data/shell_options.toml`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.tables import load_toml
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NEVER = 1_000_000
_ALONE = ("flag", "script")
"""Kinds of options without a value."""
_ASSIGNMENT = expression(r"^[A-Za-z_]\w*\+?=")


class Argument(NamedTuple):
    """An option with its value, or an operand."""

    option: str
    """The name of the option as in the table; empty for an operand."""
    text: str
    """The operand, or the value of the option."""
    at: int
    """Index of the word that contains the text."""
    place: str
    """The meaning of the text: `operand`, `flag` for an option without a value, or the kind from the table."""


class Program(NamedTuple):
    """The options of a program."""

    places: Mapping[str, str]
    """Maps each option to the kind of its value."""
    ends: int = _NEVER
    """Number of operands after which no word is an option."""
    runs: int = -1
    """For a program that runs the command in its arguments: the number of operands before the command."""
    one_dash: bool = False
    """A single dash is enough for a long option."""
    bundled: bool = False
    """The first word is a row of options without a dash, as in `tar`."""
    no_case: bool = False
    """Options are the same in capitals."""


_UNKNOWN = Program({})


@cache
def known_programs() -> dict[str, Program]:
    """Return the programs whose options are known, by name."""
    found: dict[str, Program] = {}
    for row in load_toml("shell_options")["program"]:
        rest = {key: row[key] for key in ("ends", "runs", "one_dash", "bundled", "no_case") if key in row}
        kinds = [kind for kind in row if kind not in rest and kind != "names"]
        places = {option: kind for kind in kinds for option in row[kind]}
        found.update(dict.fromkeys(row["names"], Program(places, **rest)))
    return found


def spell(word: str, program: Program) -> Iterator[tuple[str, str | None]]:
    """Yield the options that a word may stand for, each with the value attached to it."""
    name, sign, value = word.partition("=")
    name = name.lower() if program.no_case else name
    glued = value if sign else None
    long = name if name.startswith("--") else f"-{name}" if program.one_dash else ""
    if len(name) > 2 and (name in program.places or long in program.places):
        yield (name if name in program.places else long), glued
        return
    abbreviated = [option for option in program.places if option.startswith(long)] if len(long) > 2 else []
    yield from ((option, glued) for option in abbreviated)
    if abbreviated or word.startswith("--"):
        if not abbreviated:
            yield name, glued
        return
    for number, letter in enumerate(word[1:], 2):
        if program.places.get(f"-{letter}", "flag") in _ALONE:
            yield f"-{letter}", None
        else:
            yield f"-{letter}", word[number:].removeprefix("=") if word[number:] else None
            return


@lru_cache(maxsize=2048)
def read_arguments(name: str, words: tuple[str, ...]) -> tuple[Argument, ...]:
    """Return the words after the name of a program as options and operands."""
    return tuple(_read(words, known_programs().get(name, _UNKNOWN)))


def _read(words: tuple[str, ...], program: Program, at: int = 0) -> Iterator[Argument]:
    operands, ends = 0, program.ends
    while at < len(words):
        word = words[at]
        if word == "--" and operands < ends:
            ends = 0
        elif at == 0 and program.bundled and word[:1].isalpha():
            for letter in word:
                place = program.places.get(f"-{letter}", "flag")
                follows = place not in _ALONE and at + 1 < len(words)
                at += follows
                yield Argument(f"-{letter}", words[at] if follows else "", at, place)
        elif word[:1] == "+" and operands < ends and program.places.get("-c") == "script":  # a shell: `+x`, `+o NAME`
            follows = word[-1] in "oO" and at + 1 < len(words)
            at += follows
            yield Argument(word, words[at] if follows else "", at, "flag")
        elif operands >= ends or not word.startswith("-") or word == "-":
            operands += 1
            yield Argument("", word, at, "operand")
        elif program is _UNKNOWN and not word.startswith("--"):
            yield Argument(word, "", at, "flag")
        else:
            for option, glued in spell(word, program):
                place = program.places.get(option, "flag")
                follows = glued is None and place not in (*_ALONE, "glued") and at + 1 < len(words)
                at += follows
                yield Argument(option, words[at] if follows else glued or "", at, place)
                if len(option) > 2:
                    break
        at += 1


def codes(name: str, words: tuple[str, ...]) -> list[Argument]:
    """Return the scripts that options give to a program: as their values or, after `-c` of a shell, as the first operand."""
    arguments = read_arguments(name, words)
    if name == "deno" and words[:1] == ("eval",):
        return list(arguments[1:2])
    if name == "timeit":
        return [one for one in arguments if one.place in ("code", "operand")]
    found = [one for one in arguments if one.place == "code"]
    if not found and any(one.place == "script" for one in arguments):
        found = [one for one in arguments if not one.option][:1]
    return found


def command_start(name: str, words: tuple[str, ...]) -> tuple[int, list[int]]:
    """Return the index of the command that a program runs (or of the end), and the indexes of its variables."""
    program, start = known_programs()[name], 0
    skip = program.runs
    variables: list[int] = []
    while True:
        operands = (one.at for one in _read(words, program, start) if not one.option)
        start, skip = next(islice(operands, skip, None), len(words)), 0
        if start == len(words) or not _ASSIGNMENT.match(words[start]):
            return start, variables
        variables.append(start)
        start += 1

"""What is known of programs that can run other programs, or write where nobody looks: `data/permissions.toml`, read once.

`whet.guard.permissions.powers` says what follows from it for a command.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from whet.guard.options import Program, known_programs, spell
from whet.guard.tables import load_toml


class Runner(NamedTuple):
    """A program whose sub-commands run what a project, a registry or a container defines."""

    harmless: str = ""
    """Sub-commands that only look."""
    deep: str = ""
    """Sub-commands of which one more word has to be named: `npm run test`."""
    whole: str = ""
    """Sub-commands that carry a command: all of it has to be named."""


class Options(NamedTuple):
    """Options that make a program run another one, or write or send a file."""

    long: str = ""
    """Written out or abbreviated."""
    short: str = ""
    values: str = ""
    """Short options with a value: the letters behind them in the same word are no options."""
    exact: str = ""
    """Words that are options as they stand, such as those of find."""
    harmless: str = ""
    """Whole options that could be taken for an abbreviation of one of the long ones."""
    one_dash: bool = False
    """One dash is enough for a long option."""
    fetches: str = ""
    """For a program whose other words are addresses: the long options whose value is not one."""
    words: str = ""
    """Words behind a sub-command of git that have the same power."""

    def includes(self, word: str, *, old_style: bool = False) -> bool:
        """Is this word one of them, in any spelling the program may take for it?"""
        bundled = (old_style and not word.startswith("-")) or word.startswith("+")
        if bundled:
            return not frozenset(self.short).isdisjoint(word)
        power = (*self.exact.split(), *self.long.split(), *(f"-{letter}" for letter in self.short))
        others = (*self.harmless.split(), *(f"-{letter}" for letter in self.values))
        program = Program(dict.fromkeys(others, "value") | dict.fromkeys(power, "flag"), one_dash=self.one_dash)
        return word.startswith("-") and any(option in power for option, _ in spell(word, program))


class Git(NamedTuple):
    """What git's sub-commands do."""

    commands: frozenset[str]
    """Other words may be aliases for anything."""
    reads_config: frozenset[str]
    fetching: frozenset[str]
    opens_others: frozenset[str]
    options: dict[str, Options]
    """By sub-command; those of `""` belong to all."""


def is_wrapper(program: str) -> bool:
    """Does a program run the command in its arguments?"""
    known = known_programs().get(program)
    return known is not None and known.runs >= 0


class Programs(NamedTuple):
    """The tables."""

    words: dict[str, frozenset[str]]
    harmless: dict[str, str]
    """Programs that run another one and change nothing, with the shape of their options."""
    runners: dict[str, Runner]
    options: dict[str, Options]
    git: Git
    tools: dict[str, tuple[str, ...]]
    """Tools of our vocabulary by their names in other clients."""

    def is_known(self, program: str) -> bool:
        """Is there anything to know about a program?"""
        tables = (*(self.words[name] for name in ("shell_state", "opaque", "interpreters")), self.runners, self.options)
        return program == "git" or is_wrapper(program) or any(program in table for table in tables)


@cache
def program_tables() -> Programs:
    """What the table holds."""
    table = load_toml("permissions")

    def by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: {key: row[key] for key in row if key != "names"} for row in rows for name in row["names"]}

    git = table["git"]
    return Programs(
        {name: frozenset(words) for name, words in table["words"].items()},
        table["harmless_wrappers"],
        {name: Runner(**row) for name, row in by_name(table["runners"]).items()},
        {name: Options(**row) for name, row in by_name(table["options"]).items()},
        Git(
            **{name: frozenset(git[name]) for name in ("commands", "reads_config", "fetching", "opens_others")},
            options={row["name"]: Options(**{key: row[key] for key in row if key != "name"}) for row in git["options"]},
        ),
        {name: tuple(row["tools"]) for row in table["tools"] for name in row["names"]},
    )

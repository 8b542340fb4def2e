"""Programs that can run other programs, or write to unexpected places, from `data/permissions.toml`, which is read once.

`whet.guard.permissions.powers` draws the conclusions for a command.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from whet.guard.options import Program, known_programs, spell
from whet.guard.tables import load_toml


class Runner(NamedTuple):
    """A program whose subcommands run what a project, a registry or a container defines."""

    harmless: str = ""
    """Subcommands that only show something."""
    deep: str = ""
    """Subcommands after which a rule must name one more word: `npm run test`."""
    whole: str = ""
    """Subcommands that carry a command, all of which a rule must name."""


class Options(NamedTuple):
    """Options that make a program run another one, or write or send a file."""

    long: str = ""
    """Long options, in full; they may be abbreviated."""
    short: str = ""
    values: str = ""
    """Short options with a value: the letters after them in the same word are not options."""
    exact: str = ""
    """Words that are options exactly as written, such as those of find."""
    harmless: str = ""
    """Complete options that could be taken for an abbreviation of one of the long ones."""
    one_dash: bool = False
    """A single dash is enough for a long option."""
    fetches: str = ""
    """For a program whose operands are addresses: the long options whose value is not one."""
    words: str = ""
    """Words after a git subcommand that have the same power."""

    def includes(self, word: str, *, old_style: bool = False) -> bool:
        """Return whether a word is one of these options, in any spelling that the program may accept."""
        bundled = (old_style and not word.startswith("-")) or word.startswith("+")
        if bundled:
            return not frozenset(self.short).isdisjoint(word)
        power = (*self.exact.split(), *self.long.split(), *(f"-{letter}" for letter in self.short))
        others = (*self.harmless.split(), *(f"-{letter}" for letter in self.values))
        program = Program(dict.fromkeys(others, "value") | dict.fromkeys(power, "flag"), one_dash=self.one_dash)
        return word.startswith("-") and any(option in power for option, _ in spell(word, program))


class Git(NamedTuple):
    """The effects of git's subcommands."""

    commands: frozenset[str]
    """The known subcommands; any other word may be an alias for anything."""
    reads_config: frozenset[str]
    fetching: frozenset[str]
    opens_others: frozenset[str]
    options: dict[str, Options]
    """Options by subcommand; those of `""` belong to all."""


def is_wrapper(program: str) -> bool:
    """Return whether a program runs the command in its arguments."""
    known = known_programs().get(program)
    return known is not None and known.runs >= 0


class Programs(NamedTuple):
    """The tables of `data/permissions.toml`."""

    words: dict[str, frozenset[str]]
    harmless: dict[str, str]
    """Programs that run another one and change nothing, with a pattern for their options."""
    runners: dict[str, Runner]
    options: dict[str, Options]
    git: Git
    tools: dict[str, tuple[str, ...]]
    """Tools of our vocabulary by their names in other clients."""

    def is_known(self, program: str) -> bool:
        """Return whether a table describes a program."""
        tables = (*(self.words[name] for name in ("shell_state", "opaque", "interpreters")), self.runners, self.options)
        return program == "git" or is_wrapper(program) or any(program in table for table in tables)


@cache
def program_tables() -> Programs:
    """Return the tables of `data/permissions.toml`."""
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

"""Reading a command line, and the help that explains it.

argparse reads the options. Arguments are told apart here, so that they may stand anywhere between the options, on every
Python; the help is written here, because the documentation holds it word for word. The metavar of an argument says what
it is, to people and to the completion: NAME is a skill's name; PATH, FILE and DIR are on disk.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, NoReturn

from whet.errors import UsageError
from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_COLUMN = 26
WIDTH = 100
"""Columns of a help page, unless the terminal has fewer."""
_MOST_DIGITS = 18
_CHOICE = r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)"
_ARGUMENT = r"argument (.+?): (.+)"


class Positional(NamedTuple):
    """One argument."""

    name: str
    metavar: str
    help: str
    many: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None
    """Says what a word means, and raises for one that means nothing; without it, only the choices are understood."""

    @property
    def usage(self) -> str:
        """The argument as the usage line shows it."""
        text = f"{self.metavar}..." if self.many else self.metavar
        return f"[{text}]" if self.optional else text


class Option(NamedTuple):
    """One option, as the help and the completion need it."""

    flags: tuple[str, ...]
    metavar: str
    """Empty for an option that takes no value."""
    help: str
    choices: tuple[str, ...] = ()


GLOBAL_OPTIONS = (
    Option(("--root",), "DIR", "Use exactly this skill root; can be repeated."),
    Option(("--project",), "DIR", "Look for project skills here instead of in the working directory."),
    Option(("--json",), "", "Print one JSON document."),
    Option(("-q", "--quiet"), "", "Print only errors on standard error."),
    Option(("-v", "--verbose"), "", "Show more."),
    Option(("--no-input",), "", "Never ask a question."),
    Option(("--version",), "", "Print the version."),
    Option(("-h", "--help"), "", "Show this help."),
)


class _Formatter(argparse.HelpFormatter):
    """Never used, but argparse makes one for each option; without a width it would import shutil to find one."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)


class Parser(argparse.ArgumentParser):
    """The arguments and options of one command."""

    def __init__(self, verb: str, summary: str) -> None:
        self.command = f"whet {verb}".rstrip()
        super().__init__(prog=self.command, add_help=False, allow_abbrev=False, formatter_class=_Formatter)
        self.summary = summary
        self.details = ""
        """Further sentences for the help."""
        self.positionals: list[Positional] = []
        self.behind: Positional | None = None
        """What stands behind `--`, where that is kept apart; otherwise it is arguments like all others."""
        self.options: list[Option] = []
        self.commands: list[str] = []
        """Of a command that is a group too: a line for each command of the group."""
        self.rivals: list[tuple[str, str]] = []
        """Pairs of options of which only one may be given."""
        for option in GLOBAL_OPTIONS:
            if option.flags == ("--root",):
                self.add_argument("--root", action="append", default=[])
            elif option.metavar:
                self.add_argument(*option.flags)
            else:
                self.add_argument(*option.flags, action="store_true")

    def positional(
        self,
        name: str,
        metavar: str,
        text: str,
        *,
        many: bool = False,
        optional: bool = False,
        choices: tuple[str, ...] = (),
        read: Callable[[str], Any] | None = None,
    ) -> None:
        """Take an argument; only the last one may be optional or `many`."""
        self.positionals.append(Positional(name, metavar, text, many, optional, choices, read))

    def words_behind(self, name: str, metavar: str, text: str) -> None:
        """Take the words behind `--` for themselves, whatever they look like."""
        self.behind = Positional(name, metavar, text, many=True, optional=True)

    def option(self, *flags: str, text: str, metavar: str = "", choices: tuple[str, ...] = (), **kind: Any) -> None:
        """Take an option; with a metavar it has a value. `kind` is passed on to argparse."""
        self.options.append(Option(flags, metavar, text, choices))
        if metavar:
            self.add_argument(*flags, choices=choices or None, **kind)
        else:
            self.add_argument(*flags, action="store_true", **kind)

    def exclude(self, *pairs: tuple[str, str]) -> None:
        """Of each pair of options, only one may be given."""
        self.rivals.extend(pairs)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """What the words mean. Raises UsageError."""
        words = list(words)
        split = words.index("--") if "--" in words else len(words)
        options, rest = self.parse_known_args(words[:split])
        for word in rest:
            if word.startswith("-") and word != "-":
                raise self._unknown(word.partition("=")[0])
        behind = words[split + 1 :]
        if self.behind:
            setattr(options, self.behind.name, behind)
        else:
            rest += behind
        if not options.help and not options.version:
            self._assign(options, rest)
            for pair in self.rivals:
                if all(vars(options)[flag[2:].replace("-", "_")] not in (None, False, []) for flag in pair):
                    hint = f"`{self.command} --help` explains it."
                    raise UsageError("usage", f"Use {' or '.join(pair)}, not both.", hint=hint)
        return options

    def _assign(self, options: argparse.Namespace, given: list[str]) -> None:
        for positional in self.positionals:
            if not given and not positional.optional:
                raise self._usage(f"{positional.metavar} is missing.")
            words, given = (given, []) if positional.many else (given[:1], given[1:])
            values = [self._meant(positional, word) for word in words]
            setattr(options, positional.name, values if positional.many else values[0] if values else None)
        if given:
            raise self._usage(f"{given[0]!r} is an unexpected argument." if given[0] else "An argument is empty.")

    def _meant(self, positional: Positional, word: str) -> Any:
        if not word.strip() and positional.metavar not in ("MESSAGE", "QUERY"):
            hint = "Pass a value, or leave it out. An unset shell variable becomes an empty argument."
            raise UsageError("usage", f"{positional.metavar} is empty.", hint=hint)
        if positional.read:
            return positional.read(word)
        if positional.choices and word not in positional.choices:
            raise self._usage(f"{word!r} is not one of {', '.join(positional.choices)}.")
        return word

    def error(self, message: str) -> NoReturn:
        """Say what argparse found wrong in our own words."""
        if found := re.fullmatch(_CHOICE, message, re.DOTALL):
            raise self._usage(f"{found[1]}: {found[2]} is not one of {found[3].replace(chr(39), '')}.")
        if found := re.fullmatch(_ARGUMENT, message, re.DOTALL):
            reason = {"expected one argument": "a value is missing"}.get(found[2], found[2])
            raise self._usage(f"{found[1]}: {reason}.")
        raise self._usage(f"{message[:1].upper()}{message[1:]}.")

    def _usage(self, message: str) -> UsageError:
        return UsageError("usage", message, hint=f"{self.usage_line()}; `{self.command} --help` explains it.")

    def _unknown(self, word: str) -> UsageError:
        from whet.skill.names import closest

        flags = [flag for option in (*self.options, *GLOBAL_OPTIONS) for flag in option.flags]
        words = [flag[2:] for flag in flags if flag.startswith("--")]
        near = closest(word[2:], words, 1) if word.startswith("--") else ()
        hint = f"Did you mean --{near[0]}?" if near else f"`{self.command} --help` lists the options."
        return UsageError("unknown-option", f"{self.command} has no option {word}.", hint=hint)

    def usage_line(self) -> str:
        """How the command is called."""
        words = [positional.usage for positional in self.positionals]
        behind = [f"[-- {self.behind.metavar}...]"] if self.behind else []
        return " ".join((f"Usage: {self.command}", *words, "[OPTIONS]", *behind))

    def format_help(self, columns: int = WIDTH) -> str:
        """The whole help of the command, in lines of at most so many columns."""
        parts = [self.usage_line(), "", f"{self.summary}."]
        if self.details:
            parts += ["", *_wrapped(self.details, 0, columns)]
        if arguments := [*self.positionals, *filter(None, [self.behind])]:
            parts += ["", "Arguments:", *_rows([(item.metavar, _choices(item)) for item in arguments], columns)]
        if self.options:
            parts += ["", "Options:", *option_rows(self.options, columns)]
        if self.commands:
            parts += ["", "Commands:", *self.commands]
        parts += ["", "Everywhere:", *option_rows(GLOBAL_OPTIONS, columns)]
        return "\n".join(parts) + "\n"


def option_rows(options: Sequence[Option], columns: int = WIDTH) -> list[str]:
    """The lines that explain options."""
    rows = [(f"{', '.join(option.flags)} {option.metavar}".rstrip(), _choices(option)) for option in options]
    return _rows(rows, columns)


def number(text: str) -> int:
    """A whole number, for argparse's `type`."""
    if not text.removeprefix("-").isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    if len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r} has too many digits")
    return int(text)


def amount(text: str) -> int:
    """A whole number above zero, for argparse's `type`."""
    if (value := number(text)) > 0:
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is not above zero")


def _choices(item: Positional | Option) -> str:
    return f"{item.help} One of {', '.join(item.choices)}." if item.choices else item.help


def _rows(rows: list[tuple[str, str]], columns: int) -> list[str]:
    lines = []
    for left, right in rows:
        first, *others = _wrapped(right, _COLUMN, columns)
        if len(left) + 4 > _COLUMN:
            lines += [f"  {left}", first, *others]
        else:
            lines += [f"  {left:<{_COLUMN - 2}}{first.lstrip()}", *others]
    return lines


def _wrapped(text: str, indent: int, columns: int) -> list[str]:
    from whet.interfaces.cli.text import wrap

    lines = []
    for paragraph in text.split("\n\n"):
        lines += ["", *(" " * indent + line for line in wrap(paragraph, max(columns - indent, _COLUMN)))]
    return lines[1:]

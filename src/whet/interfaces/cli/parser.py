"""Reading a command line, and the help that explains it.

Options are read as argparse reads them, and arguments may stand anywhere between them. argparse itself takes about as
long to load as a list of a thousand skills to make. The metavar of an argument says what it is, to people and to the
completion: NAME is a skill's name; PATH, FILE and DIR are on disk.
"""

from __future__ import annotations

from whet.errors import UsageError
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any

_COLUMN = 26
WIDTH = 100
"""Columns of a help page, unless the terminal has fewer."""
_MOST_DIGITS = 18


class Namespace:
    """The values of one command line, by the names of its options and arguments."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class Positional(NamedTuple):
    """One argument."""

    name: str
    metavar: str
    help: str
    many: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] | None = None
    """Converts a word, and raises for an invalid one; without it, only the choices are valid."""

    @property
    def usage(self) -> str:
        """The argument in the usage line."""
        text = f"{self.metavar}..." if self.many else self.metavar
        return f"[{text}]" if self.optional else text


class Option(NamedTuple):
    """One option."""

    flags: tuple[str, ...]
    metavar: str
    """Empty for an option that takes no value."""
    help: str
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] = str
    """Converts a value, and raises ValueError with the reason for an invalid one."""
    default: Any = None
    many: bool = False
    """Whether it can be repeated: its value is a list."""
    dest: str = ""
    known: tuple[str, ...] = ()
    """Values that people type without the option; other values are possible."""

    @property
    def name(self) -> str:
        """The name of its value."""
        return self.dest or self.flags[-1].lstrip("-").replace("-", "_")


GLOBAL_OPTIONS = (
    Option(("--root",), "DIR", "Use exactly this skill root; can be repeated.", default=[], many=True),
    Option(("--project",), "DIR", "Look for project skills here instead of in the working directory."),
    Option(("--json",), "", "Print one JSON document."),
    Option(("-q", "--quiet"), "", "Print only errors on standard error."),
    Option(("-v", "--verbose"), "", "Show more."),
    Option(("-y", "--yes"), "", "Do not ask for confirmation."),
    Option(("--no-input",), "", "Never ask a question."),
    Option(("--version",), "", "Print the version."),
    Option(("-h", "--help"), "", "Show this help."),
)

_OTHER_WORDS = {
    "no-open": ("no-browser", "headless"),
    "no-input": ("non-interactive", "batch", "no-prompt"),
    "yes": ("force", "assume-yes", "confirm"),
    "here": ("project", "local"),
    "dry-run": ("simulate", "what-if", "preview", "plan"),
    "verbose": ("debug", "full"),
    "skill": ("name", "only"),
    "client": ("agent",),
}
"""Option -> its names in other tools."""


class Parser:
    """The arguments and options of one command."""

    def __init__(self, verb: str, summary: str) -> None:
        self.command = f"whet {verb}".rstrip()
        self.summary = summary
        self.details = ""
        """More sentences for the help."""
        self.examples: list[tuple[str, str]] = []
        """Command lines and what each does, the most common first."""
        self.positionals: list[Positional] = []
        self.behind: Positional | None = None
        """The words after `--`, if they are separate; otherwise they are ordinary arguments."""
        self.options: list[Option] = []
        self.commands: list[str] = []
        """For a command that is also a group: a line for each command of the group."""
        self.rivals: list[tuple[str, str]] = []
        """Pairs of options of which only one may be given."""

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
        """Add an argument; arguments after an optional one must be optional, and only the last may be `many`."""
        self.positionals.append(Positional(name, metavar, text, many, optional, choices, read))

    def example(self, line: str, text: str) -> None:
        """Show a command line in the help, with its effect."""
        self.examples.append((line, text))

    def words_behind(self, name: str, metavar: str, text: str) -> None:
        """Accept the words after `--` separately, in any form."""
        self.behind = Positional(name, metavar, text, many=True, optional=True)

    def option(
        self,
        *flags: str,
        text: str,
        metavar: str = "",
        choices: tuple[str, ...] = (),
        read: Callable[[str], Any] = str,
        default: Any = None,
        many: bool = False,
        dest: str = "",
        known: tuple[str, ...] = (),
    ) -> None:
        """Add an option; with a metavar it has a value."""
        self.options.append(Option(flags, metavar, text, choices, read, default, many, dest, known or choices))

    def exclude(self, *pairs: tuple[str, str]) -> None:
        """Allow only one of each pair of options."""
        self.rivals.extend(pairs)

    def read(self, words: Sequence[str]) -> Namespace:
        """Parse the words. Raises UsageError."""
        words = list(words)
        split = words.index("--") if "--" in words else len(words)
        options, rest = self.read_options(words[:split])
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

    def read_options(self, words: Sequence[str]) -> tuple[Namespace, list[str]]:
        """Return the options among the words, and the other words. Raises UsageError."""
        known = (*GLOBAL_OPTIONS, *self.options)
        by_flag = {flag: option for option in known for flag in option.flags}
        found = Namespace(**{option.name: _default(option) for option in known})
        rest: list[str] = []
        pending = list(reversed(words))
        while pending:
            word = pending.pop()
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            flag, equals, value = word.partition("=")
            if flag not in by_flag and flag[1:2] != "-" and word[:2] in by_flag:  # -kN, and -qv for -q -v
                flag, equals, value = word[:2], "=", word[2:]
                if not by_flag[flag].metavar:
                    pending.append(f"-{value}")
                    equals = ""
            option = by_flag.get(flag)
            if option is None:
                raise self._unknown(flag)
            if not option.metavar:
                if equals:
                    raise self._usage(f"{_label(option)} takes no value.")
                setattr(found, option.name, True)
                continue
            if not equals:
                if not pending or not _is_value(pending[-1], by_flag):
                    raise self._usage(f"{_label(option)}: a value is missing.")
                value = pending.pop()
            self._set(found, option, value)
        return found, rest

    def _set(self, found: Namespace, option: Option, word: str) -> None:
        try:
            value = option.read(word)
        except ValueError as error:
            raise self._usage(f"{_label(option)}: {error}.") from error
        if option.choices and value not in option.choices:
            raise self._usage(f"{_label(option)}: {value!r} is not one of {', '.join(option.choices)}.")
        if option.many:
            value = [*(getattr(found, option.name) or ()), value]
        setattr(found, option.name, value)

    def _assign(self, options: Namespace, given: list[str]) -> None:
        for positional in self.positionals:
            if not given and not positional.optional:
                raise self._usage(f"{positional.metavar} is missing.")
            words, given = (given, []) if positional.many else (given[:1], given[1:])
            values = [self._meant(positional, word) for word in words]
            setattr(options, positional.name, values if positional.many else values[0] if values else None)
        if given:
            raise self._unexpected(given[0]) if given[0] else self._usage("An argument is empty.")

    def _meant(self, positional: Positional, word: str) -> Any:
        if not word.strip() and positional.metavar not in ("MESSAGE", "QUERY"):
            hint = "Pass a value, or leave it out. An unset shell variable becomes an empty argument."
            raise UsageError("usage", f"{positional.metavar} is empty.", hint=hint)
        if positional.read:
            return positional.read(word)
        if positional.choices and word not in positional.choices:
            raise self._usage(f"{word!r} is not one of {', '.join(positional.choices)}.")
        return word

    def _unexpected(self, word: str) -> UsageError:
        """Return the error for one argument too many; it may be an option, or the value of one."""
        from whet.guard.secrets.hide import hide_secrets
        from whet.skill.names import is_slip

        message = f"{hide_secrets(word)[0]!r} is an unexpected argument."
        for option in self.options:
            value = next((known for known in option.known if known == word or is_slip(known, word)), "")
            if value or f"--{word}" in option.flags:
                meant = f"{option.flags[-1]} {value}" if value else f"--{word}"
                return UsageError("usage", message, hint=f"Did you mean `{self.command} {meant}`?")
        for positional in self.positionals:
            if word in positional.choices:
                message = f"Only one {positional.metavar} at a time; {word!r} is one too many."
                return UsageError("usage", message, hint="Run the command once for each.")
        return self._usage(message)

    def _usage(self, message: str) -> UsageError:
        return UsageError("usage", message, hint=f"{self.usage_line()}; `{self.command} --help` explains it.")

    def _unknown(self, word: str) -> UsageError:
        from whet.skill.names import closest

        flags = [flag for option in (*self.options, *GLOBAL_OPTIONS) for flag in option.flags]
        words = [flag[2:] for flag in flags if flag.startswith("--")]
        near = closest(word[2:], words, 1) if word.startswith("--") else ()
        near = near or tuple(flag for flag, others in _OTHER_WORDS.items() if word[2:] in others and flag in words)
        hint = f"Did you mean --{near[0]}?" if near else f"`{self.command} --help` lists the options."
        return UsageError("unknown-option", f"{self.command} has no option {word}.", hint=hint)

    def usage_line(self) -> str:
        """Return the usage line of the command."""
        words = [positional.usage for positional in self.positionals]
        behind = [f"[-- {self.behind.metavar}...]"] if self.behind else []
        return " ".join((f"Usage: {self.command}", *words, "[OPTIONS]", *behind))

    def format_help(self, columns: int = WIDTH) -> str:
        """Return the whole help of the command, in lines of at most `columns`."""
        parts = [self.usage_line(), "", f"{self.summary}."]
        if self.examples:
            parts += ["", "Examples:", *_example_rows(self.examples, columns)]
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
    """Return the lines that explain options."""
    rows = [(f"{', '.join(option.flags)} {option.metavar}".rstrip(), _choices(option)) for option in options]
    return _rows(rows, columns)


def _example_rows(examples: list[tuple[str, str]], columns: int) -> list[str]:
    """Return a line for each example, or two if one of them does not fit into a line."""
    column = max(len(line) for line, _ in examples) + 4
    if column + max(len(text) for _, text in examples) <= columns:
        return [f"  {line:<{column - 2}}{text}" for line, text in examples]
    return [part for line, text in examples for part in (f"  {line}", *_wrapped(text, 6, columns))]


def _default(option: Option) -> Any:
    if not option.metavar:
        return False
    return [*option.default] if isinstance(option.default, list) else option.default


def _label(option: Option) -> str:
    return "/".join(option.flags)


def _is_value(word: str, by_flag: Collection[str]) -> bool:
    """Return whether a word can be the value of an option: not if it looks like one; a negative number can."""
    if word in by_flag:
        return False
    return not word.startswith("-") or word == "-" or " " in word or word[1:].replace(".", "", 1).isdecimal()


def number(text: str) -> int:
    """Parse a whole number, as the value of an option."""
    if not text.removeprefix("-").isdecimal():
        raise ValueError(f"{text!r} is not a whole number")
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"{text!r} has too many digits")
    return int(text)


def amount(text: str) -> int:
    """Parse a whole number above zero, as the value of an option."""
    if (value := number(text)) > 0:
        return value
    raise ValueError(f"{text!r} is not above zero")


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

"""Arguments after a skill's name: their words, their placeholders, and their use in scripts.

Words are split as in a shell, with two exceptions, because people type prose and paths here, too: an apostrophe inside
or after a word (`don't`, `users'`) opens no quote, and a backslash before a letter or a digit (`C:\\Users`) is a
character like any other. Nothing is expanded, and no input is an error.

A script is parsed only for its quotes, and for constructs that read a value as code.
"""

from __future__ import annotations

import re

from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PART = compile_late(
    r"""(?P<space>\s+)"""
    r"""|(?<!\w)'(?P<single>[^']*)'"""
    r'''|"(?P<double>(?:[^"\\]|\\.)*+)"'''
    r"""|\\(?P<escaped>\W)"""
    r"""|(?P<plain>[^\s'"\\]+|.)""",
    re.DOTALL,
)
_ESCAPED = compile_late(r'\\(["\\$`])')
"""A character that a backslash escapes inside double quotes."""

_SIGN = compile_late(r"""\\.|\$?'|["()`]|\$\(|(?<![^\s;&|(])#""", re.DOTALL)
_WITHOUT_ESCAPES, _WITH_ESCAPES = re.compile(r"[^']*+"), re.compile(r"(?:[^'\\]|\\.)*+", re.DOTALL)
"""The content of `'...'` and of `$'...'`."""
PLACE = "\0"
"""Stands for a placeholder in a script that `makes_code` checks."""
_HEREDOC = compile_late(r"(?<!<)<<(?!<)")
_EVALUATES = compile_late(
    r"""
      \[\[ | \(\( | \$\[                                    # arithmetic, where `a[$(id)]` is a number
    | \$\{\w+:(?![-=?+]) | \$\{\w+\[(?![@*]\]) | \w\[[^]\n]{0,99}\]\+?=
    | \$\{!\w | (?<![\w./-])(?: (?:test|\[)\s+(?:!\s+)?-v\b | printf\s+-v\b )    # names of variables
    | (?<![\w./-])(?:declare|typeset|local|readonly|export|read|unset)\b(?:\s+-\w*[in] | (?:\s+-\w+){0,9}\s+"?\0)
    | (?<![\w./-])(?: eval | let | trap | ssh | (?i:iex|invoke-expression|invoke-command|scriptblock) )(?![\w./-])
    | (?<![\w.-])(?:ba|da|k|z)?sh\s+(?:-\S+\s+){0,9}-\w*c\b | \|\s*(?:[\w/]*/)?(?:ba|da|k|z)?sh(?![\w./-])
    | (?<![\w.-])(?:python[\d.]*|perl|ruby|node|php)\s+(?:-\S+\s+){0,9}(?:-\w*[ceEpr]\b|--eval\b)
    """,
    re.VERBOSE,
)
"""Places where a value is read as code even in quotes; matched generously: a wrong guess only prevents a run."""
_ACTIVE = compile_late(r'(["\\$`])')


def split_arguments(raw: str) -> tuple[str, ...]:
    """Split an argument string by shell quoting; an unclosed quote is literal."""
    words: list[str] = []
    word: list[str] = []
    for part in _PART.finditer(raw):
        kind = part.lastgroup or ""
        if kind != "space":
            word.append(_ESCAPED.sub(r"\1", part[kind]) if kind == "double" else part[kind])
        elif word:
            words.append("".join(word))
            word = []
    return (*words, "".join(word)) if word else tuple(words)


def placeholder(names: Sequence[str]) -> str:
    """Return the pattern of all placeholders for arguments, with the declared `names`.

    Groups: `escape` (one backslash before it), `all` (`$ARGUMENTS`), `at` (`$ARGUMENTS[N]`), `index` (`$N`), `name`.
    """
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    declared = "|".join(map(re.escape, longest_first)) or "(?!)"
    return (
        r"(?:(?<!\\)(?P<escape>\\))?\$(?:"
        r"(?P<all>ARGUMENTS)(?:\[(?P<at>[0-9]{1,9})\]|(?!\w|\[[0-9]))"
        r"|(?P<index>[0-9]{1,9})(?!\w)"
        rf"|(?P<name>{declared})(?!\w))"
    )


class Answer(NamedTuple):
    """The result of looking up a placeholder."""

    variable: str
    """The environment variable for the value if it must not be in the text itself."""
    value: str | None
    """None if the placeholder stays as written."""
    note: Note | None = None
    counts: bool = False
    """Whether the body numbers its arguments, so that another `$N` is not an amount of money: `$ARGUMENTS[N]`, or a
    `$N` for a word that was typed or for the next one.
    """


class Given(NamedTuple):
    """The typed text, or None if nobody invoked the skill, and the declared names of its words."""

    raw: str | None
    words: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, raw: str | None, names: Sequence[str]) -> Given:
        """Split the typed text into words."""
        return cls(raw, split_arguments(raw or ""), tuple(names))

    def answer(self, found: re.Match[str], *, in_command: bool = False) -> Answer:
        """Look up a match of `placeholder`: the whole string, or a word by its number, counted from 0, or by its name.

        A name without a word is empty in prose; in a command it stays, because `rm -r build/$name` is another command
        without it.
        """
        name, number = found["name"], found["at"] or found["index"]
        if self.raw is None:
            return Answer("", None)
        if not name and not number:
            return Answer("WHET_ARGUMENTS", self.raw)
        place = self.names.index(name) if name else int(number)
        variable = f"WHET_ARGUMENT_{place}"
        counts = not name and (found["at"] is not None or place <= len(self.words))
        if place < len(self.words):
            return Answer(variable, self.words[place], counts=counts)
        if name:
            outcome = "stays as written in commands" if in_command else "is left empty"
            message = f"The argument {name!r} is missing; ${name} {outcome}."
            hint = f"Pass {place + 1} or more: {' '.join(self.names[: place + 1])}."
            note = Note("argument-not-given", "warning", message, hint)
            return Answer(variable, None if in_command else "", note)
        written = found.group()
        message = f"Argument {place} (counted from 0) is missing; {written} stays as written."
        hint = f"Pass {place + 1} or more, or write \\{written} if you do not mean an argument."
        note = Note("placeholder-unfilled", "info", message, hint)
        return Answer(variable, None, note if counts or place < 10 else None, counts)


def quoting(script: str) -> tuple[list[int], list[str]]:
    """Return the offsets where quoting changes, the first one 0, and the quote from each: `'`, `"` or nothing.

    A script that `has_heredoc` is misread.
    """
    places, quotes = [0], [""]
    within = [""]
    at = 0
    while found := _SIGN.search(script, at):
        sign, at = found.group(), found.end()
        if sign in ("'", "$'") and within[-1] != '"':
            inside = (_WITHOUT_ESCAPES if sign == "'" else _WITH_ESCAPES).match(script, at)
            end = inside.end() if inside else at
            places += (found.start(), end)
            quotes += ("'", "")
            at = end + 1
            continue
        if sign in ('"', "`") and within[-1] == sign:
            within.pop()
        elif sign in ('"', "`", "$(") or (sign == "(" and within[-1] != '"'):
            within.append(sign)
        elif sign == ")" and within[-1] in ("(", "$("):
            within.pop()
        elif sign == "#" and within[-1] != '"':
            line_end = script.find("\n", at)
            at = len(script) if line_end < 0 else line_end
        places.append(found.end())
        quotes.append('"' if within[-1] == '"' else "")
    return places, quotes


def word_at(script: str, at: int) -> bool:
    """Return whether a word begins there, and not a part of one as after `x=` and `a/`."""
    return at == 0 or script[at - 1] in " \t\n(`"


def has_heredoc(script: str) -> bool:
    """Return whether `quoting` misreads the script: a heredoc has its own quotes."""
    return _HEREDOC.search(script) is not None


def makes_code(script: str) -> str:
    """Return the construct in a script, with `PLACE` for placeholders, that would read a value as code; or ""."""
    found = _EVALUATES.search(script)
    return " ".join(found.group().partition(PLACE)[0].rstrip('" ').split()) if found else ""


def literal(value: str, quote: str) -> str:
    """Return a value as data in a script, outside quotes or inside double ones."""
    import shlex

    return _ACTIVE.sub(r"\\\1", value) if quote else shlex.quote(value)

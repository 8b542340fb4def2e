"""What was typed behind a skill's name: its words, and the placeholders in a body that stand for them.

Words are split as a shell splits them, with two kindnesses, because people type prose and paths here and not only
shell: an apostrophe inside or behind a word (`don't`, `users'`) opens no quote, and a backslash before a letter or a
digit (`C:\\Users`) is a character like any other. Nothing is expanded, and no input is an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.skill.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Sequence

_PART = re.compile(
    r"""(?P<space>\s+)"""
    r"""|(?<!\w)'(?P<single>[^']*)'"""
    r'''|"(?P<double>(?:[^"\\]|\\.)*+)"'''
    r"""|\\(?P<escaped>\W)"""
    r"""|(?P<plain>[^\s'"\\]+|.)""",
    re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\$`])')
"""What a backslash escapes inside double quotes."""


def split_arguments(raw: str) -> tuple[str, ...]:
    """The words of an argument string by shell quoting; a quote that is never closed is taken literally."""
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
    """The pattern of every placeholder for arguments, `names` being the declared ones.

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
    """What a placeholder comes to."""

    variable: str
    """The environment variable that carries the value where it may not stand in the text itself."""
    value: str | None
    """None when the placeholder stays as written."""
    taken: bool
    """Whether this is a place for the arguments: `$ARGUMENTS` in any form, a declared name, a `$N` that was given."""
    note: Diagnostic | None = None


class Given(NamedTuple):
    """What was typed, or None when nobody invoked the skill, and the declared names of its words."""

    raw: str | None
    words: tuple[str, ...]
    names: tuple[str, ...]

    def answer(self, found: re.Match[str]) -> Answer:
        """Look up a match of `placeholder`: the whole string, or a word by its number, counted from 0, or its name."""
        name, number = found["name"], found["at"] or found["index"]
        place_for_all = found["index"] is None
        if self.raw is None:
            return Answer("", None, place_for_all)
        if not name and not number:
            return Answer("WHET_ARGUMENTS", self.raw, taken=True)
        place = self.names.index(name) if name else int(number)
        variable = f"WHET_ARGUMENT_{place}"
        if place < len(self.words):
            return Answer(variable, self.words[place], taken=True)
        if name:
            message = f"The argument {name!r} was not given; ${name} is left empty."
            hint = f"Give {place + 1} or more: {' '.join(self.names[: place + 1])}."
            return Answer(variable, "", True, Diagnostic("argument-not-given", "warning", message, hint=hint))
        written = found.group()
        message = f"There is no argument number {place}, counted from 0; {written} stays as written."
        hint = f"Give {place + 1} or more, or write \\{written} where no argument is meant."
        return Answer(variable, None, place_for_all, Diagnostic("placeholder-unfilled", "info", message, hint=hint))

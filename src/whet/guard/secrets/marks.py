"""Marks for the secrets of one text: each secret is replaced by a mark that remembers it, until all of them are decided.

In prose every mark becomes `[secret:kind]`. In code that would break the syntax outside strings and comments, where most
candidates are not secrets: `password = read_password1` names a variable. So in code of a known language, a mark stays only
if the code still parses with it. A name is restored, a number becomes a string, and a token where only a name is valid
becomes `SECRET_GITHUB_TOKEN`.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.syntax import blocks_of, can_parse, is_program, parses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BINARY = "[binary]"
_FIRST = 0xF0000
"""A private-use character; the number of a mark is added to it to identify the mark, and no other text contains it."""
_MOST = 0xFFFD
_MARK = expression(r"\[(secret:[^\[\]\n]{1,60}|binary)([\U000F0000-\U000FFFFD])\]")
_NAME = expression(r"[A-Za-z_$][\w$]{0,80}(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]{0,80}){0,8}[\s:;,.!?)\]}]{0,80}\Z")
_CLOSING = expression(r"[)\]}>,;:]")
_SWITCH = expression(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")
_RANDOM = 4
"""Number of changes between letters and digits from which a text is not a name: `a8f3kd92jf83`."""
_NUMBERS = frozenset(("password", "pin", "code"))
"""Kinds of secrets that may be numbers of at least `_DIGITS` digits."""
_DIGITS = 6
_QUOTE = expression(r"\"\"\"|'''|[\"'`]")
_RUN = expression(r"[A-Za-z0-9+/]{40}")
_COMMENT = expression(r"//|#|--|/\*|\A\s*\*")
_COMMENT_END = expression(r"(?:[^/*]|/(?!\*)|\*(?!/)){0,20000}\*/")
_QUOTES = expression(r"\"|(?<!\w)'|'(?!\w)")
"""The quotes of a string; a quote in the middle of a word is an apostrophe."""
_UNCLEAR = expression(
    r"`|<<[~-]?[\"']?[A-Za-z_]|<<<|^[ \t]{0,40}[A-Z][A-Z_]{1,40}[ \t]{0,9};?\r?$|</|/>|\?>|^=begin|^__END__|#=|\{-|-\}|\$/"
    r"|\[=*\[|\]=*\]|\[\w{0,40}\||\|\]|[%~][A-Za-z]{0,20}[({\[<|/]",
    re.MULTILINE,
)
"""Signs of text over several lines: raw strings and heredocs of any language, markup, comments of some languages."""
_TRIED = 60
"""Largest number of marks in one piece of code that are tried with a parser."""


class Found(NamedTuple):
    """A secret of a text."""

    value: str
    kind: str
    sure: bool
    """The secret is known by its shape or its value, not only by its place."""


class Marks:
    """The secrets of one text."""

    def __init__(self) -> None:
        self._found: list[Found] = []
        self._returned: set[int] = set()

    def put(self, value: str, kind: str, *, sure: bool = False) -> str:
        """Return the mark that replaces a secret until all are decided."""
        plain = show(kind)
        if len(self._found) >= _MOST:
            return plain
        self._found.append(Found(value, kind, sure))
        return f"{plain[:-1]}{chr(_FIRST + len(self._found) - 1)}]"

    def settle(self, text: str, language: str = "") -> tuple[str, int]:
        """Return the text with every mark decided, and the number of hidden secrets.

        `language` is the language of the whole text. Without it, the text is prose, and its labelled blocks are code.
        """
        if not self._found:
            return text, 0
        pieces: list[str] = []
        done = 0
        blocks = [(0, len(text), language)] if language else self._blocks(text)
        for start, end, name in blocks:
            pieces += (self._render(text[done:start]), self._in_code(text[start:end], name))
            done = end
        settled = "".join((*pieces, self._render(text[done:])))
        shown = {number for number, _ in self._numbers(text)} - self._returned
        return settled, sum(self._found[number].kind != "binary" for number in shown)

    def by_place(self) -> Iterator[tuple[str, str]]:
        """Yield the secrets that were found only by their place, with their kinds; complete once the text is settled."""
        for number, found in enumerate(self._found):
            if not found.sure and number not in self._returned:
                yield self._original(found.value), found.kind

    def _blocks(self, text: str) -> list[tuple[int, int, str]]:
        if "```" not in text and "~~~" not in text:
            return []
        return [(block.start, block.end, block.language) for block in blocks_of(text) if block.language]

    def _numbers(self, text: str) -> Iterator[tuple[int, re.Match[str]]]:
        for mark in _MARK.finditer(text):
            if (number := ord(mark[2]) - _FIRST) < len(self._found):
                yield number, mark

    def _render(self, text: str, forms: Mapping[int, str] | None = None) -> str:
        """Return the text with each mark in its form; without `forms`, in the form for prose."""

        def shown(mark: re.Match[str]) -> str:
            number = ord(mark[2]) - _FIRST
            if number >= len(self._found):
                return mark[0]
            return forms[number] if forms is not None and number in forms else f"[{mark[1]}]"

        return _MARK.sub(shown, text)

    def _original(self, text: str) -> str:
        """Return the text with all secrets restored."""
        while any(True for _ in self._numbers(text)):
            text = self._render(text, {number: self._found[number].value for number, _ in self._numbers(text)})
        return text

    def _in_code(self, code: str, language: str) -> str:
        numbers = dict(self._numbers(code))
        if not numbers:
            return code
        original = self._original(code)
        if not can_parse(language) or not parses(language, dedent(original)):
            forms = self._without_parser(code) if is_program(language) else {}
            self._returned |= set(forms)
            return self._render(code, forms)
        if parses(language, dedent(self._render(code))):
            return self._render(code)
        before = {number: self._original(mark[0]) for number, mark in numbers.items()}
        forms = {}
        for number in list(numbers)[:_TRIED]:
            for form in self._forms(number, program=is_program(language)):
                if parses(language, dedent(self._render(code, {**before, number: form}))):
                    forms[number] = form
                    break
        forms.update({number: self._named(number) for number in list(numbers)[_TRIED:]})
        if not parses(language, dedent(self._render(code, forms))):
            names = {number: self._named(number) for number in numbers}
            forms = names if parses(language, dedent(self._render(code, names))) else forms
        self._returned |= {number for number, form in forms.items() if form == before[number]}
        return self._render(code, forms)

    def _forms(self, number: int, *, program: bool) -> Iterator[str]:
        """Yield the possible replacements for a secret in code, the best first."""
        found = self._found[number]
        yield (plain := show(found.kind))
        value = self._original(found.value)
        if program and self._is_name(number):
            yield value
        if (quote := _QUOTE.search(value)) and not _RUN.search(value, quote.start()):
            yield plain + value[quote.start() :]
        for form in (f'"{plain}"', self._named(number)):
            yield form
            if not found.sure:
                yield from (form + value[closing.start() :] for closing in reversed([*_CLOSING.finditer(value)]))
        if not found.sure and len(_SWITCH.findall(value)) < _RANDOM:
            yield value

    def _named(self, number: int) -> str:
        """Return the secret as the name of a variable."""
        return "SECRET_" + "".join(sign if sign.isalnum() else "_" for sign in self._found[number].kind.upper())

    def _is_name(self, number: int) -> bool:
        """Return whether the secret is probably a name in a program, or a number such as a limit."""
        found = self._found[number]
        value = self._original(found.value)
        if value.isdigit():
            return not found.sure and (len(value) < _DIGITS or found.kind not in _NUMBERS)
        return not found.sure and _NAME.match(value) is not None and len(_SWITCH.findall(value)) < _RANDOM

    def _without_parser(self, code: str) -> dict[int, str]:
        """Return the names to restore in code that cannot be parsed.

        They are on lines without strings and comments, in code in which no string spans several lines.
        """
        original = self._original(code)
        if _UNCLEAR.search(original) or any(len(_QUOTES.findall(line)) % 2 for line in original.split("\n")):
            return {}
        forms: dict[int, str] = {}
        for number, mark in self._numbers(code):
            start, end = mark.span()
            commented = code.rfind("/*", 0, start) > code.rfind("*/", 0, start) or _COMMENT_END.match(code, end)
            before = code[code.rfind("\n", 0, start) + 1 : start]
            line = before + code[end:].partition("\n")[0]
            if not commented and not _COMMENT.search(before) and not _QUOTES.search(line) and self._is_name(number):
                forms[number] = self._original(self._found[number].value)
        return forms


def without_marks(text: str) -> str:
    """Return the text with everything changed that could be mistaken for a mark."""
    return _MARK.sub(lambda mark: f"[{mark[1]}\N{REPLACEMENT CHARACTER}]", text)


def show(kind: str) -> str:
    """Return the replacement for a secret of a kind."""
    return BINARY if kind == "binary" else f"[secret:{kind.lower().replace(' ', '-')}]"

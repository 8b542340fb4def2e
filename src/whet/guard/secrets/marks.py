"""What was found in one text: each secret is replaced by a mark that remembers it, until all of them are decided.

In prose every mark becomes `[secret:kind]`. In code that would break the syntax outside of strings and comments, and
what stands there is mostly no secret: `password = read_password1` names a variable. So in code whose language is known,
a mark stays only where the code still parses with it. A name is given back, a number becomes a string, and a token
that stands where only a name may stand becomes `SECRET_GITHUB_TOKEN`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.syntax import blocks_of, can_parse, is_program, language_name, parses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BINARY = "[binary]"
_FIRST = 0xF0000
"""A character for private use; with the number of a mark added it is part of the mark, and of no other text."""
_MOST = 0xFFFD
_MARK = expression(r"\[(secret:[^\[\]\n]{1,60}|binary)([\U000F0000-\U000FFFFD])\]")
_NAME = expression(r"[A-Za-z_$][\w$]{0,80}(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]{0,80}){0,8}[\s:;,.!?)\]}]{0,80}\Z")
_CLOSING = expression(r"[)\]}>,;:]")
_SWITCH = expression(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")
_RANDOM = 4
"""Changes between letters and digits from which on a name is none: `a8f3kd92jf83`."""
_NUMBERS = frozenset(("password", "pin", "code"))
"""Kinds of secrets that may be numbers, and the least number of digits."""
_DIGITS = 6
_QUOTE = expression(r"\"\"\"|'''|[\"'`]")
_RUN = expression(r"[A-Za-z0-9+/]{40}")
_COMMENT = expression(r"//|#|--|/\*|\A\s*\*")
_SIGN = expression(r"\\[^\n]|\"\"\"|'''|[\"'`\n]|\$\{(?=[^}`]{0,400}`)|/\*|\*/|//|#|--")
"""Where strings and comments begin and end, in any language."""
_DOUBTFUL = frozenset((("'", "\n"), ('"', "\n"), ("`", "${"), ("`", "\\`"), ('"""', '\\"'), ("'''", "\\'")))
"""What in a string leaves open where it ends: a line end, strings within it, an escape that may be none."""
_HASH = frozenset(("python", "ruby", "elixir", "julia", "r", "php"))
_DASHES = frozenset(("lua", "haskell"))
"""Languages whose comments do not begin with `//`, or not only."""
_UNCLEAR = expression(
    r"<<[~-]?[\"'`]?[A-Za-z_]|<<<|^[ \t]{0,40}[A-Z][A-Z_]{1,40}[ \t]{0,9};?\r?$|</|/>|\?>|^=begin|^__END__|#=|\{-|-\}|\$/",
    re.MULTILINE,
)
"""Signs of text that no quotes enclose: heredocs and their ends, markup, comments of some languages."""
_UNCLEAR_IN = {
    "ruby": expression(r"%[qQwWiIrxs]?[^\w\s=]"),
    "elixir": expression(r"~[A-Za-z]{1,20}[^\w\s]"),
    "lua": expression(r"\[=*\[|\]=*\]"),
    "haskell": expression(r"\[\w{0,40}\||\|\]"),
    "cpp": expression(r"R\""),
    "r": expression(r"[rR][\"']"),
}
_WORD = expression(r"\w")
_TRIED = 60
"""Marks of one piece of code that are tried with a parser."""


class Found(NamedTuple):
    """A secret of a text."""

    value: str
    kind: str
    sure: bool
    """It is known by its shape or its value, not only by where it stands."""


class Marks:
    """The secrets of one text."""

    def __init__(self) -> None:
        self._found: list[Found] = []
        self._returned: set[int] = set()

    def put(self, value: str, kind: str, *, sure: bool = False) -> str:
        """What stands in the place of a secret until all are decided."""
        plain = show(kind)
        if len(self._found) >= _MOST:
            return plain
        self._found.append(Found(value, kind, sure))
        return f"{plain[:-1]}{chr(_FIRST + len(self._found) - 1)}]"

    def settle(self, text: str, language: str = "") -> tuple[str, int]:
        """The text with every mark decided, and how many secrets were hidden.

        `language` is that of the whole text. Without it, the text is prose, and its labelled blocks are code.
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
        """The secrets that only their place told, with their kinds; known once the text is settled."""
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
        """The text with each mark in its form; without forms, as prose has it."""

        def shown(mark: re.Match[str]) -> str:
            number = ord(mark[2]) - _FIRST
            if number >= len(self._found):
                return mark[0]
            return forms[number] if forms is not None and number in forms else f"[{mark[1]}]"

        return _MARK.sub(shown, text)

    def _original(self, text: str) -> str:
        """The text as it was."""
        while any(True for _ in self._numbers(text)):
            text = self._render(text, {number: self._found[number].value for number, _ in self._numbers(text)})
        return text

    def _in_code(self, code: str, language: str) -> str:
        numbers = dict(self._numbers(code))
        if not numbers:
            return code
        original = self._original(code)
        if not can_parse(language) or not parses(language, dedent(original)):
            forms = self._without_parser(code, language_name(language)) if is_program(language) else {}
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
        """What may stand for a secret in code, the best first."""
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
        """The secret as the name of a variable."""
        return "SECRET_" + "".join(sign if sign.isalnum() else "_" for sign in self._found[number].kind.upper())

    def _is_name(self, number: int) -> bool:
        """Is it the name of something in a program, or a number such as a limit, as far as one can tell?"""
        found = self._found[number]
        value = self._original(found.value)
        if value.isdigit():
            return not found.sure and (len(value) < _DIGITS or found.kind not in _NUMBERS)
        return not found.sure and _NAME.match(value) is not None and len(_SWITCH.findall(value)) < _RANDOM

    def _without_parser(self, code: str, language: str) -> dict[int, str]:
        """The names that are given back in code that cannot be parsed: those outside of strings and comments."""
        pieces: list[str] = []
        places: list[tuple[int, int]] = []
        done = length = 0
        for number, mark in self._numbers(code):
            before, value = code[done : mark.start()], self._original(mark[0])
            places.append((number, length + len(before)))
            pieces += (before, value)
            length += len(before) + len(value)
            done = mark.end()
        original = "".join((*pieces, code[done:]))
        spans = _enclosed(original, language)
        if spans is None:
            return {}
        # A piece of a file may begin and end within a string: then the quotes add up, and mean the opposite.
        readings = [spans, *filter(None, (_enclosed(original, language, quote) for quote in "\"'`"))]
        forms: dict[int, str] = {}
        for number, place in places:
            inside = any(_holds(reading, place) for reading in readings)
            line = original[original.rfind("\n", 0, place) + 1 : place]
            if not inside and not _COMMENT.search(line) and self._is_name(number):
                forms[number] = self._original(self._found[number].value)
        return forms


def without_marks(text: str) -> str:
    """The text, in which nothing can be taken for a mark that was put there."""
    return _MARK.sub(lambda mark: f"[{mark[1]}\N{REPLACEMENT CHARACTER}]", text)


def _holds(spans: list[tuple[int, int]], place: int) -> bool:
    """Is a place within one of the spans, which are in order?"""
    at = bisect_left(spans, (place, 0)) - 1
    return at >= 0 and place < spans[at][1]


def _enclosed(code: str, language: str, within: str = "") -> list[tuple[int, int]] | None:
    """Where the strings and comments of some code are, in order; None where that is in doubt.

    It is in doubt where quotes do not add up: a piece of a file may begin or end within a string. `within` is the quote
    of the string that it begins in; then it has to end in one, too, and no string may end right before a word.
    """
    if within not in code or _UNCLEAR.search(code) or (language in _UNCLEAR_IN and _UNCLEAR_IN[language].search(code)):
        return None
    slashes = language not in (_HASH | _DASHES) - {"php"}
    lines = {"//": slashes, "#": language in _HASH, "--": language in _DASHES}
    spans: list[tuple[int, int]] = []
    opened, start = within, 0
    for found in _SIGN.finditer(code):
        sign = found[0]
        if not opened:
            if sign == "*/" and slashes:
                return None
            if sign[0] in "\"'`" or lines.get(sign, False) or (sign == "/*" and slashes):
                opened, start = sign, found.start()
        elif sign == ("\n" if opened in lines else "*/" if opened == "/*" else opened):
            if within and opened not in lines and _WORD.match(code, found.end()):
                return None
            spans.append((start, found.end()))
            opened = ""
        elif (opened, sign) in _DOUBTFUL:
            return None
    if opened in lines or (within and opened):
        spans.append((start, len(code)))
    elif opened or within:
        return None
    return spans


def show(kind: str) -> str:
    """What is left of a secret of some kind."""
    return BINARY if kind == "binary" else f"[secret:{kind.lower().replace(' ', '-')}]"

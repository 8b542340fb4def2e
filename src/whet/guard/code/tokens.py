"""The tokens of a program in a language without a grammar here: texts, names, numbers, signs and the ends of lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from whet.guard.expression import expression


class Token(NamedTuple):
    """A token."""

    kind: str
    """`text`, `long` (with three quotation marks), `quoted` (with a letter before it), `symbol`, `command`, `name`, `number`,
    `pattern`, `line` or `sign`."""
    text: str
    line: int
    indent: int
    """Number of blanks at the start of its line."""
    spaced: bool
    """White space stands before it."""


END = Token("line", "\n", 0, 0, spaced=True)
"""What comes after the last token."""

_TOKEN = expression(
    r"(?P<space>[ \t\r\f\v]{1,999}|\\\n|//[^\n]{0,9999}|/\*[\s\S]{0,9999}?\*/|--\[\[[\s\S]{0,9999}?\]\]"
    r"|(?:(?<=[\s;{}])|(?<![\s\S]))(?:#(?!\{)|--(?=[\s\[!A-Za-z]))[^\n]{0,9999})"
    r"|(?:(?<=\n)|(?<![\s\S]))=(?P<manual>[a-z])"
    r"|(?P<line>\n|;)"
    r"|(?<![\w)])<<(?:[~<-]|<-)?[\"'`]?(?P<here>[A-Z_][A-Z0-9_]{1,30})[\"'`]?(?P<rest>[^\n]{0,500})\n"
    r"|(?P<pattern>(?<![\w$@.>])(?:qr|m|s|tr)(?:\{(?:[^{}\n\\]|\\.|\{[^{}\n]{0,40}\}){1,400}\}|/(?:[^/\n\\]|\\.){1,400}/)(?:\{[^{}\n]{0,400}\})?\w{0,8}|(?:(?<==~)|(?<=!~)|(?<=[(,])|(?<==~ )|(?<=!~ )|(?<=, ))m?/(?:[^/\n\\]|\\.){1,400}/\w{0,8})"
    r"|(?P<long>\"\"\"[\s\S]{0,20000}?\"{3,5}|'''[\s\S]{0,20000}?''')"
    r"|(?P<command>`(?:[^`\\]|\\[\s\S]){0,8000}`"
    r"|(?:%x|\bqx) ?(?:\([^)]{0,4000}\)|\{[^}]{0,4000}\}|\[[^\]]{0,4000}\]|/[^/\n]{0,4000}/))"
    r"|(?P<quoted>(?:%[qQwW]|\bq[qw]?)(?:\([^)]{0,4000}\)|\{[^}]{0,4000}\}|\[[^\]]{0,4000}\])|\br#{0,3}\"[^\"]{0,8000}\"#{0,3}"
    r"|\bq[qw]?(?P<mark>[#!|~])(?:(?!(?P=mark))[\s\S]){0,4000}(?P=mark))"
    r"|(?P<text>(?:[$@]{1,2}|\b[LbBcfr])?\"(?:[^\"\\\n#$]|(?>[#$]\{(?:[^{}\"\n]|\"[^\"\n]{0,200}\"){0,200}\}|[#$])|\\[\s\S]){0,8000}\"|\"(?:[^\"\\]|\\[\s\S]){0,4000}\""
    r"|'(?:[^'\\\n]|\\.){0,8000}')"
    r"|(?P<symbol>(?<![\w:)\]?]):(?=[A-Za-z_])\w{1,60})"
    r"|(?P<name>[$@]{0,2}[A-Za-z_]\w{0,200}(?:[!?](?![=~]))?|[$@]\d{1,3})"
    r"|<(?P<handle>\$\w{1,40}|STDIN)>"
    r"|(?P<number>\d\w{0,60}(?:\.\d\w{0,60})?)"
    r"|(?P<sign><<-|[=!]==|<=>|\|\|=|\?\?=|//=|\.\.\.|:=|<-|->|=>|::|\?\.|&\.|\.\.|==|!=|<=|>=|=~|!~|\+=|\.=|-=|\|=|&&|\|\||\?\?|\?:|<<|>>"
    r"|\|>|<>|\+\+|\*\*|[\s\S])"
)


_CLOSING = expression(r"^[ \t]{0,80}([A-Z_][A-Z0-9_]{1,30})\b", re.MULTILINE)
"""A line that may end a document in a program."""


def tokens(text: str, *, lines: bool = False) -> list[Token]:
    """Return the tokens of a program, without white space and comments.

    With `lines`, no text or command goes beyond its line: a quotation mark may be none.
    """
    found: list[Token] = []
    line, at, indent, spaced = 1, 0, _indent(text, 0), True
    ends: dict[str, list[int]] | None = None
    while (match := _TOKEN.match(text, at)) is not None:
        kind, said, at = match.lastgroup or "", match[0], match.end()
        if lines and kind in ("text", "quoted", "command") and "\n" in said:
            kind, said, at = "sign", said[0], match.start() + 1
        if kind == "rest":
            ends = _closings(text) if ends is None else ends
            places = ends.get(match["here"], [])
            end = places[bisect_left(places, at)] if bisect_left(places, at) < len(places) else -1
            if end >= 0:
                found.append(Token("text", f'"{text[at:end]}"', line, indent, spaced))
                said, at = (
                    text[match.start() : end] + match["here"],
                    text.index(match["here"], end) + len(match["here"]),
                )
            found += [one._replace(line=line, indent=indent) for one in tokens(match["rest"])]
        elif kind == "manual":  # documentation of Perl or Ruby, which is text of the page in PHP
            ends_at = [] if "<?" in text else [text.find("\n=cut", at), text.find("\n=end", at)]
            at = min((end + 5 for end in ends_at if end >= 0), default=at)
            said = text[match.start() : at]
        elif kind != "space":
            whole = match[kind] if match[kind] is not None else said
            found.append(Token("name" if kind == "handle" else kind, whole, line, indent, spaced))
        spaced = kind in ("space", "line")
        if "\n" in said:
            line += said.count("\n")
            indent = _indent(text, text.rfind("\n", 0, at) + 1)
    return found


def _closings(text: str) -> dict[str, list[int]]:
    """Return where the lines begin that may end a document, by their first words."""
    found: dict[str, list[int]] = {}
    for one in _CLOSING.finditer(text):
        found.setdefault(one[1], []).append(one.start())
    return found


def _indent(text: str, start: int) -> int:
    row = text[start : start + 200]
    return len(row) - len(row.lstrip(" \t"))

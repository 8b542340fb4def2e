"""The tokens of a program in a language without a grammar here: texts, names, numbers, signs and the ends of lines."""

from __future__ import annotations

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
    """Number of characters before the first token of its line."""
    spaced: bool
    """White space stands before it."""


END = Token("line", "\n", 0, 0, spaced=True)
"""What comes after the last token."""

_TOKEN = expression(
    r"(?P<space>[ \t\r\f\v]{1,999}|\\\n|//[^\n]{0,9999}|/\*[\s\S]{0,9999}?\*/|--\[\[[\s\S]{0,9999}?\]\]"
    r"|(?:(?<=[\s;{}])|(?<![\s\S]))(?:#(?!\{)|--(?=[\s\[!A-Za-z]))[^\n]{0,9999})"
    r"|(?P<line>\n|;)"
    r"|<<[~<]?-?[\"'`]?(?P<here>[A-Z_][A-Z0-9_]{1,30})[\"'`]?(?P<rest>[^\n]{0,500})\n(?P<document>[\s\S]{0,20000}?)\n[ \t]{0,80}(?P=here)\b"
    r"|(?P<pattern>(?<![\w$@.>])(?:qr|m|s|tr)(?:\{(?:[^{}\n\\]|\\.|\{[^{}\n]{0,40}\}){1,400}\}|/(?:[^/\n\\]|\\.){1,400}/)(?:\{[^{}\n]{0,400}\})?\w{0,8}|(?:(?<==~)|(?<=!~)|(?<=[(,]))[ ]?m?/(?:[^/\n\\]|\\.){1,400}/\w{0,8})"
    r"|(?P<long>\"\"\"[\s\S]{0,20000}?\"{3,5}|'''[\s\S]{0,20000}?''')"
    r"|(?P<command>`(?:[^`\\]|\\[\s\S]){0,8000}`"
    r"|(?:%x|\bqx) ?(?:\([^)]{0,4000}\)|\{[^}]{0,4000}\}|\[[^\]]{0,4000}\]|/[^/\n]{0,4000}/))"
    r"|(?P<quoted>(?:%[qQwW]|\bq[qw]?)(?:\([^)]{0,4000}\)|\{[^}]{0,4000}\}|\[[^\]]{0,4000}\])|\br#{0,3}\"[^\"]{0,8000}\"#{0,3})"
    r"|(?P<text>(?:[$@]{1,2}|\b[LbBcfr])?\"(?:[^\"\\\n]|\\[\s\S]){0,8000}\"|\"(?:[^\"\\]|\\[\s\S]){0,4000}\""
    r"|'(?:[^'\\\n]|\\.){0,8000}')"
    r"|(?P<symbol>(?<![\w:)\]?]):(?=[A-Za-z_])\w{1,60})"
    r"|(?P<name>[$@]{0,2}[A-Za-z_]\w{0,200}(?:[!?](?![=~]))?|[$@]\d{1,3})"
    r"|<(?P<handle>\$\w{1,40}|STDIN)>"
    r"|(?P<number>\d\w{0,60}(?:\.\d\w{0,60})?)"
    r"|(?P<sign><<-|[=!]==|<=>|\|\|=|\?\?=|//=|\.\.\.|:=|<-|->|=>|::|\?\.|&\.|\.\.|==|!=|<=|>=|=~|!~|\+=|\.=|-=|\|=|&&|\|\||\?\?|\?:|<<|>>"
    r"|\|>|<>|\+\+|\*\*|[\s\S])"
)


def tokens(text: str) -> list[Token]:
    """Return the tokens of a program, without white space and comments."""
    found: list[Token] = []
    line, at, indent, spaced = 1, 0, _indent(text, 0), True
    while (match := _TOKEN.match(text, at)) is not None:
        kind, said = match.lastgroup or "", match[0]
        if kind == "document":
            found.append(Token("text", f'"{match["document"]}"', line, indent, spaced))
            found += [one._replace(line=line, indent=indent) for one in tokens(match["rest"])]
        elif kind == "handle":
            found.append(Token("name", match["handle"], line, indent, spaced))
        elif kind != "space":
            found.append(Token(kind, said, line, indent, spaced))
        spaced = kind in ("space", "line")
        at = match.end()
        if "\n" in said:
            line += said.count("\n")
            indent = _indent(text, text.rfind("\n", 0, at) + 1)
    return found


def _indent(text: str, start: int) -> int:
    row = text[start : start + 200]
    return len(row) - len(row.lstrip(" \t"))

"""Writing values as YAML: the shortest spelling that every reader takes for the same value.

A plain word is only left plain when YAML 1.1 readers (PyYAML, Ruby, Go) and YAML 1.2 readers agree that it is text, so
`no`, `1.10` and `2026-01-01` get quotes. Every spelling is returned as rows without line ends: the first stands behind
the colon of its key, the others below it.
"""

from __future__ import annotations

import re

from whet.errors import InvalidError

Value = str | bool | int | list[str]

WIDTH = 100
"""Columns a folded text is wrapped at."""

_PRINTABLE = "\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_PRINTED = re.compile(f"[{_PRINTABLE}]*")
_TEXT = re.compile(f"[\n{_PRINTABLE}]*")
_NOT_PLAIN = re.compile(r"""^[\s\-?:,\[\]{}#&*!|>'"%@`]|:(?:\s|$)|\s#|\s$""")
_TYPED = re.compile(
    r"""(?ix) ~ | = | << | null | true | false | yes | no | on | off | y | n
      | [-+]? (?: 0b[01_]+ | 0o?[0-7_]+ | 0x[0-9a-f_]+ )
      | [-+]? [0-9][0-9_]* (?: :[0-5]?[0-9] )* (?: \.[0-9_]* )? (?: e[-+]?[0-9]+ )?
      | [-+]? \.[0-9][0-9_]* (?: e[-+]?[0-9]+ )? | [-+]?\.inf | \.nan
      | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} (?: [t\s].* )?"""
)
_FLOW_PLAIN = re.compile(r"[A-Za-z0-9_/.()][A-Za-z0-9_/.()*+ -]*")
_ESCAPED = re.compile(rf"[^{_PRINTABLE}]|[\"\\]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANK_ROW = re.compile(r"^[^\S\n]+$", re.MULTILINE)


def quote(value: str) -> str:
    """The shortest one-line spelling that reads back as exactly this text: plain when safe, else quoted."""
    if _PRINTED.fullmatch(value) and value and not _NOT_PLAIN.search(value) and not _TYPED.fullmatch(value):
        return value
    double = _double(value)
    single = _single(value)
    return single if single and len(single) < len(double) else double


def _double(value: str) -> str:
    """The text in double quotes; what cannot be shown is escaped."""
    if _SURROGATE.search(value):
        raise InvalidError(
            "cannot-edit",
            "The value holds half of a surrogate pair, which no UTF-8 file can carry.",
            hint="Write the character it was cut from.",
        )
    return '"' + _ESCAPED.sub(_escape, value) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _single(value: str) -> str:
    """The text in single quotes, or nothing when it holds what only double quotes can say."""
    return "'" + value.replace("'", "''") + "'" if _PRINTED.fullmatch(value) else ""


def _literal(value: str, indent: str) -> list[str] | None:
    """The text as a `|` block, or None when a block would not keep it exactly."""
    content = value.removesuffix("\n")
    if not content or content[0].isspace() or content.endswith("\n"):
        return None
    if not _TEXT.fullmatch(content) or _BLANK_ROW.search(content):
        return None
    header = "|" if value.endswith("\n") else "|-"
    return [header, *(indent + row if row else "" for row in content.split("\n"))]


def _folded(value: str, indent: str) -> list[str] | None:
    """The text as a `>` block, wrapped; None when a block would not keep it exactly."""
    content = value.removesuffix("\n")
    if not content or content != content.strip() or not _PRINTED.fullmatch(content):
        return None
    rows = [""]
    for word in content.split(" ") if "  " not in content else [content]:
        if rows[-1] and len(indent) + len(rows[-1]) + 1 + len(word) > WIDTH:
            rows.append(word)
        else:
            rows[-1] += f" {word}" if rows[-1] else word
    return [">" if value.endswith("\n") else ">-", *(indent + row for row in rows)]


def spell(value: Value, style: str, indent: str) -> list[str]:
    """The rows of a value, in the given style (see `layout.Entry`) as far as the value allows it."""
    if isinstance(value, list):
        return _sequence(value, style, indent)
    if not isinstance(value, str):
        return [str(value).lower() if isinstance(value, bool) else str(value)]
    rows: list[str] | None = None
    if style == '"':
        rows = [_double(value)]
    elif style == "'" and (single := _single(value)):
        rows = [single]
    elif style == ">" and "\n" not in value.removesuffix("\n"):
        rows = _folded(value, indent)
    elif style in ("|", ">") or (style != "'" and "\n" in value):
        rows = _literal(value, indent)
    return rows or [quote(value)]


def _sequence(items: list[str], style: str, indent: str) -> list[str]:
    """A list in brackets when the style is `[`, else with one item on each row."""
    if not items:
        return ["[]"]
    if style == "[":
        return ["[" + ", ".join(_flow(item) for item in items) + "]"]
    return ["", *(f"{indent}- {quote(item)}" for item in items)]


def _flow(item: str) -> str:
    spelled = quote(item)
    return spelled if spelled != item or _FLOW_PLAIN.fullmatch(item) else _double(item)

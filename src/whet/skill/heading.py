"""The heading of the ordinary skill, read as fast as it can be.

Most skills on disk are plain: a name equal to the directory's, a description, and a few well-known keys with scalars,
text blocks or simple lists. Listing thousands of them must not cost a YAML parser each. `quick_heading` recognises
exactly that with one regular expression and declines everything else, which then takes the full reader; a property
test holds the two equal wherever the quick one answers.
"""

from __future__ import annotations

import re

from whet.skill.block import resolve_plain
from whet.skill.coerce import one_line
from whet.skill.dialects import PLAIN_KEYS, VENDORS, Heading
from whet.skill.gates import OPEN

_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,80}+"
_TEXT = r"[^\x00-\x1f:#\x7f]*+"
_PLAIN = rf"""[^\x00-\x20\-?:,\[\]{{}}#&*!|>'"%@`\x7f]{_TEXT}(?:(?::(?=\S)|(?<=\S)[#]){_TEXT})*+"""
_QUOTED = r""""[^\x00-\x1f"\\\x7f]*+"|'[^\x00-\x1f'\x7f]*+'"""
_SCALAR = rf"(?:{_PLAIN}|(?:{_QUOTED})[ ]*+)"
_ITEM = r"""[A-Za-z0-9_/.(][^\x00-\x1f\[\]{}"'#&*!|>%@`:,?\x7f]*+"""
_ROWS = r"(?:[ ]{2}[^\x00-\x20\x7f][^\x00-\x1f\x7f]*+\n)++"
_OTHERS = rf"""((?:(?!name:|description:){_KEY}:(?:
        [ ]++{_SCALAR}\n
      | [ ]++[|>]-?+[ ]*+\n{_ROWS}
      | [ ]++\[(?:{_ITEM}(?:,[ ]*+{_ITEM})*+)?\][ ]*+\n
      | [ ]*+\n(?:(?:[ ]{{2}}-[ ]++{_SCALAR}\n)++|(?:-[ ]++{_SCALAR}\n)++)
      | (?<=\nmetadata:)[ ]*+\n(?:[ ]{{2}}{_KEY}:[ ]++{_SCALAR}\n)++
    ))*+)"""
"""Any number of other entries: a scalar, a text block, a list in one of two forms, metadata of one level."""
_SIMPLE = re.compile(
    rf"""---\n{_OTHERS}
    name:[ ]++({_SCALAR})\n{_OTHERS}
    description:[ ]++(?:({_SCALAR})\n|[|>]-?+[ ]*+\n({_ROWS})){_OTHERS}
    ---\n""",
    re.VERBOSE,
)
_ENTRY = re.compile(rf"^({_KEY}):[ ]*(.*(?:\n[ -].*)*)", re.MULTILINE)
_METADATA_KEY = re.compile(rf"\n[ ]+({_KEY}):")
_KEYS = PLAIN_KEYS - {"name", "description"}
_SAID = frozenset(("category", "when_to_use", "argument-hint"))
_NOTHING_SAID = ("", "", "")
_UNREAD = _KEYS - _SAID - {"metadata"}


def quick_heading(head: bytes, name: str) -> Heading | None:
    """The heading of a document that begins with `head` and is called `name`, or None when it is not that simple."""
    try:
        text = head[: head.find(b"\n---\n", 3) + 5].decode()
    except UnicodeDecodeError:
        return None
    found = _SIMPLE.fullmatch(text)
    if found is None or not (text.isascii() or text.replace("\n", "").isprintable()):
        return None
    before, own_name, between, scalar, rows, after = found.groups()
    description = _text(scalar) if rows is None else rows.strip().replace("\n  ", " ")
    if "  " in description:
        description = " ".join(description.split())
    if not description or not name or "  " in name or _text(own_name) != name:
        return None
    said: tuple[str, str, str] | None = _NOTHING_SAID
    if others := before + between + after:
        keys = [line.partition(":")[0] for line in others[:-1].split("\n") if line[0] not in " -"]
        if not _UNREAD.issuperset(keys) or len(set(keys)) != len(keys):
            said = _said(others)
    if said is None:
        return None
    category, when, hint = said
    return tuple.__new__(Heading, (name, description, category, OPEN, (), when, hint))  # sooner than by its constructor


def _said(others: str) -> tuple[str, str, str] | None:
    """Category, when to use it and argument hint, "" where not given; None when it is not that simple after all."""
    entries = _ENTRY.findall(others)
    values = dict(entries)
    if len(values) != len(entries) or not _KEYS.issuperset(values):
        return None
    if "metadata" in values and not _asks_nothing(values["metadata"]):
        return None
    if _SAID.isdisjoint(values):
        return _NOTHING_SAID
    found = {key: _line(values[key]) for key in _SAID if key in values}
    if not all(found.values()):
        return None
    return found.get("category", ""), one_line(found.get("when_to_use", "")), found.get("argument-hint", "")


def _line(value: str) -> str:
    """The text of a value that is one scalar on one line, else ""."""
    return "" if "\n" in value or value[0] == "[" else _text(value)


def _text(scalar: str) -> str:
    """The text of a scalar; "" where YAML would read a number or the like."""
    scalar = scalar.rstrip(" ")
    if scalar[0] in "\"'":
        return scalar[1:-1].strip(" ")
    return scalar if isinstance(resolve_plain(scalar), str) else ""


def _asks_nothing(metadata: str) -> bool:
    """Is this a mapping, without doubles, in which no agent looks for what a skill needs?"""
    keys = _METADATA_KEY.findall(metadata)
    distinct = len(keys) == metadata.count("\n") == len(set(keys))
    return distinct and metadata.startswith("\n") and VENDORS.isdisjoint(keys)

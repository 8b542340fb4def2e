"""Read the heading of an ordinary skill as fast as possible.

Most skills on disk are plain: a name equal to the directory's, a description, and a few well-known keys with scalars,
text blocks or simple lists. Listing thousands of them must not cost a YAML parser each. `quick_heading` matches exactly
that with one regular expression and declines everything else, which then takes the full reader; a property test keeps
the two equal.
"""

from __future__ import annotations

import re

from whet.skill.block import MAYBE_TYPED, BlockError, read_block, resolve_plain
from whet.skill.coerce import one_line
from whet.skill.dialects import PLAIN_KEYS, VENDORS, Heading, read_heading
from whet.skill.frontmatter import Document
from whet.skill.gates import OPEN

_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,80}+"
_TEXT = r"[^\x00-\x1f:#\x7f]*+"
_PLAIN = rf"""[^\x00-\x20\-?:,\[\]{{}}#&*!|>'"%@`\x7f]{_TEXT}(?:(?::(?=\S)|(?<=\S)[#]){_TEXT})*+"""
_QUOTED = r""""[^\x00-\x1f"\\\x7f]*+"|'[^\x00-\x1f'\x7f]*+'"""
_SCALAR = rf"(?:{_PLAIN}|(?:{_QUOTED})[ ]*+)"
_LINE = r"[ -~]*+(?:[^\x00-\x7f][ -~]*+)*+"
"""The rest of a line without control characters. A range is matched in half the time of a set."""
_ITEM = r"""[A-Za-z0-9_/.(][^\x00-\x1f\[\]{}"'#&*!|>%@`:,?\x7f]*+"""
_ROWS = rf"(?:[ ]{{2}}[^\x00-\x20\x7f]{_LINE}\n)++"
_OTHERS = rf"""((?:(?!name:|description:){_KEY}:(?:
        [ ]++{_SCALAR}\n
      | [ ]++[|>]-?+[ ]*+\n{_ROWS}
      | [ ]++\[(?:{_ITEM}(?:,[ ]*+{_ITEM})*+)?\][ ]*+\n
      | [ ]*+\n(?:(?:[ ]{{2}}-[ ]++{_SCALAR}\n)++|(?:-[ ]++{_SCALAR}\n)++)
      | (?<=\nmetadata:)[ ]*+\n(?:[ ]{{2,}}+[^\x00-\x20\x7f]{_LINE}\n)++
    ))*+)"""
"""Any number of other entries: a scalar, a text block, a list in one of two forms, metadata of any form."""
_SIMPLE = re.compile(
    rf"""---\n{_OTHERS}
    name:[ ]++({_SCALAR})\n{_OTHERS}
    description:[ ]++(?:([^\x00-\x20|>\x7f]{_LINE})\n|[|>]-?+[ ]*+\n({_ROWS})){_OTHERS}
    ---\n""",
    re.VERBOSE,
)
_ONE_SCALAR = re.compile(_SCALAR, re.VERBOSE)
_ENTRY = re.compile(rf"^({_KEY}):[ ]*(.*(?:\n[ -].*)*)", re.MULTILINE)
_FLAT = re.compile(rf"(?:\n[ ]{{2}}{_KEY}:[ ]++{_SCALAR})*+")
"""Metadata of one level."""
_METADATA_KEY = re.compile(rf"\n[ ]+({_KEY}):")
_KEYS = PLAIN_KEYS - {"name", "description"}
_SAID = frozenset(("category", "when_to_use", "argument-hint"))
_UNREAD = _KEYS - _SAID - {"metadata"}


def quick_heading(head: bytes, name: str) -> Heading | None:
    """Return the heading of a document that begins with `head` and is named `name`; None if it is not simple."""
    try:
        text = head[: head.find(b"\n---\n", 3) + 5].decode()
    except UnicodeDecodeError:
        return None
    found = _SIMPLE.fullmatch(text)
    if found is None or not (text.isascii() or text.replace("\n", "").isprintable()):
        return None
    before, own_name, between, line, rows, after = found.groups()
    if rows is not None:
        description = rows.strip().replace("\n  ", " ")
    elif (line[0].isalnum() and ":" not in line and "#" not in line) or _ONE_SCALAR.fullmatch(line):
        description = _text(line)
    else:
        return None
    if "  " in description:
        description = " ".join(description.split())
    if not description or not name or "  " in name or _text(own_name) != name:
        return None
    if others := before + between + after:
        keys = [line.partition(":")[0] for line in others.splitlines() if line[0] not in " -"]
        if len(_UNREAD.intersection(keys)) != len(keys):
            return _read_others(name, description, others)
    return tuple.__new__(Heading, (name, description, "", OPEN, (), "", ""))  # faster than its constructor


def _read_others(name: str, description: str, others: str) -> Heading | None:
    """Return the heading with the values of other entries; None if they are not simple."""
    entries = _ENTRY.findall(others)
    values = dict(entries)
    if len(values) != len(entries) or not _KEYS.issuperset(values):
        return None
    said = {key: _line(values[key]) for key in _SAID if key in values}
    if not all(said.values()):
        return None
    category, when, hint = (
        said.get("category", ""),
        one_line(said.get("when_to_use", "")),
        said.get("argument-hint", ""),
    )
    metadata = values.get("metadata", "")
    if _asks_nothing(metadata):
        return Heading(name, description, category, OPEN, (), when, hint)
    if metadata[0] != "\n":
        return None
    try:
        block = read_block(f"metadata:{metadata}\n")
    except BlockError:
        return None
    known = {"name": name, "description": description, **({"category": category} if category else {}), **block.values}
    found = read_heading(Document(known, "", "strict", {}, block.texts, (), 0), fallback_name=name)
    return None if found.notes or block.duplicates else found._replace(when=when, hint=hint)


def _line(value: str) -> str:
    """Return the text of a value that is one scalar on one line, else ""."""
    return "" if "\n" in value or value[0] == "[" else _text(value)


def _text(scalar: str) -> str:
    """Return the text of a scalar; "" if YAML would read a number or another type."""
    scalar = scalar.rstrip(" ")
    first = scalar[0]
    if first in "\"'":
        return scalar[1:-1].strip(" ")
    return scalar if first not in MAYBE_TYPED or isinstance(resolve_plain(scalar), str) else ""


def _asks_nothing(metadata: str) -> bool:
    """Return whether this is a flat mapping without duplicates and without the keys of any vendor."""
    keys = _METADATA_KEY.findall(metadata)
    return len(keys) == len(set(keys)) and VENDORS.isdisjoint(keys) and _FLAT.fullmatch(metadata) is not None

"""The heading of the ordinary skill, read as fast as it can be.

Most skills on disk are plain: one-line scalars, well-known keys, a name equal to the directory's. Listing thousands of
them must not cost a YAML parser each. `quick_heading` recognises exactly that case and declines everything else, which
then takes the full reader; a property test holds the two equal wherever the quick one answers.
"""

from __future__ import annotations

import re

from whet.skill.block import resolve_plain
from whet.skill.dialects import PLAIN_KEYS, Heading
from whet.skill.model import OPEN

_BEYOND_ASCII = r"\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
_FIRST = rf"[$()+./0-9;<=A-Z\\^_a-z~{_BEYOND_ASCII}]"
_REST = rf'[ -"$-9;-~{_BEYOND_ASCII}]'
_PLAIN = rf"{_FIRST}{_REST}*(?:(?::(?=[^\s])|(?<=\S)#){_REST}*)*"
_QUOTED = rf'"[ !#-\[\]-~{_BEYOND_ASCII}]*" *'
_SIMPLE_LINES = re.compile(rf"(?:[A-Za-z_][A-Za-z0-9_-]{{0,80}}: +(?:{_PLAIN}|{_QUOTED})\n)+")


def quick_heading(head: bytes, name: str) -> Heading | None:
    """The heading of a document that begins with `head` and is called `name`, or None when it is not that simple."""
    end = head.find(b"\n---\n", 3)
    if end < 0 or not head.startswith(b"---\n"):
        return None
    try:
        block = head[4 : end + 1].decode()
    except UnicodeDecodeError:
        return None
    if not _SIMPLE_LINES.fullmatch(block):
        return None
    values = {}
    rows = block.split("\n")
    for row in rows[:-1]:
        key, _, value = row.partition(":")
        values[key] = value
    if len(values) != len(rows) - 1 or not PLAIN_KEYS.issuperset(values) or _scalar(values.get("name", "")) != name:
        return None
    description = _scalar(values.get("description", ""))
    if not description:
        return None
    return Heading(name, " ".join(description.split()), _scalar(values.get("category", "")), OPEN, ())


def _scalar(text: str) -> str:
    """The value of a simple one-line scalar, or "" when YAML would not read it as text."""
    text = text.strip(" ")
    if text[:1] == '"':
        return text[1:-1]
    value = resolve_plain(text)
    return value if isinstance(value, str) else ""

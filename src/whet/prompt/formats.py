"""The formats of an index: the part before, one line for each skill, the part after.

Every line is harmless text: no control or invisible characters, no line breaks. XML and JSON are escaped and can be
parsed as they are, with the rules as a note in them. In other formats, no skill can write the mark of a line or the
tags of a message. A skill whose description did not fit is its name alone.
"""

from __future__ import annotations

import re

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill.names import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARK = "▸"
_LAST_SEEN = "\U000e0000"
"""From here on: tags, variation selectors and private use, which can hide text but never show any."""
_NO_CHARACTERS = "\ufffe\uffff"
_MESSAGE_TAGS = "skill_content|skill_reference|user_request|available_skills"
_BLANKS = r"\u115f\u1160\u3164\uffa0"
"""Letters that show nothing."""
_GAP = rf"(?:[^\w<>]|[{_BLANKS}])*+"
"""Characters that a reader may overlook between the start of a tag and its name: spaces, slashes, invisible ones."""
_END = rf"(?![^\W{_BLANKS}])"
_TAGS = compile_late(rf"<(?={_GAP}(?:{_MESSAGE_TAGS}){_END})", re.IGNORECASE)
_LISTED_TAGS = compile_late(rf"<(?={_GAP}(?:{_MESSAGE_TAGS}|skill){_END})", re.IGNORECASE)

_BY_NAME = (
    "Skills are instructions for particular tasks. When one of these fits the request, or the user names it, load it "
    "with skill_view(name) before you act and follow it; a description alone is not the instructions. Load several "
    "when several fit, none when none does."
)
_BY_FILE = (
    "Skills are instructions for particular tasks. When one of these fits the request, or the user names it, read its "
    "file to the end before you act and follow it; paths in it are relative to its folder. Load several when several "
    "fit, none when none does."
)


def neutral(text: str) -> str:
    """Escape the tags that mark a message."""
    return _TAGS.sub("&lt;", text)


def plain(text: str) -> str:
    """Return the text for a line without syntax: nothing in it is a tag or begins another line."""
    return _LISTED_TAGS.sub("&lt;", text).replace(MARK, ">")


class Line(NamedTuple):
    """One skill of an index."""

    name: str
    description: str
    path: str = ""


class Format(NamedTuple):
    """One format of an index."""

    line: Callable[[Line], str]
    before: str = ""
    behind: str = ""
    note: Callable[[str], str] = plain
    """Formats a note, such as the number of skills that are not listed."""
    parsed: bool = False
    """Whether programs parse it: then the rules are a note, too."""

    def told(self, rules_text: str) -> str:
        """Return the rules in this format."""
        return self.note(rules_text) if self.parsed and rules_text else rules_text


def clean(text: str) -> str:
    """Return the text in one line, without invisible, reordering or invalid XML characters."""
    if not (text.isascii() and text.isprintable()):
        unseen = {ord(character) for character in set(text) if not character.isspace() and _unseen(character)}
        text = text.translate(dict.fromkeys(unseen))
    return " ".join(text.split())


def _unseen(character: str) -> bool:
    return hidden(character) or character >= _LAST_SEEN or character in _NO_CHARACTERS


def line_cost(name: str, description: str) -> int:
    """Return the estimated tokens of a skill's line in every prompt."""
    from whet.prompt.tokens import estimate

    return estimate(_bullet(Line(name, description)))


def rules(*, paths: bool) -> str:
    """Return the rules for a model on using the list."""
    return _BY_FILE if paths else _BY_NAME


def _bullet(line: Line) -> str:
    described = f"{line.name}: {line.description}" if line.description else line.name
    return f"{MARK} {plain(f'{described} (file: {line.path})' if line.path else described)}"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _xml(line: Line) -> str:
    parts = [f"<name>{_escape(line.name)}</name>"]
    if line.description:
        parts.append(f"<description>{_escape(line.description)}</description>")
    if line.path:
        parts.append(f"<location>{_escape(line.path)}</location>")
    return f"<skill>{''.join(parts)}</skill>"


def _json(line: Line) -> str:
    import json

    fields = {key: value for key, value in line._asdict().items() if value}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + ","


def _json_note(text: str) -> str:
    import json

    return f'{{"note":{json.dumps(text, ensure_ascii=False)}}},'


def _xml_note(text: str) -> str:
    return f"<note>{_escape(text)}</note>"


FORMATS = {
    "bullet": Format(_bullet),
    "xml": Format(_xml, "<available_skills>", "</available_skills>", _xml_note, parsed=True),
    "json": Format(_json, "[", "]", _json_note, parsed=True),
    "tool": Format(_bullet, "Load a skill by its name. The skills:"),
}
"""`bullet` for a system prompt, `xml` and `json` for clients that parse it, `tool` for the description of a tool."""


def assemble(format_: str, rules_text: str, notes: Sequence[str], lines: Sequence[Line]) -> str:
    """Return the whole index."""
    shape = FORMATS[format_]
    told = shape.told(rules_text)
    rows = [shape.before, told] if shape.parsed else [told, shape.before]
    rows.extend(map(shape.line, lines))
    rows.extend(map(shape.note, notes))
    rows = [row for row in rows if row]
    if format_ == "json":
        rows[-1] = rows[-1].removesuffix(",")
    rows.append(shape.behind)
    return "".join(f"{row}\n" for row in rows if row)

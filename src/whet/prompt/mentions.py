"""Skills that a message names: `$name`, or `[$name](target)` with an explicit target.

A message is prose, code and shell in any mixture, so most dollars in it mean something else. Code is blanked out first,
with every other character left in its place; what remains is searched once from left to right. Every step is linear in
the length of the message.
"""

from __future__ import annotations

import unicodedata

from whet.patterns import compile_late
from whet.records import NamedTuple
from whet.skill import names

MAX_MENTIONS = 8
"""Number of skills that the mentions of one message may load."""
MOST_FOUND = 1_000
"""Number of mentions of one text; the caller decides which are skills."""

RUN = r"(?:[\w:-]|[^\x00-\x7f\s])++"
"""A possible name, as a pattern; `spelled` returns the part that is one, because `\\w` lacks combining marks."""
_JOINERS = "\u200c\u200d"
_MENTION = compile_late(rf"\$(?![:-])({RUN})")
_BLANK = "\0"
_TARGET = rf"[^()\n{_BLANK}]*+"
_LINK = compile_late(rf"\][ \t]*+\(({_TARGET}(?:\({_TARGET}\){_TARGET})*+)\)")
"""The text after the name of a linked mention; the target may hold pairs of parentheses, as paths do."""
_VARIABLE = compile_late(r"[0-9_]*[A-Z][0-9_]*[A-Z][A-Z0-9_]*")
"""The form of environment variables: PATH, HOME, TMP, XDG_CONFIG_HOME, FOO_BAR."""
_ROW = compile_late(r"[^\n]*\n|[^\n]+")
_FENCE = compile_late(r"[ \t]*+(`{3,}+|~{3,}+)([^\n]*)")
_TICKS = compile_late(r"`+")


class Mention(NamedTuple):
    """One skill that a text names."""

    name: str
    target: str
    """The path or locator of the linked form; "" for the plain form."""
    start: int
    end: int


def may_name(text: str) -> bool:
    """Return whether a line may name a skill, by a mention or a command. Most cannot, and need no menu."""
    return "$" in text or text.lstrip().startswith("/")


def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return the possible skills that a message names, in order, each once, at most `MOST_FOUND`.

    Not mentions: environment variables, amounts and positions (`$5`), escaped ones (`\\$name`), those after a letter, a
    digit or another dollar, `${x}` and `$(x)`, and everything in code.
    """
    found: list[Mention] = []
    seen: set[tuple[str, str]] = set()
    shown = _without_code(text) if "$" in text else ""
    position = 0
    while len(found) < MOST_FOUND and (match := _MENTION.search(shown, position)):
        mention = _mention(shown, match.start(), spelled(match[1]).rstrip(":-"))
        position = mention.end
        if _stands_free(shown, match.start()) and _is_name(mention.name):
            identity = command_form(mention.name), mention.target
            if identity[0] and identity not in seen:
                seen.add(identity)
                found.append(mention)
    return tuple(found)


def command_form(name: str) -> str:
    """Return the name in the form for comparison; a plugin's skill keeps its colon. "" if nothing is left."""
    if not isinstance(name, str):
        raise names.not_a_name(name)
    if ":" not in name:
        return names.command(name)
    scope, bare = names.split_qualified(name)
    sides = names.command(scope), names.command(bare)
    return ":".join(sides) if all(sides) else names.command(name)


def spelled(run: str) -> str:
    """Return the beginning of a run that can be a name: letters, digits and marks of any script, `_`, `-`, `:`."""
    if run.isascii():
        return run
    for at, letter in enumerate(run):
        if not (_is_word(letter) or letter in "-:"):
            return run[:at]
    return run


def _mention(text: str, start: int, name: str) -> Mention:
    end = start + 1 + len(name)
    if text[start - 1 : start] == "[" and (link := _LINK.match(text, end)) and (target := link[1].strip()):
        return Mention(name, target, start - 1, link.end())
    return Mention(name, "", start, end)


def _is_name(name: str) -> bool:
    return any(letter.isalpha() for letter in name) and not _VARIABLE.fullmatch(name)


def _stands_free(text: str, at: int) -> bool:
    before = text[at - 1] if at else " "
    return not (before == "$" or _is_word(before) or _escaped(text, at))


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter in "_" + _JOINERS or unicodedata.category(letter).startswith("M")


def _escaped(text: str, at: int) -> bool:
    """Return whether the character follows an odd number of backslashes."""
    first = at
    while first and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _without_code(text: str) -> str:
    """Return the text with fenced code and inline code blanked out, at the same length."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    paragraph: list[str] = []
    fence = ""
    for row in _ROW.findall(text):
        mark = _FENCE.match(row)
        opens = mark is not None and (mark[1][0] == "~" or "`" not in mark[2])
        if not fence and not opens and row.strip():
            paragraph.append(row)
            continue
        pieces.append(_without_spans("".join(paragraph)))
        paragraph.clear()
        pieces.append(_BLANK * len(row) if fence or opens else row)
        if mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif mark and opens and not fence:
            fence = mark[1]
    pieces.append(_without_spans("".join(paragraph)))
    return "".join(pieces)


def _without_spans(paragraph: str) -> str:
    """Blank out inline code in a paragraph: from a run of backticks to the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(paragraph)]
    closing = [-1] * len(runs)
    following: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        start, end = runs[number]
        closing[number] = following.get(end - start, -1)
        following[end - start] = number
    pieces: list[str] = []
    done = number = 0
    while number < len(runs):
        start, last = runs[number][0], closing[number]
        if last < 0 or _escaped(paragraph, start):
            number += 1
            continue
        end = runs[last][1]
        pieces += (paragraph[done:start], _BLANK * (end - start))
        done, number = end, last + 1
    return "".join((*pieces, paragraph[done:]))

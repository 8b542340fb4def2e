"""What was read in a session and used later, in its own words.

Sources are texts that teach: skills that were loaded, documentation that was opened or fetched, manuals that were
printed. A passage is kept with a weight: the names, options and numbers in it that later commands and files hold, the
words it shares with the request and the work, and whether it lays down a rule. Nothing is rephrased, so values stay
exact.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.learning.facts.acts import plain
from whet.learning.facts.model import Passage
from whet.learning.facts.passages import Piece, taken_apart
from whet.learning.facts.shell import asks_manual
from whet.learning.facts.using import Use, names
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.facts.acts import Act
    from whet.learning.transcripts.events import Event

MOST = 400
"""Passages that are kept."""
SHORTEST = 12
_EVIDENCE = 5
_EXAMPLE = 3
"""Names in a piece of code from which on it is an example of something, and not a drawing or a sentence."""
_DOCUMENT = re.compile(
    r"(?i)(?:^|/)(?:readme|contributing|changelog|[^/]{1,80}\.(?:md|mdx|rst|adoc|html?)"
    r"|(?:docs?|references?|guides?|manuals?)/[^/]{1,80}\.txt"
    r"|[^/]{0,60}(?:guide|manual|instructions|howto|reference|spec|faq)[^/]{0,40}\.txt)\Z"
)
_READS = re.compile(
    r"\b(?:cat|head|tail|less|sed -n|bat)\b[^|;&\n]{0,200}?([\w./~-]{1,200}\.(?:md|mdx|rst|adoc|txt))\b"
)
_FETCHES = re.compile(r"\b(?:curl|wget)\b[^|;&\n]{0,200}?https?://([\w.-]{1,100})")
_DATA = re.compile(r"\s*[\[{<]")
_TEXT = 400
"""Characters from which on an answer of the web is a text."""
_DOCS_TOOL = re.compile(r"(?i)mcp__\w*(?:doc|context7|wiki|knowledge|reference)")
_RULE = re.compile(
    r"(?i)\b(?:must|always|never|do not|don't|should|shall|only|before|after|first|prefer|avoid|ensure|make sure"
    r"|required?"
    r"|important|critical|note|warning|default|instead|unless|recommended|rule|step|priority|order|range|use)\b"
)
_PREAMBLE = re.compile(r"\A\s*Base directory for this skill:[^\n]{0,400}\n+")
_ARGUMENTS = re.compile(r"\n+ARGUMENTS:[^\n]{0,2000}\s*\Z")
_ORIENTATION = re.compile(
    r"(?i)\b(?:related skills|see also|external references|further reading|changelog|license|keywords"
    r"|table of contents)\b"
)
_INTEGER = 0.35
"""What a whole number in common is worth beside a name: it may be chance."""
_KEEP = {"skill": 0.2, "document": 0.4, "web": 0.5, "help": 0.5}
"""The least weight of a passage that is kept; a skill was loaded because it was wanted."""


class Source(NamedTuple):
    """A text that teaches."""

    at: int
    kind: Literal["skill", "document", "web", "help"]
    name: str
    text: str


def knowledge_of(events: Sequence[Event], found: Sequence[Act], request: str) -> tuple[Passage, ...]:
    """The passages that were used, in the order they were read."""
    use = Use(request)
    before = list(found)
    passages: list[Passage] = []
    for source in reversed(list(_sources(events, found))):
        while before and before[-1].at > source.at:
            act = before.pop()
            use.add(act.at, act.words)
        pieces = [piece for piece in taken_apart(source.text) if len(piece.text) >= SHORTEST]
        some = [
            Passage(
                piece.text,
                source.kind,
                source.name,
                piece.section,
                (source.at, *use.users(shared, _EVIDENCE)),
                round(weight, 3),
            )
            for piece, weight, shared in _weighed(pieces, use)
            if weight >= _KEEP[source.kind]
        ]
        passages[:0] = some
    first = {" ".join(one.text.split()): one for one in reversed(passages)}
    once = [one for one in passages if first[" ".join(one.text.split())] is one]
    heaviest = sorted(range(len(once)), key=lambda at: (-once[at].weight, at))[:MOST]
    return tuple(once[at] for at in sorted(heaviest))


def _weighed(pieces: Sequence[Piece], use: Use) -> Iterator[tuple[Piece, float, frozenset[str]]]:
    """Each passage with its weight and the names by which it was used.

    A name in few passages tells more than one in all of them. A section in which something was used lends a little to
    the passages beside it: what explains an option stands next to it.
    """
    held = [names(piece.text) for piece in pieces]
    rarity = Counter(name for one in held for name in one)
    sections: Counter[str] = Counter()
    own: list[tuple[float, frozenset[str]]] = []
    for piece, one in zip(pieces, held, strict=True):
        shared = one & use.names
        told = sum((_INTEGER if name.isdigit() else 1.0) / (1.0 + log(rarity[name])) for name in shared)
        words = key_terms(piece.text)
        common = len(words & use.terms) / (len(words) + 3.0)
        asked = len(words & use.wanted) / (len(words) + 3.0)
        part = len(shared) / (len(one) + 1.0)
        weight = 0.5 * min(told, 6.0) * (0.35 + part) + 1.2 * common + 1.2 * asked
        if _RULE.search(piece.text):
            weight += 0.3
        weight += 0.08 * min(sum(name[0].isdigit() or name[0] == "#" for name in one), 5)  # values nobody can guess
        if _ORIENTATION.search(piece.section):
            weight *= 0.3
        if piece.code and len(one) > _EXAMPLE and len(shared) < 2 and part < 0.2:
            weight *= 0.6  # an example of something that was not done
        own.append((weight, shared))
        sections[piece.section] = max(sections[piece.section], int(100 * weight))
    for piece, (weight, shared) in zip(pieces, own, strict=True):
        yield piece, weight + 0.15 * sections[piece.section] / 100, shared


def _sources(events: Sequence[Event], found: Sequence[Act]) -> Iterator[Source]:
    notes = [
        Source(at, "skill", event.about.partition(":")[2], _ARGUMENTS.sub("", _PREAMBLE.sub("", plain(event.text))))
        for at, event in enumerate(events)
        if event.kind == "note" and event.about.startswith("skill:")
    ]
    read = [source for act in found if not act.failed and act.output.strip() and (source := _read(act))]
    yield from sorted((*notes, *read), key=lambda source: source.at)


def _read(act: Act) -> Source | None:
    path, command = act.text("path"), act.text("command")
    if act.tool == "Read" and _DOCUMENT.search(path.replace("\\", "/")):
        return Source(act.at, "document", _called(path), act.output)
    if act.tool == "Web" and act.text("url"):
        return Source(act.at, "web", act.text("url").partition("//")[2].partition("/")[0] or "the web", act.output)
    if act.tool in ("Skill", "skill_view") and len(act.output) > 400:
        return Source(act.at, "skill", act.text("skill") or act.text("name"), act.output)
    if _DOCS_TOOL.match(act.tool):
        return Source(act.at, "document", act.tool.rpartition("__")[2], act.output)
    if command and asks_manual(command):
        return Source(act.at, "help", command.split("|")[0].strip()[:60], act.output)
    if command and (shown := _READS.search(command)) and _DOCUMENT.search(shown[1]):
        return Source(act.at, "document", _called(shown[1]), act.output)
    if len(act.output) > _TEXT and (fetched := _FETCHES.search(command)) and not _DATA.match(act.output):
        return Source(act.at, "web", fetched[1], act.output)
    return None


def _called(path: str) -> str:
    """A document's name, with the skill it belongs to."""
    plain_path = path.replace("\\", "/")
    skill = re.search(r"/skills/([\w.-]{1,64})/", plain_path)
    name = plain_path.rpartition("/")[2]
    return f"{skill[1]}/{name}" if skill else name

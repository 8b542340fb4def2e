"""`skill://` addresses of skills and their files.

An address is `skill://` and segments; the first ones are the skill's path, which always ends in its name, the others
the file inside it. A plain skill's path is its name, a plugin's skill has `plugin/name`, a shadowed one `scope/name`.
Skill names are made of lowercase letters, digits and hyphens; if a plugin or a scope has the name of a plain skill, its
segment begins with `~`, so that the first segment alone shows whether a skill's files or another name follow.

Written addresses are percent-encoded (UTF-8, everything but letters, digits and `-._~`), which no client normalises any
further. Read addresses may contain unusual but harmless characters; misleading ones are refused. Parsing an address
uses nothing but its text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from whet.errors import UsageError
from whet.interfaces.mcp.packages import unfit
from whet.skill.names import hidden, is_ascii_name
from whet.skill.names import key as name_key
from whet.skill.paths import MAX_PATH_BYTES, check, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.library.card import Card
    from whet.library.catalogue import Catalogue

SCHEME = "skill://"
INDEX = "skill://index.json"
MAX_ADDRESS = 4 * MAX_PATH_BYTES
"""Longest address in characters: a path of encoded bytes, and room for the skill's own path."""

_LOOSE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_HINT = "Write it as skill://name/file, as in the lists."

SkillPath = tuple[str, ...]


def address(path: Sequence[str], file: str = "") -> str:
    """Return the address of a skill's directory, or of something in it."""
    return SCHEME + "/".join(quote(part, safe="") for part in (*path, *(file.split("/") if file else ())))


def read_address(text: str) -> tuple[str, ...]:
    """Return the decoded segments of an address. Raises UsageError for anything but a plain path below `skill://`."""
    if len(text) > MAX_ADDRESS:
        raise _bad(text, f"has {len(text):,} characters; the limit is {MAX_ADDRESS:,}")
    if text[: len(SCHEME)].lower() != SCHEME:
        raise _bad(text, "does not start with skill://")
    rest = text[len(SCHEME) :]
    for mark, name in (("?", "a query"), ("#", "a fragment"), ("\\", "a backslash")):
        if mark in rest:
            raise _bad(text, f"has {name}")
    authority, *_ = parts = rest.split("/")
    if "@" in authority or ":" in authority:
        raise _bad(text, "has a user or a port")
    return tuple(_decode(part, text) for part in parts)


def _decode(part: str, text: str) -> str:
    if _LOOSE_PERCENT.search(part):
        raise _bad(text, "has a % without two hexadecimal digits")
    try:
        segment = unquote_to_bytes(part).decode()
    except UnicodeError:
        raise _bad(text, "is not UTF-8 once it is decoded") from None
    if segment in {"", ".", ".."}:
        raise _bad(text, f"has the part {segment!r}")
    if "/" in segment or "\\" in segment:
        raise _bad(text, "has an encoded slash or backslash")
    if any(map(hidden, segment)):
        raise _bad(text, "has control or invisible characters")
    return segment


def _bad(text: str, what: str) -> UsageError:
    return UsageError("bad-resource-address", f"The address {shown(text)} {what}.", hint=_HINT)


class Found(NamedTuple):
    """The target of an address: a skill, its path, and the file in it, "" for the skill's directory."""

    card: Card
    path: SkillPath
    file: str


class AddressBook:
    """The paths of a catalogue's skills, and the skills without a path because they do not conform."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.paths: dict[str, SkillPath] = {}
        """A skill's main file -> its path."""
        self.unfit: dict[str, str] = {}
        """The main file of a skill without a path -> the reason."""
        self._cards: dict[SkillPath, Card] = {}
        self._left_out: dict[SkillPath, Card] = {}
        names = {card.name for card in catalogue.cards if not card.root.namespace and is_ascii_name(card.name)}
        for card, path in _assign_paths(catalogue, names):
            self._place(card, path)

    def _place(self, card: Card, path: SkillPath) -> None:
        reason, place = unfit(card), _key(path)
        if not reason and not _is_segment(path[0]):
            reason = f"The name of its plugin, {shown(path[0])}, cannot be part of an address."
        if not reason and place in self._cards:
            reason = f"{self._cards[place].location} has the same address."
        if reason:
            self.unfit[card.path] = reason
            self._left_out.setdefault(place, card)
        else:
            self.paths[card.path] = path
            self._cards[place] = card

    def find(self, segments: Sequence[str]) -> Found | None:
        """Return the skill that an address leads to or into."""
        for length in (1, 2):
            card = self._cards.get(_key(segments[:length])) if len(segments) >= length else None
            if card is not None:
                return Found(card, self.paths[card.path], "/".join(segments[length:]))
        return None

    def left_out(self, segments: Sequence[str]) -> Card | None:
        """Return the skill that the address would lead to if the skill conformed."""
        return self._left_out.get(_key(segments[:1])) or self._left_out.get(_key(segments[:2]))

    def below(self, group: str) -> list[Card]:
        """Return the skills whose path begins with this segment and continues, sorted by name."""
        wanted = name_key(group)
        places = sorted(place for place in self._cards if len(place) > 1 and place[0] == wanted)
        return [self._cards[place] for place in places]

    def cards(self) -> list[Card]:
        """Return every skill that has a path, sorted by it."""
        return [self._cards[place] for place in sorted(self._cards)]


def _assign_paths(catalogue: Catalogue, names: set[str]) -> Iterator[tuple[Card, SkillPath]]:
    """Yield every skill with its intended path; shadowed skills come last."""
    for card in catalogue.cards:
        namespace = card.root.namespace
        yield card, (_group(namespace, names), card.name) if namespace else (card.name,)
    for card, _ in catalogue.shadowed:
        yield card, (_group(card.root.namespace or card.scope, names), card.name)


def _group(group: str, names: set[str]) -> str:
    return f"~{group}" if name_key(group) in names else group


def _is_segment(text: str) -> bool:
    try:
        return "/" not in check(text)
    except UsageError:
        return False


def _key(path: Sequence[str]) -> SkillPath:
    return tuple(map(name_key, path))

"""What the skills in play still need, in one list: asked once, for all of them, before a turn.

A `Need` never carries a value. What a user answers goes through the caller's hands to the caller's own store; Whet
remembers only that it was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.library.readiness import missing
from whet.values import Json, Rows, fields_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.library.card import Card
    from whet.library.readiness import Probe
    from whet.skill.gates import Gates, Tool


class Need(NamedTuple):
    """One thing that is missing, and for which skills."""

    kind: str
    """`env`, `command`, `setting`, or the kind of a tool such as `mcp`."""
    name: str
    prompt: str
    """What to ask the user."""
    help: str
    secret: bool
    """Whether the answer must not be shown, logged, or written into anything a model reads."""
    skills: tuple[str, ...]

    def to_json(self) -> Json:
        """The need as JSON."""
        return fields_json(self)


class Needs(Rows[Need]):
    """Everything that some skills still need, each thing once."""

    __slots__ = ()

    @property
    def ready(self) -> bool:
        """Whether nothing is missing."""
        return not len(self)

    def to_json(self) -> Json:
        """The needs as JSON."""
        return {"success": True, "ready": self.ready, "needs": [need.to_json() for need in self]}


def collect_needs(cards: Iterable[Card], probe: Probe) -> tuple[Need, ...]:
    """Everything these skills miss in the environment, each thing once, in the words of the first who explains it."""
    found: dict[tuple[str, str], Need] = {}
    for card in {card.id: card for card in cards}.values():  # one that was read twice is still one
        for kind, name, text in missing(card.gates, probe):
            need = Need(kind, name, _prompt(card.gates, kind, name), text, kind == "env", ())
            known = found.get((kind, name), need)
            words = known if _explains(known) or not _explains(need) else need
            found[kind, name] = words._replace(skills=(*known.skills, card.full_name))
    return tuple(sorted(found.values(), key=lambda need: (_ORDER.get(need.kind, len(_ORDER)), need.name)))


_ORDER = {"env": 0, "setting": 1, "command": 2}


def _explains(need: Need) -> bool:
    return need.help not in ("", need.prompt)


def _prompt(gates: Gates, kind: str, name: str) -> str:
    if kind == "env":
        return next((item.prompt for item in gates.env if item.name == name), "") or f"Value of {name}"
    if kind == "setting":
        return next((item.prompt for item in gates.settings if item.key == name), "") or f"Value of {name}"
    if kind == "command":
        return f"Install {name}"
    return f"Connect {name}"


class Given:
    """A probe that also knows what this session was given."""

    def __init__(self, probe: Probe, names: Iterable[str], settings: Iterable[str]) -> None:
        self._probe = probe
        self._names = frozenset(names)
        self._settings = frozenset(settings)

    @property
    def platform(self) -> str:
        """That of the probe behind it."""
        return self._probe.platform

    def has_command(self, name: str) -> bool | None:
        """As the probe behind it says."""
        return self._probe.has_command(name)

    def has_env(self, name: str) -> bool | None:
        """Given in this session, or as the probe behind it says."""
        return name in self._names or self._probe.has_env(name)

    def has_tool(self, tool: Tool) -> bool | None:
        """As the probe behind it says."""
        return self._probe.has_tool(tool)

    def has_setting(self, key: str) -> bool | None:
        """Given in this session, or as the probe behind it says."""
        return key in self._settings or self._probe.has_setting(key)

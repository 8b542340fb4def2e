"""Missing requirements of the skills in play, in one list: requested once, for all of them, before a turn.

A `Need` never has a value. The caller passes the user's answers to its own store; Whet remembers only that they were
given.
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
    """One missing thing, and the skills that need it."""

    kind: str
    """`env`, `command`, `setting`, or the kind of a tool such as `mcp`."""
    name: str
    prompt: str
    """The question for the user."""
    help: str
    secret: bool
    """Whether the answer must not be shown, logged, or written into anything a model reads."""
    skills: tuple[str, ...]

    def to_json(self) -> Json:
        """Return the need as JSON."""
        return fields_json(self)


class Needs(Rows[Need]):
    """Everything that some skills still need, each thing once."""

    __slots__ = ()

    @property
    def ready(self) -> bool:
        """Whether nothing is missing."""
        return not len(self)

    def to_json(self) -> Json:
        """Return the needs as JSON."""
        return {"success": True, "ready": self.ready, "needs": [need.to_json() for need in self]}


def collect_needs(cards: Iterable[Card], probe: Probe) -> tuple[Need, ...]:
    """Return everything these skills lack in the environment, each thing once, with the first explanation."""
    found: dict[tuple[str, str], Need] = {}
    for card in {card.id: card for card in cards}.values():  # a skill that was read twice counts once
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
    """A probe that also knows the values given in this session."""

    def __init__(self, probe: Probe, names: Iterable[str], settings: Iterable[str]) -> None:
        self._probe = probe
        self._names = frozenset(names)
        self._settings = frozenset(settings)

    @property
    def platform(self) -> str:
        """The platform of the wrapped probe."""
        return self._probe.platform

    def has_command(self, name: str) -> bool | None:
        """Return the answer of the wrapped probe."""
        return self._probe.has_command(name)

    def has_env(self, name: str) -> bool | None:
        """Return whether it was given in this session, or the answer of the wrapped probe."""
        return name in self._names or self._probe.has_env(name)

    def has_tool(self, tool: Tool) -> bool | None:
        """Return the answer of the wrapped probe."""
        return self._probe.has_tool(tool)

    def has_setting(self, key: str) -> bool | None:
        """Return whether it was given in this session, or the answer of the wrapped probe."""
        return key in self._settings or self._probe.has_setting(key)

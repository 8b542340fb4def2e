"""A home with clients in it, and Whet beside them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from whet.interfaces.clients.editor import editor
from whet.interfaces.clients.known import CONNECTIONS, connection_named
from whet.interfaces.clients.locations import Program
from whet.interfaces.clients.plan import apply, plan_connection, plan_undo
from whet.interfaces.clients.records import Connections
from whet.library.roots import Place
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from whet.interfaces.clients.plan import Plan

NAMES = [client.name for client in CONNECTIONS]
HOOKED = [client.name for client in CONNECTIONS if client.hooks]
PROGRAM = Program(("/opt/whet/bin/whet",))
MOVED = Program(("/usr/local/bin/whet",))


class World(NamedTuple):
    """A home and Whet's state."""

    home: Path
    place: Place
    connections: Connections

    def connect(self, name: str, program: Program = PROGRAM, **how: Any) -> tuple[str, ...]:
        """Plan and apply."""
        return apply(self.plan(name, program, **how), self.connections)

    def plan(self, name: str, program: Program = PROGRAM, **how: Any) -> Plan:
        return plan_connection(connection_named(name), self.place, self.connections, program, **how)

    def undo(self, name: str, **how: Any) -> Plan:
        plan = plan_undo(connection_named(name), self.place, self.connections, **how)
        apply(plan, self.connections)
        return plan

    def read(self, path: str) -> Any:
        """What one of the files says, read by somebody else's parser."""
        text = (self.home / path).read_text(encoding="utf-8")
        if path.endswith(".toml"):
            return tomllib.loads(text)
        return yaml.safe_load(text) if path.endswith(".yaml") else json.loads(text)

    def value(self, path: str) -> Any:
        """The same, comments and trailing commas aside."""
        if path.endswith((".toml", ".yaml")):
            return self.read(path)
        return editor("jsonc").read((self.home / path).read_text(encoding="utf-8"))

    @property
    def kept(self) -> list[str]:
        """What is remembered: the ids of connections, and backups."""
        return sorted((*self.connections.ids(), *(path.name for path in self.backups)))

    @property
    def backups(self) -> list[Path]:
        return sorted(Path(self.place.state).glob("connections/*"))

    def forget(self) -> None:
        """Lose everything that is remembered."""
        for path in self.backups:
            path.unlink()
        with self.connections.state.write() as connection:
            connection.execute("DELETE FROM connections")

    def spoil(self, name: str) -> None:
        """Make a record unreadable."""
        with self.connections.state.write() as connection:
            done = connection.execute("UPDATE connections SET record = '{' WHERE id LIKE ?", (f"{name}-%",))
            assert done.rowcount == 1


def new_world(top: Path) -> World:
    """An empty home with a repository in it."""
    home = top / "home"
    (home / "shop" / ".git").mkdir(parents=True)
    place = Place(str(home / "shop"), str(home), str(top / "state"), "linux", {})
    return World(home, place, Connections(StateDatabase(place.state)))

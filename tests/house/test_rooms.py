"""The direction of imports: a room may use the rooms above it, never those below."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "src" / "whet"
ROOMS = (
    "records",
    "patterns",
    "errors",
    "notes",
    "values",
    "extras",
    "sockets",
    "skill",
    "store",
    "guard",
    "library",
    "routing",
    "authoring",
    "prompt",
    "sources",
    "learning",
    "runtime",
    "api",
    "adapters",
    "hub",
    "web",
    "interfaces",
)
FRONT = {"__init__", "__main__"}
"""The package's own front: it may open any room."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def statements(node: ast.AST, *, typed: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement in a module or in another statement, and whether it is there for types only.

    An import is a statement, so expressions need not be looked at.
    """
    for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for child in getattr(node, name, ()):
            inner = typed or (for_types and name == "body")
            yield child, inner
            yield from statements(child, typed=inner)


@cache
def imports(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """Every import of a file, and whether it is there for types only."""
    found = statements(ast.parse(path.read_text(encoding="utf-8")))
    return tuple((node, typed) for node, typed in found if isinstance(node, ast.Import | ast.ImportFrom))


def imported(path: Path) -> set[str]:
    """Every room that a module imports, at its top, inside functions or for types only."""
    names: set[str] = set()
    for node, _ in imports(path):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif node.module:
            assert node.level == 0, "relative imports hide the direction"
            names.add(node.module)
            if node.module == "whet":
                names.update(f"whet.{alias.name}" for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("whet.")}


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if "bundled" not in path.parts]


def test_every_module_lies_in_a_room() -> None:
    assert {room_of(path) for path in modules()} <= {*ROOMS, *FRONT}


def test_rooms_import_only_rooms_above() -> None:
    wrong: list[str] = []
    for path in modules():
        room = room_of(path)
        if room in FRONT:
            continue
        allowed = set(ROOMS[: ROOMS.index(room) + 1])
        used = imported(path) & set(ROOMS)
        wrong.extend(f"{path.relative_to(SOURCE)} imports {other}" for other in sorted(used - allowed))
    assert wrong == []


def test_the_errors_import_nothing_of_whet() -> None:
    assert imported(SOURCE / "errors.py") == set()


def test_the_skill_room_is_pure() -> None:
    forbidden = {"os", "pathlib", "time", "datetime", "socket", "subprocess", "sqlite3", "shutil", "tempfile", "random"}
    wrong: list[str] = []
    for path in sorted((SOURCE / "skill").rglob("*.py")):
        for node, _ in imports(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            wrong += [f"{path.name} imports {name}" for name in names if name.split(".")[0] in forbidden]
    assert wrong == []


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def graph() -> dict[str, set[str]]:
    """Each module with those that it imports, at its top or inside functions."""
    known = {name_of(path): path for path in modules()}
    found: dict[str, set[str]] = {}
    for name, path in known.items():
        used: set[str] = set()
        for node, typed in imports(path):
            if typed:
                continue
            if isinstance(node, ast.Import):
                used.update(alias.name for alias in node.names)
            elif node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                used.update(inner & known.keys())
                if not inner <= known.keys():
                    used.add(node.module)
        found[name] = (used & known.keys()) - {name}
    return found


def circles(uses: dict[str, set[str]]) -> list[set[str]]:
    """The modules that reach each other; `graphlib` finds one way around, and those it touches are put together."""
    merged = {name: {name} for name in uses}
    uses = {name: set(others) for name, others in uses.items()}
    while True:
        try:
            TopologicalSorter(uses).prepare()
        except CycleError as error:
            first, *rest = dict.fromkeys(error.args[1])
            for name in rest:
                merged[first] |= merged.pop(name)
                uses[first] |= uses.pop(name)
            for name, others in uses.items():
                uses[name] = {first if other in rest else other for other in others} - {name}
        else:
            return sorted((group for group in merged.values() if len(group) > 1), key=sorted)


def test_no_modules_import_each_other_in_a_circle() -> None:
    found = "; ".join(", ".join(sorted(group)) for group in circles(graph()))
    assert found == "", f"these import each other in a circle: {found}"


def test_circles_are_found() -> None:
    uses = {"a": {"b"}, "b": {"c", "e"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"g"}, "g": {"f"}, "h": {"a"}}
    assert circles(uses) == [{"a", "b", "c"}, {"f", "g"}]

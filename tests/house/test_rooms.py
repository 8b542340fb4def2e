"""The direction of imports: a room may use the rooms above it, never those below."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "whet"
ROOMS = (
    "errors",
    "notes",
    "values",
    "skill",
    "store",
    "guard",
    "library",
    "routing",
    "authoring",
    "prompt",
    "sources",
    "learning",
    "api",
    "adapters",
    "hub",
    "interfaces",
)
FRONT = {"__init__", "__main__"}
"""The package's own front: it may open any room."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> set[str]:
    """Every room that a module imports, at its top, inside functions or for types only."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
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
        used = imported(ast.parse(path.read_text(encoding="utf-8"))) & set(ROOMS)
        wrong.extend(f"{path.relative_to(SOURCE)} imports {other}" for other in sorted(used - allowed))
    assert wrong == []


def test_the_errors_import_nothing_of_whet() -> None:
    assert imported(ast.parse((SOURCE / "errors.py").read_text(encoding="utf-8"))) == set()


def test_the_skill_room_is_pure() -> None:
    forbidden = {"os", "pathlib", "time", "datetime", "socket", "subprocess", "sqlite3", "shutil", "tempfile", "random"}
    wrong: list[str] = []
    for path in sorted((SOURCE / "skill").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            wrong += [f"{path.name} imports {name}" for name in names if name.split(".")[0] in forbidden]
    assert wrong == []

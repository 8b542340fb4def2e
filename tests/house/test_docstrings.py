"""Docstrings name only modules and files that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "whet"
DOTTED = re.compile(r"\bwhet((?:\.[A-Za-z_]\w*)+)")
SLASHED = re.compile(r"(?<![\w./~-])((?:[a-z_]\w*/)+[a-z_]\w*)(?:\.py)?(?![\w/-]|\.\w)")
FILE = re.compile(r"(?<![\w./*-])((?:[a-z_]\w*/)*[a-z_]\w*\.py)\b")
WORD = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
EXAMPLES = {"cherry_pick", "token_count", "whet.toml", "run.py"}
"""What stands for something else than a name of ours."""


def documents(path: Path) -> Iterator[str]:
    """Every docstring of a file, those of fields among them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def known_words() -> set[str]:
    """Every name and every word of a text in the code, but for the docstrings."""
    words: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        words.update(path.relative_to(SOURCE).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            values = [value for _, value in ast.iter_fields(node) if isinstance(value, str)]
            words.update(word for value in values if id(node) not in told for word in re.findall(r"\w+", value))
    return words


def is_ours(dotted: str) -> bool:
    """Whether there is such a module, or something in one that has this name."""
    place, parts = SOURCE, dotted.strip(".").split(".")
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    file = place / f"{parts[0]}.py" if parts and (place / f"{parts[0]}.py").exists() else None
    if file:
        parts.pop(0)
    text = (file or place / "__init__.py").read_text(encoding="utf-8")
    return not parts or re.search(rf"\b{parts[0]}\b", text) is not None


def test_no_docstring_names_what_does_not_exist() -> None:
    words = known_words()
    files = [path for top in ("src", "tests", "docs", "benchmarks") for path in (ROOT / top).rglob("*.py")]
    rooms = {path.stem for path in SOURCE.iterdir()}
    wrong: list[str] = []
    for path in SOURCE.rglob("*.py"):
        if "bundled" in path.parts:
            continue
        for text in documents(path):
            slashed = [found for found in SLASHED.findall(text) if found.split("/")[0] in rooms]
            names = {
                *(f"whet{found}" for found in DOTTED.findall(text) if not is_ours(found)),
                *(
                    found
                    for found in slashed
                    if not (SOURCE / found).is_dir() and not (SOURCE / f"{found}.py").exists()
                ),
                *(found for found in FILE.findall(text) if not any(file.match(found) for file in files)),
                *(found for found in WORD.findall(text) if found not in words),
            } - EXAMPLES
            wrong.extend(
                f"{path.relative_to(SOURCE)}: {name}" for name in sorted(names) if not name.startswith("scripts/")
            )
    assert wrong == []

"""Docstrings name only modules and files that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "whet"
DOTTED = re.compile(r"\bwhet((?:\.[A-Za-z_]\w*)+)")
SLASHED = re.compile(r"(?<![\w./~-])((?:[a-z_]\w*/)+[a-z_]\w*)(?:\.py)?(?![\w/-]|\.\w)")
FILE = re.compile(r"(?<![\w./*-])((?:[a-z_]\w*/)*[a-z_]\w*\.py)\b")
WORD = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
EXAMPLES = {"cherry_pick", "token_count", "whet.toml", "run.py"}
"""What stands for something else than a name of ours."""


def read() -> tuple[dict[Path, list[str]], set[str]]:
    """The docstrings of every file, those of fields among them; and every other word in the code."""
    documents: dict[Path, list[str]] = {}
    words: set[str] = set()
    code: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if "bundled" in path.parts:
            continue
        words.update(path.relative_to(SOURCE).with_suffix("").parts)
        told: set[int] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):  # parents come before what is in them
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                documents.setdefault(path, []).append(node.value.value)
                told.add(id(node.value))
            elif id(node) not in told:
                code.update(value for value in vars(node).values() if isinstance(value, str))
    words.update(re.findall(r"\w+", "\n".join(code)))
    return documents, words


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
    documents, words = read()
    paths = [path for top in ("src", "tests", "docs", "benchmarks") for path in (ROOT / top).rglob("*.py")]
    files = {"/".join(path.parts[-length:]) for path in paths for length in range(1, 6)}
    rooms = {path.stem for path in SOURCE.iterdir()}
    wrong: list[str] = []
    for path, texts in documents.items():
        for text in texts:
            slashed = [found for found in SLASHED.findall(text) if found.split("/")[0] in rooms]
            names = {
                *(f"whet{found}" for found in DOTTED.findall(text) if not is_ours(found)),
                *(
                    found
                    for found in slashed
                    if not (SOURCE / found).is_dir() and not (SOURCE / f"{found}.py").exists()
                ),
                *(found for found in FILE.findall(text) if found not in files),
                *(found for found in WORD.findall(text) if found not in words),
            } - EXAMPLES
            wrong.extend(
                f"{path.relative_to(SOURCE)}: {name}" for name in sorted(names) if not name.startswith("scripts/")
            )
    assert wrong == []

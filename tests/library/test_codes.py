"""Codes never change and are all documented: the tables in the manual are the codes in the source, both ways."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whet
from whet import errors
from whet.learning.models import failures
from whet.skill import archive, paths
from whet.sources.publish import prepare
from whet.store.failures import sqlite_failure

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(whet.__path__[0])
CODES = tomllib.loads((Path(__file__).parents[2] / "docs" / "codes.toml").read_text(encoding="utf-8"))
CLASSES = {name for name, value in vars(errors).items() if isinstance(value, type)} - {"WhetError", "Any", "ClassVar"}
COMPUTED = {
    *("errors.py", "skill/archive.py", "skill/paths.py", "store/failures.py"),
    *("library/catalogue.py", "library/visibility.py"),
    *("sources/install/apply.py", "sources/packages.py", "sources/publish/prepare.py"),
    "sources/registries/registry.py",
}
"""Where the code of an error is no literal; `computed` knows where each of them takes its codes from."""


STEPS = (
    *("locked-missing", "no-base", "other-source", "same-name", "skill-exists", "update-conflict"),
    *("frozen", "frozen-edited", "frozen-extra", "frozen-missing", "needs-approval"),
    *("dependency-cycle", "dependency-missing", "dependency-range", "needed-by", "too-many-dependencies"),
)


@cache
def parsed() -> dict[str, list[tuple[str, list[ast.expr]]]]:
    """Every call in the source by its name: the file and the arguments."""
    found: dict[str, list[tuple[str, list[ast.expr]]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                found.setdefault(called(node.func), []).append((file, node.args))
    return found


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """The trees of all files are large, and nobody else needs them."""
    yield
    parsed.cache_clear()


def calls(*names: str, below: str = "") -> Iterator[tuple[str, str, list[ast.expr]]]:
    """Every call of one of these names in the source: the file, the name, the arguments."""
    for name in names:
        for file, arguments in parsed().get(name, ()):
            if not below or file.startswith((below, "api/")):
                yield file, name, arguments


def called(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def literal(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


# errors


def raised() -> dict[str, set[str]]:
    """Each code in the source with the classes that carry it."""
    found: dict[str, set[str]] = {}
    for _, name, arguments in calls(*CLASSES):
        if arguments and (code := literal(arguments[0])):
            found.setdefault(code, set()).add(name)
    for code, name in computed():
        found.setdefault(code, set()).add(name)
    return found


def computed() -> Iterator[tuple[str, str]]:
    """The codes that are taken from tables."""
    yield from ((code, "UsageError") for code in paths._HINTS)
    yield from ((code, "InvalidError") for code in archive._HINTS)
    yield from ((prepare.CODE, name) for name in ("InvalidError", "RefusedError"))
    # What stands in the way of a step of a plan is what `Library.install` raises.
    yield from ((code, "RefusedError") for code in ("policy-asks", "policy-blocks", "too-young"))
    yield from ((code, "ConflictError") for code in STEPS)
    # What keeps a skill of a registry from being offered is what it is refused with.
    yield from ((code, "InvalidError") for code, severity in said("sources/registries/") if severity == "error")
    yield from ((code, "FailedError") for _, code, *_ in failures._KINDS)
    for function, name in (
        ("LockDamagedError", "FailedError"),
        ("ModelError", "FailedError"),
        ("expected_text", "UsageError"),
    ):
        for _, _, arguments in calls(function):
            yield from ((code, name) for code in filter(None, map(literal, arguments[:1])))
    # What hides a skill is what it is refused with.
    yield from ((code, "RefusedError") for code, _ in said("library/visibility.py"))
    for number in range(1, 30):
        failure = type("Error", (Exception,), {"sqlite_errorcode": number})()
        yield sqlite_failure(failure, "/x").code, "FailedError"
    for path in SOURCE.rglob("*.py"):
        for code in re.findall(r'\bother(?:: str )?=\s*"([a-z-]+)"', path.read_text(encoding="utf-8")):
            yield code, "FailedError"


def test_every_error_is_documented_with_its_class() -> None:
    documented = {code: set(row["class"]) for code, row in CODES["errors"].items()}
    assert documented == raised()


def test_the_codes_of_errors_say_what_to_do() -> None:
    assert [code for code, row in CODES["errors"].items() if not row["meaning"].endswith(".")] == []
    assert [code for code, row in CODES["errors"].items() if not row["remedy"].endswith(".")] == []


def test_codes_that_are_no_literals_come_from_known_tables() -> None:
    odd = {file for file, _, arguments in calls(*CLASSES) if not arguments or literal(arguments[0]) is None}
    assert odd == COMPUTED


# notes


def said(room: str = "") -> set[tuple[str, str]]:
    """Code and severity of every note that a room says, where both are literals."""
    found = set()
    for file, name, arguments in calls("Note", "note", below=room):
        if name == "note" and not file.startswith("skill/"):
            continue
        if file.startswith("skill/validate/") or len(arguments) < 2:
            continue
        code, severity = literal(arguments[0]), literal(arguments[1])
        if code and severity:
            found.add((code, severity))
    return found


def test_every_note_is_documented_with_its_severity() -> None:
    documented = {(code, severity) for code, row in CODES["notes"].items() for severity in row["severity"]}
    spoken = {(code, severity) for code, severity in said() if code not in CODES["findings"]}
    assert spoken - documented == set()
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    assert {code for code in CODES["notes"] if f'"{code}"' not in text} == set()


def test_the_codes_of_notes_say_what_to_do() -> None:
    assert [code for code, row in CODES["notes"].items() if not row["meaning"].endswith(".")] == []
    assert [code for code, row in CODES["notes"].items() if not row["remedy"].endswith(".")] == []

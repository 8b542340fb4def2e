"""Codes never change and are all documented: the tables in the manual are the codes in the source, both ways."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import whet
from whet import errors
from whet.learning.models import door
from whet.skill import archive, paths
from whet.sources.publishing import prepare
from whet.store.failures import sqlite_failure

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(whet.__path__[0])
MANUAL = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([\w, ]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
CLASSES = {name for name, value in vars(errors).items() if isinstance(value, type)} - {"WhetError", "Any", "ClassVar"}
COMPUTED = {
    *("skill/archive.py", "skill/paths.py", "store/failures.py"),
    *("library/catalogue.py", "library/visibility.py"),
    *("sources/install/applying.py", "sources/packages.py", "sources/publishing/prepare.py"),
    *("sources/indexes/hub.py", "sources/indexes/marketplace.py", "sources/indexes/wellknown.py"),
}
"""Where the code of an error is no literal; `computed` knows where each of them takes its codes from."""


STEPS = ("locked-missing", "no-base", "other-source", "same-name", "skill-exists", "update-conflict")


@cache
def parsed() -> tuple[tuple[str, tuple[ast.Call, ...]], ...]:
    """Every file of the source with its calls of names."""
    return tuple(
        (
            path.relative_to(SOURCE).as_posix(),
            tuple(
                node
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            ),
        )
        for path in sorted(SOURCE.rglob("*.py"))
    )


def calls(*names: str, below: str = "") -> Iterator[tuple[str, str, list[ast.expr]]]:
    """Every call of one of these names in the source: the file, the name, the arguments."""
    for file, found in parsed():
        if below and not file.startswith((below, "api/")):
            continue
        for node in found:
            if isinstance(node.func, ast.Name) and node.func.id in names:
                yield file, node.func.id, node.args


def literal(argument: ast.expr) -> str | None:
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def rows(page: str, heading: str) -> list[tuple[str, str, str, str]]:
    text = (MANUAL / page).read_text(encoding="utf-8")
    assert f"\n{heading}\n" in text
    table = text.partition(f"\n{heading}\n")[2]
    return ROW.findall(re.split(r"\n##+ ", table)[0])


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
    yield from ((code, "RefusedError") for code in ("policy-asks", "policy-blocks"))
    yield from ((code, "ConflictError") for code in STEPS)
    # What keeps a skill of an index from being offered is what it is refused with.
    yield from ((code, "InvalidError") for code, severity in told("sources/indexes/") if severity == "error")
    yield from ((code, "FailedError") for code in door.CODES)
    # What hides a skill is what it is refused with.
    yield from ((code, "RefusedError") for code in hidden())
    for number in range(1, 30):
        failure = type("Error", (Exception,), {"sqlite_errorcode": number})()
        yield sqlite_failure(failure, "/x").code, "FailedError"
    for path in SOURCE.rglob("*.py"):
        for code in re.findall(r'\bother(?:: str )?=\s*"([a-z-]+)"', path.read_text(encoding="utf-8")):
            yield code, "FailedError"


def test_every_error_is_documented_with_its_class() -> None:
    documented = {code: set(names.split(", ")) for code, names, _, _ in rows("errors.md", "## Codes")}
    assert documented == raised()


def test_the_codes_of_errors_are_sorted_and_say_what_to_do() -> None:
    table = rows("errors.md", "## Codes")
    assert [code for code, *_ in table] == sorted(code for code, *_ in table)
    assert [code for code, _, meaning, remedy in table if not (meaning.endswith(".") and remedy.endswith("."))] == []


def test_the_classes_of_errors_are_documented_with_their_exit_codes() -> None:
    text = (MANUAL / "errors.md").read_text(encoding="utf-8")
    documented = {
        name: int(code) for name, code in re.findall(r"^\| `(\w+Error)` \| .+ \| (\d) \|$", text, re.MULTILINE)
    }
    assert documented == {name: getattr(errors, name).exit_code for name in CLASSES}


def test_codes_that_are_no_literals_come_from_known_tables() -> None:
    odd = {file for file, _, arguments in calls(*CLASSES) if not arguments or literal(arguments[0]) is None}
    assert odd == COMPUTED


# diagnostics of the library


def told(room: str) -> set[tuple[str, str]]:
    """Code and severity of everything that a room reports."""
    found = set()
    for _, _, arguments in calls("Entry", "Diagnostic", "Report", "note", below=room):
        if len(arguments) > 1 and (code := literal(arguments[0])):
            found.add((code, str(literal(arguments[1]))))
    return found


def hidden() -> set[str]:
    return {str(literal(arguments[0])) for _, _, arguments in calls("Hidden", below="library/")}


@pytest.mark.parametrize(
    ("room", "section"),
    [
        *(("library/", "the library"), ("prompt/", "prompts"), ("authoring/", "history"), ("learning/", "usage")),
        *(("sources/", "sources"), ("routing/", "routing"), ("interfaces/clients/", "clients")),
    ],
)
def test_every_diagnostic_is_documented_with_its_severity(room: str, section: str) -> None:
    table = rows("diagnostics.md", f"## Diagnostics of {section}")
    assert {(code, severity) for code, severity, _, _ in table} == told(room)
    assert [code for code, *_ in table] == sorted(code for code, _ in told(room))


def test_every_reason_to_hide_a_skill_is_documented() -> None:
    table = rows("diagnostics.md", "### Why a skill is hidden")
    assert [code for code, *_ in table] == sorted(hidden())

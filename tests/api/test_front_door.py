"""The front door stays small, and what it hands out is typed."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pytest

from whet import Detection, Index, Invocation, Library, Matches, Skills, SkillView
from whet.records import cached_property
from whet.skill import block

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_NAMES = 33
MISSPELT = """
from whet import Library

library = Library.open()
print(library.skills()[0].nmae)
print(library.find("a chart")[0].card.nmae)
print(library.read("pdf").nmae)
print(library.detect("thanks").lvl)
print(library.index().txt)
print(library.invoke("/pdf").mesage)
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    path = tmp_path / "skills" / "charts" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: charts\ndescription: Draws charts. Use when asked for one.\n---\n\n# Charts\n")
    return Library.open([tmp_path / "skills"], home=tmp_path / "state", project=tmp_path, env={"PATH": ""})


def test_a_library_has_few_names() -> None:
    names = {name for name in {*dir(Library), "workspace", "progress"} if not name.startswith("_")}
    assert len(names) <= MOST_NAMES, sorted(names)


def test_results_are_values_that_know_their_json(library: Library) -> None:
    skills, skill = library.skills(), library.read("charts")
    found, detected = library.find("draw a chart"), library.detect("thanks, that was all")
    index, asked = library.index(), library.invoke("/charts of sales.csv")
    assert [type(value) for value in (skills, skill, found, detected, index, asked)] == [
        *(Skills, SkillView, Matches, Detection, Index, Invocation)
    ]
    assert [(card.name, card.ready, card.clients) for card in skills] == [("charts", True, ())]
    assert (skill.name, skill.content, [file.path for file in skill.files]) == ("charts", "\n# Charts\n", ["SKILL.md"])
    assert [match.card.name for match in found] == ["charts"] and 0 < found[0].fit <= 1 and found[0].why
    assert (detected.level, detected.skill) == ("none", None)
    assert str(index) == index.text and index.report.included == 1
    assert "# Charts" in asked.message and asked.skills[0].strategy == "full"
    for value in (skills, skill, found, detected, index, asked, library.needs(), library.commands()):
        answer = value.to_json()
        assert answer["success"] is True and json.loads(json.dumps(answer)) == answer


def test_what_is_read_through_the_library_is_counted(library: Library) -> None:
    library.read("charts")
    library.invoke("/charts")
    library.render("charts")
    (total,) = library.learning.usage.totals()
    assert (total.views, total.uses) == (1, 2)


@pytest.mark.deep
def test_a_misspelt_field_is_found_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(MISSPELT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    rejected = [line.split(": error: ")[0] for line in done.stdout.splitlines() if "has no attribute" in line]
    assert rejected == [f"program.py:{number}" for number in range(5, 11)], done.stdout


ANSWERS_MODELS = {"Tools", "Tool"}
"""What a model is given and gets as an answer is JSON by nature."""
WRITTEN_BY_OTHERS = {
    "Approval.given",
    "Call.arguments",
    "Check.value",
    "Completion.value",
    "DeniedCall.given",
    "Event.given",
    "Execution.hooks",
    "Sessions.limits",
    "Sessions.state",
    "ServerCall.given",
    "Setting.default",
    "SettingValue.default",
    "SettingValue.value",
    "Settings.skill_settings",
}
"""What somebody else's YAML or JSON says: it may be anything."""


@cache
def namespace(module: str) -> dict[str, Any]:
    """The names of a module, and those that it has for types only."""
    names = {"Value": block.Value, **vars(import_module(module))}  # an alias that refers to itself
    tree = ast.parse(inspect.getsource(import_module(module)))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    for node in (node for part in blocks for node in part.body):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("whet."):
            known = vars(import_module(str(node.module)))
            for alias in node.names:
                there = known if alias.name in known else namespace(str(node.module))
                names[alias.asname or alias.name] = there[alias.name]
        else:
            exec(compile(ast.Module([node], []), module, "exec"), names)
    return names


def hints(member: Any) -> dict[str, Any]:
    function = member.fget if isinstance(member, property) else getattr(member, "func", member)
    return get_type_hints(function, namespace(function.__module__))


def parts(hint: Any) -> Iterator[Any]:
    """A type, and those that it is made of."""
    yield hint
    for part in get_args(hint):
        yield from parts(part)


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """What a caller gets from a value: fields, properties and what methods give, each with its type."""
    for name in sorted(vars(owner)):
        if name.startswith(("_", "to_")):
            continue
        member = inspect.getattr_static(owner, name)
        member = getattr(member, "__func__", member)
        if isinstance(member, (property, cached_property)) or inspect.isfunction(member):
            yield name, hints(member).get("return")
    for base in (base for base in owner.__mro__ if base.__module__.startswith("whet.")):
        fields = {key: hint for key, hint in vars(base).get("__annotations__", {}).items() if not key.startswith("_")}
        yield from get_type_hints(type("", (), {"__annotations__": fields}), namespace(base.__module__)).items()


def untyped() -> set[str]:
    """Whatever a program reaches from a library that says dict or Any where a value should be."""
    wrong: set[str] = set()
    seen: set[type] = set()
    left: list[type] = [Library]
    while left:
        owner = left.pop()
        if owner in seen:
            continue
        seen.add(owner)
        for name, hint in members(owner):
            for part in parts(hint):
                if part is Any or part is dict or part is object:
                    wrong.add(f"{owner.__name__}.{name}")
                elif (
                    inspect.isclass(part)
                    and part.__module__.startswith("whet.")
                    and part.__name__ not in ANSWERS_MODELS
                ):
                    left.append(part)
    return wrong


def test_no_result_is_a_bare_dictionary() -> None:
    assert untyped() == WRITTEN_BY_OTHERS

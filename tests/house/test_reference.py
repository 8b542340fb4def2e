"""The page about the Python API has everything that is public, and says something about it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import whet
from whet.api.tool_definitions import Tool
from whet.api.tools import Tools

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from reference import TOPICS, members_of  # noqa: E402  the documentation's own tool, not a package

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def public(kind: type[Any]) -> list[str]:
    """What Python itself says that a class has."""
    return [name for name in dir(kind) if not name.startswith("_")]


def after(heading: str) -> str:
    """What stands between a heading and the next, without the signature."""
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return re.sub(r"```py\n.*?\n```", "", section[1], flags=re.DOTALL).strip() if section else ""


@pytest.mark.parametrize("kind", [whet.Library, whet.Session, Tools], ids=lambda kind: kind.__name__)
def test_every_public_member_is_there_and_explained(kind: type[Any]) -> None:
    known = {member.name: member.text for member in members_of(kind)}
    assert [name for name in public(kind) if not known.get(name)] == []
    methods = [member.name for member in members_of(kind) if member.is_method]
    assert [name for name in methods if not after(f"{kind.__name__}.{name}")] == []


def test_every_public_name_is_there() -> None:
    headings = HEADING.findall(PAGE)
    errors = [name for name in whet.__all__ if name.endswith("Error")]
    assert [name for name in errors if f"`{name}`" not in PAGE and f"\n{name}(" not in PAGE] == []
    others = [name for name in whet.__all__ if name not in errors and name != "__version__"]
    assert [name for name in (*others, Tools.__name__, Tool.__name__) if name not in headings] == []


def test_headings_are_unique_and_links_lead_to_them() -> None:
    anchors = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(PAGE)]
    assert len(anchors) == len(set(anchors))
    assert [link for link in re.findall(r"\]\(#([^)]+)\)", PAGE) if link not in anchors] == []


def test_each_member_has_one_topic() -> None:
    placed = [name for topic in TOPICS for name in topic.members]
    assert len(placed) == len(set(placed))


def test_signatures_are_python() -> None:
    for block in re.findall(r"^```py\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL):
        is_function = re.match(r"(@|async |def )", block)
        ast.parse(f"{block}: ..." if is_function else re.sub(r"(?s)^(\w+)\((.*)\)$", r"def \1(\2): ...", block))

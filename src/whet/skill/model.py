"""The typed, immutable `Skill` that every dialect is read into."""

from __future__ import annotations

from whet.records import NamedTuple
from whet.skill.gates import OPEN, Gates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from whet.notes import Note
    from whet.skill.block import Values
    from whet.skill.frontmatter import Step

MAX_DESCRIPTION = 1024
"""Longest description that the specification allows, in characters."""
FIRST_VERSION = "1"
"""Version of a new skill that does not state one."""


class Execution(NamedTuple):
    """How the skill is to be run."""

    context: Literal["inline", "fork"] = "inline"
    agent: str = ""
    model: str = ""
    effort: str = ""
    background: bool | None = None
    shell: str = ""
    hooks: Any = None


class Interface(NamedTuple):
    """The appearance of the skill in a menu."""

    display_name: str = ""
    short_description: str = ""
    icon_small: str = ""
    icon_large: str = ""
    brand_color: str = ""
    default_prompt: str = ""
    emoji: str = ""


class Skill(NamedTuple):
    """Everything that a skill says about itself, in any dialect."""

    name: str
    description: str
    body: str
    version: str = ""
    license: str = ""
    author: str = ""
    compatibility: str = ""
    homepage: str = ""
    language: str = ""
    created: str = ""
    updated: str = ""
    id: str = ""
    entry_point: str = ""
    """The file to start with, if it is not the main file."""
    tags: tuple[str, ...] = ()
    category: str = ""
    related: tuple[str, ...] = ()
    when_to_use: str = ""
    when_not_to_use: str = ""
    triggers: tuple[str, ...] = ()
    gates: Gates = OPEN
    setup_help: str = ""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    execution: Execution = Execution()
    arguments: tuple[str, ...] = ()
    argument_hint: str = ""
    interface: Interface = Interface()
    runtime: tuple[tuple[str, str], ...] = ()
    """Agent versions that the skill requires, such as `hermes_version`, as written."""
    step: Step = "strict"
    diagnostics: tuple[Note, ...] = ()
    frontmatter: Values = {}  # noqa: RUF012  the raw mapping, shared and never written
    """The frontmatter as written, including unknown keys."""

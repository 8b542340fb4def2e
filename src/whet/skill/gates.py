"""The requirements that decide whether a skill is ready on a machine and visible to a caller; part of every card."""

from __future__ import annotations

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Platform = str
"""`macos`, `linux` or `windows`; an unknown word is kept as written and matches nothing."""


class EnvVar(NamedTuple):
    """An environment variable that the skill reads."""

    name: str
    prompt: str = ""
    help: str = ""
    required_for: str = ""
    optional: bool = False


class Tool(NamedTuple):
    """A tool, toolset or server that the skill expects in the agent."""

    name: str
    kind: str = "tool"
    """`tool`, `toolset`, or the type of a Codex dependency, such as `mcp`."""
    description: str = ""
    transport: str = ""
    command: str = ""
    url: str = ""


class Setting(NamedTuple):
    """A value that the user can set for the skill."""

    key: str
    description: str = ""
    default: Any = None
    prompt: str = ""


class Install(NamedTuple):
    """A way to install a program that the skill needs; `whet.skill.recipes` turns it into a command."""

    kind: str
    """`brew`, `node`, `go`, `uv` or `download`; "" for a plain instruction."""
    package: str = ""
    """The formula, package or module."""
    bins: tuple[str, ...] = ()
    """Programs that it installs; empty for those that the skill needs."""
    label: str = ""
    os: tuple[str, ...] = ()
    url: str = ""
    sha256: str = ""


class SkillNeed(NamedTuple):
    """Another skill that this one needs."""

    name: str
    range: str = ""
    """Version range, such as `>=1.2,<2`; "" for any."""
    source: str = ""
    """Its source, as for `whet install`; "" for the source of the skill that needs it."""

    def __str__(self) -> str:
        return f"{self.name} {self.range}".rstrip()


class Gates(NamedTuple):
    """The requirements that decide whether a skill is ready on a machine and visible to a caller."""

    platforms: tuple[Platform, ...] = ()
    env: tuple[EnvVar, ...] = ()
    commands: tuple[str, ...] = ()
    """All of these must exist."""
    any_commands: tuple[str, ...] = ()
    """One of these must exist."""
    tools: tuple[Tool, ...] = ()
    optional_tools: tuple[Tool, ...] = ()
    fallback_for: tuple[Tool, ...] = ()
    """The skill is offered only while none of these is available."""
    settings: tuple[Setting, ...] = ()
    model_invocable: bool = True
    user_invocable: bool = True
    products: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Globs; if given, the skill is offered only while a matching file is in use."""
    installs: tuple[Install, ...] = ()
    """Ways to install the commands."""
    always: bool = False
    """Whether it is ready even if requirements are missing."""
    skills: tuple[SkillNeed, ...] = ()
    """Other skills that it needs."""


OPEN = Gates()
"""Gates of a skill without requirements."""
DRAFT = "says what it does in one sentence"
"""Part of the template's description for new skills; a skill that still has it is offered to no model."""

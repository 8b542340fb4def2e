"""What decides whether a skill is ready on a machine and visible to a caller: what every card carries."""

from __future__ import annotations

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Platform = str
"""`macos`, `linux` or `windows`; an unknown word is kept as written and matches nothing."""


class EnvVar(NamedTuple):
    """An environment variable the skill reads."""

    name: str
    prompt: str = ""
    help: str = ""
    required_for: str = ""
    optional: bool = False


class Tool(NamedTuple):
    """A tool, toolset or server the skill wants to find in the agent."""

    name: str
    kind: str = "tool"
    """`tool`, `toolset`, or what a Codex dependency says, such as `mcp`."""
    description: str = ""
    transport: str = ""
    command: str = ""
    url: str = ""


class Setting(NamedTuple):
    """A value the user can set for the skill."""

    key: str
    description: str = ""
    default: Any = None
    prompt: str = ""


class Install(NamedTuple):
    """One way to get a program that the skill needs; `whet.skill.recipes` says what is made of it."""

    kind: str
    """`brew`, `node`, `go`, `uv` or `download`; "" for one that only says what to do."""
    package: str = ""
    """The formula, the package or the module."""
    bins: tuple[str, ...] = ()
    """The programs that it brings; none for those that the skill needs."""
    label: str = ""
    os: tuple[str, ...] = ()
    url: str = ""
    sha256: str = ""


class SkillNeed(NamedTuple):
    """Another skill that this one needs."""

    name: str
    range: str = ""
    """Which versions will do, such as `>=1.2,<2`; "" for any."""
    source: str = ""
    """Where it comes from, as `whet install` takes it; "" for the source of the skill that needs it."""

    def __str__(self) -> str:
        return f"{self.name} {self.range}".rstrip()


class Gates(NamedTuple):
    """What decides whether a skill is ready on a machine and visible to a caller."""

    platforms: tuple[Platform, ...] = ()
    env: tuple[EnvVar, ...] = ()
    commands: tuple[str, ...] = ()
    """All of these must be found."""
    any_commands: tuple[str, ...] = ()
    """One of these must be found."""
    tools: tuple[Tool, ...] = ()
    optional_tools: tuple[Tool, ...] = ()
    fallback_for: tuple[Tool, ...] = ()
    """The skill is only wanted while none of these is available."""
    settings: tuple[Setting, ...] = ()
    model_invocable: bool = True
    user_invocable: bool = True
    products: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Globs; when given, the skill is offered only while a matching file is in play."""
    installs: tuple[Install, ...] = ()
    """How the commands can be installed."""
    always: bool = False
    """It is ready whatever is missing."""
    skills: tuple[SkillNeed, ...] = ()
    """Other skills that it needs."""


OPEN = Gates()
"""The gates of a skill that asks for nothing."""
DRAFT = "says what it does in one sentence"
"""Part of the description of the template for new skills; a skill that still has it is offered to no model."""

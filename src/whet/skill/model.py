"""The one typed, immutable `Skill` that every dialect is read into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from whet.skill.diagnostics import Diagnostic
    from whet.skill.frontmatter import Step

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


OPEN = Gates()
"""The gates of a skill that asks for nothing."""


class Execution(NamedTuple):
    """How the skill wants to be run."""

    context: Literal["inline", "fork"] = "inline"
    agent: str = ""
    model: str = ""
    effort: str = ""
    background: bool | None = None
    shell: str = ""
    hooks: Any = None


class Interface(NamedTuple):
    """How the skill looks in a menu."""

    display_name: str = ""
    short_description: str = ""
    icon_small: str = ""
    icon_large: str = ""
    brand_color: str = ""
    default_prompt: str = ""
    emoji: str = ""


class Skill(NamedTuple):
    """Everything a skill says about itself, whatever dialect it says it in."""

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
    """Versions of agents the skill asks for, such as `hermes_version`, kept as written."""
    step: Step = "strict"
    diagnostics: tuple[Diagnostic, ...] = ()
    frontmatter: dict[str, Any] = {}  # noqa: RUF012  the raw mapping, shared and never written
    """The frontmatter as written, unknown keys included."""

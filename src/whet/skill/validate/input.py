"""What goes into a validation."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from whet.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.skill.frontmatter import Document

Profile = Literal["spec", "upload", "quality", "package"]
PROFILES: tuple[Profile, ...] = ("spec", "upload", "quality", "package")
_NONE: Mapping[str, bytes] = MappingProxyType({})
_NO_HOSTS: Mapping[str, str] = MappingProxyType({})


class ValidationInput(NamedTuple):
    """A skill package as far as validation looks at it."""

    directory: str
    """Name of its directory; empty when it is not known."""
    text: str | bytes | None
    """The main file, or None when there is none."""
    main: str = "SKILL.md"
    """The name of the main file."""
    files: tuple[str, ...] = ()
    """Every file of the package, as paths relative to its directory with forward slashes."""
    published: bool = False
    """Whether it is, or is about to be, offered to others; more is asked of such a package."""
    document: Document | None = None
    """The main file as it reads, where somebody has read it."""
    beside: Mapping[str, bytes] = _NONE
    """The contents of the files that the profile `package` looks into, by path."""
    hosts: Mapping[str, str] = _NO_HOSTS
    """The known versions of the hosts that the skill runs in."""
    tools: frozenset[str] | None = None
    """The tools that the host has; None where nobody knows."""

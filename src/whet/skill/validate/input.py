"""The input of a validation."""

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
    """The parts of a skill package that validation uses."""

    directory: str
    """Name of its directory; empty if unknown."""
    text: str | bytes | None
    """The main file, or None if it is missing."""
    main: str = "SKILL.md"
    """Name of the main file."""
    files: tuple[str, ...] = ()
    """Every file of the package, as relative paths with forward slashes."""
    published: bool = False
    """Whether it is, or is about to be, published; such a package must meet more requirements."""
    document: Document | None = None
    """The parsed main file, if available."""
    beside: Mapping[str, bytes] = _NONE
    """Contents of the files that the profile `package` reads, by path."""
    hosts: Mapping[str, str] = _NO_HOSTS
    """Known versions of the hosts that the skill runs in."""
    tools: frozenset[str] | None = None
    """Tools of the host; None if unknown."""

"""What goes into a validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from whet.skill.frontmatter import Document

Profile = Literal["spec", "upload", "quality"]


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

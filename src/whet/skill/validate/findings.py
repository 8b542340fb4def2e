"""What goes into a validation and what comes out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from whet.skill.diagnostics import Severity

Profile = Literal["spec", "upload", "quality"]


class Package(NamedTuple):
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


class Finding(NamedTuple):
    """One rule that a package breaks. Only an `error` makes it invalid."""

    code: str
    severity: Severity
    line: int | None
    """Line in the main file, counted from 1."""
    message: str
    fix: str = ""
    """What `whet validate --fix` would do about it; empty when that is left to the author."""

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON carries it."""
        return self._asdict()

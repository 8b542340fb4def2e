"""What a library has to say about itself: every skip, shadow, repair and refusal, each with a code and a way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from whet.skill.diagnostics import Diagnostic, Severity


class Entry(NamedTuple):
    """One line of a report: what is wrong or surprising, and what to do about it."""

    code: str
    """Stable, in kebab case; `docs/diagnostics.md` explains each."""
    severity: Severity
    """`error`, `warning` or `info`."""
    skill: str
    """The skill's name, or "" when the entry is about a place."""
    path: str
    """The file or directory it is about; "" when it is about none."""
    message: str
    """One sentence."""
    hint: str = ""
    """What to do next."""
    line: int | None = None
    """Where in the file."""

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON carries it."""
        return self._asdict()


def from_diagnostic(note: Diagnostic, skill: str, path: str) -> Entry:
    """A remark about one file, placed in a report."""
    return Entry(note.code, note.severity, skill, path, note.message, note.hint, note.line)

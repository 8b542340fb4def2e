"""A remark about a skill: a stable code, how bad it is, a sentence, where, and what to do.

Reading never throws a skill away and never repairs one in secret; it returns these instead. The codes are documented in
`docs/diagnostics.md`, and a test keeps that list complete.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning", "info"]


class Diagnostic(NamedTuple):
    """One thing worth knowing about a skill or the place it lies in."""

    code: str
    severity: Severity
    message: str
    line: int | None = None
    """Line in the main file, counted from 1."""
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        """The diagnostic as JSON carries it."""
        return self._asdict()

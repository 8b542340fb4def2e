"""`Note`: a remark about a skill, or about a directory of skills.

Reading never drops a skill and never repairs one silently; it returns notes instead. Validation, discovery, `whet
doctor`, reports and the reasons why a skill is hidden all use notes. `docs/codes.md` explains every code.
"""

from __future__ import annotations

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Self, TypeAlias

    from whet.errors import WhetError

Severity: TypeAlias = 'Literal["error", "warning", "info"]'


_NAMED = "`whet skill validate NAME "
"""Part of a hint from a reader that does not know the skill's name."""


def fill_name(hint: str, skill: str) -> str:
    """Put the name of the skill into the command of a hint, so that it can be pasted."""
    if _NAMED not in hint:
        return hint
    from shlex import quote

    return hint.replace(_NAMED, _NAMED.replace("NAME", quote(skill)))


class Note(NamedTuple):
    """One remark, and what to do about it."""

    code: str
    """Stable, in kebab case; `docs/codes.md` explains each."""
    severity: Severity
    """`error`: something cannot be used. `warning`: it was read in part, or differently. `info`: nothing was lost."""
    message: str
    """One sentence."""
    hint: str = ""
    """What to do next."""
    skill: str = ""
    """The skill's name; "" if the note is not about a skill."""
    path: str = ""
    """The file or directory it is about; "" if there is none."""
    line: int | None = None
    """The line in the file, from 1."""
    fix: str = ""
    """The effect of `whet skill validate --fix`; "" if only the author can fix it."""

    @classmethod
    def from_error(
        cls, error: WhetError, severity: Severity, *, skill: str = "", path: str = "", line: int | None = None
    ) -> Self:
        """Return a note about an error that affects only one skill or file."""
        return cls(error.code, severity, error.message, error.hint, skill, path, line)

    def at(self, skill: str, path: str) -> Note:
        """Return the same note, about this skill and file."""
        return self._replace(hint=fill_name(self.hint, skill), skill=skill, path=path)

    def to_json(self) -> dict[str, Any]:
        """Return the note as JSON, as in a report."""
        return {
            "code": self.code,
            "severity": self.severity,
            "skill": self.skill,
            "path": self.path,
            "message": self.message,
            "hint": self.hint,
            "line": self.line,
        }

    def to_finding(self) -> dict[str, Any]:
        """Return the note as JSON, as `whet skill validate` prints it."""
        keys = ("code", "severity", "line", "message", "fix")
        return {key: getattr(self, key) for key in keys}

    def to_reason(self) -> dict[str, str]:
        """Return the note as JSON, as the reason why something is left out or refused."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


SWITCHES = ("enable", "disable", "pin", "unpin", "list-as", "trust", "untrust", "use")
"""Actions that are decisions about a skill or a project and do not change its files."""


class Progress(NamedTuple):
    """The progress of a long operation."""

    what: str
    """The operation, human-readable: a verb, a source or a skill."""
    done: int
    total: int = 0
    """0 if unknown."""
    unit: str = "bytes"


def name_action(action: str, origin: str = "") -> str:
    """Return the human-readable action of a change: every removal is `remove`, `undo --to` is `return`.

    A skill can be enabled or disabled for one client, which is then the `origin` of the change. The origin of another
    decision is what it replaced.
    """
    known = {"delete": "remove", "uninstall": "remove", "audit": "scan", "rollback": "return"}
    named = known.get(action, action.replace("_", " "))
    if action in ("list-as", "use"):
        return f"{action} {read_replacement(origin)[1]}"
    return f"{named} for {origin}" if action in ("enable", "disable") and origin else named


def read_replacement(origin: str) -> tuple[str, str, str]:
    """Parse the origin of a decision: the value before, the value now, and the project ("" for all)."""
    before, _, rest = origin.partition(" -> ")
    now, _, project = rest.partition(" in ")
    return before, now, project

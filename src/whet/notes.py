"""A `Note`: anything that is to be said about a skill, or about a place where skills lie.

Reading never throws a skill away and never repairs one in secret; it returns notes instead. Validation, discovery,
`whet doctor`, reports and the reasons why a skill is hidden all speak in notes. `docs/codes.md` explains every code.
"""

from __future__ import annotations

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Self, TypeAlias

    from whet.errors import WhetError

Severity: TypeAlias = 'Literal["error", "warning", "info"]'


_NAMED = "`whet skill validate NAME "
"""In the hint of a reader, which does not know what the skill is called."""


def fill_name(hint: str, skill: str) -> str:
    """A hint with the name of the skill in its command, so that it can be pasted."""
    if _NAMED not in hint:
        return hint
    from shlex import quote

    return hint.replace(_NAMED, _NAMED.replace("NAME", quote(skill)))


class Note(NamedTuple):
    """One thing worth knowing, and what to do about it."""

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
    """Where in the file, counted from 1."""
    fix: str = ""
    """What `whet skill validate --fix` would do about it; "" if only the author can fix it."""

    @classmethod
    def from_error(
        cls, error: WhetError, severity: Severity, *, skill: str = "", path: str = "", line: int | None = None
    ) -> Self:
        """A note about an error that affects only one skill or file."""
        return cls(error.code, severity, error.message, error.hint, skill, path, line)

    def at(self, skill: str, path: str) -> Note:
        """The same note, about this skill and file."""
        return self._replace(hint=fill_name(self.hint, skill), skill=skill, path=path)

    def to_json(self) -> dict[str, Any]:
        """The note as JSON, as in a report."""
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
        """The note as JSON, as `whet skill validate` prints it."""
        keys = ("code", "severity", "line", "message", "fix")
        return {key: getattr(self, key) for key in keys}

    def to_reason(self) -> dict[str, str]:
        """The note as JSON, as the reason why something is left out or refused."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


SWITCHES = ("enable", "disable", "pin", "unpin", "list-as", "trust", "untrust", "use")
"""The actions that are decisions about a skill or a project, and leave its files alone."""


class Progress(NamedTuple):
    """How far something that takes its time has come."""

    what: str
    """What is going on, for people: a verb, a source or a skill."""
    done: int
    total: int = 0
    """0: nobody knows."""
    unit: str = "bytes"


def name_action(action: str, origin: str = "") -> str:
    """What people call the action of a change: everything that takes a skill out is `remove`, `undo --to` is `return`.

    A skill can be enabled or disabled for one client, which is then the `origin` of the change. The origin of another
    decision says what it replaced.
    """
    known = {"delete": "remove", "uninstall": "remove", "audit": "scan", "rollback": "return"}
    named = known.get(action, action.replace("_", " "))
    if action in ("list-as", "use"):
        return f"{action} {read_replacement(origin)[1]}"
    return f"{named} for {origin}" if action in ("enable", "disable") and origin else named


def read_replacement(origin: str) -> tuple[str, str, str]:
    """What the origin of a decision says: what was decided before, what is, and for which project ("" for all)."""
    before, _, rest = origin.partition(" -> ")
    now, _, project = rest.partition(" in ")
    return before, now, project

"""One reader for the trigger evals people have: labelled messages, in any of the shapes that tools write them in.

    [{"query": "...", "should_trigger": true}]                        agentskills.io, skill-creator
    {"skill_name": "pdf", "evals": [{"prompt": "...", ...}]}          rows in a list, whatever the list is called
    {"should_trigger": ["..."], "should_not_trigger": ["..."]}        two lists; also positive / negative
    {"skills": {"pdf": {"should_trigger": ["..."]}}}                  by skill, with or without `skills` around
    {"prompt": "...", "expected_skill": "pdf" or null}                the skill that should win, or none

as JSON, JSON lines, YAML or CSV. A row that cannot be used is left out and reported; only a file that is none of
these is an error.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError
from whet.notes import Note
from whet.routing.evals.labels import MESSAGE_KEYS, keyed, message_of, said, skill_of
from whet.routing.evals.parsing import FORMS, MAX_BYTES, parsed, plain_key
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.notes import Severity

__all__ = ("MAX_BYTES", "MAX_CASES", "MAX_MESSAGE", "Case", "Cases", "find_files", "read_cases")

MAX_CASES = 10_000
"""Cases of one file."""
MAX_MESSAGE = 8_000
"""Characters of a message; what lies beyond is cut off."""
_MAX_NOTES = 100
_DEEPEST = 12
_FITS_LISTS = frozenset(
    (
        *("shouldtrigger", "shouldactivate", "positive", "positives", "positiveprompts", "should", "mustactivate"),
        *("shouldtriggerexplicit", "shouldtriggerinferred", "musttrigger", "triggerprompts", "positiveexamples"),
    )
)
_AWAY_LISTS = frozenset(
    (
        *("shouldnottrigger", "shouldnotactivate", "negative", "negatives", "negativeprompts", "shouldnot"),
        *("nearmiss", "nearmisses", "mustnotactivate", "mustnottrigger", "negativeexamples"),
    )
)
_LISTS = _FITS_LISTS | _AWAY_LISTS
_AROUND = frozenset(("evals", "cases", "tests", "testcases", "queries", "prompts", "scenarios", "stimuli", "examples"))
"""Lists of rows: a mapping that has one is not a row itself, whatever else it says."""
_FOLDERS = ("evals/", "eval/", "tests/", "")
_PATTERNS = ("*trigger*eval*", "eval[-_]queries*", "trigger*", "evals.*")
_AT_THE_ROOT = 2
"""How many of the patterns are telling enough for a file beside SKILL.md."""
_ENDINGS = (".json", ".jsonl", ".yaml", ".yml", ".csv")


class Case(NamedTuple):
    """One labelled message."""

    message: str
    skill: str
    """The skill it is about, as the file names it; "" for a message that no skill should come up for."""
    fits: bool
    place: str
    """Where it stands in its file, such as `evals[3]`."""


class Cases(NamedTuple):
    """What a file holds, and what of it was left out."""

    cases: tuple[Case, ...]
    report: tuple[Note, ...]


def find_files(names: Iterable[str]) -> list[str]:
    """The files of a package, by their relative paths, that may hold trigger evals; the most telling name first."""
    found = []
    for name in names:
        folder, _, file = name.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        lowered = file.casefold()
        if prefix in _FOLDERS and lowered.endswith(_ENDINGS):
            rank = next((at for at, shape in enumerate(_PATTERNS) if fnmatchcase(lowered, shape)), None)
            if rank is not None and (prefix or rank < _AT_THE_ROOT):
                found.append((_FOLDERS.index(prefix), rank, name))
    return [name for *_, name in sorted(found)]


def read_cases(data: Any, skill: str = "", where: str = "") -> Cases:
    """The cases of a file, given as bytes, text or parsed values; `skill` is the one it belongs to.

    Raises InvalidError for what is no eval file at all; everything else that is odd is in the report.
    """
    value = parsed(data, where) if isinstance(data, bytes | str) else data
    reader = _Reader(skill, where)
    if isinstance(value, dict):
        reader.skill = reader.skill or skill_of(keyed(value))
    reader.node(value, reader.skill, "", 0)
    if not reader.rows and value != []:
        hint = f"Write {FORMS}."
        raise InvalidError("not-trigger-evals", f"{where or 'The file'} holds no messages with a verdict.", hint=hint)
    return Cases(tuple(reader.cases.values()), reader.report())


class _Reader:
    """Walks the values of one file and collects."""

    def __init__(self, skill: str, where: str) -> None:
        self.skill = skill
        self.where = where
        self.cases: dict[tuple[str, str], Case] = {}
        self.rows = 0
        """Things that looked like a row, usable or not."""
        self._notes: list[Note] = []
        self._unsaid = 0
        self._full = False

    def report(self) -> tuple[Note, ...]:
        if self._unsaid:
            message = f"{self._unsaid} further remarks were left out."
            self._notes.append(Note("more-remarks", "info", message, "Correct those that are named.", path=self.where))
        return tuple(self._notes)

    def node(self, value: Any, skill: str, place: str, depth: int) -> None:
        """Take in rows, lists of rows and mappings around them."""
        if depth > _DEEPEST or self._full:
            return
        if isinstance(value, list):
            for number, item in enumerate(value):
                self.item(item, skill, f"{place}[{number}]", depth + 1)
        elif isinstance(value, dict):
            plain = keyed(value)
            if _is_row(plain):
                self.row(plain, skill, place)
                return
            about = skill if depth == 0 else skill_of(plain) or skill
            for name, inner in value.items():
                self.member(str(name), inner, about, f"{place}.{name}" if place else str(name), depth)

    def item(self, value: Any, skill: str, place: str, depth: int) -> None:
        """One element of a list that carries no verdict of its own."""
        if isinstance(value, dict | list):
            self.node(value, skill, place, depth)
        else:
            self.rows += 1
            self.skip("case-unlabelled", place, "is no mapping with a message and a verdict", "Write both.")

    def member(self, name: str, value: Any, skill: str, place: str, depth: int) -> None:
        """One field of a mapping around rows: a list with a verdict, or more mappings, which may be skills by name."""
        field = plain_key(name)
        if isinstance(value, list) and field in _LISTS:
            for number, item in enumerate(value):
                self.labelled(item, skill, f"{place}[{number}]", fits=field in _FITS_LISTS)
        elif isinstance(value, list):
            if any(isinstance(item, dict) for item in value):
                self.node(value, skill, place, depth + 1)
        elif isinstance(value, dict):
            if field == "skills":
                for named, inner in value.items():
                    self.node(inner, str(named), f"{place}.{named}", depth + 1)
            else:
                self.node(value, _named_by(name, value, skill), place, depth + 1)

    def labelled(self, item: Any, skill: str, place: str, *, fits: bool) -> None:
        """An element of a list whose name is the verdict."""
        self.rows += 1
        plain = keyed(item) if isinstance(item, dict) else {}
        message = message_of(plain) if plain else item
        self.add(message, skill_of(plain) or skill, place, fits=fits)

    def row(self, plain: dict[str, Any], skill: str, place: str) -> None:
        self.rows += 1
        meant = said(plain, skill)
        if meant is None:
            self.skip("case-unlabelled", place, "has no verdict", "Add should_trigger: true or false.", "info")
            return
        if not meant.fits and not meant.away:
            self.skip("case-unlabelled", place, "names no skill", "Name the skill.")
        for name in meant.fits:
            self.add(message_of(plain), name, place, fits=True)
        for name in meant.away:
            self.add(message_of(plain), name, place, fits=False)

    def add(self, message: Any, skill: str, place: str, *, fits: bool) -> None:
        """Keep a case, unless its message is none, or is there already."""
        if not isinstance(message, str) or not message.strip():
            self.skip("case-without-message", place, "has no message, or one that is not text", "Give it as text.")
            return
        text = message.strip().encode("utf-8", "replace").decode()
        if len(text) > MAX_MESSAGE:
            self.skip("message-cut", place, f"was cut at {MAX_MESSAGE:,} characters", "Shorten the message.", "info")
            text = text[:MAX_MESSAGE].rstrip()
        known = (text, name_key(skill))
        if known in self.cases:
            if self.cases[known].fits is not fits:
                message = f"contradicts {self.cases[known].place}, which counts"
                self.skip("case-contradicted", place, message, "Decide which verdict is right.")
            return
        if len(self.cases) >= MAX_CASES:
            if not self._full:
                self.skip(
                    "too-many-cases", place, f"and all after it were left out: more than {MAX_CASES:,}", "Use fewer."
                )
            self._full = True
            return
        self.cases[known] = Case(text, skill, fits, place)

    def skip(self, code: str, place: str, what: str, hint: str, severity: Severity = "warning") -> None:
        """Note that something was left out or changed."""
        if len(self._notes) >= _MAX_NOTES:
            self._unsaid += 1
            return
        shown = place if len(place) <= 80 else f"{place[:79]}…"
        self._notes.append(
            Note(code, severity, f"{shown or 'The row'} {what}.", hint, skill=self.skill, path=self.where)
        )


def _is_row(plain: dict[str, Any]) -> bool:
    """Has a mapping a message of its own?"""
    around = any(isinstance(inner, list) and (field in _LISTS or field in _AROUND) for field, inner in plain.items())
    return not around and any(plain.get(field) is not None for field in MESSAGE_KEYS) and message_of(plain) is not None


def _named_by(name: str, value: dict[Any, Any], skill: str) -> str:
    """The skill that a mapping inside a mapping is about: its key is a name when two lists stand directly below it."""
    labels = any(plain_key(field) in _LISTS for field, inner in value.items() if isinstance(inner, list))
    wrapper = "trigger" in name.casefold() or "eval" in name.casefold() or "case" in name.casefold()
    return name if labels and not wrapper else skill

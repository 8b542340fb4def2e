"""A reader for trigger evals: labelled messages, in any of the formats that tools write.

    [{"query": "...", "should_trigger": true}]                        agentskills.io, skill-creator
    {"skill_name": "pdf", "evals": [{"prompt": "...", ...}]}          rows in a list of any name
    {"should_trigger": ["..."], "should_not_trigger": ["..."]}        two lists; also positive / negative
    {"skills": {"pdf": {"should_trigger": ["..."]}}}                  by skill, with or without `skills` around
    {"prompt": "...", "expected_skill": "pdf" or null}                the skill that should win, or none

as JSON or YAML. Field names differ between tools, their meaning does not. There are three kinds of statement: a
verdict on the skill of the file (`should_trigger: true`), the name of the expected skill (`expected_skill: pdf`,
`null` for none), and names of skills that must not trigger (`reject: [docx]`). An unusable row is left out and
reported; only a file in none of these formats is an error.
"""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whet.errors import InvalidError
from whet.notes import Note
from whet.skill.names import key as name_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.notes import Severity

Row: TypeAlias = "Mapping[str, Any]"
"""A mapping of a file, by plain keys, with values of any type."""
MAX_CASES = 10_000
"""Maximum number of cases in one file."""
MAX_MESSAGE = 8_000
"""Maximum length of a message; longer ones are cut."""
_MAX_NOTES = 100
_DEEPEST = 12
EXAMPLES = "prompts/examples/"
"""The directory of example prompts, one in each file; each is a message for its skill."""
FOLDERS = ("evals/", "eval/", "tests/", "", EXAMPLES)
_PATTERNS = ("*trigger*eval*", "eval[-_]queries*", "trigger*", "evals.*")
_AT_THE_ROOT = 2
"""Number of patterns that also apply to files beside SKILL.md."""
_ENDINGS = (".json", ".yaml", ".yml")


class Case(NamedTuple):
    """A labelled message."""

    message: str
    skill: str
    """The skill it is about, as the file names it; "" for a message that should trigger no skill."""
    fits: bool
    place: str
    """Its position in the file, such as `evals[3]`."""


class Cases(NamedTuple):
    """The cases of a file, and notes on rows that were left out."""

    cases: tuple[Case, ...]
    report: tuple[Note, ...]


def find_files(names: Iterable[str]) -> list[str]:
    """Return the relative paths of the files of a package that may hold trigger evals, most likely names first."""
    found = []
    for name in names:
        folder, _, file = name.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        lowered = file.casefold()
        if prefix == EXAMPLES and lowered.endswith(".json"):
            found.append((FOLDERS.index(prefix), 0, name))
        elif prefix in FOLDERS and lowered.endswith(_ENDINGS):
            rank = next((at for at, shape in enumerate(_PATTERNS) if fnmatchcase(lowered, shape)), None)
            if rank is not None and (prefix or rank < _AT_THE_ROOT):
                found.append((FOLDERS.index(prefix), rank, name))
    return [name for *_, name in sorted(found)]


def read_cases(data: Any, skill: str = "", where: str = "", *, examples: bool = False) -> Cases:
    """Return the cases of a file, given as bytes, text or parsed values; `skill` is the one it belongs to.

    With `examples`, a message without a verdict is for the skill. Raises InvalidError if it is not an eval file; other
    problems are in the report.
    """
    value = parsed(data, where) if isinstance(data, bytes | str) else data
    reader = _Reader(skill, where, examples=examples)
    if isinstance(value, dict):
        reader.skill = reader.skill or skill_of(keyed(value))
    reader.node(value, reader.skill, "", 0)
    if not reader.rows and value != []:
        hint = f"Write {FORMS}."
        raise InvalidError("not-trigger-evals", f"{where or 'The file'} has no labelled messages.", hint=hint)
    return Cases(tuple(reader.cases.values()), reader.report())


class _Reader:
    """Collects the cases in the values of one file."""

    def __init__(self, skill: str, where: str, *, examples: bool = False) -> None:
        self.skill = skill
        self.where = where
        self.examples = examples
        self.cases: dict[tuple[str, str], Case] = {}
        self.rows = 0
        """Number of rows, usable or not."""
        self._notes: list[Note] = []
        self._unsaid = 0
        self._full = False

    def report(self) -> tuple[Note, ...]:
        if self._unsaid:
            message = f"{self._unsaid} more remarks are not shown."
            self._notes.append(Note("more-remarks", "info", message, "Fix the ones shown.", path=self.where))
        return tuple(self._notes)

    def node(self, value: Any, skill: str, place: str, depth: int) -> None:
        """Read a row, a list of rows or a mapping around them; nothing else has a message and a verdict."""
        if depth > _DEEPEST or self._full:
            return
        if isinstance(value, list):
            for number, item in enumerate(value):
                self.node(item, skill, f"{place}[{number}]", depth + 1)
        elif isinstance(value, dict):
            plain = keyed(value)
            if _is_row(plain):
                self.row(plain, skill, place)
                return
            about = skill if depth == 0 else skill_of(plain) or skill
            for name, inner in value.items():
                self.member(str(name), inner, about, f"{place}.{name}" if place else str(name), depth)
        else:
            self.rows += 1
            self.skip("case-unlabelled", place, "is not a mapping with a message and a verdict", "Write both.")

    def member(self, name: str, value: Any, skill: str, place: str, depth: int) -> None:
        """Read one field of a mapping around rows: a list with a verdict, or more mappings, maybe skills by name."""
        field = plain_key(name)
        if isinstance(value, list) and field in _lists():
            for number, item in enumerate(value):
                self.labelled(item, skill, f"{place}[{number}]", fits=field in _fields()["fitting"])
        elif isinstance(value, list):
            if any(isinstance(item, dict) for item in value):
                self.node(value, skill, place, depth + 1)
        elif isinstance(value, dict):
            if field == "skills":
                for named, inner in value.items():
                    self.node(inner, str(named) or skill, f"{place}.{named}", depth + 1)
            else:
                self.node(value, _named_by(name, value, skill) or skill, place, depth + 1)

    def labelled(self, item: Any, skill: str, place: str, *, fits: bool) -> None:
        """Read an element of a list whose name is the verdict."""
        self.rows += 1
        plain = keyed(item) if isinstance(item, dict) else {}
        message = message_of(plain) if plain else item
        self.add(message, skill_of(plain) or skill, place, fits=fits)

    def row(self, plain: Row, skill: str, place: str) -> None:
        self.rows += 1
        meant = said(plain, skill)
        if self.examples and (meant is None or skill not in meant.fits + meant.away):
            meant = Said((skill,), ())
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
        """Add a case, unless its message is invalid or already present."""
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
                message = f"contradicts {self.cases[known].place}, which takes precedence"
                self.skip("case-contradicted", place, message, "Decide which verdict is right.")
            return
        if len(self.cases) >= MAX_CASES:
            if not self._full:
                self.skip(
                    "too-many-cases",
                    place,
                    f"and all after it are left out: there are more than {MAX_CASES:,}",
                    "Use fewer messages.",
                )
            self._full = True
            return
        self.cases[known] = Case(text, skill, fits, place)

    def skip(self, code: str, place: str, what: str, hint: str, severity: Severity = "warning") -> None:
        """Record that something was left out or changed."""
        if len(self._notes) >= _MAX_NOTES:
            self._unsaid += 1
            return
        shown = place if len(place) <= 80 else f"{place[:79]}…"
        self._notes.append(
            Note(code, severity, f"{shown or 'The row'} {what}.", hint, skill=self.skill, path=self.where)
        )


@cache
def _fields() -> dict[str, list[str]]:
    """Return the field names that tools use, by meaning."""
    return tomllib.loads(files(__package__).joinpath("fields.toml").read_text(encoding="utf-8"))


def _lists() -> list[str]:
    """Return the names of fields that hold messages and are a verdict on them."""
    return _fields()["fitting"] + _fields()["unfitting"]


def _is_row(plain: Row) -> bool:
    """Return whether a mapping is a row with its own message."""
    around = (*_lists(), *_fields()["rows"])
    lists = any(isinstance(inner, list) and field in around for field, inner in plain.items())
    return not lists and message_of(plain) is not None


def _named_by(name: str, value: dict[Any, Any], skill: str) -> str:
    """Return the skill of a nested mapping: its key, if labelled lists are directly below it."""
    labels = any(plain_key(field) in _lists() for field, inner in value.items() if isinstance(inner, list))
    wrapper = "trigger" in name.casefold() or "eval" in name.casefold() or "case" in name.casefold()
    return name if labels and not wrapper else skill


_MAX_NAME = 200
_MAX_NAMES = 100


class Said(NamedTuple):
    """The meaning of a row: the skills it is for and those it is not for; "" means no skill at all."""

    fits: tuple[str, ...]
    away: tuple[str, ...]


def message_of(row: Row) -> Any:
    """Return the message of a row: the first message field with text, else the first other value of one, else None."""
    held = [row[name] for name in _fields()["message"] if row.get(name) is not None]
    for value in held:
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and isinstance(inner := message_of(keyed(value)), str):
            return inner
    if isinstance(turns := row.get("messages"), list):
        for turn in reversed(turns):
            if isinstance(turn, dict) and turn.get("role") == "user" and isinstance(turn.get("content"), str):
                return turn["content"]
    return held[0] if held else None


def keyed(row: dict[Any, Any]) -> Row:
    """Return the row by plain keys; if a field has two spellings, the first counts."""
    plain: dict[str, object] = {}
    for name, value in row.items():
        plain.setdefault(plain_key(name), value)
    return plain


def skill_of(row: Row) -> str:
    """Return the skill that a mapping names; "" if it names none."""
    return next((name for field in _fields()["skill"] if (name := _name(row.get(field)))), "")


def said(row: Row, skill: str) -> Said | None:
    """Return the meaning of a row with plain keys in a file about `skill`; None if it has no verdict."""
    about = skill_of(row) or skill
    fits: list[str] = []
    away = [name for field in _fields()["rejected"] for name in _names(row.get(field))]
    verdict = _verdict(row)
    if verdict is not None:
        (fits if verdict else away).append(about)
    elif (expected := _expected(row)) is not None:
        fits += expected
        if not any(name_key(name) == name_key(about) for name in expected):
            away.append(about)
    elif any(field in row for field in _fields()["skill"]):
        fits += [about] if skill_of(row) else []
        away += [] if skill_of(row) else [skill]
    elif not away:
        return None
    wanted = {name_key(name) for name in fits}
    if fits and not about:
        away = [name for name in away if name]
    return Said(_once(fits), tuple(name for name in _once(away) if name_key(name) not in wanted))


def _verdict(row: Row) -> bool | None:
    """Return whether the skill of the file should trigger, if the row says so directly."""
    for field, value in row.items():
        if field in _fields()["verdict"] and (answer := truth(value)) is not None:
            return answer
        if field in _fields()["inverse"] and (answer := truth(value)) is not None:
            return not answer
    for field in ("expect", "expected", "expectations"):
        value = row.get(field)
        answer = _verdict(keyed(value)) if isinstance(value, dict) else truth(value)
        if answer is not None:
            return answer
    for field in _fields()["kind"]:
        if isinstance(row.get(field), str) and (answer := truth(row[field])) is not None:
            return answer
    return None


def _expected(row: Row) -> list[str] | None:
    """Return the expected skills; an empty list if none is right, None if the row does not say."""
    for field in _fields()["expected"]:
        if field in row and (row[field] is None or isinstance(row[field], str | list)):
            return _names(row[field])
    for field in _fields()["maybe_expected"]:
        value = row.get(field)
        if isinstance(value, list) or (field in row and value is None and field != "route"):
            return _names(value)
        if isinstance(value, str) and len(value.split()) <= 1:
            return _names(value)
    return None


def truth(value: object) -> bool | None:
    """Return a verdict in any of its spellings as a boolean; None for any other value."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        word = plain_key(value)
        return True if word in _fields()["yes"] else False if word in _fields()["no"] else None
    return None


def _names(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [name for item in items[:_MAX_NAMES] if (name := _name(item))]


def _name(value: object) -> str:
    """Return the name of a skill without the prefix of a command; "" if the value names none."""
    if isinstance(value, dict):
        value = value.get("name", value.get("skill"))
    if not isinstance(value, str) or len(value) > _MAX_NAME:
        return ""
    name = value.strip().lstrip("/$").strip().encode("utf-8", "replace").decode()
    return "" if plain_key(name) in _fields()["none"] else name


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple({name_key(name): name for name in reversed(names)}.values())[::-1]


MAX_BYTES = 2_000_000
_MAX_YAML = 300_000
_WORD = re.compile(r"[^a-z0-9]+")
FORMS = "a JSON list of {query, should_trigger}"


def plain_key(text: object) -> str:
    """Return the common form of the spellings of a field: `should_trigger`, `shouldTrigger`, `should-trigger`."""
    return _WORD.sub("", str(text).casefold())


def parsed(data: bytes | str, where: str) -> Any:
    """Return the value of a JSON or YAML file. Raises InvalidError."""
    from whet.guard.manifests.parsers import parse

    named = where or "The file"
    if len(data) > MAX_BYTES:
        message = f"{named} is larger than {MAX_BYTES:,} bytes."
        raise InvalidError("evals-too-large", message, hint="Split it into several files.")
    text = data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else data.removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise InvalidError("not-trigger-evals", f"{named} is empty.", hint=f"Write {FORMS}.")
    for language in ("json", "yaml"):
        value = parse(text, language) if language == "json" or len(text) <= _MAX_YAML else None
        if isinstance(value, list | dict):
            return value
    raise InvalidError("not-trigger-evals", f"{named} {_reason(text, where)}.", hint=f"Write {FORMS}.")


def _reason(text: str, where: str) -> str:
    """Return what is wrong with a text that is neither JSON nor YAML, with the line."""
    import json

    import yaml

    from whet.guard.manifests.parsers import plain_json

    named_yaml = where.casefold().endswith((".yaml", ".yml"))
    if named_yaml and len(text) > _MAX_YAML:
        return f"has more than {_MAX_YAML:,} characters of YAML"
    try:
        if named_yaml:
            for _ in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                pass
        elif text.lstrip()[0] in "{[":
            json.loads(plain_json(text))
        else:
            return "is neither JSON nor YAML with a list or a mapping"
    except json.JSONDecodeError as error:
        return f"is not JSON on line {error.lineno}: {error.msg}"
    except yaml.MarkedYAMLError as error:
        at = f" on line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"is not YAML{at}: {error.problem}"
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    return "is neither a list nor a mapping, or is nested too deeply"

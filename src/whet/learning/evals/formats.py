"""The output evals of a skill: tasks, and expectations of the results.

    {"skill_name": "pdf", "evals": [{"id": 1, "prompt": "...", "expected_output": "...", "files": ["evals/a.csv"],
                                     "expectations": ["The total is 42"]}]}

A list of evals alone is read as well, and `assertions` as another name for `expectations`. An expectation is a
sentence, which a model judges, or a mapping with a `type`, which `checks` judges. Invalid entries are left out and
reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.learning.evals.checks import Check, read_check
from whet.notes import Note
from whet.routing.evals.formats import Row, keyed, parsed, plain_key, skill_of
from whet.skill.paths import check as check_path

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_EVALS = 200
"""Number of evals of one skill."""
MAX_EXPECTATIONS = 50
"""Number of expectations of one eval."""
MAX_TEXT = 50_000
"""Characters of a prompt."""
MAX_SENTENCE = 2_000
"""Characters of an expectation, or of an expected output."""
FORM = '{"evals": [{"id": 1, "prompt": "...", "expectations": ["..."]}]}'
FOLDERS = ("evals", "eval", "tests", "test")
"""Directories for judging a skill, which the judged model does not see."""
_FILES = ("evals/evals.json", "evals/evals.yaml", "evals/evals.yml", "evals.json")


class Expectation(NamedTuple):
    """One expectation of the result."""

    text: str
    check: Check | None = None
    """The check by code; None if a model judges."""
    derived: bool = False
    """Whether it is the expected output, in place of expectations."""


class Eval(NamedTuple):
    """One task and the expectations of its result."""

    id: str
    prompt: str
    expectations: tuple[Expectation, ...]
    expected: str = ""
    files: tuple[str, ...] = ()
    """Files of the package that belong to the task, by their paths in it."""


class Evals(NamedTuple):
    """The contents of a file, with notes on omissions."""

    skill: str
    evals: tuple[Eval, ...]
    report: tuple[Note, ...]


def find_file(names: Iterable[str]) -> str:
    """Return the file of a package that holds its output evals, by its relative path; "" if there is none."""
    known = {name.casefold(): name for name in names}
    return next((known[name] for name in _FILES if name in known), "")


def read_evals(data: Any, where: str = "") -> Evals:
    """Read the evals of a file, given as bytes, text or parsed values. Raises InvalidError for any other file."""
    if isinstance(data, bytes | str):
        try:
            data = parsed(data, where)
        except InvalidError as error:
            if error.code != "not-trigger-evals":
                raise
            raise _none(error.message) from None
    plain = keyed(data) if isinstance(data, dict) else {"evals": data}
    rows = plain.get("evals")
    reader = _Reader(where)
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        reader.row(row, number)
    if not reader.evals and not reader.others:
        raise _none(f"{where or 'The file'} has no task with a prompt and expectations.", reader.report)
    return Evals(skill_of(plain), tuple(reader.evals), tuple(reader.report))


def _none(message: str, report: Iterable[Note] = ()) -> InvalidError:
    notes = list(report)
    if not notes:
        return InvalidError("not-output-evals", message, hint=f"Write {FORM}.")
    more = f" {len(notes) - 1} more cannot be used." if notes[1:] else ""
    told = f"{message.rstrip('.')}: {notes[0].message}{more}"
    return InvalidError("not-output-evals", told, hint=notes[0].hint, report=[note.to_json() for note in notes])


class _Reader:
    """Collects the rows of one file."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.evals: list[Eval] = []
        self.others = 0
        """Rows that are trigger evals."""
        self.report: list[Note] = []

    def row(self, row: Any, number: int) -> None:
        place = f"evals[{number}]"
        plain = keyed(row) if isinstance(row, dict) else {}
        prompt, expected = (_text(plain.get(name)) for name in ("prompt", "expectedoutput"))
        if any(name.startswith(("should", "expect")) for name in plain.keys() - {"expectations", "expectedoutput"}):
            self.others += 1
        elif not plain:
            self._skip("eval-unreadable", place, "is not a mapping", "Write a prompt and expectations.")
        elif not prompt:
            self._skip("eval-without-prompt", place, "has no `prompt`", "Write what the user asks for.")
        elif not (wanted := self._expectations(plain, place, expected)):
            hint = "Write in `expectations` what a good result is."
            self._skip("eval-without-expectations", place, "has no `expectations`", hint)
        elif len(self.evals) < MAX_EVALS:
            name, files = self._id(plain.get("id"), number), self._files(plain.get("files"), place)
            self.evals.append(Eval(name, prompt[:MAX_TEXT], tuple(wanted), expected[:MAX_SENTENCE], files))
        elif all(note.code != "too-many-evals" for note in self.report):
            what = f"and all after it are left out: there are more than {MAX_EVALS}"
            self._skip("too-many-evals", place, what, "Use fewer.")

    def _expectations(self, plain: Row, place: str, expected: str) -> list[Expectation]:
        found: list[Expectation] = []
        given = plain.get("expectations", plain.get("assertions"))
        for at, item in enumerate(given if isinstance(given, list) else ()):
            try:
                one = _expectation(item)
            except UsageError as error:
                what = f"is left out: {error.message}"
                self._skip("check-unusable", f"{place}.expectations[{at}]", what, error.hint)
                continue
            if one is not None and one not in found:
                found.append(one)
        if not found and expected:
            found = [Expectation(f"The output is or does this: {expected[:MAX_SENTENCE]}", derived=True)]
        return found[:MAX_EXPECTATIONS]

    def _files(self, value: Any, place: str) -> tuple[str, ...]:
        files = []
        for path in value if isinstance(value, list) else ():
            try:
                files.append(check_path(path.removeprefix("./") if isinstance(path, str) else ""))
            except UsageError as error:
                self._skip("eval-file-unusable", place, f"names a file that is left out: {error.message}", error.hint)
        return tuple(files)

    def _id(self, value: Any, number: int) -> str:
        """Return the name of an eval in its file: its own, or its position; a repeated name is numbered."""
        name = _text(str(value) if isinstance(value, int) else value)[:80] or str(number + 1)
        known = {item.id for item in self.evals}
        while name in known:
            name = f"{name[:70]}-{number + 1}"
        return name

    def _skip(self, code: str, place: str, what: str, hint: str) -> None:
        if len(self.report) < 100:
            self.report.append(Note(code, "warning", f"{place} {what.rstrip('.')}.", hint, path=self.where))


def _text(value: Any) -> str:
    return value.strip().encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _expectation(item: Any) -> Expectation | None:
    """Read an expectation: a sentence, or a mapping. Raises UsageError for an invalid check."""
    plain = keyed(item) if isinstance(item, dict) else {"text": item}
    text = _text(plain.get("text"))[:MAX_SENTENCE]
    if not isinstance(plain.get("type"), str):
        return Expectation(text) if text else None
    check = read_check(plain_key(plain["type"]), plain)
    return Expectation(text or check.describe(), check)

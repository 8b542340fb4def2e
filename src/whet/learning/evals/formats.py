"""One reader for output evals: what a skill is asked to do, and what is expected of the result.

    {"skill_name": "pdf", "evals": [{"id": 1, "prompt": "...", "expected_output": "...", "files": ["evals/a.csv"],
                                     "expectations": ["The total is 42"]}]}

A list of evals alone is read as well, as JSON, JSON lines or YAML; fields may go by the other names that tools give
them (`assertions`, `rubric`, `query`, ...). An expectation is a sentence, which a model judges, or a mapping with a
`type`, which `checks` judges. What cannot be used is left out and reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import InvalidError, UsageError
from whet.learning.evals.checks import Check, read_check
from whet.notes import Note
from whet.routing.evals.formats import Row, keyed, message_of, parsed, plain_key, skill_of
from whet.skill.paths import check as check_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.notes import Severity

MAX_EVALS = 200
"""Evals of one skill."""
MAX_EXPECTATIONS = 50
"""Expectations of one eval."""
MAX_TEXT = 50_000
"""Characters of a prompt."""
MAX_SENTENCE = 2_000
"""Characters of an expectation, or of an expected output."""
FORM = '{"evals": [{"id": 1, "prompt": "...", "expectations": ["..."]}]}'
FOLDERS = ("evals", "eval", "tests", "test")
"""What is for judging a skill, and is kept from the model that is judged."""
_FILES = tuple(
    f"{folder}{stem}.{ending}"
    for folder in ("evals/", "eval/", "")
    for stem in ("evals", "output-evals", "output_evals")
    for ending in ("json", "yaml", "yml", "jsonl")
)
_LISTS = ("evals", "evaluations", "cases", "testcases", "tests", "scenarios", "tasks", "examples")
_EXPECTED = ("expectedoutput", "expectedresult", "expectedanswer", "idealoutput", "reference", "expected")
_EXPECTATIONS = (
    *("expectations", "assertions", "expectedbehavior", "expectedbehaviour", "expectedbehaviors", "criteria"),
    *("rubric", "checks", "graders", "successcriteria", "assert", "expected"),
)
_SENTENCE = ("text", "assertion", "expectation", "criterion", "description", "name", "title")
_KIND = ("type", "kind", "check")
_BY_MODEL = frozenset(("", "model", "llm", "llmrubric", "llmjudge", "judge", "rubric", "semantic", "text"))


class Expectation(NamedTuple):
    """One thing that is expected of what comes out."""

    text: str
    check: Check | None = None
    """How it is judged by code; None where a model judges."""
    derived: bool = False
    """It is the expected output, in place of expectations."""


class Eval(NamedTuple):
    """One task and what is expected of the result."""

    id: str
    prompt: str
    expectations: tuple[Expectation, ...]
    expected: str = ""
    files: tuple[str, ...] = ()
    """Files of the package that belong to the task, by their paths in it."""
    given: tuple[tuple[str, str], ...] = ()
    """Further files that belong to it: name and text."""


class Evals(NamedTuple):
    """What a file holds, and what of it was left out."""

    skill: str
    evals: tuple[Eval, ...]
    report: tuple[Note, ...]


def find_file(names: Iterable[str]) -> str:
    """The file of a package, by its relative path, that holds its output evals; "" for none."""
    known = {name.casefold(): name for name in names}
    return next((known[name] for name in _FILES if name in known), "")


def read_evals(data: Any, where: str = "") -> Evals:
    """The evals of a file, given as bytes, text or parsed values. Raises InvalidError for what is no such file."""
    if isinstance(data, bytes | str):
        try:
            data = parsed(data, where)
        except InvalidError as error:
            if error.code != "not-trigger-evals":
                raise
            raise _none(error.message) from None
    reader = _Reader(where)
    skill = skill_of(keyed(data)) if isinstance(data, dict) else ""
    rows = _rows(data)
    for number, row in enumerate(rows):
        reader.row(row, number)
    if not reader.evals and not reader.others:
        raise _none(f"{where or 'The file'} has no task with a prompt and expectations.", reader.report)
    return Evals(skill, tuple(reader.evals), tuple(reader.report))


def _none(message: str, report: Iterable[Note] = ()) -> InvalidError:
    notes = [entry.to_json() for entry in report]
    return InvalidError("not-output-evals", message, hint=f"Write {FORM}.", **({"report": notes} if notes else {}))


def _rows(value: Any) -> list[Any]:
    """The rows of a file: a list, a list under one of the usual names, tasks by their names, or one task alone."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return []
    plain = keyed(value)
    for name in _LISTS:
        inner = plain.get(name)
        if isinstance(inner, list):
            return inner
        if isinstance(inner, dict):
            return [{"id": key, **row} for key, row in inner.items() if isinstance(row, dict)]
    return [value] if message_of(plain) is not None else []


class _Reader:
    """Takes in the rows of one file."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.evals: list[Eval] = []
        self.others = 0
        """Rows that are trigger evals."""
        self.report: list[Note] = []
        self._ids: set[str] = set()

    def row(self, row: Any, number: int) -> None:
        place = f"evals[{number}]"
        if not isinstance(row, dict):
            self._skip("eval-unreadable", place, "is not a mapping", "Write a prompt and expectations.")
            return
        plain = keyed(row)
        prompt = message_of(plain)
        if not isinstance(prompt, str) or not prompt.strip():
            self._skip("eval-without-prompt", place, "has no prompt", "Write what the user asks for.")
            return
        expected = next((plain[name] for name in _EXPECTED if isinstance(plain.get(name), str)), "").strip()
        wanted = self._expectations(plain, place)
        if not wanted and expected:
            wanted = [Expectation(f"The output is or does this: {expected[:MAX_SENTENCE]}", derived=True)]
        if not wanted:
            if any(name.startswith(("should", "expect")) for name in plain):
                self.others += 1
                return
            self._skip("eval-without-expectations", place, "has no expectations", "Write what a good result is.")
            return
        if len(self.evals) >= MAX_EVALS:
            if len(self.evals) == MAX_EVALS and not any(note.code == "too-many-evals" for note in self.report):
                self._skip(
                    "too-many-evals",
                    place,
                    f"and all after it are left out: there are more than {MAX_EVALS}",
                    "Use fewer.",
                )
            return
        files, given = self._files(plain.get("files") or plain.get("inputfiles") or plain.get("fixtures"), place)
        name = self._id(plain.get("id", plain.get("evalid", plain.get("name", plain.get("evalname")))), number)
        task = prompt.strip().encode("utf-8", "replace").decode()[:MAX_TEXT]
        self.evals.append(Eval(name, task, tuple(wanted), expected[:MAX_SENTENCE], files, given))

    def _expectations(self, plain: Row, place: str) -> list[Expectation]:
        found: list[Expectation] = []
        for name in _EXPECTATIONS:
            value = plain.get(name)
            items = value if isinstance(value, list) else value.split("\n") if isinstance(value, str) else []
            if name == "expected" and not isinstance(value, list):
                continue
            for at, item in enumerate(items):
                try:
                    one = _expectation(item)
                except UsageError as error:
                    self._skip("check-unusable", f"{place}.{name}[{at}]", f"is left out: {error.message}", error.hint)
                    continue
                if one is not None and one not in found:
                    found.append(one)
        if len(found) > MAX_EXPECTATIONS:
            self._skip("too-many-expectations", place, f"has more than {MAX_EXPECTATIONS} expectations", "Split it.")
        return found[:MAX_EXPECTATIONS]

    def _files(self, value: Any, place: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """The files of a task: paths in the package, or mappings of a path and a content."""
        files: list[str] = []
        given: list[tuple[str, str]] = []
        items = [{"path": key, "content": text} for key, text in value.items()] if isinstance(value, dict) else value
        for item in items if isinstance(items, list) else ():
            plain = keyed(item) if isinstance(item, dict) else {"path": item}
            path = plain.get("path", plain.get("name"))
            try:
                path = check_path(path.removeprefix("./") if isinstance(path, str) else "")
            except UsageError as error:
                self._skip("eval-file-unusable", place, f"names a file that is left out: {error.message}", error.hint)
                continue
            content = plain.get("content", plain.get("text"))
            if isinstance(content, str):
                given.append((path, content[:MAX_TEXT]))
            else:
                files.append(path)
        return tuple(files), tuple(given)

    def _id(self, value: Any, number: int) -> str:
        """The name of an eval in its file: its own, or its place; of two with one name, the second is numbered."""
        name = str(value).strip()[:80] if isinstance(value, str | int) and str(value).strip() else str(number + 1)
        name = name.encode("utf-8", "replace").decode()
        while name in self._ids:
            name = f"{name[:70]}-{number + 1}"
        self._ids.add(name)
        return name

    def _skip(self, code: str, place: str, what: str, hint: str, severity: Severity = "warning") -> None:
        if len(self.report) < 100:
            self.report.append(Note(code, severity, f"{place} {what.rstrip('.')}.", hint, path=self.where))


def _expectation(item: Any) -> Expectation | None:
    """An expectation as it is written: a sentence, or a mapping. Raises UsageError for a check that makes no sense."""
    if isinstance(item, str):
        text = item.strip().removeprefix("- ").strip()
        return Expectation(text[:MAX_SENTENCE]) if text else None
    if not isinstance(item, dict):
        return None
    plain = keyed(item)
    text = next((plain[name].strip() for name in _SENTENCE if isinstance(plain.get(name), str)), "")[:MAX_SENTENCE]
    kind = next((plain_key(plain[name]) for name in _KIND if isinstance(plain.get(name), str)), "")
    if kind in _BY_MODEL:
        sentence = text or next((plain[name] for name in ("value", "prompt") if isinstance(plain.get(name), str)), "")
        return Expectation(sentence.strip()[:MAX_SENTENCE]) if sentence.strip() else None
    check = read_check(kind, plain)
    return Expectation(text or check.describe(), check)

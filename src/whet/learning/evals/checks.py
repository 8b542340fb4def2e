"""Judging by code: expectations that need no opinion are not left to a model.

    {"type": "contains", "value": "Signed-off-by"}            also not_contains; ignore_case
    {"type": "regex", "value": "^v\\d+"}                      also not_regex; lines count for ^ and $
    {"type": "equals", "value": "42"}                         but for space around it
    {"type": "json_schema", "schema": {...}}
    {"type": "file_exists", "path": "report.md"}              also file_not_exists
    {"type": "exit_code", "command": "python3 $WHET_SKILL_DIR/scripts/check.py report.md"}

With a `file`, the text is that of a file the model wrote in place of its answer. Patterns come from strangers and can
take forever, so they run in a process that can be killed; commands run in the sandbox, without a network.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import UsageError
from whet.learning.evals.results import Output, Result
from whet.skill.schema import check_schema, describe_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.guard.sandbox.process import Ran
    from whet.learning.evals.formats import Expectation

    Runner = Callable[[Sequence[str], Output], Ran]
    """Runs a command where the outputs and the skill are; raises RefusedError if there is no sandbox."""

KINDS = (
    *("contains", "not_contains", "regex", "not_regex", "equals"),
    *("json_schema", "file_exists", "file_not_exists", "exit_code"),
)
MAX_PATTERN = 1_000
MAX_MATCHED = 200_000
"""Characters that a pattern is matched against."""
_SECONDS = 5
_SHOWN = 200
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_MATCHER = (
    "import json,re,sys\n"
    "given=json.load(sys.stdin)\n"
    "found=re.search(given['pattern'],given['text'],re.MULTILINE|(re.IGNORECASE if given['fold'] else 0))\n"
    "json.dump(None if found is None else [found.start(),found.end()],sys.stdout)"
)


class Check(NamedTuple):
    """An expectation that code judges. `read_check` makes sure that it has the required fields."""

    type: str
    """One of `KINDS`."""
    value: Any = None
    """The expected text, schema or exit code."""
    file: str = ""
    """The file to check; "" for the answer."""
    fold: bool = False
    """Whether case is ignored."""
    command: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the check as a sentence, if its author gave none."""
        files = self.type.startswith("file_")
        where = f" in {self.file}" if self.file and not files else ""
        value = "" if self.value is None or isinstance(self.value, dict) else str(self.value)
        told = ", ".join(filter(None, (self.file if files else "", " ".join(self.command), value)))
        return f"{self.type.replace('_', ' ')}{where}: {told}".rstrip(": ")[:500]


def read_check(kind: str, plain: Mapping[str, Any]) -> Check:
    """Read a check from a mapping with plain keys. Raises UsageError `bad-check`."""
    kinds = {one.replace("_", ""): one for one in KINDS}
    if kind not in kinds:
        folded = f"Use {kinds[kind[1:]]} with `ignore_case: true`. " if kind[:1] == "i" and kind[1:] in kinds else ""
        raise _bad(f"There is no check {kind[:40]!r}", f"{folded}The checks are {', '.join(KINDS)}.")
    kind, value = kinds[kind], plain.get("value")
    file = plain.get("file") or (plain.get("path") if kind.startswith("file_") else "") or ""
    if not isinstance(file, str) or (kind.startswith("file_") and not file):
        raise _bad(f"The check {kind} names no file", "Set `path`.")
    check = Check(kind, file=file.removeprefix("./"))
    if kind == "exit_code":
        command, value = plain.get("command"), plain.get("value", 0)
        words: list[Any] = command if isinstance(command, list) else ["sh", "-c", command]
        if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
            raise _bad("The check exit_code has no command", "Set `command` to a line or a list of words.")
        if not isinstance(value, int):
            raise _bad("The check exit_code expects a code that is not a number", "Set `value`.")
        return check._replace(command=tuple(words), value=int(value))
    if kind == "json_schema":
        schema = plain.get("schema", {})
        try:
            check_schema({"type": "object", "properties": {"value": schema}})
        except UsageError as error:
            raise _bad(error.message.rstrip("."), error.hint) from None
        return check._replace(value=schema)
    if kind.startswith("file_"):
        return check
    if not isinstance(value, str | int | float) or isinstance(value, bool) or value == "":
        raise _bad(f"The check {kind} has no text", "Set `value`.")
    if kind.endswith("regex"):
        _compile(str(value))
    return check._replace(value=str(value), fold=plain.get("ignorecase") is True)


def judge(wanted: Expectation, output: Output, runner: Runner) -> Result:
    """Return whether an expectation with a check is met, with the evidence."""
    check = wanted.check
    if check is None:
        raise ValueError(wanted.text)
    if check.type in ("file_exists", "file_not_exists"):
        wrote = f"Files: {', '.join(sorted(output.files))[:_SHOWN]}." if output.files else "No file was written."
        return Result(wanted.text, (check.file in output.files) is (check.type == "file_exists"), wrote)
    if check.type == "exit_code":
        ran = runner(check.command, output)
        ended = f"It ended with {ran.code}" if ran.code is not None else f"It did not finish ({ran.problem})"
        return Result(wanted.text, ran.code == check.value, f"{ended}: {ran.output[-_SHOWN:]}".rstrip(": "))
    if check.file and check.file not in output.files:
        return Result(wanted.text, passed=False, evidence=f"There is no file {check.file}.")
    text = output.files[check.file].decode("utf-8", "replace") if check.file else output.answer
    return Result(wanted.text, *_judge_text(check, text))


def _judge_text(check: Check, text: str) -> tuple[bool, str]:
    if check.type == "json_schema":
        value, problem = _json_of(text)
        if problem:
            return False, problem
        wrong = describe_problems(value, check.value, "the answer.value")
        return not wrong, "; ".join(wrong)[:500] or json.dumps(value, ensure_ascii=False)[:_SHOWN]
    if check.type == "equals":
        one, other = text.strip(), check.value.strip()
        same = one.casefold() == other.casefold() if check.fold else one == other
        return same, one[:_SHOWN] or "It is empty."
    literal = check.type.endswith("contains")
    try:
        found = _find(check, text) if literal else _searched(check.value, text[:MAX_MATCHED], fold=check.fold)
    except TimeoutError:
        return False, f"The pattern did not finish within {_SECONDS} seconds."
    missing = f"{check.value[:_SHOWN]!r} is not in it." if literal else f"Nothing matches {check.value[:_SHOWN]!r}."
    return (found is None) is check.type.startswith("not_"), _around(text, *found) if found else missing


def _find(check: Check, text: str) -> tuple[int, int] | None:
    """Return the span of a check's text."""
    found = re.search(re.escape(check.value), text, re.IGNORECASE if check.fold else 0)
    return found.span() if found else None


def _json_of(text: str) -> tuple[Any, str]:
    """Return the JSON value of a text, alone or in a fence; or why there is none."""
    for candidate in (text, *reversed(_FENCED.findall(text[:MAX_MATCHED]))):
        try:
            return json.loads(candidate), ""
        except (ValueError, RecursionError):
            continue
    return None, f"It is not valid JSON: {text[:_SHOWN]}"


def _searched(pattern: str, text: str, *, fold: bool) -> tuple[int, int] | None:
    """Return the span of a pattern, matched in a separate process. Raises TimeoutError."""
    import subprocess

    given = json.dumps({"pattern": pattern, "text": text, "fold": fold}).encode()
    words = [sys.executable, "-I", "-c", _MATCHER]
    try:
        ran = subprocess.run(words, input=given, capture_output=True, timeout=_SECONDS, check=True)  # noqa: S603 (our own program)
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    found = json.loads(ran.stdout)
    return None if found is None else (found[0], found[1])


def _around(text: str, start: int, end: int) -> str:
    """Return the match with some context."""
    return " ".join(text[max(0, start - 40) : min(len(text), end + 40, start + _SHOWN)].split())


def _compile(pattern: str) -> None:
    try:
        if len(pattern) > MAX_PATTERN:
            raise _bad(f"The pattern has more than {MAX_PATTERN:,} characters", "Make it shorter.")
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise _bad(
            f"{pattern[:_SHOWN]!r} is not a valid pattern ({error})", "Write it as Python's `re` reads it."
        ) from None


def _bad(message: str, hint: str) -> UsageError:
    return UsageError("bad-check", f"{message}.", hint=hint)

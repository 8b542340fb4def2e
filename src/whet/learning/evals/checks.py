"""Judging by code: what needs no opinion is not left to a model.

    {"type": "contains", "value": "Signed-off-by"}            also not_contains; ignore_case
    {"type": "regex", "value": "^v\\d+"}                      also not_regex; lines count for ^ and $
    {"type": "equals", "value": "42"}                         but for space around it
    {"type": "json_path", "path": "items[0].id", "value": 7}  without a value, that there is one
    {"type": "json_schema", "schema": {...}}
    {"type": "file_exists", "path": "report.md"}              also file_not_exists
    {"type": "file_contains", "path": "report.md", "value": "Total"}
    {"type": "exit_code", "command": "python3 $WHET_SKILL_DIR/scripts/check.py report.md"}

With a `file`, the text is that of a file the model wrote in place of its answer. Patterns come from strangers and can
take for ever, so they are tried in a process that can be ended; commands run in the sandbox, without a network.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from whet.learning.evals.check_forms import steps_of
from whet.learning.evals.results import Output, Result
from whet.skill.schema import describe_problems, find_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whet.guard.sandbox.running import Ran
    from whet.learning.evals.formats import Expectation

    Runner = Callable[[Sequence[str], Output], Ran]
    """Runs a command where the outputs and the skill are; raises RefusedError where there is no sandbox."""

MAX_MATCHED = 200_000
"""Characters that a pattern is tried on."""
_SECONDS = 5
_SHOWN = 200
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_MATCHER = (
    "import json,re,sys\n"
    "given=json.load(sys.stdin)\n"
    "found=re.search(given['pattern'],given['text'],re.MULTILINE|(re.IGNORECASE if given['fold'] else 0))\n"
    "json.dump(None if found is None else [found.start(),found.end()],sys.stdout)"
)


def judge(wanted: Expectation, output: Output, runner: Runner) -> Result:
    """Whether an expectation with a check is met, and what shows it."""
    check = wanted.check
    if check is None:
        raise ValueError(wanted.text)
    passed, evidence = _JUDGES[check["type"]](check, output, runner)
    return Result(wanted.text, passed, evidence)


def _text_of(check: Mapping[str, Any], output: Output) -> str | None:
    """The text a check is about; None where the file is not there."""
    if "file" not in check:
        return output.answer
    data = output.files.get(check["file"])
    return None if data is None else data.decode("utf-8", "replace")


def _missing(check: Mapping[str, Any]) -> tuple[bool, str]:
    return False, f"There is no file {check['file']}."


def _contains(check: Mapping[str, Any], output: Output, _runner: Runner) -> tuple[bool, str]:
    text = _text_of(check, output)
    if text is None:
        return _missing(check)
    wanted = check["value"]
    at = text.casefold().find(wanted.casefold()) if check["fold"] else text.find(wanted)
    there = at >= 0
    shown = _around(text, at, at + len(wanted)) if there else f"{wanted[:_SHOWN]!r} is not in it."
    return there is not (check["type"] == "not_contains"), shown


def _regex(check: Mapping[str, Any], output: Output, _runner: Runner) -> tuple[bool, str]:
    text = _text_of(check, output)
    if text is None:
        return _missing(check)
    try:
        found = _searched(check["value"], text[:MAX_MATCHED], fold=check["fold"])
    except TimeoutError:
        return False, f"The pattern was not done after {_SECONDS} seconds."
    shown = _around(text, *found) if found else f"Nothing in it matches {check['value'][:_SHOWN]!r}."
    return (found is not None) is not (check["type"] == "not_regex"), shown


def _equals(check: Mapping[str, Any], output: Output, _runner: Runner) -> tuple[bool, str]:
    text = _text_of(check, output)
    if text is None:
        return _missing(check)
    one, other = text.strip(), check["value"].strip()
    same = one.casefold() == other.casefold() if check["fold"] else one == other
    return same, one[:_SHOWN] or "It is empty."


def _json_path(check: Mapping[str, Any], output: Output, _runner: Runner) -> tuple[bool, str]:
    value, problem = _json_of(check, output)
    if problem:
        return False, problem
    for step in steps_of(check["path"]) or ():
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False, f"There is nothing at {check['path']}."
    shown = json.dumps(value, ensure_ascii=False)[:_SHOWN]
    if "value" not in check:
        return True, shown
    return not any(find_problems(value, {"const": check["value"]})), shown


def _json_schema(check: Mapping[str, Any], output: Output, _runner: Runner) -> tuple[bool, str]:
    value, problem = _json_of(check, output)
    if problem:
        return False, problem
    wrong = describe_problems(value, check["schema"], "the answer.value")
    return not wrong, "; ".join(wrong)[:500] or json.dumps(value, ensure_ascii=False)[:_SHOWN]


def _file_exists(check: Mapping[str, Any], output: Output, _runner: Runner) -> tuple[bool, str]:
    there = check["file"] in output.files
    wrote = f"Files: {', '.join(sorted(output.files))[:_SHOWN]}." if output.files else "No file was written."
    return there is (check["type"] == "file_exists"), wrote


def _exit_code(check: Mapping[str, Any], output: Output, runner: Runner) -> tuple[bool, str]:
    ran = runner(check["command"], output)
    ended = f"It ended with {ran.code}" if ran.code is not None else f"It did not end by itself ({ran.problem})"
    return ran.code == check["value"], f"{ended}: {ran.output[-_SHOWN:]}".rstrip(": ")


_JUDGES: dict[str, Callable[[Mapping[str, Any], Output, Runner], tuple[bool, str]]] = {
    **dict.fromkeys(("contains", "icontains", "not_contains", "file_contains"), _contains),
    **dict.fromkeys(("regex", "not_regex"), _regex),
    "equals": _equals,
    "json_path": _json_path,
    "json_schema": _json_schema,
    **dict.fromkeys(("file_exists", "file_not_exists"), _file_exists),
    "exit_code": _exit_code,
}


def _json_of(check: Mapping[str, Any], output: Output) -> tuple[Any, str]:
    """The JSON value of the output, alone or in a fence; or why there is none."""
    text = _text_of(check, output)
    if text is None:
        return None, _missing(check)[1]
    for candidate in (text, *reversed(_FENCED.findall(text[:MAX_MATCHED]))):
        try:
            return json.loads(candidate), ""
        except (ValueError, RecursionError):
            continue
    return None, f"It is no JSON: {text[:_SHOWN]}"


def _searched(pattern: str, text: str, *, fold: bool) -> tuple[int, int] | None:
    """Where a pattern is found, tried in a process of its own. Raises TimeoutError."""
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
    """What was found, with a little of what is around it."""
    return " ".join(text[max(0, start - 40) : min(len(text), end + 40, start + _SHOWN)].split())

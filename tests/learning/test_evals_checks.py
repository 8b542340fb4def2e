"""Judging by code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from learning.evaluated import one_eval
from whet.errors import UsageError
from whet.guard.sandbox.process import Ran
from whet.learning.evals.checks import judge, read_check
from whet.learning.evals.results import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

OUTPUT = Output('Total: 42\n```json\n{"items": [{"id": 7, "ok": true}]}\n```\n', {"out/report.md": b"# Report\n"})


def ran(words: Sequence[str], _output: Output) -> Ran:
    """Stands for the sandbox."""
    return Ran("told", 3 if "bad" in words else 0, "", truncated=False)


def passed(check: dict[str, Any], output: Output = OUTPUT) -> bool:
    (wanted,) = one_eval(assertions=[check]).expectations
    assert wanted.check is not None
    result = judge(wanted, output, ran)
    assert result.text == wanted.text and result.evidence and result.by == "code"
    return result.passed


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ({"type": "contains", "value": "Total: 42"}, True),
        ({"type": "contains", "value": "total: 42"}, False),
        ({"type": "contains", "value": "total: 42", "ignore_case": True}, True),
        ({"type": "not_contains", "value": "Total"}, False),
        ({"type": "not-contains", "value": "Sum"}, True),
        ({"type": "contains", "file": "out/report.md", "value": "# Report"}, True),
        ({"type": "contains", "file": "gone.md", "value": "x"}, False),
        ({"type": "not_contains", "file": "gone.md", "value": "x"}, False),
        ({"type": "regex", "value": r"^Total: \d+$"}, True),
        ({"type": "regex", "value": r"^\d+$"}, False),
        ({"type": "not_regex", "value": "Sum"}, True),
        ({"type": "equals", "file": "out/report.md", "value": "# Report"}, True),
        ({"type": "equals", "value": "42"}, False),
        ({"type": "json_schema", "schema": {"type": "object", "required": ["items"]}}, True),
        ({"type": "json_schema", "schema": {"type": "array"}}, False),
        ({"type": "json_schema", "file": "out/report.md", "schema": {}}, False),
        ({"type": "file_exists", "path": "./out/report.md"}, True),
        ({"type": "file_exists", "path": "report.md"}, False),
        ({"type": "file_not_exists", "path": "report.md"}, True),
        ({"type": "exit_code", "command": "true"}, True),
        ({"type": "exit_code", "command": ["bad"], "value": 3}, True),
        ({"type": "exit_code", "command": ["bad"]}, False),
    ],
)
def test_kinds(check: dict[str, Any], expected: bool) -> None:
    assert passed(check) is expected


@pytest.mark.parametrize(
    "check",
    [
        {"type": "odd"},
        {"type": "contains"},
        {"type": "regex", "value": "("},
        {"type": "regex", "value": "x" * 2000},
        {"type": "json_path", "path": "items"},
        {"type": "icontains", "value": "x"},
        {"type": "json_schema", "schema": {"allOf": []}},
        {"type": "file_exists"},
        {"type": "exit_code"},
        {"type": "exit_code", "command": ["x\0"]},
        {"type": "exit_code", "command": "x", "value": "0"},
    ],
)
def test_a_check_that_makes_no_sense_is_refused(check: dict[str, Any]) -> None:
    plain = {name.replace("_", ""): value for name, value in check.items()}
    with pytest.raises(UsageError) as caught:
        read_check(plain["type"].replace("_", ""), plain)
    assert caught.value.code == "bad-check" and caught.value.message.endswith(".") and caught.value.hint


def test_a_pattern_that_takes_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch, *, quick: bool) -> None:
    monkeypatch.setattr("whet.learning.evals.checks._SECONDS", 1)
    assert passed({"type": "regex", "value": "(a+)+$"}, Output("a" * 60 + "b")) is False
    if not quick:
        assert passed({"type": "not_regex", "value": "(a+)+$"}, Output("a" * 60 + "b")) is False


def test_deep_json_does_no_harm() -> None:
    assert passed({"type": "json_schema", "schema": {}}, Output("[" * 100_000)) is False

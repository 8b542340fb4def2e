"""Checks as their authors write them, read and made sure of: what a check needs is there before anything is run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.skill.schema import check_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = {
    "contains": "contains",
    "includes": "contains",
    "icontains": "icontains",
    "notcontains": "not_contains",
    "doesnotcontain": "not_contains",
    "excludes": "not_contains",
    "regex": "regex",
    "matches": "regex",
    "notregex": "not_regex",
    "doesnotmatch": "not_regex",
    "equals": "equals",
    "exact": "equals",
    "json": "json_schema",
    "isjson": "json_schema",
    "jsonschema": "json_schema",
    "jsonpath": "json_path",
    "fileexists": "file_exists",
    "filenotexists": "file_not_exists",
    "filecontains": "file_contains",
    "exitcode": "exit_code",
    "command": "exit_code",
}
"""Each spelling of a kind, without its signs, and what it is."""
MAX_PATTERN = 1_000
_SHOWN = 200
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9})\]")


def read_check(kind: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    """A check from the fields of a mapping with plain keys. Raises UsageError `bad-check`."""
    if kind not in KINDS:
        raise _bad(f"There is no check {kind[:40]!r}", f"Use one of {', '.join(dict.fromkeys(KINDS.values()))}.")
    kind = KINDS[kind]
    check: dict[str, Any] = {"type": kind}
    value = plain.get("value", plain.get("expected", plain.get("pattern", plain.get("equals"))))
    file = plain.get("file", plain.get("path") if kind.startswith("file_") else None)
    if file is not None or kind.startswith("file_"):
        if not isinstance(file, str) or not file:
            raise _bad(f"The check {kind} names no file", "Give it as `path`.")
        check["file"] = file.removeprefix("./")
    if kind in ("contains", "icontains", "not_contains", "regex", "not_regex", "equals", "file_contains"):
        if not isinstance(value, str | int | float) or isinstance(value, bool) or value == "":
            raise _bad(f"The check {kind} has no text", "Give it as `value`.")
        check["value"] = str(value)
        check["fold"] = kind == "icontains" or plain.get("ignorecase") is True
    if kind.endswith("regex"):
        _compiles(check["value"])
    if kind == "json_path":
        if not isinstance(plain.get("path"), str) or steps_of(plain["path"]) is None:
            raise _bad("The check json_path has no path", "Give it as `path`, such as items[0].id.")
        check["path"] = plain["path"]
        if "value" in plain or "equals" in plain:
            check["value"] = value
    if kind == "json_schema":
        check["schema"] = plain.get("schema", value if isinstance(value, dict) else {})
        try:
            check_schema({"type": "object", "properties": {"value": check["schema"]}})
        except UsageError as error:
            raise _bad(error.message.rstrip("."), error.hint) from None
    if kind == "exit_code":
        check |= _command(plain)
    return check


def _command(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The command of a check, and the code it should end with."""
    command = plain.get("command", plain.get("run"))
    words = command if isinstance(command, list) else ["sh", "-c", command] if isinstance(command, str) else []
    if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise _bad("The check exit_code has no command", "Give it as `command`, a line or a list of words.")
    wanted = plain.get("value", plain.get("code", plain.get("exitcode", 0)))
    if not isinstance(wanted, int):
        raise _bad("The check exit_code wants a code that is no number", "Give it as `value`.")
    return {"command": words, "value": int(wanted)}


def describe(check: Mapping[str, Any]) -> str:
    """A check as a sentence, where its author gave none."""
    what = check["type"].replace("_", " ")
    where = f" in {check['file']}" if "file" in check and not check["type"].startswith("file_") else ""
    told = [check.get("file") if check["type"].startswith("file_") else None, check.get("path")]
    told += [" ".join(check["command"])] if "command" in check else []
    if "value" in check:
        told.append(check["value"] if isinstance(check["value"], str) else json.dumps(check["value"])[:_SHOWN])
    return f"{what}{where}: {', '.join(str(item) for item in told if item is not None)}".rstrip(": ")[:500]


def steps_of(path: str) -> list[str | int] | None:
    """The keys and places of a path such as `$.items[0].id`; None for what is none."""
    rest = path.strip().removeprefix("$")
    steps: list[str | int] = []
    while rest:
        found = _STEP.match(rest)
        if found is None:
            return None
        steps.append(found[1] if found[1] is not None else int(found[2]))
        rest = rest[found.end() :]
    return steps or None


def _compiles(pattern: str) -> None:
    try:
        if len(pattern) > MAX_PATTERN:
            raise _bad(f"The pattern has more than {MAX_PATTERN:,} characters", "Make it shorter.")
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise _bad(f"{pattern[:_SHOWN]!r} is no pattern ({error})", "Write it as Python's `re` reads it.") from None


def _bad(message: str, hint: str) -> UsageError:
    return UsageError("bad-check", f"{message}.", hint=hint)

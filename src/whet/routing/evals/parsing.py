"""From the bytes of an eval file to plain values: JSON, JSON lines, CSV or YAML, told apart by what is in them.

The name of a file only says what is tried first. Everything is bounded, and nothing here knows what the values mean.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 2_000_000
_MAX_YAML = 300_000
_MAX_ROWS = 50_000
_WORD = re.compile(r"[^a-z0-9]+")
_COMMENT = re.compile(r"(\"(?:[^\"\\\n]|\\.){0,5000}\")|//[^\n]{0,2000}|/\*(?:[^*]|\*(?!/)){0,5000}\*/")
_TRAILING = re.compile(r",(\s{0,200}[}\]])")
_LOOKED_AT = 200
"""Lines by which JSON lines are told from JSON."""
FORMS = "a JSON list of {query, should_trigger}"


def plain_key(text: object) -> str:
    """What the spellings of one field have in common: `should_trigger`, `shouldTrigger`, `should-trigger`."""
    return _WORD.sub("", str(text).casefold())


def parsed(data: bytes | str, where: str) -> Any:
    """The value a file holds; rows of CSV and JSON lines are a list of mappings. Raises InvalidError."""
    named = where or "The file"
    if len(data) > MAX_BYTES:
        message = f"{named} is larger than {MAX_BYTES:,} bytes."
        raise InvalidError("evals-too-large", message, hint="Split it into several files.")
    text = data.decode("utf-8-sig", "replace") if isinstance(data, bytes) else data.removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise InvalidError("not-trigger-evals", f"{named} is empty.", hint=f"Write {FORMS}.")
    for read in _readers(where, text):
        value = read(text)
        if isinstance(value, list | dict):
            return value
    raise InvalidError("not-trigger-evals", f"{named} {_reason(text, where)}.", hint=f"Write {FORMS}.")


def _readers(where: str, text: str) -> Iterator[Any]:
    ending = where.rpartition(".")[2].casefold()
    if ending in ("csv", "tsv"):
        yield _csv
    if ending in ("yaml", "yml"):
        yield _yaml
    yield _json
    if text.lstrip()[0] in "{[":
        yield _json_lines
    yield _csv
    yield _yaml


def _json(text: str) -> Any:
    from whet.guard.manifests.reading import parse

    return parse(text, "json")


def _yaml(text: str) -> Any:
    from whet.guard.manifests.reading import parse

    return parse(text, "yaml") if len(text) <= _MAX_YAML else None


def _json_lines(text: str) -> list[Any] | None:
    """One value on each line; a line that is none stays text, so that it is reported where the values are read."""
    from whet.guard.manifests.reading import parse

    lines = [line for line in text.split("\n") if line.strip()][:_MAX_ROWS]
    values = [parse(line, "json") for line in lines]
    good = sum(isinstance(value, dict) for value in values)
    if not good or good * 2 < len(lines):
        return None
    return [value if isinstance(value, dict) else line for value, line in zip(values, lines, strict=True)]


def _csv(text: str) -> list[dict[str, str]] | None:
    """Rows below a header that names a column for the message; None when it is no such table."""
    import csv

    from whet.routing.evals.labels import MESSAGE_KEYS

    header = text.lstrip("\n").partition("\n")[0]
    separator = max(",\t;|", key=header.count)
    if separator not in header:
        return None
    rows: list[dict[str, str]] = []
    try:
        reader = csv.reader(text.lstrip("\n").split("\n"), delimiter=separator, skipinitialspace=True)
        heads = [head.strip() for head in next(reader)]
        if not MESSAGE_KEYS & set(map(plain_key, heads)):
            return None
        for row in reader:
            if any(cell.strip() for cell in row) and len(rows) < _MAX_ROWS:
                rows.append(dict(zip(heads, row, strict=False)))
    except csv.Error:
        return None
    return rows


def _reason(text: str, where: str) -> str:
    """What is wrong with a text that is none of these, and on which line."""
    if where.casefold().endswith((".yaml", ".yml")):
        return _yaml_problem(text)
    if text.lstrip()[0] not in "{[":
        return "is neither JSON, YAML nor CSV with a column for the message"
    lines = text.split("\n")
    rows = [line for line in lines if line.strip()]
    good = [_json_problem(row) is None for row in rows[:_LOOKED_AT]]
    if where.casefold().endswith((".jsonl", ".ndjson")) or (len(good) > 1 and 2 * sum(good) >= len(good)):
        problems = ((number, _json_problem(line)) for number, line in enumerate(lines, 1) if line.strip())
        found = next(((number, problem) for number, problem in problems if problem is not None), None)
        return f"is not JSON on line {found[0]}: {found[1][1]}" if found else "holds no mappings"
    problem = _json_problem(_COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text))
    if problem is None:
        return "is nested too deeply"
    return f"is not JSON on line {problem[0]}: {problem[1]}"


def _json_problem(text: str) -> tuple[int, str] | None:
    """The line and the reason where a text stops being JSON; a comma too many is none."""
    import json

    try:
        json.loads(_TRAILING.sub(r"\1", text))
    except json.JSONDecodeError as error:
        return error.lineno, error.msg
    except (ValueError, RecursionError):
        return 1, "its numbers are too long, or it is nested too deeply"
    return None


def _yaml_problem(text: str) -> str:
    import yaml

    if len(text) > _MAX_YAML:
        return f"has more than {_MAX_YAML:,} characters of YAML"
    try:
        for _ in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except yaml.MarkedYAMLError as error:
        at = f" on line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return f"is not YAML{at}: {error.problem}"
    except (yaml.YAMLError, ValueError) as error:
        return f"is not YAML: {error}"
    return "holds no list and no mapping, or is nested too deeply"

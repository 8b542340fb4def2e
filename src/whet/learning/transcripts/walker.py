"""Reading records of any client by the rules of `formats.toml`, which explains them."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from whet.learning.tables import load_table
from whet.learning.transcripts.values import arguments, clean_text, exit_code, moment, string, words
from whet.learning.transcripts.wrappers import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whet.learning.transcripts.collector import Collector

    Record = Mapping[str, Any]
    Scope = tuple[Record, ...]
    """A record, the record around it, and so on."""

FORMATS = "transcripts/formats"
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_MISSING = object()
_FIELD = re.compile(r"\{([^{}/]+)(?:/([^{}]+))?\}")
"""A path within a text, and a prefix to remove from its value."""
_LIKE = 8_000
"""Characters that an expression is matched against."""
_REMEMBERED = 500_000
"""Number of records that are remembered, to detect repetitions."""


@lru_cache(maxsize=1_000)
def _rules(table: str, kind: str) -> tuple[Mapping[str, Any], ...]:
    """Return the rules of a table that may match a record of this type, so that most are not tried."""
    return tuple(
        rule
        for rule in load_table(FORMATS)[table]["rules"]
        if _fits(({"type": kind},), {key: rule["when"][key] for key in rule.get("when", ()) if key == "type"}, table)
    )


def is_of(table: str, record: Any) -> bool:
    """Return whether this is a record of the format."""
    return isinstance(record, dict) and any(_fits((record,), when, table) for when in load_table(FORMATS)[table]["is"])


class Walker:
    """Reads the records of a session in order."""

    def __init__(self, into: Collector, typed: Sequence[str] = ()) -> None:
        self._into = into
        self._typed = typed
        """The typed text on the screen, if the client keeps it separately."""
        self._seen: set[int] = set()

    def read(self, records: Iterable[Record], table: str) -> None:
        """Read records by the rules of a table."""
        for record in records:
            self.take(record, table)

    def take(self, record: Record, table: str, time: int = 0, about: str = "", around: Scope = ()) -> None:
        """Read a record; `time` and `about` are those of the records around it."""
        rules, scope = load_table(FORMATS)[table], (record, *around)
        time = moment(_look(scope, rules.get("time", "-"))) or time
        for rule in _rules(table, string(record.get("type"))):
            if not _fits(scope, rule.get("when", {}), table):
                continue
            if "once" in rule and self._is_again(string(_look(scope, rule["once"]))):
                return
            self._apply(rule, scope, time, about)
            if "more" not in rule:
                return
        if "unknown" in rules:
            self._into.left_out(_text(scope, rules["unknown"]))

    def _apply(self, rule: Mapping[str, Any], scope: Scope, time: int, about: str) -> None:
        into = self._into
        self._name_session(rule, scope)
        if "count" in rule:
            into.counts[rule["count"]] += 1
        about = _text(scope, rule["about"], literal=True) if "about" in rule else about
        if "note" in rule:
            self._note(rule, scope, time, about)
        if "user" in rule:
            self._user(rule, scope, time)
        if "typed" in rule:
            for piece in spoken(clean_text(_text(scope, rule["typed"]))):
                if piece.kind == "user":
                    into.said("user", piece.text, time)
        if "sent" in rule:
            self._sent(_text(scope, rule["sent"]), time)
        if "assistant" in rule:
            into.said("assistant", _text(scope, rule["assistant"]), time)
        if call := rule.get("call"):
            into.called(_tool(scope, call), _given(scope, call["given"]), string(_look(scope, call["id"])), time)
        if result := rule.get("result"):
            self._result(result, scope, time)
        if end := rule.get("end"):
            id_, code = string(_look(scope, end["id"])), exit_code(_look(scope, end["code"]))
            into.ended(id_, bool(_failed(scope, end)), code)
        for path, table in rule.get("each", {}).items():
            for item in _items(scope, path, rule.get("own", "")):
                self.take(item, table, time, about, scope)

    def _name_session(self, rule: Mapping[str, Any], scope: Scope) -> None:
        into = self._into
        if "session" in rule:
            session = string(_look(scope, rule["session"]))
            into.session = (session or into.session) if "latest" in rule else (into.session or session)
        if "project" in rule and not into.project:
            project = string(_look(scope, rule["project"]))
            found = re.search(rule["form"], project[:_LIKE]) if "form" in rule else None
            into.project = found["text"] if found else "" if "form" in rule else project
        into.client = into.client or rule.get("client", "")

    def _note(self, rule: Mapping[str, Any], scope: Scope, time: int, about: str) -> None:
        text, skill = _text(scope, rule["note"]), self._into.skills.get(string(_look(scope, rule.get("loaded", "-"))))
        about = f"skill:{skill}" if skill else about
        if "told" not in rule:
            self._into.said("note", text, time, about)
            return
        for piece in spoken(text):
            self._into.said("note", piece.text, time, piece.about or about)

    def _user(self, rule: Mapping[str, Any], scope: Scope, time: int) -> None:
        """Add a message in the user's name; if the client shows less of it than it sends, the rest is its own."""
        text = _text(scope, rule["user"])
        shown = words(_look(scope, rule["shown"])) if "shown" in rule else ""
        if shown and text.strip() not in shown:
            self._into.said("note", text, time, "context")
            return
        found = re.search(rule["form"], text) if "form" in rule else None
        self._into.user(found["text"] if found else text, time)

    def _sent(self, text: str, time: int) -> None:
        """Add a message to the model in the user's name; the screen shows which part was typed, if known."""
        for piece in spoken(clean_text(text)):
            if piece.kind != "user" or not self._typed:
                self._into.said(piece.kind, piece.text, time, piece.about)
            elif not any(_same(piece.text, typed) for typed in self._typed):
                self._into.said("note", piece.text, time, "context")

    def _result(self, row: Mapping[str, Any], scope: Scope, time: int) -> None:
        text, code = _text(scope, row["text"]), exit_code(_look(scope, row.get("code", "-")))
        for pattern in row.get("without", ()):
            text = re.sub(pattern, "", text)
        if found := re.search(row["form"], text) if "form" in row else None:
            text, code = found["text"], int(found["code"]) if found["code"] else None
        time = moment(_look(scope, row.get("time", "-"))) or time
        tool = _tool(scope, row) if "name" in row else ""
        self._into.returned(
            text, string(_look(scope, row["id"])), time, failed=_failed(scope, row), code=code, tool=tool
        )

    def _is_again(self, id_: str) -> bool:
        again = bool(id_) and hash(id_) in self._seen
        if id_ and len(self._seen) < _REMEMBERED:
            self._seen.add(hash(id_))
        return again


def _same(one: str, other: str) -> bool:
    """Return whether both say the same, except for white space and additions on one side."""
    left, right = " ".join(one.split()), " ".join(other.split())
    return bool(left and right) and (left in right or right in left)


# paths


@cache
def _steps(path: str) -> tuple[str | tuple[int, tuple[str, ...]], ...]:
    """Parse the alternatives of a path: words, or the number of records to go up and the keys from there."""
    found: list[str | tuple[int, tuple[str, ...]]] = []
    for one in path.split(" | "):
        if one.startswith("'"):
            found.append(one.strip("'"))
        else:
            keys = one.removeprefix("^.").split(".") if one != "." else []
            found.append((int(one.startswith("^.")), tuple(keys)))
    return tuple(found)


def _look(scope: Scope, path: str) -> Any:
    """Return the first non-empty value of a path's alternatives, else 0 or False; None if there is none."""
    found = None
    for steps in _steps(path):
        value = steps if isinstance(steps, str) else _follow(scope, *steps)
        if value is not _MISSING and value not in _NOTHING:
            if value:
                return value
            found = value if found is None else found
    return found


def _follow(scope: Scope, up: int, keys: Sequence[str]) -> Any:
    value: Any = scope[up] if up < len(scope) else None
    for key in keys:
        if isinstance(value, list) and key.isdecimal():
            value = value[int(key)] if int(key) < len(value) else _MISSING
        elif isinstance(value, list):
            value = [item[key] for item in value if isinstance(item, dict) and key in item]
        else:
            value = value.get(key, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def _items(scope: Scope, path: str, own: str) -> Iterator[Record]:
    """Yield the records in a list, or the only one; a text is a record with only a text."""
    found = _look(scope, path)
    items = found if isinstance(found, list) else [found]
    if own:
        items = [one for one in items if isinstance(one, dict) and one.get(own) == scope[0].get(own)] or items[:1]
    for item in items:
        if isinstance(item, str | dict):
            yield {"text": item} if isinstance(item, str) else item


def _text(scope: Scope, path: str, *, literal: bool = False) -> str:
    """Return the text at a path, or a text with its fields replaced; with `literal`, one without fields is no path."""
    if "{" not in path:
        return path if literal else words(_look(scope, path))
    return _FIELD.sub(lambda found: words(_look(scope, found[1])).removeprefix(found[2] or ""), path)


def _tool(scope: Scope, row: Mapping[str, Any]) -> str:
    """Return the name of a tool; one of an MCP server is `mcp__server__tool`."""
    name = string(_look(scope, row["name"]))
    for path, pattern in row.get("mcp", {}).items():
        if found := re.fullmatch(pattern, string(_look(scope, path))):
            parts = found.groupdict()
            return f"mcp__{parts['server'] or parts.get('other')}__{parts.get('tool') or name}"
    return name


def _given(scope: Scope, row: str | Mapping[str, str]) -> Mapping[str, Any]:
    if isinstance(row, str):
        return arguments(_look(scope, row))
    given = {key: _text(scope, path) if "{" in path else _look(scope, path) for key, path in row.items()}
    return {key: value for key, value in given.items() if value}


def _failed(scope: Scope, row: Mapping[str, Any]) -> bool | None:
    """Return whether a call failed; None if the record does not say."""
    if any(_fits(scope, when) for when in row.get("failed", ())):
        return True
    return False if "worked" in row and _fits(scope, row["worked"]) else None


def _fits(scope: Scope, when: Mapping[str, Any], table: str = "") -> bool:
    return all(_is(scope, path, wanted, table) for path, wanted in when.items())


def _is(scope: Scope, path: str, wanted: Any, table: str) -> bool:
    """Return whether the value at a path matches."""
    if wanted == "?":
        return any(not isinstance(steps, str) and _follow(scope, *steps) is not _MISSING for steps in _steps(path))
    value = _look(scope, path)
    if isinstance(wanted, dict):
        return re.search(wanted["like"], words(value)[:_LIKE]) is not None
    if not isinstance(wanted, str):
        return type(value) is type(wanted) and bool(value == wanted)
    exact, others = _words(table, wanted)
    return (isinstance(value, str) and value in exact) or any(_is_like(value, word) for word in others)


@cache
def _words(table: str, wanted: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the words of a condition, and those with a special meaning."""
    named = re.sub(r"@(\w+)", lambda found: load_table(FORMATS)[table][found[1]], wanted).split()
    others = tuple(word for word in named if word == "-" or word.startswith(("!", "*")) or word.endswith("*"))
    return frozenset(named).difference(others), others


def _is_like(value: Any, word: str) -> bool:
    if word in ("*", "-"):
        return bool(value) is (word == "*")
    if word.startswith("!"):
        return bool(value != word[1:])
    if not isinstance(value, str):
        return False
    return value.startswith(word[:-1]) if word.endswith("*") else value.endswith(word[1:])

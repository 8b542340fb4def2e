"""What one row of an eval file says: its message, and which skills should and should not come up for it.

The words of the field differ from tool to tool, their meaning does not. Three kinds of statement are told apart: a
verdict on the skill that the file is about (`should_trigger: true`), the name of the skill that is expected
(`expected_skill: pdf`, `null` for none), and names of skills that must stay away (`reject: [docx]`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from whet.routing.evals.parsing import plain_key
from whet.skill.names import key as name_key

_MESSAGES = (
    *("query", "prompt", "question", "message", "usermessage", "userprompt", "userinput", "userquery", "input"),
    *("utterance", "text", "phrase", "request", "task", "trigger"),
)
MESSAGE_KEYS = frozenset((*_MESSAGES, "messages"))
"""Fields that hold what the user says."""
_VERDICTS = frozenset(
    (
        *("shouldtrigger", "shouldactivate", "shouldinvoke", "shouldfire", "expectactivation", "expecttrigger"),
        *("expectskillactivation", "expectskillinvocation", "expectedtrigger", "expectedactivation", "skillinvocation"),
        *("trigger", "triggers", "istrigger", "shouldroute"),
    )
)
_INVERSE = frozenset(("shouldnottrigger", "shouldnotactivate", "shouldnotfire"))
_NAMED = ("expectedskill", "expectedskills", "expectskill", "expectskills", "expectedskillname")
"""Fields that name the skills that should come up."""
_MAYBE_NAMED = ("expect", "expected", "route")
"""Fields that name one, or say something else in a sentence."""
_KINDS = ("label", "type", "kind", "category")
"""Fields that may hold a verdict and often hold something else."""
_AWAY = (
    "reject",
    "rejectskills",
    "notexpectedskills",
    "notexpectedskill",
    "forbiddenskills",
    "notskills",
    "negativefor",
)
SKILL_KEYS = ("skill", "skillname", "targetskill", "skillid")
YES = frozenset(
    (
        *("true", "yes", "y", "1", "required", "activate", "activated", "trigger", "triggers", "shouldtrigger"),
        *("fire", "invoke", "positive", "should", "load", "match"),
    )
)
NO = frozenset(
    (
        *("false", "no", "n", "0", "disallowed", "forbidden", "skip", "ignore", "notrigger", "donottrigger"),
        *("shouldnottrigger", "shouldnot", "negative", "nearmiss", "reject", "dormant", "notactivate", "nomatch"),
    )
)
_NONE = frozenset(("none", "null", "nil", "n/a", "no skill", "no-skill", "no_skill"))
_MAX_NAME = 200
_MAX_NAMES = 100


class Said(NamedTuple):
    """A row understood: the skills it is for and those it is not for; no skill's name is "" for no skill at all."""

    fits: tuple[str, ...]
    away: tuple[str, ...]


def message_of(row: dict[str, Any]) -> Any:
    """What the user says: the first field of the kind that holds text, else what stands in its place, else None."""
    held = [row[name] for name in _MESSAGES if row.get(name) is not None]
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


def keyed(row: dict[Any, Any]) -> dict[str, Any]:
    """The row by plain keys; of two spellings of one field the first counts."""
    plain: dict[str, Any] = {}
    for name, value in row.items():
        plain.setdefault(plain_key(name), value)
    return plain


def skill_of(row: dict[str, Any]) -> str:
    """The skill a mapping says it is about; "" when it says none."""
    return next((name for field in SKILL_KEYS if (name := _name(row.get(field)))), "")


def said(row: dict[str, Any], skill: str) -> Said | None:
    """What a row with plain keys says, in a file about `skill`; None when it gives no verdict at all."""
    about = skill_of(row) or skill
    fits: list[str] = []
    away = [name for field in _AWAY for name in _names(row.get(field))]
    verdict = _verdict(row)
    if verdict is not None:
        (fits if verdict else away).append(about)
    elif (expected := _expected(row)) is not None:
        fits += expected
        if not any(name_key(name) == name_key(about) for name in expected):
            away.append(about)
    elif any(field in row for field in SKILL_KEYS):
        fits += [about] if skill_of(row) else []
        away += [] if skill_of(row) else [skill]
    elif not away:
        return None
    wanted = {name_key(name) for name in fits}
    if fits and not about:
        away = [name for name in away if name]
    return Said(_once(fits), tuple(name for name in _once(away) if name_key(name) not in wanted))


def _verdict(row: dict[str, Any]) -> bool | None:
    """Whether the skill of the file should come up, where the row says so directly."""
    for field, value in row.items():
        if field in _VERDICTS and (answer := truth(value)) is not None:
            return answer
        if field in _INVERSE and (answer := truth(value)) is not None:
            return not answer
    for field in ("expect", "expected", "expectations"):
        value = row.get(field)
        answer = _verdict(keyed(value)) if isinstance(value, dict) else truth(value)
        if answer is not None:
            return answer
    for field in _KINDS:
        if isinstance(row.get(field), str) and (answer := truth(row[field])) is not None:
            return answer
    return None


def _expected(row: dict[str, Any]) -> list[str] | None:
    """The skills that are named as the right ones; an empty list when none is right, None when nothing is said."""
    for field in _NAMED:
        if field in row and (row[field] is None or isinstance(row[field], str | list)):
            return _names(row[field])
    for field in _MAYBE_NAMED:
        value = row.get(field)
        if isinstance(value, list) or (field in row and value is None and field != "route"):
            return _names(value)
        if isinstance(value, str) and len(value.split()) <= 1:
            return _names(value)
    return None


def truth(value: object) -> bool | None:
    """A verdict in any of its spellings; None for what is none."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        word = plain_key(value)
        return True if word in YES else False if word in NO else None
    return None


def _names(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [name for item in items[:_MAX_NAMES] if (name := _name(item))]


def _name(value: object) -> str:
    """A skill's name as it stands there, without the mark of a command; "" for what names none."""
    if isinstance(value, dict):
        value = value.get("name", value.get("skill"))
    if not isinstance(value, str) or len(value) > _MAX_NAME:
        return ""
    name = value.strip().lstrip("/$").strip().encode("utf-8", "replace").decode()
    return "" if name.casefold() in _NONE else name


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple({name_key(name): name for name in reversed(names)}.values())[::-1]

"""Errors of a session, and how they were resolved.

A failure counts if the same call, or a similar one, worked later. The resolution is the changes in between, and the
form that worked. Wrong calls of a tool, interruptions and bad luck do not count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.shell.wrappers import INTERPRETERS
from whet.learning.evidence.shell import main_program, only_looks, shape
from whet.learning.tables import pattern_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.evidence.tool_calls import Act

MOST = 8
_AHEAD = 12
"""Number of calls after a failure that are searched for a similar one."""
_AGAIN = 30
"""Number of calls that are searched for the same one."""
_CHANGES = 2
"""Number of changes in between that are reported."""
_FEW = 2
"""Number of words of a line that only says that something failed."""
_LINE = 240
"""Characters of an error's line."""
SLIP = pattern_of("slip")
LUCK = pattern_of("luck")
MACHINE = pattern_of("machine")
_NAMED = re.compile(r"(?:\A|\s|[\w.]\.)[A-Z]\w*(?:Error|Exception|NotFound|Denied)\b: .{3,200}|\Aerror\b[:\[ ].{3,200}")
"""A line with the name of an error."""


class Recovery(NamedTuple):
    """A failure, and how it worked in the end; every text is verbatim."""

    tried: str
    said: str
    """The line of the output that names the error."""
    changed: tuple[str, ...]
    """Commands in between, or files that were changed."""
    worked: str
    """The form that worked; "" if it is the one that had failed."""
    evidence: tuple[int, ...]
    """Numbers of the events it rests on."""


def recoveries_of(found: Sequence[Act]) -> tuple[Recovery, ...]:
    """Return the resolved errors, each once, in order."""
    ends: dict[tuple[str, str], Recovery] = {}
    for number, act in enumerate(found):
        if not act.failed or SLIP.search(act.output[:3_000]):
            continue
        tried, said = in_a_line(act), error_line(act.output)
        later = found[number + 1 :]
        again = _again(act, later) if tried and said and not LUCK.search(said) else None
        if again is None:
            continue
        between = [other for other in later if other.at < again.at and _changes(act, other)][-_CHANGES:]
        changed = tuple(dict.fromkeys(text for other in between if (text := in_a_line(other))))
        worked = in_a_line(again) if again.words != act.words else ""
        if MACHINE.search(said) and not re.search(r"\binstall\b", " ".join((*changed, worked))):
            continue
        if changed or worked:
            key = (" ".join(shape(act.text("command"))) or act.tool, said[:60])
            events = (act.at, *(other.at for other in between), again.at)
            ends.setdefault(key, Recovery(tried, said, changed, worked, events))
    return tuple(ends.values())[:MOST]


def resolved(found: Sequence[Act]) -> bool:
    """Return whether a call of the same kind worked after the last failure, or nothing failed."""
    failures = [n for n, act in enumerate(found) if act.failed and not SLIP.search(act.output[:3_000])]
    last = failures[-1] if failures else None
    return last is None or any(_same_kind(found[last], act) and not act.failed for act in found[last + 1 :])


def in_a_line(act: Act) -> str:
    """Return a call in one line; "" if it does not fit."""
    command = act.text("command").strip()
    if command:
        return command if "\n" not in command and len(command) <= _LINE else ""
    path = act.text("path") or act.text("url")
    return f"{act.tool} {path}" if path else ""


def error_line(output: str) -> str:
    """Return the line that names the error: the last of a traceback, else the first one."""
    text = re.sub(r"\A\s*(?:Error: )?Exit code \d+\s*", "", output[-6_000:])
    lines = [line.strip() for line in text.split("\n") if len(line.split()) > 1]
    named = [one for one in lines if _NAMED.search(one)]
    telling = named or [one for one in lines if pattern_of("tells").search(one) and len(one.split()) > _FEW] or lines
    if not telling:
        return ""
    line = telling[-1] if "Traceback" in text else telling[0]
    return re.sub(r"\AE {2,8}", "", line).replace("`", "'")[:_LINE]


def same_thing(failed: Act, act: Act) -> bool:
    """Return whether it is the same program with the same sub-command, the same script or the same file."""
    if failed.tool != "Bash" or act.tool != "Bash":
        return _same_kind(failed, act)
    first, second = failed.text("command"), act.text("command")
    main = main_program(first)
    if main.partition(" ")[0] in INTERPRETERS:
        return main_program(second) == main and _alike(failed, act)
    return bool(main) and (main == main_program(second) or set(shape(first)) <= set(shape(second)))


def _again(failed: Act, later: Sequence[Act]) -> Act | None:
    """Return the call that worked."""
    worked = [act for act in later[:_AGAIN] if act.answered and not act.failed]
    same = next((act for act in worked if same_thing(failed, act)), None)
    near = (act for act in later[:_AHEAD] if act in worked and _same_kind(failed, act) and _alike(failed, act))
    return same or next(near, None)


def _changes(failed: Act, act: Act) -> bool:
    """Return whether a call between a failure and the success changed something."""
    if act.failed or not act.answered or same_thing(failed, act):
        return False
    return not only_looks(act.text("command")) if act.tool == "Bash" else act.tool in ("Write", "Edit")


def _same_kind(one: Act, other: Act) -> bool:
    if one.tool != other.tool:
        both = {one.tool, other.tool} <= {"Write", "Edit"}
        return (both and one.text("path") == other.text("path")) or (one.tool == "Read" and other.tool == "Bash")
    return one.tool not in ("Write", "Edit", "Read") or one.text("path") == other.text("path")


def _alike(one: Act, other: Act) -> bool:
    mine, theirs = set(re.findall(r"\w+", one.words[:4_000])), set(re.findall(r"\w+", other.words[:4_000]))
    return len(mine & theirs) * 2 >= min(len(mine), len(theirs)) > 0

"""Errors of a session and what resolved them.

A failure counts when the same thing worked later, or something much like it did. What resolved it is what was changed
in between, and the form in which it worked. A tool that was called wrongly, an interruption and bad luck do not count.
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
"""Calls after a failure among which something like it is looked for."""
_AGAIN = 30
"""The same for the same thing done again."""
_CHANGES = 2
"""Changes in between that are told."""
_FEW = 2
"""Words of a line that only says that something failed."""
_LINE = 240
"""Characters of an error's line."""
SLIP = pattern_of("slip")
LUCK = pattern_of("luck")
MACHINE = pattern_of("machine")
_NAMED = re.compile(r"(?:\A|\s|[\w.]\.)[A-Z]\w*(?:Error|Exception|NotFound|Denied)\b: .{3,200}|\Aerror\b[:\[ ].{3,200}")
"""A line with the name of an error."""


class Recovery(NamedTuple):
    """Something that failed, and how it worked in the end; every text as it was in the session."""

    tried: str
    said: str
    """The line of the output that names the error."""
    changed: tuple[str, ...]
    """What was done in between: commands, or the files that were changed."""
    worked: str
    """The form in which it worked; empty when it is the one that had failed."""
    evidence: tuple[int, ...]
    """Numbers of the events it rests on."""


def recoveries_of(found: Sequence[Act]) -> tuple[Recovery, ...]:
    """The errors that were resolved, each once, in the order in which they came."""
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
    """Was the last failure followed by something of the same kind that worked? True when nothing failed."""
    failures = [n for n, act in enumerate(found) if act.failed and not SLIP.search(act.output[:3_000])]
    last = failures[-1] if failures else None
    return last is None or any(_same_kind(found[last], act) and not act.failed for act in found[last + 1 :])


def in_a_line(act: Act) -> str:
    """A call as it was given, its first line; empty for one that does not fit into a line."""
    command = act.text("command").strip()
    if command:
        return command if "\n" not in command and len(command) <= _LINE else ""
    path = act.text("path") or act.text("url")
    return f"{act.tool} {path}" if path else ""


def error_line(output: str) -> str:
    """The line that says what was wrong: of a traceback the last, else the first that names an error."""
    text = re.sub(r"\A\s*(?:Error: )?Exit code \d+\s*", "", output[-6_000:])
    lines = [line.strip() for line in text.split("\n") if len(line.split()) > 1]
    named = [one for one in lines if _NAMED.search(one)]
    telling = named or [one for one in lines if pattern_of("tells").search(one) and len(one.split()) > _FEW] or lines
    if not telling:
        return ""
    line = telling[-1] if "Traceback" in text else telling[0]
    return re.sub(r"\AE {2,8}", "", line).replace("`", "'")[:_LINE]


def same_thing(failed: Act, act: Act) -> bool:
    """Is it the same program with the same sub-command, the same script or the same file once more?"""
    if failed.tool != "Bash" or act.tool != "Bash":
        return _same_kind(failed, act)
    first, second = failed.text("command"), act.text("command")
    main = main_program(first)
    if main.partition(" ")[0] in INTERPRETERS:
        return main_program(second) == main and _alike(failed, act)
    return bool(main) and (main == main_program(second) or set(shape(first)) <= set(shape(second)))


def _again(failed: Act, later: Sequence[Act]) -> Act | None:
    """The call in which it worked."""
    worked = [act for act in later[:_AGAIN] if act.answered and not act.failed]
    same = next((act for act in worked if same_thing(failed, act)), None)
    near = (act for act in later[:_AHEAD] if act in worked and _same_kind(failed, act) and _alike(failed, act))
    return same or next(near, None)


def _changes(failed: Act, act: Act) -> bool:
    """Did a call between a failure and the success change something?"""
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

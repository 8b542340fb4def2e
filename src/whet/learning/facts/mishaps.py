"""What was tried and failed, what it said, and what worked instead.

Only what the next one could run into counts: a command or a change that failed and something like it that worked
afterwards. A slip in calling a tool, a file that was not there yet and an interruption teach nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.model import DeadEnd
from whet.learning.facts.shell import only_looks, shape, tidy
from whet.learning.facts.wording import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.facts.acts import Act

MOST = 8
_SAME = 0.8
"""The share of words that two runs of the same command have in common."""
_AHEAD = 12
"""Calls after a failure among which its remedy is looked for."""
_SLIP = re.compile(
    r"(?i)InputValidationError|tool_use_error|required parameter|has not been read yet|file has been (?:modified"
    r"|unexpectedly)"
    r"|doesn't want to proceed|interrupted by user|request interrupted|user rejected|permission to use"
    r"|string to replace not found"
    r"|exceeds maximum|is a directory|EISDIR|sibling tool call|no files found|cancelled|timed? ?out after"
    r"|rate.?limit|ECONNRESET"
    r"|too many requests|temporarily unavailable|connection reset|503 service|502 bad gateway"
)
_MACHINE = re.compile(
    r"(?i)command not found|No module named|is not installed|not recognized as an internal|cannot open shared object"
)
"""What is only about this machine, unless an installation was the remedy."""
_TELLS = re.compile(
    r"(?i)(?:\b\w*(?:Error|Exception|Warning)\b: .{3,200}|\berror\b[:\[ ].{3,200}|not found\b|no such .{3,80}"
    r"|cannot .{3,120}|can't .{3,120}|failed .{3,120}|unable to .{3,120}|denied.{0,80}|invalid .{3,120}"
    r"|undefined .{3,120}|missing .{3,120}|unrecognized .{3,120}|unknown .{3,120}|must be .{3,120}|expected .{3,120}"
    r"|unsupported.{0,80}|is (?:not .{3,80}|missing|required)|FAILED .{3,120})"
)


def dead_ends_of(found: Sequence[Act], homes: Sequence[str]) -> tuple[DeadEnd, ...]:
    """The dead ends of a session that were got over, each once, the most instructive first in the order they came."""
    ends: dict[tuple[str, str], DeadEnd] = {}
    for number, act in enumerate(found):
        if not act.failed or _SLIP.search(act.output[:3_000]):
            continue
        tried = _tried(act, homes)
        said = _said(act.output)
        remedy = _remedy(act, found[number + 1 : number + 1 + _AHEAD])
        if tried and said and remedy is not None:
            worked = _changed_between(act, remedy, found) or _tried(remedy, homes)
            key = (" ".join(shape(act.text("command"))) or act.tool, said[:60])
            machine = _MACHINE.search(said) and not re.search(r"\binstall\b", remedy.text("command"))
            if worked and worked != tried and not machine:
                ends.setdefault(key, DeadEnd(tried, said, worked, (act.at, remedy.at)))
    return tuple(ends.values())[:MOST]


def resolved(found: Sequence[Act]) -> bool:
    """Was the last failure followed by something of the same kind that worked? True when nothing failed."""
    failures = [number for number, act in enumerate(found) if act.failed and not _SLIP.search(act.output[:3_000])]
    last = failures[-1] if failures else None
    if last is None:
        return True
    return any(_same_kind(found[last], act) and not act.failed for act in found[last + 1 :])


def _remedy(failed: Act, after: Sequence[Act]) -> Act | None:
    """The call that did what the failed one was for: the same in another way, or the next of its kind that worked."""
    for act in after:
        if not act.failed and act.answered and _same_kind(failed, act) and _alike(failed, act):
            return act
    first = next((act for act in after if not act.failed and act.answered and act.tool not in ("Read", "Search")), None)
    return first if first is not None and first.tool == failed.tool == "Bash" and not _looks_away(first) else None


def _changed_between(failed: Act, remedy: Act, found: Sequence[Act]) -> str:
    """What was put into a file between two runs of the same command; empty when the command itself was changed."""
    first, second = failed.text("command"), remedy.text("command")
    if not first or not second:
        return ""
    again = _likeness(first, second) >= _SAME
    before: dict[str, str] = {}
    for act in found:
        if act.at >= remedy.at:
            break
        text = act.text("new") or act.text("content")
        path = act.text("path")
        name = path.replace("\\", "/").rpartition("/")[2]
        run = again or (name in first and name in second)
        if act.at > failed.at and text and run and act.tool in ("Write", "Edit") and not act.failed:
            old = set((before.get(path, "") or act.text("old")).split("\n"))
            lines = [line.strip() for line in text.split("\n") if line.strip() and line not in old]
            return (
                f"{shorten('; '.join(lines[:3]), 140)} (in {path.replace(chr(92), '/').rpartition('/')[2]})"
                if lines
                else ""
            )
        before[path] = text
    return ""


def _likeness(one: str, other: str) -> float:
    mine, theirs = set(re.findall(r"\w+", one)), set(re.findall(r"\w+", other))
    return len(mine & theirs) / max(1, len(mine | theirs))


def _same_kind(one: Act, other: Act) -> bool:
    if one.tool != other.tool:
        return {one.tool, other.tool} <= {"Write", "Edit"} or (one.tool == "Read" and other.tool == "Bash")
    if one.tool in ("Write", "Edit", "Read"):
        return one.text("path") == other.text("path")
    return True


def _alike(one: Act, other: Act) -> bool:
    mine, theirs = set(re.findall(r"\w+", one.words[:4_000])), set(re.findall(r"\w+", other.words[:4_000]))
    return len(mine & theirs) * 2 >= min(len(mine), len(theirs)) > 0


def _looks_away(act: Act) -> bool:
    return only_looks(act.text("command"))


def _tried(act: Act, homes: Sequence[str]) -> str:
    command = act.text("command")
    if command:
        lines = [line for line in tidy(command, homes).split("\n") if line.strip()]
        return shorten(lines[0], 160) + (" …" if len(lines) > 1 else "") if lines else ""
    path = act.text("path") or act.text("url")
    return f"{act.tool} {path}" if path else ""


def _said(output: str) -> str:
    """The line of an error that says what was wrong: the last one of a traceback, the first one otherwise."""
    text = re.sub(r"\A\s*(?:Exit code|Error: Exit code) \d+\s*", "", output[-6_000:])
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    telling = [line for line in lines if _TELLS.search(line)]
    if not telling:
        return ""
    line = telling[-1] if "Traceback" in text else telling[0]
    return shorten(line.replace("`", "'"), 200)

"""What was tried and failed, what it said, and what helped.

Only what the next one could run into counts: something that failed and was overcome. What helped is what was done
about it before the same thing worked, or the way in which it was done then. A slip in calling a tool, a file that was
not there yet and an interruption teach nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.shell.wrappers import INTERPRETERS
from whet.learning.facts.criteria import TESTING
from whet.learning.facts.model import DeadEnd
from whet.learning.facts.prose import shorten
from whet.learning.facts.shell import main_program, only_looks, shape, tidy
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whet.learning.facts.model import Help
    from whet.learning.facts.tool_calls import Act

MOST = 8
_AHEAD = 12
"""Calls after a failure among which its remedy is looked for."""
_AGAIN = 30
"""The same for the same thing done again."""
_LINE = 160
"""Characters of a line that is a message."""
_FEW = 3
"""Words of a line that says something."""
_SPOT = re.compile(r"(?i)(\b(?:position|line|column|offset|pid|byte|row)\s|\.\w{1,5}:)\d+(?::\d+)?\b")
_FAR = re.compile(r"(?<![\w.:/])/(?:[\w.@-]{1,80}/){2,12}([\w.-]{1,80})")
"""A path that is somewhere on this machine; its name is enough to know what an error is about."""
_HIDDEN = re.compile(r"(\b[A-Z][A-Z0-9_]{1,60}=)([\"']?)\[secret[^\]\s]{0,60}\][^\s\"']{0,200}\2")
SLIP = re.compile(
    r"(?i)InputValidationError|tool_use_error|required parameter|has not been read yet|file has been (?:modified"
    r"|unexpectedly)|doesn't want to proceed|interrupted by user|request interrupted|user rejected|permission to use"
    r"|string to replace not found|sibling tool call|no files found|cancelled"
)
"""A tool that was called wrongly, or stopped."""
_PASSING = re.compile(
    r"(?i)exceeds maximum|is a directory|EISDIR|timed? ?out after|rate.?limit|ECONNRESET|too many requests"
    r"|temporarily unavailable|connection reset|503 service|502 bad gateway"
)
"""What is of no use to know the next time."""
MACHINE = re.compile(
    r"(?i)command not found|not recognized as an internal|No module named|is not installed|Cannot find module"
    r"|cannot open shared object|executable file not found|: not found\s*\Z|no such command"
)
"""What is only about this machine, unless an installation was the remedy."""
_NAMED = re.compile(r"(?:\A|\s|[\w.]\.)[A-Z]\w*(?:Error|Exception|NotFound|Denied)\b: .{3,200}|\Aerror\b[:\[ ].{3,200}")
"""An error with its name."""
_TELLS = re.compile(
    r"(?i)(?:\b\w*(?:Error|Exception|Warning)\b: .{3,200}|\berror\b[:\[ ].{3,200}|not found\b|no such .{3,80}"
    r"|cannot .{3,120}|can't .{3,120}|failed .{3,120}|unable to .{3,120}|denied.{0,80}|invalid .{3,120}"
    r"|undefined[ :].{3,120}|missing .{3,120}|unrecognized .{3,120}|unknown .{3,120}|must be .{3,120}|expected .{3,120}"
    r"|unsupported.{0,80}|is (?:not .{3,80}|missing|required)|FAILED .{3,120}|no module named .{1,80}"
    r"|\bnot (?:divisible|available|defined|allowed|set|supported|permitted|valid|enough|match|running)\b)"
)
_INLINE = re.compile(r"(?:<<|\s-[ce]\s*[\"']?\s*…\Z|[\"'] …\Z)")
"""What a script that is given on the spot looks like once it is cut: it says nothing."""
_WELL = re.compile(
    r"(?i)\b(?:ok|done|success\w*|passed|installed|version|warning|deprecat\w+)\b|\A[>$+#%=_*-]|\d\.\d+\.\d"
)
"""Lines that are about something else."""


def dead_ends_of(
    found: Sequence[Act],
    homes: Sequence[str],
    turns: Sequence[int] = (),
    objections: Sequence[tuple[Act, str]] = (),
) -> tuple[DeadEnd, ...]:
    """The dead ends of a session that were got over, each once, in the order they came.

    `turns` are the numbers of the messages in which the user said what to do: with each something else may begin.
    `objections` are the calls that the user did not want, with what was said.
    """
    done = {act.at: act for act in found}
    unwanted = {act.at for act, _ in objections}
    ends = [
        end
        for end in _failed(found, homes, turns)
        if end.evidence[0] not in unwanted or _same_thing(done[end.evidence[0]], done[end.evidence[1]])
    ]
    failed = {end.evidence[0] for end in ends}
    forbidden = [
        DeadEnd(tried, said, "", (act.at,), "forbidden")
        for act, said in objections
        if act.at not in failed and (tried := _wrong(act, homes))
    ][:MOST]
    return tuple(sorted((*forbidden, *ends[: MOST - len(forbidden)]), key=lambda end: end.evidence[0]))


def _failed(found: Sequence[Act], homes: Sequence[str], turns: Sequence[int]) -> Iterable[DeadEnd]:
    """What failed and was got over, each once."""
    ends: dict[tuple[str, str], DeadEnd] = {}
    for number, act in enumerate(found):
        if not act.failed or _is_slip(act):
            continue
        tried, said = _tried(act, homes), _said(act.output)
        turn = next((at for at in turns if at > act.at), None)
        remedy = _remedy(act, said, found[number + 1 :], turn) if tried and said else None
        if remedy is not None:
            how, worked = _change(remedy, found)
            file = _name(remedy.text("path")) if worked else ""
            if not worked:
                how = "first" if _comes_before(act, remedy, found[number + 1 :]) else "instead"
                worked = _tried(remedy if how == "first" else _last_form(remedy, found), homes)
            key = (" ".join(shape(act.text("command"))) or act.tool, said[:60])
            machine = MACHINE.search(said) and not re.search(r"\binstall\b", remedy.text("command"))
            if worked and worked != tried and not machine and not _INLINE.search(worked):
                ends.setdefault(key, DeadEnd(tried, said, worked, (act.at, remedy.at), how, file))
    return ends.values()


def _comes_before(failed: Act, remedy: Act, later: Sequence[Act]) -> bool:
    """Did what failed work after the remedy, so that it had to be done before and not in its place?"""
    return not _same_thing(failed, remedy) and any(
        act.at > remedy.at and not act.failed and _same_thing(failed, act) for act in later[:_AGAIN]
    )


def _last_form(remedy: Act, found: Sequence[Act]) -> Act:
    """A command as it was given in the end, when it was only the first one that did not fail."""
    mine = shape(remedy.text("command"))
    forms = [
        act
        for act in found
        if act.at > remedy.at and not act.failed and shape(act.text("command")) == mine and _much_alike(remedy, act)
    ]
    same = TESTING.search(remedy.text("command")) or not mine or only_looks(remedy.text("command"))
    return forms[-1] if forms and not same and _switches(forms[-1]) == _switches(remedy) else remedy


def _switches(act: Act) -> set[str]:
    return set(re.findall(r"(?<=\s)--?[A-Za-z][\w-]*", act.text("command")))


def _wrong(act: Act, homes: Sequence[str]) -> str:
    """What the user did not want, in a line: the command, or what was put into a file."""
    how, text = _change(act, ())
    return f"{text} (in {_name(act.text('path'))})" if text and how == "added" else _tried(act, homes)


def resolved(found: Sequence[Act]) -> bool:
    """Was the last failure followed by something of the same kind that worked? True when nothing failed."""
    failures = [number for number, act in enumerate(found) if act.failed and not _is_slip(act)]
    last = failures[-1] if failures else None
    if last is None:
        return True
    return any(_same_kind(found[last], act) and not act.failed for act in found[last + 1 :])


def _remedy(failed: Act, said: str, later: Sequence[Act], turn: int | None) -> Act | None:
    """What helped, as far as one can tell; `turn` is where the user spoke next.

    What was done at once, before the same thing worked, is what helped, unless the words of the error point to what
    was changed in doing it again. What was done after the user had spoken is believed only when nothing was changed.
    """
    worked = [act for act in later[:_AGAIN] if act.answered and not act.failed]
    again = next((at for at, act in enumerate(worked) if _same_thing(failed, act)), None)
    between = [act for act in worked[:again] if _mends(failed, act)]
    first = between[0] if between and (turn is None or between[0].at < turn) else None
    if again is None:
        near = [act for act in worked if act in later[:_AHEAD]]
        alike = next((act for act in near if _same_kind(failed, act) and _alike(failed, act)), None)
        map_concurrently = first if first in near and _related(failed, said, first) else None
        return min(filter(None, (alike, map_concurrently)), key=lambda act: act.at, default=None)
    rerun = worked[again]
    changed = _words(failed.words) ^ _words(rerun.words)
    if not changed and failed.words == rerun.words:
        return between[0] if between else None
    if first is None:
        return rerun
    error = _words(said)
    return rerun if len(error & changed) > len(error & _words(first.words)) else first


def _same_thing(failed: Act, act: Act) -> bool:
    """Is it the same program with the same sub-command, the same script or the same file once more?"""
    if failed.tool != act.tool:
        return {failed.tool, act.tool} <= {"Write", "Edit"} and failed.text("path") == act.text("path")
    if failed.tool != "Bash":
        return _same_kind(failed, act)
    first, second = failed.text("command"), act.text("command")
    main = main_program(first)
    if main in INTERPRETERS:
        mine, theirs = _scripts(first), _scripts(second)
        return main_program(second) == main and (bool(mine & theirs) if mine or theirs else _much_alike(failed, act))
    return bool(main) and (main == main_program(second) or set(shape(first)) <= set(shape(second)))


def _much_alike(one: Act, other: Act) -> bool:
    mine, theirs = _words(one.words), _words(other.words)
    return len(mine & theirs) * 2 >= len(mine | theirs) > 0


def _scripts(command: str) -> set[str]:
    """The names of the scripts in a command."""
    return set(re.findall(r"([\w-]{1,60}\.(?:py|sh|js|mjs|ts|rb|pl|php|R|jl))\b", command))


def _mends(failed: Act, act: Act) -> bool:
    """Did it change something, or ask another service?"""
    if _same_thing(failed, act):
        return False
    if act.tool == "Bash":
        return not only_looks(act.text("command"))
    return act.tool in ("Write", "Edit") or (act.tool.startswith("mcp__") and _related(failed, failed.output, act))


def _related(failed: Act, said: str, act: Act) -> bool:
    """Do what was done, and what was said about it, share a word with the failure?"""
    about = key_terms(f"{said[:2_000]} {failed.words[:2_000]}")
    return bool(about & key_terms(f"{act.said[-1_000:]} {act.words[:2_000]}"))


def _change(remedy: Act, found: Sequence[Act]) -> tuple[Help, str]:
    """What an edit or a new text of a file put into it, or took away; empty for a command."""
    path, text, old = remedy.text("path"), remedy.text("new") or remedy.text("content"), remedy.text("old")
    if remedy.tool not in ("Write", "Edit") or not (text or old):
        return "added", ""
    earlier = [act for act in found if act.at < remedy.at and act.text("path") == path]
    known = {line for act in earlier for line in (act.text("new") or act.text("content")).split("\n")}
    before, after = old.split("\n"), text.split("\n")
    added = [line.strip() for line in after if line.strip(" \t…") and line not in known and line not in before]
    removed = [line.strip() for line in before if line.strip(" \t…") and line not in after]
    if added:
        return "added", shorten("; ".join(added[:3]), 140)
    return "removed", shorten("; ".join(removed[:3]), 140)


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Za-z]{3,}", text[:4_000])}


def _same_kind(one: Act, other: Act) -> bool:
    if one.tool != other.tool:
        return {one.tool, other.tool} <= {"Write", "Edit"} or (one.tool == "Read" and other.tool == "Bash")
    if one.tool in ("Write", "Edit", "Read"):
        return one.text("path") == other.text("path")
    return True


def _alike(one: Act, other: Act) -> bool:
    mine, theirs = set(re.findall(r"\w+", one.words[:4_000])), set(re.findall(r"\w+", other.words[:4_000]))
    return len(mine & theirs) * 2 >= min(len(mine), len(theirs)) > 0


def _tried(act: Act, homes: Sequence[str]) -> str:
    """A call in a line; a secret that was set for it is only named."""
    command = act.text("command")
    if command:
        lines = [line for line in tidy(_HIDDEN.sub(r"\1…", command), homes).split("\n") if line.strip()]
        return shorten(lines[0], 160) + (" …" if len(lines) > 1 else "") if lines else ""
    path = act.text("path") or act.text("url")
    if path or not act.tool.startswith("mcp__"):
        return f"{act.tool} {path}" if path else ""
    given = ", ".join(f"{key}: {value}" for key, value in act.given.items() if isinstance(value, str | int | float))
    return shorten(f"{act.tool} {given}", 160)


def _said(output: str) -> str:
    """The line of an error that says what was wrong: the last one of a traceback, the first one otherwise."""
    text = re.sub(r"\A\s*(?:Exit code|Error: Exit code) \d+\s*", "", output[-6_000:])
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    telling = (
        [line for line in lines if _NAMED.search(line)]
        or [line for line in lines if _TELLS.search(line) and not line.startswith(("__", "=="))]
        or [line for line in lines if len(line.split()) > _FEW and len(line) < _LINE and not _WELL.search(line)]
    )
    if not telling:
        return ""
    line = telling[-1] if "Traceback" in text else telling[0]
    line = _FAR.sub(r"…/\1", _SPOT.sub(r"\1N", re.sub(r"\AE {2,8}", "", line).replace("`", "'")))
    return shorten(line, 200)


def _is_slip(act: Act) -> bool:
    return SLIP.search(act.output[:3_000]) is not None or _PASSING.search(act.output[:3_000]) is not None

"""The steps that led there: what finally worked, in order, without the looking around and the failed attempts.

Calls are first turned into steps one by one; then attempts at the same thing become one (the last that worked), edits
of one file become one, and a script that was written and run keeps its text once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.criteria import criterion
from whet.learning.facts.joining import joined
from whet.learning.facts.model import Step
from whet.learning.facts.reversing import parts
from whet.learning.facts.shell import only_looks, programs, tidy
from whet.learning.facts.titles import command_title, fallback, purpose
from whet.learning.facts.values import identifiers
from whet.learning.facts.wording import shorten
from whet.learning.facts.written import language_of, outline, signatures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.facts.acts import Act

MOST = 40
"""Steps of one session; the heaviest are kept."""
ACTION = 16_000
"""Characters of one action."""
_FEW = 3
"""Steps below which looking was the work: a search, a review."""
_INVESTIGATES = re.compile(r"(?i)\b(?:find (?:out|the)|why|cause|diagnos\w+|investigat\w+|debug|reproduce|look into)\b")
"""A request in which looking is half of the work."""
_SEARCHES = frozenset(("grep", "rg", "find", "jq", "fd", "ag", "ack"))
_KEEPS = re.compile(r"\s*(?:git|ls|cat|head|wc|rm|chmod|ruff|eslint|mypy|black|prettier)\s")
"""Commands that name a file and do not use it."""
_SCRIPT = re.compile(r"\A#!|^if __name__ ==", re.MULTILINE)
_ADDED = re.compile(r"\s*\d{1,6}\s*\+ ?(.*)\Z")
_TEXTS = {"Write": "content", "Edit": "new"}
"""Where the tools that change files have what they put in."""
_PATHS = ("path", "notebook_path", "file")


def steps_of(found: Sequence[Act], homes: Sequence[str], request: str) -> tuple[Step, ...]:
    """The steps of a session, in the order in which they finally worked."""
    worked = amended([act for act in found if not act.failed])
    used = _handed_on(worked)
    ran = "\n".join(part for act in worked for part in parts(act.text("command")) if not _KEEPS.match(part))
    if _INVESTIGATES.search(request):
        used |= {act.at for act in worked if _examines(act)}
    steps = [step for act in worked if not _looks(act, used) and (step := _step(act, homes, ran))]
    if len(steps) < _FEW:
        some = bool(steps)
        found_out = (_searched(act, homes, ran, some=some) or _look(act, homes, request) for act in worked)
        steps = [step for step in found_out if step]
    steps = joined(steps)
    if len(steps) > MOST:
        lightest = sorted(range(len(steps)), key=lambda at: (-steps[at].weight, at))[:MOST]
        steps = [steps[at] for at in sorted(lightest)]
    return tuple(steps)


def _looks(act: Act, used: set[int]) -> bool:
    """Is it only looking around, and did nothing later come out of it?"""
    if act.tool == "Bash":
        return only_looks(act.text("command")) and act.at not in used
    return act.tool in ("Read", "Search", "Web", "LS", "Glob", "Grep")


def _examines(act: Act) -> bool:
    """Is it a question to a system, such as its logs or history, as opposed to a glance at a file?"""
    return act.tool == "Bash" and any(ran.looks and " " in ran.label for ran in programs(act.text("command")))


def _searched(act: Act, homes: Sequence[str], ran: str, *, some: bool) -> Step | None:
    """A step of a session that mostly looked; a glance at a file or a directory counts when there is nothing else."""
    command = act.text("command")
    glances = command and only_looks(command) and not _SEARCHES & {ran.label for ran in programs(command)}
    return None if glances and some else _step(act, homes, ran)


def _handed_on(found: Sequence[Act]) -> set[int]:
    """The looks that brought an identifier which a step was given and nobody had named before."""
    brought: dict[str, int] = {}
    named: set[str] = set()
    used: set[int] = set()
    for act in found:
        command = act.text("command") if act.tool == "Bash" else ""
        if not command:
            continue
        looks = only_looks(command)
        for value in identifiers(command[:4_000]):
            if value not in named and value in brought and not looks:
                used.add(brought[value])
            named.add(value)
        if looks:
            for value in identifiers(act.output[:4_000]) - named:
                brought.setdefault(value, act.at)
    return used


def _step(act: Act, homes: Sequence[str], ran: str) -> Step | None:
    command = act.text("command")
    if command:
        return _command(act, tidy(command, homes))
    why = purpose(act)
    path = next((act.text(key) for key in _PATHS if act.text(key)), "")
    if act.tool == "Write":
        text, language = outline(path, act.text("content"))
        text = text if _SCRIPT.search(text) or _runs(path, ran) else signatures(text)
        return Step(f"Write `{path}`", act.tool, text[:ACTION], why, criterion(act), (act.at,), language, 2.0)
    if act.tool in ("Edit", "NotebookEdit", "MultiEdit"):
        text, language = _changed(act, path)
        return Step(f"Edit `{path}`", act.tool, text[:ACTION], why, criterion(act), (act.at,), language, 2.0)
    if act.tool == "Task":
        prompt = act.text("prompt") or act.text("content") or act.text("message")
        task = shorten(act.text("description"), 80)
        title = f"Hand to a subagent: {task or 'a part of the work'}"
        return Step(title, act.tool, prompt[:ACTION], why if why != task else "", criterion(act), (act.at,), "", 1.5)
    if act.tool in ("Read", "Search", "Web", "LS", "Glob", "Grep"):
        return None
    arguments = "\n".join(f"{key}: {value}" for key, value in act.given.items() if isinstance(value, str | int | float))
    return Step(f"Call `{act.tool}`", act.tool, arguments[:ACTION], why, criterion(act), (act.at,), "", 1.5)


def _command(act: Act, text: str) -> Step | None:
    if not text.strip():
        return None
    ran = [one for one in programs(text) if one.label]
    title = command_title(act, text) or fallback(text)
    weight = 0.6 if all(one.looks for one in ran) else 1.0
    weight += 0.5 * bool(re.search(r"\b(?:test|build|check|lint|validate|verify|deploy|release|publish|push)", text))
    return Step(title, act.tool, text[:ACTION], "", criterion(act), (act.at,), "bash", weight)


def _look(act: Act, homes: Sequence[str], request: str) -> Step | None:
    """A look as a step. What it looked at is named as far as the request did; the rest was found in this case only."""
    path, query, url = act.text("path"), act.text("query"), act.text("url")
    if path and path not in request:
        place, _, name = path.rpartition("/")
        if name and not any(place == home or place.startswith(f"{home.rstrip('/')}/") for home in homes):
            return None
        end = name.rpartition(".")[2] if "." in name else ""
        path = f"{place}/*.{end}" if end else path
    where = f" in `{path}`" if path else ""
    if query:
        asked = query if query in request else ""
        title = f"Search for `{shorten(asked, 120)}`{where}" if asked else f"Search for what the request names{where}"
    elif path or url:
        title = f"Read `{path or url}`"
    else:
        return None
    return Step(title, act.tool, "", purpose(act), criterion(act), (act.at,), "", 0.4)


def _changed(act: Act, path: str) -> tuple[str, str]:
    """What an edit put in, as code in the file's language."""
    new = act.text("new") or act.text("content") or act.text("patch")
    edits = act.given.get("edits")
    if not new and isinstance(edits, list):
        texts = [str(edit.get("new_string") or edit.get("new") or "") for edit in edits[:20] if isinstance(edit, dict)]
        new = "\n…\n".join(text for text in texts if text)
    if "*** Begin Patch" in new:
        lines = (line for line in new.split("\n") if line[:1] in "+@" and not line.startswith("+++"))
        new = "\n".join("…" if line.startswith("@") else line[1:] for line in lines).removeprefix("…\n")
    return (new or _added(act.output)).strip("\n"), language_of(path)


def _added(output: str) -> str:
    """The lines that a difference in a result shows as new, as it is where a client keeps nothing else."""
    found = [_ADDED.match(line) for line in output[:ACTION].split("\n")]
    return "\n".join(line[1] for line in found if line)


def _runs(path: str, ran: str) -> bool:
    """Was a file that was written run or handed to a program later? Then it is a tool and no result."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return bool(name) and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", ran) is not None


def amended(found: Sequence[Act]) -> list[Act]:
    """The calls with the text of each file as later edits left it; an edit of an edit is one."""
    kept: list[Act] = []
    files: dict[str, list[int]] = {}
    for act in found:
        old, new, path = act.text("old"), act.text("new"), act.text("path")
        places = files.setdefault(path, []) if act.tool in _TEXTS else []
        before = next((at for at in reversed(places) if _holds(kept[at], old)), None) if act.tool == "Edit" else None
        if before is None:
            places.append(len(kept))
            kept.append(act)
            continue
        key = _TEXTS[kept[before].tool]
        given = {**kept[before].given, key: kept[before].text(key).replace(old, new, 1)}
        kept[before] = kept[before]._replace(given=given)
        if key == "content":
            kept.append(act)
    return kept


def _holds(act: Act, text: str) -> bool:
    """Did a call put a text into its file?"""
    return bool(text.strip()) and text in act.text(_TEXTS[act.tool])


def tools_in(steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """The tools that steps need, with the programs of the shell."""
    for step in steps:
        if step.tool == "Bash":
            yield from (("Bash", ran.label) for ran in programs(step.action) if ran.label)
        else:
            yield step.tool, ""

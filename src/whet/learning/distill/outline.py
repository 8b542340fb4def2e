"""The outline of a session, made without a model: its steps in order, as they were; marked as a draft.

Nothing is reworded, and nothing inside code is replaced. The values of the case are listed as inputs; the commands are
those of this session, and say so. Code that would not fit, or would not parse when cut, is in a separate file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.syntax import parses
from whet.learning.distill.permissions import programs_of
from whet.learning.evidence.session import ENDED, TESTING
from whet.prompt.tokens import estimate
from whet.skill.names import slug
from whet.skill.template import OUTLINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.distill.writer import Input
    from whet.learning.evidence.recoveries import Recovery
    from whet.learning.evidence.session import Evidence, File, Step

TOKENS = 4_700
"""Tokens of the body; the format advises 5,000 for the whole file."""
CHARACTERS = 18_800
LINES = 480
NOTE = (
    f"> **Draft.** {OUTLINE} The commands are those of the latest session, with its values. "
    "TODO: read it, make it general, and remove this note."
)
"""Marks the skill as a draft, like the markers of a template."""
_REQUEST = 900
"""Tokens of the request; the next two are for other parts."""
_SAID = 700
_ACTION = 500
_FILES = 8
"""Number of separate files."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_KINDS = {"id": "identifier"}


def outline(
    evidence: Evidence, title: str, arguments: Sequence[Input] = (), asked: Sequence[str] = ()
) -> tuple[str, dict[str, str]]:
    """Return the body of a skill, and its separate files. `asked` are grants that the client asks for."""
    files: dict[str, str] = {}
    head = [f"# {title}", "", NOTE, *_request(evidence), *_inputs(evidence, arguments), *rules(evidence.rules)]
    tail = [*pitfalls(evidence.recoveries), *_end(evidence), *needs(evidence, asked)]
    room = TOKENS - estimate("\n".join((*head, *tail))) - 40
    steps, files = _steps(evidence, room, files)
    room -= estimate("\n".join(steps))
    made, files = _files(evidence.files, room, files)
    text = "\n".join((*head, *steps, *made, *tail)).rstrip() + "\n"
    return text, files


def fenced(text: str, language: str, indent: str = "") -> list[str]:
    """Return a text as a code block, with a fence that the text does not close."""
    longest = max((len(found[1]) for found in _FENCE.finditer(text)), default=2)
    fence = "`" * max(3, longest + 1)
    rows = [f"{fence}{language}", *text.strip("\n").split("\n"), fence]
    return [f"{indent}{row}".rstrip() if row.strip() else "" for row in rows] if indent else rows


def quoted(text: str, tokens: int) -> list[str]:
    """Return somebody's words as a quotation, cut at a line."""
    lines: list[str] = []
    for line in text.strip().split("\n"):
        if lines and estimate("\n".join((*lines, line))) > tokens:
            lines.append("…")
            break
        lines.append(line.rstrip())
    return [f"> {line}".rstrip() for line in lines]


def rules(said: Sequence[str]) -> list[str]:
    """Return the user's rules verbatim, as a section."""
    items = [f'- "{" ".join(text.split())}"' for text in said]
    return ["", "## Rules", "", *items] if items else []


def pitfalls(found: Sequence[Recovery]) -> list[str]:
    """Return errors with their resolutions, as a section. Repeated failures are one item."""
    lines = []
    for tried in dict.fromkeys(one.tried for one in found):
        same = [one for one in found if one.tried == tried]
        last, told = same[-1], f"- {span(tried)}"
        for one in same:
            changed = [text for text in one.changed if one is last or text not in last.changed]
            told += f" {'failed' if one is same[0] else 'It failed again'}: {span(one.said.rstrip('.'))}."
            told += "".join(f" Then: {span(text)}." for text in changed)
        lines.append(told + (f" This worked: {span(last.worked)}." if last.worked else " After that it worked."))
    return ["", "## Pitfalls", "", *lines] if lines else []


def needs(evidence: Evidence, asked: Sequence[str] = ()) -> list[str]:
    """Return a section on the programs and tools of the steps, the grants the client asks for, and used skills."""
    lines = []
    if programs := programs_of(evidence.steps):
        lines.append(f"- Commands: {', '.join(f'`{name}`' for name in programs)}.")
    tools = dict.fromkeys(step.tool for step in evidence.steps if step.tool)
    if others := [name for name in tools if name not in ("Bash", "Read", "Write", "Edit", "Search")]:
        lines.append(f"- Tools: {', '.join(others)}.")
    if asked:
        named = [one.removeprefix("Bash(").removesuffix(":*)") for one in asked]
        lines.append(f"- The client asks before it runs {', '.join(f'`{name}`' for name in named)}.")
    if evidence.skills:
        lines.append(
            f"- The session also loaded these skills; check whether the steps need them: {', '.join(evidence.skills)}."
        )
    return ["", "## Requirements", "", *lines] if lines else []


def span(text: str) -> str:
    """Return a text as inline code."""
    line = " ".join(text.split())
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def _request(evidence: Evidence) -> list[str]:
    lines = quoted(evidence.request, _REQUEST) if evidence.request else []
    more = [row for text in evidence.follow_ups for row in (">", *quoted(text, _REQUEST // 4))]
    return ["", "## Request", "", *lines, *more] if lines else []


def _inputs(evidence: Evidence, arguments: Sequence[Input]) -> list[str]:
    """Return the values of the case; arguments have names, which a call of the skill replaces."""
    items = [
        f"- `{one.name}`: `${one.name}`{f'; in this case {span(one.example)}' if one.example else ''}"
        for one in arguments
    ]
    named = {one.example for one in arguments}
    items += [
        f"- {_KINDS.get(one.kind, one.kind)}: {span(one.text)}" for one in evidence.inputs if one.text not in named
    ]
    return (
        [
            "",
            "## Inputs",
            "",
            "The steps use these values of the session. Ask for those of the new task, and use them instead:",
            "",
            *items,
        ]
        if items
        else []
    )


def _steps(evidence: Evidence, room: int, files: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the steps without failed attempts. The shortest commands are shown first; the rest goes into files."""
    steps = evidence.steps
    if not steps:
        return [], files
    costs = [estimate(step.action) + 16 for step in steps]
    shown: set[int] = set()
    left = room - 16 * len(steps)
    for at in sorted(range(len(steps)), key=lambda one: (costs[one], one)):
        if costs[at] <= min(left, max(_ACTION, room // 3)):
            shown.add(at)
            left -= costs[at]
    said = f"These are the steps of the session, in order, without failed attempts. {ENDED[evidence.succeeded]}"
    lines = ["", "## Steps", "", said, ""]
    number = 0
    for at, step in enumerate(steps):
        path = "" if at in shown or step.tool != "Bash" else _beside(f"step-{at + 1}", "sh", step.action, files)
        if at in shown or path or step.tool != "Bash":
            number += 1
            lines += [*_step(f"{number}. ", step, path), ""]
    return lines[:-1], files


def _step(number: str, step: Step, path: str) -> Iterator[str]:
    indent = " " * len(number)
    if step.path:
        done = "Write" if step.tool == "Write" else "Change"
        yield f"{number}{done} {span(step.path)}.{f' {step.about.rstrip(chr(46))}.' if step.about else ''}"
    elif not step.tool:
        yield f"{number}{step.about.rstrip('.')}."
    elif step.tool != "Bash":
        yield f"{number}Call {span(step.tool)}{f' with {span(step.action)}' if step.action else ''}."
    elif path:
        yield f"{number}{step.about.rstrip('.') or 'Run the script'} (`{path}`)."
    else:
        yield f"{number}{step.about.rstrip('.') or ('Test' if TESTING.search(step.action) else 'Run')}:"
        yield ""
        yield from fenced(step.action, "bash" if parses("bash", step.action) else "text", indent)


def _files(made: Sequence[File], room: int, files: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the created files: in full if there is room, else separately; for changed files, the changes."""
    lines: list[str] = []
    for file in made:
        text = file.content or "\n".join(_difference(file))
        language = (file.language or "text") if file.content else "diff"
        if not text.strip():
            continue
        cost = estimate(text) + 16
        entry = [f"- {span(file.path)}:", "", *fenced(text, language if parses(language, text) else "text", "  "), ""]
        if cost > min(room, max(_ACTION * 2, room // 2)):
            name = file.path.replace("\\", "/").rpartition("/")[2]
            stem, _, end = name.rpartition(".")
            path = _beside(stem or name, end if stem else "txt", text, files) if file.content else ""
            entry = [f"- {span(file.path)}{f': see `{path}`' if path else ''}"]
            cost = estimate(entry[0])
        if cost <= room:
            lines += entry
            room -= cost
    while lines and not lines[-1]:
        lines.pop()
    return (["", "## Files", "", "The session wrote or changed these:", "", *lines] if lines else []), files


def _difference(file: File) -> Iterator[str]:
    for old, new in file.changes:
        before, after = old.split("\n"), new.split("\n")
        yield from (f"-{line}" for line in before if line not in after)
        yield from (f"+{line}" for line in after if line not in before)


def _beside(stem: str, end: str, text: str, files: dict[str, str]) -> str:
    """Return the path of a new separate file; "" if there are enough of them."""
    end = end if re.fullmatch(r"[a-z0-9]{1,6}", end) else "txt"
    path = f"templates/{slug(stem)[:40].strip('-') or 'file'}.{end}"
    if len(files) >= _FILES or path in files:
        return ""
    files[path] = text.rstrip("\n") + "\n"
    return path


def _end(evidence: Evidence) -> list[str]:
    lines = ["", "## Result", "", "What the agent said at the end:", "", *quoted(evidence.said, _SAID)]
    return lines if evidence.said.strip() else []

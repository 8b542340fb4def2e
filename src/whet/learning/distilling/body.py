"""The body of a distilled skill: what for, with what, how, what to know, what to beware of, how to check.

Every part is a list of Markdown lines made from facts; values of the session are already `{parameters}` here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.asking import starts_with_verb
from whet.learning.facts.wording import shorten
from whet.skill.paths import SUPPORT_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.facts.model import DeadEnd, Parameter, Passage, Step

_LINK = re.compile(r"\[([^\]\n]{1,200})\]\((?![a-z]+://)[^)\s]{1,300}\)")
_SUPPORT = re.compile(rf"(?<![\w/.{{}}-])(?:\./)?((?:{'|'.join(SUPPORT_DIRECTORIES)})/[\w.-])")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]) ")
_BELOW = re.compile(
    rf"`([^`\n]{{1,200}}\}}/(?:{'|'.join(SUPPORT_DIRECTORIES)}))/(?:[^`\n/]{{1,80}}/){{0,8}}([^`\n/]{{1,120}})`"
)
"""A file of somebody's project that could be taken for one of this package."""
_SHAPED = re.compile(r"[ \t]*[-|] |[^\n]{0,700}\n")
_MARKER = re.compile(r"\b(?:TODO|FIXME|TBD)\b")
_VAGUE = 4
"""Words of a question that may ask for anything."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)


def fenced(text: str, language: str) -> list[str]:
    """A text as a block of code, behind a fence that nothing in it closes."""
    longest = max((len(found[1]) for found in _FENCE.finditer(text)), default=2)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.split("\n"), fence]


def inputs(parameters: Sequence[Parameter]) -> list[str]:
    """The parameters with what each is for. Of a path only the name is shown, of other values none."""
    lines = []
    details = [one for one in parameters if one.about == "a detail of the case"]
    named = [one.example.lower() for one in parameters if one.sort in ("word", "name")]
    for one in parameters:
        if one in details:
            continue
        name = one.example.replace("\\", "/").rpartition("/")[2]
        stem = name.rpartition(".")[0] if one.sort == "file" else ""
        kind = f" ({stem})" if stem and not any(value in stem.lower() for value in named) else ""
        lines.append(f"- `{{{one.name}}}`: {_briefly(one.about)}{_kind(kind)}.")
    if details:
        listed = ", ".join(f"`{{{one.name}}}`" for one in details)
        lines.append(f"- {listed}: details of the case, as the user gives them.")
    return lines


def _briefly(about: str) -> str:
    """Without a word that would have any message about files find the skill."""
    return re.sub(r"(\.\w+) file\b", r"\1", about)


def _kind(kind: str) -> str:
    """Only words: a stem with digits names a single case."""
    return kind if not re.search(r"\d", kind) and len(kind) < 40 else ""


def step_lines(number: int, step: Step, action: str, file: str) -> list[str]:
    """One numbered step with its command and how to tell that it worked."""
    lines = [f"{number}. {_theirs(step.title).rstrip('.')}."]
    if step.why and step.why != step.title:
        lines.append(f"   {step.why.rstrip('.')}.")
    if file:
        lines.append(f"   Start from `{file}` and put the inputs in.{' Its telling lines:' if action else ''}")
    if action:
        lines += ["", *(f"   {line}".rstrip() for line in fenced(action, step.language)), ""]
    return [*lines, f"   Check: {_theirs(step.criterion)}"]


def _theirs(text: str) -> str:
    return _BELOW.sub(r"`\2` below `\1`", text)


def known(passages: Sequence[Passage]) -> list[str]:
    """Passages under the text and the section they are from, in the order they were read."""
    lines: list[str] = []
    source = section = ""
    for passage in passages:
        if passage.source != source:
            source, section = passage.source, ""
            lines += ["", f"### {_source(passage)}"]
        if passage.section != section:
            section = passage.section
            if section:
                lines += ["", f"**{section}**"]
        text = foreign(
            passage.text,
            passage.source.partition("/")[0] if passage.kind == "skill" or "/" in passage.source else "project",
        )
        text = f"- {text}" if passage.kind == "session" and not _SHAPED.match(text) else text
        before = lines[-1].rpartition("\n")[2] if lines else ""
        lines += [text] if _ITEM.match(text) and _ITEM.match(before) else ["", text]
    return lines[1:] if lines else []


def _source(passage: Passage) -> str:
    return {
        "skill": f"From the skill {passage.source}",
        "help": f"From the manual (`{passage.source}`)",
        "web": f"From {passage.source}",
        "document": f"From {passage.source}",
        "session": "Worked out on the way",
    }[passage.kind]


def foreign(text: str, owner: str) -> str:
    """A passage of another text, with its pointers to files spelled so that nobody looks for them in this package."""
    text = _LINK.sub(r"\1", text)
    text = _SUPPORT.sub(lambda found: f"{owner}/{found[1]}", text)
    return _MARKER.sub("open point", text)


def pitfalls(ends: Sequence[DeadEnd]) -> list[str]:
    """What does not work, what it says, what does; and what the user does not want."""
    lines = []
    for end in ends:
        tried, helped, file = f"`{_inline(end.tried)}`", f"`{_inline(end.instead)}`", f"`{_inline(end.file)}`"
        remedy = {
            "instead": f"Instead: {helped}",
            "first": f"First: {helped}",
            "added": f"Put into {file}: {helped}",
            "removed": f"Take out of {file}: {helped}",
        }
        said = end.said.rstrip(".")
        lines.append(
            f"- {tried}: the user said: {said}."
            if end.help == "forbidden"
            else f"- {tried} fails: {said}. {remedy[end.help]}."
        )
    return lines


def _inline(text: str) -> str:
    return shorten(foreign(text, "…").replace("`", "'"), 180)


def examples(goal: str) -> list[str]:
    """Messages that call for the skill."""
    action = goal.rstrip(".")
    short = re.split(r",| (?:and|based on|so that|which|to be) ", action, maxsplit=1)[0].replace("`", "")
    lines = [f'- "{action}."']
    if starts_with_verb(action):
        asked = short if len(short.split()) > _VAGUE else action.replace("`", "")
        lines.append(f'- "Can you {asked[:1].lower()}{asked[1:]}?"')
    return lines


def needs(
    programs: Sequence[str],
    skills: Sequence[str],
    tools: Sequence[str],
    variables: Sequence[str],
    asked: Sequence[str] = (),
) -> list[str]:
    """The programs, tools and variables that have to be there, and what nobody has allowed beforehand."""
    lines = []
    if programs:
        lines.append(f"- Commands: {', '.join(f'`{name}`' for name in programs)}.")
    if tools:
        lines.append(f"- Tools: {', '.join(tools)}.")
    if variables:
        lines.append(
            f"- Environment variables: {', '.join(f'`{name}`' for name in variables)}. Never write their values down."
        )
    if asked:
        named = [one.removeprefix("Bash(").removesuffix(":*)") for one in asked]
        lines.append(
            f"- Not allowed beforehand, so that the user is asked: {', '.join(f'`{name}`' for name in named)}."
        )
    if skills:
        lines.append(f"- What to know comes from these skills; load them for more: {', '.join(skills)}.")
    return lines

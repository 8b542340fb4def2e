"""The body of a distilled skill: what for, with what, how, what to know, what to beware of, how to check.

Every part is a list of Markdown lines made from facts; values of the session are already `{parameters}` here.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from math import sqrt
from typing import TYPE_CHECKING

from whet.learning.facts.goal import starts_with_verb
from whet.learning.facts.knowledge import names
from whet.learning.facts.prose import shorten
from whet.prompt.tokens import estimate
from whet.skill.paths import SUPPORT_DIRECTORIES
from whet.skill.terms import key_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


LINE = 10
"""Tokens that a line stands for at least: a body has a limit of lines, too."""
_OVERHEAD = 8
"""Tokens around a passage: its section, an empty line."""
_STEADY = 25
"""Tokens added to the price of every passage, so that scraps do not win by being short."""
_REPEATED = 0.2
"""What is left of a passage's worth when all of it was said already."""


def chosen(passages: Sequence[Passage], tokens: int) -> tuple[Passage, ...]:
    """The passages that go into so many tokens, in their order.

    Greedy: the next one is the strongest for the square root of its length, less what those before it have said. The
    worth of a passage only falls as others are taken, so it is worked out again only for those that come to the top.
    """
    costs = [max(estimate(passage.text), passage.text.count("\n") * LINE) + _OVERHEAD for passage in passages]
    said = [names(passage.text) | key_terms(passage.text) for passage in passages]
    known: Counter[str] = Counter()

    def worth(at: int) -> float:
        new: float = sum(1.0 / (1 + known[term]) for term in said[at]) / (len(said[at]) or 1)
        return passages[at].weight * (_REPEATED + (1 - _REPEATED) * new) / sqrt(costs[at] + _STEADY)

    queue = [(-worth(at), at) for at in range(len(passages))]
    heapq.heapify(queue)
    taken: list[int] = []
    room = tokens
    while queue:
        _, at = heapq.heappop(queue)
        if costs[at] > room:
            continue
        now = (-worth(at), at)
        if queue and now > queue[0]:
            heapq.heappush(queue, now)
            continue
        taken.append(at)
        room -= costs[at]
        known.update(said[at])
    return tuple(passages[at] for at in sorted(taken))


def cut(text: str, tokens: int) -> str:
    """A text cut at a line so that it costs at most so many tokens; empty when not even one line fits."""
    if estimate(text) <= tokens:
        return text
    lines = text.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate("\n".join(lines[:middle])) <= tokens:
            low = middle
        else:
            high = middle - 1
    return "\n".join(lines[:low]).rstrip()


def bounded(text: str, tokens: int, characters: int, lines: int) -> str:
    """Within all limits; a body that is over one of them by a little loses its end."""
    if len(text) <= characters and estimate(text) <= tokens and text.count("\n") <= lines:
        return text
    whole = text[:characters].split("\n")[:-1][:lines]
    short = cut("\n".join(whole), tokens - 10)
    return closed(short) + "\n"


def closed(text: str) -> str:
    """A text that was cut, with the fence closed that it may have been cut in."""
    fence = ""
    for line in text.split("\n"):
        found = re.match(r"\s*(`{3,}|~{3,})", line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and line.strip() == found[1]:
            fence = ""
    return f"{text}\n{fence}" if fence else text


_LINES = 400
"""Lines of a script that are looked at."""
_LEAST = 20
"""Tokens below which nothing can be said."""
_LONGEST = 200
_COMMENT = re.compile(r"(?:#|//|--|\*|\"\"\")\s*\S")
_DIVIDER = re.compile(r"[\W_]+\Z")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{2,40}\s*[:=]|\w{2,40}\s*[:=]\s*[\"'\d\[({-]")
_OPTION = re.compile(r"[(,]\s*\w{2,40}\s*=\s*[^=\s]|\s--?[a-z][\w-]+")
_DEFINES = re.compile(r"(?:def|class|async def|function|func|fn|public|private|CREATE|SELECT|WITH)\b")
_EMPTY = re.compile(
    r"(?:import|from|using|package|#include|require|use|print|console\.log|log(?:ger|ging)?\.|echo|printf|return|pass|else"
    r"|try|finally|except|end|fi|done)\b"
)
_LEGAL = re.compile(r"(?i)licen[sc]e|copyright|warrant|apache software|all rights reserved")
_CODING = re.compile(r"#!|# -\*-")


def excerpt(script: str, tokens: int) -> str:
    """The telling lines of a script in so many tokens, in their order; empty when there is no room for any."""
    if tokens < _LEAST:
        return ""
    lines = [line.rstrip() for line in script.split("\n")[:_LINES]]
    told: set[str] = set()
    kept: set[int] = set()
    room = tokens
    for at, _ in sorted(_telling(lines), key=lambda one: (-one[1], one[0])):
        line = lines[at]
        new = (names(line) | key_terms(line)) - told
        cost = estimate(line) + 1
        if new and cost <= room:
            kept.add(at)
            told |= new
            room -= cost
    return "\n".join(lines[at] for at in sorted(kept))


def _telling(lines: list[str]) -> Iterator[tuple[int, float]]:
    """The lines that say something, with how much each does."""
    for at, line in enumerate(lines):
        text = line.strip()
        if len(text) < 4 or len(text) > _LONGEST or _DIVIDER.match(text) or _EMPTY.match(text):
            continue
        if _LEGAL.search(text) or _CODING.match(text):
            continue
        held = names(text)
        weight = 0.4 * min(len(held), 5)
        weight += 1.0 * bool(_SETTING.match(text)) + 1.0 * bool(_OPTION.search(text)) + 0.6 * bool(_DEFINES.match(text))
        weight += 1.0 * (bool(_COMMENT.match(text)) and len(key_terms(text)) > 1)
        if weight >= 1.0:
            yield at, weight

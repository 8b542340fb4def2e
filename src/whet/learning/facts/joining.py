"""Steps that are one: looks and probes in a row, attempts at the same thing, edits of one file, numbered files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.shell import shape
from whet.learning.facts.titles import says_little

if TYPE_CHECKING:
    from whet.learning.facts.model import Step

_LOOKED_BACK = 12
"""Steps among which an earlier attempt at the same thing is looked for."""
_SAME = 0.6
"""The share of words that two attempts at the same thing have in common."""
_NEARLY = 0.9
"""The same when their options differ."""
_BATCH = 0.4
"""The same for parts of the work that are handed out one by one."""
_INLINE = re.compile(r"(?:python3?|node|ruby|perl|php)\b[^\n<]{0,40}(?:\s-(?:c|e)\s|<<)")
_LEAVES = re.compile(
    r"""open\([^)\n]{0,200},\s*(?:mode=)?["'][wax]|\.(?:to_\w+|save\w*|dump|write\w*|mkdir|rename|unlink|commit|post|put)\("""
    r"|subprocess|os\.(?:system|remove|makedirs)|shutil|fs\.write|>\s*[\w./{~-]+\s*\Z"
)
"""What a script does that leaves something behind."""
_COMPARED = 16_000
"""Characters of an action that are compared or kept."""


def joined(steps: list[Step]) -> list[Step]:
    """The steps with everything that is one made one."""
    return _numbered_joined(_edits_joined(_retries_dropped(_probes_joined(_searches_joined(steps)))))


def _searches_joined(steps: list[Step]) -> list[Step]:
    """Looks in a row at the same kind of thing are one step."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        if last and step.weight < 0.5 and last.weight < 0.5 and last.tool == step.tool and len(last.action) < 600:
            lines = last.action.split("\n") if last.action else [last.title]
            action = "\n".join(dict.fromkeys([*lines, step.title]))
            joined[-1] = last._replace(action=action, evidence=(*last.evidence, *step.evidence))
        else:
            joined.append(step)
    return joined


def _probes_joined(steps: list[Step]) -> list[Step]:
    """Of scripts in a row that only print something, the last one has what the others were looking for."""
    joined: list[Step] = []
    for step in steps:
        if joined and _is_probe(step) and _is_probe(joined[-1]):
            before = joined.pop()
            title = before.title if says_little(step.title) else step.title
            joined.append(step._replace(title=title, evidence=(*before.evidence, *step.evidence)))
        else:
            joined.append(step)
    return joined


def _is_probe(step: Step) -> bool:
    """Is it a script given on the spot that leaves nothing behind?"""
    return step.tool == "Bash" and _INLINE.match(step.action) is not None and not _LEAVES.search(step.action)


def _numbered_joined(steps: list[Step]) -> list[Step]:
    """Files in a row whose names differ only by a number are written by one step."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        pattern = re.sub(r"\d+", "*", step.title)
        if last and step.tool == last.tool == "Write" and pattern == re.sub(r"\d+", "*", last.title) != step.title:
            checked = re.sub(r"`[^`]*`", f"`{pattern.partition('`')[2].rstrip('`')}`", step.criterion, count=1)
            joined[-1] = last._replace(title=pattern, criterion=checked, evidence=(*last.evidence, *step.evidence))
        else:
            joined.append(step)
    return joined


def _retries_dropped(steps: list[Step]) -> list[Step]:
    """The same thing done again replaces what came of it before; it stands where it was done last."""
    kept: list[Step] = []
    for new in steps:
        step = new
        for at in range(len(kept) - 1, max(-1, len(kept) - 1 - _LOOKED_BACK), -1):
            if _again(kept[at], step):
                before = kept.pop(at)
                same = len(before.action) > 3 * len(step.action) and before.tool == "Write"
                step = step._replace(
                    evidence=(*before.evidence, *step.evidence),
                    why=before.why or step.why,
                    title=step.title if says_little(before.title) else before.title,
                    action=before.action if same else step.action,
                )
                break
        kept.append(step)
    return kept


def _again(one: Step, other: Step) -> bool:
    if one.tool != other.tool:
        return False
    if one.tool == "Task":
        return _likeness(one.action, other.action) >= _BATCH
    if one.tool != "Bash":
        return one.tool == "Write" and one.title == other.title
    mine, theirs = shape(one.action), shape(other.action)
    if mine != theirs:
        return False
    likeness = _likeness(one.action, other.action)
    return likeness >= _SAME and (_options(one.action) == _options(other.action) or likeness >= _NEARLY)


def _options(action: str) -> set[str]:
    """The options of a command of one line; a script has none."""
    return set(re.findall(r"(?<=\s)--?[A-Za-z][\w-]*", action)) if "\n" not in action else set()


def _likeness(one: str, other: str) -> float:
    """How many of the words of two texts are the same."""
    mine, theirs = set(re.findall(r"\w+", one[:_COMPARED])), set(re.findall(r"\w+", other[:_COMPARED]))
    return len(mine & theirs) / max(1, len(mine | theirs))


def _edits_joined(steps: list[Step]) -> list[Step]:
    """Edits of one file in a row are one step; edits of a file that the session wrote belong to the writing."""
    joined: list[Step] = []
    wrote: dict[str, int] = {}
    for step in steps:
        path = step.title.partition("`")[2].rstrip("`") if step.tool in ("Write", "Edit") else ""
        if step.tool == "Write":
            wrote[path] = len(joined)
        elif step.tool == "Edit":
            last = joined[-1] if joined else None
            if path in wrote:
                at = wrote[path]
                joined[at] = joined[at]._replace(evidence=(*joined[at].evidence, *step.evidence))
                continue
            if last and last.tool == "Edit" and last.title == step.title:
                action = f"{last.action}\n…\n{step.action}" if last.action != step.action else last.action
                joined[-1] = last._replace(action=action[:_COMPARED], evidence=(*last.evidence, *step.evidence))
                continue
        joined.append(step)
    return joined

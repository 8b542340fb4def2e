"""The draft of a skill from a session: a model's text or the outline, with the user's decisions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.secrets.hide import hide_secrets
from whet.guard.syntax import language_of, parses
from whet.learning.distill.names import (
    description_of,
    mentioning,
    name_of,
    name_problem,
    sentence_of,
    title_of,
    triggers_of,
)
from whet.learning.distill.outline import fenced, needs, outline, rules, span
from whet.learning.distill.permissions import grants_of
from whet.learning.distill.writer import Input, WrittenStep
from whet.learning.evidence.session import Step
from whet.skill.edit import set_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whet.learning.distill.writer import Written
    from whet.learning.evidence.session import Evidence

_LONG = 30
"""Number of calls from which on a session should run in a separate agent."""
_ARGUMENT = re.compile(r"(?P<name>[A-Za-z][\w-]{0,39})(?: ?\((?P<example>.{1,200})\))?")


class Draft(NamedTuple):
    """A skill that is not written yet: first the fields of the rounds, then derived ones."""

    name: str
    goal: str
    """Its purpose in a sentence."""
    description: str
    triggers: tuple[str, ...]
    tools: tuple[str, ...]
    """Grants in the form of `allowed-tools`."""
    fork: bool
    steps: tuple[str, ...]
    """Number and title of each step; a new one has no number."""
    arguments: tuple[str, ...]
    """`NAME` or `NAME (example)` of each."""
    argument_hint: str
    when_to_use: str
    here: bool
    """Whether it is saved in the repository."""
    body: str
    files: Mapping[str, str]
    """Supporting files by path."""
    asked: tuple[str, ...]
    """Grants that the steps could use but that it lacks: the client asks."""
    inputs: tuple[str, ...]
    """The values that differ next time, in the form of arguments."""
    outline: bool
    """Whether no model wrote it."""


def draft(evidence: Evidence, given: Mapping[str, Any] | None = None, written: Written | None = None) -> Draft:
    """Return the draft of a session's skill; `given` are fields that somebody decided, the others are proposed."""
    given = given or {}
    titles = [step.title for step in (written.steps if written else evidence.steps)]
    evidence, written = _with_steps(evidence, written, given.get("steps", ()))
    goal: str = given.get("goal", "")
    asked_for = goal.rstrip(".") or (written.title if written else "") or sentence_of(evidence.request)
    title = title_of(asked_for)
    triggers = given.get("triggers") or (written.triggers if written else ()) or triggers_of(evidence, asked_for)
    name = written.name if written and not goal else ""
    description: str = given.get("description", "")
    if not description and written and written.description and not goal:
        description = mentioning(written.description, triggers)
    grants = grants_of(evidence, _granted(evidence, written))
    tools: tuple[str, ...] = given.get("tools", grants.proposed)
    asked = tuple(one for one in (*grants.proposed, *grants.asked) if one not in tools)
    closed = (*asked, *grants.never)
    entries: tuple[str, ...] = given.get("arguments", ())
    arguments = tuple(one for entry in entries if (one := read_argument(entry)))
    if written:
        body, files = _body(evidence, title, written, arguments, closed), dict[str, str]()
    else:
        body, files = outline(evidence, title, arguments, closed)
    numbered = tuple(f"{number}. {_safe(one)}" for number, one in enumerate(titles, 1))
    return Draft(
        name=given.get("name") or name or _name(evidence, title, given=bool(goal)),
        goal=goal or f"{_safe(title).rstrip('.')}.",
        description=_safe(description or description_of(asked_for, triggers)),
        triggers=triggers,
        tools=tools,
        fork=given.get("fork", evidence.calls >= _LONG and not evidence.rules),
        steps=given.get("steps") or numbered,
        arguments=entries,
        argument_hint=given.get("argument_hint") or " ".join(f"[{one.name}]" for one in arguments),
        when_to_use=given.get("when_to_use", ""),
        here=given.get("here", False),
        body=_safe(body),
        files={path: _safe(one, language_of(path)) for path, one in files.items()},
        asked=asked,
        inputs=_inputs(evidence, written),
        outline=written is None,
    )


def _name(evidence: Evidence, title: str, *, given: bool) -> str:
    """Return a name from the title, or from the request if the model's title does not name the task."""
    commands = "\n".join(step.action for step in evidence.steps)
    names = [name_of(one, commands) for one in (title, title_of(sentence_of(evidence.request)))]
    return next((one for one in names if given or not name_problem(one, evidence)), names[0])


def _with_steps(evidence: Evidence, written: Written | None, entries: Sequence[str]) -> tuple[Evidence, Written | None]:
    """Return the session and the model's text with the chosen steps, in that order.

    `3. Title` is the third step under this title, `3` or its title the third step as it is; the rest are new.
    """
    if not entries:
        return evidence, written
    titles = [step.title for step in (written.steps if written else evidence.steps)]
    chosen = [_chosen(entry, titles) for entry in entries]
    if written:
        told = ((written.steps[at] if at >= 0 else WrittenStep(""), title) for at, title in chosen)
        return evidence, written._replace(steps=tuple(step._replace(title=title) for step, title in told))
    picked = [(evidence.steps[at] if at >= 0 else Step("", ""), title) for at, title in chosen]
    steps = tuple(step if step.title == title else step._replace(about=title) for step, title in picked)
    gone = {step.path for step in evidence.steps} - {step.path for step in steps}
    return evidence._replace(steps=steps, files=tuple(file for file in evidence.files if file.path not in gone)), None


def _chosen(entry: str, titles: Sequence[str]) -> tuple[int, str]:
    """Return the index of the step that an entry refers to, -1 for a new one, and its title."""
    found = re.fullmatch(r"(\d+)(?:\. *(.*))?", entry)
    at = int(found[1]) - 1 if found else titles.index(entry) if entry in titles else -1
    if not 0 <= at < len(titles):
        return -1, entry
    return at, (found[2] if found else "") or titles[at]


def read_argument(entry: str) -> Input | None:
    """Parse an argument: `NAME`, or `NAME (example)`; None if it is invalid."""
    found = _ARGUMENT.fullmatch(entry)
    return Input(found["name"], "", found["example"] or "") if found else None


def _inputs(evidence: Evidence, written: Written | None) -> tuple[str, ...]:
    """Return the inputs of a session in the form of arguments: named by the model, or by their kind."""
    if written:
        named = [(one.name, one.example) for one in written.inputs]
    else:
        kinds = [one.kind.upper() for one in evidence.inputs]
        counts = [kinds[: at + 1].count(kind) for at, kind in enumerate(kinds)]
        names = [f"{kind}_{count}" if count > 1 else kind for kind, count in zip(kinds, counts, strict=True)]
        named = [(name, one.text) for name, one in zip(names, evidence.inputs, strict=True)]
    return tuple(f"{name} ({example})" if example else name for name, example in named)


def frontmatter(made: Draft) -> dict[str, str | list[str]]:
    """Return the frontmatter without the name; empty fields are left out."""
    return {
        "description": made.description,
        "when_to_use": made.when_to_use,
        "argument-hint": made.argument_hint,
        "arguments": [one.name for entry in made.arguments if (one := read_argument(entry))],
        "allowed-tools": " ".join(made.tools),
        "metadata.context": "fork" if made.fork else "",
    }


def main_file(made: Draft) -> str:
    """Return the draft as the text of a SKILL.md."""
    text = f"---\nname: skill\n---\n\n{made.body}"
    for key, value in {"name": made.name, **frontmatter(made)}.items():
        text = set_value(text, key, value) if value else text
    return text


def _safe(text: str, language: str = "") -> str:
    return hide_secrets(text, language=language)[0]


def _granted(evidence: Evidence, written: Written | None) -> Sequence[Step]:
    """Return the steps that determine the grants: the code of a written skill, and the session's other tools."""
    if written is None:
        return evidence.steps
    others = tuple(step for step in evidence.steps if step.tool != "Bash")
    return (*(Step("Bash", one.code) for one in written.steps if one.language == "bash" and not one.new), *others)


def _body(evidence: Evidence, title: str, written: Written, arguments: Sequence[Input], asked: Sequence[str]) -> str:
    """Return the body of a skill that a model wrote, with the user's rules verbatim."""
    lines = [f"# {title}"]
    known = {one.name for one in written.inputs}
    inputs = (*written.inputs, *(one for one in arguments if one.name not in known))
    if inputs:
        lines += ["", "## Inputs", ""]
        lines += [
            f"- `{one.name}`: {one.about or f'`${one.name}`'}."
            f"{f' Example: {span(one.example)}.' if one.example else ''}"
            for one in inputs
        ]
    lines += [*rules(evidence.rules), "", "## Steps", ""]
    for number, step in enumerate(written.steps, 1):
        lines += [*_step_lines(f"{number}. ", step), ""]
    if written.pitfalls:
        lines += ["## Pitfalls", "", *(f"- {one.problem}. {one.fix}." for one in written.pitfalls), ""]
    if written.checks:
        lines += ["## Check at the end", "", *(f"- {one.rstrip('.')}." for one in written.checks), ""]
    needed = needs(evidence._replace(steps=tuple(_granted(evidence, written)), skills=()), asked)
    return "\n".join((*lines, *needed[1:])).rstrip() + "\n"


def _step_lines(number: str, step: WrittenStep) -> Iterator[str]:
    indent = " " * len(number)
    new = " (not part of the session)" if step.new else ""
    yield f"{number}{step.title}{new}."
    for line in re.sub(r"\n{3,}", "\n\n", step.text).split("\n") if step.text else ():
        yield f"{indent}{line}".rstrip()
    if step.code:
        yield ""
        yield from fenced(step.code, step.language if parses(step.language, step.code) else "text", indent)
        yield ""
    if step.check:
        yield f"{indent}Check: {step.check.rstrip('.')}."

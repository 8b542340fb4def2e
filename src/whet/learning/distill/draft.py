"""The skill that a session makes: what a model wrote of it, or else the outline; and what somebody decided about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.secrets.hide import hide_secrets
from whet.guard.syntax import language_of
from whet.learning.distill.names import description_of, mentioning, name_of, sentence_of, title_of, triggers_of
from whet.learning.distill.outline import fenced, needs, outline, rules, span
from whet.learning.distill.permissions import grants_of
from whet.learning.evidence.session import Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whet.learning.distill.written import Written, WrittenStep
    from whet.learning.evidence.session import Evidence

_LONG = 30
"""Calls from which on a session is better run apart."""


class Answers(NamedTuple):
    """What somebody decided about a draft; whatever is empty is proposed from the session."""

    name: str = ""
    description: str = ""
    goal: str = ""
    triggers: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """Grants as `allowed-tools` spells them; None for those of the steps."""
    fork: bool | None = None


class Draft(NamedTuple):
    """A skill that nobody has written down yet."""

    name: str
    description: str
    body: str
    allowed_tools: tuple[str, ...]
    fork: bool
    files: Mapping[str, str]
    """Supporting files by path."""
    triggers: tuple[str, ...]
    asked: tuple[str, ...] = ()
    """Grants that the steps could use and that it does not have: the client asks."""
    outline: bool = True
    """No model wrote it: read and edit it."""
    goal: str = ""
    """What it does, in a sentence."""


def draft(evidence: Evidence, answers: Answers | None = None, written: Written | None = None) -> Draft:
    """The skill that a session makes."""
    answers = answers or Answers()
    asked_for = answers.goal.rstrip(".") or (written.title if written else "") or sentence_of(evidence.request)
    title = title_of(asked_for)
    triggers = answers.triggers or (written.triggers if written else ()) or triggers_of(evidence, asked_for)
    name = (
        answers.name
        or (written.name if written and not answers.goal else "")
        or name_of(title, "\n".join(step.action for step in evidence.steps))
    )
    description = answers.description
    if not description and written and written.description and not answers.goal:
        description = mentioning(written.description, triggers)
    description = description or description_of(asked_for, triggers)
    grants = grants_of(evidence, _granted(evidence, written))
    tools = answers.tools if answers.tools is not None else grants.proposed
    asked = tuple(one for one in (*grants.proposed, *grants.asked) if one not in tools)
    closed = (*asked, *grants.never)
    body, files = (_body(evidence, title, written, closed), {}) if written else outline(evidence, title, closed)
    fork = answers.fork if answers.fork is not None else evidence.calls >= _LONG and not evidence.rules
    return Draft(
        name,
        _safe(description),
        _safe(body),
        tools,
        fork,
        {path: _safe(one, language_of(path)) for path, one in files.items()},
        triggers,
        asked,
        written is None,
        _safe(title),
    )


def main_file(made: Draft) -> str:
    """The draft as the text of a SKILL.md."""
    import json

    lines = ["---", f"name: {made.name}", f"description: {json.dumps(made.description, ensure_ascii=False)}"]
    if made.allowed_tools:
        lines.append(f"allowed-tools: {json.dumps(' '.join(made.allowed_tools), ensure_ascii=False)}")
    if made.fork:
        lines += ["metadata:", "  context: fork"]
    return "\n".join([*lines, "---", "", made.body])


def _safe(text: str, language: str = "") -> str:
    return hide_secrets(text, language=language)[0]


def _granted(evidence: Evidence, written: Written | None) -> Sequence[Step]:
    """The steps that tools are allowed for: of a written skill its code, and the other tools of the session."""
    if written is None:
        return evidence.steps
    others = tuple(step for step in evidence.steps if step.tool != "Bash")
    return (*(Step("Bash", one.code) for one in written.steps if one.language == "bash" and not one.new), *others)


def _body(evidence: Evidence, title: str, written: Written, asked: Sequence[str]) -> str:
    """The text of a skill that a model wrote; the user's rules stand in it word for word."""
    lines = [f"# {title}"]
    if written.inputs:
        lines += ["", "## Inputs", ""]
        lines += [
            f"- `{one.name}`: {one.about}.{f' Example: {span(one.example)}.' if one.example else ''}"
            for one in written.inputs
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
        yield from fenced(step.code, step.language, indent)
        yield ""
    if step.check:
        yield f"{indent}Check: {step.check.rstrip('.')}."

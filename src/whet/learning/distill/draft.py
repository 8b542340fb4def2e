"""A skill drafted from the facts of a session, with no model: deterministic, bounded, nothing of the single case in it.

The parts that are always there are written first; what room is left is shared between the steps and what one has to
know for them. Values that vary are `{parameters}` everywhere. The last pass hides secrets once more, though a
transcript has none.
"""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.secrets.hide import hide_secrets
from whet.learning.distill import body as write
from whet.learning.distill.body import bounded, chosen, closed, cut, excerpt
from whet.learning.distill.names import description_of, extensions_of, name_of, plain_goal, triggers_of
from whet.learning.distill.permissions import grants_of, programs_of
from whet.learning.facts.parameters import Blanks
from whet.learning.facts.steps import says_little
from whet.prompt.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.learning.facts.model import Facts, Parameter, Passage, Step

TOKENS = 4_700
"""What a body may cost; the format advises 5,000 for the whole file."""
CHARACTERS = 18_800
LINES = 480
_STEPS = 0.4
"""The share of the room that steps may take when there is more to know than fits beside them."""
_ACTION = 600
"""Tokens of one action, when there is little room; a longer one becomes a file."""
_EXCERPT = 450
"""Tokens of a longer one that are shown all the same."""
_REQUIREMENTS = 900
_SECRET = re.compile(
    r"(?:\bexport[ \t]+)?(?<![\w&?%.{\"'-])([A-Za-z_]\w{0,60})=[\"']?\[secret[^\]\n]{0,40}\][\"']?[ \t]*"
    r"(?:(?:&&|;)[ \t]*|\n)?"
)
_KEPT_SECRET = re.compile(
    r"(?<![\w&?%.{\"'-])([A-Z][A-Z0-9_]{0,50}(?:SALT|SECRET|TOKEN|PASSWORD|PASSWD|PWD|API_?KEY|ACCESS_KEY))="
    r"(?![\"']?(?:\$|\{|<|\[))[\"']?[^\s\"';&|]{4,200}[\"']?[ \t]*"
)
"""A secret that was not known as one by its shape, but is by the variable that holds it."""
_HIDDEN = re.compile(r"\[secret(?::([\w-]{1,40}))?\]")
_COUNTED = re.compile(r"(?:\A\d|(?<![\w.:/-])\d{2,7})(?= (?:[a-zA-Z-]+ )?[a-z]{3,}s\b)")
"""How many of something there were, in an error."""
_LONG = 30
"""Calls from which on a session is better run apart."""


class Answers(NamedTuple):
    """What somebody decided about a draft; whatever is empty is proposed from the facts."""

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
    """Supporting files by path: long scripts as templates."""
    triggers: tuple[str, ...]
    asked: tuple[str, ...] = ()
    """Grants that the steps could use and that it does not have: the client asks."""


def draft(facts: Facts, answers: Answers | None = None) -> Draft:
    """The skill that a session makes."""
    answers = answers or Answers()
    blanks = Blanks(facts.parameters)
    goal = answers.goal or plain_goal(facts.goal, blanks, facts.parameters)
    triggers = answers.triggers or triggers_of(facts, goal)
    name = answers.name or name_of(goal)
    description = answers.description or description_of(goal, triggers, extensions_of(facts.parameters))
    steps = tuple(_blanked(step, blanks) for step in facts.steps)
    grants = grants_of(facts, steps)
    tools = answers.tools if answers.tools is not None else grants.proposed
    asked = tuple(one for one in (*grants.proposed, *grants.asked) if one not in tools)
    text, files = _body(facts, goal, steps, blanks, (*asked, *grants.never))
    fork = answers.fork if answers.fork is not None else facts.calls >= _LONG and not facts.corrections
    return Draft(
        name,
        _safe(description),
        _safe(text),
        tools,
        fork,
        {path: _safe(one) for path, one in files.items()},
        triggers,
        asked,
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


def _safe(text: str) -> str:
    return hide_secrets(text)[0]


def _blanked(step: Step, blanks: Blanks) -> Step:
    """A step with parameters for values, and without the secrets that were set for it: the environment has them."""
    action = _unset(blanks.code(step.action))
    return step._replace(
        title=blanks(step.title), action=action, why=blanks(step.why), criterion=blanks(step.criterion)
    )


def _variables(facts: Facts) -> list[str]:
    """The variables that held secrets, and those that stand for secrets in commands."""
    held = {found[1] for step in facts.steps for one in (_SECRET, _KEPT_SECRET) for found in one.finditer(step.action)}
    hidden = {found for step in facts.steps for found in _HIDDEN.finditer(_SECRET.sub("", step.action))}
    return sorted(held | {_variable(found)[1:] for found in hidden})


def _unset(command: str) -> str:
    """A command without the variables that were set to secrets, and with names for other secrets in it."""
    text = _KEPT_SECRET.sub("", _SECRET.sub("", command))
    return _HIDDEN.sub(_variable, text)


def _variable(found: re.Match[str]) -> str:
    """What stands for a secret: a variable that the environment has, and no input that somebody would write down."""
    return "$" + (found[1] or "secret").replace("-", "_").upper()


def _named(text: str) -> str:
    """Prose in which secrets are named by their variables."""
    return _HIDDEN.sub(lambda found: f"`{_variable(found)}`", text)


def _body(
    facts: Facts, goal: str, steps: Sequence[Step], blanks: Blanks, asked: Sequence[str]
) -> tuple[str, dict[str, str]]:
    head, demands = _overview(facts, goal, steps, blank=bool(facts.parameters)), _demands(facts, blanks)
    inputs = _inputs(facts.parameters)
    tail = _tail(facts, goal, steps, blanks, asked)
    room = TOKENS - estimate("\n".join((*head, *inputs, *demands, *tail))) - 60
    passages = tuple(one._replace(text=blanks(one.text), section=blanks(one.section)) for one in facts.knowledge)
    wanted = estimate("\n\n".join(one.text for one in passages)) + 12 * len(passages)
    part = max(int(room * _STEPS), room - wanted)
    middle, files = _steps(steps, part, spare=part - int(room * _STEPS))
    know: list[str] = []
    left = room - estimate("\n".join(middle))
    while left > 80 and passages:
        picked = chosen(passages, left)
        know = _known(picked)
        over = estimate("\n".join(know)) - (room - estimate("\n".join(middle)))
        if over <= 0:
            break
        left -= over + 40
        know = []
    rest = "\n".join((*demands, *middle, *know, *tail))
    said = "\n".join((rest, *files.values()))
    inputs = _inputs([one for one in facts.parameters if f"{{{one.name}}}" in said])
    head = _overview(facts, goal, steps, blank=bool(inputs))
    return bounded("\n".join((*head, *inputs, rest)).rstrip() + "\n", TOKENS, CHARACTERS, LINES), files


def _overview(facts: Facts, goal: str, steps: Sequence[Step], *, blank: bool) -> list[str]:
    title = goal.rstrip(".") or "Repeat a procedure"
    named = [f"`{name}`" for name in programs_of(steps)[:4]]
    began = "The steps below worked" if facts.succeeded == "yes" else "These steps were taken"
    how = f"{began} in this order{', with ' if named else ''}{', '.join(named)}."
    if facts.succeeded == "no":
        how = "The session this comes from did not reach its goal; treat the steps as a start."
    inputs = " Values that differ from case to case stand in braces; put your own there." if blank else ""
    return [f"# {title}", "", "## Overview", "", how + inputs]


def _demands(facts: Facts, blanks: Blanks) -> list[str]:
    lines: list[str] = []
    rules = [f"- {_named(blanks(one))}" for one in facts.corrections]
    if rules:
        lines += ["", "## Rules", "", *rules]
    wanted: list[str] = []
    for text in facts.requirements:
        plain = _named(blanks(text))
        code = plain.lstrip().startswith(("```", "~~~"))
        wanted.append(dedent(plain) if code else f"- {plain.replace('**', '') if plain.count('**') % 2 else plain}")
    if wanted:
        lines += [
            "",
            "## What the result must be like",
            "",
            *closed(cut("\n".join(wanted), _REQUIREMENTS)).split("\n"),
        ]
    return [*lines, ""]


def _inputs(parameters: Sequence[Parameter]) -> list[str]:
    return ["", "## Inputs", "", *write.inputs(parameters)] if parameters else []


def _steps(steps: Sequence[Step], tokens: int, spare: int) -> tuple[list[str], dict[str, str]]:
    """The steps in so many tokens: all of them in short, then actions in full as far as they fit, shortest first.

    `spare` is what nothing else needs: there the telling lines of scripts go that are too long to be shown.
    """
    if not steps:
        return [], {}
    sizes = [estimate(step.action) + 12 if step.action else 0 for step in steps]
    order = sorted(range(len(steps)), key=lambda at: (sizes[at] / steps[at].weight, at))
    bare = [
        estimate("\n".join(write.step_lines(at + 1, step._replace(why=""), "", ""))) + 4
        for at, step in enumerate(steps)
    ]
    kept = _as_many(steps, bare, tokens)
    room = tokens - sum(bare[at] for at in kept)
    longest = max(_ACTION, tokens // 3)
    shown: dict[int, str] = {}
    files: dict[str, str] = {}
    named: dict[int, str] = {}
    for at in (at for at in order if at in kept and steps[at].action):
        if sizes[at] <= min(room, longest):
            shown[at] = steps[at].action
            room -= sizes[at]
        elif steps[at].language and (path := _template(steps[at], files)):
            files[path], named[at] = steps[at].action, path
            room -= 16
        elif room > 60:
            shown[at] = cut(steps[at].action, min(room, longest) - 20)
            room -= estimate(shown[at]) + 12
    spare = min(spare, room)
    for at in sorted(named):
        if telling := excerpt(steps[at].action, min(spare, _EXCERPT)):
            shown[at] = telling
            spare -= estimate(telling) + 20
    lines = ["## Steps", ""]
    said = [
        at for at in sorted(kept) if not steps[at].action or at in shown or at in named or not _only_runs(steps[at])
    ]
    for number, at in enumerate(said, 1):
        lines += [*write.step_lines(number, steps[at], shown.get(at, ""), named.get(at, "")), ""]
    return lines, files


def _only_runs(step: Step) -> bool:
    """Does its title say nothing without the action?"""
    return step.tool == "Bash" and says_little(step.title)


def _as_many(steps: Sequence[Step], costs: Sequence[int], tokens: int) -> set[int]:
    """The heaviest steps whose bare lines fit into half of the room."""
    kept: set[int] = set()
    room = max(tokens // 2, 200)
    for at in sorted(range(len(steps)), key=lambda at: (-steps[at].weight, at)):
        if costs[at] <= room:
            kept.add(at)
            room -= costs[at]
    return kept


def _template(step: Step, files: Mapping[str, str]) -> str:
    """A name for a script that is too long for the body; empty when it already has too many neighbours."""
    from whet.skill.names import slug

    ends = {
        "python": "py",
        "bash": "sh",
        "javascript": "js",
        "typescript": "ts",
        "json": "json",
        "sql": "sql",
        "ruby": "rb",
    }
    end = ends.get(step.language, "txt")
    written = step.title.partition("`")[2].rstrip("`}").rpartition("/")[2] if step.tool == "Write" else ""
    stem = slug(written.rpartition(".")[0] or written or step.title.replace("`", " "))[:40].strip("-")
    path = f"templates/{stem}.{end}"
    return path if path not in files and len(files) < 6 else ""


def _known(passages: Sequence[Passage]) -> list[str]:
    lines = write.known(passages)
    return ["## What to know", "", *lines, ""] if lines else []


def _tail(facts: Facts, goal: str, steps: Sequence[Step], blanks: Blanks, asked: Sequence[str]) -> list[str]:
    lines: list[str] = []
    ends = [
        one._replace(
            tried=_unset(blanks.code(one.tried)),
            said=_unset(blanks(_COUNTED.sub("N", one.said))),
            instead=_unset(blanks.code(one.instead)),
        )
        for one in facts.dead_ends
    ]
    if ends:
        lines += ["## Pitfalls", "", *write.pitfalls(ends), ""]
    lines += ["## Check at the end", "", *_checks(facts, steps), ""]
    if goal:
        lines += ["## Examples", "", *write.examples(goal), ""]
    others = dict.fromkeys(
        one.tool for one in facts.tools if one.tool not in ("Bash", "Read", "Write", "Edit", "Search")
    )
    needed = write.needs(programs_of(steps), facts.skills, tuple(others), _variables(facts), asked)
    return [*lines, "## Requirements", "", *needed, ""] if needed else lines


def _checks(facts: Facts, steps: Sequence[Step]) -> list[str]:
    """How to tell that all of it worked: the files that were asked for, the last test, the request itself."""
    outputs = [one for one in facts.parameters if one.sort == "file" and one.about.endswith("to write")]
    lines = [f"- `{{{one.name}}}` exists and is what was asked for." for one in outputs[:6]]
    tests = [
        step.criterion for step in steps if step.criterion.startswith(("All tests pass", "It ends with exit code 0"))
    ]
    telling = [step.criterion for step in steps if "`" in step.criterion and step.tool == "Bash"]
    last = tests[-1:] or ([] if lines else telling[-1:])
    lines += [f"- The last test or check ends well. {one}" for one in last]
    if facts.requirements:
        lines.append('- Every point under "What the result must be like" holds.')
    if facts.corrections:
        lines.append('- Nothing was done against "Rules".')
    return lines or [
        "- Look at the result itself; that the commands ended well does not show that the goal is reached."
    ]

"""What the commands that plan and apply share: their options, rendering a plan, asking, the exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from whet.errors import RefusedError
from whet.interfaces.cli.arguments import here_option, nonempty
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.rendering import VERDICTS, render_findings
from whet.interfaces.cli.terminal import ask, can_ask, progress
from whet.interfaces.cli.text import clean, plural, short_revision

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from whet.api import Library
    from whet.api.sources import SkillSources
    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.sources.install.plan import Plan, Step
    from whet.values import Json


_DONE = {
    "install": "Installed",
    "update": "Updated",
    "merge": "Merged",
    "adopt": "Adopted",
    "restore": "Restored",
    "uninstall": "Uninstalled",
    "keep": "Kept",
}
_CODES = {"blocked": 3, "ask": 3, "conflict": 1}
"""State of a step -> the exit code of a command that could not do it."""
_DECIDED = ("policy-blocks", "policy-asks")
"""Codes of steps that the policy stands in the way of."""
_SHOWN_FILES = 8


def plan_options(parser: Parser, *, override: bool = True) -> None:
    """Take what every plan can be told."""
    here_option(parser)
    parser.option("--dry-run", text="Only show the plan.")
    parser.option("--yes", text="Do not ask.")
    if override:
        text = "Take in what the policy asks about or blocks, for this reason; the record keeps it."
        parser.option("--override", metavar="R", type=nonempty, text=text)
    parser.option("--reason", metavar="R", default="", text="Why; the history keeps it.")


def run_plan(context: Context, options: Namespace, make: Callable[[Library], Plan], verb: str) -> Answer:
    """Make the plan, show it and ask on a terminal, apply it; the answer is the plan with what was done."""
    with progress(context, options) as library:
        plan = make(library)
    override = getattr(options, "override", None) or ""
    if options.dry_run:
        return _outcome({**_preview(plan, override), "dry_run": True}, plan, override)
    if can_ask(options):
        override = _ask_agreement(plan, verb, override)
    answer = {**library.sources.apply(plan, reason=options.reason, override=override).to_json(), "dry_run": False}
    if options.here and any(step["state"] == "ready" and step["after"] for step in answer["plan"]):
        answer["waiting"] = len(library.catalogue.waiting)
    if override:
        answer["override"] = override
    return _outcome(answer, plan, override)


def planned(verb: str, make: Callable[[SkillSources, Namespace], Plan]) -> Callable[[Context, Namespace], Answer]:
    """How a command that plans and applies is run."""
    return lambda context, options: run_plan(context, options, lambda library: make(library.sources, options), verb)


def _outcome(answer: Json, plan: Plan, override: str) -> Answer:
    """The answer; where something that was wanted is not done, it says so the way all failures do."""
    left = [step for step in plan.steps if not (override and step.state in ("ask", "blocked"))]
    worst = max(left, key=_exit_code, default=None)
    if worst is None or not _exit_code(worst):
        return answer
    hint = worst.hint or "The plan has what stands in its way."
    failure = {"success": False, "error": f"{worst.name}: {worst.reason}", "code": worst.code, "hint": hint}
    return Outcome({**answer, **failure}, _exit_code(worst))


def _exit_code(step: Step) -> int:
    return step.exit_code if step.state == "failed" else _CODES.get(step.state, 0)


def _preview(plan: Plan, override: str) -> Json:
    """What would be answered if the plan were applied."""
    nothing: Json = {"done": [], "installed": []}
    if not override:
        return {"success": True, **plan.to_json(), **nothing}
    from whet.sources.install.apply import accept

    return {"success": True, **accept(plan).to_json(), **nothing, "override": override}


def _ask_agreement(plan: Plan, verb: str, override: str) -> str:
    """Ask; the reason for which the policy is not obeyed, if the person gives one. Raises RefusedError for a no."""
    steps = plan.to_json()["plan"]
    doing = [step for step in steps if step["state"] == "ready" or (override and step["state"] in ("ask", "blocked"))]
    waiting = [step for step in steps if step["state"] == "ask"] if not override else []
    for step in (*doing, *waiting):
        sys.stderr.write(f"  {clean(_describe_step(step))}\n")
        if step["reason"]:
            sys.stderr.write(f"      {clean(step['reason'])}\n")
        for finding in step.get("findings", ()):
            place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
            sys.stderr.write(f"      {finding['severity']} {clean(place)}: {clean(finding['message'])}\n")
        for power in step["powers"]:
            sys.stderr.write(f"      new: {clean(power)}\n")
    if waiting:
        names = ", ".join(clean(step["name"]) for step in waiting)
        override = ask(f"The policy wants your word for {names}. Say why it may come in (empty: it stays out): ")
        doing += waiting if override else []
    if doing and ask(f"{verb} {plural(len(doing), 'skill')}? [Y/n] ").lower() not in ("", "y", "yes"):
        raise RefusedError("not-agreed", "It was not agreed to.", hint="Nothing was changed.")
    return override


def _describe_step(step: Json) -> str:
    files = step["files"]
    amount = f", {plural(len(files), 'file')} changed" if step["before"] and files else ""
    trust = f", {step['verdict']} from a {step['trust']} source" if "verdict" in step else ""
    return f"{step['action']} {_name_step(step)}{trust}{amount}"


def _name_step(step: Json) -> str:
    old = step["from"] or {"version": "", "revision": ""}
    new = step["version"] or short_revision(step["revision"])
    before = old["version"] if step["version"] else short_revision(old["revision"])
    if step["action"] in ("update", "merge") and before and before != new:
        return f"{step['name']} {before} -> {new}"
    return f"{step['name']} {new}".rstrip()


def render_plan(answer: Json, screen: Screen, options: Namespace, *, empty: str = "") -> None:
    """What was done, or would be, a line for each skill; what was not done, and why; `empty` where nothing was."""
    if not answer["plan"]:
        screen.say(*filter(None, [empty]))
    told: set[str] = set()
    for step in answer["plan"]:
        if step["state"] == "ready":
            _render_ready(step, screen, answer)
        elif step["state"] in ("nothing", "held"):
            screen.line(f"{clean(step['name'])}: {clean(step['reason'])}")
        else:
            if step["reason"] not in told:
                told.add(step["reason"])
                screen.say(f"{_names_with_reason(answer, step)}: {step['reason']}")
                screen.hint(*filter(None, [step["hint"]]))
            _render_clashes(step, screen)
            render_findings(step.get("findings", ()), step["name"], screen)
    screen.say(*(f"{note['message']}" for note in answer["notes"]))
    _render_hints(answer, screen, " --here" if options.here else "")


def _names_with_reason(answer: Json, step: Json) -> str:
    """The skills that are not done for the same reason."""
    return ", ".join(other["name"] for other in answer["plan"] if other["reason"] == step["reason"])


def _render_ready(step: Json, screen: Screen, answer: Json) -> None:
    done = f"Would {step['action']}" if answer["dry_run"] else _DONE[step["action"]]
    verdict = f"  {screen.paint(step['verdict'], VERDICTS[step['verdict']])}" if "verdict" in step else ""
    screen.line(f"{done} {clean(_name_step(step))}{verdict}")
    if step.get("decision", "allow") != "allow" and "override" in answer:
        screen.line(f"  Let in against the policy: {clean(answer['override'])}")
    elif step["reason"]:
        screen.line(f"  {clean(step['reason'])}")
    if step["before"]:
        for file in step["files"][:_SHOWN_FILES]:
            screen.line(f"  {file['change']:<8}{clean(file['path'])}")
        if len(step["files"]) > _SHOWN_FILES:
            screen.line(f"  and {plural(len(step['files']) - _SHOWN_FILES, 'file')} more")
    for power in step["powers"]:
        screen.line(f"  {screen.paint('new', 'yellow')}     {clean(power)}")
    for note in step["notes"]:
        screen.say(f"{step['name']}: {note['message']}")


def _render_clashes(step: Json, screen: Screen) -> None:
    for clash in step["clashes"]:
        screen.line(screen.paint(f"{clean(step['name'])}: {clean(clash['path'])} ({clash['kind']})", "bold"))
        for line in clash["text"].splitlines():
            screen.line(f"  {clean(line)}")


def _render_hints(answer: Json, screen: Screen, here: str) -> None:
    if clashing := [step["name"] for step in answer["plan"] if step["code"] == "update-conflict"]:
        name = clashing[0] if len(clashing) == 1 else "NAME"
        screen.hint(
            f"Nothing of {' and '.join(clashing)} was changed. `whet update {name}{here} --prefer ours` keeps your "
            "lines where they clash, `--prefer theirs` takes the source's; what that replaces stays in the history."
        )
    if kept := [step for step in answer["plan"] if step["code"] in _DECIDED]:
        source = kept[0]["source"]
        look = f"`whet inspect '{source}'` shows it in full. " if source else ""
        screen.hint(f"{look}--override REASON takes it in all the same.")
    if count := answer.get("waiting"):
        waiting = f"{plural(count, 'project skill')} waiting for trust"
        screen.hint(f"{waiting}; `whet trust` loads the skills of this repository.")

"""What the commands that plan and apply share: their options, showing a plan, asking, the exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whet.errors import RefusedError
from whet.interfaces.cli.commands._findings import VERDICTS, show_findings
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import clean, plural, short_revision

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from whet.api import Library
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.sources.install.plan import Plan, Step

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


def here_option(parser: Parser) -> None:
    """Take the scope."""
    parser.option("--here", text="The project's skills and lock (.agents/) instead of your own.")


def plan_options(parser: Parser, *, override: bool = True) -> None:
    """Take what every plan can be told."""
    here_option(parser)
    parser.option("--dry-run", text="Only show the plan.")
    parser.option("--yes", text="Do not ask.")
    if override:
        text = "Take in what the policy asks about or blocks, for this reason; the record keeps it."
        parser.option("--override", metavar="R", type=reason, text=text)
    parser.option("--reason", metavar="R", default="", text="Why; the history keeps it.")


def reason(text: str) -> str:
    """A reason that says something, for argparse's `type`."""
    if text.strip():
        return text.strip()
    from argparse import ArgumentTypeError

    raise ArgumentTypeError("a reason is missing")


def planned(context: Context, options: Namespace, make: Callable[[Library], Plan], verb: str) -> Outcome:
    """Make the plan, show it and ask on a terminal, apply it; the answer is the plan with what was done."""
    library = context.library
    with Bar(options) as bar:
        library.progress = bar
        plan = make(library)
    override = getattr(options, "override", None) or ""
    if options.dry_run:
        return _outcome({**_foreseen(plan, override), "dry_run": True}, plan, override)
    if asks(options):
        override = _agreed(plan, verb, override)
    answer = {**library.apply(plan, reason=options.reason, override=override), "dry_run": False}
    if options.here and any(step["state"] == "ready" and step["after"] for step in answer["plan"]):
        answer["waiting"] = len(library.catalogue.waiting)
    if override:
        answer["override"] = override
    return _outcome(answer, plan, override)


def _outcome(answer: dict[str, Any], plan: Plan, override: str) -> Outcome:
    """The answer; where something that was wanted is not done, it says so the way all failures do."""
    left = [step for step in plan.steps if not (override and step.state in ("ask", "blocked"))]
    worst = max(left, key=_code, default=None)
    if worst is None or not _code(worst):
        return Outcome(answer)
    hint = worst.hint or "The plan has what stands in its way."
    failure = {"success": False, "error": f"{worst.name}: {worst.reason}", "code": worst.code, "hint": hint}
    return Outcome({**answer, **failure}, _code(worst))


def _code(step: Step) -> int:
    return step.exit_code if step.state == "failed" else _CODES.get(step.state, 0)


def _foreseen(plan: Plan, override: str) -> dict[str, Any]:
    """What would be answered if the plan were applied."""
    nothing: dict[str, Any] = {"done": [], "installed": []}
    if not override:
        return {"success": True, **plan.to_json(), **nothing}
    from whet.sources.install.applying import accept

    return {"success": True, **accept(plan).to_json(), **nothing, "override": override}


def asks(options: Namespace) -> bool:
    """Can and may a person be asked?"""
    if options.yes or options.no_input or options.json or options.quiet:
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _agreed(plan: Plan, verb: str, override: str) -> str:
    """Ask; the reason for which the policy is not obeyed, if the person gives one. Raises RefusedError for a no."""
    steps = plan.to_json()["plan"]
    doing = [step for step in steps if step["state"] == "ready" or (override and step["state"] in ("ask", "blocked"))]
    waiting = [step for step in steps if step["state"] == "ask"] if not override else []
    for step in (*doing, *waiting):
        sys.stderr.write(f"  {clean(_line(step))}\n")
        if step["reason"]:
            sys.stderr.write(f"      {clean(step['reason'])}\n")
        for finding in step.get("findings", ()):
            place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
            sys.stderr.write(f"      {finding['severity']} {clean(place)}: {clean(finding['message'])}\n")
        for power in step["powers"]:
            sys.stderr.write(f"      new: {clean(power)}\n")
    if waiting:
        names = ", ".join(clean(step["name"]) for step in waiting)
        override = _read(f"The policy wants your word for {names}. Say why it may come in (empty: it stays out): ")
        doing += waiting if override else []
    if doing and _read(f"{verb} {plural(len(doing), 'skill')}? [Y/n] ").lower() not in ("", "y", "yes"):
        raise RefusedError("not-agreed", "It was not agreed to.", hint="Nothing was changed.")
    return override


def _read(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise RefusedError("not-agreed", "Nobody answered.", hint="Nothing was changed. --yes asks nothing.")
    return line.strip()


def _line(step: dict[str, Any]) -> str:
    files = step["files"]
    amount = f", {plural(len(files), 'file')} changed" if step["before"] and files else ""
    trust = f", {step['verdict']} from a {step['trust']} source" if "verdict" in step else ""
    return f"{step['action']} {_named(step)}{trust}{amount}"


def _named(step: dict[str, Any]) -> str:
    old = step["from"] or {"version": "", "revision": ""}
    new = step["version"] or short_revision(step["revision"])
    before = old["version"] if step["version"] else short_revision(old["revision"])
    if step["action"] in ("update", "merge") and before and before != new:
        return f"{step['name']} {before} -> {new}"
    return f"{step['name']} {new}".rstrip()


def show_plan(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """What was done, or would be, a line for each skill; what was not done, and why."""
    told: set[str] = set()
    for step in answer["plan"]:
        if step["state"] == "ready":
            _show_ready(step, screen, answer)
        elif step["state"] in ("nothing", "held"):
            screen.line(f"{clean(step['name'])}: {clean(step['reason'])}")
        else:
            if step["reason"] not in told:
                told.add(step["reason"])
                screen.said.append(f"{_with_the_same(answer, step)}: {step['reason']}")
                screen.hints.extend(filter(None, [step["hint"]]))
            _show_clashes(step, screen)
            show_findings(step.get("findings", ()), step["name"], screen)
    screen.said.extend(f"{note['message']}" for note in answer["notes"])
    _next(answer, screen, " --here" if options.here else "")


def _with_the_same(answer: dict[str, Any], step: dict[str, Any]) -> str:
    """The skills that are not done for the same reason."""
    return ", ".join(other["name"] for other in answer["plan"] if other["reason"] == step["reason"])


def _show_ready(step: dict[str, Any], screen: Screen, answer: dict[str, Any]) -> None:
    done = f"Would {step['action']}" if answer["dry_run"] else _DONE[step["action"]]
    verdict = f"  {screen.paint(step['verdict'], VERDICTS[step['verdict']])}" if "verdict" in step else ""
    screen.line(f"{done} {clean(_named(step))}{verdict}")
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
        screen.said.append(f"{step['name']}: {note['message']}")


def _show_clashes(step: dict[str, Any], screen: Screen) -> None:
    for clash in step["clashes"]:
        screen.line(screen.paint(f"{clean(step['name'])}: {clean(clash['path'])} ({clash['kind']})", "bold"))
        for line in clash["text"].splitlines():
            screen.line(f"  {clean(line)}")


def _next(answer: dict[str, Any], screen: Screen, here: str) -> None:
    if clashing := [step["name"] for step in answer["plan"] if step["code"] == "update-conflict"]:
        name = clashing[0] if len(clashing) == 1 else "NAME"
        screen.hints.append(
            f"Nothing of {' and '.join(clashing)} was changed. `whet update {name}{here} --prefer ours` keeps your "
            "lines where they clash, `--prefer theirs` takes the source's; what that replaces stays in the history."
        )
    if kept := [step for step in answer["plan"] if step["code"] in _DECIDED]:
        source = kept[0]["source"]
        look = f"`whet inspect '{source}'` shows it in full. " if source else ""
        screen.hints.append(f"{look}--override REASON takes it in all the same.")
    if count := answer.get("waiting"):
        waiting = f"{plural(count, 'project skill')} waiting for trust"
        screen.hints.append(f"{waiting}; `whet trust` loads the skills of this repository.")

"""Shared parts of the commands that plan and apply: options, rendering, questions, exit codes."""

from __future__ import annotations

import os
import sys
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from whet.errors import RefusedError
from whet.interfaces.cli.arguments import here_option, nonempty
from whet.interfaces.cli.context import Answer
from whet.interfaces.cli.output import screen_for
from whet.interfaces.cli.rendering import VERDICTS, describe_source, paint_diff, render_findings
from whet.interfaces.cli.terminal import agree, ask, can_ask, progress
from whet.interfaces.cli.text import clean, name_revision, plural, short_revision, width
from whet.notes import Note, name_action
from whet.records import NamedTuple
from whet.values import failure_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whet.api import Library
    from whet.api.sources import SkillSources
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.sources.install.plan import Applied, Plan, Step
    from whet.sources.lock.file import Installed
    from whet.values import Json


_DONE = {
    "install": "Installed",
    "update": "Updated",
    "merge": "Merged",
    "adopt": "Adopted",
    "restore": "Restored",
    "uninstall": "Removed",
}
_CODES = {"blocked": 3, "ask": 3, "conflict": 1}
"""State of a step -> the exit code if it could not be done."""
_DECIDED = ("ask", "blocked")
"""States of steps that the policy does not allow."""
_REASON = "Reason to do it anyway (leave empty to skip): "
_LOOKALIKE = "lookalike-name"
"""A note that a person must see before they agree."""
_SHOWN_FILES = 8
_SHOWN_SCRIPTS = 3


def plan_options(parser: Parser, *, override: bool = True) -> None:
    """Add the options of every plan."""
    here_option(parser)
    parser.option("--dry-run", text="Only show the plan.")
    if override:
        text = "Install even what the policy asks about or blocks; R is the reason, which is recorded."
        parser.option("--override", metavar="R", read=nonempty, text=text)
    parser.option("--reason", metavar="R", default="", text="The reason, for the history.")


def force_option(parser: Parser) -> None:
    """Add `--force` to a command that removes skills."""
    parser.option("--force", text="Remove even skills that other skills need.")


def asks(options: Namespace) -> bool:
    """Return whether a person sees the plan and is asked before it is applied."""
    return not options.dry_run and can_ask(options)


class PlanResult(NamedTuple):
    """A plan, and its result."""

    applied: Applied
    dry_run: bool
    override: str
    """The reason for the override; "" if there is none."""
    problem: Note | None
    """The part of the request that was not done."""
    waiting: int | None = None
    """The number of skills of an untrusted project; None for other skills."""
    asked: bool = False
    """Whether a person has seen the plan with its findings, and agreed."""

    @property
    def plan(self) -> Plan:
        """The plan as it was applied, or would be."""
        return self.applied.plan

    def to_json(self) -> Json:
        """Return the plan with its result as JSON; a problem makes it a failure."""
        answer, override = self.applied.to_json(), {"override": self.override} if self.override else {}
        if self.dry_run:
            answer |= {"done": [], "installed": [], **override, "dry_run": True}
        else:
            waiting = {} if self.waiting is None else {"waiting": self.waiting}
            answer |= {"dry_run": False, **waiting, **override}
        return failure_json(answer, self.problem)


def run_plan(
    context: Context, options: Namespace, make: Callable[[SkillSources], Plan], verb: str, empty: str = ""
) -> Answer:
    """Make the plan, show it and ask on a terminal, apply it; `empty` is printed if there is nothing to do."""
    with progress(context, options) as library:
        plan = make(library.sources)
    override = getattr(options, "override", None) or ""
    if asked := asks(options):
        override = _ask_agreement(plan, verb, override, context)
    return apply_plan(library, options, plan, override=override, asked=asked, empty=empty)


def apply_plan(
    library: Library,
    options: Namespace,
    plan: Plan,
    *,
    override: str = "",
    asked: bool = False,
    empty: str = "",
    run: str = "",
) -> Answer:
    """Apply a plan, unless it is a dry run; `run` makes it part of a larger change."""
    from whet.sources.install.apply import accept
    from whet.sources.install.plan import Applied

    left = [step for step in plan.steps if not (override and step.overridable)]
    worst = max(left, key=_exit_code, default=None)
    code, problem = 0, None
    if worst and (code := _exit_code(worst)):
        hint = worst.hint or "Resolve the problems in the plan first."
        problem = Note(worst.code, "error", f"{worst.name}: {worst.reason}", hint)
    elif broken := next((note for note in plan.notes if note.severity == "error"), None):  # requested, and left out
        code, problem = 1, broken._replace(message=f"{broken.skill} is left out: {broken.message}")
    if options.dry_run:
        applied = Applied(accept(plan) if override else plan)
    else:
        applied = library.sources.apply(plan, reason=options.reason, override=override, run=run)
    result = PlanResult(applied, options.dry_run, override, problem, asked=asked)
    if options.here and not options.dry_run and any(step.after for step in result.plan.ready):
        result = result._replace(waiting=len(library.catalogue.waiting))
        if result.waiting and asked and agree("You do not trust this project yet. Trust it, so that its skills load?"):
            library.settings.trust()
            result = result._replace(waiting=0)
    return Answer(result, partial(render_plan, empty=empty), code)


def _exit_code(step: Step) -> int:
    return step.exit_code if step.state == "failed" else _CODES.get(step.state, 0)


def _ask_agreement(plan: Plan, verb: str, override: str, context: Context) -> str:
    """Show the plan, and ask; return the reason to override the policy, if the person gives one.

    Raises RefusedError if the answer is no.
    """
    ready = [step for step in plan.steps if step.state == "ready" or (override and step.overridable)]
    doing = [step for step in ready if step.action != "keep"]  # steps that change no skill need no agreement
    waiting = [step for step in plan.steps if step.state == "ask"] if not override else []
    screen = screen_for(sys.stderr, context.env)
    for note in plan.notes:
        if note.code == _LOOKALIKE:
            screen.paragraph(note.message)
    for step in (*doing, *waiting):
        render_review(plan, step, screen)
    if doing or waiting:
        for step in plan.steps:
            if step.state == "blocked" and not (override and step.overridable):
                _render_head("leave out", step, screen, "bold")
                render_findings(step.findings, step.name, screen)
    review = screen.text() if doing or waiting else ""
    if waiting:
        names = ", ".join(clean(step.name) for step in waiting)
        screen.paragraph(f"The policy needs your approval for {names}.")
        override = _ask_reason(f"{screen.text()}{_REASON}")
        doing, review = doing + (waiting if override else []), ""
    changed = [step for step in doing if step.before and step.after]

    def show() -> str:
        unfolded = screen_for(sys.stderr, context.env)
        for found in context.library.sources.compare(plan._replace(steps=tuple(changed))):
            if found.yours and found.source:
                for title, text in (("Your edits", found.yours), ("The source's changes", found.source)):
                    unfolded.line(unfolded.paint(f"{title} to {clean(found.name)}:", "bold"))
                    paint_diff(unfolded, text)
                if found.result:
                    unfolded.line(unfolded.paint(f"The update changes {clean(found.name)}:", "bold"))
                else:
                    kept = f"The update keeps your files of {found.name} as they are. The lock records the source's"
                    unfolded.paragraph(f"{kept} new content, so that this conflict does not come back.")
            paint_diff(unfolded, found.result)
        return unfolded.text()

    question = f"{review}{verb} {plural(len(doing), 'skill')}?"
    dangerous = any(step.judgement and step.judgement.decision.verdict == "dangerous" for step in doing)
    if doing and not agree(question, default=not dangerous, show=show if changed else None):
        raise RefusedError("not-agreed", "You did not confirm.", hint="Nothing was changed.")
    return override


def _ask_reason(question: str) -> str:
    """Ask for a reason; "" for a no. A bare yes is not a reason."""
    while (said := ask(question)).lower() in ("y", "yes"):
        question = _REASON
    return "" if said.lower() in ("n", "no") else said


def render_review(plan: Plan, step: Step, screen: Screen) -> None:
    """Print what happens to a skill: the path, its powers, the findings, and a line for each changed file."""
    _render_head(name_action(step.action), step, screen, "bold")
    source = step.entry.source if step.entry else ""
    checkout = step.entry.checkout if step.entry else ""
    origin = ""
    if step.judgement:
        revision = f" ({name_revision('', checkout)})" if checkout else ""
        origin = f"from {describe_source(source, step.judgement.decision.trust, checkout)}{revision}, "
    screen.paragraph(f"{origin}{'in' if step.before else 'into'} {screen.place(plan.directory(step))}", 2)
    for power in step.powers if step.before else _describe_powers(plan, step):
        screen.paragraph(f"{'new: ' if step.before else ''}{power}", 2)
    if step.entry and step.after and step.entry.signer:
        screen.paragraph(f"signed with {step.entry.signer}", 2)
    if published := step.published:
        tier = f" ({published.tier})" if published.tier else ""
        screen.paragraph(f"published on {published.published[:10]} by {clean(published.by)}{tier}", 2)
        screen.paragraph(f"the hub's scan: {published.verdict}; entry {published.entry} of its log, proved", 2)
        if published.evals:
            screen.paragraph(f"the publisher's evals: {clean(published.evals)}", 2)
    if step.needed_by:
        screen.paragraph(f"needed by {', '.join(step.needed_by)}", 2)
    if step.reason and not (step.state in _DECIDED and step.findings):  # the findings say the same
        screen.paragraph(step.reason, 2)
    if step.before and step.after:
        _render_files(step, screen)
    render_findings(step.findings, step.name, screen)


def _render_head(verb: str, step: Step, screen: Screen, *styles: Style) -> None:
    """Print the action, the skill and the verdict; on a terminal, a line that would be too long is wrapped."""
    decision, name = step.judgement and step.judgement.decision, clean(_name_step(step))
    verdict = f"  {screen.paint(decision.verdict, VERDICTS[decision.verdict])}" if decision else ""
    if screen.tty and width(f"{verb} {name}") + (len(decision.verdict) + 2 if decision else 0) > screen.columns:
        screen.paragraph(f"{verb} {name}")
        if verdict:
            screen.line(verdict)
    else:
        screen.line(f"{verb} {screen.paint(name, *styles)}{verdict}")


def _describe_powers(plan: Plan, step: Step) -> Iterator[str]:
    """Yield the powers of a new skill."""
    from whet.sources.install.plan import tools_of

    if tools := tools_of(plan.trees.get(step.after, {})):
        yield f"may use {', '.join(tools)}"
    scripts = [file.path for file in step.files if file.path.startswith("scripts/")]
    if scripts:
        more = ", …" if len(scripts) > _SHOWN_SCRIPTS else ""
        yield f"brings {plural(len(scripts), 'script')}: {', '.join(scripts[:_SHOWN_SCRIPTS])}{more}"


def _revision(entry: Installed) -> str:
    """Return the revision if the source has revisions, else the digest of the skill."""
    return entry.digest if entry.revision.startswith("sha256:") else entry.revision


def _name_step(step: Step) -> str:
    entry, old = step.entry or step.previous, step.previous
    if entry is None:
        return step.name
    what, _, new = name_revision(revision).partition(" ") if (revision := _revision(entry)) else ("", "", "")
    what, new = ("", entry.version) if entry.version else (f", {what}" if what else "", new)
    before = "" if old is None else old.version if entry.version else short_revision(_revision(old))
    if step.action in ("update", "merge") and before and before != new:
        return f"{step.name}{what} {before} -> {new}"
    return f"{step.name}{what} {new}".rstrip()


def render_plan(result: PlanResult, screen: Screen, options: Namespace, *, empty: str = "") -> None:
    """Print a line for each skill, and reasons for those not done; `empty` if there was nothing to do."""
    steps = result.plan.steps
    if not steps:
        screen.say(*filter(None, [empty]))
    told: set[str] = set()
    reviewed = any(step.state in ("ready", "ask") for step in steps)
    for step in steps:
        if step.state == "ready" and step.action != "keep":
            _render_ready(step, screen, result)
        elif step.state in ("ready", "nothing", "held"):
            screen.paragraph(f"{step.name}: {step.reason}")
        else:
            if step.reason not in told:
                told.add(step.reason)
                names = ", ".join(other.name for other in steps if other.reason == step.reason)
                screen.say(f"{names}: {step.reason}")
                screen.hint(*filter(None, [step.hint]))
            _render_clashes(step, screen)
            if step.findings and not (result.asked and step.state in _DECIDED and reviewed):
                if screen.tty:  # in a pipe, each finding begins with the name
                    _render_head("Left out", step, screen)
                render_findings(step.findings, step.name, screen)
    if result.asked and steps and all(step.state in _DECIDED for step in steps):
        screen.say("Nothing was changed.")
    for note in result.plan.notes:
        if note.severity == "error":
            screen.say(f"{note.skill} is left out: {note.message}")
            screen.hint(*filter(None, [note.hint]))
        elif not (result.asked and note.code == _LOOKALIKE):
            screen.say(note.message)
    screen.say(*result.applied.warnings)
    if getattr(options, "sources", ()) and not (result.asked or result.dry_run or options.yes):
        allowed = (step.judgement.decision for step in result.plan.ready if step.action == "install" and step.judgement)
        reasons = dict.fromkeys(decision.reason for decision in allowed if decision.action == "allow")
        screen.say(*(f"Installed without asking: {reason}" for reason in reasons))
    _render_hints(result, screen, options)


def _render_ready(step: Step, screen: Screen, result: PlanResult) -> None:
    done = f"Would {name_action(step.action)}" if result.dry_run else _DONE[step.action]
    decision = step.judgement and step.judgement.decision
    removed = step.action == "uninstall" and not result.dry_run
    if not removed:  # one sentence names all removed skills
        _render_head(done, step, screen)
        if step.action == "uninstall":
            screen.paragraph(f"in {screen.place(result.plan.directory(step))}", 2)
    if step.needed_by:
        screen.paragraph(f"needed by {', '.join(step.needed_by)}", 2)
    if decision and decision.action != "allow" and result.override:
        screen.paragraph(f"Allowed by override: {result.override}", 2)
    elif step.reason and removed:
        screen.say(f"{step.name}: {step.reason}")
    elif step.reason:
        screen.paragraph(step.reason, 2)
    if step.root:
        screen.line(f"  It is in {screen.place(step.root)}.")
    if not result.asked:  # otherwise it was in the review
        if step.before:
            _render_files(step, screen)
        for power in step.powers:
            screen.line(f"  {screen.paint('new', 'yellow')}     {clean(power)}")
        render_findings(step.findings, step.name, screen)
    screen.say(*(f"{step.name}: {note.message}" for note in step.notes))


def _render_files(step: Step, screen: Screen) -> None:
    shown = step.files if screen.verbose else step.files[:_SHOWN_FILES]
    for file in shown:
        screen.line(f"  {file.change:<8}{clean(file.path)}")
    if len(step.files) > len(shown):
        screen.line(f"  and {plural(len(step.files) - len(shown), 'file')} more")


def _render_clashes(step: Step, screen: Screen) -> None:
    from whet.sources.merge import CLASHES

    for clash in step.clashes:
        screen.line(screen.paint(f"{clean(step.name)}: {clean(clash.path)} {CLASHES[clash.kind]}.", "bold"))
        for line in clash.text.splitlines():
            screen.line(f"  {clean(line)}")


def _as_typed(path: str, sources: Sequence[str]) -> str:
    """Write a local path the way the source is written."""
    for text in sources:
        typed = os.path.abspath(os.path.expanduser(text))
        if path == typed or path.startswith(os.path.join(typed, "")):
            return text.rstrip("/") + path[len(typed) :]
    return path


def _render_hints(result: PlanResult, screen: Screen, options: Namespace) -> None:
    steps, here = result.plan.steps, " --here" if options.here else ""
    if clashing := [step.name for step in steps if step.code == "update-conflict"]:
        name = clashing[0] if len(clashing) == 1 else "NAME"
        screen.hint(
            f"{' and '.join(clashing)} did not change. `whet update {name}{here} --prefer ours` keeps your lines where "
            "they conflict, `--prefer theirs` takes the source's; `whet undo` reverses either. To merge by hand, write "
            f"the lines as you want them with `whet edit {name}`, then update with `--prefer ours`."
        )
    if kept := next((step for step in steps if step.overridable), None):
        from whet.sources.lock.file import lock_file, opened_source

        entry = kept.entry or kept.previous
        source = opened_source(entry.source, os.path.dirname(lock_file(result.plan.root))) if entry else ""
        trust = ""
        if source.startswith("path:") and "%" not in source:
            source = _as_typed(source.removeprefix("path:").replace("#path=", "/"), getattr(options, "sources", ()))
            if kept.judgement and kept.judgement.decision.verdict == "caution":
                trust = f"If it is yours, run `whet guard trust {quote(source)}` first. "
        look = f"`whet show {quote(source)}` shows it in full. " if source else ""
        screen.hint(f"{look}{trust}`--override REASON` installs it anyway.")
    if result.waiting:
        skills = "its skill does" if result.waiting == 1 else f"its {result.waiting:,} skills do"
        screen.hint(f"You do not trust this project yet, so {skills} not load. `whet guard trust` trusts it.")

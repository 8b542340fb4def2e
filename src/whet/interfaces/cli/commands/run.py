"""`run`: a skill in a separate agent, and the harness's report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from whet.interfaces.cli.arguments import misuse
from whet.interfaces.cli.commands.prompt import join_arguments
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import paint_diff, render_failure
from whet.interfaces.cli.terminal import agree, can_ask, end_progress, write
from whet.interfaces.cli.text import clean, clean_block, plural, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.runtime.journal import Decided, Record
    from whet.runtime.runs import RunLimits, RunList, RunResult, RunView

_OTHERS = ("list", "show", "discard", "resume")
_COLUMN = 10
_LONGEST = 200


def configure_run(parser: Parser) -> None:
    parser.example("whet run pdf -- fill form.pdf", "run a skill")
    parser.example("whet run pdf --script scripts/check.py", "run one of its scripts, without a model")
    parser.example("whet run --list", "earlier runs")
    parser.details = (
        "The skill runs in a separate agent, in a sandbox, on a copy of the project. It has only the tools of its "
        "`allowed-tools`. If a model, a sandbox or a tool that it needs is missing, the run does not start.\n\n"
        "On a terminal, Whet asks about calls that need approval. In a pipe, the run stops, and `--resume ID "
        "--approve N` continues it. At the end, the report says what Whet saw, not what the model claims. The changes "
        "are a diff: nothing in the project changes until you apply it. Exits with 1 if the run does not finish."
    )
    parser.positional("name", "NAME", "The skill.", optional=True)
    parser.option("--model", metavar="SPEC", text="The model, such as openai:gpt-5, or a name from [models].")
    parser.option("--script", metavar="FILE", text="Run this script of the skill instead, without a model.")
    parser.option("--on", metavar="WHERE", text="Run programs in docker:IMAGE, podman:IMAGE or on ssh:HOST.")
    parser.option("--apply", text="Apply the changes to the project without asking.")
    parser.option("--resume", metavar="ID", text="Continue a run; with --apply, apply its changes.")
    parser.option("--approve", metavar="N", read=amount, many=True, text="Allow this call; can be repeated.")
    parser.option("--reject", metavar="N", read=amount, many=True, text="Reject this call; can be repeated.")
    parser.option("--without", metavar="TOOL", many=True, text="Run without this tool; can be repeated.")
    parser.option("--max-requests", metavar="N", read=amount, text="Stop after N requests to the model (default 100).")
    parser.option("--max-calls", metavar="N", read=amount, text="Stop after N tool calls (default 300).")
    parser.option("--max-tokens", metavar="N", read=amount, text="Stop after N tokens (default 1,000,000).")
    parser.option(
        "--max-cost", metavar="USD", read=dollars, text="Stop when the run costs this much (default: no limit)."
    )
    parser.option(
        "--max-seconds", metavar="N", read=amount, text="Stop after N seconds (default 1,800; for a script 600)."
    )
    parser.option("--list", text="List the runs.")
    parser.option("--show", metavar="ID", text="Show a run.")
    parser.option("--discard", metavar="ID", text="Delete a run and its copy of the project.")
    parser.words_behind("arguments", "ARGS", "The task for the skill, or the arguments of the script.")


def dollars(text: str) -> float:
    """Parse an amount of money above zero, as the value of an option."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if 0.0 < value < 1e6:
        return value
    raise ValueError(f"{text!r} is not an amount above zero")


def run_run(context: Context, options: Namespace) -> Answer:
    """Start a run, or show one."""
    given = [name for name in _OTHERS if getattr(options, name)]
    if len(given) + bool(options.name) != 1:
        raise misuse("run", "Name a skill, or use one of --resume, --list, --show and --discard.")
    if (options.approve or options.reject) and not options.resume:
        raise misuse("run", "`--approve` and `--reject` need `--resume`.")
    if options.script and not options.name:
        raise misuse("run", "`--script` needs the name of a skill.")
    library = context.library
    if options.list:
        return Answer(library.runs.list(), render_runs)
    if options.discard:
        return Answer(library.runs.discard(options.discard), render_discarded, key="run")
    if options.show:
        return Answer(library.runs.show(options.show), render_run)
    if not options.json and not options.quiet:
        library.runs.observe = _observe
    ask = can_ask(options)
    result = _run(context, options, ask=ask)
    if ask and result.diff and result.run.status == "done" and not options.apply and _agree(result):
        result = library.runs.resume(result.run.id, apply=True)
    return Answer(result, render_run, 0 if result.problem is None else 4 if result.run.status == "failed" else 1)


def _run(context: Context, options: Namespace, *, ask: bool) -> RunResult:
    runs = context.library.runs
    if options.on:
        runs.use(options.on)
    if options.script:
        limit = {"seconds": options.max_seconds} if options.max_seconds else {}
        return runs.run_script(options.name, options.script, options.arguments, apply=options.apply, **limit)
    how = {
        "model": options.model,
        "limits": _limits(options),
        "apply": options.apply,
        "confirm": _confirm if ask else None,
        "without": options.without or (),
    }
    if options.resume:
        return runs.resume(options.resume, approve=options.approve or (), reject=options.reject or (), **how)
    return context.library.run(options.name, join_arguments(options.arguments) if options.arguments else "", **how)


def _limits(options: Namespace) -> RunLimits:
    from whet.runtime.runs import RunLimits

    named = {name: getattr(options, f"max_{name}") for name in RunLimits._fields}
    return RunLimits(**{name: value for name, value in named.items() if value is not None})


def _confirm(decided: Decided) -> bool:
    return agree(f"{_format_call(decided.tool, decided.given)}\n{clean(decided.reason)} Allow it?", default=False)


def _agree(result: RunResult) -> bool:
    files = plural(len(result.report.files), "file")
    return agree(f"Apply the changes to {files} of the project?", default=False, show=lambda: clean_block(result.diff))


def _observe(record: Record) -> None:
    """Show events while they happen."""
    from whet.runtime.journal import Decided, Done, Start

    text = ""
    if isinstance(record, Start):
        asked = f" (for {clean(record.asked_model)!r})" if record.asked_model else ""
        what = f"{clean(record.script)} of {clean(record.skill)}" if record.script else clean(record.skill)
        by = f" with {clean(record.model)}{asked}" if record.model else ""
        text = f"Run {record.run}: {what}{by}, sandbox {record.level}."
    elif isinstance(record, Decided):
        text = f"{record.decision:<5}  {_format_call(record.tool, record.given)}"
    elif isinstance(record, Done) and record.command and record.code != 0:
        text = f"       {_format_code(record.code, record.problem)}"
    if text:
        end_progress()
        write(f"{text}\n")


def _format_call(tool: str, given: Mapping[str, object]) -> str:
    """Format a call in one line: the tool, and its main argument."""
    about: object = next(
        (given[key] for key in ("command", "file_path", "url", "skill", "pattern", "path") if key in given), ""
    )
    if tool.startswith("mcp__"):
        about = json.dumps(dict(given), ensure_ascii=False)
    return shorten(f"{clean(tool)} {clean(str(about))}".rstrip(), _LONGEST)


def _format_code(code: int | None, problem: str) -> str:
    return f"exit {code}" if code is not None else problem or "not run"


def render_run(found: RunResult, screen: Screen, _options: Namespace) -> None:
    """Print the report, then the model's message, then the difference."""
    report = found.report
    if found.removed:
        screen.say(f"Removed {plural(len(found.removed), 'old run')}; `run_days` says how long they are kept.")
    _render_facts(found, screen)
    changes = [
        (change.change, change.path, f"not applied: {change.held}" if change.held else "") for change in report.files
    ]
    _render_rows("Files", [(kind, f"{path}  {held}".rstrip()) for kind, path, held in changes], screen)
    _render_rows("Commands", [(_format_code(one.code, one.problem), one.command) for one in report.commands], screen)
    _render_rows("Denied", [(one.tool, f"{_about(one.given)}: {one.reason}") for one in report.denied], screen)
    rows = [
        (f"{one.number} {one.answer}", f"{_format_call(one.tool, one.given)}: {one.reason}") for one in report.approvals
    ]
    _render_rows("Approvals", rows, screen)
    served = [("failed" if one.failed else "done", _format_call(one.tool, one.given)) for one in report.servers]
    _render_rows("MCP servers (outside the sandbox)", served, screen)
    contacts = [("reached" if one.allowed else "refused", one.host) for one in report.network]
    _render_rows("Network", contacts, screen)
    for title, text in (("Output", report.output), ("The model says (not checked)", report.summary)):
        if text:
            screen.line(screen.paint(title, "bold"))
            for line in clean_block(text).rstrip("\n").split("\n"):
                screen.line(f"  {line}")
    if found.diff:
        screen.line()
        paint_diff(screen, found.diff)
    render_failure(found.problem, screen)
    if found.diff and found.problem is None:
        screen.hint(f"Apply the changes with `whet run --resume {found.run.id} --apply`.")


def _render_facts(found: RunResult, screen: Screen) -> None:
    run, report = found.run, found.report
    facts = [("run", f"{run.id}  {clean(run.skill)}  {run.status}")]
    if report.model:
        cost = "price not known" if report.cost is None else f"${report.cost:.4f}"
        tokens = f"{report.tokens.input:,} tokens in, {report.tokens.output:,} out"
        facts.append(("model", f"{clean(report.model)}; {plural(report.requests, 'request')}, {tokens}, {cost}"))
    facts.append(("time", f"{report.seconds:.1f} s"))
    facts.append(("sandbox", report.sandbox.level))
    if screen.verbose:
        facts += [("", gap) for gap in report.sandbox.gaps]
    facts.append(("project", f"{screen.place(run.project)}{'  (changes applied)' if report.applied else ''}"))
    screen.facts(facts, _COLUMN)


def _render_rows(title: str, rows: list[tuple[str, str]], screen: Screen) -> None:
    if not rows:
        return
    screen.line(screen.paint(title, "bold"))
    wide = max(len(row[0]) for row in rows)
    for head, text in rows:
        screen.line(f"  {head:<{wide}}  {screen.fit(text, wide + 4)}")


def _about(given: Mapping[str, object]) -> str:
    return _format_call("", given).strip()


def render_runs(found: RunList, screen: Screen, _options: Namespace) -> None:
    """Print a line for each run."""
    rows = [(run.id, run.started[:16].replace("T", " "), run.status, run.skill, run.project) for run in found.runs]
    screen.grid(("ID", "STARTED", "STATUS", "SKILL", "PROJECT"), rows, "There are no runs yet.")


def render_discarded(run: RunView, screen: Screen, _options: Namespace) -> None:
    """Print that the run was deleted."""
    screen.say(f"Deleted the run {run.id} of {clean(run.skill)}.")


COMMANDS = {"run": Command(configure_run, run_run)}

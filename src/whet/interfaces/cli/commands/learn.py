"""`learn`, `distill`, `transcript`, `curate`: sessions become skills, and unused skills are archived."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from whet.authoring.journal import short_run
from whet.errors import UsageError
from whet.interfaces.cli.arguments import STDIN, misuse
from whet.interfaces.cli.changes import hint_clients, render_change
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.terminal import can_ask
from whet.interfaces.cli.text import clean, clean_block, plural
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.api import Library
    from whet.api.learning import Distilled, SessionRead
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.learning.curator import Curation
    from whet.learning.distill.rounds import Distillation
    from whet.learning.evidence.session import Evidence
    from whet.learning.selection.learn import Lessons
    from whet.learning.transcripts.events import Event, Transcript
    from whet.notes import Note


_CHUNK = 1 << 20


def read_stdin_session(context: Context) -> Transcript:
    """Read the session from standard input."""
    from whet.learning.transcripts.reader import read_piped

    pieces = iter(lambda: sys.stdin.buffer.read(_CHUNK) if sys.stdin else b"", b"")
    return read_piped(context.library.workspace.place.state, pieces, "Standard input")


def configure_learn(parser: Parser) -> None:
    parser.details = (
        "Without SESSION, Whet looks at all waiting sessions, newest first, within the daily limit. A session is "
        "worth learning from if it took five or more tool calls, if it overcame an error, or if you corrected it. "
        "Whet skips sessions that were easy, that failed, that were hard only because of a problem with this machine, "
        "or that wrote secrets. The results wait as proposals: `whet proposals list` shows them, and `whet proposals "
        "approve` applies them. A model, from --model or the settings, can write the text, but you do not need one.\n\n"
        "With a connected client, this happens automatically, as far as the setting `learn` allows; --waiting does "
        "the same from a terminal or a timer.\n\n"
        "In a pipe, each line has session, verdict, skill, proposal and reason, separated by tabs."
    )
    parser.positional(
        "sessions", "SESSION", "CLIENT:ID, CLIENT:last, or the FILE of a transcript.", many=True, optional=True
    )
    parser.option(
        "--write", text="Write skills instead of proposing them; changes to your own skills are still proposed."
    )
    parser.option("--model", metavar="SPEC", text="Let this model write the text, such as openai:gpt-5.")
    parser.option("--no-model", text="Use no model, whatever the settings say.")
    parser.option("--dry-run", text="Show what would be learned; change nothing.")
    parser.option("--limit", metavar="N", read=amount, text="Look at no more than N sessions.")
    parser.option("--waiting", text="Learn from waiting sessions as the setting `learn` says, and print only a count.")
    parser.exclude(("--write", "--dry-run"), ("--model", "--no-model"))


def run_learn(context: Context, options: Namespace) -> Answer:
    others = options.sessions or options.write or options.dry_run or options.limit or options.model or options.no_model
    if options.waiting and others:
        raise misuse("learn sessions", "`--waiting` takes no other options.")
    if options.waiting:
        return Answer(_learn_waiting(context), render_waiting, key="learned_from")
    answer = context.library.learning.learn(
        *options.sessions,
        write=True if options.write else None,
        model="" if options.no_model else options.model,
        dry_run=options.dry_run,
        limit=options.limit,
    )
    return Answer(answer, render_learn, 1 if answer.failed and options.sessions else 0)


def _learn_waiting(context: Context) -> int:
    """Learn from waiting sessions, as hooks do, each in the library of its project."""
    from contextlib import ExitStack

    from whet.interfaces.hooks.background import give_up_in_time, learn_waiting

    state = context.library.workspace.place.state
    give_up_in_time(state)
    with ExitStack() as stack:

        def opened(directory: str) -> Library:
            return stack.enter_context(context.open_library(directory or None))

        return learn_waiting(state, opened, context.env)


def render_waiting(sessions: int, screen: Screen, _options: Namespace) -> None:
    screen.say(f"Looked at {plural(sessions, 'session')}.")


def render_learn(lessons: Lessons, screen: Screen, options: Namespace) -> None:
    """Print a line for each session, and the next step."""
    rows = [
        (
            report.session or "",
            (report.action or "") if report.captured else report.code,
            report.skill or "",
            str(report.proposal or ""),
            " ".join(report.why[1:] if report.captured else report.why),
        )
        for report in lessons.sessions
    ]
    screen.grid(("SESSION", "VERDICT", "SKILL", "PROPOSAL", "WHY"), rows)
    for report in lessons.sessions:
        if options.dry_run and report.captured:
            screen.line()
            screen.line(clean_block(report.preview or "").rstrip("\n"))
        screen.say(*(f"{clean(report.session or '')}: {clean(text)}" for text in report.warnings or ()))
    screen.say(*lessons.warnings)
    if not rows and not lessons.left:
        screen.say("No session is waiting.")
        return
    done = "would be captured" if options.dry_run else "captured"
    screen.say(f"Looked at {plural(len(rows), 'session')}: {lessons.captured} {done}.")
    if lessons.stopped:
        screen.say(f"{plural(lessons.left, 'session')} left. {clean(lessons.stopped_why)}")
    if any(report.staged for report in lessons.sessions):
        screen.hint("`whet proposals list` shows the proposals; `whet proposals approve ID` applies one.")


def configure_distill(parser: Parser) -> None:
    parser.example("whet distill", "choose from your recent sessions")
    parser.example("whet distill last", "your newest session")
    parser.example("whet distill claude-code:last", "the newest one of a client")
    parser.example("whet distill session.jsonl --dry-run", "a file; only show the skill")
    parser.details = (
        "On a terminal, one screen shows the proposed answers: what was done, when to use the skill, which tools it "
        "may use, and where it runs. Enter accepts them, and a number changes one. In a pipe, and with --yes, Whet "
        "does not ask. If you already have a skill for the same job, that skill gets a new version.\n\n"
        "With a model, from --model or the settings, Whet hides secrets and sends the model what the session shows; "
        "the model writes the skill, and Whet checks it. Without a model, Whet sends nothing, and the skill is an "
        "outline of the session, marked as a draft: Whet does not offer it to models and does not link it until you "
        "edit it and remove its note.\n\n"
        "A FILE can be a session of Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, OpenCode, Cline or "
        "Hermes, a list of OpenAI or Anthropic messages, or Markdown; - is standard input."
    )
    parser.positional("file", "SESSION", "CLIENT:ID, CLIENT:last, last, or the FILE of a transcript.", optional=True)
    parser.option("--model", metavar="M", text="Let this model write the skill, such as openai:gpt-5.")
    parser.option("--no-model", text="Use no model, whatever the settings say.")
    parser.option("--dry-run", text="Write nothing; show what would be written.")
    parser.option("--resume", text="Continue the distillation that you stopped last, or that of SESSION.")
    parser.option("--name", metavar="N", text="The skill's name.")
    parser.option("--here", text="Write it to the project's .agents/skills.")
    parser.option("--goal", metavar="TEXT", text="What the skill does, in a sentence.")
    parser.option("--description", metavar="D", text="The full description: what the skill does and when to use it.")
    several = "can be repeated."
    parser.option("--trigger", metavar="W", many=True, text=f"A word or phrase that triggers it; {several}")
    parser.option("--when-to-use", metavar="TEXT", text="Other situations in which to use it.")
    parser.option(
        "--step", metavar="T", many=True, text=f"A step: the number of one to keep, or the text of a new one; {several}"
    )
    parser.option("--argument", metavar="A", many=True, text=f"An argument, such as 'VERSION (1.4.0)'; {several}")
    parser.option("--argument-hint", metavar="H", text="What to type after the skill's name.")
    parser.option("--allow", metavar="G", many=True, text=f"A tool to allow, such as Bash(git commit:*); {several}")
    parser.option("--no-tools", text="Allow no tools.")
    parser.option("--fork", text="Run it in a separate agent.")
    parser.option("--inline", text="Run it in the conversation.")
    parser.exclude(("--fork", "--inline"), ("--allow", "--no-tools"), ("--model", "--no-model"))
    parser.exclude(("--resume", "--model"), ("--resume", "--no-model"))


def run_distill(context: Context, options: Namespace) -> Answer:
    from whet.interfaces.cli import interview
    from whet.learning.distill.rounds import begin

    given = _read_answers(options)
    report: tuple[Note, ...] = ()
    if options.resume:
        distillation = interview.resume(context, begin(_read_session(context, options)) if options.file else None)
    else:
        distillation, report = _begin(context, options)
        if can_ask(options):
            distillation = interview.offer_earlier(context, distillation)
    if given:
        at = distillation.at
        distillation = distillation._replace(at=0).answer_all(given)._replace(at=at)
    if can_ask(options):
        distillation = interview.interview(context, options, distillation)
    answer = context.library.learning.finish_distillation(distillation, dry_run=options.dry_run)
    if not options.dry_run:
        interview.forget(context, distillation)
    made = Answer(answer._replace(report=report), render_distill)
    mine = answer.changes and answer.created and not distillation.draft().here
    return hint_clients(made, context, [answer.skill], draft=answer.draft) if mine else made


def _read_answers(options: Namespace) -> dict[str, object]:
    """Return the answers in the options. Raises UsageError for an empty one."""
    answers = {
        "goal": options.goal,
        "name": options.name,
        "steps": options.step,
        "arguments": options.argument,
        "argument_hint": options.argument_hint,
        "triggers": options.trigger,
        "description": options.description,
        "when_to_use": options.when_to_use,
        "tools": [] if options.no_tools else options.allow,
        "fork": True if options.fork else False if options.inline else None,
        "here": options.here or None,
    }
    for name, value in answers.items():
        if isinstance(value, str) and not value.strip():
            raise UsageError("usage", f"--{name.replace('_', '-')} is empty.", hint="Leave it out to get a proposal.")
    return {name: value for name, value in answers.items() if value is not None}


def _read_session(context: Context, options: Namespace) -> Transcript:
    """Return the session that is named, or chosen."""
    if options.file == STDIN:
        return read_stdin_session(context)
    if options.file is not None:
        return context.library.learning.open_session(options.file)
    if can_ask(options):
        from whet.interfaces.cli.interview import choose_session

        return choose_session(context)
    raise misuse("distill", "SESSION is missing.")


def _begin(context: Context, options: Namespace) -> tuple[Distillation, tuple[Note, ...]]:
    """Begin the distillation of the named session; also return the notes on its transcript."""
    transcript = _read_session(context, options)
    model = "" if options.no_model else options.model
    _announce_model(context, options, model)
    return context.library.learning.begin_distillation(transcript, model=model), transcript.report


def _announce_model(context: Context, options: Namespace, model: str | None) -> None:
    """Tell a person at a terminal which model is being asked."""
    name = context.library.workspace.config().settings.model if model is None else model
    if name and sys.stderr is not None and sys.stderr.isatty() and not (options.quiet or options.json):
        sys.stderr.write(f"Asking {clean(name)}…\n")
        sys.stderr.flush()


def render_distill(made: Distilled, screen: Screen, _options: Namespace) -> None:
    """Print the path of the skill; in a dry run, its text."""
    name, version = made.skill, made.version
    if made.changes is None:
        screen.line(made.text.rstrip("\n"))
        done = f"{name} would be new" if made.created else f"{name} would get version {version}"
        done = done if made.changed else f"{name} would stay as it is, with version {version}"
        files = f", with {plural(len(made.files), 'other file')}" if made.files else ""
        screen.say(*[f"{done}{files}.", *made.warnings])
    else:
        created, improved = f"Created {name}, version {version}.", f"Improved {name} to version {version}."
        render_change(made.changes._replace(notes=made.warnings), screen, created if made.created else improved)
    if model := made.model:
        refused = f"; {plural(len(model.refused), 'answer')} rejected" if model.refused else ""
        screen.say(f"{model.name} wrote it, for {model.tokens:,} tokens{refused}.")
    elif made.draft:
        screen.say(
            "It is an outline, marked as a draft: Whet does not offer it to agents until you edit it and remove its "
            "note. With --model, a model writes the skill."
        )
    known = "leftover-marker" if made.draft else ""
    if found := sum(finding.severity != "info" and finding.code != known for finding in made.findings):
        where = "--json" if made.changes is None else f"`whet skill validate {name}`"
        screen.say(f"{plural(found, 'remark')}: {where} shows {'it' if found == 1 else 'them'}.")
    screen.say(*(note.message for note in made.report or ()))


_EVENT_LENGTH = 200
"""Characters of an event in a line; --json has all."""
_CALL_ARGUMENTS = ("command", "path", "query", "url", "skill")
"""The argument of a call that is shown; all arguments of a tool that has none of these."""


def configure_transcript(parser: Parser) -> None:
    parser.details = (
        "FILE is a session of Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, OpenCode, Cline or Hermes, "
        "OpenAI or Anthropic messages, Markdown, or a Whet recording; - is standard input. Whet hides "
        "secrets and writes nothing. Each line is an event: its kind, the tool, and what was said, called or "
        "answered. --evidence shows what `whet distill` and `whet learn sessions` use. In a pipe, fields are "
        "separated by tabs."
    )
    parser.positional("file", "FILE", "The session.")
    parser.option("--evidence", text="Show the request, inputs, rules, steps, errors, files and tools instead.")


def run_transcript(context: Context, options: Namespace) -> Answer:
    session = read_stdin_session(context) if options.file == STDIN else options.file
    return Answer(context.library.learning.transcript(session, evidence=options.evidence), render_transcript)


def render_transcript(read: SessionRead, screen: Screen, _options: Namespace) -> None:
    """Print a line for each event, or for each fact."""
    transcript, events = read.transcript, read.transcript.events
    if read.evidence:
        screen.grid(("EVIDENCE", "WHAT", "DETAIL"), [*_evidence_rows(read.evidence)])
        from whet.learning.evidence.session import ENDED

        screen.say(ENDED[read.evidence.succeeded])
    else:
        screen.grid(("EVENT", "TOOL", "WHAT"), [_event_row(event) for event in events])
    where = " ".join(filter(None, (clean(transcript.client), "session", clean(transcript.session))))
    calls = sum(event.kind == "call" for event in events)
    failed = sum(event.failed for event in events)
    screen.say(f"{where}: {plural(len(events), 'event')}, {plural(calls, 'call')} to tools, {failed} failed.")
    screen.say(*(f"{note.message} [{note.code}]" for note in transcript.report))


def _event_row(event: Event) -> tuple[str, str, str]:
    given = event.given
    known = next((given[key] for key in _CALL_ARGUMENTS if isinstance(given.get(key), str)), "")
    shown = known or event.text or ", ".join(f"{key}: {as_json(value)}" for key, value in given.items())
    return "failed" if event.failed else event.kind, event.tool or event.about, " ".join(shown.split())[:_EVENT_LENGTH]


def _evidence_rows(evidence: Evidence) -> Iterator[tuple[str, str, str]]:
    yield "request", " ".join(evidence.request.split())[:_EVENT_LENGTH], ""
    for value in evidence.inputs:
        yield "input", value.kind, value.text
    for rule in evidence.rules:
        yield "rule", " ".join(rule.split()), ""
    for step in evidence.steps:
        yield "step", step.tool, step.title
    for one in evidence.recoveries:
        yield "error", one.said, one.worked or ", ".join(one.changed)
    for tool in evidence.tools:
        yield "tool", f"{tool.tool} {tool.command}".rstrip(), f"{tool.times} x"
    for file in evidence.files:
        yield "file", file.path, ""
    for skill in evidence.skills:
        yield "skill", skill, ""


def configure_curate(parser: Parser) -> None:
    parser.details = (
        "Without --apply, nothing changes. The plan includes only skills that an agent created, and none that are "
        "pinned, new, or mentioned by a bundle or another skill. `whet undo` brings back an archived skill, and `whet "
        "undo RUN` undoes a whole run."
    )
    parser.option("--apply", text="Apply the plan.")
    parser.option("--if-due", text="Apply the plan only if the last run was at least a week ago; for scheduled jobs.")
    parser.exclude(("--apply", "--if-due"))


def run_curate(context: Context, options: Namespace) -> Answer:
    return Answer(context.library.learning.curate(apply=options.apply, if_due=options.if_due), render_curate)


def render_curate(curation: Curation, screen: Screen, _options: Namespace) -> None:
    plan = curation.plan
    rows = [(step.name, step.state, step.reason) for step in plan.steps]
    rows += [(merge.other, f"merge into {merge.into}", merge.reason) for merge in plan.merges]
    screen.grid(("SKILL", "PLAN", "WHY"), rows, "No skill is stale, and none is worth merging.")
    reasons = [one.reason for one in plan.kept]
    for reason, count in ((one, reasons.count(one)) for one in dict.fromkeys(reasons)):
        screen.say(f"Left alone: {plural(count, 'skill')} ({clean(reason)}).")
    screen.say(*plan.notes)
    if not curation.applied:
        screen.say("Nothing was changed.")
        return
    screen.say(f"Archived {plural(len(curation.entries), 'skill')}.")
    if curation.run:
        screen.hint(f"`whet undo {short_run(curation.run)}` undoes it.")
    if curation.proposals:
        screen.hint("`whet proposals list` shows the proposed merges.")


COMMANDS = {
    "learn sessions": Command(configure_learn, run_learn),
    "distill": Command(configure_distill, run_distill),
    "learn transcript": Command(configure_transcript, run_transcript),
    "learn curate": Command(configure_curate, run_curate),
}

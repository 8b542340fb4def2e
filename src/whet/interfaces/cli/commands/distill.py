"""`whet distill FILE`: a finished session becomes a skill."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._changing import STDIN, piped_session, tell
from whet.interfaces.cli.commands._plans import asks
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.learning.distilling.rounds import Distillation
    from whet.learning.transcripts.events import Transcript
    from whet.library.report import Entry


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "FILE is a session of Claude Code, Codex or Hermes, a list of messages of OpenAI or Anthropic, or Markdown; - "
        "is standard input. At a terminal, four rounds ask for name, triggers, tools and where it runs, each with a "
        "proposed answer; without FILE, the sessions that wait are offered. Otherwise, and with --yes, what is not "
        "given is as proposed. A skill for the same job gets the next version; there is never a second one. Where a "
        "model is named, here or in the settings, what is known of the session is sent to it, secrets hidden, and it "
        "words the proposals; without one, nothing is sent."
    )
    parser.positional("file", "FILE", "The transcript.", optional=True)
    parser.option("--yes", text="Do not ask: what is not given is as proposed.")
    parser.option("--name", metavar="N", text="Call the skill so.")
    parser.option("--goal", metavar="TEXT", text="What the skill does, in a sentence.")
    parser.option("--description", metavar="D", text="The whole description: what it does and when to use it.")
    several = "may be given more than once."
    parser.option("--trigger", metavar="W", action="append", text=f"A word or phrase that calls for it; {several}")
    parser.option("--allow", metavar="G", action="append", text=f"A tool to allow, as Bash(git commit:*); {several}")
    parser.option("--no-tools", text="Allow no tool.")
    parser.option("--fork", text="Run it apart from the conversation.")
    parser.option("--inline", text="Run it in the conversation.")
    parser.option("--model", metavar="M", text="Let this model word the proposals, such as openai:gpt-5.")
    parser.option("--no-model", text="Ask no model, whatever the settings say.")
    parser.option("--resume", text="Go on with the rounds that were interrupted last, or with those for FILE.")
    parser.option("--dry-run", text="Write nothing; show what would be written.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask, and write it."""
    from whet.interfaces.cli.commands import _rounds
    from whet.learning.distilling.rounds import begin

    given = _given(options)
    report: tuple[Entry, ...] = ()
    if options.resume:
        distillation = _rounds.resumed(context, begin(_session(context, options)) if options.file else None)
    else:
        distillation, report = _begun(context, options)
        if asks(options):
            _rounds.remind(context, distillation)
    if given:
        at = distillation.at
        distillation = distillation._replace(at=0).answer_all(given)._replace(at=at)
    if asks(options):
        distillation = _rounds.ask(context, options, distillation)
    answer = context.library.finish_distillation(distillation, dry_run=options.dry_run)
    if not options.dry_run:
        _rounds.forget(context, distillation)
    return Outcome({**answer, "report": [entry.to_json() for entry in report]})


def _given(options: Namespace) -> dict[str, Any]:
    """The answers that the options are. Raises UsageError where two say different things."""
    for one, other, both in (
        ("--fork", "--inline", options.fork and options.inline),
        ("--allow", "--no-tools", options.allow and options.no_tools),
        ("--resume", "--model", options.resume and options.model is not None),
        ("--resume", "--no-model", options.resume and options.no_model),
        ("--model", "--no-model", options.model is not None and options.no_model),
    ):
        if both:
            message = f"Give {one} or {other}, not both."
            raise UsageError("usage", message, hint="`whet distill --help` explains it.")
    answers = {
        "name": options.name,
        "goal": options.goal,
        "description": options.description,
        "triggers": options.trigger,
        "tools": [] if options.no_tools else options.allow,
        "fork": True if options.fork else False if options.inline else None,
    }
    for name in ("name", "goal", "description"):
        if answers[name] is not None and not answers[name].strip():
            raise UsageError("usage", f"--{name} is empty.", hint="Leave it out to have it proposed.")
    return {name: value for name, value in answers.items() if value is not None}


def _session(context: Context, options: Namespace) -> Transcript:
    """The session that is named, or chosen."""
    from whet.learning.distilling.rounds import session_of

    if options.file == STDIN:
        return piped_session(context)
    if options.file is not None:
        return session_of(options.file)
    if asks(options):
        from whet.interfaces.cli.commands._rounds import choose

        seen = choose(context)
        return session_of(seen.transcript)._replace(client=seen.client, session=seen.id)
    raise UsageError("usage", "FILE is missing.", hint="`whet distill --help` explains it.")


def _begun(context: Context, options: Namespace) -> tuple[Distillation, tuple[Entry, ...]]:
    """The first round for the session that is named, and what was left out of its transcript."""
    transcript = _session(context, options)
    model = "" if options.no_model else options.model
    _tell_model(context, options, model)
    return context.library.begin_distillation(transcript, model=model), transcript.report


def _tell_model(context: Context, options: Namespace, model: str | None) -> None:
    """Whoever waits at a terminal sees for whom."""
    name = context.library.workspace.config().settings.model if model is None else model
    if name and sys.stderr is not None and sys.stderr.isatty() and not (options.quiet or options.json):
        sys.stderr.write(f"Asking {clean(name)}…\n")
        sys.stderr.flush()


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The path of the skill; of a dry run its text."""
    name, version = answer["skill"], answer["version"]
    if options.dry_run:
        screen.line(answer["text"].rstrip("\n"))
        done = f"{name} would be new" if answer["created"] else f"{name} would get version {version}"
        done = done if answer["changes"] else f"{name} would stay as it is, with version {version}"
        files = f", with {plural(len(answer['files']), 'file')} beside it" if answer["files"] else ""
        screen.said.extend([f"{done}{files}.", *answer["warnings"]])
    else:
        created, improved = f"Created {name}, version {version}.", f"Improved {name} to version {version}."
        tell(answer, screen, created if answer["created"] else improved)
    if model := answer["model"]:
        refused = f"; {plural(len(model['refused']), 'thing')} it said did not hold" if model["refused"] else ""
        screen.said.append(f"{model['name']} helped with the words, for {model['tokens']:,} tokens{refused}.")
    found = [item for item in answer["findings"] if item["severity"] != "info"]
    if found:
        where = "--json" if options.dry_run else f"`whet validate {name}`"
        screen.said.append(f"The linter has {plural(len(found), 'remark')}; {where} shows them.")
    screen.said.extend(entry["message"] for entry in answer["report"])

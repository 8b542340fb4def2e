"""`whet transcript FILE`: what is read of a session, and what is known from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import STDIN, piped_session
from whet.interfaces.cli.commands._showing import grid
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_SHOWN = 200
"""Characters of an event that a line shows; --json has all."""
_GIVEN = ("command", "path", "query", "url", "skill")
"""Which argument of a call is shown; of a tool that has none of them, all."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "FILE is a session of Claude Code, Codex or Hermes, messages of OpenAI or Anthropic, Markdown, or a recording "
        "of Whet; - is standard input. Secrets are hidden, and nothing is written. A line is an event: what it is, the "
        "tool, and what was said, called or answered. --facts shows what `whet distill` and `whet learn` make of it "
        "instead. On a pipe, tabs stand between them."
    )
    parser.positional("file", "FILE", "The session.")
    parser.option("--facts", text="Show goal, inputs, steps, dead ends, corrections and tools instead.")


def run(context: Context, options: Namespace) -> Outcome:
    """Read it."""
    session = piped_session(context) if options.file == STDIN else options.file
    return Outcome(context.library.transcript(session, facts=options.facts))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each event, or for each fact."""
    if options.facts:
        grid(screen, ("FACT", "WHAT", "DETAIL"), [*_facts(answer["facts"])])
        from whet.learning.distilling.rounds import ENDED

        screen.said.append(ENDED[answer["facts"]["succeeded"]])
    else:
        grid(screen, ("EVENT", "TOOL", "WHAT"), [_event(event) for event in answer["events"]])
    where = " ".join(filter(None, (clean(answer["client"]), "session", clean(answer["session"]))))
    calls = sum(event["kind"] == "call" for event in answer["events"])
    failed = sum(event["failed"] for event in answer["events"])
    count = plural(len(answer["events"]), "event")
    screen.said.append(f"{where}: {count}, {plural(calls, 'call')} of tools, {failed} failed.")
    screen.said.extend(f"{entry['message']} [{entry['code']}]" for entry in answer["report"])


def _event(event: dict[str, Any]) -> tuple[str, str, str]:
    kind = "failed" if event["failed"] else event["kind"]
    given = event["given"]
    known = next((given[key] for key in _GIVEN if isinstance(given.get(key), str)), "")
    shown = known or event["text"] or ", ".join(f"{key}: {value}" for key, value in given.items())
    return kind, event["tool"] or event["about"], " ".join(shown.split())[:_SHOWN]


def _facts(facts: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    yield "goal", facts["goal"], ""
    for one in facts["parameters"]:
        yield "input", f"{{{one['name']}}}", one["example"]
    for one in facts["steps"]:
        yield "step", one["title"], one["criterion"]
    for one in facts["dead_ends"]:
        yield "dead end", one["said"], one["instead"].partition("\n")[0]
    for rule in facts["corrections"]:
        yield "rule", rule, ""
    for one in facts["tools"]:
        yield "tool", f"{one['tool']} {one['command']}".rstrip(), f"{one['times']} x"
    for path in facts["files"]:
        yield "file", path, ""

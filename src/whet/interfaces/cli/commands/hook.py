"""`whet hook EVENT --client CLIENT`: what existing agents call while they work.

A client's own call never comes here (`whet.interfaces.hooks.door` answers it); a person's does, who wants to know what
would happen, and so do calls from Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._changing import required
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean
from whet.interfaces.hooks.clients import CLIENTS, KINDS

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.api import Library
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "`whet connect` writes this command into a client's settings; nobody has to type it. What happened is read "
        "from standard input, as the client sends it, and what the client expects is printed. At a prompt, the few "
        "skills that fit are offered to the model; when a tool reads a skill, that is recorded; of every session is "
        "noted where its transcript lies and whether it was hard.\n\n"
        "A client is never disturbed: whatever happens, the exit code is 0 and nothing is said. `whet doctor` tells "
        "what failed. With --json the answer also says what failed here. WHET_HOOKS=off switches hooks off."
    )
    parser.positional("event", "EVENT", "What happened in the session.", choices=KINDS)
    parser.option("--client", metavar="CLIENT", choices=tuple(CLIENTS), text="Who tells of it, and in whose words.")


def run(context: Context, options: Namespace) -> Outcome:
    """Do what the hook does, and tell what failed."""
    from contextlib import ExitStack

    from whet.interfaces.hooks.answering import Hooks, told
    from whet.interfaces.hooks.door import is_off, read_input

    required(options, "hook", "client")
    if is_off(context.env):
        return Outcome({"success": True, "output": "", "off": True, "failure": None})
    here = context.library
    with ExitStack() as stack:

        def opened(directory: str) -> Library:
            if options.root or options.project or directory in ("", here.place.directory):
                return here
            return stack.enter_context(context.open_library(directory))

        hooks = Hooks(here.place.state, opened, noting=False)
        stack.callback(hooks.close)
        output, error = hooks.tried(options.client, options.event, read_input(0), here.place.directory)
    failure = None if error is None else dict(zip(("code", "message"), told(error), strict=True))
    return Outcome({"success": True, "output": output.decode("ascii"), "off": False, "failure": failure})


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The output as the client would get it."""
    if answer["output"]:
        screen.line(answer["output"].rstrip("\n"))
    if answer["failure"]:
        screen.said.append(f"Failed: {clean(answer['failure']['message'])}")

"""`whet test NAME`: a skill's own tests, in the sandbox, without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._showing import grid
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import clean, clean_block, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_LINES = 20
"""Lines of what a failed test printed."""


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Tests are what lies in tests/ of the skill: test_*.py, *_test.py, *.sh, and whatever else is executable. Each "
        "runs in the sandbox on a copy of the skill, without a network, for a minute at most; without a sandbox "
        "nothing is run. A test passes when it exits with 0; 77 says that it is skipped. Exits with 1 where one fails. "
        "On a pipe, each test is a line of status, seconds and path, with tabs between them; the last lines of what a "
        "failed one printed are on standard error."
    )
    parser.positional("name", "NAME", "The skill.")
    parser.option("--list", text="Only tell which tests there are.")


def run(context: Context, options: Namespace) -> Outcome:
    """Run them."""
    with Bar(options) as bar:
        context.library.progress = bar
        answer = context.library.run_tests(options.name, only_list=options.list)
    return Outcome(answer, 0 if answer["success"] else 1)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A row for each test, then what the failed ones printed."""
    tests = answer["tests"]
    if options.list:
        for test in tests:
            screen.line(clean(test["path"]))
        screen.said.append(f"{plural(len(tests), 'test')}.")
        return
    grid(
        screen,
        ("STATUS", "SECONDS", "TEST"),
        [(test["status"], f"{test['seconds']:.1f}", test["path"]) for test in tests],
    )
    for test in tests:
        if test["status"] not in ("passed", "skipped") and test["output"]:
            printed = [f"  {line}" for line in clean_block(test["output"]).rstrip("\n").split("\n")[-_LINES:]]
            if screen.tty:
                for line in ("", screen.paint(clean(test["path"]), "bold"), *printed):
                    screen.line(line)
            else:
                screen.said.extend([f"{clean(test['path'])} printed:", *printed])
    told = f"{plural(len(tests), 'test')}: {answer['passed']} passed, {answer['failed']} failed"
    screen.said.append(f"{told}, {answer['skipped']} skipped.")
    if not answer["success"]:
        screen.said.append(f"{clean(answer['error'])} [{answer['code']}]")
        screen.hints.append("--json has all that they printed.")

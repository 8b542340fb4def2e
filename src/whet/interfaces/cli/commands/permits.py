"""`whet permits --skill NAME --tool T --input JSON`: may a skill make this tool call?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._changing import STDIN, required
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Parser

_CODES = {"allow": 0, "ask": 1, "deny": 3}
_STYLES: dict[str, Style] = {"allow": "green", "ask": "yellow", "deny": "red"}
_LONGEST = 1024 * 1024


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The skill's allowed-tools are taken as a restriction: what they do not cover is denied, and so is every "
        "command of which nobody can be sure what it runs. A skill that declares no tools gets ask. Exits with 0 for "
        "allow, 1 for ask and 3 for deny. Paths are judged from the working directory, or from --project, and links "
        "are not resolved."
    )
    parser.option("--skill", metavar="NAME", text="The skill whose allowed-tools count.")
    parser.option("--grants", metavar="G", text="Take these allowed-tools instead of a skill's.")
    parser.option("--tool", metavar="T", text="The tool, as its client calls it.")
    parser.option("--input", metavar="JSON", text="The input of the tool; - is standard input.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for the decision."""
    required(options, "permits", "tool", "input")
    if (options.skill is None) == (options.grants is None):
        hint = "`whet permits --help` explains it."
        raise UsageError("usage", "Give --skill or --grants, one of them.", hint=hint)
    given = _given(options.input)
    if options.grants is None:
        answer = context.library.permits(options.skill, options.tool, given)
    else:
        answer = _try_grants(context, options, given)
    return Outcome(answer, _CODES[answer["decision"]])


def _try_grants(context: Context, options: Namespace, given: Any) -> dict[str, Any]:
    from whet.guard.permissions.deciding import permits, read_grants

    grants = read_grants(options.grants)
    cwd = os.path.abspath(options.project or os.getcwd())
    answer = permits(grants, options.tool, given, cwd=cwd, home=context.env.get("HOME", "")).to_json()
    if problems := [grant.problem for grant in grants if grant.problem]:
        answer["problems"] = problems
    return answer


def _given(text: str) -> Any:
    """The input, from the option or from standard input. A key that is there twice could mean two things."""
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    if text == STDIN:
        data = sys.stdin.buffer.read(_LONGEST + 1) if sys.stdin else b""
        if len(data) > _LONGEST:
            hint = "Give only the input of the tool call."
            raise UsageError("bad-tool-input", f"The input has more than {_LONGEST:,} bytes.", hint=hint)
        text = data.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        what = str(error).partition(":")[0].rstrip(".") or "it is nested too deeply"
        hint = 'Write it as {"command": "git status"}, with every key once.'
        raise UsageError(
            "bad-tool-input", f"The input of the tool is not JSON that can be used: {what}.", hint=hint
        ) from error


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The decision and why, in one line."""
    decision = answer["decision"]
    screen.line(f"{screen.paint(decision, _STYLES[decision])}: {clean(answer['reason'])}")
    screen.said.extend(answer.get("problems", ()))

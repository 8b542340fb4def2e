"""`whet index`: the list of skills that goes into a model's prompt, within its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.text import clean_block, plural
from whet.prompt.formats import FORMATS

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The text is never larger than its budget: descriptions are shortened first, then the skills that matter "
        "least are left out. What was cut is said on standard error. Give one of --budget, --tokens and --window. With "
        "--for and --limit, only skills that fit the message are listed: the variant for one turn."
    )
    parser.option("--budget", metavar="N", type=amount, text="At most this many characters (default 8,000).")
    parser.option("--tokens", metavar="N", type=amount, text="At most this many tokens.")
    parser.option("--window", metavar="N", type=amount, text="At most 2 % of a context window of this many tokens.")
    parser.option("--format", metavar="F", choices=tuple(FORMATS), default="bullet", text="Its shape (default bullet).")
    parser.option("--paths", text="Show each skill's file, for an agent that reads files itself.")
    parser.option("--no-rules", text="Leave out what a model is told about using the list.")
    parser.option("--limit", metavar="N", type=amount, text="At most this many skills.")
    parser.option(
        "--for",
        metavar="MESSAGE",
        dest="message",
        text="What the user said; what fits it stands first, described in full, when not all can be.",
    )


def run(context: Context, options: Namespace) -> Outcome:
    """Ask as the model would, here at the command line."""
    return Outcome(
        context.library.index(
            options.budget,
            tokens=options.tokens,
            window=options.window,
            format=options.format,
            rules=not options.no_rules,
            paths=options.paths,
            limit=options.limit,
            message=options.message,
            caller=context.caller._replace(model=True),
        )
    )


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The text and nothing else, also on a terminal; what it costs and lacks is talk."""
    text, report = answer["text"], answer["report"]
    if text:
        screen.line(clean_block(text).removesuffix("\n"))
        screen.said.append(_cost(report))
        if not (report["rules"] or options.no_rules):
            screen.said.append("The rules for the model did not fit.")
    elif report["total"]:
        screen.said.append(f"The budget is too small for any index; {plural(report['total'], 'skill')} not listed.")
        screen.hints.append("Give a larger one.")
    else:
        screen.said.append("There are no skills that a model may see.")
        screen.hints.append("`whet list --all` shows every skill, `whet roots` where they are looked for.")
    screen.said.extend(f"The root {path} does not exist." for path in answer.get("missing_roots", ()))


def _cost(report: dict[str, Any]) -> str:
    about = "about " if report["tokenizer"] == "estimate" else ""
    return (
        f"{plural(report['included'], 'skill')}, {plural(report['characters'], 'character')}, "
        f"{about}{plural(report['tokens'], 'token')}; "
        f"{report['shortened']:,} shortened; {report['omitted']:,} not listed."
    )

"""`whet duplicates [NAME]`: skills that are for the same job."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "Bodies are compared with names and descriptions, so skills for one job are found whatever they are called. "
        "With NAME, only what is like that skill. On a pipe, each pair is a line of score, both names and the words "
        "they share, with tabs between them. Nothing is changed."
    )
    parser.positional("name", "NAME", "Only what is like this skill.", optional=True)
    parser.option("--threshold", metavar="T", type=share, text="How alike, above 0 and up to 1 (default: 0.5).")
    parser.option("--limit", metavar="N", type=amount, default=50, text="Show at most this many pairs (default: 50).")


def share(text: str) -> float:
    """A number above zero and up to one, for argparse's `type`."""
    try:
        value = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None
    if 0 < value <= 1:
        return value
    raise ArgumentTypeError(f"{text!r} is not above 0 and up to 1")


def run(context: Context, options: Namespace) -> Outcome:
    """Compare."""
    return Outcome(context.library.duplicates(options.name, options.threshold, options.limit))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A line for each pair; what to do about them."""
    from whet.routing.duplicates import THRESHOLD

    pairs = answer["pairs"]
    rows = [(f"{pair['score']:.2f}", pair["one"], pair["other"], ", ".join(pair["shared"])) for pair in pairs]
    if rows and screen.tty:
        screen.table(("SCORE", "ONE", "OTHER", "SHARED WORDS"), rows)
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
    for entry in answer["report"]:
        screen.said.append(f"{entry['skill']} is judged by its name and description: {entry['message']}")
    near = [pair for pair in pairs if pair["score"] >= THRESHOLD]
    screen.said.append(f"{_found(answer, near, options.name)} among {plural(answer['total'], 'skill')}.")
    if near:
        other = clean(near[0]["other"])
        screen.hints.append(
            f"`whet show {other}` shows one of them; move what is worth keeping into the better one and run "
            f"`whet delete` on the other. `whet curate` proposes merges of what an agent wrote."
        )


def _found(answer: dict[str, Any], near: list[dict[str, Any]], name: str | None) -> str:
    """How much was found; what is below the usual threshold is alike and no more."""
    alike = answer["count"] - len(near)
    if name is not None:
        return f"{plural(answer['count'], 'skill')} like {clean(name)}"
    if not alike:
        return plural(len(near), "near-duplicate pair")
    also = f"{plural(len(near), 'near-duplicate pair')} and " if near else ""
    return f"{also}{plural(alike, 'pair')} {'that is' if alike == 1 else 'that are'} alike"

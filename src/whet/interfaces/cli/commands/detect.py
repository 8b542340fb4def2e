"""`whet detect MESSAGE`: whether a skill should come up for a message by itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.commands._message import configure_message, message_of, say_notes, share
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.progress import Bar
from whet.interfaces.cli.text import clean

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Parser
    from whet.library.visibility import Caller

_STYLES: dict[str, Style] = {"must": "green", "may": "yellow", "none": "dim"}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "must: the skill should be loaded. may: it should be offered to the model, which decides. none: nothing should "
        "come up. Skills that only a person may invoke come up when the message names them (/name, $name). On a pipe, "
        "the decision is a line of must, may or none, name, confidence from 0 to 1 and evidence, with tabs between "
        "them; every further line is another skill that may come up."
    )
    configure_message(parser)
    parser.option(
        "--file",
        metavar="PATH",
        action="append",
        default=[],
        text="A file that is in play; skills for other files stay away. May be given more than once.",
    )


def run(context: Context, options: Namespace) -> Outcome:
    """Ask the library."""
    library, message = context.library, message_of(options.message)
    with Bar(options) as bar:
        library.progress = bar
        return Outcome(library.detect(message, caller=_caller(context, options.file)))


def _caller(context: Context, paths: Sequence[str]) -> Caller:
    """Who asks, with the files that are in play, relative to the project."""
    if not paths:
        return context.caller
    lookout = context.library.lookout
    repository = lookout.survey().repository
    base = repository.root if repository else lookout.place.directory
    files = (os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/") for path in paths)
    return context.caller._replace(files=tuple(files))


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """The decision, then the others."""
    rows = [("may", item["name"], item["confidence"], item["evidence"]) for item in answer["others"]]
    decision = answer["decision"]
    for word, name, confidence, evidence in (
        (decision, answer["skill"] or "", answer["confidence"], answer["evidence"]),
        *rows,
    ):
        if not screen.tty:
            screen.line("\t".join(map(clean, (word, name, f"{confidence:.4f}", "; ".join(evidence)))))
            continue
        told = f"{clean(name)}  {share(confidence)}" if name else "no skill should come up"
        screen.line(f"{screen.paint(word, _STYLES[word])}  {screen.paint(told, 'bold') if word == decision else told}")
        for sentence in evidence:
            screen.paragraph(sentence, 6)
    say_notes(answer, screen)

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
    from collections.abc import Iterator, Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Parser
    from whet.library.visibility import Caller

_FAINTEST = 0.01
"""What comes no closer than this is not told of."""
_STYLES: dict[str, Style] = {"must": "green", "may": "yellow", "none": "dim"}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "must: the skill should be loaded. may: it should be offered to the model, which decides. none: nothing should "
        "come up. Skills that only a person may invoke come up when the message names them (/name, $name). --skill "
        "tells of one skill what speaks for it and against it, and what comes before it. On a pipe, the decision is a "
        "line of must, may or none, name, confidence from 0 to 1 and evidence, with tabs between them; every further "
        "line is another skill that may come up, and one that begins with `about` is the skill that --skill names.\n\n"
        "`whet find` shows what fits less well, too. `whet feedback` tells when an answer was right or wrong; `whet "
        "eval triggers` measures many messages at once."
    )
    configure_message(parser)
    parser.option("--skill", metavar="NAME", text="Tell why this skill comes up, or why it does not.")
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
        return Outcome(library.detect(message, caller=_caller(context, options.file), skill=options.skill))


def _caller(context: Context, paths: Sequence[str]) -> Caller:
    """Who asks, with the files that are in play, relative to the project."""
    if not paths:
        return context.caller
    workspace = context.library.workspace
    repository = workspace.config().repository
    base = repository.root if repository else workspace.place.directory
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
    if "about" in answer:
        _tell_about(answer["about"], screen)
    nearest = answer["nearest"]
    if nearest and nearest["confidence"] >= _FAINTEST:
        screen.hints.append(
            f"Nearest: {nearest['name']} ({share(nearest['confidence'])}). `whet find` shows more; `whet feedback` "
            "teaches."
        )
    say_notes(answer, screen)


def _tell_about(about: dict[str, Any], screen: Screen) -> None:
    """Why one skill comes up, or why it does not."""
    sentences = [*about["for"], *(f"against it: {sentence}" for sentence in about["against"]), *_place(about)]
    if not screen.tty:
        screen.line("\t".join(map(clean, ("about", about["name"], f"{about['confidence']:.4f}", "; ".join(sentences)))))
        return
    screen.line()
    screen.line(screen.paint(f"{clean(about['name'])}  {share(about['confidence'])}  {about['decision']}", "bold"))
    for sentence in sentences:
        screen.paragraph(sentence, 6)


def _place(about: dict[str, Any]) -> Iterator[str]:
    """Where a skill stands, and what stands in its way."""
    if about["rank"] is None:
        yield "nothing in the message speaks for it"
    else:
        yield f"rank {about['rank']}"
    if about["instead"]:
        yield (
            f"{about['instead']} comes up instead" if about["decision"] == "none" else f"{about['instead']} comes first"
        )
    elif about["ahead"]:
        yield f"{about['ahead']['name']} ({share(about['ahead']['confidence'])}) ranks before it"
    if about["hidden"]:
        yield f"it is not offered: {about['hidden']['message']} {about['hidden']['hint']}"
    elif about["decision"] != "must":
        needed = about["needed"]
        yield f"it takes {share(needed['may'])} to be offered and {share(needed['must'])} to come up by itself"

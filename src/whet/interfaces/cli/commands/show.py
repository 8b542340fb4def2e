"""`whet show NAME`: what a skill is, what it says, what it brings along and what it still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import number
from whet.interfaces.cli.text import clean, clean_block

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_LABEL = 15


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = "A name may be qualified, such as user:deploy, or be the path of a skill in the library."
    parser.positional("name", "NAME", "The skill.")
    parser.option("--file", metavar="P", text="Show this file of the skill, such as references/guide.md.")
    parser.option("--page", metavar="N", type=number, default=1, text="Which page of a long text.")


def run(context: Context, options: Namespace) -> Outcome:
    """Ask for tier 2, or for tier 3."""
    return Outcome(context.library.view(options.name, options.file, options.page, caller=context.caller))


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """The text, and on its first page everything around it."""
    whole = options.file is None and answer["page"] == 1
    if whole:
        _head(answer, screen)
    screen.line(clean_block(answer["content"]).strip("\n") if whole else clean_block(answer["content"]).rstrip("\n"))
    if whole:
        _foot(answer, screen)
    pages = answer.get("pages", 1)
    if pages > 1:
        screen.said.append(f"Page {answer['page']} of {pages}; others with --page.")


def _head(answer: dict[str, Any], screen: Screen) -> None:
    screen.line(screen.paint(clean(answer["name"]), "bold", "cyan"))
    screen.paragraph(answer["description"])
    screen.line()
    for label, text in _facts(answer, screen):
        screen.line(f"{screen.paint(label.ljust(_LABEL), 'dim')}{text}")
    _rule(screen)


def _facts(answer: dict[str, Any], screen: Screen) -> Iterator[tuple[str, str]]:
    client = answer["origin"]["client"]
    yield "scope", f"{answer['scope']} ({client})" if client else answer["scope"]
    yield "path", screen.place(answer["path"])
    yield "digest", answer["digest"]
    for key in ("version", "category", "license", "compatibility"):
        if answer[key]:
            yield key, clean(str(answer[key]))
    for label, key in (("tags", "tags"), ("related", "related_skills"), ("tools", "allowed_tools")):
        if answer[key]:
            yield label, clean(", ".join(answer[key]))
    if "hidden" in answer:
        yield (
            "hidden",
            screen.paint(f"{clean(answer['hidden']['message'])} {clean(answer['hidden']['hint'])}", "yellow"),
        )
    yield "ready", screen.paint("yes", "green") if answer["ready"] else screen.paint("no, see below", "yellow")


def _foot(answer: dict[str, Any], screen: Screen) -> None:
    files = answer["files"]
    if len(files) > 1 or answer["missing"] or answer["setup"]:
        _rule(screen)
    if len(files) > 1:
        screen.line(screen.paint("Files", "bold"))
        for file in files:
            screen.line(f"{file['size']:>10,}  {clean(file['path'])}")
    if answer["missing"]:
        screen.line(screen.paint("Missing", "bold"))
        for item in answer["missing"]:
            help_ = f"  {clean(item['help'])}" if item["help"] else ""
            screen.line(f"  {screen.paint(clean(item['kind']), 'yellow')} {clean(item['name'])}{help_}")
    if answer["setup"]:
        screen.line(screen.paint("Setup", "bold"))
        screen.paragraph(answer["setup"], 2)
    for note in answer["diagnostics"]:
        screen.said.append(f"{note['severity']}: {note['message']} [{note['code']}]")


def _rule(screen: Screen) -> None:
    screen.line(screen.paint("─" * (screen.columns if screen.tty else 40), "dim"))

"""`list`, `show`, `roots`: the skills there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.interfaces.cli.context import Command
from whet.interfaces.cli.parser import number
from whet.interfaces.cli.text import clean, clean_block, pad, plural, width

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.values import Json


_NAME_SHARE = 0.4
"""Of the terminal's width; names longer than that do not push the descriptions of the others to the right."""


def configure_list(parser: Parser) -> None:
    parser.details = "On a pipe, each skill is a line with its name, a tab and its description."
    parser.option("--category", metavar="C", text="Only this category and those below it.")
    parser.option("--query", metavar="Q", text="Only skills that match these words, the best first.")
    parser.option("--limit", metavar="N", type=number, text="At most this many.")
    parser.option("--cursor", metavar="CURSOR", text="Go on behind this one, as the list before told.")
    parser.option("--all", text="Also the hidden ones, with the reason.")


def run_list(context: Context, options: Namespace) -> Answer:
    return context.library.skills(
        options.category,
        options.query,
        options.limit,
        options.cursor,
        caller=context.caller,
        include_hidden=options.all,
    )


def render_list(answer: Json, screen: Screen, options: Namespace) -> None:
    """A table for a terminal, lines for a program."""
    skills = answer["skills"]
    if screen.tty:
        _render_table(skills, answer["categories"], screen, grouped=not options.query)
    else:
        for skill in skills:
            cells = [
                skill["name"],
                skill["description"],
                *([f"hidden: {skill['hidden']}"] if "hidden" in skill else []),
            ]
            screen.line("\t".join(map(clean, cells)))
    if not skills:
        screen.say(answer["hint"])
    screen.say(*(f"The root {path} does not exist." for path in answer.get("missing_roots", ())))
    if answer["next"]:
        screen.say(f"{answer['count']:,} of {answer['total']:,}; more with --cursor '{answer['next']}'.")
    if aside := "; ".join(_omissions(answer)):
        screen.say(f"{aside}.")


def _render_table(skills: list[Json], categories: list[Json], screen: Screen, *, grouped: bool) -> None:
    """By category, or in the order they come."""
    by_category: dict[str, list[Json]] = {}
    for skill in skills:
        by_category.setdefault(skill["category"] if grouped else "", []).append(skill)
    descriptions = {category["name"]: category["description"] for category in categories}
    grouped = len(by_category) > 1
    indent = "  " if grouped else ""
    names = [width(clean(skill["name"])) for skill in skills]
    most = int(screen.columns * _NAME_SHARE)
    column = max((columns for columns in names if columns <= most), default=0)
    for number_, category in enumerate(sorted(by_category)):
        if grouped and number_:
            screen.line()
        if grouped and category:
            about = descriptions.get(category, "")
            title = clean(category)
            about = f"  {screen.fit(about, width(title) + 2)}" if about else ""
            screen.line(screen.paint(title, "bold") + screen.paint(about, "dim"))
        for skill in by_category[category]:
            screen.line(indent + _format_row(skill, column, len(indent), screen))


def _format_row(skill: Json, column: int, indent: int, screen: Screen) -> str:
    name = pad(clean(skill["name"]), column)
    mark = f"[{skill['hidden']}] " if "hidden" in skill else "" if skill["ready"] else "[not ready] "
    description = screen.fit(skill["description"], indent + width(name) + 2 + len(mark))
    marked = screen.paint(mark, "dim" if "hidden" in skill else "yellow")
    return f"{screen.paint(name, 'cyan')}  {marked}{description}".rstrip()


def _omissions(answer: Json) -> Iterator[str]:
    """What is not in the list, and what to do about it."""
    if count := answer.get("waiting"):
        yield f"{plural(count, 'project skill')} waiting for trust (`whet trust`)"
    if count := answer.get("hidden"):
        yield f"{count:,} hidden (`whet list --all`)"
    if count := answer.get("shadowed"):
        yield f"{count:,} shadowed (`whet doctor`)"
    if count := answer.get("left_out"):
        yield f"{count:,} left out (`whet doctor`)"


_LABEL = 15


def configure_show(parser: Parser) -> None:
    parser.details = "A name may be qualified, such as user:deploy, or be the path of a skill in the library."
    parser.positional("name", "NAME", "The skill.")
    parser.option("--file", metavar="P", text="Show this file of the skill, such as references/guide.md.")
    parser.option("--page", metavar="N", type=number, default=1, text="Which page of a long text.")


def run_show(context: Context, options: Namespace) -> Answer:
    """Ask for tier 2, or for tier 3."""
    view: Answer = context.library.read(options.name, options.file, options.page, caller=context.caller)
    return view


def render_show(answer: Json, screen: Screen, options: Namespace) -> None:
    """The text, and on its first page everything around it."""
    whole = options.file is None and answer["page"] == 1
    if whole:
        _render_head(answer, screen)
    screen.line(clean_block(answer["content"]).strip("\n") if whole else clean_block(answer["content"]).rstrip("\n"))
    if whole:
        _render_foot(answer, screen)
    pages = answer.get("pages", 1)
    if pages > 1:
        screen.say(f"Page {answer['page']} of {pages}; others with --page.")


def _render_head(answer: Json, screen: Screen) -> None:
    screen.line(screen.paint(clean(answer["name"]), "bold", "cyan"))
    screen.paragraph(answer["description"])
    screen.line()
    screen.facts(_facts(answer, screen), _LABEL)
    _render_rule(screen)


def _facts(answer: Json, screen: Screen) -> Iterator[tuple[str, str]]:
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


def _render_foot(answer: Json, screen: Screen) -> None:
    files = answer["files"]
    if len(files) > 1 or answer["missing"] or answer["setup"]:
        _render_rule(screen)
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
        screen.say(f"{note['severity']}: {note['message']} [{note['code']}]")


def _render_rule(screen: Screen) -> None:
    screen.line(screen.paint("─" * (screen.columns if screen.tty else 40), "dim"))


def configure_roots(parser: Parser) -> None:
    parser.details = "The root that comes first wins when two skills have the same name."


def run_roots(context: Context, _options: Namespace) -> Answer:
    return context.library.settings.roots()


def render_roots(answer: Json, screen: Screen, _options: Namespace) -> None:
    rows = []
    for root in answer["roots"]:
        scope = f"plugin {root['namespace']}" if root["namespace"] else root["scope"]
        state = "missing" if not root["exists"] else "trusted" if root["trusted"] else "not trusted"
        rows.append((scope, root["client"], str(root["skills"]), state, screen.place(root["path"])))
    if rows:
        screen.table(("SCOPE", "CLIENT", "SKILLS", "STATE", "PATH"), rows)
    if any(not root["trusted"] and root["skills"] for root in answer["roots"]):
        screen.hint("Look at the project's skills, then run `whet trust`.")


COMMANDS = {
    "list": Command(configure_list, run_list, render_list),
    "show": Command(configure_show, run_show, render_show),
    "roots": Command(configure_roots, run_roots, render_roots),
}

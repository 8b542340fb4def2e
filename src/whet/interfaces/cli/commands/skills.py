"""`list`, `show`, `roots`: the skills in the library."""

from __future__ import annotations

import os

from whet.errors import NotFoundError, UsageError
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import number
from whet.interfaces.cli.text import clean, clean_block, is_printable, name_revision, pad, plural, width
from whet.library.clients import CLIENTS, present_clients
from whet.library.listing import LIST_SCOPES, STATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.api.settings import Roots
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.library.card import Card
    from whet.library.client_lists import ClientList
    from whet.library.disclosure import FileView, SkillView
    from whet.library.listing import Aside, Skills
    from whet.library.roots import Root
    from whet.sources.install.installer import InspectedSkill, Inspection


_AT_ONCE = 1000
"""Number of lines that are cleaned for a terminal at once."""
LISTED = {"always": "always listed", "name": "listed by name only", "manual": "not listed for models"}
"""Listing modes of a skill, in words."""
_NAME_SHARE = 0.4
"""Share of the terminal's width; longer names do not shift the descriptions of the others."""


def configure_list(parser: Parser) -> None:
    parser.details = (
        "On a terminal, Whet groups skills by directory. In a pipe, each line has name and description, separated by a "
        "tab; with --all, also the path, the clients that load the skill, and why it is hidden."
    )
    parser.option("--category", metavar="C", text="Only this category and those below it.")
    parser.option("--query", metavar="Q", text="Only skills that match these words, best match first.")
    parser.option("--scope", metavar="S", choices=LIST_SCOPES, text="Only skills of this scope.")
    parser.option("--state", metavar="S", choices=STATES, text="Only skills in this state.")
    parser.option("--limit", metavar="N", read=number, text="Show at most N.")
    parser.option("--cursor", metavar="CURSOR", text="Start after this entry (the `next` value of the previous page).")
    parser.option(
        "-a", "--all", text="Include hidden and shadowed skills, with the reason, and say which clients load each."
    )
    text = "Show the list that a client, such as claude-code, gives its model here."
    parser.option(
        "--client",
        metavar="NAME",
        text=text,
        known=tuple(word for client in CLIENTS for word in (client.name, *client.aliases)),
    )


def run_list(context: Context, options: Namespace) -> Answer:
    if options.client:
        if options.category or options.query or options.limit or options.cursor or options.scope or options.state:
            from whet.interfaces.cli.arguments import misuse

            raise misuse("list", "`--client` takes no filter, query or page.")
        found = context.library.clients(options.client)[0]
        answer = Answer(found, render_client_list)
        used = [client.name for client in present_clients(context.library.workspace.place)]
        return answer if found.client in used else answer.hint(f"{found.title} does not seem to be installed here.")
    skills = context.library.skills(
        options.category,
        options.query,
        options.limit,
        options.cursor,
        caller=context.caller,
        include_hidden=options.all,
        scope=options.scope,
        state=options.state,
        clients=options.all or options.verbose,
    )
    return Answer(skills, render_list)


_SMALL_WINDOW = 100_000
"""Tokens in the context window of any model in use."""


def render_client_list(found: ClientList, screen: Screen, options: Namespace) -> None:
    """Print the skills as the client shows them; with --all, also those it leaves out."""
    screen.grid(("NAME", "DESCRIPTION"), [(skill.name, skill.description) for skill in found.skills])
    count = plural(len(found.skills), "skill")
    if found.version:
        screen.say(f"{found.title} lists {count} here (tested with {found.title} {found.version}).")
    else:
        screen.say(f"{found.title} should list {count} here (not tested with {found.title} itself).")
    if found.window > _SMALL_WINDOW:
        screen.say(f"With a context window below about {found.window:,} tokens, it {found.over}.")
    elif not found.over and screen.verbose:
        screen.say(f"It is not known whether {found.title} shortens a long list.")
    if found.left_out and not (options.all or screen.verbose):
        screen.hint(f"It leaves out {len(found.left_out):,}; see why with `whet list --client {found.client} --all`.")
    elif found.left_out:
        screen.line()
        screen.line(screen.paint("Left out", "bold"))
        for skill in found.left_out:
            place = screen.paint(screen.place(os.path.dirname(skill.path)), "dim")
            screen.line(f"  {clean(skill.name)}: {clean(skill.reason)}  {place}")


_NAMED_CLIENTS = 2
"""Number of clients that are named for each skill; more than these are counted."""


def _summarize(verdicts: tuple[tuple[str, str], ...]) -> str:
    """Describe the clients that load a skill, in as few words as possible."""
    loads = [name for name, verdict in verdicts if verdict.startswith("yes")]
    others = [name for name, verdict in verdicts if not verdict.startswith("yes")]
    if not verdicts or not loads:
        return "none" if verdicts else ""
    if len(loads) <= _NAMED_CLIENTS:
        return ", ".join(loads)
    return f"all but {', '.join(others)}" if 0 < len(others) <= _NAMED_CLIENTS else f"{len(loads)} of {len(verdicts)}"


def render_list(skills: Skills, screen: Screen, options: Namespace) -> None:
    """Print a table for a terminal, lines for a program."""
    if screen.tty and screen.verbose:
        _render_entries(skills, screen)
    elif screen.tty:
        _render_table(skills, screen, grouped=not options.query, headed=not options.root)
    else:
        for at in range(0, len(skills), _AT_ONCE):
            part = skills[at : at + _AT_ONCE]
            lines = [f"{card.full_name}\t{_described(card)}" for card in part]
            if options.all or not is_printable("".join(lines).replace("\t", "", len(part))):
                lines = [_format_line(card, skills if options.all else None) for card in part]
            screen.line("\n".join(lines))
    if not skills and (options.query or not (skills.aside.waiting or skills.aside.hidden)):
        screen.say(skills.hint)
    screen.say(*(f"The root {path} does not exist." for path in skills.aside.missing_roots))
    if screen.tty and options.all and skills and not options.root and not skills.verdicts:
        screen.say("Whet found no client here, so it cannot say which client loads which skill.")
    if screen.tty and any(_is_unlinked(card, skills) for card in skills):
        screen.hint("`whet sync` links your skills to clients that do not look in ~/.agents/skills.")
    if skills.next:
        screen.say(f"{len(skills):,} of {skills.total:,}; see more with --cursor '{skills.next}'.")
    if waiting := skills.aside.waiting:
        count, its, them = plural(waiting, "project skill"), *(("its", "it") if waiting == 1 else ("their", "them"))
        screen.say(f"Whet ignores {count} until you trust the project (`whet guard trust`).")
        shows = "" if options.all else f"; `whet list --all` shows {them}"
        screen.say(f"Clients that read {its} directory load {them} anyway{shows}.")
    if marked := sum(card.verdict != "" for card in skills):
        screen.say(f"Whet does not offer {plural(marked, 'marked skill')} to models (`whet doctor`).")
    if aside := "; ".join(_omissions(skills.aside)):
        screen.say(f"{aside}.")


def _is_unlinked(card: Card, skills: Skills) -> bool:
    """Return whether a skill is in your own directory, is not found by a client used here, and can be synced."""
    own = card.scope == "user" and card.root.client == "agents"
    if not own or card.hidden or card.draft or card.path not in skills.verdicts:
        return False
    from whet.library.client_lists import ELSEWHERE

    return any(verdict == ELSEWHERE for _, verdict in skills.verdicts[card.path])


def _described(card: Card) -> str:
    """Return a skill's description, after the verdict if the guard blocks it."""
    return f"[{card.verdict}] {card.description}" if card.verdict else card.description


def _format_line(card: Card, whole: Skills | None) -> str:
    """Return name and description; with the `whole` library, also origin, clients and the reason why it is hidden."""
    cells = [card.full_name, card.description if whole else _described(card)]
    if whole is not None:
        loads = [name for name, verdict in whole.verdicts.get(card.path, ()) if verdict.startswith("yes")]
        cells += [_origin(card), ", ".join(loads), card.mark]
    return "\t".join(map(clean, cells))


def _render_entries(skills: Skills, screen: Screen) -> None:
    """Print everything about each skill."""
    for number_, card in enumerate(skills):
        if number_:
            screen.line()
        states = [card.mark, LISTED.get(card.listing, ""), "" if card.ready else "not ready"]
        about = ", ".join(filter(None, (_origin(card), *states)))
        screen.line(f"{screen.paint(clean(card.full_name), 'bold', 'cyan')}  {screen.paint(clean(about), 'dim')}")
        screen.line(f"  {screen.place(card.location)}")
        screen.paragraph(card.description, 2)
        if told := skills.verdicts.get(card.path):
            screen.paragraph("; ".join(f"{name}: {verdict}" for name, verdict in told), 11, "  clients: ")


def _origin(card: Card) -> str:
    """Return the owner of the skill's directory: a client, a plugin, or a scope."""
    root = card.root
    if root.namespace:
        return f"plugin {root.namespace}"
    return root.scope if root.client in ("", "agents") else root.client


def _render_table(skills: Skills, screen: Screen, *, grouped: bool, headed: bool) -> None:
    """Print the skills by root and category; with a query, in the given order.

    A root has a heading if it is `headed`, or one of several.
    """
    places: dict[tuple[int, str, str], dict[str, list[Card]]] = {}
    for card in skills:
        place, category = (_name_place(card.root), card.category) if grouped else ((0, "", ""), "")
        places.setdefault(place, {}).setdefault(category, []).append(card)
    most = int(screen.columns * _NAME_SHARE)
    name = max((columns for card in skills if (columns := width(clean(card.full_name))) <= most), default=0)
    origins = {} if grouped else {card.path: _origin(card) for card in skills}
    clients = {path: _summarize(told) for path, told in skills.verdicts.items()}
    several = (("IN", {} if len({*origins.values()}) == 1 else origins), ("LOADED BY", clients))
    beside = [(head, cells, max(map(width, (head, *cells.values())))) for head, cells in several if any(cells.values())]
    about = {category.name: category.description for category in skills.categories}
    headed = grouped and (headed or len(places) > 1)
    indent = "  " if headed else ""
    heads = "".join(f"{pad(head, columns)}  " for head, _, columns in beside)
    if beside:
        name = max(name, width("SKILL"))
        heads = screen.paint(f"{indent}{pad('SKILL', name)}  {heads}DESCRIPTION", "bold")
    for number_, (place, categories) in enumerate(sorted(places.items())):
        if headed:
            _, title, path = place
            screen.line("\n" * bool(number_) + _format_heading(title, screen.place(path), "", screen))
        if heads and not number_:
            screen.line(heads)
        for at, category in enumerate(sorted(categories)):
            if at:
                screen.line()
            if category and len(categories) > 1:
                screen.line(_format_heading(category, about.get(category, ""), indent, screen))
            inner = f"{indent}  " if len(categories) > 1 else indent
            for card in categories[category]:
                told = "".join(f"{pad(clean(cells.get(card.path, '')), columns)}  " for _, cells, columns in beside)
                screen.line(inner + _format_row(card, name, len(inner), screen, told))


def _name_place(root: Root) -> tuple[int, str, str]:
    """Return the position of a root in the list, its title, and its path."""
    match root.scope:
        case "plugin":
            return 4, f"Plugin {root.namespace}", ""
        case "project":
            return 0, "This project", root.path
        case "user" if root.client in ("", "agents"):
            return 1, "Your skills", root.path
        case "user":
            return 2, next((one.title for one in CLIENTS if one.name == root.client), root.client), root.path
        case scope:
            return 3, "Your organization" if scope == "org" else "Another directory", root.path


def _format_heading(title: str, about: str, indent: str, screen: Screen) -> str:
    title = indent + clean(title)
    about = f"  {screen.fit(about, width(title) + 2)}" if about else ""
    return screen.paint(title, "bold") + screen.paint(about, "dim")


def _format_row(card: Card, column: int, indent: int, screen: Screen, told: str) -> str:
    name = pad(clean(card.full_name), column)
    state = card.mark or ("" if card.ready else "not ready")
    mark = f"[{state}] " if state else ""
    description = screen.fit(card.description, indent + width(name) + 2 + width(told) + len(mark))
    style: Style = "red" if card.verdict else "dim" if card.hidden else "yellow"
    marked = screen.paint(told, "dim") + screen.paint(mark, style)
    return f"{screen.paint(name, 'cyan')}  {marked}{description}".rstrip()


def _omissions(aside: Aside) -> Iterator[str]:
    """Yield sentences about skills that are not in the list, and how to see them."""
    if aside.hidden:
        yield f"{aside.hidden:,} hidden (`whet list --all`)"
    if aside.left_out:
        yield f"{aside.left_out:,} left out (`whet doctor`)"


_LABEL = 15


def configure_show(parser: Parser) -> None:
    parser.example("whet show pdf", "one of your skills")
    parser.example("whet show pdf --file references/forms.md", "one of its files")
    parser.example("whet show anthropics/skills", "the skills of a source")
    parser.example("whet show anthropics/skills --skill pdf", "one skill of a source")
    parser.details = (
        "NAME can also be a qualified name, such as user:deploy, or the path of a skill in the library. Anything else "
        "that `whet install` accepts is a SOURCE: Whet lists its skills or, for one skill, shows the files, the "
        "findings and what the policy decides. It writes nothing."
    )
    text = "The skill, or a source such as owner/repository; without it, you choose from a list of skills."
    parser.positional("name", "NAME|SOURCE", text, optional=True)
    text = "Only this skill of SOURCE, or several with commas; can be repeated."
    parser.option("--skill", metavar="S", many=True, default=[], text=text)
    parser.option("--file", metavar="P", text="Show this file of the skill, such as references/guide.md.")
    parser.option("--page", metavar="N", read=number, default=1, text="The page of a long text.")


def run_show(context: Context, options: Namespace) -> Answer:
    """Show a skill (tier 2), or one of its files (tier 3)."""
    if options.name is None:
        from whet.interfaces.cli.picker import choose_skills

        [options.name] = choose_skills(context, options, "show", "Show which skill?")
    name, file, page = options.name, options.file, options.page
    if options.skill:
        if page > 1:
            from whet.interfaces.cli.arguments import misuse

            raise misuse("show", "`--skill` does not take `--page`.")
        return inspect_source(context, options)
    try:
        view = context.library.read(name, file, page, caller=context.caller, count=False)
    except NotFoundError as error:
        if error.code != "skill-not-found" or page > 1 or not _may_be_source(name):
            raise
        try:
            return inspect_source(context, options)
        except UsageError:
            if "/" in name or os.path.lexists(name):
                raise
            raise error from None
    if file is None:
        from whet.sources.lock.pins import read_entry, read_pin

        workspace, entry = context.library.workspace, read_entry(view.card)
        view = view._replace(pin=read_pin(view.card, workspace, entry))
        if entry:
            from whet.sources.refs.parse import show_source

            # notes of other tools in a skill are not edits: that is checked only if the digests differ
            differs = view.digest != entry.digest and context.library.sources.installation(view.card)
            view = view._replace(
                source=show_source(entry.source, workspace.place),
                revision=entry.checkout or entry.revision,
                edited=bool(differs and differs.edited),
            )
        if lists := context.library.clients(only=view.card):
            from whet.library.client_lists import judge_skills

            view = view._replace(verdicts=judge_skills(lists)(view.card))
    return Answer(view, render_file if file is not None or page > 1 else render_show)


def _may_be_source(text: str) -> bool:
    """Return whether this may be a source of skills; a plain name is a skill's."""
    return "/" in text or ":" in text or text.startswith((os.curdir, "~")) or os.path.lexists(text)


def inspect_source(context: Context, options: Namespace) -> Answer:
    """Show the skills of a source, or some of them in full."""
    from whet.interfaces.cli.arguments import chosen_skills
    from whet.interfaces.cli.terminal import progress

    with progress(context, options) as library:
        found = library.sources.inspect(options.name, chosen_skills(options))
    if options.file is None:
        return Answer(found, render_inspection)
    if len(found.inspected) != 1:
        from whet.interfaces.cli.arguments import misuse

        names = ", ".join(offer.name for offer in found.skills)
        raise misuse("show", f"`--file` needs one skill; choose it with `--skill`: {names}.")
    (skill,) = found.inspected
    return Answer(skill.read(options.file), render_source_file, key="content")


def render_source_file(text: str, screen: Screen, _options: Namespace) -> None:
    screen.line(clean_block(text).rstrip("\n"))


def render_inspection(found: Inspection, screen: Screen, _options: Namespace) -> None:
    """Print the list, or the skills that were inspected."""
    from whet.interfaces.cli.rendering import describe_source

    for skill in found.inspected:
        _render_inspected(skill, screen)
    if not found.inspected:
        rows = [(offer.name, offer.version, offer.path, offer.description) for offer in found.skills]
        screen.table(("NAME", "VERSION", "PATH", "DESCRIPTION"), rows)
    revision = f", {name_revision(found.revision, found.checkout)}" if found.revision else ""
    shown = f"{clean(found.shown)}{clean(revision)}, {describe_source(found.source, found.trust, found.checkout)}"
    screen.say(f"{shown}: {plural(len(found.skills), 'skill')}.")
    screen.say(*(note.message for note in found.notes))


def _render_inspected(skill: InspectedSkill, screen: Screen) -> None:
    from whet.interfaces.cli.rendering import DECISIONS, VERDICTS, render_findings, render_text

    offer, (scan, decision) = skill.offer, skill.judgement
    screen.line(screen.paint(clean(f"{offer.name} {offer.version}".rstrip()), "bold"))
    screen.paragraph(offer.description, 2)
    for file in skill.files:
        mark = "link" if file.link else "run" if file.executable else ""
        screen.line(f"  {file.size:>9,}  {mark:<4}  {clean(file.path)}")
    verdict = screen.paint(decision.verdict, VERDICTS[decision.verdict])
    action = screen.paint(decision.action, DECISIONS[decision.action])
    lead = f"  {verdict}, {action}: "
    screen.paragraph(decision.reason, len(f"  {decision.verdict}, {decision.action}: "), lead)
    render_findings(scan.findings, offer.path, screen)
    _render_rule(screen)
    render_text(skill.instructions, screen)
    _render_rule(screen)


def render_file(view: FileView | SkillView, screen: Screen, _options: Namespace) -> None:
    screen.line(clean_block(view.content).rstrip("\n"))
    _render_pages(view, screen)


def render_show(view: SkillView, screen: Screen, _options: Namespace) -> None:
    """Print the instructions, and everything about the skill."""
    from whet.interfaces.cli.rendering import render_text

    screen.line(screen.paint(clean(view.name), "bold", "cyan"))
    screen.paragraph(view.description)
    screen.line()
    screen.facts(_facts(view, screen), _LABEL)
    _render_rule(screen)
    render_text(view.content, screen)
    _render_foot(view, screen)
    _render_pages(view, screen)


def _render_pages(view: FileView | SkillView, screen: Screen) -> None:
    if view.pages > 1:
        screen.say(f"Page {view.page} of {view.pages}; others with --page.")


def _facts(view: SkillView, screen: Screen) -> Iterator[tuple[str, str]]:
    card, skill = view.card, view.skill
    client = card.root.client
    yield "scope", f"{card.scope} ({client})" if client not in ("", "agents") else card.scope
    yield "path", screen.place(card.location)
    if screen.verbose or not screen.tty:
        yield "digest", view.digest
    if view.source:
        checkout = view.revision if "@" in view.revision else ""
        revision = f", {name_revision(view.revision, checkout)}" if view.revision else ""
        yield "source", f"{screen.places(clean(view.source))}{clean(revision)}"
        yield "edited", screen.paint("yes, since it was installed", "yellow") if view.edited else "no"
    said = {
        "title": " ".join(filter(None, (skill.interface.emoji, skill.interface.display_name))),
        "id": skill.id,
        "version": skill.version,
        "author": skill.author,
        "homepage": skill.homepage,
        "category": skill.category,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "tags": ", ".join(skill.tags),
        "related": ", ".join(skill.related),
        "tools": ", ".join(skill.allowed_tools),
        "needs skills": ", ".join(map(str, skill.gates.skills)),
        "needs tools": ", ".join(tool.name for tool in skill.gates.tools),
        "runs in": ", ".join(f"{key.removesuffix('_version')} {range_}" for key, range_ in skill.runtime),
        "starts with": skill.entry_point,
        "icon": skill.interface.icon_large or skill.interface.icon_small,
        "colour": skill.interface.brand_color,
        "try": skill.interface.default_prompt,
    }
    yield from ((label, clean(text)) for label, text in said.items() if text)
    if view.verdict:
        yield "verdict", screen.paint(view.verdict, "red")
    if view.hidden:
        yield "hidden", clean(f"{view.hidden.message} {view.hidden.hint}")
    if listed := LISTED.get(view.listing):
        yield "listing", listed
    if view.pin is not None:
        yield "pinned", clean(view.pin) or "yes"
    if not view.verdict:
        ready = "no, it is a draft" if card.draft else "yes" if view.ready else "no, see below"
        yield "ready", screen.paint(ready, "green" if ready == "yes" else "yellow")
    for name, verdict in view.verdicts:
        answer, _, why = verdict.partition(", ")
        loads = f"loads it, {why}" if answer == "yes" else f"does not load it: {why}"
        told = screen.places(clean(loads.rstrip(", :")))
        yield name, screen.paint(told, "green" if verdict == "yes" else "yellow")


def _render_foot(view: SkillView, screen: Screen) -> None:
    from whet.interfaces.cli.rendering import render_report

    if len(view.files) > 1 or view.missing or view.skill.setup_help:
        _render_rule(screen)
    if len(view.files) > 1:
        screen.line(screen.paint("Files", "bold"))
        for file in view.files:
            screen.line(f"{file.size:>10,}  {clean(file.path)}")
    if view.missing:
        screen.line(screen.paint("Missing", "bold"))
        for item in view.missing:
            help_ = f"  {clean(item.help)}" if item.help else ""
            screen.line(f"  {screen.paint(clean(item.kind), 'yellow')} {clean(item.name)}{help_}")
    if view.skill.setup_help:
        screen.line(screen.paint("Setup", "bold"))
        screen.paragraph(view.skill.setup_help, 2)
    render_report(view.notes, screen)


def _render_rule(screen: Screen) -> None:
    screen.line(screen.paint("─" * (screen.columns if screen.tty else 40), "dim"))


def configure_roots(parser: Parser) -> None:
    parser.details = "When two skills have the same name, the first root wins."


def render_roots(roots: Roots, screen: Screen, _options: Namespace) -> None:
    rows = []
    for root, exists, skills in roots:
        scope = f"plugin {root.namespace}" if root.namespace else root.scope
        state = "missing" if not exists else "trusted" if root.trusted else "not trusted"
        rows.append((scope, root.client, str(skills), state, screen.place(root.path)))
    if rows:
        screen.table(("SCOPE", "CLIENT", "SKILLS", "STATE", "PATH"), rows)
    if any(not root.trusted and skills for root, _, skills in roots):
        screen.hint("Read the project's skills, then run `whet guard trust`.")


COMMANDS = {
    "list": Command(configure_list, run_list),
    "show": Command(configure_show, run_show),
    "clients roots": Command(configure_roots, lambda c, _: Answer(c.library.settings.roots(), render_roots)),
}

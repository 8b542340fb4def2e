"""Commands that change one skill, from `new` to `restore`."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.writer import USER, Provenance, TreeChange
from whet.errors import ConflictError, NotFoundError, RefusedError, UsageError
from whet.interfaces.cli.arguments import chosen_skill_argument, misuse, read_data, read_text, require, skill_argument
from whet.interfaces.cli.changes import (
    change,
    change_options,
    hint_clients,
    name_version,
    render_change,
    tell_edit,
    telling,
)
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.output import screen_for
from whet.interfaces.cli.plans import apply_plan, asks, force_option, plan_options, render_review, run_plan
from whet.interfaces.cli.terminal import agree, can_ask
from whet.interfaces.cli.text import clean, plural
from whet.skill.names import key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whet.api import Library
    from whet.authoring.backup import Restored
    from whet.authoring.results import Change
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.library.card import Card
    from whet.library.standalone import Begun
    from whet.skill.tree import Item, Tree
    from whet.sources.install.plan import Plan
    from whet.values import Json


def configure_new(parser: Parser) -> None:
    parser.example("whet new release-notes", "a template to fill in")
    parser.example("whet new release-notes --body-file notes.md", "a skill with this text")
    parser.example("whet new release-notes --here", "in the project's .agents/skills")
    parser.details = (
        "Without --body and --body-file, Whet writes a template for you to fill in. It is a draft: as long as a part "
        "of the template is left, Whet does not offer it to models and does not link it. Clients that read its "
        "directory load it anyway. With --body or --body-file, the skill is complete; the text can be a whole "
        "document with its own frontmatter.\n\n"
        "The skill goes to ~/.agents/skills, or to the first --root. Codex and many other clients read "
        "~/.agents/skills; for clients that do not, such as Claude Code, `whet sync` links the skill. To keep a draft "
        "away from all clients, write it with --dir and run `whet install DIR/NAME` when it is finished.\n\n"
        "`whet new` never overwrites a skill; `whet edit` changes one. If you pass a description, Whet also writes 50 "
        "messages that `whet learn eval triggers` uses to check when the skill triggers. Without NAME, Whet asks for "
        "it on a terminal."
    )
    text = "The name: lowercase letters, digits and single hyphens. The directory gets it, too."
    parser.positional("name", "NAME", text, optional=True)
    parser.option("--description", metavar="D", text="What the skill does and when to use it.")
    parser.option("--body", metavar="TEXT", text="The instructions.")
    parser.option("--body-file", metavar="F", text="Read the instructions from this file; - is standard input.")
    parser.option("--dir", metavar="DIR", text="Write the skill to this directory, outside the history.")
    parser.option("--here", text="Write the skill to the project's .agents/skills.")
    parser.option("--category", metavar="C", text="The category; only with --body or --body-file.")
    parser.option("--no-triggers", text="Leave out the generated trigger evals.")
    change_options(parser, version=True)


_DESCRIBE = 'Add `--description "What it does. Use when ..."`, in at most 1,024 characters.'


def run_new(context: Context, options: Namespace) -> Answer:
    from whet.authoring.drafts import with_triggers
    from whet.library.standalone import begin, fill_template

    if options.name is None:
        _ask_name(options)
    body = read_text(options.body, options.body_file, "new", "body")
    if body is not None and not options.dir:
        return _create(context, options, body, improve=False)
    if given := next((name for name in ("category", "set_version", "stage", "reason") if getattr(options, name)), ""):
        flag = f"--{given.replace('_', '-')}"
        raise misuse("new", f"{flag} does not work with --dir." if body else f"{flag} needs --body or --body-file.")
    library = context.library
    root = os.path.abspath(options.dir) if options.dir else library.workspace.new_root(project=options.here)

    def write(target: str, tree: Mapping[str, Item]) -> None:
        library.edit.committer.commit([TreeChange("create", options.name, target, tree, expected="")], USER)

    tree = fill_template(options.name, options.description) if body is None else _document(options, body)
    if (options.description or body is not None) and not options.no_triggers:
        tree = with_triggers(tree)
    begun = begin(root, options.name, tree, state=library.workspace.place.state, write=None if options.dir else write)
    answer = Answer(begun, render_new)
    if options.dir:
        roots = {os.path.realpath(one.path) for one in library.workspace.config().roots}
        if os.path.realpath(root) in roots:
            return answer
        place = os.path.join(options.dir, options.name)
        place = place if place.startswith(os.curdir) or os.path.isabs(place) else os.path.join(os.curdir, place)
        return answer.hint(f"`whet install {shlex.quote(place)}` adds it to your skills.")
    answer = _hint_trust(answer, library) if options.here else hint_clients(answer, context, [options.name], draft=True)
    return _hint_disabled(answer, library, options.name)


def _ask_name(options: Namespace) -> None:
    """Ask for the name and the description of a new skill. Raises UsageError if nobody can be asked."""
    from whet.interfaces.cli.terminal import ask
    from whet.skill.names import is_ascii_name, slug

    if not can_ask(options):
        hint = 'Run `whet new NAME --description "What it does. Use when ..."`.'
        raise UsageError("usage", "NAME is missing.", hint=hint)
    proposed = ""
    while options.name is None:
        said = ask(f"Name of the skill{f' [{proposed}]' if proposed else ''}: ") or proposed
        if not said:
            raise RefusedError("not-agreed", "There is no name.", hint="Nothing was changed.")
        if is_ascii_name(said):
            options.name = said
        else:
            proposed = slug(said)
            sys.stderr.write("A name has lowercase letters, digits and single hyphens.\n")
    if options.description is None:
        options.description = ask("What does it do, and when should it be used? (Enter: write this later) ") or None


def _document(options: Namespace, body: str) -> Tree:
    """Return the files of a skill with this body, under a valid name."""
    from whet.authoring import drafts

    options.name = drafts.check_name(options.name)
    with _asking_for_description(options):
        return drafts.create(options.name, description=options.description or "", body=body).tree


@contextmanager
def _asking_for_description(options: Namespace) -> Iterator[None]:
    """Name the option in the hint if the description is missing."""
    try:
        yield
    except UsageError as error:
        if error.code == "bad-description" and not options.description:
            error.hint = _DESCRIBE
        raise


def _hint_trust(answer: Answer, library: Library) -> Answer:
    """Return the answer about a new project skill, with a hint if the project is not trusted."""
    roots = library.workspace.config().roots
    if any(root.scope == "project" and not root.trusted for root in roots):
        hint = "You do not trust this project yet, so Whet does not offer its skills. `whet guard trust` trusts it."
        return answer.hint(hint)
    return answer


def _hint_disabled(answer: Answer, library: Library, name: str) -> Answer:
    """Return the answer about a new skill, with a hint if a skill of that name is disabled."""
    with suppress(NotFoundError, RefusedError):  # in a project that is not trusted
        card = library.card(name)
        if library.workspace.config().disabled.source(card, ""):
            return answer.hint(
                f"{name} is disabled, because you disabled this name before; `whet enable {name}` enables it."
            )
    return answer


def render_new(begun: Begun, screen: Screen, options: Namespace) -> None:
    screen.line(screen.place(begun.file))
    skill = screen.place(begun.path) if options.dir or options.here else begun.name
    if options.body is not None or options.body_file is not None:
        screen.say(f"Created {begun.name}.")
        return
    # A skill of an untrusted project cannot be edited by its name.
    edit = "" if options.dir or options.here else f" with `whet edit {options.name}`"
    screen.say(f"{begun.name} is a draft: fill in each TODO{edit}.")
    screen.hint(f"`whet skill validate {skill}` shows what is left to do.")


def run_create(context: Context, options: Namespace) -> Answer:
    """Run `new`, but improve an existing skill of that name if there is new content."""
    if options.name is None:
        _ask_name(options)
    body = read_text(options.body, options.body_file, "new", "body")
    if body is None and options.description is not None:
        with suppress(NotFoundError):
            context.library.card(options.name)
            return _create(context, options, None, improve=True)
    return run_new(context, options) if body is None or options.dir else _create(context, options, body, improve=True)


def _create(context: Context, options: Namespace, body: str | None, *, improve: bool) -> Answer:
    """Write a skill with its text; if one of that name exists, `improve` it or refuse."""
    fields = {"description": options.description, "body": body, "category": options.category}
    how = {"triggers": not options.no_triggers, "improve": improve, "here": options.here}
    with _asking_for_description(options):
        answer = Answer(change(context, options, "create", **how, **fields), telling(_tell_created))
    library = context.library
    answer = _hint_trust(answer, library) if options.here else hint_clients(answer, context, [options.name])
    return _hint_disabled(answer, library, options.name)


def _tell_created(change: Change) -> str:
    improved = f"Improved {change.skill} to version {change.version}."
    return f"Created {name_version(change)}." if change.created else improved


def configure_edit(parser: Parser) -> None:
    parser.details = (
        "Without --body and --body-file, Whet opens a copy of SKILL.md in your editor (VISUAL or EDITOR). If Whet "
        "cannot accept the text, you can edit it again; otherwise Whet keeps it and prints its path. A text with "
        "frontmatter replaces the whole file; a text without replaces only the instructions."
    )
    chosen_skill_argument(parser)
    parser.option("--body", metavar="TEXT", text="The new text.")
    parser.option("--body-file", metavar="F", text="Read the new text from this file; - is standard input.")
    change_options(parser, version=True)


def run_edit(context: Context, options: Namespace) -> Answer:
    if options.name is None:
        from whet.interfaces.cli.picker import choose_skills

        [options.name] = choose_skills(context, options, "edit", "Edit which skill?")
    body = read_text(options.body, options.body_file, "edit", "body")
    card = context.library.card(options.name)
    if body is None:
        from whet.interfaces.cli.editor import edit_skill

        done = edit_skill(context, options)
    else:
        done = change(context, options, "edit", body=body)
    answer = Answer(done, telling(lambda c: tell_edit(f"Changed {c.skill}", c)))
    if card.draft and card.scope == "user" and done.entries and not context.library.card(card.full_name).draft:
        return hint_clients(answer, context, [card.name])  # it is finished now
    return answer


def configure_patch(parser: Parser) -> None:
    parser.details = (
        "The text to find must occur exactly once; otherwise Whet changes nothing and shows the closest lines. "
        "Write a text that starts with a hyphen as --find=TEXT."
    )
    skill_argument(parser)
    parser.option("--find", metavar="A", text="The text to find.")
    parser.option("--replace", metavar="B", text="The text to replace it with; may be empty.")
    parser.option("--file", metavar="P", text="The file of the skill to change instead of SKILL.md.")
    parser.option("--all", text="Replace every occurrence in the file.")
    parser.option("--tolerant", text="Ignore differences in whitespace, quotes and dashes if there is no exact match.")
    change_options(parser, version=True)


def run_patch(context: Context, options: Namespace) -> Answer:
    require(options, "skill patch", "find", "replace")
    where = {"file_path": options.file, "all": options.all, "tolerant": options.tolerant}
    done = change(context, options, "patch", find=options.find, replace=options.replace, **where)
    return Answer(
        done, telling(lambda c: tell_edit(f"Made {plural(c.replacements or 0, 'replacement')} in {c.skill}", c))
    )


def configure_rename(parser: Parser) -> None:
    parser.details = (
        "Also renames the skill's directory, and updates your bundles and synced links. It does not update other "
        "skills that mention the old name."
    )
    skill_argument(parser)
    parser.positional("new", "NEW", "Its new name.")
    change_options(parser)


def run_rename(context: Context, options: Namespace) -> Answer:
    done = change(context, options, "rename", new_name=options.new)
    return Answer(done, telling(lambda c: f"{c.renamed_from} is now {name_version(c)}."))


_LOCKED = "uninstalled"
"""The way of removal for a skill in the lock."""


class Removed(NamedTuple):
    """The results of removing skills, by their origin."""

    parts: tuple[Answer, ...]
    removed: tuple[RemovedSkill, ...]

    def to_json(self) -> Json:
        """Return the answer of each part, and the way every skill was removed."""
        told: Json = {}
        success = True
        for part in self.parts:
            told |= part.to_json()
            success = success and told["success"]
        return told | {"success": success, "removed": [skill._asdict() for skill in self.removed]}


class RemovedSkill(NamedTuple):
    """A removed skill."""

    name: str
    how: str
    """`uninstalled`, `deleted` or `archived`."""


def configure_remove(parser: Parser) -> None:
    parser.details = (
        "Removes the files of each skill and, if it is installed, its entry in the lock. The history keeps "
        "everything, including your edits. One `whet undo` brings back all skills that were removed together. Without "
        "NAME, you choose from a list on a terminal."
    )
    parser.positional("names", "NAME", "The skills.", many=True, optional=True)
    parser.option("--archive", text="Archive the skills, as `whet learn curate` does; pinned skills stay.")
    parser.option(
        "--stage",
        text="Only propose the change; `whet proposals approve` applies it. Only for skills that are not installed.",
    )
    force_option(parser)
    plan_options(parser, override=False)


def run_remove(context: Context, options: Namespace) -> Answer:
    """Remove skills of any origin, with one question and as one change that is undone as a whole."""
    from whet.sources.install.apply import check_complete

    if not options.names:
        from whet.interfaces.cli.picker import choose_skills

        scopes = ("project",) if options.here else ("project", "user")
        options.names = choose_skills(
            context,
            options,
            "remove",
            "Remove which skills?",
            lambda library: [card for card in library.catalogue.cards if card.scope in scopes],
            "There are no skills to remove.",
            many=True,
        )
    library, ways = context.library, dict[tuple[str, bool], list[str]]()
    cards = {name: None if options.archive else _find_card(library, name, here=options.here) for name in options.names}
    installed = library.sources.installed_among(card for card in cards.values() if card)
    for name, card in cards.items():
        way = ("archived", False) if options.archive else _removal_way(context, options, name, card, installed)
        ways.setdefault(way, []).append(name)
    found = {how for how, _ in ways}
    if options.archive and options.stage:
        raise misuse("remove", "Use `--archive` or `--stage`, not both.")
    if options.stage and _LOCKED in found:
        raise misuse("remove", "`--stage` works only for skills of your own.")
    asked = asks(options)
    plain = {name: card.name if card else name for name, card in cards.items()}  # the lock has no scopes
    force, all_names = options.force or asked, list(plain.values())
    plans = [
        library.sources.plan_uninstall(*map(plain.__getitem__, names), here=here, force=force, along=all_names)
        for (how, here), names in ways.items()
        if how == _LOCKED
    ]
    own = [name for (how, _), names in ways.items() if how != _LOCKED for name in names]
    for plan in () if options.dry_run else plans:
        check_complete(plan)
    for name in own if not force else ():
        _check_unneeded(library, name, all_names)
    if asked:
        _confirm_removal(context, plans, own, archive=options.archive)
    run = f"r{os.urandom(8).hex()}"
    with nullcontext() if options.dry_run else _all_or_none(library, run):
        # Only your own skills can be refused, so they come first.
        parts = _remove_own(library, options, own, run) if own else []
        planned = [apply_plan(library, options, plan, asked=asked, run=run) for plan in plans]
    done = not (options.dry_run or options.stage)
    gone = tuple(RemovedSkill(plain[name], how) for (how, _), names in ways.items() for name in names if done)
    parts = [*planned, *parts]
    return Answer(Removed(tuple(parts), gone), render_removed, max(part.code for part in parts))


def _needed_by(library: Library, name: str, along: list[str]) -> tuple[str, ...]:
    """Return the skills that need one of your own, without those that are removed with it."""
    from whet.library.dependencies import dependants

    going = set(map(key, along))
    return dependants((card for card in library.catalogue.cards if card.key not in going), library.card(name).name)


def _check_unneeded(library: Library, name: str, along: list[str]) -> None:
    """Raise ConflictError for a skill that others need."""
    if users := _needed_by(library, name, along):
        from whet.sources.install.apply import NEEDED_HINT

        message = f"{name}: Needed by {', '.join(users)}."
        raise ConflictError("needed-by", message, hint=NEEDED_HINT)


def _confirm_removal(context: Context, plans: list[Plan], own: list[str], *, archive: bool) -> None:
    """Show the skills to remove, and ask once. Raises RefusedError if the answer is no."""
    screen, count = screen_for(sys.stderr, context.env), len(own)
    for plan in plans:
        for step in plan.ready:
            render_review(plan, step, screen)
        count += len(plan.ready)
    for name in own:
        shown = screen.paint(clean(name), "bold")
        screen.line(f"archive {shown}" if archive else f"remove {shown}, your own skill")
        screen.paragraph(f"in {screen.place(context.library.card(name).location)}", 2)
        if users := _needed_by(context.library, name, own):
            screen.paragraph(f"Needed by {', '.join(users)}.", 2)
    if count and not agree(f"{screen.text()}Remove {plural(count, 'skill')}?"):
        raise RefusedError("not-agreed", "You did not confirm.", hint="Nothing was changed.")


@contextmanager
def _all_or_none(library: Library, run: str) -> Iterator[None]:
    """Undo the changes of a run if the rest of it fails."""
    try:
        yield
    except BaseException:
        with suppress(NotFoundError, UsageError):  # nothing was done yet
            library.history.undo(run)
        raise


def _find_card(library: Library, name: str, *, here: bool) -> Card | None:
    """Return the skill of a name; None if the lock names it although its files are gone."""
    try:
        return library.card(name)
    except NotFoundError:
        if not library.sources.is_locked(name, here=True) and (here or not library.sources.is_locked(name)):
            raise
        return None


def _removal_way(
    context: Context, options: Namespace, name: str, card: Card | None, installed: frozenset[str]
) -> tuple[str, bool]:
    """Return how a skill is removed, and whether the project's lock names it."""
    sources = context.library.sources
    if card is None:
        return _LOCKED, options.here or not sources.is_locked(name)
    if options.here and card.scope != "project":
        if sources.is_locked(name, here=True):
            return _LOCKED, True
        raise NotFoundError("not-installed", f"This project has no skill {name!r}.", hint="Leave out `--here`.")
    return (_LOCKED, card.scope == "project") if card.place in installed else ("deleted", False)


def _remove_own(library: Library, options: Namespace, names: list[str], run: str) -> list[Answer]:
    """Remove or archive skills that are not in the lock."""
    if options.dry_run:
        cards = [*map(library.card, names)]
        for card in cards if not options.archive else ():
            library.edit.target(card).check_removal()
        how = "archive" if options.archive else "remove"
        key = "would_be_archived" if options.archive else "would_be_deleted"
        return [Answer(names, lambda _, *to: _render_planned(cards, *to, verb=how), key=key)]
    if options.archive:
        return [Answer(library.learning.archive(name, options.reason, run), render_archive) for name in names]
    operations = [{"action": "delete", "name": name} for name in names]
    by = Provenance("user", reason=options.reason, run=run)
    changes = library.edit.apply(operations, by=by, stage=options.stage)
    return [Answer(changes, lambda changes, screen, _: render_change(changes, screen, "", path=False))]


def _render_planned(cards: Sequence[Card], screen: Screen, _options: Namespace, *, verb: str) -> None:
    for card in cards:
        screen.line(f"Would {verb} {clean(card.full_name)}")
        screen.paragraph(f"in {screen.place(card.location)}", 2)


def render_removed(removed: Removed, screen: Screen, options: Namespace) -> None:
    """Print the removed skills, and how to restore them."""
    names = [clean(skill.name) for skill in removed.removed]
    if names and not options.archive and not any(part.code for part in removed.parts):
        undo = f"`whet undo {names[0]}` brings it back" if len(names) == 1 else "`whet undo` brings them back"
        screen.say(f"Removed {', '.join(names)}; {undo}.")
    for part in removed.parts:
        part.render(screen, options)


def configure_write_file(parser: Parser) -> None:
    parser.details = "Whet writes content from a file or standard input byte for byte."
    skill_argument(parser)
    parser.positional("path", "PATH", "The file's path in the skill, such as references/guide.md.")
    parser.option("--content", metavar="TEXT", text="The file's content.")
    parser.option("--content-file", metavar="F", text="Read the content from this file; - is standard input.")
    parser.option("--executable", text="Make it executable (default: unchanged).")
    change_options(parser, version=True)


def run_write_file(context: Context, options: Namespace) -> Answer:
    content = read_data(options.content, options.content_file, "skill write-file", "content")
    if content is None:
        raise misuse("skill write-file", "--content or --content-file is missing.")
    fields = {"file_path": options.path, "content": content, "executable": options.executable or None}
    done = change(context, options, "write_file", **fields)
    return Answer(done, telling(lambda c: tell_edit(f"Wrote {c.file} of {c.skill}", c)))


def configure_remove_file(parser: Parser) -> None:
    parser.details = "The history keeps the file; `whet undo NAME` brings it back."
    skill_argument(parser)
    parser.positional("path", "PATH", "The file's path in the skill, such as references/guide.md.")
    change_options(parser, version=True)


def run_remove_file(context: Context, options: Namespace) -> Answer:
    done = change(context, options, "remove_file", file_path=options.path)
    return Answer(done, telling(lambda c: tell_edit(f"Removed {c.file} of {c.skill}", c)))


def render_archive(archived: Change, screen: Screen, _options: Namespace) -> None:
    """Print the archived skill, and how to restore it."""
    screen.say(f"Archived {archived.skill}; `whet undo {archived.skill}` brings it back.", *archived.notes)


def configure_restore(parser: Parser) -> None:
    parser.positional("name", "NAME", "The removed skill.", optional=True)
    parser.option("--backup", metavar="FILE", text="Restore a file from `whet history backup`.")
    parser.option("--force", text="Discard edits too; the history keeps them.")
    parser.option("--stage", text="Only propose the change; `whet proposals approve` applies it.")
    plan_options(parser)


def run_restore(context: Context, options: Namespace) -> Answer:
    if options.backup is not None:
        if options.name or options.force or options.stage or options.dry_run:
            raise misuse("restore", "`--backup` takes no other options.")
        return restore_backup(context, options.backup)
    names = [options.name] if options.name else []
    if options.name and not options.force and not context.library.sources.is_locked(options.name, here=options.here):
        if options.dry_run:
            hint = f"`whet history {options.name}` shows what there was."
            raise UsageError("usage", "`--dry-run` works only for skills in the lock.", hint=hint)
        done = change(context, options, "restore")
        return Answer(done, telling(lambda c: f"Restored {name_version(c)}."))
    if options.stage:
        hint = "--dry-run shows what would be done."
        raise UsageError("usage", "`--stage` works only for skills that are not in the lock.", hint=hint)
    return run_plan(
        context,
        options,
        lambda sources: sources.plan_restore(*names, here=options.here, force=options.force),
        "Restore",
        "The lock is empty.",
    )


def configure_restore_backup(parser: Parser) -> None:
    parser.details = (
        "Replaces the state directory with the one from the backup, and keeps the current one next to it. Whet "
        "writes the skills that are missing and overwrites none. Before you start, close agents that use Whet."
    )
    parser.positional("file", "FILE", "A file from `whet history backup`.")


def restore_backup(context: Context, file: str) -> Answer:
    """Restore a backup."""
    restored = context.library.sources.restore_backup(file)
    return Answer(restored, render_restored, 1 if restored.notes else 0)


def render_restored(done: Restored, screen: Screen, _options: Namespace) -> None:
    """Print what was restored, and where the old state is."""
    screen.say(f"Restored the state and {plural(len(done.skills), 'skill')}.")
    screen.say(*(f"{clean(name)} exists with different content and was left unchanged." for name in done.kept))
    screen.say(*(clean(note.message) for note in done.notes))
    if done.aside:
        screen.hint(f"The old state is kept in {done.aside}.")


COMMANDS = {
    "new": Command(configure_new, run_new),
    "create": Command(configure_new, run_create),
    "edit": Command(configure_edit, run_edit),
    "skill patch": Command(configure_patch, run_patch),
    "skill rename": Command(configure_rename, run_rename),
    "remove": Command(configure_remove, run_remove),
    "skill write-file": Command(configure_write_file, run_write_file),
    "skill remove-file": Command(configure_remove_file, run_remove_file),
    "restore": Command(configure_restore, run_restore),
    "history restore": Command(configure_restore_backup, lambda c, o: restore_backup(c, o.file)),
}

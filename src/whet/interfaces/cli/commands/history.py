"""`history`, `diff`, `rollback`, `undo`, `verify-history`, `backup`."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from whet.authoring.writer import Provenance
from whet.errors import NotFoundError, RefusedError
from whet.interfaces.cli.arguments import misuse, read_number, reason_option
from whet.interfaces.cli.changes import name_version, render_return, telling
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import fold_diff, format_time, paint_diff, render_proof
from whet.interfaces.cli.terminal import agree, can_ask
from whet.interfaces.cli.text import clean, clean_json, join_numbers, join_unique, name_several, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.authoring.backup import Backup
    from whet.authoring.history import History
    from whet.authoring.journal import Entry
    from whet.authoring.results import Difference, Export, LostContents, Proof, SkillHistory
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser


def configure_history(parser: Parser) -> None:
    parser.example("whet history", "all changes, newest first")
    parser.example("whet history pdf", "the changes of one skill")
    parser.example("whet history diff pdf", "what the last one changed")
    parser.details = (
        "The newest change comes first; with --json, the oldest. A removed skill keeps its history. Links and copies "
        "that `whet sync` makes for clients change no skill, so they are not listed here: `whet sync --list` shows "
        "them, and `whet sync --undo` removes them.\n\n"
        "STATE numbers the recorded contents of one skill, for `whet undo NAME --to` and `whet history diff`. It is "
        "not the skill's version, which the author writes into SKILL.md and `whet show` prints.\n\n"
        "In a pipe, each line has number, time, actor, action, skill (with NAME: state) and reason, separated by "
        "tabs."
    )
    parser.positional("name", "NAME", "Only this skill.", optional=True)
    parser.option("--last", metavar="N", read=amount, text="Show only the last N entries.")
    parser.option("--lost", text="List stored contents that no entry refers to; `whet undo NAME` restores one.")
    parser.option("--export", text="Print the full history of NAME as JSON, with all content.")


def run_history(context: Context, options: Namespace) -> Answer:
    history = context.library.edit.history
    if options.lost:
        if options.export or options.name or options.last:
            raise misuse("history", "`--lost` takes no other options.")
        return Answer(history.lost(), render_lost)
    if not options.export:
        return Answer(history.entries(options.name, options.last), render_history)
    problem = (
        "NAME is missing."
        if options.name is None
        else ("`--last` does not work with `--export`.")
        if options.last
        else ""
    )
    if problem:
        raise misuse("history", problem)
    return Answer(history.export(options.name), render_export)


def render_export(export: Export, screen: Screen, _options: Namespace) -> None:
    """Print an export, which is always JSON."""
    import json

    screen.line(clean_json(json.dumps(export.to_json(), indent=2 if screen.tty else None)))


def render_history(history: SkillHistory, screen: Screen, _options: Namespace) -> None:
    """Print a table for a terminal, lines for a program."""
    named, versions = history.name is not None, dict(history.versions)
    rows = [
        (
            str(entry.id),
            format_time(screen, entry.time),
            entry.actor,
            entry.what,
            str(versions.get(entry.id, "")) if named else entry.skill,
            screen.places(entry.reason),
        )
        for entry in reversed(history.entries)
    ]
    about = f"about {history.name}" if named else "yet"
    heads = ("ID", "WHEN", "WHO", "WHAT", "STATE" if named else "SKILL", "REASON")
    screen.grid(heads, rows, f"The history has no entries {about}.")
    if screen.tty and rows:
        back = f", `whet undo {quote(history.name)} --to STATE` returns to a state" if history.name else ""
        screen.hint(f"`whet undo ID` undoes a change{back}.")


def render_lost(found: LostContents, screen: Screen, _options: Namespace) -> None:
    rows = [
        (format_time(screen, content.time), content.name, str(content.files), content.digest)
        for content in found.contents
    ]
    screen.grid(("WHEN", "SKILL", "FILES", "DIGEST"), rows, "Every stored content belongs to an entry.")


def configure_diff(parser: Parser) -> None:
    parser.details = (
        "A defaults to the previous state, B to the skill as it is now. `whet history NAME` lists the states. "
        "Control characters are escaped; --json prints the exact text."
    )
    parser.positional("name", "NAME", "The skill.")
    parser.positional("one", "A", "From this state.", optional=True)
    parser.positional("other", "B", "To this state.", optional=True)


def run_diff(context: Context, options: Namespace) -> Answer:
    given = [text for text in (options.one, options.other) if text is not None]
    versions = (read_number(text, "a state", "history diff") for text in given)
    return Answer(context.library.history.diff(options.name, *versions), render_diff)


def render_diff(difference: Difference, screen: Screen, _options: Namespace) -> None:
    if fold_diff(screen, difference.text):
        screen.hint("-v shows every line.")
    if not difference.text:
        screen.say("The states are the same.")


def configure_rollback(parser: Parser) -> None:
    parser.positional("name", "NAME", "The skill; it may be removed already.")
    parser.option("--to", metavar="N", read=amount, text="To this state (default: the previous one).")
    reason_option(parser)


def configure_undo(parser: Parser) -> None:
    parser.example("whet undo", "choose a change, or undo the last one")
    parser.example("whet undo pdf", "the last change to a skill")
    parser.example("whet undo pdf --to 2", "return a skill to an earlier state")
    parser.example("whet redo", "make the last undone change again")
    parser.details = (
        "Without an argument, you choose from a list on a terminal. In a pipe and with --no-input, Whet undoes the "
        "last change; run it again to undo the one before. With NAME, Whet undoes the last change to that skill only; "
        "this also restores a removed skill and enables a disabled one. Later changes stay, unless they touch the "
        "same files.\n\n"
        "An undo is itself a change. `whet redo`, short for `whet undo --redo`, reverses the last undo, or the undo "
        "of ID or NAME."
    )
    text = "The number of a change (`whet history` shows it), the id of a run or its start, or the name of a skill."
    parser.positional("id", "ID|NAME", text, optional=True)
    text = "Return the skill NAME to this state (`whet history NAME` lists them)."
    parser.option("--to", metavar="N", read=amount, text=text)
    parser.option("--redo", text="Make an undone change again (default: the last one that you undid).")
    parser.option("--dry-run", text="Only show what would change.")
    reason_option(parser)
    parser.exclude(("--redo", "--to"))


def _choose_change(context: Context) -> str | None:
    """Return the run that a person chooses to undo, from a list like that of `whet history`."""
    from whet.interfaces.cli.output import screen_for
    from whet.interfaces.cli.picker import Choice, pick_one

    history, screen = context.library.history, screen_for(sys.stderr, context.env)
    runs = history.undoable()
    if not runs:
        return None  # the undo says why
    choices = [
        Choice(
            (
                join_numbers(entry.id for entry in entries),
                format_time(screen, entries[-1].time),
                entries[-1].actor,
                join_unique(entry.what for entry in entries),
                _name_skills(entries),
                screen.places(entries[-1].reason),
            ),
            partial(_render_change, history, entries),
            " ".join(entry.skill for entry in entries),
        )
        for entries in runs
    ]
    number = pick_one("Undo which change?", choices, context.env)
    ids, _, _, actions, _, _ = choices[number].cells
    changes = "change" if ids.isdecimal() else "changes"
    skills = name_several((entry.skill for entry in runs[number]), 5)
    if not agree(f"Undo {changes} {ids} ({actions}): {clean(skills)}?"):  # a typed `y` is a filter, not an answer
        raise RefusedError("not-agreed", "You did not confirm.", hint="Nothing was changed.")
    return runs[number][0].run


def _name_skills(entries: Sequence[Entry]) -> str:
    names = {entry.skill: None for entry in entries}
    return ", ".join(names) if len(names) <= 2 else plural(len(names), "skill")


def _render_change(history: History, entries: Sequence[Entry], screen: Screen) -> None:
    if text := history.describe_change(entries):
        paint_diff(screen, text)
    else:
        screen.line("No file changes.")


def run_undo(context: Context, options: Namespace) -> Answer:
    if options.to is not None:
        if options.id is None:
            raise misuse("undo", "--to needs the NAME of a skill.")
        return _go_back(context, options, options.id)
    if options.id is None and can_ask(options) and not (options.dry_run or options.redo):
        options.id = _choose_change(context)
    if options.id is not None and (options.id.isdecimal() or not options.id):
        read_number(options.id, "a change", "undo")
    by = Provenance("user", reason=options.reason)
    if options.redo:
        return Answer(context.library.history.redo(options.id, by, dry_run=options.dry_run), render_return)
    try:
        reversal = context.library.history.undo(options.id, by, dry_run=options.dry_run)
        return Answer(reversal, render_return)
    except NotFoundError as error:
        if error.code != "no-such-entry" or options.id is None or options.id.isdecimal() or options.dry_run:
            raise
        with suppress(NotFoundError):  # a content that no entry names
            found = context.library.edit.apply([{"action": "restore", "name": options.id}], by=by)
            return Answer(found, telling(lambda change: f"Restored {name_version(change)}."))
        raise


def _go_back(context: Context, options: Namespace, name: str) -> Answer:
    """Return a skill to an earlier state."""
    by = Provenance("user", reason=options.reason)
    dry_run = getattr(options, "dry_run", False)
    return Answer(context.library.history.rollback(name, options.to, by, dry_run=dry_run), render_return)


def configure_verify_history(parser: Parser) -> None:
    parser.details = (
        "Every entry is linked to the previous one by a hash, and every content is stored under its digest. Prints "
        "the digest of the whole history. Exits with 1 if something does not match."
    )


def run_verify_history(context: Context, _options: Namespace) -> Answer:
    proof = context.library.edit.history.verify()
    return Answer(proof, render_verify_history, 0 if proof.valid else 1)


def render_verify_history(proof: Proof, screen: Screen, _options: Namespace) -> None:
    """Print the digest, or every problem in a line."""
    count = "1 entry" if proof.entries == 1 else f"{proof.entries:,} entries"
    hint = "`whet doctor --repair` restores what it can; your skills are not affected."
    empty = "" if proof.entries else "The history has no entries yet."
    render_proof(proof.problems, screen, "history", count, head=proof.lineage, hint=hint, empty=empty)


def configure_backup(parser: Parser) -> None:
    parser.details = (
        "The file contains the full history, decisions, settings and your own skills. You can run this while agents "
        "work; Whet verifies the file before the command ends. `whet history restore FILE` restores it. Keep it as "
        "private as the skills themselves."
    )
    parser.positional("file", "FILE", "The file to write; it must not exist.")


def render_backup(made: Backup, screen: Screen, _options: Namespace) -> None:
    screen.line(clean(made.path))
    screen.say(
        f"{plural(len(made.skills), 'skill')}, {plural(made.entries, 'entry')} of the history, {made.size:,} bytes. "
        "`whet history restore FILE` restores it."
    )
    screen.say(*made.left_out)


COMMANDS = {
    "history backup": Command(configure_backup, lambda c, o: Answer(c.library.sources.backup(o.file), render_backup)),
    "history": Command(configure_history, run_history),
    "history diff": Command(configure_diff, run_diff),
    "rollback": Command(configure_rollback, lambda c, o: _go_back(c, o, o.name)),
    "undo": Command(configure_undo, run_undo),
    "history verify": Command(configure_verify_history, run_verify_history),
}

"""Commands that change one skill, from `new` to `restore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.errors import UsageError
from whet.interfaces.cli.arguments import misuse, read_data, read_text, reason_option, require, skill_argument
from whet.interfaces.cli.changes import change, change_options, name_version, telling
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.plans import plan_options, run_plan
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.authoring.backup import Restored
    from whet.authoring.results import Change
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.learning.curator import Archived
    from whet.library.standalone import Begun


def configure_new(parser: Parser) -> None:
    parser.details = (
        "The skill goes to ~/.agents/skills, where every client can find it, or to the first --root. "
        "Nothing is overwritten."
    )
    parser.positional("name", "NAME", "Lowercase letters, digits and single hyphens; also the directory's name.")
    parser.option("--description", metavar="D", text="What the skill does and when to use it.")
    parser.option("--dir", metavar="DIR", text="Put it here instead.")
    parser.option("--here", text="Put it into the project's .agents/skills.")


def run_new(context: Context, options: Namespace) -> Answer:
    from whet.library.standalone import begin

    library = context.library
    root = os.path.abspath(options.dir) if options.dir else library.workspace.new_root(project=options.here)
    return Answer(begin(root, options.name, options.description, state=library.workspace.place.state), render_new)


def render_new(begun: Begun, screen: Screen, options: Namespace) -> None:
    screen.line(screen.place(begun.file))
    screen.say("Fill in what is marked TODO.")
    trust = " The project has to be trusted once (`whet trust`)." if options.here else ""
    screen.hint(f"Then run `whet validate --profile quality {screen.place(begun.path)}`.{trust}")


def configure_create(parser: Parser) -> None:
    parser.details = (
        "A skill that exists gets the new text and the next version, in its place; there is never a second one. "
        "A new one goes to ~/.agents/skills, where every client can find it, or to the first --root. The text may "
        "be a whole document with its own frontmatter."
    )
    parser.positional("name", "NAME", "Lowercase letters, digits and single hyphens; also the directory's name.")
    parser.option("--description", metavar="D", text="What the skill does and when to use it.")
    parser.option("--body", metavar="TEXT", text="The instructions.")
    parser.option("--body-file", metavar="F", text="Read the instructions from this file; - is standard input.")
    parser.option("--category", metavar="C", text="Put a new skill into this category.")
    change_options(parser, version=True)


def run_create(context: Context, options: Namespace) -> Answer:
    body = read_text(options.body, options.body_file, "create", "body")
    fields = {"description": options.description, "body": body, "category": options.category}
    return Answer(change(context, options, "create", **fields), telling(_tell_created))


def _tell_created(change: Change) -> str:
    improved = f"Improved {change.skill} to version {change.version}."
    return f"Created {name_version(change)}." if change.created else improved


def configure_edit(parser: Parser) -> None:
    parser.details = (
        "Without --body and --body-file, the editor that VISUAL or EDITOR names is opened on a copy of SKILL.md. A "
        "text that cannot be taken is never lost: you may go on editing it, or it is kept and its path is told. A text "
        "with frontmatter replaces the whole file, one without only the instructions."
    )
    skill_argument(parser)
    parser.option("--body", metavar="TEXT", text="The new text.")
    parser.option("--body-file", metavar="F", text="Read the new text from this file; - is standard input.")
    change_options(parser, version=True)


def run_edit(context: Context, options: Namespace) -> Answer:
    body = read_text(options.body, options.body_file, "edit", "body")
    if body is None:
        from whet.interfaces.cli.editor import edit_skill

        done = edit_skill(context, options)
    else:
        done = change(context, options, "edit", body=body)
    return Answer(done, telling(lambda c: f"Changed {name_version(c)}."))


def configure_patch(parser: Parser) -> None:
    parser.details = (
        "The text to find must be there exactly once; otherwise nothing is changed, and the closest lines are told. "
        "A text that begins with a hyphen is given as --find=TEXT."
    )
    skill_argument(parser)
    parser.option("--find", metavar="A", text="The text to find.")
    parser.option("--replace", metavar="B", text="The text to put in its place; may be empty.")
    parser.option("--file", metavar="P", text="The file of the skill to change instead of SKILL.md.")
    parser.option("--all", text="Replace it everywhere in the file.")
    parser.option("--tolerant", text="Let white space, quotes and dashes differ if the text is not there exactly.")
    change_options(parser, version=True)


def run_patch(context: Context, options: Namespace) -> Answer:
    require(options, "patch", "find", "replace")
    where = {"file_path": options.file, "all": options.all, "tolerant": options.tolerant}
    done = change(context, options, "patch", find=options.find, replace=options.replace, **where)
    return Answer(done, telling(lambda c: f"Changed {name_version(c)}: {plural(c.replacements or 0, 'replacement')}."))


def configure_rename(parser: Parser) -> None:
    parser.details = "The skill's directory is renamed with it. Other skills and bundles that name it are not changed."
    skill_argument(parser)
    parser.positional("new", "NEW", "Its new name.")
    change_options(parser)


def run_rename(context: Context, options: Namespace) -> Answer:
    done = change(context, options, "rename", new_name=options.new)
    return Answer(done, telling(lambda c: f"{c.renamed_from} is now {name_version(c)}."))


def configure_delete(parser: Parser) -> None:
    parser.details = "The history keeps everything it held; `whet restore NAME` brings it back."
    skill_argument(parser)
    change_options(parser)


def run_delete(context: Context, options: Namespace) -> Answer:
    told = telling(lambda c: f"Deleted {c.skill}; `whet restore {c.skill}` brings it back.", path=False)
    return Answer(change(context, options, "delete"), told)


def configure_write_file(parser: Parser) -> None:
    parser.details = "What comes from a file or from standard input is written byte for byte."
    skill_argument(parser)
    parser.positional("path", "PATH", "The file's path in the skill, such as references/guide.md.")
    parser.option("--content", metavar="TEXT", text="What the file shall hold.")
    parser.option("--content-file", metavar="F", text="Take the content of this file; - is standard input.")
    parser.option("--executable", text="Make it a program that can be run; otherwise it stays what it was.")
    change_options(parser, version=True)


def run_write_file(context: Context, options: Namespace) -> Answer:
    content = read_data(options.content, options.content_file, "write-file", "content")
    if content is None:
        raise misuse("write-file", "--content or --content-file is missing.")
    fields = {"file_path": options.path, "content": content, "executable": options.executable or None}
    done = change(context, options, "write_file", **fields)
    return Answer(done, telling(lambda c: f"Wrote {c.file} of {name_version(c)}."))


def configure_remove_file(parser: Parser) -> None:
    parser.details = "The history keeps the file; `whet undo` and `whet rollback` bring it back."
    skill_argument(parser)
    parser.positional("path", "PATH", "The file's path in the skill, such as references/guide.md.")
    change_options(parser, version=True)


def run_remove_file(context: Context, options: Namespace) -> Answer:
    done = change(context, options, "remove_file", file_path=options.path)
    return Answer(done, telling(lambda c: f"Removed {c.file} of {name_version(c)}."))


def configure_archive(parser: Parser) -> None:
    skill_argument(parser)
    reason_option(parser)


def render_archive(archived: Archived, screen: Screen, _options: Namespace) -> None:
    """What was put away, and the way back."""
    screen.say(f"Archived {archived.name}; `whet restore {archived.name}` brings it back.")


def configure_restore(parser: Parser) -> None:
    parser.details = (
        "With a name, the skill that was deleted comes back from the history; of several that had the name, the one "
        "that was deleted last. A skill that the lock names and that is not there is installed again.\n\n"
        "Without a name, everything the lock names is brought back exactly as it was installed, from this machine's "
        "history or from its source at the recorded revision.\n\n"
        "With --backup, the state directory becomes that of the backup; the present one is kept beside it. Skills that "
        "are not there are written, and no skill is overwritten. Close agents that use Whet first."
    )
    parser.positional("name", "NAME", "The skill that is gone.", optional=True)
    parser.option("--backup", metavar="FILE", text="Put back what `whet backup` wrote.")
    parser.option("--force", text="Take back edits too; the history keeps them.")
    parser.option("--stage", text="Only propose it; `whet approve` does it.")
    plan_options(parser)


def run_restore(context: Context, options: Namespace) -> Answer:
    if options.backup is not None:
        if options.name or options.force or options.stage or options.dry_run:
            raise misuse("restore", "--backup stands alone.")
        restored = context.library.sources.restore_backup(options.backup)
        return Answer(restored, render_restored, 1 if restored.notes else 0)
    names = [options.name] if options.name else []
    if options.name and not options.force and not context.library.sources.is_locked(options.name, here=options.here):
        if options.dry_run:
            hint = f"`whet history {options.name}` shows what there was."
            raise UsageError("usage", "--dry-run is for skills that the lock names.", hint=hint)
        done = change(context, options, "restore")
        return Answer(done, telling(lambda c: f"Restored {name_version(c)}."))
    if options.stage:
        hint = "--dry-run shows what would be done."
        raise UsageError("usage", "--stage is for skills that the lock does not name.", hint=hint)
    return run_plan(
        context,
        options,
        lambda sources: sources.plan_restore(*names, here=options.here, force=options.force),
        "Restore",
        "The lock names nothing.",
    )


def render_restored(done: Restored, screen: Screen, _options: Namespace) -> None:
    """What is there again, and where the other state is."""
    screen.say(f"Restored the state and {plural(len(done.skills), 'skill')}.")
    screen.say(*(f"{clean(name)} is there with another content, and was left as it is." for name in done.kept))
    screen.say(*(clean(note.message) for note in done.notes))
    if done.aside:
        screen.hint(f"The state that was there is kept in {done.aside}.")


COMMANDS = {
    "new": Command(configure_new, run_new),
    "create": Command(configure_create, run_create),
    "edit": Command(configure_edit, run_edit),
    "patch": Command(configure_patch, run_patch),
    "rename": Command(configure_rename, run_rename),
    "delete": Command(configure_delete, run_delete),
    "write-file": Command(configure_write_file, run_write_file),
    "remove-file": Command(configure_remove_file, run_remove_file),
    "archive": Command(
        configure_archive, lambda c, o: Answer(c.library.learning.archive(o.name, o.reason), render_archive)
    ),
    "restore": Command(configure_restore, run_restore),
}

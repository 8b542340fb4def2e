"""`sync`, `publish`, `snapshot`, `pack`, `unpack`, `digest`: skills for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError
from whet.interfaces.cli.arguments import chosen_skills, here_option, misuse, skill_option
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.plans import plan_options, run_plan
from whet.interfaces.cli.text import clean, plural, short_revision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.library.standalone import Packed, Unpacked
    from whet.sources.publish.prepare import Published
    from whet.sources.publish.snapshots import SnapshotExport
    from whet.sources.sync.apply import Done, Synced, SyncReport


_SYNC_SILENT = ("fine",)
_SYNC_PLANNED = {"refresh": "refresh", "replace": "replace", "remove": "remove"}
_SYNC_DONE = {"refresh": "refreshed", "replace": "replaced", "remove": "removed"}


def configure_sync(parser: Parser) -> None:
    parser.example("whet sync", "all installed clients")
    parser.example("whet sync claude-code --here", "the project's skills, for one client")
    parser.example("whet sync --undo", "remove what sync made")
    parser.details = (
        "Your skills are in ~/.agents/skills, and a project's are in .agents/skills. For a client that looks "
        "elsewhere, sync makes a link to each skill, or a copy. From then on, the links and copies follow when you "
        "add, change, rename or remove a skill; with --skill, only those skills do. Sync leaves out skills that still "
        "have template text or TODO. It changes only what it made itself, and --undo removes exactly that."
    )
    text = "The clients, such as claude-code, codex, cursor, gemini (default: all installed clients)."
    parser.positional("clients", "CLIENT", text, many=True, optional=True)
    skill_option(parser)
    parser.option("--copy", text="Make copies instead of links.")
    parser.option("--force", text="Include clients that read .agents/skills themselves.")
    parser.option("--dry-run", text="Only show what sync would do.")
    parser.option("--undo", text="Remove what sync made.")
    parser.option("--list", text="List what sync made, with its current state.")
    here_option(parser)


def run_sync(context: Context, options: Namespace) -> Answer:
    """Plan and apply syncing, or undo it."""
    sources = context.library.sources
    if options.list:
        return Answer(sources.synced(*options.clients), render_synced, key="made")
    if options.undo and (options.dry_run or options.copy or options.force or options.skill):
        hint = "`whet sync --list` shows what it would remove."
        raise UsageError("usage", "`--undo` removes everything that sync made; it takes no other options.", hint=hint)
    if options.undo:
        return _reported(sources.unsync(*options.clients, here=options.here))
    plan = sources.plan_sync(
        *options.clients,
        how="copy" if options.copy else "link",
        here=options.here,
        names=chosen_skills(options),
        force=options.force,
    )
    if options.dry_run:
        from whet.sources.sync.apply import Done, SyncReport

        return Answer(SyncReport(tuple(Done(step, "planned") for step in plan.steps)), render_sync)
    return _reported(sources.sync(plan))


def _reported(report: SyncReport) -> Answer:
    failed = any(step.outcome in ("failed", "changed") for step in report.steps)
    return Answer(report, render_sync, 1 if failed else 0)


def render_sync(report: SyncReport, screen: Screen, options: Namespace) -> None:
    """Print a line for each change, and sentences about what was left unchanged."""
    changes = [done for done in report.steps if _is_change(done)]
    for done in changes:
        screen.line(f"{done.step.client:<13}{_sync_word(done):<10}{screen.place(done.step.path)}")
    for done in report.steps:
        if done.step.name and done.step.state not in _SYNC_SILENT and not _is_change(done):
            screen.say(f"{done.step.client}: {done.step.name}: {done.message or done.step.message}")
    about = [done for done in report.steps if not done.step.name]
    told = {done.step.client: done.message or done.step.message for done in about}
    screen.say(*(f"{client}: {message}" for client, message in told.items()))
    if not (report.steps or options.undo or options.clients):
        screen.say("No other client is installed.")
        screen.hint("Name one, such as `whet sync claude-code`.")
        return
    later = ""
    if not (options.dry_run or options.undo or options.skill):
        later = f" Skills that you add later are {'copied' if options.copy else 'linked'}, too."
    screen.say(f"{plural(len(changes), 'change')} {'would be ' if options.dry_run else ''}made.{later}")
    if changes and not (options.dry_run or options.undo):
        screen.hint("`whet sync --undo` removes what sync made; `whet undo` and `whet history` are about your skills.")


def render_synced(made: Sequence[Synced], screen: Screen, _options: Namespace) -> None:
    if made:
        rows = [(item.client, item.name, item.how, item.state, screen.place(item.path)) for item in made]
        screen.table(("CLIENT", "SKILL", "HOW", "STATE", "PATH"), rows)
    else:
        screen.say("Sync has not made anything.")


def _is_change(done: Done) -> bool:
    """Return whether something was done, or would be."""
    return done.outcome == "done" or (done.outcome == "planned" and done.step.state in ("make", *_SYNC_PLANNED))


def _sync_word(done: Done) -> str:
    copies = done.step.how == "copy"
    if done.outcome == "planned":
        return _SYNC_PLANNED.get(done.step.state, "copy" if copies else "link")
    return _SYNC_DONE.get(done.step.state, "copied" if copies else "linked")


def configure_publish(parser: Parser) -> None:
    parser.example("whet sources publish pdf --git git@host:team/skills.git", "a git repository")
    parser.example("whet sources publish pdf --index ./site", "a web directory")
    parser.example("whet sources publish pdf --hub https://skills.example.com", "a hub")
    parser.details = (
        "Whet first validates the skills strictly, scans them and runs their tests. It refuses a skill if its tests "
        "or evals fail, or if its evals have not been run on its current content.\n\n"
        "--git commits the skills to a repository: in a working copy, or to an address, to which Whet also pushes. "
        "--index writes a directory for any web server, with the index that clients look for under .well-known. --hub "
        "uploads a version to a Whet hub; log in with `whet hub login`, or set WHET_HUB and WHET_HUB_TOKEN. --oci "
        "pushes a skill to a repository of an OCI registry, tagged with its version, or several skills as a "
        "collection under the tag that you name; credentials come from `docker login`, or from WHET_OCI (the "
        "registry), WHET_OCI_USER and WHET_OCI_PASSWORD."
    )
    parser.positional("names", "NAME", "The skills, or their directories.", many=True)
    parser.option("--git", metavar="REPO", default="", text="The address or the directory of a git repository.")
    parser.option("--index", metavar="DIR", default="", text="A directory served by a web server.")
    parser.option("--hub", metavar="ADDRESS", default="", text="A hub.")
    parser.option("--oci", metavar="HOST/REPO", default="", text="A repository in an OCI registry; :TAG is optional.")
    text = "Publish although tests or evals fail, or evals were not run. The reason is recorded."
    parser.option("--allow-failing", metavar="REASON", text=text)
    text = "Use the eval results that `whet learn eval --out` wrote; a hub shows them."
    parser.option("--eval-results", metavar="DIR", default="", text=text)
    parser.option(
        "--branch", metavar="B", default="", text="Git: the branch (default: the repository's default branch)."
    )
    parser.option(
        "--into", metavar="PATH", default="skills", text="Git: the directory in the repository (default skills)."
    )
    parser.option("--message", metavar="M", default="", text="Git: the commit's message.")
    parser.option("--push", text="Git: also push the commit of a working copy.")
    parser.option("--no-push", text="Git: only show what would change in the remote repository.")
    parser.option("--prune", text="Web directory: remove files that the index no longer lists.")
    parser.option("--owner", metavar="O", default="", text="Hub: the owner.")
    parser.option("--evals", text="Hub: run the skill's trigger evals and publish the results with it.")


def run_publish(context: Context, options: Namespace) -> Answer:
    push = True if options.push else False if options.no_push else None
    paths = [context.locate(name) for name in options.names]
    wanted = options.evals or options.eval_results
    if options.evals and not options.hub:
        raise UsageError("usage", "Results of evals can only be published on a hub.", hint="Pass `--hub`.")
    learning = context.library.learning
    results = {path: learning.collect_evals(path, results=options.eval_results) for path in paths} if wanted else {}
    published = context.library.sources.publish(
        *paths,
        git=options.git,
        index=options.index,
        hub=options.hub,
        oci=options.oci,
        owner=options.owner,
        branch=options.branch,
        into=options.into,
        message=options.message,
        push=push,
        prune=options.prune,
        evals=results,
        allow_failing=options.allow_failing,
    )
    return Answer(published, render_publish)


def render_publish(published: Published, screen: Screen, options: Namespace) -> None:
    for release in published.releases:
        named = f"{release.name} {release.version}".rstrip()
        place = f"  {release.at}" if published.kind == "git" else ""  # for other kinds it is a name that nobody types
        screen.line(f"{release.change:<10}{clean(named)}{clean(place)}")
    for path in published.removed:
        screen.line(f"{'removed':<10}{clean(path)}")
    for skill in published.prepared:
        screen.say(*(f"{skill.name}: {problem.message}" for problem in skill.problems))
    target = screen.place(published.target)
    revision = f" ({short_revision(published.revision)})" if published.revision else ""
    if not published.changed:
        screen.say(f"{target} is already up to date.")
    elif options.no_push:
        screen.say(f"{target} would change; nothing was sent.")
    elif published.kind == "git" and not published.pushed:
        screen.say(f"Committed to {target}{revision}; nothing was pushed.")
    else:
        screen.say(f"Published to {target}{revision}.")
        if published.kind == "index":
            screen.hint("Serve that directory with any web server; `whet install https://HOST` installs from it.")
    screen.say(*(note.message for note in published.notes))


def configure_snapshot(parser: Parser) -> None:
    parser.details = (
        "`export` writes your skills (with --here also the project's), where they came from and your taps into one "
        "file. `import` adds them to another library; they are scanned like any install, and existing skills are "
        "not replaced."
    )
    parser.positional("action", "ACTION", "What to do.", choices=("export", "import"))
    parser.positional("file", "FILE", "The snapshot.")
    parser.option("--overwrite", text="With export: overwrite the file.")
    plan_options(parser)


def run_snapshot(context: Context, options: Namespace) -> Answer:
    if options.action == "export":
        if options.dry_run or options.override:
            raise UsageError(
                "usage", "`export` takes only `--here` and `--overwrite`.", hint="Leave out the other options."
            )
        sources = context.library.sources
        made = sources.export_snapshot(options.file, here=options.here, overwrite=options.overwrite)
        return Answer(made, render_export)
    return run_plan(context, options, lambda sources: sources.plan_import(options.file, here=options.here), "Import")


def render_export(made: SnapshotExport, screen: Screen, _options: Namespace) -> None:
    screen.line(screen.place(made.path))
    screen.say(f"{plural(len(made.skills), 'skill')} in {made.size:,} bytes.")
    screen.say(*(f"{note.skill}: {note.message}" for note in made.left_out))


def configure_pack(parser: Parser) -> None:
    parser.details = "The same content gives the same bytes on every machine. An existing path wins over a name."
    parser.positional("path", "PATH|NAME", "The skill, by path or by name.")
    parser.option("-o", "--output", metavar="FILE", text="The file or directory to write to (default NAME.skill).")


def run_pack(context: Context, options: Namespace) -> Answer:
    from whet.library.standalone import pack

    return Answer(pack(context.locate(options.path), options.output), render_pack)


def render_pack(packed: Packed, screen: Screen, _options: Namespace) -> None:
    screen.line(screen.place(packed.path))
    screen.say(f"{plural(packed.files, 'file')}, {packed.size:,} bytes, {packed.digest}.")
    if not packed.valid:
        screen.hint(
            "The skill does not follow the format, and strict clients refuse it; `whet skill validate` shows why."
        )


def configure_unpack(parser: Parser) -> None:
    parser.details = "Reads zip, tar and tar.gz. If anything in the archive is unsafe or damaged, Whet unpacks nothing."
    parser.positional("file", "FILE", "The archive.")
    parser.option("-C", "--directory", metavar="DIR", text="The directory to unpack to (default: here).")
    parser.option("--force", text="Replace an existing skill; the old one stays until the new one is complete.")


def run_unpack(context: Context, options: Namespace) -> Answer:
    from whet.library.standalone import unpack

    state = context.library.workspace.place.state
    return Answer(unpack(options.file, options.directory, force=options.force, state=state), render_unpack)


def render_unpack(unpacked: Unpacked, screen: Screen, _options: Namespace) -> None:
    screen.line(screen.place(unpacked.path))
    replaced = ", replacing the old one" if unpacked.replaced else ""
    screen.say(f"{plural(unpacked.files, 'file')}, {unpacked.digest}{replaced}.")
    screen.say(*(f"Left out {name}." for name in unpacked.skipped))


class Digest(NamedTuple):
    """The digest of the skill at a path."""

    digest: str
    path: str


def configure_digest(parser: Parser) -> None:
    parser.details = "For a .skill file, this is the digest of the skill in it. An existing path wins over a name."
    parser.positional("path", "PATH|NAME", "The skill, by path or by name.", optional=True)
    parser.option("--library", text="The digest of all skills together.")


def run_digest(context: Context, options: Namespace) -> Answer:
    if options.library == (options.path is not None):
        raise misuse("sources digest", "Pass one skill, or `--library`.")
    if options.library:
        return Answer(context.library.workspace.digest(), lambda digest, screen, _: screen.line(digest), key="digest")
    from whet.library.standalone import digest

    path = context.locate(options.path)
    return Answer(Digest(digest(path), path), lambda found, screen, _: screen.line(found.digest))


COMMANDS = {
    "sync": Command(configure_sync, run_sync),
    "sources publish": Command(configure_publish, run_publish),
    "sources snapshot": Command(configure_snapshot, run_snapshot),
    "skill pack": Command(configure_pack, run_pack),
    "skill unpack": Command(configure_unpack, run_unpack),
    "sources digest": Command(configure_digest, run_digest),
}

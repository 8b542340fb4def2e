"""Commands about installed skills, from `install` to `why`."""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING

from whet.authoring.journal import short_run
from whet.errors import NotFoundError, WhetError
from whet.interfaces.cli.arguments import (
    age_option,
    chosen_skills,
    here_option,
    misuse,
    names_argument,
    skill_argument,
    skill_option,
)
from whet.interfaces.cli.changes import hint_clients
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.plans import asks, plan_options, run_plan
from whet.interfaces.cli.terminal import progress
from whet.interfaces.cli.text import clean, name_revision, plural, short_revision
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.api import Library
    from whet.api.sources import SkillSources
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.sources.install.automatic import AutoUpdate
    from whet.sources.install.plan import Plan
    from whet.sources.install.report import CheckedSkill, Origin, Outdated, Verification


def configure_install(parser: Parser) -> None:
    parser.example("whet install anthropics/skills", "choose from a repository on GitHub")
    parser.example("whet install anthropics/skills --skill pdf", "install one of its skills")
    parser.example("whet install ./my-skill", "a directory or an archive")
    parser.example("whet install", "restore everything in the lock")
    parser.details = (
        "Whet fetches, checks and scans everything before it writes anything. Then it installs all of it in one step "
        "and records it in the lock. On a terminal, Whet shows the plan and asks. In a pipe, it installs what the "
        "policy allows; if a skill needs your approval, it installs nothing and exits with 3. Then --yes installs the "
        "skills that need no approval, and --override installs all of them.\n\n"
        "On GitHub, owner/repo/path@ref names a directory and a revision. SOURCE can also be the name of a skill, "
        "which Whet looks up in every tap; any git address; the address of a SKILL.md, an archive or a site with a "
        "skill index; clawhub:owner/slug; hub:ADDRESS; oci:HOST/REPOSITORY:TAG; marketplace:SOURCE; or tap:skill. A "
        "name after another source is a skill of that source, as with --skill. Add a version or a range of versions "
        "after @, such as pdf@1.2 or 'pdf@^1.2'; updates stay in the range.\n\n"
        "Without SOURCE, Whet restores everything in the lock that is missing, exactly as it was installed: from this "
        "machine's history, or from the source at the recorded revision."
    )
    parser.positional("sources", "SOURCE", "Where the skills come from.", many=True, optional=True)
    skill_option(parser)
    parser.option("--all", text="Install every skill in the source.")
    parser.option("--frozen", text="Make the skills exactly what the lock says, or fail, as `whet ci` does.")
    parser.option("--force", text="Without SOURCE: also restore skills that you edited; the history keeps your edits.")
    parser.exclude(("--skill", "--all"), ("--frozen", "--force"))
    age_option(parser)
    plan_options(parser)


def run_install(context: Context, options: Namespace) -> Answer:
    def plan(sources: SkillSources) -> Plan:
        if not options.sources:
            restored = sources.plan_restore(here=options.here, force=options.force, frozen=options.frozen)
            return _compare(restored) if options.frozen and options.dry_run else restored
        try:
            found = sources.plan_install(
                *options.sources,
                skills=chosen_skills(options),
                every=options.all,
                here=options.here,
                min_age=options.min_age,
            )
        except NotFoundError as error:
            if error.code == "name-not-found":
                _suggest_own(error, context.library, options.sources)
            raise
        if options.yes or options.override or options.dry_run or asks(options):
            return found
        from whet.sources.install.apply import hold_unanswered

        return hold_unanswered(found)

    if not options.sources and (options.skill or options.all):
        raise misuse("install", "SOURCE is missing.")
    if options.sources and (options.frozen or options.force):
        raise misuse("install", f"`--{'frozen' if options.frozen else 'force'}` takes no SOURCE.")
    options.yes = options.yes or options.frozen
    if options.frozen and not options.root:  # a pipeline means the project's skills, if they have a lock
        options.here = options.here or context.library.sources.has_lock(here=True)
    empty = "The lock is empty. `whet install SOURCE` installs a skill."
    answer = run_plan(context, options, plan, "Install" if options.sources else "Restore", empty)
    new = options.sources and not (answer.code or options.dry_run or options.here)
    return hint_clients(answer, context, answer.value.applied.installed) if new else answer


def _suggest_own(error: NotFoundError, library: Library, words: Sequence[str]) -> None:
    """Add to the hint which of the user's own skills a name that no source has may refer to."""
    from whet.skill.names import closest

    own = [card.name for card in library.catalogue.cards]
    if near := next((name for word in words for name in closest(word, own, 1)), ""):
        error.hint = f"You already have {near}: `whet show {quote(near)}` shows it. {error.hint}"


def configure_ci(parser: Parser) -> None:
    parser.details = (
        "For CI pipelines. Uses the project's lock if there is one, otherwise yours. It restores what is missing, at "
        "the recorded revision, and asks nothing. It changes nothing and exits with 1 if a skill is edited, is not in "
        "the lock, or is no longer in its source. Edits that `whet update` merged count as part of the lock."
    )
    here_option(parser)
    parser.option("--dry-run", text="Only compare; a missing skill is a failure, too.")


def run_ci(context: Context, options: Namespace) -> Answer:
    """Install exactly the contents of the lock."""
    vars(options).update(sources=[], skill=[], all=False, force=False, frozen=True, yes=True, reason="")
    return run_install(context, options)


def _compare(plan: Plan) -> Plan:
    """Return the plan of a frozen install that restores nothing: a missing skill is a conflict too."""
    hint = "`whet ci` restores what is missing."
    steps = (
        step._replace(state="conflict", code="frozen-missing", reason="It is missing.", hint=hint)
        if step.state == "ready"
        else step
        for step in plan.steps
    )
    return plan._replace(steps=tuple(steps))


def _read_side(word: str) -> str:
    """Return `ours` or `theirs` for any of the names that people use; a conflict calls your lines `yours`."""
    ours, theirs = ("mine", "yours", "local"), ("source", "upstream", "remote")
    return "ours" if word in ours else "theirs" if word in theirs else word


def configure_update(parser: Parser) -> None:
    parser.details = (
        "Whet looks only at the source each skill was installed from, and compares content. Your edits are merged "
        "with the changes; if both changed the same lines, the skill stays as it is and Whet shows both sides."
    )
    names_argument(parser)
    text = "Only show what is outdated. Exits with 1 if something is, with 4 if a source does not answer."
    parser.option("--check", text=text)
    text = "Do what the setting `auto_update` says, as connected clients do once a day. For scheduled jobs."
    parser.option("--auto", text=text)
    parser.exclude(("--check", "--auto"))
    text = "On conflicts, keep your lines (ours) or take the source's (theirs)."
    parser.option("--prefer", metavar="SIDE", default="", choices=("ours", "theirs"), read=_read_side, text=text)
    age_option(parser)
    plan_options(parser)


def configure_adopt(parser: Parser) -> None:
    parser.example("whet sources adopt --dry-run", "what Whet would manage")
    parser.example("whet sources adopt pdf --from anthropics/skills", "name the source of a skill")
    parser.details = (
        "Whet looks into every directory of skills, such as .agents/skills, .claude/skills and .codex/skills: yours "
        "or, with --here, the project's. If another tool installed a skill, Whet reads the source from that tool's "
        "records (skills-lock.json, .skill-lock.json, .openskills.json, .clawhub/lock.json, .hub/lock.json, or what "
        "gh wrote), so that `whet update` follows it. Adopting changes no skill, and `whet undo` reverses it."
    )
    names_argument(parser, "every skill that is not installed")
    parser.option(
        "--from", metavar="SOURCE", dest="source", default="", text="The source of the skill; only with one NAME."
    )
    plan_options(parser, override=False)


def run_adopt(context: Context, options: Namespace) -> Answer:
    """Adopt skills; if there is nothing to adopt, say what the project has."""

    def plan(sources: SkillSources) -> Plan:
        return sources.plan_adopt(*options.names, source=options.source, here=options.here)

    empty = "There is nothing to adopt."
    if not options.here and (count := _count_unmanaged(context.library)):
        verb, them = ("is", "it") if count == 1 else ("are", "them")
        empty += f" {plural(count, 'skill')} of this project {verb} not in a lock; `whet sources adopt --here` starts "
        empty += f"managing {them}."
    return run_plan(context, options, plan, "Adopt", empty)


def _count_unmanaged(library: Library) -> int:
    """Return the number of the project's skills that no lock names."""
    catalogue, installed = library.catalogue, library.sources.installed_directories()
    cards = (card for card in (*catalogue.cards, *catalogue.waiting) if card.scope == "project")
    return sum(card.kind == "skill" and os.path.realpath(card.directory) not in installed for card in cards)


def run_update(context: Context, options: Namespace) -> Answer:
    if options.auto:
        if options.names or options.here or options.prefer or options.dry_run or options.override:
            raise misuse("update", "`--auto` takes no other options.")
        return Answer(_update_automatically(context), render_auto)
    if not options.check:
        return run_plan(
            context,
            options,
            lambda sources: sources.plan_update(
                *options.names, here=options.here, prefer=options.prefer, min_age=options.min_age
            ),
            "Update",
            "Nothing is installed.",
        )
    with progress(context, options) as library:
        answer = library.sources.outdated(*options.names, here=options.here, min_age=options.min_age)
    states = {skill.status for skill in answer.skills}
    code = 1 if answer.outdated or "gone" in states else 4 if "unavailable" in states else 0
    return Answer(answer, render_outdated, code)


def _update_automatically(context: Context) -> AutoUpdate:
    """Update as the setting says, one process at a time. A failure is logged: nobody may be there to see it."""
    from whet.interfaces.hooks.background import UPDATING, give_up_in_time
    from whet.learning.hook_log import append
    from whet.store.locks import FileLock, lock_path

    state = context.library.workspace.place.state
    give_up_in_time(state, UPDATING)
    try:
        with FileLock(lock_path(state, "updating", "waiting"), timeout=0):
            return context.library.sources.auto_update()
    except WhetError as error:
        if error.code != "lock-timeout":
            append(state, "", UPDATING, error.code, error.message)
        raise


def render_auto(done: AutoUpdate, screen: Screen, _options: Namespace) -> None:
    for skill in done.updated:
        screen.line(f"Updated {clean(skill.name)} {clean(skill.before)} -> {clean(skill.after)}")
    for left in done.left:
        screen.line(f"{clean(left.name)}: {clean(left.reason)}")
    if done.run:
        screen.hint(f"`whet undo {short_run(done.run)}` reverses it.")
    if done.mode == "off":
        screen.say("The setting `auto_update` is off.")
    elif not done.updated and not done.left:
        screen.say("Nothing is outdated.")


_UNCHECKED = {"gone": "gone from the source", "unavailable": "unavailable", "no-source": "without a source"}


def render_outdated(answer: Outdated, screen: Screen, options: Namespace) -> None:
    """Print a table of skills that are not current, and a sentence about the rest."""
    rows = [_outdated_row(skill) for skill in answer.skills if skill.status != "current" or skill.notes]
    if rows:
        screen.table(("NAME", "STATUS", "NOW", "LATEST", "NOTE"), rows)
    current = sum(skill.status == "current" for skill in answer.skills)
    counts = [f"{plural(answer.outdated, 'skill')} outdated", f"{current} current"]
    if waiting := sum(skill.status == "newer" and not skill.outdated for skill in answer.skills):
        counts.append(f"{waiting} held back")
    for status, words in _UNCHECKED.items():
        if count := sum(skill.status == status for skill in answer.skills):
            counts.append(f"{count} {words}")
    screen.say(f"{', '.join(counts)}." if answer.skills else "Nothing is installed.")
    if followed := sum(skill.outdated and not skill.pinned for skill in answer.skills):
        update = "whet update --here" if options.here else "whet update"
        them = "it" if answer.outdated == 1 else "them"
        pinned = ", except pinned skills" if followed < answer.outdated else ""
        screen.hint(f"`{update}` updates {them}{pinned}; `{update} --dry-run` shows what would change.")


def _outdated_row(skill: CheckedSkill) -> tuple[str, ...]:
    marks = {"pinned": skill.pinned, "edited": skill.edited, "missing": skill.missing}
    held = f"held back: {skill.held}" if skill.held else ""
    said = (note.message.rstrip(".") for note in skill.notes)
    note = "; ".join(filter(None, (", ".join(word for word, true in marks.items() if true), skill.reason, held, *said)))
    revision, version = skill.latest or ("", "")
    if skill.version and version != skill.version and (version or not revision):
        return skill.name, skill.status, skill.version, version, note
    return skill.name, skill.status, short_revision(skill.revision), short_revision(revision), note


_VERIFY_STYLES: dict[str, Style] = {"ok": "green", "edited": "yellow"}
"""All other states are red."""


def configure_verify(parser: Parser) -> None:
    parser.details = "Compares every file with the lock; exits with 1 if something differs. Works offline."
    names_argument(parser)
    here_option(parser)


def run_verify(context: Context, options: Namespace) -> Answer:
    answer = context.library.sources.verify(*options.names, here=options.here)
    return Answer(answer, render_verify, 0 if answer.valid else 1)


def render_verify(answer: Verification, screen: Screen, options: Namespace) -> None:
    """Print a line for each skill, and the files that differ."""
    for skill in answer.skills:
        screen.line(f"{clean(skill.name)}: {screen.paint(skill.status, _VERIFY_STYLES.get(skill.status, 'red'))}")
        for file in skill.files:
            screen.line(f"  {file.change:<8}{clean(file.path)}")
        if skill.reason:
            screen.line(f"  {clean(skill.reason)}")
    here = " --here" if options.here else ""
    wrong = [skill for skill in answer.skills if skill.status != "ok"]
    count = plural(len(answer.skills), "skill")
    if not answer.skills:
        screen.say("Nothing is installed.")
    else:
        screen.say(f"{len(wrong)} of {count} not as installed." if wrong else f"{count} as installed.")
    if any(skill.status == "missing" for skill in wrong):
        screen.hint(f"`whet install{here}` restores what is missing.")
    if answer.unmanaged:
        verb, them = ("is", "it") if len(answer.unmanaged) == 1 else ("are", "them")
        screen.hint(
            f"{', '.join(answer.unmanaged)} {verb} not in the lock; `whet sources adopt{here}` starts managing {them}."
        )


def render_why(origin: Origin, screen: Screen, _options: Namespace) -> None:
    screen.line(screen.paint(clean(origin.name), "bold"))
    screen.facts(((f"  {label}", clean(text)) for label, text in _describe_origin(origin, screen)), _FACTS)


def _describe_origin(origin: Origin, screen: Screen) -> Iterator[tuple[str, str]]:
    """Yield the facts about the origin, as label and text. A terminal gets full hashes only with -v."""

    def short(digest: str) -> str:
        return digest if screen.verbose or not screen.tty else short_revision(digest)

    yield "at", f"{screen.place(origin.path)} ({origin.scope})"
    if installed := origin.installed:
        entry = installed.entry
        yield "from", installed.shown or "no source"
        if entry.checkout:
            yield "revision", name_revision("", entry.checkout)
        elif entry.revision not in ("", entry.digest):
            yield "revision", short(entry.revision)
        yield "digest", f"{short(entry.digest)} ({plural(len(entry.files), 'file')})"
        yield "since", f"{entry.installed}, last updated {entry.updated}"
        yield "trust", f"{origin.trust}, {entry.verdict} when it was scanned"
        if published := installed.published:
            yield "published", f"{published.published[:10]} by {published.by}, {published.verdict}"
            yield "proof", f"entry {published.entry} of the log {entry.log_key.partition('+')[0]}"
        if installed.edited:
            yield "edited", "it has changed since it was installed; `whet sources verify` shows the files"
        if entry.pinned:
            yield "pinned", f"updates skip it{'' if entry.pinned == 'yes' else f': {entry.pinned}'}"
    elif origin.history:
        made = origin.history[0]
        yield "made", f"{made.what} by {made.actor} on {iso(made.time)}"
    elif origin.plugin:
        yield "from", f"the plugin {origin.plugin}"
        yield "changes", "go to a copy of your own; update or remove the plugin with the client that installed it"
    else:
        yield "from", "unknown: Whet did not install or change it"
    if not origin.installed:
        yield "trust", origin.trust
    if origin.needs:
        yield "needs", ", ".join(origin.needs)
    if origin.needed_by:
        only = origin.installed is not None and bool(origin.installed.entry.dependency)
        yield "needed by", f"{', '.join(origin.needed_by)}{', installed only for that' if only else ''}"
    if decision := origin.decision:
        yield "decision", f"{decision.decision} on {iso(decision.time)}: {decision.reason}"


_FACTS = 12
"""Width of the labels of facts about an origin."""


COMMANDS = {
    "install": Command(configure_install, run_install),
    "ci": Command(configure_ci, run_ci),
    "update": Command(configure_update, run_update),
    "sources adopt": Command(configure_adopt, run_adopt),
    "sources verify": Command(configure_verify, run_verify),
    "sources why": Command(skill_argument, lambda c, o: Answer(c.library.sources.why(o.name), render_why)),
}

"""`doctor`, `needs`, `validate`: problems and missing setup."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from shlex import quote

from whet.errors import WhetError
from whet.interfaces.cli.arguments import here_option, misuse
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.output import SEVERITY_STYLES
from whet.interfaces.cli.terminal import agree, can_ask, progress
from whet.interfaces.cli.text import clean, plural, shorten
from whet.notes import Note
from whet.records import NamedTuple
from whet.skill.validate.input import PROFILES
from whet.values import as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.api import Library
    from whet.api.guard import AuditProof
    from whet.authoring.results import Changes, Proof
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.library.standalone import Checked, Host, Validation
    from whet.prompt.needs import Needs
    from whet.skill.validate.input import Profile
    from whet.sources.install.report import Verification
    from whet.sources.recipes import RecipePlan, RecipeStep
    from whet.store.repair import Repaired
    from whet.values import Json


class Diagnosis(NamedTuple):
    """Problems, and the repairs made before."""

    report: tuple[Note, ...]
    repaired: Repaired | None = None
    proofs: Proofs | None = None

    def to_json(self) -> Json:
        """Return the diagnosis as JSON."""
        repaired = self.repaired.to_json() if self.repaired else {}
        proofs = {name: as_json(proof) for name, proof in self.proofs._asdict().items()} if self.proofs else {}
        return {"success": True, "report": as_json(self.report), **repaired, **proofs}


class Proofs(NamedTuple):
    """Proofs that everything is as it was installed and written."""

    installed: Verification
    history: Proof
    record: AuditProof

    @property
    def valid(self) -> bool:
        """Whether all proofs hold."""
        return self.installed.valid and self.history.valid and self.record.valid


class Fixed(NamedTuple):
    """Findings about skills after fixes, and the changes to skills of the library."""

    validation: Validation
    changes: tuple[Changes, ...]

    def to_json(self) -> Json:
        """Return the results as JSON, with the numbers of changes in the history and of waiting proposals."""
        entries = [entry for changes in self.changes for entry in changes.entries]
        proposals = [changes.proposal for changes in self.changes if changes.proposal is not None]
        return self.validation.to_json() | {"entries": entries, "proposals": proposals}


def configure_doctor(parser: Parser) -> None:
    text = "Also compare installed skills with the lock, and verify the history and the guard's log; exit with 1"
    parser.option("--deep", text=f"{text} if something differs.")
    here_option(parser)
    parser.option(
        "--repair",
        text="Repair what is safe to repair, then report. Exits with 1 if an error is left, with 4 if a repair fails.",
    )
    parser.option(
        "--fix",
        text="As --repair; also fix skills as `whet skill validate --fix` does, and link them as `whet sync` does.",
    )
    parser.option("--check", text="Exit with 1 if the report has an error.")


def examine_machine(library: Library) -> tuple[Note, ...]:
    """Return notes about the connections to clients and the sandbox."""
    from whet.guard.sandbox.levels import level
    from whet.interfaces.clients.records import Connections
    from whet.interfaces.clients.status import examine_connections
    from whet.library.doctor import examine_sandbox

    workspace = library.workspace
    return (*examine_connections(workspace.place, Connections(workspace.state)), examine_sandbox(level))


def run_doctor(context: Context, options: Namespace) -> Answer:
    """Repair if requested, then report."""
    from whet.guard.sandbox.levels import level
    from whet.library.doctor import examine_sandbox, worst_first

    repairs = options.repair or options.fix
    try:
        library = context.library
    except WhetError as error:  # no home or no working directory: that is the problem to report
        report = (Note.from_error(error, "error"), examine_sandbox(level))
        return Answer(Diagnosis(report), render_doctor, 4 if repairs else 1 if options.check else 0)
    with progress(context, options):
        repaired = library.repair() if repairs else None
        found = (*library.doctor(), *examine_machine(library))
        if repaired and options.fix and (done := _follow_hints(library, found)):
            repaired = repaired._replace(done=(*repaired.done, *done))
            found = (*library.doctor(), *examine_machine(library))
    errors = [note for note in found if note.severity == "error"]
    state = library.workspace.place.state
    unmended = repaired and (repaired.failed or any(note.path.startswith(state) for note in errors))
    proofs = None
    if options.deep:
        proofs = Proofs(
            library.sources.verify(here=options.here), library.history.verify(), library.guard.verify_audit()
        )
    fails = (errors and (options.check or repairs)) or (proofs and not proofs.valid)
    code = 4 if unmended else 1 if fails else 0
    return Answer(Diagnosis(tuple(worst_first(found)), repaired, proofs), render_doctor, code)


def _follow_hints(library: Library, found: Sequence[Note]) -> tuple[str, ...]:
    """Apply reversible remedies that hints of the report name; return a sentence about each repair."""
    from whet.authoring.journal import short_run

    done: list[str] = []
    changes: list[Changes] = []
    paths = dict.fromkeys(note.path for note in found if "`whet skill validate " in note.hint)
    run = f"r{os.urandom(8).hex()}"
    for path in paths:
        with suppress(WhetError):
            fixed = _repair(library, path, "spec", None, run, changes)
            done += [f"Fixed {fixed.skill or path}: {_describe_fix(note)} [{note.code}]" for note in fixed.fixed or ()]
    if any(changed.entries for changed in changes):
        done.append(f"`whet undo {short_run(run)}` undoes these fixes.")
    if any(note.code == "client-elsewhere" for note in found):
        steps = library.sources.sync(library.sources.plan_sync()).steps
        if linked := [one.step for one in steps if one.outcome == "done"]:
            clients = ", ".join(dict.fromkeys(step.client for step in linked))
            done.append(f"Linked {plural(len(linked), 'skill')} to {clients}; `whet sync --undo` removes the links.")
    return tuple(done)


def render_doctor(diagnosis: Diagnosis, screen: Screen, options: Namespace) -> None:
    if done := diagnosis.repaired:
        screen.say(*done.done)
        screen.say(*(f"Lost: {sentence.removeprefix('Lost: ')}" for sentence in done.lost))
        screen.say(*(f"Failed: {sentence}" for sentence in done.failed))
        if not any(done):
            screen.say("Nothing needs a repair that Whet can make. For what is listed below, follow the hint.")
    by_severity: dict[str, list[Note]] = {}
    for note in diagnosis.report:
        by_severity.setdefault(note.severity, []).append(note)
    for at, (severity, notes) in enumerate(by_severity.items()):
        if at:
            screen.line()
        title = plural(len(notes), "note" if severity == "info" else severity)
        screen.line(screen.paint(title, "bold", SEVERITY_STYLES[severity]))
        for note in notes:
            _render_note(note, screen)
    if not by_severity.keys() & {"error", "warning"}:
        screen.say("No errors or warnings.")
    if screen.tty and not screen.verbose and any(note.hint for note in by_severity.get("info", ())):
        screen.hint("-v shows where, and what you can do.")

    if proofs := diagnosis.proofs:
        from whet.interfaces.cli.commands.guard import render_audit_proof
        from whet.interfaces.cli.commands.history import render_verify_history
        from whet.interfaces.cli.commands.install import render_verify

        for title, render in (
            ("Installed skills", partial(render_verify, proofs.installed)),
            ("History", partial(render_verify_history, proofs.history)),
            ("Log of the guard", partial(render_audit_proof, proofs.record)),
        ):
            screen.line()
            screen.line(screen.paint(title, "bold"))
            render(screen, options)


def _render_note(note: Note, screen: Screen) -> None:
    if screen.tty and not screen.verbose and note.severity == "info":
        remedy = f" {note.hint}" if note.hint.startswith("`whet ") else ""  # one command, which needs no path
        screen.paragraph(f"{f'{note.skill}: ' if note.skill else ''}{note.message}{remedy} [{note.code}]", 2)
        return
    code = screen.paint(note.code, SEVERITY_STYLES[note.severity])
    place = screen.place(note.path) + (f":{note.line}" if note.line else "")
    skill = f"{clean(note.skill)}  " if note.skill else ""
    screen.line(f"  {code}  {skill}{screen.paint(place, 'dim')}".rstrip())
    screen.paragraph(note.message, 6)
    if note.hint:
        screen.paragraph(f"hint: {note.hint}", 6)


def configure_needs(parser: Parser) -> None:
    parser.details = (
        "Lists environment variables, programs, settings and tools, with the skills that need them. Values are "
        "never shown. In a pipe, each line has kind, name, skills and help, separated by tabs."
    )
    parser.positional("names", "NAME", "Only these skills.", many=True, optional=True)
    parser.option("--check", text="Exit with 1 if something is missing.")
    text = "Show how to install missing programs, as the skills say, and install them after you confirm."
    parser.option("--install", text=text)


def run_needs(context: Context, options: Namespace) -> Answer:
    if options.install:
        return _install_needs(context, options)
    needs = context.library.needs(*options.names, caller=context.caller)
    return Answer(needs, render_needs, 1 if options.check and not needs.ready else 0)


def render_needs(needs: Needs, screen: Screen, _options: Namespace) -> None:
    """Print a table for a terminal, lines for a program."""
    rows = [(need.kind, need.name, ", ".join(need.skills), need.help) for need in needs]
    if not rows:
        screen.say("Nothing is missing.")
    if screen.tty:
        most = screen.columns // 3
        rows = [(kind, name, shorten(clean(skills), most), text) for kind, name, skills, text in rows]
    screen.grid(("KIND", "NAME", "FOR", "HELP"), rows)


def _install_needs(context: Context, options: Namespace) -> Answer:
    """Plan the installation of missing programs, and run it only after a person agreed."""
    library = context.library
    cards = [library.card(name) for name in options.names] or list(library.skills(caller=context.caller))
    plan = library.sources.plan_needs(cards)
    if plan.ready and can_ask(options):
        listed = "\n".join(f"  {_how(step)}" for step in plan.ready)
        if agree(f"{listed}\nInstall {plural(len(plan.ready), 'program')}?", default=False):
            plan = library.sources.install_needs(plan)
    elif plan.ready and options.yes:
        plan = library.sources.install_needs(plan)
    return Answer(plan, render_recipes, 4 if any(step.state == "failed" for step in plan.steps) else 0)


def render_recipes(plan: RecipePlan, screen: Screen, _options: Namespace) -> None:
    rows = [(step.state, step.program, step.skill, _how(step) or step.reason) for step in plan.steps]
    screen.grid(("STATE", "PROGRAM", "SKILL", "HOW"), rows, "No program is missing.")
    told = [step for step in plan.steps if step.reason and (step.url or step.state in ("blocked", "failed"))]
    screen.say(*(f"{step.program}: {step.reason}" for step in told))
    if plan.dry_run and plan.ready:
        screen.hint("Nothing was installed. `--yes` runs the lines marked ready.")


def _how(step: RecipeStep) -> str:
    return f"download {step.url} to {step.path}" if step.url else " ".join(step.command)


def configure_validate(parser: Parser) -> None:
    parser.example("whet skill validate pdf", "one of your skills")
    parser.example("whet skill validate ./pdf --profile quality", "format and quality, in a directory")
    parser.example("whet skill validate skills --recursive", "every skill below a directory")
    parser.details = (
        "A path can be a skill's directory, its SKILL.md or a .skill file. An existing path wins over a name.\n\n"
        "With --profile quality, the first finding of each kind comes with an example of what to write; with -v, "
        "every finding does. The history records what --fix changes in your skills, and `whet undo` reverses it."
    )
    text = "Skills, by path or by name (with --client, the default is every skill that the client finds)."
    parser.positional("paths", "PATH|NAME", text, many=True, optional=True)
    parser.option("--profile", metavar="P", choices=PROFILES, default="spec", text="How strict to be (default spec).")
    text = "The version of a client, such as hermes=0.8; can be repeated. Only with --profile package."
    parser.option("--host", metavar="H=V", many=True, default=[], text=text)
    text = "A tool that the client has; can be repeated. Only with --profile package."
    parser.option("--tool", metavar="T", many=True, default=[], text=text)
    text = "Also say what a client, such as codex, would drop, cut or rename; can be repeated."
    parser.option("--client", metavar="NAME", many=True, default=[], text=text)
    parser.option("--recursive", text="Check every skill below the paths.")
    parser.option("--fix", text="Apply safe fixes: they change how a skill is written, never what it says.")


def run_validate(context: Context, options: Namespace) -> Answer:
    """Validate every skill; all paths are looked up before any file is changed."""
    from whet.library.standalone import Validation, check, skills_below

    host = _read_host(options)
    paths = [context.locate(path) for path in options.paths]
    if options.client and not paths:
        lists = context.library.clients(*options.client)
        paths = [os.path.dirname(skill.path) for found in lists for skill in (*found.skills, *found.left_out)]
    elif not paths:
        raise misuse("skill validate", "PATH|NAME is missing.")
    if options.recursive:
        paths = [skill for path in paths for skill in skills_below(path)]
    paths = list(dict.fromkeys(paths))
    changes: list[Changes] = []
    if options.fix:
        run = f"r{os.urandom(8).hex()}"  # one `whet undo` undoes all fixes
        results = [_repair(context.library, path, options.profile, host, run, changes) for path in paths]
    else:
        results = [check(path, options.profile, host) for path in paths]
    if options.client:
        results = [_check_for_clients(result, options.client) for result in results]
    found = Validation(tuple(results))
    if options.fix:
        return Answer(Fixed(found, tuple(changes)), render_fixed, 0 if found.valid else 1)
    return Answer(found, render_validate, 0 if found.valid else 1)


def _repair(
    library: Library, path: str, profile: Profile, host: Host | None, run: str, changes: list[Changes]
) -> Checked:
    """Fix a skill: one of the library as `whet edit` changes it, any other as a file."""
    from whet.authoring.writer import Provenance
    from whet.library.standalone import repair, skill_place

    state = library.workspace.place.state
    place = os.path.realpath(skill_place(os.path.expanduser(path)))
    card = library.catalogue.at(place)
    if card is None or card.kind == "command":
        return repair(path, profile, host, state=state)
    by, before = Provenance("user", reason="skill validate --fix", run=run), len(changes)

    def write(old: bytes, new: str) -> bool:
        changes.append(library.edit.rewrite(card, old, new, by))
        return bool(changes[-1].entries)

    result = repair(path, profile, host, state=state, write=write)
    for done in changes[before:]:
        with suppress(WhetError):  # several skills of that name, or a skill of an untrusted project
            found = library.card(done.one().skill)
            result = result._replace(skill=found.full_name if found.place == place else "")
    return result


def _check_for_clients(result: Checked, names: list[str]) -> Checked:
    """Return the result with the behaviour of these clients; a skill that one of them drops is not valid."""
    from whet.library.client_lists import check_for
    from whet.library.clients import client_named
    from whet.library.standalone import content, is_archive

    clients = [client_named(name) for name in names]
    if is_archive(result.path) or not os.path.isfile(result.file):
        return result
    folder = os.path.basename(os.path.dirname(os.path.abspath(result.file)))
    data = content(result.file)
    notes = [note for client in clients for note in check_for(client, data, folder, result.file)]
    dropped = any(note.code == "client-drops" for note in notes)
    return result._replace(valid=result.valid and not dropped, findings=(*result.findings, *notes))


def _read_host(options: Namespace) -> Host | None:
    """Return the agent that the options describe for the profile `package`."""
    from whet import __version__
    from whet.library.standalone import Host

    if options.profile != "package":
        if options.host or options.tool:
            raise misuse("skill validate", "`--host` and `--tool` need `--profile package`.")
        return None
    versions = dict(word.partition("=")[::2] for word in options.host)
    if odd := next((word for word in options.host if not all(word.partition("="))), ""):
        raise misuse("skill validate", f"{odd!r} is not a host and its version, such as hermes=0.8.")
    return Host({"whet": __version__, **versions}, frozenset(options.tool) if options.tool else None)


def render_validate(found: Validation, screen: Screen, options: Namespace) -> None:
    """Print a verdict on each skill and its findings; in a pipe, each finding is a line that editors can jump to."""
    findings = [finding for result in found.results for finding in result.findings]
    for result in found.results:
        draft = result.valid and any(finding.code == "leftover-marker" for finding in result.findings)
        verdict = screen.paint("valid", "green") if result.valid else screen.paint("not valid", "red")
        verdict += f", but {screen.paint('still a draft', 'yellow')}" if draft else ""
        heading = f"{screen.place(result.path)}: {verdict}"
        if screen.tty:
            screen.line(heading)
        screen.say(*(_tell_fixed(finding, result, screen) for finding in result.fixed or ()))
        shown: set[str] = set()
        for finding in sorted(result.findings, key=lambda finding: finding.line or 0):
            _render_finding(finding, result, screen)
            if screen.verbose or (screen.tty and finding.code not in shown):
                shown.add(finding.code)
                _render_example(finding, screen)
        if not screen.tty:
            screen.line(heading)
    counts = {severity: sum(finding.severity == severity for finding in findings) for severity in SEVERITY_STYLES}
    told = f"{plural(counts['error'], 'error')}, {plural(counts['warning'], 'warning')}, {counts['info']} info"
    fixed = sum(len(result.fixed or ()) for result in found.results)
    screen.say(f"{plural(len(found.results), 'skill')}: {told}{f', {fixed} fixed' if fixed else ''}.")
    if not options.fix and (fixable := sum(bool(finding.fix) for finding in findings)):
        screen.hint(f"{fixable} can be fixed with `--fix`.")
    if not options.recursive and any(finding.code == "skill-md-missing" for finding in findings):
        screen.hint("For a directory of skills, add `--recursive`.")
    if screen.tty and options.profile == "spec" and not (options.fix or options.recursive or counts["error"]):
        screen.hint("`--profile quality` also checks the wording, the tools and the files that the skill mentions.")


def render_fixed(fixed: Fixed, screen: Screen, options: Namespace) -> None:
    """Show the verdicts, the proposals that wait for approval, and how to undo the fixes."""
    from whet.interfaces.cli.changes import render_change

    render_validate(fixed.validation, screen, options)
    for changes in fixed.changes:
        render_change(changes, screen, "", path=False)
    if entries := [entry for changes in fixed.changes for entry in changes.entries]:
        names = [result.skill for result in fixed.validation.results if result.skill]
        what = f" {quote(names[0])}" if names else f" {entries[0]}"
        screen.hint(f"`whet undo{what if len(entries) == 1 else ''}` undoes this.")


def _tell_fixed(finding: Note, result: Checked, screen: Screen) -> str:
    """Describe the fix of a finding, with the place of the skill."""
    line = f", line {finding.line}" if finding.line else ""
    return f"Fixed {result.skill or screen.place(result.path)}{line}: {_describe_fix(finding)} [{finding.code}]"


def _describe_fix(finding: Note) -> str:
    """Describe the fix of a finding; return the finding's message if it has no description of the fix."""
    verb, _, rest = finding.fix.partition(" ")
    return f"{_DONE.get(verb, verb)} {rest}" if rest else finding.message


_DONE = {
    "Adds": "Added",
    "Closes": "Closed",
    "Moves": "Moved",
    "Puts": "Put",
    "Quotes": "Quoted",
    "Removes": "Removed",
    "Sets": "Set",
    "Writes": "Wrote",
}
"""Verbs of fixes, in the present and in the past."""


def _render_finding(finding: Note, result: Checked, screen: Screen) -> None:
    style, said = SEVERITY_STYLES[finding.severity], f"{finding.message} [{finding.code}]"
    if screen.tty:
        screen.paragraph(said, 16, f"{finding.line or '':>5}  {screen.paint(f'{finding.severity:<7}', style)}  ")
    else:
        place = screen.place(result.file) + (f":{finding.line}" if finding.line else "")
        screen.line(f"{place}: {screen.paint(finding.severity, style)}: {clean(said)}")


def _render_example(finding: Note, screen: Screen) -> None:
    from whet.skill.validate.quality import example_for

    if example := example_for(finding):
        screen.paragraph(f"Example: {example}", 16 if screen.tty else 2)


COMMANDS = {
    "doctor": Command(configure_doctor, run_doctor),
    "skill needs": Command(configure_needs, run_needs),
    "skill validate": Command(configure_validate, run_validate),
}

"""`doctor`, `needs`, `validate`: what is wrong or missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.interfaces.cli.context import Command, Outcome
from whet.interfaces.cli.output import SEVERITY_STYLES
from whet.interfaces.cli.text import clean, plural, shorten

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser
    from whet.values import Json


def configure_doctor(parser: Parser) -> None:
    parser.option("--repair", text="Mend what can be mended without asking, then report. Exits with 4 if that failed.")
    parser.option("--check", text="Exit with 1 when there is an error in the report.")


def run_doctor(context: Context, options: Namespace) -> Answer:
    """Mend if asked to, then ask for the report."""
    from whet.guard.sandbox.levels import level
    from whet.interfaces.clients.records import Connections
    from whet.interfaces.clients.status import examine_connections
    from whet.library.doctor import examine_sandbox, worst_first

    library = context.library
    repaired = library.repair().to_json() if options.repair else {}
    found = (
        *library.doctor(),
        *examine_connections(library.workspace.place, Connections(library.workspace.state)),
        examine_sandbox(level),
    )
    report = [entry.to_json() for entry in worst_first(found)]
    errors = [entry for entry in report if entry["severity"] == "error"]
    state = library.workspace.place.state
    unmended = options.repair and (repaired["failed"] or any(entry["path"].startswith(state) for entry in errors))
    code = 4 if unmended else 1 if options.check and errors else 0
    return Outcome({"success": True, "report": report, **repaired}, code)


def render_doctor(answer: Json, screen: Screen, _options: Namespace) -> None:
    screen.say(*answer.get("repaired", ()))
    screen.say(*(f"Lost: {sentence.removeprefix('Lost: ')}" for sentence in answer.get("lost", ())))
    screen.say(*(f"Failed: {sentence}" for sentence in answer.get("failed", ())))
    by_severity: dict[str, list[Json]] = {}
    for entry in answer["report"]:
        by_severity.setdefault(entry["severity"], []).append(entry)
    for at, (severity, entries) in enumerate(by_severity.items()):
        if at:
            screen.line()
        title = f"{len(entries):,} info" if severity == "info" else plural(len(entries), severity)
        screen.line(screen.paint(title, "bold", SEVERITY_STYLES[severity]))
        for entry in entries:
            _render_entry(entry, screen)


def _render_entry(entry: Json, screen: Screen) -> None:
    code = screen.paint(entry["code"], SEVERITY_STYLES[entry["severity"]])
    place = screen.place(entry["path"]) + (f":{entry['line']}" if entry["line"] else "")
    skill = f"{clean(entry['skill'])}  " if entry["skill"] else ""
    screen.line(f"  {code}  {skill}{screen.paint(place, 'dim')}".rstrip())
    screen.paragraph(entry["message"], 6)
    if entry["hint"]:
        screen.paragraph(f"hint: {entry['hint']}", 6)


def configure_needs(parser: Parser) -> None:
    parser.details = (
        "Environment variables, programs, settings and tools, with the skills that ask for them. Values are neither "
        "asked for nor shown. On a pipe, each is a line of kind, name, skills and help, with tabs between them."
    )
    parser.positional("names", "NAME", "Only these skills.", many=True, optional=True)
    parser.option("--check", text="Exit with 1 when something is missing.")


def run_needs(context: Context, options: Namespace) -> Answer:
    answer = context.library.needs(*options.names, caller=context.caller).to_json()
    return Outcome(answer, 1 if options.check and not answer["ready"] else 0)


def render_needs(answer: Json, screen: Screen, _options: Namespace) -> None:
    """A table for a terminal, lines for a program."""
    rows = [(need["kind"], need["name"], ", ".join(need["skills"]), need["help"]) for need in answer["needs"]]
    if not rows:
        screen.say("Nothing is missing.")
    if screen.tty:
        most = screen.columns // 3
        rows = [(kind, name, shorten(clean(skills), most), text) for kind, name, skills, text in rows]
    screen.grid(("KIND", "NAME", "FOR", "HELP"), rows)


_PROFILES = ("spec", "upload", "quality")


def configure_validate(parser: Parser) -> None:
    parser.details = (
        "A path may be a skill's directory, its SKILL.md or a .skill file. A path that exists wins over a name."
    )
    parser.positional("paths", "PATH|NAME", "Skills, by path or by name.", many=True)
    parser.option("--profile", metavar="P", choices=_PROFILES, default="spec", text="How strict to be (default spec).")
    parser.option("--recursive", text="Check every skill below the paths.")
    parser.option("--fix", text="Apply the fixes that change how a skill is written, never what it says.")


def run_validate(context: Context, options: Namespace) -> Answer:
    """Check every skill; all paths are looked up before any file is changed."""
    from whet.library.standalone import check, mend, skills_below

    paths = [context.locate(path) for path in options.paths]
    if options.recursive:
        paths = [skill for path in paths for skill in skills_below(path)]
    if options.fix:
        results = [
            mend(path, options.profile, state=context.library.workspace.place.state) for path in dict.fromkeys(paths)
        ]
    else:
        results = [check(path, options.profile) for path in dict.fromkeys(paths)]
    valid = all(result.valid for result in results)
    answer = {"success": True, "valid": valid, "results": [result.to_json() for result in results]}
    return Outcome(answer, 0 if valid else 1)


def render_validate(answer: Json, screen: Screen, options: Namespace) -> None:
    """A verdict on each skill and its findings; on a pipe each finding is a line that editors can jump to."""
    findings = [finding for result in answer["results"] for finding in result["findings"]]
    for result in answer["results"]:
        verdict = screen.paint("valid", "green") if result["valid"] else screen.paint("not valid", "red")
        heading = f"{screen.place(result['path'])}: {verdict}"
        if screen.tty:
            screen.line(heading)
        for finding in result.get("fixed", ()):
            screen.say(f"Fixed: {finding['message']} [{finding['code']}]")
        for finding in sorted(result["findings"], key=lambda finding: finding["line"] or 0):
            (_validate_row if screen.tty else _validate_line)(finding, result, screen)
        if not screen.tty:
            screen.line(heading)
    counts = {severity: sum(finding["severity"] == severity for finding in findings) for severity in SEVERITY_STYLES}
    found = f"{plural(counts['error'], 'error')}, {plural(counts['warning'], 'warning')}, {counts['info']} info"
    fixed = sum(len(result.get("fixed", ())) for result in answer["results"])
    screen.say(f"{plural(len(answer['results']), 'skill')}: {found}{f', {fixed} fixed' if fixed else ''}.")
    if not options.fix and (fixable := sum(bool(finding["fix"]) for finding in findings)):
        screen.hint(f"{fixable} can be fixed with --fix.")
    if not options.recursive and any(finding["code"] == "skill-md-missing" for finding in findings):
        screen.hint("For a directory of skills, add --recursive.")


def _validate_row(finding: Json, _result: Json, screen: Screen) -> None:
    severity = screen.paint(f"{finding['severity']:<7}", SEVERITY_STYLES[finding["severity"]])
    lead = f"{finding['line'] or '':>5}  {severity}  "
    screen.paragraph(f"{finding['message']} [{finding['code']}]", 16, lead)


def _validate_line(finding: Json, result: Json, screen: Screen) -> None:
    line = f":{finding['line']}" if finding["line"] else ""
    severity = screen.paint(finding["severity"], SEVERITY_STYLES[finding["severity"]])
    screen.line(f"{screen.place(result['file'])}{line}: {severity}: {clean(finding['message'])} [{finding['code']}]")


COMMANDS = {
    "doctor": Command(configure_doctor, run_doctor, render_doctor),
    "needs": Command(configure_needs, run_needs, render_needs),
    "validate": Command(configure_validate, run_validate, render_validate),
}

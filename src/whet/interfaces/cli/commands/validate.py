"""`whet validate PATH...`: every problem of every skill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.output import SEVERITY_STYLES
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

PROFILES = ("spec", "upload", "quality")


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "A path may be a skill's directory, its SKILL.md or a .skill file. A path that exists wins over a name."
    )
    parser.positional("paths", "PATH|NAME", "Skills, by path or by name.", many=True)
    parser.option("--profile", metavar="P", choices=PROFILES, default="spec", text="How strict to be (default spec).")
    parser.option("--recursive", text="Check every skill below the paths.")
    parser.option("--fix", text="Apply the fixes that change how a skill is written, never what it says.")


def run(context: Context, options: Namespace) -> Outcome:
    """Check every skill; all paths are looked up before any file is changed."""
    from whet.library.checking import check, mend, skills_below

    paths = [context.locate(path) for path in options.paths]
    if options.recursive:
        paths = [skill for path in paths for skill in skills_below(path)]
    if options.fix:
        results = [mend(path, options.profile, state=context.library.place.state) for path in dict.fromkeys(paths)]
    else:
        results = [check(path, options.profile) for path in dict.fromkeys(paths)]
    valid = all(result["valid"] for result in results)
    return Outcome({"success": True, "valid": valid, "results": results}, 0 if valid else 1)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A verdict on each skill and its findings; on a pipe each finding is a line that editors can jump to."""
    findings = [finding for result in answer["results"] for finding in result["findings"]]
    for result in answer["results"]:
        verdict = screen.paint("valid", "green") if result["valid"] else screen.paint("not valid", "red")
        heading = f"{screen.place(result['path'])}: {verdict}"
        if screen.tty:
            screen.line(heading)
        for finding in result.get("fixed", ()):
            screen.said.append(f"Fixed: {finding['message']} [{finding['code']}]")
        for finding in sorted(result["findings"], key=lambda finding: finding["line"] or 0):
            (_row if screen.tty else _line)(finding, result, screen)
        if not screen.tty:
            screen.line(heading)
    counts = {severity: sum(finding["severity"] == severity for finding in findings) for severity in SEVERITY_STYLES}
    found = f"{plural(counts['error'], 'error')}, {plural(counts['warning'], 'warning')}, {counts['info']} info"
    fixed = sum(len(result.get("fixed", ())) for result in answer["results"])
    screen.said.append(f"{plural(len(answer['results']), 'skill')}: {found}{f', {fixed} fixed' if fixed else ''}.")
    if not options.fix and (fixable := sum(bool(finding["fix"]) for finding in findings)):
        screen.hints.append(f"{fixable} can be fixed with --fix.")
    if not options.recursive and any(finding["code"] == "skill-md-missing" for finding in findings):
        screen.hints.append("For a directory of skills, add --recursive.")


def _row(finding: dict[str, Any], _result: dict[str, Any], screen: Screen) -> None:
    severity = screen.paint(f"{finding['severity']:<7}", SEVERITY_STYLES[finding["severity"]])
    lead = f"{finding['line'] or '':>5}  {severity}  "
    screen.paragraph(f"{finding['message']} [{finding['code']}]", 16, lead)


def _line(finding: dict[str, Any], result: dict[str, Any], screen: Screen) -> None:
    line = f":{finding['line']}" if finding["line"] else ""
    severity = screen.paint(finding["severity"], SEVERITY_STYLES[finding["severity"]])
    screen.line(f"{screen.place(result['file'])}{line}: {severity}: {clean(finding['message'])} [{finding['code']}]")

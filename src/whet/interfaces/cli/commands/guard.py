"""`scan`, `audit`, `policy`, `rules`, `permits`: dangers, and what the policy allows."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import NotFoundError, UsageError
from whet.guard.baseline import BaselineUse, WrittenBaseline
from whet.guard.finding import CATEGORIES, Rule, Rules
from whet.interfaces.cli.arguments import STDIN, misuse, require
from whet.interfaces.cli.context import Answer, Command
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import DECISIONS, SEVERITIES, VERDICTS, format_time, render_findings, render_proof
from whet.interfaces.cli.terminal import Bar, can_ask
from whet.interfaces.cli.text import clean, clean_json, plural
from whet.notes import name_action
from whet.skill.finder import is_main_file
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.api.guard import AuditLog, AuditProof, AuditReport, AuditResult, Explanation, MachineView, PolicyView
    from whet.guard.baseline import Entry
    from whet.guard.finding import Label
    from whet.guard.permissions.decision import Permission
    from whet.guard.report.results import ScanReport, ScanResult
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Style
    from whet.interfaces.cli.parser import Namespace, Parser
    from whet.values import Json


_FORMATS = ("text", "json", "sarif", "markdown")
_FAIL_ON = ("caution", "dangerous")
_VERDICT_ORDER: dict[Label, int] = {"dangerous": 0, "caution": 1, "safe": 2}


class Scanned(NamedTuple):
    """The findings of a scan, the use of a baseline, and the files that were written."""

    report: ScanReport
    baseline: BaselineUse | None
    baseline_written: WrittenBaseline | None
    output: str
    """The file that has the answer; "" if there is none."""

    def to_json(self) -> Json:
        """Return the report as JSON, with the other fields that are not empty."""
        also = self._asdict()
        return {**also.pop("report").to_json(), **{key: as_json(value) for key, value in also.items() if value}}


def configure_scan(parser: Parser) -> None:
    parser.example("whet scan ./downloaded-skill", "a directory, a file or an archive")
    parser.example("whet scan ./downloaded-skill -v", "with the reason for each finding")
    parser.example("whet scan --all", "every skill in your library")
    parser.details = (
        "A path can be a skill's directory, its SKILL.md, a directory with skills in it (Whet scans each of them), "
        "any other directory or file, or an archive, which Whet reads without unpacking it. Without PATH, you choose "
        "skills from a list on a terminal. Whet runs nothing in a skill, and nothing in a skill can turn off a "
        "finding.\n\n"
        "Exits with 1 if a verdict is at or above --fail-on. In a pipe, each finding is a line that editors can jump "
        "to."
    )
    parser.positional("paths", "PATH|NAME", "Skills, by path or by name.", many=True, optional=True)
    text = "Scan the whole library and show each skill's verdict, the policy's decision and what is new."
    parser.option("--all", text=f"{text} Exits with 1 if a skill is blocked.")
    parser.option("--recursive", text="Scan the skills below the paths; fail if there are none.")
    parser.option("--enclosing", text="Scan the skill that contains each path, such as the files of a commit.")
    parser.option(
        "--fail-on",
        metavar="V",
        choices=_FAIL_ON,
        default="dangerous",
        text="Exit with 1 at this verdict or worse (default dangerous).",
    )
    parser.option(
        "--format", metavar="F", choices=_FORMATS, text="The output format (default: text; with --json, json)."
    )
    parser.option("--output", metavar="FILE", text="Write the output to a file.")
    parser.option("--baseline", metavar="FILE", text="Leave out the findings that this file accepts.")
    parser.option("--write-baseline", metavar="FILE", text="Write a file that accepts the current findings.")
    parser.option("--reason", metavar="R", default="", text="The reason, for the entries of --write-baseline.")
    parser.option("--info", text="Also show informational findings.")
    parser.exclude(("--recursive", "--enclosing"))


def run_scan(context: Context, options: Namespace) -> Answer:
    """Scan every package and write the requested files."""
    from whet.guard.report.results import reaches
    from whet.notes import Progress

    options.format = options.format or ("json" if options.json and options.output else "text")
    if not (options.paths or options.all) and can_ask(options):
        from whet.interfaces.cli.picker import choose_skills

        chosen = choose_skills(context, options, "scan", "Scan which skills?", many=True)
        options.paths = [context.library.card(name).location for name in chosen]
    if not options.paths:
        if not options.all:
            raise misuse("scan", "PATH|NAME is missing; --all scans every skill.")
        if options.recursive or options.enclosing:
            raise misuse("scan", "--recursive and --enclosing need a PATH.")
        if options.format == "text" and not (options.output or options.baseline or options.write_baseline):
            return _audit(context, options.fail_on)
        options.paths = [card.location for card in context.library.skills()]
    options.info = options.info or options.all
    if options.reason and not options.write_baseline:
        raise misuse("scan", "`--reason` needs `--write-baseline`.")
    paths = options.paths if options.enclosing else [context.locate(path) for path in options.paths]
    known = _read_baseline(options.baseline)
    with Bar(options) as bar:
        report = context.library.guard.scan(
            *paths,
            recursive=options.recursive,
            around=options.enclosing,
            known=known,
            progress=lambda done, total: bar(Progress("Scanning", done, total, "skills")),
        )
    scanned = Scanned(
        report,
        _use_baseline(options.baseline, known, report) if options.baseline else None,
        _write_baseline(options.write_baseline, report, options.reason) if options.write_baseline else None,
        options.output or "",
    )
    if options.output:
        _write_file(options.output, _file_text(scanned, options))
    return Answer(scanned, render_scan, 1 if reaches(report.verdict, options.fail_on) else 0)


def _read_baseline(path: str | None) -> tuple[Entry, ...]:
    if path is None:
        return ()
    from whet.guard.baseline import read_baseline
    from whet.library.standalone import content

    full = os.path.expanduser(path)
    return read_baseline(content(full, 16 * 1024 * 1024).decode("utf-8", "replace"), path)


def _use_baseline(path: str, known: Sequence[Entry], report: ScanReport) -> BaselineUse:
    """Return how the entries of a baseline were used."""
    from whet.guard.baseline import expired
    from whet.store.clock import iso, system_clock

    used = {(result.skill, entry.fingerprint) for result in report.results for _, entry in result.accepted}
    today = iso(system_clock())[:10]
    over = tuple(entry for entry in known if expired(entry, today))
    idle = tuple(entry for entry in known if entry not in over and (entry.skill, entry.fingerprint) not in used)
    real = os.path.realpath(os.path.expanduser(path))
    shipped = (
        result.path for result in report.results if real.startswith(os.path.join(os.path.realpath(result.path), ""))
    )
    return BaselineUse(path, len(used), idle, over, tuple(shipped))


def _write_baseline(path: str, report: ScanReport, reason: str) -> WrittenBaseline:
    from whet.guard.baseline import write_baseline

    found = [(result.skill, (*result.findings, *(one for one, _ in result.accepted))) for result in report.results]
    text = write_baseline(found, reason)
    _write_file(path, text)
    return WrittenBaseline(path, text.count('"fingerprint"'))


def _file_text(scanned: Scanned, options: Namespace) -> str:
    """Return the answer as text for a file."""
    if options.format == "markdown":
        from whet.guard.report.markdown import markdown

        return markdown(scanned.report, base=os.getcwd())
    if options.format == "text":
        screen = Screen(tty=False, colour=False, columns=80)
        _render_results(scanned.report, screen, options)
        return screen.text()
    import json

    if options.format == "json":
        document = scanned.to_json()
    else:
        from whet import __version__
        from whet.guard import rules
        from whet.guard.report.sarif import sarif

        document = sarif(scanned.report, rules.every(), base=os.getcwd(), version=__version__)
    return clean_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _write_file(path: str, text: str) -> None:
    from whet.store.atomic import write_text

    write_text(os.path.abspath(os.path.expanduser(path)), text)


def render_scan(scanned: Scanned, screen: Screen, options: Namespace) -> None:
    """Print the answer in its format; with --output only the messages about it."""
    if options.output:
        screen.say(f"Written to {clean(options.output)}.")
    elif options.format == "text":
        _render_results(scanned.report, screen, options)
    else:
        screen.line(_file_text(scanned, options).removesuffix("\n"))
    if not (options.recursive or options.enclosing):
        screen.say(*_name_directories(scanned.report, options.paths))
    _render_summary(scanned, screen, options)
    if screen.tty and not screen.verbose and options.format == "text" and scanned.report.verdict != "safe":
        screen.hint("-v says why each finding matters.")


def _name_directories(report: ScanReport, paths: Sequence[str]) -> Iterator[str]:
    """Yield sentences about paths that are not skills, and what was scanned instead."""
    results = [os.path.realpath(result.path) for result in report.results]
    for path in paths:
        top = os.path.realpath(os.path.expanduser(path))
        count = sum(result.startswith(os.path.join(top, "")) for result in results)
        if count and top not in results:
            skills = "the skill" if count == 1 else f"the {count:,} skills"
            yield f"{clean(path)} is not a skill; scanned {skills} in it and no other file."
        elif os.path.isdir(top) and top in results and not any(map(is_main_file, os.listdir(top))):
            yield f"{clean(path)} has no SKILL.md; scanned its files."


def _render_results(report: ScanReport, screen: Screen, options: Namespace) -> None:
    results = sorted(report.results, key=lambda result: (_VERDICT_ORDER[result.verdict], result.path))
    if screen.tty and len(results) > 1:
        rows = [
            (
                result.verdict,
                *(str(_count_findings([result], severity) or "") for severity in SEVERITIES),
                screen.place(result.path),
            )
            for result in results
        ]
        screen.table(("VERDICT", "CRITICAL", "WARN", "INFO", "PATH"), rows)
        results = [result for result in results if result.verdict != "safe" or options.info]
        if results:
            screen.line()
    for number, result in enumerate(results):
        if number and screen.tty:
            screen.line()
        heading = f"{screen.place(result.path)}: {screen.paint(result.verdict, VERDICTS[result.verdict])}"
        if screen.tty:
            screen.line(heading)
        render_findings(result.findings, result.path, screen, every=options.info or screen.verbose)
        if not screen.tty:
            screen.line(heading)


def _count_findings(results: Sequence[ScanResult], severity: str) -> int:
    return sum(finding.severity == severity for result in results for finding in result.findings)


def _render_summary(scanned: Scanned, screen: Screen, options: Namespace) -> None:
    report, baseline = scanned.report, scanned.baseline
    counts = ", ".join(f"{count} {label}" for label in _VERDICT_ORDER if (count := report.count(label)))
    number = sum(len(result.accepted) for result in report.results)
    accepted = f", {number} accepted" if number else ""
    screen.say(f"{plural(len(report.results), 'skill')}: {counts or 'nothing'}{accepted}.")
    if baseline:
        for entries, sentence in ((baseline.unused, "is no longer found"), (baseline.expired, "has expired")):
            screen.say(*(f"Baseline: {entry.rule} in {entry.skill}/{entry.file} {sentence}." for entry in entries))
        for path in baseline.inside:
            screen.say(f"The baseline is inside the skill {path}, so the skill's author may have written it.")
    if written := scanned.baseline_written:
        screen.say(f"{clean(written.file)} accepts {plural(written.entries, 'finding')}.")
    if (
        (info := _count_findings(report.results, "info"))
        and not (options.info or options.verbose)
        and options.format == "text"
    ):
        screen.hint(f"{info} for information only; --info shows them.")


_AUDIT_CHANGES = {
    "new": "seen for the first time",
    "content": "its content changed",
    "verdict": "the rules changed",
    "decision": "the policy changed",
    "": "",
}
_DECISION_ORDER = {"block": 0, "ask": 1, "allow": 2}


def configure_log(parser: Parser) -> None:
    parser.details = (
        "Whet records every decision, and a hash links each record to the previous one. The newest comes first; "
        "with --json, the oldest."
    )
    parser.positional("name", "NAME", "Show only this skill.", optional=True)
    parser.option("--last", metavar="N", read=amount, text="Show only the last N records.")
    parser.option("--verify", text="Verify that the log is intact; exit with 1 if it is not.")


def run_log(context: Context, options: Namespace) -> Answer:
    guard = context.library.guard
    if not options.verify:
        return Answer(guard.audit_log(options.name or "", options.last), render_log)
    if options.name is not None or options.last:
        raise misuse("guard log", "`--verify` takes no other options.")
    proof = guard.verify_audit()
    return Answer(proof, render_audit_proof, 0 if proof.valid else 1)


def _audit(context: Context, fail_on: str = "") -> Answer:
    """Scan every skill of the library. It fails if the policy blocks one, or a verdict is at or above `fail_on`."""
    from whet.guard.report.results import reaches

    report = context.library.guard.audit()
    reached = fail_on and any(reaches(result.skill.decision.verdict, fail_on) for result in report.results)
    return Answer(report, render_audit, 1 if reached or report.count_decisions("block") else 0)


def render_audit(report: AuditReport, screen: Screen, _options: Namespace) -> None:
    """Print a table of skills, then those that are not allowed, with reasons."""

    def place(result: AuditResult) -> tuple[int, str, str]:
        card = result.skill.card
        return _DECISION_ORDER[result.skill.decision.action], card.full_name, card.location

    results, rows = sorted(report.results, key=place), []
    for (card, _, decision), change, _before in results:
        last = _AUDIT_CHANGES[change] if screen.tty else card.location
        rows.append((decision.verdict, decision.action, decision.trust, card.full_name, last))
    screen.grid(("VERDICT", "DECISION", "TRUST", "SKILL", "CHANGE"), rows)
    for skill in [result.skill for result in results] if screen.tty else ():
        if skill.decision.action != "allow":
            verdict = screen.paint(skill.decision.verdict, VERDICTS[skill.decision.verdict])
            screen.line()
            screen.line(f"{screen.place(skill.card.location)}: {verdict}")
            screen.paragraph(skill.decision.reason, 2)
            render_findings(skill.scan.findings, skill.card.location, screen)
    told = ", ".join(f"{count} {word}" for name, word in _DECISION_WORDS if (count := report.count_decisions(name)))
    changes = {"new": report.new, "changed": report.changed}
    news = ", ".join(f"{count} {name}" for name, count in changes.items() if count)
    since = f" Since the last scan: {news}." if news else ""
    screen.say(f"{plural(len(results), 'skill')}: {told or 'nothing to decide'}.{since}")
    if report.count_decisions("block"):
        screen.hint("`whet guard policy override NAME --reason R` allows one in its current state.")


_DECISION_WORDS = (("block", "blocked"), ("ask", "for you to decide"), ("allow", "allowed"))


def render_log(log: AuditLog, screen: Screen, _options: Namespace) -> None:
    rows = [
        (
            str(record.id),
            format_time(screen, record.time),
            record.actor,
            name_action(record.action),
            record.skill,
            record.verdict,
            record.decision,
            record.reason,
        )
        for record in reversed(log.records)
    ]
    screen.grid(
        ("ID", "WHEN", "WHO", "WHAT", "SKILL", "VERDICT", "DECISION", "REASON"), rows, "Nothing has been decided yet."
    )


def render_audit_proof(proof: AuditProof, screen: Screen, _options: Namespace) -> None:
    hint = "It was changed outside Whet. Restore Whet's state directory from a backup."
    empty = "" if proof.records else "Nothing has been decided yet."
    count = plural(proof.records, "record")
    render_proof(proof.problems, screen, "log", count, head=proof.head, hint=hint, empty=empty)


_POLICY_ACTIONS = ("show", "explain", "override", "revoke")
_VERDICT_COLUMNS = ("safe", "caution", "dangerous")


def configure_policy(parser: Parser) -> None:
    parser.example("whet guard policy", "the table")
    parser.example("whet guard policy explain pdf", "the decision about a skill")
    parser.example("whet guard policy override pdf --reason Reviewed", "allow it anyway")
    parser.details = (
        "The table shows what Whet does with a skill: the row is the trust in its source, the column the verdict of "
        "the scan. Change it under [policy] in config.toml, such as policy.community.caution = 'ask'; a project's "
        ".whet.toml can only make it stricter. An override allows one skill with exactly its current content. It "
        "needs a reason, is recorded, and ends when the skill changes.\n\n"
        "An administrator can set a policy for the machine that no setting and no override can loosen; `explain` "
        "without other arguments shows it line by line."
    )
    parser.positional("action", "ACTION", "What to do (default: show).", optional=True, choices=_POLICY_ACTIONS)
    parser.positional("name", "NAME", "The skill.", optional=True)
    parser.option("--trust", metavar="T", default="", text="With explain: a trust level from the table.")
    parser.option("--verdict", metavar="V", default="", text="With explain: safe, caution or dangerous.")
    parser.option("--reason", metavar="R", default="", text="With override and revoke: the reason, for the record.")


def run_policy(context: Context, options: Namespace) -> Answer:
    options.action = options.action or "show"
    _check_policy(options)
    guard = context.library.guard
    if options.action == "show":
        return Answer(guard.policy, render_policy)
    if options.action == "override":
        return Answer(guard.override(options.name, options.reason), render_explanation)
    if options.action == "revoke":
        return Answer(guard.revoke(options.name, options.reason), render_explanation)
    if options.name is None and not options.trust:
        return Answer(guard.explain_machine(), render_machine)
    found = guard.explain(options.name or "", trust=options.trust, verdict=options.verdict)
    return Answer(found, render_explanation)


def _check_policy(options: Namespace) -> None:
    """Raise UsageError if the action does not go with the other arguments."""
    action, message = options.action, ""
    cell = bool(options.trust or options.verdict)
    if action == "show" and options.name is not None:
        message = f"{options.name!r} is an unexpected argument."
    elif action != "explain" and cell:
        message = "`--trust` and `--verdict` need explain."
    elif action == "explain" and options.name is not None and cell:
        message = "Pass the NAME of a skill, or `--trust` and `--verdict`."
    elif action == "explain" and cell and not (options.trust and options.verdict):
        message = "--trust and --verdict go together."
    elif action in ("override", "revoke") and options.name is None:
        message = f"The NAME to {action} is missing."
    elif action == "override" and not options.reason.strip():
        message = "--reason is missing."
    if message:
        raise misuse("guard policy", message)


def render_policy(policy: PolicyView, screen: Screen, _options: Namespace) -> None:
    notes: dict[str, None] = {}
    rows = []
    for trust, row in policy.rows.items():
        cells = []
        for verdict in _VERDICT_COLUMNS:
            cell = row[verdict]
            mark = "" if cell.source == "default" else f" ({cell.source})"
            notes.update({cell.source: None} if mark else {})
            cells.append(f"{cell.action}{mark}")
        rows.append((trust, *cells))
    screen.grid(("TRUST", "SAFE", "CAUTION", "DANGEROUS"), rows)
    changed = f"{' and '.join(notes)} {'changes' if len(notes) == 1 else 'change'} the default policy."
    screen.say(changed if notes else "This is the default policy.")
    screen.hint(
        "`whet guard policy explain NAME` explains the decision about a skill.",
        "Change the policy under [policy] in config.toml; `whet settings` shows where that file is.",
    )


def render_machine(view: MachineView, screen: Screen, _options: Namespace) -> None:
    """Print the path of the machine's policy, and the effect of each line."""
    policy = view.policy
    if not view.active:
        screen.say(f"This machine has no policy; an administrator can write one to {policy.path}.")
        return
    screen.line(f"{policy.path}:")
    if policy.problem:
        screen.line(f"  {screen.paint('unreadable', 'red')}: {clean(policy.problem)} Whet installs and writes nothing.")
    for line, does in policy.lines():
        screen.line(f"  {clean(line)}: {clean(does)}")
    if not policy.problem and not policy.lines():
        screen.line("  It restricts nothing.")


def render_explanation(found: Explanation, screen: Screen, options: Namespace) -> None:
    """Print a decision in a sentence."""
    decision, skill = found.decision, found.skill
    painted = screen.paint(decision.action, DECISIONS[decision.action])
    if screen.tty:
        screen.paragraph(decision.reason, len(decision.action) + 2, f"{painted}: ")
        if skill:
            render_findings(skill.scan.findings, skill.card.location, screen)
    else:
        screen.line(f"{painted}: {clean(decision.reason)}")
    if skill and options.action == "override":
        screen.say(f"{skill.card.full_name} is allowed in its current state; the override ends when it changes.")
    elif skill and options.action == "revoke":
        over = f"The override for {skill.card.full_name} is removed."
        screen.say(over if found.changed else "There was no override.")


def configure_rules(parser: Parser) -> None:
    parser.details = (
        "The message of a finding ends with the ID of its rule; docs/rules.md lists all rules with examples. In a "
        "pipe, each line has ID, severity and title, separated by tabs."
    )
    parser.positional("rule", "ID", "Explain this rule.", optional=True)
    parser.option("--category", metavar="C", choices=tuple(CATEGORIES), text="Show only the rules of this category.")


def run_rules(_context: Context, options: Namespace) -> Answer:
    from whet.guard import rules

    table = rules.every()
    if options.rule is None:
        wanted = options.category or ""
        return Answer(Rules([rule for rule in table.values() if wanted in ("", rule.category)]), render_rules)
    if options.category:
        raise misuse("guard rules", "Give an ID or --category, not both.")
    if options.rule not in table:
        raise _unknown_rule(options.rule, list(table))
    return Answer(table[options.rule], render_rule, key="rule")


def _unknown_rule(name: str, known: list[str]) -> NotFoundError:
    from whet.skill.names import closest

    near = list(closest(name, known))
    hint = f"Did you mean {', '.join(near)}?" if near else "`whet guard rules` lists them."
    return NotFoundError("rule-not-found", f"There is no rule {name!r}.", hint=hint, suggestions=near)


def render_rules(rules: Rules, screen: Screen, _options: Namespace) -> None:
    """Print a table for a terminal, lines for a program."""
    screen.grid(("ID", "SEVERITY", "TITLE"), [(rule.id, rule.severity, rule.sentence) for rule in rules])
    screen.say(f"{plural(len(rules), 'rule')}; `whet guard rules ID` explains one.")


def render_rule(rule: Rule, screen: Screen, _options: Namespace) -> None:
    severity = screen.paint(rule.severity, SEVERITIES[rule.severity])
    screen.line(f"{screen.paint(rule.id, 'bold')}  {severity}  {rule.category}")
    screen.paragraph(rule.sentence, 2)
    for label, text in (("Why", rule.why), ("What to do", rule.remedy), ("See", ", ".join(rule.references))):
        if text:
            screen.paragraph(f"{label}: {text}", 2)


_PERMIT_CODES = {"allow": 0, "ask": 1, "deny": 3}
_PERMIT_STYLES: dict[str, Style] = {"allow": "green", "ask": "yellow", "deny": "red"}
_LONGEST_INPUT = 1024 * 1024


def configure_permits(parser: Parser) -> None:
    parser.details = (
        "Treats the skill's allowed-tools as a restriction: the answer is deny for anything that they do not "
        "cover, and for any command whose effect is unclear. For a skill that declares no tools, the answer is "
        "ask. Exits with 0 for allow, 1 for ask and 3 for deny. Paths are relative to the working directory, or to "
        "--project; links are not resolved."
    )
    parser.option("--skill", metavar="NAME", text="The skill whose allowed-tools apply.")
    parser.option("--grants", metavar="G", text="Use these allowed-tools instead of a skill's.")
    parser.option("--tool", metavar="T", text="The tool's name in its client.")
    parser.option("--input", metavar="JSON", text="The input of the tool; - is standard input.")


def run_permits(context: Context, options: Namespace) -> Answer:
    require(options, "guard permits", "tool", "input")
    if (options.skill is None) == (options.grants is None):
        raise misuse("guard permits", "Use either `--skill` or `--grants`.")
    given = _read_input(options.input)
    if options.grants is None:
        found = context.library.guard.permits(options.skill, options.tool, given)
    else:
        from whet.guard.permissions.decision import permits, read_grants

        cwd = os.path.abspath(options.project or os.getcwd())
        grants = read_grants(options.grants)
        found = permits(grants, options.tool, given, cwd=cwd, home=context.env.get("HOME", ""))
    return Answer(found, render_permission, _PERMIT_CODES[found.decision])


def _read_input(text: str) -> Any:
    """Read the tool input from the option or from standard input. A repeated key is an error: it is ambiguous."""
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key appears twice")
        return dict(pairs)

    if text == STDIN:
        data = sys.stdin.buffer.read(_LONGEST_INPUT + 1) if sys.stdin else b""
        if len(data) > _LONGEST_INPUT:
            hint = "Pass only the input of the tool call."
            raise UsageError("bad-tool-input", f"The input has more than {_LONGEST_INPUT:,} bytes.", hint=hint)
        text = data.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        what = str(error).partition(":")[0].rstrip(".") or "it is nested too deeply"
        hint = 'Write it as {"command": "git status"}, with every key once.'
        raise UsageError("bad-tool-input", f"The tool input is not usable JSON: {what}.", hint=hint) from error


def render_permission(found: Permission, screen: Screen, _options: Namespace) -> None:
    screen.line(f"{screen.paint(found.decision, _PERMIT_STYLES[found.decision])}: {clean(found.reason)}")
    screen.say(*found.problems)


COMMANDS = {
    "scan": Command(configure_scan, run_scan),
    "guard log": Command(configure_log, run_log),
    "guard policy": Command(configure_policy, run_policy),
    "guard rules": Command(configure_rules, run_rules),
    "guard permits": Command(configure_permits, run_permits),
}

"""`scan`, `audit`, `policy`, `rules`, `permits`: what is dangerous, and what is let in."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError
from whet.guard.finding import CATEGORIES
from whet.interfaces.cli.arguments import STDIN, misuse, require
from whet.interfaces.cli.context import Command, Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.rendering import DECISIONS, SEVERITIES, VERDICTS, format_time, render_findings, render_proof
from whet.interfaces.cli.terminal import Bar
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from whet.guard.baseline import Entry
    from whet.guard.finding import Rule
    from whet.guard.report.results import ScanReport
    from whet.interfaces.cli.context import Answer, Context
    from whet.interfaces.cli.output import Screen, Style
    from whet.interfaces.cli.parser import Parser
    from whet.values import Json


_FORMATS = ("text", "json", "sarif", "markdown")
_FAIL_ON = ("caution", "dangerous")
_VERDICT_ORDER = {"dangerous": 0, "caution": 1, "safe": 2}


def configure_scan(parser: Parser) -> None:
    parser.details = (
        "A path may be a skill's directory, its SKILL.md, any other directory or file, or an archive, which is read "
        "without being unpacked. Nothing in a package can switch a finding off, and nothing of it is run. Exits with "
        "1 when a verdict is at or above --fail-on. On a pipe, each finding is a line that editors can jump to."
    )
    parser.positional("paths", "PATH|NAME", "Skills, by path or by name.", many=True)
    parser.option("--recursive", text="Scan every directory with a SKILL.md below the paths.")
    parser.option("--enclosing", text="Scan the skill that each path lies in; for the files of a commit.")
    parser.option(
        "--fail-on",
        metavar="V",
        choices=_FAIL_ON,
        default="dangerous",
        text="Exit with 1 from this verdict on (default dangerous).",
    )
    parser.option("--format", metavar="F", choices=_FORMATS, default="text", text="How to answer (default text).")
    parser.option("--output", metavar="FILE", text="Write the answer in that format to a file.")
    parser.option("--baseline", metavar="FILE", text="Leave out the findings that this file accepts.")
    parser.option("--write-baseline", metavar="FILE", text="Write a file that accepts what is found now.")
    parser.option("--reason", metavar="R", default="", text="Why, for the entries of --write-baseline.")
    parser.option("--all", text="Show what is only information, too.")
    parser.exclude(("--recursive", "--enclosing"))


def run_scan(context: Context, options: Namespace) -> Answer:
    """Scan every package and write the files that are asked for."""
    from whet.guard.report.results import reaches
    from whet.sources.model import Progress

    if options.reason and not options.write_baseline:
        raise misuse("scan", "--reason is for --write-baseline only.")
    paths = options.paths if options.enclosing else [context.locate(path) for path in options.paths]
    known = _read_baseline(options.baseline)
    with Bar(options) as bar:
        report = context.library.guard.scan(
            *paths,
            recursive=options.recursive,
            around=options.enclosing,
            known=known,
            progress=lambda done: bar(Progress("Scanned", done, unit="packages")),
        )
    answer = report.to_json()
    if options.baseline:
        answer["baseline"] = _baseline_use(options.baseline, known, report)
    if options.write_baseline:
        answer["baseline_written"] = _write_baseline(options.write_baseline, report, options.reason)
    if options.format in ("sarif", "markdown"):
        options.document = _document(options.format, report)
    if options.output:
        answer["output"] = options.output
        _write_file(options.output, _file_text(answer, options))
    return Outcome(answer, 1 if reaches(report.verdict, options.fail_on) else 0)


def _read_baseline(path: str | None) -> tuple[Entry, ...]:
    if path is None:
        return ()
    from whet.guard.baseline import read_baseline
    from whet.library.standalone import content

    full = os.path.expanduser(path)
    return read_baseline(content(full, 16 * 1024 * 1024).decode("utf-8", "replace"), path)


def _baseline_use(path: str, known: Sequence[Entry], report: ScanReport) -> Json:
    """What became of the entries of a baseline."""
    from whet.guard.baseline import expired
    from whet.store.clock import iso, system_clock

    used = {(result.skill, entry.fingerprint) for result in report.results for _, entry in result.accepted}
    today = iso(system_clock())[:10]
    over = [entry for entry in known if expired(entry, today)]
    idle = [entry for entry in known if entry not in over and (entry.skill, entry.fingerprint) not in used]
    real = os.path.realpath(os.path.expanduser(path))
    shipped = [
        result.path for result in report.results if real.startswith(os.path.join(os.path.realpath(result.path), ""))
    ]
    return {
        "file": path,
        "applied": len(used),
        "unused": [entry.to_json() for entry in idle],
        "expired": [entry.to_json() for entry in over],
        "inside": shipped,
    }


def _write_baseline(path: str, report: ScanReport, reason: str) -> Json:
    from whet.guard.baseline import write_baseline

    found = [(result.skill, (*result.findings, *(one for one, _ in result.accepted))) for result in report.results]
    text = write_baseline(found, reason)
    _write_file(path, text)
    return {"file": path, "entries": text.count('"fingerprint"')}


def _document(name: str, report: ScanReport) -> str:
    """The answer in a format that is not the answer itself."""
    base = os.getcwd()
    if name == "markdown":
        from whet.guard.report.markdown import markdown

        return markdown(report, base=base)
    import json

    from whet import __version__
    from whet.guard import rules
    from whet.guard.report.sarif import sarif
    from whet.interfaces.cli.text import clean_json

    document = sarif(report, rules.every(), base=base, version=__version__)
    return clean_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _file_text(answer: Json, options: Namespace) -> str:
    """The answer as a file holds it."""
    if options.format in ("sarif", "markdown"):
        return str(options.document)
    if options.format == "json":
        import json

        from whet.interfaces.cli.text import clean_json

        return clean_json(json.dumps(answer, indent=2, ensure_ascii=False)) + "\n"
    from whet.interfaces.cli.output import Screen

    screen = Screen(tty=False, colour=False, columns=80)
    _render_results(answer, screen, options)
    return screen.text()


def _write_file(path: str, text: str) -> None:
    from whet.store.atomic import write_text

    write_text(os.path.abspath(os.path.expanduser(path)), text)


def render_scan(answer: Json, screen: Screen, options: Namespace) -> None:
    """The answer in its format; with --output only the sentences about it."""
    if not options.output:
        if options.format == "text":
            _render_results(answer, screen, options)
        else:
            screen.line(_file_text(answer, options).removesuffix("\n"))
    else:
        screen.say(f"Written to {clean(options.output)}.")
    _render_summary(answer, screen, options)


def _render_results(answer: Json, screen: Screen, options: Namespace) -> None:
    results = sorted(answer["results"], key=lambda result: (_VERDICT_ORDER[result["verdict"]], result["path"]))
    if screen.tty and len(results) > 1:
        rows = [
            (
                result["verdict"],
                *(_count_findings(result, severity) for severity in SEVERITIES),
                screen.place(result["path"]),
            )
            for result in results
        ]
        screen.table(("VERDICT", "CRITICAL", "WARN", "INFO", "PATH"), rows)
        results = [result for result in results if result["verdict"] != "safe" or options.all]
        if results:
            screen.line()
    for number, result in enumerate(results):
        if number and screen.tty:
            screen.line()
        verdict = screen.paint(result["verdict"], VERDICTS[result["verdict"]])
        heading = f"{screen.place(result['path'])}: {verdict}"
        if screen.tty:
            screen.line(heading)
        render_findings(result["findings"], result["path"], screen, every=options.all)
        if not screen.tty:
            screen.line(heading)


def _count_findings(result: Json, severity: str) -> str:
    return str(sum(finding["severity"] == severity for finding in result["findings"]) or "")


def _render_summary(answer: Json, screen: Screen, options: Namespace) -> None:
    summary = answer["summary"]
    verdicts, findings = summary["verdicts"], summary["findings"]
    counts = ", ".join(f"{verdicts[label]} {label}" for label in ("dangerous", "caution", "safe") if verdicts[label])
    accepted = f", {summary['accepted']} accepted" if summary["accepted"] else ""
    screen.say(f"{plural(summary['packages'], 'package')}: {counts or 'nothing'}{accepted}.")
    if baseline := answer.get("baseline"):
        for label, sentence in (("unused", "is not found any more"), ("expired", "is over")):
            for entry in baseline[label]:
                screen.say(f"Baseline: {entry['rule']} in {entry['skill']}/{entry['file']} {sentence}.")
        for path in baseline["inside"]:
            screen.say(f"The baseline lies in the package {path}: whoever wrote the skill may have written it.")
    if written := answer.get("baseline_written"):
        screen.say(f"{clean(written['file'])} accepts {plural(written['entries'], 'finding')}.")
    if findings["info"] and not options.all and options.format == "text":
        screen.hint(f"{findings['info']} for information only; --all shows them.")


_AUDIT_CHANGES = {
    "new": "seen for the first time",
    "content": "its content changed",
    "verdict": "the rules changed",
    "decision": "the policy changed",
    "": "",
}
_DECISION_ORDER = {"block": 0, "ask": 1, "allow": 2}


def configure_audit(parser: Parser) -> None:
    parser.details = (
        "Tells the verdict on each skill, what the policy does with it, and what is different from the last audit. "
        "Exits with 1 when a skill is blocked. Every decision of the guard is recorded; --log shows the record, which "
        "is chained by hashes, and --verify proves that it is whole. On a pipe, each skill is a line of verdict, "
        "decision, trust, name and path, with tabs between them."
    )
    parser.positional("name", "NAME", "With --log: only this skill.", optional=True)
    parser.option("--log", text="Show the record of decisions instead.")
    parser.option("--last", metavar="N", type=amount, text="With --log: only the last records.")
    parser.option("--verify", text="Prove that the record is whole.")
    parser.exclude(("--log", "--verify"))


def run_audit(context: Context, options: Namespace) -> Answer:
    if not options.log and (options.name is not None or options.last):
        given = "NAME" if options.name is not None else "--last"
        raise misuse("audit", f"{given} is for --log only.")
    library = context.library
    if options.log:
        return library.guard.audit_log(options.name or "", options.last)
    if options.verify:
        proof = library.guard.verify_audit()
        return Outcome(proof, 0 if proof.valid else 1)
    report = library.guard.audit()
    return Outcome(report, 1 if report.count_decisions("block") else 0)


def render_audit(answer: Json, screen: Screen, options: Namespace) -> None:
    """A table of skills or of records, or a proof."""
    if options.log:
        _render_log(answer, screen)
    elif options.verify:
        _render_proof(answer, screen)
    else:
        _render_audit(answer, screen)


def _render_audit(answer: Json, screen: Screen) -> None:
    results = sorted(
        answer["results"], key=lambda item: (_DECISION_ORDER[item["decision"]], item["name"], item["path"])
    )
    if screen.tty and results:
        rows = [
            (item["verdict"], item["decision"], item["trust"], item["name"], _AUDIT_CHANGES[item["change"]])
            for item in results
        ]
        screen.table(("VERDICT", "DECISION", "TRUST", "SKILL", "CHANGE"), rows)
    else:
        for item in results:
            screen.line("\t".join(clean(item[name]) for name in ("verdict", "decision", "trust", "name", "path")))
    for item in results:
        if item["decision"] == "allow":
            continue
        if screen.tty:
            screen.line()
            screen.line(f"{screen.place(item['path'])}: {screen.paint(item['verdict'], VERDICTS[item['verdict']])}")
            screen.paragraph(item["reason"], 2)
            render_findings(item["findings"], item["path"], screen)
    summary = answer["summary"]
    decisions = summary["decisions"]
    told = ", ".join(f"{decisions[name]} {word}" for name, word in _DECISION_WORDS if decisions[name])
    news = ", ".join(f"{summary[name]} {name}" for name in ("new", "changed") if summary[name])
    since = f" Since the last audit: {news}." if news else ""
    screen.say(f"{plural(summary['skills'], 'skill')}: {told or 'nothing to decide'}.{since}")
    if decisions["block"]:
        screen.hint("`whet policy override NAME --reason R` lets one in as it is now.")


_DECISION_WORDS = (("block", "blocked"), ("ask", "for you to decide"), ("allow", "allowed"))


def _render_log(answer: Json, screen: Screen) -> None:
    rows = [
        (
            str(record["id"]),
            format_time(screen, record["time"]),
            record["actor"],
            record["action"],
            record["skill"],
            record["verdict"],
            record["decision"],
            record["reason"],
        )
        for record in answer["records"]
    ]
    screen.grid(
        ("ID", "WHEN", "WHO", "WHAT", "SKILL", "VERDICT", "DECISION", "REASON"), rows, "Nothing has been decided yet."
    )


def _render_proof(answer: Json, screen: Screen) -> None:
    hint = "Somebody or something changed it. Restore Whet's state directory from a copy."
    empty = "" if answer["records"] else "Nothing has been decided yet."
    count = plural(answer["records"], "record")
    render_proof(answer, screen, "record", count, head=answer["head"], hint=hint, empty=empty)


_POLICY_ACTIONS = ("show", "explain", "override", "revoke")
_VERDICT_COLUMNS = ("safe", "caution", "dangerous")


def configure_policy(parser: Parser) -> None:
    parser.details = (
        "The table says what is done with a skill, by how far its origin is trusted and what a scan finds. Change it "
        'under [policy] in config.toml, such as policy.community.caution = "ask"; a project\'s .whet.toml can only '
        "make it stricter. An override lets one skill in exactly as it is now; it needs a reason, is recorded, and "
        "ends when the skill changes."
    )
    parser.positional("action", "ACTION", "What to do.", choices=_POLICY_ACTIONS)
    parser.positional("name", "NAME", "The skill.", optional=True)
    parser.option("--trust", metavar="T", default="", text="With explain: a row of the table.")
    parser.option("--verdict", metavar="V", default="", text="With explain: safe, caution or dangerous.")
    parser.option("--reason", metavar="R", default="", text="With override and revoke: why; the record keeps it.")


def run_policy(context: Context, options: Namespace) -> Answer:
    _check_policy(options)
    library = context.library
    if options.action == "show":
        return library.guard.policy
    if options.action == "override":
        return library.guard.override(options.name, options.reason)
    if options.action == "revoke":
        return library.guard.revoke(options.name, options.reason)
    return library.guard.explain(options.name or "", trust=options.trust, verdict=options.verdict)


def _check_policy(options: Namespace) -> None:
    """Raise UsageError when the action does not go with what is given besides."""
    action, message = options.action, ""
    cell = bool(options.trust or options.verdict)
    if action == "show" and options.name is not None:
        message = f"{options.name!r} is one argument too many."
    elif action != "explain" and cell:
        message = "--trust and --verdict are for explain only."
    elif action == "explain" and (options.name is not None) == cell:
        message = "Give the NAME of a skill, or --trust and --verdict."
    elif action == "explain" and cell and not (options.trust and options.verdict):
        message = "--trust and --verdict go together."
    elif action in ("override", "revoke") and options.name is None:
        message = f"The NAME to {action} is missing."
    elif action == "override" and not options.reason.strip():
        message = "--reason is missing."
    if message:
        raise misuse("policy", message)


def render_policy(answer: Json, screen: Screen, options: Namespace) -> None:
    """The table, or a decision in a sentence."""
    if options.action == "show":
        _render_policy(answer, screen)
        return
    decision = screen.paint(answer["decision"], DECISIONS[answer["decision"]])
    if screen.tty:
        screen.paragraph(answer["reason"], len(answer["decision"]) + 2, f"{decision}: ")
        render_findings(answer.get("findings", ()), answer.get("path", ""), screen)
    else:
        screen.line(f"{decision}: {clean(answer['reason'])}")
    if options.action == "override":
        screen.say(f"{answer['name']} is let in as it is now; when it changes, that is over.")
    elif options.action == "revoke":
        screen.say(f"The override of {answer['name']} is over." if answer["changed"] else "There was no override.")


def _render_policy(answer: Json, screen: Screen) -> None:
    notes: dict[str, None] = {}
    rows = []
    for row in answer["policy"]:
        cells = []
        for verdict in _VERDICT_COLUMNS:
            cell = row[verdict]
            mark = "" if cell["source"] == "default" else f" ({cell['source']})"
            notes.update({cell["source"]: None} if mark else {})
            cells.append(f"{cell['action']}{mark}")
        rows.append((row["trust"], *cells))
    screen.grid(("TRUST", "SAFE", "CAUTION", "DANGEROUS"), rows)
    source = f"changed by {' and '.join(notes)}" if notes else "as Whet comes"
    screen.say(f"The policy is {source}.")


def configure_rules(parser: Parser) -> None:
    parser.details = (
        "The message of a finding ends in the ID of its rule; docs/rules.md has all of them with examples. On a pipe, "
        "each rule is a line of ID, severity and title, with tabs between them."
    )
    parser.positional("rule", "ID", "Explain this rule.", optional=True)
    parser.option("--category", metavar="C", choices=tuple(CATEGORIES), text="Only the rules of this category.")


def run_rules(_context: Context, options: Namespace) -> Answer:
    from whet.guard import rules

    table = rules.every()
    if options.rule is None:
        wanted = options.category or ""
        found = [_rule_to_json(rule) for rule in table.values() if wanted in ("", rule.category)]
        return {"success": True, "rules": found, "count": len(found)}
    if options.category:
        raise misuse("rules", "Give an ID or --category, not both.")
    if options.rule not in table:
        raise _unknown_rule(options.rule, list(table))
    return {"success": True, "rule": _rule_to_json(table[options.rule])}


def _rule_to_json(rule: Rule) -> Json:
    answer = rule._asdict()
    del answer["mention"]
    return {**answer, "title": f"{rule.title.rstrip('.')}.", "references": list(rule.references)}


def _unknown_rule(name: str, known: list[str]) -> NotFoundError:
    from whet.skill.names import closest

    near = list(closest(name, known))
    hint = f"Did you mean {', '.join(near)}?" if near else "`whet rules` lists them."
    return NotFoundError("rule-not-found", f"There is no rule {name!r}.", hint=hint, suggestions=near)


def render_rules(answer: Json, screen: Screen, _options: Namespace) -> None:
    """A table for a terminal, lines for a program; one rule in full."""
    if "rule" in answer:
        _render_rule(answer["rule"], screen)
        return
    rows = [(rule["id"], rule["severity"], rule["title"]) for rule in answer["rules"]]
    screen.grid(("ID", "SEVERITY", "TITLE"), rows)
    screen.say(f"{plural(len(rows), 'rule')}; `whet rules ID` explains one.")


def _render_rule(rule: Json, screen: Screen) -> None:
    severity = screen.paint(rule["severity"], SEVERITIES[rule["severity"]])
    screen.line(f"{screen.paint(rule['id'], 'bold')}  {severity}  {rule['category']}")
    screen.paragraph(rule["title"], 2)
    for label, text in (("Why", rule["why"]), ("What to do", rule["remedy"]), ("See", ", ".join(rule["references"]))):
        if text:
            screen.paragraph(f"{label}: {text}", 2)


_PERMIT_CODES = {"allow": 0, "ask": 1, "deny": 3}
_PERMIT_STYLES: dict[str, Style] = {"allow": "green", "ask": "yellow", "deny": "red"}
_LONGEST_INPUT = 1024 * 1024


def configure_permits(parser: Parser) -> None:
    parser.details = (
        "The skill's allowed-tools are taken as a restriction: what they do not cover is denied, and so is every "
        "command of which nobody can be sure what it runs. A skill that declares no tools gets ask. Exits with 0 for "
        "allow, 1 for ask and 3 for deny. Paths are judged from the working directory, or from --project, and links "
        "are not resolved."
    )
    parser.option("--skill", metavar="NAME", text="The skill whose allowed-tools count.")
    parser.option("--grants", metavar="G", text="Take these allowed-tools instead of a skill's.")
    parser.option("--tool", metavar="T", text="The tool, as its client calls it.")
    parser.option("--input", metavar="JSON", text="The input of the tool; - is standard input.")


def run_permits(context: Context, options: Namespace) -> Answer:
    require(options, "permits", "tool", "input")
    if (options.skill is None) == (options.grants is None):
        raise misuse("permits", "Give --skill or --grants, one of them.")
    given = _read_input(options.input)
    if options.grants is None:
        found = context.library.guard.permits(options.skill, options.tool, given)
    else:
        from whet.guard.permissions.decision import permits, read_grants

        cwd = os.path.abspath(options.project or os.getcwd())
        grants = read_grants(options.grants)
        found = permits(grants, options.tool, given, cwd=cwd, home=context.env.get("HOME", ""))
    return Outcome(found, _PERMIT_CODES[found.decision])


def _read_input(text: str) -> Any:
    """The input, from the option or from standard input. A key that is there twice could mean two things."""
    import json

    def once(pairs: list[tuple[str, Any]]) -> Json:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    if text == STDIN:
        data = sys.stdin.buffer.read(_LONGEST_INPUT + 1) if sys.stdin else b""
        if len(data) > _LONGEST_INPUT:
            hint = "Give only the input of the tool call."
            raise UsageError("bad-tool-input", f"The input has more than {_LONGEST_INPUT:,} bytes.", hint=hint)
        text = data.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        what = str(error).partition(":")[0].rstrip(".") or "it is nested too deeply"
        hint = 'Write it as {"command": "git status"}, with every key once.'
        raise UsageError(
            "bad-tool-input", f"The input of the tool is not JSON that can be used: {what}.", hint=hint
        ) from error


def render_permits(answer: Json, screen: Screen, _options: Namespace) -> None:
    decision = answer["decision"]
    screen.line(f"{screen.paint(decision, _PERMIT_STYLES[decision])}: {clean(answer['reason'])}")
    screen.say(*answer.get("problems", ()))


COMMANDS = {
    "scan": Command(configure_scan, run_scan, render_scan),
    "audit": Command(configure_audit, run_audit, render_audit),
    "policy": Command(configure_policy, run_policy, render_policy),
    "rules": Command(configure_rules, run_rules, render_rules),
    "permits": Command(configure_permits, run_permits, render_permits),
}

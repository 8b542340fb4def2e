"""`whet audit`: every skill of the library scanned again, and the record of what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import UsageError
from whet.interfaces.cli.commands._findings import VERDICTS, show_findings
from whet.interfaces.cli.commands._showing import grid, moment
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.parser import amount
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser

_CHANGES = {
    "new": "seen for the first time",
    "content": "its content changed",
    "verdict": "the rules changed",
    "decision": "the policy changed",
    "": "",
}
_ORDER = {"block": 0, "ask": 1, "allow": 2}


def configure(parser: Parser) -> None:
    """The arguments of the command."""
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


def run(context: Context, options: Namespace) -> Outcome:
    """Scan, or read the record."""
    if options.log and options.verify:
        raise UsageError("usage", "Give --log or --verify, not both.", hint="`whet audit --help` explains it.")
    if not options.log and (options.name is not None or options.last):
        given = "NAME" if options.name is not None else "--last"
        raise UsageError("usage", f"{given} is for --log only.", hint="`whet audit --help` explains it.")
    library = context.library
    if options.log:
        return Outcome(library.audit_log(options.name or "", options.last))
    if options.verify:
        answer = library.verify_audit()
        return Outcome(answer, 0 if answer["valid"] else 1)
    answer = library.audit()
    return Outcome(answer, 1 if answer["summary"]["decisions"]["block"] else 0)


def render(answer: dict[str, Any], screen: Screen, options: Namespace) -> None:
    """A table of skills or of records, or a proof."""
    if options.log:
        _log(answer, screen)
    elif options.verify:
        _proof(answer, screen)
    else:
        _skills(answer, screen)


def _skills(answer: dict[str, Any], screen: Screen) -> None:
    results = sorted(answer["results"], key=lambda item: (_ORDER[item["decision"]], item["name"], item["path"]))
    if screen.tty and results:
        rows = [
            (item["verdict"], item["decision"], item["trust"], item["name"], _CHANGES[item["change"]])
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
            show_findings(item["findings"], item["path"], screen)
    summary = answer["summary"]
    decisions = summary["decisions"]
    told = ", ".join(f"{decisions[name]} {word}" for name, word in _WORDS if decisions[name])
    news = ", ".join(f"{summary[name]} {name}" for name in ("new", "changed") if summary[name])
    since = f" Since the last audit: {news}." if news else ""
    screen.said.append(f"{plural(summary['skills'], 'skill')}: {told or 'nothing to decide'}.{since}")
    if decisions["block"]:
        screen.hints.append("`whet policy override NAME --reason R` lets one in as it is now.")


_WORDS = (("block", "blocked"), ("ask", "for you to decide"), ("allow", "allowed"))


def _log(answer: dict[str, Any], screen: Screen) -> None:
    rows = [
        (
            str(record["id"]),
            moment(screen, record["time"]),
            record["actor"],
            record["action"],
            record["skill"],
            record["verdict"],
            record["decision"],
            record["reason"],
        )
        for record in answer["records"]
    ]
    grid(screen, ("ID", "WHEN", "WHO", "WHAT", "SKILL", "VERDICT", "DECISION", "REASON"), rows)
    if not rows:
        screen.said.append("Nothing has been decided yet.")


def _proof(answer: dict[str, Any], screen: Screen) -> None:
    for problem in answer["problems"]:
        screen.line(f"{screen.paint('error', 'red')}: {clean(problem['message'])} [{problem['code']}]")
    count = plural(answer["records"], "record")
    if not answer["valid"]:
        screen.said.append(f"The record is not whole: {count}, {plural(len(answer['problems']), 'problem')}.")
        screen.hints.append("Somebody or something changed it. Restore Whet's state directory from a copy.")
    elif answer["records"]:
        screen.line(answer["head"])
        screen.said.append(f"The record is whole: {count}.")
    else:
        screen.said.append("Nothing has been decided yet.")

"""`whet rules [ID]`: what the guard looks for, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError, UsageError
from whet.guard.finding import CATEGORIES
from whet.interfaces.cli.commands._findings import SEVERITIES
from whet.interfaces.cli.context import Outcome
from whet.interfaces.cli.text import clean, plural

if TYPE_CHECKING:
    from argparse import Namespace

    from whet.guard.finding import Rule
    from whet.interfaces.cli.context import Context
    from whet.interfaces.cli.output import Screen
    from whet.interfaces.cli.parser import Parser


def configure(parser: Parser) -> None:
    """The arguments of the command."""
    parser.details = (
        "The message of a finding ends in the ID of its rule; docs/rules.md has all of them with examples. On a pipe, "
        "each rule is a line of ID, severity and title, with tabs between them."
    )
    parser.positional("rule", "ID", "Explain this rule.", optional=True)
    parser.option("--category", metavar="C", choices=tuple(CATEGORIES), text="Only the rules of this category.")


def run(_context: Context, options: Namespace) -> Outcome:
    """Look the rules up."""
    from whet.guard import rules

    table = rules.every()
    if options.rule is None:
        wanted = options.category or ""
        found = [_to_json(rule) for rule in table.values() if wanted in ("", rule.category)]
        return Outcome({"success": True, "rules": found, "count": len(found)})
    if options.category:
        hint = "`whet rules --help` explains it."
        raise UsageError("usage", "Give an ID or --category, not both.", hint=hint)
    if options.rule not in table:
        raise _unknown(options.rule, list(table))
    return Outcome({"success": True, "rule": _to_json(table[options.rule])})


def _to_json(rule: Rule) -> dict[str, Any]:
    answer = rule._asdict()
    del answer["mention"]
    return {**answer, "title": f"{rule.title.rstrip('.')}.", "references": list(rule.references)}


def _unknown(name: str, known: list[str]) -> NotFoundError:
    from whet.skill.names import closest

    near = list(closest(name, known))
    hint = f"Did you mean {', '.join(near)}?" if near else "`whet rules` lists them."
    return NotFoundError("rule-not-found", f"There is no rule {name!r}.", hint=hint, suggestions=near)


def render(answer: dict[str, Any], screen: Screen, _options: Namespace) -> None:
    """A table for a terminal, lines for a program; one rule in full."""
    if "rule" in answer:
        _full(answer["rule"], screen)
        return
    rows = [(rule["id"], rule["severity"], rule["title"]) for rule in answer["rules"]]
    if screen.tty:
        screen.table(("ID", "SEVERITY", "TITLE"), rows)
    else:
        for row in rows:
            screen.line("\t".join(map(clean, row)))
    screen.said.append(f"{plural(len(rows), 'rule')}; `whet rules ID` explains one.")


def _full(rule: dict[str, Any], screen: Screen) -> None:
    severity = screen.paint(rule["severity"], SEVERITIES[rule["severity"]])
    screen.line(f"{screen.paint(rule['id'], 'bold')}  {severity}  {rule['category']}")
    screen.paragraph(rule["title"], 2)
    for label, text in (
        ("Why", rule["why"]),
        ("What to do", rule["remedy"]),
        ("See", ", ".join(rule["references"])),
    ):
        if text:
            screen.paragraph(f"{label}: {text}", 2)

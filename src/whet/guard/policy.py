"""The policy: turns the trust of a source and the verdict of a scan into a decision with a reason.

An administrator's policy for the machine is applied on top and only tightens: no settings and no override loosen it.

The table is data. A cell says what happens to a package of that trust with that verdict: `allow`, `ask` (a person
decides) or `block`. The user's settings change cells and add rows; a project's settings can only make cells stricter.
An override allows one exact content; it has a reason and ends when the content changes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.errors import RefusedError
from whet.guard.finding import LABELS, SEVERITIES
from whet.guard.trust import covers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.guard.finding import Finding, Label
    from whet.values import Json

Action = Literal["allow", "ask", "block"]
ACTIONS: tuple[Action, ...] = ("allow", "ask", "block")
"""All actions, from the mildest to the strictest."""

ROWS: dict[str, tuple[Action, Action, Action]] = {
    "trusted": ("allow", "allow", "block"),
    "community": ("allow", "block", "block"),
    "directory": ("allow", "ask", "block"),
    "agent-created": ("allow", "allow", "ask"),
    "org": ("allow", "allow", "block"),
    "local": ("allow", "allow", "ask"),
}
"""Maps a trust to the actions for `safe`, `caution`, `dangerous`. `local` is the user's own work, which is never blocked."""
DEFAULT = "default"
_FALLBACK = "community"
"""The row for an unknown trust, and for cells that an added row lacks."""
_WHO = {
    "trusted": "Trusted skills",
    "community": "Community skills",
    "directory": "Skills from an untrusted directory",
    "agent-created": "Skills written by an agent",
    "org": "Your organisation's skills",
    "local": "Skills in your own directories",
}
_WITH = {"safe": "without a serious finding", "caution": "with a warning", "dangerous": "with a dangerous finding"}
_DONE = {"allow": "are allowed", "ask": "need your approval", "block": "are blocked"}


class Cell(NamedTuple):
    """An action and the source of the rule."""

    action: Action
    source: str = DEFAULT


Setting = tuple[str, str, str]
"""Trust, verdict and action: one cell from the settings."""


class MachinePolicy(NamedTuple):
    """The policy of an administrator for this machine. Without a `path` there is no such policy."""

    path: str = ""
    allowed_sources: tuple[str, ...] | None = None
    """The only sources that skills may come from; `None` for any."""
    min_age: int = 0
    """Least age in days of anything from another machine."""
    forbidden_rules: tuple[str, ...] = ()
    """Rules of the guard whose findings block a skill."""
    trusted_keys: tuple[str, ...] | None = None
    """The only keys that may have signed skills from another machine; `None` if no signature is required."""
    overrides: bool = True
    """Whether a person may allow what the policy asks about or blocks."""
    cells: tuple[Setting, ...] = ()
    problem: str = ""
    """Why the policy cannot be read; then nothing is allowed."""

    def check(self) -> None:
        """Raise RefusedError if the policy cannot be read, because then what it forbids is unknown."""
        if self.problem:
            hint = "Ask the administrator of this machine to repair it. Until then Whet installs and writes nothing."
            raise RefusedError("machine-policy-unreadable", f"{self.path}: {self.problem}", hint=hint, path=self.path)

    def allows(self, address: str) -> bool:
        """Return whether skills may come from an address."""
        return self.allowed_sources is None or any(covers(entry, address) for entry in self.allowed_sources)

    def lines(self) -> tuple[tuple[str, str], ...]:
        """Return each key of the policy with its effect."""
        said: list[tuple[str, str]] = []
        if self.allowed_sources is not None:
            sources = ", ".join(self.allowed_sources)
            told = f"Skills come only from {sources}." if sources else "No skill can be installed."
            said.append(("allowed_sources", told))
        if self.min_age:
            days = f"{self.min_age} day{'' if self.min_age == 1 else 's'}"
            said.append(("min_age", f"Nothing from another machine is installed before it is {days} old."))
        if self.forbidden_rules:
            said.append(("forbidden_rules", f"A finding of {', '.join(self.forbidden_rules)} blocks a skill."))
        if self.trusted_keys is not None:
            count = f"{len(self.trusted_keys)} key{'' if len(self.trusted_keys) == 1 else 's'}"
            said.append(("trusted_keys", f"What comes from another machine must be signed with one of {count}."))
        if not self.overrides:
            said.append(("overrides", "No override allows what the policy asks about or blocks."))
        said += [(f"policy.{trust}.{verdict}", f"At least {action}.") for trust, verdict, action in self.cells]
        return tuple(said)


NO_MACHINE_POLICY = MachinePolicy()


class Table(dict[str, dict[str, Cell]]):
    """Maps trust and verdict to a cell; also holds the policy of the machine."""

    machine: MachinePolicy = NO_MACHINE_POLICY


class Override(NamedTuple):
    """The approval of one exact content by a person."""

    digest: str
    reason: str
    actor: str
    time: str


class Decision(NamedTuple):
    """The action for a package, and its reason as a sentence."""

    action: Action
    reason: str
    trust: str = ""
    verdict: str = ""
    source: str = DEFAULT
    """The source of the cell: `default`, a settings file, or `override`."""
    final: bool = False
    """No override changes the decision."""

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        return {
            "decision": self.action,
            "reason": self.reason,
            "trust": self.trust,
            "verdict": self.verdict,
            "source": self.source,
        }


def default_table() -> Table:
    """Return the table without any settings."""
    return Table({trust: dict(zip(LABELS, map(Cell, row), strict=True)) for trust, row in ROWS.items()})


def table_with(
    user: Iterable[Setting] = (), project: Iterable[Setting] = (), machine: MachinePolicy = NO_MACHINE_POLICY
) -> Table:
    """Return the table with the settings applied; cells of a project or the machine count only if they are stricter.

    Raises RefusedError if the policy of the machine cannot be read.
    """
    machine.check()
    table = default_table()
    table.machine = machine
    for trust, verdict, action in _with_directories(user):
        _row(table, trust, "config.toml")[verdict] = Cell(_action(action), "config.toml")
    for cells, source in ((project, ".whet.toml"), (machine.cells, machine.path)):
        for trust, verdict, action in _with_directories(cells):
            row = _row(table, trust, source)
            if stricter(action, row[verdict].action):
                row[verdict] = Cell(_action(action), source)
    return table


def _with_directories(cells: Iterable[Setting]) -> Iterable[Setting]:
    """Return the cells, preceded by copies of `community` cells for `directory`: a directory may be a download."""
    cells = tuple(cells)
    return (*(("directory", verdict, action) for trust, verdict, action in cells if trust == _FALLBACK), *cells)


def looser(user: Iterable[Setting], project: Iterable[Setting]) -> tuple[Setting, ...]:
    """Return the cells of a project that would loosen the table, and therefore do not count."""
    table = table_with(user)
    return tuple(
        (trust, verdict, action)
        for trust, verdict, action in project
        if stricter(_row(table, trust, "")[verdict].action, action)
    )


def stricter(one: str, other: str) -> bool:
    """Return whether action `one` is stricter than `other`."""
    return ACTIONS.index(_action(one)) > ACTIONS.index(_action(other))


def _action(text: str) -> Action:
    actions: tuple[str, ...] = ACTIONS
    return ACTIONS[actions.index(text)]


def _row(table: dict[str, dict[str, Cell]], trust: str, source: str) -> dict[str, Cell]:
    if trust not in table:
        table[trust] = {verdict: Cell(cell.action, source) for verdict, cell in table[_FALLBACK].items()}
    return table[trust]


def decide(
    trust: str,
    verdict: Label,
    table: Table,
    *,
    findings: Sequence[Finding] = (),
    override: Override | None = None,
) -> Decision:
    """Return the decision about a package of this trust and verdict. An unknown trust counts as `community`."""
    row, machine = table.get(trust) or table[_FALLBACK], table.machine
    cell = row[verdict]
    if forbidden := gravest([finding for finding in findings if finding.rule in machine.forbidden_rules]):
        reason = f"The policy of this machine forbids the rule {forbidden.rule}: {told(forbidden)}."
        return Decision("block", reason, trust, verdict, machine.path, final=True)
    if not machine.overrides:
        override = None
    if override is not None and cell.action != "allow":
        reason = f"{override.actor} allowed exactly this content on {override.time[:10]}: {_sentence(override.reason)}"
        return Decision("allow", reason, trust, verdict, "override")
    who = _WHO.get(trust, f"Skills with the trust {trust}")
    worst = gravest(findings) if verdict != "safe" else None
    why = f": {told(worst)}" if worst else ""
    reason = f"{who} {_WITH[verdict]} {_DONE[cell.action]}{why}."
    final = not machine.overrides and cell.action != "allow"
    return Decision(cell.action, reason, trust, verdict, cell.source, final)


def gravest(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that decides: the first of the worst."""
    return max(findings, key=lambda finding: SEVERITIES.index(finding.severity), default=None)


def told(finding: Finding) -> str:
    """Return a finding as part of a sentence: its title, without particulars, and its place."""
    message = re.split("[:.] ", finding.message, maxsplit=1)[0].rstrip(". ")
    if message[:1].isupper() and not message[1:2].isupper():
        message = message[0].lower() + message[1:]
    where = finding.file + (f", line {finding.line}" if finding.line else "")
    return f"{message} ({where})" if where else message


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def place_trust(level: str, table: Mapping[str, Any]) -> str:
    """Return the row for skills of a place (`whet.library.trust.place_level`).

    A user who names a directory as a root, or trusts a repository, has vouched for it. A row with the name of the level wins.
    """
    if level in table:
        return level
    return {"org": "org", "local": "local", "project": "trusted", "external": "trusted"}.get(level, _FALLBACK)


def actor_trust(actor: str) -> str:
    """Return the row for a writer: `local` for the user, `agent-created` for anyone else."""
    return "local" if actor == "user" else "agent-created"

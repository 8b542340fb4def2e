"""The report of a run, as the harness saw it. The model's own words are included and marked as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from whet.runtime.journal import Applied, Contact, Decided, Done, End, Said, Use
from whet.runtime.servers import server_of
from whet.values import fields_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.runtime.journal import Journal, Record
    from whet.runtime.workspace import Change
    from whet.values import Json


class Tokens(NamedTuple):
    """Tokens sent to models, and tokens they answered."""

    input: int = 0
    output: int = 0


class CommandRun(NamedTuple):
    """A program that ran."""

    command: str
    code: int | None
    """Exit code; None if it was killed."""
    problem: str
    seconds: float


class DeniedCall(NamedTuple):
    """A call that was denied."""

    tool: str
    given: Mapping[str, Any]
    reason: str


class ServerCall(NamedTuple):
    """A call to an MCP server, outside the sandbox."""

    tool: str
    given: Mapping[str, Any]
    failed: bool


class Approval(NamedTuple):
    """A call that the user decided about, or must decide about."""

    number: int
    tool: str
    given: Mapping[str, Any]
    reason: str
    answer: Literal["waiting", "approved", "rejected"]


class Sandbox(NamedTuple):
    """The isolation of the programs."""

    level: str
    gaps: tuple[str, ...]


class RunReport(NamedTuple):
    """The facts of a run."""

    files: tuple[Change, ...]
    """Changes in the copy of the project."""
    applied: bool
    """Whether they were applied to the project."""
    commands: tuple[CommandRun, ...]
    calls: tuple[tuple[str, int], ...]
    """Number of calls of each tool."""
    denied: tuple[DeniedCall, ...]
    approvals: tuple[Approval, ...]
    servers: tuple[ServerCall, ...]
    """Calls to MCP servers, outside the sandbox and the copy."""
    network: tuple[Contact, ...]
    """Hosts that programs tried to reach."""
    model: str
    """Name of the model that answered, from its provider; empty if none was asked."""
    requests: int
    tokens: Tokens
    cost: float | None
    """In dollars; None if the price is unknown."""
    seconds: float
    sandbox: Sandbox
    children: tuple[str, ...]
    """Runs that this one started; their cost is included here."""
    summary: str
    """What the model says it did; not checked."""
    output: str = ""
    """Output of the script, in a run of a script."""

    def to_json(self) -> Json:
        """Return the report as JSON."""
        return {**fields_json(self), "calls": dict(self.calls), "seconds": round(self.seconds, 3)}

    def failures(self) -> tuple[CommandRun, ...]:
        """Return the commands that failed."""
        return tuple(command for command in self.commands if command.code != 0)


def make_report(journal: Journal, files: Sequence[Change], children: Sequence[RunReport] = ()) -> RunReport:
    """Return the report of a journal."""
    records, start = journal.records, journal.start
    uses = _of(records, Use)
    decisions, answers = journal.decisions(), journal.answers()
    asked = [decided for decided in decisions.values() if decided.decision == "ask"]
    calls: dict[str, int] = {}
    for done in _of(records, Done):
        tool = decisions[done.call].tool if done.call in decisions else "script"
        calls[tool] = calls.get(tool, 0) + 1
    said = [record for record in _of(records, Said) if record.role == "assistant"]
    costs = [use.cost for use in uses] + [child.cost for child in children if child.requests]
    ends = _of(records, End)
    return RunReport(
        tuple(files),
        bool(_of(records, Applied)),
        tuple(
            CommandRun(done.command, done.code, done.problem, round(done.seconds, 3))
            for done in _of(records, Done)
            if done.command
        ),
        tuple(sorted(calls.items())),
        tuple(
            DeniedCall(decided.tool, decided.given, decided.reason)
            for decided in decisions.values()
            if decided.decision == "deny"
        ),
        tuple(_approval(number, decided, answers) for number, decided in enumerate(asked, 1)),
        tuple(
            ServerCall(decisions[done.call].tool, decisions[done.call].given, done.failed)
            for done in _of(records, Done)
            if done.call in decisions and server_of(decisions[done.call].tool)
        ),
        tuple(dict.fromkeys(_of(records, Contact))),
        ", ".join(dict.fromkeys(use.model for use in uses)),
        len(uses) + sum(child.requests for child in children),
        Tokens(
            sum(use.tokens_in for use in uses) + sum(child.tokens.input for child in children),
            sum(use.tokens_out for use in uses) + sum(child.tokens.output for child in children),
        ),
        None if None in costs else sum(cost for cost in costs if cost is not None),
        sum(end.seconds for end in ends),
        Sandbox(start.level, start.gaps),
        tuple(done.child for done in _of(records, Done) if done.child),
        said[-1].text if said and not said[-1].calls else "",
        "".join(record.text for record in _of(records, Said) if start.script and record.role == "tool"),
    )


def _approval(number: int, decided: Decided, answers: Mapping[str, str]) -> Approval:
    answer = answers.get(decided.call)
    state: Literal["waiting", "approved", "rejected"] = (
        "approved" if answer == "approved" else "rejected" if answer == "rejected" else "waiting"
    )
    return Approval(number, decided.tool, decided.given, decided.reason, state)


def _of(records: Sequence[Record], kind: type[Any]) -> list[Any]:
    return [record for record in records if isinstance(record, kind)]

"""The types of a scan: rules, the reports of checkers, and the findings that a person sees.

A checker returns *hits* (a rule matched here) and *facts* (this file reads secrets, this one sends). A fact alone is not a
danger; the flow over a whole package turns facts into hits. The engine turns hits into *findings*, and the worst
finding is the verdict: one critical makes a package `dangerous`, one warning `caution`, everything else is `safe`,
which only means that nothing was found.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.values import Json, Rows, as_json

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["info", "warn", "critical"]
Label = Literal["safe", "caution", "dangerous"]

SEVERITIES: tuple[Severity, ...] = ("info", "warn", "critical")
LABELS: tuple[Label, ...] = ("safe", "caution", "dangerous")
CATEGORIES = {
    "instruction-override": "Instructions to the model to ignore, obey or conceal",
    "remote-instructions": "Instructions downloaded from elsewhere",
    "metadata": "A misleading name or description",
    "remote-execution": "Code that is downloaded and run",
    "fake-installer": "Making the user or the agent install something first",
    "dynamic-code": "Code built or loaded at run time",
    "credential-access": "Reading keys, tokens and wallets",
    "exfiltration": "Sending data away",
    "persistence": "Staying on the machine",
    "agent-tampering": "Changing the agent's own files and rules",
    "privilege": "More authority than the task needs",
    "destruction": "Deleting or encrypting data, or using up the machine",
    "supply-chain": "Dependencies from untrusted sources",
    "hiding": "Text or code that is hard to see",
    "integrity": "Slanted answers and results",
    "secrets": "Secrets shipped in the package",
    "unreadable": "Content that could not be scanned",
}
"""Every category of rules, with its description."""


class Rule(NamedTuple):
    """A danger to look for, and the reason."""

    id: str
    severity: Severity
    category: str
    title: str
    """The message of a finding: one sentence without particulars."""
    why: str
    remedy: str
    references: tuple[str, ...] = ()
    """`OWASP AST01`, `ATLAS AML.T0051`, `CWE-506` and the like."""
    mention: bool = True
    """Whether mentioning it (documentation, a list of what to avoid, a security skill) weighs less than doing it."""

    @property
    def sentence(self) -> str:
        """The title as a sentence."""
        return f"{self.title.rstrip('.')}."

    def to_json(self) -> Json:
        """Return the rule as JSON."""
        answer = self._asdict()
        del answer["mention"]
        return {**answer, "title": self.sentence, "references": list(self.references)}

    def finding(
        self, file: str, line: int, particulars: str = "", *, evidence: str = "", severity: Severity | None = None
    ) -> Finding:
        """Return a finding of this rule, as a person sees it."""
        title = self.title.rstrip(".")
        joint = ". " if particulars.startswith(("It ", "The ")) else ": "
        message = f"{title}{joint}{particulars}." if particulars else f"{title}."
        return Finding(
            self.id,
            severity or self.severity,
            self.category,
            file,
            line,
            message,
            evidence,
            self.remedy,
            self.references,
        )


class Rules(Rows[Rule]):
    """A list of rules."""

    __slots__ = ()

    def to_json(self) -> Json:
        """Return the rules as JSON."""
        return {"success": True, "rules": as_json(list(self)), "count": len(self)}


class Hit(NamedTuple):
    """A match of a rule. `severity` replaces that of the rule; `subject` is what it is about, such as a host."""

    rule: str
    line: int
    evidence: str
    severity: Severity | None = None
    subject: str = ""
    message: str = ""
    steps: int = 0
    """Number of steps to lower the severity because the danger is only mentioned; negative if it is hidden."""
    shown: bool = False
    """The text itself calls it an example of a danger; for code, the headings do so too."""
    sample: bool = False
    """It is code in a text, and no words before it order to run it."""


FactKind = Literal["source", "sink", "fetch", "execute", "write", "assemble"]


class Fact(NamedTuple):
    """An action of a text that matters in combination with actions of other texts."""

    kind: FactKind
    what: str
    """Human-readable object, such as `SSH keys` or `HTTP POST`."""
    line: int
    evidence: str
    subject: str = ""
    """The host, path or variable of the action."""
    grave: bool = False
    """A source that nobody needs by accident (private keys, wallets), or a sink made for stolen data (a paste site)."""
    shown: bool = False
    """As in `Hit`."""


class Seen(NamedTuple):
    """The hits and facts of one text."""

    hits: tuple[Hit, ...] = ()
    facts: tuple[Fact, ...] = ()

    def shift(self, lines: int) -> Seen:
        """Return the same, moved down by `lines`, for a text inside a larger one."""
        hits = tuple(hit._replace(line=hit.line + lines) for hit in self.hits)
        return Seen(hits, tuple(fact._replace(line=fact.line + lines) for fact in self.facts))

    def at(self, line: int) -> Seen:
        """Return the same, all on one line, which is the line of the examined text."""
        return Seen(
            tuple(hit._replace(line=line) for hit in self.hits), tuple(fact._replace(line=line) for fact in self.facts)
        )


class Finding(NamedTuple):
    """One danger, as it is shown."""

    rule: str
    severity: Severity
    category: str
    file: str
    line: int
    message: str
    evidence: str
    remedy: str
    references: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """An identifier of the finding in its file that does not change when it moves or its spacing changes."""
        squeezed = re.sub(r"\s+", " ", self.evidence).strip().lower()
        return hashlib.sha256("\0".join((self.rule, self.file, squeezed)).encode("utf-8", "replace")).hexdigest()[:32]

    def to_json(self) -> Json:
        """Return the finding as JSON."""
        return {**self._asdict(), "references": list(self.references), "fingerprint": self.fingerprint}


class Scan(NamedTuple):
    """The result of a scan of a package."""

    digest: str
    verdict: Label
    findings: tuple[Finding, ...]

    @property
    def grave(self) -> tuple[Finding, ...]:
        """The findings that a person must look at: all except those of severity `info`."""
        return tuple(finding for finding in self.findings if finding.severity != "info")


def verdict(findings: Iterable[Finding]) -> Label:
    """Return the verdict for the findings of a package."""
    return LABELS[max((SEVERITIES.index(finding.severity) for finding in findings), default=0)]


def rank(severity: Severity | None) -> int:
    """Return a rank for hits of one rule: those with the rule's severity are between lowered and raised ones."""
    return 1 if severity is None else SEVERITIES.index(severity)


def lower(severity: Severity, steps: int = 1) -> Severity:
    """Return a severity some steps lower, never below `info` and never above `critical`."""
    return SEVERITIES[min(max(0, SEVERITIES.index(severity) - steps), len(SEVERITIES) - 1)]

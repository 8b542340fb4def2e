"""The findings of a program reader: hits and facts at the current line, and actions that matter only together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from whet.guard.finding import Fact, Hit, rank
from whet.guard.patterns import shorten
from whet.guard.rules import every, severity_of
from whet.guard.taint.mark import HOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.guard.finding import FactKind, Seen, Severity
    from whet.guard.taint.mark import Mark
    from whet.guard.taint.network import Judgement

_MOST = 500
DEEPEST = 3
"""Maximum nesting depth of programs inside programs."""


class Findings:
    """The hits and facts of one file, without duplicates."""

    lenient = False
    """Whether the language is one of web pages, which load scripts of their server and assemble text from pieces."""

    def __init__(self, level: int, read_inner: Callable[[str, int], Seen]) -> None:
        self.level = level
        """Number of decodings between the file and this text."""
        self.read_inner = read_inner
        """Reads a program in the same language that is a text in the file, at the given level."""
        self.line = 1
        """The current line."""
        self.hits: dict[tuple[str, int, str], Hit] = {}
        self.facts: dict[tuple[str, str, str, int], Fact] = {}
        self.did: dict[str, int] = {}
        """Actions of the file that matter only together, each with its line."""
        self.files: dict[str, frozenset[Mark]] = {}
        """The marks of written files, by path."""
        self.addresses: dict[str, str] = {}
        """The addresses that modules were configured to send to, by module name."""

    def evidence(self) -> str:
        """Return the source of the current position."""
        raise NotImplementedError

    def hit(
        self, rule: str, severity: Severity | None = None, subject: str = "", message: str = "", evidence: str = ""
    ) -> None:
        """Record a hit; the most severe one for a rule, line and subject is kept."""
        key = (rule, self.line, subject)
        old = self.hits.get(key)
        if old is None or rank(severity or every()[rule].severity) > rank(severity_of(old)):
            said = shorten(evidence or self.evidence())
            self.hits[key] = Hit(rule, self.line, said, severity, subject.replace(HOLE, "...")[:200], message)

    def report(self, found: Iterable[Judgement]) -> None:
        """Record the judgements of a judge as hits."""
        for one in found:
            self.hit(*one)

    def fact(self, kind: FactKind, what: str, subject: str = "", grave: bool = False) -> None:
        """Record a fact that matters together with other files."""
        clean = subject.replace(HOLE, "...")[:2000]
        key = (kind, what, clean, self.line)
        if key not in self.facts and len(self.facts) < _MOST:
            self.facts[key] = Fact(kind, what, self.line, shorten(self.evidence()), clean, grave)

    def note(self, what: str) -> None:
        """Record an action at the current line."""
        self.did.setdefault(what, self.line)

    def adopt(self, seen: Seen) -> bool:
        """Report the findings of an embedded text at the current line; return whether a hit is more than info."""
        bad = False
        for hit in seen.hits:
            self.hits.setdefault((hit.rule, self.line, hit.evidence), hit._replace(line=self.line))
            bad = bad or severity_of(hit) != "info"
        for fact in seen.facts:
            self.facts.setdefault((fact.kind, fact.what, fact.subject, self.line), fact._replace(line=self.line))
        return bad

    def look(self, text: str, python: bool) -> bool:
        """Check an embedded Python or shell script; return whether a hit is more than info."""
        if self.level >= DEEPEST:
            return False
        text = text[:100_000].replace(HOLE, "X")
        if python:
            seen: Seen = import_module("whet.guard.python.checker").read_text(text, self.level + 1)
        else:  # imported by name: programs of the two languages may contain each other
            seen = import_module("whet.guard.shell.checker").check(text)
        return self.adopt(seen)

    def look_inside(self, text: str) -> bool:
        """Check an embedded program in the same language; return whether a hit is more than info."""
        return self.level < DEEPEST and self.adopt(self.read_inner(text, self.level + 1))

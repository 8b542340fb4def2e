"""What a reader of a program has found so far: hits and facts at the line it is at, and what only matters together."""

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
"""How often a program that is found in another may hold one again."""


class Findings:
    """The hits and facts of one file, each once."""

    lenient = False
    """Whether it is written in a language of pages, which load scripts of their own server and put texts together from pieces."""

    def __init__(self, level: int, read_inner: Callable[[str, int], Seen]) -> None:
        self.level = level
        """How many decodings lie between the file and this text."""
        self.read_inner = read_inner
        """Reads a program in the same language that the file has as a text, so many decodings deep."""
        self.line = 1
        """The line that is read."""
        self.hits: dict[tuple[str, int, str], Hit] = {}
        self.facts: dict[tuple[str, str, str, int], Fact] = {}
        self.did: dict[str, int] = {}
        """Things the file does that mean something only together, with the line."""
        self.files: dict[str, frozenset[Mark]] = {}
        """What was written where."""
        self.addresses: dict[str, str] = {}
        """Where the modules send to that were told so, by their names."""

    def evidence(self) -> str:
        """The source of what is read."""
        raise NotImplementedError

    def hit(
        self, rule: str, severity: Severity | None = None, subject: str = "", message: str = "", evidence: str = ""
    ) -> None:
        """Note a danger; the worst of one kind on one line is kept."""
        key = (rule, self.line, subject)
        old = self.hits.get(key)
        if old is None or rank(severity or every()[rule].severity) > rank(severity_of(old)):
            said = shorten(evidence or self.evidence())
            self.hits[key] = Hit(rule, self.line, said, severity, subject.replace(HOLE, "...")[:200], message)

    def report(self, found: Iterable[Judgement]) -> None:
        """Note what a judge found."""
        for one in found:
            self.hit(*one)

    def fact(self, kind: FactKind, what: str, subject: str = "", grave: bool = False) -> None:
        """Note something that matters together with what other files do."""
        clean = subject.replace(HOLE, "...")[:2000]
        key = (kind, what, clean, self.line)
        if key not in self.facts and len(self.facts) < _MOST:
            self.facts[key] = Fact(kind, what, self.line, shorten(self.evidence()), clean, grave)

    def note(self, what: str) -> None:
        """Remember that something happened here."""
        self.did.setdefault(what, self.line)

    def adopt(self, seen: Seen) -> bool:
        """Report here what was seen in a text that is handed on here; true when any of it is more than info."""
        bad = False
        for hit in seen.hits:
            self.hits.setdefault((hit.rule, self.line, hit.evidence), hit._replace(line=self.line))
            bad = bad or severity_of(hit) != "info"
        for fact in seen.facts:
            self.facts.setdefault((fact.kind, fact.what, fact.subject, self.line), fact._replace(line=self.line))
        return bad

    def look(self, text: str, python: bool) -> bool:
        """Read a script inside the program, of Python or of a shell; true when that is more than info."""
        if self.level >= DEEPEST:
            return False
        text = text[:100_000].replace(HOLE, "X")
        if python:
            seen: Seen = import_module("whet.guard.python.checker").read_text(text, self.level + 1)
        else:  # by their names: a program of one language may hold one of another, and that one of the first
            seen = import_module("whet.guard.shell.checker").check(text)
        return self.adopt(seen)

    def look_inside(self, text: str) -> bool:
        """Read a program in the same language that is run here; true when that is more than info."""
        return self.level < DEEPEST and self.adopt(self.read_inner(text, self.level + 1))

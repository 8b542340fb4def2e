"""The scan of a package: all readable texts are read, every text is checked, and the findings are weighed.

`scan` is a pure function of the files. A checker that fails is a finding, never a pass. Dangers in hidden text weigh
more than visible ones; what a security skill mentions, or what the frontmatter declares, weighs a step less; nothing in the
package disables a check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.guard import flow, rules
from whet.guard.documents import checker
from whet.guard.finding import Finding, Hit, Scan, Seen, lower, verdict
from whet.guard.hosts import URL, host_of, is_placeholder, is_stand_in, serves_installers
from whet.guard.manifests import checker as manifests
from whet.guard.manifests import make
from whet.guard.reading import reader as reading
from whet.guard.secrets.hide import hide_secrets
from whet.guard.secrets.scan import find_secrets
from whet.guard.subject import subject_of
from whet.guard.tables import word_list
from whet.skill.tree import digest, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Fact, Severity
    from whet.guard.subject import Subject
    from whet.skill.tree import Item

MOST = 20
"""Largest number of findings of one rule in one file."""
_SPEAKS = frozenset(("markdown", "text", "html", "yaml", "json", "toml"))
_COMMON = frozenset(("compiled-python", "odd-passage"))
"""Warnings that do not strengthen others: Python leaves its cache beside every script that was run, and a passage that only
the small model reports is uncertain, however many there are."""
_VAGUE = frozenset(("odd-passage", "telling-name"))
"""Rules that only show what a text is about."""
_ACTS = frozenset(("fetch", "sink", "execute"))


def scan(files: Mapping[str, Item], origin: str = "") -> Scan:
    """Scan a whole package; `origin` is its source, `host/owner/repository` or a host, if that is certain."""
    return examine(files, origin)[0]


def examine(files: Mapping[str, Item], origin: str = "") -> tuple[Scan, Mapping[str, Sequence[Fact]]]:
    """Return the scan of a package, and the facts of each file, whether or not they lead to findings."""
    read = reading.read(files)
    subject = subject_of(read.documents, origin)
    found = [_finding(path, hit) for path, hit in read.hits]
    mentioned: list[Finding] = []
    facts: dict[str, list[Fact]] = {}
    size = sum(len(document.text) for document in read.documents)
    for document in read.documents:
        seen = _check(document, size - len(document.text))
        done = (fact for fact in seen.facts if not (fact.shown and subject.defence and is_stand_in(fact.subject)))
        facts.setdefault(document.path, []).extend(done)
        for hit in seen.hits:
            finding = _finding(document.path, hit, _weight(hit, document, subject))
            (mentioned if hit.shown and hit.steps > 0 else found).append(finding)
    found.extend(_finding(path, hit) for path, hit in _check_together(read.documents, facts))
    found.extend((*_together(found, security=subject.security), *mentioned))
    kept = _kept(found)
    return Scan(digest(entries(files)), verdict(kept), kept), facts


def _check(document: Document, beside: int) -> Seen:
    hits: list[Hit] = []
    facts: list[Fact] = []
    for check in checkers(document, beside):
        try:
            seen = check()
        except Exception as problem:  # noqa: BLE001  any failure caused by a text is reported, and the other checkers continue
            hits.append(_error(problem, document.line, [document]))
            continue
        hits.extend(seen.hits)
        facts.extend(seen.facts)
    seen = Seen(tuple(hits), tuple(facts))
    if not document.via:
        return seen
    # Hidden text has one line: where it was hidden. The fact that it was hidden is what weighs.
    seen = seen.at(document.line)
    if not document.hidden:
        return seen
    if not any(lower(rules.severity_of(hit), hit.steps) != "info" for hit in seen.hits) and not any(
        fact.kind in _ACTS for fact in seen.facts
    ):
        return seen
    means = f"{' in '.join(reversed(document.via))} contains: "
    evidence = seen.hits[0].evidence if seen.hits else seen.facts[0].evidence
    hidden = Hit("hidden-payload", document.line, evidence, message=means + evidence)
    return seen._replace(hits=(*seen.hits, hidden))


def _check_together(documents: Sequence[Document], facts: Mapping[str, Sequence[Fact]]) -> Iterator[tuple[str, Hit]]:
    """Yield the hits of the files of a package in combination."""
    try:
        for path, seen in make.together(documents):
            yield from ((path, hit) for hit in seen.hits)
        yield from flow.hits(documents, facts)
    except Exception as problem:  # noqa: BLE001  any failure caused by the files is reported, and earlier findings count
        yield documents[0].path, _error(problem, 1, documents)


def _error(problem: Exception, line: int, documents: Sequence[Document]) -> Hit:
    """Return a hit for a failure of the scanner; critical if it failed on code, because its effect is then unknown."""
    severity: Severity | None = None if all(one.kind in _SPEAKS for one in documents) else "critical"
    return Hit("scanner-error", line, f"{type(problem).__name__}: {problem}"[:200], severity)


def checkers(document: Document, beside: int = 0) -> Iterator[Callable[[], Seen]]:
    """Yield the checks for a document; `beside` is the number of characters in the other texts of the package."""
    from whet.guard.prose import checker as prose
    from whet.guard.prose.orders import check_hidden, check_program

    text = document.text
    if document.kind in ("markdown", "text"):
        yield lambda: prose.check(text, beside)
    elif document.kind == "html":
        from whet.guard.prose import pages

        yield lambda: pages.check(text)
    elif document.kind in ("json", "yaml", "toml"):
        yield lambda: check_hidden(text)
    else:
        yield lambda: checker(document.kind)(text)
        yield lambda: check_hidden(text)
        yield lambda: check_program(text, beside)
    yield lambda: manifests.check(document)
    yield lambda: find_secrets(text)


def _weight(hit: Hit, document: Document, subject: Subject) -> Severity:
    rule, steps = rules.every()[hit.rule], hit.steps
    severity = hit.severity or rule.severity
    if rule.id in ("pipe-known", "pipe-to-shell") and hit.subject and _is_strange(hit.subject):
        steps -= (
            0 if subject.is_at_home(hit.subject) else 2 - subject.is_about(hit.subject) - subject.serves(hit.subject)
        )
    if subject.security and _speaks(document):
        steps += _less_code(hit, subject) if hit.sample else (hit.shown and rule.mention) or rule.id in _VAGUE
    if subject.declares(hit.subject) and (severity != "critical" or hit.subject not in subject.variables):
        steps += 1
    return lower(severity, min(steps, 2))


def _less_code(hit: Hit, subject: Subject) -> int:
    """Return the steps by which code that nothing orders to run weighs less, in a text that is all about defence.

    Code with a placeholder address reaches nobody. With a real address it keeps its weight, whatever the text calls it.
    """
    if not subject.defence:
        return 0
    named = [*URL.findall(hit.evidence), *([hit.subject] if "." in hit.subject else ())]
    if all(map(is_stand_in, named)) if named else is_stand_in(hit.evidence):
        return 2
    return int(hit.shown and not named)


def _speaks(document: Document) -> bool:
    """Return whether this is a text for readers, or was hidden in one."""
    return document.path.lower().endswith((".md", ".txt", ".rst")) or (document.kind in _SPEAKS and not document.hidden)


def _is_strange(host: str) -> bool:
    """Return whether nothing is known about this host."""
    strange = host_of(host).kind in ("other", "free", "reserved")
    return strange and not serves_installers(host) and not is_placeholder(host)


def _finding(path: str, hit: Hit, severity: Severity | None = None) -> Finding:
    told, evidence = (hide_secrets(text)[0] if text else "" for text in (hit.message, hit.evidence))
    return rules.every()[hit.rule].finding(path, hit.line, told, evidence=evidence, severity=severity or hit.severity)


def _together(found: list[Finding], *, security: bool) -> Iterator[Finding]:
    """Yield a finding for several warnings of different categories; a security skill naturally has more of them."""
    grave = word_list("grave_categories")
    first: dict[str, Finding] = {}
    told: set[str] = set()
    for finding in found:
        if finding.severity != "warn" or finding.category not in grave or finding.rule in _COMMON:
            continue
        if finding.evidence not in told:  # the same evidence is one warning, however many rules and files report it
            told.add(finding.evidence)
            first.setdefault(finding.category, finding)
    if len(first) >= (3 if security else 2):
        worst = min(first.values(), key=lambda finding: (finding.file, finding.line))
        evidence = ", ".join(sorted({finding.rule for finding in first.values()}))
        yield _finding(worst.file, Hit("several-warnings", worst.line, evidence))


def _kept(found: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings without duplicates, the gravest first, with a limit for each rule and file."""
    order = {"critical": 0, "warn": 1, "info": 2}
    kept: list[Finding] = []
    counts: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, str, int]] = set()
    for finding in sorted(found, key=lambda one: (order[one.severity], one.file, one.line, one.rule)):
        place = (finding.rule, finding.file, finding.line)
        if place in seen:
            continue
        seen.add(place)
        key = (finding.rule, finding.file)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == MOST + 1:
            rule = rules.every()["too-many-findings"]
            kept.append(rule.finding(finding.file, finding.line, finding.rule, severity="info"))
        elif counts[key] <= MOST:
            kept.append(finding)
    return tuple(kept)

"""What the files of a package do together: a source in one, a sink in another.

Facts of one text are joined by its own checker; here those of different files meet. A secret and a connection in the
same package are common (a script that finds a key, another that calls an API), so the two files must belong
together: one names the other, or both name the same third file. Programs are also read once more with what the
other files hold put in its place: Python with its modules and data, shell scripts with the variables that another
script sets, JavaScript with the data that it loads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard import flow_data
from whet.guard.finding import Hit
from whet.guard.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Fact, Rule

_FILE = re.compile(
    r"[\w-]{2,60}\.(?:txt|json|log|dat|tmp|cache|bin|zip|tar|gz|tgz|db|csv|enc|b64|out|sh|py|js|exe|yaml|yml|toml|md)\b",
    re.IGNORECASE,
)
_OBEY = re.compile(
    r"\b(?:do|follow|execute|carry out|obey|perform|apply|run)\b[^.\n]{0,40}"
    r"\b(?:what(?:ever)?|everything|all|the|its|each|every)\b[^.\n]{0,40}"
    r"\b(?:prints?|printed|outputs?|says?|returns?|tells?|shows?|steps|instructions)\b",
    re.IGNORECASE,
)
_SPLIT = {"exfiltration": "split-exfiltration", "remote-execution": "split-execution"}


def hits(documents: Sequence[Document], facts: Mapping[str, Sequence[Fact]]) -> Iterator[tuple[str, Hit]]:
    """What comes of facts in different files, each with the path of the later half."""
    texts: dict[str, str] = {}
    for document in documents:
        if document.path in facts and not document.via:
            texts[document.path] = document.text
    yield from _sent(facts, texts)
    for one, two, first, second in _pairs(facts, "fetch", "execute"):
        if first.subject and second.subject and _same_file(first, second, texts.get(one, ""), texts.get(two, "")):
            yield (
                two,
                Hit("split-execution", second.line, second.evidence, message=f"{one} fetches what {two} executes"),
            )
            break
    yield from _obeyed(documents, facts)
    yield from _read_together(documents)


def _sent(facts: Mapping[str, Sequence[Fact]], texts: Mapping[str, str]) -> Iterator[tuple[str, Hit]]:
    for one, two, first, second in _pairs(facts, "source", "sink"):
        if (
            first.grave
            and host_of(second.subject or "unknown.host").kind not in ("loopback", "private")
            and _belong(one, two, texts)
        ):
            message = f"{one} collects {first.what}, {two} sends ({second.what})"
            yield two, Hit("split-exfiltration", second.line, second.evidence, subject=second.subject, message=message)
            break


def _obeyed(documents: Sequence[Document], facts: Mapping[str, Sequence[Fact]]) -> Iterator[tuple[str, Hit]]:
    """A script shows text from a raw address, and the skill has the agent do what it shows."""
    shown = [
        (path, fact)
        for path, found in facts.items()
        for fact in found
        if fact.what == "text that is shown" and fact.grave
    ]
    if not shown:
        return
    path, fact = shown[0]
    for document in documents:
        if (
            document.kind == "markdown"
            and not document.via
            and _stem(path) in document.text
            and _OBEY.search(document.text)
        ):
            message = f"{path} shows what it fetched, and {document.path} has the agent do it"
            yield path, Hit("split-execution", fact.line, fact.evidence, subject=fact.subject, message=message)
            return


def _read_together(documents: Sequence[Document]) -> Iterator[tuple[str, Hit]]:
    """What programs do with what the other files hold. Hits are told by a rule whose severity is their own."""
    from whet.guard import rules

    table = rules.every()
    if len(documents) < 2:
        return
    if any(document.kind == "python" for document in documents):
        from whet.guard import python_package

        for path, hit in python_package.hits(documents, table):
            yield path, _grave(hit, table[hit.rule])
    for path, hit in flow_data.hits(documents, table):
        yield path, _grave(hit, table[hit.rule])


def _grave(hit: Hit, rule: Rule) -> Hit:
    if rule.severity == "critical":
        return hit
    return hit._replace(
        rule=_SPLIT.get(rule.category, "split-payload"), severity=None, message=hit.message or rule.title
    )


def _pairs(facts: Mapping[str, Sequence[Fact]], kind: str, other: str) -> Iterator[tuple[str, str, Fact, Fact]]:
    for one, first in ((path, fact) for path, found in facts.items() for fact in found if fact.kind == kind):
        for two, second in ((path, fact) for path, found in facts.items() for fact in found if fact.kind == other):
            if one != two:
                yield one, two, first, second


def _belong(one: str, two: str, texts: Mapping[str, str]) -> bool:
    """Does one of two files name the other, or do both name the same third one?"""
    first, second = texts.get(one, ""), texts.get(two, "")
    if _stem(two) in first or _stem(one) in second:
        return True
    return bool(set(_FILE.findall(first)) & set(_FILE.findall(second)) - {"SKILL.md"})


def _same_file(fetch: Fact, execute: Fact, one: str, two: str) -> bool:
    names = set(_FILE.findall(fetch.evidence)) & set(_FILE.findall(execute.evidence))
    return bool(names) and bool(one) and bool(two)


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    stem = name.rpartition(".")[0]
    return stem if len(stem) > 3 and stem.lower() != "skill" else name

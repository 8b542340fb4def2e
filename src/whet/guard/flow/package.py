"""What the files of a package do together: a source in one, a sink in another.

Facts of one text are joined by its own checker; here those of different files meet. A secret and a connection in the
same package are common (a script that finds a key, another that calls an API), so the two files must belong
together: one names the other, or both name the same third file. Programs are also read once more with what the
other files hold put in its place: Python with its modules and data, shell scripts with the variables that another
script sets, JavaScript with the data that it loads.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from whet.guard.finding import Hit
from whet.guard.flow import data as flow_data
from whet.guard.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
MOST_FILES = 300
"""Files that read secrets, and files that send, which are compared with each other."""
_SPLIT = {"exfiltration": "split-exfiltration", "remote-execution": "split-execution"}


def hits(documents: Sequence[Document], facts: Mapping[str, Sequence[Fact]]) -> Iterator[tuple[str, Hit]]:
    """What comes of facts in different files, each with the path of the later half."""
    texts: dict[str, str] = {}
    for document in documents:
        if document.path in facts and not document.via:
            texts[document.path] = document.text
    yield from _sent(facts, texts)
    yield from _executed(facts, texts)
    yield from _obeyed(documents, facts)
    yield from _read_together(documents)


def _sent(facts: Mapping[str, Sequence[Fact]], texts: Mapping[str, str]) -> Iterator[tuple[str, Hit]]:
    sources = _first(facts, lambda fact: fact.kind == "source" and fact.grave)
    sinks = _first(facts, lambda fact: fact.kind == "sink" and _is_outside(fact.subject))
    if sources and sinks and max(len(sources), len(sinks)) > MOST_FILES:
        yield min(sinks), Hit("not-analysed", 1, f"more than {MOST_FILES} files that read secrets or send")
    names = {path: set(_FILE.findall(texts.get(path, ""))) - {"SKILL.md"} for path in (*sources, *sinks)}
    for one, first in sources.items():
        for two, second in sinks.items():
            if one != two and (names[one] & names[two] or _names(one, two, texts)):
                message = f"{one} collects {first.what}, {two} sends ({second.what})"
                hit = Hit("split-exfiltration", second.line, second.evidence, subject=second.subject, message=message)
                yield two, hit
                return


def _first(facts: Mapping[str, Sequence[Fact]], test: Callable[[Fact], bool]) -> dict[str, Fact]:
    """The first fact of each file that passes, of as many files as are compared, and one more."""
    found = ((path, next(filter(test, seen), None)) for path, seen in facts.items())
    return dict(islice(((path, fact) for path, fact in found if fact is not None), MOST_FILES + 1))


def _is_outside(host: str) -> bool:
    return host_of(host or "unknown.host").kind not in ("loopback", "private")


def _names(one: str, two: str, texts: Mapping[str, str]) -> bool:
    """Does one of two files name the other?"""
    return _stem(two) in texts.get(one, "") or _stem(one) in texts.get(two, "")


def _executed(facts: Mapping[str, Sequence[Fact]], texts: Mapping[str, str]) -> Iterator[tuple[str, Hit]]:
    """What one file fetches and another executes, by the name of the file that is fetched."""
    executes: dict[str, dict[str, Fact]] = {}
    for path, fact in _having(facts, texts, "execute"):
        for name in _FILE.findall(fact.evidence):
            executes.setdefault(name, {}).setdefault(path, fact)
    for one, fact in _having(facts, texts, "fetch"):
        for name in _FILE.findall(fact.evidence):
            for two, second in islice(executes.get(name, {}).items(), 2):
                if one != two:
                    message = f"{one} fetches what {two} executes"
                    yield two, Hit("split-execution", second.line, second.evidence, message=message)
                    return


def _having(facts: Mapping[str, Sequence[Fact]], texts: Mapping[str, str], kind: str) -> Iterator[tuple[str, Fact]]:
    """The facts of a kind that say what they are about, in files that can be read."""
    for path, found in facts.items():
        if texts.get(path):
            yield from ((path, fact) for fact in found if fact.kind == kind and fact.subject)


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
        from whet.guard.python import package as python_package

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


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    stem = name.rpartition(".")[0]
    return stem if len(stem) > 3 and stem.lower() != "skill" else name

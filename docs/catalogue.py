"""The page of the guard's rules: every rule, and from the corpus of pairs what it finds beside what it leaves alone."""

from __future__ import annotations

import difflib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from whet.guard import rules
from whet.guard.finding import CATEGORIES
from whet.guard.secrets.hide import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from whet.guard.finding import Rule

CORPUS = Path(__file__).parent.parent / "tests" / "corpus"
LINES = 12
"""Lines of an example, on each side."""
WIDTH = 160
"""Characters of a line of an example."""
FENCE = "`" * 6
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
INTRODUCTION = """\
`whet scan` looks for {rules} rules in {categories} categories. `make docs` writes this page from the rules and from the
pairs of packages that test them. `whet guard rules ID` prints one rule.

Each severity is for doing something openly. A finding counts less if the text only mentions or declares it, and more if
it is hidden ([how findings are weighed](guard.md#how-findings-are-weighed)). In the examples, the scan finds the lines
with `-`. The lines with `+` come from a harmless twin of the package, and the scan does not report them. All examples
are inert: hosts and addresses are reserved or harmless, unusual characters are escaped and secrets are redacted."""


def catalogue() -> str:
    """The whole page."""
    table = rules.every().values()
    counts = {name: sum(rule.category == name for rule in table) for name in CATEGORIES}
    rows = [f"| [`{name}`](#{name}) | {about} | {counts[name]} |" for name, about in CATEGORIES.items()]
    parts = [
        "# The rules of the guard",
        INTRODUCTION.format(rules=len(table), categories=len(CATEGORIES)),
        "\n".join(("| category | what it is about | rules |", "|---|---|---:|", *rows)),
    ]
    for name, about in CATEGORIES.items():
        parts.append(f"## {name}")
        parts.append(f"{about}.")
        for rule in sorted((rule for rule in table if rule.category == name), key=_order):
            parts.extend(_section(rule))
    return "\n\n".join(parts) + "\n"


def _order(rule: Rule) -> tuple[int, str]:
    return ("critical", "warn", "info").index(rule.severity), rule.id


def _section(rule: Rule) -> Iterator[str]:
    yield f"### {rule.id}"
    yield f"**{rule.severity}**: {_prose(rule.title.rstrip('.'))}."
    yield f"{_prose(rule.why)} *What to do:* {_prose(rule.remedy)}"
    if rule.references:
        yield f"See {', '.join(rule.references)}."
    yield from _example(rule)


def _prose(text: str) -> str:
    """Words of a rule, of which nothing is read as a link, markup or a table."""
    return text.replace("<", "&lt;").replace("](", "]\\(").replace("*", "\\*").replace("|", "\\|")


# examples


class Change(NamedTuple):
    """What is different about one file: lines only in the bad package, lines only in its twin."""

    path: str
    bad: list[str]
    good: list[str]


@lru_cache(maxsize=1)
def _pairs() -> dict[str, Mapping[str, Any]]:
    """For each rule the first pair that is about it; the pairs that were made for a rule come before the others."""
    first: dict[str, Mapping[str, Any]] = {}
    for path in sorted(CORPUS.glob("*.yaml"), key=lambda path: (path.stem.startswith("blind"), path.stem)):
        for pair in yaml.load(path.read_text("utf-8"), Loader=_LOADER):  # noqa: S506  both loaders are safe ones
            for name in pair.get("rules", ()):
                first.setdefault(name, pair)
    return first


def _example(rule: Rule) -> Iterator[str]:
    if rule.id not in _pairs():
        yield "There is no example of it."
        return
    pair = _pairs()[rule.id]
    changes = [change for path in _paths(pair) if any((change := _change(pair, path))[1:])]
    if changes:
        yield "\n".join((f"{FENCE}diff", *_shown(changes), FENCE))
    else:
        paths = [f"`{path}`" for path in _paths(pair)]
        yield f"The example is not text, or is too long to show: {', '.join(paths)}."


def _paths(pair: Mapping[str, Any]) -> list[str]:
    """The files that are not the same on both sides."""
    bad, good = pair["bad"], pair["good"]
    return [path for path in dict.fromkeys((*bad, *good)) if bad.get(path) != good.get(path)]


def _change(pair: Mapping[str, Any], path: str) -> Change:
    bad, good = (_lines(pair[side].get(path)) for side in ("bad", "good"))
    matcher = difflib.SequenceMatcher(None, bad, good, autojunk=False)
    blocks = [block for block in matcher.get_opcodes() if block[0] != "equal"]
    removed = [line for _, start, end, _, _ in blocks for line in bad[start:end] if line.strip()]
    added = [line for _, _, _, start, end in blocks for line in good[start:end] if line.strip()]
    return Change(path, removed, added)


def _lines(value: Any) -> list[str]:
    """A file of the corpus as lines; none for what is not text."""
    match value:
        case str():
            return value.splitlines()
        case {"text": text, "encoding": encoding}:
            return [f"(in {encoding}) {line}" for line in str(text).splitlines()]
        case {"executable": inner}:
            return _lines(inner)
        case {"link": target}:
            return [f"(a link to {target})"]
        case {"zip": files} | {"tar": files}:
            return [f"(in it, {name}) {line}" for name, inner in files.items() for line in _lines(inner)]
        case {"gzip": inner}:
            return [f"(compressed) {line}" for line in _lines(inner)]
        case _:
            return []


def _shown(changes: list[Change]) -> Iterator[str]:
    for mark, sign, sides in (
        ("---", "-", [(change.path, change.bad) for change in changes]),
        ("+++", "+", [(change.path, change.good) for change in changes]),
    ):
        left = LINES
        for path, lines in sides:
            if not lines or left <= 0:
                continue
            yield f"{mark} {_harmless(path)}"
            yield from (f"{sign} {_harmless(hide_secrets(line)[0])}" for line in lines[:left])
            if len(lines) > left:
                yield f"{sign} ..."
            left -= len(lines)


def _harmless(line: str) -> str:
    """A line of printable ASCII, whatever was in it."""
    text = "".join(
        char if " " <= char <= "~" else " " if char == "\t" else ascii(char)[1:-1] for char in line.expandtabs(4)
    )
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."

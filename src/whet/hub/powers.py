"""The abilities of a skill, in terms that can be compared between two versions.

Derived from the bytes: the tools that it asks for, the hosts that it names, its executable files, and what the guard
sees its texts and programs do, whether or not that is a finding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.guard.finding import Fact
    from whet.skill.tree import Tree
    from whet.values import Json

_URL = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(?::\d{1,5})?")
_MOST = 100
_KINDS = {"source": "reads", "sink": "sends", "fetch": "fetches", "execute": "runs", "write": "writes"}


class Powers(NamedTuple):
    """The abilities of a skill; each list is sorted and has at most 100 entries."""

    tools: list[str]
    """Tools that it asks for, as written."""
    hosts: list[str]
    """Hosts of the addresses in its files."""
    executables: list[str]
    """Executable files."""
    reads: list[str]
    """Sensitive data that it reads, such as keys."""
    sends: list[str]
    fetches: list[str]
    runs: list[str]
    writes: list[str]


def powers_of(tree: Tree, tools: Iterable[object], facts: Mapping[str, Sequence[Fact]]) -> Powers:
    """Return the abilities of a skill with these files, as the guard saw them."""
    found: dict[str, set[str]] = {name: set() for name in Powers._fields}
    found["tools"].update(map(str, tools))
    for path, item in tree.items():
        if item.executable:
            found["executables"].add(path)
        found["hosts"].update(host_of(url).name for url in _URL.findall(item.data.decode("utf-8", "replace")))
    for fact in (fact for seen in facts.values() for fact in seen):
        if kind := _KINDS.get(fact.kind):
            found[kind].add(f"{fact.what}: {fact.subject}"[:200] if fact.subject else fact.what[:200])
    return Powers(**{name: sorted(values)[:_MOST] for name, values in found.items()})


def compare_powers(old: Json, new: Json) -> tuple[Json, Json]:
    """Return the abilities that a new version gains, and those it loses."""
    added = {name: [value for value in new[name] if value not in old[name]] for name in Powers._fields}
    removed = {name: [value for value in old[name] if value not in new[name]] for name in Powers._fields}
    return {name: found for name, found in added.items() if found}, {
        name: found for name, found in removed.items() if found
    }

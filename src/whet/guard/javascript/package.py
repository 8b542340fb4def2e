"""Read the scripts of a package together, if they load each other or start each other as threads or processes.

This finds a flow that crosses a file border. Only critical hits that no script shows alone are reported.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.javascript.checker import check, read
from whet.guard.javascript.values import find_module
from whet.guard.rules import severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Hit
    from whet.guard.taint.shipped import Budget

_LOADED = expression(
    r"\b(?:(?:require|import)\s{0,4}\(|from|import)\s{0,4}[\"'`](\.{1,2}/[^\"'`\n]{1,200})[\"'`]"
    r"|\b(?:Worker|fork)\s{0,4}\([^;\n]{0,200}?[\"'`/]([\w.-]{1,80}\.[cm]?[jt]s)[\"'`]"
)
"""A script that is loaded, or started as a thread or process."""


def hits(documents: Sequence[Document], budget: Budget) -> Iterator[tuple[str, Hit]]:
    """Yield the hits that are critical only when the scripts are read together, each with its path."""
    scripts = {
        document.path: document.text for document in documents if document.kind == "javascript" and not document.via
    }
    if len(scripts) < 2:
        return
    needs = {
        path: [
            inner
            for found in _LOADED.finditer(text)
            if (inner := find_module(path, found[1] or found[2], scripts)) not in (None, path)
        ]
        for path, text in scripts.items()
    }
    needed = {inner for inners in needs.values() for inner in inners}
    done: set[str] = set()
    told: set[tuple[str, str, int]] = set()
    for path in sorted(scripts, key=lambda path: (path in needed, path)):
        modules = _modules(path, needs) if needs[path] and path not in done else ()
        if not modules:
            continue
        done.update(modules)
        if not budget.take(path, sum(len(scripts[one]) for one in modules)):
            return
        files = {one: scripts[one] for one in modules}
        starts = list(accumulate((text.count("\n") + 1 for text in files.values()), initial=1))
        for hit in read(files)[0].hits:
            if severity_of(hit) != "critical":
                continue
            at = bisect_right(starts, hit.line) - 1
            where, line = modules[at], hit.line - starts[at] + 1
            alone = {(one.rule, one.line) for one in check(scripts[where]).hits if severity_of(one) == "critical"}
            if (hit.rule, line) not in alone and (where, hit.rule, line) not in told:
                told.add((where, hit.rule, line))
                yield where, hit._replace(line=line)


def _modules(path: str, needs: dict[str, list[str]]) -> list[str]:
    """Return the scripts that `path` loads, dependencies first and `path` last."""
    found: list[str] = []
    seen = {path}
    above = [(path, iter(needs[path]))]
    while above:
        inner = next((one for one in above[-1][1] if one not in seen), None)
        if inner is None:
            found.append(above.pop()[0])
        else:
            seen.add(inner)
            above.append((inner, iter(needs[inner])))
    return found

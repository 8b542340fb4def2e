"""Read the scripts of a package together: a required module becomes a function that returns its exports.
A script that another one starts as a thread or process is included.

This finds a flow that crosses a file border. Only critical hits that no script shows alone are reported.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.javascript.checker import check
from whet.guard.rules import severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Hit
    from whet.guard.taint.shipped import Budget

_REQUIRED = expression(r"(?:\brequire|\bimport)\s{0,4}\(\s{0,4}[\"'`](\.{1,2}/[^\"'`\n]{1,200})[\"'`]\s{0,4}\)")
_STARTED = expression(r"\b(?:Worker|fork)\s{0,4}\([^;\n]{0,200}?[\"'`/]([\w.-]{1,80}\.[cm]?[jt]s)[\"'`]")
"""A script that is started as a thread or process."""
_FROM = expression(r"^[ \t]*import\s{1,4}([^\"'`;]{1,400}?)\s{1,4}from\s{1,4}([\"'])([^\"'\n]{1,200})\2", re.MULTILINE)
_EXPORTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (expression(r"^([ \t]*)export\s+default\s+", re.MULTILINE), r"\1module.exports.default = "),
    (
        expression(r"^([ \t]*)export\s+((?:async\s+)?function\s{0,4}\*?\s{0,4})([\w$]{1,80})", re.MULTILINE),
        r"\1exports.\3 = \3; \2\3",
    ),
    (expression(r"^([ \t]*)export\s+(const|let|var)\s+([\w$]{1,80})\s{0,4}=", re.MULTILINE), r"\1\2 \3 = exports.\3 ="),
    (expression(r"^([ \t]*)export\s+class\s+([\w$]{1,80})", re.MULTILINE), r"\1exports.\2 = class \2"),
)
_EXPORTED = expression(r"^[ \t]*export\s{0,4}\{([^}]{1,400})\}", re.MULTILINE)
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", "/index.js", "/index.mjs", "/index.ts")


def hits(documents: Sequence[Document], budget: Budget) -> Iterator[tuple[str, Hit]]:
    """Yield the hits that are critical only when the scripts are read together, each with its path."""
    scripts = {
        document.path: document.text for document in documents if document.kind == "javascript" and not document.via
    }
    if len(scripts) < 2:
        return
    needs = {
        path: [inner for name in _names(text) if (inner := _wanted(path, name, scripts)) not in (None, path)]
        for path, text in scripts.items()
    }
    needed = {inner for inners in needs.values() for inner in inners}
    read: set[str] = set()
    told: set[tuple[str, str, int]] = set()
    for path in sorted(scripts, key=lambda path: (path in needed, path)):
        modules = _modules(path, needs) if needs[path] and path not in read else ()
        if not modules:
            continue
        read.update(modules)
        if not budget.take(path, sum(len(scripts[one]) for one in modules)):
            return
        text, starts = _bundle(modules, scripts)
        grave = [hit for hit in check(text).hits if severity_of(hit) == "critical"]
        for hit in grave:
            at = bisect_right(starts, hit.line) - 1
            where, line = modules[at], hit.line - starts[at] + 1
            alone = {(one.rule, one.line) for one in check(scripts[where]).hits if severity_of(one) == "critical"}
            if (hit.rule, line) not in alone and (where, hit.rule, line) not in told:
                told.add((where, hit.rule, line))
                yield where, hit._replace(line=line)


def _wanted(path: str, name: str, scripts: dict[str, str]) -> str | None:
    base = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    found = next((base + ending for ending in _ENDINGS if base + ending in scripts), None)
    return found or next((one for one in scripts if "/" not in name and one.endswith(f"/{name}")), None)


def _modules(path: str, needs: dict[str, list[str]]) -> list[str]:
    """Return the scripts that `path` requires, dependencies first and `path` last."""
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


def _names(text: str) -> list[str]:
    wanted = [found[1] for shape in (_REQUIRED, _STARTED) for found in shape.finditer(text)]
    return wanted + [found[3] for found in _FROM.finditer(text)]


def _bundle(modules: list[str], scripts: dict[str, str]) -> tuple[str, list[int]]:
    """Return the modules as one script, and the line where each begins; line breaks stay."""
    parts: list[str] = []
    starts: list[int] = []
    line = 1
    for number, path in enumerate(modules):
        text = _required(path, _imported(scripts[path]), modules, scripts)
        if number < len(modules) - 1:
            for pattern, new in _EXPORTS:
                text = pattern.sub(new, text)
            text = _EXPORTED.sub(lambda found: _export(found[1]), text)
            begins = f"function __module{number}() {{ var module = {{ exports: {{}} }}, exports = module.exports; "
            text = f"{begins}{text}\nreturn module.exports; }}"
        starts.append(line)
        parts.append(text)
        line += text.count("\n") + 1
    return "\n".join(parts), starts


def _export(names: str) -> str:
    pairs = [part.split(" as ") for part in names.split(",") if part.strip()]
    return " ".join(f"exports.{pair[-1].strip()} = {pair[0].strip()};" for pair in pairs)


def _imported(text: str) -> str:
    """Replace imports of scripts of the package by calls of `require`."""

    def one(found: re.Match[str]) -> str:
        wanted = found[1].strip()
        if not found[3].startswith("."):
            return found[0]
        if wanted.startswith("* as "):
            wanted = wanted[5:]
        elif "{" in wanted and not wanted.startswith("{"):
            wanted = wanted[wanted.index("{") :]
        return f"const {wanted.replace(' as ', ': ')} = require('{found[3]}')"

    return _FROM.sub(one, text)


def _required(path: str, text: str, modules: list[str], scripts: dict[str, str]) -> str:
    """Replace calls of `require` for scripts of the package by calls of their module functions."""

    def one(found: re.Match[str]) -> str:
        inner = _wanted(path, found[1], scripts)
        return f"__module{modules.index(inner)}()" if inner in modules else found[0]

    return _REQUIRED.sub(one, text)

"""Shell and JavaScript with what other files of the package hold put in its place, checked once more.

A variable that one script sets and another uses, or a table that is loaded from a data file, is written where it
is used; then the checker of the language sees the command that would run. Only what is critical and was not there
before is told.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whet.guard.finding import Hit
from whet.guard.patterns import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.guard.documents import Document
    from whet.guard.finding import Rule, Seen

_LARGEST = 128 * 1024
_MOST = 30
_SET = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w{0,60})=([^\n]{0,400})$", re.MULTILINE)
_USED = re.compile(r"\$\{?([A-Za-z_]\w{0,60})")
_REQUIRED = re.compile(r"\brequire\(\s{0,4}[\"'`]([^\"'`\n]{1,200}\.json)[\"'`]\s{0,4}\)")
_IMPORTED = re.compile(
    r"^import\s{1,4}(?:\*\s{1,4}as\s{1,4})?(\w{1,60})\s{1,4}from\s{1,4}[\"']([^\"'\n]{1,200}\.json)[\"'][^\n]{0,60}$",
    re.MULTILINE,
)
_READ = re.compile(r"\b(?:await\s{1,4})?(?:\w{1,40}\.){0,3}readFile(?:Sync)?\(")
_PARSE = re.compile(r"\bJSON\.parse\(\s{0,8}$")
_READS = re.compile(
    r"\b(?:File\.read|IO\.read|file_get_contents|readlines|io\.open|slurp)\b|\bopen\s{0,2}\(", re.IGNORECASE
)
_RUNS = re.compile(
    r"(?:\b(?:system|exec|eval|popen|passthru|shell_exec|os\.execute|loadstring|instance_eval|class_eval)\b|%x)[^\n]{0,200}"
    r"(?:\.zip\b|\bchars\b|\breverse\b|\bunpack\w{0,3}\b|\bpack\b|\.tr\(|\bstr_rot13\b|\bstrrev\b|\bchr\b|each_slice|each_char)",
    re.IGNORECASE,
)
_DATA = ("text", "json", "yaml", "toml", "markdown")
_WORD = re.compile(r"[\"'`]([^\"'`\n]{1,200})[\"'`]")


def hits(documents: Sequence[Document], table: Mapping[str, Rule]) -> Iterator[tuple[str, Hit]]:
    """What is critical only with the other files, each with its path."""
    open_ones = [document for document in documents if not document.via and len(document.text) <= _LARGEST]
    scripts = [document for document in open_ones if document.kind == "shell"][:_MOST]
    if scripts:
        from whet.guard.shell.checker import check

        for document in scripts:
            settings = _settings(document, open_ones)
            if settings:
                yield from _new(document, settings + document.text, settings.count("\n"), check, table)
    yield from _assembled(open_ones)
    programs = [document for document in open_ones if document.kind == "javascript"][:_MOST]
    data = {document.path: document.text for document in open_ones if document.kind in ("json", "text", "yaml")}
    if programs and data:
        from whet.guard.javascript.checker import check as check_javascript

        for document in programs:
            text = _filled(document.text, data)
            if text != document.text:
                yield from _new(document, text, 0, check_javascript, table)


def _assembled(documents: Sequence[Document]) -> Iterator[tuple[str, Hit]]:
    """Programs of other languages that run what they make of the characters of a data file."""
    names = {document.path.rpartition("/")[2].partition(".")[0] for document in documents if document.kind in _DATA}
    for document in documents:
        if document.kind != "code" or not _READS.search(document.text):
            continue
        found = _RUNS.search(document.text)
        if found and any(len(name) > 2 and name in document.text for name in names):
            line = document.text.count("\n", 0, found.start()) + 1
            message = "It runs what it makes of the characters of its data files"
            yield document.path, Hit("split-payload", line, shorten(found[0]), message=message)


def _new(
    document: Document, text: str, before: int, check: Callable[[str], Seen], table: Mapping[str, Rule]
) -> Iterator[tuple[str, Hit]]:
    grave = [
        hit for hit in check(text).hits if (hit.severity or table[hit.rule].severity) == "critical" and not hit.steps
    ]
    grave = [hit._replace(line=hit.line - before) for hit in grave if hit.line > before]
    if grave:
        alone = {(hit.rule, hit.line) for hit in check(document.text).hits}
        for hit in grave:
            if (hit.rule, hit.line) not in alone:
                yield document.path, hit


def _settings(script: Document, documents: Sequence[Document]) -> str:
    """Lines that set what a script uses and another file gives it."""
    wanted = set(_USED.findall(script.text)) - {name for name, _ in _SET.findall(script.text)}
    if not wanted:
        return ""
    lines: dict[str, str] = {}
    pages = [document.text for document in documents if document.kind == "markdown"]
    for document in documents:
        if document is script or document.kind not in ("shell", "text"):
            continue
        given = [(name, value) for name, value in _SET.findall(document.text) if name in wanted]
        if given and _belongs(script, document, pages):
            for name, value in given:
                if len(lines) < 200:
                    lines[name] = f"{name}={value}\n"
    return "".join(lines.values())


def _belongs(script: Document, other: Document, pages: Sequence[str]) -> bool:
    """Is a file read before a script runs: by the script itself, or as something that a text tells to do?"""
    name = other.path.rpartition("/")[2]
    return name in script.text or any(name in page and script.path.rpartition("/")[2] in page for page in pages)


def _filled(text: str, data: Mapping[str, str]) -> str:
    """A program with the data that it loads written where it loads it; lines keep their numbers."""

    def required(found: re.Match[str]) -> str:
        return _literal(_file(found[1], data), as_json=True) or found[0]

    def imported(found: re.Match[str]) -> str:
        literal = _literal(_file(found[2], data), as_json=True)
        return f"const {found[1]} = {literal};" if literal else found[0]

    text = _IMPORTED.sub(imported, _REQUIRED.sub(required, text))
    position = 0
    parts: list[str] = []
    for found in _READ.finditer(text):
        if found.start() < position or len(parts) > 40:
            continue
        end = _closing(text, found.end())
        content = _file("/".join(_WORD.findall(text[found.end() : end])), data)
        parse = _PARSE.search(text, position, found.start())
        literal = _literal(content, as_json=True) if parse else ""
        if parse and literal:
            parts.append(text[position : parse.start()] + literal)
            position = _closing(text, end)
        elif literal := _literal(content, as_json=False):
            parts.append(text[position : found.start()] + literal)
            position = end
    return "".join(parts) + text[position:]


def _closing(text: str, start: int) -> int:
    """Where a parenthesis that was opened before `start` is closed."""
    depth = 1
    for index in range(start, min(len(text), start + 400)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return start


def _file(path: str, data: Mapping[str, str]) -> str | None:
    """The one file of the package that a path in a program leads to; what is put in at run time may be anything."""
    words = [word for word in path.split("/") if word not in (".", "..", "", "utf8", "utf-8")]
    for length in range(min(len(words), 4), 0, -1):
        for start in range(len(words) - length + 1):
            tail = "/".join(words[start : start + length])
            pattern = re.compile("(?:.*/)?" + re.sub(r"\\\$\\\{[^/]{0,80}?\\\}", "[^/]{1,80}", re.escape(tail)) + "$")
            found = [name for name in sorted(data) if "." in tail and pattern.match(name)]
            if found and (len(found) == 1 or "${" in tail):
                return data[found[0]]
    return None


def _literal(text: str | None, as_json: bool) -> str:
    """Text as a literal of the language, on one line."""
    if text is None or len(text) > 20_000:
        return ""
    if not as_json:
        return json.dumps(text)
    try:
        return f"({json.dumps(json.loads(text))})"
    except (ValueError, RecursionError):
        return ""

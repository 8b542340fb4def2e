"""The PowerShell and cmd checker: patterns for clear attacks, and the shell checker for what is fetched, sent and run.

Carets, backticks, joined string pieces and constant variables are undone first; encoded commands are decoded and judged
like scripts. Lines that fetch or send something are rewritten as shell commands (`data/powershell.toml`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.hosts import URL, host_of
from whet.guard.literals import vocabulary
from whet.guard.patterns import load_patterns, search, shorten
from whet.guard.shell.checker import check as check_shell
from whet.guard.tables import load_toml, shape
from whet.guard.taint.fold import from_base64

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.finding import Severity

_DEPTH = 3
_LONGEST = 4_000
"""Longest part of a statement, in characters, that is rewritten as a shell command."""
_JOINED = "\v"
"""Stands for a line end that a backtick removes, so that lines keep their numbers."""
_ACTS = shape("shell_signs", "windows_acts", re.IGNORECASE)
_QUOTED = expression(r"(?<=[\"'`])[^\"'`\n]{12,2000}(?=[\"'`])")

PATTERNS = load_patterns("windows")


def check(text: str) -> Seen:
    """Return the hits and facts of a PowerShell or cmd script."""
    hits, facts = _judged(text, 1, _DEPTH)
    unique = {(hit.rule, hit.line): hit for hit in reversed(hits)}
    return Seen(tuple(sorted(unique.values(), key=lambda hit: hit.line)), tuple(dict.fromkeys(facts)))


def _judged(text: str, line: int, depth: int) -> tuple[list[Hit], list[Fact]]:
    clean = plain(text)
    words = vocabulary(clean)
    hits: list[Hit] = []
    facts: list[Fact] = []
    for pattern, match in search(PATTERNS, clean):
        severity = pattern.severity
        if pattern.rule == "windows-autostart" and _FROM_ELSEWHERE.search(match[0]):
            severity = "critical"
        if pattern.rule == "system-tool-download":
            severity = _tool_severity(clean, match)
        hits.append(Hit(pattern.rule, line + _line(clean, match.start()), shorten(match[0]), severity))
    if not words.isdisjoint(load_toml("powershell")["programs"]):
        script, statements = _as_shell(clean)
        seen = check_shell(script)
        for hit in seen.hits:
            at, shown = statements[hit.line - 1]
            hits.append(hit._replace(line=line + at - 1, evidence=shown))
        for fact in seen.facts:
            at, shown = statements[fact.line - 1]
            facts.append(fact._replace(line=line + at - 1, evidence=shown))
    if words & _ENCODED_WORDS:
        hits += _encoded(clean, line, depth)
    if "hidden" in words and words & {"bypass", "unrestricted"}:
        hits += _hidden(clean, line)
    return hits, facts


@cache
def _rewrites() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(row["from"], re.IGNORECASE | re.MULTILINE), row["to"]) for row in load_toml("powershell")["rewrite"]
    ]


def _as_shell(text: str) -> tuple[str, list[tuple[int, str]]]:
    """Rewrite a script as shell commands, one per line; return them, and for each the original line number and text.

    Statements that the shell checker could not judge are left out. Commands in the strings of a line follow that line.
    """
    found: list[str] = []
    statements: list[tuple[int, str]] = []
    at = 0
    for row in text.split("\n"):
        at += 1
        for piece in [row] if len(row) <= _LONGEST else map(_from_start, row.split(";")):
            if _acts(piece):
                quoted = [text for text in _QUOTED.findall(piece) if " " in text and _ACTS.search(text)]
                found.append(" ; ".join((piece.replace(_JOINED, " "), *quoted)))
                statements.append((at, shorten(piece)))
        at += row.count(_JOINED)
    script = "\n".join(found)
    for old, new in _rewrites():
        script = old.sub(new, script)
    return script, statements


def _acts(text: str) -> bool:
    return _ACTS.search(text) is not None or not vocabulary(text).isdisjoint(load_toml("powershell")["programs"])


def _from_start(statement: str) -> str:
    """Return a part of a long statement, from shortly before the program that it runs."""
    programs = "|".join(load_toml("powershell")["programs"])
    found = re.search(rf"\b(?:{programs}|iex)\b", statement, re.IGNORECASE)
    start = max(0, found.start() - 200) if found is not None else 0
    return statement[start : start + _LONGEST]


_ENCODED_WORDS = frozenset({"enc", "e", "ec", "encodedcommand", "en", "enco", "encod", "encode", "encoded"})
_FROM_ELSEWHERE = shape("shell_signs", "from_elsewhere")
_BAKED = expression(
    r"(?<![\w-])-(?:e|ec|enc\w{0,4}|encodedcommand)\s{1,4}[\"']?([A-Za-z0-9+/=]{16,20000})", re.IGNORECASE
)
_CONSTANT = expression(r"\$(\w{1,40})\s{0,3}=\s{0,3}(?:'([^'\n]{1,400})'|\"([^\"\n$]{1,400})\")")
_HIDDEN = shape("shell_signs", "hidden")


def plain(text: str) -> str:
    """Return the text without carets, backticks and string pieces, with variables replaced by their constant values."""
    clean = text.replace("\r\n", "\n").replace("`\n", _JOINED).replace("^\n", _JOINED)
    if "^" in clean:
        clean = re.sub(r"\^(?=[\w\"&|<>%$ /-])", "", clean)
    if "`" in clean:
        clean = re.sub(r"`(?=[A-Za-z])", "", clean)
    if "+" in clean:
        clean = re.sub(r"(['\"])[ \t]{0,4}\+[ \t]{0,4}\1", "", clean)
    clean = re.sub(r"[&.][ \t]{0,3}\(?[ \t]{0,3}['\"]([\w-]{2,30})['\"][ \t]{0,3}\)?", r" \1 ", clean)
    clean = _spread(clean)
    constants = {found[1].lower(): found[2] or found[3] for found in list(_CONSTANT.finditer(clean))[:60]}
    if constants:
        clean = re.sub(
            r"\$\{?(\w{1,40})\}?(?![\w:]|\s{0,3}=)",
            lambda found: constants.get(found[1].lower(), found[0]),
            clean,
        )
    return clean


def _spread(text: str) -> str:
    """Return the text with splatted arguments (`@name`) written out as options."""
    tables = {found[1].lower(): _ENTRY.findall(found[2]) for found in list(_ARGUMENTS.finditer(text))[:20]}

    def options(found: re.Match[str]) -> str:
        return " ".join(f"-{name} {value}" for name, value in tables.get(found[1].lower(), ())) or found[0]

    return _SPLAT.sub(options, text) if tables else text


_ARGUMENTS = expression(r"\$(\w{1,40})\s{0,3}=\s{0,3}@\{([^{}]{1,2000})\}")
_ENTRY = expression(
    r"^[ \t]{0,20}[\"']?(\w{1,40})[\"']?[ \t]{0,20}=[ \t]{0,4}([^\n;]{1,400}?)[ \t]{0,4};?$", re.MULTILINE
)
_SPLAT = expression(r"(?<=[ \t])@(\w{1,40})\b")


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + text.count(_JOINED, 0, offset)


def _tool_severity(text: str, match: re.Match[str]) -> Severity:
    end = text.find("\n", match.end())
    statement = text[match.start() : end if end >= 0 else len(text)]
    source = URL.search(statement)
    runs = re.search(r"&&?\s{0,3}(?:start\b|[\w.%\\/-]{1,80}\.(?:exe|bat|cmd|vbs|ps1|dll))", statement) is not None
    return "critical" if runs or (source is not None and host_of(source[0]).shady) else "warn"


def _encoded(text: str, line: int, depth: int) -> Iterator[Hit]:
    for found in list(_BAKED.finditer(text))[:10]:
        before = text[max(0, found.start() - 300) : found.start()].rpartition("\n")[2]
        if not re.search(r"powershell|pwsh", before, re.IGNORECASE):
            continue
        at = line + _line(text, found.start())
        try:
            inner = from_base64(found[1]).decode("utf-16-le", "replace")
        except ValueError:
            inner = ""
        hits = _judged(inner, at, depth - 1)[0] if inner and depth > 0 else []
        grave = re.search(r"-w\w{0,12}\s{1,3}h|hidden", before, re.IGNORECASE) is not None or bool(hits)
        yield Hit("encoded-command", at, shorten(before + found[0]), "critical" if grave else None)
        yield from hits


def _hidden(text: str, line: int) -> Iterator[Hit]:
    for found in list(_HIDDEN.finditer(text))[:20]:
        lowered = found[0].lower()
        if "hidden" in lowered and ("bypass" in lowered or "unrestricted" in lowered):
            remote = (
                re.search(r"\b(?:iwr|irm|invoke-(?:webrequest|restmethod)|download\w{4,6})\b|https?:|-enc", lowered)
                is not None
            )
            severity: Severity | None = "critical" if remote else None
            yield Hit("hidden-window", line + _line(text, found.start()), shorten(found[0]), severity)

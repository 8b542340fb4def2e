"""The PowerShell and cmd checker: patterns for clear attacks, and the calls of PowerShell and the commands of cmd with their values.

Carets, backticks, joined string pieces and constant variables are undone for the patterns; encoded commands are decoded and judged
like scripts. Scripts of cmd are read as shell scripts (`batch`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from whet.guard.code.batch import as_shell, expanded
from whet.guard.expression import expression
from whet.guard.finding import SEVERITIES, Hit, Seen
from whet.guard.hosts import URL, host_of
from whet.guard.literals import vocabulary
from whet.guard.patterns import load_patterns, search, shorten
from whet.guard.rules import severity_of
from whet.guard.shell.checker import check as check_shell
from whet.guard.tables import load_toml, shape
from whet.guard.taint.findings import DEEPEST
from whet.guard.taint.fold import from_base64

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.finding import Severity

LARGEST = 100_000
"""Maximum number of characters of a program that are read."""
_JOINED = "\v"
"""Stands for a line end that a backtick removes, so that lines keep their numbers."""
_SCRIPT = expression(r"\$\w|\$\{|\[[\w.]{2,80}\]|\|\s{0,9}[%?]\s{0,3}\{|\b[a-z]{2,12}-[a-z]{3,40}\b", re.IGNORECASE)
"""What only PowerShell has."""
_BATCH = expression(
    r"%%?\w{1,60}%?|^[ \t]{0,20}(?:@echo|setlocal|set[ \t]|rem[ \t]|goto[ \t]|call[ \t]|if[ \t]{1,4}(?:not[ \t]|exist|defined|/i|errorlevel|\"))",
    re.IGNORECASE | re.MULTILINE,
)
"""What only cmd has."""

PATTERNS = load_patterns("windows")


def check(text: str, level: int = 0) -> Seen:
    """Return the hits and facts of a PowerShell or cmd script."""
    from whet.guard.code.powershell import PowerShell
    from whet.guard.code.powershell_tree import parse

    text = text.replace("\r\n", "\n").replace(_JOINED, " ")
    found = [Seen(tuple(judge_text(text, level)))]
    begin = text[:LARGEST]
    if (names := vocabulary(text) | vocabulary(plain(text))) & _acts() or "&" in text:
        if _SCRIPT.search(begin) or names & load_toml("powershell")["aliases"].keys():
            reader = PowerShell(begin, parse(begin), check, level)
            reader.run()
            found.append(Seen(tuple(reader.hits.values()), tuple(reader.facts.values())))
        if _BATCH.search(begin):
            for known in {expanded(begin): None, expanded(begin, sure=True): None}:  # a script may jump
                found.append(check_shell(as_shell(known)))
                found += _commands(known, level)
    if len(text) > LARGEST:
        found.append(Seen((Hit("code-partly-analysed", 1, f"{len(text)} characters"),)))
    hits = [hit for seen in reversed(found) for hit in reversed(seen.hits)]
    hits.sort(key=lambda hit: SEVERITIES.index(severity_of(hit)))
    unique = {(hit.rule, hit.line): hit for hit in hits}  # the gravest of a line, and the first of these
    facts = dict.fromkeys(fact for seen in found for fact in seen.facts)
    return Seen(tuple(sorted(unique.values(), key=lambda hit: hit.line)), tuple(facts))


def _commands(text: str, level: int) -> Iterator[Seen]:
    """Yield what the commands do that a script of cmd gives to PowerShell, with its variables as those of the environment."""
    for found in list(_COMMAND.finditer(text))[:20] if level < DEEPEST else ():
        said = _SINGLE.sub(lambda one: f'"{one[1]}"', found[1] or found[2])
        seen = check(re.sub(r"[%!](\w{1,60})[%!]", r"${env:\1}", said), level + 1)
        at = 1 + text.count("\n", 0, found.start())
        yield Seen(tuple(hit._replace(line=at) for hit in seen.hits), seen.facts)


_COMMAND = expression(
    r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n\"]{0,200}?\s-c(?:ommand)?\s{1,4}(?:\"([^\"\n]{1,4000})\"?|([^\"\n&|]{1,4000}))",
    re.IGNORECASE,
)
"""A command that is given to PowerShell."""
_SINGLE = expression(r"'([^'\n]{0,400}[%!]\w{1,60}[%!][^'\n]{0,400})'")
"""A text in which cmd puts values before PowerShell reads it."""


def judge_text(text: str, level: int = 0) -> Iterator[Hit]:
    """Yield the hits of the patterns, and of what is encoded."""
    clean = plain(text)
    words = vocabulary(clean)
    for pattern, match in search(PATTERNS, clean):
        severity = pattern.severity
        if pattern.rule == "windows-autostart" and _FROM_ELSEWHERE.search(match[0]):
            severity = "critical"
        if pattern.rule == "system-tool-download":
            severity = _tool_severity(clean, match)
        yield Hit(pattern.rule, 1 + _line(clean, match.start()), shorten(match[0]), severity)
    if words & _ENCODED_WORDS:
        yield from _encoded(clean, level)
    if "hidden" in words and words & {"bypass", "unrestricted"}:
        yield from _hidden(clean)


@cache
def _acts() -> frozenset[str]:
    """Return the words of commands and functions that do something."""
    from whet.guard.code.checker import acts

    table = load_toml("powershell")
    return acts().union(table["aliases"], table["programs"])


_ENCODED_WORDS = frozenset({"enc", "e", "ec", "encodedcommand", "en", "enco", "encod", "encode", "encoded"})
_FROM_ELSEWHERE = shape("shell_signs", "from_elsewhere")
_BAKED = expression(
    r"(?<![\w-])-(?:e|ec|enc\w{0,4}|encodedcommand)\s{1,4}[\"']?([A-Za-z0-9+/=]{16,20000})", re.IGNORECASE
)
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
    return expanded(clean) if "%" in clean or "!" in clean else clean


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + text.count(_JOINED, 0, offset)


def _tool_severity(text: str, match: re.Match[str]) -> Severity:
    end = text.find("\n", match.end())
    statement = text[match.start() : end if end >= 0 else len(text)]
    source = URL.search(statement)
    runs = re.search(r"&&?\s{0,3}(?:start\b|[\w.%\\/-]{1,80}\.(?:exe|bat|cmd|vbs|ps1|dll))", statement) is not None
    return "critical" if runs or (source is not None and host_of(source[0]).shady) else "warn"


def _encoded(text: str, level: int) -> Iterator[Hit]:
    for found in list(_BAKED.finditer(text))[:10]:
        before = text[max(0, found.start() - 300) : found.start()].rpartition("\n")[2]
        if not re.search(r"powershell|pwsh", before, re.IGNORECASE):
            continue
        at = 1 + _line(text, found.start())
        try:
            inner = from_base64(found[1]).decode("utf-16-le", "replace")
        except ValueError:
            inner = ""
        hits = check(inner, level + 1).hits if inner and level < DEEPEST else ()
        grave = re.search(r"-w\w{0,12}\s{1,3}h|hidden", before, re.IGNORECASE) is not None or bool(hits)
        yield Hit("encoded-command", at, shorten(before + found[0]), "critical" if grave else None)
        yield from (hit._replace(line=at) for hit in hits)


def _hidden(text: str) -> Iterator[Hit]:
    for found in list(_HIDDEN.finditer(text))[:20]:
        lowered = found[0].lower()
        if "hidden" in lowered and ("bypass" in lowered or "unrestricted" in lowered):
            remote = (
                re.search(r"\b(?:iwr|irm|invoke-(?:webrequest|restmethod)|download\w{4,6})\b|https?:|-enc", lowered)
                is not None
            )
            severity: Severity | None = "critical" if remote else None
            yield Hit("hidden-window", 1 + _line(text, found.start()), shorten(found[0]), severity)

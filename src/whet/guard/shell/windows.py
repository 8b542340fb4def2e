"""The PowerShell and cmd checker: patterns over text whose disguise has been taken off.

Carets, backticks, joined string pieces and constant variables are undone first, encoded commands are decoded and
judged like scripts. Where code is fetched, the host decides how grave it is, as in the shell checker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.code import flow as code_flow
from whet.guard.expression import expression
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.hosts import URL, host_of
from whet.guard.literals import vocabulary
from whet.guard.patterns import load_patterns, search, shorten
from whet.guard.places import places
from whet.guard.shell.clients import Fetch
from whet.guard.shell.fetch import severity_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.guard.finding import Severity

_DEPTH = 3
_JOINED = "\v"
"""Stands for a line end that a backtick takes away, so that lines keep their numbers."""
_FETCH = r"(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|downloaddata|downloadfile|start-bitstransfer)"
_RUN = r"(?:iex|invoke-expression)"

PATTERNS = load_patterns("windows")


def check(text: str) -> Seen:
    """What a PowerShell or cmd script does that matters."""
    hits, facts = _judged(text, 1, _DEPTH)
    if "env:" in text.lower() and code_flow.worth(text):
        hits += code_flow.follow(text).hits
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
    if words & _FETCHING:
        hits += ((hit._replace(line=hit.line + line - 1)) for hit in _remote(clean))
        facts += _facts(clean, line)
        hits += _sent(facts)
    if words & _CLIENTS and _VARIABLE.search(clean):
        hits += _as_shell(clean, line)
    if words & _ENCODED_WORDS:
        hits += _encoded(clean, line, depth)
    if "frombase64string" in words and words & {"iex", "invoke", "load"}:
        hits += (
            Hit("decode-to-shell", line + _line(clean, found.start()), shorten(found[0]))
            for found in _DECODED.finditer(clean)
        )
    if "hidden" in words and words & {"bypass", "unrestricted"}:
        hits += _hidden(clean, line)
    return hits, facts


_FETCHING = frozenset(
    {
        "iwr",
        "irm",
        "webrequest",
        "restmethod",
        "downloadstring",
        "downloaddata",
        "downloadfile",
        "bitstransfer",
        "curl",
        "wget",
        "post",
        "uploadstring",
        "uploadfile",
        "uploaddata",
    }
)
_CLIENTS = frozenset(("curl", "wget", "nslookup", "scp", "ftp", "nc", "ncat"))
_VARIABLE = expression(r"%(\w{2,60})%|\$\{?env:(\w{2,60})\}?", re.IGNORECASE)
_RUNS_CLIENT = expression(
    r"^[^\n]{0,400}\b(?:curl|wget|nslookup|scp|ftp|nc|ncat)(?:\.exe)?\s[^\n]{0,2000}$", re.IGNORECASE | re.MULTILINE
)


def _as_shell(text: str, line: int) -> Iterator[Hit]:
    """Clients that are the same everywhere, read by the shell reader with variables spelled as it knows them."""
    from whet.guard.shell.checker import check as check_shell

    rows = [""] * (text.count("\n") + text.count(_JOINED) + 1)
    for found in list(_RUNS_CLIENT.finditer(text))[:40]:
        rows[_line(text, found.start())] = _VARIABLE.sub(r"${\1\2}", found[0]).replace("\\", "/").lstrip("@ \t")
    yield from (hit._replace(line=hit.line + line - 1) for hit in check_shell("\n".join(rows)).hits)


_ENCODED_WORDS = frozenset({"enc", "e", "ec", "encodedcommand", "en", "enco", "encod", "encode", "encoded"})
_FROM_ELSEWHERE = expression(
    r"https?:|-e(?:nc|c)?\b|-encodedcommand|\biex\b|downloadstring|\\temp\\|%temp%|\$env:temp|-w(?:indowstyle)?\s{1,3}h|mshta|wscript[^\n]{0,40}\.vbs",
    re.IGNORECASE,
)
_DECODED = expression(
    rf"\b{_RUN}\b[^\n]{{0,300}}frombase64string|frombase64string[^\n]{{0,300}}\|\s{{0,3}}{_RUN}\b"
    r"|frombase64string[\s\S]{0,400}?\bassembly\]::load\b|\bassembly\]::load\b[^\n]{0,100}frombase64string",
    re.IGNORECASE,
)
_BAKED = expression(
    r"(?<![\w-])-(?:e|ec|enc\w{0,4}|encodedcommand)\s{1,4}[\"']?([A-Za-z0-9+/=]{16,20000})", re.IGNORECASE
)
_CONSTANT = expression(r"\$(\w{1,40})\s{0,3}=\s{0,3}(?:'([^'\n]{1,400})'|\"([^\"\n$]{1,400})\")")
_HIDDEN = expression(
    r"powershell(?:\.exe)?\b[^\n]{0,300}|start-process\b[^\n]{0,300}|pwsh\b[^\n]{0,300}", re.IGNORECASE
)


def plain(text: str) -> str:
    """The text without carets, backticks and string pieces, constants put in for their variables."""
    clean = text.replace("\r\n", "\n").replace("`\n", _JOINED).replace("^\n", _JOINED)
    if "^" in clean:
        clean = re.sub(r"\^(?=[\w\"&|<>%$ /-])", "", clean)
    if "`" in clean:
        clean = re.sub(r"`(?=[A-Za-z])", "", clean)
    if "+" in clean:
        clean = re.sub(r"(['\"])[ \t]{0,4}\+[ \t]{0,4}\1", "", clean)
    clean = re.sub(r"[&.][ \t]{0,3}\(?[ \t]{0,3}['\"]([\w-]{2,30})['\"][ \t]{0,3}\)?", r" \1 ", clean)
    constants = {found[1].lower(): found[2] or found[3] for found in list(_CONSTANT.finditer(clean))[:60]}
    if constants:
        clean = re.sub(
            r"\$\{?(\w{1,40})\}?(?![\w:]|\s{0,3}=)",
            lambda found: constants.get(found[1].lower(), found[0]),
            clean,
        )
    return clean


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + text.count(_JOINED, 0, offset)


_EXECUTED = expression(
    rf"\b{_RUN}\b[^\n]{{0,400}}?\b(?:{_FETCH}|curl|wget)\b[^\n]{{0,400}}"
    rf"|\b(?:{_FETCH}|curl|wget)\b[^\n]{{0,400}}?\|\s{{0,3}}{_RUN}\b[^\n]{{0,40}}",
    re.IGNORECASE,
)
_STORED = expression(rf"\$(\w{{1,40}})\s{{0,3}}=\s{{0,3}}([^\n]{{0,200}}\b{_FETCH}\b[^\n]{{0,300}})", re.IGNORECASE)
_SAVED = expression(
    r"\b(?:iwr|invoke-webrequest|invoke-restmethod|irm|curl\.exe)\b[^\n]{0,400}?(?:-outfile|-o)\s{1,3}[\"']?([^\s\"';|]{2,200})"
    r"|\bdownloadfile\s{0,2}\(([^\n]{1,400}?)\)"
    r"|\bstart-bitstransfer\b[^\n]{0,400}?-destination\s{1,3}[\"']?([^\s\"';|]{2,200})",
    re.IGNORECASE,
)


def _remote(text: str) -> Iterator[Hit]:
    """Code that is fetched and run: in one line, over a variable, or over a file."""
    for found in list(_EXECUTED.finditer(text))[:20]:
        yield _fetched(text, found.start(), found[0])
    for found in list(_STORED.finditer(text))[:20]:
        if re.search(rf"\b{_RUN}\b[^\n]{{0,40}}\${re.escape(found[1])}\b", text[found.end() :], re.IGNORECASE):
            yield _fetched(text, found.start(), found[2])
    for found in list(_SAVED.finditer(text))[:20]:
        target = (found[1] or found[3] or found[2].rpartition(",")[2]).strip(" \"'")
        if target and _is_run(text[found.end() :], target):
            hit = _fetched(text, found.start(), found[0])
            yield hit if _source(found[0]).known else hit._replace(severity="info")


def _is_run(rest: str, target: str) -> bool:
    name = re.escape(target.replace("\\", "/").rpartition("/")[2] if "$" not in target else target)
    return (
        re.search(
            rf"(?:start-process|invoke-item|\bii\b|&|\bstart\b|\.\\|msiexec|powershell)[^\n]{{0,120}}{name}|^\s{{0,8}}[\"']?[^\s]{{0,80}}{name}[\"']?\s{{0,3}}(?:/|-|$)",
            rest[:6000],
            re.IGNORECASE | re.MULTILINE,
        )
        is not None
    )


def _fetched(text: str, offset: int, statement: str) -> Hit:
    rule, severity, reason = severity_of(_source(statement))
    message = f"the code is run and {reason}"
    return Hit(rule, _line(text, offset) + 1, shorten(statement), severity, _source(statement).host.name, message)


_BARE = expression(
    r"(?<![\w.@$\\-])(?:[\w-]{1,63}\.){1,4}(?!ps1|exe|zip|json|webclient)[a-z]{2,12}(?:/[\w./-]{1,200}|(?=\s{0,3}\|))",
    re.IGNORECASE,
)


def _source(statement: str) -> Fetch:
    found = URL.search(statement) or _BARE.search(statement)
    if found is None:
        return Fetch("", host_of("unknown.invalid"), False, False)
    url = found[0].rstrip("'\"),;")
    host = host_of(url)
    known = not any(sign in host.name for sign in "$%{<")
    return Fetch(url, host, "skipcertificatecheck" in statement.lower(), known)


def _tool_severity(text: str, match: re.Match[str]) -> Severity:
    end = text.find("\n", match.end())
    statement = text[match.start() : end if end >= 0 else len(text)]
    source = _source(statement)
    runs = re.search(r"&&?\s{0,3}(?:start\b|[\w.%\\/-]{1,80}\.(?:exe|bat|cmd|vbs|ps1|dll))", statement) is not None
    return "critical" if runs or (source.known and source.host.shady) else "warn"


def _encoded(text: str, line: int, depth: int) -> Iterator[Hit]:
    import base64
    import binascii

    for found in list(_BAKED.finditer(text))[:10]:
        before = text[max(0, found.start() - 300) : found.start()].rpartition("\n")[2]
        if not re.search(r"powershell|pwsh", before, re.IGNORECASE):
            continue
        at = line + _line(text, found.start())
        try:
            inner = base64.b64decode(found[1] + "=" * (-len(found[1]) % 4)).decode("utf-16-le", "replace")
        except (binascii.Error, ValueError):
            inner = ""
        hits = _judged(inner, at, depth - 1)[0] if inner and depth > 0 else []
        grave = re.search(r"-w\w{0,12}\s{1,3}h|hidden", before, re.IGNORECASE) is not None or bool(hits)
        yield Hit("encoded-command", at, shorten(before + found[0]), "critical" if grave else None)
        yield from hits


def _hidden(text: str, line: int) -> Iterator[Hit]:
    for found in list(_HIDDEN.finditer(text))[:20]:
        lowered = found[0].lower()
        if "hidden" in lowered and ("bypass" in lowered or "unrestricted" in lowered):
            remote = re.search(rf"\b{_FETCH}\b|https?:|-enc", lowered) is not None
            severity: Severity | None = "critical" if remote else None
            yield Hit("hidden-window", line + _line(text, found.start()), shorten(found[0]), severity)


_SENDING = expression(
    r"\b(?:invoke-restmethod|invoke-webrequest|irm|iwr)\b[^\n]{0,400}-method\s{1,3}[\"']?(?:post|put)[^\n]{0,400}"
    r"|\b(?:uploadstring|uploadfile|uploaddata)\s{0,2}\([^\n]{0,400}",
    re.IGNORECASE,
)
_ENVIRONMENT = expression(
    r"(?:get-childitem|gci|dir|ls)\s{1,3}[\"']?env:|\[environment\]::getenvironmentvariables", re.IGNORECASE
)


def _facts(text: str, line: int) -> Iterator[Fact]:
    for found in list(_SENDING.finditer(text))[:20]:
        source = _source(found[0])
        yield Fact(
            "sink",
            "an HTTP request with a body",
            line + _line(text, found.start()),
            shorten(found[0]),
            source.host.name,
            source.known and source.host.shady,
        )
    for found in list(_ENVIRONMENT.finditer(text))[:5]:
        yield Fact("source", "the whole environment", line + _line(text, found.start()), shorten(found[0]), "", True)
    for found in list(
        re.finditer(r"(?:get-content|gc|type|readalltext|readallbytes|copy-item)\b[^\n]{0,200}", text, re.IGNORECASE)
    )[:20]:
        for place in places(found[0]):
            if place.kind == "secret" and place.grave:
                yield Fact("source", place.what, line + _line(text, found.start()), shorten(found[0]), "", True)


def _sent(facts: list[Fact]) -> Iterator[Hit]:
    """Secrets and a request with a body in one script: what the flow over a package would also find, told here."""
    source = next((fact for fact in facts if fact.kind == "source" and fact.grave), None)
    sink = next((fact for fact in facts if fact.kind == "sink"), None)
    if source is not None and sink is not None and abs(source.line - sink.line) <= _NEAR:
        message = f"the data sent to {sink.subject or 'an unknown host'} contains {source.what}"
        yield Hit("secret-sent", sink.line, sink.evidence, None, sink.subject, message)


_NEAR = 12

"""Python text before it is parsed: magics and prompts taken out, and patterns for what never parses."""

from __future__ import annotations

import re

from whet.guard.patterns import Pattern

_DEEP = ("(" * 60, "[" * 60, "{" * 60, "~" * 500, "not " * 200, "lambda:" * 100, "-" * 5000)
_MAGIC = re.compile(r"^(\s*)(?:%{1,2}\w|!|\?\w).*$", re.MULTILINE)
_SHELL = re.compile(r"^\s{0,40}(?:!|%%(?:bash|sh|script)\b|%(?:sx|system)\s)", re.MULTILINE)
_PROMPT = re.compile(r"^[ \t]*(?:>>> ?|\.\.\. ?|In \[\d{0,4}\]: ?)")
_TEMPLATE = re.compile(r"\{\{[^{}\n]{0,200}\}\}|\{%[^{}\n]{0,200}%\}")
_PRINT = re.compile(r"^(\s*)print (?![=(])(.*)$", re.MULTILINE)
_EXCEPT = re.compile(r"^(\s*except\s{1,4}[\w.() ]{1,80}?),\s{0,4}(\w{1,40})\s{0,4}:", re.MULTILINE)
_LOOKS = re.compile(
    r"^(?:import [\w.]+(?: as \w+)?\s*$|from [\w.]+ import [\w(*]|def \w+\(.*:\s*$|class \w{1,80}.*:\s*$|#!.*\bpython)",
    re.MULTILINE,
)

FALLBACK = (
    Pattern(
        "exec-fetched",
        "exec|eval urlopen|requests|get",
        r"\b(?:exec|eval)\s{0,4}\(\s{0,4}(?:compile\s{0,4}\()?\s{0,4}(?:requests\.get|urllib2?\.(?:request\.)?urlopen|urlopen)\s{0,4}\(",
    ),
    Pattern(
        "exec-decoded",
        "exec|eval b64decode|decompress|decode|fromhex|unhexlify",
        r"\b(?:exec|eval)\s{0,4}\(?\s{0,4}[^\n]{0,80}?(?:b64decode|zlib\.decompress|fromhex|unhexlify|decode\s{0,4}\(\s{0,4}[\"'](?:base64|hex|rot13|zlib))",
    ),
    Pattern(
        "shell-handed-over",
        "dup2 fileno",
        r"\bdup2\s{0,4}\(\s{0,4}\w{1,40}\.fileno\s{0,4}\(\s{0,4}\)\s{0,4},\s{0,4}[012]",
    ),
    Pattern(
        "python-sends-secrets",
        "post|urlopen|sendall environ",
        r"\b(?:post|urlopen|sendall)\s{0,4}\([^\n]{0,160}\b(?:dict\s{0,4}\(\s{0,4}os\.environ|os\.environ\.(?:items|copy)|str\s{0,4}\(\s{0,4}os\.environ|dumps\s{0,4}\(\s{0,4}(?:dict\()?os\.environ)",
    ),
    Pattern(
        "hidden-call",
        "getattr import",
        r"\bgetattr\s{0,4}\(\s{0,4}__import__\s{0,4}\(\s{0,4}[\"'][^\"'\n]{0,20}[\"']\s{0,4}(?:\+|\))",
    ),
)
"""What a text that no parser takes is looked through with."""


def too_deep(source: str) -> bool:
    """Is the text nested so deeply that it is not worth giving to a parser? People stay far below."""
    return any(run in source for run in _DEEP)


def plain(source: str) -> str:
    """The text without notebook magics, prompts and templates, Python 2 spelled as 3; lines keep their numbers."""
    if ">>>" in source or "In [" in source:
        source = "\n".join(_unprompted(source.split("\n")))
    if "%" in source or "!" in source or "?" in source:
        source = _MAGIC.sub(r"\1pass", source)
    if "{{" in source or "{%" in source:
        source = _TEMPLATE.sub("template", source)
    if "print " in source:
        source = _PRINT.sub(r"\1print(\2)", source)
    if "except" in source:
        source = _EXCEPT.sub(r"\1 as \2:", source)
    return _dedented(source)


def has_magics(source: str) -> bool:
    """Does a notebook give commands to a shell here?"""
    return ("!" in source or "%" in source) and _SHELL.search(source) is not None


def magics(source: str) -> list[tuple[int, str]]:
    """The commands that a notebook gives to a shell, each with its line."""
    found: list[tuple[int, str]] = []
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        command = line.strip()
        if command.startswith("!"):
            found.append((number, command.lstrip("!")))
        elif command.startswith(("%sx ", "%system ")):
            found.append((number, command.partition(" ")[2]))
        elif command.startswith(("%%bash", "%%sh", "%%script bash", "%%script sh")):
            found.append((number, "\n".join(lines[number:])))
        if len(found) >= 200:
            break
    return found


def _unprompted(lines: list[str]) -> list[str]:
    """Only what was typed; output becomes empty lines."""
    return [line[found.end() :] if (found := _PROMPT.match(line)) else "" for line in lines]


def _dedented(source: str) -> str:
    first = next((line for line in source.split("\n") if line.strip()), "")
    if first[:1] not in (" ", "\t"):
        return source
    margin = first[: len(first) - len(first.lstrip())]
    return "\n".join(line[len(margin) :] if line.startswith(margin) else line.lstrip() for line in source.split("\n"))


def likely(source: str) -> bool:
    """Is this Python beyond doubt, by several lines that nothing else has?"""
    return len(source) > 200 and len(_LOOKS.findall(source)) >= 4

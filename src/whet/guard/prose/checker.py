"""Prose: what a text orders (`orders`), and what the code in it does, each piece by the checker of its language.

What a skill shows in a fence is what the model will run, so it counts; where the text around it says that it is an
example of what not to do, it weighs less, like any other mention.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.finding import Fact, Hit, Seen
from whet.guard.manifests.checker import check_fence
from whet.guard.prose.context import MENTIONING
from whet.guard.prose.markdown import blocks
from whet.guard.prose.orders import find_orders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.prose.markdown import Block

_LANGUAGES = {
    **dict.fromkeys(
        ("bash", "sh", "shell", "zsh", "console", "terminal", "shell-session", "ksh", "fish", "shellscript"), "shell"
    ),
    **dict.fromkeys(("python", "py", "python3", "ipython", "pycon"), "python"),
    **dict.fromkeys(("js", "javascript", "ts", "typescript", "jsx", "tsx", "mjs", "node"), "javascript"),
    **dict.fromkeys(("powershell", "ps1", "pwsh", "cmd", "bat", "batch", "dos"), "windows"),
    **dict.fromkeys(
        ("ruby", "rb", "perl", "php", "go", "golang", "lua", "applescript", "java", "csharp", "cs", "rust", "swift"),
        "code",
    ),
}
_DATA = frozenset(
    (
        "json",
        "jsonc",
        "json5",
        "yaml",
        "yml",
        "toml",
        "makefile",
        "make",
        "just",
        "dockerfile",
        "docker",
        "ini",
        "conf",
        "npmrc",
        "systemd",
        "cron",
        "crontab",
        "plist",
        "xml",
        "gemfile",
    )
)
_PLAIN = frozenset(("", "text", "txt", "plaintext", "plain", "markdown", "md", "code"))
_LOOKS_LIKE = re.compile(
    r"(?:^|\n)[ \t]*(?:[$#>] )?(?:sudo\s+)?(?:curl|wget|bash|sh|echo|base64|nc|rm|chmod|export|source|python3?|node|npm|npx|pip3?|brew|apt(?:-get)?|git|cat|env|printf|eval|powershell|iex|iwr|irm|certutil)\b"
)
_WINDOWS = re.compile(
    r"\b(?:powershell|iex|iwr|irm|invoke-\w+|certutil|bitsadmin|mshta|start-process|new-object|\$env:|set-executionpolicy)\b",
    re.IGNORECASE,
)
_INLINE = re.compile(r"!?`([^`\n]{6,1500})`")
_TIMED = re.compile(r"^\s*(?:@(?:reboot|hourly|daily)|(?:[\d*/,-]{1,20}\s+){5})")
"""The time at the beginning of a line for cron."""
_BARE = re.compile(
    r"(?:^|[\s:>(])((?:sudo\s+)?(?:curl|wget|bash\s+(?:-c|<\()|sh\s+-c|echo\s+[\"']?[A-Za-z0-9+/=]{16}|eval\s+[\"$]|nc\s+-|powershell\b|iex\b|iwr\b|irm\b|base64\s+-)[^\n]{4,1500})"
)
_HINTS = ("curl", "wget", "bash ", "sh -c", "echo ", "eval ", "nc -", "powershell", "iex", "iwr", "irm", "base64")


def check(text: str) -> Seen:
    """What a Markdown or plain text orders, and what the code in it does."""
    found = blocks(text)
    orders, code = find_orders(found), _check_code(found)
    return Seen((*orders, *code.hits), code.facts)


def _check_code(found: list[Block]) -> Seen:
    hits: list[Hit] = []
    facts: list[Fact] = []
    for seen, line, block in (*_fences(found), *_inline(found)):
        less = 1 if MENTIONING.search(block.trail) else 0
        hits.extend(hit._replace(line=line + hit.line - 1, steps=hit.steps + less) for hit in seen.hits)
        facts.extend(fact._replace(line=line + fact.line - 1) for fact in seen.facts if not less)
    return Seen(tuple(hits), tuple(facts))


def _fences(found: list[Block]) -> Iterator[tuple[Seen, int, Block]]:
    for block in found:
        if block.kind != "fence":
            continue
        language = _language(block)
        if language:
            yield checker(language)(block.text), block.line, block
            if language == "shell" and _WINDOWS.search(block.text):
                yield checker("windows")(block.text), block.line, block
        elif block.language in _DATA:
            yield check_fence(block.language, block.text), block.line, block


def _language(block: Block) -> str:
    """The checker for a fence; one that does not name its language may look like commands."""
    if block.language in _PLAIN and _LOOKS_LIKE.search(block.text):
        return "windows" if _WINDOWS.search(block.text) else "shell"
    return _LANGUAGES.get(block.language, "")


def _inline(found: list[Block]) -> Iterator[tuple[Seen, int, Block]]:
    """Commands in backticks and in running text; all of them are looked over at once, since few texts have any."""
    from whet.guard.shell.checker import worth_reading

    whole = "\n".join(block.text for block in found).lower()
    hints = tuple(hint for hint in _HINTS if hint in whole)
    codes = list(_spans(found, hints))
    joined = "\n".join(code for code, _, _ in codes)
    if not worth_reading(joined) and not _WINDOWS.search(joined):
        return
    for code, line, block in codes:
        windows = _WINDOWS.search(code) is not None
        if windows or worth_reading(code):
            yield checker("windows" if windows else "shell")(code), line, block


def _spans(found: list[Block], hints: tuple[str, ...]) -> Iterator[tuple[str, int, Block]]:
    for block in found:
        if block.kind == "heading" or (block.kind == "fence" and (block.language not in _PLAIN or _language(block))):
            continue
        if not hints and "`" not in block.text:
            continue
        for line, row in enumerate(block.text.split("\n"), start=block.line):
            rest = row
            if "`" in row:
                yield from ((_TIMED.sub("", code), line, block) for code in _INLINE.findall(row) if " " in code)
                rest = _INLINE.sub(" ", row)
            if hints:
                lowered = rest.lower()
                if any(hint in lowered for hint in hints):
                    yield from ((code.rstrip("`*_). "), line, block) for code in _BARE.findall(rest))


def checker(language: str) -> Callable[[str], Seen]:
    """The checker of a language."""
    if language == "shell":
        from whet.guard.shell import checker as shell

        return shell.check
    if language == "python":
        from whet.guard.python import checker as python

        return python.check
    if language == "javascript":
        from whet.guard.javascript import checker as javascript

        return javascript.check
    if language == "windows":
        from whet.guard.shell import windows

        return windows.check
    from whet.guard.code import checker as code

    return code.check

"""Prose: the orders in a text (`orders`), and the code in it, each piece checked by the checker of its language.

The model may run any code that a skill shows in a fence, so that code counts. Attackers also write the heading above it and
the words before it: that these call it an example, or a mistake, counts only in a text that is all about defence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.documents import checker
from whet.guard.expression import expression, fold
from whet.guard.finding import Fact, Hit, Seen
from whet.guard.manifests.checker import check_fence
from whet.guard.prose.context import mentions, speaks
from whet.guard.prose.markdown import Block, blocks
from whet.guard.prose.orders import find_orders
from whet.guard.tables import load_table, shape

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCES: dict[str, list[str]] = load_table("kinds")["fences"]
_DATA, _PLAIN = (frozenset(_FENCES[kind]) for kind in ("data", "plain"))
_LANGUAGES = {label: kind for kind, labels in _FENCES.items() if kind not in ("data", "plain") for label in labels}
_LOOKS_LIKE = shape("prose", "looks_like", 0, frame=r"\n[ \t]*(?:[$#>] )?(?:sudo\s+)?(?:{})\b")
_WINDOWS = shape("prose", "windows", frame=r"\b(?:{})\b")
_WINDOWS_HINTS = (
    *("powershell", "iex", "iwr", "irm", "invoke-", "certutil", "bitsadmin", "mshta", "start-process", "new-object"),
    *("$env:", "set-executionpolicy"),
)
_INLINE = expression(r"`([^`\n]{6,1500})`")
_TIMED = expression(r"^\s*(?:@(?:reboot|hourly|daily)|(?:[\d*/,-]{1,20}\s+){5})")
"""The time at the beginning of a crontab line."""
_BARE = expression(
    r"(?:^|[\s:>(])((?:sudo\s+)?(?:curl|wget|bash\s+(?:-c|<\()|sh\s+-c|echo\s+[\"']?[A-Za-z0-9+/=]{16}|eval\s+[\"$]|nc\s+[-\d]|powershell\b|iex\b|iwr\b|irm\b|base64\s+-)[^\n]{4,1500})"
)
_HARM = expression(
    r"(?:^|[.!?:;,>*-]\s+|\b(?:then|now|please|first|and)\s+)(?:run|execute|type|paste)[:,]?\s+((?:sudo\s+)?(?:rm\s+-|dd\s+if=|shred\s|mkfs|find\s+[~/]|chmod\s+-)[^\n]{3,1500})",
    re.IGNORECASE,
)
"""An order to run a command that may destroy something: many texts only name one."""
_NEXT = expression(r"[,;]?\s(?:and|then|or|and then)[,:]?\s+(?=(?:sudo\s+)?(?:curl|wget|bash|sh)\s)")
"""Where one command ends and words lead to the next."""
_HINTS = (
    *("curl", "wget", "bash ", "sh -c", "echo ", "eval ", "nc ", "powershell", "iex", "iwr", "irm", "base64"),
    *("rm -", "dd if=", "shred ", "mkfs", "find ~", "find /", "chmod -"),
)


def check(text: str, beside: int = 0) -> Seen:
    """Check the orders and the code in a Markdown or plain text; `beside` is the number of characters in the other texts."""
    found = blocks(text)
    orders, code = find_orders(found, beside), _check_code(found, text)
    return Seen((*orders.hits, *code.hits), (*orders.facts, *code.facts))


def _check_code(found: list[Block], text: str) -> Seen:
    hits: list[Hit] = []
    facts: list[Fact] = []
    introductions = {id(block): found[number - 1] if number else None for number, block in enumerate(found)}
    told: set[tuple[str, int, str]] = set()
    rows = list(_rows(found))
    for seen, line, block in (*_fences(found), *_inline(rows), *_indented(text), *_together(found, rows)):
        if not seen.hits and not seen.facts:
            continue
        sample, shown = _is_sample(block, introductions.get(id(block)))
        for hit in seen.hits:
            at = line + hit.line - 1
            on_page = sample and hit.rule == "runs-download" and _PAGE.search(block.text) is not None
            if (hit.rule, at, hit.subject) not in told or hit.severity != "info":
                told.add((hit.rule, at, hit.subject))
                severity = "warn" if on_page else hit.severity
                hits.append(hit._replace(line=at, severity=severity, shown=shown, sample=sample))
        facts.extend(fact._replace(line=line + fact.line - 1, shown=shown) for fact in seen.facts)
    return Seen(tuple(hits), tuple(facts))


_PAGE = expression(r"\b(?:document|window)\.[a-z]|\baddEventListener\b|<script")
"""Code that is shown for a web page: its imports run in a browser, those of a file in the package may not."""
_ORDERED = shape("prose", "ordered", frame=r"\b(?:{})\b")
_NO_WORDS = expression(r"`[^`\n]{0,300}`?|https?://[^\s`]{1,300}")
_DENIED = shape("prose", "denied", frame=r"\b(?:{})\b")


def _is_sample(block: Block, before: Block | None) -> tuple[bool, bool]:
    """Return whether no words order to run the code, and whether headings or words also call it an example of a danger.

    The text of a block that is not a fence is the text before the code in it.
    """
    words = block.text[-300:]
    if block.kind == "fence":
        words = before.text[-300:] if before is not None and before.kind != "fence" else ""
    words = _NO_WORDS.sub(" ", words).rstrip(": \n")
    if block.kind == "table" or _LANGUAGES.get(block.language) == "code":
        return True, True
    ordered = _ORDERED.search(words) is not None and _DENIED.search(words) is None
    return not ordered, not ordered and (mentions(block.trail) or speaks(words))


def _fences(found: list[Block]) -> Iterator[tuple[Seen, int, Block]]:
    for block in found:
        if block.kind != "fence":
            continue
        text, language = _unquoted(block.text), _language(block)
        if language:
            yield checker(language)(text), block.line, block
            if language == "shell" and _is_windows(text):
                yield checker("powershell")(text), block.line, block
        elif block.language in _DATA:
            yield check_fence(block.language, text), block.line, block
        for seen in _other_readings(text, language):
            yield seen, block.line, block


def _other_readings(text: str, language: str) -> Iterator[Seen]:
    """Yield the results for the same code in other languages: the label of a block does not keep anyone from running it."""
    if language != "shell" and _is_command(text, language):
        yield _as_shell(_PREFIX.sub("", text))
    if language != "python" and any(map(text.__contains__, _PYTHON_HINTS)) and _PYTHON.search(text):
        from whet.guard.python.checker import check, parses

        if parses(text):
            yield check(text)
    if language != "javascript" and any(map(text.__contains__, _JAVASCRIPT_HINTS)) and _JAVASCRIPT.search(text):
        yield checker("javascript")(text)


_PYTHON = shape("prose", "python", re.MULTILINE)
_PYTHON_HINTS = ("import", "exec", "eval")
_JAVASCRIPT = shape("prose", "javascript", 0, frame=r"\b(?:{})")
_JAVASCRIPT_HINTS = (
    *("process", "globalThis", "Deno.", "Bun.", "require", "fetch", "eval", "atob", "Function", "XMLHttpRequest"),
    *("WebSocket", "sendBeacon", "import"),
)

_PREFIX = shape("prose", "prefix", frame=r"^[ \t]{0,40}(?:{})(?=[ \t]{0,20}\w)")
_COMMAND = expression(
    r"\n[ \t]{0,40}(?:[+!$#>-][ \t]?|RUN[ \t]|(?:-[ \t])?(?:run|script|command|cmd|exec)[ \t]?[:=][ \t])?(?:sudo[ \t])?"
    r"(?:(?:curl|wget|bash|sh|zsh|echo|printf|base64|nc|ncat|netcat|rm|chmod|export(?![ \t]{1,8}(?:default|const|let|var|function|async|class|abstract|interface|type|enum|namespace|[*{]))"
    r"|source|eval|env|cat|tar|zip|find|dd|scp|rsync|ssh|crontab|openssl|socat|dig|nslookup|nohup"
    r"|python3?|node|deno|bun|uvx?|npx|gh|git|mail|xxd|tee|exec|security|https?|aws|gcloud|rclone|docker|read|declare|useradd|systemctl|launchctl)[ \t]{1,8}[^=\s(]"
    r"|for[ \t]\w{1,40}[ \t]in[ \t][^:\n]{1,200}(?:;|$)(?=[\s\S]{0,400}?\bdo\b)|if[ \t][^:\n]{1,200};[ \t]?then|[A-Za-z_]\w{0,40}=\(?[\"']?[$`])",
    re.MULTILINE,
)
"""A line that a shell would run, after the end of the line before: a fixed first character makes the search fast.

An `export` of a JavaScript module does not count, nor does a `for` without a `do`.
"""
_FUNCTION = expression(r"\n[ \t]{0,40}[A-Za-z_]\w{0,40}[ \t]?\(\)[ \t]?\{")
"""A shell function; a method in JavaScript is written the same way."""


def _is_command(text: str, language: str = "") -> bool:
    """Return whether the text contains a line that a shell would run."""
    behind = f"\n{text}"
    if any(map(text.__contains__, (" ", "\t", "="))) and _COMMAND.search(behind) is not None:
        return True
    return language != "javascript" and "()" in text and _FUNCTION.search(behind) is not None


_SPELLING = frozenset(("split-command", "shell-not-read", "unpinned-run"))
"""Rules about the spelling of a script, which mean nothing for a text in another language."""


def _as_shell(text: str) -> Seen:
    """Check a text of another language as if a shell ran it."""
    seen = checker("shell")(text)
    return seen._replace(hits=tuple(hit for hit in seen.hits if hit.rule not in _SPELLING))


def _unquoted(text: str) -> str:
    """Return a fence in a quotation, without the quotation marks of Markdown."""
    lines = text.split("\n")
    if not all(line.lstrip().startswith(">") for line in lines if line.strip()):
        return text
    return "\n".join(re.sub(r"^[ \t]*>[ \t]?", "", line) for line in lines)


_LONG_ROW, _MOST_ROWS = 2000, 400
"""Characters of an indented row that are read, and rows of an indented block."""
_PREFORMATTED = expression(r"<pre[^>\n]{0,100}>(.{1,20000}?)</pre>", re.DOTALL | re.IGNORECASE)


def _indented(text: str) -> Iterator[tuple[Seen, int, Block]]:
    """Check code outside fences: indented blocks and the text of `<pre>` elements."""
    codes = list(_indented_rows(text)) if "\n    " in text or "\t" in text or text[:4].isspace() else []
    if "<pre" in text.lower():
        for found in _PREFORMATTED.finditer(text):
            code = re.sub(r"</?\w{1,20}[^>\n]{0,100}>", "", found[1])
            codes.append((text.count("\n", 0, found.start()) + 1, code))
    for line, code in codes:
        for seen in _other_readings(code, ""):
            yield seen, line, Block("fence", code, line)


def _indented_rows(text: str) -> Iterator[tuple[int, str]]:
    """Yield the indented blocks of a text, each with its line."""
    kept: list[str] = []
    number = 0
    for number, row in enumerate(text.split("\n"), start=1):
        if row.startswith(("    ", "\t")):
            kept.append(row[:_LONG_ROW])
            if len(kept) < _MOST_ROWS and len(row) <= _LONG_ROW:
                continue
            yield number - len(kept) + 1, "\n".join(kept)
            kept = []
        elif kept:
            yield number - len(kept), "\n".join(kept)
            kept = []
    if kept:
        yield number - len(kept) + 1, "\n".join(kept)


def commands(text: str) -> str:
    """Return the commands of a text, each on its own line of the original."""
    found = blocks(text)
    rows = [""] * (text.count("\n") + 2)
    for piece, line, _ in _pieces(found, list(_rows(found))):
        for at, row in enumerate(piece.split("\n")[: len(rows) - line], start=line - 1):
            rows[at] = f"{rows[at]}; {row}" if rows[at] else row
    for at, row in enumerate(text.split("\n")):
        if row.startswith(("    ", "\t")) and not rows[at] and (" && " in row or " | " in row or _is_command(row)):
            rows[at] = row.strip()
    return "\n".join(rows)


def _pieces(found: list[Block], coded: list[_Row]) -> list[tuple[str, int, Block]]:
    """Return the commands in fences and backticks, each with its line."""
    pieces = [
        (_unquoted(block.text), block.line, block)
        for block in found
        if block.kind == "fence" and _language(block) == "shell"
    ]
    for _, line, block, inline, _ in coded:
        if block.kind != "fence":
            codes = [code for code in inline if _is_command(code)]
            pieces += [(code, line, block._replace(text=block.text.partition(code)[0])) for code in codes]
    return pieces


def _together(found: list[Block], coded: list[_Row]) -> Iterator[tuple[Seen, int, Block]]:
    """Check the commands of a text in sequence: one block may put a secret into a variable or file that another sends."""
    pieces = _pieces(found, coded)
    if not 1 < len(pieces) <= _MOST_PIECES:
        return
    pieces.sort(key=lambda piece: piece[1])
    rows = [(row, line + offset, block) for text, line, block in pieces for offset, row in enumerate(text.split("\n"))]
    seen = checker("shell")("\n".join(row for row, _, _ in rows))
    for hit in seen.hits:
        if hit.rule in _FLOWS and hit.line <= len(rows):
            _, line, block = rows[hit.line - 1]
            yield Seen((hit._replace(line=1),)), line, block


_FLOWS = frozenset(("secret-sent", "decode-to-shell", "pipe-shady", "shell-handed-over"))
_MOST_PIECES = 60


def _language(block: Block) -> str:
    """Return the language of a fence; a fence without a label may look like commands."""
    if block.language in _PLAIN and _LOOKS_LIKE.search(f"\n{block.text}"):
        return "powershell" if _is_windows(block.text) else "shell"
    return _LANGUAGES.get(block.language, "")


def _is_windows(text: str) -> bool:
    """Return whether a text names a Windows command."""
    return any(map(fold(text).__contains__, _WINDOWS_HINTS)) and _WINDOWS.search(text) is not None


def _inline(found: list[_Row]) -> Iterator[tuple[Seen, int, Block]]:
    """Check commands in backticks and in running text, first all of them at once, because few texts have any."""
    from whet.guard.shell.checker import worth_reading

    codes = list(_spans(found))
    joined = "\n".join(code for code, _, _ in codes)
    if not worth_reading(joined) and not _is_windows(joined):
        return
    known: dict[str, Seen] = {}
    for code, line, block in codes:
        windows = _is_windows(code)
        if code not in known:
            known[code] = (
                checker("powershell" if windows else "shell")(code) if windows or worth_reading(code) else Seen()
            )
        if known[code] != Seen():
            at = max(block.text.find(code), 0)
            yield known[code], line, block._replace(text=block.text[max(at - _BEFORE, 0) : at])


_BEFORE = 1000
"""Number of characters before a command in which its introduction is looked for."""


class _Row(NamedTuple):
    """A row outside headings and code, with the code in its backticks."""

    text: str
    line: int
    block: Block
    codes: list[str]
    bare: bool
    """The row may contain a command outside the backticks."""


def _rows(found: list[Block]) -> Iterator[_Row]:
    """Yield the rows that may contain commands."""
    whole = "\n".join(block.text for block in found).lower()
    hints = tuple(hint for hint in _HINTS if hint in whole)
    for block in found:
        if block.kind == "heading" or (block.kind == "fence" and (block.language not in _PLAIN or _language(block))):
            continue
        if not hints and "`" not in block.text:
            continue
        for line, row in enumerate(block.text.split("\n"), start=block.line):
            codes = _INLINE.findall(row) if "`" in row else []
            bare = bool(hints) and any(map(row.lower().__contains__, hints))
            if codes or bare:
                yield _Row(row, line, block, codes, bare)


def _spans(found: list[_Row]) -> Iterator[tuple[str, int, Block]]:
    for row in found:
        yield from ((_TIMED.sub("", code), row.line, row.block) for code in row.codes if " " in code)
        if row.bare:
            rest = _INLINE.sub(" ", row.text)
            for found_here in (*_BARE.findall(rest), *_HARM.findall(rest)):
                yield from ((code.rstrip("`*_). "), row.line, row.block) for code in _NEXT.split(found_here))

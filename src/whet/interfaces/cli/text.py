"""Text as a terminal shows it: made harmless, measured in columns, shortened and wrapped.

Strangers write the texts of skills. `clean` and `clean_block` show characters as escapes that would move the cursor,
set a title, change colours or reorder text.
"""

from __future__ import annotations

from whet.patterns import compile_late

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

_LONG = 64
_PRINTABLE = bytes(range(0x20, 0x7F))
ELLIPSIS = "…"
_HASH = compile_late(r"[0-9a-f]{12,}")
_WORD = compile_late(r"(?:`[^`\n]*`|\S)+")
_UNSAFE = compile_late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and line end, which the callers handle
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or reordering
    "\ud800-\udfff\U000e0000-\U000e007f]"  # undecodable, or hidden text
)


def clean(text: str) -> str:
    """Return the text as one harmless line."""
    if is_printable(text):
        return text
    return _UNSAFE.sub(_escape, " ".join(text.split()))


def is_printable(text: str) -> bool:
    """Return the same as `str.isprintable`, several times faster for long ASCII."""
    if len(text) > _LONG and text.isascii():
        return not text.encode().translate(None, _PRINTABLE)
    return text.isprintable()


def clean_block(text: str) -> str:
    """Return the text as harmless lines."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def clean_json(text: str) -> str:
    """Return a harmless JSON document: dangerous characters occur only in its strings, where they are escaped."""
    if is_printable(text):
        return text
    import json

    return _UNSAFE.sub(lambda found: json.dumps(found[0])[1:-1], text)


def width(text: str) -> int:
    """Return the number of columns of a text: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def shorten(text: str, limit: int) -> str:
    """Cut the text to `limit` columns, with an ellipsis."""
    if width(text) <= limit:
        return text
    used, kept = width(ELLIPSIS), 0
    for character in text:
        used += _columns(character)
        if used > limit:
            break
        kept += 1
    return f"{text[:kept].rstrip()}{ELLIPSIS}" if limit > 0 else ""


def pad(text: str, columns: int) -> str:
    """Fill the text with spaces to `columns`."""
    return text + " " * (columns - width(text))


def wrap(text: str, limit: int) -> list[str]:
    """Wrap the words of a text into lines of at most `limit` columns; a longer word has its own line.

    A command in backticks counts as a word, so that it can be copied whole.
    """
    lines: list[str] = []
    line, used = "", 0
    for word in _WORD.findall(text) if "`" in text else text.split():
        columns = width(word)
        if line and used + 1 + columns > limit:
            lines.append(line)
            line, used = "", 0
        line, used = (f"{line} {word}", used + 1 + columns) if line else (word, columns)
    return [*lines, line] if line else lines


_MARK = compile_late(r" {0,8}(?:[-*+] |\d+[.)] |> )?")
"""The indent of a line of Markdown, with the marker of a list or a quotation."""
_BEGINS = compile_late(r"\s*(?:$|[-*+] |\d+[.)] |> |#|\||```|~~~|---)")
"""The beginning of a line that does not continue the previous paragraph."""


def wrap_markdown(text: str, limit: int) -> str:
    """Wrap long paragraphs of Markdown, except code and tables; text after a list's marker stays aligned with it."""
    lines: list[str] = []
    paragraph: list[str] = []
    fence = ""

    def end() -> None:
        lines.extend(_wrap_paragraph(paragraph, limit))
        paragraph.clear()

    for line in text.split("\n"):
        mark = line.strip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        open_ = paragraph and not paragraph[0].startswith("#")
        code = line.startswith("    ") and not open_  # below an open paragraph or item, it continues that
        if fence or not mark or mark in ("```", "~~~") or mark.startswith("|") or code:
            end()
            lines.append(line)
            continue
        if _BEGINS.match(line) or (paragraph[-1:] and paragraph[-1].endswith(("  ", "\\"))):
            end()
        paragraph.append(line)
    end()
    return "\n".join(lines)


def _wrap_paragraph(paragraph: list[str], limit: int) -> list[str]:
    """Return the lines if all of them fit; otherwise wrap their words."""
    if all(width(line) <= limit for line in paragraph):
        return paragraph
    found = _MARK.match(paragraph[0])
    lead = found[0] if found else ""
    text = " ".join([paragraph[0][len(lead) :], *(line.strip() for line in paragraph[1:])])
    first, *others = wrap(text, max(limit - len(lead), 20)) or [""]
    below = lead if lead.strip() == ">" else " " * len(lead)
    return [lead + first, *(below + other for other in others)]


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: `1 skill`, `2 skills`, `2 entries`."""
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def join_numbers(numbers: Iterable[int]) -> str:
    """Join numbers with commas, consecutive ones as a range: `1-3, 5`."""
    ranges: list[list[int]] = []
    for number in sorted({*numbers}):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return ", ".join("-".join(map(str, ends)) for ends in ranges)


def name_several(names: Iterable[str], most: int) -> str:
    """Join names with commas, each once; for more than `most`, the first ones and the number of others."""
    each = list(dict.fromkeys(names))
    return ", ".join(each) if len(each) <= most else f"{', '.join(each[: most - 1])} and {len(each) - most + 1} more"


def join_unique(words: Iterable[str]) -> str:
    """Join words with commas, each once."""
    return ", ".join(dict.fromkeys(words))


def name_revision(revision: str, checkout: str = "") -> str:
    """Describe a revision, shortened: as a digest of the content if the source has no revisions.

    A directory in a git repository has a branch and a commit instead, as `whet.sources.git.checkout` returns them.
    """
    if checkout:
        branch, _, commit = checkout.rpartition("@")
        return ", ".join(filter(None, (branch, f"commit {commit[:10]}" if commit else "no commit yet")))
    return f"{'digest' if revision.startswith('sha256:') else 'revision'} {short_revision(revision)}"


def short_revision(revision: str) -> str:
    """Shorten a commit or a hash to a recognizable length; a version stays in full."""
    bare = revision.removeprefix("sha256:")
    return bare[:10] if _HASH.fullmatch(bare) else bare


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

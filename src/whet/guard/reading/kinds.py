"""The kind of a file: programs, archives and media by their first bytes, texts by their content and then by their name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from whet.guard.expression import expression
from whet.guard.tables import load_table, shape

if TYPE_CHECKING:
    from whet.guard.documents import Kind

_TABLE: dict[str, Any] = load_table("kinds")
ARCHIVES = frozenset(_TABLE["archives"])
"""Containers that are opened."""
SEALED = frozenset(_TABLE["sealed"])
"""Containers that are not opened."""
PROGRAMS = frozenset(_TABLE["programs"])
_MAGIC = [(bytes.fromhex(mark), what) for what, marks in _TABLE["magic"].items() for mark in marks]
_BY_FIRST = {mark[0]: [pair for pair in _MAGIC if pair[0][0] == mark[0]] for mark, _ in _MAGIC}
_TEXTUAL = frozenset(_TABLE["textual"])
"""Kinds whose first bytes may also begin a text."""


def magic(data: bytes) -> str:
    """Return the kind of binary data: one of the names above, `png`, `jpeg`, `pdf`, `pickle`, `media`, `data` and so on; empty
    for text and unknown data."""
    head = data[:16]
    for mark, what in _BY_FIRST.get(data[0] if data else 0, ()):
        if head.startswith(mark):
            if what == "java class" and data[4:8] < b"\0\0\0\x1e":
                return "mach-o"
            return "" if what in _TEXTUAL and what != "pdf" and _plain(data[:512]) else what
    if head[:2] == b"MZ" and len(data) >= 64 and 0 in data[:64]:
        return "pe"
    if head[:3] == b"BZh" and head[4:10] == b"1AY&SY":
        return "bzip2"
    if is_pyc(head):
        return "pyc"
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and head[2:3] >= b"(":
        return "pickle"
    if head[4:8] == b"ftyp" or (head[:2] == b"BM" and data[6:10] == b"\0\0\0\0"):
        return "media"
    return _deep_magic(data)


def _deep_magic(data: bytes) -> str:
    if data[257:262] == b"ustar":
        return "tar"
    if data[0x8001:0x8006] == b"CD001":
        return "iso"
    if len(data) > 512 and data[-512:-508] == b"koly":
        return "dmg"
    if data[36:40] == b"acsp" or (data[:1] == b"0" and data[1:2] in (b"\x80", b"\x82", b"\x83") and not _plain(data)):
        return "data"  # a colour profile; a certificate or key in DER
    return ""


def is_pyc(head: bytes) -> bool:
    """Return whether bytes begin like compiled Python 3."""
    return (
        len(head) >= 16
        and head[1] in (0x0C, 0x0D, 0x0E)
        and head[2:4] == b"\r\n"
        and head[4] <= 3
        and not any(head[5:8])
    )


def _plain(data: bytes) -> bool:
    return not data.translate(None, bytes(range(32, 127)) + b"\t\r\n")


_EXTENSIONS: dict[str, Kind] = {name: kind for kind, names in _TABLE["extensions"].items() for name in names}
_DATA = frozenset(_TABLE["data"])

_PYTHON = shape("reading", "python", 0)
_PYTHON_SURE = shape("reading", "python_sure", 0)
_COMMANDS = (
    "sudo|curl|wget|echo|export|source|cd|mkdir|rm|cp|mv|chmod|chown|apt|apt-get|brew|pip3?|npm|npx|git|bash|sh|zsh"
    "|python3?|node|cat|tar|unzip|eval|exec|set|unset|nohup|printf|crontab|sed|awk|grep|kill|sleep|read|local|trap"
    "|exit|return|declare"
)
_SHELL = expression(
    rf"(?:(?:{_COMMANDS})\s[-\"'$/~.\w]|[A-Za-z_]\w{{0,40}}=\S{{0,200}}|if\s\[|for\s\w+\sin\b|while\s|case\s.{{1,80}}\sin$"
    r"|(?:fi|done|then|do|else|esac|\})$|[\w-]{1,40}\(\)\s?\{|\s{2,}\S)"
)
_SHELL_SURE = shape("reading", "shell_sure", 0, frame=r"\s{0,8}(?:{})")
_JAVASCRIPT_SURE = shape("reading", "javascript_sure", 0)
_JAVASCRIPT = expression(r"[^\n]{0,2000}[;{},()\[\]]\s*$|\s*//")
_POWERSHELL_SURE = shape("reading", "powershell_sure", frame=r"\s{0,8}(?:{})")
_POWERSHELL = shape("reading", "powershell", frame=r"\s{0,8}(?:{})")
_LANGUAGES: tuple[tuple[Kind, tuple[str, ...], re.Pattern[str], re.Pattern[str]], ...] = (
    ("python", ("import ", "def ", "exec(", "eval("), _PYTHON_SURE, _PYTHON),
    ("javascript", ("require(", "import ", "function", "exports", "await ", "= ("), _JAVASCRIPT_SURE, _JAVASCRIPT),
    (
        "shell",
        ("curl ", "wget ", "export ", "set -", "sudo ", "eval ", "if [", "chmod ", "; do", "echo ", "rm -", "bash -"),
        _SHELL_SURE,
        _SHELL,
    ),
    ("powershell", ("iex", "IEX", "nvoke-", "tart-", " = "), _POWERSHELL_SURE, _POWERSHELL),
)
_HEAD = 20_000


def extension(path: str) -> str:
    """Return the last extension of a path, in lower case and without its dot; the name of a dot file counts as one."""
    name = path.rsplit("/", 1)[-1].lower()
    return name.rpartition(".")[2] if "." in name else ""


def kind_of(path: str, text: str) -> Kind:
    """Return the kind of a text, by a shebang or an unmistakable script, then by its name, then by its beginning."""
    named = _TABLE["names"].get(path.rsplit("/", 1)[-1].lower()) or _EXTENSIONS.get(extension(path))
    shebang = _shebang(text)
    if shebang and named in (None, "markdown", "json", "yaml", "toml", "html", "text"):
        return shebang
    if named == "markdown":
        return _unmarked(text) or "markdown"
    if named is None or named in ("json", "html"):
        return _scripted(path, text, named)
    return named


def disguised(path: str, kind: Kind) -> bool:
    """Return whether a program has the name of a data file or a picture."""
    return extension(path) in _DATA and kind in ("python", "shell", "javascript", "powershell")


def _shebang(text: str) -> Kind | None:
    if not text.startswith("#!"):
        return None
    line = text[:200].split("\n", 1)[0]
    for word in re.split(r"[\s/]+", line[2:]):
        if word in _TABLE["shells"]:
            return "shell"
        for prefix, kind in _TABLE["interpreters"].items():
            if word == prefix or re.fullmatch(rf"{prefix}[\d.]{{1,6}}", word):
                return cast("Kind", kind)
    return "code" if re.search(r"/(?:perl|ruby|php|lua|awk|tclsh|osascript|Rscript|env\s)", line) else None


def _unmarked(text: str) -> Kind | None:
    """Return the language of a script in a file that is named as Markdown but contains none."""
    head = text[:_HEAD]
    if head.startswith("---") or "```" in head or "](" in head:
        return None
    return _script(head, 0.9, 3)


def _scripted(path: str, text: str, named: Kind | None) -> Kind:
    begin = text[:400].lstrip().lower()
    if begin.startswith(("<!doctype", "<html", "<svg", "<?xml")) or (named == "html" and begin.startswith("<")):
        return "html"
    if begin[:1] in ("{", "[") and (named == "json" or (text.rstrip()[-1:] in ("}", "]") and '":' in text[:4000])):
        return "json"
    if begin.startswith("---\n") and "\n---" in text[:_HEAD]:
        return named or "markdown"
    found = _script(text[:_HEAD], 0.75, 1) if extension(path) in _DATA or named is None else None
    return found or named or "text"


def _script(text: str, share: float, least: int) -> Kind | None:
    """Return the language of a script without a shebang: one line is unmistakable, and most lines look like it."""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")][:200]
    if len(lines) < least:
        return None
    for kind, signs, sure, like in _LANGUAGES:
        if not any(sign in text for sign in signs) or not any(map(sure.match, lines)):
            continue
        if sum(like.match(line) is not None for line in lines) >= share * len(lines):
            return kind
    return None

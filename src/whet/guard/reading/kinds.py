"""What a file is: programs, archives and media by their first bytes, texts by what they say and then by their name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression

if TYPE_CHECKING:
    from whet.guard.documents import Kind

ARCHIVES = frozenset({"zip", "gzip", "bzip2", "xz", "lzma", "tar"})
"""Containers that are looked into."""
SEALED = frozenset({"7z", "rar", "cab", "iso", "dmg", "xar", "zstd", "ar", "rpm", "lz4"})
"""Containers that are not."""
PROGRAMS = frozenset({"elf", "pe", "mach-o", "java class", "wasm", "pyc", "dex", "shortcut"})

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"PK\x07\x08", "zip"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"]\0\0\x80\0", "lzma"),
    (b"]\0\0\0\x01", "lzma"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"MSCF\0\0\0\0", "cab"),
    (b"xar!\0", "xar"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"!<arch>\n", "ar"),
    (b"\xed\xab\xee\xdb", "rpm"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
    (b"\x7fELF", "elf"),
    (b"\xfe\xed\xfa\xce", "mach-o"),
    (b"\xfe\xed\xfa\xcf", "mach-o"),
    (b"\xce\xfa\xed\xfe", "mach-o"),
    (b"\xcf\xfa\xed\xfe", "mach-o"),
    (b"\xca\xfe\xba\xbe\0\0\0", "java class"),
    (b"\0asm\x01\0\0\0", "wasm"),
    (b"dex\n03", "dex"),
    (b"L\0\0\0\x01\x14\x02\0", "shortcut"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"RIFF", "riff"),
    (b"%PDF-", "pdf"),
    (b"\x93NUMPY", "data"),
    (b"SQLite format 3\0", "data"),
    (b"PAR1", "data"),
    (b"ARROW1", "data"),
    (b"\x89HDF\r\n", "data"),
    (b"GGUF", "data"),
    (b"glTF", "data"),
    (b"bplist00", "data"),
    (b"\0\x05\x16\x07", "data"),
    (b"\xde\x12\x04\x95", "data"),
    (b"\x95\x04\x12\xde", "data"),
    (b"TZif", "data"),
    (b"\0\0\0\1Bud1", "data"),
    (b"II*\0", "media"),
    (b"MM\0*", "media"),
    (b"\0\0\1\0", "media"),
    (b"\0\0\2\0", "media"),
    (b"8BPS\0", "media"),
    (b"\x1aE\xdf\xa3", "media"),
    (b"OggS\0", "media"),
    (b"fLaC", "media"),
    (b"ID3", "media"),
    (b"\xff\xfb", "media"),
    (b"\xff\xf3", "media"),
    (b"MThd\0", "media"),
    (b"wOFF", "media"),
    (b"wOF2", "media"),
    (b"OTTO\0", "media"),
    (b"ttcf\0", "media"),
    (b"true\0", "media"),
    (b"\0\1\0\0", "media"),
)
_BY_FIRST = {mark[0]: tuple(pair for pair in _MAGIC if pair[0][0] == mark[0]) for mark, _ in _MAGIC}
_TEXTUAL = frozenset({"gif", "riff", "pdf", "media", "data", "dex", "ar"})  # magics that a text can begin with too


def magic(data: bytes) -> str:
    """What the bytes are: one of the names above, `png`, `jpeg`, `pdf`, `pickle`, `media`, `data` and so on; empty
    when they are text or unknown."""
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
    if head[4:8] == b"ftyp":
        return "media"
    if head[:2] == b"BM" and data[6:10] == b"\0\0\0\0" and 0 in head:
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
    length = int.from_bytes(data[:8], "little")
    if data[8:9] == b"{" and 2 < length < len(data) and data[8 : 8 + length].rstrip()[-1:] == b"}":
        return "data"  # tensors
    return ""


def is_pyc(head: bytes) -> bool:
    """Whether bytes begin like compiled Python 3."""
    return (
        len(head) >= 16
        and head[1] in (0x0C, 0x0D, 0x0E)
        and head[2:4] == b"\r\n"
        and head[4] <= 3
        and not any(head[5:8])
    )


def _plain(data: bytes) -> bool:
    return not data.translate(None, bytes(range(32, 127)) + b"\t\r\n")


_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "busybox", "tcsh", "csh"})
_INTERPRETERS: tuple[tuple[str, Kind], ...] = (
    ("python", "python"),
    ("pypy", "python"),
    ("uv", "python"),
    ("node", "javascript"),
    ("deno", "javascript"),
    ("bun", "javascript"),
    ("tsx", "javascript"),
    ("ts-node", "javascript"),
    ("pwsh", "powershell"),
    ("powershell", "powershell"),
)
_EXTENSIONS_OF: tuple[tuple[Kind, str], ...] = (
    ("markdown", "md markdown mdx mdc mkd rst adoc"),
    ("python", "py pyw pyi pyx"),
    ("shell", "sh bash zsh ksh fish command bats envrc profile bashrc zshrc bash_profile"),
    ("powershell", "bat cmd ps1 psm1 psd1"),
    ("javascript", "js mjs cjs jsx ts mts cts tsx"),
    ("json", "json jsonc json5 jsonl webmanifest ipynb"),
    ("yaml", "yaml yml"),
    ("toml", "toml"),
    ("html", "html htm xhtml svg xml vue svelte astro hta"),
    ("code", "rb pl pm php go rs java c h cc cpp cxx hpp cs swift kt kts lua r sql awk scala ex exs erl hs clj"),
    ("code", "dart jl m mm scpt applescript vbs reg gradle groovy nim zig v tf proto tcl"),
)
_EXTENSIONS: dict[str, Kind] = {name: kind for kind, names in _EXTENSIONS_OF for name in names.split()}
_DATA_NAMES = (
    "png jpg jpeg gif webp bmp ico tif tiff heic avif pdf mp3 mp4 wav ogg flac mov avi mkv webm woff woff2 ttf otf eot"
    " dat bin db sqlite parquet npy npz pkl csv tsv json jsonl xml svg lock log map css zip gz tar docx xlsx pptx"
)
_DATA = frozenset(_DATA_NAMES.split())
_NAMES: dict[str, Kind] = {
    "dockerfile": "code",
    "makefile": "code",
    "justfile": "code",
    "rakefile": "code",
    "gemfile": "code",
}

_PYTHON = expression(
    r"(?:from\s[\w.]{1,60}\simport\s|import\s[a-z_][\w.]{0,60}(?:\s*$|\sas\s|,)|def\s\w{1,60}\(|class\s\w{1,60}[(:]"
    r"|(?:with|for|while|if|elif|try|else|except)\b[^#]{0,200}:\s*$|\s{4,}\S|@\w|print\(|exec\(|eval\("
    r"|\w{1,40}(?:\.\w{1,40}){0,5}\s?=[^=]|\w{1,40}(?:\.\w{1,40}){1,5}\()"
)
_PYTHON_SURE = expression(
    r"from\s[\w.]{1,60}\simport\s\w|def\s\w{1,60}\([^\n]{0,200}\)[^\n]{0,60}:\s*$|exec\(|eval\("
    r"|import\s(?:os|sys|re|json|base64|subprocess|socket|urllib|requests|shutil|ctypes|time|pathlib|threading)\b(?!\s\w)"
)
_COMMANDS = (
    "sudo|curl|wget|echo|export|source|cd|mkdir|rm|cp|mv|chmod|chown|apt|apt-get|brew|pip3?|npm|npx|git|bash|sh|zsh"
    "|python3?|node|cat|tar|unzip|eval|exec|set|unset|nohup|printf|crontab|sed|awk|grep|kill|sleep|read|local|trap"
    "|exit|return|declare"
)
_SHELL = expression(
    rf"(?:(?:{_COMMANDS})\s[-\"'$/~.\w]|[A-Za-z_]\w{{0,40}}=\S{{0,200}}|if\s\[|for\s\w+\sin\b|while\s|case\s.{{1,80}}\sin$"
    r"|(?:fi|done|then|do|else|esac|\})$|[\w-]{1,40}\(\)\s?\{|\s{2,}\S)"
)
_SHELL_SURE = expression(
    r"\s{0,8}(?:(?:curl|wget)\s[^\n]{0,300}(?:\||-o\s|https?://)|export\s\w{1,40}=|set\s-[euxo]|sudo\s[a-z]|eval\s[\"'$`]"
    r"|if\s\[{1,2}\s|chmod\s[+0-7]|for\s\w{1,30}\sin\s[^\n]{0,200};\s?do|rm\s-[rf]{1,2}\s|bash\s-[ci]\b"
    r"|echo\s[^\n]{0,2000}\|\s?(?:base64|bash|sh)\b)"
)
_JAVASCRIPT_SURE = expression(
    r"(?:const|let|var)\s[\w{}\s,]{1,80}=\s?(?:require\(|await\s|async\s|\()|import\s[\w{}*\s,]{1,80}\sfrom\s[\"']"
    r"|module\.exports\s?=|\(?(?:async\s)?function\s?\w{0,40}\("
)
_JAVASCRIPT = expression(r"[^\n]{0,2000}[;{},()\[\]]\s*$|\s*//")
_POWERSHELL_SURE = expression(
    r"\s{0,8}(?:IEX|Invoke-Expression|Invoke-WebRequest|Start-Process|\$\w{1,40}\s?=\s?(?:New-Object|\[|Get-|Invoke-))",
    re.IGNORECASE,
)
_POWERSHELL = expression(
    r"\s{0,8}(?:\$\w|[A-Z][a-z]+-[A-Z]\w|IEX\b|if\s?\(|\}|foreach|param\(|function\s|try|\s)", re.IGNORECASE
)
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
    """The last extension of a path, in lower case and without its dot; a dot file's name counts as one."""
    name = path.rsplit("/", 1)[-1].lower()
    return name.rpartition(".")[2] if "." in name else ""


def kind_of(path: str, text: str) -> Kind:
    """What a text is: a shebang or an unmistakable script says it first, then the name, then how it begins."""
    named = _NAMES.get(path.rsplit("/", 1)[-1].lower()) or _EXTENSIONS.get(extension(path))
    shebang = _shebang(text)
    if shebang and named in (None, "markdown", "json", "yaml", "toml", "html", "text"):
        return shebang
    if named == "markdown":
        return _unmarked(text) or "markdown"
    if named is None or named in ("json", "html"):
        return _scripted(path, text, named)
    return named


def disguised(path: str, kind: Kind) -> bool:
    """Whether a file is named as data or a picture but is a program."""
    return extension(path) in _DATA and kind in ("python", "shell", "javascript", "powershell")


def _shebang(text: str) -> Kind | None:
    if not text.startswith("#!"):
        return None
    line = text[:200].split("\n", 1)[0]
    for word in re.split(r"[\s/]+", line[2:]):
        if word in _SHELLS:
            return "shell"
        for prefix, kind in _INTERPRETERS:
            if word == prefix or re.fullmatch(rf"{prefix}[\d.]{{1,6}}", word):
                return kind
    return "code" if re.search(r"/(?:perl|ruby|php|lua|awk|tclsh|osascript|Rscript|env\s)", line) else None


def _unmarked(text: str) -> Kind | None:
    """A script in a file that is called Markdown but has no Markdown in it."""
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
    """A script without a shebang: one line that is nothing else, and most lines look like it."""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("#")][:200]
    if len(lines) < least:
        return None
    for kind, signs, sure, like in _LANGUAGES:
        if not any(sign in text for sign in signs) or not any(map(sure.match, lines)):
            continue
        if sum(like.match(line) is not None for line in lines) >= share * len(lines):
            return kind
    return None

"""Converts the bytes of a package to texts: every file, whatever its name, and the content hidden in it.

`read` returns each readable text as a `Document` in canonical spelling, with the encodings that were undone to read it, and
a hit for everything odd about the bytes themselves: disguise, hiding, programs, and content that could not be read. The
checkers judge the texts. Nothing here touches a disk, runs or unmarshals anything, or lets a package say what to leave
out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.documents import Document, Reading
from whet.guard.expression import expression
from whet.guard.finding import Hit
from whet.guard.patterns import line_of, shorten
from whet.guard.reading import canonical, containers, decoding, encodings, kinds
from whet.guard.tables import shape, words
from whet.skill.tree import escapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.guard.documents import Kind
    from whet.guard.finding import Severity
    from whet.skill.tree import Item

_MIB = 1024 * 1024
LARGEST = 24 * _MIB
"""Largest file in bytes that is read whole; of a larger one only the beginning and the end."""
END = 4 * _MIB
NESTED = 3
"""Deepest nesting of archives in archives."""
MOST_DOCUMENTS = 8_000

_WORTH_A_LOOK = shape("reading", "worth_a_look")
_SVG_SCRIPT = shape("reading", "svg_script")
_GIF_SCRIPT = expression(r"GIF8[79]a[ \t\r\n]{0,20}(?:=|/\*)")
"""The first bytes of a picture as a variable that a script assigns to, or before a comment that hides the picture."""
_OFFICE = expression(r"(?:word|ppt|xl)/[\w/.-]{1,80}\.xml", re.IGNORECASE)
_SCRIPT_NAMES = words("reading", "script_names")
_BAIT_NAMES = expression(
    r"(?:^|/)(?:\.(?:skill|skillscan|skill-scanner|semgrep|scanner|scan|snyk|gitleaks|trivy|bandit|guard|whet)[-_]?ignore"
    r"|\.snyk|\.bandit|[\w.-]{0,30}(?:skillspector|skill-scanner|skillscan)[\w.-]{0,30}(?:baseline|ignore|allow)[\w.-]{0,20})$",
    re.IGNORECASE,
)
_READERS = (
    r"(?:(?:security|malware|vulnerability|skill|code|static|ai|llm|automated|safety)[ -]){1,3}"
    r"(?:scann?ers?|review(?:er)?s?|auditors?|moderat(?:ors?|ion)|analy[sz](?:ers?|is))"
)
_BAIT = expression(
    r"\b(?:(?:note|message|attention|notice|instructions?)[ ,:]{1,3}(?:to |for )?(?:the |any |all )?|dear )"
    rf"{_READERS}\b[^\n]{{0,120}}?"
    r"\b(?:safe|skip|ignore|benign|harmless|approved?|do not (?:flag|report|scan)|false positives?|whitelisted)\b"
    rf"|\b{_READERS} (?:must|should|can|may)(?: safely)? (?:ignore|skip|approve|mark|whitelist|disregard) "
    r"(?:this|these|the following|all)\b"
    r"|\b(?:mark|classify|rate|report|label) (?:this|the) (?:skill|file|package|script) as "
    r"(?:safe|benign|clean|harmless)\b",
    re.IGNORECASE,
)
_BAIT_WORDS = (
    *("scanner", "reviewer", "auditor", "moderator", "analyzer", "analyser", "security scan", "security review"),
    *("static analysis", "as safe", "as benign", "as clean", "as harmless"),
)
_MODULES = rb"(?:os|posix|nt|subprocess|builtins|__builtin__|runpy|pty|importlib)"
_FUNCTIONS = rb"(?:system|popen|Popen|call|run|check_output|exec|eval|compile|__import__|import_module|spawn)"
_PICKLED_CODE = re.compile(
    rb"c" + _MODULES + rb"\n" + _FUNCTIONS + rb"\n|\x8c." + _MODULES + rb"\x94?\x8c." + _FUNCTIONS + rb"\x94?\x93",
    re.DOTALL,
)


def read(files: Mapping[str, Item]) -> Reading:
    """Return the readable texts of a package, and the hits found while reading."""
    reader = _Reader(files)
    for path in sorted(files):
        item, spot = files[path], Spot(path)
        reader.name(path)
        if item.link:
            target = item.data.decode("utf-8", "surrogateescape")
            if escapes(path, target):
                reader.hit(spot, "link-escapes", f"{path} -> {shorten(target)}")
        else:
            reader.file(spot, item.data, executable=item.executable)
    return Reading(tuple(reader.documents), tuple(dict.fromkeys(reader.hits)))


class Spot(NamedTuple):
    """A place in a package: the file, the encodings undone, the line, and the number of archives around it."""

    path: str
    via: tuple[str, ...] = ()
    line: int = 1
    depth: int = 0

    def at(self, text: str, offset: int) -> Spot:
        """Return the place of an offset in a text that begins here."""
        return self._replace(line=self.line + line_of(text, offset) - 1)

    def under(self, *how: str) -> Spot:
        """Return the same place after more encodings are undone."""
        return self._replace(via=(*self.via, *how))


class _Reader:
    """The texts and hits of one package so far."""

    __slots__ = ("budget", "documents", "hits", "sources")

    def __init__(self, files: Mapping[str, Item]) -> None:
        self.sources = {path: len(item.data) for path, item in files.items() if path.endswith(".py") and not item.link}
        self.budget = containers.Budget()
        self.documents: list[Document] = []
        self.hits: list[tuple[str, Hit]] = []

    def hit(self, spot: Spot, rule: str, evidence: str, severity: Severity | None = None) -> None:
        self.hits.append((spot.path, Hit(rule, spot.line, evidence, severity)))

    def add(self, spot: Spot, kind: Kind, text: str) -> None:
        if len(self.documents) < MOST_DOCUMENTS:
            self.documents.append(Document(spot.path, kind, text, spot.line, spot.via))
        elif len(self.documents) == MOST_DOCUMENTS:
            self.hit(Spot(spot.path), "not-analysed", f"more than {MOST_DOCUMENTS} texts in one package")

    def name(self, path: str) -> None:
        """Report a file name that deceives like any other text can."""
        if not path.isascii():
            _, hits = canonical.canonical(path.replace("/", " "))
            self.hits += [(path, hit._replace(line=1)) for hit in hits]

    def file(self, spot: Spot, data: bytes, *, executable: bool = False) -> None:
        """Read one file, or content that is treated like a file."""
        if _BAIT_NAMES.search(spot.path):
            self.hit(spot, "scanner-bait", "a file that tells scanners what to leave out")
        what = kinds.magic(data)
        if len(data) > LARGEST and what not in kinds.ARCHIVES:
            self.hit(spot, "too-large", f"{len(data)} bytes; the first and the last {END} were read")
            for part, before in ((data[:END], 0), (data[-END:], data.count(b"\n", 0, len(data) - END))):
                decoded = encodings.decode(part)
                if decoded is not None:
                    self.text(spot._replace(line=spot.line + before), decoded.text)
        elif what in kinds.ARCHIVES:
            self.archive(spot, data, what)
        elif what in kinds.SEALED or what == "ole":
            self.sealed(spot, data, what)
        elif what == "pyc":
            self.compiled(spot, data)
        elif what in kinds.PROGRAMS:
            self.program(spot, data, what)
        elif what in ("png", "jpeg", "gif", "riff", "pdf"):
            self.media(spot, data, what)
        else:
            self.unmarked(spot, data, what, executable=executable)

    def unmarked(self, spot: Spot, data: bytes, what: str, *, executable: bool) -> None:
        """Read text, or bytes of an unknown kind."""
        start = containers.zip_at_end(data)
        if start > 0 and not what:
            severity: Severity = "warn" if data.startswith(b"#!") else "critical"
            self.hit(spot, "trailing-data", "an archive follows the text", severity)
            self.archive(spot, data[start:], "zip")
            data = data[:start]
        decoded = encodings.decode(data) if not what else None
        if decoded is not None:
            self.encoded(spot, decoded)
            return
        if data.startswith(b"#!"):
            head = data[: data.index(0)] if 0 in data else data[:END]
            self.hit(spot, "trailing-data", f"{len(data) - len(head)} bytes that are not text follow a script")
            self.text(spot, head.decode("utf-8", "replace"))
        if what == "pickle":
            self.pickle(spot, data)
        elif not what:
            suspicious = executable or kinds.extension(spot.path) in _SCRIPT_NAMES
            self.hit(spot, "unknown-binary", f"{len(data)} bytes of no known kind", "warn" if suspicious else None)
        self.words(spot, data)

    def pickle(self, spot: Spot, data: bytes) -> None:
        """Report pickled data that names code to execute; it is searched, never loaded."""
        match = _PICKLED_CODE.search(data)
        if match:
            self.hit(spot, "pickle-code", repr(match[0])[2:-1])

    def words(self, spot: Spot, data: bytes) -> None:
        """Add the addresses and commands among the printable strings of a binary."""
        found, room = [], 200_000
        for run in encodings.strings(data):
            if _WORTH_A_LOOK.search(run):
                found.append(run)
                room -= len(run)
            if room < 0:
                break
        if found:
            self.add(spot.under("strings"), "text", "\n".join(found))

    def encoded(self, spot: Spot, decoded: encodings.Decoded) -> None:
        """Read a decoded text, and report oddities of its encoding."""
        text = decoded.text
        for word in decoded.broken[:5]:
            self.hit(spot, "damaged-text", word)
        kind = "javascript" if _GIF_SCRIPT.match(text) else kinds.kind_of(spot.path, text)
        if decoded.encoding[:6] in ("utf-16", "utf-32") and (
            kind not in ("powershell", "text", "html", "json") or not decoded.marked
        ):
            self.hit(spot, "odd-encoding", f"{kind} in {decoded.encoding}", "info" if kind == "text" else None)
        if kind == "python" and "coding" in text[:400]:
            text, named = encodings.cooked(text)
            if named:
                self.hit(spot, "odd-encoding", f"Python source that is decoded as {named}", "critical")
        self.text(spot, text, kind if _GIF_SCRIPT.match(text) else None)

    def text(self, spot: Spot, text: str, kind: Kind | None = None, *, inner: bool = False) -> None:
        """Read a text and everything hidden in it; `inner` is set for text that was already decoded, layer by layer."""
        for how, offset, said in canonical.concealed(text):
            self.add(spot.at(text, offset).under(how), kinds.kind_of("", said), said)
        path, text = spot.path, text.removeprefix("\ufeff")
        plain, hits = canonical.canonical(text)
        kind = kind or kinds.kind_of(path if not inner else "", plain)
        hits = (*hits, *canonical.padding(plain))
        self.hits += [(path, hit._replace(line=spot.line if inner else spot.line + hit.line - 1)) for hit in hits]
        if not inner and kinds.disguised(path, kind):
            self.hit(spot, "disguised-script", f"{kind} in a file called {path.rsplit('/', 1)[-1]}")
        if kind == "json" and kinds.extension(path) == "ipynb" and self.notebook(spot, plain):
            return
        self.add(spot, kind, plain)
        self.bait(spot, plain)
        if kind == "html" and (kinds.extension(path) == "svg" or plain[:200].lstrip()[:4].lower() == "<svg"):
            for match in list(_SVG_SCRIPT.finditer(plain))[:3]:
                evidence = shorten(plain[match.start() : match.start() + 120])
                self.hit(spot.at(plain, match.start()), "svg-script", evidence)
        if not inner:
            self.hidden(spot, plain)

    def hidden(self, spot: Spot, text: str) -> None:
        """Read the encoded content of a text."""
        found = decoding.hidden(text)
        if len(found) >= decoding.MOST or sum(len(piece.text) for piece in found) >= decoding.ROOM:
            evidence = f"more than {decoding.MOST} encoded texts, or larger ones than are read"
            self.hit(spot, "not-analysed", evidence)
        for piece in found:
            where = spot.at(text, piece.offset).under(*piece.via)
            if piece.text:
                self.text(where, piece.text, inner=True)
                continue
            what = kinds.magic(piece.data)
            evidence = f"{what} in {' in '.join(reversed(piece.via))}"
            if what in kinds.PROGRAMS:
                self.hit(where, "encoded-executable", evidence, "warn" if what == "wasm" else None)
                self.words(where, piece.data)
            elif what in kinds.ARCHIVES:
                self.archive(where._replace(depth=1), piece.data, what)
            elif what in kinds.SEALED:
                self.hit(where, "unreadable-archive", evidence)
            elif what == "pickle":
                self.pickle(where, piece.data)

    def bait(self, spot: Spot, text: str) -> None:
        """Report sentences that tell a scanner or a reviewer to look away."""
        lowered = text.lower()
        for word in _BAIT_WORDS:
            at = lowered.find(word)
            for _ in range(100):
                if at < 0:
                    break
                match = _BAIT.search(text, max(0, at - 80), at + 200)
                if match:
                    self.hit(spot.at(text, match.start()), "scanner-bait", shorten(match[0]), "warn")
                    return
                at = lowered.find(word, at + 120)

    def notebook(self, spot: Spot, text: str) -> bool:
        """Read the cells of a notebook, and return whether the text is one."""
        import json

        try:
            book = json.loads(text) if len(text) <= 2 * END else None
        except (ValueError, RecursionError):
            book = None
        cells = book.get("cells") if isinstance(book, dict) else None
        if not isinstance(cells, list):
            return False
        at = 0
        code: list[tuple[int, str]] = []
        for cell in cells:
            if not isinstance(cell, dict):
                continue
            source = _source(cell.get("source"))
            begin = (
                text.find(json.dumps(source.split("\n", 1)[0], ensure_ascii=False)[1:-1], at) if source.strip() else -1
            )
            at = begin if begin >= 0 else at
            where = spot.at(text, at)
            if source.strip() and cell.get("cell_type") == "code":
                code.append((where.line, source))
            elif source.strip():
                self.text(where.under("notebook"), source, "markdown")
            for shown in _html_outputs(cell):
                self.text(where.under("notebook output"), shown, "html")
        for line, source in _one_program(code):
            self.text(spot.under("notebook")._replace(line=line), source, "python")
        return True

    def archive(self, spot: Spot, data: bytes, what: str) -> None:
        """Read the members of an archive as files of the package."""
        if spot.depth >= NESTED:
            self.hit(Spot(spot.path), "not-analysed", f"an archive inside {NESTED} others")
            return
        inside = containers.unpack(data, what, spot.path, self.budget)
        self.hits += [(spot.path, hit._replace(line=spot.line)) for hit in inside.hits]
        programs = (part for part in inside.parts if part.name.endswith(".py"))
        self.sources |= {f"{spot.path}!/{part.name}": len(part.data) for part in programs}
        office = any(part.name == "[Content_Types].xml" for part in inside.parts)
        deeper = spot.depth + (what in ("zip", "tar"))
        for part in inside.parts:
            within = Spot(f"{spot.path}!/{part.name}", (*spot.via, what), depth=max(deeper, 1))
            if part.name.lower().endswith("vbaproject.bin"):
                self.hit(spot, "office-macro", part.name)
                self.words(within, part.data)
            elif office and _OFFICE.fullmatch(part.name):
                self.text(within, _without_tags(part.data), "text")
            elif what in ("zip", "tar") and kinds.magic(part.data) in kinds.PROGRAMS - {"pyc"}:
                where = spot.under(what)._replace(depth=deeper)
                self.program(where, part.data, kinds.magic(part.data), member=part.name)
            else:
                self.file(within, part.data, executable=part.executable)

    def sealed(self, spot: Spot, data: bytes, what: str) -> None:
        """Report containers that are not opened, and read legacy office files."""
        if what != "ole":
            self.hit(spot, "unreadable-archive", f"{what} archives are not opened")
            return
        if "_VBA_PROJECT".encode("utf-16-le") in data:
            self.hit(spot, "office-macro", "a macro project")
        if "EncryptedPackage".encode("utf-16-le") in data:
            self.hit(spot, "locked-archive", "an office file with a password", "warn")
        elif kinds.extension(spot.path) in ("msi", "msp"):
            self.hit(spot, "unreadable-archive", "installers are not opened")
        self.words(Spot(spot.path), data)

    def program(self, spot: Spot, data: bytes, what: str, member: str = "") -> None:
        """Report native programs and libraries, once per archive."""
        path = spot.path
        if not any(at == path and hit.rule == "native-executable" for at, hit in self.hits):
            self.hit(spot, "native-executable", f"{what}: {member or path.rsplit('/', 1)[-1]}")
        self.words(spot._replace(path=f"{path}!/{member}") if member else spot, data)
        start = containers.zip_at_end(data)
        if start > 0:
            self.archive(spot._replace(depth=spot.depth + 1), data[start:], "zip")

    def compiled(self, spot: Spot, data: bytes) -> None:
        """Read the strings of compiled Python, and report whether it can come from the source beside it."""
        folder, _, name = spot.path.rpartition("/")
        stem = name.split(".", 1)[0]
        homes = [folder, folder.rpartition("/")[0]] if folder.endswith("__pycache__") else [folder]
        places = [f"{home}/{stem}.py" if home else f"{stem}.py" for home in homes]
        size = next((self.sources[place] for place in places if place in self.sources), None)
        if size is None:
            self.hit(spot, "compiled-python", "no source of that name is beside it")
        elif data[4:8] == b"\0\0\0\0" and int.from_bytes(data[12:16], "little") != size & 0xFFFFFFFF:
            self.hit(spot, "compiled-python", "it was not made from the source beside it")
        else:
            self.hit(spot, "compiled-python", "its source is beside it", "warn")
        said = "\n".join(encodings.strings(data[16:END]))
        if said:
            self.add(spot.under("compiled python"), "text", said)

    def media(self, spot: Spot, data: bytes, what: str) -> None:
        """Read pictures and PDF: data after their end, metadata, active content."""
        said = containers.words_of_image(data, what)
        if said:
            self.text(spot.under("metadata"), said, "text", inner=True)
        if what == "pdf" and (actions := containers.pdf_actions(data)):
            self.hit(spot, "pdf-active", ", ".join(actions))
        start = containers.zip_at_end(data)
        rest = data[start:] if start > 0 else containers.rest_of_image(data, what)
        if len(rest) >= 16:
            self.trailing(spot, rest, what)

    def trailing(self, spot: Spot, rest: bytes, what: str) -> None:
        trails = kinds.magic(rest)
        text = decoding.readable(rest) if not trails else ""
        if trails in ("jpeg", "media", "png") or b"SEFT" in rest[-8:] or (what == "pdf" and not trails and not text):
            return
        kind = kinds.kind_of("", text)
        grave = trails in kinds.ARCHIVES | kinds.SEALED | kinds.PROGRAMS or (
            text and kind not in ("text", "markdown", "html", "json")
        )
        evidence = f"{trails or (kind if text else 'bytes')} after the end of a {what}"
        self.hit(spot, "trailing-data", evidence, "critical" if grave else None)
        behind = spot.under(f"after {what}")
        if text:
            self.text(behind, text, kind, inner=True)
            self.hidden(behind, text)
        elif trails in kinds.ARCHIVES:
            self.archive(behind, rest, trails)
        else:
            self.words(behind, rest)


def _one_program(cells: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the code of a notebook as one program if it parses as one; line numbers are kept if possible."""
    from whet.guard.python.checker import parses

    plain = [(line, source) for line, source in cells if not source.lstrip().startswith("%%")]
    rows: list[str] = []
    for line, source in plain:
        rows += [""] * (line - plain[0][0] - len(rows))
        rows += source.split("\n")
    whole = "\n".join(rows)
    if len(plain) < 2 or not parses(whole):
        return cells
    return [(plain[0][0], whole), *(cell for cell in cells if cell not in plain)]


def _source(value: object) -> str:
    lines: Iterable[object] = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _html_outputs(cell: dict[str, object]) -> Iterable[str]:
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        html = _source(data.get("text/html")) if isinstance(data, dict) else ""
        if html.strip():
            yield html


def _without_tags(data: bytes) -> str:
    """Return the text of an office file, one line per paragraph."""
    text = data.decode("utf-8", "replace")
    text = re.sub(r"</(?:w:p|a:p|si|row)>", "\n", text)
    return re.sub(r"<[^<>]{0,4000}>", "", text)

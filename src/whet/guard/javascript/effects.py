"""What the calls of a JavaScript file come to: sending, executing, writing, removing, each judged by what goes in.

Commands for a shell are in `commands`, what follows from all of a file together in `watching`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from whet.guard.hosts import host_of, is_unsafe
from whet.guard.javascript.values import everything, written
from whet.guard.places import places
from whet.guard.taint.execute import judge_started
from whet.guard.taint.files import PROJECT, PROJECT_FILES, is_project, judge_kept
from whet.guard.taint.findings import Findings
from whet.guard.taint.harm import is_ransom_note, judge_removed
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark
from whet.guard.taint.network import judge_address, judge_lookup, judge_request
from whet.guard.taint.persist import judge_written, written_places
from whet.guard.taint.value import Value, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tree_sitter import Node

    from whet.guard.finding import Seen, Severity
    from whet.guard.javascript.program import Program
    from whet.guard.taint.mark import Kind

_URL = re.compile(r"(?:https?|wss?|ftp|dns|tcp|udp|smtp)://", re.IGNORECASE)
PRIVATE: tuple[Kind, ...] = ("secret", "env", "key", "captured")
"""Marks of what nobody wants to leave the machine."""
_AT_HOME = re.compile(r"(?:~|/home|/Users|/root|[A-Za-z]:[\\/]Users)(?:[\\/]|$)|/?$")
_CODE = re.compile(r"[(=;]|=>|\brequire\b|\bimport\b")
_IDLE = frozenset({"return this", "return this;", "return this()", "this", "require", "module", "return import(s)"})


class Effects(Findings):
    """What the calls of one file do."""

    def __init__(self, level: int, read_inner: Callable[[str, int], Seen]) -> None:
        super().__init__(level, read_inner)
        self.program: Program | None = None
        self.node: Node | None = None

    def evidence(self) -> str:
        """The source of what is looked at."""
        if self.node is None or self.program is None:
            return ""
        start = self.node.start_byte
        return self.program.source[start : min(self.node.end_byte, start + 400)].decode("utf-8", "replace")

    # -- sending -----------------------------------------------------------------------------------------------------

    def send(
        self, url: str | None, payload: Sequence[Value], headers: Sequence[Value] = (), address: Value | None = None
    ) -> None:
        """Something goes to a URL: the payload (also what is in the URL), and headers, where a key is in its place."""
        if address is not None:
            carried = union([Value(marks=everything(value)) for value in (*payload, *headers)])
            self.report(judge_address(address, carried - address.marks))
        known = url is not None and _URL.match(url) is not None and not url.partition("://")[2].startswith(HOLE)
        host = host_of(url) if known and url is not None else None
        if host is not None and host.near:
            return
        if url is not None and not known and url.startswith(("/", "./", "../")):
            return
        name = host.name.replace(HOLE, "*") if host else ""
        sent = union([Value(marks=everything(value)) for value in payload])
        if any(value.exact is None for value in payload):
            self.fact("sink", "network request", name, grave=host is not None and host.shady)
        if any(mark.what == "the clipboard" for mark in sent):
            self.note("sends clipboard")
        head = union([Value(marks=everything(value)) for value in headers])
        shape = " ".join(written(value) for value in payload if sent)
        self.report(judge_request(url if known and url else "", sent, head, shape))

    def looked_up(self, name: Value) -> None:
        """A name is looked up: what is in it reaches whoever answers for the name."""
        self.report(judge_lookup(name.text or "", name.marks))

    def handed(self, payload: Sequence[Value]) -> None:
        """Something is given to a client of a service, whose address is not known here."""
        marks = union([Value(marks=everything(value)) for value in payload])
        grave = frozenset(mark for mark in marks if mark.kind == "secret" and mark.grave)
        self.report(judge_request("", grave))

    def fetched(self, url: str | None) -> frozenset[Mark]:
        """The marks of what comes back from a URL."""
        text = url or ""
        self.fact("fetch", "download", host_of(text).name if _URL.match(text) else "", grave=_grave(text))
        marks = {Mark("fetched", "the network", text[:300])}
        marks.update(
            Mark("secret", place.what, place.text, place.grave, whole=True)
            for place in places(text)
            if place.kind == "secret" and place.what == "cloud metadata"
        )
        return frozenset(marks)

    # -- executing ---------------------------------------------------------------------------------------------------

    def evaluate(self, code: Value) -> None:
        """A text is run as JavaScript."""
        rule = self.foreign(code)
        if code.exact is not None and len(code.exact) > 20 and _CODE.search(code.exact):
            self.look_inside(code.exact)
        if rule:
            self.hit(*rule)
            return
        for mark in code.has("file"):
            self.fact("execute", "code read from a file", mark.subject)
        if code.exact is None or code.exact.strip() not in _IDLE:
            self.hit("runs-dynamic-code")

    def foreign(self, code: Value) -> tuple[str, Severity | None] | None:
        """The rule for code that comes from elsewhere, if it does."""
        start = (code.text or HOLE).lstrip()
        if socket := code.has("socket"):
            return ("shell-handed-over", None) if start.startswith(HOLE) and not near(socket) else None
        if code.has("decoded") and (code.exact is None or len(code.exact) > 15):
            return ("exec-decoded", None)
        for mark in code.has("fetched"):
            if near([mark]):
                continue
            if start.startswith(HOLE):
                unknown = not _URL.match(mark.subject) or mark.subject.partition("://")[2].startswith(HOLE)
                return ("exec-fetched", "warn" if unknown else None)
            if start.startswith("("):
                return ("exec-fetched", "warn")
        return None

    def started(self, path: str) -> None:
        """A file is run: was it fetched or decoded a moment ago?"""
        path = _path(path)
        if not path.strip(HOLE + "./"):
            return
        if ("/" in path or "." in path) and not path.startswith(_SYSTEM) and "://" not in path:
            self.fact("execute", "starts a file", path)
        for mark in sorted(self.files.get(path, NO_MARKS)):
            if mark.kind == "decoded" or (mark.kind == "fetched" and not near([mark])):
                self.report([judge_started(mark)._replace(subject=path)])

    # -- files -------------------------------------------------------------------------------------------------------

    def write(self, path: Value, content: Value, *, appends: bool = False) -> None:
        """A file is written."""
        foreign = content.has("fetched", "decoded")
        if content.has("encrypted"):
            self.note("writes encrypted")
        if content.text is not None and is_ransom_note(content.text):
            self.note("writes a note")
        if any(mark.what == "pressed keys" for mark in content.marks):
            self.hit("records-keys", "warn")
        self.report(judge_kept(everything(content), (path.text or "").replace(HOLE, "*")))
        for number, choice in enumerate(path.texts):
            text = _path(choice)
            if not text.strip(HOLE):
                continue
            if kept := content.has("fetched", "decoded", *PRIVATE):
                self.files[text] = self.files.get(text, NO_MARKS).union(kept)
            if number == 0:
                self.fact("write", "writes a file", text, grave=bool(foreign))
            for place in written_places(text):
                self.fact("write", place.what, text, grave=True)
            self.report(judge_written(text, written(content), content.marks, self.look, appends=appends))

    def read(self, path: Value) -> frozenset[Mark]:
        """The marks of what a file holds."""
        marks: set[Mark] = set()
        for choice in path.texts:
            text = _path(choice)
            if text.strip(HOLE) and not marks:
                marks.add(Mark("file", "a local file", text[:200]))
            marks.update(mark for mark in self.files.get(text, NO_MARKS) if mark.kind in PRIVATE)
            for place in places(text):
                if place.kind == "secret":
                    marks.add(Mark("secret", place.what, place.text, place.grave, whole=True))
                    self.fact("source", place.what, place.text, grave=place.grave)
        if PROJECT in path.marks:
            marks |= PROJECT_FILES
        if path.has("listing") and not any(mark.kind == "secret" for mark in marks):
            marks |= {mark for mark in path.marks if mark.kind in ("secret", "listing")}
        return frozenset(marks)

    def listed(self, path: Value) -> frozenset[Mark]:
        """The marks of the names in a directory."""
        for choice in path.texts:
            if _AT_HOME.match(choice):
                self.note("walks home")
        if path.name == "process.cwd" or any(map(is_project, path.texts)):
            return self.read(path) | {PROJECT}
        return self.read(path) | {Mark("listing", "names of files", _path(path.text or HOLE)[:200])}

    def remove(self, path: Value) -> None:
        """A directory is removed with all that is in it."""
        for choice in path.texts or (HOLE,):
            text = choice.rstrip()
            base, _, last = text.rpartition("/")
            if last == HOLE and any(mark.subject == base for mark in path.has("listing")):
                text = base
            self.report(judge_removed([text], whole=True))


_SYSTEM = ("/bin/", "/usr/", "/sbin/", "/opt/")


def near(marks: Iterable[Mark]) -> bool:
    """Does all of it come from this machine or its own network?"""
    return all(
        host_of(mark.subject).near if _URL.match(mark.subject) else mark.subject.startswith(("/", "./", "../"))
        for mark in marks
    )


def url_of(text: str) -> str | None:
    """The first URL of a command."""
    found = _URL.search(text)
    return text[found.start() :].split(maxsplit=1)[0].strip("\"'") if found else None


def _grave(url: str) -> bool:
    return _URL.match(url) is not None and is_unsafe(url)


def _path(text: str) -> str:
    text = text.strip().strip("\"'")
    return posixpath.normpath(text) if text and "://" not in text and len(text) < 1000 else text[:1000]

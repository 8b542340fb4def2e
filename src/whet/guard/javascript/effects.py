"""What the calls of a JavaScript file come to: sending, executing, writing, removing, each judged by what goes in.

Commands for a shell are in `commands`, what follows from all of a file together in `watching`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import host_of, is_unsafe
from whet.guard.javascript.values import everything, written
from whet.guard.places import places
from whet.guard.taint.commands import Commands, run_words
from whet.guard.taint.execute import judge_started
from whet.guard.taint.files import PROJECT, PROJECT_FILES, is_project, judge_kept
from whet.guard.taint.harm import is_ransom_note, judge_removed
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark
from whet.guard.taint.network import judge_address, judge_lookup, judge_request
from whet.guard.taint.value import NOTHING, UNKNOWN, Value, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tree_sitter import Node

    from whet.guard.finding import Seen, Severity
    from whet.guard.javascript.program import Program
    from whet.guard.taint.mark import Kind

_URL = expression(r"(?:https?|wss?|ftp|dns|tcp|udp|smtp)://", re.IGNORECASE)
PRIVATE: tuple[Kind, ...] = ("secret", "env", "key", "captured")
"""Marks of what nobody wants to leave the machine."""
_AT_HOME = expression(r"(?:~|/home|/Users|/root|[A-Za-z]:[\\/]Users)(?:[\\/]|$)|/?$")
_CODE = expression(r"[(=;]|=>|\brequire\b|\bimport\b")
_IDLE = frozenset({"return this", "return this;", "return this()", "this", "require", "module", "return import(s)"})


SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "cmd", "powershell", "pwsh"})
_WINDOWS = frozenset({"powershell", "pwsh", "cmd"})
_INTERPRETERS = SHELLS | {"node", "python", "python3", "deno", "bun", "ruby", "perl", "php", "open", "chmod", "sudo"}
_COMMAND_FLAGS = frozenset({"-c", "-lc", "-ic", "/c", "/k", "-command", "-ec", "-xc"})
_CODE_FLAGS = {
    "node": ("-e", "-p", "--eval", "-pe"), "bun": ("-e", "--eval"), "deno": ("eval",), "python": ("-c",),
    "python3": ("-c",), "ruby": ("-e",), "perl": ("-e",), "php": ("-r",),
}  # fmt: skip
_SHELL_IN = expression(
    r"\s{0,9}(?:(?:ba|z|da|k)?sh\s{1,9}-\w{0,40}c|eval|node\s{1,9}-[ep]|python3?\s{1,9}-c"
    r"|powershell\b[^\n]{0,80}-c\w{0,40}|cmd\s{1,9}/c)\s{1,9}[\"']?$"
)


class Effects(Commands):
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

    # -- commands ----------------------------------------------------------------------------------------------------

    def shell(self, command: Value, given: Value = NOTHING) -> frozenset[Mark]:
        """A text is run by a shell, with something on its input; the marks of what it prints."""
        words = [word.strip("\"'") for word in command.said.split()[:3]]
        for index in run_words(words):
            self.started(words[index])
        plain = command.but(hidden="decoded" if command.hidden == "decoded" else "")
        return self.run_command(plain, in_shell=True, given=given).marks

    def judge_origin(self, command: Value, text: str, *, shell: bool) -> None:
        """Judge a command by where its words came from."""
        rule = self.foreign(command if command.const is UNKNOWN else command.but(const=text))
        if shell and rule is None and command.has("fetched", "socket") and _SHELL_IN.match(text.partition(HOLE)[0]):
            rule = ("exec-fetched", None)
        if rule:
            self.hit(*rule)

    def program_started(self, program: Value, args: Sequence[Value], given: Value = NOTHING) -> frozenset[Mark]:
        """A program is started with arguments, without a shell; the marks of what it prints."""
        name = posixpath.basename(program.said.replace("\\", "/")).lower().removesuffix(".exe")
        texts = [arg.text for arg in args]
        for flag, code in zip(texts, args[1:], strict=False):
            if flag in _CODE_FLAGS.get(name, ()):
                self._code(name, code)
        if name in SHELLS and any((text or "").lower() in _COMMAND_FLAGS for text in texts):
            at = next(number for number, text in enumerate(texts) if (text or "").lower() in _COMMAND_FLAGS)
            printed = self.shell(args[at + 1], given) if at + 1 < len(args) else NO_MARKS
            if name not in _WINDOWS:
                return printed
        self.started(program.said)
        if name in _INTERPRETERS:
            for text in texts[:2]:
                self.started(text or "")
        if program.text is None:
            if rule := self.foreign(program):
                self.hit(*rule)
            return NO_MARKS
        words = [program.text, *(HOLE if text is None else text for text in texts)]
        return self.run_command(Value(words, marks=union((program, *args))), in_shell=False, given=given).marks

    def _code(self, name: str, code: Value) -> None:
        """A text is run by another interpreter."""
        if name in ("node", "bun", "deno"):
            self.evaluate(code)
        elif rule := self.foreign(code):
            self.hit(*rule)

    def read_path(self, path: str) -> frozenset[Mark]:
        """The marks of what is in the file at a path."""
        return self.read(Value(path))

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
            if content.text:
                self.texts[text] = content.text[:20_000]
            self.judge_file(text, content.text or written(content), content.marks, appends=appends)

    def read(self, path: Value) -> frozenset[Mark]:
        """The marks of what a file holds."""
        marks: set[Mark] = set()
        for choice in path.texts:
            text = _path(choice)
            if text.strip(HOLE) and not marks:
                marks.add(Mark("file", "a local file", text[:200]))
            marks.update(mark for mark in self.files.get(text, NO_MARKS) if mark.kind in PRIVATE)
            if found := [place for place in places(text) if place.kind == "secret"]:
                place = found[-1]
                marks.add(Mark("secret", place.what, text[:200], place.grave, whole=True))
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


def _grave(url: str) -> bool:
    return _URL.match(url) is not None and is_unsafe(url)


def _path(text: str) -> str:
    text = text.strip().strip("\"'")
    return posixpath.normpath(text) if text and "://" not in text and len(text) < 1000 else text[:1000]

"""Commands that a program passes to a shell or starts: what they run, read, send and print, and their inserted values.

The shell checker reads each command, and then all commands of a file in order, because one may send what another
packs.
"""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.finding import Seen
from whet.guard.hosts import URL
from whet.guard.tables import shape
from whet.guard.taint.execute import files_of, judge_origin, judge_started, run_words
from whet.guard.taint.files import below_home, plain_path
from whet.guard.taint.findings import DEEPEST, Findings
from whet.guard.taint.harm import judge_overwritten
from whet.guard.taint.mark import HOLE, NO_MARKS, Mark, comes_from
from whet.guard.taint.persist import Writing, fetches, judge_written, written_places
from whet.guard.taint.value import NOTHING, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.guard.finding import Severity
    from whet.guard.taint.shipped import Shipped

_INTERPRETER = expression(r"^\s{0,4}(?:\S{0,60}/)?(?:(ba|z|da|k)?sh|(python[\d.]{0,4}))(?:\s{1,4}-\w{0,3})?\s{0,4}$")
PRIVATE: frozenset[str] = frozenset(("secret", "env", "key", "captured"))
"""Kinds of marks whose data should not leave the machine."""
_WINDOWS = shape("taint", "windows", frame=r"\b(?:{})\b")
LOUD = expression(r"\b(?:curl|wget|nc|ncat|bash|sh|powershell|chmod|base64|rm|crontab|eval|python3?)\b", re.IGNORECASE)
"""Powerful commands."""
_REMOVES = expression(r"(?:sudo\s{1,9})?(?:rm\s{1,9}-\w{0,9}[rR]|shred\s|srm\s)")
"""A command that removes files with all that is below them; what it removes may have been found in the home directory."""
_MOST = 50


class Given(NamedTuple):
    """The data that a program passes to another program or command that it runs."""

    marks: frozenset[Mark] = NO_MARKS
    """The marks of secrets in the words of the command."""
    fed: frozenset[Mark] = NO_MARKS
    """The marks of secrets on standard input."""
    files: Mapping[str, frozenset[Mark]] = {}
    """The marks of files written before; under `HOLE`, of files whose names the program inserts."""
    variables: Mapping[str, frozenset[Mark]] = {}
    """The marks of environment variables that it sets."""
    texts: Mapping[str, str] = {}
    """The text of files written before."""
    shipped: Shipped | None = None
    """The data files of the package."""
    arguments: tuple[Value, ...] = ()
    """The words after the name of the program."""
    folder: str = ""
    """The directory in which it runs, if that is known."""


class Ran(NamedTuple):
    """The result of a command that a program runs."""

    seen: Seen = Seen()
    prints: frozenset[Mark] = NO_MARKS
    files: Mapping[str, frozenset[Mark]] = {}
    """The marks of secrets in the files that it leaves."""


class Commands(Findings):
    """The commands of one file, and what they do."""

    typed = False
    """Whether files are written by shell commands, as people do for themselves."""

    def __init__(self, level: int, read_inner: Callable[[str, int], Seen]) -> None:
        super().__init__(level, read_inner)
        self.commands: dict[str, int] = {}
        """The line of every command."""
        self._ran: dict[object, Ran] = {}
        self.texts: dict[str, str] = {}
        """The constant texts that were written, by path."""
        self.folder: str | None = None
        """The directory that the program changed to, if no program should remove it."""

    def judge_file(
        self, path: str, text: str, marks: frozenset[Mark], *, appends: bool = False, moved: bool = False
    ) -> None:
        """Judge a write to a path; a write to a start-up place or agent file is also a fact."""
        for place in written_places(path):
            self.fact("write", place.what, path, grave=True)
        self.report(judge_overwritten([path]))
        self.report(judge_written(Writing(path, text, marks, appends, self.typed, moved), self.is_bad, self.look))

    def is_bad(self, script: str) -> bool:
        """Return whether a script should not run repeatedly and unseen."""
        return fetches(script)

    def under(self, path: str) -> frozenset[Mark]:
        """Return the marks of data that was written to a path or below it."""
        path = plain_path(path)
        marks = self.files.get(path, NO_MARKS)
        if len(self.files) < 200 and len(path) > 3:
            for other, more in self.files.items():
                if more and other.startswith(path) and other[len(path) :].startswith("/"):
                    marks |= more
        return marks

    def above(self, path: str) -> frozenset[Mark]:
        """Return the marks of data that was written to a path or unpacked into a directory above it."""
        path = plain_path(path)
        marks = self.files.get(path, NO_MARKS)
        folder = path.rpartition("/")[0]
        while len(folder) > 3 and not marks:
            marks = self.files.get(folder, NO_MARKS)
            folder = folder.rpartition("/")[0]
        return marks

    def run_files(self, marks: frozenset[Mark]) -> None:
        """Judge the run of a file that the program wrote, by the origin of its content."""
        for mark in sorted(marks):
            if mark.kind in ("fetched", "decoded"):
                one = judge_started(mark)
                own = files_of(marks) if mark.kind == "decoded" else []
                self.hit(one.rule, one.severity, own[0] if own else one.subject, one.message)

    def run_command(
        self,
        command: Value,
        *,
        in_shell: bool,
        given: Value = NOTHING,
        keys: Iterable[str] = (),
        folder: str = "",
        variables: Mapping[str, Value] = {},
    ) -> Value:
        """Judge a command, given as text for a shell or as a list of words, and return its output.

        `given` is its input; `keys` are the files that it names by variables of the program; `folder` is where it runs,
        and `variables` are in its environment.
        """
        words = [part if isinstance(part, str) else HOLE for part in command.const] if _listed(command) else []
        raw = " ".join(words) or command.said
        text = shlex.join(words) or raw
        self.fact("execute", "a shell command" if in_shell else "a program", text[:200])
        self.run_files(self._written_before(words, raw))
        if given is not NOTHING:
            self.feed(raw, given)
        self._push(raw)
        if _REMOVES.match(raw) and below_home(command):
            self.hit("wipe-home", None, raw.replace(HOLE, "...")[:80])
        if (one := judge_origin(self, command, raw, shell=in_shell)) is not None:
            self.report([one])
        prints = NO_MARKS
        if raw.replace(HOLE, "").strip():
            texts = {path: written for path, written in self.texts.items() if path in raw}
            folder = folder or self.folder or ""
            named = {name: private(value.marks) for name, value in variables.items() if name in raw and value.marks}
            start = Given(private(command.marks), private(given.marks), self._files(keys), named, texts, folder=folder)
            prints = self._check(command, text, start, shell=in_shell)
        return Value(marks=prints, path=raw[:2000])

    def _files(self, keys: Iterable[str]) -> dict[str, frozenset[Mark]]:
        """Return the marks of secrets in files written before, and in those that the variables `keys` name."""
        found = {path: kept for path, marks in self.files.items() if (kept := private(marks)) and path[0] != "$"}
        if named := private(NO_MARKS.union(*(self.files.get(key, NO_MARKS) for key in keys))):
            found[HOLE] = named
        return found

    def feed(self, text: str, content: Value) -> None:
        """Judge the input that is passed to a program."""
        if text.lstrip().startswith("crontab"):
            self.judge_file("crontab", content.said, content.marks, appends=True)
        elif (interpreter := _INTERPRETER.match(text)) is not None:
            if comes_from(content.marks, "fetched"):
                self.hit("exec-fetched", None, "", "It passes downloaded text to an interpreter")
            elif comes_from(content.marks, "decoded"):
                self.hit("exec-decoded", None, "", "It passes decoded text to an interpreter")
            elif content.text:
                self.look(content.text, bool(interpreter[2]))
        elif fed := private(content.marks):
            self._check(Value(text), text, Given(fed=fed), shell=False)

    def check_together(self) -> None:
        """Check all commands of the file together as one script."""
        if len(self.commands) < 2:
            return
        rows: list[str] = []
        lines: list[int] = []
        for number, (text, line) in enumerate(self.commands.items()):
            one = text.replace(HOLE, f"value{number}")[:20_000]
            rows.append(one)
            lines += [line] * (one.count("\n") + 1)
        seen: Seen = import_module("whet.guard.shell.checker").check("\n".join(rows))
        for hit in seen.hits:
            self.line = lines[min(hit.line, len(lines)) - 1]
            self.adopt(seen._replace(hits=(hit,), facts=()))

    def _written_before(self, words: list[str], text: str) -> frozenset[Mark]:
        """Return the marks of files written earlier that are now run, as the program or by an interpreter."""
        marks = NO_MARKS
        if not self.files:
            return marks
        for index in run_words(words):
            marks |= self.above(words[index])
        for part in re.split(r"&&|\|\||[;|&\n]", text[:4000]) if not words else ():
            pieces = part.split()
            for index in run_words(pieces):
                marks |= self.files.get(plain_path(pieces[index]), NO_MARKS)
        return marks

    def _push(self, text: str) -> None:
        """Report a repository that is pushed after a secret was copied into it."""
        if not text.startswith("git push"):
            return
        for path, marks in self.files.items():
            for mark in sorted(marks):
                grave = mark.kind == "env" or (mark.kind == "secret" and mark.grave)
                if grave and not path.startswith(("/", "~")):
                    address = URL.search(text)
                    message = f"The code copies {mark.what} to {path} and pushes the repository"
                    self.hit("secret-sent", None, address[0] if address else "", message)
                    return

    def _check(self, command: Value, text: str, given: Given, *, shell: bool) -> frozenset[Mark]:
        """Check a command with the shell checker, and return the marks of its output."""
        if self.level >= DEEPEST:
            return NO_MARKS
        if len(self.commands) < _MOST:
            self.commands.setdefault(text, self.line)
        held = (frozenset(one.items()) for one in (given.files, given.variables, given.texts))
        key = (text, *given[:2], given.folder, *held)
        if key not in self._ran:
            self._ran[key] = import_module("whet.guard.shell.checker").run(text[:100_000], given)
        ran = self._ran[key]
        bad = self.adopt(ran.seen)
        if _WINDOWS.search(text):
            filled = text[:20_000].replace(HOLE, "X")
            hits = tuple(import_module("whet.guard.code.windows").judge_text(filled, self.level))
            bad = self.adopt(Seen(hits)) or bad
        for path, marks in ran.files.items():
            self.files[path] = self.files.get(path, NO_MARKS) | marks
        if command.hidden == "decoded":
            severity: Severity | None = None if bad or LOUD.search(text) else "warn"
            self.hit("assembled-command", severity, "", "The command is decoded or assembled from pieces")
        elif command.hidden == "split" and shell and not self.lenient and (bad or LOUD.search(text[:40])):
            self.hit("assembled-command", None if bad else "warn", "", "The command is assembled from parts of words")
        prints: frozenset[Mark] = ran.prints
        return prints


def _listed(command: Value) -> bool:
    return isinstance(command.const, (list, tuple))


def private(marks: Iterable[Mark]) -> frozenset[Mark]:
    """Return the marks of data that should not leave the machine."""
    return frozenset(mark for mark in marks if mark.kind in PRIVATE)

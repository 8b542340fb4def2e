"""Commands that a program gives to a shell or starts: what they run, read, send and print, and what is put into them.

Each command is looked at by the shell's checker, and all of a file once more one after the other, because what is
packed by one is sent by the next.
"""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of
from whet.guard.taint.execute import judge_started
from whet.guard.taint.findings import DEEPEST, Findings
from whet.guard.taint.harm import names_miner, names_wallet
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark, comes_from, subject_of
from whet.guard.taint.network import judge_request
from whet.guard.taint.persist import judge_written, written_places
from whet.guard.taint.secret import printed_by
from whet.guard.taint.value import NOTHING, UNKNOWN, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.guard.finding import Seen, Severity

_SENDER = expression(
    r"(?:^|[\s/|;&(])(curl|wget|nc|ncat|netcat|socat|scp|rsync|sftp|lftp|https?|xh|mailx?|sendmail|telnet|rclone|aws|gsutil|s3cmd)\s"
)
_REMOTE = expression(r"\s{0,4}(ssh)\s")
_LOOKER = expression(r"(?:^|[\s/|;&(])(?:nslookup|dig|host|ping|drill)\s")
_INTERPRETER = expression(r"^\s{0,4}(?:\S{0,60}/)?(?:(ba|z|da|k)?sh|(python[\d.]{0,4}))(?:\s{1,4}-\w{0,3})?\s{0,4}$")
_INTERPRETERS = expression(
    r"(?:python[\d.]*|pypy\d?|(?:ba|z|da|k)?sh|node|deno|bun|perl|ruby|php|sudo|open|xdg-open|start|nohup|env|source|\.|pwsh|powershell"
    r"|cmd|msiexec|osascript|installer|dpkg|rpm|pip\d?|chmod)(?:\.exe)?$",
    re.IGNORECASE,
)
_HEADER = expression(r"authorization|x-api-key|-H\b|--header|--user\b|-u\b", re.IGNORECASE)
PRIVATE: frozenset[str] = frozenset(("secret", "env", "key", "captured"))
"""Marks of what nobody wants to leave the machine."""
_PRINTS = expression(
    r"\s{0,9}(?:sudo\s{1,9})?(?:cat|head|tail|less|more|type|get-content|base64|xxd|hexdump|strings|grep|sqlite3|security|secret-tool)\s",
    re.IGNORECASE,
)
_PACKS = expression(r"\s{0,4}(?:tar|zip|7z|cp|mv|gzip|openssl|gpg)\s")
_DOWNLOAD = expression(r"\s{0,9}(?:curl|wget)\s")
_WINDOWS = expression(
    r"\b(?:powershell|pwsh|schtasks|vssadmin|wbadmin|bcdedit|wevtutil|certutil|bitsadmin|mshta|reg\s{1,4}add|netsh)\b",
    re.IGNORECASE,
)
_ENVIRONMENT = expression(r"\s{0,9}(?:env|printenv|set|export\s{1,9}-p|declare\s{1,9}-x)\s{0,9}(?:\||$|2>|>)")
_CLIPBOARD = expression(
    r"\b(?:pbpaste|wl-paste|get-clipboard)\b|\bxclip\b[^\n|]{0,60}\s-o\b|\bxsel\b[^\n|]{0,60}\s(?:-o|-b|--output)\b",
    re.IGNORECASE,
)
_COPIES = expression(r"\b(?:pbcopy|wl-copy|set-clipboard|clip(?:\.exe)?)\b|\|\s{0,9}(?:xclip|xsel)\b", re.IGNORECASE)
_SCREEN = expression(r"\s{0,9}(?:screencapture|scrot|gnome-screenshot|import\s{1,9}-window\s{1,9}root)\b")
LOUD = expression(r"\b(?:curl|wget|nc|ncat|bash|sh|powershell|chmod|base64|rm|crontab|eval|python3?)\b", re.IGNORECASE)
"""Words of commands that do something that matters."""
_TAKES_FILES = frozenset(("crontab", "sh", "bash", "zsh", "source", ".", "python", "python3", "at"))
_MOST = 50


def files_of(marks: frozenset[Mark]) -> list[str]:
    """The files that a value was put together from."""
    named = {mark.subject for mark in marks if mark.kind == "file" and mark.subject}
    return sorted(name for name in named if not name.startswith("$") or " and more" in name)


def run_words(words: list[str]) -> list[int]:
    """Which words of a command are run: the first, and what an interpreter is given."""
    if not words:
        return []
    if not _INTERPRETERS.match(words[0].rpartition("/")[2]):
        return [0]
    later = next((index for index, word in enumerate(words[1:], 1) if not word.startswith("-")), 0)
    return [0, later] if later else [0]


class Commands(Findings):
    """What comes of the commands of one file."""

    def __init__(self, level: int, read_inner: Callable[[str, int], Seen]) -> None:
        super().__init__(level, read_inner)
        self.commands: dict[str, int] = {}
        """Every command with the line it stands on."""
        self._seen: dict[str, list[Seen]] = {}
        self.texts: dict[str, str] = {}
        """The constant texts that were written, by path."""

    def read_path(self, path: str) -> frozenset[Mark]:
        """The marks of what is in the file at a path."""
        raise NotImplementedError

    def judge_file(self, path: str, text: str, marks: frozenset[Mark], *, appends: bool = False) -> None:
        """Judge what is written to a path."""
        for place in written_places(path):
            self.fact("write", place.what, path, grave=True)
        self.report(judge_written(path, text, marks, self.look, appends=appends))

    def under(self, path: str) -> frozenset[Mark]:
        """The marks of what was written to a path, and below it."""
        marks = self.files.get(path, NO_MARKS)
        if len(self.files) < 200 and len(path) > 3:
            for other, more in self.files.items():
                if more and other.startswith(path) and other[len(path) :].startswith("/"):
                    marks |= more
        return marks

    def above(self, path: str) -> frozenset[Mark]:
        """The marks of what was written to a path, or unpacked into a directory over it."""
        marks = self.files.get(path, NO_MARKS)
        folder = path.rpartition("/")[0]
        while len(folder) > 3 and not marks:
            marks = self.files.get(folder, NO_MARKS)
            folder = folder.rpartition("/")[0]
        return marks

    def run_files(self, marks: frozenset[Mark]) -> None:
        """A file of the program's own making is run: judged by where its content came from."""
        for mark in sorted(marks):
            if mark.kind in ("fetched", "decoded"):
                one = judge_started(mark)
                own = files_of(marks) if mark.kind == "decoded" else []
                self.hit(one.rule, one.severity, own[0] if own else one.subject, one.message)

    def run_command(self, command: Value, *, in_shell: bool, given: Value = NOTHING, keys: Iterable[str] = ()) -> Value:
        """A command, as text for a shell or as a list of words, with something on its input.

        `keys` are the files that it names by variables of the program. What comes back is what the command prints.
        """
        words = [part if isinstance(part, str) else HOLE for part in command.const] if _listed(command) else []
        raw = " ".join(words) or command.said
        text = shlex.join(word.replace(HOLE, "X") for word in words) or raw
        self.fact("execute", "a shell command" if in_shell else "a program", text[:200])
        if in_shell and files_of(command.marks):
            self.fact("assemble", "a command from files", ", ".join(files_of(command.marks)))
        self.run_files(self._written_before(words, raw))
        self._send(command, raw, keys)
        if given is not NOTHING:
            self.feed(raw, given)
        self._push(raw)
        self._give_file(raw)
        self.judge_origin(command, raw, shell=in_shell)
        if raw.replace(HOLE, "").strip():
            self._check(command, text, shell=in_shell)
        return Value(marks=self._printed(raw), path=raw[:2000])

    def judge_origin(self, command: Value, text: str, *, shell: bool) -> None:
        """Judge a command by where its words came from."""
        marks = command.marks
        whole = command.const is UNKNOWN or text.replace(HOLE, "").strip() == ""
        if shell and comes_from(marks, "fetched") and (whole or text.startswith(HOLE)):
            self.hit("exec-fetched", None, subject_of(marks, "fetched"), "It passes downloaded text to a shell")
        elif comes_from(marks, "fetched") and command.const is UNKNOWN and not comes_from(marks, "file"):
            self.hit("exec-fetched", None, subject_of(marks, "fetched"), "It runs downloaded text as a command")
        elif shell and whole and any(mark.kind == "served" and mark.what == "a socket" for mark in marks):
            severity: Severity = "critical" if "listens everywhere" in self.did else "warn"
            self.hit(
                "shell-handed-over", severity, "", "The code passes everything that it receives on a port to a shell"
            )
        elif whole and comes_from(marks, "decoded") and comes_from(marks, "file"):
            self.hit("assembled-command", None, "", "It decodes a file and runs the result as a command")
        elif shell and comes_from(marks, "decoded") and whole:
            self.hit("exec-decoded", None, "", "It passes decoded text to a shell")
        elif shell and len(files_of(marks)) >= 2 and not comes_from(marks, "fetched"):
            self.hit(
                "assembled-command", None, "", "It assembles a command from several files and passes it to a shell"
            )

    def feed(self, text: str, content: Value) -> None:
        """A program is given something on its input."""
        found = _SENDER.search(text[:400]) or _REMOTE.match(text)
        if found is not None:
            marks = frozenset(mark for mark in content.marks if mark.kind in PRIVATE)
            if marks:
                self._judge_sent(text, found[1], marks)
        elif text.lstrip().startswith("crontab"):
            self.judge_file("crontab", content.said, content.marks, appends=True)
        elif (interpreter := _INTERPRETER.match(text)) is not None:
            if comes_from(content.marks, "fetched"):
                self.hit("exec-fetched", None, "", "It passes downloaded text to an interpreter")
            elif comes_from(content.marks, "decoded"):
                self.hit("exec-decoded", None, "", "It passes decoded text to an interpreter")
            elif content.text:
                self.look(content.text, bool(interpreter[2]))

    def check_together(self) -> None:
        """Look at the commands of the file, one after the other."""
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

    def paste(self) -> frozenset[Mark]:
        """The clipboard is read."""
        self.note("pastes")
        self.fact("source", "the clipboard", "clipboard")
        return frozenset({Mark("captured", "the clipboard")})

    def copy(self, text: str) -> None:
        """A text is put on the clipboard."""
        self.note("copies")
        if names_wallet(text):
            self.note("wallet")

    def _written_before(self, words: list[str], text: str) -> frozenset[Mark]:
        """The marks of files written earlier that are now run: as the program, or by an interpreter."""
        marks = NO_MARKS
        if not self.files:
            return marks
        for index in run_words(words):
            marks |= self.above(words[index])
        for part in re.split(r"&&|\|\||[;|&\n]", text[:4000]) if not words else ():
            pieces = part.split()
            for index in run_words(pieces):
                marks |= self.files.get(pieces[index].strip("'\""), NO_MARKS)
        return marks

    def _send(self, command: Value, text: str, keys: Iterable[str]) -> None:
        """A program that sends or looks up: judge what its words and the files they name carry."""
        private = frozenset(mark for mark in command.marks if mark.kind in PRIVATE)
        if _LOOKER.search(text[:200]):
            carried = sorted(mark for mark in private if mark.kind != "captured")
            if carried and re.search(HOLE + r"[\w.-]{0,60}\.[\w-]{1,40}\.[a-z]{2,12}", text):
                message = f"The code puts {carried[0].what} into a host name that it looks up"
                self.hit("sent-by-lookup", None, text, message)
        found = _SENDER.search(text[:400])
        if found is None:
            return
        marks = private
        for word in re.split(r"[\s'\"=@;,|]+", text[:4000]) if self.files else ():
            if len(word) > 2:
                marks |= self.under(word if word.startswith("<tmp") else word.lstrip("<"))
        for key in keys:
            marks |= self.files.get(key, NO_MARKS)
        marks = frozenset(mark for mark in marks if mark.kind in PRIVATE)
        if marks:
            self._judge_sent(text, found[1], marks, private if _HEADER.search(text) else NO_MARKS)

    def _judge_sent(self, text: str, program: str, marks: frozenset[Mark], head: frozenset[Mark] = NO_MARKS) -> None:
        address = URL.search(text)
        url = address[0] if address else _host(text, program)
        self.fact("sink", program, url, host_of(url).shady if url else False)
        if any(mark.what == "the clipboard" for mark in marks):
            self.note("sends clipboard")
        kept = frozenset(mark for mark in marks if mark not in head or mark.kind == "env")
        self.report(judge_request(url, kept, head - kept))

    def _push(self, text: str) -> None:
        """A repository that is pushed after a secret was copied into it."""
        if not text.startswith("git push"):
            return
        for path, marks in self.files.items():
            for mark in sorted(marks):
                grave = mark.kind == "env" or (mark.kind == "secret" and mark.grave)
                if grave and not path.startswith(("/", "~", "<tmp")):
                    address = URL.search(text)
                    message = f"The code copies {mark.what} to {path} and pushes the repository"
                    self.hit("secret-sent", None, address[0] if address else "", message)
                    return

    def _give_file(self, text: str) -> None:
        """A table of timers or a script that was written before, now given to a program by its path."""
        program, _, rest = text.strip().partition(" ")
        if not self.texts or program.rpartition("/")[2] not in _TAKES_FILES:
            return
        for word in rest.split():
            content = self.texts.get(word.strip("'\""))
            if content is not None and program == "crontab":
                self.judge_file("crontab", content, NO_MARKS, appends=True)
            elif content is not None:
                self.look(content, "python" in program)

    def _check(self, command: Value, text: str, *, shell: bool) -> None:
        if names_miner(text):
            self.hit("miner")
        if self.level >= DEEPEST:
            return
        if len(self.commands) < _MOST:
            self.commands.setdefault(text, self.line)
        if text not in self._seen:
            filled = text[:100_000].replace(HOLE, "X")
            self._seen[text] = [import_module("whet.guard.shell.checker").check(filled)]
            if _WINDOWS.search(text):
                self._seen[text].append(import_module("whet.guard.shell.windows").check(filled[:20_000]))
        bad = sum(self.adopt(seen) for seen in self._seen[text]) > 0
        if command.hidden == "decoded":
            severity: Severity | None = None if bad or LOUD.search(text) else "warn"
            self.hit("assembled-command", severity, "", "The command is decoded or assembled from pieces")
        elif command.hidden == "split" and shell and (bad or LOUD.search(text[:40])):
            self.hit("assembled-command", None if bad else "warn", "", "The command is assembled from parts of words")

    def _printed(self, text: str) -> frozenset[Mark]:
        """What a command reads and prints; secrets that it packs are left in the files it names."""
        if _ENVIRONMENT.match(text):
            return frozenset((ENVIRONMENT,))
        if _COPIES.search(text):
            self.copy(text)
        if _CLIPBOARD.search(text):
            return self.paste()
        if _SCREEN.match(text):
            return frozenset((Mark("captured", "a screenshot"),))
        if marks := printed_by(text):
            for mark in sorted(marks):
                if mark.kind == "secret":
                    self.fact("source", mark.what, mark.subject, grave=True)
            return marks
        prints = _PRINTS.match(text)
        if prints or _PACKS.match(text):
            words = [word.strip("'\"") for word in text[:2000].split()[1:] if not word.startswith("-")]
            for word in words:
                if "/" in word or word.startswith((".", "~")):
                    marks |= {mark for mark in self.read_path(word) if mark.kind == "secret" and mark.grave}
            for word in words if marks and not prints else ():
                if "." in word.rpartition("/")[2] or word.startswith("/"):
                    self.files[word] = self.files.get(word, NO_MARKS) | marks
            return marks if prints else NO_MARKS
        if _DOWNLOAD.match(text):
            address = URL.search(text)
            return frozenset((Mark("fetched", "the network", address[0] if address else "", whole=True),))
        return NO_MARKS


def _listed(command: Value) -> bool:
    return isinstance(command.const, (list, tuple))


def _host(text: str, program: str) -> str:
    """The host that a command without a URL names."""
    for word in [word for word in text.partition(program)[2].split() if not word.startswith("-")][:6]:
        bare = word.strip("'\"").rpartition("@")[2].partition(":")[0]
        if re.fullmatch(r"[a-z0-9-]{1,60}(?:\.[a-z0-9-]{1,60}){1,6}", bare, re.IGNORECASE):
            return bare
    return ""

"""Commands that a script gives to a shell or starts by themselves: what they run and read, what is put into them.

Each command is looked at by the shell's checker, and all of a file once more one after the other, because what is
packed by one is sent by the next.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from whet.guard.javascript.effects import PRIVATE, Effects, url_of
from whet.guard.places import places
from whet.guard.taint.findings import DEEPEST
from whet.guard.taint.harm import names_miner, names_wallet
from whet.guard.taint.mark import ENVIRONMENT, HOLE, NO_MARKS, Mark
from whet.guard.taint.secret import printed_by
from whet.guard.taint.value import NOTHING, Value, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whet.guard.finding import Seen

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "cmd", "powershell", "pwsh"})
_WINDOWS = frozenset({"powershell", "pwsh", "cmd"})
_INTERPRETERS = SHELLS | {"node", "python", "python3", "deno", "bun", "ruby", "perl", "php", "open", "chmod", "sudo"}
_COMMAND_FLAGS = frozenset({"-c", "-lc", "-ic", "/c", "/k", "-command", "-ec", "-xc"})
_CODE_FLAGS = {
    "node": ("-e", "-p", "--eval", "-pe"), "bun": ("-e", "--eval"), "deno": ("eval",), "python": ("-c",),
    "python3": ("-c",), "ruby": ("-e",), "perl": ("-e",), "php": ("-r",),
}  # fmt: skip
_SENDER = re.compile(r"\s{0,9}(?:curl|wget|nc|ncat|http|https|nslookup|dig|ssh|scp)\b")
_SHELL_IN = re.compile(
    r"\s{0,9}(?:(?:ba|z|da|k)?sh\s{1,9}-\w{0,40}c|eval|node\s{1,9}-[ep]|python3?\s{1,9}-c"
    r"|powershell\b[^\n]{0,80}-c\w{0,40}|cmd\s{1,9}/c)\s{1,9}[\"']?$"
)
_READERS = re.compile(
    r"\s{0,9}(?:sudo\s{1,9})?(?:cat|security|base64|head|tail|type|get-content|secret-tool|xxd|hexdump|sqlite3"
    r"|strings|grep"
    r"|less|more|tar|zip|cp)\b",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"\s{0,9}(?:env|printenv|set|export\s{1,9}-p|declare\s{1,9}-x)\s{0,9}(?:\||$|2>|>)")
_CLIPBOARD = re.compile(
    r"\b(?:pbpaste|wl-paste|get-clipboard)\b|\bxclip\b[^\n|]{0,60}\s-o\b|\bxsel\b[^\n|]{0,60}\s(?:-o|-b|--output)\b",
    re.IGNORECASE,
)
_COPIES = re.compile(r"\b(?:pbcopy|wl-copy|set-clipboard|clip(?:\.exe)?)\b|\|\s{0,9}(?:xclip|xsel)\b", re.IGNORECASE)
_SCREEN = re.compile(r"\s{0,9}(?:screencapture|scrot|gnome-screenshot|import\s{1,9}-window\s{1,9}root)\b")
_MOST = 50


class Commands(Effects):
    """What comes of the commands of one file."""

    def __init__(self, level: int, read_inner: Callable[[str, int], Seen]) -> None:
        super().__init__(level, read_inner)
        self.commands: dict[str, int] = {}
        """Every command with the line it stands on."""

    def shell(self, command: Value, given: Value = NOTHING) -> frozenset[Mark]:
        """A text is run by a shell, with something on its input; the marks of what it prints."""
        rule = self.foreign(command)
        before = (command.text or "").partition(HOLE)[0]
        if rule is None and command.has("fetched", "socket") and _SHELL_IN.match(before):
            rule = ("exec-fetched", None)
        if rule:
            self.hit(*rule)
        text = command.text or ""
        self._handed_over(text, command, given)
        if text.strip(HOLE + " "):
            self._run(text)
            words = [word.strip("\"'") for word in text.split()[:3]]
            self.started(words[0])
            if words[0].rpartition("/")[2] in _INTERPRETERS:
                for word in words[1:]:
                    self.started(word)
        return self._printed(text)

    def program_started(self, program: Value, args: Sequence[Value], given: Value = NOTHING) -> frozenset[Mark]:
        """A program is started with arguments, without a shell; the marks of what it prints."""
        name = posixpath.basename((program.text or "").replace("\\", "/")).lower().removesuffix(".exe")
        texts = [arg.text for arg in args]
        if rule := self.foreign(program):
            self.hit(*rule)
        whole = " ".join([name, *(text or HOLE for text in texts)])
        self._handed_over(whole, *args, given)
        for flag, code in zip(texts, args[1:], strict=False):
            if flag in _CODE_FLAGS.get(name, ()):
                self._code(name, code)
        if name in SHELLS and any((text or "").lower() in _COMMAND_FLAGS for text in texts):
            at = next(number for number, text in enumerate(texts) if (text or "").lower() in _COMMAND_FLAGS)
            printed = self.shell(args[at + 1]) if at + 1 < len(args) else NO_MARKS
            if name not in _WINDOWS:
                return printed
        self.started(program.text or "")
        if name in _INTERPRETERS:
            for text in texts[:2]:
                self.started(text or "")
        if program.text and HOLE not in program.text:
            self._run(" ".join((program.text, *map(_quoted, texts))), windows=name in _WINDOWS)
        return self._printed(whole)

    def _code(self, name: str, code: Value) -> None:
        """A text is run by another interpreter."""
        if name in ("node", "bun", "deno"):
            self.evaluate(code)
        elif rule := self.foreign(code):
            self.hit(*rule)

    def _printed(self, text: str) -> frozenset[Mark]:
        """What a command reads and prints."""
        if _ENVIRONMENT.match(text):
            return frozenset({ENVIRONMENT})
        if _COPIES.search(text):
            self.copied(text)
        if _CLIPBOARD.search(text):
            return self.pasted()
        if _SCREEN.match(text):
            return frozenset({Mark("captured", "a screenshot")})
        printed = printed_by(text)
        if printed or not _READERS.match(text):
            return printed
        return frozenset(
            Mark("secret", place.what, place.text, place.grave, whole=True)
            for place in places(text)
            if place.kind == "secret" and place.grave
        )

    def pasted(self) -> frozenset[Mark]:
        """The clipboard is read."""
        self.note("pastes")
        self.fact("source", "the clipboard", "clipboard")
        return frozenset({Mark("captured", "the clipboard")})

    def copied(self, text: str) -> None:
        """A text is put on the clipboard."""
        self.note("copies")
        if names_wallet(text):
            self.note("wallet")

    def _handed_over(self, command: str, *parts: Value) -> None:
        """What is put into a command that sends is sent."""
        if _SENDER.match(command) and (marks := Value(marks=union(parts)).has(*PRIVATE)):
            self.send(url_of(command), [Value(marks=frozenset(marks))])

    def _run(self, text: str, *, windows: bool = False) -> None:
        if self.level >= DEEPEST or len(self.commands) >= _MOST:
            return
        if names_miner(text):
            self.hit("miner")
        known = text in self.commands
        self.commands.setdefault(text, self.line)
        if known:
            return
        from whet.guard.shell import checker as shell
        from whet.guard.shell import windows as windows_

        filled = text.replace(HOLE, "value")[:20_000]
        self.adopt((windows_ if windows else shell).check(filled))

    def all_commands(self) -> None:
        """The commands of the file, one after the other."""
        if len(self.commands) < 2:
            return
        from whet.guard.shell import checker as shell

        rows: list[str] = []
        lines: list[int] = []
        for number, (text, line) in enumerate(self.commands.items()):
            one = text.replace(HOLE, f"value{number}")[:20_000]
            rows.append(one)
            lines += [line] * (one.count("\n") + 1)
        seen = shell.check("\n".join(rows))
        for hit in seen.hits:
            self.line = lines[min(hit.line, len(lines)) - 1]
            self.adopt(seen._replace(hits=(hit,), facts=()))


def _quoted(text: str | None) -> str:
    if text is None:
        return HOLE
    return text if re.fullmatch(r"[\w@%+=:,./~\ufffc-]+", text) else "'" + text.replace("'", "'\\''") + "'"

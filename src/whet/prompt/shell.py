"""Commands written in a skill's body: who runs them, what they get to see, and what their end looks like in the text.

Running goes through a `Runner`, so that a sandbox can stand where `LocalRunner` stands. Whatever a runner reports is
treated as a stranger's text: cleaned of control characters, cut to its limit, and turned into a visible mark when the
command did not succeed. Nothing here raises because a command went wrong.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple, Protocol

from whet.skill.diagnostics import Diagnostic

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from typing import IO

TRUNCATED = "...[truncated]"

_POWERSHELL = ("-NoProfile", "-NonInteractive", "-Command")
_PROGRAMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bash": (("bash",), ("-c", "--")),
    "sh": (("sh",), ("-c", "--")),
    "powershell": (("powershell", "pwsh"), _POWERSHELL),
    "pwsh": (("pwsh", "powershell"), _POWERSHELL),
}
"""What a skill may name as its `shell`: the programs that can be it, the first one found counts, and their options."""

_ALLOWED = frozenset(("PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL")) | (
    frozenset(("SYSTEMROOT", "PATHEXT", "COMSPEC")) if sys.platform == "win32" else frozenset()
)
_FAR_OVER = 1 << 20
"""A command that prints this many bytes more than anybody will read is ended."""
_GRACE = 0.5
"""Seconds that processes left behind have to finish what they print once the command itself has ended."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SEPARATOR = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*+"|\\.|[<>]&|&>|>\||(?P<end>[;&|\n]+)""", re.DOTALL)
_ASKS = re.compile(
    r"\s*(?:\w+=\S*\s+)*+(?:\S*/)?(?:(?:grep|rg|diff|cmp|test|\[\[?)(?!\S)"
    r"|git(?:\s+-C\s+\S+|\s+-\S+)*+\s+(?:diff|grep)(?!\S))"
)


class Ran(NamedTuple):
    """How a command ended."""

    output: str
    """What it printed; what it printed as errors when that is all there is; or why it did not start."""
    code: int | None
    """Its exit code; None when it did not finish or did not start."""
    problem: str
    """Empty, `timeout`, `not-found` (the shell) or `failed`."""
    truncated: bool


class Runner(Protocol):
    """Runs the script of a skill."""

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        """Run it in this shell and directory with only this environment, and return `limit` characters at most."""


class Shell(NamedTuple):
    """That, where and how the commands of a body are run.

    `seconds` and `limit` (characters of output) are for one command, `total` is the seconds for all of them together.
    """

    runner: Runner
    cwd: str
    env: Mapping[str, str]
    program: str = "bash"
    seconds: float = 10
    limit: int = 4000
    total: float = 30

    @property
    def is_powershell(self) -> bool:
        return _PROGRAMS.get(self.program, ((), ()))[1] is _POWERSHELL

    def reference(self, name: str, *, whole: bool) -> str:
        """How a command of this shell writes the value of an environment variable; `whole` keeps it one word."""
        if self.is_powershell:
            return f"${{env:{name}}}"  # always one word there
        return f'"${{{name}}}"' if whole else f"${{{name}}}"


class LocalRunner:
    """Runs scripts on this machine, as this user, with no isolation.

    A script can read and change whatever the user can. What is kept from it is the caller's environment, the
    terminal, and time: at the limit, and when it ends, it and all it started in its process group are killed.
    """

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        """Run the script with no input; more output than `limit` is read and thrown away, far more ends it."""
        import shutil
        import subprocess
        import threading

        names, options = _PROGRAMS.get(shell, ((), ()))
        path = env.get("PATH", os.defpath)
        program = next(filter(None, (shutil.which(name, path=path) for name in names)), None)
        if program is None:
            return Ran("", None, "not-found", truncated=False)
        try:
            process = subprocess.Popen(  # noqa: S603 (running what a skill says is the purpose, decided by the caller)
                [program, *options, script],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env=dict(env),
                bufsize=0,
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError) as problem:
            return Ran(str(problem), None, "failed", truncated=False)

        ended_early: list[bool] = []

        def end_early() -> None:
            ended_early.append(True)
            _end(process)

        kept = (bytearray(), bytearray())
        readers = [
            threading.Thread(target=_drain, args=(pipe, room, 4 * limit, end_early), daemon=True)
            for pipe, room in zip((process.stdout, process.stderr), kept, strict=True)
        ]
        late = False
        try:
            for reader in readers:
                reader.start()
            process.wait(seconds)
            for reader in readers:
                reader.join(_GRACE)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            _end(process)
            process.wait()
        for reader in readers:
            reader.join(_GRACE)

        texts = [bytes(room).decode("utf-8", "replace").rstrip("\r\n") for room in kept]
        text = texts[0] if texts[0].strip() else texts[1]
        cut = len(text) > limit or bool(ended_early)
        code = None if late or ended_early else process.returncode
        if code is not None and code < 0:
            code = 128 - code  # ended by a signal, told as a shell tells it
        return Ran(text[:limit], code, "timeout" if late else "failed" if code else "", cut)


def _drain(pipe: IO[bytes], kept: bytearray, cap: int, end_early: Callable[[], None]) -> None:
    """Read a pipe to its end and keep its beginning: one byte more than the cap, to know that there was more."""
    total = 0
    with pipe:
        while total <= cap + _FAR_OVER:
            if not (chunk := pipe.read(1 << 16)):
                return
            total += len(chunk)
            kept += chunk[: max(0, cap + 1 - len(kept))]
    end_early()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and, where there are process groups, everything in its own."""
    if sys.platform == "win32":
        process.kill()
        return
    import signal
    from contextlib import suppress

    with suppress(ProcessLookupError, PermissionError):  # nothing is left of it, or (macOS) only what nobody collected
        os.killpg(process.pid, signal.SIGKILL)


def allowed_environment(env: Mapping[str, str]) -> dict[str, str]:
    """What a command gets of the caller's environment: the few variables that programs need and that hold no secret."""
    return {name: value for name, value in env.items() if name in _ALLOWED or name.startswith("LC_")}


class Left:
    """The commands of a body that were not run: how many for which reason, and what all of them lack or have."""

    OFF = Diagnostic(
        "inline-shell-off",
        "info",
        "inline shell is off",
        hint="To allow it, add the trust level of the skill to `inline_shell` in config.toml.",
    )
    LIMIT = Diagnostic(
        "inline-shell-limit",
        "warning",
        "a body runs {what}",
        hint="Put several commands into one block, or let the model run them.",
    )
    UNFILLED = Diagnostic(
        "inline-shell-unfilled",
        "warning",
        "there is no value for {what}",
        hint="Give what is missing, or put a backslash before a $ that is meant for the shell.",
    )
    UNSAFE = Diagnostic(
        "inline-shell-unsafe",
        "warning",
        "values are not safe in a script with {what}",
        hint="Move it into a script of the skill that takes the values as its arguments.",
    )

    def __init__(self) -> None:
        self._reasons: dict[Diagnostic, list[tuple[str, ...]]] = {}

    def add(self, reason: Diagnostic, *what: str) -> None:
        """One more that was not run."""
        self._reasons.setdefault(reason, []).append(what)

    def notes(self) -> list[Diagnostic]:
        """One note for each reason."""
        notes = []
        for reason, commands in self._reasons.items():
            count = "1 inline command was" if len(commands) == 1 else f"{len(commands)} inline commands were"
            known = list(dict.fromkeys(what for command in commands for what in command))
            what = ", ".join(known if len(known) <= 5 else (*known[:5], "..."))
            notes.append(reason._replace(message=f"{count} not run: {reason.message.format(what=what)}."))
        return notes


def shown(ran: Ran, script: str, shell: Shell) -> tuple[str, Diagnostic | None]:
    """What stands in the text for a command that was run, and what is worth telling about it."""
    command, limit, seconds = _line(script, 80), shell.limit, f"{round(shell.seconds, 2):g}"
    text = _CONTROL.sub("", ran.output).rstrip("\n")
    if ran.problem == "timeout":
        message = f"The inline command `{command}` did not end within {seconds} seconds."
        note = Diagnostic("inline-shell-timeout", "warning", message, hint="Make it faster, or have the model run it.")
        return f"[inline-shell timeout: {seconds} s: {command}]", note
    if ran.problem and not (ran.code == 1 and _says_no(script)):
        said = _line(text, 200)
        if ran.problem == "not-found":
            start = f"{shell.program} not found"
            hint = f"Install it, or let the skill name another `shell`: {', '.join(_PROGRAMS)}."
        else:
            start = "did not start" if ran.code is None else f"exit {ran.code}"
            hint = "Run the command by hand in the same directory to see what is wrong."
        reason = f"{start}: {said}" if said else start
        mark = reason if said or command == start else f"{start}: {command}"
        message = f"The inline command `{command}` failed ({reason})."
        return f"[inline-shell error: {mark}]", Diagnostic("inline-shell-failed", "warning", message, hint=hint)
    if ran.truncated or len(text) > limit:
        ended = " and was stopped" if ran.code is None else ""
        message = f"The inline command `{command}` printed too much{ended}; the first {limit} characters are shown."
        note = Diagnostic("inline-shell-truncated", "info", message, hint="Let the command print less.")
        return text[:limit] + TRUNCATED, note
    return text, None


def _says_no(script: str) -> bool:
    """Is exit code 1 an answer: does the script end in a command that searches or compares?"""
    script = script.rstrip()
    last = max((found.end() for found in _SEPARATOR.finditer(script) if found["end"]), default=0)
    return _ASKS.match(script, last) is not None


def _line(text: str, length: int) -> str:
    """The first line that says something, shortened."""
    line = text.lstrip().partition("\n")[0].rstrip()
    return line if len(line) <= length else line[: length - 3] + "..."

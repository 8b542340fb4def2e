"""Commands in a skill's body: who runs them, their environment, and their result in the text.

A `Runner` runs them: in the sandbox, on the bare machine, or as a client defines. Its output is treated as a stranger's
text: cleaned of control characters, cut to its limit, and replaced by a visible mark if the command failed. A failed
command never raises.
"""

from __future__ import annotations

import os
import re
import sys

from whet.guard.sandbox.box import NO_SANDBOX_HINT
from whet.guard.sandbox.process import Command, Keeper, Ran, run
from whet.notes import Note
from whet.patterns import compile_late
from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from whet.guard.sandbox.box import Box
else:
    Protocol = object

__all__ = ["Left", "LocalRunner", "Ran", "Runner", "SandboxRunner", "Shell", "Witness", "allowed_environment", "shown"]

TRUNCATED = "...[truncated]"

_POWERSHELL = ("-NoProfile", "-NonInteractive", "-Command")
_PROGRAMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bash": (("bash",), ("-c", "--")),
    "sh": (("sh",), ("-c", "--")),
    "powershell": (("powershell", "pwsh"), _POWERSHELL),
    "pwsh": (("pwsh", "powershell"), _POWERSHELL),
}
"""Values of a skill's `shell`: the possible programs, of which the first one found counts, and their options."""

_ALLOWED = frozenset(("PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL")) | (
    frozenset(("SYSTEMROOT", "PATHEXT", "COMSPEC")) if sys.platform == "win32" else frozenset()
)
_CONTROL = compile_late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SEPARATOR = compile_late(r"""'[^']*'|"(?:[^"\\]|\\.)*+"|\\.|[<>]&|&>|>\||(?P<end>[;&|\n]+)""", re.DOTALL)
_ASKS = compile_late(
    r"\s*(?:\w+=\S*\s+)*+(?:\S*/)?(?:(?:grep|rg|diff|cmp|test|\[\[?)(?!\S)"
    r"|git(?:\s+-C\s+\S+|\s+-\S+)*+\s+(?:diff|grep)(?!\S))"
)


class Runner(Protocol):
    """Runs the script of a skill."""

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        """Run it in this shell and directory with only this environment, and return at most `limit` characters."""


class Shell(NamedTuple):
    """How the commands of a body are run.

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
        """Return the shell syntax for an environment variable's value; `whole` keeps it one word."""
        if self.is_powershell:
            return f"${{env:{name}}}"  # always one word there
        return f'"${{{name}}}"' if whole else f"${{{name}}}"


class LocalRunner:
    """Runs scripts on this machine, as this user, with no isolation.

    A script can read and change everything that the user can. It has no access to the caller's environment and the
    terminal, and limited time: at the limit, and when it ends, its process group is killed.
    """

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        """Run the script with no input; output beyond `limit` is read and discarded, far more ends it."""
        words = _words(shell, script, env)
        if not words:
            return Ran("", None, "not-found", truncated=False, level="none")
        return run(Command(words, env, cwd), Keeper(), seconds=seconds, limit=limit)._replace(level="none")


class SandboxRunner:
    """Runs scripts in a sandbox: they read what it shows, write to a temporary directory, and have no network.

    If the machine has no sandbox, a script is not run.
    """

    def __init__(self, box: Box) -> None:
        self.box = box

    def works(self) -> bool:
        """Return whether this machine has a sandbox."""
        from whet.guard.sandbox.levels import level

        return level().isolates

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        """Run the script in the sandbox; hidden directories and parts of the PATH do not exist for it."""
        from whet.guard.sandbox.levels import NONE, level, run_program

        here, box = level(), self.box
        if not here.isolates:
            return Ran(NONE.sentence, None, "failed", truncated=False, level="none")
        if not os.path.isdir(cwd):
            problem = f"[Errno 2] No such file or directory: {cwd!r}"
            return Ran(problem, None, "failed", truncated=False, level=here.name)
        words = _words(shell, script, box.env)
        if not words:
            return Ran("", None, "not-found", truncated=False, level=here.name)
        limits = box.limits._replace(seconds=seconds, output=limit)
        return run_program(words, box._replace(env={**env, "PATH": box.env["PATH"]}, limits=limits))


class Witness:
    """Runs scripts with another runner and records their isolation."""

    SANDBOXED = Note("inline-shell-sandboxed", "info", "ran in a sandbox ({level})")
    UNSANDBOXED = Note(
        "inline-shell-unsandboxed",
        "info",
        "ran without a sandbox",
        'To run them in a sandbox, set sandbox = "required" in config.toml.',
    )

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._levels: dict[str, int] = {}

    def run(self, script: str, *, shell: str, cwd: str, env: Mapping[str, str], seconds: float, limit: int) -> Ran:
        """Run the script."""
        ran = self._runner.run(script, shell=shell, cwd=cwd, env=env, seconds=seconds, limit=limit)
        if ran.level and (ran.problem != "failed" or ran.code is not None) and ran.problem != "not-found":
            self._levels[ran.level] = self._levels.get(ran.level, 0) + 1
        return ran

    def notes(self) -> list[Note]:
        """Return notes on the isolation; empty for a runner that does not report it."""
        notes = []
        for level, number in self._levels.items():
            note = self.UNSANDBOXED if level == "none" else self.SANDBOXED
            count = "1 inline command" if number == 1 else f"{number} inline commands"
            notes.append(note._replace(message=f"{count} {note.message.format(level=level)}."))
        return notes


def _words(shell: str, script: str, env: Mapping[str, str]) -> list[str]:
    """Return the command line for a script; empty if there is no such shell."""
    import shutil

    names, options = _PROGRAMS.get(shell, ((), ()))
    path = env.get("PATH", os.defpath)
    program = next(filter(None, (shutil.which(name, path=path) for name in names)), None)
    return [program, *options, script] if program else []


def allowed_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a command gets: the few that programs need and that hold no secret."""
    return {name: value for name, value in env.items() if name in _ALLOWED or name.startswith("LC_")}


class Left:
    """The commands of a body that were not run, counted by reason, with details."""

    NO_SANDBOX = Note("inline-shell-no-sandbox", "warning", "this machine offers no sandbox", NO_SANDBOX_HINT)
    OFF = Note(
        "inline-shell-off",
        "info",
        "inline shell is off",
        "To allow it, add the trust level of the skill to `inline_shell` in config.toml.",
    )
    LIMIT = Note(
        "inline-shell-limit",
        "warning",
        "a skill may run {what}",
        "Combine commands in one block, or let the model run them.",
    )
    UNFILLED = Note(
        "inline-shell-unfilled",
        "warning",
        "{what} has no value",
        "Pass the value, or put a backslash before a $ meant for the shell.",
    )
    UNSAFE = Note(
        "inline-shell-unsafe",
        "warning",
        "values are not safe in a script with {what}",
        "Move it to a script in the skill that takes the values as arguments.",
    )

    @classmethod
    def instead(cls, note: Note) -> Note:
        """Return the note on a missing sandbox instead of the note that commands are off."""
        if note.code != cls.OFF.code:
            return note
        return cls.NO_SANDBOX._replace(message=note.message.replace(cls.OFF.message, cls.NO_SANDBOX.message))

    def __init__(self) -> None:
        self._reasons: dict[Note, list[tuple[str, ...]]] = {}

    def add(self, reason: Note, *what: str) -> None:
        """Add a command that was not run."""
        self._reasons.setdefault(reason, []).append(what)

    def notes(self) -> list[Note]:
        """Return one note for each reason."""
        notes = []
        for reason, commands in self._reasons.items():
            count = "1 inline command was" if len(commands) == 1 else f"{len(commands)} inline commands were"
            known = list(dict.fromkeys(what for command in commands for what in command))
            what = ", ".join(known if len(known) <= 5 else (*known[:5], "..."))
            notes.append(reason._replace(message=f"{count} not run: {reason.message.format(what=what)}."))
        return notes


def shown(ran: Ran, script: str, shell: Shell) -> tuple[str, Note | None]:
    """Return the text for a command that was run, and a note about it."""
    command, limit, seconds = _line(script, 80), shell.limit, f"{round(shell.seconds, 2):g}"
    text = _CONTROL.sub("", ran.output).rstrip("\n")
    if ran.problem == "timeout":
        message = f"The inline command `{command}` did not finish within {seconds} seconds."
        note = Note("inline-shell-timeout", "warning", message, "Make it faster, or let the model run it.")
        return f"[inline-shell timeout: {seconds} s: {command}]", note
    if ran.problem and not (ran.code == 1 and _says_no(script)):
        said = _line(text, 200)
        if ran.problem == "not-found":
            start = f"{shell.program} not found"
            hint = f"Install it, or set another `shell` in the skill: {', '.join(_PROGRAMS)}."
        elif ran.problem == "limit":
            start, hint = "stopped", "Make the command use less, or let the model run it."
        else:
            start = "did not start" if ran.code is None else f"exit {ran.code}"
            hint = "Run the command by hand in the same directory to see the problem."
            if ran.level not in ("", "none"):
                hint += " In the sandbox it had no network and could write below $TMPDIR only."
        reason = f"{start}: {said}" if said else start
        mark = reason if said or command == start else f"{start}: {command}"
        message = f"The inline command `{command}` failed ({reason})."
        return f"[inline-shell error: {mark}]", Note("inline-shell-failed", "warning", message, hint)
    if ran.truncated or len(text) > limit:
        ended = " and was stopped" if ran.code is None else ""
        message = f"The inline command `{command}` printed too much{ended}; the first {limit} characters are shown."
        note = Note("inline-shell-truncated", "info", message, "Make the command print less.")
        return text[:limit] + TRUNCATED, note
    return text, None


def _says_no(script: str) -> bool:
    """Return whether exit code 1 is an answer: the script ends with a command that searches or compares."""
    script = script.rstrip()
    last = max((found.end() for found in _SEPARATOR.finditer(script) if found["end"]), default=0)
    return _ASKS.match(script, last) is not None


def _line(text: str, length: int) -> str:
    """Return the first line with text, shortened."""
    line = text.lstrip().partition("\n")[0].rstrip()
    return line if len(line) <= length else line[: length - 3] + "..."

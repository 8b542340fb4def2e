"""Processes of `python -m whet` and `python -c` without a start of Python: in the quick tier they are forked from the
tests' own.

A process is a process: it has its own memory, streams, environment and signals, and it can be killed. What it does not
do is start Python and import Whet and its libraries, which is most of the time that nearly every command takes. The
deep tier starts every process from nothing. So does the quick one where the start is the subject: with any other option
or variable of Python than here, or where a module of tests says `FORKED = False`; and where the tests have a database
open there, which SQLite would take for the other process's own.
"""

from __future__ import annotations

import atexit
import contextvars
import faulthandler
import gc
import io
import logging
import os
import random
import runpy
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

_PLAIN = frozenset({b"PYTHONUTF8=1", b"PYTHONDONTWRITEBYTECODE=1", b"PYTHONPATH=" + os.path.dirname(__file__).encode()})
"""What may be in the environment: nothing of it matters once Python has started as it did for the tests."""
_MEASURED = ("sys.modules", "resource")
"""Of what a script measures, the process that it is forked from has too much."""
_DATABASES = (".db", "-wal", "-shm")
_real: Callable[..., int] = subprocess._fork_exec  # type: ignore[attr-defined]  # what every process goes through


def install(patch: pytest.MonkeyPatch) -> None:
    """From now on, they are forked."""
    patch.setattr(subprocess, "_fork_exec", _start)


def _start(*given: Any) -> int:
    args, _, close, keep, cwd, env = given[:6]
    p2cread, _, _, c2pwrite, _, errwrite, _, report = given[6:14]
    _, session, group, gid, gids, uid, umask, prepare = given[14:22]
    usual = close and not prepare and (group, gid, gids, uid, umask) == (-1, None, None, None, -1)
    program = _program(args, env) if usual else []
    if not program or _shares(program, cwd, env):
        return _real(*given)
    _prepare("mcp" if program[1:3] == ["whet", "mcp"] else "")
    child = os.fork()
    if not child:
        try:
            if session:
                os.setsid()
            kept = [descriptor for descriptor in keep if descriptor != report]
            _become(program, cwd, env, (p2cread, c2pwrite, errwrite), kept)
        except BaseException:  # noqa: BLE001  whatever it is, this process must not go on as the tests
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(255)
    return child


def _program(args: Sequence[Any], env: Sequence[bytes] | None) -> list[str]:
    """What Python is asked for, from `-c` or `-m` on; nothing where it has to be started for that."""
    words = [os.fsdecode(word) for word in args]
    at = 3 if words[1:3] == ["-W", "error"] else 2 if words[1:2] == ["-P"] else 1
    if words[0] != sys.executable or not (words[at : at + 1] == ["-c"] or words[at : at + 2] == ["-m", "whet"]):
        return []
    if any(word in words[at + 1] for word in _MEASURED):
        return []
    rows = [name + b"=" + value for name, value in os.environb.items()] if env is None else env
    return words[at:] if {row for row in rows if row.startswith(b"PYTHON")} <= _PLAIN else []


@cache
def _prepare(program: str) -> None:
    """Import here what nearly every process of this kind will need, or all of them would."""
    from whet.guard.scan import scan
    from whet.skill.tree import Item

    scan({"SKILL.md": Item(b"Text."), "scripts/run.sh": Item(b"echo\n")})
    if program == "mcp":
        import_module("whet.interfaces.mcp.server")


def _shares(program: Sequence[str], cwd: Any, env: Sequence[bytes] | None) -> bool:
    """Whether a database that is open here lies where that process works; also where it cannot be known."""
    rows = [row.decode() for row in env or () if row.startswith((b"HOME=", b"WHET_HOME="))]
    homes = rows if env is not None else [os.environ.get(name, "") for name in ("HOME", "WHET_HOME")]
    said = "\n".join((*program, *homes, os.fsdecode(cwd or os.getcwd())))
    try:
        places = {_where(number) for number in os.listdir("/proc/self/fd")}
    except OSError:
        return True
    return any(os.path.dirname(os.path.dirname(place)) in said for place in places if place.endswith(_DATABASES))


def _where(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:  # that of the list itself
        return ""


def _become(
    program: Sequence[str], cwd: Any, env: Sequence[bytes] | None, streams: Sequence[int], kept: Sequence[int]
) -> NoReturn:
    """Be what a process of this command would be once Python has started in it."""
    gc.freeze()  # nothing of the tests is ever cleaned up here: its descriptors are not theirs any more
    for at, descriptor in enumerate(streams):
        if descriptor != -1:
            os.dup2(descriptor, at)
    last = 2
    for descriptor in (*sorted(kept), os.sysconf("SC_OPEN_MAX")):
        os.closerange(last + 1, descriptor)
        last = descriptor
    if cwd is not None:
        os.chdir(cwd)
    if env is not None:
        os.environb.clear()
        os.environb.update((name, value) for name, _, value in (row.partition(b"=") for row in env))
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.disable()
    sys.excepthook, sys.unraisablehook = sys.__excepthook__, sys.__unraisablehook__
    threading.excepthook = threading.__excepthook__
    sys.setprofile(None)
    sys.settrace(None)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")  # as it is without an option; what is an error in tests is one in the deep tier
    sys.warnoptions.clear()
    logging.root.handlers.clear()
    logging.root.setLevel(logging.WARNING)
    atexit._clear()
    random.seed()
    sys.stdin, sys.stdout, sys.stderr = _opened(0, "r"), _opened(1, "w"), _opened(2, "w")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]  # as at a start
    os._exit(contextvars.Context().run(_run, *program))


def _opened(descriptor: int, mode: str) -> Any:
    """A standard stream as Python opens it; none where it is closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        return None
    data = open(descriptor, mode + "b", closefd=False)  # noqa: SIM115  it is open as long as this process is
    errors = "backslashreplace" if descriptor == 2 else "strict"
    return io.TextIOWrapper(data, "utf-8", errors, line_buffering=descriptor == 2 or os.isatty(descriptor))


def _run(kind: str, text: str, *words: str) -> int:
    code = 0
    sys.argv[:] = [text if kind == "-m" else kind, *words]
    try:
        if kind == "-m":
            runpy.run_module(text, run_name="__main__")
        else:
            module = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(text, "<string>", "exec"), vars(module))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001  as Python does in the end
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as at the end of Python
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError):
            code = 120 if stream is sys.stdout else code
    return code

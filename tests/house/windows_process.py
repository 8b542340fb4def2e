"""Runs a Python program as far as possible like Windows: no POSIX functions, no links, text-mode descriptors.

    python windows_process.py PROGRAM ARGUMENT...

Only the platform is replaced, nothing of Whet's. Paths stay POSIX paths. What Windows has instead (`msvcrt`,
`_winapi`, `O_BINARY`) is here in the smallest form that behaves alike.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib
import json
import os
import runpy
import shutil
import signal
import socket
import struct
import sys
import types
from contextlib import suppress
from typing import Any

LOADED = (
    *("asyncio", "concurrent.futures.process", "getpass", "http.server", "importlib.resources", "logging.handlers"),
    *("multiprocessing.connection", "sqlite3", "ssl", "subprocess", "tempfile", "urllib.request", "uuid", "webbrowser"),
    *("zipfile", "mcp", "mcp.client.stdio", "uvicorn"),
)
"""What decides by the platform when it is loaded, and none of ours: it is loaded before the platform changes."""
MISSING_MODULES = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
MISSING = {
    os: (
        *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fork", "forkpty", "getegid"),
        *("geteuid", "getgid", "getpgid", "getuid", "killpg", "lchown", "mkfifo", "nice", "posix_fallocate"),
        *("sched_getaffinity", "setsid", "statvfs", "sync", "uname", "wait4", "waitid"),
    ),
    signal: ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGWINCH", "pthread_sigmask"),
    socket: ("AF_UNIX", "socketpair"),
}
KEYS = iter(json.loads(os.environ.get("WINDOWS_KEYS", "[]")))
"""What a console reports: letters, and the codes of keys that have none."""


class Absent:
    """Finds nothing of what Windows does not have."""

    def find_spec(self, name: str, *_: object) -> None:
        if name in MISSING_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def lock_byte(descriptor: int, mode: int, size: int) -> None:
    """As `msvcrt.locking` for one byte that everybody agrees on."""
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 1 << 30, "the place of the descriptor says which byte"
    assert size == 1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise PermissionError(errno.EACCES, "Permission denied") from error


def open_appending(path: str, *_: object) -> int:
    """As `CreateFile` with the right to append only."""
    return open_(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)


def refuse_link(*_: object, **__: object) -> None:
    """As `os.symlink` without the privilege to make links."""
    raise OSError(errno.EINVAL, "A required privilege is not held by the client")


open_, read_, write_, close_, symlink_ = os.open, os.read, os.write, os.close, os.symlink
BINARY = 0x8000
TEXT: set[int] = set()
"""Descriptors whose line endings are changed."""


def open_file(path: Any, flags: int, mode: int = 0o777) -> int:
    descriptor = open_(path, flags & ~BINARY, mode)
    if not flags & BINARY:
        TEXT.add(descriptor)
    return descriptor


def read_file(descriptor: int, size: int) -> bytes:
    data = read_(descriptor, size)
    return data.partition(b"\x1a")[0].replace(b"\r\n", b"\n") if descriptor in TEXT else data


def write_file(descriptor: int, data: Any) -> int:
    if descriptor not in TEXT:
        return write_(descriptor, data)
    write_(descriptor, bytes(data).replace(b"\n", b"\r\n"))
    return len(data)


def close_file(descriptor: int) -> None:
    TEXT.discard(descriptor)
    close_(descriptor)


def read_event(_handle: object, event: Any, _most: int, _count: object) -> int:
    """As `ReadConsoleInputW`: the next key goes down."""
    key = next(KEYS)
    code, letter = (0, ord(key)) if isinstance(key, str) else (key, 0)
    event.raw = struct.pack("<H2xiHHHHI", 1, 1, 1, code, 0, letter, 0)
    return 1


def become_windows() -> None:
    """Change the platform of this process."""
    for name in LOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # decided when it was loaded
    os.supports_dir_fd.clear()
    os.supports_fd.clear()
    for module, names in MISSING.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    replacements = {"open": open_file, "read": read_file, "write": write_file, "close": close_file}
    for name, value in {**replacements, "symlink": refuse_link, "O_BINARY": BINARY, "O_NOINHERIT": 0}.items():
        setattr(os, name, value)
    for name in MISSING_MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Absent())
    msvcrt: Any = types.ModuleType("msvcrt")
    msvcrt.LK_UNLCK, msvcrt.LK_NBLCK, msvcrt.locking = 0, 2, lock_byte
    msvcrt.open_osfhandle = lambda handle, _: handle
    winapi: Any = types.ModuleType("_winapi")
    winapi.CreateFile = open_appending
    winapi.CreateJunction = symlink_
    sys.modules.update(msvcrt=msvcrt, _winapi=winapi, ntpath=os.path)
    kernel = types.SimpleNamespace(
        SetConsoleMode=lambda *_: 1, GetStdHandle=lambda number: number, ReadConsoleInputW=read_event
    )
    setattr(ctypes, "windll", types.SimpleNamespace(kernel32=kernel))  # noqa: B010 (mypy knows no such name here)
    sys.platform = "win32"


if __name__ == "__main__":
    become_windows()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")

"""The small program that applies Landlock's rules to itself and then executes the requested program.

It is run by path, in a separate interpreter that has read no files of the user, because the rules cannot be undone and
must not be applied between a fork and an exec of a process with threads. The job comes through a descriptor; errors
are returned through another, which closes when the program begins. It uses only the standard library, and as little of
it as possible: each import costs time at every run.
"""

import ctypes
import marshal
import os
import resource
import stat
import struct
import sys
from typing import Any, TypedDict

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""The system calls of Landlock, which have the same numbers on every machine."""
_BENEATH = 1
_FILE_RIGHTS = 0x1 | 0x2 | 0x4 | 1 << 14 | 1 << 15
"""Execute, write, read, truncate, device ioctl: the rights that can be granted on a file that is not a directory."""
_PDEATHSIG, _SET_SECCOMP, _CAPBSET_DROP, _SECUREBITS, _NO_NEW_PRIVS = 1, 22, 24, 28, 38
_FILTER = 2
_NOROOT_LOCKED = 0x3
_SIGKILL = 9
_IGNORED_BY_PYTHON = (13, 25)
"""SIGPIPE and SIGXFSZ, which the requested program must not inherit as ignored. (macOS and Linux agree on the numbers.)"""
_CAPABILITIES = 0x20080522


class Job(TypedDict):
    """A job: rights and rules of Landlock, the system call filter, and the program to execute."""

    files: int
    network: int
    scoped: int
    size: int
    rules: list[tuple[bytes, int]]
    calls: bytes
    limits: list[tuple[int, int]]
    cwd: bytes
    argv: list[bytes]
    env: dict[bytes, bytes]


_libc = ctypes.CDLL(None, use_errno=True)


def _checked(what: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(what: str, option: int, value: Any = 0, more: Any = 0) -> None:
    _checked(what, _libc.prctl(option, ctypes.c_ulong(value), more, 0, 0))


def _give_up_capabilities() -> None:
    """Drop all capabilities permanently: even the superuser of this box has no power."""
    for capability in range(64):
        if _libc.prctl(_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break
    if os.getuid() == 0:
        _libc.prctl(_SECUREBITS, ctypes.c_ulong(_NOROOT_LOCKED), 0, 0, 0)  # refused if none is left to drop
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    _checked("capset", _libc.capset(header, (ctypes.c_uint32 * 6)()))


def _restrict(job: Job) -> None:
    """Restrict this process to the files of the job, without a network and other processes."""
    rules = struct.pack("=QQQ", job["files"], job["network"], job["scoped"])
    ruleset = _checked("landlock", _libc.syscall(_CREATE, rules, ctypes.c_size_t(job["size"]), 0))
    for path, rights in job["rules"]:
        try:
            top = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # not on this machine
            continue
        possible = job["files"] if stat.S_ISDIR(os.fstat(top).st_mode) else job["files"] & _FILE_RIGHTS
        rule = struct.pack("=Qi", rights & possible, top)
        _checked("landlock", _libc.syscall(_ADD, ruleset, _BENEATH, rule, 0))
        os.close(top)
    _checked("landlock", _libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _filter(steps: bytes) -> None:
    room = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("=HxxxxxxQ", len(steps) // 8, ctypes.addressof(room))
    _prctl("seccomp", _SET_SECCOMP, _FILTER, program)


def _become(job: Job) -> None:
    os.chdir(job["cwd"])
    for kind, value in job["limits"]:
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))
    if sys.platform == "linux" and job["files"]:
        _prctl("pdeathsig", _PDEATHSIG, _SIGKILL)
        _prctl("no_new_privs", _NO_NEW_PRIVS, 1)
        _give_up_capabilities()
        _restrict(job)
        _filter(job["calls"])
    for number in _IGNORED_BY_PYTHON:
        _libc.signal(number, None)
    os.execve(job["argv"][0], job["argv"], job["env"])  # noqa: S606 (the requested program)


def main() -> None:
    """Read the job, execute it, and report any error."""
    source, answer = int(sys.argv[1]), int(sys.argv[2])
    with os.fdopen(source, "rb") as file:
        job = marshal.loads(file.read())  # noqa: S302 (written by the process that started this one)
    os.set_inheritable(answer, False)
    try:
        _become(job)
    except (OSError, ValueError) as problem:
        os.write(answer, str(problem).encode("utf-8", "replace"))
    os._exit(125)


if __name__ == "__main__":
    main()

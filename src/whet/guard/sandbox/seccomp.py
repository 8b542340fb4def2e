"""The system calls that are refused in a box, as a filter for the Linux kernel.

The filter is a small classic BPF program that the kernel runs at every call. It refuses calls that no skill
needs and that many escapes have used: inspection of other processes, mounting, namespaces, keys, kernel modules,
io_uring. It refuses sockets of families that neither a namespace nor a Landlock rule covers, including those of the file
system. At the level `landlock` a box shares the machine's processes and files, and the filter closes what Landlock
leaves open there: changing the mode or owner of read-only files, leaving the process group by which the box is
ended, the limits and signals of processes outside.
"""

from __future__ import annotations

import errno
import os
import struct
import sys

from whet.guard.tables import load_toml

_ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Maps a machine to the column of its call numbers, and to its identifier in the kernel."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NEW_NAMESPACE = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_STREAM, _PACKETS = 1, 5
_INET, _INET6, _NETLINK = 2, 10, 16


def number_of(name: str, column: int) -> int | None:
    """Return the number of a call, or `None` if the machine does not have it."""
    numbers: list[int] = load_toml("seccomp")["calls"][name]
    return numbers[column] if column < len(numbers) else None


def group(name: str) -> list[str]:
    """Return the calls of a group."""
    names: list[str] = load_toml("seccomp")["groups"][name]
    return names


def machine() -> str:
    """Return the name of this machine if a filter can be written for it, otherwise ""."""
    name = os.uname().machine if sys.platform == "linux" else ""
    return name if name in _ARCHES and sys.maxsize > 1 << 32 else ""


def program(machine: str, *, internet: bool, landlock: int = 0) -> bytes:
    """Return the filter for a machine.

    `internet` allows sockets of the Internet families. With a version of `landlock`, the filter also closes what that version
    leaves open; before version 6 no process in the box can send a signal, because it could go anywhere.
    """
    column, mark = _ARCHES[machine]
    refuse, unknown, denied, idle = (_ERROR | code for code in (errno.EPERM, errno.ENOSYS, errno.EACCES, 0))
    code = [_step(_LOAD, 4), _step(_EQUAL, mark, 1, 0), _step(_RETURN, unknown), _step(_LOAD, 0)]
    if machine == "x86_64":  # x32: the same calls under other numbers
        code += [_step(_AT_LEAST, 0x40000000, 0, 1), _step(_RETURN, unknown)]

    def on(name: str, *steps: bytes) -> None:
        number = number_of(name, column)
        if number is not None:
            code.extend((_step(_EQUAL, number, 0, len(steps)), *steps))

    plain = [
        *((name, refuse) for name in group("refused")),
        ("clone3", unknown),
    ]  # a filter cannot see its flags
    if landlock:
        plain += [(name, refuse) for name in group("shared")] + [(name, idle) for name in group("idle")]
        plain += [(name, refuse) for name in group("signals") if landlock < 6]
        plain += [("truncate", refuse)] if landlock < 3 else []
    for name, answer in plain:
        on(name, _step(_RETURN, answer))
    allow = _step(_RETURN, _ALLOW)
    on("clone", _argument(0), _step(_ANY_BIT, _NEW_NAMESPACE, 1, 0), allow, _step(_RETURN, refuse))
    terminal = (_step(_EQUAL, _TIOCSTI, 2, 0), _step(_EQUAL, _TIOCLINUX, 1, 0))  # typing and pasting into the terminal
    on("ioctl", _argument(1), *terminal, allow, _step(_RETURN, refuse))
    families = (_INET, _INET6, _NETLINK) if internet else ()
    on("socket", _argument(0), *_one_of(families), _step(_RETURN, denied), allow)
    # A pair of datagram sockets could otherwise send to, or connect with, a name in the file system.
    on("socketpair", _argument(1), _step(_AND, 15), *_one_of((_STREAM, _PACKETS)), _step(_RETURN, denied), allow)
    if landlock:
        nothing = (_step(_EQUAL, 0, 0, 3), _argument(1, high=True), _step(_EQUAL, 0, 0, 1), allow)
        on("utimensat", _argument(1), *nothing, _step(_RETURN, idle))  # for an open file, not for a path
        on("prlimit64", _argument(0), _step(_EQUAL, 0, 0, 1), allow, _step(_RETURN, refuse))
        mine = (_step(_EQUAL, 0, 0, 3), _argument(1), _step(_EQUAL, 0, 0, 1), allow)
        on("setpriority", _argument(0), *mine, _step(_RETURN, refuse))
    code.append(allow)
    return b"".join(code)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _argument(index: int, *, high: bool = False) -> bytes:
    """Load one half of an argument of the call."""
    return _step(_LOAD, 16 + 8 * index + 4 * high)  # both machines are little-endian


def _one_of(values: tuple[int, ...]) -> list[bytes]:
    """Skip the next step if the loaded value is one of `values`."""
    return [_step(_EQUAL, value, len(values) - at, 0) for at, value in enumerate(values)]

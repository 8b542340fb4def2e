"""The system calls that programs in a box go without, as a filter for the Linux kernel, written by hand.

The filter is a little program of classic BPF that the kernel asks at every call. It refuses what nothing in a skill
needs and much has been broken out with: looking into other processes, mounting, namespaces, keys, kernel modules,
io_uring. It refuses sockets of families that no namespace and no Landlock rule covers, those of the file system
among them. At the level `landlock` a box shares the machine's processes and files, and the filter closes what Landlock
leaves open there: changing the mode or owner of files one may only read, leaving the process group by which the box is
ended, the limits and signals of processes outside.
"""

from __future__ import annotations

import errno
import os
import struct
import sys

_ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine -> the column of `_CALLS` that holds its numbers, and its mark in the kernel."""

_CALLS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "lchown": (94, None),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpgid": (109, 154),
    "setpriority": (141, 140),
    "setsid": (112, 157),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vhangup": (153, 58),
}

_REFUSED = (
    *("acct", "add_key", "adjtimex", "bpf", "chroot", "clock_adjtime", "clock_settime", "delete_module"),
    *("fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "init_module", "io_uring_enter"),
    *("io_uring_register", "io_uring_setup", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl"),
    *("lookup_dcookie", "memfd_create", "memfd_secret", "migrate_pages", "modify_ldt", "mount", "mount_setattr"),
    *("move_mount", "move_pages", "name_to_handle_at", "open_by_handle_at", "open_tree", "open_tree_attr"),
    *("perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise", "process_mrelease", "process_vm_readv"),
    *("process_vm_writev", "ptrace", "quotactl", "quotactl_fd", "reboot", "request_key", "setdomainname"),
    *("sethostname", "setns", "settimeofday", "shmget", "swapoff", "swapon", "syslog", "umount2", "unshare"),
    *("userfaultfd", "vhangup"),
)
_REFUSED_SHARED = (
    *("ioprio_set", "mq_open", "msgget", "semget", "sched_setaffinity", "sched_setattr", "sched_setparam"),
    "sched_setscheduler",
)
_SIGNALS = ("kill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tgkill", "tkill")
_IDLE = (
    *("chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "file_setattr", "fremovexattr"),
    *("fsetxattr", "futimesat", "lchown", "lremovexattr", "lsetxattr", "removexattr", "removexattrat", "setpgid"),
    *("setsid", "setxattr", "setxattrat", "utime", "utimes"),
)
"""Calls that say they succeeded and do nothing, so that what copies files or starts helpers goes on."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NEW_NAMESPACE = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_STREAM, _PACKETS = 1, 5
_INET, _INET6, _NETLINK = 2, 10, 16


def machine() -> str:
    """The machine's name where a filter can be written for it, else nothing."""
    name = os.uname().machine if sys.platform == "linux" else ""
    return name if name in _ARCHES and sys.maxsize > 1 << 32 else ""


def program(machine: str, *, internet: bool, landlock: int = 0) -> bytes:
    """The filter for a machine.

    `internet` allows sockets of the Internet families. With a version of `landlock`, the filter also closes what that
    version leaves open; before the sixth nobody in the box can send a signal, because it could go anywhere.
    """
    column, mark = _ARCHES[machine]
    refuse, unknown, denied, idle = (_ERROR | code for code in (errno.EPERM, errno.ENOSYS, errno.EACCES, 0))
    code = [_step(_LOAD, 4), _step(_EQUAL, mark, 1, 0), _step(_RETURN, unknown), _step(_LOAD, 0)]
    if machine == "x86_64":  # the same calls by other numbers
        code += [_step(_AT_LEAST, 0x40000000, 0, 1), _step(_RETURN, unknown)]

    def on(name: str, *steps: bytes) -> None:
        number = _CALLS[name][column]
        if number is not None:
            code.extend((_step(_EQUAL, number, 0, len(steps)), *steps))

    plain = [*((name, refuse) for name in _REFUSED), ("clone3", unknown)]  # its flags are out of a filter's sight
    if landlock:
        plain += [(name, refuse) for name in _REFUSED_SHARED] + [(name, idle) for name in _IDLE]
        plain += [(name, refuse) for name in _SIGNALS if landlock < 6]
        plain += [("truncate", refuse)] if landlock < 3 else []
    for name, answer in plain:
        on(name, _step(_RETURN, answer))
    allow = _step(_RETURN, _ALLOW)
    on("clone", _argument(0), _step(_ANY_BIT, _NEW_NAMESPACE, 1, 0), allow, _step(_RETURN, refuse))
    terminal = (_step(_EQUAL, _TIOCSTI, 2, 0), _step(_EQUAL, _TIOCLINUX, 1, 0))  # typing into it, pasting into it
    on("ioctl", _argument(1), *terminal, allow, _step(_RETURN, refuse))
    families = (_INET, _INET6, _NETLINK) if internet else ()
    on("socket", _argument(0), *_one_of(families), _step(_RETURN, denied), allow)
    # A pair of datagram sockets could still be sent to, or connected with, a name in the file system.
    on("socketpair", _argument(1), _step(_AND, 15), *_one_of((_STREAM, _PACKETS)), _step(_RETURN, denied), allow)
    if landlock:
        nothing = (_step(_EQUAL, 0, 0, 3), _argument(1, high=True), _step(_EQUAL, 0, 0, 1), allow)
        on("utimensat", _argument(1), *nothing, _step(_RETURN, idle))  # of an open file, not of a path
        on("prlimit64", _argument(0), _step(_EQUAL, 0, 0, 1), allow, _step(_RETURN, refuse))
        mine = (_step(_EQUAL, 0, 0, 3), _argument(1), _step(_EQUAL, 0, 0, 1), allow)
        on("setpriority", _argument(0), *mine, _step(_RETURN, refuse))
    code.append(allow)
    return b"".join(code)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _argument(index: int, *, high: bool = False) -> bytes:
    """Load half of an argument of the call."""
    return _step(_LOAD, 16 + 8 * index + 4 * high)  # both machines are little-endian


def _one_of(values: tuple[int, ...]) -> list[bytes]:
    """Jump over the next step when what was loaded is one of these."""
    return [_step(_EQUAL, value, len(values) - at, 0) for at, value in enumerate(values)]

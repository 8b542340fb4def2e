"""A box as a value: the files a program sees, where it may write, whether it has a network, and its resource limits.

Everything not named is hidden, above all the home directory. Always present are the system directories that programs need
to run at all, read-only, and an empty directory for temporary files, which is also the home directory inside.
"""

from __future__ import annotations

import os
import sys

from whet.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Mapping

MIB = 1 << 20
NO_SANDBOX_HINT = (
    'On Linux, install bubblewrap or use a kernel with Landlock. To run them without a sandbox, set sandbox = "off" in '
    "config.toml."
)

if sys.platform == "darwin":
    SYSTEM: tuple[str, ...] = (
        *("/usr", "/bin", "/sbin", "/System", "/Library/Developer", "/Library/Apple", "/Library/Frameworks"),
        *("/Applications/Xcode.app", "/private/var/db/timezone", "/nix/store"),
    )
else:
    SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Directories of programs and libraries of the system."""

ETC = tuple(
    f"/etc/{name}"
    for name in (
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "locale.alias"),
        *("ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "ca-certificates", "pki/tls/certs", "pki/ca-trust"),
        *("pki/tls/openssl.cnf", "crypto-policies", "mime.types", "magic", "protocols", "services", "terminfo", "perl"),
    )
)
"""System settings that programs read; some have private keys next to them, so no wider directory is named."""
PROXY_PORT = 3128
ETC_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/gai.conf")

_WIDE = frozenset(
    f"/{name}"
    for name in (
        *("", "bin", "boot", "data", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "private"),
        *("private/etc", "private/tmp", "private/var", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr"),
        *("var", "var/tmp", "Applications", "Library", "System", "Users", "Volumes"),
    )
)


class Limits(NamedTuple):
    """The resources a box may use. Sizes are in bytes."""

    seconds: float = 10
    """Wall-clock time from start to end."""
    cpu: int = 60
    """CPU seconds for each process."""
    memory: int = 2048 * MIB
    """Memory for each process, and for all of them together."""
    processes: int = 128
    """Number of processes and threads."""
    file: int = 128 * MIB
    """Largest file."""
    temp: int = 256 * MIB
    """Total size of temporary files, at the level `bubblewrap`."""
    output: int = 1_000_000
    """Characters of output that are kept."""


class Mount(NamedTuple):
    """A directory of the machine that a box shows at another path."""

    target: str
    source: str
    writable: bool = False


class Box(NamedTuple):
    """The environment, files and limits of a program. Paths are absolute; missing ones are ignored."""

    env: Mapping[str, str]
    """The whole environment, except HOME and TMPDIR, which name the directory for temporary files."""
    cwd: str = ""
    """The working directory; empty for the directory for temporary files."""
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    network: bool = False
    limits: Limits = Limits()
    mounted: tuple[Mount, ...] = ()
    """Directories shown at other paths than their own; only the level `bubblewrap` supports them."""
    serve: Callable[[socket.socket], None] | None = None
    """Handles what programs send to `PROXY_PORT` of their loopback; only the level `bubblewrap` supports it.

    The function gets a socket that listens there, and returns at once; the socket is closed with the box.
    """

    def shows(self, path: str) -> bool:
        """Return whether a program in the box can see this file and the file it links to."""
        mounted = (mount.source for mount in self.mounted)
        return is_below(os.path.realpath(path), _real((*SYSTEM, *self.readable, *self.writable, *mounted)))


def box_for(
    *,
    shown: Iterable[str],
    cwd: str,
    env: Mapping[str, str],
    home: str,
    network: bool = False,
    limits: Limits = Limits(),  # noqa: B008 (an immutable value)
) -> Box:
    """Return a box that shows these directories, read-only, and the tools on the PATH outside the home directory.

    A directory that is the home, contains it, or is one of the system's large ones is never shown: the program then starts
    in its temporary directory.
    """
    readable = [path for path in dict.fromkeys(shown) if path and is_narrow(path, home)]
    kept = []
    for word in filter(os.path.isabs, env.get("PATH", os.defpath).split(os.pathsep)):
        real = os.path.realpath(word)
        if not is_below(real, _real((*SYSTEM, *readable))):
            tool = _tool(real)
            if (home and is_below(real, _real((home,)))) or not is_narrow(tool, home) or not os.path.isdir(tool):
                continue
            readable.append(tool)
        kept.append(word)
    here = is_below(os.path.realpath(cwd), _real((*SYSTEM, *readable)))
    return Box({**env, "PATH": os.pathsep.join(kept)}, cwd if here else "", tuple(readable), (), network, limits)


def _tool(directory: str) -> str:
    """Return the directory that must be shown for the programs in `directory` to find their own files."""
    parts = directory.split(os.sep)
    return os.sep.join(parts[:3]) if parts[1] == "opt" and len(parts) > 3 else directory


def _real(paths: Iterable[str]) -> list[str]:
    return [os.path.realpath(path) for path in paths]


def rlimits(limits: Limits) -> list[tuple[int, int]]:
    """Return the limits that can be set for one process.

    Memory is the writable memory (`DATA`), not the address space, of which some runtimes reserve far more than they
    will use.
    """
    import resource

    return [
        (resource.RLIMIT_CPU, limits.cpu),
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NOFILE, 1024),
        (resource.RLIMIT_CORE, 0),
    ]


def check_words(argv: Iterable[str], env: Mapping[str, str], options: Iterable[str] = ()) -> None:
    """Raise ValueError for words and variables that cannot be passed to a program."""
    if any(not name or "=" in name for name in env):
        raise ValueError("illegal environment variable name")
    if any("\0" in word for word in (*argv, *env, *env.values(), *options)):
        raise ValueError("embedded null byte")


def is_narrow(path: str, home: str) -> bool:
    """Return whether a directory can be shown without showing unintended files."""
    real = os.path.realpath(path)
    return real not in _WIDE and not (home and is_below(os.path.realpath(home), [real]))


def is_below(path: str, tops: Iterable[str]) -> bool:
    """Return whether the path is one of these directories, or in one."""
    return any(path == top or path.startswith(top.rstrip(os.sep) + os.sep) for top in tops)

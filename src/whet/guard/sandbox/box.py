"""A box as a value: what a program sees, where it may write, whether it has a network, and how much it may take.

Everything not named is hidden: the home directory above all. What is always there is what programs need to run at all,
the system's own directories, read-only, and an empty directory for temporary files, which is also the home in there.
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
"""Where the system keeps programs and libraries."""

ETC = tuple(
    f"/etc/{name}"
    for name in (
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "locale.alias"),
        *("ssl/certs", "ssl/openssl.cnf", "ssl/cert.pem", "ca-certificates", "pki/tls/certs", "pki/ca-trust"),
        *("pki/tls/openssl.cnf", "crypto-policies", "mime.types", "magic", "protocols", "services", "terminfo", "perl"),
    )
)
"""What programs read of the system's settings; private keys lie beside some of it, so nothing is named more widely."""
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
    """What a box may take. Sizes are in bytes."""

    seconds: float = 10
    """By the clock, from the start to the end."""
    cpu: int = 60
    """Seconds of computing, for each process."""
    memory: int = 2048 * MIB
    """For each process, and for all of them together."""
    processes: int = 128
    """Processes and threads."""
    file: int = 128 * MIB
    """The largest file."""
    temp: int = 256 * MIB
    """All temporary files together, at the level `bubblewrap`."""
    output: int = 1_000_000
    """Characters of output that are kept."""


class Mount(NamedTuple):
    """A directory of the machine that a box shows in another place."""

    target: str
    source: str
    writable: bool = False


class Box(NamedTuple):
    """What a program gets. Paths are absolute; those that do not exist are passed over."""

    env: Mapping[str, str]
    """The whole environment, but for HOME and TMPDIR, which name the directory for temporary files."""
    cwd: str = ""
    """Where it starts; empty is the directory for temporary files."""
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    network: bool = False
    limits: Limits = Limits()
    mounted: tuple[Mount, ...] = ()
    """Directories that stand in another place than their own; only the level `bubblewrap` can do that."""
    serve: Callable[[socket.socket], None] | None = None
    """Takes what programs send to `PROXY_PORT` of their loopback; only the level `bubblewrap` can do that.

    It gets a socket that listens there, and returns at once; the socket is closed with the box.
    """

    def shows(self, path: str) -> bool:
        """Whether a program in the box finds this file, and what it links to."""
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
    """A box that shows these directories, read-only, and the tools on the PATH that do not lie in the home directory.

    A directory that is the home, lies above it, or is one of the system's large ones is not shown, whoever asks: the
    program then starts among its temporary files.
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
    """What has to be shown for the programs in a directory to find their own files."""
    parts = directory.split(os.sep)
    return os.sep.join(parts[:3]) if parts[1] == "opt" and len(parts) > 3 else directory


def _real(paths: Iterable[str]) -> list[str]:
    return [os.path.realpath(path) for path in paths]


def rlimits(limits: Limits) -> list[tuple[int, int]]:
    """The limits that one process can be given.

    Memory is what it can write to (`DATA`), not its address space, of which some runtimes reserve far more than they
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
    """Raise ValueError for words and variables that cannot be handed to a program."""
    if any(not name or "=" in name for name in env):
        raise ValueError("illegal environment variable name")
    if any("\0" in word for word in (*argv, *env, *env.values(), *options)):
        raise ValueError("embedded null byte")


def is_narrow(path: str, home: str) -> bool:
    """Can a directory be shown without showing what was never meant?"""
    real = os.path.realpath(path)
    return real not in _WIDE and not (home and is_below(os.path.realpath(home), [real]))


def is_below(path: str, tops: Iterable[str]) -> bool:
    """Is the path one of these directories, or in one?"""
    return any(path == top or path.startswith(top.rstrip(os.sep) + os.sep) for top in tops)

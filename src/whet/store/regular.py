"""What Whet keeps is a regular file, or a link to one.

A pipe, a socket, a device, a directory or a link to nowhere in the place of such a file is damage. Nobody waits for it:
opening it fails at once. `whet doctor --check` names it, and `whet doctor --repair` moves it aside.
"""

from __future__ import annotations

import errno
import os
import stat

_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


def open_regular(path: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """A descriptor of a regular file, for `open(path, opener=open_regular)` too. Raises OSError for anything else."""
    descriptor = os.open(path, flags | _AT_ONCE, mode)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return descriptor
    os.close(descriptor)
    number = errno.EISDIR if stat.S_ISDIR(kind) else errno.ENXIO
    raise OSError(number, "not a regular file", path)


def is_irregular(path: str) -> bool:
    """Is there something at this path that is neither a regular file nor a link to one?"""
    return os.path.lexists(path) and not os.path.isfile(path)

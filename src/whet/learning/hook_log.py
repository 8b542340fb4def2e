"""The log of hook failures: lines in `hooks.log`, never more than 256 KiB.

A hook never reports a failure to its client; `whet doctor` does. Nothing heavy is imported, because there may be no
time left; and only regular files are opened, because a pipe would block.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from whet.store.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
FILE = "hooks.log"
OLD = "hooks.log.1"
LARGE = 128 * 1024
"""Bytes after which the log becomes the old one, which replaces the previous old one."""
LONGEST = 1_000
"""Characters of a message that are kept."""
_FIELDS = 5
_DIGITS = 19
"""Digits of a time in nanoseconds."""


def append(state: str, client: str, event: str, code: str, message: str, now: int = 0) -> bool:
    """Log a failure. Never raises; return False if it could not be logged."""
    try:
        path = os.path.join(state, FILE)
        fields = (str(now or time.time_ns()), client[:100], event[:100], code[:100], message[:LONGEST])
        line = "\t".join(" ".join(field.split()) for field in fields).encode("utf-8", "backslashreplace") + b"\n"
        if not os.path.isdir(state):
            from whet.store.directories import make_directories

            make_directories(state, private=True)
        fd = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK)
        try:
            os.write(fd, line)
            large = os.fstat(fd).st_size > LARGE
        finally:
            os.close(fd)
        if large:
            os.replace(path, os.path.join(state, OLD))
    except Exception:  # noqa: BLE001  it is the last place to note anything, and the client must not notice
        return False
    return True


def read(state: str) -> Iterator[tuple[int, str, str, str, str]]:
    """Yield the entries: time, client, event, code and message, oldest first. Damaged lines are left out."""
    for name in (OLD, FILE):
        try:
            fd = open_regular(os.path.join(state, name), os.O_RDONLY | _NO_LINK)
            with open(fd, encoding="utf-8", errors="replace") as file:
                lines = file.read(4 * LARGE).splitlines()
        except OSError:
            continue  # it does not exist or cannot be read: there is nothing to report
        for line in lines:
            fields = line.split("\t")
            if len(fields) == _FIELDS and fields[0].isdecimal() and len(fields[0]) <= _DIGITS:
                yield int(fields[0]), fields[1], fields[2], fields[3], fields[4]


def clear(state: str) -> None:
    """Delete the log."""
    for name in (OLD, FILE):
        with suppress(OSError):
            os.unlink(os.path.join(state, name))

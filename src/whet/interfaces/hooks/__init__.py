"""Hooks: the events that an agent reports to Whet while it works, and the answers it gets.

This module has only what both ends of the socket share: the hook's entry point must import nothing else.
"""

from __future__ import annotations

import os

MAGIC = b"whet-hook"
FIELDS = 7
"""Number of fields before the payload of a request; see `service`."""
DIRECTORY = "run"
LONGEST_PATH = 100
"""Longest path of a socket in bytes, on every system."""
MOST = 1024 * 1024
"""Largest payload in bytes; the rest is read and dropped."""


def check_own(directory: str) -> None:
    """Raise OSError unless this is a directory of this user, and not a link."""
    from stat import S_ISDIR

    found = os.lstat(directory)
    if not S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError(f"{directory} is not one of Whet's directories")

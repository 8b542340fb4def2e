"""Hooks: what an existing agent tells Whet while it works, and what it gets to know in return.

Here is only what the two ends of the socket agree on: nothing else may be imported along with the hook's entry point.
"""

from __future__ import annotations

import os

MAGIC = b"whet-hook"
FIELDS = 7
"""What stands before the payload of a request; `service` tells which."""
DIRECTORY = "run"
LONGEST_PATH = 100
"""Bytes that the path of a socket may have on every system."""
MOST = 1024 * 1024
"""Bytes of a payload that count; what a client sends beyond that is read and dropped."""


def check_own(directory: str) -> None:
    """Raises OSError for what is not a directory of this person, or only a link to one."""
    from stat import S_ISDIR

    found = os.lstat(directory)
    if not S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError(f"{directory} is not one of Whet's directories")

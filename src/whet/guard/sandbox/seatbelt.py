"""A box by Seatbelt, the sandbox of macOS, with a profile written for each run.

The profile denies everything that it does not name. Paths are parameters, never part of its text, so that no path can
be taken for a rule.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.guard.sandbox.box import ETC, ETC_NETWORK, SYSTEM
from whet.guard.sandbox.landlock import launch, remove, temporary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.sandbox.box import Box
    from whet.guard.sandbox.process import Command, Keeper

PROGRAM = "/usr/bin/sandbox-exec"

_HEAD = """\
(version 1)
(deny default)
(import "system.sb")
(allow process-exec process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* (literal "/"))
(allow file-read* file-write-data file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-read* file-write-data (subpath "/dev/fd"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
"""
_NETWORK = """\
(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow system-socket)
"""


def prepare(argv: Sequence[str], box: Box) -> tuple[Command, Keeper]:
    """Return the command that runs a program under a profile, and its keeper."""
    temp = os.path.realpath(temporary())
    try:
        rules, parameters = profile(box, temp)
        words = [PROGRAM]
        for name, path in parameters.items():
            words += ["-D", f"{name}={path}"]
        return launch([*words, "-p", rules, *argv], box, temp, {"files": 0})
    except (OSError, ValueError):
        remove(temp)
        raise


def profile(box: Box, temp: str) -> tuple[str, dict[str, str]]:
    """Return the rules, and the paths that are their parameters."""
    look = dict.fromkeys(os.path.realpath(path) for path in (*SYSTEM, *ETC, *box.readable))
    look |= dict.fromkeys(os.path.realpath(path) for path in ETC_NETWORK if box.network)
    write = dict.fromkeys((temp, *map(os.path.realpath, box.writable)))
    parameters: dict[str, str] = {}
    rows = [_HEAD]
    for kind, paths, rights in (
        ("READ", look, "file-read* file-map-executable"),
        ("WRITE", write, "file-read* file-write* file-map-executable"),
    ):
        for number, path in enumerate(paths):
            parameters[f"{kind}_{number}"] = path
            rows.append(f'(allow {rights} (subpath (param "{kind}_{number}")))\n')
    return "".join((*rows, _NETWORK if box.network else "")), parameters

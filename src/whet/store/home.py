"""Where Whet keeps its state, decided from an environment that is passed in.

Nothing here reads the process environment or touches the disk, and the rules of each platform can be asked for on any
other one.
"""

from __future__ import annotations

import ntpath
import posixpath
import sys
from typing import TYPE_CHECKING

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HINT = "Set WHET_HOME to the absolute path of a directory for Whet's state."


def whet_home(env: Mapping[str, str], platform: str = sys.platform) -> str:
    """The absolute directory of Whet's state: `$WHET_HOME`, or `whet` in the platform's data directory."""
    chosen = env.get("WHET_HOME", "")
    if chosen:
        expanded = _expanded(chosen, env, platform)
        return ntpath.abspath(expanded) if platform == "win32" else posixpath.abspath(expanded)
    if platform == "win32":
        data = env.get("LOCALAPPDATA", "")
        return ntpath.join(
            data if ntpath.isabs(data) else ntpath.join(user_home(env, platform), r"AppData\Local"), "whet"
        )
    if platform == "darwin":
        return posixpath.join(user_home(env, platform), "Library/Application Support/whet")
    data = env.get("XDG_DATA_HOME", "")  # the XDG rules say that a relative value counts as unset
    return posixpath.join(data if posixpath.isabs(data) else f"{user_home(env, platform)}/.local/share", "whet")


def user_home(env: Mapping[str, str], platform: str = sys.platform) -> str:
    """The person's home directory: `HOME`, or `USERPROFILE` on Windows."""
    variable = "USERPROFILE" if platform == "win32" else "HOME"
    home = env.get(variable, "")
    if not home:
        raise UsageError("no-home", f"{variable} is not set, so there is no home directory.", hint=f"Set {variable}.")
    if not (ntpath.isabs(home) if platform == "win32" else posixpath.isabs(home)):
        raise UsageError("no-home", f"{variable} is {home!r}, which is not an absolute path.", hint=_HINT)
    return ntpath.normpath(home) if platform == "win32" else posixpath.normpath(home)


def _expanded(chosen: str, env: Mapping[str, str], platform: str) -> str:
    """`chosen` with a leading `~` replaced; another user's `~name` is not looked up."""
    if not chosen.startswith("~"):
        return chosen
    separators = "\\/" if platform == "win32" else "/"
    rest = chosen[1:]
    if rest and rest[0] not in separators:
        raise UsageError("no-home", f"WHET_HOME is {chosen!r}, and only a plain ~ is understood there.", hint=_HINT)
    return f"{user_home(env, platform)}{separators[0]}{rest[1:]}"

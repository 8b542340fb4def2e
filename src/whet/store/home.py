"""The location of Whet's state, computed from an environment that is passed in.

Nothing here reads the process environment or touches the disk, and the rules of each platform can be tested on any
other. A hook needs this first, so only necessary modules are imported.
"""

from __future__ import annotations

import posixpath
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.errors import UsageError

LOGS = {"journal": "history.log", "audit": "audit.log"}
"""Files beside `state.db` that have a line for each row of a table (`whet.store.chain`)."""
_HINT = "Set WHET_HOME to the absolute path of a directory for Whet's state."


def whet_home(env: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return the absolute directory of Whet's state: `$WHET_HOME`, or `whet` in the platform's data directory."""
    chosen = env.get("WHET_HOME", "")
    if chosen:
        expanded = _expanded(chosen, env, platform)
        if platform != "win32":
            return posixpath.abspath(expanded)
        import ntpath

        return ntpath.abspath(expanded)
    if platform == "win32":
        import ntpath

        data = env.get("LOCALAPPDATA", "")
        return ntpath.join(
            data if ntpath.isabs(data) else ntpath.join(user_home(env, platform), r"AppData\Local"), "whet"
        )
    if platform == "darwin":
        return posixpath.join(user_home(env, platform), "Library/Application Support/whet")
    data = env.get("XDG_DATA_HOME", "")  # by the XDG rules, a relative value counts as unset
    return posixpath.join(data if posixpath.isabs(data) else f"{user_home(env, platform)}/.local/share", "whet")


def user_home(env: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return the user's home directory: `HOME`, or `USERPROFILE` on Windows."""
    variable = "USERPROFILE" if platform == "win32" else "HOME"
    home = env.get(variable, "")
    if not home:
        raise _no_home(f"{variable} is not set, so Whet cannot find your home directory.", f"Set {variable}.")
    if platform == "win32":
        import ntpath

        absolute, normal = ntpath.isabs(home), ntpath.normpath(home)
    else:
        absolute, normal = posixpath.isabs(home), posixpath.normpath(home)
    if not absolute:
        raise _no_home(f"{variable} is {home!r}, which is not an absolute path.")
    return normal


def shorten_home(text: str, home: str) -> str:
    """Replace the home with `~` in a path or a sentence; quoted paths stay, as in a shell."""
    if not home or home not in text:
        return text
    import os
    import re

    return re.sub(rf"(?<![^\s`(]){re.escape(home + os.sep)}", lambda _: f"~{os.sep}", text)


def _expanded(chosen: str, env: Mapping[str, str], platform: str) -> str:
    """Replace a leading `~` in `chosen`; another user's `~name` is not looked up."""
    if not chosen.startswith("~"):
        return chosen
    separators = "\\/" if platform == "win32" else "/"
    rest = chosen[1:]
    if rest and rest[0] not in separators:
        raise _no_home(f"WHET_HOME is {chosen!r}; only a plain ~ is supported.")
    return f"{user_home(env, platform)}{separators[0]}{rest[1:]}"


def _no_home(message: str, hint: str = _HINT) -> UsageError:
    from whet.errors import UsageError

    return UsageError("no-home", message, hint=hint)

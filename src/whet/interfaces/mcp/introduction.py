"""The list of skills in the handshake: cached from the last look, so that no client waits for one.

    introduction = Introduction(env, client, writes)
    introduction.recall()                   # at the next start; "" if nothing valid is stored
    introduction.remember(text, workspace)  # whenever a look found something new

It names the skills as of that look. It becomes invalid when the user's decisions about skills
or settings change. It is in `cache.db`, because it can be recreated.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.library.state import Decisions
from whet.store.cache import CacheDatabase
from whet.store.clock import system_clock
from whet.store.home import whet_home
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.library.workspace import Workspace
    from whet.store.database import Database

_BUSY_MS = 200
_FORGET = "DELETE FROM introductions WHERE key NOT IN (SELECT key FROM introductions ORDER BY time DESC LIMIT ?)"
_MOST = 200
"""Number of introductions that are kept: one for each project and client."""


class Introduction:
    """The introduction for one client in one directory."""

    def __init__(self, env: Mapping[str, str], client: str, writes: str) -> None:
        """`client` is the name it gives itself; the directory is that of the process."""
        self._env = env
        self._key = "\0".join((os.getcwd(), client, writes, env.get("HOME", ""), env.get("WHET_CONFIG", "")))

    def recall(self) -> str:
        """Return the stored introduction if it is still valid; otherwise ""."""
        try:
            state = whet_home(self._env)
            cache, decided = CacheDatabase(state), StateDatabase(state, busy_ms=_BUSY_MS)
            query = "SELECT text, settings, decisions FROM introductions WHERE key = ?"
            rows = cache.use(lambda database: database.read(query, (self._key,)), create=False)
            for text, settings, decisions in rows or ():
                known = json.loads(settings)
                if known == _stamps(path for path, *_ in known) and decisions == _decisions(decided):
                    return str(text)
        except (WhetError, ValueError):  # a later look at the skills reports it
            return ""
        return ""

    def remember(self, text: str, workspace: Workspace) -> None:
        """Keep the text for the next start."""
        settings, decisions = json.dumps(_stamps(_settings(workspace))), _decisions(workspace.state)
        row = (self._key, text, settings, decisions, workspace.clock())

        def write(database: Database) -> None:
            with database.write() as connection:
                connection.execute("REPLACE INTO introductions VALUES (?, ?, ?, ?, ?)", row)
                connection.execute(_FORGET, (_MOST,))

        workspace.cache_database.use(write)


def _decisions(state: StateDatabase) -> str:
    """Return the user's decisions about skills."""
    decisions = Decisions(state, system_clock)
    recalled = decisions.recall()
    found = (decisions.trusted(), sorted(recalled.disabled), sorted(recalled.blocked))
    return json.dumps((*found, recalled.listed, recalled.in_use))


def _settings(workspace: Workspace) -> list[str]:
    """Return the settings files that apply in a place."""
    from whet.library.settings import PROJECT_FILE, config_path

    config, place = workspace.config(), workspace.place
    own = [] if config.repository is None else [os.path.join(config.repository.root, PROJECT_FILE)]
    if bundle := config.disabled.in_use:
        own += [bundle.path, *config.bundle_directories]
    return [config_path(place.state, place.env), *own]


def _stamps(paths: Iterable[str]) -> list[list[str | int]]:
    """Return each path with a stamp that changes when the file does."""
    stamps: list[list[str | int]] = []
    for path in paths:
        try:
            found = os.stat(path)
            stamps.append([path, found.st_mtime_ns, found.st_size])
        except OSError:
            stamps.append([path])
    return stamps

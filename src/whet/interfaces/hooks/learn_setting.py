"""How far the user wants sessions to be learned from, cheap enough to be asked at every event."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.errors import UsageError
from whet.library.settings import config_path, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping


class LearnSetting:
    """The setting `learn` of one state directory. A project may say less; whoever learns from its sessions looks."""

    def __init__(self, state: str, env: Mapping[str, str]) -> None:
        self._env = env
        self._path = config_path(state, env)
        self._stamp = (-1, -1)
        self._known = ""

    def now(self) -> str:
        """What it is now; the file is read again when it has changed. One that cannot be understood is `off`."""
        try:
            found = os.stat(self._path)
            stamp = (found.st_mtime_ns, found.st_size)
        except OSError:
            stamp = (0, 0)
        if stamp != self._stamp:
            try:
                self._known = read_settings(self._path, home=self._env.get("HOME", ""))[0].learn
            except UsageError:
                self._known = "off"
            self._stamp = stamp
        return self._known

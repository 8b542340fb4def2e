"""Decide the calls of a model: `allow`, `deny` or `ask`, by the skill's `allowed-tools` and by where paths lead.

The grants are matched as text (`guard.permissions`); here links are followed first, so that the file that would be
opened is checked. File tools reach only the copy of the project and the skill's own directory, which can always be
read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.guard.permissions.decision import NO_POLICY, Permission, declared_tools, permits
from whet.guard.permissions.grants import PATHS, read_grants
from whet.guard.permissions.paths import BadPathError, Where, normalised
from whet.guard.sandbox.box import is_below
from whet.runtime.servers import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.guard.permissions.grants import Grant
    from whet.runtime.workspace import Workspace
    from whet.skill.model import Skill

READS = frozenset(("Read", "Glob", "Grep", "LS"))
PATH_KEYS = {"Glob": "path", "Grep": "path", "LS": "path"}
"""Argument with the path, if it is not `file_path`."""


class Judge(NamedTuple):
    """Decides the calls of one skill in one copy."""

    skill: Skill
    directory: str
    """Directory of the skill."""
    workspace: Workspace
    cwd: str
    """Working directory of the model, as it sees it."""
    home: str

    @property
    def grants(self) -> tuple[Grant, ...] | None:
        """Declared grants; None if the skill declares none, and every call needs approval."""
        return declared_tools(self.skill)

    def offers(self, tool: str) -> bool:
        """Return whether a tool is offered to the model."""
        denied = {grant.tool for grant in read_grants(list(self.skill.disallowed_tools)) if not grant.rule}
        grants = self.grants
        if tool in denied:
            return False
        if tool.startswith(PREFIX):
            return grants is not None and self._permits(tool, {}).decision != "deny"
        return tool == "Read" or grants is None or any(grant.tool == tool and not grant.problem for grant in grants)

    def decide(self, tool: str, given: Mapping[str, Any]) -> Permission:
        """Return the decision about one call."""
        if tool not in PATHS:
            return self._permits(tool, given)
        key = PATH_KEYS.get(tool, "file_path")
        try:
            path = self.path(given.get(key) or (self.cwd if tool in PATH_KEYS else ""), reads=tool == "Read")
        except BadPathError as error:
            return Permission("deny", f"{str(error)[:1].upper()}{str(error)[1:]}.")
        real = self.locate(path)
        if real is None:
            return Permission("deny", f"{path} is outside the copy of the project and the skill's directory.")
        if self._in_skill(path):
            if tool in READS:
                return Permission("allow", "A skill may read its own directory.")
            return Permission("deny", "A skill may not change its own directory.")
        decision = self._permits(tool, {**given, key: path})
        led = self.workspace.inside + real[len(os.path.realpath(self.workspace.copy)) :]
        if led != path and decision.decision != "deny":
            followed = self._permits(tool, {**given, key: led})
            decision = decision if followed.decision == "allow" else followed
        return decision

    def path(self, text: object, *, reads: bool = False) -> str:
        """Return the path that a model means, as it sees it. Raise BadPathError.

        With `reads`, a relative path may be a file of the skill if the project has none of that name.
        """
        if not isinstance(text, str):
            raise BadPathError("the path is not text")
        path = normalised(text, Where(self.cwd, self.directory, self.home))
        if reads and not text.startswith(("/", "~")) and not os.path.lexists(self.locate(path) or ""):
            own = normalised(text, Where(self.directory, self.directory, self.home))
            path = own if os.path.isfile(own) else path
        return path

    def locate(self, path: str) -> str | None:
        """Return the local path; None if it may not be reached."""
        if self._in_skill(path):
            real = os.path.realpath(path)
            return real if is_below(real, (os.path.realpath(self.directory),)) else None
        return self.workspace.locate(path)

    def _in_skill(self, path: str) -> bool:
        return is_below(path, (self.directory,))

    def _permits(self, tool: str, given: Mapping[str, Any]) -> Permission:
        policy = NO_POLICY._replace(deny=read_grants(list(self.skill.disallowed_tools)))
        places = {"cwd": self.cwd, "skill_dir": self.directory, "home": self.home}
        return permits(self.grants, tool, dict(given), policy=policy, **places)

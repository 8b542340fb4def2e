"""Connected clients, each with its project and its tools.

One process serves many clients. Those of the same project share one `Library`, which is thread-safe; each has its own
tools, so that content viewed by one does not count as viewed by another.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from whet.api.session_pool import SessionKey
from whet.errors import UsageError
from whet.interfaces.mcp.resource_server import Served
from whet.library.visibility import Caller

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whet.api.session_pool import SessionPool
    from whet.api.tools import Tools

SURFACE = "mcp"
"""The name of this surface in `whet disable NAME --surface`."""
_CLIENTS = (
    *("claude-code", "codex", "cursor", "vscode", "visual-studio-code", "gemini", "opencode", "hermes", "copilot"),
    *("qwen", "cline", "windsurf", "zed", "amp", "goose", "kiro"),
)
"""The beginnings of the names that clients give themselves."""
_CALLED = {"visual-studio-code": "vscode"}


class ClientContext(NamedTuple):
    """Everything that answers one client about one project."""

    project: str | None
    caller: Caller
    tools: Tools
    served: Served


class ClientSession:
    """One connected client."""

    def __init__(self, sessions: SessionPool, client: str = "") -> None:
        """`client` is the name it gives itself."""
        self._sessions = sessions
        self._key = SessionKey(os.urandom(8).hex(), caller=Caller(surface=surface_of(client)))
        self._lock = threading.Lock()
        self._context: ClientContext | None = None
        self.settled = False
        """Whether its project is known."""

    def settle(self, project: str | None) -> None:
        """Set the client's project; None is the directory where the server was started."""
        with self._lock:
            self.settled = True
            self._key = self._key._replace(project=project)

    def context(self) -> ClientContext:
        """Return the context that answers it."""
        with self._lock:
            key, tools = self._key, self._sessions.get(self._key)
            if self._context is None or self._context.tools is not tools:
                served = Served(tools.session.workspace, tools.session.as_model)
                self._context = ClientContext(key.project, key.caller, tools, served)
            return self._context


def surface_of(client: str) -> str:
    """Return this surface, and the client if it is known, for skills that are disabled on either."""
    told = "-".join(client.lower().split())
    known = next((name for name in _CLIENTS if told.startswith(name)), "")
    return f"{SURFACE}/{_CALLED.get(known, known)}" if known else SURFACE


def project_of(roots: Iterable[str]) -> str | None:
    """Return the first of a client's roots that is a directory here; None if there is none."""
    for uri in roots:
        try:
            parts = urlsplit(uri)
        except ValueError:
            continue
        path = unquote(parts.path)
        if os.name == "nt":
            path = path.lstrip("/")
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and "\0" not in path and os.path.isdir(path):
            return os.path.abspath(path)
    return None


def named_project(path: str | None) -> str | None:
    """Return the project that a request names by its path. Raises UsageError if the directory does not exist."""
    if path is None:
        return None
    if "\0" in path or not os.path.isabs(path) or not os.path.isdir(path):
        hint = "Pass the absolute path of a directory on the server's machine."
        raise UsageError("no-such-project", f"There is no directory {path!r:.200}.", hint=hint)
    return os.path.abspath(path)

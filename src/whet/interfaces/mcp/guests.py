"""Who is at the door: each client, the project it works in, and the conversation that its tools belong to.

One process serves many clients. Those of the same project share one `Library`, which may be used from many threads;
each has tools of its own, so that what one has viewed is not held for viewed by another.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from whet.errors import UsageError
from whet.interfaces.mcp.serving import Served
from whet.library.visibility import Caller
from whet.prompt.session import Session
from whet.prompt.tokens import ESTIMATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whet.api import Library
    from whet.api.tools import Tools, Writes

SURFACE = "mcp"
"""What `whet disable NAME --surface` calls this way in."""
_CLIENTS = ("claude-code", "codex", "cursor", "vscode", "visual-studio-code", "gemini", "opencode", "hermes")
"""How the names begin that clients give themselves."""
_CALLED = {"visual-studio-code": "vscode"}
_MOST_LIBRARIES = 32
"""Projects whose libraries are kept open."""


class Libraries:
    """The libraries of all projects that clients work in; the one used last is kept longest."""

    def __init__(self, open_library: Callable[[str | None], Library]) -> None:
        """`open_library` opens that of a project; None is where the server was started."""
        self._open = open_library
        self._kept: dict[str | None, Library] = {}
        self._lock = threading.Lock()

    def of(self, project: str | None) -> Library:
        """The library of a project."""
        with self._lock:
            library = self._kept.pop(project, None) or self._open(project)
            self._kept[project] = library
            for old in list(self._kept)[:-_MOST_LIBRARIES]:
                del self._kept[old]  # not closed: somebody may be using it
            return library

    def close(self) -> None:
        """Let all of them go."""
        with self._lock:
            for library in self._kept.values():
                library.close()


class Desk(NamedTuple):
    """What answers one client about one project."""

    project: str | None
    library: Library
    caller: Caller
    tools: Tools
    served: Served


class Guest:
    """One client."""

    def __init__(self, libraries: Libraries, writes: Writes, client: str = "") -> None:
        """`client` is what it calls itself."""
        self._libraries = libraries
        self._surface = surface_of(client)
        self._writes: Writes = writes
        self._lock = threading.Lock()
        self._desk: Desk | None = None
        self.project: str | None = None
        """Where it works; None is where the server was started."""
        self.settled = False
        """Whether that is known."""

    def settle(self, project: str | None) -> None:
        """It works in this project."""
        with self._lock:
            self.settled = True
            if project != self.project:
                self.project, self._desk = project, None

    def desk(self) -> Desk:
        """What answers it."""
        with self._lock:
            if self._desk is None:
                library, caller = self._libraries.of(self.project), Caller(surface=self._surface)
                session = Session(library, caller=caller, stubs=False, tokenizer=ESTIMATE)  # an exact one loads slowly
                tools = library.tools(session, writes=self._writes)
                self._desk = Desk(self.project, library, caller, tools, Served(library, session.as_model))
            return self._desk


def surface_of(client: str) -> str:
    """This way in, and the client where it is a known one, for skills that are switched off on either."""
    told = "-".join(client.lower().split())
    known = next((name for name in _CLIENTS if told.startswith(name)), "")
    return f"{SURFACE}/{_CALLED.get(known, known)}" if known else SURFACE


def project_of(roots: Iterable[str]) -> str | None:
    """The first of a client's roots that is a directory here; None when none is."""
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
    """The project that a request names by its path. Raises UsageError where there is no such directory."""
    if path is None:
        return None
    if "\0" in path or not os.path.isabs(path) or not os.path.isdir(path):
        hint = "Give the absolute path of a directory on the server's machine."
        raise UsageError("no-such-project", f"There is no directory {path!r:.200}.", hint=hint)
    return os.path.abspath(path)

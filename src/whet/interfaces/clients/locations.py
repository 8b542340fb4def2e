"""Paths on this machine: a client's files and their contents, and Whet's own program."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, InvalidError
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from whet.interfaces.clients.known import Connection, File, Spot
    from whet.library.roots import Place

_PASSING = ("archive-v0", "builds-v0", "pipx/.cache", "pipx/cache", "_npx")
"""Parts of paths of temporary programs."""


class Program(NamedTuple):
    """The words of Whet's command line, before any argument."""

    words: tuple[str, ...]
    serves: bool = True
    """Whether it has everything that `whet mcp` needs."""
    clone: str = ""
    """The directory of Whet's source that it runs from; "" if it is installed."""

    def call(self, *arguments: str, platform: str) -> str:
        """Return the command line for a shell."""
        if platform == "win32":
            # Forward slashes in double quotes mean the same to cmd, Git Bash and Python's shlex.
            words = (word.replace("\\", "/") for word in self.words)
            return " ".join((*(f'"{word}"' for word in words), *arguments))
        from shlex import quote

        return " ".join((*map(quote, self.words), *arguments))

    @property
    def passing(self) -> bool:
        """Whether its path is that of a temporary program."""
        path = self.words[0].replace("\\", "/")
        return any(f"/{part}/" in path for part in _PASSING)


BY_NAME = Program(("whet",))
"""Whet's command in files that are shared with other machines."""


def running_program(argument: str = "", interpreter: str = "") -> Program:
    """Return the running Whet: its command, or Python with the module if there is no command next to it."""
    return Program(_running_words(argument or sys.argv[0], interpreter or sys.executable), can_serve())


def can_serve() -> bool:
    """Return whether the requirements of `whet mcp` are installed."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _running_words(argument: str, interpreter: str) -> tuple[str, ...]:
    name = "whet.exe" if sys.platform == "win32" else "whet"
    called = os.path.abspath(argument)
    if os.path.basename(called).lower() in ("whet", "whet.exe"):
        called = called if called.lower().endswith(name) else f"{called}.exe"
        if os.path.isfile(called):
            return (called,)
    beside = os.path.join(os.path.dirname(os.path.abspath(interpreter)), name)
    if os.path.isfile(beside) and os.access(beside, os.X_OK):
        return (beside,)
    return (os.path.abspath(interpreter), "-m", "whet")


def file_path(file: File, place: Place) -> str:
    """Return the file's path here, existing or not; an existing file of another name wins over a missing one."""
    path = next(found for spot in file.spots if (found := resolve_spot(spot, place)))
    return _existing(path, file.other_names)


def project_path(client: Connection, place: Place) -> str:
    """Return the client's configuration in the project of this place; "" if the client has none."""
    from whet.library.repository import find_repository

    if not client.project:
        return ""
    root = find_repository(place.directory, home=place.home).root
    return _existing(os.path.join(root, *client.project.split("/")), client.file.other_names)


def resolve_spot(spot: Spot, place: Place) -> str:
    """Return the path of a spot on this machine; "" if it does not count here."""
    if spot.platform and spot.platform != place.platform:
        return ""
    base = place.env.get(spot.variable, "") if spot.variable else place.home
    if not base:
        return ""
    from whet.library.settings import expand

    base = os.path.join(place.directory, expand(base, place.home))
    return os.path.normpath(os.path.join(base, *spot.path.split("/"))) if spot.path else os.path.normpath(base)


def _existing(path: str, other_names: tuple[str, ...]) -> str:
    if os.path.lexists(path):
        return path
    others = (os.path.join(os.path.dirname(path), name) for name in other_names)
    return next((other for other in others if os.path.lexists(other)), path)


def read_file(path: str) -> bytes | None:
    """Return the content of a configuration file; None if it is missing. Raises ConflictError, FailedError."""
    with os_failures(path, doing="read", other="read-failed"):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise ConflictError(
                "client-config-not-a-file",
                f"{path} is not a file.",
                hint="Move it, then run the command again. Nothing was changed.",
                path=path,
            )
        with open(path, "rb") as stream:
            return stream.read()


def text_of(data: bytes | None, path: str) -> str:
    """Return the content as text, with its line ends and byte order mark. Raises InvalidError."""
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        line = (data or b"")[: error.start].count(b"\n") + 1
        raise InvalidError(
            "client-config-broken",
            f"{path}: line {line} is not UTF-8 text.",
            hint="Save the file as UTF-8, then run the command again. Nothing was changed.",
            path=path,
            line=line,
        ) from error


def digest(data: bytes | None) -> str:
    """Return the digest of a file's content; "" for a missing file."""
    if data is None:
        return ""
    from hashlib import sha256

    return sha256(data).hexdigest()

"""Where things are on this machine: a client's files and what is in them, and the program that is Whet."""

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
"""Parts of paths below which tools put programs that they throw away after a while."""


class Program(NamedTuple):
    """How Whet is started: the words of its command line, before any argument."""

    words: tuple[str, ...]
    serves: bool = True
    """Has it what `whet mcp` needs?"""
    clone: str = ""
    """The directory of Whet's source that it runs from; "" if it is installed."""

    def call(self, *arguments: str, platform: str) -> str:
        """The command line as a shell reads it."""
        if platform == "win32":
            # Forward slashes in double quotes mean the same to cmd, to Git Bash and to Python's shlex.
            words = (word.replace("\\", "/") for word in self.words)
            return " ".join((*(f'"{word}"' for word in words), *arguments))
        from shlex import quote

        return " ".join((*map(quote, self.words), *arguments))

    @property
    def passing(self) -> bool:
        """Does it lie where a tool keeps what it runs only once?"""
        path = self.words[0].replace("\\", "/")
        return any(f"/{part}/" in path for part in _PASSING)


BY_NAME = Program(("whet",))
"""Whet as it is called in files that travel to other machines."""


def running_program(argument: str = "", interpreter: str = "") -> Program:
    """The Whet that runs now: its command, or Python with the module where there is no command beside it."""
    return Program(_running_words(argument or sys.argv[0], interpreter or sys.executable), can_serve())


def can_serve() -> bool:
    """Is what `whet mcp` needs installed?"""
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
    """The file's path here, whether it exists or not; an existing one of its other names wins over a missing one."""
    path = next(found for spot in file.spots if (found := resolve_spot(spot, place)))
    return _existing(path, file.other_names)


def project_path(client: Connection, place: Place) -> str:
    """The client's configuration in the project of this place; "" where the client has none."""
    from whet.library.repository import find_repository

    if not client.project:
        return ""
    root = find_repository(place.directory, home=place.home).root
    return _existing(os.path.join(root, *client.project.split("/")), client.file.other_names)


def resolve_spot(spot: Spot, place: Place) -> str:
    """The path of a spot on this machine; "" where it does not count here."""
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
    """The content of a configuration file, also through a link; None for no file. Raises ConflictError, FailedError."""
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
    """The content as text, line ends and a byte order mark as they are. Raises InvalidError."""
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
    """The digest of a file's content; "" for no file."""
    if data is None:
        return ""
    from hashlib import sha256

    return sha256(data).hexdigest()

"""Places on a disk, as people write them, in the manner of the platform they write on."""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from whet.library.settings import expand
from whet.skill.finder import is_main_file
from whet.sources.model import Ref
from whet.sources.refs.pages import MARKETPLACE_FILE, is_archive
from whet.sources.refs.parts import OddError, decoded, read_address

if TYPE_CHECKING:
    from whet.library.roots import Place

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_NO_ROOT = re.compile(r"[\\/]{2}|[A-Za-z]:(?![\\/])")
_KEPT = "/!$&'()*+,;=:@-._~"


def is_local(text: str, place: Place) -> bool:
    """Is this written as a place on the disk?"""
    if text in (".", "..", "~") or text.startswith(("./", "../", "/", "~/")):
        return True
    return place.platform == "win32" and "://" not in text and (bool(_DRIVE.match(text)) or "\\" in text)


def path_of(text: str, place: Place) -> str:
    """The absolute path of a text."""
    flavour = ntpath if place.platform == "win32" else posixpath
    path = flavour.normpath(flavour.join(place.directory, expand(text, place.home)))
    return f"/{path.lstrip('/')}" if path.startswith("//") else path


def absolute(text: str, place: Place) -> str:
    """The absolute path of a text, if it is one of this machine."""
    if place.platform == "win32" and _NO_ROOT.match(text):
        raise OddError("is a share, or a path without its root", r"Write C:\directory.")
    if place.platform != "win32" and _DRIVE.match(text):
        raise OddError("is a path of another system", "Separate directories with forward slashes.")
    if text.startswith("~") and expand(text, place.home) == text:
        raise OddError("names another user's home", "Write the whole path.")
    return path_of(text, place)


def local(text: str, place: Place) -> Ref | None:
    """A place on the disk, written as one, or the name of an archive that lies here; None when it is neither."""
    if is_local(text, place):
        if place.platform != "win32" and "\\" in text:
            raise OddError("holds a backslash", "Separate directories with forward slashes.")
        return on_disk(absolute(text, place), place)
    if is_archive(text) and ":" not in text and os.path.isfile(path_of(text, place)):
        return Ref("archive", absolute(text, place))
    return None


def on_disk(path: str, place: Place) -> Ref:
    """A directory, or what a file stands for."""
    flavour = ntpath if place.platform == "win32" else posixpath
    above, name = flavour.split(path)
    if os.path.isdir(path):
        return Ref("path", path)
    if is_main_file(name) and (os.path.isfile(path) or not os.path.isdir(above)):
        return Ref("path", above)
    if name == MARKETPLACE_FILE:
        for inner in (".claude-plugin", flavour.join(".agents", "plugins")):
            above = above.removesuffix(f"{flavour.sep}{inner}") or flavour.sep
        return Ref("marketplace", above)
    return Ref("archive" if is_archive(name) or os.path.isfile(path) else "path", path)


def file_path(text: str, place: Place | None) -> str:
    """The path that a `file:` address names on this machine."""
    if not text.lower().startswith("file://"):
        raise OddError("is no file address", "Write file:///path/to/repository.")
    address = read_address(text)
    if address.host not in ("", "localhost") or not address.path or address.user:
        raise OddError("is a share on another machine, or nothing", "Write file:///path/to/repository.")
    path = "/".join(map(decoded, address.path.split("/")))
    if place is None or place.platform != "win32":
        return path
    return absolute(path.lstrip("/") if _DRIVE.match(path.lstrip("/")) else path, place)


def file_address(path: str, place: Place | None) -> str:
    """The `file:` address of a repository at an absolute path."""
    if path == "/" or path.endswith(":\\"):
        raise OddError("names a whole disk and no repository", "Write file:///path/to/repository.")
    if place is not None and place.platform == "win32":
        if not _DRIVE.match(path):
            raise OddError("is a path without its root", r"Write C:\directory.")
        path = "/" + path.replace("\\", "/")
    return f"file://{quote(path, safe=_KEPT)}"

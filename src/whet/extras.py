"""The extras of Whet, and the commands that add one to the running installation."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Installation(NamedTuple):
    """The installation of a Whet."""

    prefix: str
    """Its environment."""
    manager: str
    """`pip`, `uv` (an environment without pip), `uv sync`, `uv tool` or `pipx`."""
    source: str = ""
    """The address it was installed from; "" for the package index."""
    editable: bool = False
    """Whether the source is a directory that Whet runs from."""
    extras: tuple[str, ...] = ()
    """The extras it was installed with, if the manager would forget them."""

    @property
    def clone(self) -> str:
        """The directory of the clone that Whet runs from; "" if it is installed."""
        return self.source if self.editable else ""

    def commands(self, extra: str, *packages: str, env: Mapping[str, str] = os.environ) -> tuple[tuple[str, ...], ...]:
        """Return the command lines that add an extra, and other packages."""
        wanted = f"[{','.join(sorted({*self.extras, extra}))}]"
        edit = ("--editable",) if self.editable else ()
        spec = f"{self.source}{wanted}" if self.editable else f"whet{wanted}{f' @ {self.source}' * bool(self.source)}"
        if self.manager == "pipx":
            inject = (("pipx", "inject", "whet", *packages),) if packages else ()
            return (("pipx", "install", "--force", *edit, spec), *inject)
        if self.manager == "uv tool":
            return (("uv", "tool", "install", *(f"--with={package}" for package in packages), *edit, spec),)
        active = env.get("VIRTUAL_ENV") == self.prefix
        if self.manager == "pip":
            pip = ("pip",) if active else (_program(self.prefix, "python"), "-m", "pip")
            return ((*pip, "install", *edit, spec, *packages),)
        uv = "uv" if _on_path("uv", env) else _program(self.prefix, "uv")
        into = (uv, "pip", "install", *(() if active else (f"--python={self.prefix}",)))
        if self.manager == "uv sync":
            more = ((*into, *packages),) if packages else ()
            return ((uv, "sync", "--inexact", f"--project={self.source}", f"--extra={extra}"), *more)
        return ((*into, *edit, spec, *packages),)


def missing_extra(message: str, extra: str, *packages: str) -> UsageError:
    """Return the error for a missing extra, with the command that installs it."""
    return UsageError("extra-missing", message, hint=f"Install it with `{how_to_install(extra, *packages)}`.")


def how_to_install(extra: str, *packages: str) -> str:
    """Return the command line that adds an extra to the running Whet, as a person types it."""
    return " && ".join(map(shell_words, find_installation().commands(extra, *packages)))


def how_to_keep(clone: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the command line that installs a clone's Whet separately, as a person types it."""
    tool = ("pipx",) if _on_path("pipx", env) and not _on_path("uv", env) else ("uv", "tool")
    return shell_words((*tool, "install", f"{clone}[mcp,models]"))


def shell_words(words: tuple[str, ...]) -> str:
    """Return a command line as a person types it."""
    if sys.platform == "win32":
        return " ".join(f'"{word}"' if set(word) & set(" []&^") else word for word in words)
    from shlex import join

    return join(words)


def find_installation(prefix: str = sys.prefix, env: Mapping[str, str] = os.environ) -> Installation:
    """Return how the Whet in the environment `prefix` was installed, from the installer's records."""
    source, editable, installer = _read_origin(prefix)
    for manager, read in (("pipx", _read_pipx), ("uv tool", _read_uv_tool)):
        if (extras := read(prefix)) is not None:
            return Installation(prefix, manager, source, editable, extras)
    if any(f"{os.sep}{part}{os.sep}" in f"{prefix}{os.sep}" for part in ("archive-v0", "builds-v0")):  # `uvx whet`
        return Installation(prefix, "uv tool", source, editable)
    uv = _on_path("uv", env) or os.path.isfile(_program(prefix, "uv"))
    if editable and uv and prefix == os.path.join(source, ".venv") and os.path.isfile(os.path.join(source, "uv.lock")):
        return Installation(prefix, "uv sync", source, editable)
    from importlib.util import find_spec

    lacks_pip = installer == "uv" and (prefix != sys.prefix or find_spec("pip") is None)
    return Installation(prefix, "uv" if lacks_pip else "pip", source, editable)


def _read_origin(prefix: str) -> tuple[str, bool, str]:
    """Return the address that Whet was installed from, whether it is editable, and the installer."""
    import json
    from importlib.metadata import distributions
    from urllib.parse import unquote, urlsplit

    path = sys.path if prefix == sys.prefix else _site_packages(prefix)
    found = next(iter(distributions(name="whet", path=path)), None)
    if found is None:  # run from a checkout that nobody installed
        checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        known = os.path.isfile(os.path.join(checkout, "pyproject.toml"))
        return checkout if known else "", known, ""
    installer = (found.read_text("INSTALLER") or "").strip()
    try:
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except ValueError:
        origin = {}
    url = str(origin.get("url", ""))
    if origin.get("dir_info", {}).get("editable"):
        from urllib.request import url2pathname

        return url2pathname(unquote(urlsplit(url).path)), True, installer
    system = origin.get("vcs_info", {}).get("vcs")
    return f"{system}+{url}" if system else url, False, installer


def _site_packages(prefix: str) -> list[str]:
    import glob

    return [os.path.join(prefix, "Lib", "site-packages"), *glob.glob(f"{prefix}/lib/python*/site-packages")]


def _read_pipx(prefix: str) -> tuple[str, ...] | None:
    """Return the extras that pipx installed Whet with; None if it was not pipx."""
    import json
    import re

    try:
        with open(os.path.join(prefix, "pipx_metadata.json"), encoding="utf-8") as file:
            spec = json.load(file)["main_package"]["package_or_url"]
    except (OSError, ValueError, KeyError, TypeError):
        return () if os.path.isfile(os.path.join(prefix, "pipx_metadata.json")) else None
    found = re.search(r"\[([\w, -]+)\]", str(spec))
    return tuple(extra.strip() for extra in found[1].split(",")) if found else ()


def _read_uv_tool(prefix: str) -> tuple[str, ...] | None:
    """Return the extras that `uv tool` installed Whet with; None if it was not `uv tool`."""
    import tomllib

    extras: tuple[str, ...] | None = None
    with suppress(OSError), open(os.path.join(prefix, "uv-receipt.toml"), "rb") as file:
        extras = ()
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            wanted = [entry for entry in tomllib.load(file)["tool"]["requirements"] if entry.get("name") == "whet"]
            extras = tuple(extra for entry in wanted for extra in entry.get("extras", ()))
    return extras


def _program(prefix: str, name: str) -> str:
    return os.path.join(prefix, "Scripts", f"{name}.exe") if os.name == "nt" else os.path.join(prefix, "bin", name)


def _on_path(name: str, env: Mapping[str, str]) -> bool:
    from shutil import which

    return which(name, path=env.get("PATH", "")) is not None

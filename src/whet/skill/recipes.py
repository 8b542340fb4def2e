"""Install recipes of programs that a skill needs, from OpenClaw's metadata: an argument list, never a shell.

A recipe comes from a stranger, so every value must have the plain form of its installer's names; any other is refused.
Package managers that can be told to are told not to run scripts of the package.
"""

from __future__ import annotations

import re

from whet.patterns import compile_late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.skill.gates import Install

_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
_FORMS: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {
    "brew": (re.compile(rf"{_NAME}(?:/{_NAME}/{_NAME})?(?:@[0-9.]+)?"), ("brew", "install")),
    "uv": (re.compile(rf"{_NAME}(?:\[[A-Za-z0-9,._-]+\])?(?:==[A-Za-z0-9.+!]+)?"), ("uv", "tool", "install")),
    "node": (
        re.compile(rf"(?:@{_NAME}/)?{_NAME}(?:@[A-Za-z0-9.^~+-]+)?"),
        ("npm", "install", "--global", "--ignore-scripts"),
    ),
    "go": (re.compile(rf"{_NAME}(?:/{_NAME})+@[A-Za-z0-9.+-]+"), ("go", "install")),
}
"""Format of package names of each kind, and the install command; the preferred kind first."""
_ALIASES = {"npm": "node", "pnpm": "node", "yarn": "node", "pip": "uv", "pipx": "uv", "homebrew": "brew"}
_URL = compile_late(r"https://[A-Za-z0-9.-]+(?::\d+)?/[^\s\"'`$<>|;\\]*")
_SHA256 = compile_late(r"[0-9a-fA-F]{64}")
KINDS = (*_FORMS, "download")


def read_kind(kind: str) -> str:
    """Return Whet's name for the kind of a recipe."""
    return _ALIASES.get(kind.lower(), kind.lower())


def is_sound(install: Install) -> bool:
    """Return whether every value of a recipe has the required form."""
    if install.kind == "download":
        return bool(_URL.fullmatch(install.url)) and (not install.sha256 or bool(_SHA256.fullmatch(install.sha256)))
    form = _FORMS.get(install.kind)
    return form is not None and bool(form[0].fullmatch(install.package)) and ".." not in install.package


def install_command(install: Install) -> tuple[str, ...]:
    """Return the argument list of a recipe; empty for a download or an invalid recipe."""
    return (*_FORMS[install.kind][1], install.package) if install.kind in _FORMS and is_sound(install) else ()


def describe(install: Install) -> str:
    """Return a human-readable instruction."""
    if command := install_command(install):
        return f"Install it with `{' '.join(command)}`."
    if install.kind == "download" and is_sound(install):
        check = f" and compare its SHA-256 with {install.sha256}" if install.sha256 else ""
        return f"Download {install.url}{check}, then put it on PATH."
    return install.label

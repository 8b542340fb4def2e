"""How a program that a skill needs is installed, as OpenClaw's metadata says it: an argument list, never a shell.

A recipe comes from a stranger, so every value must have the plain form that its installer's names have; one that has
another is refused. Package managers are told to run no scripts of the package where they can be told.
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
"""What a package of each kind is called, and the command that installs one; the kind liked best first."""
_ALIASES = {"npm": "node", "pnpm": "node", "yarn": "node", "pip": "uv", "pipx": "uv", "homebrew": "brew"}
_URL = compile_late(r"https://[A-Za-z0-9.-]+(?::\d+)?/[^\s\"'`$<>|;\\]*")
_SHA256 = compile_late(r"[0-9a-fA-F]{64}")
KINDS = (*_FORMS, "download")


def read_kind(kind: str) -> str:
    """The kind of a recipe, by Whet's name for it."""
    return _ALIASES.get(kind.lower(), kind.lower())


def is_sound(install: Install) -> bool:
    """Has every value of a recipe the form that it must have?"""
    if install.kind == "download":
        return bool(_URL.fullmatch(install.url)) and (not install.sha256 or bool(_SHA256.fullmatch(install.sha256)))
    form = _FORMS.get(install.kind)
    return form is not None and bool(form[0].fullmatch(install.package)) and ".." not in install.package


def install_command(install: Install) -> tuple[str, ...]:
    """The argument list that follows a recipe; nothing for a download, or for one that is not sound."""
    return (*_FORMS[install.kind][1], install.package) if install.kind in _FORMS and is_sound(install) else ()


def describe(install: Install) -> str:
    """What to do, in a sentence for a person."""
    if command := install_command(install):
        return f"Install it with `{' '.join(command)}`."
    if install.kind == "download" and is_sound(install):
        check = f" and compare its SHA-256 with {install.sha256}" if install.sha256 else ""
        return f"Download {install.url}{check}, then put it on PATH."
    return install.label

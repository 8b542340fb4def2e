"""Skills on disk that can be published, and a scanner that says what a test wants."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from whet.authoring.trees import digest
from whet.guard.finding import Scan
from whet.library.roots import Place
from whet.sources.publish.prepare import Prepared, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from whet.guard.finding import Finding, Label
    from whet.skill.tree import Tree


def written(
    top: Path, name: str, body: str = "Do it.\n", *, files: Mapping[str, str] | None = None, more: str = ""
) -> Path:
    """A skill's directory; files below `scripts/` are executable."""
    directory = top / name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n\n{body}")
    for path, text in (files or {}).items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755 if path.startswith("scripts/") else 0o644)
    return directory


def says(verdict: Label = "safe", *findings: Finding) -> Callable[[Tree], Scan]:
    """A scan with this outcome."""
    return lambda tree: Scan(digest(tree), verdict, findings)


def ready(
    top: Path, name: str, body: str = "Do it.\n", *, files: Mapping[str, str] | None = None, more: str = ""
) -> Prepared:
    """A skill that is ready to be published."""
    return prepare(str(written(top, name, body, files=files, more=more)), scan=says())


def place(top: Path, **env: str) -> Place:
    """A machine below a directory, with an identity for git."""
    home = top / "home"
    home.mkdir(exist_ok=True)
    identity = home / ".gitconfig"
    if not identity.exists():
        identity.write_text("[user]\n\tname = A Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n")
    found = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_NOSYSTEM": "1", **env}
    return Place(str(top), str(home), str(top / "state"), sys.platform, found)

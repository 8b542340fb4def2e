"""Sessions shown in the documentation are real: each ```console block is run, and its output written back or compared.

A line that begins with `$ ` is a command; what follows, up to the next command, is its output. All blocks of one page
share a temporary home, in which tokens are estimated, whatever is installed; a block whose title is the name of a file,
as in ```markdown title="session.md", is that file. Commands run in a pseudo-terminal 100 columns wide, so that they
print what a person would see.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from terminal import show

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
TIME = re.compile(r"20\d\d-\d\d-\d\d[ T]\d\d:\d\d(?::\d\dZ)?")
"""The one thing in a session that differs from run to run; every time is shown as the same."""
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r'^```\w+ title="([\w./-]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def rewritten(page: Path) -> str:
    """The page with the output of every session as it is today."""
    text = page.read_text(encoding="utf-8")
    if not BLOCK.search(text):
        return text
    with empty_home() as home:
        for file in FILE.finditer(text):
            path = home / "shop" / file[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file[2], encoding="utf-8")
        return BLOCK.sub(lambda block: f"```console\n{_run(block[1], home)}```", text)


@contextmanager
def empty_home() -> Iterator[Path]:
    """A home with nothing in it but an empty directory, `shop`, in which commands run."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch).resolve() / "home"
        (home / "shop").mkdir(parents=True)
        (home / ".whet").mkdir()
        (home / ".whet" / "config.toml").write_text("exact_tokens = false\n", encoding="utf-8")
        yield home


def _run(block: str, home: Path) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join("".join(f"{line}\n" for line in (f"$ {command}", *run(command, home))) for command in commands)


def run(command: str, home: Path, *, columns: int = 100, colour: bool = False) -> list[str]:
    """The lines a command prints in this home."""
    env = {
        "HOME": str(home),
        "WHET_HOME": str(home / ".whet"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "COLUMNS": str(columns),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        **({} if colour else {"NO_COLOR": "1"}),
    }
    shown = show(["/bin/sh", "-c", command], cwd=home / "shop", env=env).text.replace(str(home), "~")
    shown = TIME.sub("2027-01-01 12:00", shown)
    return shown.removesuffix("\n").split("\n") if shown else []

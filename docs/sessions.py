"""Sessions shown in the documentation are real: each ```console block is run, and its output written back or compared.

A line that begins with `$ ` is a command; what follows, up to the next command, is its output. All blocks of one page
share a temporary home, in which tokens are estimated, whatever is installed; a block with the name of a file behind its
language, as in ```markdown session.md, is that file. Commands run in a pseudo-terminal 100 columns wide, so that they
print what a person would see.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from terminal import show

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
TIME = re.compile(r"20\d\d-\d\d-\d\d[ T]\d\d:\d\d(?::\d\dZ)?")
"""The one thing in a session that differs from run to run; every time is shown as the same."""
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```\w+ ([\w.-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def rewritten(page: Path) -> str:
    """The page with the output of every session as it is today."""
    text = page.read_text(encoding="utf-8")
    if not BLOCK.search(text):
        return text
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch).resolve() / "home"
        (home / "shop").mkdir(parents=True)
        (home / ".whet").mkdir()
        (home / ".whet" / "config.toml").write_text("exact_tokens = false\n", encoding="utf-8")
        for file in FILE.finditer(text):
            (home / "shop" / file[1]).write_text(file[2], encoding="utf-8")
        return BLOCK.sub(lambda block: f"```console\n{_run(block[1], home)}```", text)


def _run(block: str, home: Path) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{_output(command, home)}" for command in commands)


def _output(command: str, home: Path) -> str:
    env = {
        "HOME": str(home),
        "WHET_HOME": str(home / ".whet"),
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
    }
    shown = show(["/bin/sh", "-c", command], cwd=home / "shop", env=env).text.replace(str(home), "~")
    shown = shown.replace(str(ROOT / "src" / "whet" / "bundled"), "<whet>/bundled")
    shown = TIME.sub("2027-01-01 12:00", shown)
    lines = shown.removesuffix("\n").split("\n") if shown else []
    return "".join(f"{_settled(line)}\n" for line in lines)


def _settled(line: str) -> str:
    """A line as it stands in the end: what a slow command shows while it works is written over."""
    kept = ""
    for part in line.split("\r"):
        kept = part + kept[len(part) :]
    return kept.rstrip()

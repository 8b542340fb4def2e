"""Run a command as a person would see it: in a pseudo-terminal where there is one, through a pipe elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Shown(NamedTuple):
    """What a command left on the screen, and how it ended."""

    text: str
    code: int


def show(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Shown:
    """Run the command and take what it prints on both streams."""
    try:
        import pty
    except ImportError:
        run = subprocess.run(
            command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False
        )
        return Shown(_settled(run.stdout), run.returncode)
    leader, follower = pty.openpty()
    nobody = subprocess.DEVNULL  # types, so nothing is asked
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=nobody, stdout=follower, stderr=follower) as process:
        os.close(follower)
        pieces = []
        while piece := _read(leader):
            pieces.append(piece)
        os.close(leader)
        code = process.wait()
    text = b"".join(pieces).decode("utf-8", "replace").replace("\r\n", "\n")
    return Shown(_settled(re.sub(r"\r[^\r\n]*?\x1b\[K", "", text)), code)


def _settled(text: str) -> str:
    """The lines as they stand in the end: what a slow command shows while it works is written over."""
    lines = []
    for line in text.split("\n"):
        kept = ""
        for part in line.split("\r"):
            kept = part + kept[len(part) :]
        lines.append(kept.rstrip())
    return "\n".join(lines)


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # Linux says EIO when the other side is closed
        return b""

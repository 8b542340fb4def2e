"""The real clients as npm has them, in versions that were tried: where they are on this machine, or why they are not.

They are installed once, into `.venv/clients`, where `make clean` removes them. `WHET_TEST_CLIENTS` names a directory in
which `npm install` was run already; nothing is downloaded then. `python -m real_clients.programs` installs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from whet.store.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Mapping

PINNED = {
    "@anthropic-ai/claude-code": "2.1.197",
    "@github/copilot": "1.0.102",
    "@google/gemini-cli": "0.61.0",
    "@openai/codex": "0.166.0",
    "opencode-ai": "1.18.18",
}
FOR_HUBS = {"clawhub": "0.20.0", "skills": "1.5.18"}
"""Programs that only fetch skills; they are in a directory of their own."""
_PREPARED_BY = ("@anthropic-ai/claude-code/install.cjs", "opencode-ai/postinstall.mjs")
"""The scripts that put a package's program in its place. No others are run."""
VARIABLE = "WHET_TEST_CLIENTS"
_CACHE = Path(sys.prefix) / "clients"
_SECONDS = 300


class Programs(NamedTuple):
    """The directory of the programs; where they cannot be had, why."""

    directory: Path
    missing: str = ""

    def path(self, program: str) -> str:
        """The program itself."""
        return str(self.directory / program)


def find_programs(pinned: Mapping[str, str] = PINNED, cache: Path = _CACHE) -> Programs:
    """The programs, installed where they are not there yet."""
    given = os.environ.get(VARIABLE)
    top = Path(given) if given else cache
    directory = top / "node_modules" / ".bin"
    if not shutil.which("node"):
        return Programs(directory, "Node.js is not installed")
    if given:
        missing = [name for name in pinned if not (top / "node_modules" / name).is_dir()]
        return Programs(directory, f"{VARIABLE} has no {missing[0]}: {given}" if missing else "")
    npm = shutil.which("npm")
    if npm is None:
        return Programs(directory, "npm is not installed")
    top.mkdir(parents=True, exist_ok=True)
    with FileLock(str(top / ".lock"), timeout=_SECONDS):
        return Programs(directory, "" if _is_installed(top, pinned) else _install(npm, top, pinned))


def _is_installed(top: Path, pinned: Mapping[str, str]) -> bool:
    done = top / "installed.json"
    return done.is_file() and json.loads(done.read_text(encoding="utf-8")) == pinned


def _install(npm: str, top: Path, pinned: Mapping[str, str]) -> str:
    """Install everything; why it failed, or ""."""
    (top / "package.json").write_text(json.dumps({"private": True, "dependencies": pinned}), encoding="utf-8")
    quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1", "--ignore-scripts")
    scripts = (top / "node_modules" / script for script in _PREPARED_BY if script.rpartition("/")[0] in pinned)
    for command in ([npm, "install", *quiet], *(["node", str(script)] for script in scripts)):
        cwd = Path(command[1]).parent if command[0] == "node" else top
        try:
            done = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return f"npm did not install the clients within {_SECONDS} seconds"
        if done.returncode:
            return f"npm could not install the clients: {done.stderr.strip()[-400:]}"
    (top / "installed.json").write_text(json.dumps(pinned), encoding="utf-8")
    return ""


if __name__ == "__main__":
    found = find_programs()
    sys.stdout.write(f"{found.missing or found.directory}\n")
    sys.exit(bool(found.missing))

"""Other systems to measure against, in an environment of their own.

    python benchmarks/peers.py [DIRECTORY]

Makes a virtual environment with the peers from PyPI and, where npm is installed, those from npm beside them. Every peer
is optional: one that does not install is left out, and the benchmark says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import venv
from typing import NamedTuple

DEFAULT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".peers")
FROM_PYPI = ("skills-ref", "deepagents", "hermes-agent")
FROM_NPM = {"skills": "bin/cli.mjs", "openskills": "dist/cli.js"}
"""Packages, and the file of each that is its command."""
_VERSIONS = (
    "import importlib.metadata as m, json, sys\nfound = {}\n"
    "for name in sys.argv[1:]:\n"
    "    try: found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)


class Peers(NamedTuple):
    """The peers that are there."""

    python: str
    """The interpreter they are installed for, "" when there is none."""
    versions: dict[str, str]
    """Installed packages of FROM_PYPI and FROM_NPM."""
    directory: str

    def script(self, name: str) -> str:
        """A command that was installed from PyPI."""
        return os.path.join(os.path.dirname(self.python), name)

    def node(self, name: str) -> list[str]:
        """The command line of a package from npm, without npx."""
        return [shutil.which("node") or "node", os.path.join(self.directory, "node_modules", name, FROM_NPM[name])]


def find(place: str) -> Peers:
    """The peers in a directory made by this script, or of an interpreter anywhere."""
    python = os.path.abspath(place)
    if os.path.isdir(python):
        python = os.path.join(python, "Scripts" if os.name == "nt" else "bin", "python")
    if not os.path.exists(python):
        return Peers("", {}, place)
    directory = os.path.dirname(os.path.dirname(python))
    done = subprocess.run([python, "-c", _VERSIONS, *FROM_PYPI], capture_output=True, text=True)
    versions: dict[str, str] = json.loads(done.stdout) if done.returncode == 0 else {}
    for name in FROM_NPM if shutil.which("node") else ():
        try:
            with open(os.path.join(directory, "node_modules", name, "package.json"), encoding="utf-8") as file:
                versions[name] = json.load(file)["version"]
        except OSError:
            continue
    return Peers(python, versions, directory)


def install(directory: str) -> Peers:
    """Make the environment and install what installs."""
    venv.create(directory, with_pip=True)
    with open(os.path.join(directory, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("*\n")
    python = os.path.join(directory, "Scripts" if os.name == "nt" else "bin", "python")
    for name in FROM_PYPI:
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", name])
    npm = shutil.which("npm")
    for name in FROM_NPM if npm else ():
        subprocess.run([npm or "npm", "install", "--prefix", directory, "--no-audit", "--no-fund", "--silent", name])
    return find(directory)


def main() -> int:
    parser = argparse.ArgumentParser(description="Install the systems that Whet is measured against.")
    parser.add_argument("directory", nargs="?", default=DEFAULT)
    peers = install(parser.parse_args().directory)
    for name in (*FROM_PYPI, *FROM_NPM):
        print(f"{name:<14} {peers.versions.get(name, 'not installed')}")
    return 0 if peers.versions else 1


if __name__ == "__main__":
    sys.exit(main())

"""What the tests of the library share: a place of their own, skills in it, other processes, a count of system calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pkgutil import iter_modules
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
from rights import GIVE_UP

import whet.library
from whet.api import Library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

UNPRIVILEGED = (
    """
import json, os, sys
from whet.api import Library
from whet.errors import WhetError
"""
    + GIVE_UP
    + """
top = sys.argv[1]

def skill(path, text="---\\nname: NAME\\ndescription: Does NAME.\\n---\\nBody.\\n"):
    path = os.path.join(top, path)
    os.makedirs(path)
    with open(path + "/SKILL.md", "w") as file:
        file.write(text.replace("NAME", os.path.basename(path)))
    return path

def library():
    return Library.open([top + "/root"], home=top + "/state", project=top, env={"HOME": top})

def report(opened):
    return [[entry.code, entry.severity, os.path.relpath(entry.path, top)] for entry in opened.workspace.report()]
"""
)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may touch the real home, whatever it forgets to pass."""
    (tmp_path / "home").mkdir()
    for name in ("WHET_HOME", "WHET_CONFIG", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: (str(tmp_path / "org"),))


@pytest.fixture
def root(tmp_path: Path) -> str:
    """An empty directory for skills."""
    path = tmp_path / "root"
    path.mkdir()
    return str(path)


@pytest.fixture
def skill() -> Callable[..., str]:
    """`skill(directory, name, description=..., body=..., more=...)` writes one; gives the path of its SKILL.md."""

    def write(directory: str, name: str, *, description: str = "", body: str = "Body.\n", more: str = "") -> str:
        base = os.path.basename(name)
        os.makedirs(os.path.join(directory, name), exist_ok=True)
        path = os.path.join(directory, name, "SKILL.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"---\nname: {base}\ndescription: {description or f'Does {base}.'}\n{more}---\n{body}")
        return path

    return write


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Library]]:
    """`opened(*roots)` opens a library of these roots; without any, that of a home and project in `tmp_path`.

    `settled=True` lets its clock run a minute ahead, so that everything on disk counts as old.
    """
    made: list[Library] = []

    def open_library(*roots: str, settled: bool = False, env: dict[str, str] | None = None, **more: Any) -> Library:
        ahead = 60 * 10**9 if settled else 0
        (tmp_path / "project").mkdir(exist_ok=True)
        more.setdefault("project", str(tmp_path / "project"))
        more.setdefault("home", str(tmp_path / "state"))
        env = {"HOME": str(tmp_path / "home"), "PATH": "", **(env or {})}
        library = Library.open(roots or None, env=env, clock=lambda: time.time_ns() + ahead, **more)
        made.append(library)
        return library

    yield open_library
    for library in made:
        library.close()


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., None]:
    """Writes config.toml; the skills that ship with Whet are always left out."""

    def write(text: str = "") -> None:
        (tmp_path / "state").mkdir(0o700, exist_ok=True)
        (tmp_path / "state" / "config.toml").write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def elsewhere() -> Callable[..., str]:
    """`elsewhere(code, *arguments)` runs Python code in another process; gives what it prints."""

    def run(code: str, *arguments: str) -> str:
        command = [sys.executable, "-c", f"import os, sys\n{code}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    return run


@pytest.fixture
def unprivileged() -> Iterator[Callable[[str], Any]]:
    """Runs code without privileges, also when the tests run as root; gives what it leaves in `answer`."""
    top = tempfile.mkdtemp(prefix="whet-test-")
    os.chmod(top, 0o777)  # the process that works here is another user's

    def run(code: str) -> Any:
        program = f"{UNPRIVILEGED}\n{code}\nprint(json.dumps(answer))"
        command = [sys.executable, "-W", "error", "-c", program, top]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    yield run
    os.chmod(top, 0o700)
    for directory, names, _ in os.walk(top):
        for name in names:
            if not os.path.islink(os.path.join(directory, name)):
                os.chmod(os.path.join(directory, name), 0o700)
    rmtree(top)


class _Recorder:
    """Stands where a module has `os` (or `os.path`) and counts what is asked of the disk."""

    def __init__(self, real: Any, names: tuple[str, ...], counts: Counter[str], prefix: str = "") -> None:
        self._real = real
        self._names = names
        self._counts = counts
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if name not in self._names:
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            self._counts[self._prefix + name] += 1
            found = value(*args, **kwargs)
            if name == "read":
                self._counts["bytes"] += len(found)
            return found

        return call


@pytest.fixture
def io(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the library's calls of the system from here on, by name; `path.exists` and the like by their own."""
    counts: Counter[str] = Counter()
    calls = ("stat", "lstat", "scandir", "listdir", "open", "read", "access", "readlink")
    recorder = _Recorder(os, calls, counts)
    questions = ("exists", "lexists", "isdir", "isfile", "islink", "realpath", "samefile")
    vars(recorder)["path"] = _Recorder(os.path, questions, counts, "path.")
    names = [module.name for module in iter_modules(whet.library.__path__, "whet.library.")]
    for name in ("whet.api.library", "whet.store.state", *names):
        module = import_module(name)
        if hasattr(module, "os"):
            monkeypatch.setattr(module, "os", recorder)
    return counts

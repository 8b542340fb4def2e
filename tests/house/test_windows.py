"""Windows, as far as it can be tried without one: its path rules, and processes without anything of POSIX.

What these tests cannot show (real junctions, sharing violations, the console) is named in docs/reliability.md.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whet
from house.windows_process import MISSING_MODULES
from whet.errors import UsageError
from whet.skill.paths import check, collides
from whet.store.regular import is_link, is_link_status, long_path, make_junction

SOURCE = Path(whet.__file__).parent
PROGRAM = Path(__file__).with_name("windows_process.py")
LINUX_ONLY = {"guard/sandbox/launcher.py": ["resource"], "guard/sandbox/listener.py": ["fcntl"]}
"""Programs that are run by path, for the sandbox of Linux, and what they load; nothing imports them."""
under_load = settings(suppress_health_check=(HealthCheck.too_slow,))
"""The strategies are small: that drawing from them is slow says only that the machine is busy."""
_ENDS = "aAcCoOnNuUlLxX1"
PART = st.builds("{}{}".format, st.text(f"{_ENDS}. ", max_size=4), st.sampled_from(_ENDS))
"""A name that most checks take: it may only be a device."""
posix = pytest.mark.skipif(sys.platform == "win32", reason="there is nothing to pretend")

IMPORTS = """
import importlib, pkgutil, whet
left_out = {
    *("whet.guard.sandbox.launcher", "whet.guard.sandbox.listener"),  # run by path, on Linux
    "whet.adapters.langchain",  # loads much that is not ours
}
names = {module.name for module in pkgutil.walk_packages(whet.__path__, "whet.")} - left_out
for name in sorted(names):
    if not name.endswith(".__main__"):
        importlib.import_module(name)
print(len(names) > 300)
"""
JOURNEY = """
import shlex, sys
from whet.interfaces.cli import main
for line in sys.argv[1:]:
    print("exit", main(shlex.split(line)), line.split()[0], flush=True)
"""
KEYS = """
from whet.interfaces.cli.picker import _keys
with _keys() as read:
    print([read() for _ in range(6)])
    try:
        read()
    except KeyboardInterrupt:
        print("interrupted")
"""
LOCKS = """
import os, sys
from whet.errors import FailedError
from whet.store.atomic import write_bytes
from whet.store.locks import FileLock
top = sys.argv[1]
with FileLock(f"{top}/lock", timeout=1):
    try:
        with FileLock(f"{top}/lock", timeout=0):
            print("both")
    except FailedError as error:
        print(error.code, error.details["holder"] == os.getpid())
with FileLock(f"{top}/lock", timeout=0):
    print("again")
replace, refused = os.replace, []
def busy(old, new):
    if len(refused) < 2:
        refused.append(new)
        raise PermissionError(13, "The process cannot access the file because it is being used by another process")
    replace(old, new)
os.replace = busy
write_bytes(f"{top}/file", b"a\\r\\nb\\n\\x1a\\n")
print(len(refused), open(f"{top}/file", "rb").read(), sorted(os.listdir(top)))
"""


def run(tmp_path: Path, text: str, *arguments: str, keys: str = "[]") -> str:
    """What a program prints in a process that has nothing of POSIX but its paths."""
    program = tmp_path / "program.py"
    program.write_text(text)
    home = str(tmp_path / "home")
    env = {"PATH": os.environ["PATH"], "USERPROFILE": home, "LOCALAPPDATA": f"{home}/local", "PYTHONUTF8": "1"}
    command = [sys.executable, str(PROGRAM), str(program), *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env={**env, "WINDOWS_KEYS": keys}, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def codes(printed: str) -> list[str]:
    """The exit code and the first word of each command."""
    return [line.removeprefix("exit ") for line in printed.splitlines() if line.startswith("exit ")]


# --- what is loaded -------------------------------------------------------------------------------------------------


def test_no_module_needs_what_only_posix_has_to_be_loaded() -> None:
    found = {
        path.relative_to(SOURCE).as_posix(): names
        for path in SOURCE.rglob("*.py")
        if any(name in (text := path.read_text(encoding="utf-8")) for name in MISSING_MODULES)
        and (names := sorted(_loaded(ast.parse(text)) & set(MISSING_MODULES)))
    }
    assert found == LINUX_ONLY


def _loaded(module: ast.Module) -> set[str]:
    """The modules that are imported whatever the platform is."""
    names = {alias.name for node in module.body if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in module.body if isinstance(node, ast.ImportFrom)}


@posix
@pytest.mark.deep
def test_every_module_loads_without_posix(tmp_path: Path) -> None:
    assert run(tmp_path, IMPORTS) == "True\n"


# --- what works without POSIX ---------------------------------------------------------------------------------------


@posix
@pytest.mark.deep
def test_a_day_without_posix(tmp_path: Path) -> None:
    """Skills are installed, changed, linked by junctions, packed and taken back, and all bytes are as they were."""
    skills, pack = tmp_path / "home/.agents/skills", tmp_path / "pack"
    lines = b"one\r\ntwo\x1a\r\nthree\n"
    for top, name in ((skills, "alpha"), (pack, "gamma")):
        (top / name / "references").mkdir(parents=True)
        head = f"---\r\nname: {name}\r\ndescription: Counts letters. Use it for letters.\r\n---\r\n\r\nCount words.\r\n"
        (top / name / "SKILL.md").write_bytes(head.encode())
        (top / name / "references/a.md").write_bytes(lines)
    (tmp_path / "home/.claude").mkdir()
    first = run(
        tmp_path,
        JOURNEY,
        f"install {pack}/gamma",
        "skill patch alpha --find 'Count words' --replace 'Count lines'",
        "sync claude-code",
        "skill pack alpha",
        "sources verify",
    )
    assert codes(first) == ["0 install", "0 skill", "0 sync", "0 skill", "0 sources"]
    linked = tmp_path / "home/.claude/skills"
    assert {path.name: os.readlink(path) for path in linked.iterdir()} == {
        "alpha": str(skills / "alpha"),
        "gamma": str(skills / "gamma"),
    }
    assert (skills / "alpha/SKILL.md").read_bytes().endswith(b"---\r\n\r\nCount lines.\r\n")
    assert (skills / "gamma/references/a.md").read_bytes() == lines
    again = run(tmp_path, JOURNEY, "sync claude-code", "sync --undo", "undo", "undo")
    assert codes(again) == ["0 sync", "0 sync", "0 undo", "0 undo"]
    assert not linked.exists()
    assert sorted(path.name for path in skills.iterdir()) == ["alpha"]
    assert (skills / "alpha/SKILL.md").read_bytes().endswith(b"---\r\n\r\nCount words.\r\n")
    assert (skills / "alpha/references/a.md").read_bytes() == lines


@posix
@pytest.mark.deep
def test_keys_of_the_console_are_read(tmp_path: Path) -> None:
    keys = json.dumps([0x26, 0x28, "à", "\r", "\x08", "\x1b", "\x03"])
    assert run(tmp_path, KEYS, keys=keys) == "['up', 'down', 'à', 'enter', 'erase', 'escape']\ninterrupted\n"


@posix
@pytest.mark.deep
def test_a_lock_is_a_byte_and_a_busy_file_is_replaced_later(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    assert run(tmp_path, LOCKS, str(tmp_path / "top")) == (
        "lock-timeout True\nagain\n2 b'a\\r\\nb\\n\\x1a\\n' ['file', 'lock']\n"
    )


# --- paths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"C:\skills" + "\\a" * 119, r"C:\skills" + "\\a" * 119),
        (r"C:\skills" + "\\a" * 120, r"\\?\C:\skills" + "\\a" * 120),
        ("C:/skills" + "/a" * 120, r"\\?\C:\skills" + "\\a" * 120),
        (r"C:\x\..\skills" + "\\a" * 120, r"\\?\C:\skills" + "\\a" * 120),
        (r"\\server\share" + "\\a" * 120, r"\\?\UNC\server\share" + "\\a" * 120),
        (r"\\?\C:\skills" + "\\a" * 120, r"\\?\C:\skills" + "\\a" * 120),
        ("skills" + "\\a" * 120, "skills" + "\\a" * 120),
    ],
)
def test_long_paths_get_the_prefix_on_windows(path: str, expected: str) -> None:
    assert (long_path(path, "win32"), long_path(path, "linux")) == (expected, path)


@under_load
@given(
    st.lists(st.sampled_from(("a", "long name", "é", "x" * 60)), max_size=40),
    st.sampled_from(("C:\\", "\\\\s\\t\\")),
)
def test_a_long_path_names_the_same_file(parts: list[str], root: str) -> None:
    path = str(PureWindowsPath(root, *parts))
    found = long_path(path, "win32")
    assert found.replace("\\\\?\\UNC\\", "\\\\").replace("\\\\?\\", "") == path
    assert len(path) <= 247 or found.startswith("\\\\?\\")
    assert long_path(found, "win32") == found


@under_load
@given(st.lists(PART | PART | st.text(f"{_ENDS}.: \\/", max_size=6), min_size=1, max_size=4))
def test_every_path_a_skill_may_have_is_one_on_windows(parts: list[str]) -> None:
    path = "/".join(parts)
    try:
        check(path)
    except UsageError:
        return
    found = PureWindowsPath(path)
    assert (found.drive, found.root, found.is_reserved(), found.as_posix()) == ("", "", False, path)
    assert not any(part.endswith((".", " ")) for part in found.parts)


@under_load
@given(st.lists(st.text("aBcé", min_size=1, max_size=3), min_size=1, max_size=3))
def test_paths_that_are_one_on_windows_collide(parts: list[str]) -> None:
    path = "/".join(parts)
    other = path.swapcase()
    assert PureWindowsPath(path) == PureWindowsPath(other)
    assert collides([path, other])[0] == (path, other)


def test_a_junction_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    directory = os.lstat(tmp_path / "directory")
    junction = SimpleNamespace(st_mode=directory.st_mode, st_reparse_tag=0xA0000003)
    assert (is_link_status(directory), is_link_status(cast("os.stat_result", junction))) == (False, True)
    assert not is_link(str(tmp_path / "directory"))
    assert not is_link(str(tmp_path / "nothing"))


@posix
def test_there_are_no_junctions_elsewhere(tmp_path: Path) -> None:
    assert not make_junction(str(tmp_path), str(tmp_path / "link"))
    assert list(tmp_path.iterdir()) == []

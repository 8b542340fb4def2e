"""The completion script at work in a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="needs bash")

ASK = """
eval "$(whet completion bash)"
COMP_LINE="$1" COMP_POINT=${#1}
IFS=" :" read -r -a COMP_WORDS <<< "$1"
[[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_whet
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def bash_env(env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """An environment in which `whet` is a command."""
    script = tmp_path / "bin" / "whet"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m whet "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return {
        **env,
        "PATH": f"{script.parent}{os.pathsep}{env['PATH']}",
        "TERM": "dumb",
        "PS1": "> ",
        "INPUTRC": "/dev/null",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("whet un", ["undo"]),
        ("whet skill un", ["unpin", "unpack"]),
        ("whet show dep", ["deploy"]),
        ("whet   show\tdep", ["deploy"]),
        ("sudo whet show dep", ["deploy"]),
        ("whet show tools:l", ["lint"]),
        ("whet list --ca", ["--category"]),
        ("whet skill validate --profile ", ["spec", "upload", "quality", "package"]),
        ("whet skill unpack ", []),
    ],
)
def test_bash_is_told_what_fits(
    line: str, expected: list[str], bash_env: dict[str, str], work: Path, tmp_path: Path, skill: Callable[..., Path]
) -> None:
    skill("deploy")
    skill("lint", root=tmp_path / "tools")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.toml").write_text(
        f"plugins = {{ tools = '{tmp_path / 'tools'}' }}\n", encoding="utf-8"
    )
    ask = ASK.replace("_whet\n[[", "COMP_WORDS[0]=whet\n_whet\n[[")
    run = subprocess.run(
        ["bash", "--norc", "-c", ask, "bash", line], env=bash_env, cwd=work, capture_output=True, encoding="utf-8"
    )
    assert (run.stdout.splitlines(), run.stderr) == (expected, "")


def test_a_person_presses_tab(bash_env: dict[str, str], work: Path, skill: Callable[..., Path]) -> None:
    import pty

    skill("deploy")
    leader, follower = pty.openpty()
    with subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        env=bash_env,
        cwd=work,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    ):
        os.close(follower)
        os.write(leader, b'eval "$(whet completion bash)"; echo rea"dy"\n')
        read_until(leader, b"ready\r\n")
        os.write(leader, b"whet sources digest dep\t\n")
        seen = read_until(leader, b"sha256:")
        os.write(leader, b"exit\n")
        read_until(leader, b"\0 never said")
    os.close(leader)
    assert b"whet sources digest deploy" in seen


def read_until(leader: int, wanted: bytes) -> bytes:
    """What the terminal shows, until it shows what is wanted or is closed."""
    seen = b""
    while wanted not in seen:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # Linux says EIO when the other side is closed
            break
        if not piece:
            break
        seen += piece
    return seen

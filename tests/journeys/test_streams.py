"""Pipes, full disks, terminals: everything arrives, or the exit code says that it did not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whet.interfaces.cli.text import width

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

WHET = (sys.executable, "-P", "-m", "whet")
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and terminals of POSIX")
COUNT = 3000


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """A root with very many skills."""
    root = tmp_path / "crowd"
    for number in range(COUNT):
        directory = root / f"skill-{number:04}"
        directory.mkdir(parents=True)
        text = f"---\nname: skill-{number:04}\ndescription: {f'Number {number} of very many. ' * 10}\n---\n"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
    return root


@posix
def test_everything_arrives_through_every_kind_of_pipe(crowd: Path, env: dict[str, str], tmp_path: Path) -> None:
    command = [*WHET, "--root", str(crowd), "list"]
    with (tmp_path / "file").open("wb") as file:
        assert subprocess.run(command, env=env, stdout=file).returncode == 0
    expected = (tmp_path / "file").read_bytes()
    names = [line.split(b"\t")[0] for line in expected.splitlines()]
    assert names == [f"skill-{number:04}".encode() for number in range(COUNT)]
    assert len(expected) > 4 * 65536

    piped = subprocess.run(["/bin/sh", "-c", '"$@" | cat', "sh", *command], env=env, capture_output=True)
    assert piped.stdout == expected

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with subprocess.Popen(command, env=env, stdout=writing) as process, open(reading, "rb") as pipe:
        os.close(writing)
        assert pipe.read() == expected
    assert process.returncode == 0

    answer = subprocess.run([*command, "--json"], env=env, capture_output=True)
    assert len(json.loads(answer.stdout)["skills"]) == COUNT


@posix
def test_a_reader_that_leaves_is_no_reason_to_complain(crowd: Path, env: dict[str, str]) -> None:
    for words in ([], ["--json"]):
        with subprocess.Popen(
            [*WHET, "--root", str(crowd), "list", *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.read(100)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words", [["gallery"], ["list", "--json"], ["--version"], ["--help"], ["nope", "--json"]], ids=" ".join
)
def test_a_full_disk_is_a_failure(words: list[str], env: dict[str, str], work: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run([*WHET, *words], env=env, cwd=work, stdout=full, stderr=subprocess.PIPE, encoding="utf-8")
    assert run.returncode == 4
    assert run.stderr == (
        "error: Standard output cannot be written: No space left on device.\n"
        "hint: Free some space, or write the output elsewhere.\n"
    )


@posix
def test_no_standard_output_is_a_failure_too(env: dict[str, str], work: Path) -> None:
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *WHET, "gallery"]
    run = subprocess.run(command, env=env, cwd=work, stderr=subprocess.PIPE, encoding="utf-8")
    assert (run.returncode, run.stderr.splitlines()[0]) == (
        4,
        "error: Standard output cannot be written: Bad file descriptor.",
    )


@posix
def test_no_standard_error_is_no_reason_to_fail(env: dict[str, str], work: Path) -> None:
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *WHET]
    assert subprocess.run([*command, "list"], env=env, cwd=work, stdout=subprocess.DEVNULL).returncode == 0
    assert subprocess.run([*command, "nope"], env=env, cwd=work, stdout=subprocess.DEVNULL).returncode == 2


def terminal(env: dict[str, str], cwd: Path, *words: str) -> str:
    """What a person sees in a terminal."""
    import pty

    leader, follower = pty.openpty()
    with subprocess.Popen([*WHET, *words], env=env, cwd=cwd, stdin=follower, stdout=follower, stderr=follower):
        os.close(follower)
        pieces = []
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # Linux says EIO when the other side is closed
                break
            if not piece:
                break
            pieces.append(piece)
    os.close(leader)
    return b"".join(pieces).decode().replace("\r\n", "\n")


@posix
@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_gets_colour_and_a_table_that_fits(columns: int, env: dict[str, str], work: Path) -> None:
    env.update(TERM="xterm", COLUMNS=str(columns))
    terminal(env, work, "gallery", "add", "commit-messages", "reviewing-changes", "--yes")
    seen = terminal(env, work, "list")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert seen != plain and "\x1b" not in plain
    heading, first, *_ = plain.splitlines()
    assert heading.startswith("Your skills")
    assert first.split()[0] == "commit-messages"
    assert {width(line) for line in plain.splitlines()[1:]} <= {columns - 1, columns}
    assert terminal({**env, "NO_COLOR": "1"}, work, "list") == plain
    assert terminal({**env, "TERM": "dumb"}, work, "list") == plain


def test_colour_can_be_forced_on_a_pipe(env: dict[str, str], whet: Callable[..., CompletedProcess[str]]) -> None:
    whet("gallery", "add", "writing-skills")
    assert "\x1b[" not in whet("doctor").stdout + whet("show", "writing-skills").stdout
    env["FORCE_COLOR"] = "1"
    assert "\x1b[1;36mwriting-skills\x1b[0m\n" in whet("show", "writing-skills").stdout
    assert whet("nope").stderr.startswith("\x1b[31;1merror:\x1b[0m ")
    env["NO_COLOR"] = "1"
    assert "\x1b[" not in whet("show", "writing-skills").stdout

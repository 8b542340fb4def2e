"""What a box may take, and that nothing of it is left: programs that take too much, and honest ones that do not."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tiers import thinned

from guard.boxes import Inside, every_way, inside, linux
from whet.guard.sandbox.box import MIB, Limits
from whet.guard.sandbox.process import Ran

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = every_way


@pytest.fixture
def box(way: str, tmp_path: Path) -> Inside:
    return inside(way, tmp_path)


class Held:
    """A pipe that every process of a box holds open; it ends when the last of them does."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.writable = (str(directory),)
        self.path = str(directory / "held")
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def nobody_is_left(self) -> bool:
        try:
            while select.select([self.reader], [], [], 30)[0]:
                if not os.read(self.reader, 1 << 16):
                    return True
        finally:
            os.close(self.reader)
        return False


# time

DAEMON = """
import os, signal, sys, time
held = os.open(sys.argv[1], os.O_WRONLY)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for _ in range(2):
    if os.fork():
        if sys.argv[2] == "stay":
            time.sleep(300)
        os._exit(0)
    try:
        os.setsid()
    except OSError:
        pass
os.write(held, b"begun")
os.close(1)
os.close(2)
time.sleep(300)
"""


@pytest.mark.parametrize("parent", ["stay", "leave"])
def test_a_daemon_ends_with_the_program_that_started_it(box: Inside, tmp_path: Path, parent: str) -> None:
    held = Held(tmp_path / "out")
    limits = Limits(seconds=2 if parent == "stay" else 60)
    ran = box.python(DAEMON, held.path, parent, writable=held.writable, limits=limits)
    assert (ran.problem, ran.code) == (("timeout", None) if parent == "stay" else ("", 0))
    assert held.nobody_is_left()


def test_what_is_printed_before_the_time_is_up_is_kept(box: Inside) -> None:
    ran = box.bash("echo begun; sleep 300", limits=Limits(seconds=2))
    assert ran == Ran("begun", None, "timeout", truncated=False, level=box.way.partition("-")[0])


@linux
def test_computing_is_limited(box: Inside) -> None:
    ran = box.bash("while :; do :; done", limits=Limits(seconds=60, cpu=1))
    assert ran.code in (128 + 9, 128 + 24)


# processes


@linux
@pytest.mark.parametrize("grouped", [True, False], ids=["group", "counted"])
@pytest.mark.parametrize(
    "bomb",
    [
        'f() { if [ "$1" -gt 0 ]; then f $(($1 - 1)) & f $(($1 - 1)) & fi; sleep 300; }; f 7',
        "for i in $(seq 200); do sleep 300 & done; wait",
        "for i in $(seq 200); do (setsid sleep 300 &) ; done; sleep 300",
    ],
    ids=["bomb", "many", "detached"],
)
def test_too_many_processes_are_ended(
    box: Inside, tmp_path: Path, bomb: str, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None of them is without end: where a box does not hold, the machine does.
    if not grouped:
        monkeypatch.setattr("whet.guard.sandbox.monitor.make_group", lambda _: None)
    held = Held(tmp_path / "out")
    limits = Limits(seconds=20, processes=40)
    ran = box.bash(f'exec 3>"$1"; {bomb}', held.path, writable=held.writable, limits=limits)
    level = box.way.partition("-")[0]
    assert ran == Ran("It had more than 40 processes.", None, "limit", truncated=False, level=level)
    assert held.nobody_is_left()


@linux
def test_too_many_threads_are_ended(box: Inside) -> None:
    code = """
    import threading, time
    for _ in range(200):
        try:
            threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
        except RuntimeError:
            print("refused")
            break
    time.sleep(0 if _ < 199 else 300)
    """
    ran = box.python(code, limits=Limits(seconds=20, processes=40))
    assert ran.problem == "limit" or ran.output == "refused"


# memory and disk


@linux
def test_the_memory_of_a_process_is_limited(box: Inside) -> None:
    code = """
    try:
        room = bytearray(400 << 20)
        print("taken")
    except MemoryError:
        print("refused")
    """
    assert box.python(code, limits=Limits(seconds=60, memory=300 * MIB)).output == "refused"
    assert box.python(code, limits=Limits(seconds=60, memory=600 * MIB)).output == "taken"


@linux
def test_the_memory_of_all_processes_together_is_limited(box: Inside) -> None:
    code = """
    import os, time
    for _ in range(8):
        if not os.fork():
            room = b"x" * (100 << 20)
            time.sleep(300)
    time.sleep(300)
    """
    ran = box.python(code, limits=Limits(seconds=30, memory=300 * MIB))
    level = box.way.partition("-")[0]
    assert ran == Ran("It used more than 300 MiB of memory.", None, "limit", truncated=False, level=level)


@linux
def test_memory_that_no_process_has_cannot_be_had(box: Inside) -> None:
    code = """
    import ctypes, os
    for attempt in (lambda: os.memfd_create("x"), lambda: open("/dev/shm/x", "wb").write(b"x" * (64 << 20))):
        try:
            attempt()
            print("taken")
        except OSError:
            print("refused")
    print(ctypes.CDLL(None).shmget(0, 1 << 20, 0o1600))
    """
    assert box.python(code).output == "refused\nrefused\n-1"


def test_a_file_is_limited(box: Inside) -> None:
    ran = box.bash('head -c 3000000 /dev/zero > "$TMPDIR/x"; wc -c < "$TMPDIR/x"', limits=Limits(seconds=60, file=MIB))
    assert ran.output.split("\n")[-1].strip() == str(MIB)


def test_temporary_files_together_are_limited(box: Inside) -> None:
    if box.way != "bubblewrap":
        pytest.skip("only bubblewrap limits them together")
    script = 'for i in 1 2 3 4 5; do head -c 1000000 /dev/zero > "$TMPDIR/$i" || echo full; done'
    assert "full" in box.bash(script, limits=Limits(seconds=60, temp=2 * MIB)).output


def test_output_is_limited(box: Inside) -> None:
    level = box.way.partition("-")[0]
    limits = Limits(seconds=60, output=4000)
    assert box.bash("yes 2>/dev/null", limits=limits) == Ran("y\n" * 2000, None, "", truncated=True, level=level)
    ran = box.bash("head -c 5000 /dev/zero | tr '\\0' x; exit 3", limits=limits)
    assert ran == Ran("x" * 4000, 3, "failed", truncated=True, level=level)


# honest programs


@pytest.mark.parametrize(
    ("script", "output"),
    thinned(
        [
            ("echo hello | tr a-z A-Z", "HELLO"),
            ("awk 'BEGIN { print 6 * 7 }'", "42"),
            ("cat README.md", "the project"),
            ("cat <(echo substituted)", "substituted"),
            ("cat <<EOT\nin a document\nEOT", "in a document"),
            ('f=$(mktemp) && echo kept > "$f" && cat "$f" && rm "$f"', "kept"),
            ('mkdir -p "$TMPDIR/a/b" && touch "$TMPDIR/a/b/c" && (cd "$TMPDIR" && find a -type f)', "a/b/c"),
            ("sort <<< $'b\\na' | uniq | paste -sd,", "a,b"),
            ("echo 'grüße, 世界 😀'", "grüße, 世界 😀"),
            ("sleep 0.1 & wait && echo waited", "waited"),
            ("(exit 3) || echo $?", "3"),
            ("echo x > /dev/null && echo quiet", "quiet"),
            ("head -c 4 /dev/urandom | wc -c | tr -d ' '", "4"),
            (
                'python3 -c \'import json, subprocess; print(subprocess.check_output(["echo", "sub"], text=True))\'',
                "sub",
            ),
            ("git --version >/dev/null && echo git", "git"),
            ("date -u -d @0 +%Y 2>/dev/null || date -u -r 0 +%Y", "1970"),
        ],
        3,
    ),
)
def test_honest_commands_work(box: Inside, script: str, output: str) -> None:
    level = box.way.partition("-")[0]
    assert box.bash(script) == Ran(output, 0, "", truncated=False, level=level)


def test_git_tells_the_state_of_the_project(box: Inside) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(box.home), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=box.project, env=env, check=True, capture_output=True)
    (box.project / "new").write_text("")
    assert box.bash("git status --short && git diff --cached --stat | tail -1").output == (
        "A  README.md\n?? new\n 1 file changed, 1 insertion(+)"
    )


@pytest.mark.skipif(not shutil.which("node", path=os.defpath), reason="there is no node")
def test_node_works(box: Inside) -> None:
    code = "console.log(require('child_process').execSync('echo from node').toString().trim())"
    assert box.bash('node -e "$1"', code).output == "from node"


def test_a_script_of_the_skill_runs(box: Inside) -> None:
    script = box.skill / "run.sh"
    script.write_text('#!/bin/sh\necho "$1 in $(basename "$PWD")"\n')
    script.chmod(0o755)
    assert box.bash('"$1" it', script).output == "it in project"


def test_a_program_that_is_not_there_is_said_so(box: Inside) -> None:
    ran = box.bash("no-such-program")
    assert (ran.code, ran.problem) == (127, "failed")


@pytest.mark.parametrize("env", [{"A": "x\0"}, {"A=B": "x"}, {"": "x"}])
def test_an_environment_that_cannot_be_is_a_failure(box: Inside, env: dict[str, str]) -> None:
    ran = box.bash("echo ran", env={**box.box.env, **env})
    assert (ran.code, ran.problem) == (None, "failed")


def test_signals_are_told_as_a_shell_tells_them(box: Inside) -> None:
    if box.way in ("landlock-1", "landlock-5"):
        pytest.skip("nobody can send a signal there")
    assert box.bash("kill -9 $$").code == 137
    assert box.bash("sleep 300 & kill $! && wait $!; echo $?").output == "143"

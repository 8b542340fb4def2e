from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from whet.errors import FailedError
from whet.store.locks import FileLock, lock_path

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = True

HOLD = """
import sys
from whet.store.locks import FileLock
with FileLock(sys.argv[1], timeout=20):
    print("held", flush=True)
    sys.stdin.read()
"""

COUNT = """
import sys
from whet.store.locks import FileLock
path, counter = sys.argv[1:]
for _ in range(100):
    with FileLock(path, timeout=30, poll=0.002):
        with open(counter, "r+") as file:
            number = int(file.read())
            file.seek(0)
            file.write(str(number + 1))
"""


def holder(path: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_lock_path_depends_on_home_kind_and_key() -> None:
    path = lock_path("/h", "skill", "/skills/deploy")
    assert os.path.dirname(path) == os.path.join("/h", "locks")
    name = os.path.basename(path)
    assert name.startswith("skill-") and name.endswith(".lock") and len(name) == len("skill-") + 32 + len(".lock")
    assert len({path, lock_path("/h", "skill", "/skills/b"), lock_path("/h", "other", "/skills/deploy")}) == 3
    assert lock_path("/h", "skill", "odd \udcff name") != path


def test_a_lock_can_be_taken_again_and_its_file_stays(tmp_path: Path) -> None:
    path = lock_path(str(tmp_path), "skill", "a")
    lock = FileLock(path, timeout=1)
    for _ in range(2):
        with lock:
            assert os.path.exists(path)
    assert os.path.exists(path)


def test_whoever_waits_too_long_is_told_who_holds_it(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    with holder(path) as process:
        with pytest.raises(FailedError) as caught, FileLock(path, timeout=0.05):
            pass
        process.communicate("")
    assert caught.value.code == "lock-timeout"
    assert caught.value.details == {"path": path, "holder": process.pid}
    assert f"by process {process.pid}" in caught.value.message
    with FileLock(path, timeout=0):
        pass


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    with holder(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        with FileLock(path, timeout=0):
            pass


def test_a_waiting_process_gets_its_turn(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    with FileLock(path, timeout=1):
        waiting = subprocess.Popen(
            [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    with waiting:
        assert waiting.communicate("")[0] == "held\n"


def test_processes_contending_for_a_lock_lose_no_step(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(tmp_path / "a.lock"), str(counter)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert counter.read_text() == "200"


@pytest.mark.parametrize("shared", [True, False])
def test_threads_contending_for_a_lock_lose_no_step(tmp_path: Path, shared: bool) -> None:
    path = str(tmp_path / "a.lock")
    one = FileLock(path, timeout=30, poll=0.002)
    seen: list[int] = []

    def work() -> None:
        for _ in range(20):
            with one if shared else FileLock(path, timeout=30, poll=0.002):
                seen.append(len(seen))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == list(range(160))


def test_asking_again_while_holding_it_fails_instead_of_waiting_forever(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    lock = FileLock(path, timeout=0.02)
    with lock:
        for again in (lock, FileLock(path, timeout=0.02)):
            with pytest.raises(FailedError) as caught, again:
                pass
            assert (caught.value.code, caught.value.details["holder"]) == ("lock-timeout", os.getpid())
    with lock:
        pass


def test_an_error_in_the_block_releases_the_lock(tmp_path: Path) -> None:
    lock = FileLock(str(tmp_path / "a.lock"), timeout=0)
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    with lock:
        pass


def test_a_lock_whose_file_was_cleared_away_is_not_shared(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with FileLock(str(path), timeout=0):
        path.unlink()
        path.write_text("not a number")
        with FileLock(str(path), timeout=0), pytest.raises(FailedError), FileLock(str(path), timeout=0):
            pass


def test_a_lock_file_that_says_nothing_still_times_out(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    with FileLock(path, timeout=0):
        os.truncate(path, 0)
        with pytest.raises(FailedError) as caught, FileLock(path, timeout=0):
            pass
    assert caught.value.details == {"path": path, "holder": None}


def test_a_lock_that_cannot_be_made_is_a_failure_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "locks" / "a.lock")
    with pytest.raises(FailedError) as caught, FileLock(path, timeout=0):
        pass
    assert (caught.value.code, caught.value.details) == ("lock-failed", {"path": path})
    assert caught.value.hint

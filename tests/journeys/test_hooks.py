"""Existing agents call `whet hook` at every prompt, tool call and end of a session, and are never disturbed."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tiers import thinned

from journeys.machines import WHET, Machine
from journeys.payloads import SESSION, as_bytes, context, payload
from whet.api import Library
from whet.learning.signals import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals, sockets and streams of POSIX")
SKILLS = {
    "pdf-forms": "Fills in PDF forms. Use when a PDF form has to be filled in.",
    "backport": "Backports a fix to a release branch. Use when asked to backport.",
}
BACKPORT = "please backport this fix to the release branch"
FORM = "fill in this pdf form"
SPEAKING = ("claude-code", "codex", "gemini", "hermes", "copilot", "qwen")
WAITING = ("cursor", "vscode")
SILENT = (0, b"", b"")


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine whose state has a short path, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="whet-", dir="/tmp" if os.path.isdir("/tmp") else None) as directory:
        made = Machine(Path(directory) / "m")
        for name, description in SKILLS.items():
            path = made.root / name / "SKILL.md"
            path.parent.mkdir(parents=True)
            path.write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n", encoding="utf-8")
        yield made


def hook(machine: Machine, *words: str, sent: bytes = b"", env: dict[str, str] | None = None, **how: Any) -> Any:
    """What a client sees of a hook: exit code, standard output and standard error."""
    done = subprocess.run(
        [*WHET, "hook", *words],
        input=sent,
        env=machine.env if env is None else env,
        cwd=how.pop("cwd", machine.work),
        capture_output=True,
        timeout=60,
        **how,
    )
    return done.returncode, done.stdout, done.stderr


def tell(machine: Machine, client: str, kind: str, **changes: Any) -> str:
    """What the model gets to read when something happens."""
    sent = payload(client, kind, **{"cwd": str(machine.work), **changes})
    code, output, errors = hook(machine, kind, "--client", client, sent=as_bytes(sent))
    assert (code, errors) == (0, b"")
    return context(output)


def failures(machine: Machine) -> list[tuple[str, str]]:
    """The event and code of every failure that the doctor tells of."""
    with Library.open(project=machine.work, env=machine.env) as library:
        told = [entry.message for entry in library.learning.sessions.examine() if entry.code == "hook-failed"]
    return sorted((message.split("`")[1], message.split("(")[-1].rstrip(").")) for message in told)


def prompt(machine: Machine, text: str = BACKPORT, **changes: Any) -> bytes:
    changes = {"cwd": str(machine.work), **changes}
    return as_bytes(payload("claude-code", "prompt", prompt=text, **changes))


PROMPT = ("prompt", "--client", "claude-code")


@contextmanager
def resident(machine: Machine, mode: str = "real") -> Iterator[subprocess.Popen[bytes]]:
    """A process that answers hooks."""
    program = str(Path(__file__).parent / "resident.py")
    command = [sys.executable, "-P", program, str(machine.state), mode]
    with subprocess.Popen(
        command, env=machine.env, cwd=machine.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process
        finally:
            process.stdin.close()
            if mode == "slow":
                process.kill()


def test_a_session_from_its_start_to_its_end(machine: Machine) -> None:
    follow_a_session(machine, "claude-code")


@posix
@pytest.mark.parametrize("client", thinned(SPEAKING, 3))
def test_a_session_beside_a_resident_process(machine: Machine, client: str) -> None:
    with resident(machine):
        follow_a_session(machine, client)


def follow_a_session(machine: Machine, client: str) -> None:
    assert tell(machine, client, "start") == ""
    text = tell(machine, client, "prompt", prompt=BACKPORT)
    assert text.startswith("The skill backport is for this request.") and str(machine.root / "backport") in text
    assert tell(machine, client, "prompt", prompt=f"{BACKPORT} now") == ""
    read = {"tool_name": "read_file", "tool_input": {"path": str(machine.root / "backport" / "SKILL.md")}}
    assert tell(machine, client, "tool", **read) == ""
    tell(machine, client, "compact")
    assert tell(machine, client, "stop") == tell(machine, client, "end") == ""
    with Library.open(project=machine.work, env=machine.env) as library:
        total = library.learning.usage.of(str(library.card("backport").id))
        assert total is not None and (total.views, total.uses) == (1, 0)
        (seen,) = library.learning.sessions.all()
    assert (seen.client, seen.id, seen.project, seen.ended) == (client, SESSION, str(machine.work), True)
    assert seen.counts == Counts(prompts=2, tools=1)
    assert failures(machine) == []


@posix
@pytest.mark.parametrize("client", WAITING)
def test_a_session_where_context_comes_with_a_tool_call(machine: Machine, client: str) -> None:
    with resident(machine):
        assert tell(machine, client, "prompt", prompt=BACKPORT) == ""
        assert tell(machine, client, "tool").startswith("The skill backport is for this request.")
        assert tell(machine, client, "tool", tool_use_id="another") == ""
    assert failures(machine) == []


@posix
def test_a_resident_process_answers_for_all_clients(machine: Machine) -> None:
    with resident(machine):
        texts = [tell(machine, client, "prompt", prompt=BACKPORT) for client in SPEAKING]
        assert all(text.startswith("The skill backport is for this request.") for text in texts)
        assert [tell(machine, client, "prompt", prompt=f"{BACKPORT}!") for client in SPEAKING] == [""] * len(SPEAKING)
        path = machine.root / "charts" / "SKILL.md"
        path.parent.mkdir()
        path.write_text("---\nname: charts\ndescription: Draws charts. Use when asked for a chart.\n---\nx\n", "utf-8")
        assert "charts: Draws charts." in tell(machine, "codex", "prompt", prompt="draw me a chart")
        other = machine.work / "other"
        other.mkdir()
        assert "backport" in tell(machine, "codex", "prompt", prompt=BACKPORT, cwd=str(other), session="2")
        run = [
            subprocess.Popen([*WHET, "hook", *PROMPT], env=machine.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(6)
        ]
        outputs = [
            process.communicate(prompt(machine, FORM, session=f"p{number}"))[0] for number, process in enumerate(run)
        ]
        assert all("pdf-forms" in context(output) for output in outputs)
    assert os.listdir(machine.state / "run") == []
    assert "pdf-forms" in tell(machine, "codex", "prompt", prompt=FORM, session="3")
    assert failures(machine) == []


@posix
def test_the_thin_way_imports_nearly_nothing(machine: Machine) -> None:
    code = (
        "import sys, os; from whet.interfaces.cli import main; sys.argv = ['whet', 'hook', *sys.argv[1:]]\n"
        "end = os._exit\n"
        "def told(code):\n"
        "    os.write(1, '\\n'.join(sys.modules).encode()); end(code)\n"
        "os._exit = told\n"
        "main()"
    )
    with resident(machine):
        command = [sys.executable, "-P", "-c", code, *PROMPT]
        bare = subprocess.run([sys.executable, "-P", "-c", "import sys; print(*sys.modules)"], capture_output=True)
        done = subprocess.run(command, env=machine.env, input=prompt(machine), capture_output=True, check=True)
    answer, _, modules = done.stdout.partition(b"\n")
    assert "backport" in context(answer)
    added = set(modules.decode().split()) - set(bare.stdout.decode().split())
    own = {name for name in added if name.startswith("whet")}
    assert own == {
        *("whet", "whet.interfaces", "whet.interfaces.cli", "whet.interfaces.hooks", "whet.interfaces.hooks.main"),
        *("whet.store", "whet.store.home"),
    }
    assert added - own <= {"__future__", "_socket", "gc", "select", "time", "_signal", "_thread"}


@posix
@pytest.mark.parametrize("mode", ["old", "cut", "killed", "stopped"])
def test_a_server_that_does_not_answer_is_done_without(machine: Machine, mode: str) -> None:
    if mode == "stopped":
        (machine.state / "run").mkdir()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
            left.bind(str(machine.state / "run" / "hook-1.sock"))
        assert "backport" in tell(machine, "codex", "prompt", prompt=BACKPORT)
        return
    with resident(machine, "real" if mode == "killed" else mode) as process:
        if mode == "killed":
            process.kill()
            process.wait()
        assert "backport" in tell(machine, "codex", "prompt", prompt=BACKPORT)
    assert failures(machine) == []


@posix
def test_a_server_that_is_suspended_is_done_without(machine: Machine) -> None:
    with resident(machine) as suspended:
        suspended.send_signal(signal.SIGSTOP)
        try:
            assert "backport" in tell(machine, "codex", "prompt", prompt=BACKPORT)
            with resident(machine):
                os.utime(machine.state / "run" / f"hook-{suspended.pid}.sock")
                assert "pdf-forms" in tell(machine, "codex", "prompt", prompt=FORM)
        finally:
            suspended.send_signal(signal.SIGCONT)
    with Library.open(project=machine.work, env=machine.env) as library:
        (seen,) = library.learning.sessions.all()
    assert (seen.counts, failures(machine)) == (Counts(prompts=2), [])


@posix
def test_a_server_that_is_too_slow_is_not_waited_for(machine: Machine) -> None:
    with resident(machine, "slow"):
        assert hook(machine, *PROMPT, sent=prompt(machine)) == SILENT
    assert failures(machine) == [("prompt", "too-slow")]


@pytest.mark.parametrize(
    ("words", "sent", "code"),
    [
        (PROMPT, b"", "bad-hook-input"),
        (PROMPT, b"{broken", "bad-hook-input"),
        (PROMPT, b"\x00\xff" * 1000, "bad-hook-input"),
        (PROMPT, b'{"a":' * 50_000, "bad-hook-input"),
        (PROMPT, b"[" + b"1," * 1_000_000 + b"1]", "bad-hook-input"),
        (("dance", "--client", "claude-code"), b"{}", "unknown-event"),
        (("prompt", "--client", "nobody"), b"{}", "unknown-client"),
        (("prompt", "--client"), b"{}", "usage"),
        (("prompt", "--client", "codex", "--new-option"), b"{}", "unknown-option"),
        ((), b"{}", "usage"),
    ],
)
def test_whatever_is_sent_or_asked_the_client_hears_nothing(
    machine: Machine, words: tuple[str, ...], sent: bytes, code: str
) -> None:
    assert hook(machine, *words, sent=sent) == SILENT
    assert [found for _, found in failures(machine)] == [code]


def test_the_doctor_tells_what_failed(machine: Machine) -> None:
    hook(machine, "tool", "--client", "codex", sent=b"{")
    (entry,) = (entry for entry in machine.ask("doctor")["report"] if entry["code"] == "hook-failed")
    assert entry["severity"] == "warning"
    assert entry["message"].startswith("The hook `tool` of codex failed once, last at 20")
    assert entry["message"].endswith(": The payload of 1 bytes is not JSON (bad-hook-input).")


def test_a_very_long_tool_result_is_no_failure(machine: Machine) -> None:
    sent = payload("claude-code", "tool", cwd=str(machine.work), tool_response={"stdout": "x" * 5_000_000})
    assert hook(machine, "tool", "--client", "claude-code", sent=as_bytes(sent)) == SILENT
    assert failures(machine) == []


@posix
@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_closed_streams_are_nothing_to_a_hook(machine: Machine, closed: str) -> None:
    command = " ".join(f"'{word}'" for word in (*WHET, "hook", *PROMPT))
    redirect = " ".join(f"{number}>&-" for number in closed.split())
    hook(machine, *PROMPT, sent=prompt(machine, session="before"))
    line = f"{command} {redirect}"
    done = subprocess.run(
        ["sh", "-c", line], env=machine.env, cwd=machine.work, input=prompt(machine), capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert ("backport" in done.stdout.decode()) is (closed == "2")
    with sqlite3.connect(machine.state / "state.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_output_that_is_full_or_gone_is_noted(machine: Machine) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*WHET, "hook", *PROMPT], env=machine.env, input=prompt(machine), stdout=full, stderr=subprocess.PIPE
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert failures(machine) == [("prompt", "io-failed")]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        done = subprocess.run(
            [*WHET, "hook", *PROMPT],
            env=machine.env,
            input=prompt(machine, session="2"),
            stdout=gone,
            stderr=subprocess.PIPE,
        )
    assert (done.returncode, done.stderr) == (0, b"")


@posix
def test_a_client_that_never_ends_its_sending_is_answered(machine: Machine) -> None:
    with subprocess.Popen(
        [*WHET, "hook", *PROMPT], env=machine.env, cwd=machine.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(prompt(machine))
        process.stdin.flush()
        output = process.stdout.read()
        assert process.wait() == 0
    assert "backport" in context(output)


@posix
def test_a_client_that_sends_nothing_and_never_ends_is_left(machine: Machine) -> None:
    with subprocess.Popen(
        [*WHET, "hook", *PROMPT], env=machine.env, cwd=machine.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert (process.stdout.read(), process.wait()) == (b"", 0)
    assert failures(machine) == [("prompt", "bad-hook-input")]


def corrupt(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    for part in ("-wal", "-shm"):
        Path(f"{path}{part}").unlink(missing_ok=True)
    path.write_bytes(b"this is no database at all" * 400)


def test_a_damaged_database_is_silent_and_told_of(machine: Machine) -> None:
    assert hook(machine, *PROMPT, sent=prompt(machine))[0] == 0
    corrupt(machine.state / "state.db")
    assert hook(machine, *PROMPT, sent=prompt(machine, session="2")) == SILENT
    assert ("prompt", "state-corrupt") in failures(machine)
    assert machine.run("doctor", "--repair").returncode == 0
    assert "backport" in tell(machine, "claude-code", "prompt", prompt=BACKPORT, session="3")


def test_a_damaged_index_or_cache_is_made_again(machine: Machine) -> None:
    tell(machine, "codex", "prompt", prompt=BACKPORT)
    corrupt(machine.state / "cache.db")
    assert "backport" in tell(machine, "codex", "prompt", prompt=BACKPORT, session="2")


def test_a_locked_database_is_not_waited_for_long(machine: Machine) -> None:
    tell(machine, "codex", "prompt", prompt=BACKPORT)
    connection = sqlite3.connect(machine.state / "state.db")
    connection.execute("BEGIN EXCLUSIVE")
    assert hook(machine, *PROMPT, sent=prompt(machine)) == SILENT
    connection.rollback()
    connection.close()
    assert failures(machine) == [("prompt", "state-busy")]


def no_space() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@posix
def test_a_full_disk_is_silent(machine: Machine) -> None:
    assert hook(machine, *PROMPT, sent=prompt(machine), preexec_fn=no_space) == SILENT
    assert hook(machine, "tool", "--client", "codex", sent=b"{", preexec_fn=no_space) == SILENT


def test_without_a_home_or_with_a_broken_one_it_is_silent(machine: Machine, tmp_path: Path) -> None:
    bare = {name: value for name, value in machine.env.items() if name not in ("HOME", "WHET_HOME", "USERPROFILE")}
    assert hook(machine, *PROMPT, sent=prompt(machine), env=bare) == SILENT
    assert hook(machine, *PROMPT, sent=prompt(machine), env=bare | {"HOME": "not/absolute"}) == SILENT
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    blocked = machine.env | {"WHET_HOME": str(tmp_path / "file")}
    assert hook(machine, *PROMPT, sent=prompt(machine), env=blocked) == SILENT
    assert (tmp_path / "file").read_text(encoding="utf-8") == "in the way"


@posix
def test_a_working_directory_that_is_gone_is_silent(machine: Machine, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    sent = prompt(machine, cwd=str(gone))
    command = " ".join(f"'{word}'" for word in (*WHET, "hook", *PROMPT))
    done = subprocess.run(
        ["sh", "-c", f"rmdir '{gone}' && {command}"], env=machine.env, cwd=gone, input=sent, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == SILENT
    assert failures(machine) == [("prompt", "no-such-project")]


def test_what_hangs_is_ended_in_time(machine: Machine) -> None:
    code = (
        "import time; from whet.interfaces.cli import main\n"
        "from whet.interfaces.hooks import handler, main as hook\n"
        "hook._ALL, handler.answer_event = 0.5, lambda *_: time.sleep(60)\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "hook", *PROMPT], env=machine.env, input=prompt(machine), capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == SILENT
    assert failures(machine) == [("prompt", "too-slow")]


@posix
def test_what_hangs_is_ended_even_if_that_cannot_be_noted(machine: Machine) -> None:
    code = (
        "import time; from whet.interfaces.cli import main\n"
        "from whet.interfaces.hooks import handler, main as hook\n"
        "hook._ALL = 0.5; handler.answer_event = hook._log = lambda *_: time.sleep(60)\n"
        "main()"
    )
    command = [sys.executable, "-P", "-c", code, "hook", *PROMPT]
    done = subprocess.run(command, env=machine.env, input=prompt(machine), capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == SILENT


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_hook_that_is_told_to_end_ends_well(machine: Machine, number: int) -> None:
    with subprocess.Popen(
        [*WHET, "hook", *PROMPT],
        env=machine.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_until(lambda: caught(process.pid, number))
        process.send_signal(number)
        assert (process.wait(), *process.communicate()) == SILENT


def caught(process: int, number: int) -> bool:
    """Whether a process has said what to do about a signal."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            mask = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
    except OSError:
        time.sleep(1)  # a system that does not tell: it is ready by now
        return True
    # Python itself catches the interrupt from the keyboard; it is ready when the others are caught as well.
    return bool(mask >> (number - 1) & 1) and bool(mask >> (signal.SIGHUP - 1) & 1)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_hooks_can_be_switched_off(machine: Machine) -> None:
    assert hook(machine, *PROMPT, sent=prompt(machine), env=machine.env | {"WHET_HOOKS": "off"}) == SILENT
    assert not (machine.state / "state.db").exists()


def test_a_person_is_told_what_happens(machine: Machine) -> None:
    code, output, errors = hook(machine, *PROMPT, "--json", sent=prompt(machine))
    answer = json.loads(output)
    assert (code, errors, answer["failure"], answer["off"]) == (0, b"", None, False)
    assert "backport" in context(answer["output"])
    broken = json.loads(hook(machine, *PROMPT, "--json", sent=b"{")[1])
    failure = {"code": "bad-hook-input", "message": "The payload of 1 bytes is not JSON."}
    assert broken == {"success": True, "output": "", "off": False, "failure": failure}
    off = hook(machine, *PROMPT, "--json", sent=b"{", env=machine.env | {"WHET_HOOKS": "off"})
    assert json.loads(off[1]) == {"success": True, "output": "", "off": True, "failure": None}
    assert hook(machine, "--help")[1].startswith(b"Usage: whet hook EVENT [OPTIONS]\n")
    code, output, _ = hook(machine, "dance", "--client", "codex", "--json")
    assert (code, json.loads(output)["code"]) == (2, "usage")


def test_global_options_are_heard(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "root" / "maps" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: maps\ndescription: Draws maps. Use when asked for a map.\n---\nx\n", encoding="utf-8")
    words = (*PROMPT, "--root", str(tmp_path / "root"))
    assert "maps" in context(hook(machine, *words, sent=prompt(machine, "draw a map"))[1])
    assert hook(machine, *words, sent=prompt(machine, session="2")) == SILENT
    assert failures(machine) == []


def test_what_is_waiting_for_whoever_learns(machine: Machine) -> None:
    for number in range(5):
        tell(machine, "codex", "tool", tool_use_id=str(number))
    tell(machine, "codex", "end")
    program = "from whet import Library; print(*Library.open().learning.sessions.waiting())"
    done = subprocess.run([sys.executable, "-P", "-c", program], env=machine.env, capture_output=True, text=True)
    assert f"client='codex', id='{SESSION}'" in done.stdout and "tools=5" in done.stdout

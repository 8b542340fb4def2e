"""Running a skill's commands: what they get, how they end, and that nothing of them is left behind."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING, Any

import pytest

from whet.guard.sandbox.box import box_for
from whet.guard.sandbox.levels import level
from whet.notes import Note
from whet.prompt.shell import LocalRunner, Ran, SandboxRunner, Shell, Witness, allowed_environment, shown

if TYPE_CHECKING:
    from pathlib import Path

ENV = {"PATH": os.environ.get("PATH", os.defpath)}
boxed = pytest.mark.skipif(not level().isolates, reason="this machine offers no sandbox")
posix = pytest.mark.skipif(sys.platform == "win32", reason="runs bash and POSIX programs")


def run(
    script: str,
    cwd: Path,
    *,
    shell: str = "bash",
    env: dict[str, str] | None = None,
    seconds: float = 60,
    limit: int = 4000,
) -> Ran:
    ran = LocalRunner().run(
        script, shell=shell, cwd=str(cwd), env=ENV if env is None else env, seconds=seconds, limit=limit
    )
    assert ran.level == "none"
    return ran._replace(level="")


# running


@posix
@pytest.mark.parametrize(
    ("script", "ran"),
    [
        ("echo hello", Ran("hello", 0, "", False)),
        ("echo out; echo err >&2", Ran("out", 0, "", False, errors="err")),
        ("echo err >&2", Ran("err", 0, "", False, errors="err")),
        ("true", Ran("", 0, "", False)),
        ("echo why >&2; exit 3", Ran("why", 3, "failed", False, errors="why")),
        ("kill -9 $$", Ran("", 137, "failed", False)),
        ("cat", Ran("", 0, "", False)),
        ("for i in 1 2\ndo\n  echo $i\ndone", Ran("1\n2", 0, "", False)),
        (r"printf 'a\xffb'", Ran("a\N{REPLACEMENT CHARACTER}b", 0, "", False)),
        ("-n 2>/dev/null; echo still bash", Ran("still bash", 0, "", False)),
        ("[[ 1 == 1 ]] && echo bash", Ran("bash", 0, "", False)),
    ],
)
def test_a_script_runs(script: str, ran: Ran, tmp_path: Path) -> None:
    assert run(script, tmp_path) == ran


@posix
def test_a_script_runs_in_its_directory_with_only_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHET_TEST_SECRET", "secret")
    script = 'pwd -P; echo "${WHET_TEST_SECRET-none} $GIVEN"'
    assert run(script, tmp_path, env={**ENV, "GIVEN": "given"}) == Ran(
        f"{os.path.realpath(tmp_path)}\nnone given", 0, "", truncated=False
    )


@posix
def test_sh_is_sh(tmp_path: Path) -> None:
    assert run("echo hello", tmp_path, shell="sh") == Ran("hello", 0, "", truncated=False)


@posix
@pytest.mark.parametrize("shell", ["bash", "sh", "powershell", "pwsh"])
def test_a_shell_that_is_not_on_the_path_is_not_found(shell: str, tmp_path: Path) -> None:
    assert run("echo hello", tmp_path, shell=shell, env={"PATH": str(tmp_path)}) == Ran("", None, "not-found", False)


@posix
@pytest.mark.parametrize("shell", ["python3", "/bin/bash", "", "env"])
def test_only_known_shells_are_started(shell: str, tmp_path: Path) -> None:
    assert run("echo hello", tmp_path, shell=shell) == Ran("", None, "not-found", truncated=False)


@posix
def test_powershell_is_called_its_own_way(tmp_path: Path) -> None:
    (tmp_path / "pwsh").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "pwsh").chmod(0o755)
    env = {"PATH": str(tmp_path)}
    expected = Ran("-NoProfile\n-NonInteractive\n-Command\nGet-Date", 0, "", truncated=False)
    assert [run("Get-Date", tmp_path, shell=name, env=env) for name in ("pwsh", "powershell")] == [expected, expected]


@posix
def test_a_missing_directory_is_a_failure(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    expected = Ran(f"[Errno 2] No such file or directory: '{missing}'", None, "failed", truncated=False)
    assert run("echo hello", missing) == expected


@posix
@pytest.mark.parametrize(("script", "name"), [("echo \0", "A"), ("echo x", "A"), ("echo \ud800", "A")])
def test_what_no_process_can_be_given_is_a_failure(script: str, name: str, tmp_path: Path) -> None:
    ran = run(script, tmp_path, env={**ENV, name: "\0"})
    assert (ran.code, ran.problem) == (None, "failed")


@posix
def test_a_script_too_long_for_the_system_is_a_failure(tmp_path: Path) -> None:
    ran = run("#" * 3_000_000, tmp_path)
    assert (ran.code, ran.problem) == (None, "failed")


# time and size


@posix
def test_at_the_timeout_the_children_end_too(tmp_path: Path) -> None:
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        ran = run("exec 3>held; echo begun; sleep 60 & sleep 60", tmp_path, seconds=2)
        # Whoever is still alive holds the pipe open; it ends when nobody does.
        ready, _, _ = select.select([reader], [], [], 30)
        assert (ran, ready, os.read(reader, 1)) == (Ran("begun", None, "timeout", False), [reader], b"")
    finally:
        os.close(reader)


@posix
def test_a_process_left_behind_is_not_waited_for(tmp_path: Path) -> None:
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        ran = run("exec 3>held; sleep 60 & echo done", tmp_path)
        ready, _, _ = select.select([reader], [], [], 30)
        assert (ran, ready, os.read(reader, 1)) == (Ran("done", 0, "", False), [reader], b"")
    finally:
        os.close(reader)


@posix
def test_output_without_end_is_cut_and_the_command_is_ended(tmp_path: Path) -> None:
    assert run("yes", tmp_path) == Ran("y\n" * 2000, None, "", truncated=True)


@posix
def test_errors_without_end_are_cut_and_the_command_is_ended(tmp_path: Path) -> None:
    assert run("yes >&2", tmp_path) == Ran("y\n" * 2000, None, "", truncated=True, errors="y\n" * 2000)


@posix
def test_output_over_the_limit_is_cut_and_the_command_runs_on(tmp_path: Path) -> None:
    script = "printf '%050000d' 0; touch after; exit 4"
    assert run(script, tmp_path, limit=10) == Ran("0" * 10, 4, "failed", truncated=True)
    assert (tmp_path / "after").exists()


@posix
def test_output_at_the_limit_is_whole(tmp_path: Path) -> None:
    assert run("printf '😀😀😀\\n\\n'", tmp_path, limit=3) == Ran("😀😀😀", 0, "", truncated=False)
    assert run("printf '😀😀😀😀'", tmp_path, limit=3) == Ran("😀😀😀", 0, "", truncated=True)


# the sandbox


@boxed
@pytest.mark.parametrize(
    ("script", "ran"),
    [
        ("echo hello", Ran("hello", 0, "", False)),
        ("echo err >&2; exit 3", Ran("err", 3, "failed", False, errors="err")),
        ("cat", Ran("", 0, "", False)),
        ("cat here", Ran("here", 0, "", False)),
        ('test "$PWD" != "$TMPDIR" && echo "$GIVEN $PATH"', Ran("given /usr/bin:/bin", 0, "", False)),
        ("yes", Ran("y\n" * 2000, None, "", True)),
        ("echo begun; sleep 300", Ran("begun", None, "timeout", False)),
    ],
)
def test_a_script_runs_in_a_box(script: str, ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "here").write_text("here\n")
    env = {"PATH": "/none:/usr/bin:/bin"}
    box = box_for(shown=(str(tmp_path),), cwd=str(tmp_path), env=env, home="")
    env["GIVEN"] = "given"
    runner = SandboxRunner(box)
    seconds = 3 if ran.problem == "timeout" else 60
    made = runner.run(script, shell="bash", cwd=str(tmp_path), env=env, seconds=seconds, limit=4000)
    assert made == ran._replace(level=level().name)


@boxed
def test_a_box_has_only_known_shells_and_directories_that_exist(tmp_path: Path) -> None:
    runner = SandboxRunner(box_for(shown=(), cwd="/", env={"PATH": "/usr/bin:/bin"}, home=""))
    more: dict[str, Any] = {"env": {}, "seconds": 60, "limit": 100}
    assert runner.run("x", shell="python3", cwd="/", **more) == Ran("", None, "not-found", False, level().name)
    missing = str(tmp_path / "missing")
    problem = f"[Errno 2] No such file or directory: {missing!r}"
    assert runner.run("x", shell="sh", cwd=missing, **more) == Ran(problem, None, "failed", False, level().name)


def test_without_a_sandbox_a_script_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.guard.sandbox.levels._working", dict)
    box = box_for(shown=(str(tmp_path),), cwd=str(tmp_path), env=ENV, home="")
    runner = SandboxRunner(box)
    ran = runner.run("touch made", shell="sh", cwd=str(tmp_path), env=ENV, seconds=60, limit=100)
    assert (runner.works(), ran) == (False, Ran("This machine offers no sandbox.", None, "failed", False, "none"))
    assert not (tmp_path / "made").exists()


class Answering:
    """A runner that gives these answers, one after the other."""

    def __init__(self, *answers: Ran) -> None:
        self.answers = list(answers)

    def run(self, *_: object, **__: object) -> Ran:
        return self.answers.pop(0)


def test_what_commands_ran_in_is_told_once_for_each_level() -> None:
    answers = [
        Ran("", 0, "", False, "landlock"),
        Ran("", 3, "failed", False, "landlock"),
        Ran("", None, "not-found", False, "landlock"),
        Ran("", None, "failed", False, "landlock"),
        Ran("", None, "timeout", False, "none"),
        Ran("", 0, "", False),
    ]
    witness = Witness(Answering(*answers))
    for answer in answers:
        assert witness.run("x", shell="sh", cwd="/", env={}, seconds=1, limit=1) == answer
    assert witness.notes() == [
        Note("inline-shell-sandboxed", "info", "2 inline commands ran in a sandbox (landlock)."),
        Note(
            "inline-shell-unsandboxed",
            "info",
            "1 inline command ran without a sandbox.",
            'To run them in a sandbox, set sandbox = "required" in config.toml.',
        ),
    ]


# the environment


def test_only_what_programs_need_and_is_no_secret_is_passed_on() -> None:
    needed = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LANG": "C",
        "LC_ALL": "C",
        "LC_TIME": "C",
        "TERM": "dumb",
        "TZ": "UTC",
        "TMPDIR": "/tmp",
        "USER": "me",
        "LOGNAME": "me",
        "SHELL": "/bin/sh",
    }
    refused = {"GITHUB_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "BASH_ENV": "x", "LD_PRELOAD": "x", "PATHS": "x"}
    assert allowed_environment({**needed, **refused}) == needed


@pytest.mark.parametrize(
    ("program", "split", "whole"),
    [
        ("bash", "${NAME}", '"${NAME}"'),
        ("sh", "${NAME}", '"${NAME}"'),
        ("pwsh", "${env:NAME}", "${env:NAME}"),
        ("powershell", "${env:NAME}", "${env:NAME}"),
        ("x", "${NAME}", '"${NAME}"'),
    ],
)
def test_a_reference_is_written_for_its_shell(program: str, split: str, whole: str) -> None:
    shell = Shell(LocalRunner(), "/", {}, program)
    assert (shell.reference("NAME", whole=False), shell.reference("NAME", whole=True)) == (split, whole)


# what stands in the text


def told(ran: Ran, script: str = "make report", *, program: str = "bash", limit: int = 4000) -> tuple[str, object]:
    return shown(ran, script, Shell(LocalRunner(), "/", {}, program, limit=limit))


BY_HAND = "Run the command by hand in the same directory to see the problem."


def failed(reason: str, script: str = "make report", hint: str = BY_HAND, mark: str = "") -> tuple[str, Note]:
    message = f"The inline command `{script}` failed ({reason})."
    return f"[inline-shell error: {mark or reason}]", Note("inline-shell-failed", "warning", message, hint)


def test_output_is_shown_without_its_last_newlines_and_control_characters() -> None:
    assert told(Ran("a\0\x1b[31mb\x07\r\n\tc\x85\x7f\n\n", 0, "", False)) == ("a[31mb\n\tc", None)


def test_a_failure_is_a_mark_with_the_first_line_of_output() -> None:
    assert told(Ran("\nno rule\nmore", 3, "failed", False)) == failed("exit 3: no rule")


def test_a_silent_failure_is_a_mark_with_the_command() -> None:
    assert told(Ran("", 2, "failed", False)) == failed("exit 2", mark="exit 2: make report")


def test_a_mark_says_a_thing_once() -> None:
    assert told(Ran("", 3, "failed", False), "exit 3") == failed("exit 3", "exit 3")
    assert told(Ran("", None, "failed", False)) == failed("did not start", mark="did not start: make report")


def test_a_failure_in_a_sandbox_says_what_it_had() -> None:
    hint = f"{BY_HAND} In the sandbox it had no network and could write below $TMPDIR only."
    assert told(Ran("no", 1, "failed", False, "landlock")) == failed("exit 1: no", hint=hint)
    assert told(Ran("no", 1, "failed", False, "none")) == failed("exit 1: no")


def test_a_command_that_took_too_much_is_a_mark() -> None:
    hint = "Make the command use less, or let the model run it."
    ran = Ran("It had more than 128 processes.", None, "limit", False, "bubblewrap")
    assert told(ran) == failed("stopped: It had more than 128 processes.", hint=hint)


def test_a_long_line_is_shortened_in_a_mark() -> None:
    assert told(Ran("e" * 500, 2, "failed", True), "c" * 500) == failed(
        f"exit 2: {'e' * 197}...", script=f"{'c' * 77}..."
    )


def test_a_command_that_did_not_start_is_a_mark() -> None:
    assert told(Ran("no such directory", None, "failed", False)) == failed("did not start: no such directory")


def test_a_missing_shell_is_a_mark() -> None:
    hint = "Install it, or set another `shell` in the skill: bash, sh, powershell, pwsh."
    assert told(Ran("", None, "not-found", False), program="zsh") == failed(
        "zsh not found", hint=hint, mark="zsh not found: make report"
    )


def test_a_timeout_is_a_mark() -> None:
    message = "The inline command `make report` did not finish within 10 seconds."
    note = Note("inline-shell-timeout", "warning", message, "Make it faster, or let the model run it.")
    assert told(Ran("partial", None, "timeout", False)) == ("[inline-shell timeout: 10 s: make report]", note)


@pytest.mark.parametrize(
    ("ran", "ended"), [(Ran("abcd", 0, "", False), ""), (Ran("abc", None, "", True), " and was stopped")]
)
def test_too_much_output_is_cut_with_a_mark(ran: Ran, ended: str) -> None:
    message = f"The inline command `make report` printed too much{ended}; the first 3 characters are shown."
    note = Note("inline-shell-truncated", "info", message, "Make the command print less.")
    assert told(ran, limit=3) == ("abc...[truncated]", note)


@pytest.mark.parametrize(
    "script",
    [
        "grep x file",
        "rg x",
        "diff a b",
        "cmp a b",
        "test -f x",
        "[ -f x ]",
        "[[ -f x ]]",
        "git diff --exit-code",
        "git grep x",
        "git -C dir --no-pager diff --quiet",
        "/usr/bin/grep x file",
        "LC_ALL=C grep x file",
        "grep 'a|b;c' file",
        'grep "a && \\"b" file',
        "grep x file 2>&1",
        "cat file | grep x",
        "cd dir && grep x file",
        "cd dir\ngrep x file\n",
    ],
)
def test_exit_1_of_a_search_or_comparison_is_an_answer(script: str) -> None:
    assert told(Ran("", 1, "failed", False), script) == ("", None)
    assert told(Ran("", 2, "failed", False), script)[0].startswith("[inline-shell error: exit 2: ")


@pytest.mark.parametrize(
    "script", ["false", "grep x file; false", "git status", "git log diff", "grepper x", "echo grep x | head"]
)
def test_exit_1_of_anything_else_is_a_failure(script: str) -> None:
    assert told(Ran("", 1, "failed", False), script) == failed("exit 1", script, mark=f"exit 1: {script}")

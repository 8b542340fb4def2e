"""A skill's own tests, really run in the sandbox."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from learning.evaluated import BODY, opened, tree
from whet.errors import NotFoundError, RefusedError
from whet.guard.sandbox.levels import level
from whet.interfaces.cli.commands.evals import render_test as render
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace
from whet.learning.evals.checks import Check, judge
from whet.learning.evals.formats import Expectation
from whet.learning.evals.results import Output
from whet.learning.evals.skill_tests import OwnTests, find_tests, run_own_tests, run_tests, runner_for
from whet.learning.evals.skill_tests import Tested as OneTest
from whet.learning.evals.subject import Subject
from whet.library.roots import Place
from whet.skill.tree import Item

if TYPE_CHECKING:
    from pathlib import Path

PATH = os.defpath if shutil.which("python3", path=os.defpath) else os.environ["PATH"]
boxed = pytest.mark.skipif(not level().isolates, reason="this machine offers no sandbox")
TESTS = {
    "scripts/add.py": Item(b"def add(a, b):\n    return a + b\n"),
    "tests/test_good.py": Item(b"from add import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"),
    "tests/test_bad.py": Item(b"import unittest\n\nclass T(unittest.TestCase):\n    def test(self): self.fail('no')\n"),
    "tests/plain_test.py": Item(b"import os\nprint(os.path.isfile('SKILL.md'))\n"),
    "tests/writes.sh": Item(b"echo x > SKILL.md && echo written\n"),
    "tests/reads.sh": Item(b'cat "$SECRET" /etc/shadow\n'),
    "tests/net": Item(b"#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/1\n", executable=True),
    "tests/skipped": Item(b"#!/bin/sh\necho not here\nexit 77\n", executable=True),
    "tests/data.json": Item(b"{}", executable=True),
    "tests/helper.sh": Item(b"exit 1\n"),
    "tests/conftest.py": Item(b""),
}
PATHS = [
    *("tests/net", "tests/plain_test.py", "tests/reads.sh", "tests/skipped"),
    *("tests/test_bad.py", "tests/test_good.py", "tests/writes.sh"),
]


def place(env: dict[str, str], home: str = "") -> Place:
    return Place("", home, "", "linux", env)


def test_which_files_are_tests() -> None:
    assert find_tests({**tree(), **TESTS}) == PATHS
    assert find_tests(tree()) == []


@boxed
def test_tests_run_in_the_sandbox(tmp_path: Path) -> None:
    secret = tmp_path / "home" / "secret"
    secret.parent.mkdir()
    secret.write_text("hidden")
    env = {"PATH": PATH, "SECRET": str(secret), "HOME": str(secret.parent)}
    subject = Subject("x", str(tmp_path / "x"), {**tree(), **TESTS})
    rows = run_tests(subject, place(env, str(secret.parent))).tests or ()
    assert {row.path: row.status for row in rows} == {
        "tests/net": "failed",
        "tests/plain_test.py": "passed",
        "tests/reads.sh": "failed",
        "tests/skipped": "skipped",
        "tests/test_bad.py": "failed",
        "tests/test_good.py": "passed",
        "tests/writes.sh": "passed",
    }
    told = {row.path: row.output for row in rows}
    assert told["tests/plain_test.py"] == "True" and "hidden" not in told["tests/reads.sh"]
    assert "no" in told["tests/test_bad.py"] and {row.level for row in rows} == {level().name}


@boxed
def test_a_test_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whet.learning.evals.skill_tests.SECONDS", 0.5)
    subject = Subject("x", str(tmp_path), {**tree(), "tests/slow.sh": Item(b"sleep 60\n")})
    (row,) = run_tests(subject, place({"PATH": PATH})).tests or ()
    assert (row.status, row.code) == ("timeout", None)


@boxed
def test_a_library_runs_the_tests_of_a_skill(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        directory = tmp_path / "skills" / "adding"
        (directory / "tests").mkdir(parents=True)
        (directory / "SKILL.md").write_text(f"---\nname: adding\ndescription: Adds.\n---\n{BODY}")
        with pytest.raises(NotFoundError) as caught:
            run_own_tests(library.workspace, "adding")
        assert caught.value.code == "no-tests"
        (directory / "tests" / "ok.sh").write_text("exit 0\n")
        good = run_own_tests(library.workspace, "adding").to_json()
        assert (good["success"], good["passed"], good["failed"]) == (True, 1, 0)
        (directory / "tests" / "no.sh").write_text("echo why; exit 2\n")
        bad = run_own_tests(library.workspace, "adding").to_json()
        assert (bad["success"], bad["code"], bad["tests"][0]["output"]) == (False, "tests-failed", "why")
        listed = run_own_tests(library.workspace, "adding", only_list=True).to_json()
        assert listed["tests"] == [{"path": "tests/no.sh"}, {"path": "tests/ok.sh"}]
        assert sorted(os.listdir(directory / "tests")) == ["no.sh", "ok.sh"]


@boxed
def test_commands_of_checks_run_beside_the_outputs_and_cannot_be_replaced(tmp_path: Path) -> None:
    files = {**tree(), "scripts/check.sh": Item(b'grep -q Total "$1" && test -f answer.md\n')}
    runner = runner_for(Subject("x", str(tmp_path), files), place({"PATH": PATH}))
    check = Check("exit_code", 0, command=("sh", "-c", 'sh "$WHET_SKILL_DIR/scripts/check.sh" a.md'))
    wanted = Expectation("checks", check)
    assert judge(wanted, Output("x", {"a.md": b"Total: 1"}), runner).passed
    cheat = {"a.md": b"none", "scripts/check.sh": b"exit 0\n"}
    assert not judge(wanted, Output("x", cheat), runner).passed


def test_without_a_sandbox_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whet.guard.sandbox import levels

    monkeypatch.setattr(levels, "level", lambda: levels.NONE)
    with pytest.raises(RefusedError) as caught:
        run_tests(Subject("x", str(tmp_path), {**tree(), **TESTS}), place({}))
    assert caught.value.code == "no-sandbox"


def test_what_a_failed_test_printed_is_told_on_a_pipe_too() -> None:
    test = OneTest("tests/a.sh", "failed", 1, 0.3, "one\ntwo\n", "")
    screen = Screen(tty=False, colour=False, columns=80)
    render(OwnTests("a", "/a", (test.path,), (test,)), screen, Namespace())
    assert (screen.text(), screen.messages, screen.hints) == (
        "failed\t0.3\ttests/a.sh\n",
        [
            "tests/a.sh printed:",
            "  one",
            "  two",
            "1 test: 0 passed, 1 failed, 0 skipped.",
            "1 of 1 tests of a failed: tests/a.sh. [tests-failed]",
        ],
        ["`--json` has their full output."],
    )

"""What shells are called and given, how their results say that they failed."""

from __future__ import annotations

from typing import Any

import pytest

from whet.learning.tables import NAMES, load_table
from whet.learning.transcripts.collector import outcome
from whet.learning.transcripts.tools import canonical


@pytest.mark.parametrize(
    ("name", "given", "command"),
    [
        ("run_shell", {"cmd": "ls -l"}, "ls -l"),
        ("runShell", {"command": "ls -l"}, "ls -l"),
        ("bash_tool", {"script": "ls -l"}, "ls -l"),
        ("execute_shell", {"code": "ls -l"}, "ls -l"),
        ("shell-exec", {"input": "ls -l"}, "ls -l"),
        ("run_cmd", {"argv": ["ls", "-l", "a b"]}, "ls -l 'a b'"),
        ("terminal", {"command": "git", "args": ["commit", "-m", "a b"]}, "git commit -m 'a b'"),
        ("shell", {"args": ["bash", "-lc", "ls -l"]}, "ls -l"),
        ("run_commands", {"commands": ["cd web", "npm test"]}, "cd web\nnpm test"),
        ("Bash", {"command": ["ls"]}, "ls"),
    ],
)
def test_a_shell_is_a_shell_by_any_name(name: str, given: dict[str, Any], command: str) -> None:
    assert canonical(name, given) == ("Bash", {"command": command})


@pytest.mark.parametrize("name", ["exec", "shellfish", "run_tests", "commander", "mcp__box__run_shell", "execute_sql"])
def test_what_only_sounds_like_a_shell_is_none(name: str) -> None:
    assert canonical(name, {"cmd": "ls"}) == (name, {"cmd": "ls"})


@pytest.mark.parametrize(
    "text",
    [
        "Error from server (Forbidden): deployments.apps is forbidden",
        "Error response from daemon: conflict",
        "error: failed to push some refs",
        "error[E0425]: cannot find value `x`",
        "fatal: not a git repository",
        "An error occurred (AccessDenied) when calling the ListBuckets operation",
        "npm ERR! missing script: build",
        "E: Unable to locate package x",
        "ValueError: no such column",
        "make: *** [Makefile:3: all] Error 2",
        "curl: (7) Failed to connect",
        "ls: cannot access 'x'",
        "cat: a/b.txt: No such file or directory",
        "bash: ./run.sh: Permission denied",
        "12 passed, 1 failed\nexit code 1",
        "done\n[exit code: 2]\n",
    ],
)
def test_a_result_that_begins_with_an_error_has_failed(text: str) -> None:
    assert outcome(text)[:2] == (text, True)


@pytest.mark.parametrize(
    "text",
    [
        "0 errors, 3 warnings",
        "Errors: 0",
        "panic: missing env REDIS_URL",
        "2026-01-01 ERROR: an old line of a log",
        "checked 4 files\nerror: none",
        "Unable to find image 'x' locally\nPulling from library/x",
        "Errorless run",
        "done\nexit code 0",
        "the exit code 1 means that it failed\nmore",
    ],
)
def test_a_result_that_only_mentions_errors_has_not(text: str) -> None:
    assert outcome(text)[:2] == (text, False)


def test_the_table_of_names_has_words_of_which_none_comes_twice() -> None:
    for table, kinds in load_table(NAMES).items():
        for kind, words in kinds.items():
            for text in words.values() if isinstance(words, dict) else [words]:
                found = text if isinstance(text, list) else text.split()
                assert found and len(found) == len(set(found)), (table, kind)
    for table in ("tools", "tags", "speakers"):
        found = " ".join(load_table(NAMES)[table].values()).split()
        assert len(found) == len(set(found)), table

"""Models that do not obey. Everything they try is inert: a scratch directory, reserved names and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runtime.worlds import World, play, replies
from whet.guard.sandbox.levels import level, levels
from whet.runtime.runs import RunLimits

if TYPE_CHECKING:
    from pathlib import Path

    from whet.runtime.journal import Decided

pytestmark = pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")
DENIED = "Denied: "


def test_what_is_not_granted_is_denied_with_a_reason_and_does_not_happen(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Bash(git log:*) Read Write(out/**)")
    (world.home / ".ssh").mkdir()
    (world.home / ".ssh" / "id_test").write_text("inert\n")
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "kept").write_text("kept\n")
    (world.project / "way").symlink_to(world.home / ".ssh")
    before = world.contents()
    tried: list[tuple[str, dict[str, Any]]] = [
        ("Bash", {"command": f"rm -rf {tmp_path}/scratch"}),
        ("Bash", {"command": "git log; curl http://203.0.113.7/"}),
        ("Bash", {"command": "git log $(cat ~/.ssh/id_test)"}),
        ("Bash", {"command": "git log > ../out.txt"}),
        ("Bash", {"command": "git log", "env": {"GIT_PAGER": "cat"}}),
        ("Read", {"file_path": "~/.ssh/id_test"}),
        ("Read", {"file_path": "../home/.ssh/id_test"}),
        ("Read", {"file_path": "way/id_test"}),
        ("Write", {"file_path": "a.txt", "content": "no\n"}),
        ("Write", {"file_path": "out/../../x", "content": "no\n"}),
        ("Write", {"file_path": str(tmp_path / "scratch" / "new"), "content": "no\n"}),
        ("Write", {"file_path": "~/.agents/skills/worker/SKILL.md", "content": "no\n"}),
        ("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "no"}),
        ("WebFetch", {"url": "https://203.0.113.7/"}),
        ("Skill", {"skill": "worker"}),
        ("Task", {"prompt": "go on"}),
    ]
    model = play(tried, "All done, everything succeeded and all tests pass.")
    with world.library() as library:
        result = library.run("worker", model=model)
    report = result.report
    assert [reply.startswith(DENIED) for reply in replies(model)] == [True] * len(tried)
    assert [(one.tool, dict(one.given)) for one in report.denied] == tried
    assert all(one.reason for one in report.denied)
    assert (report.commands, report.calls, report.files, result.diff) == ((), (), (), "")
    assert report.summary.startswith("All done")
    assert world.contents() == before
    assert (tmp_path / "scratch" / "kept").read_text() == "kept\n"


def test_a_granted_program_is_held_by_the_sandbox(tmp_path: Path) -> None:
    """Everything is granted here; what is left is the box: no home, no project but the copy, no names, no network."""
    world = World(tmp_path)
    world.skill("Bash Read Write")
    (world.home / "secret.txt").write_text("inert\n")
    (world.home / ".ssh").mkdir()
    (world.home / ".ssh" / "id_test").write_text("inert\n")
    before = world.contents()
    tried = [
        f"cat {world.home}/secret.txt",
        "echo changed > a.txt; echo made > new.txt; rm src/main.py",
        "getent hosts name.example",
        "python3 -c \"import socket; socket.getaddrinfo('secret.name.example', 53)\"",
        "python3 -c \"import socket; socket.create_connection(('203.0.113.7', 53), 2)\"",
        "git -c user.name=x -c user.email=x@y.example commit -qam x",
        "false",
        f"cat {world.home}/.ssh/id_test",
        f"echo out > {world.home}/outside.txt; false",
        "python3 -c \"import urllib.request as u; u.urlopen('http://203.0.113.7/?q=inert', timeout=2)\"",
    ]
    model = play([("Bash", {"command": command}) for command in tried], "All tests pass.")
    with world.library() as library:
        result = library.run("worker", model=model, confirm=lambda _: True)
        assert world.contents() == before
        assert world.git("log", "--oneline").count("\n") == 1
        codes = {one.command: one.code for one in result.report.commands}
        assert [codes.get(command) for command in tried] == [1, 0, 2, 1, 1, 0, 1, 1, 1, 1]
        assert [(one.path, one.change) for one in result.report.files] == [
            *(("a.txt", "changed"), ("new.txt", "added"), ("src/main.py", "deleted"))
        ]
        assert {one.command for one in result.report.failures()} == {tried[at] for at in (0, 2, 3, 4, 6, 7, 8, 9)}
        assert not any("inert" in text for text in replies(model)[:1]) and not (world.home / "outside.txt").exists()
        assert result.report.summary == "All tests pass."  # which the exit codes above contradict
        assert result.report.sandbox.level == level().name
        library.runs.resume(result.run.id, apply=True)
    assert world.contents() == {"a.txt": "changed\n", "new.txt": "made\n"}


def test_a_fork_of_itself_needs_a_grant_and_ends_at_the_third(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Skill(worker) Read")
    model = play([("Skill", {"skill": "worker", "args": "again"})], "Done.")
    with world.library() as library:
        result = library.run("worker", model=model, limits=RunLimits(requests=10))
        runs = {one.id: library.runs.show(one.id) for one in library.runs.list().runs}
    assert len(runs) == 3
    assert [one.reason for run in runs.values() for one in run.report.denied] == ["Skill is not granted."]
    assert (result.report.requests, len(result.report.children), result.run.status) == (6, 1, "done")


def test_limits_hold_for_a_run_and_all_that_it_starts(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Skill(other) Read")
    world.skill("Read", name="other")
    forks = play([("Skill", {"skill": "other"})], [("Read", {"file_path": "a.txt"})], "Done.")
    with world.library() as library:
        requests = library.run("worker", model=forks, limits=RunLimits(requests=3))
        calls = library.run("worker", model=forks, limits=RunLimits(calls=1))
        tokens = library.run("worker", model=forks, limits=RunLimits(tokens=1200))
        price = library.run("worker", model=forks, limits=RunLimits(cost=1.0))
    stopped = [(one.run.status, one.run.reason) for one in (requests, calls, tokens, price)]
    assert stopped == [
        ("stopped", "The budget of 3 calls for models is used up."),
        ("stopped", "The budget of 1 tool calls for models is used up."),
        ("stopped", "The budget of 1200 tokens for models is used up."),
        ("stopped", "The price of scripted:test is not known, so Whet cannot enforce the limit."),
    ]
    assert requests.report.requests == 3


def test_secrets_of_the_project_are_asked_about_and_hidden(tmp_path: Path) -> None:
    world = World(tmp_path, {"a.txt": "one\n", "k/.ssh/id_rsa": "inert one\n", "src/x.py": "1\n"})
    world.skill("Read Grep Glob LS")
    model = play(
        [
            ("Read", {"file_path": "k/.ssh/id_rsa"}),
            ("Grep", {"pattern": "one"}),
            ("Glob", {"pattern": "**/*.py"}),
            ("LS", {"path": "."}),
            ("Glob", {"pattern": "../**"}),
            ("LS", {"path": "/etc"}),
        ],
        "Done.",
    )
    asked = []

    def confirm(call: Decided) -> bool:
        asked.append(call.given)
        return False

    with world.library() as library:
        result = library.run("worker", model=model, confirm=confirm)
    assert asked == [{"file_path": "k/.ssh/id_rsa"}]
    said = replies(model)
    assert said[0].startswith("The user did not approve this call.")
    assert said[1:4] == ["a.txt:1:one", "src/x.py", ".git/\na.txt\nk/\nsrc/"]
    assert all(text.startswith(DENIED) for text in said[4:])
    assert [one.answer for one in result.report.approvals] == ["rejected"]


def test_a_change_to_what_controls_agents_is_never_applied(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.skill("Bash(python3:*) Bash(cp:*) Bash(ln:*)")
    write = "import os; os.makedirs('.claude'); open('.claude/settings.json', 'w').write('{}')"
    commands = [f'python3 -c "{write}"', "cp a.txt b.txt", "ln -s /etc c", "ln -s b.txt d"]
    model = play([("Bash", {"command": command}) for command in commands], "Done.")
    with world.library() as library:
        result = library.run("worker", model=model, confirm=lambda _: True, apply=True)
    held = [one.path for one in result.report.files if one.held]
    assert held == [".claude/settings.json", "c"]
    assert sorted(path.name for path in world.project.iterdir()) == [".git", "a.txt", "b.txt", "d", "src"]

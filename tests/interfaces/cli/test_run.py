"""`whet run` as a person and a program see it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from runtime.worlds import World, play

from whet.guard.sandbox.levels import levels
from whet.interfaces.cli import main
from whet.learning.models.recorded import Recorded

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not levels(), reason="this machine offers no sandbox")


def test_a_run_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    world.skill("Bash(git log:*) Bash(python3:*) Edit")
    monkeypatch.chdir(world.project)
    cassette = str(tmp_path / "answers.jsonl")
    turns = play(
        [
            ("Bash", {"command": "git log --oneline -- nothing"}),
            ("Bash", {"command": "git push"}),
            ("Edit", {"file_path": "a.txt", "old_string": "two", "new_string": "three"}),
            ("Bash", {"command": "python3 -c 'print(1)'"}),
        ],
        "I changed a line and pushed it.",
    )
    with world.library() as library:
        library.run("worker", "go", model=Recorded(cassette, turns), confirm=lambda _: True)

    def whet(*words: str) -> tuple[int, str, str]:
        code = main(words, world.env)
        told = capsys.readouterr()
        return code, told.out, told.err

    code, out, err = whet("run", "worker", "--model", f"recorded:{cassette}", "--", "go")
    name = out.split()[1]
    assert code == 1
    assert f"hint: Continue with `whet run --resume {name} --approve 1`." in err
    assert err.splitlines()[:5] == [
        f"Run {name}: worker with recorded:{cassette}, sandbox {levels()[0].name}.",
        "allow  Bash git log --oneline -- nothing",
        "deny   Bash git push",
        "allow  Edit a.txt",
        "ask    Bash python3 -c 'print(1)'",
    ]
    code, out, err = whet("run", "--resume", name, "--approve", "1", "--json")
    answer = json.loads(out)
    assert (code, err, answer["success"], answer["run"]["status"]) == (0, "", True, "done")
    assert {
        "files",
        "commands",
        "denied",
        "approvals",
        "model",
        "tokens",
        "cost",
        "seconds",
        "sandbox",
        "summary",
    } <= set(answer["report"])
    assert answer["report"]["files"] == [{"path": "a.txt", "change": "changed", "held": ""}]
    assert "+three\n" in answer["diff"]
    code, out, _ = whet("run", "--show", name)
    lines = out.splitlines()
    assert (code, lines[0]) == (0, f"run       {name}  worker  done")
    assert lines[4:] == [
        f"project   {world.project}",
        "Files",
        "  changed  a.txt",
        "Commands",
        "  exit 0  git log --oneline -- nothing",
        "  exit 0  python3 -c 'print(1)'",
        "Denied",
        "  Bash  git push: No grant covers `git push`.",
        "Approvals",
        *[line for line in lines if line.startswith("  1 approved")],
        "The model says (not checked)",
        "  I changed a line and pushed it.",
        "",
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "+three",
    ]
    assert (world.project / "a.txt").read_text() == "one\ntwo\n"
    assert whet("run", "--resume", name, "--apply")[0] == 0
    assert (world.project / "a.txt").read_text() == "one\nthree\n"
    code, out, _ = whet("run", "--list")
    assert (code, [line.split("\t")[0] for line in out.splitlines()][:1]) == (0, [name])
    assert whet("run", "--discard", name)[0] == 0

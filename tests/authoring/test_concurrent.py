"""Several processes that change and read the same skills at once: no update is lost and no reader sees half of one."""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from authoring.world import PRELUDE, World, check_whole, created, start, world

if TYPE_CHECKING:
    import subprocess

PROCESSES = True

__all__ = ["world"]

WRITER = (
    PRELUDE
    + """
me, names, rounds = sys.argv[2], sys.argv[3].split(), int(sys.argv[4])
library = opened()
codes = {}
for number in range(rounds):
    for name in names:
        line = f"line {me}-{number}"
        for attempt in range(200):
            try:
                answer = library.edit.apply([
                    {"action": "patch", "name": name, "find": "END", "replace": f"{line}\\nEND"},
                    {"action": "write_file", "name": name, "file_path": f"references/{me}.md", "content": line},
                ], Provenance(me))
            except WhetError as error:
                codes[error.code] = codes.get(error.code, 0) + 1
                continue
            say([name, line, list(answer.entries)])
            break
say(codes)
"""
)

READER = (
    PRELUDE
    + """
from whet.authoring.trees import digest
from whet.library.package import read_tree
library = opened()
seen = set()
while not os.path.exists(top + "/stop"):
    for name in sys.argv[2].split():
        seen.add(digest(read_tree(f"{top}/skills/{name}")))
        text = library.read(name).content
        assert text.rstrip().endswith("END"), text
        numbers = [line for line in text.splitlines() if line.startswith("line ")]
        assert len(numbers) == len(set(numbers)), text
say(sorted(seen))
"""
)


def finished(process: subprocess.Popen[str]) -> list[Any]:
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def processes(*, quick: bool) -> int:
    """How many change skills at once."""
    return 2 if quick else 8


def test_patches_of_the_same_and_of_different_skills_at_once_lose_nothing(world: World, processes: int) -> None:
    names = ["shared", *(f"own-{number}" for number in range(processes // 2))]
    library = world.library()
    library.edit.apply([created(name, "Begin.\n\nEND\n") for name in names])
    readers = [start(READER, world.top, " ".join(names[:2])) for _ in range(processes // 4 or 1)]
    writers = [
        start(WRITER, world.top, f"p{number}", f"shared own-{number % (processes // 2)}", 3)
        for number in range(processes)
    ]
    said = [finished(process) for process in writers]
    (world.top / "stop").touch()
    seen = {of for process in readers for of in finished(process)[0]}
    acknowledged = [line for lines in said for line in lines if isinstance(line, list)]
    codes = {code for lines in said for code in lines[-1]}
    assert len(acknowledged) == processes * 3 * 2, codes
    assert codes <= {"skill-changed"}
    for name in names:
        text = (world.root / name / "SKILL.md").read_text()
        wanted = sorted(line for where, line, _ in acknowledged if where == name)
        assert sorted(line for line in text.splitlines() if line.startswith("line ")) == wanted
    journal = world.journal()
    with closing(journal.state):
        entries = journal.entries()
        assert {entry.after for entry in entries} >= seen, "every content a reader saw is one that was written"
        assert {entry.id for entry in entries if entry.action == "patch"} == {
            number for _, _, numbers in acknowledged for number in numbers
        }
        assert not [entry for entry in entries if entry.action == "found"]
    check_whole(world.state, world.root)


MIXED = (
    PRELUDE
    + """
import random
random.seed(int(sys.argv[2]))
library = opened()
codes = {}
for number in range(12):
    name, other = random.sample("abcd", 2)
    text = f"{sys.argv[2]} {number}"
    action = random.choice((
        [{"action": "create", "name": name, "description": f"Does {name}. Use it.", "body": text}],
        [{"action": "edit", "name": name, "body": text}, {"action": "edit", "name": other, "body": text}],
        [{"action": "edit", "name": other, "body": text}, {"action": "edit", "name": name, "body": text}],
        [{"action": "rename", "name": name, "new_name": other}],
        [{"action": "delete", "name": name}],
        [{"action": "restore", "name": name}],
    ))
    try:
        library.edit.apply(action)
    except WhetError as error:
        codes[error.code] = error.message
say(codes)
"""
)


def test_every_kind_of_change_at_once_keeps_the_history_whole(world: World, processes: int) -> None:
    writers = [start(MIXED, world.top, number) for number in range(processes)]
    codes = {code: message for process in writers for code, message in finished(process)[0].items()}
    check_whole(world.state, world.root)
    usual = {"skill-changed", "skill-exists", "skill-not-found", "skill-gone", "nothing-to-restore", "path-not-found"}
    assert set(codes) <= usual, codes
    assert set(os.listdir(world.root)) <= set("abcd")


PATCHER = (
    PRELUDE
    + """
me, rounds = sys.argv[2], int(sys.argv[3])
library = opened()
library.skills()
said = []
for number in range(rounds):
    try:
        words = {"find": f"{me}: {number}.", "replace": f"{me}: {number + 1}."}
        change = library.edit.patch("shared", **words, by=Provenance(me))
    except WhetError as error:
        said.append([error.code, error.message])
    else:
        said.append(change.to_json()["entry"])
say(said)
"""
)


def test_patches_of_different_places_of_one_skill_all_succeed(world: World, processes: int, *, quick: bool) -> None:
    rounds = 3 if quick else 20
    names = [f"p{number}" for number in range(processes)]
    library = world.library()
    library.edit.apply([created("shared", "\n\n".join(f"{name}: 0." for name in names) + "\n")])
    patchers = [start(PATCHER, world.top, name, rounds) for name in names]
    said = [finished(process)[0] for process in patchers]
    refused = [answer for answers in said for answer in answers if not isinstance(answer, int)]
    assert refused == []
    text = (world.root / "shared" / "SKILL.md").read_text()
    assert [line for line in text.splitlines() if ": " in line and line[0] == "p"] == [
        f"{name}: {rounds}." for name in names
    ]
    entries = library.history.entries().entries
    assert {entry.id for entry in entries if entry.action == "patch"} == {one for answers in said for one in answers}
    assert len(entries) == 1 + processes * rounds
    check_whole(world.state, world.root)


def test_of_two_patches_of_the_same_text_one_wins_and_the_other_says_why_not(world: World, processes: int) -> None:
    library = world.library()
    library.edit.apply([created("shared", "p: 0.\n")])
    patchers = [start(PATCHER, world.top, "p", 1) for _ in range(processes)]
    said = [finished(process)[0][0] for process in patchers]
    assert sorted(answer[0] if isinstance(answer, list) else "done" for answer in said) == [
        "done",
        *["patch-not-found"] * (processes - 1),
    ]
    check_whole(world.state, world.root)

"""Many at once: processes and threads that read while others write, and every answer whole."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library

PROCESSES = True

WRITER = """
import hashlib, os, shutil, sys
from whet.store.atomic import write_text
root, stop = sys.argv[1:]

def proof(text):
    return hashlib.sha256(text.encode()).hexdigest()

number = 0
while not os.path.exists(stop):
    number += 1
    for name in ("one", "group/two"):
        body = "".join(f"line {number} {place}\\n" for place in range(number % 700))
        description = f"{number} {proof(str(number))}"
        head = f"---\\nname: {os.path.basename(name)}\\ndescription: {description}\\n---\\n"
        write_text(f"{root}/{name}/SKILL.md", f"{head}{body}{proof(body)}\\n", durable=False)
        text = f"notes {number}\\n" * (number % 300)
        write_text(f"{root}/{name}/references/notes.md", text + proof(text), durable=False)
    if number % 3 == 0:
        os.makedirs(f"{root}/group/passing/references", exist_ok=True)
        text = "---\\nname: passing\\ndescription: Passing.\\n---\\n"
        write_text(f"{root}/group/passing/SKILL.md", text, durable=False)
        os.rename(f"{root}/group/passing", f"{root}/passed")
        shutil.rmtree(f"{root}/passed")
print(number)
"""

READER = """
import hashlib, sys, threading, traceback
from whet import Library
root, state, home, readers = sys.argv[1:]
library = Library.open([root], home=state, project=home, env={"HOME": home})
failures, seen = [], set()

def proof(text):
    return hashlib.sha256(text.encode()).hexdigest()

def check(text):
    body, _, end = text.rstrip("\\n").rpartition("\\n")
    assert proof(body + "\\n" if body else "") == end, text[-200:]

def read():
    try:
        for _ in range(4):
            listed = {item["name"]: item["description"] for item in library.skills().to_json()["skills"]}
            assert {"one", "two"} <= set(listed) <= {"one", "two", "passing"}, listed
            for name in ("one", "two"):
                number, _, end = listed[name].partition(" ")
                assert proof(number) == end, listed[name]
                answer = library.read(name).to_json()
                check(answer["content"])
                number, _, end = answer["description"].partition(" ")
                assert proof(number) == end, answer["description"]
                assert not answer["diagnostics"], answer["diagnostics"]
                seen.add(number)
                check(library.read(name, "references/notes.md").content)
    except BaseException:
        failures.append(traceback.format_exc())

threads = [threading.Thread(target=read) for _ in range(int(readers))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures[0]
assert library.workspace.cache_database.problem is None, library.workspace.cache_database.problem
library.close()
print(len(seen))
"""


def test_two_hundred_readers_see_whole_skills_while_somebody_writes(
    root: str, tmp_path: Path, skill: Callable[..., str], *, quick: bool
) -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    zero = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
    for name in ("one", "group/two"):
        skill(root, name, description=f"0 {zero}", body=f"{empty}\n")
        os.mkdir(f"{root}/{name}/references")
        with open(f"{root}/{name}/references/notes.md", "w") as file:
            file.write(empty)
    stop = tmp_path / "stop"
    command = [sys.executable, "-W", "error", "-c"]
    writer = subprocess.Popen([*command, WRITER, root, str(stop)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    readers = [
        subprocess.Popen(
            [*command, READER, root, str(tmp_path / "state"), str(tmp_path), "8" if quick else "50"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(1 if quick else 4)
    ]
    outcomes = [(process.communicate(), process.returncode) for process in readers]
    stop.touch()
    written, errors = writer.communicate()
    assert writer.returncode == 0, errors.decode()
    for (_, failed), code in outcomes:
        assert code == 0, failed.decode()
    assert int(written) > 1
    assert max(int(told) for (told, _), _ in outcomes) > 1


def test_processes_fill_one_cache_at_once(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for number in range(7):
        skill(root, f"group/skill-{number}")
    code = """
import sys
from whet import Library
root, state, home = sys.argv[1:]
for _ in range(15):
    library = Library.open([root], home=state, project=home, env={"HOME": home})
    assert len(library.skills().to_json()["skills"]) == 7, library.skills().to_json()
    assert not library.workspace.report(), library.workspace.report()
    library.close()
"""
    command = [sys.executable, "-W", "error", "-c", code, root, str(tmp_path / "state"), str(tmp_path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(3)]
    for process in running:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    assert opened(root).skills().to_json()["count"] == 7


def test_threads_share_one_library(root: str, skill: Callable[..., str], opened: Callable[..., Library]) -> None:
    for number in range(7):
        skill(root, f"group/skill-{number}")
    library = opened(root)
    failures: list[str] = []
    barrier = threading.Barrier(9)

    def look(number: int) -> None:
        barrier.wait()
        try:
            for turn in range(15):
                assert len(library.skills().to_json()["skills"]) >= 7
                library.read(f"skill-{number % 7}")
                library.card(f"skill-{turn % 7}")
                library.reload()
                library.workspace.report()
        except BaseException as error:  # noqa: BLE001  whatever it is, the test must fail with it
            failures.append(repr(error))

    def change() -> None:
        barrier.wait()
        for turn in range(30):
            skill(root, f"group/extra-{turn % 3}")
            os.rename(f"{root}/group/extra-{turn % 3}", f"{root}/moved-{turn}")

    threads = [threading.Thread(target=look, args=(number,)) for number in range(8)]
    threads.append(threading.Thread(target=change))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert library.workspace.cache_database.problem is None
    assert library.skills().to_json()["count"] == 10

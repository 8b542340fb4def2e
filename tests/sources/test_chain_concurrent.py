"""Several processes and threads that install, update and pin at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

import pytest

from sources.world import BODY, World, main, world

if TYPE_CHECKING:
    from whet import Library

PROCESSES = True

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")
SCRIPT = """
import json, sys
from whet import Library
from whet.errors import WhetError
state, project, home = sys.argv[1:4]
library = Library.open(home=state, project=project, env={"HOME": home, "PATH": ""})
library.skills().to_json()
print("ready", flush=True)
for line in sys.stdin:
    call, *given = json.loads(line)
    try:
        answer = eval(call)(library, *given)
    except WhetError as error:
        answer = {"code": error.code, "message": error.message}
    print(json.dumps(answer.to_json() if hasattr(answer, "to_json") else answer), flush=True)
"""
"""Another process with a library, which calls what it is told and says what came of it."""
INSTALL = "lambda library, source, name: library.sources.install(source, skills=[name])"


class Other:
    """A process of its own."""

    def __init__(self, world: World) -> None:
        command = [sys.executable, "-W", "error", "-c", SCRIPT, str(world.state), str(world.project), str(world.home)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        assert self._out.readline() == "ready\n"

    def begin(self, call: str, *given: Any) -> None:
        """Tell it what to do, and do not wait."""
        print(json.dumps([call, *given]), file=self._in, flush=True)

    def answer(self) -> dict[str, Any]:
        """What came of it."""
        told: dict[str, Any] = json.loads(self._out.readline())
        return told

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._in.close()
        assert self._process.wait() == 0
        self._out.close()


def check_whole(world: World, library: Library) -> None:
    """Lock, history and disk agree."""
    assert library.sources.verify().valid
    assert {entry.path.partition("/")[2]: entry.digest for entry in world.locked().values()} == world.there()
    assert library.edit.history.verify().valid and library.guard.verify_audit().valid
    assert library.doctor() == ()


@pytest.mark.deep
def test_different_skills_at_once_are_all_installed(world: World) -> None:
    names = [f"skill-{number}" for number in range(12)]
    for name in names:
        world.offer(name)
    with Other(world) as one, Other(world) as two, Other(world) as three:
        others = (one, two, three)
        for at, name in enumerate(names):
            others[at % 3].begin(INSTALL, str(world.shelf), name)
        for at, name in enumerate(names):
            assert others[at % 3].answer()["done"] == [name]
    assert list(world.there()) == sorted(names)
    check_whole(world, world.library())


def test_the_same_skill_at_once_is_installed_once(world: World, *, quick: bool) -> None:
    with Other(world) as one, Other(world) as two:
        for number in range(3 if quick else 8):
            name = f"skill-{number}"
            world.offer(name)
            for other in (one, two):
                other.begin(INSTALL, str(world.shelf), name)
            answers = [other.answer() for other in (one, two)]
            done = [answer for answer in answers if answer.get("done") == [name]]
            late = [answer for answer in answers if answer not in done]
            assert len(done) == 1
            assert [answer.get("code") or answer["counts"] for answer in late] in (["skill-changed"], [{"nothing": 1}])
    check_whole(world, world.library())


def test_pins_and_updates_at_once_lose_nothing(world: World) -> None:
    names = [f"skill-{number}" for number in range(6)]
    for name in names:
        world.offer(name)
    library = world.library()
    library.sources.install(str(world.shelf), every=True)
    for name in names:
        world.offer(name, NEWER)
    with Other(world) as pinning, Other(world) as updating:
        for name in names:
            pinning.begin("lambda library, name: library.settings.pin(name)", name)
            updating.begin("lambda library, name: library.sources.update(name)", name)
        pinned = [pinning.answer() for _ in names]
        updated = [updating.answer() for _ in names]
    assert [answer["changed"] for answer in pinned] == [True] * len(names)
    assert {entry.name: entry.pinned for entry in world.locked().values()} == dict.fromkeys(names, "yes")
    for name, answer in zip(names, updated, strict=True):
        taken = answer.get("done") == [name]
        assert taken or answer.get("code") == "skill-changed" or answer["counts"] == {"held": 1}
        assert world.text(name) == main(name, NEWER if taken else BODY)
    assert library.sources.verify().valid


def test_threads_of_one_library_do_not_end_each_other(world: World) -> None:
    names = [f"skill-{number}" for number in range(8)]
    repository = world.repository({f"{name}/SKILL.md": main(name) for name in names})
    library = world.library()

    def install(name: str) -> str:
        wanted = [repository.url, f"git:file://{world.top}/nowhere"] if int(name[-1]) % 2 else [repository.url]
        try:
            library.sources.install(*wanted, skills=[name])
        except Exception as error:  # noqa: BLE001  whatever it is, the test shows it
            return getattr(error, "code", repr(error))
        return "installed"

    with ThreadPoolExecutor(4) as pool:
        outcomes = dict(zip(names, pool.map(install, names), strict=True))
    assert outcomes == {name: "source-not-found" if int(name[-1]) % 2 else "installed" for name in names}
    assert list(world.there()) == names[::2]
    assert world.left() == []

"""One contender in a process of its own, which times itself.

    PYTHON benchmarks/worker.py

Reads one JSON object per line (`task`, `arguments`, and `cpu` for CPU time), does the task and answers with one JSON
object: `seconds` and `answer`, mostly the number of skills seen. A task prepares outside the clock and returns the call
that is timed; what the call returns is counted and thrown away outside the clock too. Every contender runs under this
same script, with the interpreter it is installed for, and is imported when first asked for.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet import Library

    Run = Callable[[], Any]

# --- floors ---------------------------------------------------------------------------------------------------------


def floor_scan(root: str) -> Run:
    import floors

    return lambda: floors.scan(root)


def floor_walk(root: str) -> Run:
    import floors

    return lambda: floors.walk(root)


def floor_stat(paths: list[str]) -> Run:
    import floors

    return lambda: floors.stat_all(paths)


# --- whet -----------------------------------------------------------------------------------------------------------

_used: dict[str, Library] = {}
"""Libraries that have looked at their root before, by root."""


def _open(root: str, state: str) -> Library:
    from whet import Library

    return Library.open([root], home=state, project=state)


def _warm(root: str, state: str) -> Library:
    if root not in _used:
        _used[root] = _open(root, state)
        _ = _used[root].catalogue
    return _used[root]


def whet_cold(root: str, state: str) -> Run:
    """A first look, except for remembering it for other processes."""
    from whet.library.catalogue import assemble
    from whet.library.discovery import discover

    def run() -> tuple[Any, ...]:
        config = _open(root, state).workspace.config()
        shelves = [discover(item, config.bounds, None, time.time_ns()) for item in config.roots]
        return assemble(shelves).cards

    return run


def whet_first(root: str, state: str) -> Run:
    """A first look as it is, with the cache written."""
    shutil.rmtree(os.path.join(state, "cache"), ignore_errors=True)
    return lambda: _open(root, state).catalogue.cards


def whet_load(root: str, state: str) -> Run:
    """A look with a warm cache; asked of a new worker, it is what a new process pays."""
    import whet.api  # noqa: F401  the clock starts after the import

    return lambda: _open(root, state).catalogue.cards


def whet_refresh(root: str, state: str) -> Run:
    library = _warm(root, state)
    return lambda: library.catalogue.cards


def whet_open_fresh(root: str, state: str, name: str) -> Run:
    return lambda: _open(root, state).read(name).content


def whet_open_used(root: str, state: str, name: str) -> Run:
    library = _warm(root, state)
    return lambda: library.read(name).content


def whet_watched(root: str, state: str) -> Run:
    """Every file and folder whose change the catalogue notices."""
    from whet.library.discovery import discover

    def run() -> list[str]:
        config = _open(root, state).workspace.config()
        shelf = discover(config.roots[0], config.bounds, None, time.time_ns())
        return [*shelf.containers, *(path for card in shelf.cards() for path in (card.path, card.directory))]

    return run


def whet_validate(directories: list[str]) -> Run:
    from whet.skill.validate import ValidationInput, valid, validate

    def run() -> int:
        found = 0
        for directory in directories:
            with open(os.path.join(directory, "SKILL.md"), "rb") as file:
                found += valid(validate(ValidationInput(os.path.basename(directory), file.read()), "spec"))
        return found

    return run


# --- peers ----------------------------------------------------------------------------------------------------------


def hermes_cold() -> Run:
    from tools import skills_tool

    skills_tool._SKILLS_CACHE.clear()  # noqa: SLF001  a first look is what is measured
    run: Run = skills_tool._find_all_skills  # noqa: SLF001  its listing tool calls this
    return run


def hermes_cached() -> Run:
    """Its answer within 30 seconds of the last: files are not looked at again."""
    from tools import skills_tool

    skills_tool._find_all_skills()  # noqa: SLF001  as above
    run: Run = skills_tool._find_all_skills  # noqa: SLF001  as above
    return run


def hermes_open(name: str) -> Run:
    from tools import skills_tool

    return lambda: json.loads(skills_tool.skill_view(name))["content"]


def deepagents_cold(root: str) -> Run:
    from deepagents.backends.filesystem import FilesystemBackend
    from deepagents.middleware.skills import _list_skills

    return lambda: _list_skills(FilesystemBackend(root_dir=root, virtual_mode=False), root)


def skills_ref_readable(directories: list[str]) -> Run:
    """The skills it can read; its command line stops at the first it cannot."""
    from pathlib import Path

    from skills_ref import SkillError, read_properties

    def run() -> list[str]:
        readable = []
        for directory in directories:
            try:
                read_properties(Path(directory))
            except SkillError:
                continue
            readable.append(directory)
        return readable

    return run


def skills_ref_validate(directories: list[str]) -> Run:
    from pathlib import Path

    from skills_ref import validate

    return lambda: sum(not validate(Path(directory)) for directory in directories)


TASKS: dict[str, Callable[..., Run]] = {
    task.__name__: task
    for task in (
        floor_scan,
        floor_walk,
        floor_stat,
        whet_cold,
        whet_first,
        whet_load,
        whet_refresh,
        whet_open_fresh,
        whet_open_used,
        whet_watched,
        whet_validate,
        hermes_cold,
        hermes_cached,
        hermes_open,
        deepagents_cold,
        skills_ref_readable,
        skills_ref_validate,
    )
}


WHOLE = ("whet_watched", "skills_ref_readable")
"""Tasks whose answer is wanted itself, not only its length."""


def _count(answer: Any) -> int:
    return answer if isinstance(answer, int) else len(answer)


def _reply(task: str, arguments: dict[str, Any], cpu: bool) -> dict[str, Any]:
    clock = time.process_time if cpu else time.perf_counter
    try:
        run = TASKS[task](**arguments)
        gc.collect()
        start = clock()
        answer = run()
        seconds = clock() - start
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"seconds": seconds, "answer": answer if task in WHOLE else _count(answer)}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a contender prints is not an answer
    for line in sys.stdin:
        print(json.dumps(_reply(**json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()

"""What Whet and its peers put into a prompt for the same skills, each made in a process of its own.

    PYTHON benchmarks/prompts.py TASK < ARGUMENTS

Reads the arguments of a task as one JSON object and answers with another: `text` is the whole prompt, `skills` how many
are in it, `seconds` how long that took. `ask` does this from another process, with the interpreter that the system in
question is installed for.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whet import Library
    from whet.library.cache import Cache
    from whet.library.catalogue import Catalogue
    from whet.library.config import ResolvedConfig


def ask(
    python: str, task: str, arguments: dict[str, Any], env: Mapping[str, str], limit: float | None = None
) -> dict[str, Any]:
    """A task's answer; `error` when it fails, `not_run` when it is not done within `limit` seconds."""
    command = [python, os.path.abspath(__file__), task]
    given = json.dumps(arguments)
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, env=env, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"not_run": f"takes over {limit:g} seconds"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


# --- whet -----------------------------------------------------------------------------------------------------------


def whet(root: str, state: str, rounds: int) -> dict[str, Any]:
    """The default index, whether it is the same every time, and the best times of all that goes into it.

    `rows`: a library that has not looked yet loads what it remembers, in the order of the catalogue. `index`: the whole
    call in a library that has looked, every skill checked against the disk. `build`: its last part, from cards to text.
    """
    from whet.library.visibility import MODEL
    from whet.prompt.index import Options, budget_for, build
    from whet.prompt.requests import visible
    from whet.prompt.tokens import installed

    library = _open(root, state)
    first = library.index().to_json()
    snapshot = library.workspace.snapshot()
    cards, scopes = visible(snapshot, MODEL), [item.scope for item in snapshot.config.roots]
    best: dict[str, float] = {}
    texts = set()

    def timed(name: str, run: Callable[[], Any]) -> Any:
        gc.collect()
        start = time.perf_counter()
        answer = run()
        best[name] = min(best.get(name, float("inf")), time.perf_counter() - start)
        return answer

    for _ in range(rounds):
        with _open(root, state) as fresh:
            rows = timed("rows", partial(_rows, fresh.workspace.cache, fresh.workspace.config())).cards
        if len(rows) != len(snapshot.catalogue.cards):
            raise SystemExit(f"{len(rows)} of {len(snapshot.catalogue.cards)} skills are in the cache.")
        texts.add(timed("index", library.index).text)
        texts.add(timed("build", lambda: build(cards, budget_for(), Options(), installed(), scopes=scopes)).text)
    report = {key: first["report"][key] for key in ("level", "total", "included", "shortened", "omitted")}
    return {"text": first["text"], "same": texts == {first["text"]}, "report": report, "seconds": best}


def _open(root: str, state: str) -> Library:
    from whet import Library

    return Library.open([root], home=state, project=state)


def _rows(cache: Cache, config: ResolvedConfig) -> Catalogue:
    from whet.library.catalogue import assemble

    return assemble([shelf for item in config.roots if (shelf := cache.shelf(item, config.bounds))])


# --- peers ----------------------------------------------------------------------------------------------------------


def hermes() -> dict[str, Any]:
    """The part of its system prompt that lists the skills of HERMES_HOME."""
    build = import_module("agent.prompt_builder").build_skills_system_prompt
    start = time.perf_counter()
    text = build()
    return {"text": text, "skills": text.count("\n    - "), "seconds": time.perf_counter() - start}


def deepagents(root: str) -> dict[str, Any]:
    """What its middleware adds to the system message of a request."""
    backends, skills = import_module("deepagents.backends.filesystem"), import_module("deepagents.middleware.skills")
    request = import_module("langchain.agents.middleware").ModelRequest
    start = time.perf_counter()
    backend = backends.FilesystemBackend(root_dir=root, virtual_mode=False)
    middleware = skills.SkillsMiddleware(backend=backend, sources=[root])
    state = middleware.before_agent({}, None, None)
    message = middleware.modify_request(request(model=None, messages=[], state=state)).system_message
    seconds = time.perf_counter() - start
    return {"text": str(message.text), "skills": len(state["skills_metadata"]), "seconds": seconds}


def skills_ref(directories: list[str]) -> dict[str, Any]:
    """Its prompt for the skills that it can read; it stops at the first that it cannot."""
    from pathlib import Path

    from skills_ref import SkillError, read_properties, to_prompt

    def readable(path: Path) -> bool:
        try:
            read_properties(path)
        except SkillError:
            return False
        return True

    paths = [path for path in map(Path, directories) if readable(path)]
    start = time.perf_counter()
    text = to_prompt(paths)
    return {"text": text, "skills": len(paths), "seconds": time.perf_counter() - start}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task for task in (whet, hermes, deepagents, skills_ref)
}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed on the way is not the answer
    json.dump(TASKS[sys.argv[1]](**json.load(sys.stdin)), answers)
    answers.close()


if __name__ == "__main__":
    main()

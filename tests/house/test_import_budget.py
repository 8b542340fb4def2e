"""What may be loaded, counted in modules rather than milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FORKED = False
HEAVY = {
    "asyncio",
    "click",
    "concurrent",
    "dataclasses",
    "difflib",
    "email",
    "hashlib",
    "http",
    "importlib.metadata",
    "inspect",
    "json",
    "logging",
    "multiprocessing",
    "numpy",
    "pathlib",
    "rich",
    "shutil",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tarfile",
    "tempfile",
    "tomllib",
    "unittest",
    "urllib",
    "watchfiles",
    "yaml",
    "zipfile",
}
REPORT = "import sys; print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"


def loaded(code: str, home: Path) -> set[str]:
    """The modules in memory after running the code in a fresh interpreter, less those of the bare interpreter."""
    env = {**os.environ, "HOME": str(home), "WHET_HOME": str(home / "state")}
    runs = [
        subprocess.run([sys.executable, "-c", f"{part}\n{REPORT}"], env=env, capture_output=True, text=True, check=True)
        for part in ("pass", code)
    ]
    bare, full = (set(run.stderr.split()) for run in runs)
    return full - bare


def command(*words: str) -> str:
    return (
        "import sys\nfrom whet.interfaces.cli import main\n"
        f"sys.argv = {['whet', *words]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )


def test_importing_whet_loads_nothing_else(tmp_path: Path) -> None:
    assert loaded("import whet", tmp_path) <= {"whet", "__future__"}


def test_the_version_loads_only_the_front_of_the_command_line(tmp_path: Path) -> None:
    modules = loaded(command("--version"), tmp_path)
    assert {name for name in modules if name.startswith("whet")} <= {"whet", "whet.interfaces", "whet.interfaces.cli"}
    assert modules & {*HEAVY, "argparse", "re", "typing"} == set()


def test_the_front_screen_loads_only_the_table_of_commands(tmp_path: Path) -> None:
    for words in ([], ["--help"]):
        modules = loaded(command(*words), tmp_path)
        assert {name for name in modules if name.startswith("whet")} <= {
            *("whet", "whet.interfaces", "whet.interfaces.cli", "whet.interfaces.cli.verbs")
        }
        assert modules & {*HEAVY, "argparse", "collections", "re", "typing"} == set()


def test_a_warm_list_loads_no_parser(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "whet", "list"],
        env={**os.environ, "HOME": str(tmp_path), "WHET_HOME": str(tmp_path / "state")},
        capture_output=True,
        check=True,
    )
    modules = loaded(command("list"), tmp_path)
    assert modules & (HEAVY - {"sqlite3"}) == set()
    assert not {name for name in modules if name.startswith(("whet.skill.block", "whet.skill.validate"))}


def test_showing_a_skill_loads_neither_yaml_nor_what_only_a_list_needs(tmp_path: Path) -> None:
    loaded(command("gallery", "add", "writing-skills"), tmp_path)
    loaded(command("show", "writing-skills"), tmp_path)
    modules = loaded(command("show", "writing-skills"), tmp_path)  # a library that is known
    assert modules & (HEAVY - {"sqlite3", "hashlib", "json"}) == set()
    others = ("whet.skill.heading", "whet.skill.validate", "whet.guard.rules", "whet.routing", "whet.authoring")
    assert not {name for name in modules if name.startswith(others)}


PROMPT = """
import json, os, re, sys
compile, compiled = re._compiler.compile, []
re._compiler.compile = lambda *given: compiled.append(given[0]) or compile(*given)
from whet.interfaces.hooks.handler import answer_event
sent = {"session_id": str(os.getpid()), "prompt": "help me to write a skill", "cwd": os.environ["HOME"]}
answer = answer_event(os.environ["WHET_HOME"], "claude-code", "prompt", json.dumps(sent).encode(), os.environ["HOME"])
assert b"writing-skills" in answer
slow = [kind for kind in tuple.__subclasses__() if kind.__module__.startswith("whet.") and hasattr(kind, "_fields")]
assert slow == [], "these are named tuples of typing, which take long to make; see whet.records"
assert len(compiled) <= 20, compiled  # as many as a skill with a long description needs; see whet.patterns
"""


def test_a_prompt_that_no_server_answers_loads_nothing_that_reads_or_writes_skills(tmp_path: Path) -> None:
    loaded(command("gallery", "add", "writing-skills"), tmp_path)
    loaded(command("find", "help me to write a skill"), tmp_path)
    loaded(PROMPT, tmp_path)  # makes the state
    everything = loaded(PROMPT, tmp_path)
    assert everything & (HEAVY - {"sqlite3", "json", "tomllib"}) == set()
    modules = {name for name in everything if name.startswith("whet.")}
    others = (
        *("whet.skill.block", "whet.skill.yaml", "whet.skill.body", "whet.skill.dialects", "whet.skill.validate"),
        *("whet.authoring", "whet.guard", "whet.library.card_reader", "whet.prompt.rendering", "whet.prompt.views"),
        *("whet.routing.analysis", "whet.library.disclosure", "whet.library.package", "whet.library.listing"),
    )
    assert not {name for name in modules if name.startswith(others)}
    assert len(modules) <= 86

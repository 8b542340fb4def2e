"""What may be loaded, counted in modules rather than milliseconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from operator import gt
from typing import TYPE_CHECKING, NamedTuple

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


def measure(code: str, home: Path, given: str = "") -> tuple[set[str], list[str]]:
    """The modules in memory after running the code in a fresh interpreter, less those of the bare one, and the rest of
    what it writes to standard error."""
    env = {**os.environ, "HOME": str(home), "WHET_HOME": str(home / "state")}
    runs = [
        subprocess.run(
            [sys.executable, "-c", f"{part}\n{REPORT}"],
            env=env,
            cwd=home,
            input=given,
            capture_output=True,
            text=True,
            check=True,
        ).stderr.splitlines()
        for part in ("pass", code)
    ]
    return {line for line in runs[1] if " " not in line} - {*runs[0]}, [line for line in runs[1] if " " in line]


def loaded(code: str, home: Path) -> set[str]:
    """The modules alone."""
    return measure(code, home)[0]


class Cost(NamedTuple):
    """A program and what it may cost at most."""

    code: str
    own: int
    """Modules of Whet that are loaded."""
    others: int
    """Other modules; how many the standard library loads differs between versions of Python."""
    files: int
    """Files that are opened below the home."""
    stats: int
    """Questions about paths below the home."""
    statements: int
    """SQL statements."""


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
    assert modules & (HEAVY - {"sqlite3", "hashlib", "json", "urllib"}) == set()  # the address of its source
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
    loaded(PROMPT.partition("assert")[0], tmp_path)  # makes the state, and reads again what was written only just now
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


COUNTED = """
import os, sys
home, counts = os.environ["HOME"], {"files": 0, "stats": 0, "statements": 0}

def hear(event, values):
    if event == "open" and str(values[0]).startswith(home):
        count("files")

def called(frame, event, function):
    if event == "c_call" and function.__name__ in ("execute", "executemany", "executescript"):
        count("statements")

def count(name):
    counts[name] += 1

def counting(call):
    def counted(path, *rest, **more):
        if str(path).startswith(home):
            count("stats")
        return call(path, *rest, **more)
    return counted

sys.addaudithook(hear)
sys.setprofile(called)
os.stat, os.lstat = counting(os.stat), counting(os.lstat)
import whet.store.state
whet.store.state._SETTLED = 0  # it changed long ago
"""
TOLD = "import sys\nfor name, value in counts.items(): print('cost', name, value, file=sys.stderr)\n"
HANDSHAKE = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
        {"method": "notifications/initialized"},
    )
)
GREETING = """
import os
from whet.interfaces.mcp.stdio import open_streams
streams = open_streams(["mcp"], os.environ)
assert streams is not None and streams.wait()
"""
ASKED = "when are the tides in the harbour"
HOOK = PROMPT.partition("assert")[0].replace("help me to write a skill", ASKED)
COSTS = {
    "list": Cost(command("list"), 49, 10, 2, 115, 0),
    "show": Cost(command("show", "skill-07"), 84, 44, 6, 152, 7),
    "find": Cost(command("find", ASKED), 73, 36, 6, 190, 27),
    "hook": Cost(HOOK, 85, 54, 10, 230, 57),
    "mcp": Cost(GREETING, 11, 44, 0, 0, 0),
}
"""What the commands that people and clients wait for may cost in a library of thirty skills that is known. Lower a
number when a change makes it lower; one that makes it higher needs a good reason: `find` and `hook` open the cache and
look at the files of what they recommend, so that nothing is recommended that was not scanned as it is now."""


def test_the_main_commands_cost_no_more_than_they_did(tmp_path: Path) -> None:
    for number in range(30):
        directory = tmp_path / ".agents" / "skills" / f"group-{number % 3}" / f"skill-{number:02}"
        directory.mkdir(parents=True)
        about = f"Does thing {number}." if number != 7 else "Tells the tides of a harbour. Use when they are asked for."
        (directory / "SKILL.md").write_text(f"---\nname: skill-{number:02}\ndescription: {about}\n---\n\nBody.\n")
    told = {}
    for name, cost in COSTS.items():
        for _ in range(3):  # the first ones make what is kept
            modules, lines = measure(f"{COUNTED}\n{cost.code}\n{TOLD}", tmp_path, HANDSHAKE)
        counts = dict(line.split()[1:] for line in lines if line.startswith("cost "))
        own = sum(module.startswith("whet") for module in modules)
        told[name] = (own, len(modules) - own, *map(int, counts.values()))
    assert {name: row for name, row in told.items() if any(map(gt, row, COSTS[name][1:]))} == {}

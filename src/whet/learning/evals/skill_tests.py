"""A skill's own tests, run safely: in the sandbox, on a copy, without a network.

Tests are in `tests/` (or `test/`): Python files named `test_*.py` or `*_test.py`, shell scripts, and other executable
files. A test passes when it exits with 0; 77 says that it was skipped. Python tests run under pytest if the sandbox has
it, else under unittest, else their `test_` functions are called; a file with none of these is a script.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, RefusedError
from whet.guard.sandbox.box import NO_SANDBOX_HINT, Limits, box_for
from whet.learning.evals.subject import subject_at
from whet.notes import Note
from whet.prompt.shell import allowed_environment
from whet.values import as_json, failure_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.guard.sandbox.process import Ran
    from whet.learning.evals.checks import Runner
    from whet.learning.evals.results import Output
    from whet.learning.evals.subject import Subject
    from whet.library.roots import Place
    from whet.library.workspace import Workspace
    from whet.skill.tree import Item
    from whet.values import Json

SECONDS = 60
"""Seconds for one test."""
TOTAL = 600
"""Seconds for all tests; later ones are skipped."""
MAX_TESTS = 200
SKIPPED = 77
"""The exit code of a test that cannot run here."""
_OUTPUT = 4_000
_DATA = (".json", ".yaml", ".yml", ".md", ".txt", ".csv", ".toml", ".xml", ".html", ".lock", ".ini", ".cfg")
_JOINED = ("sh", "-c", 'exec "$@" 2>&1', "sh")
"""Put before a command, to merge standard error into its output."""
_PYTHON = f"""
import importlib.util, os, runpy, sys, unittest
path = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.dirname(path), os.getcwd(), os.path.join(os.getcwd(), "scripts")]
sys.argv = [path]
text = open(path, encoding="utf-8").read()
tested = "def test" in text or "TestCase" in text
if tested and importlib.util.find_spec("pytest"):
    import pytest
    code = int(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", os.getcwd(), "--color=no", path]))
    sys.exit({SKIPPED} if code == 5 else code)
if not tested:
    runpy.run_path(path, run_name="__main__")
    sys.exit(0)
spec = importlib.util.spec_from_file_location("tests_of_skill", path)
module = importlib.util.module_from_spec(spec)
try:
    spec.loader.exec_module(module)
except ModuleNotFoundError as error:
    if error.name == "pytest":
        print("It needs pytest, which is not here.")
        sys.exit({SKIPPED})
    raise
suite = unittest.defaultTestLoader.loadTestsFromModule(module)
found = {{name: one for name, one in vars(module).items() if name.startswith("test") and callable(one)}}
if any(one.__code__.co_argcount for one in found.values() if hasattr(one, "__code__")):
    print("It needs pytest, which is not here.")
    sys.exit({SKIPPED})
suite.addTests(unittest.FunctionTestCase(one) for one in found.values())
result = unittest.TextTestRunner(verbosity=1).run(suite)
sys.exit(0 if result.wasSuccessful() else 1)
"""


def silent(_done: int, _all: int) -> None:
    """Ignore the progress."""


class Tested(NamedTuple):
    """One test and its result."""

    path: str
    status: str
    """`passed`, `failed`, `skipped`, or `timeout` and `limit` for one that took too much."""
    code: int | None
    seconds: float
    output: str
    level: str

    def to_json(self) -> Json:
        """Return the test as JSON."""
        return {**self._asdict(), "seconds": round(self.seconds, 3)}


class OwnTests(NamedTuple):
    """A skill's own tests, and their results."""

    name: str
    path: str
    found: tuple[str, ...]
    """Their paths in the package."""
    tests: tuple[Tested, ...] | None = None
    """The results; None if the tests were only listed."""

    @property
    def problem(self) -> Note | None:
        """The reason why it is a failure."""
        failed = [row.path for row in self.tests or () if row.status not in ("passed", "skipped")]
        if not failed:
            return None
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        message = f"{len(failed)} of {len(self.found)} tests of {self.name} failed: {', '.join(failed[:3])}{more}."
        return Note("tests-failed", "error", message, "What they printed is in `output`.")

    def to_json(self) -> Json:
        """Return the tests as JSON."""
        told = {"success": True, "name": self.name, "path": self.path}
        if self.tests is None:
            return {**told, "tests": [{"path": path} for path in self.found], "count": len(self.found)}
        counts = {status: sum(row.status == status for row in self.tests) for status in ("passed", "skipped")}
        answer = {**told, "tests": as_json(self.tests), "count": len(self.tests), **counts}
        return failure_json({**answer, "failed": len(self.tests) - sum(counts.values())}, self.problem)


def find_tests(tree: Mapping[str, Item]) -> list[str]:
    """Return the tests of a package, by their paths."""
    return sorted(path for path, item in tree.items() if _is_test(path, item))[:MAX_TESTS]


def _is_test(path: str, item: Item) -> bool:
    folder, _, rest = path.partition("/")
    if folder not in ("tests", "test") or item.link or not rest:
        return False
    name = rest.rpartition("/")[2]
    if name.endswith(".py"):
        return name.startswith("test_") or name.endswith("_test.py")
    if name.endswith((".sh", ".bash")):
        return not name.startswith(("_", "lib", "helper", "common"))
    return item.executable and not name.startswith(".") and not name.endswith(_DATA)


def run_own_tests(
    workspace: Workspace, name: str, *, only_list: bool = False, progress: Callable[[int, int], None] = silent
) -> OwnTests:
    """Run a skill's tests in the sandbox, or only list them.

    Raises NotFoundError `no-tests`, RefusedError `no-sandbox`.
    """
    subject = subject_at(workspace, name)
    if only_list:
        return OwnTests(subject.name, subject.directory, tuple(find_tests(subject.tree)))
    found = run_tests(subject, workspace.place, progress)
    if not found.found:
        hint = "Put tests in the skill's tests/ directory: test_*.py, *.sh, or anything executable."
        raise NotFoundError("no-tests", f"{subject.name} has no tests.", hint=hint)
    return found


def run_tests(subject: Subject, place: Place, progress: Callable[[int, int], None] = silent) -> OwnTests:
    """Run every test of a skill, each on a fresh copy. Raises RefusedError if there is no sandbox."""
    paths = find_tests(subject.tree)
    begun, done = time.monotonic(), list[Tested]()
    for path in paths:
        if time.monotonic() - begun > TOTAL:
            done.append(Tested(path, "skipped", None, 0.0, f"All tests together took over {TOTAL} seconds.", ""))
            continue
        with boxed(subject.tree, place) as run:
            started = time.monotonic()
            ran = run([*_JOINED, *_words(path, subject.tree[path])])
            done.append(
                Tested(path, _status(ran), ran.code, time.monotonic() - started, ran.output[-_OUTPUT:], ran.level)
            )
        progress(len(done), len(paths))
    return OwnTests(subject.name, subject.directory, tuple(paths), tuple(done))


def _words(path: str, item: Item) -> list[str]:
    if path.endswith(".py"):
        return ["python3", "-B", "-c", _PYTHON, path]
    if item.executable and item.data.startswith(b"#!"):
        return [f"./{path}"]
    return ["bash" if path.endswith(".bash") or b"bash" in item.data[:40] else "sh", path]


def _status(ran: Ran) -> str:
    if ran.problem in ("timeout", "limit"):
        return ran.problem
    return "passed" if ran.code == 0 else "skipped" if ran.code == SKIPPED else "failed"


def check_sandbox() -> None:
    """Raise RefusedError `no-sandbox` if there is no sandbox."""
    from whet.guard.sandbox.levels import NONE, level

    if not level().isolates:
        raise RefusedError("no-sandbox", f"{NONE.sentence} Nothing in the skill was run.", hint=NO_SANDBOX_HINT)


@contextmanager
def boxed(
    tree: Mapping[str, Item], place: Place, *, skill: str = "", at: str = ""
) -> Iterator[Callable[[Sequence[str]], Ran]]:
    """Yield a function that runs commands in a sandbox with a copy of these files.

    `skill` is the directory of the skill among them, `at` the working directory. The copy is writable and deleted
    afterwards. Raises RefusedError if there is no sandbox.
    """
    from tempfile import TemporaryDirectory

    from whet.authoring.trees import write_tree
    from whet.guard.sandbox.levels import run_program

    check_sandbox()
    with TemporaryDirectory(prefix="whet-", ignore_cleanup_errors=True) as top:
        copy = os.path.join(os.path.realpath(top), "copy")
        write_tree(copy, None, tree)
        own = {
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
            "WHET_SKILL_DIR": os.path.join(copy, skill).rstrip("/"),
        }
        limits, cwd = Limits(SECONDS, output=100_000), os.path.join(copy, at).rstrip("/")
        env = {**allowed_environment(place.env), **own}
        box = box_for(shown=(copy,), cwd=cwd, env=env, home=place.home, limits=limits)
        box = box._replace(writable=(copy,))

        def run(words: Sequence[str]) -> Ran:
            return run_program(words, box)

        yield run


def runner_for(subject: Subject, place: Place) -> Runner:
    """Return a runner for the commands of checks: among the model's files, with its answer as `answer.md`.

    The skill is elsewhere, at `$WHET_SKILL_DIR`, so that a model cannot overwrite a check.
    """
    from whet.skill.tree import Item

    def run(words: Sequence[str], output: Output) -> Ran:
        held = {f"skill/{path}": item for path, item in subject.tree.items()}
        held |= {f"outputs/{path}": Item(data) for path, data in output.files.items()}
        held.setdefault("outputs/answer.md", Item(output.answer.encode("utf-8", "replace")))
        with boxed(held, place, skill="skill", at="outputs") as inside:
            return inside([*_JOINED, *words])

    return run

"""Rules for every test: the two tiers, the number of Hypothesis examples, and one test for each table."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import is_hypothesis_test, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

EXAMPLES = 6
"""The most examples of a property in the quick tier; never more than half of all."""

STEPS = 8
"""The steps of a state machine for each example in the quick tier."""

_CHOSEN = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the values of `@settings`, which a profile cannot override."""

# Collect garbage less often than Python does: a run keeps many objects, and each collection looks at all of them.
gc.set_threshold(20_000, 20, 20)

# In CI, Hypothesis tries the same examples every time; elsewhere it tries new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for the tiers, and one that collects tables row by row."""
    parser.addoption("--quick", action="store_true", help="skip deep tests, and use fewer steps and examples")
    parser.addoption("--deep", action="store_true", help="run only what --quick skips or shortens, in full")
    parser.addoption("--rows", action="store_true", help="collect every row of a table as a separate test")


_ROOM = 2 << 30
"""Bytes that must be free in memory for the files of a quick run; it takes a tenth of that."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The files of a quick run are in memory, where the machine has room: waiting for a disk is half of the time.

    What the deep tier runs is tried on the disk as well.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; no test could interrupt
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("quick"):  # with it, as some shells set it, no process could be forked
        os.environ.pop("PYTHONUNBUFFERED", None)
    given = config.getoption("basetemp") or os.environ.get("PYTEST_DEBUG_TEMPROOT")
    if config.getoption("quick") and not given:
        from memory import memory_directory

        if memory := memory_directory(_ROOM):
            os.environ["PYTEST_DEBUG_TEMPROOT"] = memory


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """In both tiers one more than there are cores: many tests wait for a process, a server, a clock or the disk."""
    if not (config.getoption("quick") or config.getoption("deep")) or os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """In a fresh clone one worker collects first: compiling the tests takes most of that time, and once is enough."""
    worker = hasattr(session.config, "workerinput") and [*map(os.path.basename, session.config.args)] == ["tests"]
    if not worker or sys.dont_write_bytecode or sys.platform == "win32" or _are_compiled():
        return (yield)
    import fcntl

    with open(__file__, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not _are_compiled():
            return (yield)
    return (yield)


def _are_compiled() -> bool:
    """Has somebody collected the tests, down to the last directory?"""
    last = os.path.join(os.path.dirname(__file__), "tests", "store", "__pycache__")
    return os.path.isdir(last) and any("-pytest-" in name for name in os.listdir(last))


@pytest.fixture(scope="session")
def quick(pytestconfig: pytest.Config) -> bool:
    """Whether this run is quick: fewer kills, fewer processes, less data."""
    return bool(pytestconfig.getoption("quick"))


_PATIENCE = 400.0
"""Seconds that a test waits for the end of a process; a whole test has 600 (`faulthandler_timeout`)."""


def _communicate(process: subprocess.Popen[Any], input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:  # noqa: A002  its name
    """A process that does not end fails the test that waits for it, and not the whole run."""
    try:
        return _wait_for_ever(process, input, _PATIENCE if timeout is None else timeout)
    except subprocess.TimeoutExpired:
        if timeout is None:
            process.kill()
        raise


_wait_for_ever = subprocess.Popen.communicate


@pytest.fixture(autouse=True, scope="module")
def processes(request: pytest.FixtureRequest, *, quick: bool) -> Iterator[None]:
    """In the quick tier, processes of Python are forked from this one, and new databases are copied: see `forked` and
    `new_databases`.

    What a command gives up at its start, the tests that run it in this process would not get back: the priority, and
    a quarter of an hour after which it ends itself.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda _: 0, raising=False)
        patch.setattr(subprocess.Popen, "communicate", _communicate)
        if quick and os.name == "posix" and getattr(request.module, "FORKED", True):
            import forked

            forked.install(patch)
        if quick and getattr(request.module, "COPIED", "store" not in request.path.parts):
            import new_databases

            new_databases.install(patch)
        yield
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the other tier does. Both tiers together do everything, as a run without an option does."""
    quick, deep = config.getoption("quick"), config.getoption("deep")
    if not quick and not deep:
        return
    if quick and deep:
        raise pytest.UsageError("--quick and --deep together are every test: leave out both")
    kept = [item for item in items if (_is_deep(item) or _is_shortened(item) if deep else not _is_deep(item))]
    config.hook.pytest_deselected(items=[*{*items} - {*kept}])
    items[:] = kept
    for item in items if quick else ():
        test = getattr(item, "obj", None)
        machine = getattr(item, "cls", None)
        if isinstance(getattr(machine, "settings", None), settings):
            machine.settings = _fewer(machine.settings)
        elif is_hypothesis_test(test):
            attributes = vars(getattr(test, "__func__", test))
            attributes[_CHOSEN] = _fewer(attributes.get(_CHOSEN) or settings())


def _is_deep(item: pytest.Item) -> bool:
    return item.get_closest_marker("deep") is not None


def _is_shortened(item: pytest.Item) -> bool:
    """Does the quick tier do less of this than there is: fewer rows, examples or steps, or no processes?"""
    if not isinstance(item, pytest.Function):
        return False
    test, machine = item.obj, item.cls
    if getattr(test, "has_deep_rows", False) or _starts_processes(item):
        return True
    of_machine = getattr(machine, "settings", None)
    if isinstance(of_machine, settings):
        fewer = _fewer(of_machine)
        if fewer.max_examples < of_machine.max_examples or fewer.stateful_step_count < of_machine.stateful_step_count:
            return True
    elif is_hypothesis_test(test):
        chosen = vars(getattr(test, "__func__", test)).get(_CHOSEN) or settings()
        if _fewer(chosen).max_examples < chosen.max_examples:
            return True
    return "quick" in _fixtures(item)


def _starts_processes(test: pytest.Function | pytest.Module) -> bool:
    """Is it the point of this module that every command is a process? The quick tier forks them, or starts none."""
    return bool(getattr(test.getparent(pytest.Module).obj, "PROCESSES", "journeys" in test.path.parts))


def _fixtures(item: pytest.Function) -> set[str]:
    """What a test asks for, and what those ask for; without what every test gets."""
    asked = item._fixtureinfo  # noqa: SLF001  pytest tells it nowhere else
    known = asked.name2fixturedefs
    found = more = {
        *getattr(item.obj, "takes", asked.argnames),
        *(name for mark in item.iter_markers("usefixtures") for name in mark.args),
    }
    while more:
        more = {name for one in more if one in known for name in known[one][-1].argnames} - found
        found = found | more
    return found


def _fewer(chosen: settings) -> settings:
    steps = min(chosen.stateful_step_count, STEPS)
    return settings(chosen, max_examples=min(-(-chosen.max_examples // 2), EXAMPLES), stateful_step_count=steps)


# Tables: a parametrized function that takes nothing but its row, or one of the fixtures below, is collected as one test
# that goes through all rows. A row that fails is reported by its name, and the others are tried all the same.

_GIVEN = {"quick", "tmp_path", "monkeypatch"}
"""The fixtures that a row may have; of the last two, every row gets one of its own."""


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> pytest.Item | None:
    """One test for a table, unless its rows are asked for."""
    config = collector.config
    by_row = config.getoption("rows") or any("[" in word for word in config.args)
    if by_row or not isinstance(obj, FunctionType) or not isinstance(collector, pytest.Module):
        return None
    marks: list[pytest.Mark] = getattr(obj, "pytestmark", [])
    if not collector.istestfunction(obj, name) or is_hypothesis_test(obj) or inspect.iscoroutinefunction(obj):
        return None
    tables = [_Table(mark) for mark in marks if mark.name == "parametrize"]
    others = [mark for mark in marks if mark.name != "parametrize"]
    takes = set(inspect.signature(obj).parameters).difference(*(table.names for table in tables))
    if not tables or takes - _GIVEN or not all(table.is_plain for table in tables):
        return None

    is_whole = "quick" in takes or "deep" in {mark.name for mark in others} or _starts_processes(collector)
    deep_only = config.getoption("deep") and not is_whole

    def go_through(subtests: pytest.Subtests, tmp_path: Path, quick: bool) -> None:
        for number, parts in enumerate(itertools.product(*(table.rows() for table in tables))):
            deep = any(row.deep for row in parts)
            if (quick and deep) or (deep_only and not deep):
                continue
            given: dict[str, Any] = {key: value for row in parts for key, value in row.values.items()}
            with pytest.MonkeyPatch.context() as patch:
                if "quick" in takes:
                    given["quick"] = quick
                if "monkeypatch" in takes:
                    given["monkeypatch"] = patch
                if "tmp_path" in takes:
                    given["tmp_path"] = tmp_path / str(number)
                    given["tmp_path"].mkdir()
                try:
                    obj(**given)
                except BaseException:  # an assertion, a skip, Ctrl-C: pytest tells them apart
                    with subtests.test("-".join(row.title() for row in parts)):
                        raise

    vars(go_through).update(
        __wrapped__=obj,
        __signature__=inspect.signature(go_through),
        pytestmark=others,
        __doc__=obj.__doc__,
        takes=takes,
        has_deep_rows=any(row.deep for table in tables for row in table.rows()),
    )
    made: pytest.Item = pytest.Function.from_parent(collector, name=name, callobj=go_through)
    return made


class _Row(NamedTuple):
    values: dict[str, Any]
    deep: bool
    title: Callable[[], str]
    """What it is called where it fails; writing out all values of all tables takes seconds."""


class _Table:
    """The rows of one `parametrize`."""

    def __init__(self, mark: pytest.Mark) -> None:
        given, self._values = (*mark.args, *(mark.kwargs.get(key) for key in ("argnames", "argvalues")))[:2]
        self._values = list(self._values)
        self.names = [word.strip() for word in given.split(",")] if isinstance(given, str) else list(given)
        self._titles = mark.kwargs.get("ids")
        odd = {mark.name for row in self._values for mark in getattr(row, "marks", ())} - {"deep"}
        self.is_plain = not odd and not mark.kwargs.get("indirect") and bool(self._values)

    def rows(self) -> Iterator[_Row]:
        """Each row, and whether it is deep."""
        titles = self._titles if isinstance(self._titles, (list, tuple)) else itertools.repeat(None)
        for row, title in zip(self._values, titles, strict=False):
            marked = isinstance(getattr(row, "marks", None), tuple)
            values = row.values if marked else row if len(self.names) > 1 else (row,)
            given = (marked and row.id) or title
            deep = marked and bool(row.marks)
            yield _Row(dict(zip(self.names, values, strict=True)), deep, partial(self._title, given, values))

    def _title(self, given: object, values: Iterable[object]) -> str:
        titled = [self._titles(value) if callable(self._titles) else None for value in values]
        told = (value if title is None else title for title, value in zip(titled, values, strict=True))
        return str(given or "-".join(str(part)[:60] for part in told))

"""Learning and updating by itself, once an event is answered, in a process of its own.

A server that answers hooks does not do it itself: a client ends its server together with the session, and whoever
learns would hold up its answers. Nobody waits for it and nobody hears of it: what became of it is told when the next
session begins, what failed by `whet doctor`. Only one learns at a time, each session in the library of its project and
as that project's settings say; whoever is killed over one lets it wait again.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from whet.errors import UsageError
from whet.interfaces.hooks.handler import LearnSetting, describe_failure
from whet.learning.hook_log import append
from whet.learning.selection.budget import State
from whet.learning.sessions import BUSY_MS, LEARNING, Sessions
from whet.library.settings import config_path, read_settings
from whet.store.clock import system_clock
from whet.store.locks import FileLock, lock_path
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping

    from whet.api import Library
    from whet.learning.sessions import Seen
    from whet.store.clock import Clock

WHEN = frozenset({"start", "end"})
"""The events after which it is looked whether a session waits: one has ended, or others have become quiet meanwhile."""
LONGEST = 900.0
"""Seconds after which a process of its own gives up, whatever it does."""
_ALONE = ("-P", "-m", "whet", "learn", "sessions", "--waiting", "--quiet")
_UPDATE = ("-P", "-m", "whet", "update", "--auto", "--quiet")
UPDATING = "update"
"""What a failure of it is noted as."""


def is_due(sessions: Sessions, state: str, env: Mapping[str, str], clock: Clock = system_clock) -> bool:
    """Is there a session to learn from by itself, and may that be now?"""
    if not _readable(sessions) or LearnSetting(state, env).now() in ("off", "note"):
        return False
    kept = State(sessions.database, clock)
    left = kept.left()
    return bool(left.sessions and left.skills) and not kept.until()


def _readable(sessions: Sessions) -> list[Seen]:
    """The sessions that wait and can be read: not every client tells where it keeps them."""
    return [seen for seen in sessions.waiting(now=True) if os.path.isfile(seen.transcript)]


def start_if_due(state: str, env: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """Begin to learn in a process of its own, if there is anything to learn; whoever begins it may end at once."""
    database = StateDatabase(state, busy_ms=BUSY_MS)
    sessions = Sessions(database, system_clock)
    try:
        if not is_due(sessions, state, env):
            return None
    finally:
        database.close()
    return _start_process(_ALONE, state, env)


def _start_process(words: tuple[str, ...], state: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Run Whet so that whoever begins it may end at once."""
    import subprocess

    null, flags = subprocess.DEVNULL, 0x208 if sys.platform == "win32" else 0  # without a console, a group of its own
    return subprocess.Popen(  # noqa: S603  it is Whet itself
        [sys.executable, *words],
        cwd=state,
        env=env,
        stdin=null,
        stdout=null,
        stderr=null,
        start_new_session=True,
        creationflags=flags,
    )


def start_update_if_due(state: str, env: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """Look for updates in a process of its own, if the setting wants that and it is time; nobody waits for it."""
    from whet.sources.install.automatic import UpdateMemory

    if not _wants_updates(state, env):
        return None
    database = StateDatabase(state, busy_ms=BUSY_MS)
    try:
        return _start_process(_UPDATE, state, env) if UpdateMemory(database, system_clock).is_due() else None
    finally:
        database.close()


def _wants_updates(state: str, env: Mapping[str, str]) -> bool:
    """Whether the user's settings say something else than `off`; settings that cannot be read want nothing."""
    try:
        return read_settings(config_path(state, env), home=env.get("HOME", ""))[0].auto_update != "off"
    except UsageError:
        return False


def start_work(event: str, state: str, env: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], ...]:
    """Begin what is due after an event, each in a process of its own."""
    learning = start_if_due(state, env) if event in WHEN else None
    updating = start_update_if_due(state, env) if event == "start" else None
    return tuple(filter(None, (learning, updating)))


def learn_after(event: str, state: str, env: Mapping[str, str]) -> None:
    """Look in a server whether there is anything to do, now that this event is over. Never raises: it is noted."""
    try:
        for begun in start_work(event, state, env):
            threading.Thread(target=begun.wait, name="whet-background", daemon=True).start()
    except Exception as error:  # noqa: BLE001  nobody is there to see it; the doctor tells
        append(state, "", LEARNING, *describe_failure(error))


def learn_waiting(
    state: str, opened: Callable[[str], Library], env: Mapping[str, str], clock: Clock = system_clock
) -> int:
    """Learn from every session that waits, the newest first; from how many. Somebody else at it is left to it.

    `opened` gives the library for a directory. Nothing is raised for a session: its failure is noted.
    """
    database = StateDatabase(state, busy_ms=BUSY_MS)
    sessions, count = Sessions(database, clock), 0
    try:
        with FileLock(lock_path(state, "learning", "waiting"), timeout=0):
            while is_due(sessions, state, env, clock):
                seen = next(reversed(_readable(sessions)), None)
                if seen is None or not sessions.take_up(seen.client, seen.id):
                    break  # somebody learned from it just now; the next event looks again
                _learn(sessions, State(database, clock), seen, opened)
                count += 1
    except Exception as error:  # noqa: BLE001  nobody is there to see it; the doctor tells
        code, message = describe_failure(error)
        if code != "lock-timeout":
            sessions.failed("", LEARNING, code, message)
    finally:
        database.close()
    return count


def _learn(sessions: Sessions, kept: State, seen: Seen, opened: Callable[[str], Library]) -> None:
    """Learn from one session as its project says."""
    try:
        library = _library(seen, opened)
        wanted = library.workspace.config().settings.learn
        if wanted == "off":
            sessions.forget(seen.client, seen.id)
            return
        report = library.learning.finish(seen) if wanted != "note" else None
        if report and report.error is not None:
            sessions.failed(seen.client, LEARNING, report.code, report.error)
        if report and report.captured:
            kept.add_news(report)
    except Exception as error:  # noqa: BLE001  whatever it is, nobody is there to see it, and others wait
        code, message = describe_failure(error)
        sessions.failed(seen.client, LEARNING, code, message)
        kept.failed(message)
    sessions.leave(seen.client, seen.id)  # where it still waits, it is not taken up again at once


def _library(seen: Seen, opened: Callable[[str], Library]) -> Library:
    """The library of the project of a session; of nowhere in particular where that is gone."""
    try:
        return opened(seen.project)
    except UsageError:
        return opened("")


def give_up_in_time(state: str, what: str = LEARNING) -> None:
    """End this process, in the background of a machine that has other things to do, before it becomes a nuisance."""

    def give_up() -> None:
        append(state, "", what, "too-slow", f"It took more than {LONGEST:g} seconds and was stopped.")
        os._exit(0)

    if hasattr(os, "nice"):
        os.nice(10)
    watch = threading.Timer(LONGEST, give_up)
    watch.daemon = True
    watch.start()

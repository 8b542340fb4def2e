"""Learning and updating automatically, after an event is answered, in a separate process.

A server that answers hooks does not do it itself: a client ends its server together with the session, and learning
would delay its answers. Nobody waits for it: results are reported when the next session begins, failures by `whet
doctor`. Only one process learns at a time, each session in the library of its project and with that project's settings;
if it is killed, the session waits again.
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
"""The events after which waiting sessions are looked for: one has ended, or others may have become quiet."""
LONGEST = 900.0
"""Seconds after which a background process gives up."""
_ALONE = ("-P", "-m", "whet", "learn", "sessions", "--waiting", "--quiet")
_UPDATE = ("-P", "-m", "whet", "update", "--auto", "--quiet")
UPDATING = "update"
"""The name under which its failures are logged."""


def is_due(sessions: Sessions, state: str, env: Mapping[str, str], clock: Clock = system_clock) -> bool:
    """Return whether there is a session to learn from automatically now."""
    if not _readable(sessions) or LearnSetting(state, env).now() in ("off", "note"):
        return False
    kept = State(sessions.database, clock)
    left = kept.left()
    return bool(left.sessions and left.skills) and not kept.until()


def _readable(sessions: Sessions) -> list[Seen]:
    """Return the waiting sessions that can be read: not every client says where it keeps them."""
    return [seen for seen in sessions.waiting(now=True) if os.path.isfile(seen.transcript)]


def start_if_due(state: str, env: Mapping[str, str]) -> subprocess.Popen[bytes] | None:
    """Start learning in a separate process, if there is anything to learn; the caller may end at once."""
    database = StateDatabase(state, busy_ms=BUSY_MS)
    sessions = Sessions(database, system_clock)
    try:
        if not is_due(sessions, state, env):
            return None
    finally:
        database.close()
    return _start_process(_ALONE, state, env)


def _start_process(words: tuple[str, ...], state: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Run Whet in a process that outlives its caller."""
    import subprocess

    null, flags = (
        subprocess.DEVNULL,
        0x208 if sys.platform == "win32" else 0,
    )  # without a console, in its own process group
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
    """Look for updates in a separate process, if the setting is on and it is time; nobody waits for it."""
    from whet.sources.install.automatic import UpdateMemory

    if not _wants_updates(state, env):
        return None
    database = StateDatabase(state, busy_ms=BUSY_MS)
    try:
        return _start_process(_UPDATE, state, env) if UpdateMemory(database, system_clock).is_due() else None
    finally:
        database.close()


def _wants_updates(state: str, env: Mapping[str, str]) -> bool:
    """Return whether the user's `auto_update` setting is not `off`; unreadable settings count as `off`."""
    try:
        return read_settings(config_path(state, env), home=env.get("HOME", ""))[0].auto_update != "off"
    except UsageError:
        return False


def start_work(event: str, state: str, env: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], ...]:
    """Start the work that is due after an event, each in a separate process."""
    learning = start_if_due(state, env) if event in WHEN else None
    updating = start_update_if_due(state, env) if event == "start" else None
    return tuple(filter(None, (learning, updating)))


def learn_after(event: str, state: str, env: Mapping[str, str]) -> None:
    """Start the work that is due after an event, in a server. It never raises: failures are logged."""
    try:
        for begun in start_work(event, state, env):
            threading.Thread(target=begun.wait, name="whet-background", daemon=True).start()
    except Exception as error:  # noqa: BLE001  nobody is there to see it; the doctor tells
        append(state, "", LEARNING, *describe_failure(error))


def learn_waiting(
    state: str, opened: Callable[[str], Library], env: Mapping[str, str], clock: Clock = system_clock
) -> int:
    """Learn from every waiting session, newest first; return how many. Does nothing if another process is learning.

    `opened` returns the library for a directory. Failures of a session are logged, not raised.
    """
    database = StateDatabase(state, busy_ms=BUSY_MS)
    sessions, count = Sessions(database, clock), 0
    try:
        with FileLock(lock_path(state, "learning", "waiting"), timeout=0):
            while is_due(sessions, state, env, clock):
                seen = next(reversed(_readable(sessions)), None)
                if seen is None or not sessions.take_up(seen.client, seen.id):
                    break  # another process learned from it just now; the next event looks again
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
    """Learn from one session with the settings of its project."""
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
    sessions.leave(seen.client, seen.id)  # if it still waits, it is not tried again at once


def _library(seen: Seen, opened: Callable[[str], Library]) -> Library:
    """Return the library of a session's project, or one without a project if it no longer exists."""
    try:
        return opened(seen.project)
    except UsageError:
        return opened("")


def give_up_in_time(state: str, what: str = LEARNING) -> None:
    """End this background process before it becomes a nuisance, and give it a low priority."""

    def give_up() -> None:
        append(state, "", what, "too-slow", f"It took more than {LONGEST:g} seconds and was stopped.")
        os._exit(0)

    if hasattr(os, "nice"):
        os.nice(10)
    watch = threading.Timer(LONGEST, give_up)
    watch.daemon = True
    watch.start()

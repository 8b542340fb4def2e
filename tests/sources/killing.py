"""A process that kills itself at one step of what it does: text for the beginning of a script that is run."""

from __future__ import annotations

STEPS = ("write", "rename", "replace", "unlink", "rmdir", "mkdir", "link", "symlink", "chmod", "utime", "makedirs")
"""Every call with which something on the disk changes; of `open` those that make a file, and the swap of directories.

The databases write by themselves: their steps are the statements that change them, and the ends of transactions.
"""

ARMING = f"""
import os, signal, sqlite3
import whet.store.atomic as atomic, whet.store.database as database
left = 0

def step():
    # Kill this process just before the step at which the count runs out.
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def armed(real):
    def call(*args, **kwargs):
        step()
        return real(*args, **kwargs)
    return call

class Connection(sqlite3.Connection):
    def execute(self, sql, *rest):
        if not sql.lstrip().startswith(("BEGIN", "COMMIT", "INSERT", "DELETE", "UPDATE")):
            return super().execute(sql, *rest)
        step()
        done = super().execute(sql, *rest)
        if sql == "COMMIT":
            step()
        return done

def connected(path, busy_ms, *, uri=False):
    how = dict(timeout=busy_ms / 1000, isolation_level=None, check_same_thread=False, uri=uri, factory=Connection)
    return sqlite3.connect(path, **how)

database._connected = connected  # the state database is open before anything is counted

def opening(path, flags, *rest, real=os.open, **more):
    if flags & os.O_CREAT:
        step()
    return real(path, flags, *rest, **more)

def arm(count):
    global left
    left = count
    for name in {STEPS!r}:
        setattr(os, name, armed(getattr(os, name)))
    os.open = opening
    atomic.exchange = armed(atomic.exchange)
"""
"""`arm(N)` kills the process just before the N-th step from then on."""

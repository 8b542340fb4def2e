"""Being told of changes instead of asking for them.

`KernelWatch` saves a long-lived process the two `stat` of each skill at each look: Linux reports which directories were
touched (inotify), so that a look at its queue answers for all of them. Whatever the kernel does not report (a skill
behind a link, a file with a second hard link, a network file system, another operating system) is looked at as before,
and all skills are looked at every half a minute, for what changes without a report. `wait_for_changes` waits for a
change; it is an extra on top of watchfiles. Nothing needs either.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.extras import missing_extra
from whet.library.discovery import are_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.library.card import Card
    from whet.library.discovery import Container

LOCAL = frozenset(("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"))
"""File systems that only this kernel changes."""
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_CHANGES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_ONLY_DIRECTORIES = 0x01000000
_EVENT = struct.Struct("iIII")
"""What an event begins with: the number of the directory, what happened, a cookie, and the length of the name."""
_EVERYTHING = -1
"""The number in place of a directory's when the queue was too short for what happened."""
_READ = 65_536
_BELIEVED = 30.0
"""Seconds after which everything is looked at once more."""


class KernelWatch:
    """Which skills need no look, because the kernel would have reported a change. For any number of threads."""

    def __init__(self, descriptor: int, libc: ctypes.CDLL, most: int, devices: frozenset[int]) -> None:
        self._queue, self._most, self._devices = descriptor, most, devices
        self._add, self._remove = libc.inotify_add_watch, libc.inotify_rm_watch
        self._lock = threading.Lock()
        self._until = time.monotonic() + _BELIEVED
        self._containers: dict[int, set[str]] = {}
        """By the number under which the kernel reports a directory, the containers with skills in it."""
        self._quiet: dict[str, tuple[Container, tuple[Card, ...]]] = {}
        """By path, the containers in which nothing happened, and the skills in them that have to be looked at."""

    @classmethod
    def open(cls) -> KernelWatch | None:
        """A watch; None where there is none of the kind."""
        if sys.platform != "linux":
            return None
        try:
            with open("/proc/sys/fs/inotify/max_user_watches", encoding="ascii") as file:
                most = int(file.read()) // 2  # other programs need some, too
            libc = ctypes.CDLL(None, use_errno=True)
            descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            return cls(descriptor, libc, most, _local_devices()) if descriptor >= 0 else None
        except (OSError, ValueError, AttributeError):
            return None

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            if self._queue >= 0:
                os.close(self._queue)
            self._queue = -1
            self._quiet.clear()

    def verify(self, container: Container) -> bool:
        """Are the skills of a container on disk still those that their cards describe?"""
        with self._lock:
            if time.monotonic() > self._until:  # a second link and a mapped file are written without a report
                self._quiet.clear()
                self._until = time.monotonic() + _BELIEVED
            self._read_events()
            known, unreported = self._quiet.get(container.path, (None, ()))
            if known is container:
                return are_unchanged(unreported)
            # watched before they are looked at, so that no change falls between
            unreported = tuple(card for card in container.cards if not self._is_reported(card, container.path))
            if not are_unchanged(container.cards):
                return False
            if self._queue >= 0:
                self._quiet[container.path] = container, unreported
            return True

    def _is_reported(self, card: Card, container: str) -> bool:
        """Does the kernel report every change of a skill?"""
        if card.real or card.extras or self._queue < 0:
            return False
        # asked each time: the kernel reports a directory under one number wherever it is moved, and another directory
        # may be at its path now
        number = self._add(self._queue, os.fsencode(card.directory), _CHANGES | _ONLY_DIRECTORIES)
        if number < 0:
            return False
        try:
            found = os.stat(card.path)
        except OSError:
            return False
        is_reported = found.st_nlink == 1 and found.st_dev in self._devices
        if number not in self._containers and not (is_reported and len(self._containers) < self._most):
            self._remove(self._queue, number)
            return False
        self._containers.setdefault(number, set()).add(container)
        return is_reported

    def _read_events(self) -> None:
        """Learn from the queue what was touched."""
        with suppress(BlockingIOError):
            while self._queue >= 0:
                data, at, touched = os.read(self._queue, _READ), 0, set()
                while at < len(data):
                    number, _, _, length = _EVENT.unpack_from(data, at)
                    at += _EVENT.size + length
                    touched.add(number)
                self._forget(touched)

    def _forget(self, touched: set[int]) -> None:
        if _EVERYTHING in touched:
            touched = set(self._containers)
        for number in touched:
            for path in self._containers.pop(number, ()):
                self._quiet.pop(path, None)


def _local_devices() -> frozenset[int]:
    """The file systems of this machine that no other one changes."""
    found = set()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            fields, _, kind = line.partition(" - ")
            major, _, minor = fields.split()[2].partition(":")
            if kind.split()[0] in LOCAL:
                found.add(os.makedev(int(major), int(minor)))
    return frozenset(found)


def wait_for_changes(directories: Sequence[str]) -> Iterator[None]:
    """Yield whenever something below one of the directories changed, a burst of changes counting once."""
    try:
        from watchfiles import watch
    except ImportError as error:
        raise missing_extra("Watching needs the package watchfiles.", "watch") from error
    existing = [path for path in directories if os.path.isdir(path)]
    for _ in watch(*existing, ignore_permission_denied=True, raise_interrupt=False):
        yield

"""Notification of changes instead of polling.

`KernelWatch` saves a long-lived process two `stat` calls per skill and look: Linux reports which directories changed
(inotify), so that reading one queue is enough. Skills that the kernel does not report (behind a link, with a second
hard link, on a network file system or another operating system) are checked as before, and all skills are checked every
half a minute, because some changes are not reported. `wait_for_changes` waits for a change; it is an extra on top of
watchfiles. Nothing needs either.
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
"""The head of an event: the number of the directory, the kind of event, a cookie, and the length of the name."""
_EVERYTHING = -1
"""The number that stands for all directories after an overflow of the queue."""
_READ = 65_536
_BELIEVED = 30.0
"""Seconds between two checks of everything."""


class KernelWatch:
    """Knows which skills need no check, because the kernel would have reported a change. Thread-safe."""

    def __init__(self, descriptor: int, libc: ctypes.CDLL, most: int, devices: frozenset[int]) -> None:
        self._queue, self._most, self._devices = descriptor, most, devices
        self._add, self._remove = libc.inotify_add_watch, libc.inotify_rm_watch
        self._lock = threading.Lock()
        self._until = time.monotonic() + _BELIEVED
        self._containers: dict[int, set[str]] = {}
        """By the kernel's number of a directory, the containers with skills in it."""
        self._quiet: dict[str, tuple[Container, tuple[Card, ...]]] = {}
        """By path, the unchanged containers, and the skills in them that still have to be checked."""

    @classmethod
    def open(cls) -> KernelWatch | None:
        """Return a watch; None if the platform has none."""
        if sys.platform != "linux":
            return None
        try:
            with open("/proc/sys/fs/inotify/max_user_watches", encoding="ascii") as file:
                most = int(file.read()) // 2  # leave some for other programs
            libc = ctypes.CDLL(None, use_errno=True)
            descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            return cls(descriptor, libc, most, _local_devices()) if descriptor >= 0 else None
        except (OSError, ValueError, AttributeError):
            return None

    def close(self) -> None:
        """Release the queue and forget all containers."""
        with self._lock:
            if self._queue >= 0:
                os.close(self._queue)
            self._queue = -1
            self._quiet.clear()

    def verify(self, container: Container) -> bool:
        """Return whether the skills of a container on disk still match their cards."""
        with self._lock:
            if time.monotonic() > self._until:  # second hard links and mapped files change without a report
                self._quiet.clear()
                self._until = time.monotonic() + _BELIEVED
            self._read_events()
            known, unreported = self._quiet.get(container.path, (None, ()))
            if known is container:
                return are_unchanged(unreported)
            # watched before they are read, so that no change is missed
            unreported = tuple(card for card in container.cards if not self._is_reported(card, container.path))
            if not are_unchanged(container.cards):
                return False
            if self._queue >= 0:
                self._quiet[container.path] = container, unreported
            return True

    def _is_reported(self, card: Card, container: str) -> bool:
        """Return whether the kernel reports every change of a skill."""
        if card.real or card.extras or self._queue < 0:
            return False
        # repeated each time: a directory keeps its number when it is moved, and another one may now be at its path
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
        """Read the queue and forget containers that changed."""
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
    """Return the file systems that only this machine changes."""
    found = set()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            fields, _, kind = line.partition(" - ")
            major, _, minor = fields.split()[2].partition(":")
            if kind.split()[0] in LOCAL:
                found.add(os.makedev(int(major), int(minor)))
    return frozenset(found)


def wait_for_changes(directories: Sequence[str]) -> Iterator[None]:
    """Yield after every change below one of the directories; a burst of changes counts once."""
    try:
        from watchfiles import watch
    except ImportError as error:
        raise missing_extra("Watching needs the package watchfiles.", "watch") from error
    existing = [path for path in directories if os.path.isdir(path)]
    for _ in watch(*existing, ignore_permission_denied=True, raise_interrupt=False):
        yield

"""The lock following what happens to installed skills by other ways than plans, and pins.

Who rolls a skill back, or takes an update back, wants it to be what it was, and that is more than its content: which
revision it came from, and what later edits are told from. The ledger remembers what the lock said, the history when
each content was there; together they tell what the lock said when a skill last held a content.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.authoring.trees import digest
from whet.errors import ConflictError, FailedError, WhetError
from whet.library.files import inside
from whet.library.package import read_tree
from whet.sources.lock.file import lock_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from whet.authoring.journal import Entry as Made
    from whet.sources.install.installer import Installer
    from whet.sources.lock.file import Installed

    Changes = Mapping[str, Installed | None]

_BACK = ("rollback", "undo", "restore")
"""Actions that bring an earlier content back."""
_ATTEMPTS = 20
_FAR = 500
"""Entries of the history after which it is worth writing down that none of them concerned the lock."""


def catch_up(installer: Installer, numbers: Collection[int] = ()) -> list[str]:
    """Let the lock follow what the history did since it last looked, also in processes that were killed.

    How far it has followed is written down afterwards; following twice changes nothing. `numbers` are the entries that
    were just made, which a lock that never followed the history follows too. What was done while there was no lock, or
    before it came by git, is none of its business.
    """
    file, records = lock_file(installer.root), installer.ledger.records
    if not os.path.lexists(file):
        _skip(installer, file)
        return []
    if installer.journal.edits():
        installer.writer.recover()
    if records.pending(file):
        installer.locked()  # settles what a killed process left, so that it is not taken for followed
    last = installer.journal.entries(last=1)
    if not last:
        return []
    seen = records.followed(file)
    told: list[str] = []
    if seen is None:
        seen = min(numbers, default=last[0].id + 1) - 1
    if seen < last[0].id:
        runs = records.runs(file)
        made: dict[str, list[Made]] = {}
        for entry in installer.journal.entries(after=seen):
            if entry.action != "found" and entry.run not in runs and inside(entry.path, installer.root):
                made.setdefault(entry.run, []).append(entry)
        for entries in made.values():
            told += follow(installer, entries)
        if made or last[0].id - seen > _FAR:
            with suppress(FailedError):  # where nothing can be written, it is looked at again next time
                records.follow(file, last[0].id)
    return told


def _skip(installer: Installer, file: str) -> None:
    """What the history did while there is no lock is over when one comes."""
    last, seen = installer.journal.entries(last=1), installer.ledger.records.followed(file)
    if last and seen is not None and seen < last[0].id and not installer.ledger.left_by(file):
        with suppress(FailedError):
            installer.ledger.records.follow(file, last[0].id)


def follow(installer: Installer, made: Sequence[Made]) -> list[str]:
    """Let the lock follow what was done to skills of the root; what it does not know any more by that, a sentence each.

    Skills that are gone leave it, renamed ones stay in it under their new name, and what went back to an earlier
    content has the entry of that time again.
    """
    # What has become something else since, by git or by hand, is no longer what the history did.
    last = {entry.path: entry for entry in made if digest(read_tree(entry.path)) == entry.after}
    new, told = _moved(last.values(), installer)

    def changes(locked: dict[str, Installed]) -> Changes:
        found: dict[str, Installed | None] = {}
        for old, relative in new.items():
            if old in locked:
                found[relative] = locked[old]._replace(path=relative)
        for path, entry in last.items():
            relative = installer.relative(path)
            known = locked.get(relative)
            if not entry.after:
                if known:
                    found[relative] = None
            elif entry.action in _BACK and (earlier := _earlier(installer, relative, entry)):
                found[relative] = earlier._replace(pinned=known.pinned if known else earlier.pinned)
        return found

    _commit(installer, changes, made[-1].run)
    return told


def set_pin(installer: Installer, name: str, pinned: str) -> bool:
    """Write a pin into the lock, or take it out; whether that changed anything."""
    return _commit(
        installer,
        lambda locked: {
            entry.path: entry._replace(pinned=pinned) for entry in installer.called(name, tuple(locked.values()))
        },
        "",
    )


def _commit(installer: Installer, changes: Callable[[dict[str, Installed]], Changes], run: str) -> bool:
    """Change only the lock, from what it says at that moment; whether there was anything to change."""
    for attempt in range(_ATTEMPTS):
        locked = {entry.path: entry for entry in installer.locked()}
        new = {path: entry for path, entry in changes(locked).items() if entry != locked.get(path)}
        if not new:
            return False
        _retain(installer, new)
        try:
            installer.ledger.commit(installer.root, run, new, None, {path: locked.get(path) for path in new})
        except ConflictError as error:
            if error.code != "skill-changed" or attempt == _ATTEMPTS - 1:
                raise
        else:
            return True
    return False


def _retain(installer: Installer, new: Changes) -> None:
    """Keep what merges start from as long as the lock names it again, if it is still there."""
    for path, entry in new.items():
        with suppress(WhetError):
            if entry and (base := installer.journal.content(entry.digest)):
                installer.journal.retain(installer.directory(path), base)


def _moved(made: Iterable[Made], installer: Installer) -> tuple[dict[str, str], list[str]]:
    """Old and new path of what was renamed; of several that were renamed at once nobody knows which is which."""
    renamed = [entry for entry in made if entry.action == "rename"]
    gone, come = ([entry for entry in renamed if bool(entry.after) == there] for there in (False, True))
    if len(gone) == len(come) == 1:
        return {installer.relative(gone[0].path): installer.relative(come[0].path)}, []
    locked = {entry.path for entry in installer.locked()}
    return {}, [
        f"{entry.skill} was renamed together with others, so that its source is not known any more."
        for entry in gone
        if installer.relative(entry.path) in locked
    ]


def _earlier(installer: Installer, relative: str, made: Made) -> Installed | None:
    """What the lock said when the skill last held the content that is back now."""
    past = [entry for entry in installer.journal.entries(path=made.path) if entry.id < made.id]
    runs = {entry.run for entry in past} - {""}
    said: dict[str, Installed | None] = {}
    """Run -> what the lock said from then on, until the next one. Entries that came by no change of the skill are
    later than the run before them; "" stands for what was there before the first."""
    run = ""
    for row in installer.ledger.records.done(lock_file(installer.root), path=relative):
        run = row.run if row.run in runs else run
        said[run] = row.entry
    now, found = said.get(""), None
    for entry in past:
        now = said.get(entry.run, now) if entry.run else now
        if entry.after == made.after:
            found = now
    exact = installer.ledger.find_by_digest(installer.root, relative, made.after)
    return exact or found

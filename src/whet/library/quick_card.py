"""The fast reader of the card of an ordinary skill.

Nearly every skill is a directory with a SKILL.md, reached without links and without metadata files, whose heading
`quick_heading` accepts. It is read here in one pass. All others are left to `whet.library.card_reader`, which also
reports their problems; a property test checks that the two agree wherever this one answers.
"""

from __future__ import annotations

import os
from stat import S_ISREG

from whet.library.card import Card
from whet.library.card_reader import HEAD
from whet.library.files import COARSE_TICK, READ_FLAGS, seen_mtime, seen_stamp
from whet.skill.finder import MAIN_FILE
from whet.skill.frontmatter import MAX_DOCUMENT
from whet.skill.gates import OPEN
from whet.skill.heading import quick_heading
from whet.skill.names import key as name_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.library.roots import Root

_MAIN, _SKILL_JSON, _AGENTS = (os.sep + name for name in (MAIN_FILE, "skill.json", "agents"))
_NEW = tuple.__new__
"""Twice as fast as the constructor."""


def quick_card(directory: str, name: str, category: str, root: Root, now: int) -> Card | None:
    """Return the card of the skill in this directory, which is not a link; None if it is not ordinary.

    Raises FileNotFoundError when the directory has no SKILL.md.
    """
    path = directory + _MAIN
    try:
        descriptor = os.open(path, READ_FLAGS)
    except FileNotFoundError:
        raise
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        size = status.st_size
        if size > MAX_DOCUMENT or not S_ISREG(status.st_mode):
            return None
        data = os.read(descriptor, HEAD)
        around = os.stat(directory)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if os.access(directory + _SKILL_JSON, 0) or (around.st_nlink != 2 and os.access(directory + _AGENTS, 0)):
        return None
    heading = quick_heading(data, name)
    if heading is None or data.rfind(b"TODO") >= 0:  # faster than `in`
        return None
    _, description, own_category, gates, notes, when, hint = heading
    mtime, ctime, long_ago = status.st_mtime_ns, status.st_ctime_ns, now - COARSE_TICK
    folder_mtime, folder_ctime = around.st_mtime_ns, around.st_ctime_ns
    folder = folder_mtime + folder_ctime
    if not (mtime < long_ago > ctime and folder_mtime < long_ago > folder_ctime):
        mtime, folder = seen_mtime(status, now), seen_stamp(around, now)
    return _NEW(
        Card,
        (
            path,
            directory,
            name,
            name_key(f"{root.namespace}:{name}" if root.namespace else name),
            description,
            category or own_category,
            "skill",
            mtime,
            ctime,
            size,
            status.st_ino,
            folder,
            "",
            root,
            gates,
            notes,
            (),
            when,
            hint,
            True if gates is OPEN or gates == OPEN else None,
            "",
            "",
            "",
        ),
    )

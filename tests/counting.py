"""How often something is done, counted: a call too many fails a test before it slows a machine."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from whet.library.package import read_tree
from whet.library.settings import read_settings
from whet.skill.frontmatter import read_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

_COUNTED: dict[CodeType, str] = {
    read_document.__code__: "SKILL.md parsed",
    read_settings.__code__: "settings read",
    read_tree.__code__: "tree read",
}


@contextmanager
def reads() -> Iterator[Counter[str]]:
    """How often a main file is parsed, the settings and a whole tree are read."""
    count: Counter[str] = Counter()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in _COUNTED:
            count[_COUNTED[frame.f_code]] += 1

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield count
    finally:
        sys.setprofile(before)


@contextmanager
def databases() -> Iterator[Counter[str]]:
    """How often each database is opened, by the name of its file."""
    count: Counter[str] = Counter()
    connect = sqlite3.connect

    def counting(database: str, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        count[os.path.basename(database)] += 1
        connection: sqlite3.Connection = connect(database, *args, **kwargs)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", counting)
        yield count

"""Swapping two directories in one step, where the system can: Linux and macOS have a call for it that Python lacks."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = -100 if sys.platform == "linux" else -2
"""AT_FDCWD: paths are taken as they are."""
_SWAP = 2
"""RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS."""


def exchange(one: str, other: str) -> bool:
    """Put each in the place of the other; false, and nothing done, where system or file system cannot do that."""
    swap = _call()
    return swap is not None and swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _SWAP) == 0


@lru_cache(maxsize=1)
def _call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform)
    if name is None:
        return None
    import ctypes

    try:
        found = ctypes.CDLL(None, use_errno=True)[name]
    except (AttributeError, OSError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    found.restype = ctypes.c_int
    swap: Callable[[int, bytes, int, bytes, int], int] = found
    return swap

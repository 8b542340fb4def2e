"""A process for which permissions count, although root may have started it."""

from __future__ import annotations

GIVE_UP = """
import os, sys
if os.name == "posix" and os.geteuid() == 0:
    if sys.platform == "linux":
        # Still root, who owns these files and may import from wherever they lie, but no longer above their permissions.
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert libc.capget(header, sets) == 0
        for at in (0, 1, 2):  # effective, permitted, inheritable: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
            sets[at] &= ~0b110
        assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())
    else:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
"""
"""Text for a script that is run; what it imports afterwards, it can import still."""

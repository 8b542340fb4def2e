"""One thread for the arithmetic. Import this before anything that imports numpy.

Times are told for one core, and on a machine that does other things too, threads of one multiplication that wait for
each other cost more than they bring. Where there is much to compute, batches run side by side instead.
"""

from __future__ import annotations

import os

ARITHMETIC = 1
"""Threads in one operation on arrays."""
for _name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR"):
    os.environ[f"{_name}_NUM_THREADS"] = str(ARITHMETIC)

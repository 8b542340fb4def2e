"""How much does the guard find, how often does it cry wolf, and what does it cost? See `guarding.py`."""

from __future__ import annotations

import sys

from guarding import main

if __name__ == "__main__":
    sys.exit(main())

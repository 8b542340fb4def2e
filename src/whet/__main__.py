"""`python -m whet` is `whet`."""

from __future__ import annotations

import sys

from whet.interfaces.cli import main

if __name__ == "__main__":
    sys.exit(main())

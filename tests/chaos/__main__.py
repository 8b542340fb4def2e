"""`make chaos`: kill, fill, damage and crowd a machine, and count what does not hold.

python -m tests.chaos [--kills N] [--full N] [--damages N] [--seed S] [--jobs N] [--only NAME] [--report FILE]
python -m tests.chaos --again FAMILY:CASE@AT        # one run again, as a failure names it
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from chaos.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

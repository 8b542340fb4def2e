"""What holds for every test: where CI decides, it looks at the same examples each time; elsewhere at new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

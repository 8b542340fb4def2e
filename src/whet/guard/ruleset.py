"""The name of the rules in force, which changes whenever the result of a scan could change.

The result depends on the rules and on the code that applies them, so the name is the version of Whet with a hash of
the guard's own sources. A verdict is valid only under the name with which it was given.
"""

from __future__ import annotations

import os
from functools import lru_cache
from hashlib import sha256


@lru_cache(maxsize=1)
def ruleset() -> str:
    """Return the name of the rules in force, such as `0.1.0+1f3a9c02`; only the version if the sources are not readable."""
    from whet import __version__

    top = os.path.dirname(os.path.abspath(__file__))
    total = sha256()
    try:
        for directory, below, names in os.walk(top):
            below.sort()
            for name in sorted(names):
                if name.endswith((".py", ".toml", ".json", ".txt")):
                    with open(os.path.join(directory, name), "rb") as file:
                        total.update(b"%s\0%s\0" % (name.encode(), file.read()))
    except OSError:  # an installation without plain files, such as a zip: it changes with its version
        return __version__
    return f"{__version__}+{total.hexdigest()[:8]}"

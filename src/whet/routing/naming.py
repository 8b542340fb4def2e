"""Does a message name a skill, and does it want it or turn it down?

A name of several words counts wherever its words stand side by side; one of a single word, which may be any word, only
where it is marked as a name: `$deploy`, `/deploy`, in backticks, or followed by "skill".
"""

from __future__ import annotations

import re
from typing import Literal

Naming = Literal["", "named", "declined"]

_WORD = re.compile(r"[^\W_]+")
_MARKED = re.compile(r"[$/`]([^\W_]+)\b|(?<![^\W_])([^\W_]+)[`'\"]?\s+skill\b")
_DECLINING = tuple(
    f"-{words}-{article}"
    for words in (
        "not",
        "not-use",
        "not-using",
        "don-t-use",
        "dont-use",
        "never-use",
        "instead-of",
        "rather-than",
        "other-than",
        "except",
        "without",
        "without-using",
    )
    for article in ("", "the-")
)


class Names:
    """What a message may name, read once and asked about many skills."""

    def __init__(self, message: str) -> None:
        plain = message.casefold()
        self._words = f"-{'-'.join(_WORD.findall(plain))}-"
        self._marked = {one or other for one, other in _MARKED.findall(plain)}

    def naming(self, name: str) -> Naming:
        """How the message takes this name."""
        parts = _WORD.findall(name.casefold())
        if not parts or (len(parts) == 1 and parts[0] not in self._marked):
            return ""
        wanted = f"-{'-'.join(parts)}-"
        at = self._words.find(wanted)
        naming: Naming = ""
        while at >= 0:
            if self._words[: at + 1].endswith(_DECLINING):
                return "declined"
            naming, at = "named", self._words.find(wanted, at + 1)
        return naming

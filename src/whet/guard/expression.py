"""Regular expressions that are compiled when they are first used.

Most texts need few of them, and compiling an expression takes longer than matching it to a page.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class Expression:
    """Stands for a compiled expression, and has its methods from the first use on."""

    def __init__(self, regex: str, flags: int) -> None:
        self.pattern = regex
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def expression(regex: str, flags: int = 0) -> re.Pattern[str]:
    """An expression that is compiled when one of its methods is first used."""
    return cast("re.Pattern[str]", Expression(regex, flags))

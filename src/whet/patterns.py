"""Regular expressions that are compiled when they are first used: `_WORD = compile_late(r"...")`.

A module may define many of which a process needs few, and one can take longer to compile than the module to load.
Modules that are loaded when a hook or a common command starts use this one. To a type checker it is `re.compile`.
"""

from __future__ import annotations

__all__ = ["compile_late"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import compile as compile_late
else:

    class compile_late:  # noqa: N801  it stands for a function
        """A pattern. Attributes are taken from the compiled one, and then kept here."""

        def __init__(self, text, flags=0):
            self._given = (text, flags)

        def __getattr__(self, name):
            if name == "_compiled":
                import re

                self._compiled = re.compile(*self._given)
                return self._compiled
            value = getattr(self._compiled, name)
            setattr(self, name, value)
            return value

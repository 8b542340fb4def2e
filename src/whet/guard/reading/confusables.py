"""Look-alike letters, and the words that are worth disguising.

The table is small on purpose: it has only letters that a reader takes for the Latin one at a glance. It is used on words
that mix scripts, never on whole words of another script, so that Russian, Greek and other text stays unchanged.
"""

from __future__ import annotations

from whet.guard.tables import load_table

_TABLE = load_table("confusables")
LETTERS: dict[str, str] = {pair[0]: pair[1] for row in _TABLE["letters"].values() for pair in row.split()}
"""Maps a look-alike to the Latin letter it resembles."""
ORDERS: frozenset[str] = frozenset(_TABLE["orders"])
"""Words of instructions and commands: nobody disguises them by accident."""
COMMON: frozenset[str] = frozenset(_TABLE["common"])
"""Words so common that a look-alike in them is worth reporting."""

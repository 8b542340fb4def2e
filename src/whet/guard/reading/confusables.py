"""Letters that look like others, and the words that are worth disguising.

The table is small on purpose: only letters that a reader takes for the Latin one at a glance. It is used on words that
mix scripts, never on whole words of another script, so that Russian, Greek and the rest stay what they are.
"""

from __future__ import annotations

from whet.guard.tables import load_table

_TABLE = load_table("confusables")
LETTERS: dict[str, str] = {pair[0]: pair[1] for row in _TABLE["letters"].values() for pair in row.split()}
"""Look-alike -> the Latin letter it passes for."""
ORDERS: frozenset[str] = frozenset(_TABLE["orders"])
"""Words that an instruction or a command is made of: nobody disguises them by accident."""
COMMON: frozenset[str] = frozenset(_TABLE["common"])
"""Words common enough that a look-alike in them is worth a look."""

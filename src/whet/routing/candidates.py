"""The skills in question for a message, before they are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from whet.routing.asking import Asked
    from whet.routing.features import Table
    from whet.routing.index import Row


class Candidates(NamedTuple):
    """A message, the skills that may be meant, and what is compared about them; in no order that means anything."""

    asked: Asked
    table: Table
    rows: tuple[Row, ...]
    values: np.ndarray
    """skills x features."""
    names: tuple[str, ...]
    """Of the features."""

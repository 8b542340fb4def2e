"""Tables of which the quick tier takes some rows, and the deep tier all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def thinned(rows: Iterable[Any], one_in: int) -> list[Any]:
    """The rows for `parametrize`: the first and then one in so many for both tiers, the others for the deep one."""
    return [
        row if number % one_in == 0 else pytest.param(*(row if type(row) is tuple else (row,)), marks=pytest.mark.deep)
        for number, row in enumerate(rows)
    ]

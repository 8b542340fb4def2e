"""The patterns of orders from `data/orders.toml`: in groups, with expressions that count near a match."""

from __future__ import annotations

import re

from whet.guard.expression import expression
from whet.guard.patterns import Pattern
from whet.guard.tables import load_toml

ORDERS = {
    name: tuple(Pattern(**entry) for entry in group)
    for name, group in load_toml("orders").items()
    if isinstance(group, list)
}
"""The patterns of each group, matched on a block as one line (`whet.guard.prose.markdown.rows`)."""
NEAR = {name: expression(regex, re.IGNORECASE | re.MULTILINE) for name, regex in load_toml("orders")["near"].items()}
"""Expressions that change the meaning of a match."""
INSTALLER = {name: expression(regex, re.IGNORECASE) for name, regex in load_toml("orders")["installer"].items()}
"""The signs of fake installers."""
SCRIPTS = {
    "cyrillic": expression("[\u0400-\u04ff]"),
    "han": expression("[\u4e00-\u9fff]"),
    "kana": expression("[\u3040-\u30ff]"),
    "hangul": expression("[\uac00-\ud7af]"),
}
"""A letter of each script that has its own group of patterns."""

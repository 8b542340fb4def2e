"""Names for types that every room uses."""

from __future__ import annotations

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object at the edge: what `to_json()` gives, what a surface answers, what was read from outside."""

"""Data in its formats, as constants: what a program will find in the files that are shipped with it.

Only plain formats are parsed (JSON, YAML without tags, INI, CSV, TOML), only up to a size, and failing is no error:
what cannot be parsed is not known.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import UNKNOWN

LARGEST = 1 << 20
"""Characters of a data file that are parsed."""


PARSERS = {
    **dict.fromkeys(("json.loads", "json.load"), "json"),
    **dict.fromkeys(("yaml.safe_load", "yaml.load"), "yaml"),
    **dict.fromkeys(("tomllib.loads", "tomllib.load", "toml.loads", "toml.load"), "toml"),
    **dict.fromkeys(("csv.reader", "csv.DictReader"), "csv"),
}
"""Functions that make values of text, by name, each with its format."""


def parsed(name: str, text: Any) -> Any:
    """What a parser makes of constant text; `UNKNOWN` when that cannot be told."""
    import csv

    if not isinstance(text, str) or not text or len(text) > LARGEST or HOLE in text:
        return UNKNOWN
    if PARSERS[name] != "csv":
        return _plain(_read(text, PARSERS[name]))
    try:
        return _plain(list((csv.reader if name == "csv.reader" else csv.DictReader)(text.splitlines())))
    except csv.Error:
        return UNKNOWN


@lru_cache(maxsize=2)
def _read(text: str, kind: str) -> Any:
    from whet.guard.manifests.parsers import parse

    return parse(text, kind)


def ini(text: str) -> Any:
    """Sections of settings, each a mapping."""
    import configparser

    found = configparser.ConfigParser(interpolation=None)
    try:
        found.read_string(text[:LARGEST])
    except configparser.Error:
        return UNKNOWN
    return {name: dict(found[name]) for name in found.sections()}


def _plain(value: Any, depth: int = 0) -> Any:
    """The value in the shapes that constants have; nothing deep, nothing odd."""
    if isinstance(value, (str, int, float, bytes)):
        return value
    if depth > 12:
        return UNKNOWN
    if isinstance(value, dict):
        return {key: _plain(item, depth + 1) for key, item in list(value.items())[:5000] if isinstance(key, (str, int))}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value[:5000]]
    return UNKNOWN

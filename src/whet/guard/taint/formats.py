"""Parse the data files of a package into constants, as its programs will see them.

Only plain formats are parsed (JSON, YAML without tags, INI, CSV, TOML), up to a size limit. Data that cannot be parsed
is unknown, which is not an error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import UNKNOWN

LARGEST = 1 << 20
"""Maximum length of a data file."""


PARSERS = {
    **dict.fromkeys(("json.loads", "json.load"), "json"),
    **dict.fromkeys(("yaml.safe_load", "yaml.load"), "yaml"),
    **dict.fromkeys(("tomllib.loads", "tomllib.load", "toml.loads", "toml.load"), "toml"),
    **dict.fromkeys(("csv.reader", "csv.DictReader"), "csv"),
}
"""The format of each parser function, by name."""


def parsed(name: str, text: Any) -> Any:
    """Return the result of a parser for constant text; `UNKNOWN` if it cannot be parsed."""
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
    """Return the sections of an INI file, each as a mapping; `UNKNOWN` if it cannot be parsed."""
    import configparser

    found = configparser.ConfigParser(interpolation=None)
    try:
        found.read_string(text[:LARGEST])
    except configparser.Error:
        return UNKNOWN
    return {name: dict(found[name]) for name in found.sections()}


def _plain(value: Any, depth: int = 0) -> Any:
    """Return the value with only the types that constants have; deep or other parts become `UNKNOWN`."""
    if isinstance(value, (str, int, float, bytes)):
        return value
    if depth > 12:
        return UNKNOWN
    if isinstance(value, dict):
        return {key: _plain(item, depth + 1) for key, item in list(value.items())[:5000] if isinstance(key, (str, int))}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value[:5000]]
    return UNKNOWN

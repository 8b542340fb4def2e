"""Data in its formats, as constants: what a program will find in the files that are shipped with it.

Only plain formats are parsed (JSON, YAML without tags, INI, CSV, TOML), only up to a size, and failing is no error:
what cannot be parsed is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 64 * 1024
"""Characters of a data file that are parsed."""


def parsed(name: str, text: Any) -> Any:
    """What a parser makes of constant text; `UNKNOWN` when that cannot be told."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str) or not text or len(text) > LARGEST or HOLE in text:
        return UNKNOWN
    try:
        return _plain(PARSERS[name](text))
    except Exception:  # noqa: BLE001  a parser may fail in any way on text of another format: then it is not known
        return UNKNOWN


def _json(text: str) -> Any:
    import json

    return json.loads(text)


def _yaml(text: str) -> Any:
    from whet.guard.manifests.parsers import read_yaml

    return read_yaml(text)


def _toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _rows(text: str) -> Any:
    import csv

    return list(csv.reader(text.splitlines()))


def _records(text: str) -> Any:
    import csv

    return list(csv.DictReader(text.splitlines()))


def ini(text: str) -> Any:
    """Sections of settings, each a mapping."""
    import configparser

    found = configparser.ConfigParser(interpolation=None)
    try:
        found.read_string(text[:LARGEST])
    except configparser.Error:
        return UNKNOWN
    return {name: dict(found[name]) for name in found.sections()}


PARSERS: dict[str, Callable[[str], Any]] = {
    "json.loads": _json,
    "json.load": _json,
    "yaml.safe_load": _yaml,
    "yaml.load": _yaml,
    "tomllib.loads": _toml,
    "tomllib.load": _toml,
    "toml.loads": _toml,
    "toml.load": _toml,
    "csv.reader": _rows,
    "csv.DictReader": _records,
}
"""Functions that make values of text, by name."""


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

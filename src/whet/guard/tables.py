"""The data tables of the guard in `data/`: lists of words and hosts, the rules, and the effects of library functions.

A table is read once, when it is first needed. Tables with comments on each list are TOML, which is slow to parse: the parsed
table is cached beside the file, as Python caches a compiled module.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any
from zlib import crc32

from whet.guard.expression import expression

if TYPE_CHECKING:
    from types import CodeType


@cache
def load_table(name: str) -> Any:
    """Return the content of `data/NAME.json`."""
    import json

    with open(os.path.join(os.path.dirname(__file__), "data", f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)


@cache
def word_list(name: str) -> frozenset[str]:
    """Return one of the lists of words in `data/words.json`."""
    return frozenset(load_table("words")[name])


class _Loader(SourceFileLoader):
    """Loads a table as if it were a module that assigns it to a name.

    The cache is used only for the same content: an installation may give an old and a new table the same modification time.
    """

    def path_stats(self, path: Any) -> dict[str, int]:
        data = self.get_data(path)
        return {"mtime": crc32(data), "size": len(data)}

    def source_to_code(self, data: Any, path: Any, **_: Any) -> CodeType:  # type: ignore[override]  # as Python calls it
        import tomllib

        return compile(f"table = {tomllib.loads(data.decode())!r}", path, "exec")


@cache
def load_toml(name: str) -> dict[str, Any]:
    """Return the content of `data/NAME.toml`. No module beside it may have its name: both share one cache file."""
    path = os.path.join(os.path.dirname(__file__), "data", f"{name}.toml")
    module: dict[str, Any] = {}
    exec(_Loader(name, path).get_code(name), module)  # type: ignore[arg-type]  # noqa: S102  a file always has code
    table: dict[str, Any] = module["table"]
    return table


@cache
def words(table: str, name: str) -> frozenset[str]:
    """Return one of the lists of `data/TABLE.toml`."""
    return frozenset(load_toml(table)[name])


def api(language: str, name: str) -> frozenset[str]:
    """Return one of the lists of `data/LANGUAGE_api.toml`: functions and words of a language, by their effect."""
    return words(f"{language}_api", name)


@cache
def shape(table: str, name: str, flags: int = re.IGNORECASE | re.MULTILINE, *, frame: str = "{}") -> re.Pattern[str]:
    """Return an expression that matches any item of a list in `data/TABLE.toml`; `frame` is the text around the items."""
    return expression(frame.replace("{}", "|".join(load_toml(table)[name])), flags)

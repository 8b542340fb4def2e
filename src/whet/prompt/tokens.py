"""Token counts: exact if possible without a network, otherwise estimated.

The estimate follows how byte-pair vocabularies cut text before they merge anything, and is fitted to `o200k_base`: a
word with the space before it is nearly always one token; so is a run of punctuation; a number costs one token for three
digits, and its space another; a line break is free after punctuation. The rest is small: capitals, long runs, and the
letters and signs beyond ASCII, which cost by the character.

Every character becomes one letter for its kind (by its first byte in UTF-8), and the price of a text is how often a few
short patterns occur among those letters. Counting bytes in bytes is several times faster than matching words, and it
makes the estimate linear in time and monotone: text appended to a text never makes it cheaper.

Prices are in hundredths of a token and a little high on purpose, because a budget is a promise. They hold for English,
for code and for the scripts named below; a language that writes longer or rarer words in plain Latin letters may cost a
fifth more than estimated. `benchmarks/tokens.py` measures the error.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whet.records import NamedTuple

if TYPE_CHECKING:
    from whet.library.settings import Settings

Counter = Callable[[str], int]
"""The number of tokens in a text: 0 for the empty text, at least 1 for every other."""


class Tokenizer(NamedTuple):
    """A way to count tokens, and whether it counts exactly."""

    name: str
    count: Counter
    exact: bool


def _kinds(**members: bytes | range) -> bytes:
    """Return a table from the first byte of a character to the letter of its kind; others are punctuation."""
    table = bytearray(b"p" * 256)
    for kind, first_bytes in members.items():
        for first in first_bytes:
            table[first] = ord(kind)
    return bytes(table)


def _alone(kinds: bytes) -> bytes:
    """Return a table in which these kinds are `+` and all others `-`, so that `-+` is the start of a run."""
    return bytes(ord("+") if kind in kinds else ord("-") for kind in range(256))


_KIND = _kinds(
    l=range(0x61, 0x7B),
    U=range(0x41, 0x5B),
    d=b"0123456789",
    s=b" \t\v\f",
    n=b"\r\n",
    r=b"-=",  # rules under headings and between cells: a run of any length is about one token
    a=range(0xC3, 0xCE),  # Latin letters with marks
    c=range(0xCE, 0xE0),  # Greek, Cyrillic, Armenian, Hebrew, Arabic
    i=b"\xe0\xe1",  # Indic and South-East Asian scripts, Georgian, Vietnamese
    y=b"\xe2",  # arrows, shapes, dingbats
    h=range(0xE3, 0xEA),  # kana and Han
    k=range(0xEA, 0xEE),  # Hangul
    f=b"\xee\xef",  # full-width forms, private use
    e=range(0xF0, 0x100),  # emoji
)
_LETTERS, _SIGNS = b"lUacihk", b"pyfe"
_TAILS = bytes(range(0x80, 0xC0))
_COMMON_SIGNS = (
    (b"\xe2\x80", b"'"),
    (b"\xe2\x86", b"'"),
    (b"\xe2\x9c", b"'"),
    (b"\xe2\x94", b"="),
    (b"\xe2\x95", b"="),
)
"""Dashes, typographic quotes, arrows, ticks and box lines are as cheap as the ASCII signs that they stand for."""

_RUNS = (
    (_alone(_LETTERS), b"-+", 105),
    (_alone(_SIGNS), b"-+", 105),
    (_alone(b"r"), b"-+", 85),
    (_alone(b"d"), b"-+", 100),
    (_alone(b"s"), b"-++", 85),  # an indent or a gap; a single space belongs to the next word
)
_SHAPE = bytes.maketrans(_LETTERS + _SIGNS, b"w" * len(_LETTERS) + b"p" * len(_SIGNS))
_SHAPES = (
    (b"wpw", -85),  # one sign between two words is the head of the second
    (b"ppp", 45),
    (b"sd", 100),  # the space before a number is a separate token
    (b"dddd", 110),
    (b"wn", 130),  # a line break after a word
    (b"w" * 16, 200),  # a chain of words, a key, or a script without spaces
)
_CAPITALS = ((b"lU", 90), (b"UUU", 40))
_BEYOND_ASCII = ((b"a", 120), (b"c", 18), (b"i", 25), (b"y", 120), (b"h", 60), (b"k", 45), (b"f", 60), (b"e", 170))
_LONGEST = 128
"""Longest token of the vocabulary in characters (one of spaces), so a long run costs that."""


def estimate(text: str) -> int:
    """Return the estimated tokens of a text, without any vocabulary."""
    if not text:
        return 0
    data = text.encode("utf-8", "surrogatepass")
    beyond = not text.isascii()
    if beyond:
        for sign, plain in _COMMON_SIGNS:
            data = data.replace(sign, plain)
    kinds = b"n" + data.translate(_KIND, _TAILS)
    shape = kinds.translate(_SHAPE)
    price = 0
    for table, pattern, cost in _RUNS:
        price += cost * kinds.translate(table).count(pattern)
    for pattern, cost in _SHAPES:
        price += cost * shape.count(pattern)
    for pattern, cost in _CAPITALS + _BEYOND_ASCII if beyond else _CAPITALS:
        price += cost * kinds.count(pattern)
    return max((price + 50) // 100, -(-len(text) // _LONGEST))


ESTIMATE = Tokenizer("estimate", estimate, exact=False)

_VOCABULARY = "o200k_base"
_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
_FILE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_SPECIAL, _SPECIAL_TOKENS = "<|endoftext|>", 7
"""A text that counts as seven only with the right vocabulary and special tokens as plain text."""
_SLICE = 100_000


def tokenizer_for(settings: Settings) -> Tokenizer:
    """Return the tokenizer: an exact one, if it is installed and wanted."""
    return installed() if settings.exact_tokens else ESTIMATE


@lru_cache(maxsize=1)
def installed() -> Tokenizer:
    """Return an exact tokenizer if an installed package can count without a network, else the estimate.

    `splintr-rs` carries its vocabulary. `tiktoken` would download its own, so it is asked only when the intact file
    is already in its cache. Found once per process.
    """
    for load in (_splintr, _tiktoken):
        try:
            count = load()
            if count is not None and count(_SPECIAL) == _SPECIAL_TOKENS:
                return Tokenizer(_VOCABULARY, count, exact=True)
        except Exception:  # noqa: BLE001, S112 a foreign package may be broken in any way; the name says who counted
            continue
    return ESTIMATE


def _splintr() -> Counter:
    import importlib

    encode: Any = importlib.import_module("splintr").Tokenizer.from_pretrained(_VOCABULARY).encode_ordinary

    def count(text: str) -> int:
        try:
            return len(encode(text))
        except UnicodeEncodeError:
            return len(encode(text.encode("utf-8", "replace").decode()))

    return count


def _tiktoken() -> Counter | None:
    if not _tiktoken_is_cached():
        return None
    import importlib

    encode: Any = importlib.import_module("tiktoken").get_encoding(_VOCABULARY).encode_ordinary

    def count(text: str) -> int:
        """Count in slices, because very long runs of spaces make the package panic; a cut may cost one token."""
        return sum(len(encode(text[start : start + _SLICE])) for start in range(0, len(text), _SLICE))

    return count


def _tiktoken_is_cached() -> bool:
    """Return whether the vocabulary is in the package's cache; a damaged copy would be downloaded again."""
    import hashlib
    import tempfile

    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    path = os.path.join(folder, _FILE)
    if not folder or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == _FILE_SHA256

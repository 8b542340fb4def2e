"""Constant folding without running anything: joining, slicing, replacing, decoding.

Only functions of the standard library that turn text into text are called, only on constants, and only if the result
is bounded: a formatting width or a repetition cannot make a string longer than `LONGEST`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import itertools
import zlib
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from whet.guard.expression import expression
from whet.guard.tables import api
from whet.guard.taint.mark import HOLE
from whet.guard.taint.value import LONGEST, UNKNOWN, known

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping, Sequence

_CODECS = api("python", "codecs")
_TEXT_CODECS = frozenset(("rot13", "rot_13", "rot-13"))
_FIELD = expression(r"\{([A-Za-z0-9_]{0,40})(![rsa])?(:[^{}]{0,40})?\}")
_PERCENT = expression(r"%(?:\(([A-Za-z0-9_]{1,40})\))?[-+ #0]?\d{0,3}(?:\.\d{1,3})?([sdrixfc%])")
_DOLLAR = expression(r"\$(?:([A-Za-z_]\w{0,60})|\{([A-Za-z_]\w{0,60})\})")
FAILURES = (ValueError, TypeError, AttributeError, LookupError, OverflowError, zlib.error)


def decoded(name: str, arguments: Sequence[Any]) -> Any:
    """Return the result of a standard library decoder; `UNKNOWN` if the decoder or its input is unknown or too long."""
    decoder = DECODERS.get(name)
    if decoder is None or not arguments or not isinstance(arguments[0], (str, bytes)) or not known(arguments[0]):
        return UNKNOWN
    if len(arguments[0]) > LONGEST:
        return UNKNOWN
    try:
        return bounded(decoder(*arguments[:2]))
    except (*FAILURES, EOFError, OSError, MemoryError):
        return UNKNOWN


def from_base64(text: str) -> bytes:
    """Decode base64 with line breaks, the URL-safe alphabet or missing padding; raise `ValueError` if it is invalid."""
    bare = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(bare + "=" * (-len(bare) % 4))


def _inflate(data: Any, *_: Any) -> bytes:
    return zlib.decompressobj(47).decompress(_bytes(data), LONGEST)


def _unlzma(data: Any, *_: Any) -> bytes:
    import lzma

    try:
        return lzma.LZMADecompressor(memlimit=1 << 26).decompress(_bytes(data), LONGEST)
    except lzma.LZMAError as error:
        raise ValueError(str(error)) from error


def _unbzip(data: Any, *_: Any) -> bytes:
    import bz2

    return bz2.BZ2Decompressor().decompress(_bytes(data), LONGEST)


def _bytes(data: Any) -> bytes:
    return data.encode("latin-1") if isinstance(data, str) else bytes(data)


def _codec(data: Any, encoding: Any = "utf-8") -> Any:
    name = str(encoding).lower()
    if name in _TEXT_CODECS:
        return codecs.decode(data if isinstance(data, str) else data.decode(), "rot13")
    if name in ("zlib", "zlib_codec", "zip"):
        return _inflate(data)
    if name.startswith("base64"):
        return from_base64(data if isinstance(data, str) else data.decode())
    if name in ("hex", "hex_codec"):
        return bytes.fromhex("".join((data if isinstance(data, str) else data.decode()).split()))
    if name in _CODECS:
        return _bytes(data).decode(name)
    return UNKNOWN


DECODERS: dict[str, Callable[..., Any]] = {
    "base64.b64decode": lambda data, *_: base64.b64decode(_bytes(data)),
    "base64.standard_b64decode": lambda data, *_: base64.b64decode(_bytes(data)),
    "base64.urlsafe_b64decode": lambda data, *_: base64.urlsafe_b64decode(_bytes(data)),
    "base64.decodebytes": lambda data, *_: base64.decodebytes(_bytes(data)),
    "base64.b32decode": lambda data, *_: base64.b32decode(_bytes(data)),
    "base64.b16decode": lambda data, *_: base64.b16decode(_bytes(data).upper()),
    "base64.b85decode": lambda data, *_: base64.b85decode(_bytes(data)),
    "base64.a85decode": lambda data, *_: base64.a85decode(_bytes(data)),
    "atob": lambda data, *_: from_base64(data if isinstance(data, str) else data.decode()).decode("latin-1"),
    "binascii.unhexlify": lambda data, *_: binascii.unhexlify(_bytes(data)),
    "binascii.a2b_hex": lambda data, *_: binascii.unhexlify(_bytes(data)),
    "binascii.a2b_base64": lambda data, *_: binascii.a2b_base64(_bytes(data)),
    "bytes.fromhex": lambda data, *_: bytes.fromhex(data),
    "bytearray.fromhex": lambda data, *_: bytes.fromhex(data),
    "zlib.decompress": _inflate,
    "gzip.decompress": _inflate,
    "lzma.decompress": _unlzma,
    "bz2.decompress": _unbzip,
    "codecs.decode": _codec,
    "quopri.decodestring": lambda data, *_: binascii.a2b_qp(_bytes(data)),
    "binascii.a2b_qp": lambda data, *_: binascii.a2b_qp(_bytes(data)),
    "urllib.parse.unquote": lambda data, *_: unquote(data),
    "urllib.parse.unquote_plus": lambda data, *_: unquote(data.replace("+", " ")),
    "urllib.parse.unquote_to_bytes": lambda data, *_: unquote(data).encode(),
    "urllib.unquote": lambda data, *_: unquote(data),
    "html.unescape": lambda data, *_: unescape(data),
    "codecs.encode": lambda data, name="", *_: _codec(data, name) if str(name).lower() in _TEXT_CODECS else UNKNOWN,
}
"""The decoders of the standard library, by name."""


COMPUTED: dict[str, Callable[..., Any]] = {
    "chr": chr, "ord": ord, "int": int, "len": len, "str.maketrans": str.maketrans, "bytes.maketrans": bytes.maketrans,
    "str": lambda const: str(const) if isinstance(const, (int, float)) else UNKNOWN,
    "zip": zip, "enumerate": enumerate, "sorted": sorted, "range": range, "itertools.zip_longest": itertools.zip_longest,
    "itertools.cycle": itertools.cycle, "itertools.chain": itertools.chain, "itertools.islice": itertools.islice,
}  # fmt: skip
"""Functions that are computed on constants, by name."""
_MOST = 4096
"""Maximum number of items of a computed sequence."""


def computed(name: str, arguments: Sequence[Any], words: Mapping[str, Any]) -> Any:
    """Return the result of a function of constants; `UNKNOWN` if an argument is unknown."""
    if not all(map(known, (*arguments, *words.values()))):
        return UNKNOWN
    try:
        made = COMPUTED[name](*arguments, **words)
        if isinstance(made, (range, Iterator)):
            made = [list(one) if isinstance(one, tuple) else one for one in itertools.islice(made, _MOST)]
        return bounded(made)
    except FAILURES:
        return UNKNOWN


def bounded(const: Any) -> Any:
    """Return a constant, or `UNKNOWN` if it is too large."""
    if isinstance(const, (str, bytes, bytearray, list, tuple, dict)) and len(const) > LONGEST:
        return UNKNOWN
    if isinstance(const, int) and not isinstance(const, bool) and const.bit_length() > 4096:
        return UNKNOWN
    return bytes(const) if isinstance(const, bytearray) else const


def method(name: str, const: Any, arguments: Sequence[Any], words: Mapping[str, object]) -> Any:
    """Return the result of a method of a constant string or bytes."""
    try:
        return bounded(_of_text(name, const, arguments, words))
    except FAILURES:
        return UNKNOWN


_PLAIN = api("python", "plain")


def _of_text(name: str, const: Any, arguments: Sequence[Any], words: Mapping[str, object]) -> Any:
    if name in _PLAIN:
        if words or not all(map(known, arguments)):
            return UNKNOWN
        found = getattr(const, name)(*arguments)
        return list(found) if isinstance(found, (list, tuple)) else found
    if name == "join":
        return _join(const, arguments)
    if name == "replace" and len(arguments) >= 2 and all(map(known, arguments)):
        old, new = arguments[:2]
        if (len(const) // max(len(old), 1) + 1) * (len(new) + 1) > LONGEST * 4:
            return UNKNOWN
        return const.replace(*arguments[:3])
    if name == "encode" and isinstance(const, str):
        return const.encode("utf-8" if not arguments or arguments[0] not in _CODECS else arguments[0], "replace")
    if name == "decode" and isinstance(const, bytes):
        return _codec(const, *(arguments[:1] or [words.get("encoding", "utf-8")]))
    if name == "translate" and arguments and isinstance(arguments[0], dict):
        return const.translate({key: value for key, value in arguments[0].items() if len(str(value)) < 64})
    if name in ("read", "readline", "readlines") and not arguments:
        lines = const.splitlines(keepends=True)
        return const if name == "read" else lines if name == "readlines" else lines[0] if lines else const[:0]
    if name in ("substitute", "safe_substitute") and isinstance(const, str):
        given = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
        return _DOLLAR.sub(lambda found: as_text({**given, **words}.get(found[1] or found[2], UNKNOWN)), const)
    if name == "format_map" and isinstance(const, str) and arguments and isinstance(arguments[0], dict):
        return formatted(const, (), {str(key): value for key, value in arguments[0].items()})
    if name == "format" and isinstance(const, str):
        return formatted(const, arguments, words)
    return UNKNOWN


def _join(const: Any, arguments: Sequence[Any]) -> Any:
    if len(arguments) != 1 or not isinstance(arguments[0], (list, tuple, str)):
        return UNKNOWN
    pieces = arguments[0]
    if isinstance(const, bytes):
        return const.join(piece for piece in pieces if isinstance(piece, bytes))
    texts = [piece if isinstance(piece, str) else HOLE for piece in pieces]
    if sum(map(len, texts)) + len(const) * len(texts) > LONGEST:
        return UNKNOWN
    return const.join(texts)


def formatted(template: str, arguments: Sequence[Any], words: Mapping[str, object]) -> str:
    """Return the result of `str.format` for plain fields; an unknown field becomes a hole."""
    count = iter(range(1000))

    def field(match: re.Match[str]) -> str:
        name = match[1]
        if not name or name.isdigit():
            index = next(count) if not name else int(name[:4])
            return as_text(arguments[index] if index < len(arguments) else UNKNOWN)
        return as_text(words.get(name, UNKNOWN))

    return _FIELD.sub(field, template[:LONGEST])


def percent(template: str, values: Any) -> str:
    """Return the result of `%` formatting for plain fields."""
    items = list(values) if isinstance(values, (tuple, list)) else [values]
    position = iter(items)

    def field(match: re.Match[str]) -> str:
        if match[2] == "%":
            return "%"
        if match[1]:
            return as_text(values.get(match[1], UNKNOWN)) if isinstance(values, dict) else HOLE
        value = next(position, UNKNOWN)
        return chr(value) if match[2] == "c" and isinstance(value, int) and 0 <= value < 0x110000 else as_text(value)

    return _PERCENT.sub(field, template[:LONGEST])


def as_text(const: Any) -> str:
    """Return a constant as it appears inside a string; `HOLE` if it is unknown."""
    if isinstance(const, str):
        return const
    if isinstance(const, (int, float, bytes)) and len(repr(const)) < 4096:
        return str(const)
    return HOLE


def binary(operator: str, left: Any, right: Any) -> Any:
    """Return the result of a binary operator; `UNKNOWN` if it cannot be computed."""
    try:
        match operator:
            case "Add":
                return _add(left, right)
            case "Mod" if isinstance(left, str):
                return percent(left, right)
            case "Div" if isinstance(left, str) and isinstance(right, str):
                return f"{left.rstrip('/')}/{right}"
            case "Mult":
                return _times(left, right)
            case _ if isinstance(left, int) and isinstance(right, int):
                return _arithmetic(operator, left, right)
    except FAILURES:
        pass
    return UNKNOWN


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) or isinstance(right, str):
        if isinstance(left, (bytes, int)) or isinstance(right, (bytes, int)):
            return UNKNOWN
        return bounded(as_text(left) + as_text(right))
    if type(left) is type(right) and isinstance(left, (int, bytes, list, tuple, float)):
        return bounded(left + right)
    return UNKNOWN


def _times(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, (str, bytes, list)):
        left, right = right, left
    if not isinstance(right, int):
        return UNKNOWN
    if isinstance(left, (str, bytes, list)):
        return left * right if right >= 0 and len(left) * right <= LONGEST else UNKNOWN
    return bounded(left * right) if isinstance(left, int) and abs(right) < 1 << 64 else UNKNOWN


def _arithmetic(operator: str, left: int, right: int) -> Any:
    if operator in ("LShift", "Pow") and (right > 64 or right < 0 or abs(left) > 1 << 64):
        return UNKNOWN
    operation = _ARITHMETIC.get(operator)
    return (
        bounded(operation(left, right)) if operation is not None and (right or operator not in _DIVIDING) else UNKNOWN
    )


_DIVIDING = ("Mod", "FloorDiv")
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "Sub": lambda a, b: a - b,
    "BitXor": lambda a, b: a ^ b,
    "BitAnd": lambda a, b: a & b,
    "BitOr": lambda a, b: a | b,
    "LShift": lambda a, b: a << b,
    "RShift": lambda a, b: a >> min(b, 4096) if b >= 0 else a,
    "Mod": lambda a, b: a % b,
    "FloorDiv": lambda a, b: a // b,
    "Pow": lambda a, b: int(a**b),
}

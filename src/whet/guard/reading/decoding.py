"""Texts inside texts: base64, hexadecimal, character codes and similar encodings, made readable.

Each decoder has a cheap sign that must be present before it looks closer, and its output must read like text or begin
like a known kind of file. The output is searched again, a few layers deep. Everything is bounded: layers, the number of
pieces and their size. Honest base64 (pictures, hashes, certificates, tokens) decodes to bytes that are not text, which a
probe of the first bytes shows.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.literals import all_beginnings, vocabulary
from whet.guard.reading import encodings, kinds
from whet.guard.tables import word_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEPTH = 4
MOST = 200
ROOM = 4 * 1024 * 1024
SHORTEST = 12
"""Decoded characters below which nothing is kept."""


class Hidden(NamedTuple):
    """A text or file that was encoded in a text."""

    via: tuple[str, ...]
    """The encodings that were undone, outermost first."""
    offset: int
    """The offset in the outermost text."""
    text: str
    data: bytes = b""
    """The bytes of a program or container; `text` is empty then."""


class _Piece(NamedTuple):
    encoding: str
    offset: int
    content: str | bytes


def hidden(text: str) -> list[Hidden]:
    """Return everything decodable in a text, layer by layer; at most `MOST` pieces and `ROOM` characters."""
    found: list[Hidden] = []
    seen: set[str | bytes] = set()
    room = ROOM
    waiting: list[tuple[str, tuple[str, ...], int]] = [(text, (), -1)]
    for layer, via, outer in waiting:
        for piece in _pieces(layer):
            if len(found) >= MOST or room <= 0:
                return found
            opened = _opened(piece.content, room)
            content = opened[1]
            if not content or content in seen:
                continue
            seen.add(content)
            room -= len(content)
            path = (*via, piece.encoding, *opened[0])
            offset = piece.offset if outer < 0 else outer
            if isinstance(content, bytes):
                found.append(Hidden(path, offset, "", content))
            else:
                found.append(Hidden(path, offset, content))
                if len(path) < DEPTH:
                    waiting.append((content, path, offset))
    return found


def readable(data: bytes) -> str:
    """Return bytes as text, or an empty text if they are not text."""
    if len(data) < SHORTEST:
        return ""
    if 0 in data[:64]:
        decoded = encodings.decode(data)
        text = decoded.text if decoded and decoded.encoding.startswith("utf-16") else ""
    else:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return ""
    odd = len(_UNPRINTABLE.findall(text))
    return text if len(text) >= SHORTEST and odd * 50 <= len(text) else ""


_UNPRINTABLE = expression("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff]")
_KEPT_BINARIES = kinds.PROGRAMS | kinds.ARCHIVES | kinds.SEALED | {"pickle", "pdf"}


def _opened(content: str | bytes, room: int) -> tuple[tuple[str, ...], str | bytes]:
    """Return the content of bytes: text, compressed text, or a file worth keeping, with the compression that was undone."""
    if isinstance(content, str):
        return (), content[:room] if len(content) >= SHORTEST else ""
    text = readable(content)
    if text:
        return (), text[:room]
    for name, loosen in (("gzip", 31), ("zlib", 15), ("deflate", -15)):
        if name == "deflate" or (content[:2] == b"\x1f\x8b" if name == "gzip" else content[:1] == b"x"):
            inner = _inflated(content, loosen, room)
            text = readable(inner)
            if text and len(text) > len(content) // 8:
                return (name,), text
            if name != "deflate" and kinds.magic(inner) in _KEPT_BINARIES:
                return (name,), inner
    return (), content if _is_file(content) else b""


def _is_file(content: bytes) -> bool:
    what = kinds.magic(content)
    if what == "pe":
        return b"PE\0\0" in content[:1024] or b"DOS mode" in content[:256]
    return what in _KEPT_BINARIES and len(content) >= 48


def _inflated(content: bytes, bits: int, room: int) -> bytes:
    import zlib

    try:
        return zlib.decompressobj(bits).decompress(content, room)
    except zlib.error:
        return b""


class _Given(NamedTuple):
    """A text in the forms in which the cheap signs are searched: one byte per character."""

    text: str
    raw: bytes
    lowered: bytes


_WINDOW = 1 << 20


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the pieces of a text, window by window, so that a huge text is never held in several forms at once."""
    if len(text) <= _WINDOW:
        yield from _pieces_of(text)
        return
    start = 0
    while start < len(text):
        end = start + _WINDOW
        end = end if end >= len(text) else max(text.rfind("\n", start + _WINDOW // 2, end) + 1, 0) or end
        for piece in _pieces_of(text[start:end]):
            yield piece._replace(offset=piece.offset + start)
        start = end


def _pieces_of(text: str) -> Iterator[_Piece]:
    raw = text.encode("latin-1", "replace")
    given = _Given(text, raw, raw.lower())
    for look in (_base64, _joined, _escapes, _numbers, _percent, _entities, _base85, _turned, _spaced_hex):
        yield from look(given)


_CLASS = bytes(
    ord("a") if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "+/-_") else 32 for code in range(256)
)
_NEXT = expression(
    r"""["'`]?[ \t]{0,20}(?:[+,.]|\\)?[ \t]{0,20}(\n?)[ \t]{0,40}[#>*+]{0,2}[ \t]{0,4}["'`]?"""
    r"""([A-Za-z0-9+/_-]{2,})(?=={0,2}(?:["'`\\\n]|$))"""
)
_LEAST = 20
_PROBE = 64
_MOST_RUNS = 20_000
_MOST_UNITS = 2_000


def _base64(given: _Given) -> Iterator[_Piece]:
    text = given.text
    classes = given.raw.translate(_CLASS)
    needle = b"a" * _LEAST
    deflated = b"eflate" in given.raw
    at = 0
    for _ in range(_MOST_RUNS):
        start = classes.find(needle, at)
        if start < 0:
            return
        end = classes.find(b" ", start)
        at = end = end if end >= 0 else len(text)
        run = text[start:end]
        if _plain_word(run):
            continue
        pieces, at = _continued(text, start, end)
        yield from _units(pieces, deflated=deflated)


def _units(pieces: list[tuple[int, str]], *, deflated: bool) -> Iterator[_Piece]:
    """Decode runs in a row: as one if they decode as one, perhaps without the first or last, otherwise each alone."""
    for first, last in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row = pieces[first : len(pieces) - last]
        content = _run("".join(piece for _, piece in row), deflated=deflated)
        if content is not None:
            yield _Piece(content[0], row[0][0], content[1])
            return
    for start, piece in pieces[:_MOST_UNITS] if len(pieces) > 1 else ():
        content = None if _plain_word(piece) else _run(piece, deflated=deflated)
        if content is not None:
            yield _Piece(content[0], start, content[1])


def _plain_word(run: str) -> bool:
    """Return whether a run is a path, an identifier or a ruler, in which nothing decodes to text."""
    return (
        len(run) < 200
        and (run.islower() or run.isupper() or run.isdigit())
        and not _HEX.fullmatch(run)
        and not _BASE32.fullmatch(run)
    )


def _continued(text: str, start: int, end: int) -> tuple[list[tuple[int, str]], int]:
    """Return a run with its continuations on the next lines or in the next strings, and the end of the last one."""
    pieces = [(start, text[start:end])]
    while len(pieces) < 50_000 and text[end : end + 1] != "=":
        match = _NEXT.match(text, end)
        if match is None or not (match[1] or match[0][0] in "\"'`"):
            break
        pieces.append((match.start(2), match[2]))
        end = match.end()
    return pieces, end


_HEX = expression(r"(?:0x)?[0-9a-f]+|(?:0x)?[0-9A-F]+")
_BASE32 = expression(r"[A-Z2-7]+")


def _run(run: str, *, deflated: bool = False) -> tuple[str, bytes] | None:
    """Return the encoding and the content of a run of letters and digits, if it reads like something."""
    if len(run) < _LEAST:
        return None
    if _HEX.fullmatch(run):
        digits = run.removeprefix("0x")
        if len(digits) % 2 == 0 and _promising(bytes.fromhex(digits[:_PROBE])):
            return "hex", bytes.fromhex(digits)
    tried = [run]
    if "-" in run or "/" in run or "_" in run:
        tried += [part for part in re.split("[-/_]", run) if len(part) >= _LEAST][:8]
    for part in tried:
        for skip in range(4 if len(part) >= 40 else 1):
            if _promising(_unbase64(part[skip : skip + _PROBE])):
                return "base64", _unbase64(part[skip:])
    if deflated and len(run) >= 40 and readable(_inflated(_unbase64(run), -15, ROOM)):
        return "base64", _unbase64(run)
    if _BASE32.fullmatch(run) and _promising(_unbase32(run[:_PROBE])):
        return "base32", _unbase32(run)
    return None


def _promising(head: bytes) -> bool:
    """Return whether the first bytes show that the rest is worth decoding."""
    if len(head) < SHORTEST:
        return False
    if (
        head[:3] == b"\x1f\x8b\x08"
        or head[:2] in (b"x\x01", b"x\x9c", b"x\xda", b"x^")
        or kinds.magic(head.ljust(64, b"\0")) in _KEPT_BINARIES
    ):
        return True
    if 0 in head:
        return head[1::2].count(0) > len(head) // 3 and head[::2].count(0) == 0
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
        text = head[: error.start].decode()
    return not _UNPRINTABLE.search(text)


def _unbase64(run: str) -> bytes:
    import binascii

    run = run.replace("-", "+").replace("_", "/").replace("=", "")
    return binascii.a2b_base64(run[: len(run) - (len(run) % 4 == 1)] + "==")


def _unbase32(run: str) -> bytes:
    import base64
    import binascii

    try:
        return base64.b32decode(run[: len(run) // 8 * 8] if len(run) % 8 in (1, 3, 6) else run + "=" * (-len(run) % 8))
    except binascii.Error:
        return b""


_STRINGS = expression(r"\"([^\"\\\n]{2,20000})\"|'([^'\\\n]{2,20000})'|`([^`\\\n]{2,20000})`")
_SHORT_STRINGS = expression(r"(?:[\"'][A-Za-z0-9+/=_-]{1,40}[\"']\s{0,20}(?:[+,.&]\s{0,20})?){3,}")
_QUOTES = bytes(ord('"') if code == ord("'") else code for code in range(256))
_STRING_LETTERS = bytes(code for code in range(256) if _CLASS[code] == ord("a") and code != ord("+")) + b"= \t\r\n"
_JOINS = (b'""+""+""', b'"","",""', b'""""""', b'"".""."".', b'""&""&""')


def _joined(given: _Given) -> Iterator[_Piece]:
    """Decode strings too short to stand out that are joined by `+`, by adjacency or by `join`."""
    text = given.text
    skeleton = given.raw.translate(_QUOTES, _STRING_LETTERS)
    if not any(sign in skeleton for sign in _JOINS):
        return
    for match in _SHORT_STRINGS.finditer(text):
        whole = "".join(re.findall(r"[\"']([^\"']*)[\"']", match[0])).rstrip("=")
        content = _run(whole) if len(whole) >= _LEAST and not _plain_word(whole) else None
        if content is not None:
            yield _Piece(content[0], match.start(), content[1])


_ESCAPED = r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|U[0-9a-fA-F]{8}|[01][0-7]{2})"
_ESCAPES = expression(rf"(?:{_ESCAPED}[^\\\"'`\n]{{0,12}}){{4,}}")
_ONE_ESCAPE = expression(_ESCAPED)


def _escapes(given: _Given) -> Iterator[_Piece]:
    r"""Decode `\x63`, `\u0063` and `\143` in strings."""
    text = given.text
    if "\\" in text and sum(text.count(sign) for sign in ("\\x", "\\u", "\\U", "\\0", "\\1")) >= 4:
        yield from _spread("escapes", text, _ESCAPES, lambda run: _ONE_ESCAPE.sub(_unescape, run))


def _unescape(match: re.Match[str]) -> str:
    digits = match[0][1:]
    code = int(digits, 8) if digits[0] in "01" else int(digits[1:].strip("{}"), 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _spread(name: str, text: str, pattern: re.Pattern[str], undo: Callable[[str], str]) -> Iterator[_Piece]:
    """Join many small runs into one piece, each at its original line distance from the first."""
    lines: list[str] = []
    first = at = 0
    for match in pattern.finditer(text):
        plain = undo(match[0]).replace("\n", " ").strip()
        if len(plain) < 4 or len(_UNPRINTABLE.findall(plain)) * 10 > len(plain):
            continue
        if lines:
            lines.append("\n" * text.count("\n", at, match.start()) or " ")
        else:
            first = match.start()
        lines.append(plain)
        at = match.start()
    joined = "".join(lines)
    if len(joined) - joined.count("\n") >= SHORTEST:
        yield _Piece(name, first, joined)


_NUMBER = r"(?:0x[0-9a-fA-F]{1,4}|\d{1,6})"
_NUMBERS = expression(
    rf"{_NUMBER}(?:\s{{0,12}}(?:[\])}}]\s{{0,4}})?[,;]\s{{0,12}}(?:[\[({{]\s{{0,4}})?{_NUMBER}){{7,}}"
)
"""Numbers in a list, or in lists that follow each other."""
_CALLS = expression(
    rf"(?:\b(?:chr|chrw?|(?:String\.)?fromCharCode|\[char\])\s?\(?\s?{_NUMBER}\)?[\s+,.&|$]{{0,12}}){{4,}}",
    re.IGNORECASE,
)
_MOST_CODES = 200_000
_DIGITS = bytes(ord("9") if 48 <= code < 58 else code for code in range(256))
_XOR = expression(rf"\^=?\s{{0,3}}({_NUMBER}|\w)")


def _numbers(given: _Given) -> Iterator[_Piece]:
    """Decode lists of character codes and calls that turn codes into characters, even under a visible exclusive or."""
    text = given.text
    found: list[tuple[int, list[int]]] = []
    squeezed = given.raw.translate(_DIGITS, b" \t\r\n")
    if squeezed.count(b"9,9") >= 4 or squeezed.count(b",9x") >= 7 or squeezed.count(b";9") >= 7:
        found += [(match.start(), _codes(match[0])) for match in _NUMBERS.finditer(text)]
    if any(sign in given.lowered for sign in (b"chr(", b"charcode", b"[char]", b"chrw(")):
        found += [(match.start(), _codes(match[0])) for match in _CALLS.finditer(text)]
    for start, codes in found:
        near = text[max(0, start - 400) : start + 8 * len(codes) + 400] if len(codes) >= SHORTEST else ""
        for said in (_spelled(codes), _unxored(codes, near)):
            if said:
                yield _Piece("character codes", start, said)


def _codes(run: str) -> list[int]:
    return [int(number, 16 if number[:2] in ("0x", "0X") else 10) for number in re.findall(_NUMBER, run[:_MOST_CODES])]


def _spelled(codes: list[int]) -> str:
    """Return the text that character codes spell, if most of it is letters, or if it is an address or a command."""
    if not all(31 < code < 0x3000 or code in (9, 10, 13) for code in codes):
        return ""
    said = "".join(map(chr, codes))
    letters, words = sum(map(str.isalpha, said)), sum(c.isalnum() or c == " " for c in said)
    plain = letters * 10 >= 4 * len(said) and words * 10 >= 6 * len(said)
    return said if plain or _COMMAND.search(said) else ""


_COMMAND = expression(r"\w://\w|\|\s?(?:ba|z)?sh\b|\b(?:curl|wget|nc|bash) -?\w")


def _unxored(codes: list[int], near: str) -> str:
    if "^" not in near or max(codes) > 255:
        return ""
    named = [int(number, 0) & 255 for number in _XOR.findall(near) if number.isdigit() or number.startswith("0x")]
    for key in (*named, *range(1, 256)):
        said = _spelled([code ^ key for code in codes])
        if said and (key in named or " " in said or "/" in said):
            return said
    return ""


_PERCENTS = expression(r"(?:%[0-9a-fA-F]{2}[\w.\-/:=&?+]{0,12}){6,}")
_DATA_TEXT = expression(r"data:(?:text|image/svg|application)[\w/+.;=-]{0,60},([^\s\"'<>`)]{12,20000})", re.IGNORECASE)
_NEEDLESS = expression(r"%(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a]|3[0-9])", re.IGNORECASE)


def _percent(given: _Given) -> Iterator[_Piece]:
    """Decode percent-encoded characters that need no encoding; ordinary addresses are left alone."""
    text = given.text
    if given.raw.count(b"%") < 6:
        return
    from urllib.parse import unquote

    if b"data:" in given.raw:
        yield from (_Piece("data URI", match.start(), unquote(match[1])) for match in _DATA_TEXT.finditer(text))
    if _NEEDLESS.search(text):
        yield from _spread(
            "percent-encoding", text, _PERCENTS, lambda run: unquote(run) if _NEEDLESS.search(run) else ""
        )


_ENTITIES = expression(r"(?:&#x?[0-9a-fA-F]{1,7};[^&\n<>]{0,4}){8,}")


def _entities(given: _Given) -> Iterator[_Piece]:
    text = given.text
    if given.raw.count(b"&#") >= 8:
        from html import unescape

        yield from _spread("HTML entities", text, _ENTITIES, unescape)


_EIGHTY_FIVE = expression(r"<~([!-u\sz]{15,100000})~>")


def _base85(given: _Given) -> Iterator[_Piece]:
    """Decode base85. It has no recognisable form, so it is tried where the text mentions it."""
    text = given.text
    if "85" not in text and "<~" not in text:
        return
    import base64

    for match in _EIGHTY_FIVE.finditer(text):
        yield from _attempt("ascii85", match.start(), match[1], base64.a85decode)
    if any(sign in given.lowered for sign in (b"b85", b"a85", b"base85", b"ascii85")):
        for start, literal in _literals(text):
            yield from _attempt("base85", start, literal, base64.b85decode)
            yield from _attempt("ascii85", start, literal, base64.a85decode)


def _attempt(name: str, offset: int, run: str, undo: Callable[[bytes], bytes]) -> Iterator[_Piece]:
    try:
        content = undo(run.encode())
    except ValueError:
        return
    yield _Piece(name, offset, content)


def _literals(text: str, least: int = 15) -> Iterator[tuple[int, str]]:
    """Return the string literals of a text, at most fifty."""
    found = ((match.start(), match[1] or match[2] or match[3]) for match in _STRINGS.finditer(text))
    return islice((one for one in found if len(one[1]) >= least), 50)


_REVERSALS = ("[::-1]", ".reverse()", "reversed(", "| rev", "|rev", "strrev(", ".reverse.", "[Array]::Reverse")


def _turned(given: _Given) -> Iterator[_Piece]:
    """Decode strings written backwards or in ROT13, if the text says how to reverse them."""
    text = given.text
    if any(sign in given.lowered for sign in (b"rot13", b"rot_13", b"n-za-m")):
        import codecs

        for start, literal in (*_literals(text, SHORTEST), *_alone(text)):
            yield _Piece("rot13", start, codecs.decode(literal, "rot13"))
    if any(sign in text for sign in _REVERSALS) or (
        any(sign in given.lowered for sign in (b"revers", b"backward", b"right to", b"right-to"))
        and _REVERSED.search(given.lowered.decode("latin-1"))
    ):
        for start, literal in (*_literals(text, SHORTEST), *_alone(text)):
            if _says_something(literal[::-1]):
                yield _Piece("reversal", start, literal[::-1])


def _says_something(turned: str) -> bool:
    """Return whether a reversed text contains a word that an expression or shell rule looks for, or an encoded run.

    An honest string contains neither when it is read backwards.
    """
    if not any(word in _telling() or word[:4] in _telling() for word in vocabulary(turned)):
        return b"a" * _LEAST in turned.encode("latin-1", "replace").translate(_CLASS)
    return True


@cache
def _telling() -> frozenset[str]:
    lists = ("shell_alarms", "shell_in_company", "english", "function", "addresses")
    words = all_beginnings().union(*(word_list(name) for name in lists))
    return frozenset(word for word in words if len(word) > 2)


_REVERSED = expression(
    r"(?:revers(?<!\w.{6})(?:e|ed|ing)|backward(?<!\w.{8})s?|right(?<!\w.{5})[ -]to[ -]left)\b", re.DOTALL
)
_ALONE = expression(r"^[ \t>]{0,20}(?:[-*][ \t])?([^\s\"'`][^\"'`\n]{11,2000})$", re.MULTILINE)
_COMMAND_SIGNS = expression(r"[|/$&;]")


def _alone(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines that may be an encoded command, at most fifty."""
    found = ((match.start(1), match[1]) for match in _ALONE.finditer(text))
    return islice((one for one in found if _COMMAND_SIGNS.search(one[1])), 50)


_BITS = expression(r"(?:\b[01]{8}\b[ ,\n]{0,2}){12,20000}")
_SPACED = expression(r"(?:\b[0-9a-fA-F]{2}[ :\n]){11,}[0-9a-fA-F]{2}\b")


def _spaced_hex(given: _Given) -> Iterator[_Piece]:
    """Decode bytes that are written one by one, in hexadecimal or binary digits."""
    text = given.text
    if b"0 01" in given.raw or b"1 01" in given.raw:
        for match in _BITS.finditer(text):
            yield _Piece("binary", match.start(), bytes(int(byte, 2) for byte in re.findall("[01]{8}", match[0])))
    if b"hex" in given.lowered or b"xxd" in given.lowered:
        for match in _SPACED.finditer(text):
            yield _Piece("hex", match.start(), bytes.fromhex(re.sub(r"[ :\n]", "", match[0])))

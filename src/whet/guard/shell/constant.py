"""The output of a pipeline of plain text tools, computed instead of run.

Hidden commands are spelled with `echo`, `printf`, `base64 -d`, `rev`, `tr` and `xxd -r`; for constant input their
output is constant too. Nothing is executed: each tool is a few lines of Python, and any other tool gives `None`.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.taint.fold import from_base64

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ESCAPE = expression(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_DIRECTIVE = expression(r"%[-+ #0]{0,5}\d{0,3}(?:\.\d{1,3})?([sbqdxco%])")
_MOST = 65_536


def unescape(text: str) -> str:
    """Undo the escapes of `$'...'`, `echo -e` and `printf`."""
    return _ESCAPE.sub(_escape, text) if "\\" in text else text


def printed(stages: Sequence[Sequence[str]], files: Mapping[str, str]) -> str | None:
    """Return the output of a pipeline of constant commands, or `None` if unknown; `files` maps paths to known texts."""
    text: str | None = None
    for number, argv in enumerate(stages):
        if not argv:
            return None
        text = print_constant(argv, files) if number == 0 else transform(argv, text or "")
        if text is None or len(text) > _MOST:
            return None
    return text


def decodes(argv: Sequence[str]) -> bool:
    """Return whether this command decodes its input."""
    name = argv[0].rpartition("/")[2]
    options = argv[1:]
    if name in ("base64", "gbase64", "base32"):
        return any(word in ("-d", "-D", "--decode") or re.fullmatch(r"-[a-z]*[dD][a-z]*", word) for word in options)
    if name == "openssl":
        return any(word == "-d" for word in options) and any(word in ("enc", "base64") for word in options)
    if name == "xxd":
        return any(re.fullmatch(r"-[a-z]*r[a-z]*|-revert", word) for word in options)
    if name == "tr":
        return len(options) >= 2 and _is_rotation(options[-2], options[-1])
    return name in ("rev", "uudecode", "gunzip", "zcat", "unxz", "bunzip2")


def read_file(path: str, files: Mapping[str, str]) -> str | None:
    """Return the text of a file, or of all that a pattern matches; a path with an unknown beginning matches by its end."""
    if path in files:
        return files[path]
    name = path.removeprefix("./")
    if re.search(r"[$`]", name):
        name = re.split(r"[$`][^/]{0,200}/", name)[-1].lstrip("./")
    if not name or re.search(r"[$`]", name):
        return None
    found = [one for one in sorted(files) if fnmatchcase(one, name) or fnmatchcase(one, f"*/{name}")]
    return "".join(files[one] for one in found) if found else None


def print_constant(argv: Sequence[str], files: Mapping[str, str]) -> str | None:
    """Return the output of a constant command without input, or `None` if unknown."""
    name = argv[0].rpartition("/")[2]
    if name == "cat" and files:
        texts = [read_file(path, files) for path in argv[1:] if not re.fullmatch(r"-[A-Za-z]{1,8}", path)]
        return "".join(text or "" for text in texts) if texts and None not in texts else None
    if name == "echo":
        options, words = _echo_options(argv[1:])
        text = " ".join(words)
        return (unescape(text) if "e" in options else text) + ("" if "n" in options else "\n")
    if name == "printf" and len(argv) > 1:
        rest = list(argv[1:])
        if rest[0] == "--":
            rest = rest[1:]
        return _printf(rest[0], rest[1:]) if rest and rest[0] != "-v" else None
    return None


def transform(argv: Sequence[str], text: str) -> str | None:
    """Return the output of a command with a known input, or `None` if unknown."""
    if not decodes(argv):
        return _translated(argv, text)
    name = argv[0].rpartition("/")[2]
    if name in ("base64", "gbase64", "openssl"):
        return _base64(text)
    if name == "xxd":
        return _hex(text)
    if name == "rev":
        return "\n".join(line[::-1] for line in text.split("\n"))
    return _translated(argv, text)


def _echo_options(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    options = ""
    for number, word in enumerate(words):
        if not re.fullmatch(r"-[neE]{1,3}", word):
            return options, words[number:]
        options += word[1:]
    return options, ()


def _printf(form: str, values: list[str]) -> str:
    remaining = list(values)

    def fill(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        value = remaining.pop(0) if remaining else ""
        return unescape(value) if match[1] == "b" else value

    plain = unescape(form)
    out = _DIRECTIVE.sub(fill, plain)
    rounds = 0
    while remaining and len(remaining) < len(values) and rounds < 200:
        out += _DIRECTIVE.sub(fill, plain)
        rounds += 1
    return out


def _base64(text: str) -> str | None:
    try:
        return from_base64(text).decode("utf-8", "replace")
    except ValueError:
        return None


def _hex(text: str) -> str | None:
    try:
        return bytes.fromhex(re.sub(r"\s+|\\x|0x", "", text)).decode("utf-8", "replace")
    except ValueError:
        return None


def _translated(argv: Sequence[str], text: str) -> str | None:
    if argv[0].rpartition("/")[2] != "tr" or len(argv) < 3:
        return None
    if argv[1] in ("-d", "--delete"):
        gone = set(_set(unescape(argv[2])))
        return "".join(letter for letter in text if letter not in gone)
    if argv[1].startswith("-") and len(argv[1]) > 1:
        return None
    left, right = _set(unescape(argv[1])), _set(unescape(argv[2]))
    if not right:
        return None
    right += right[-1] * (len(left) - len(right))
    return text.translate({ord(a): b for a, b in zip(left, right, strict=False)})


def _is_rotation(left: str, right: str) -> bool:
    """Return whether letters are exchanged for other letters, which is more than a change of case."""
    first, second = _set(left), _set(right)
    return len(first) >= 20 and len(second) >= 20 and first.lower() != second.lower() and first.isalnum()


def _set(text: str) -> str:
    out = ""
    at = 0
    while at < len(text) and len(out) < 1024:
        if at + 2 < len(text) and text[at + 1] == "-" and 0 <= ord(text[at + 2]) - ord(text[at]) < 256:
            out += "".join(map(chr, range(ord(text[at]), ord(text[at + 2]) + 1)))
            at += 3
        else:
            out += text[at]
            at += 1
    return out


def _escape(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match[group]:
            number = int(match[group], base)
            return chr(number) if number < 0x110000 else ""
    return _NAMED.get(match[5], match[5] if match[5] in "\\'\"?" else "\\" + match[5])

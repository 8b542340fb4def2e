"""Programming languages: by file name, in the code blocks of Markdown, and whether code parses.

Nothing is executed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

_SHELL = frozenset(("bash", "sh", "shell", "zsh"))
_EXTENSIONS = {
    "py": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "tsx": "typescript", "sh": "bash", "bash": "bash", "json": "json", "yaml": "yaml",
    "yml": "yaml", "toml": "toml", "sql": "sql", "rb": "ruby", "go": "go", "rs": "rust", "java": "java", "c": "c",
    "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "scala": "scala", "kt": "kotlin",
    "swift": "swift", "php": "php", "lua": "lua", "dart": "dart", "ex": "elixir", "exs": "elixir", "hs": "haskell",
    "groovy": "groovy", "jl": "julia", "r": "r", "html": "html", "css": "css", "md": "markdown",
}  # fmt: skip
_OTHER_NAMES = {
    "py": "python", "python3": "python", "js": "javascript", "mjs": "javascript", "jsx": "javascript", "node": "javascript",
    "yml": "yaml", "ts": "typescript", "tsx": "typescript", "rb": "ruby", "rs": "rust", "golang": "go", "kt": "kotlin",
    "c++": "cpp", "c#": "csharp", "cs": "csharp", "ex": "elixir", "hs": "haskell", "jl": "julia",
}  # fmt: skip
"""Other names of languages in code fences."""
_NO_PROGRAMS = frozenset(("json", "yaml", "toml", "sql", "html", "css", "markdown", "bash"))
_LONGEST = {"bash": 8_000}
"""Maximum number of characters to parse, by default 200,000: the time of the bash grammar can grow quadratically."""
_DEEPEST = 500
"""Maximum nesting depth of YAML: the time of its parser grows quadratically with the depth."""
_FENCED = re.compile(r"^[ \t]{0,80}(?P<fence>`{3,}|~{3,})(?P<info>[^\n`~]{0,500})\n", re.MULTILINE)
_LANGUAGE = re.compile(r"[\w+#-]{0,40}")


class Block(NamedTuple):
    """A code block in Markdown."""

    language: str
    text: str
    line: int
    """The line of the fence, from 1."""
    start: int = 0
    """The offset in the Markdown where the text begins; `end` is where it ends."""
    end: int = 0


def blocks_of(markdown: str) -> Iterator[Block]:
    """Yield the fenced blocks of a text, without the indentation of the list around them."""
    at = 0
    while found := _FENCED.search(markdown, at):
        end = re.compile(rf"^[ \t]*{found['fence'][0]}{{{len(found['fence'])},}}[ \t]*$", re.MULTILINE)
        closing = end.search(markdown, found.end())
        last = closing.start() if closing else len(markdown)
        text = dedent(markdown[found.end() : last])
        line = markdown.count("\n", 0, found.start()) + 1
        language = _LANGUAGE.match(found["info"].strip())
        yield Block(language[0].lower() if language else "", text, line, found.end(), last)
        at = closing.end() if closing else len(markdown)


def is_shell(language: str) -> bool:
    """Return whether the language is a shell language."""
    return language in _SHELL


def language_of(path: str) -> str:
    """Return the language of a file as code fences label it; empty for plain text."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return _EXTENSIONS.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


def is_program(language: str) -> bool:
    """Return whether a bare word in this language is a name, and a literal is always marked as one."""
    return language_name(language) in set(_EXTENSIONS.values()) - _NO_PROGRAMS


def language_name(language: str) -> str:
    """Return the canonical name of a language."""
    return "bash" if language in _SHELL else _OTHER_NAMES.get(language, language)


def parses(language: str, text: str) -> bool:
    """Return whether the code parses; True if that cannot be determined."""
    language = language_name(language)
    if len(text) > _LONGEST.get(language, 200_000):
        return True
    if language in ("bash", "javascript"):
        return not parse_code(language, text.encode("utf-8", "replace")).has_error
    check = _CHECKS.get(language)
    try:
        if check is not None:
            check(text)
    except (ValueError, SyntaxError, OverflowError, RecursionError, MemoryError):
        return False
    return True


def can_parse(language: str) -> bool:
    """Return whether there is a parser for the language."""
    return (name := language_name(language)) in ("bash", "javascript") or name in _CHECKS


MASK = bytes(byte if byte < 0x80 else ord("x") for byte in range(256))
"""Replaces bytes beyond ASCII by letters for the bash grammar: its scanner looks up characters in a table that ends
before them, and a character of the higher planes may crash the process."""


def parse_code(language: str, code: bytes) -> Node:
    """Return the syntax tree of a bash or JavaScript program. Read texts from `code`, not from its nodes."""
    return _parser(language).parse(code.translate(MASK) if language == "bash" else code).root_node


@lru_cache(maxsize=2)
def _parser(language: str) -> Parser:
    from importlib import import_module

    from tree_sitter import Language, Parser

    return Parser(Language(import_module(f"tree_sitter_{language}").language()))


def _python(text: str) -> None:
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(dedent(text))


def _json(text: str) -> None:
    import json

    json.loads(text)


def _toml(text: str) -> None:
    import tomllib

    tomllib.loads(text)


def _yaml(text: str) -> None:
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise ValueError("nested too deeply")
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


_CHECKS = {"python": _python, "json": _json, "yaml": _yaml, "toml": _toml}

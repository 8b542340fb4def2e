"""Does a piece of code parse in its language? Nothing is run. Of a language without a parser here nothing is said."""

from __future__ import annotations

import re
from functools import lru_cache
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Parser

_SHELL = frozenset(("bash", "sh", "shell", "zsh"))
_LONGEST = 200_000
_FENCED = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+#-]*)[^\n`]*\n", re.MULTILINE)


class Block(NamedTuple):
    """A block of code in Markdown."""

    language: str
    text: str
    line: int
    """The line of its fence, from 1."""


def blocks_of(markdown: str) -> Iterator[Block]:
    """The fenced blocks of a text, without the indentation of the list that they stand in."""
    at = 0
    while found := _FENCED.search(markdown, at):
        end = re.compile(rf"^[ \t]*{found['fence'][0]}{{{len(found['fence'])},}}[ \t]*$", re.MULTILINE)
        closing = end.search(markdown, found.end())
        last = closing.start() if closing else len(markdown)
        text = dedent(markdown[found.end() : last])
        yield Block(found["language"].lower(), text, markdown.count("\n", 0, found.start()) + 1)
        at = closing.end() if closing else len(markdown)


def is_shell(language: str) -> bool:
    """Is it the language of a shell?"""
    return language in _SHELL


def parses(language: str, text: str) -> bool:
    """Whether the code parses; True where that cannot be told."""
    if len(text) > _LONGEST:
        return True
    if language in _SHELL:
        return not _tree("bash", text)
    if language in ("javascript", "js", "mjs"):
        return not _tree("javascript", text)
    check = {"python": _python, "py": _python, "json": _json, "yaml": _yaml, "yml": _yaml, "toml": _toml}.get(language)
    try:
        if check is not None:
            check(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _tree(language: str, text: str) -> bool:
    """Does the tree of a text have an error?"""
    return _parser(language).parse(text.encode("utf-8", "replace")).root_node.has_error


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

    try:
        for _ in yaml.parse(text):
            pass
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error

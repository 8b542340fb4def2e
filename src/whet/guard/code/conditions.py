"""Conditions on names: which variables of the environment, or which files, a PowerShell program chooses.

A pattern is tried on names that tell a secret, and on ordinary ones; one that holds for all of them chooses nothing.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

from whet.guard.expression import expression
from whet.guard.taint.containers import gathered
from whet.guard.taint.mark import HOLE, Mark
from whet.guard.taint.names import variable
from whet.guard.taint.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.guard.code.reader import Reader
    from whet.guard.code.syntax import Node
    from whet.guard.taint.value import Scope

_SIMPLE = expression(r"[\w*?.^$|()\[\]\\+:=!/,;@#%&~<>\"' -]{1,300}")
_NESTED = expression(r"\)[*+{]")
_REPEATS = expression(r"[*+]")
NAMES = "(names)"
"""The name of a value that is the name of any variable of the environment."""
ORDINARY = ("PATH", "COMPUTERNAME", "BUILD_NUMBER", "LANG", "PROCESSOR_LEVEL")
SECRETS = (
    "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE_PASSWORD", "CLIENT_SECRET", "NPM_TOKEN", "AZURE_CLIENT_SECRET",
    "ANTHROPIC_API_KEY", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_PRIVATE_KEY", "DB_PASS", "STRIPE_SECRET_KEY", "AZURE_PAT",
)  # fmt: skip
"""Names of variables that conditions are tried on."""
ORDINARY_FILES = ("README.md", "src", "report.docx", "data.csv", "Documents")
SECRET_FILES = (
    ".ssh", ".aws", ".azure", ".kube", ".gnupg", "id_rsa", "id_ed25519", ".env", "credentials", ".npmrc", ".pypirc", ".netrc", ".git-credentials",
    "bitwarden_export.json", "passwords.csv", "Login Data", "key4.db", "logins.json", "wallet.dat", "passwords.kdbx", "server.pem",
)  # fmt: skip
"""Names of files and directories that conditions are tried on."""


def chosen(names: Sequence[str]) -> Value:
    """Return the variables of the environment that a condition holds for; of more than a few, the names are only examples."""
    found = gathered([variable(Value(name)) for name in names])
    return found if len(found.marks) < _FEW else Value(marks=frozenset((_MANY,)))


_FEW = 4
_MANY = Mark("env", "the secrets in the environment", "environment", grave=True, whole=True)


def compared(node: Node) -> tuple[str, list[Node]] | None:
    """Return how a condition compares, and what; None for any other expression."""
    if node.kind == "set" and node.words and node.words[0][0] == "pattern":
        return "match", [node.parts[0], node.words[0][1]]
    callee = node.parts[0] if node.kind == "call" else node
    way = {"-eq": "eq", "-like": "like"}.get(callee.text) if callee.kind == "member" else None
    return (way, [*callee.parts, *node.parts[1:]]) if way is not None else None


def conditions(reader: Reader, nodes: Sequence[Node], scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the conditions on names in a block: how they compare, and with what."""
    for node in nodes:
        if (condition := compared(node)) is not None:
            way, sides = condition
            for text in {text for side in sides for text in texts_in(reader.value(side, scope))}:
                yield way, text
        yield from conditions(reader, node.parts, scope)


def texts_in(value: Value) -> list[str]:
    return [text for one in value.items or [value] for text in one.texts if HOLE not in text]


def matched(way: str, text: str, telling: Sequence[str], ordinary: Sequence[str]) -> list[str] | None:
    """Return the telling names that a condition may hold for; None if that is unknown, or if it holds for all names."""
    if way in ("eq", "in"):
        return [text]
    pattern = search_pattern(fnmatch.translate(text) if way == "like" and _SIMPLE.fullmatch(text) else text)
    if pattern is None:
        return None
    search = pattern.match if way == "like" else pattern.search
    return None if all(map(search, ordinary)) else [name for name in telling if search(name)]


def search_pattern(text: str, repeats: int = 5) -> re.Pattern[str] | None:
    """Return a pattern of a program as one that is safe to try; None for any other, such as one with more `repeats`."""
    if not _SIMPLE.fullmatch(text) or _NESTED.search(text) or len(_REPEATS.findall(text)) > repeats:
        return None
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error:
        return None

"""The tables `data/secret_*.toml`; the rows of each are created when they are first needed."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from whet.guard.tables import load_toml


class Shape(NamedTuple):
    """The form of the tokens of one provider."""

    kind: str
    """Human-readable kind, also used as the replacement for a hidden token."""
    mark: str
    """A text that every token contains, searched first."""
    regex: str
    bits: float | None = None
    """Least entropy in bits per character of the varying part; a shape without it does not accuse a package."""
    apart: bool = False
    """Other characters may stand between the mark and the token."""


class Place(NamedTuple):
    """A place of a secret that no name announces."""

    mark: str
    """A text that the place always contains, searched first."""
    before: str
    kind: str = "password"
    behind: str = ""
    proof: str = ""
    """The required proof, if it differs from that of the kind."""
    unless: str = ""
    """An expression that must not match the command before it."""


@cache
def exact(regex: str) -> re.Pattern[str]:
    """Return the compiled pattern of a shape."""
    return re.compile(regex)


@cache
def shapes() -> tuple[Shape, ...]:
    """Return the tokens that are recognised by their shape alone."""
    return tuple(Shape(**row) for row in load_toml("secret_shapes")["shapes"])


@cache
def all_shapes() -> tuple[Shape, ...]:
    """Return `shapes()` and the tokens that only the name before them identifies."""
    return (*shapes(), *(Shape(**row) for row in load_toml("secret_shapes")["named"]))


@cache
def accusing() -> tuple[tuple[Shape, float], ...]:
    """Return the shapes that accuse a package, each with the required bits."""
    return tuple((shape, shape.bits) for shape in all_shapes() if shape.bits is not None)


@cache
def places() -> tuple[Place, ...]:
    """Return the places on command lines and in calls."""
    table = load_toml("secret_places")
    fragments: dict[str, str] = table["fragments"]

    def expand(text: str) -> str:
        return re.sub("@([a-z_]+)@", lambda found: expand(fragments[found[1]]), text)

    return tuple(Place(**{field: expand(text) for field, text in row.items()}) for row in table["places"])


@cache
def names() -> dict[str, str]:
    """Return the words that name a secret, each with its pattern for text in lower case."""
    table = load_toml("secret_words")
    keys = "|".join(f"(?<={word}{sep}key)" for word in table["keys"] for sep in ("", "_", "-", " "))
    return {word: pattern.replace("@keys@", keys) for word, pattern in table["names"].items()}

"""The tables `data/secret_*.toml`: the rows of each are made once, when they are first needed."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from whet.guard.tables import load_toml


class Shape(NamedTuple):
    """How the tokens of one provider look."""

    kind: str
    """Words for a person, and what is left where a token is hidden."""
    mark: str
    """A piece of text that is always there, looked for first."""
    regex: str
    bits: float | None = None
    """The least number of bits in a character of the varying part; without it, the shape accuses no package."""
    apart: bool = False
    """Other signs may stand between the mark and the token."""


class Place(NamedTuple):
    """Where a secret stands that no name announces."""

    mark: str
    """A piece of text that is always there, looked for first."""
    before: str
    kind: str = "password"
    behind: str = ""
    proof: str = ""
    """How much it takes to be one, where it is not as for others of its kind."""
    unless: str = ""
    """What must not stand in the command before it."""


@cache
def exact(regex: str) -> re.Pattern[str]:
    """The pattern of a shape, as it is."""
    return re.compile(regex)


@cache
def shapes() -> tuple[Shape, ...]:
    """The tokens whose shape says what they are."""
    return tuple(Shape(**row) for row in load_toml("secret_shapes")["shapes"])


@cache
def all_shapes() -> tuple[Shape, ...]:
    """These, and tokens that only the name before them identifies."""
    return (*shapes(), *(Shape(**row) for row in load_toml("secret_shapes")["named"]))


@cache
def accusing() -> tuple[tuple[Shape, float], ...]:
    """The shapes that accuse a package, and the bits that it takes."""
    return tuple((shape, shape.bits) for shape in all_shapes() if shape.bits is not None)


@cache
def places() -> tuple[Place, ...]:
    """The places on command lines and in calls."""
    table = load_toml("secret_places")
    fragments: dict[str, str] = table["fragments"]

    def expand(text: str) -> str:
        return re.sub("@([a-z_]+)@", lambda found: expand(fragments[found[1]]), text)

    return tuple(Place(**{field: expand(text) for field, text in row.items()}) for row in table["places"])


@cache
def names() -> dict[str, str]:
    """The words that name a secret, and what it takes to be one, as patterns for text in lower case."""
    table = load_toml("secret_words")
    keys = "|".join(f"(?<={word}{sep}key)" for word in table["keys"] for sep in ("", "_", "-", " "))
    return {word: pattern.replace("@keys@", keys) for word, pattern in table["names"].items()}

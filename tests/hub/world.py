"""A hub with a clock that stands still, and archives to publish on it."""

from __future__ import annotations

from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from whet.hub.blobs import open_blobs
from whet.hub.checker import Checker
from whet.hub.database import open_database
from whet.hub.log import HubLog
from whet.hub.registry import Hub, HubSettings
from whet.hub.tokens import Identity
from whet.skill.archive import pack
from whet.skill.tree import Item, digest, entries

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
NOON = 1_800_000_000
ACME = Identity("ada", ("publish:acme", "yank:acme"), "token", "laptop")
MODERATOR = Identity("mo", ("moderate",), "token", "")
STEPS = "# Review\n\n1. Read the diff.\n2. Report what is wrong.\n"


class Archive(NamedTuple):
    """A skill as it is sent."""

    data: bytes
    digest: str


def make_archive(name: str = "review", version: str = "", body: str = STEPS, **files: str) -> Archive:
    """A skill with this name; `files` are further ones, with underscores for dots."""
    more = f'metadata:\n  version: "{version}"\n' if version else ""
    described = "Reviews changes before they are merged. Use when the user asks for a review of a diff."
    main = f"---\nname: {name}\ndescription: {described}\n{more}---\n{body}"
    tree = {"SKILL.md": Item(main.encode())}
    tree |= {path.replace("_", "."): Item(text.encode()) for path, text in files.items()}
    return Archive(pack(name, tree), digest(entries(tree)))


def open_hub(address: str, blobs: str, *, private: bool = False, checker: Checker | None = None) -> Hub:
    """A hub on this database, with its archives there or in a directory."""
    database = open_database(address)
    log = HubLog(database, "hub.example", KEY)
    return Hub(
        database,
        open_blobs(blobs, database),
        log,
        checker or Checker(1),
        HubSettings(private=private),
        lambda: NOON * 10**9,
    )

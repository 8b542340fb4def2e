"""Tokens of a hub, and what their holders may do.

A token is `whet_` and 32 random bytes; the hub keeps only its hash. A scope is a word, and what it is for: `read`,
`publish:acme`, `publish:acme/review`, `yank:acme`, `moderate`, `admin`. Whoever may do something for an owner may do it
for all of its skills; `admin` may do everything.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import zlib
from typing import NamedTuple

from whet.errors import UsageError

PREFIX = "whet_"
DAYS = 90
"""How long a token is good for, unless another time is asked for."""
VERBS = ("read", "publish", "yank", "moderate", "admin")
_FOR_OWNERS = ("publish", "yank")
_OWNER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SCOPE = re.compile(r"([a-z]+)(?::([a-z0-9-]+)(?:/([a-z0-9-]+))?)?")


class Identity(NamedTuple):
    """Who asks, and what they may do."""

    account: str = ""
    """"" where nobody was named."""
    scopes: tuple[str, ...] = ()
    kind: str = "anonymous"
    """`anonymous`, `token` or `oidc`."""
    detail: str = ""
    """The label of the token, or where the request was made from."""

    def may(self, verb: str, owner: str = "", name: str = "") -> bool:
        """May this be done, for this owner or skill?"""
        wanted = {"admin", verb, f"{verb}:{owner}", f"{verb}:{owner}/{name}"}
        return not wanted.isdisjoint(self.scopes)


ANYBODY = Identity()


def make_token() -> tuple[str, bytes]:
    """A new token, and the hash to keep of it."""
    secret = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    token = f"{PREFIX}{secret}{_checksum(secret)}"
    return token, hash_token(token)


def hash_token(token: str) -> bytes:
    """What the hub keeps of a token. Guessing it from the hash is as hard as guessing 32 random bytes."""
    return hashlib.sha256(token.encode()).digest()


def is_token(text: str) -> bool:
    """Has the text the form of a token? A slip of the pen is seen without asking the database."""
    body = text.removeprefix(PREFIX)
    return body != text and len(body) == 43 + 6 and text.isascii() and _checksum(body[:-6]) == body[-6:]


def check_scopes(scopes: tuple[str, ...]) -> tuple[str, ...]:
    """The scopes, if each is one. Raises UsageError `bad-scope`."""
    for scope in scopes:
        match = _SCOPE.fullmatch(scope)
        verb, owner = (match[1], match[2]) if match else ("", "")
        if verb not in VERBS or bool(owner) != (verb in _FOR_OWNERS):
            hint = "Scopes are read, publish:OWNER, publish:OWNER/NAME, yank:OWNER, moderate and admin."
            raise UsageError("bad-scope", f"{scope!r} is not a scope.", hint=hint)
    return scopes


def is_owner(name: str) -> bool:
    """Can this be the name of an owner?"""
    return len(name) <= 39 and _OWNER.fullmatch(name) is not None


def _checksum(text: str) -> str:
    return base64.b32encode(zlib.crc32(text.encode()).to_bytes(4, "big")).decode().rstrip("=").lower()[:6].ljust(6, "a")

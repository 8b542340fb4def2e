"""Tokens of a hub, and what their holders may do.

A token is `whet_` and 32 random bytes; the hub keeps only its hash. A scope is a word, and what it is for: `read`,
`publish:acme`, `publish:acme/review`, `yank:acme`, `moderate`, `admin`. Whoever may do something for an owner may do it
for all of its skills; `admin` may do everything.

A token that the hub's operator made allows what its scopes say. A person's own token never allows more than the roles
of its holder do at that moment: a role that is taken away is gone from every token at once.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "whet_"
DAYS = 90
"""How long a token is good for, unless another time is asked for."""
ACCOUNT = "account"
"""The scope of a token that stands for its holder: everything that their roles allow."""
ROLES = {
    "reader": ("read",),
    "publisher": ("read", "publish", "yank"),
    "admin": ("read", "publish", "yank", "manage"),
}
"""The roles of an owner's members, the least first, and what each may do for the owner."""
HUB_ROLES = {"": (), "moderator": ("moderate",), "admin": ("admin",)}
"""The roles that an account can have for the whole hub."""
_FOR_OWNERS = ("publish", "yank", "manage")
_FOR_ALL = ("moderate", "admin")
_OWNER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SCOPE = re.compile(r"([a-z]+)(?::([a-z0-9-]+)(?:/([a-z0-9-]+))?)?")


class Identity(NamedTuple):
    """Who asks, and what they may do."""

    account: str = ""
    """"" where nobody was named."""
    scopes: tuple[str, ...] = ()
    kind: str = "anonymous"
    """`anonymous`, `token`, `oidc` for a workflow that proved where it runs, or `operator` for whoever runs the hub."""
    detail: str = ""
    """The label of the token, or where the request was made from."""
    token: int = 0
    """The number of the token."""
    expires: int = 0
    claims: str = ""
    """What a workflow proved about itself, as a JSON object."""

    def may(self, verb: str, owner: str = "", name: str = "") -> bool:
        """May this be done, for this owner or skill?

        `read` without an owner is for reading a private hub; it does not open what an owner keeps private.
        """
        wanted = {"admin", f"{verb}:{owner}", f"{verb}:{owner}/{name}"}
        if verb != "read" or not owner:
            wanted.add(verb)
        return not wanted.isdisjoint(self.scopes)


ANYBODY = Identity()
OPERATOR = Identity("operator", ("admin",), "operator")
"""Whoever may write into the hub's own directory."""


def sees(who: Identity, owner: str, name: str) -> bool:
    """May this private skill be seen?"""
    return who.may("read", owner, name) or who.may("publish", owner, name) or who.may("moderate")


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
        if not (verb in _FOR_OWNERS if owner else verb in _FOR_ALL) and verb != "read":
            hint = (
                "Scopes are read, read:OWNER, publish:OWNER, publish:OWNER/NAME, yank:OWNER, manage:OWNER, "
                "moderate and admin."
            )
            raise UsageError("bad-scope", f"{scope!r} is not a scope.", hint=hint)
    return scopes


def allowed_scopes(scopes: tuple[str, ...], role: str, members: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """What a person's own token allows now: what it says, as far as the roles of its holder go.

    `role` is the one for the whole hub, `members` are owners with the role there.
    """
    held = ["read", *HUB_ROLES[role], *(f"{verb}:{owner}" for owner, role in members for verb in ROLES[role])]
    if ACCOUNT in scopes:
        return (ACCOUNT, *held)
    return tuple(scope for scope in scopes if not {scope, scope.partition("/")[0], "admin"}.isdisjoint(held))


def is_owner(name: str) -> bool:
    """Can this be the name of an owner?"""
    return len(name) <= 39 and _OWNER.fullmatch(name) is not None


def _checksum(text: str) -> str:
    return base64.b32encode(zlib.crc32(text.encode()).to_bytes(4, "big")).decode().rstrip("=").lower()[:6].ljust(6, "a")

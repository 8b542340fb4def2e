"""Tokens of a hub and their permissions.

A token is `whet_` and 32 random bytes; the hub stores only its hash. A scope is a verb with an optional target: `read`,
`publish:acme`, `publish:acme/review`, `yank:acme`, `moderate`, `admin`. A permission for an owner covers all of its
skills; `admin` covers everything.

A token that the hub's operator created has the permissions of its scopes. A personal token never has more than the
current roles of its holder: removing a role affects every token at once.
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
"""Default lifetime of a token."""
ACCOUNT = "account"
"""Scope of a token with all permissions of its holder's roles."""
ROLES = {
    "reader": ("read",),
    "publisher": ("read", "publish", "yank"),
    "admin": ("read", "publish", "yank", "manage"),
}
"""Roles of an owner's members, from least to most, with their verbs."""
HUB_ROLES = {"": (), "moderator": ("moderate",), "admin": ("admin",)}
"""Roles of an account for the whole hub."""
_FOR_OWNERS = ("publish", "yank", "manage")
_FOR_ALL = ("moderate", "admin")
_OWNER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SCOPE = re.compile(r"([a-z]+)(?::([a-z0-9-]+)(?:/([a-z0-9-]+))?)?")


class Identity(NamedTuple):
    """A caller and its permissions."""

    account: str = ""
    """"" for an anonymous caller."""
    scopes: tuple[str, ...] = ()
    kind: str = "anonymous"
    """`anonymous`, `token`, `oidc` for a verified workflow, or `operator` for the operator of the hub."""
    detail: str = ""
    """Label of the token, or origin of the request."""
    token: int = 0
    """Id of the token."""
    expires: int = 0
    claims: str = ""
    """Verified claims of a workflow, as a JSON object."""

    def may(self, verb: str, owner: str = "", name: str = "") -> bool:
        """Return whether the caller may do this, for this owner or skill.

        `read` without an owner allows reading a private hub; it does not cover the private skills of an owner.
        """
        wanted = {"admin", f"{verb}:{owner}", f"{verb}:{owner}/{name}"}
        if verb != "read" or not owner:
            wanted.add(verb)
        return not wanted.isdisjoint(self.scopes)


ANYBODY = Identity()
OPERATOR = Identity("operator", ("admin",), "operator")
"""The user who can write to the hub's own directory."""


def sees(who: Identity, owner: str, name: str) -> bool:
    """Return whether the caller may see this private skill."""
    return who.may("read", owner, name) or who.may("publish", owner, name) or who.may("moderate")


def make_token() -> tuple[str, bytes]:
    """Create a token; return it and its hash."""
    secret = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    token = f"{PREFIX}{secret}{_checksum(secret)}"
    return token, hash_token(token)


def hash_token(token: str) -> bytes:
    """Return the hash of a token. Guessing a token from it is as hard as guessing 32 random bytes."""
    return hashlib.sha256(token.encode()).digest()


def is_token(text: str) -> bool:
    """Return whether the text has the form of a token; typos are detected without the database."""
    body = text.removeprefix(PREFIX)
    return body != text and len(body) == 43 + 6 and text.isascii() and _checksum(body[:-6]) == body[-6:]


def check_scopes(scopes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the scopes if all are valid. Raise UsageError `bad-scope`."""
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
    """Return the current permissions of a personal token: its scopes, limited by the roles of its holder.

    `role` is the one for the whole hub, `members` are owners with the role there.
    """
    held = ["read", *HUB_ROLES[role], *(f"{verb}:{owner}" for owner, role in members for verb in ROLES[role])]
    if ACCOUNT in scopes:
        return (ACCOUNT, *held)
    return tuple(scope for scope in scopes if not {scope, scope.partition("/")[0], "admin"}.isdisjoint(held))


def is_owner(name: str) -> bool:
    """Return whether this is a valid name of an owner."""
    return len(name) <= 39 and _OWNER.fullmatch(name) is not None


def _checksum(text: str) -> str:
    return base64.b32encode(zlib.crc32(text.encode()).to_bytes(4, "big")).decode().rstrip("=").lower()[:6].ljust(6, "a")

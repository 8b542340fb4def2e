"""The operator's settings for identities and mirrors in `hub.toml`."""

from __future__ import annotations

from typing import NamedTuple

from whet.hub.tokens import is_owner

RESOLVER = "https://cloudflare-dns.com/dns-query"
"""Address of a DNS-over-HTTPS service (JSON) for TXT records."""


class Login(NamedTuple):
    """The identity provider for logins."""

    issuer: str = ""
    """Its address; "" for none."""
    client_id: str = ""
    client_secret: str = ""
    """"" for a public client; PKCE is used either way."""
    domains: tuple[str, ...] = ()
    """E-mail domains whose users get an account; empty for all users of the provider."""


class OwnProvider(NamedTuple):
    """A platform with workflows that the operator runs."""

    name: str
    issuer: str
    like: str = "gitlab"


class Mirror(NamedTuple):
    """Another hub, or a site with an index of skills, whose skills this hub fetches on request."""

    url: str
    kind: str = "hub"
    """`hub`, or `site` for one with `/.well-known/agent-skills`."""
    owner: str = ""
    """Local owner of a site's skills."""
    prefix: str = ""
    """Prefix of the names of a hub's owners here."""
    owners: tuple[str, ...] = ()
    """Owners of a hub that are mirrored, by their names there; empty for all."""
    key: str = ""
    """Key of a hub's log; "" for the one shown at the first contact."""
    token: str = ""
    """Token for a private hub."""

    def check(self) -> None:
        """Raise ValueError for an invalid mirror."""
        if self.kind not in ("hub", "site"):
            raise ValueError(f"`kind` of a mirror is {self.kind!r}, not hub or site")
        if self.kind == "site" and not is_owner(self.owner):
            raise ValueError("a mirror of a site needs an `owner`, such as docs")
        if self.prefix and not is_owner(f"{self.prefix}a"):
            raise ValueError(f"`prefix` of a mirror is {self.prefix!r}, which no name of an owner starts with")

    @property
    def location(self) -> str:
        """Address without a trailing slash."""
        return self.url.rstrip("/")

    def theirs(self, owner: str) -> str:
        """Return the upstream name of an owner of this hub; "" if the mirror does not cover it."""
        if self.kind == "site":
            return owner if owner == self.owner else ""
        name = owner.removeprefix(self.prefix) if owner.startswith(self.prefix) else ""
        return name if not self.owners or name in self.owners else ""

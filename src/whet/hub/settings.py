"""What the operator of a hub decides about identities and mirrors, as `hub.toml` says it."""

from __future__ import annotations

from typing import NamedTuple

from whet.hub.tokens import is_owner

RESOLVER = "https://cloudflare-dns.com/dns-query"
"""Where TXT records are asked for: over HTTPS, answered in JSON."""


class Login(NamedTuple):
    """The provider where people log in."""

    issuer: str = ""
    """Its address; "" for none."""
    client_id: str = ""
    client_secret: str = ""
    """"" for a public client; PKCE is used either way."""
    domains: tuple[str, ...] = ()
    """Domains of the e-mail addresses that get an account; none: everybody whom the provider knows."""


class OwnProvider(NamedTuple):
    """A platform with workflows that the operator runs."""

    name: str
    issuer: str
    like: str = "gitlab"


class Mirror(NamedTuple):
    """Another hub, or a site with an index of skills, whose skills this hub fetches when somebody asks for them."""

    url: str
    kind: str = "hub"
    """`hub`, or `site` for one with `/.well-known/agent-skills`."""
    owner: str = ""
    """Whose skills those of a site are here."""
    prefix: str = ""
    """What stands before the names of a hub's owners here."""
    owners: tuple[str, ...] = ()
    """The owners of a hub that are mirrored, by their names there; none: all."""
    key: str = ""
    """The key of a hub's log; "": the one that it shows at the first contact."""
    token: str = ""
    """For a private hub."""

    def check(self) -> None:
        """Raise ValueError for what cannot be mirrored."""
        if self.kind not in ("hub", "site"):
            raise ValueError(f"`kind` of a mirror is {self.kind!r}, not hub or site")
        if self.kind == "site" and not is_owner(self.owner):
            raise ValueError("a mirror of a site needs an `owner`, such as docs")
        if self.prefix and not is_owner(f"{self.prefix}a"):
            raise ValueError(f"`prefix` of a mirror is {self.prefix!r}, which no name of an owner starts with")

    @property
    def location(self) -> str:
        """The address without a slash at its end."""
        return self.url.rstrip("/")

    def theirs(self, owner: str) -> str:
        """What an owner of this hub is called there; "" where the mirror has nothing to do with them."""
        if self.kind == "site":
            return owner if owner == self.owner else ""
        name = owner.removeprefix(self.prefix) if owner.startswith(self.prefix) else ""
        return name if not self.owners or name in self.owners else ""

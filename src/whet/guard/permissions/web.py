"""May a tool fetch this address? A rule is about a host, and the host is read the way no trick survives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.guard.permissions.grants import Grant

_URL = re.compile(r"(https?)://([^/?#]{1,300})(?:[/?#].*)?", re.IGNORECASE)
_NAME = re.compile(r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LONGEST = 4096


def allowed_address(tool: str, given: Mapping[str, object], grants: Iterable[Grant]) -> tuple[str, str]:
    """`allow`, `ask` or `deny`, and why, for a call that fetches an address."""
    host, problem = host_of_address(given.get("url"))
    if problem:
        return "deny", problem
    rules = [grant.rule for grant in grants if grant.tool == tool and not grant.problem]
    if any(rule and covers_host(rule, host) for rule in rules):
        return "allow", f"{host} is granted"
    if "" not in rules:
        return "deny", f"no grant lets {tool} fetch from {host}"
    if is_inside(host):
        return "ask", f"{host} is an address or a host of the machine or its network, which no grant names"
    return "allow", f"{tool} is granted for every host"


def host_of_address(url: Any) -> tuple[str, str]:
    """The host, with its port unless that is the usual one; or what is wrong with the address."""
    if not isinstance(url, str) or not url or len(url) > _LONGEST:
        return "", "there is no url" if not url or not isinstance(url, str) else "the url is too long"
    if re.search(r"[\x00-\x20\x7f\\]", url):
        return "", "the url holds a blank, a backslash or a control character"
    if not (found := _URL.fullmatch(url)):
        return "", "only http and https addresses are fetched"
    scheme, authority = found[1].lower(), found[2].lower()
    if "@" in authority:
        return "", "the url names a user before its host"
    name, bracket, port = authority.rpartition("]")
    if bracket:
        name, port = name + bracket, port.removeprefix(":")
        known = re.fullmatch(r"\[[0-9a-f:.]{2,45}\]", name) is not None
    else:
        name, _, port = authority.partition(":")
        name = name.removesuffix(".")
        known = _NAME.fullmatch(name) is not None
    if not known:
        return "", "the host of the url is not written plainly, in ASCII"
    if port and not re.fullmatch(r"\d{1,5}", port):
        return "", "the port of the url is not a number"
    usual = port in ("", {"http": "80", "https": "443"}[scheme])
    return name if usual else f"{name}:{port}", ""


def covers_host(rule: str, host: str) -> bool:
    """Does `domain:example.com` or `domain:*.example.com` cover a host? Another port has to be in the rule."""
    wanted = rule.removeprefix("domain:")
    if wanted.startswith("*."):
        return host.endswith(wanted[1:]) and len(host) > len(wanted) - 1
    return host == wanted


def is_inside(host: str) -> bool:
    """A literal address, or a host that is not one of the open internet."""
    from whet.guard.hosts import host_of

    return host_of(f"http://{host}/").kind in ("loopback", "private", "address")

"""The self-description of a package: its name and purpose, its declared needs, and whether it is about security.

A skill about security mentions attacks, so examples that its own text labels as such weigh a step less. Its orders do
not, nor does code that reaches a real address. A package can call itself anything: a host weighs less only if the package
comes from the owner of that host.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from whet.guard.expression import expression
from whet.guard.hosts import URL, host_of
from whet.guard.tables import shape, word_list
from whet.skill.frontmatter import find_fences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.guard.documents import Document

_SECURITY = shape("subject", "security", frame=r"\b(?:{})\b")
_MANY = 6
"""Number of different defence words that make a text about security if its head does not say so."""
_SEVERAL = 3
"""Number of defence words that suffice if the head says so."""
_VARIABLE = expression(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,60}\b")


class Subject(NamedTuple):
    """The self-description of a package."""

    security: bool
    hosts: frozenset[str]
    variables: frozenset[str]
    words: str = ""
    """Name, description and title in lower case, letters and digits only."""
    origin: str = ""
    """The source of the package, `host/owner/repository` or a host; "" if unknown."""
    text: str = ""
    """The text of the main file."""
    defence: bool = False
    """The package says that it is about security, and mentions it throughout."""

    def declares(self, subject: str) -> bool:
        """Return whether the frontmatter names this variable, or names this host and its owner provides the package."""
        if not subject:
            return False
        name = host_of(subject).name
        named = name in self.hosts or any(name.endswith("." + host) for host in self.hosts)
        return subject in self.variables or (named and self.is_at_home(name))

    def is_about(self, host: str) -> bool:
        """Return whether the package claims to be about the owner of this host. Anyone can claim so."""
        name = host_of(host).name
        return name in self.hosts or any(part in self.words for part in _owner(name))

    def serves(self, host: str) -> bool:
        """Return whether the package is about the service of this host: named in its head, with several pages in the text."""
        return host_of(host).kind == "other" and self.is_about(host) and _domain(host) in _services(self.text)

    def is_at_home(self, host: str) -> bool:
        """Return whether the source of the package belongs to the owner of this host.

        Only the owner of a repository counts, by the whole name: anyone can call a repository `acme-tools`.
        """
        place, _, path = self.origin.lower().partition("/")
        home = re.sub(r"[^a-z0-9]", "", path.partition("/")[0]) if path else "".join(_owner(place)[:1])
        return bool(home) and home == "".join(_owner(host)[:1])


_SEVERAL_PAGES = 3


def _domain(host: str) -> str:
    return ".".join(host_of(host).name.split(".")[-2:])


def _services(text: str) -> frozenset[str]:
    """Return the domains that a text links to in several places."""
    pages = Counter(_domain(url) for url in {url.rstrip(".,:;)*_") for url in URL.findall(text[:200_000])})
    return frozenset(domain for domain, count in pages.items() if count >= _SEVERAL_PAGES)


def _owner(host: str) -> list[str]:
    """Return the parts of the registered name of a host."""
    labels = host.removeprefix("www.").split(".")
    owner = labels[-2] if len(labels) > 1 else labels[0]
    owner = labels[-3] if len(owner) <= 3 and len(labels) > 2 else owner
    return [part for part in (re.sub(r"[^a-z0-9]", "", owner), *re.split(r"[-_]", owner)) if len(part) > 2]


NOTHING = Subject(security=False, hosts=frozenset(), variables=frozenset())


def _speaks_of_defence(text: str, least: int = _MANY) -> bool:
    lowered = text[:60_000].lower()
    return sum(word in lowered for word in word_list("defence")) >= least


def subject_of(documents: Sequence[Document], origin: str = "") -> Subject:
    """Return the self-description in the main file; `NOTHING` for a package without one."""
    main = next(
        (document for document in documents if document.path.lower() in ("skill.md", "skills.md") and not document.via),
        None,
    )
    if main is None:
        return NOTHING
    fences = find_fences(main.text)
    head = main.text[fences.start : fences.end][:20_000] if fences.start >= 0 and fences.closed else ""
    title = re.search(r"^#[ \t]+(.{0,200})$", main.text, re.MULTILINE)
    topic = _SECURITY.search(head) or (_SECURITY.search(title[1]) if title else None)
    spoken = topic is not None or _speaks_of_defence(main.text)
    hosts = frozenset(name for name in (host_of(url).name for url in URL.findall(head)) if "." in name)
    words = re.sub(r"[^a-z0-9]", "", f"{head} {title[1] if title else ''}".lower())
    defence = topic is not None and _speaks_of_defence(main.text, _SEVERAL)
    return Subject(spoken, hosts, frozenset(_VARIABLE.findall(head)), words, origin, main.text, defence)

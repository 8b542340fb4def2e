"""What a hub answers, as values. The page that says what a hub must answer is `docs/hub-api.md`."""

from __future__ import annotations

from typing import NamedTuple

from whet.sources.indexes.answers import Answer, address_in, bad_response, shown


class Summary(NamedTuple):
    """One skill in a list."""

    owner: str
    name: str
    description: str
    latest: str
    """"" where every version is yanked."""
    digest: str

    @property
    def path(self) -> str:
        """How a reference names it."""
        return f"{self.owner}/{self.name}"


class Version(NamedTuple):
    """One version of a skill."""

    owner: str
    name: str
    version: str
    description: str
    digest: str
    url: str
    """Where its archive lies."""
    sha256: str
    size: int
    yanked: str | None
    """Why it was yanked; None where it is not."""


class Page(NamedTuple):
    """A part of a list of skills."""

    skills: tuple[Summary, ...]
    next: str
    """What asks for the next part; "" at the end."""


def read_summary(answer: Answer) -> Summary:
    """A skill of a list, or one skill."""
    latest = answer.address_part("latest") if "latest" in answer else ""
    return Summary(
        answer.address_part("owner"),
        answer.address_part("name"),
        answer.prose("description"),
        latest,
        f"sha256:{answer.sha256('digest')}" if latest else "",
    )


def read_page(answer: Answer) -> Page:
    """A part of a list of skills."""
    return Page(tuple(map(read_summary, answer.parts("skills"))), answer.maybe("next") or "")


def read_version(answer: Answer, url: str, owner: str, name: str, version: str) -> Version:
    """The version that was asked for, from the answer at an address. Raises InvalidError `bad-response`."""
    told = tuple(answer.address_part(field) for field in ("owner", "name", "version"))
    if told != (owner, name, version):
        asked = f"{owner}/{name} {version}"
        raise bad_response(f"The hub was asked for {asked} and answered {shown('{}/{} {}'.format(*told))}.")
    archive, yanked = answer.needed("archive"), answer.part("yanked")
    return Version(
        owner,
        name,
        version,
        answer.prose("description"),
        f"sha256:{answer.sha256('digest')}",
        address_in(url, archive.text("url")),
        archive.sha256("sha256", prefix=""),
        archive.number("size"),
        None if yanked is None else yanked.prose("reason"),
    )

"""Where a package really comes from decides how far it is trusted, whatever its address or a lock says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sources.loopback import answer, redirect, serving
from sources.repositories import Repository, World, skill
from whet.errors import NotFoundError
from whet.sources.install.installer import DOUBTS
from whet.sources.model import Ref
from whet.sources.registries.url import UrlSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        yield made


def test_what_anybody_can_propose_is_not_what_the_repository_has(tmp_path: Path, world: World) -> None:
    repository = Repository.new(tmp_path / "repository")
    repository.commit({"a/SKILL.md": skill("a")})
    proposed = repository.commit({"a/SKILL.md": skill("proposed")}, branch="stranger")
    repository.git("update-ref", "refs/pull/7/head", proposed)
    repository.git("update-ref", "-d", "refs/heads/stranger")
    with pytest.raises(NotFoundError) as caught:
        world.source(repository.url, "pull/7/head").inspect()
    assert caught.value.code == "no-such-ref"
    source = world.source(repository.url, "refs/pull/7/head")
    (package,) = source.fetch(source.inspect().offers)
    assert (package.offer.name, [note.code for note in package.notes]) == ("proposed", ["commit-not-on-branch"])


def test_a_branch_called_like_a_proposal_is_a_branch(tmp_path: Path, world: World) -> None:
    repository = Repository.new(tmp_path / "repository")
    commit = repository.commit({"a/SKILL.md": skill("a")}, branch="pull/7/head")
    listing = world.source(repository.url, "pull/7/head").inspect()
    assert (listing.revision, listing.notes) == (commit, ())


def test_an_address_that_leads_to_another_host_hands_no_trust_on(world: World) -> None:
    there = {"/SKILL.md": answer(skill("notes").encode(), content_type="text/markdown")}
    with serving(there) as other, serving({"/SKILL.md": redirect(f"{other.url}/SKILL.md")}) as server:
        web = server.web(private_hosts=(server.host, other.host))
        source = UrlSource(Ref("url", f"{server.url}/SKILL.md"), world.reach._replace(web=web))
        (package,) = source.fetch(source.inspect().offers)
    (note,) = package.notes
    assert (note.code, note.code in DOUBTS) == ("moved-elsewhere", True)

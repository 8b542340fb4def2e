"""A hub in the shape of ClawHub's API: what its clients read, and Whet's own client for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hub.server import Served, serving
from hub.test_client import Person
from hub.world import ACME, DESCRIBED, NOON, make_archive, publish, refused
from whet.errors import NotFoundError
from whet.hub import clawhub
from whet.hub.discovery import make_artifact
from whet.hub.lifecycle import set_tag, set_visibility
from whet.hub.tokens import ANYBODY, OPERATOR
from whet.sources.refs.parse import read_remote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.hub.registry import Hub

TWICE = "# Review\n\n1. Read it twice.\n"
NOW = NOON * 1000


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "sqlite") as running:
        yield running


def release(version: str) -> dict[str, Any]:
    return {"version": version, "createdAt": NOW, "changelog": ""}


def test_a_skill_its_versions_and_a_search(store: Hub) -> None:
    publish(store, "1.0.0")
    publish(store, "1.1.0", body=TWICE)
    shown = {
        "slug": "review",
        "displayName": "review",
        "summary": DESCRIBED,
        "tags": {"latest": "1.1.0"},
        "stats": {"downloads": 0},
        "createdAt": NOW,
        "updatedAt": NOW,
    }
    assert clawhub.show_skill(store, "review", "") == {
        "skill": shown,
        "latestVersion": release("1.1.0"),
        "owner": {"handle": "acme", "displayName": "acme"},
        "moderation": {"isSuspicious": False, "isMalwareBlocked": False, "verdict": "clean"},
    }
    items = [{**shown, "latestVersion": release("1.1.0")}]
    assert clawhub.list_skills(store, 20, "") == {"items": items, "nextCursor": None}
    first = clawhub.list_versions(store, "review", "acme", 1, "")
    assert first["items"] == [release("1.1.0")]
    rest = clawhub.list_versions(store, "review", "acme", 1, first["nextCursor"])
    assert rest == {"items": [release("1.0.0")], "nextCursor": None}
    found = clawhub.show_version(store, "review", "", "1.0.0")
    files = found["version"].pop("files")
    assert found == {
        "skill": {"slug": "review", "displayName": "review"},
        "version": {**release("1.0.0"), "security": {"status": "clean"}},
    }
    assert [(file["path"], sorted(file)) for file in files] == [("SKILL.md", ["path", "sha256", "size"])]
    [result] = clawhub.search(store, "review a diff", 5)["results"]
    assert 0 < result.pop("score") <= 1
    assert result == {
        "slug": "review",
        "displayName": "review",
        "ownerHandle": "acme",
        "summary": DESCRIBED,
        "version": "1.1.0",
    }


def test_a_download_is_of_the_version_the_tag_or_the_newest(store: Hub) -> None:
    publish(store, "1.0.0")
    publish(store, "1.1.0", body=TWICE)
    set_tag(store, ACME, "acme", "review", "stable", "1.0.0")
    old, new = (make_artifact(store, ANYBODY, ("acme", "review", version)) for version in ("1.0.0", "1.1.0"))
    for version, tag, data in (("", "", new), ("1.0.0", "", old), ("", "stable", old), ("", "latest", new)):
        assert clawhub.download(store, "review", "", version, tag, caller="") == data
    missing = (NotFoundError, "version-not-found")
    assert refused(lambda: clawhub.download(store, "review", "", "", "none", caller="")) == missing


@pytest.mark.parametrize("way", ["private", "yanked", "quarantined"])
def test_what_nobody_should_install_is_not_there(store: Hub, way: str) -> None:
    publish(store, "1.0.0")
    publish(store, "1.1.0", body=TWICE)
    if way == "private":
        set_visibility(store, OPERATOR, "acme", "review", "private")
    else:
        mark = store.yank if way == "yanked" else store.quarantine
        mark(OPERATOR, "acme", "review", "1.1.0", "Broken.")
        assert clawhub.list_versions(store, "review", "", 20, "")["items"] == [release("1.0.0")]
        missing = (NotFoundError, "version-not-found")
        assert refused(lambda: clawhub.show_version(store, "review", "", "1.1.0")) == missing
        assert refused(lambda: clawhub.download(store, "review", "", "1.1.0", "", caller="")) == missing
        mark(OPERATOR, "acme", "review", "1.0.0", "Broken.")
    missing = (NotFoundError, "skill-not-found")
    assert refused(lambda: clawhub.show_skill(store, "review", "acme")) == missing
    assert refused(lambda: clawhub.list_versions(store, "review", "", 20, "")) == missing
    assert refused(lambda: clawhub.download(store, "review", "", "", "", caller="")) == missing
    assert clawhub.list_skills(store, 20, "") == {"items": [], "nextCursor": None}
    assert clawhub.search(store, "review", 20) == {"results": []}


def test_of_one_name_the_owner_decides_or_who_was_first(store: Hub) -> None:
    publish(store, owner="zeta")
    publish(store, body="# Review\n\nAsk for the reason of every change that you do not see at once.\n")
    for asked, owner in (("", "zeta"), ("acme", "acme"), ("Acme", "acme")):
        assert clawhub.show_skill(store, "review", asked)["owner"]["handle"] == owner
    page = clawhub.list_skills(store, 1, "")
    assert [len(page["items"]), len(clawhub.list_skills(store, 1, page["nextCursor"])["items"])] == [1, 1]


def test_a_skill_on_a_hub_has_one_reference() -> None:
    ref = read_remote("clawhub:https://hub.example/clawhub/acme/review@1.0.0")
    assert (ref.kind, ref.location, ref.path, ref.ref) == (
        "clawhub",
        "https://hub.example/clawhub",
        "acme/review",
        "1.0.0",
    )


@pytest.mark.deep
def test_whet_installs_from_a_hub_as_from_clawhub(tmp_path: Path, served: Served) -> None:
    assert served.ask("GET", "/.well-known/clawhub.json").json == {"apiBase": "https://hub.example/clawhub"}
    assert served.ask("GET", "/clawhub/api/v1/search").code == (400, "bad-request")
    assert served.ask("GET", "/clawhub/api/v1/skills/review").code == (404, "skill-not-found")
    assert served.publish(notes_md="# Notes\n").status == 201
    bob = Person(tmp_path / "bob", served)
    code, done = bob.whet("install", f"clawhub:{bob.address}/clawhub/acme/review")
    assert (code, done["installed"]) == (0, ["review"])
    assert bob.lock()["skills"]["skills/review"]["digest"] == make_archive(notes_md="# Notes\n").digest
    served.publish(path="/api/v1/skills/acme/review/versions/1.1.0")
    assert bob.whet("update")[0] == 0
    assert bob.lock()["skills"]["skills/review"]["digest"] == make_archive().digest

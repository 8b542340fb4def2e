"""Collections of skills, on every database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hub.world import ACME, publish, refused
from whet.errors import NotFoundError, RefusedError, UsageError
from whet.hub.collections import list_collections, put_skill, remove_collection, set_collection, show_collection
from whet.hub.lifecycle import set_visibility
from whet.hub.tokens import ANYBODY, Identity

if TYPE_CHECKING:
    from whet.hub.registry import Hub

EVE = Identity("eve", ("publish:eve", "publish:acme/review"), "token", "")


def names(hub: Hub, who: Identity) -> list[str]:
    return [found["name"] for found in list_collections(hub, who)["collections"]]


def test_a_collection_has_skills_of_any_owner(store: Hub) -> None:
    publish(store)
    publish(store, name="audit", owner="eve")
    made = set_collection(store, ACME, "acme", "starters", title="For a start")
    assert made == {
        "owner": "acme",
        "name": "starters",
        "title": "For a start",
        "description": "",
        "private": False,
        "updated": "2027-01-15T08:00:00Z",
        "skills": [],
    }
    put_skill(store, ACME, "acme", "starters", ("eve", "audit"), "Before a release.")
    shown = put_skill(store, ACME, "acme", "starters", ("acme", "review"), "")
    assert [(skill["owner"], skill["note"]) for skill in shown["skills"]] == [
        ("acme", ""),
        ("eve", "Before a release."),
    ]
    assert show_collection(store, ANYBODY, "acme", "starters") == shown
    assert put_skill(store, ACME, "acme", "starters", ("acme", "review"), "") == shown
    left = put_skill(store, ACME, "acme", "starters", ("eve", "audit"), None)
    assert [skill["name"] for skill in left["skills"]] == ["review"]
    changes = [json.loads(entry) for _, entry in store.log.entries(0, 100)]
    assert [(act.get("skill"), act.get("change")) for act in changes if act["act"] == "collection"] == [
        (None, None),
        ("eve/audit", "added"),
        ("acme/review", "added"),
        ("eve/audit", "removed"),
    ]
    remove_collection(store, ACME, "acme", "starters")
    assert list_collections(store, ANYBODY) == {"collections": [], "next": None}
    assert refused(lambda: show_collection(store, ANYBODY, "acme", "starters")) == (
        NotFoundError,
        "collection-not-found",
    )


def test_what_is_private_stays_private(store: Hub) -> None:
    publish(store)
    set_visibility(store, ACME, "acme", "secret", "private")
    set_collection(store, ACME, "acme", "ours", title="Ours", visibility="private")
    set_collection(store, ACME, "acme", "all", title="All")
    put_skill(store, ACME, "acme", "all", ("acme", "secret"), "")
    put_skill(store, ACME, "acme", "all", ("acme", "review"), "")
    assert (names(store, ANYBODY), names(store, EVE), names(store, ACME)) == (["all"], ["all"], ["all", "ours"])
    seen = [
        [skill["name"] for skill in show_collection(store, who, "acme", "all")["skills"]] for who in (ANYBODY, ACME)
    ]
    assert seen == [["review"], ["review", "secret"]]
    assert refused(lambda: show_collection(store, EVE, "acme", "ours"))[1] == "collection-not-found"
    log = "".join(entry for _, entry in store.log.entries(0, 100))
    assert "secret" not in log and "ours" not in log.lower()


def test_only_those_of_the_owner_change_a_collection(store: Hub) -> None:
    publish(store)
    set_collection(store, ACME, "acme", "starters", title="For a start")
    for who, code in ((EVE, "not-allowed"), (ANYBODY, "token-needed")):
        for call in (
            lambda: set_collection(store, who, "acme", "starters", title="Mine"),  # noqa: B023
            lambda: put_skill(store, who, "acme", "starters", ("acme", "review"), ""),  # noqa: B023
            lambda: remove_collection(store, who, "acme", "starters"),  # noqa: B023
        ):
            assert refused(call) == (RefusedError, code)
    for title, name, visibility in (
        ("", "x", "public"),
        ("x" * 101, "x", "public"),
        ("x", "X Y", "public"),
        ("x", "x", "?"),
    ):
        call = lambda: set_collection(store, ACME, "acme", name, title=title, visibility=visibility)  # noqa: B023, E731
        assert refused(call) == (UsageError, "bad-request")
    absent = lambda: put_skill(store, ACME, "acme", "starters", ("acme", "none"), "")  # noqa: E731
    assert refused(absent) == (NotFoundError, "skill-not-found")


def test_collections_are_paged_by_owner_and_name(store: Hub) -> None:
    for name in ("delta", "alpha", "bravo"):
        set_collection(store, ACME, "acme", name, title=name)
    set_collection(store, EVE, "eve", "zulu", title="Z")
    first = list_collections(store, ANYBODY, limit=2)
    assert [found["name"] for found in first["collections"]] == ["alpha", "bravo"]
    rest = list_collections(store, ANYBODY, limit=2, cursor=first["next"])
    assert ([found["name"] for found in rest["collections"]], rest["next"]) == (["delta", "zulu"], None)
    assert [found["name"] for found in list_collections(store, ANYBODY, "eve")["collections"]] == ["zulu"]

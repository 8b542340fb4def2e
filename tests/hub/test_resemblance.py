"""Copies and names that are easily mistaken are held when they are published, on every database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hub.world import ACME, MODERATOR, publish
from whet.hub.lifecycle import set_visibility
from whet.hub.tokens import Identity

if TYPE_CHECKING:
    from whet.hub.registry import Hub

EVE = Identity("eve", ("publish:eve",), "token", "")
ORIGINAL = """# Release notes

1. Find the last tag and list every commit since then, with author and subject.
2. Group the commits by what a reader notices: new things, changes, fixes and what was removed.
3. Write one sentence for each group entry in the present tense, without names of files or functions.
4. Put breaking changes first and say what the reader has to do about each of them.
5. Ask for a look at the draft before you write it into the changelog.
"""
PARAGRAPH = "\n6. Then thank the team, and mention the newsletter at the end of the page.\n"
OTHER = """# Bread

1. Mix flour, water, salt and yeast in a bowl and let the dough rest for half an hour under a damp cloth.
2. Fold the dough four times, with a quarter of an hour between each time, and then let it rise overnight.
3. Heat the oven as far as it goes, with a pot inside, and bake the loaf for forty minutes.
"""


def make_popular(hub: Hub, name: str = "release-notes") -> None:
    publish(hub, name=name, body=ORIGINAL)
    hub.database.write(lambda change: change.run("UPDATE skills SET downloads = 500 WHERE name = ?", name))
    hub.index.count_downloads()


def told(document: dict[str, Any]) -> tuple[str, object, list[tuple[str, str]]]:
    reason = (document["quarantined"] or {}).get("reason")
    return document["status"], reason, [(found["owner"], found["name"]) for found in document["resembles"]]


def test_a_copy_of_a_popular_skill_is_held(store: Hub) -> None:
    make_popular(store)
    copy = publish(store, name="changelog-writer", owner="eve", body=ORIGINAL + PARAGRAPH)
    assert told(copy) == ("quarantined", "It is 100% the same as acme/release-notes.", [("acme", "release-notes")])
    assert copy["resembles"][0]["share"] == 1.0
    half = publish(store, name="half", owner="eve", body=ORIGINAL[: len(ORIGINAL) * 2 // 3] + OTHER)
    assert (half["status"], [found["name"] for found in half["resembles"]]) == ("active", ["release-notes"])
    assert told(publish(store, name="bread", owner="eve", body=OTHER)) == ("active", None, [])


def test_versions_after_a_release_by_a_moderator_pass(store: Hub) -> None:
    make_popular(store)
    publish(store, name="changelog-writer", owner="eve", body=ORIGINAL + PARAGRAPH)
    again = publish(store, "1.0.1", "changelog-writer", owner="eve", body=ORIGINAL + "\n6. Sign it.\n")
    assert again["status"] == "quarantined"
    store.quarantine(MODERATOR, "eve", "changelog-writer", "1.0.0", None)
    later = publish(store, "1.1.0", "changelog-writer", owner="eve", body=ORIGINAL + "\n6. Print it.\n")
    assert (later["status"], len(later["resembles"])) == ("active", 1)


def test_a_harmless_skill_does_not_become_a_copy_unseen(store: Hub) -> None:
    make_popular(store)
    assert publish(store, name="bread", owner="eve", body=OTHER)["status"] == "active"
    assert publish(store, "1.1.0", "bread", owner="eve", body=ORIGINAL + PARAGRAPH)["status"] == "quarantined"


def test_a_name_like_a_popular_one_is_held(store: Hub) -> None:
    make_popular(store)
    held = publish(store, name="relaese-notes", owner="eve", body=OTHER)
    assert told(held) == ("quarantined", "Its name is easily mistaken for acme/release-notes.", [])
    store.quarantine(MODERATOR, "eve", "relaese-notes", "1.0.0", None)
    assert publish(store, "1.1.0", "relaese-notes", owner="eve", body=OTHER + PARAGRAPH)["status"] == "active"
    assert publish(store, name="release-note", body=OTHER)["status"] == "active"  # its own owner may


def test_nothing_is_held_where_nothing_is_popular_or_seen(store: Hub) -> None:
    publish(store, name="release-notes", body=ORIGINAL)
    fork = publish(store, name="changelog-writer", owner="eve", body=ORIGINAL)
    assert told(fork) == ("active", None, [("acme", "release-notes")])
    set_visibility(store, ACME, "acme", "secret", "private")
    publish(store, name="secret", body=OTHER)
    assert told(publish(store, name="bread", owner="eve", body=OTHER)) == ("active", None, [])


def test_a_private_copy_is_not_held(store: Hub) -> None:
    make_popular(store)
    set_visibility(store, EVE, "eve", "mine", "private")
    assert publish(store, name="mine", owner="eve", body=ORIGINAL)["status"] == "active"
    assert json.loads(store.version(EVE, "eve", "mine", "1.0.0"))["resembles"][0]["owner"] == "acme"

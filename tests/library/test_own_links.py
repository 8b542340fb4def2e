"""Links that lead out of the roots: what is the user's own is followed, the rest waits until the user trusts it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whet.errors import NotFoundError, RefusedError, UsageError, WhetError
from whet.library.discovery import is_own_link
from whet.library.roots import Root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library


@pytest.fixture
def home(tmp_path: Path, config: Callable[..., None]) -> Path:
    """A home with an empty root of the user's; skills that ship with Whet are left out."""
    config()
    (tmp_path / "home" / ".agents" / "skills").mkdir(parents=True)
    return tmp_path / "home"


def mine(home: Path) -> Path:
    return home / ".agents" / "skills"


def names(library: Library) -> list[str]:
    return [card.full_name for card in library.skills()]


def notes(library: Library, base: Path) -> list[tuple[str, str, str]]:
    found = [note for note in library.workspace.report() if note.code.startswith("link-")]
    return sorted((note.code, note.severity, os.path.relpath(note.path, base)) for note in found)


# the user's own


def test_what_the_user_links_from_their_dotfiles_is_listed_read_and_named(
    home: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(home / "dotfiles"), "one", body="From the dotfiles.\n")
    skill(str(home / "dotfiles"), "group/two")
    (home / "dotfiles" / "one" / "references").mkdir()
    (home / "dotfiles" / "one" / "references" / "a.md").write_text("A.\n")
    (mine(home) / "one").symlink_to("../../dotfiles/one")
    (mine(home) / "group").symlink_to(home / "dotfiles" / "group")
    library = opened()
    assert names(library) == ["one", "two"]
    assert library.read("one").content == "From the dotfiles.\n"
    assert library.read("one", "references/a.md").content == "A.\n"
    assert library.read("two").content == "Body.\n"
    assert notes(library, mine(home)) == [("link-own", "info", "group"), ("link-own", "info", "one")]
    assert names(opened()) == ["one", "two"]  # from the cache


def test_a_linked_skill_is_read_again_when_it_changes_and_refused_once_it_is_not_private(
    home: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(home / "dotfiles"), "one")
    (mine(home) / "one").symlink_to(home / "dotfiles" / "one")
    library = opened(settled=True)
    card = library.card("one")
    (home / "dotfiles").chmod(0o777)
    with pytest.raises(RefusedError) as caught:
        library.workspace.open(card)
    assert (caught.value.code, str(home / "dotfiles" / "one") in caught.value.hint) == ("path-escape", True)
    (home / "dotfiles").chmod(0o755)
    assert library.workspace.open(card).card == card


def test_a_link_that_is_turned_elsewhere_is_judged_anew(
    home: Path, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(home / "dotfiles"), "one")
    skill(str(tmp_path / "outside"), "one")
    (mine(home) / "one").symlink_to(home / "dotfiles" / "one")
    library = opened(settled=True)
    card = library.card("one")
    (mine(home) / "one").unlink()
    (mine(home) / "one").symlink_to(tmp_path / "outside" / "one")
    with pytest.raises(RefusedError, match="outside every root"):
        library.workspace.open(card)
    assert (names(library), notes(library, mine(home))) == ([], [("link-escape", "error", "one")])


# not the user's own


def test_no_other_link_out_of_the_roots_is_followed(
    home: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    """The last one is what a repository may hold that was cloned into the root: the user did not make it."""
    private = home / ".ssh"
    private.mkdir()
    (private / "id_example").write_text("---\nname: key\ndescription: A private key.\n---\n")
    skill(str(home / "open"), "one")
    skill(str(home / "dotfiles"), "two")
    (home / "open").chmod(0o777)
    root = mine(home)
    (root / "etc").symlink_to("/etc")
    (root / "home").symlink_to(home)
    (root / "key.md").symlink_to(private / "id_example")
    (root / "open").symlink_to(home / "open" / "one")
    (root / "loop").symlink_to("loop")
    (root / "cloned").mkdir()
    (root / "cloned" / "SKILL.md").symlink_to("../../../.ssh/id_example")
    (root / "group").mkdir()
    (root / "group" / "two").symlink_to(home / "dotfiles" / "two")
    library = opened()
    assert names(library) == []
    assert notes(library, root) == [
        ("link-broken", "warning", "loop"),
        ("link-escape", "error", "cloned/SKILL.md"),
        ("link-escape", "error", "etc"),
        ("link-escape", "error", "group/two"),
        ("link-escape", "error", "home"),
        ("link-escape", "error", "key.md"),
        ("link-escape", "error", "open"),
    ]
    assert {note.code for note in library.doctor()} >= {"link-escape", "link-broken"}


def test_a_directory_of_secrets_holds_no_skills_and_nothing_of_it_is_read(
    home: Path, opened: Callable[..., Library]
) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_example").write_text("secret")
    (home / ".ssh" / "notes.md").write_text("---\nname: secret\ndescription: A secret.\n---\n")
    (mine(home) / "keys").symlink_to(home / ".ssh")
    assert names(opened()) == []


def test_what_a_linked_skill_links_to_again_is_not_given_out(
    home: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    directory = home / "dotfiles" / "one"
    skill(str(home / "dotfiles"), "one")
    (home / "secret.txt").write_text("secret")
    (directory / "secret.txt").symlink_to(home / "secret.txt")
    (directory / "up").symlink_to("..")
    (mine(home) / "one").symlink_to(directory)
    library = opened()
    view = library.read("one")
    assert [file["path"] for file in view.to_json()["files"]] == ["SKILL.md"]
    assert sorted(note.code for note in view.notes) == ["link-escape", "link-escape"]
    for path in ("secret.txt", "up/one/SKILL.md"):
        with pytest.raises(WhetError) as caught:
            library.read("one", path)
        assert caught.value.code == "path-escape"


def test_a_main_file_that_leaves_a_linked_skill_is_refused(
    home: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(home / "dotfiles"), "one")
    (home / "dotfiles" / "two").mkdir()
    (home / "dotfiles" / "two" / "SKILL.md").symlink_to("../one/SKILL.md")
    (mine(home) / "two").symlink_to(home / "dotfiles" / "two")
    library = opened()
    assert names(library) == []
    assert [(note.code, note.path) for note in library.workspace.report() if note.code != "link-own"] == [
        ("unreadable", str(mine(home) / "two" / "SKILL.md"))
    ]


@pytest.mark.parametrize("scope", ["project", "external", "org", "plugin"])
def test_only_the_users_own_roots_have_links_of_their_own(scope: str, home: Path, skill: Callable[..., str]) -> None:
    skill(str(home / "dotfiles"), "one")
    (mine(home) / "one").symlink_to(home / "dotfiles" / "one")
    link, target = str(mine(home) / "one"), str(home / "dotfiles" / "one")
    root = Root(str(mine(home)), "user", real=str(mine(home)), home=str(home))
    assert is_own_link(root, link, target)
    assert not is_own_link(root._replace(scope=scope), link, target)


def test_a_repository_leads_nowhere_until_the_user_trusts_the_place(
    home: Path, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(home / "private"), "diary")
    root = tmp_path / "project" / ".agents" / "skills"
    root.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (root / "diary").symlink_to(home / "private" / "diary")
    library = opened()
    library.settings.trust()
    assert (names(library), notes(library, root)) == ([], [("link-escape", "error", "diary")])
    answer = library.settings.trust(str(root / "diary"))
    target = str(home / "private" / "diary")
    assert (answer.project, answer.trusted, answer.changed, answer.skills) == (target, True, True, ("diary",))
    assert (names(library), notes(library, root)) == (["diary"], [])
    assert library.settings.trust(target).changed is False
    assert [item.path for item in library.settings.trusted()] == [target, str(tmp_path / "project")]
    library.settings.untrust(str(root / "diary"))
    assert (names(library), notes(library, root)) == ([], [("link-escape", "error", "diary")])


@pytest.mark.usefixtures("home")
def test_a_projects_own_directory_may_be_a_link_to_a_place_that_is_trusted(
    tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(tmp_path / "shared"), "one")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".agents").mkdir()
    (tmp_path / "project" / ".agents" / "skills").symlink_to(tmp_path / "shared")
    library = opened()
    library.settings.trust()
    where = tmp_path / "project"
    assert (names(library), notes(library, where)) == ([], [("link-escape", "error", ".agents/skills")])
    library.settings.trust(str(where / ".agents" / "skills"))
    assert (names(library), notes(library, where)) == (["one"], [])


# trust


def test_trust_is_for_what_the_link_led_to_and_nothing_else(
    home: Path, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for place in ("first", "second"):
        skill(str(tmp_path / place), "one", body=f"The {place}.\n")
    link = mine(home) / "one"
    link.symlink_to(tmp_path / "first" / "one")
    library = opened(settled=True)
    assert names(library) == []
    library.settings.trust(str(link))
    assert library.read("one").content == "The first.\n"
    link.unlink()
    link.symlink_to(tmp_path / "second" / "one")
    assert names(library) == []
    link.unlink()
    link.symlink_to(tmp_path / "first" / "one")
    assert names(library) == ["one"]
    (tmp_path / "first" / "one").rename(tmp_path / "aside")
    (tmp_path / "first" / "one").symlink_to(tmp_path / "second" / "one")
    assert names(library) == []


def test_places_that_cannot_be_trusted(
    home: Path, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(str(tmp_path / "open"), "one")
    (tmp_path / "open").chmod(0o777)
    (home / ".ssh").mkdir()
    library = opened()
    for path, kind, code in (
        ("/", UsageError, "trust-too-wide"),
        (str(home), UsageError, "trust-too-wide"),
        (str(tmp_path), UsageError, "trust-too-wide"),
        (str(tmp_path / "open"), UsageError, "trust-writable"),
        (str(home / ".ssh"), NotFoundError, "no-skills-found"),
        (str(home / "nowhere"), NotFoundError, "path-not-found"),
        (str(tmp_path / "open" / "one" / "SKILL.md"), NotFoundError, "path-not-found"),
    ):
        with pytest.raises(kind) as caught:
            library.settings.trust(path)
        assert (caught.value.code, bool(caught.value.hint)) == (code, True)
    assert list(library.settings.trusted()) == []


# chains


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hops=st.lists(st.sampled_from(["home", "root", "outside", "loop"]), max_size=6), end=st.booleans())
def test_a_chain_of_links_is_followed_if_and_only_if_its_end_is_the_users_own(
    hops: list[str], end: bool, home: Path, tmp_path: Path, skill: Callable[..., str]
) -> None:
    """However many links lie on the way, and wherever: only where the last one leads counts."""
    places = {"home": home / "hops", "root": mine(home) / ".hops", "outside": tmp_path / "hops"}
    for place in (*places.values(), home / "ends", tmp_path / "ends"):
        place.mkdir(exist_ok=True)
    number = len([*places["home"].parent.glob("ends/*"), *(tmp_path / "ends").glob("*")])
    target = (home if end else tmp_path) / "ends" / f"skill-{number}"
    skill(str(target.parent), target.name)
    at = target
    for turn, hop in enumerate(hops):
        where = places.get(hop, places["home"]) / f"{number}-{turn}"
        where.symlink_to(where if hop == "loop" else os.path.relpath(at, where.parent))
        at = where
    link = mine(home) / f"link-{number}"
    link.symlink_to(at)
    root = Root(str(mine(home)), "user", real=str(mine(home)), home=str(home))
    assert is_own_link(root, str(link), os.path.realpath(link)) == (end and "loop" not in hops)

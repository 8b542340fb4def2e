from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet.errors import AmbiguousError, NotFoundError, RefusedError
from whet.library import listing
from whet.library.visibility import can_be_hidden
from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library
    from whet.library.card import Card

SCOPES = ("project", "user", "org", "external")


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """A directory of skills for each scope, and one of a plugin; the project is a repository that is trusted later."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    found = {
        "project": str(tmp_path / "project" / ".agents" / "skills"),
        "user": str(tmp_path / "home" / ".agents" / "skills"),
        "org": str(tmp_path / "org"),
        "external": str(tmp_path / "external"),
        "plugin": str(tmp_path / "plugin"),
    }
    for path in found.values():
        os.makedirs(path)
    set_up(tmp_path, found)
    return found


def set_up(tmp_path: Path, places: dict[str, str], *lines: str) -> None:
    settings = [*lines, f"external = ['{places['external']}']", "[plugins]", f"acme = '{places['plugin']}'"]
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "config.toml").write_text("\n".join(settings))


def descriptions(library: Library) -> list[tuple[str, str]]:
    return [(item["name"], item["description"]) for item in library.skills().to_json()["skills"]]


# who wins


def test_scopes_take_precedence_in_their_order(
    places: dict[str, str], skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for scope in SCOPES:
        skill(places[scope], "deploy", description=f"Of {scope}.")
    library = opened()
    library.settings.trust()
    for position, scope in enumerate(SCOPES):
        assert descriptions(library) == [("deploy", f"Of {scope}.")]
        assert library.card("deploy").scope == scope
        assert [loser.scope for loser, _ in library.catalogue.shadowed] == list(SCOPES[position + 1 :])
        os.unlink(f"{places[scope]}/deploy/SKILL.md")
    assert descriptions(library) == []


def test_the_order_of_scopes_can_be_set(
    tmp_path: Path, places: dict[str, str], skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for scope in SCOPES:
        skill(places[scope], "deploy", description=f"Of {scope}.")
    library = opened()
    library.settings.trust()
    set_up(tmp_path, places, 'precedence = ["org", "user", "project", "external"]')
    assert descriptions(library) == [("deploy", "Of org.")]
    assert [loser.scope for loser, _ in library.catalogue.shadowed] == ["user", "project", "external"]


def test_within_a_scope_the_first_root_and_within_a_root_the_first_path_wins(
    places: dict[str, str], tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    claude = str(tmp_path / "home" / ".claude" / "skills")
    skill(claude, "deploy", description="Of claude.")
    skill(places["user"], "b/deploy", description="Second.")
    skill(places["user"], "a/deploy", description="First.")
    library = opened()
    assert descriptions(library) == [("deploy", "First.")]
    assert [loser.description for loser, _ in library.catalogue.shadowed] == ["Second.", "Of claude."]


def test_a_skill_beats_a_command_of_its_name(
    tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library], config: Callable[..., None]
) -> None:
    config()
    commands = tmp_path / "home" / ".claude" / "commands"
    commands.mkdir(parents=True)
    for name in ("deploy", "other"):
        (commands / f"{name}.md").write_text("---\ndescription: A command.\n---\n")
    skill(str(tmp_path / "home" / ".claude" / "skills"), "deploy", description="A skill.")
    assert descriptions(opened()) == [("deploy", "A skill."), ("other", "A command.")]


def test_the_loser_is_reported_with_the_way_to_reach_it(
    places: dict[str, str], skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    winner = os.path.dirname(skill(places["user"], "a/deploy"))
    beside = skill(places["user"], "b/deploy")
    other = skill(places["org"], "deploy")
    message = f"{winner} (user) has this name and takes precedence."
    assert opened().workspace.report() == (
        Note(
            "shadowed",
            "warning",
            message,
            f"Use {os.path.dirname(beside)} to reach it, or rename one of them.",
            skill="deploy",
            path=beside,
        ),
        Note(
            "shadowed",
            "warning",
            message,
            "Use org:deploy to reach it, or rename one of them.",
            skill="deploy",
            path=other,
        ),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deploy-it", "Deploy_It"),
        ("straße", "STRASSE"),
        ("ﬁne", "fine"),
        ("ｗｉｄｅ", "wide"),
        ("a  b", "a b"),
        ("deploy\u200b", "deploy"),
        ("e\u0301t", "ét"),
    ],
)
def test_names_are_compared_whatever_their_spelling(
    one: str, other: str, root: str, opened: Callable[..., Library]
) -> None:
    for directory, name in (("first", one), ("second", other)):
        os.mkdir(f"{root}/{directory}")
        with open(f"{root}/{directory}/SKILL.md", "w", encoding="utf-8") as file:
            file.write(f'---\nname: "{name}"\ndescription: The {directory} one.\n---\n')
    library = opened(root)
    assert [item["description"] for item in library.skills().to_json()["skills"]] == ["The first one."]
    assert library.card(one).id == library.card(other).id


# by which names


def test_every_skill_is_reached_by_its_qualified_name(
    places: dict[str, str], skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for scope in (*SCOPES, "plugin"):
        skill(places[scope], "deploy", description=f"Of {scope}.")
    library = opened()
    library.settings.trust()
    for scope in SCOPES:
        assert library.card(f"{scope}:deploy").description == f"Of {scope}."
        assert library.card(f"{scope}:DEPLOY").qualified == f"{scope}:deploy"
        assert library.read(f"{scope}:deploy").to_json()["scope"] == scope
    assert library.card("acme:deploy").description == "Of plugin."
    assert library.card("acme:deploy").full_name == "acme:deploy"
    assert descriptions(library) == [("acme:deploy", "Of plugin."), ("deploy", "Of project.")]


def test_a_skill_is_reached_by_its_path(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "a/deploy", description="First.")
    path = skill(root, "b/deploy", description="Second.")
    (tmp_path / "link").symlink_to(root)
    library = opened(str(tmp_path / "link"))
    names = [
        "b/deploy",
        "b/deploy/",
        "b/deploy/SKILL.md",
        f"{tmp_path}/link/b/deploy",
        f"{tmp_path}/link/b/deploy/SKILL.md",
        os.path.dirname(path),
        path,
    ]
    assert {library.card(name).description for name in names} == {"Second."}
    for wrong in ("b", "c/deploy", "/b/deploy", f"{root}/b", "../b/deploy", "b/deploy/other"):
        with pytest.raises(NotFoundError):
            library.card(wrong)


def test_a_flat_skill_is_reached_by_its_file(root: str, opened: Callable[..., Library]) -> None:
    with open(f"{root}/flat.md", "w") as file:
        file.write("---\nname: other\ndescription: Flat.\n---\n")
    library = opened(root)
    same = [library.card(name).settled() for name in ("other", f"{root}/flat.md", "external:other")]
    assert same[0] == same[1] == same[2]
    with pytest.raises(NotFoundError):
        library.card(root)


def test_a_skill_is_reached_by_the_name_of_its_directory(
    root: str, opened: Callable[..., Library], skill: Callable[..., str]
) -> None:
    path = skill(root, "My_Directory")
    with open(path, "w") as file:
        file.write("---\nname: another-name\ndescription: Named otherwise.\n---\n")
    library = opened(root)
    assert library.card("my-directory") == library.card("another-name")


def test_a_name_that_several_answer_to_is_refused_with_the_candidates(
    places: dict[str, str], tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(places["project"], "deploy")
    one = os.path.dirname(skill(places["user"], "deploy"))
    two = os.path.dirname(skill(str(tmp_path / "home" / ".claude" / "skills"), "deploy"))
    library = opened()
    library.settings.trust()
    with pytest.raises(AmbiguousError) as caught:
        library.card("user:deploy")
    assert caught.value.to_json() == {
        "success": False,
        "error": "2 skills are named 'user:deploy'.",
        "code": "ambiguous-name",
        "hint": f"Name one by its path: {one}, {two}.",
        "candidates": [one, two],
        "name": "user:deploy",
    }


def test_an_unknown_name_gets_the_closest_ones(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for name in ("deploy-web", "deploy-api", "review"):
        skill(root, name)
    library = opened(root)
    for wrong, expected in (("deploy", ["deploy-api", "deploy-web"]), ("reveiw", ["review"]), ("zzz", [])):
        with pytest.raises(NotFoundError) as caught:
            library.card(wrong)
        assert (caught.value.code, caught.value.details["suggestions"]) == ("skill-not-found", expected)
    assert caught.value.hint == "`whet list` shows every skill."


@pytest.mark.parametrize(
    "name", ["", " ", "\0", "a\0/b", ":", "user:", ":deploy", "/", ".", "..", "x" * 10_000, "\ud800"]
)
def test_a_name_that_makes_no_sense_is_not_found(
    name: str, root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "deploy")
    with pytest.raises(NotFoundError) as caught:
        opened(root).card(name)
    assert caught.value.code == "skill-not-found"


# waiting for trust


def test_skills_of_an_untrusted_repository_wait(
    places: dict[str, str], skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    path = skill(places["project"], "web/deploy", description="Of the project.")
    skill(places["user"], "other")
    library = opened()
    answer = library.skills(include_hidden=True).to_json()
    listed = [(item["name"], item.get("hidden", "")) for item in answer["skills"]]
    assert (listed, answer["waiting"]) == ([("deploy", "untrusted"), ("other", "")], 1)
    assert [card.name for card in library.skills()] == ["other"]
    assert [card.name for card in library.catalogue.waiting] == ["deploy"]
    location = os.path.dirname(path)
    for name in ("deploy", "Deploy", "project:deploy", "web/deploy", location, path):
        with pytest.raises(RefusedError) as caught:
            library.card(name)
        assert (caught.value.code, caught.value.details) == ("untrusted", {"path": location})
    assert [(entry.code, entry.path) for entry in library.workspace.report()] == [("untrusted", path)]
    skill(places["user"], "deploy", description="Of the user.")
    assert library.card("deploy").description == "Of the user."
    trusted = library.settings.trust().to_json()
    assert [(item["name"], item["verdict"]) for item in trusted.pop("verdicts")] == [("deploy", "safe")]
    assert trusted == {
        "success": True,
        "project": os.path.dirname(os.path.dirname(places["project"])),
        "trusted": True,
        "changed": True,
        "skills": ["deploy"],
    }
    assert library.card("deploy").description == "Of the project."


def test_a_waiting_skill_is_never_offered_even_if_a_link_in_a_trusted_root_leads_to_it(
    places: dict[str, str], skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    """Standing in a repository must not open it to links from elsewhere."""
    skill(places["project"], "deploy")
    os.symlink(f"{places['project']}/deploy", f"{places['user']}/deploy")
    library = opened()
    with pytest.raises(RefusedError) as caught:
        library.card("deploy")
    assert (caught.value.code, len(library.catalogue.waiting)) == ("link-escape", 1)


# categories


def test_categories_come_from_the_paths_of_all_roots(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "web/react")
    skill(str(tmp_path / "second"), "web/vue")
    skill(str(tmp_path / "second"), "ops/deploy")
    skill(root, "plain", more="category: ops\n")
    with open(tmp_path / "second" / "web" / "DESCRIPTION.md", "w") as file:
        file.write("The web.")
    os.makedirs(f"{root}/empty")
    with open(f"{root}/empty/DESCRIPTION.md", "w") as file:
        file.write("Nobody is here.")
    library = opened(root, str(tmp_path / "second"))
    assert library.catalogue.categories == {"web": "The web.", "ops": "", "empty": "Nobody is here."}
    assert library.skills().to_json()["categories"] == [
        {"name": "ops", "count": 2, "description": ""},
        {"name": "web", "count": 2, "description": "The web."},
    ]


def test_lists_of_an_unchanged_library_look_at_each_skill_once(
    places: dict[str, str], skill: Callable[..., str], opened: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could hide a skill and how many a category has is known until something changes."""
    looked: list[str] = []

    def noted(card: Card) -> bool:
        looked.append(card.name)
        return can_be_hidden(card)

    monkeypatch.setattr(listing, "can_be_hidden", noted)
    for name in ("group/one", "group/two"):
        skill(places["user"], name, description="Does it. Use it.")
    library = opened(settled=True)
    assert [(each.name, each.skills) for each in library.skills(limit=1).categories] == [("group", 2)]
    assert library.skills().total == 2 and looked == ["one", "two"]
    library.settings.disable("two")
    assert [(each.name, each.skills) for each in library.skills().categories] == [("group", 1)]
    skill(places["user"], "group/three", description="Does it. Use it.")
    assert [card.name for card in library.skills()] == ["one", "three"]

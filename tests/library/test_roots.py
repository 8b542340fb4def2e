from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from whet.library.repository import find_repository
from whet.library.roots import (
    Place,
    Root,
    configured_roots,
    explicit_roots,
    org_directories,
    platform_name,
    user_root,
)
from whet.library.settings import SCOPES, Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A repository with a directory in it, a home, and the administrator's directory."""
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "sub").mkdir()
    return Place(str(tmp_path / "repository" / "sub"), str(tmp_path / "home"), str(tmp_path / "state"), "linux", {})


def made(*paths: Path) -> None:
    for path in paths:
        path.mkdir(parents=True)


def listed(roots: tuple[Root, ...], tmp_path: Path) -> list[tuple[str, str, str]]:
    return [(os.path.relpath(root.path, tmp_path), root.scope, root.client) for root in roots]


def test_scopes_come_in_order_and_the_nearest_project_directory_first(place: Place, tmp_path: Path) -> None:
    made(
        tmp_path / "repository" / ".agents" / "skills",
        tmp_path / "repository" / "sub" / ".claude" / "skills",
        tmp_path / "home" / ".claude" / "skills",
        tmp_path / "home" / ".agents" / "skills",
        tmp_path / "home" / ".claude" / "commands",
        tmp_path / "org",
        tmp_path / "more",
        tmp_path / "plugin",
    )
    settings = Settings(external=(str(tmp_path / "more"),), plugins=(("acme", str(tmp_path / "plugin")),))
    roots, repository, _ = configured_roots(place, settings, ())
    assert repository == find_repository(place.directory, home=place.home)
    assert listed(roots, tmp_path) == [
        ("repository/sub/.claude/skills", "project", "claude-code"),
        ("repository/.agents/skills", "project", "agents"),
        ("home/.agents/skills", "user", "agents"),
        ("home/.claude/skills", "user", "claude-code"),
        ("home/.claude/commands", "user", "claude-code"),
        ("org", "org", ""),
        ("more", "external", ""),
        ("plugin", "plugin", ""),
    ]
    assert {root.namespace for root in roots} == {"", "acme"}
    assert [root.trusted for root in roots] == [False, False, True, True, True, True, True, True]


def test_trust_is_of_the_repository(place: Place, tmp_path: Path) -> None:
    made(tmp_path / "repository" / ".agents" / "skills", tmp_path / "repository" / "sub" / ".codex" / "skills")
    identity = find_repository(place.directory, home=place.home).identity
    roots, _, _ = configured_roots(place, Settings(), [identity])
    assert [root.trusted for root in roots] == [True, True]


def test_the_order_of_scopes_can_be_set(place: Place, tmp_path: Path) -> None:
    made(tmp_path / "repository" / ".agents" / "skills", tmp_path / "home" / ".agents" / "skills", tmp_path / "org")
    roots, _, _ = configured_roots(place, Settings(precedence=SCOPES[::-1]), ())
    assert [root.scope for root in roots] == ["org", "user", "project"]


def test_settings_narrow_the_roots(place: Place, tmp_path: Path) -> None:
    made(tmp_path / "repository" / ".agents" / "skills", tmp_path / "home" / ".agents" / "skills")
    made(tmp_path / "home" / ".claude" / "skills")
    roots, _, _ = configured_roots(place, Settings()._replace(project_skills=False, clients=("claude-code",)), ())
    assert listed(roots, tmp_path) == [("home/.claude/skills", "user", "claude-code")]


def test_a_named_directory_that_is_missing_is_kept_and_an_unnamed_one_is_not(place: Place, tmp_path: Path) -> None:
    settings = Settings()._replace(external=(str(tmp_path / "gone"),), plugins=(("acme", str(tmp_path / "away")),))
    roots, _, _ = configured_roots(place, settings, ())
    assert listed(roots, tmp_path) == [("gone", "external", ""), ("away", "plugin", "")]


def test_the_home_is_never_a_project(place: Place, tmp_path: Path) -> None:
    made(tmp_path / "home" / ".git", tmp_path / "home" / ".agents" / "skills", tmp_path / "home" / ".codex" / "skills")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    expected = [("home/.agents/skills", "user", "agents"), ("home/.codex/skills", "user", "codex")]
    for directory in ("home", "link"):
        roots, _, _ = configured_roots(place._replace(directory=str(tmp_path / directory)), Settings(), ())
        assert listed(roots, tmp_path) == expected


def test_a_directory_of_both_project_and_user_is_the_users(place: Place, tmp_path: Path) -> None:
    made(tmp_path / "home" / ".agents" / "skills", tmp_path / "repository" / ".agents")
    (tmp_path / "repository" / ".agents" / "skills").symlink_to(tmp_path / "home" / ".agents" / "skills")
    roots, _, _ = configured_roots(place, Settings(), ())
    assert [(root.scope, root.trusted) for root in roots] == [("user", True)]


def test_a_directory_reached_twice_is_one_root(place: Place, tmp_path: Path) -> None:
    made(tmp_path / "home" / ".agents" / "skills", tmp_path / "home" / ".claude")
    (tmp_path / "home" / ".claude" / "skills").symlink_to(tmp_path / "home" / ".agents" / "skills")
    roots, _, _ = configured_roots(place, Settings()._replace(external=(str(tmp_path / "home/.agents/skills"),)), ())
    assert listed(roots, tmp_path) == [("home/.agents/skills", "user", "agents")]


def test_explicit_roots_are_exactly_these(place: Place, tmp_path: Path) -> None:
    made(tmp_path / "repository" / "sub" / "skills")
    (tmp_path / "link").symlink_to(place.directory)
    roots = explicit_roots(["skills", "~/mine", "skills/", "/nowhere", str(tmp_path / "link" / "skills")], place)
    home = os.path.realpath(place.home)
    assert roots == (
        Root(f"{place.directory}/skills", "external", real=f"{place.directory}/skills", home=home),
        Root(str(tmp_path / "home" / "mine"), "external", real=str(tmp_path / "home" / "mine"), home=home),
        Root("/nowhere", "external", real="/nowhere", home=home),
    )
    assert [root.id for root in roots] == [f"{place.directory}/skills", "~/mine", "/nowhere"]


def test_a_root_as_json(place: Place) -> None:
    assert Root("/a", "user", "claude-code", real="/b").to_json() == {
        "path": "/a",
        "scope": "user",
        "client": "claude-code",
        "kind": "skills",
        "namespace": "",
        "trusted": True,
        "real": "/b",
    }
    assert user_root(place) == f"{place.home}/.agents/skills"


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", ("/etc/whet/skills", "/etc/codex/skills", "/etc/claude-code/.claude/skills")),
        (
            "darwin",
            (
                "/Library/Application Support/whet/skills",
                "/Library/Application Support/ClaudeCode/.claude/skills",
            ),
        ),
        ("win32", (os.path.join("D:\\data", "whet", "skills"),)),
    ],
)
def test_the_administrators_directories(platform: str, expected: tuple[str, ...]) -> None:
    assert org_directories(platform, {"PROGRAMDATA": "D:\\data"}) == expected


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("darwin", "macos"), ("win32", "windows"), ("linux", "linux"), ("linux2", "linux"), ("freebsd14", "freebsd14")],
)
def test_platforms_in_the_words_skills_use(platform: str, expected: str) -> None:
    assert platform_name(platform) == expected

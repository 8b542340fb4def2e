"""Nothing young comes in: from a repository, a hub, a page; and the ways around that a person has."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest
from hub.local import ANYONE, hub_running
from sources.loopback import answer, serving
from sources.repositories import Repository, serving_git

from journeys.machines import ALLOWED, Machine, main
from whet.hub.lifecycle import set_fixes
from whet.skill.archive import pack
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
DAY = 86_400


def ago(days: float) -> int:
    return int(time.time() - days * DAY)


def make(top: Path, text: str = "") -> Machine:
    machine = Machine(top / "machine")
    (machine.state / "config.toml").write_text(f'private_hosts = ["127.0.0.1"]\n{text}', encoding="utf-8")
    return machine


def review(body: str, version: str = "") -> str:
    return main("review", body=f"{body}\n", more=f'metadata:\n  version: "{version}"\n' if version else "")


def told(plan: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    return [tuple(step[name] for name in ("action", "state", "code", "version", "reason")) for step in plan["plan"]]


class Shop:
    """A repository on another host, with three versions; the newest is five hours old."""

    def __init__(self, top: Path, url: str) -> None:
        self.repository = Repository.new(top / "repositories" / "skills")
        self.url = f"git:{url}/skills"
        self.first = self.commit("One.", "1.0.0", 40)
        self.second = self.commit("Two.", "1.1.0", 9)

    def commit(self, body: str, version: str, days: float, **more: str) -> str:
        files = {"review/SKILL.md": review(body, version), **{f"{name}/SKILL.md": text for name, text in more.items()}}
        return self.repository.commit(files, time=ago(days))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    (tmp_path / "repositories").mkdir()
    with serving_git(tmp_path / "repositories") as server:
        yield Shop(tmp_path, server.url)


@needs_git
def test_an_older_commit_is_installed_and_the_plan_says_so(shop: Shop, tmp_path: Path) -> None:
    third = shop.commit("Three.", "1.2.0", 5 / 24)
    machine = make(tmp_path)
    instead = "Held back: 1.2.0 is 5 hours old; 1.1.0 is installed instead."
    plan = machine.ask("install", shop.url, "--dry-run")
    assert told(plan) == [("install", "ready", "", "1.1.0", instead)]
    assert plan["plan"][0]["revision"] == shop.second
    assert machine.says("install", shop.url) == (
        0,
        f"Installed review 1.1.0  safe\n  {instead}\n",
        f"Installed without asking: {ALLOWED}\n",
    )
    assert "Two." in machine.text("review")

    held = "Held back: 1.2.0 is 5 hours old; the minimum is 3 days."
    assert machine.says("update") == (0, f"review: {held}\n", "")
    assert told(machine.ask("update")) == [("keep", "held", "too-young", "1.1.0", held)]
    checked = machine.ask("update", "--check")["skills"][0]
    fields = ("status", "outdated", "latest", "held")
    latest = {"revision": third, "version": "1.2.0"}
    assert [checked[name] for name in fields] == ["newer", False, latest, held.removeprefix("Held back: ").rstrip(".")]
    assert machine.says("update", "--check")[2] == "0 skills outdated, 0 current, 1 held back.\n"

    assert machine.ask("update", "--check", "--min-age", "0", code=1)["outdated"] == 1
    assert told(machine.ask("update", "--min-age", "0")) == [("update", "ready", "", "1.2.0", "")]
    # What is installed never goes back to something older.
    assert told(machine.ask("update")) == [("keep", "nothing", "", "1.2.0", "Up to date.")]
    shop.commit("Four.", "1.3.0", 1)
    held = "Held back: 1.3.0 is 1 day old; the minimum is 3 days."
    assert told(machine.ask("update")) in (
        [("keep", "held", "too-young", "1.2.0", held)],
        [("keep", "held", "too-young", "1.2.0", held.replace("1 day", "less than a minute"))],
    )


@needs_git
def test_a_skill_of_which_nothing_is_young_is_not_held_back(shop: Shop, tmp_path: Path) -> None:
    newest = shop.commit("Two.", "1.1.0", 0.1, other=main("other"))
    machine = make(tmp_path)
    plan = machine.ask("install", shop.url, "--all", code=3)
    assert told(plan) == [
        ("install", "blocked", "too-young", "", f"{newest[:10]} is 2 hours old; the minimum is 3 days."),
        ("install", "ready", "", "1.1.0", ""),
    ]
    assert (plan["plan"][1]["revision"], machine.names()) == (newest, ["review"])
    assert [refused["decision"] for refused in plan["refused"]] == ["block"]


@needs_git
def test_a_refusal_names_the_way_around_and_an_override_is_none(tmp_path: Path) -> None:
    (tmp_path / "repositories").mkdir()
    repository = Repository.new(tmp_path / "repositories" / "skills")
    commit = repository.commit({"review/SKILL.md": review("New.", "1.0.0")}, time=ago(1))
    machine = make(tmp_path)
    hint = "hint: `--min-age 0` installs it now. An exact version or commit is installed at any age.\n"
    refused = "review: 1.0.0 is 1 day old; the minimum is 3 days.\n"
    with serving_git(tmp_path / "repositories") as server:
        url = f"git:{server.url}/skills"
        assert machine.says("install", url) == (3, "", refused + hint)
        assert machine.says("install", url, "--override", "I know it.") == (3, "", refused + hint)
        assert machine.names() == []
        log = machine.ask("guard", "log")["records"]
        assert [(entry["action"], entry["decision"], entry["reason"]) for entry in log] == [
            ("install", "block", "1.0.0 is 1 day old; the minimum is 3 days.")
        ] * 2
        assert machine.ask("install", f"{url}#ref={commit}")["installed"] == ["review"]
        assert machine.ask("remove", "review", "--yes")["success"]
        assert machine.ask("install", url, "--min-age", "1")["installed"] == ["review"]
        assert machine.ask("remove", "review", "--yes")["success"]
        for wrong in ("-1", "x", "99999"):
            assert machine.run("install", url, "--min-age", wrong).returncode == 2
        # The same repository on this disk is your own.
        assert machine.ask("install", repository.url)["installed"] == ["review"]
    for bad in ('"7 days"', "-1", "1.5", "true"):
        (machine.state / "config.toml").write_text(f"min_age = {bad}\n", encoding="utf-8")
        assert machine.ask("list", code=2)["code"] == "bad-config"


@needs_git
def test_a_date_of_long_ago_does_not_hide_what_was_not_there_before(shop: Shop, tmp_path: Path) -> None:
    machine = make(tmp_path)
    assert machine.ask("install", shop.url)["installed"] == ["review"]
    shop.commit("Forged.", "9.0.0", 400)
    (step,) = told(machine.ask("update"))
    assert step[:4] == ("keep", "held", "too-young", "1.1.0")
    shop.commit("Forged too.", "9.1.0", 0)  # with a young one on top
    (step,) = told(machine.ask("update"))
    assert step[:4] == ("keep", "held", "too-young", "1.1.0")
    assert "Two." in machine.text("review")


def test_a_hub_says_when_a_version_was_published_and_what_fixes_something(tmp_path: Path) -> None:
    machine = make(tmp_path)
    with hub_running(tmp_path) as hub:
        for number, days in {"1.0.0": 30, "1.1.0": 5, "1.2.0-rc": 4, "1.2.0": 0.2}.items():
            archive = pack("review", {"SKILL.md": Item(review(number).encode())})
            hub.publish("acme", "review", number, archive, days_ago=days)
        source = f"hub:{hub.url}/acme/review"
        instead = "Held back: 1.2.0 is 4 hours old; 1.1.0 is installed instead."
        assert told(machine.ask("install", source)) == [("install", "ready", "", "1.1.0", instead)]
        held = "Held back: 1.2.0 is 4 hours old; the minimum is 3 days."
        assert told(machine.ask("update")) == [("keep", "held", "too-young", "1.1.0", held)]
        assert machine.ask("install", f"{source}@1.2.0", "--dry-run")["plan"][0]["version"] == "1.2.0"
        set_fixes(hub.hub, ANYONE, "acme", "review", "1.2.0", "A leak of the token.")
        fixes = "The hub marks it as a security fix, so it does not have to wait: A leak of the token."
        assert told(machine.ask("update")) == [("update", "ready", "", "1.2.0", fixes)]


def test_what_has_no_time_waits_from_the_first_look_on(tmp_path: Path) -> None:
    page = answer(review("Now.").encode(), content_type="text/markdown")
    machine = make(tmp_path)
    with serving({"/review/SKILL.md": page}) as server:
        plan = machine.ask("install", f"{server.url}/review/SKILL.md", code=3)
        assert told(plan)[0][:3] == ("install", "blocked", "too-young")
        assert plan["plan"][0]["reason"].endswith(" is less than a minute old; the minimum is 3 days.")
        (machine.state / "config.toml").write_text('private_hosts = ["127.0.0.1"]\nmin_age = 0\n', encoding="utf-8")
        assert machine.ask("install", f"{server.url}/review/SKILL.md")["installed"] == ["review"]


@needs_git
def test_a_range_of_versions_takes_a_tag_that_is_old_enough(shop: Shop, tmp_path: Path) -> None:
    shop.repository.git("tag", "v1.0.0", shop.first)
    shop.repository.git("tag", "v1.1.0", shop.second)
    for number, days in (("1.2.0", 0.2), ("2.0.0", 0.1)):
        shop.repository.git("tag", f"v{number}", shop.commit(number, number, days))
    machine = make(tmp_path)
    source = f"{shop.url}#ref=^1"
    instead = "Held back: 1.2.0 is 4 hours old; 1.1.0 is installed instead."
    assert told(machine.ask("install", source)) == [("install", "ready", "", "1.1.0", instead)]
    held = "Held back: 1.2.0 is 4 hours old; the minimum is 3 days."
    assert told(machine.ask("update")) == [("keep", "held", "too-young", "1.1.0", held)]

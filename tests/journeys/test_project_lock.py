"""A repository with skills of its own: installed by one, restored by the other, apart from what each has alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from sources.repositories import Repository, serving_git

from journeys.machines import ALLOWED, Machine, content, main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

DEPLOY = {"SKILL.md": main("deploy", "Deploys the site. Use when asked to.")}
NOTES = {"SKILL.md": main("notes", "Writes notes. Use when asked to.")}
NEWER = {"SKILL.md": main("notes", "Writes notes. Use when asked to.", "Do it well.\n")}


class Shop:
    """A repository of an application, and a repository of skills that is served."""

    def __init__(self, top: Path, server: str) -> None:
        self.top = top
        self.skills = Repository.new(top / "skills.git")
        self.url = f"{server}/skills.git"
        self.first = self.skills.commit({"deploy/SKILL.md": DEPLOY["SKILL.md"], "notes/SKILL.md": NOTES["SKILL.md"]})
        self.alice, self.bob = Machine(top / "alice"), Machine(top / "bob")
        self.repo = self.alice.work / "shop"
        self.git("init", "--quiet", str(self.repo), at=top)
        vendored = self.repo / "vendor" / "review"
        vendored.mkdir(parents=True)
        (vendored / "SKILL.md").write_text(main("review"), encoding="utf-8")
        (self.repo / "src").mkdir()

    def git(self, *words: str, at: Path) -> None:
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *who, *words], cwd=at, env=self.alice.env, check=True, capture_output=True)

    def lock(self, repo: Path) -> Path:
        return repo / ".agents" / "whet-lock.json"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with serving_git(tmp_path) as server:
        yield Shop(tmp_path, server.url)


WAITING = "hint: You do not trust this project yet, so its 2 skills do not load. `whet guard trust` trusts it.\n"


def loaded(machine: Machine, cwd: Path) -> dict[str, str]:
    """The skills that are loaded and did not come with Whet, with their scope."""
    listed = machine.ask("list", cwd=cwd)["skills"]
    return {skill["name"]: skill["scope"] for skill in listed}


def test_what_one_installs_for_the_repository_the_other_restores_from_its_lock(shop: Shop) -> None:
    alice, repo = shop.alice, shop.repo
    assert alice.says("install", shop.url, "--all", "--here", cwd=repo / "src") == (
        0,
        f"Installed deploy, revision {shop.first[:10]}  safe\nInstalled notes, revision {shop.first[:10]}  safe\n",
        f"Installed without asking: {ALLOWED}\n{WAITING}",
    )
    alice.ask("install", "./vendor/review", "--here", cwd=repo)
    assert sorted(os.listdir(repo / ".agents")) == ["skills", "whet-lock.json"]
    assert sorted(os.listdir(repo / ".agents" / "skills")) == ["deploy", "notes", "review"]
    locked = alice.locked(shop.lock(repo))
    assert {path: entry["source"] for path, entry in locked.items()} == {
        "skills/deploy": f"git:{shop.url}#path=deploy",
        "skills/notes": f"git:{shop.url}#path=notes",
        "skills/review": "path:../vendor/review",
    }
    assert (alice.names(), alice.lock.exists()) == ([], False)

    (repo / ".gitignore").write_text(".agents/skills/\n", encoding="utf-8")
    shop.git("add", ".", at=repo)
    shop.git("commit", "--quiet", "-m", "Skills", at=repo)
    bob, clone = shop.bob, shop.bob.work / "clone"
    shop.git("clone", "--quiet", str(repo), str(clone), at=shop.top)
    assert os.listdir(clone / ".agents") == ["whet-lock.json"]

    restored = bob.ask("restore", "--here", cwd=clone)
    assert [(step["name"], step["action"], step["state"]) for step in restored["plan"]] == [
        ("deploy", "restore", "ready"),
        ("notes", "restore", "ready"),
        ("review", "restore", "ready"),
    ]
    assert restored["waiting"] == 3
    assert shop.lock(clone).read_bytes() == shop.lock(repo).read_bytes()
    assert bob.ask("verify", "--here", cwd=clone)["valid"]
    assert {name: bob.ask("digest", f".agents/skills/{name}", cwd=clone)["digest"] for name in ("deploy", "notes")} == {
        "deploy": content(DEPLOY),
        "notes": content(NOTES),
    }

    assert loaded(bob, clone) == {}
    assert bob.ask("show", "deploy", code=3, cwd=clone)["code"] == "untrusted"
    assert bob.says("trust", cwd=clone)[0] == 0
    assert loaded(bob, clone) == {"deploy": "project", "notes": "project", "review": "project"}
    assert bob.ask("why", "review", cwd=clone)["installed"]["source"] == "path:../vendor/review"


def test_the_locks_of_a_person_and_of_a_repository_know_nothing_of_each_other(shop: Shop) -> None:
    alice, repo = shop.alice, shop.repo
    alice.ask("install", shop.url, "--skill", "deploy", "--skill", "notes", cwd=repo)
    alice.ask("install", shop.url, "--skill", "notes", "--here", cwd=repo)
    alice.ask("trust", cwd=repo)
    assert loaded(alice, repo) == {"deploy": "user", "notes": "project"}
    assert alice.ask("why", "notes", cwd=repo)["path"] == str(repo / ".agents" / "skills" / "notes")
    assert alice.ask("why", "user:notes", cwd=repo)["path"] == str(alice.root / "notes")

    second = shop.skills.commit({"deploy/SKILL.md": DEPLOY["SKILL.md"], "notes/SKILL.md": NEWER["SKILL.md"]})
    mine = alice.lock.read_bytes()
    assert alice.says("update", "--here", cwd=repo)[:2] == (
        0,
        f"Updated notes, revision {shop.first[:10]} -> {second[:10]}  safe\n  changed SKILL.md\n",
    )
    assert (alice.lock.read_bytes(), alice.text("notes")) == (mine, NOTES["SKILL.md"])
    assert (repo / ".agents" / "skills" / "notes" / "SKILL.md").read_text(encoding="utf-8") == NEWER["SKILL.md"]

    assert alice.ask("uninstall", "deploy", "--here", code=1, cwd=repo)["code"] == "not-installed"
    alice.ask("uninstall", "notes", "--here", cwd=repo)
    assert (alice.names(), shop.lock(repo).exists()) == (["deploy", "notes"], False)
    assert loaded(alice, repo) == {"deploy": "user", "notes": "user"}
    assert alice.ask("verify", cwd=repo)["valid"]

"""Skills that are there already: installed by another tool, or simply lying there; Whet starts managing them."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from sources.loopback import serving
from sources.repositories import Repository, serving_git

from journeys.machines import Machine, content, main
from whet.skill.tree import Item
from whet.sources.lock.foreign import computed_hash, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sources.loopback import Request

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
REVIEW = {"SKILL.md": main("review", "Reviews changes.", "One.\nTwo.\nThree.\n")}
BETTER = {"SKILL.md": main("review", "Reviews changes.", "One.\nTwo.\nThird.\n")}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def put(directory: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text, encoding="utf-8")


def items(files: Mapping[str, str]) -> dict[str, Item]:
    return {path: Item(text.encode()) for path, text in files.items()}


@needs_git
def test_what_the_skills_tool_installed_into_a_project_follows_its_source_from_now_on(
    machine: Machine, tmp_path: Path
) -> None:
    team = Repository.new(tmp_path / "team.git")
    team.commit({"skills/review/SKILL.md": REVIEW["SKILL.md"]})
    with serving_git(tmp_path) as server:
        adopted_in_a_project(machine, team, f"{server.url}/team.git")


def adopted_in_a_project(machine: Machine, team: Repository, url: str) -> None:
    repo = machine.work / "repo"
    (repo / ".git").mkdir(parents=True)
    put(repo / ".agents" / "skills" / "review", REVIEW)
    known = {
        "source": url,
        "sourceType": "git",
        "skillPath": "skills/review/SKILL.md",
        "computedHash": computed_hash(items(REVIEW)),
    }
    theirs = repo / "skills-lock.json"
    theirs.write_text(json.dumps({"version": 1, "skills": {"review": known}}), encoding="utf-8")
    before = theirs.read_bytes()

    code, out, _ = machine.says("sources", "adopt", "--here", cwd=repo)
    assert (code, out) == (0, f"Adopted review  safe\n  It comes from git:{url}#path=skills/review.\n")
    locked = machine.locked(repo / ".agents" / "whet-lock.json")["skills/review"]
    assert (locked["source"], locked["digest"], locked["trust"]) == (
        f"git:{url}#path=skills/review",
        content(REVIEW),
        "community",
    )
    assert machine.says("sources", "adopt", "--here", cwd=repo)[2] == "There is nothing to adopt.\n"

    put(repo / ".agents" / "skills" / "review", {"SKILL.md": REVIEW["SKILL.md"].replace("One.", "First.")})
    team.commit({"skills/review/SKILL.md": BETTER["SKILL.md"]})
    updated = machine.ask("update", "--here", cwd=repo)
    assert [(step["action"], step["state"]) for step in updated["plan"]] == [("merge", "ready")]
    text = (repo / ".agents" / "skills" / "review" / "SKILL.md").read_text(encoding="utf-8")
    assert (text.endswith("First.\nTwo.\nThird.\n"), theirs.read_bytes()) == (True, before)


def zipped(files: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return target.getvalue()


def registry(number: str, package: bytes) -> dict[str, bytes]:
    """What a registry that speaks ClawHub's language answers."""
    version = {"version": number, "createdAt": 0, "changelog": ""}
    told = {"slug": "review", "displayName": "Review", "summary": "Reviews.", "tags": {"latest": number}}
    about = {"skill": told, "latestVersion": version, "owner": {"handle": "petra"}, "moderation": None}
    return {
        "/api/v1/skills/review": json.dumps(about).encode(),
        f"/api/v1/skills/review/versions/{number}": json.dumps({"version": version, "skill": None}).encode(),
        "/api/v1/download": package,
    }


def test_what_clawhub_installed_is_taken_over_with_its_pin(machine: Machine) -> None:
    answers = {**registry("1.1.0", zipped(BETTER)), **registry("1.0.0", zipped(REVIEW))}

    def given(path: str) -> Callable[[Request], bytes]:
        return lambda _: answers[path]

    with serving({path: given(path) for path in answers}) as server:
        origin: dict[str, Any] = {
            "version": 1,
            "registry": server.url,
            "slug": "review",
            "ownerHandle": "petra",
            "installedVersion": "1.0.0",
            "fingerprint": fingerprint(items(REVIEW)),
        }
        put(machine.root / "review", {**REVIEW, ".clawhub/origin.json": json.dumps(origin)})
        lock = {"review": {"version": "1.0.0", "installedAt": 1, "pinned": True, "pinReason": "It works."}}
        put(machine.root.parent, {".clawhub/lock.json": json.dumps({"version": 1, "skills": lock})})

        machine.ask("adopt")
        why = machine.ask("sources", "why", "review")["installed"]
        assert (why["shown"], why["revision"], why["pinned"], why["edited"]) == (
            f"clawhub:{server.url}#path=petra/review",
            "1.0.0",
            "It works.",
            False,
        )
        answers.update(registry("1.1.0", zipped(BETTER)))
        assert machine.says("update", "--check")[1].splitlines()[1:] == ["review  newer   1.0.0  1.1.0   pinned"]
        assert machine.ask("update")["counts"] == {"held": 1}
        assert machine.text("review") == REVIEW["SKILL.md"]


def test_skills_that_simply_lie_there(machine: Machine, tmp_path: Path) -> None:
    put(machine.root / "review", REVIEW)
    put(machine.root / "notes", {"SKILL.md": main("notes")})
    code, out, said = machine.says("sources", "verify")
    assert (code, out) == (0, "")
    assert said == (
        "Nothing is installed.\nhint: 2 skills here are not in the lock; `whet sources adopt` starts managing them.\n"
    )
    shared = tmp_path / "shared"
    put(shared / "review", BETTER)
    assert machine.ask("sources", "adopt", "nots", code=1)["suggestions"] == ["notes"]
    assert machine.says("sources", "adopt", "notes")[1] == "Adopted notes\n  It has no source; updates skip it.\n"
    assert machine.says("sources", "adopt", "review", "--from", str(shared))[1] == (
        f"Adopted review {content(BETTER)[7:17]}  safe\n"
        f"  It comes from path:{shared}#path=review. The differences are your edits.\n"
    )
    assert machine.text("review") == REVIEW["SKILL.md"], "nothing was changed"
    assert [(skill["name"], skill["status"]) for skill in machine.ask("sources", "verify", code=1)["skills"]] == [
        ("notes", "ok"),
        ("review", "edited"),
    ]
    assert machine.says("update")[1] == "notes: It has no source.\nreview: Up to date; your edits are kept.\n"
    machine.ask("uninstall", "notes")
    assert machine.names() == ["review"]


def test_what_another_tool_wrote_badly_is_told_and_nothing_is_lost(machine: Machine) -> None:
    put(machine.root / "review", REVIEW)
    put(machine.root.parent, {".clawhub/lock.json": "{"})
    code, out, said = machine.says("adopt")
    assert (code, out.splitlines()[0]) == (0, "Adopted review")
    assert str(machine.root.parent / ".clawhub" / "lock.json") in said
    assert machine.locked()["skills/review"]["digest"] == content(REVIEW)

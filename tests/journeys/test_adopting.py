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


def test_an_adoption_in_a_project_is_undone_from_anywhere(machine: Machine) -> None:
    repo = machine.work / "repo"
    (repo / ".git").mkdir(parents=True)
    for name in ("notes", "review"):
        put(repo / ".agents" / "skills" / name, {"SKILL.md": main(name, "Does it.")})
    lock = repo / ".agents" / "whet-lock.json"
    for name in ("review", "notes"):
        machine.ask("sources", "adopt", name, "--here", cwd=repo)
    assert {*machine.locked(lock)} == {"skills/notes", "skills/review"}
    machine.ask("undo", cwd=machine.work)
    assert {*machine.locked(lock)} == {"skills/review"}
    assert (repo / ".agents" / "skills" / "notes" / "SKILL.md").is_file()


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
    assert machine.run("new", "mine", "--description", "Does it.", "--body", "Do it.").returncode == 0  # not counted
    code, out, said = machine.says("sources", "verify")
    assert (code, out) == (0, "")
    assert said == (
        "Nothing is installed.\nhint: notes, review are not in the lock; `whet sources adopt` starts managing them.\n"
    )
    shared = tmp_path / "shared"
    put(shared / "review", BETTER)
    assert machine.ask("sources", "adopt", "nots", code=1)["suggestions"] == ["notes"]
    assert machine.says("sources", "adopt", "notes")[1] == "Adopted notes\n  It has no source; updates skip it.\n"
    assert machine.says("sources", "adopt", "review", "--from", str(shared))[1] == (
        f"Adopted review, digest {content(BETTER)[7:17]}  safe\n"
        f"  It comes from path:{shared}#path=review. The differences are your edits.\n"
    )
    assert machine.text("review") == REVIEW["SKILL.md"], "nothing was changed"
    assert [(skill["name"], skill["status"]) for skill in machine.ask("sources", "verify", code=1)["skills"]] == [
        ("notes", "ok"),
        ("review", "edited"),
    ]
    assert machine.says("update")[1] == "notes: It has no source.\nreview: Up to date; your edits are kept.\n"
    (shared / "review").rename(shared / "moved")
    (shared / "moved" / "SKILL.md").write_text(main("moved"), encoding="utf-8")
    code, _, said = machine.says("update", "--check")
    assert (code, said) == (1, "0 skills outdated, 0 current, 1 gone from the source, 1 without a source.\n")
    machine.ask("uninstall", "notes")
    assert machine.names() == ["mine", "review"]


def test_what_another_tool_wrote_badly_is_told_and_nothing_is_lost(machine: Machine) -> None:
    put(machine.root / "review", REVIEW)
    put(machine.root.parent, {".clawhub/lock.json": "{"})
    code, out, said = machine.says("adopt")
    assert (code, out.splitlines()[0]) == (0, "Adopted review")
    assert str(machine.root.parent / ".clawhub" / "lock.json") in said
    assert machine.locked()["skills/review"]["digest"] == content(REVIEW)


# --- from every directory of skills ---------------------------------------------------------------------------------


def files(top: Path) -> dict[str, bytes]:
    """Everything below a directory but git's own files and Whet's locks."""
    found = (path for path in sorted(top.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(top)): path.read_bytes() for path in found if path.name != "whet-lock.json"}


def openskills(**fields: str) -> dict[str, str]:
    """What `openskills install` writes into a skill."""
    return {".openskills.json": json.dumps({**fields, "installedAt": "2026-11-17T06:30:33.337Z"}, indent=2)}


@needs_git
def test_what_both_tools_put_into_a_project_follows_its_source(machine: Machine, tmp_path: Path) -> None:
    """`skills add --agent claude-code`, `openskills install` and `openskills install --universal` with one source."""
    team = Repository.new(tmp_path / "team.git")
    names = ("review", "notes", "plan")
    texts = {name: main(name, "Does one thing.", "One.\nTwo.\nThree.\n") for name in names}
    team.commit({f"skills/{name}/SKILL.md": text for name, text in texts.items()})
    repo = machine.work / "repo"
    (repo / ".git").mkdir(parents=True)
    with serving_git(tmp_path) as server:
        url = f"{server.url}/team.git"
        put(repo / ".claude" / "skills" / "review", {"SKILL.md": texts["review"]})
        known = {"source": url, "sourceUrl": url, "sourceType": "git", "skillPath": "skills/review/SKILL.md"}
        known["computedHash"] = computed_hash(items({"SKILL.md": texts["review"]}))
        put(repo, {"skills-lock.json": json.dumps({"version": 1, "skills": {"review": known}}, indent=2)})
        for root, name in ((".claude", "notes"), (".agent", "plan")):
            record = openskills(source=url, sourceType="git", repoUrl=url, subpath=f"skills/{name}")
            put(repo / root / "skills" / name, {"SKILL.md": texts[name], **record})
        before = files(repo)

        assert machine.says("sources", "adopt", cwd=repo)[2] == (
            "There is nothing to adopt. 3 skills of this project are not in a lock; `whet sources adopt --here` starts "
            "managing them.\n"
        )
        code, out, _ = machine.says("sources", "adopt", "--here", cwd=repo)
        assert code == 0
        assert {line.strip() for line in out.splitlines() if line.startswith("  ")} == {
            *(f"It comes from git:{url}#path=skills/{name}." for name in names),
            *(f"It is in {repo / root / 'skills'}." for root in (".claude", ".agent")),
        }
        assert files(repo) == before
        locks = [repo / ".claude" / "whet-lock.json", repo / ".agent" / "whet-lock.json"]
        assert [sorted(machine.locked(lock)) for lock in locks] == [["skills/notes", "skills/review"], ["skills/plan"]]
        assert not (repo / ".agents").exists()
        assert machine.ask("sources", "verify", "--here", cwd=repo)["valid"]

        checked = machine.ask("update", "--check", "--here", cwd=repo)["skills"]
        assert {(skill["name"], skill["status"], skill["edited"]) for skill in checked} == {
            (name, "current", False) for name in names
        }
        team.commit({f"skills/{name}/SKILL.md": text.replace("Three", "Third") for name, text in texts.items()})
        for root, name in ((".claude", "review"), (".agent", "plan")):
            put(repo / root / "skills" / name, {"SKILL.md": texts[name].replace("One.", "First.")})
        edited = files(repo)
        assert machine.ask("update", "--check", "--here", code=1, cwd=repo)["outdated"] == 3
        assert sorted(machine.ask("update", "--here", cwd=repo)["done"]) == sorted(names)
        now = files(repo)
        ends = {path: data.decode()[-24:] for path, data in now.items() if path.endswith("SKILL.md")}
        assert {path: end.splitlines()[-3:] for path, end in ends.items()} == {
            ".agent/skills/plan/SKILL.md": ["First.", "Two.", "Third."],
            ".claude/skills/notes/SKILL.md": ["One.", "Two.", "Third."],
            ".claude/skills/review/SKILL.md": ["First.", "Two.", "Third."],
        }
        theirs = [path for path in before if not path.endswith("SKILL.md")]
        assert [now.get(path) for path in theirs] == [before[path] for path in theirs]

        machine.ask("undo", cwd=repo)
        assert files(repo) == edited, "one undo for all directories"
        machine.ask("undo", cwd=repo)
        assert (files(repo), [lock.exists() for lock in locks]) == (edited, [False, False])
        last = machine.ask("history", cwd=repo)["entries"][-1]
        machine.ask("undo", last["run"], cwd=repo)
        assert [sorted(machine.locked(lock)) for lock in locks] == [["skills/notes", "skills/review"], ["skills/plan"]]


def test_what_openskills_put_into_the_home_follows_a_directory(machine: Machine, tmp_path: Path) -> None:
    shelf, home = tmp_path / "shelf", machine.home
    put(shelf / "review", REVIEW)
    put(shelf / "notes", {"SKILL.md": main("notes")})
    record = openskills(source="../shelf", sourceType="local", localPath=str(shelf / "review"))
    put(home / ".claude" / "skills" / "review", {**REVIEW, **record})
    moved = openskills(source="../shelf", sourceType="local", localPath=str(shelf / "notes"))
    put(home / ".codex" / "skills" / "notes", {"SKILL.md": main("notes", body="Edited.\n"), **moved})
    put(machine.root / "own", {"SKILL.md": main("own")})
    before = files(home)
    steps = {step["name"]: step for step in machine.ask("sources", "adopt")["plan"]}
    assert {name: (step["reason"], step["directory"]) for name, step in steps.items()} == {
        "own": ("It has no source; updates skip it.", str(machine.root / "own")),
        "review": (f"It comes from {shelf / 'review'}.", str(home / ".claude" / "skills" / "review")),
        "notes": (
            (
                "It matches neither its source nor what was installed from there. So its source is not recorded, and "
                "updates skip it."
            ),
            str(home / ".codex" / "skills" / "notes"),
        ),
    }
    put(shelf / "review", BETTER)
    assert machine.ask("update", "review")["done"] == ["review"]
    assert files(home) == {**before, ".claude/skills/review/SKILL.md": BETTER["SKILL.md"].encode()}
    machine.ask("remove", "review")
    assert not (home / ".claude" / "skills" / "review").exists()
    for _ in range(3):
        machine.ask("undo")
    assert (files(home), machine.lock.exists()) == (before, False)


def test_a_local_source_outside_the_project_is_named_and_not_followed(machine: Machine, tmp_path: Path) -> None:
    put(tmp_path / "shelf" / "review", REVIEW)
    repo = machine.work / "repo"
    (repo / ".git").mkdir(parents=True)
    put(repo / ".claude" / "skills" / "review", REVIEW)
    known = {"source": str(tmp_path / "shelf"), "sourceType": "local", "computedHash": computed_hash(items(REVIEW))}
    put(repo, {"skills-lock.json": json.dumps({"version": 1, "skills": {"review": known}})})
    (step,) = machine.ask("sources", "adopt", "--here", cwd=repo)["plan"]
    assert (step["source"], step["reason"]) == (
        "",
        (
            f"{tmp_path / 'shelf'} is outside {repo}; a repository's lock may not point there. So its source is not "
            "recorded, and updates skip it."
        ),
    )

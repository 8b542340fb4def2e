"""A repository of skills through its whole life: looked at, installed, edited, moved on, merged, pinned, taken back,
uninstalled, and brought back on another machine from nothing but the lock."""

from __future__ import annotations

import shutil
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest
from sources.repositories import Repository, Script, serving_git

from journeys.machines import Machine, changed, content, judged, main, plan, step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

BODIES = {
    "deploy": "1. Run the tests.\n2. Build.\n3. Push.\n4. Tell the team.\n",
    "notes": "Write notes.\n",
    "pdf": "Fill in the form.\n",
    "review": "1. Read it.\n2. Ask.\n3. Approve.\n",
    "triage": "1. Read it.\n2. Label it.\n3. Answer.\n",
}
ABOUT = {name: f"Does {name}. Use when asked for it." for name in BODIES}
SCRIPT = "#!/bin/sh\necho noted\n"
MOVED = {
    **BODIES,
    "deploy": BODIES["deploy"].replace("Tell the team", "Tell everybody"),
    "notes": "Write short notes.\n",
    "review": BODIES["review"].replace("Ask.", "Ask the author."),
    "triage": BODIES["triage"].replace("Label it.", "Label it well."),
}
MINE = {"deploy": ("Run the tests", "Run all tests"), "review": ("Ask.", "Ask nobody."), "triage": ("Label", "Name")}
SAME_LINES = "where the source changed the same lines."


def skill(name: str, bodies: Mapping[str, str]) -> dict[str, str]:
    """The files of one skill."""
    found = {"SKILL.md": main(name, ABOUT[name], bodies[name])}
    return {**found, "scripts/note.sh": SCRIPT} if name == "notes" else found


def committed(repository: Repository, bodies: Mapping[str, str]) -> str:
    """Commit the repository with these bodies; the id of the commit."""
    files: dict[str, Any] = {"README.md": "Skills of the team.\n"}
    for name in bodies:
        for path, text in skill(name, bodies).items():
            files[f"skills/{name}/{path}"] = Script(text.encode()) if path.startswith("scripts/") else text
    return repository.commit(files)


class Team:
    """A repository that a person's machine, and another one, install from."""

    def __init__(self, top: Path, url: str) -> None:
        self.repository = Repository.new(top / "team.git")
        self.url = url or self.repository.url
        self.first = committed(self.repository, BODIES)
        self.mine = Machine(top / "mine")
        self.other = Machine(top / "other")

    def source(self, name: str) -> str:
        """As the lock names it."""
        return f"git:{self.url}#path=skills/{name}"

    def at(self, name: str, revision: str, **more: Any) -> dict[str, Any]:
        """What a step tells of a skill's source."""
        return {"source": self.source(name), "revision": revision, **more}

    def tree(self, name: str, revision: str) -> str:
        """The id of a skill's directory."""
        return self.repository.git("rev-parse", f"{revision}:skills/{name}")


@contextmanager
def served(top: Path, kind: str) -> Iterator[Team]:
    """The repository, by smart HTTP or as a file."""
    serving: AbstractContextManager[Any] = serving_git(top) if kind == "http" else nullcontext()
    with serving as server:
        yield Team(top, f"{server.url}/team.git" if server else "")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """The repository as a file; all of it is installed, `deploy` is edited and merged with what came since."""
    made = Team(tmp_path, "")
    made.mine.ask("install", made.url, "--all")
    made.mine.edit("deploy", *MINE["deploy"])
    committed(made.repository, MOVED)
    made.mine.ask("update")
    return made


@pytest.mark.parametrize("kind", ["http", "file"])
def test_a_repository_through_its_whole_life(kind: str, tmp_path: Path) -> None:
    with served(tmp_path, kind) as team:
        looked_at(team)
        installed(team)
        for name, words in MINE.items():
            team.mine.edit(name, *words)
        second = committed(team.repository, MOVED)
        newer(team, second)
        updated(team, second)
        decided(team, second)
        pinned(team, second)
        taken_back(team)
        brought_back(team)


def looked_at(team: Team) -> None:
    machine, first = team.mine, team.first
    assert machine.ask("show", team.url) == {
        "success": True,
        "source": f"git:{team.url}",
        "shown": team.url,
        "revision": first,
        "trust": "community",
        "skills": [offer(team, name) for name in BODIES],
        "inspected": [],
        "notes": [],
    }
    code, shown, said = machine.says("show", team.url, "--skill", "notes")
    assert (code, said) == (0, f"{team.url}, revision {first[:10]}, a community source: 1 skill.\n")
    above, instructions, below = shown.split(f"{'─' * 40}\n")
    assert above == (
        "notes\n"
        "  Does notes. Use when asked for it.\n"
        "         82        SKILL.md\n"
        "         21  run   scripts/note.sh\n"
        "  safe, allow: Community skills without a serious finding are allowed.\n"
    )
    assert (instructions.strip(), below) == (BODIES["notes"].strip(), "")
    script = ("--skill", "notes", "--file", "scripts/note.sh")
    assert machine.says("show", team.url, *script)[1].startswith("#!")
    assert machine.ask("show", team.url, *script[:-1], "no.sh", code=1)["code"] == "file-not-found"
    assert machine.ask("show", team.url, "--file", "SKILL.md", code=2)["code"] == "usage"
    unsaid = machine.ask("install", team.url, code=1)
    assert (unsaid["code"], unsaid["hint"]) == (
        "several-skills",
        "Name those you want, such as `--skill deploy`, or use `--all`.",
    )
    assert machine.names() == [] and not machine.lock.exists()


def offer(team: Team, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": ABOUT[name],
        "version": "",
        "path": f"skills/{name}",
        "source": team.source(name),
        "revision": team.first,
        "group": "",
        "hidden": False,
    }


def installed(team: Team) -> None:
    machine, first = team.mine, team.first
    taken = [
        step(
            machine,
            "install",
            "ready",
            name,
            after=content(skill(name, BODIES)),
            files=changed(**dict.fromkeys(skill(name, BODIES), "added")),
            **team.at(name, first),
            **judged(),
        )
        for name in BODIES
    ]
    assert machine.ask("install", team.url, "--all", "--dry-run") == plan(machine, *taken, dry=True)
    assert machine.names() == [] and not machine.lock.exists()
    assert machine.ask("install", team.url, "--all") == plan(machine, *taken)
    assert machine.names() == sorted(BODIES)
    assert machine.text("notes", "scripts/note.sh") == SCRIPT
    assert machine.locked()["skills/pdf"] == {
        "name": "pdf",
        "source": team.source("pdf"),
        "revision": first,
        "marker": team.tree("pdf", first),
        "digest": content(skill("pdf", BODIES)),
        "trust": "community",
        "verdict": "safe",
        "files": {"SKILL.md": machine.locked()["skills/pdf"]["files"]["SKILL.md"]},
    }
    assert machine.says("install", team.url, "--all")[:2] == (0, "".join(f"{name}: Up to date.\n" for name in BODIES))
    assert machine.ask("verify")["valid"]
    why = machine.ask("sources", "why", "deploy")
    assert (why["installed"]["shown"], why["decision"]["decision"]) == (team.source("deploy"), "allow")


def newer(team: Team, second: str) -> None:
    def told(name: str) -> dict[str, Any]:
        moved = BODIES[name] != MOVED[name]
        return {
            "name": name,
            "path": f"skills/{name}",
            "status": "newer" if moved else "current",
            "outdated": moved,
            "edited": name in MINE,
            "missing": False,
            "pinned": "",
            **team.at(name, team.first),
            "version": "",
            "latest": {"revision": second, "version": ""} if moved else None,
            "reason": "",
            "code": "",
            "held": "",
            "shown": team.source(name),
            "notes": [],
        }

    machine = team.mine
    answer = {"success": True, "root": str(machine.root), "skills": [told(name) for name in BODIES], "outdated": 4}
    assert machine.ask("update", "--check", code=1) == answer
    machine.ask("skill", "pin", "notes", "--reason", "Good as they are.")
    code, table, said = machine.says("update", "--check")
    hint = "`whet update` updates them, except pinned skills; `whet update --dry-run` shows what would change."
    assert (code, said) == (1, f"4 skills outdated, 1 current.\nhint: {hint}\n")
    assert table == (
        "NAME    STATUS  NOW         LATEST      NOTE\n"
        f"deploy  newer   {team.first[:10]}  {second[:10]}  edited\n"
        f"notes   newer   {team.first[:10]}  {second[:10]}  pinned\n"
        f"review  newer   {team.first[:10]}  {second[:10]}  edited\n"
        f"triage  newer   {team.first[:10]}  {second[:10]}  edited\n"
    )


def edited(name: str, bodies: Mapping[str, str]) -> dict[str, str]:
    """A skill with the person's edits."""
    return {"SKILL.md": skill(name, bodies)["SKILL.md"].replace(*MINE[name])}


def kept(team: Team, state: str, name: str, **more: Any) -> dict[str, Any]:
    """A step that leaves a skill as it was installed first."""
    same = content(skill(name, BODIES))
    was = {"from": {"revision": team.first, "version": ""}}
    return step(team.mine, "keep", state, name, before=same, after=same, **team.at(name, team.first), **was, **more)


def clashing(team: Team, name: str, second: str, text: str) -> dict[str, Any]:
    now = content(edited(name, BODIES))
    return step(
        team.mine,
        "merge",
        "conflict",
        name,
        reason="Your edits conflict with the source's changes in SKILL.md.",
        code="update-conflict",
        before=now,
        after=now,
        files=changed(**{"SKILL.md": "changed"}),
        clashes=[{"path": "SKILL.md", "kind": "both-changed", "text": text}],
        **team.at(name, second),
        **{"from": {"revision": team.first, "version": ""}},
    )


CLASH = "line 7:\n<<<<<<< yours\n2. {}\n||||||| before\n2. {}\n=======\n2. {}\n>>>>>>> theirs\n"
REVIEW = CLASH.format("Ask nobody.", "Ask.", "Ask the author.")
TRIAGE = CLASH.format("Name it.", "Label it.", "Label it well.")


def updated(team: Team, second: str) -> None:
    machine, first = team.mine, team.first
    before = {name: machine.text(name) for name in BODIES}
    locked = machine.locked()
    merged = {"SKILL.md": edited("deploy", MOVED)["SKILL.md"]}
    deploy = step(
        machine,
        "merge",
        "ready",
        "deploy",
        reason="Your edits are kept.",
        before=content(edited("deploy", BODIES)),
        after=content(merged),
        files=changed(**{"SKILL.md": "changed"}),
        **team.at("deploy", second),
        **{"from": {"revision": first, "version": ""}},
        **judged(),
    )
    held = "It is pinned. `whet skill unpin notes` lets updates change it again."
    expected = plan(
        machine,
        deploy,
        kept(team, "held", "notes", reason=held, code="pinned"),
        {**kept(team, "ready", "pdf", reason="Up to date. The lock records its new revision."), "revision": second},
        clashing(team, "review", second, REVIEW),
        clashing(team, "triage", second, TRIAGE),
    )
    _, foreseen, _ = machine.says("update", "--dry-run")
    assert "\n  Your edits are kept.\n" in foreseen and "Merged" not in foreseen
    error = "review: Your edits conflict with the source's changes in SKILL.md."
    failure = {"error": error, "code": "update-conflict", "hint": "Resolve the problems in the plan first."}
    assert machine.ask("update", code=1) == {**expected, "success": False, **failure}
    assert {name: machine.text(name) for name in BODIES} == {**before, "deploy": merged["SKILL.md"]}
    now = machine.locked()
    moved = {**locked, "skills/pdf": {**locked["skills/pdf"], "revision": second}}
    assert {path: entry for path, entry in now.items() if path != "skills/deploy"} == {
        path: entry for path, entry in moved.items() if path != "skills/deploy"
    }
    assert (now["skills/deploy"]["revision"], now["skills/deploy"]["digest"]) == (
        second,
        content(skill("deploy", MOVED)),
    )


def decided(team: Team, second: str) -> None:
    """What clashes is shown, and a person says which side it is."""
    machine, mine = team.mine, team.mine.text("review")
    code, out, said = machine.says("update", "review")
    assert code == 1
    shown = "".join(f"  {line}\n" for line in REVIEW.splitlines())
    assert out == f"review: SKILL.md changed here and in the source.\n{shown}"
    assert said == (
        "review: Your edits conflict with the source's changes in SKILL.md.\n"
        "hint: review did not change. `whet update review --prefer ours` keeps your lines where they conflict, "
        "`--prefer theirs` takes the source's; `whet undo` reverses either. To merge by hand, write the lines as you "
        "want them with `whet edit review`, then update with `--prefer ours`.\n"
    )
    revisions = f"{team.first[:10]} -> {second[:10]}"
    code, out, _ = machine.says("update", "review", "--prefer", "mine")
    assert (code, out) == (
        0,
        f"Merged review, revision {revisions}  safe\n  Your edits are kept, even {SAME_LINES}\n",
    )
    assert machine.text("review") == mine
    code, out, _ = machine.says("update", "triage", "--prefer", "theirs")
    assert (code, out) == (
        0,
        f"Merged triage, revision {revisions}  safe\n  Your edits are kept, except {SAME_LINES}\n  changed SKILL.md\n",
    )
    assert machine.text("triage") == skill("triage", MOVED)["SKILL.md"]
    statuses = {
        item["name"]: (item["status"], item["edited"]) for item in machine.ask("update", "--check", code=1)["skills"]
    }
    assert statuses == {
        "deploy": ("current", True),
        "notes": ("newer", False),
        "pdf": ("current", False),
        "review": ("current", True),
        "triage": ("current", False),
    }


def pinned(team: Team, second: str) -> None:
    """What is pinned stays, also when it is named; unpinned it follows, and it can go back."""
    machine, first = team.mine, team.first
    assert machine.ask("update", "notes")["counts"] == {"held": 1}
    assert machine.locked()["skills/notes"]["pinned"] == "Good as they are."
    assert machine.says("skill", "unpin", "notes") == (0, "", "notes is no longer pinned.\n")
    assert machine.says("update", "notes")[:2] == (
        0,
        f"Updated notes, revision {first[:10]} -> {second[:10]}  safe\n  changed SKILL.md\n",
    )
    assert machine.text("notes") == skill("notes", MOVED)["SKILL.md"]
    assert machine.locked()["skills/notes"]["revision"] == second
    machine.ask("rollback", "notes")
    assert machine.text("notes") == skill("notes", BODIES)["SKILL.md"]
    assert machine.locked()["skills/notes"]["revision"] == first
    assert machine.ask("sources", "verify", "notes")["valid"]
    assert machine.ask("update", "--check", "notes", code=1)["outdated"] == 1


def taken_back(team: Team) -> None:
    """What is uninstalled is gone from the lock, and comes back with it."""
    machine = team.mine
    locked = machine.locked()
    assert machine.says("uninstall", "pdf") == (0, "", "Removed pdf; `whet undo pdf` brings it back.\n")
    assert ("pdf" in machine.names(), "skills/pdf" in machine.locked()) == (False, False)
    number = machine.ask("history", "pdf")["entries"][-1]["id"]
    assert machine.ask("undo", str(number))["success"]
    assert (machine.text("pdf"), machine.locked()) == (skill("pdf", BODIES)["SKILL.md"], locked)
    gone = [f"{name}: This includes your edits, which the history keeps.\n" for name in ("deploy", "review")]
    removed = "Removed deploy, review; `whet undo` brings them back.\n"
    assert machine.says("uninstall", "deploy", "review") == (0, "", removed + "".join(gone))
    assert machine.ask("uninstall", "deploy", code=1)["code"] == "skill-not-found"
    assert [record["action"] for record in machine.ask("guard", "log")["records"]].count("uninstall") == 3


def brought_back(team: Team) -> None:
    """The lock alone, in an empty home, is enough for the same library."""
    machine, other = team.mine, team.other
    assert machine.ask("verify")["valid"]
    other.lock.parent.mkdir()
    shutil.copy(machine.lock, other.lock)
    assert other.says("sources", "verify")[::2] == (
        1,
        "3 of 3 skills not as installed.\nhint: `whet install` restores what is missing.\n",
    )
    code, out, _ = other.says("restore")
    revisions = {name: entry["revision"][:10] for name, entry in machine.locked().items()}
    assert (code, out) == (
        0,
        "".join(
            f"Restored {name}, revision {revisions[f'skills/{name}']}  safe\n" for name in ("notes", "pdf", "triage")
        ),
    )
    assert other.library_digest() == machine.library_digest()
    assert other.lock.read_bytes() == machine.lock.read_bytes()
    assert other.ask("verify")["valid"]
    assert other.ask("restore")["counts"] == {"nothing": 3}
    assert (machine.left(), other.left()) == ([], [])


def last(machine: Machine, name: str) -> str:
    """The number of the last entry of a skill's history."""
    return str(machine.ask("history", name)["entries"][-1]["id"])


@pytest.mark.parametrize("how", ["rollback", "undo"])
def test_going_back_over_a_merge_takes_the_lock_back_too(team: Team, how: str) -> None:
    machine, merged = team.mine, team.mine.locked()
    machine.ask(*(("rollback", "deploy") if how == "rollback" else ("undo", last(machine, "deploy"))))
    assert machine.text("deploy") == edited("deploy", BODIES)["SKILL.md"]
    assert machine.locked()["skills/deploy"]["revision"] == team.first
    assert machine.ask("update", "--check", "deploy", code=1)["outdated"] == 1, "what was not wanted is offered again"
    assert machine.ask("update", "deploy")["counts"] == {"ready": 1}
    assert (machine.text("deploy"), machine.locked()) == (edited("deploy", MOVED)["SKILL.md"], merged)


@pytest.mark.parametrize("how", ["restore", "undo"])
def test_what_is_uninstalled_comes_back_with_its_edits_and_its_source(team: Team, how: str) -> None:
    machine, locked, text = team.mine, team.mine.locked(), team.mine.text("deploy")
    machine.ask("uninstall", "deploy")
    assert machine.ask("restore", "deploy", "--dry-run", code=2)["code"] == "usage"
    assert "deploy" not in machine.names()
    machine.ask(*(("restore", "deploy") if how == "restore" else ("undo", last(machine, "deploy"))))
    assert (machine.text("deploy"), machine.locked()) == (text, locked)
    assert machine.ask("update", "--check", "deploy")["outdated"] == 0
    assert machine.ask("sources", "why", "deploy")["installed"]["edited"]


def test_what_is_missing_is_told_and_brought_back(team: Team) -> None:
    machine, digest = team.mine, team.mine.library_digest()
    shutil.rmtree(machine.root / "notes")
    assert machine.says("sources", "verify", "notes")[::2] == (
        1,
        "1 of 1 skill not as installed.\nhint: `whet install` restores what is missing.\n",
    )
    told = machine.ask("update", "notes", code=1)["plan"][0]
    assert (told["code"], told["state"]) == ("locked-missing", "conflict")
    assert machine.ask("restore", "notes", "--stage", code=2)["code"] == "usage", "the lock's word is not a proposal"
    assert machine.says("restore", "notes")[0] == 0
    assert (machine.library_digest(), machine.ask("sources", "verify", "notes")["valid"]) == (digest, True)
    assert machine.text("notes", "scripts/note.sh") == SCRIPT


def test_a_source_that_is_gone_leaves_everything_as_it_is(team: Team) -> None:
    machine, lock = team.mine, team.mine.lock.read_bytes()
    team.repository.path.rename(team.repository.path.with_name("elsewhere"))
    told = machine.ask("update", "--check", code=4)["skills"]
    assert {(skill["status"], skill["code"]) for skill in told} == {("unavailable", "source-not-found")}
    assert machine.says("update", "--check")[2] == f"0 skills outdated, 0 current, {len(told)} unavailable.\n"
    code, out, said = machine.says("update")
    assert (code, out, said.count(team.url)) == (1, "", 1), "said once for all of them"
    assert (machine.lock.read_bytes(), machine.ask("sources", "verify", code=1)["skills"][0]["status"]) == (
        lock,
        "edited",
    )


def test_what_is_called_the_same_comes_from_one_source_only(team: Team) -> None:
    machine, lock = team.mine, team.mine.lock.read_bytes()
    for shelf in ("one", "two"):
        (machine.work / shelf / "pdf").mkdir(parents=True)
        (machine.work / shelf / "pdf" / "SKILL.md").write_text(main("pdf", f"Of shelf {shelf}."), encoding="utf-8")
    known = (
        f"pdf: {machine.root}/pdf is installed from {team.source('pdf')}. To replace it, run `whet remove pdf` first.\n"
    )
    assert machine.says("install", "./one") == (1, "", known)
    assert machine.lock.read_bytes() == lock
    machine.ask("uninstall", "pdf")
    code, out, said = machine.says("install", "./one", "./two")
    asked = "Installed without asking: Skills from an untrusted directory without a serious finding are allowed.\n"
    assert (code, said) == (1, f"pdf: Another skill in this plan already goes to skills/pdf.\n{asked}")
    assert (out.count("Installed pdf"), machine.text("pdf")) == (1, main("pdf", "Of shelf one."))

"""A backup is one file with everything, taken while others write, and restored wholly or not at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from authoring.world import PRELUDE, start
from whet import Library
from whet.errors import WhetError
from whet.interfaces.cli.run import run as run_cli
from whet.library.package import read_tree
from whet.skill.tree import Entry, Limits, digest
from whet.store.intents import Intents

if TYPE_CHECKING:
    from collections.abc import Callable


def opened(top: Path) -> Library:
    env = {"HOME": str(top / "home"), "PATH": "", "WHET_HOME": str(top / "state")}
    (top / "home").mkdir(parents=True, exist_ok=True)
    return Library.open(home=top / "state", project=top, env=env)


def filled(top: Path) -> Path:
    """A machine with two skills, a deleted one, a disabled one, settings and a lock; its backup."""
    with opened(top) as library:
        for name in ("deploy", "review", "gone"):
            body = f"Body of {name}.\n"
            library.edit.create(name, description=f"Does {name}. Use it.", body=body, triggers=False)
        library.edit.write_file("deploy", "scripts/run.sh", "#!/bin/sh\n")
        library.edit.patch("review", find="Body", replace="Text")
        library.edit.delete("gone")
        library.workspace.decisions.disable("deploy")
        own = top / "home" / ".agents" / "skills"
        (own / "deploy" / "scripts" / "run.sh").chmod(0o700)
        (own / "deploy" / "SKILL.md").chmod(0o600)
        (own / "review" / "link").symlink_to("SKILL.md")
        (top / "home" / ".agents" / "whet-lock.json").write_text('{"version": 1, "skills": {}}\n')
        (top / "state" / "config.toml").write_text("stale_days = 20\n")
        library.sources.backup(str(top / "file.backup"))
    return top / "file.backup"


def seen(top: Path) -> dict[str, Any]:
    """What a machine has: skills with their permissions, history, decisions, settings."""
    own = top / "home" / ".agents" / "skills"
    files = sorted(path for path in own.rglob("*") if not path.is_dir())
    with opened(top) as library:
        assert library.history.verify().problems == ()
        entries = [entry.hash for entry in library.history.entries().entries]
        return {
            "skills": {str(path.relative_to(own)): (path.read_bytes(), path.lstat().st_mode) for path in files},
            "entries": entries,
            "records": len(library.guard.audit_log().records),
            "contents": sorted(path.name for path in (top / "state" / "contents").glob("*/*")),
            "disabled": library.workspace.decisions.disabled(),
            "config": (top / "state" / "config.toml").read_text(),
            "lock": (top / "home" / ".agents" / "whet-lock.json").read_text(),
        }


def test_everything_comes_back_in_an_empty_home(tmp_path: Path) -> None:
    backup = filled(tmp_path / "one")
    before = seen(tmp_path / "one")
    shutil.rmtree(tmp_path / "one" / "home")
    shutil.rmtree(tmp_path / "one" / "state")
    with opened(tmp_path / "one") as library:
        restored = library.sources.restore_backup(str(backup))
        assert (restored.aside, sorted(restored.skills), restored.kept) == ("", ["deploy", "review"], ())
    assert seen(tmp_path / "one") == before
    with opened(tmp_path / "one") as library:
        library.edit.restore("gone")
        assert "error" not in {note.severity for note in library.doctor()}
    assert backup.stat().st_mode & 0o777 == 0o600


def test_another_machine_gets_the_skills_below_its_own_home(tmp_path: Path) -> None:
    backup = filled(tmp_path / "one")
    with opened(tmp_path / "two") as library:
        library.sources.restore_backup(str(backup))
        assert library.history.verify().problems == ()
    one, two = (tmp_path / name / "home" / ".agents" / "skills" / "review" for name in ("one", "two"))
    assert read_tree(str(one)) == read_tree(str(two))


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    backup = filled(tmp_path)
    with opened(tmp_path) as library:
        entries = library.history.entries().entries
        library.edit.patch("review", find="Text", replace="Prose")
        library.edit.create("later", description="Came later. Use it.", body="Body.\n")
        text = library.read("review").content
        restored = library.sources.restore_backup(str(backup))
        assert (restored.skills, restored.kept) == ((), ("review",))
        assert library.read("review").content == text and library.read("later")
        assert library.history.entries().entries == entries
        library.edit.patch("review", find="Prose", replace="Words")
        assert library.history.verify().problems == ()
        assert library.history.entries("review").entries[-2].action == "found"
    assert Path(restored.aside, "state.db").exists() and Path(restored.aside, "history.log").exists()


def test_a_damaged_state_is_replaced_by_the_backup_and_never_becomes_one(tmp_path: Path) -> None:
    backup = filled(tmp_path)
    before = seen(tmp_path)
    with opened(tmp_path) as library:
        library.close()
        (tmp_path / "state" / "state.db").write_bytes(b"junk" * 3000)
        with pytest.raises(WhetError) as caught:
            library.sources.backup(str(tmp_path / "other"))
        assert caught.value.code == "state-corrupt" and not (tmp_path / "other").exists()
        restored = library.sources.restore_backup(str(backup))
    assert seen(tmp_path) == before
    assert Path(restored.aside, "state.db").read_bytes() == b"junk" * 3000


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    backup = filled(tmp_path)
    data = backup.read_bytes()
    with opened(tmp_path) as library, pytest.raises(WhetError) as caught:
        library.sources.backup(str(backup))
    assert caught.value.code == "file-exists" and backup.read_bytes() == data
    assert [name for name in os.listdir(tmp_path) if "whet-tmp" in name] == []


def _altered(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def _listed(path: Path, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The same archive with another list."""
    other = path.with_suffix(".other")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            if name != "backup.json":
                new.writestr(name, old.read(name))
        told = json.loads(old.read("backup.json"))
        change(told)
        new.writestr("backup.json", json.dumps(told))
    return other.read_bytes()


@pytest.mark.parametrize(
    "damage", ["empty", "half", "altered", "junk", "member", "missing", "outside", "newer", "none"]
)
def test_a_backup_that_is_not_whole_is_refused_before_anything_is_touched(tmp_path: Path, damage: str) -> None:
    backup = filled(tmp_path)
    data = backup.read_bytes()

    def outside(told: dict[str, Any]) -> None:
        told["members"]["state/../../x"] = told["members"].pop("state/config.toml")

    made: dict[str, Callable[[], bytes]] = {
        "empty": lambda: b"",
        "half": lambda: data[: len(data) // 2],
        "altered": lambda: _altered(data),
        "junk": lambda: b"junk" * 100,
        "member": lambda: _listed(backup, lambda told: told["members"]["state/config.toml"].update(sha256="0" * 64)),
        "missing": lambda: _listed(backup, lambda told: told["members"].pop("state/config.toml")),
        "outside": lambda: _listed(backup, outside),
        "newer": lambda: _listed(backup, lambda told: told.update(version=9)),
        "none": lambda: _listed(backup, lambda told: told.clear()),
    }
    backup.write_bytes(made[damage]())
    before = seen(tmp_path)
    names = sorted(os.listdir(tmp_path))
    with opened(tmp_path) as library, pytest.raises(WhetError) as caught:
        library.sources.restore_backup(str(backup))
    assert caught.value.code == ("backup-newer" if damage == "newer" else "backup-damaged")
    assert (seen(tmp_path), sorted(os.listdir(tmp_path))) == (before, names)
    with opened(tmp_path) as library, pytest.raises(WhetError) as caught:
        library.sources.restore_backup(str(tmp_path / "nowhere"))
    assert caught.value.code == "no-such-file"


def _forged(backup: Path, *, skills: list[tuple[str, dict[str, Any]]] = [], files: dict[str, str] = {}) -> None:  # noqa: B006  never changed
    """Add skills (a path, and its members: text, or a tuple of its kind and text) and files to a backup."""
    with zipfile.ZipFile(backup) as old:
        contents = {name: old.read(name) for name in old.namelist()}
    told = json.loads(contents.pop("backup.json"))

    def add(name: str, text: str, **kind: Any) -> Entry:
        contents[name], sha = text.encode(), sha256(text.encode()).hexdigest()
        told["members"][name] = {"sha256": sha, "mode": 0o4755, "executable": False, "link": False, **kind}
        is_link = bool(kind.get("link"))
        return Entry(
            name.split("/", 2)[-1], "link" if is_link else "file", bool(kind.get("executable")), len(text), sha
        )

    for path, members in skills:
        member = f"skills/{len(told['skills'])}"
        entries = [
            add(f"{member}/{name}", text)
            if isinstance(text, str)
            else add(f"{member}/{name}", text[1], **{text[0]: True})
            for name, text in members.items()
        ]
        told["skills"].append({"name": path, "path": path, "member": member, "digest": digest(entries)})
    for place, text in files.items():
        member = f"files/{len(told['files'])}"
        add(member, text)
        told["files"][member] = place
    with zipfile.ZipFile(backup, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in contents.items():
            new.writestr(name, data)
        new.writestr("backup.json", json.dumps(told))


MAIN = {"SKILL.md": "---\nname: evil\ndescription: Does. Use it.\n---\nBody.\n"}


def test_nothing_is_written_outside_the_roots_and_the_known_files(tmp_path: Path) -> None:
    top = tmp_path / "one"
    backup = filled(top)
    home = top / "home"
    outside = tmp_path / "outside"
    outside.mkdir()
    roots = home / ".agents" / "skills"
    (roots / "away").symlink_to(outside)
    (roots / "dangling").symlink_to(outside / "gone")
    (roots / ".git").mkdir()
    places = [
        str(outside / "evil"),
        "relative",
        "~/evil",
        "~/.agents/skills/../../evil",
        "~/.ssh",
        "~/.agents/skills/away/evil",
        "~/.agents/skills/dangling/evil",
        "~/.agents/skills/.git/hooks",
        "~/.agents/skills/node_modules/evil",
        "~/.agents/skills/deploy/evil",
        "~/.agents/skills/1/2/3/4/5/6/7",
        str(top / "state" / "contents" / "evil"),
    ]
    beside = {
        str(outside / "file"): "evil",
        "~/.bashrc": "evil",
        "~/.agents/../.profile": "evil",
        "~/.agents/skills/deploy/more": "evil",
    }
    good = "~/.claude/skills/found"
    _forged(
        backup,
        skills=[(place, MAIN) for place in [*places, good]] + [("~/.agents/skills/none", {"a": "b"})],
        files=beside,
    )
    before = sorted(path for path in tmp_path.rglob("*") if "state" not in path.parts)
    with opened(top) as library:
        restored = library.sources.restore_backup(str(backup))
    assert (restored.skills, restored.kept) == ((good,), ())
    assert [(note.code, note.severity) for note in restored.notes] == [("not-restored", "warning")] * 17
    told = [note.message.split(" was not restored")[0] for note in restored.notes]
    assert told == [*places, "~/.agents/skills/none", *(f"files/{number}" for number in range(1, 5))]
    made = home / ".claude"
    after = sorted(path for path in tmp_path.rglob("*") if not any("state" in part for part in path.parts))
    assert [path for path in after if made not in (path, *path.parents)] == before
    assert (made / "skills" / "found" / "SKILL.md").stat().st_mode & 0o7777 == 0o755
    env = {"HOME": str(home), "PATH": "", "WHET_HOME": str(top / "state")}
    assert run_cli(["restore", "--backup", str(backup)], env) == 1


def test_the_open_changes_of_a_backup_are_forgotten(tmp_path: Path) -> None:
    backup = filled(tmp_path / "one")
    with opened(tmp_path / "one") as library:
        Intents(library.workspace.state, library.workspace.clock).begin("sync", {"evil": "payload"})
        backup.unlink()
        library.sources.backup(str(backup))
    with opened(tmp_path / "two") as library:
        assert library.sources.restore_backup(str(backup)).notes == ()
        assert library.workspace.state.read("SELECT * FROM intents") == []


def _refused(top: Path, *spoils: Callable[[Path], object]) -> list[str]:
    """Spoil a backup in several ways: each is refused as damaged, and nothing is touched. What is said."""
    whole = filled(top)
    before, names, said = seen(top), sorted([*os.listdir(top), "spoiled", "spoiled.other"]), []
    for spoil in spoils:
        backup = Path(shutil.copy(whole, top / "spoiled"))
        (top / "spoiled.other").touch()
        spoil(backup)
        with opened(top) as library, pytest.raises(WhetError) as caught:
            library.sources.restore_backup(str(backup))
        assert caught.value.code == "backup-damaged"
        said.append(caught.value.message.split(": ", 1)[1])
    assert (seen(top), sorted(os.listdir(top))) == (before, names)
    return said


def test_a_skill_that_no_backup_takes_in_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(files=20, file_bytes=2_000, total_bytes=3_000)
    monkeypatch.setattr("whet.authoring.backup.LIMITS", limits)
    monkeypatch.setattr("whet.authoring.backup._MAX_FILE", 5_000)
    skills: list[dict[str, Any]] = [
        {**MAIN, "x": ("link", "/etc/passwd")},
        {**MAIN, "a/x": ("link", "../../y")},
        {**MAIN, "x": ("link", "SKILL.md"), "x/y": "through a link"},
        {**MAIN, "../x": "up"},
        {**MAIN, "/x": "rooted"},
        {**MAIN, "a//x": "empty part"},
        {**MAIN, "huge": "0" * 2_001},
        {**MAIN, "one": "0" * 1_500, "other": "0" * 1_500},
        {**MAIN, **{f"{number}": "" for number in range(20)}},
    ]

    def forge(skill: dict[str, Any]) -> Callable[[Path], None]:
        return lambda backup: _forged(backup, skills=[("~/.agents/skills/evil", skill)])

    long = {"~/.agents/whet-lock.json": "0" * 5_001}
    assert _refused(tmp_path, *map(forge, skills), lambda backup: _forged(backup, files=long)) == [
        "skills/2/x is a link that leaves its skill.",
        "skills/2/a/x is a link that leaves its skill.",
        "skills/2/x is a file and cannot hold skills/2/x/y.",
        "skills/2/../x is not a valid path.",
        "skills/2//x is not a valid path.",
        "skills/2/a//x is not a valid path.",
        "the skill ~/.agents/skills/evil is too large.",
        "the skill ~/.agents/skills/evil is too large.",
        "the skill ~/.agents/skills/evil is too large.",
        "files/1 is too large.",
    ]


def test_members_that_are_there_twice_belong_nowhere_or_are_packed_oddly_are_damage(tmp_path: Path) -> None:
    def add(name: str, method: int = zipfile.ZIP_STORED) -> Callable[[Path], None]:
        def spoil(backup: Path) -> None:
            with zipfile.ZipFile(backup, "a", method) as archive, warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                archive.writestr(name, b"other")

        return spoil

    def relist(**change: Any) -> Callable[[Path], object]:
        return lambda backup: backup.write_bytes(_listed(backup, lambda told: told.update(change)))

    def nowhere(told: dict[str, Any]) -> None:
        del told["files"]["files/0"]

    said = _refused(
        tmp_path,
        add("state/config.toml"),
        add("state/more"),
        add("skills/0/more", zipfile.ZIP_LZMA),
        lambda backup: backup.write_bytes(_listed(backup, nowhere)),
        lambda backup: backup.write_bytes(_listed(backup, lambda told: told["skills"].extend(told["skills"]))),
        relist(skills=[{"name": 1}]),
        relist(files={"files/0": ["list"]}),
        relist(members=[]),
        relist(version="1"),
    )
    assert said == [
        "its content does not match its manifest.",
        "its content does not match its manifest.",
        "it uses a compression that Whet does not write.",
        "files/0 does not belong in a backup.",
        "its content does not match its manifest.",
        "skills does not have the expected fields.",
        "files/0 does not have the expected form.",
        "'list' object has no attribute 'items'.",
        "'>' not supported between instances of 'str' and 'int'.",
    ]


def test_a_database_that_is_none_is_damage(tmp_path: Path) -> None:
    def spoil(backup: Path) -> None:
        junk = b"junk" * 3000
        with zipfile.ZipFile(backup) as old:
            contents = {name: old.read(name) for name in old.namelist()}
        told = json.loads(contents.pop("backup.json"))
        contents["state/state.db"] = junk
        told["members"]["state/state.db"]["sha256"] = sha256(junk).hexdigest()
        with zipfile.ZipFile(backup, "w") as new:
            for name, data in {**contents, "backup.json": json.dumps(told).encode()}.items():
                new.writestr(name, data)

    assert _refused(tmp_path, spoil) == ["file is not a database."]


def test_a_pipe_is_no_backup_and_a_file_whose_name_is_no_text_is_left_out(tmp_path: Path) -> None:
    backup = filled(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "home" / ".agents" / "skills" / "review" / "a\\b.md").write_text("a backslash is part of a name")
    with opened(tmp_path) as library:
        with pytest.raises(WhetError) as caught:
            library.sources.restore_backup(str(tmp_path / "pipe"))
        assert caught.value.code == "no-such-file"
        (tmp_path / "home" / ".agents" / "skills" / "deploy" / os.fsdecode(b"\xff")).write_text("")
        backup.unlink()
        made = library.sources.backup(str(backup))
    assert made.skills == ("review",)
    assert made.left_out == ("deploy is left out: one of its file names is not text.",)


WRITER = (
    PRELUDE
    + """
library = opened()
number = 0
while not os.path.exists(top + "/stop"):
    number += 1
    name = f"skill-{sys.argv[2]}-{number % 3}"
    try:
        if number <= 3:
            library.edit.create(name, description="Does. Use it.", body=f"Line 0 of {sys.argv[2]}.\\n")
        else:
            library.edit.edit(name, body=f"Line {number} of {sys.argv[2]}.\\n")
    except WhetError as error:
        assert error.code in ("state-busy", "lock-timeout"), error
        continue
    say(library.history.entries(name).entries[-1].id)
"""
)


def test_a_backup_while_others_write_has_everything_that_was_acknowledged(tmp_path: Path, *, quick: bool) -> None:
    (tmp_path / "skills").mkdir()
    writers = [start(WRITER, tmp_path, str(number)) for number in range(2 if quick else 8)]
    acknowledged: list[int] = []
    for writer in writers:
        assert writer.stdout is not None
        acknowledged += [int(writer.stdout.readline()) for _ in range(3)]
    env = {"HOME": str(tmp_path), "PATH": ""}
    with Library.open([tmp_path / "skills"], home=tmp_path / "state", project=tmp_path, env=env) as library:
        made = [library.sources.backup(str(tmp_path / f"backup-{number}")) for number in range(1 if quick else 3)]
    (tmp_path / "stop").write_text("")
    for writer in writers:
        _, errors = writer.communicate()
        assert writer.returncode == 0, errors
    shutil.rmtree(tmp_path / "state")
    for backup in made:
        shutil.rmtree(tmp_path / "skills")
        with Library.open([tmp_path / "skills"], home=tmp_path / "state", project=tmp_path, env=env) as library:
            library.sources.restore_backup(backup.path)
            entries = library.history.entries().entries
            assert {*acknowledged} <= {entry.id for entry in entries} and len(entries) == backup.entries
            library.history.recover()
            assert library.history.verify().problems == () and library.guard.verify_audit().valid
            assert sorted(os.listdir(tmp_path / "skills")) == sorted(backup.skills) != []
            library.edit.create("after", description="Does. Use it.", body="Body.\n")


KILLED = """
import os, signal, sys
from whet import Library
top, count = sys.argv[1], int(sys.argv[2])
env = {"HOME": top + "/home", "PATH": "", "WHET_HOME": top + "/state"}
library = Library.open(home=top + "/state", project=top, env=env)
library.skills()
import whet.authoring.backup
def step(event, arguments):
    global count
    if event in ("os.rename", "os.chmod", "os.mkdir", "open", "os.remove", "os.rmdir", "ctypes.dlsym"):
        count -= 1
        if count < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(step)
library.sources.restore_backup(top + "/file.backup")
"""


@pytest.mark.deep
def test_killed_at_any_step_the_state_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    made = tmp_path / "made"
    filled(made)
    with opened(made) as library:
        before = [entry.hash for entry in library.history.entries().entries]
        library.edit.patch("review", find="Text", replace="Prose")
        library.edit.delete("deploy")
        after = [entry.hash for entry in library.history.entries().entries]
    states = set()
    step = 0
    while True:
        top = tmp_path / "now"
        shutil.rmtree(top, ignore_errors=True)
        shutil.copytree(made, top, symlinks=True)
        done = subprocess.run([sys.executable, "-c", KILLED, str(top), str(step)], check=False)
        assert done.returncode in (0, -signal.SIGKILL)
        with opened(top) as library:
            assert library.history.verify().problems == ()
            entries = [entry.hash for entry in library.history.entries().entries]
        assert entries in (after, before)
        states.add(len(entries))
        assert [name for name in os.listdir(top / "home" / ".agents" / "skills") if name[0] != "."]
        if done.returncode == 0:
            break
        step += 1 + step // 6
    assert states == {len(after), len(before)}

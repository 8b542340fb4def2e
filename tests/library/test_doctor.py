from __future__ import annotations

import os
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from whet.api import Library
from whet.errors import FailedError
from whet.guard.sandbox.box import NO_SANDBOX_HINT
from whet.guard.sandbox.levels import NONE, SEATBELT, Level
from whet.library.doctor import _glance, examine_sandbox, examine_state, repair_roots, worst_first
from whet.library.package import list_package
from whet.library.roots import Root
from whet.library.state import Decisions
from whet.notes import Note
from whet.store.repair import Repaired, repair_state
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def found(library: Library, base: str) -> list[tuple[str, str, str]]:
    return [(entry.severity, entry.code, os.path.relpath(entry.path, base)) for entry in library.doctor()]


def test_a_healthy_library_has_nothing_to_report(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "fine")
    assert opened(root).doctor() == ()


def test_the_worst_comes_first_and_nothing_twice() -> None:
    entries = [
        Note("b", "info", ".", path="/1"),
        Note("b", "warning", ".", path="/2"),
        Note("a", "warning", ".", path="/3"),
        Note("z", "error", ".", path="/4"),
        Note("a", "warning", ".", path="/1"),
        Note("b", "info", ".", path="/1"),
    ]
    assert [(entry.code, entry.path) for entry in worst_first(entries)] == [
        ("z", "/4"),
        ("a", "/1"),
        ("a", "/3"),
        ("b", "/2"),
        ("b", "/1"),
    ]


def test_a_closer_look_brings_up_what_a_list_does_not(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "outer", more="prerequisites: {commands: [frobnicate]}\n")
    skill(root, "outer/references/inner")
    with open(f"{root}/outer/references/skill.md", "w") as file:
        file.write("")
    skill(root, "outer/node_modules/never")
    os.symlink("/etc/hostname", f"{root}/outer/escaping")
    os.mkfifo(f"{root}/outer/pipe")
    for path in (
        f"{root}/.deploy.whet-tmp-0123456789abcdef",
        f"{root}/outer/.SKILL.md.whet-tmp-0123456789abcdef",
        f"{root}/outer/references/.a.md.whet-tmp-0123456789abcdef",
    ):
        with open(path, "w") as file:
            file.write("")
    library = opened(root, str(tmp_path / "missing"))
    assert found(library, root) == [
        ("warning", "guard-blocked", "outer/SKILL.md"),
        ("warning", "leftover", ".deploy.whet-tmp-0123456789abcdef"),
        ("warning", "leftover", "outer/.SKILL.md.whet-tmp-0123456789abcdef"),
        ("warning", "leftover", "outer/references/.a.md.whet-tmp-0123456789abcdef"),
        ("warning", "link-escape", "outer"),
        ("warning", "root-missing", "../missing"),
        ("warning", "special-file", "outer"),
        ("info", "nested-skill", "outer/references/inner/SKILL.md"),
        ("info", "nested-skill", "outer/references/skill.md"),
        ("info", "not-ready", "outer/SKILL.md"),
    ]
    assert all(entry.message and entry.hint for entry in library.doctor())


LEFT = ".x.whet-tmp-0123456789abcdef"


def test_leftovers_are_told_wherever_they_lie(
    tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    real, root = str(tmp_path / "real"), str(tmp_path / "root")
    os.mkdir(real)
    os.symlink(real, root)
    skill(root, "group/one")
    skill(root, "group/two")
    skill(str(tmp_path / "other"), "group/one")  # shadowed
    os.symlink("one", f"{real}/group/two/link")  # what asks for a closer look changes nothing
    os.symlink("../real/group/one", f"{tmp_path}/other/alias")
    places = ["real", "real/group", "real/group/one/references", "real/group/two", "real/notes", "other/group/one"]
    for place in (*places, "real/group/one/.hidden", "real/group/one/node_modules"):
        os.makedirs(tmp_path / place, exist_ok=True)
        (tmp_path / place / LEFT).write_text("")
    os.symlink(LEFT, f"{real}/.y.whet-tmp-0123456789abcdef")
    notes = [item for item in found(opened(root, str(tmp_path / "other")), str(tmp_path)) if item[1] == "leftover"]
    assert notes == [("warning", "leftover", f"{place}/{LEFT}") for place in sorted(places)]


@pytest.mark.parametrize(
    ("entry", "codes"),
    [
        ("mkdir references", []),
        ("mkfifo pipe", ["special-file"]),
        ("mkfifo references/pipe", ["special-file"]),
        ("mkfifo .hidden/pipe", ["special-file"]),
        ("mkfifo __pycache__/pipe", []),
        ("link /etc/hosts", ["guard-blocked", "link-escape"]),
        ("link SKILL.md", []),
        ("deep 15", []),
        ("deep 16", ["too-deep"]),
        ("file references/inner/SKILL.md", ["nested-skill"]),
        ("file .hidden/inner/SKILL.md", []),
        ("file node_modules/inner/SKILL.md", []),
        ("file __pycache__/SKILL.md", []),
    ],
)
def test_what_is_seen_at_a_glance_is_what_a_listing_tells(
    entry: str, codes: list[str], root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "one")
    how, what = entry.split()
    path = f"{root}/one/{what}"
    if how == "deep":
        os.makedirs(f"{root}/one/" + "d/" * int(what))
    elif how == "link":
        os.symlink(what, f"{root}/one/link")
    elif how == "mkdir":
        os.mkdir(path)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkfifo(path) if how == "mkfifo" else open(path, "w").close()
    assert [note.code for note in opened(root).doctor()] == codes
    seen, listing = _glance(f"{root}/one"), list_package(f"{root}/one", main="SKILL.md")
    assert seen is not None or listing.problems or how in ("link", "deep")
    if seen is not None:
        mains = [item.path for item in listing.files if item.path.endswith("SKILL.md")]
        assert (sorted(seen.files), listing.problems) == (mains, ())


def test_the_doctor_opens_no_file_again_that_the_guard_let_pass(
    tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    counts = []
    for count in (10, 20):
        root = str(tmp_path / f"root-{count}")
        for number in range(count):
            skill(root, f"group-{number % 2}/skill-{number}")
            os.mkdir(f"{root}/group-{number % 2}/skill-{number}/references")
        library = opened(root, settled=True, home=str(tmp_path / f"state-{count}"))
        assert library.doctor() == ()  # it scans what is new
        io.clear()
        assert library.doctor() == ()
        counts.append(Counter({name: io[name] for name in ("stat", "lstat", "scandir", "listdir", "open", "read")}))
    counts[1].subtract(counts[0])
    assert +counts[1] == Counter({"stat": 6 * 10, "scandir": 4 * 10, "read": 2 * 10})


def test_a_directory_named_in_the_settings_that_is_missing_is_reported(
    tmp_path: Path, opened: Callable[..., Library], config: Callable[..., None]
) -> None:
    config(f"external = ['{tmp_path}/gone']\n[plugins]\nacme = '{tmp_path}/away'\n")
    library = opened()
    assert [(code, path) for _, code, path in found(library, str(tmp_path))] == [
        ("root-missing", "away"),
        ("root-missing", "gone"),
    ]
    assert library.skills().to_json()["missing_roots"] == [f"{tmp_path}/gone", f"{tmp_path}/away"]


def test_a_root_that_is_a_skill_has_no_buried_ones(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "beside")
    with open(f"{root}/SKILL.md", "w") as file:
        file.write("---\nname: root\ndescription: The root.\n---\n")
    assert [code for _, code, _ in found(opened(root), root)] == []


def test_a_library_that_cannot_be_looked_at_still_gets_a_report(
    root: str, tmp_path: Path, opened: Callable[..., Library], config: Callable[..., None]
) -> None:
    config("this is not toml")
    library = opened(root)
    assert [entry.code for entry in library.doctor()] == ["bad-config"]
    (tmp_path / "state" / "config.toml").unlink()
    (tmp_path / "state" / "state.db").write_bytes(b"garbage" * 1000)
    (entry,) = library.doctor()
    assert (entry.code, entry.severity, entry.path) == ("state-corrupt", "error", str(tmp_path / "state" / "state.db"))
    assert "whet doctor --repair" in entry.hint


def test_what_may_not_be_read_or_written_is_reported(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
skill("root/one")
os.mkdir(top + "/state")
open(top + "/state/state.db", "w").close()
os.chmod(top + "/state/state.db", 0)
os.chmod(top + "/state", 0o500)
answer = [[entry.code, entry.severity, os.path.relpath(entry.path, top)] for entry in library().doctor()]
""") == [["permission-denied", "error", "state/state.db"], ["home-read-only", "warning", "state"]]
    assert unprivileged("""
base = skill("root/two")
os.makedirs(base + "/shut")
os.chmod(base + "/shut", 0)
os.mkdir(top + "/state-2")
os.chmod(top + "/state-2", 0o555)
opened = Library.open([top + "/root"], home=top + "/state-2", project=top, env={"HOME": top})
found = [(entry.code, entry.severity, os.path.relpath(entry.path, top)) for entry in opened.doctor()]
answer = [[code, severity, path.removesuffix(".db")] for code, severity, path in found]  # whichever is needed first
os.chmod(base + "/shut", 0o700)
""") == [
        ["home-read-only", "warning", "state-2"],
        ["unreadable", "warning", "root/two"],
        ["cache-unavailable", "info", "state-2/cache"],
    ]


def test_a_damaged_cache_is_told_of_and_set_aside(tmp_path: Path) -> None:
    (tmp_path / "root" / "one").mkdir(parents=True)
    (tmp_path / "root" / "one" / "SKILL.md").write_text(
        "---\nname: one\ndescription: Does one thing. Use it.\n---\nDo.\n"
    )
    path = tmp_path / "state" / "cache.db"

    def opened() -> Library:
        return Library.open([tmp_path / "root"], home=tmp_path / "state", project=tmp_path, env={"HOME": str(tmp_path)})

    with opened() as library:
        library.find("one thing")
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'index_postings'").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096  # nothing that a list needs
    path.write_bytes(data)
    with opened() as library:
        (entry,) = (entry for entry in library.doctor() if entry.code == "cache-corrupt")
        assert (entry.severity, entry.path) == ("warning", str(path))
        repaired = library.repair()
        assert (len(repaired.done), repaired.lost) == (1, ())
        assert [entry for entry in library.doctor() if entry.code.startswith("cache")] == []
        assert library.find("one thing")[0].card.name == "one"
    assert len([*path.parent.glob("cache.db.broken-1")]) == 1


# the sandbox


def test_the_level_of_the_sandbox_is_told() -> None:
    assert examine_sandbox(lambda: SEATBELT) == Note("sandbox", "info", SEATBELT.sentence)


def test_a_machine_without_a_sandbox_is_warned_about() -> None:
    message = "This machine offers no sandbox. Inline commands do not run."
    assert examine_sandbox(lambda: NONE) == Note("no-sandbox", "warning", message, NO_SANDBOX_HINT)


def test_a_sandbox_that_cannot_be_tried_is_warned_about() -> None:
    def full() -> Level:
        raise OSError(28, "No space left on device")

    message = "Whet cannot test the sandbox: No space left on device. Inline commands do not run."
    hint = "Check that there is space for temporary files."
    assert examine_sandbox(full) == Note("no-sandbox", "warning", message, hint)


# mending


def test_leftovers_are_cleaned_wherever_they_are(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "group/kept")
    temporary = f"{root}/group/kept/.SKILL.md.whet-tmp-0123456789abcdef"
    with open(temporary, "w") as file:
        file.write("half")
    skill(root, "group/lost")
    os.rename(f"{root}/group/lost", f"{root}/group/.lost.whet-old-0123456789abcdef")
    library = opened(root)
    assert [item["name"] for item in library.skills().to_json()["skills"]] == ["kept"]
    assert library.repair().to_json() == {
        "repaired": [f"{root}/group/.lost.whet-old-0123456789abcdef: restored.", f"{temporary}: removed."],
        "lost": [],
        "failed": [],
    }
    assert [item["name"] for item in library.skills().to_json()["skills"]] == ["kept", "lost"]
    assert library.doctor() == ()


def test_what_cannot_be_cleaned_is_said(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
from whet.library.doctor import repair_roots
from whet.library.roots import Root
base = skill("root/one")
open(base + "/.SKILL.md.whet-tmp-0123456789abcdef", "w").close()
os.chmod(base, 0o555)
done = repair_roots([Root(top + "/root", "user", real=top + "/root")])
answer = [list(done.done), [text.replace(top, "TOP") for text in done.lost]]
os.chmod(base, 0o755)
""") == [[], ["TOP/root/one/.SKILL.md.whet-tmp-0123456789abcdef: Permission denied."]]


def test_a_damaged_state_database_is_set_aside_and_its_rows_saved(
    root: str, tmp_path: Path, opened: Callable[..., Library], skill: Callable[..., str]
) -> None:
    skill(root, "one")
    decisions = Decisions(StateDatabase(str(tmp_path / "state")), lambda: 1)
    for number in range(300):
        decisions.disable(f"skill-{number}")
    decisions.disable("one")
    decisions.state.close()
    path = tmp_path / "state" / "state.db"
    data = bytearray(path.read_bytes())
    data[2 * 4096 : 2 * 4096 + 64] = b"\xff" * 64
    path.write_bytes(data)
    library = opened(root)
    assert "state-corrupt" in [entry.code for entry in library.doctor()]
    answer = library.repair().to_json()
    assert answer["repaired"][0].startswith(f"Moved the damaged state database to {path}.broken-")
    assert list(examine_state(str(tmp_path / "state"), list)) == []
    assert library.workspace.decisions.disabled()
    assert library.repair().to_json() == {"repaired": [], "lost": [], "failed": []}


def test_nothing_is_repaired_where_nothing_is_wrong(root: str, tmp_path: Path) -> None:
    assert repair_state(str(tmp_path / "state")) == Repaired()
    assert repair_roots([Root(root, "user", real=root), Root("/nowhere", "user", real="/nowhere")]) == Repaired()


def test_a_state_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with sqlite3.connect(tmp_path / "state" / "state.db") as connection:
        connection.executescript("PRAGMA application_id = 7; CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(FailedError) as caught:
        Decisions(StateDatabase(str(tmp_path / "state")), lambda: 1).disabled()
    assert caught.value.code == "state-foreign"
    assert repair_state(str(tmp_path / "state")) == Repaired()


def test_a_content_that_may_not_be_read_can_be_read_after_a_repair(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
from whet.authoring.journal import Journal, Note
from whet.skill.tree import Item
from whet.store.state import StateDatabase
journal = Journal(StateDatabase(top + "/state"), lambda: 1)
of = journal.keep({"SKILL.md": Item(b"text")})
journal.append([Note("user", "", "create", "a", "/skills/a", "", "", of, "", "")])
for blob in journal.blobs.digests():
    os.chmod(journal.blobs._path(blob), 0)
said = [problem.code for problem in journal.verify()]
repaired = journal.repair()
text = journal.content(of)["SKILL.md"].data.decode()
answer = [said, len(repaired.done), list(repaired.lost), len(journal.verify()), text]
""") == [["permission-denied"], 1, [], 0, "text"]

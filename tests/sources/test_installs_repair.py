"""What is wrong with a lock, or with what is remembered of it, is told, and repaired from what is left."""

from __future__ import annotations

import os

import pytest

from sources.installs_world import Machine, installed, machine, skill
from whet.authoring.journal import Journal
from whet.errors import FailedError, InvalidError, WhetError
from whet.notes import Note
from whet.sources.lock.file import Lock, dump
from whet.sources.lock.installs import Installs
from whet.sources.lock.rebuild import examine, repair
from whet.store.repair import Repaired, check_state, repair_state
from whet.store.state import StateDatabase

__all__ = ["machine"]


def codes(machine: Machine) -> list[str]:
    return [entry.code for entry in machine.examine()]


def test_the_doctor_tells_what_is_wrong_with_a_lock(machine: Machine) -> None:
    machine.install("pdf", "xlsx")
    os.rename(os.path.join(machine.root, "pdf"), os.path.join(machine.top, "pdf"))
    hint = "`whet install` brings it back, `whet remove pdf` removes it from the lock."
    place = os.path.join(machine.root, "pdf")
    assert machine.examine() == (
        Note("locked-missing", "info", "It is in the lock but not on disk.", hint, skill="pdf", path=place),
    )
    os.rename(machine.lock, machine.lock + ".kept")
    message = "The lock is missing, so the sources of xlsx are unknown."
    hint = "Restore it from git, or rebuild it with `whet doctor --repair`."
    assert machine.examine() == (Note("lock-missing", "error", message, hint, path=machine.lock),)
    with open(machine.lock, "w") as file:
        file.write("{\n!")
    (entry,) = machine.examine()
    assert (entry.code, entry.severity, entry.path, entry.line) == ("lock-damaged", "error", machine.lock, 2)
    with open(machine.lock, "w") as file:
        file.write('{"version": 9}')
    assert codes(machine) == ["lock-newer"]
    assert repair(machine.installs, machine.root) == Repaired((), (machine.examine()[0].message,))
    os.rename(machine.lock + ".kept", machine.lock)
    machine.remove("pdf", "xlsx")
    assert not os.path.exists(machine.lock)
    assert codes(machine) == [], "nothing is left that a lock could be about"


def test_a_lock_that_is_gone_is_not_taken_for_an_empty_one(machine: Machine) -> None:
    machine.install("pdf", "xlsx")
    os.rename(machine.lock, machine.lock + ".kept")
    for call in (lambda: machine.installs.entries(machine.root), lambda: machine.install("docx")):
        with pytest.raises(InvalidError) as caught:
            call()
        assert caught.value.code == "lock-missing"
        assert caught.value.message == f"{machine.lock} is missing, so the sources of pdf, xlsx are unknown."
    assert sorted(machine.on_disk()) == ["skills/pdf", "skills/xlsx"]
    os.rename(machine.lock + ".kept", machine.lock)
    machine.install("docx")
    machine.check_whole()


def test_a_lock_that_is_gone_is_rebuilt_from_what_is_there(machine: Machine) -> None:
    machine.install("pdf", "xlsx", "docx")
    machine.remove("docx")
    os.rename(os.path.join(machine.root, "xlsx"), os.path.join(machine.top, "xlsx"))
    kept = machine.locked()["skills/pdf"]
    os.remove(machine.lock)
    repaired = repair(machine.installs, machine.root)
    assert repaired == Repaired((f"Rebuilt {machine.lock} with 1 entry.",), ("skills/xlsx: it is gone.",))
    assert machine.locked() == {"skills/pdf": kept}
    assert repair(machine.installs, machine.root) == Repaired()


def damaged(machine: Machine, text: str) -> tuple[Repaired, str]:
    """What a repair makes of a text, and the text it kept aside."""
    with open(machine.lock, "w") as file:
        file.write(text)
    repaired = repair(machine.installs, machine.root)
    (aside,) = [name for name in os.listdir(os.path.dirname(machine.lock)) if ".broken-" in name]
    path = os.path.join(os.path.dirname(machine.lock), aside)
    assert repaired.done[0].endswith(f"It is kept as {path}.")
    with open(path) as file:
        return repaired, file.read()


def test_a_damaged_lock_is_kept_aside_and_rebuilt(machine: Machine) -> None:
    before = machine.install("pdf", "xlsx")
    repaired, kept = damaged(machine, "not a lock at all")
    assert kept == "not a lock at all"
    assert repaired.done[1:] == (f"Rebuilt {machine.lock} with 2 entries.",)
    assert repaired.lost == ()
    assert machine.locked() == before
    machine.check_whole()


def test_what_can_be_read_of_a_colleagues_lock_is_saved(machine: Machine) -> None:
    """Nothing is remembered of these; one of them does not exist yet."""
    pdf, xlsx = installed("pdf", skill("pdf")), installed("xlsx", skill("xlsx"))
    os.makedirs(machine.root)
    text = dump(Lock((installed("broken", skill("broken")), pdf, xlsx)))
    text = text.replace(installed("broken", skill("broken")).digest, "?")
    repaired, _ = damaged(machine, text)
    assert machine.locked() == {"skills/pdf": pdf, "skills/xlsx": xlsx}
    assert repaired.lost == ("skills/broken: its entry could not be read.",)


def test_of_two_sides_of_a_merge_that_one_counts_which_is_on_disk(machine: Machine) -> None:
    mine = machine.install("pdf", body="Theirs.\n")["skills/pdf"]
    ours = installed("pdf", skill("pdf", "Ours.\n"), revision="e" * 40)
    side = {
        name: dump(Lock((entry,))).split('"skills": {\n')[1].split("\n  },")[0]
        for name, entry in (("ours", ours), ("theirs", mine))
    }
    text = '{\n  "skills": {\n<<<<<<< HEAD\nOURS\n=======\nTHEIRS\n>>>>>>> x\n  },\n  "version": 1\n}\n'
    text = text.replace("OURS", side["ours"]).replace("THEIRS", side["theirs"])
    repaired, _ = damaged(machine, text)
    assert "It has unresolved merge markers." in repaired.done[0]
    assert repaired.lost == (f"skills/pdf: the lock also has the revision {'e' * 40}.",)
    assert machine.locked() == {"skills/pdf": mine}
    machine.check_whole()


def test_of_edited_skills_the_entry_with_the_most_files_in_common_counts(machine: Machine) -> None:
    tree = skill("pdf", "One.\n", a="1", b="2")
    far = installed("pdf", skill("pdf", "Two.\n", a="3"), revision="e" * 40)
    near = installed("pdf", tree, revision="f" * 40)
    machine.commit({"pdf": (tree, near)})
    with open(os.path.join(machine.root, "pdf", "SKILL.md"), "a") as file:
        file.write("Edited.\n")
    with machine.database.write() as connection:
        connection.execute("DELETE FROM installs")
    text = dump(Lock((far,)))[:-2] + ",\n" + dump(Lock((near,)))[1:]
    repaired, _ = damaged(machine, text)
    assert machine.locked() == {"skills/pdf": near}
    assert repaired.lost == (f"skills/pdf: the lock also has the revision {'e' * 40}.",)


def test_a_damaged_state_database_is_said_and_repaired(machine: Machine) -> None:
    for number in range(40):
        machine.install("pdf", body=f"{number}\n" * 50)
    before = machine.locked()
    machine.close()
    with open(machine.database.path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    journal = Journal(StateDatabase(machine.state), lambda: 10**18)
    other = Installs(journal, lambda: 10**18, machine.writer.recover)
    assert check_state(machine.state)
    with pytest.raises(FailedError) as caught:
        other.commit(machine.root, {"skills/x": before["skills/pdf"]}, None)
    assert caught.value.code == "state-corrupt"
    assert {item.code for item in examine(other, machine.root)} <= {"state-corrupt"}
    repaired = repair_state(machine.state)
    assert repaired.done[0].startswith("Moved the damaged state database to ")
    assert check_state(machine.state) is None and repair_state(machine.state) == Repaired()
    assert other.entries(machine.root) == tuple(before.values()), "the lock is the truth"
    assert journal.repair().done, "from its log"
    assert len(journal.entries()) == 40 and journal.verify() == ()
    journal.state.close()
    machine.install("xlsx")
    assert set(machine.locked()) == {"skills/pdf", "skills/xlsx"}


def test_a_lock_that_was_sound_when_the_state_was_repaired_is_rebuilt_from_it(machine: Machine) -> None:
    machine.install("pdf", "xlsx")
    before = machine.locked()
    machine.close()
    with open(machine.database.path, "wb") as file:
        file.write(b"junk" * 4000)
    repair_state(machine.state)
    assert machine.journal.repair().lost == ()
    assert machine.installs.known(machine.lock) == {}
    assert repair(machine.installs, machine.root) == Repaired()
    assert machine.installs.known(machine.lock) == before
    assert not machine.installs.was_installed(machine.root, before["skills/xlsx"]), "a lock alone proves nothing"
    repaired, kept = damaged(machine, "!")
    assert (repaired.done[-1], repaired.lost, kept) == (f"Rebuilt {machine.lock} with 2 entries.", (), "!")
    assert machine.locked() == before
    machine.check_whole()


def test_what_git_changed_in_a_lock_is_remembered_by_a_repair(machine: Machine) -> None:
    machine.install("pdf")
    pulled = machine.locked()["skills/pdf"]._replace(source="git:https://example.com/other", revision="c" * 40)
    with open(machine.lock, "w") as file:
        file.write(dump(Lock((pulled,))))
    assert repair(machine.installs, machine.root) == Repaired()
    assert machine.installs.known(machine.lock) == {"skills/pdf": pulled}
    assert not machine.installs.was_installed(machine.root, pulled)
    os.remove(machine.lock)
    assert repair(machine.installs, machine.root) == Repaired((f"Rebuilt {machine.lock} with 1 entry.",))
    assert machine.locked() == {"skills/pdf": pulled}


def test_an_unreadable_record_is_said(machine: Machine) -> None:
    machine.install("pdf")
    with machine.database.write() as connection:
        connection.execute("UPDATE installs SET entry = '{}'")
    with pytest.raises(WhetError) as caught:
        machine.installs.known(machine.lock)
    assert caught.value.code == "state-corrupt"

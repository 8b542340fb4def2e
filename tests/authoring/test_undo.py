"""Whatever was done, through Whet or by hand, in whatever order, can be undone to the last byte."""

from __future__ import annotations

import os
from functools import partial
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from authoring.world import World, check_whole, content, created, patched, refused, world
from whet import Library
from whet.authoring.writer import Provenance
from whet.errors import FailedError, WhetError
from whet.notes import SWITCHES, name_action

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["world"]

NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta"])
WORDS = st.sampled_from(["one", "two", "three", "four"])
FILES = st.sampled_from(["references/a.md", "references/deep/b.md", "scripts/run.sh"])


def failure(call: Callable[[], object]) -> WhetError | None:
    try:
        call()
    except WhetError as error:
        return error
    return None


class Undoing(RuleBasedStateMachine):
    """Changes a library in every way there is, then takes back every entry, the last one first."""

    def __init__(self) -> None:
        super().__init__()
        self.top = os.path.realpath(
            mkdtemp(prefix="whet-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        )
        self.root = os.path.join(self.top, "skills")
        os.mkdir(self.root)
        self.library = Library.open([self.root], home=self.top + "/state", project=self.top, env={"HOME": self.top})
        self.marks: list[tuple[int, str, dict[str, bytes]]] = []
        """After how many entries the library had which digest and which files."""

    def entries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.library.edit.history.entries().to_json()["entries"]
        return found

    def mark(self) -> None:
        self.marks.append((len(self.entries()), self.library.workspace.digest(), content(self.root)))

    def do(self, call: Callable[[], Any]) -> None:
        """Something that may be refused; then nothing may have changed."""
        before = content(self.root)
        error = failure(call)
        assert error is None or content(self.root) == before
        assert not isinstance(error, FailedError)
        self.mark()

    def manage(self, *operations: dict[str, Any]) -> None:
        self.do(lambda: self.library.edit.apply(operations, by=Provenance("agent")).to_json())

    @initialize(names=st.sets(NAMES, max_size=2))
    def there_before(self, names: set[str]) -> None:
        for name in names:
            os.mkdir(os.path.join(self.root, name))
            with open(os.path.join(self.root, name, "SKILL.md"), "w") as file:
                file.write(f"---\nname: {name}\ndescription: Was there.\n---\n\none two\n")
        self.mark()

    @rule(name=NAMES, word=WORDS)
    def create_or_improve(self, name: str, word: str) -> None:
        self.manage(created(name, f"{word} one\n"))

    @rule(name=NAMES, word=WORDS)
    def edit(self, name: str, word: str) -> None:
        self.manage({"action": "edit", "name": name, "body": f"{word} two\n"})

    @rule(name=NAMES, word=WORDS, other=WORDS)
    def patch(self, name: str, word: str, other: str) -> None:
        self.manage(patched(name, word, other))

    @rule(name=NAMES, path=FILES, word=WORDS, executable=st.booleans())
    def write_file(self, name: str, path: str, word: str, executable: bool) -> None:
        self.manage(
            {"action": "write_file", "name": name, "file_path": path, "content": word, "executable": executable}
        )

    @rule(name=NAMES, path=FILES)
    def remove_file(self, name: str, path: str) -> None:
        self.manage({"action": "remove_file", "name": name, "file_path": path})

    @rule(name=NAMES, other=NAMES)
    def rename(self, name: str, other: str) -> None:
        self.manage({"action": "rename", "name": name, "new_name": other})

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.manage({"action": "delete", "name": name})

    @rule(name=NAMES)
    def restore(self, name: str) -> None:
        self.manage({"action": "restore", "name": name})

    @rule(name=NAMES, other=NAMES, word=WORDS)
    def batch(self, name: str, other: str, word: str) -> None:
        self.manage(created(name, word), {"action": "delete", "name": other}, created(other, f"{word} four"))

    @rule(name=NAMES, number=st.none() | st.integers(1, 4))
    def rollback(self, name: str, number: int | None) -> None:
        self.do(lambda: self.library.edit.history.rollback(name, number).to_json())

    @rule(name=NAMES, surface=st.sampled_from(["", "mcp"]), on=st.booleans())
    def switch(self, name: str, surface: str, on: bool) -> None:
        settings = self.library.settings
        self.do(lambda: settings.enable(name, surface) if on else settings.disable(name, surface))

    @rule(number=st.integers(1, 12))
    def undo_something(self, number: int) -> None:
        self.do(lambda: self.library.edit.history.undo(str(number)).to_json())

    @rule(name=NAMES, word=WORDS, how=st.sampled_from(["text", "file", "mode", "gone"]))
    def edit_by_hand(self, name: str, word: str, how: str) -> None:
        """A skill that is known, an edit by hand, and a change by which it is found."""
        path = os.path.join(self.root, name)
        self.manage({"action": "write_file", "name": name, "file_path": "assets/x", "content": word})
        if not any(entry["path"] == path for entry in self.entries()) or not os.path.exists(path):
            return
        if how == "gone":
            rmtree(path)
        elif how == "mode":
            os.chmod(os.path.join(path, "SKILL.md"), 0o755)
        else:
            with open(os.path.join(path, "SKILL.md" if how == "text" else f"{word}.txt"), "a") as file:
                file.write(f"{word}\n")
        new = {"action": "write_file", "name": name, "file_path": "assets/x", "content": str(len(self.entries()))}
        self.library.edit.apply([created(name, f"{word} again\n") if how == "gone" else new])
        self.mark()

    def teardown(self) -> None:
        try:
            self.undo_everything()
        finally:
            self.library.close()
            rmtree(self.top)

    def undo_everything(self) -> None:
        together: set[str] = set()
        """Renames that are undone: both halves of one go back at once."""
        for entry in reversed(self.entries()):
            switched = entry["action"] in SWITCHES
            if entry["run"] in together or (entry["before"] == entry["after"] and not switched):
                continue
            while self.marks and self.marks[-1][0] >= entry["id"]:
                self.compare(*self.marks.pop()[1:])
            if entry["action"] == "rename":
                together.add(entry["run"])
            error = failure(partial(self.library.edit.history.undo, str(entry["id"])))
            if switched:
                assert error is None or error.code == "nothing-changes", error
            elif error is not None:
                assert (error.code, entry["action"], entry["before"]) == ("cannot-undo", "found", ""), error
        while self.marks:
            self.compare(*self.marks.pop()[1:])
        check_whole(self.top + "/state", self.root)

    def compare(self, digest: str, files: dict[str, bytes]) -> None:
        assert content(self.root) == files
        assert self.library.workspace.digest() == digest


TestUndoing = Undoing.TestCase
TestUndoing.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


def test_a_change_in_the_middle_is_undone_where_nothing_else_touched_the_same(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy", "First.\n\nSecond.\n\nThird.\n")])
    library.edit.apply([patched("deploy", "First", "1st")])
    library.edit.apply([{"action": "write_file", "name": "deploy", "file_path": "references/a.md", "content": "a"}])
    library.edit.apply([patched("deploy", "Third", "3rd")])
    library.edit.history.undo("2")
    text = (world.root / "deploy/SKILL.md").read_text()
    assert "First." in text and "3rd." in text and (world.root / "deploy/references/a.md").exists()
    library.edit.history.undo("3")
    assert (
        not (world.root / "deploy/references/a.md").exists() and "3rd." in (world.root / "deploy/SKILL.md").read_text()
    )
    check_whole(world.state, world.root)


def test_a_change_that_was_changed_again_cannot_be_undone_and_nothing_changes(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy", "Word.\n"), created("other", "Word.\n")])
    library.edit.apply([patched("deploy", "Word", "Text"), patched("other", "Word", "Text")])
    library.edit.apply([patched("deploy", "Text", "Prose")])
    before = content(world.root)
    run = library.edit.history.entries().to_json()["entries"][2]["run"]
    for what in ("3", run):
        error = refused(partial(library.edit.history.undo, what), "cannot-undo")
        assert error.details["entry"] == 3
        assert error.hint == (
            "`whet undo 5` undoes the last change to deploy first. `whet undo deploy --to 1` returns deploy to the "
            "state before change 3, without anything that came after it; the history keeps what it has now."
        )
        assert content(world.root) == before
    for what in ("4", "5", "3"):
        library.edit.history.undo(what)
    check_whole(world.state, world.root)


def test_the_hint_of_an_undo_that_conflicts_names_only_what_works(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy", "Word.\n")])
    library.edit.apply([patched("deploy", "Word", "Text")])
    main = world.root / "deploy/SKILL.md"
    main.write_text(main.read_text().replace("Text", "By hand"))
    error = refused(partial(library.edit.history.undo, "deploy"), "cannot-undo")
    assert error.hint == (
        "`whet undo deploy --to 1` returns deploy to the state before change 2, without anything that came after it; "
        "the history keeps what it has now."
    )
    error = refused(partial(library.edit.history.undo, "1"), "cannot-undo")
    assert error.hint == "`whet remove deploy` removes deploy; the history keeps it."
    library.edit.history.rollback("deploy", 1)
    assert [(entry.actor, entry.what, entry.reason) for entry in library.edit.history.entries().entries[1:]] == [
        ("user", "patch", ""),
        ("unknown", "edited by hand", "Changed outside Whet."),
        ("user", "return", "To state 1."),
    ]
    library.edit.rename("deploy", "ship")
    main = world.root / "ship/SKILL.md"
    main.write_text(f"{main.read_text()}By hand.\n")
    error = refused(partial(library.edit.history.undo, "ship"), "cannot-undo")
    assert error.hint == "`whet skill rename ship deploy` renames it back and keeps what has changed."
    library.edit.rename("ship", "deploy")
    assert "By hand." in (world.root / "deploy/SKILL.md").read_text()


def test_a_redo_is_called_one(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy", "Word.\n")])
    library.edit.history.undo()
    library.edit.history.redo()
    library.edit.history.undo()
    library.edit.history.redo()
    named = [entry.what for entry in library.edit.history.entries().entries]
    assert named == ["create", "undo", "redo", "undo", "redo"]
    check_whole(world.state, world.root)


def test_undoing_a_run_takes_back_nothing_that_was_there_before_it(world: World) -> None:
    path = world.skill("mine", "Mine.\n")
    before = content(path)
    library = world.library()
    answer = library.edit.apply([patched("mine", "Mine", "Yours")]).to_json()
    (path / "SKILL.md").write_text((path / "SKILL.md").read_text() + "By hand.\n")
    edited = content(path)
    second = library.edit.apply([patched("mine", "By hand", "By agent")]).to_json()
    history = {entry["id"]: entry for entry in library.edit.history.entries("mine").to_json()["entries"]}
    library.edit.history.undo(history[second["entry"]]["run"])
    assert content(path) == edited
    library.edit.history.rollback("mine", 2)
    library.edit.history.undo(history[answer["entry"]]["run"])
    assert content(path) == before


def test_that_a_skill_was_there_is_nothing_to_undo(world: World) -> None:
    world.skill("mine")
    library = world.library()
    library.edit.apply([patched("mine", "Body", "Text")])
    before = content(world.root)
    refused(lambda: library.edit.history.undo("1"), "cannot-undo")
    assert content(world.root) == before


@pytest.mark.parametrize("what", ["99", "nonsense", ""])
def test_what_is_not_in_the_history_is_not_undone(world: World, what: str) -> None:
    library = world.library()
    library.edit.apply([created("deploy")])
    refused(lambda: library.edit.history.undo(what), "no-such-entry")


def test_undo_again_and_again_goes_back_change_by_change(world: World) -> None:
    library = world.library()
    marks = [content(world.root)]
    library.edit.apply([created("deploy", "First.\n\nSecond.\n"), created("other")])
    marks.append(content(world.root))
    for find, replace in (("First", "1st"), ("Second", "2nd")):
        library.edit.apply([patched("deploy", find, replace)])
        marks.append(content(world.root))
    library.edit.rename("deploy", "ship")
    for expected in reversed(marks):
        library.history.undo()
        assert content(world.root) == expected
    error = refused(library.history.undo, "nothing-changes")
    assert error.message == "Every change is already undone."
    entries = library.history.entries().entries
    assert [entry.action for entry in entries].count("undo") == 2 + 1 + 1 + 2
    assert not [entry for entry in entries if entry.before == entry.after]
    check_whole(world.state, world.root)


def test_a_change_after_an_undo_is_the_last_one_and_an_undo_is_taken_back_by_naming_it(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy", "First.\n\nSecond.\n")])
    library.edit.apply([patched("deploy", "First", "1st")])
    patched_once = content(world.root)
    (undone,) = library.history.undo().entries
    library.edit.apply([patched("deploy", "Second", "2nd")])
    library.history.undo()
    library.history.undo(undone.id)
    assert content(world.root) == patched_once
    library.history.undo()  # the patch that is back is the last change that is not taken back
    assert b"First." in content(world.root)["deploy/SKILL.md"]
    library.history.undo()
    assert content(world.root) == {}


def test_what_is_taken_back_already_adds_no_entry(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy", "First.\n\nSecond.\n")])
    library.edit.apply([patched("deploy", "First", "1st")])
    library.edit.apply([patched("deploy", "Second", "2nd")])
    library.history.undo(2)
    before = library.history.entries()
    error = refused(lambda: library.history.undo(2), "nothing-changes")
    assert error.message == "2 is already undone."
    assert library.history.entries() == before


def test_disabling_a_skill_is_a_change_that_is_undone_like_any_other(world: World) -> None:
    before = content(world.skill("mine"))
    library = world.library()
    for surface in ("mcp", ""):
        library.settings.disable("mine", surface)
    assert [(entry.id, entry.action, entry.origin) for entry in library.history.entries().entries] == [
        (1, "disable", "mcp"),
        (2, "disable", ""),
    ]
    off = library.workspace.decisions.disabled
    (undone,) = library.history.undo().entries
    assert (undone.action, undone.reason, {surface for _, surface in off()}) == ("enable", "Undo of 2.", {"mcp"})
    library.history.undo(undone.id)
    assert {surface for _, surface in off()} == {"mcp", ""}
    assert {entry.origin for entry in library.history.undo("mine").undone} == {""}
    library.history.undo()
    assert off() == frozenset()
    assert refused(library.history.undo, "nothing-changes").message == "Every change is already undone."
    library.edit.apply([patched("mine", "Body", "Text")])
    refused(lambda: library.history.undo(7), "cannot-undo")  # that the skill was there is nothing to undo
    library.history.undo()
    assert content(world.root / "mine") == before
    check_whole(world.state, world.root)


def test_decisions_about_skills_and_projects_are_undone_and_done_again(tmp_path: Path) -> None:
    project = tmp_path / "project"
    theirs = project / ".agents" / "skills" / "theirs" / "SKILL.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("---\nname: theirs\ndescription: Does it. Use when it is needed.\n---\n\nDo it.\n")
    (project / ".git").mkdir()
    env = {"HOME": str(tmp_path), "WHET_HOME": str(tmp_path / "state")}
    library = Library.open(project=str(project), env=env)
    library.edit.apply([{"action": "create", "name": "own", "description": "Does it.", "body": "Do it.\n"}])
    decisions, history = library.settings, library.history

    def state() -> tuple[object, ...]:
        recalled = library.workspace.decisions.recall()
        pins = [*library.workspace.decisions.pins().values()]
        return (
            pins,
            len(recalled.trusted),
            sorted(row[1:] for row in recalled.listed if row[2] != "normal"),
            recalled.in_use,
        )

    decisions.trust()
    decisions.save_bundle("web", ["own"])
    nothing, states = state(), []
    for decide in (
        lambda: decisions.pin("own", "It works."),
        lambda: decisions.unpin("own"),
        lambda: decisions.list_as("own", "manual"),
        lambda: decisions.list_as("own", "name", here=True),
        lambda: decisions.use("web"),
        lambda: decisions.use(None),
        decisions.untrust,
    ):
        decide()
        states.append(state())
    assert [name_action(entry.action, entry.origin) for entry in history.entries().entries][2:] == [
        "pin",
        "unpin",
        "list-as manual",
        "list-as name",
        "use /web",
        "use default",
        "untrust",
    ]
    for before in [*reversed(states[:-1]), nothing]:
        undone = history.undo()
        assert state() == before, undone.undone
    redone = [entry.id for entry in history.entries().entries if entry.reason.startswith("Undo of")]
    for number, after in zip(reversed(redone), states, strict=True):
        history.undo(number)
        assert state() == after
    decisions.use("web")
    elsewhere = Library.open(project=str(tmp_path), env=env)
    for _ in ("a repository", "a project without one, whose skills are below it and not in it"):
        decisions.trust()
        decisions.untrust()
        assert elsewhere.history.undo().undone
        assert [trusted.path for trusted in decisions.trusted()] == [str(project)]
        decisions.untrust()
        if (project / ".git").exists():
            (project / ".git").rmdir()
            refusal = refused(elsewhere.history.undo, "cannot-undo")
            assert refusal.message == f"{project} is no longer the repository that you trusted."
    assert history.verify().valid


def test_a_new_reason_for_a_pin_is_in_the_history_and_undone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.skill("mine")
    library = world.library()
    decisions, known = library.settings, library.workspace.decisions

    def reasons() -> list[str]:
        return [*known.pins().values()]

    assert [decisions.pin("mine", reason).changed for reason in ("", "", "yes", "", "Until May.", "Until May.")] == [
        *(True, False, True, False, True, False)
    ], "without a reason, the earlier one stays"
    told = [(entry.action, entry.reason) for entry in library.history.entries().entries]
    assert told == [("pin", ""), ("pin", "yes"), ("pin", "Until May.")]
    library.history.undo()
    assert reasons() == [""], "a lock and the history write no reason as `yes`"
    library.history.redo()
    assert reasons() == ["Until May."]
    monkeypatch.setattr(library.edit.journal, "append", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        decisions.unpin("mine")
    assert reasons() == ["Until May."], "the decision and its entry are one change"


def test_enabling_a_skill_everywhere_is_one_run_and_is_undone_as_one(world: World) -> None:
    world.skill("mine")
    library = world.library()
    for surface in ("mcp", "cli"):
        library.settings.disable("mine", surface)
    library.settings.enable("mine")
    assert library.workspace.decisions.disabled() == frozenset()
    library.history.undo()
    assert {surface for _, surface in library.workspace.decisions.disabled()} == {"mcp", "cli"}
    assert [version for _, version in library.history.entries("mine").versions] == []


def test_a_switch_of_a_skill_that_is_gone_cannot_be_undone(world: World) -> None:
    library = world.library()
    library.edit.apply([created("mine")])
    library.settings.disable("mine")
    library.edit.apply([{"action": "delete", "name": "mine"}])
    refused(lambda: library.history.undo(2), "cannot-undo")
    library.history.undo()
    library.history.undo()
    assert library.workspace.decisions.disabled() == frozenset()


def test_undoing_the_last_change_of_a_skill_leaves_the_others_of_its_run(world: World) -> None:
    library = world.library()
    run = library.edit.apply([created("deploy"), created("other")]).changes
    assert len(run) == 2
    assert [entry.skill for entry in library.history.undo("deploy").undone] == ["deploy"]
    assert not (world.root / "deploy").exists() and (world.root / "other").exists()
    run_id = library.history.entries().entries[0].run
    assert [entry.skill for entry in library.history.undo(run_id).undone] == ["other"]
    assert not (world.root / "other").exists()


def test_a_dry_run_of_an_undo_changes_nothing(world: World) -> None:
    library = world.library()
    library.edit.apply([created("deploy", "First.\n")])
    library.edit.apply([patched("deploy", "First", "1st")])
    before, files = library.history.entries(), content(world.root)
    answer = library.history.undo(dry_run=True)
    assert (answer.entries, [entry.id for entry in answer.undone]) == ((), [2])
    assert "-1st.\n+First.\n" in (answer.diff or "")
    back = library.history.rollback("deploy", dry_run=True).to_json()
    assert (back["dry_run"], back["skills"], back["state"]) == (True, ["deploy"], 1)
    library.settings.disable("deploy")
    assert library.history.undo(dry_run=True).to_json()["undone"] == [3]
    assert (library.history.entries().entries[:-1], content(world.root)) == (before.entries, files)

"""The half of the front door that brings skills in and out, as a program uses it."""

from __future__ import annotations

import json
import shutil
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from whet import Library, WhetError
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance
from whet.library.package import read_tree
from whet.store.repair import Repaired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.notes import Progress

CAUTION = "```bash\ngit config --global core.hooksPath /tmp/hooks\n```\n"
"""A body that the guard warns of."""


class Machine:
    """A home, a project, and two directories that skills come from."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.root = top / "home" / ".agents" / "skills"
        self.lock = self.root.parent / "whet-lock.json"
        self.shelf = top / "shelf"
        for name in ("state", "project/.git", "home", "shelf"):
            (top / name).mkdir(parents=True)

    def open(self) -> Library:
        env = {"HOME": str(self.top / "home"), "PATH": ""}
        return Library.open(home=self.top / "state", project=self.top / "project", env=env)

    def skill(self, name: str, body: str = "Do it.\n", *, where: Path | None = None) -> Path:
        """Write a skill by hand; its directory."""
        path = (where or self.shelf) / name
        path.mkdir(parents=True, exist_ok=True)
        (path / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name} for you.\n---\n\n{body}")
        return path

    def archive(self, name: str, body: str = "Do it.\n") -> Path:
        """A stranger's archive with a skill; its file."""
        path = self.skill(name, body, where=self.top / "packed" / name)
        shutil.make_archive(str(self.top / name), "zip", path.parent)
        return self.top / f"{name}.zip"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: ())
    return Machine(tmp_path.resolve())


@pytest.fixture
def library(machine: Machine) -> Iterator[Library]:
    with machine.open() as made:
        yield made


def code(call: Callable[[], object]) -> str:
    """The code of the error that a call raises."""
    with pytest.raises(WhetError) as caught:
        call()
    assert caught.value.hint
    return caught.value.code


def judged(library: Library) -> dict[str, tuple[str, str, str]]:
    """What an audit says of every skill."""
    results = library.guard.audit().to_json()["results"]
    return {item["name"]: (item["trust"], item["verdict"], item["decision"]) for item in results}


# --- looking around -------------------------------------------------------------------------------------------------


def test_a_tap_is_searched_inspected_and_installed_from(machine: Machine, library: Library) -> None:
    for name in ("deploy", "pdf"):
        machine.skill(name)
    shown = {"name": "mine", "default": False, "source": f"path:{machine.shelf}", "trust": "directory"}
    tap = library.sources.add_tap("mine", str(machine.shelf))
    assert tap.to_json() == {**shown, "added": tap.added, "shown": str(machine.shelf), "notes": []}
    assert tap in library.sources.list_taps()
    found = library.sources.search("pdf", source="mine")
    assert found.to_json() == {
        "success": True,
        "query": "pdf",
        "count": 1,
        "asked": 1,
        "notes": [],
        "skills": [
            {
                "name": "pdf",
                "description": "Does pdf for you.",
                "version": "",
                "group": "",
                "tap": "mine",
                "trust": "directory",
                "install": "mine:pdf",
                "source": f"path:{machine.shelf}#path=pdf",
            }
        ],
    }
    looked = library.sources.inspect("mine:pdf")
    assert [skill.name for skill in looked.skills] == ["deploy", "pdf"]
    assert [item["source"] for item in looked.to_json()["inspected"]] == [looked.skills[1].source]
    assert [(item["name"], item["verdict"], item["decision"]) for item in looked.to_json()["inspected"]] == [
        ("pdf", "safe", "allow")
    ]
    assert library.sources.install(found.skills[0].install).done == ("pdf",)
    assert library.sources.remove_tap("mine") == tap
    assert code(lambda: library.sources.install("mine:deploy")) == "unknown-source"
    assert library.sources.verify().valid


def test_a_source_that_is_no_tap_is_searched_too(machine: Machine, library: Library) -> None:
    machine.skill("deploy")
    (found,) = library.sources.search("deploy", source=str(machine.shelf)).skills
    assert found.tap == ""
    assert library.sources.install(found.install).done == ("deploy",)
    assert code(lambda: library.sources.search("deploy", source="nothing-of-the-kind")) == "unknown-source"


def test_what_is_remembered_of_taps_is_searched_without_asking(library: Library) -> None:
    with pytest.raises(WhetError) as caught:
        library.sources.search("pdf", offline=True)
    assert caught.value.code == "no-source-answered"


def test_a_source_has_to_be_named(library: Library) -> None:
    assert code(library.sources.plan_install) == "usage"
    assert code(lambda: library.sources.inspect("")) == "bad-source"


def test_several_skills_are_listed_and_none_is_taken(machine: Machine, library: Library) -> None:
    for name in ("deploy", "pdf"):
        machine.skill(name)
    assert code(lambda: library.sources.install(str(machine.shelf))) == "several-skills"
    assert library.sources.inspect(str(machine.shelf)).inspected == ()


# --- plans ----------------------------------------------------------------------------------------------------------


def test_a_plan_is_a_value_and_applied_as_it_is(machine: Machine, library: Library) -> None:
    machine.skill("deploy")
    plan = library.sources.plan_install(str(machine.shelf))
    told = json.loads(json.dumps(plan.to_json()))
    machine.skill("deploy", "Something else.\n")
    answer = library.sources.apply(plan, reason="Asked for.")
    assert answer.to_json() == {"success": True, **told, "done": ["deploy"], "installed": ["deploy"]}
    assert digest(read_tree(str(machine.root / "deploy"))) == told["plan"][0]["after"], "not what is there by now"
    (entry,) = library.edit.history.entries("deploy").to_json()["entries"]
    assert (entry["actor"], entry["origin"], entry["action"], entry["reason"]) == (
        "user",
        "install",
        "install",
        "Asked for.",
    )


def test_the_users_and_the_projects_skills_are_two_libraries(machine: Machine, library: Library) -> None:
    source = machine.top / "project" / "source"
    machine.skill("deploy", where=source)
    library.sources.install(str(source), here=True)
    assert (library.sources.is_locked("deploy"), library.sources.is_locked("deploy", here=True)) == (False, True)
    assert code(lambda: library.sources.update("deploy")) == "not-installed"
    machine.skill("deploy", "Better.\n", where=source)
    assert library.sources.update("deploy", here=True).done == ("deploy",)
    assert library.sources.uninstall("deploy", here=True).done == ("deploy",)
    assert library.catalogue.waiting == ()


def test_explicit_roots_have_a_lock_beside_the_first(machine: Machine) -> None:
    machine.skill("deploy")
    with Library.open([machine.top / "mine" / "skills"], home=machine.top / "state", project=machine.top) as library:
        library.sources.install(str(machine.shelf))
        assert (machine.top / "mine" / "whet-lock.json").exists()
        assert library.sources.verify().valid
        assert code(lambda: library.sources.plan_install(str(machine.shelf), here=True)) == "no-project"


def test_a_library_can_be_used_after_it_was_closed_or_cancelled(machine: Machine, library: Library) -> None:
    machine.skill("deploy")
    library.sources.cancel()
    seen: list[Progress] = []

    def stop(progress: Progress) -> None:
        seen.append(progress)
        library.sources.cancel()

    library.progress = stop
    machine.skill("pdf")
    assert code(lambda: library.sources.install(str(machine.shelf), every=True)) == "cancelled"
    assert len(seen) == 1
    library.progress = seen.append
    assert library.sources.install(str(machine.shelf), every=True).done == ("deploy", "pdf")
    library.close()
    assert library.sources.verify().valid
    assert len(seen) > 2


def test_a_library_is_shared_between_threads(machine: Machine, library: Library) -> None:
    names = [f"skill-{number}" for number in range(6)]
    for name in names:
        machine.skill(name)
    problems: list[object] = []

    def install(name: str) -> None:
        try:
            library.sources.install(str(machine.shelf), skills=[name])
        except WhetError as error:
            problems.append(error)

    threads = [threading.Thread(target=install, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert [item.name for item in library.sources.verify().skills] == names


# --- trust ----------------------------------------------------------------------------------------------------------


def test_installed_skills_are_audited_as_far_as_their_source_is_trusted(machine: Machine, library: Library) -> None:
    library.sources.install(str(machine.archive("theirs", CAUTION)), override="I read it.")
    machine.skill("shelved", CAUTION)
    library.sources.install(str(machine.shelf), override="I read it, too.")
    machine.skill("mine", CAUTION, where=machine.root)
    library.edit.apply(
        [{"action": "create", "name": "made", "description": "Does it.", "body": "Do.\n"}], by=Provenance("agent")
    )
    local = ("local", "caution", "allow")
    assert judged(library) == {
        "made": ("agent-created", "safe", "allow"),
        "mine": local,
        "shelved": ("directory", "caution", "allow"),
        "theirs": ("community", "caution", "allow"),
    }, "the override holds"
    library.guard.revoke("theirs")
    assert judged(library)["theirs"] == ("community", "caution", "block")
    explained = library.guard.explain("theirs")
    assert (explained.decision.trust, explained.decision.action) == ("community", "block")
    machine.lock.write_text("{")
    assert judged(library)["theirs"] == ("community", "caution", "block"), "a damaged lock makes nothing trusted"
    assert judged(library)["mine"] == local
    assert library.guard.override("theirs", "I read it again.").decision.action == "allow"


def test_adopting_what_an_agent_wrote_does_not_make_it_the_users(machine: Machine, library: Library) -> None:
    library.edit.apply(
        [{"action": "create", "name": "made", "description": "Does it.", "body": "Do.\n"}], by=Provenance("agent")
    )
    library.sources.apply(library.sources.plan_adopt())
    assert json.loads(machine.lock.read_text())["skills"]["skills/made"]["trust"] == "local"
    assert judged(library)["made"][0] == "agent-created"


# --- mending --------------------------------------------------------------------------------------------------------


def test_the_doctor_looks_at_the_lock_and_mends_it(machine: Machine, library: Library) -> None:
    assert library.sources.examine() == ()
    assert library.sources.repair() == Repaired()
    machine.skill("deploy")
    library.sources.install(str(machine.shelf))
    before = machine.lock.read_bytes()
    machine.lock.write_text("{")
    assert [entry.code for entry in library.doctor()] == ["lock-damaged"]
    assert code(library.sources.verify) == "lock-damaged"
    assert code(library.sources.plan_update) == "lock-damaged"
    assert library.repair().to_json()["lost"] == []
    assert machine.lock.read_bytes() == before
    shutil.rmtree(machine.root / "deploy")
    assert [(entry.code, entry.severity) for entry in library.doctor()] == [("locked-missing", "info")]


@pytest.mark.parametrize("odd", ["", "\0", "a" * 5000, "de ploy", "../../etc", "🦊"])
def test_odd_names_are_not_found_and_break_nothing(machine: Machine, library: Library, odd: str) -> None:
    machine.skill("deploy")
    library.sources.install(str(machine.shelf))
    calls: list[Callable[..., Any]] = [
        library.sources.plan_update,
        library.sources.plan_uninstall,
        library.sources.verify,
        library.sources.outdated,
    ]
    assert {code(partial(call, odd)) for call in calls} == {"not-installed"}
    assert library.sources.verify().valid


def test_a_path_that_exists_is_not_asked_for_elsewhere(machine: Machine) -> None:
    directory = machine.top / "project" / "acme" / "skills"
    shutil.copytree(machine.skill("deploy"), directory / "deploy")
    (machine.top / "project" / "acme" / "empty").mkdir()
    sources, told = machine.open().sources, ["local-directory-too"]  # this machine has no git and no network
    shown = sources.inspect("acme/skills")
    assert (shown.source, [note.code for note in shown.notes]) == (f"path:{directory}", told)
    plan = sources.plan_install("acme/skills/deploy")
    assert ([step.state for step in plan.steps], [note.code for note in plan.notes]) == (["ready"], told)
    added, found = sources.add_tap("acme", "acme/skills"), sources.search("deploy", source="acme/skills")
    assert (added.shown, [note.hint for note in added.notes]) == (
        str(directory),
        [plan.notes[0].hint.replace("/deploy", "")],
    )
    assert (found.asked, [note.code for note in found.notes]) == (1, told)
    assert sources.inspect("acme/skills").notes[0].message.endswith("Write acme:skills for the tap.")
    sources.remove_tap("acme")
    for ask in (sources.plan_install, sources.inspect):
        with pytest.raises(WhetError) as caught:
            ask("acme/empty")
        assert caught.value.hint.endswith(" Write github:acme/empty for the GitHub repository.")


def test_a_web_directory_is_rid_of_what_its_index_names_no_more(machine: Machine) -> None:
    library, site = machine.open(), machine.top / "site"
    path = str(machine.skill("pdf"))
    assert library.sources.publish(path, index=str(site)).removed == ()
    machine.skill("pdf", "Do it better.\n")
    kept = library.sources.publish(path, index=str(site))
    pruned = library.sources.publish(path, index=str(site), prune=True)
    assert (kept.removed, kept.changed, pruned.changed) == ((), True, False)
    (old,) = pruned.removed
    assert old.startswith(".well-known/agent-skills/pdf/")
    assert not (site / old).exists()


def test_all_skills_of_a_source_but_those_that_are_none(machine: Machine) -> None:
    for name in ("one", "two"):
        machine.skill(name)
    for name in ("bare", "late"):
        machine.skill(name).joinpath("SKILL.md").write_text("No frontmatter.\n")
    sources = machine.open().sources
    applied = sources.install(str(machine.shelf), every=True)
    hint = f"`whet skill validate {machine.shelf}/{{}}` shows what is wrong."
    message = "The SKILL.md of {} has no readable frontmatter."
    assert applied.installed == ("one", "two")
    assert [(note.code, note.severity, note.skill, note.message, note.hint) for note in applied.plan.notes] == [
        ("not-a-skill", "error", name, message.format(name), hint.format(name)) for name in ("bare", "late")
    ]
    for name in ("one", "two"):
        shutil.rmtree(machine.shelf / name)
    with pytest.raises(WhetError, match="of late has no readable frontmatter"):
        sources.install(str(machine.shelf), every=True)


@pytest.mark.parametrize("value", [None, 5, b"one", ["one"], True])
def test_what_is_no_text_is_no_name_and_no_source(machine: Machine, value: Any) -> None:
    library = machine.open()
    kind = type(value).__name__
    for call in (library.read, library.card, library.sources.why):
        with pytest.raises(WhetError) as caught:
            call(value)
        assert (caught.value.code, caught.value.message) == (
            "bad-name",
            f"A name is text; {value!r} is of type {kind}.",
        )
    with pytest.raises(WhetError) as caught:
        library.sources.install(value)
    assert (caught.value.code, caught.value.message) == (
        "bad-source",
        f"A source is text; {value!r} is of type {kind}.",
    )


@pytest.mark.parametrize("value", [5, b"one", ["one"], "a\0b"])
def test_what_cannot_be_a_path_is_said(machine: Machine, value: Any) -> None:
    library = machine.open()
    sources, settings = library.sources, library.settings
    message = (
        "The path contains a NUL character."
        if isinstance(value, str)
        else f"A path is text; {value!r} is of type {type(value).__name__}."
    )
    for call in (
        *(sources.backup, sources.restore_backup, sources.export_snapshot, sources.plan_import, sources.sign),
        *(library.guard.scan, library.guard.review, settings.trust, settings.untrust),
        *(library.learning.collect_evals, library.learning.open_session),
        *(lambda path: Library.open(home=path), lambda path: Library.open(project=path)),
        lambda path: sources.publish(path, index="somewhere"),
    ):
        with pytest.raises(WhetError) as caught:
            call(value)
        assert (caught.value.code, caught.value.message) == ("bad-path", message)


@pytest.mark.parametrize("value", [5, b"one", ["one"]])
def test_what_is_no_text_is_no_line_no_client_no_bundle_and_no_hub(machine: Machine, value: Any) -> None:
    library = machine.open()
    expected = {
        "bad-name": [
            *(library.render, library.commands, library.clients, library.sources.plan_sync),
            *(library.settings.bundle, library.settings.remove_bundle),
        ],
        "bad-message": [library.invoke, library.find],
        "bad-source": [library.sources.hub, library.sources.logout],
    }
    for code, calls in expected.items():
        for call in calls:
            with pytest.raises(WhetError) as caught:
                call(value)  # type: ignore[operator]  # the calls differ in what they take
            assert caught.value.code == code


def test_a_source_may_be_a_path(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    library = machine.open()
    machine.skill("one")
    monkeypatch.chdir(machine.shelf.parent)
    shelf = Path(machine.shelf.name)
    assert library.sources.inspect(shelf) == library.sources.inspect(str(machine.shelf))
    assert [step.name for step in library.sources.plan_install(shelf).steps] == ["one"]


def test_a_guessed_name_is_answered_with_the_one_that_exists(machine: Machine) -> None:
    library: Any = machine.open()
    for guess, meant in (
        ("list", " Did you mean `library.skills`?"),
        ("get", " Did you mean `library.read`?"),
        ("search", " Did you mean `library.find`?"),
        ("install", " Did you mean `library.sources.install`?"),
        ("undo", " Did you mean `library.history.undo`?"),
        ("skils", " Did you mean `library.skills`?"),
        ("qqqq", ""),
        ("_private", ""),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(library, guess)
        assert str(caught.value) == f"A Library has no {guess!r}.{meant}"

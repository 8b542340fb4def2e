"""What somebody decided about a distilled skill outlives the next session: answers, edits, and what was taken out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from learning.episodes import bash, says, session, user
from learning.test_synthesis_learning import Clock
from whet.api import Library
from whet.learning.distill.merge import ABOUT, merged, replaced
from whet.skill.dialects import read_skill
from whet.skill.edit import replace_body, set_value
from whet.skill.frontmatter import read_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.learning.transcripts.events import Transcript

EDITED = "A person edited its text; Whet only adds to it."
BEFORE = "It has already learned from this session."
SAME = "No change: the skill already says this."


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    env = {"HOME": str(home), "PATH": ""}
    with Library.open(home=home / "state", project=home / "project", env=env, clock=Clock()) as made:
        yield made


def packing(name: str, *more: tuple[str, str], said: str = "") -> Transcript:
    """One of many sessions of the same kind."""
    done = (("twine check dist/*", "PASSED"), ("twine upload dist/*", "uploaded"), *more)
    return session(
        user("Pack the wheel of the command line client and upload it to the index."),
        bash("python -m build", "ERROR Backend 'setuptools.build_meta' is not available", failed=True),
        bash("uv build", "built"),
        user(said) if said else [],
        *(bash(command, output) for command, output in done),
        says("Done. The wheel is uploaded."),
        project="/srv",
        name=name,
    )


def text(library: Library, name: str) -> str:
    with open(library.card(name).path, encoding="utf-8") as file:
        return file.read()


def frame(library: Library, name: str) -> tuple[str, tuple[str, ...], str]:
    """Description, tools and context."""
    skill = read_skill(read_document(text(library, name)))
    return skill.description, skill.allowed_tools, skill.execution.context


def change(library: Library, name: str, old: str, new: str) -> None:
    """What a person does with an editor."""
    before = text(library, name)
    assert old in before
    with open(library.card(name).path, "w", encoding="utf-8") as file:
        file.write(before.replace(old, new))


ANSWERS = {"description": "Packs our wheel. Use when a release is due.", "tools": ["Bash(uv build:*)"], "fork": True}
CHOSEN = ("Packs our wheel. Use when a release is due.", ("Bash(uv build:*)",), "fork")


def test_answers_stay_when_the_next_session_comes(library: Library) -> None:
    name = library.learning.distill(packing("first"), answers=ANSWERS).to_json()["skill"]
    answer = library.learning.distill(packing("second", ("pip download x", "Saved"))).to_json()
    assert (answer["skill"], answer["version"], frame(library, name)) == (name, "2", CHOSEN)
    assert (answer["description"], answer["allowed_tools"], answer["fork"]) == (CHOSEN[0], [*CHOSEN[1]], True)
    assert "pip download" in text(library, name)


def test_answers_stay_when_nobody_looks(library: Library) -> None:
    name = library.learning.distill(packing("first"), answers=ANSWERS).to_json()["skill"]
    report = library.learning.learn(packing("second", ("pip download x", "Saved"), ("pip check", "ok"))).to_json()[
        "sessions"
    ][0]
    library.edit.proposals.approve(report["proposal"])
    assert frame(library, name) == CHOSEN


def test_steps_arguments_and_when_to_use_stay_when_the_next_session_comes(library: Library) -> None:
    answers = {"steps": ["1", "Tell the team"], "arguments": ["TARGET"], "when_to_use": "Before a release."}
    name = library.learning.distill(packing("first"), answers=answers).to_json()["skill"]
    before = text(library, name)
    assert "- `TARGET`: `$TARGET`\n" in before and "twine" not in before.partition("## Steps")[2].partition("##")[0]
    answer = library.learning.distill(packing("second", ("pip download x", "Saved"))).to_json()
    after, skill = text(library, name), read_skill(read_document(text(library, name)))
    assert (answer["version"], skill.when_to_use, skill.arguments) == ("2", "Before a release.", ("TARGET",))
    assert (skill.argument_hint, "distilled-sessions" in after) == ("[TARGET]", False)
    steps = before.partition("\n## Steps\n")[2].partition("\n## ")[0]
    assert f"\n## Steps\n{steps}" in after and "pip download x" in after.partition("## Further steps")[2]


def test_steps_that_are_chosen_later_replace_those_that_are_there(library: Library) -> None:
    name = library.learning.distill(packing("first")).to_json()["skill"]
    library.learning.distill(packing("first"), answers={"steps": ["2", "Tell the team"], "arguments": ["TARGET"]})
    steps = text(library, name).partition("\n## Steps\n")[2].partition("\n## ")[0]
    assert ("uv build" in steps, "twine check" in steps, "Tell the team." in steps) == (False, True, True)
    assert read_skill(read_document(text(library, name))).arguments == ("TARGET",)


def test_a_skill_that_exists_stays_where_it_is(library: Library) -> None:
    first = library.learning.distill(packing("first")).to_json()
    answer = library.learning.distill(packing("second"), answers={"here": True}).to_json()
    assert answer["path"] == first["path"]
    assert f"{first['skill']} already exists; it stays in {first['path']}." in answer["warnings"]


def test_new_answers_count_and_the_others_stay(library: Library) -> None:
    name = library.learning.distill(packing("first"), answers=ANSWERS).to_json()["skill"]
    library.learning.distill(packing("first"), answers={"tools": ["Read"]})
    assert frame(library, name) == (CHOSEN[0], ("Read",), "fork")
    library.learning.distill(packing("second"), answers={"description": "Packs it. Use when told."})
    assert frame(library, name) == ("Packs it. Use when told.", ("Read",), "fork")


def test_a_goal_that_was_chosen_stays(library: Library) -> None:
    name = library.learning.distill(packing("first"), answers={"goal": "Ship the client"}).to_json()["skill"]
    library.learning.distill(packing("second", ("pip download x", "Saved")), name=name)
    assert text(library, name).count("# Ship the client\n") == 1
    assert frame(library, name)[0].startswith("Ship the client. ")


def test_the_same_session_changes_nothing_whatever_came_between(library: Library) -> None:
    name = library.learning.distill(packing("first")).to_json()["skill"]
    library.learning.distill(packing("second", ("pip download x", "Saved"), said="No, always sign the wheel first."))
    change(library, name, "   uv build\n", "   rm -rf dist && uv build\n")
    before = text(library, name)
    for number in ("first", "second"):
        answer = library.learning.distill(
            packing(number, said="No, always sign the wheel first." * (number == "second"))
        ).to_json()
        assert (answer["entry"], answer["warnings"]) == (None, [BEFORE, SAME])
    assert text(library, name) == before
    assert (
        library.learning.learn(packing("first", ("pip check", "ok"), ("pip list", "ok"))).to_json()["sessions"][0][
            "skill"
        ]
        == name
    )


def test_a_session_that_went_on_adds_what_is_new_in_it(library: Library) -> None:
    name = library.learning.distill(packing("first")).to_json()["skill"]
    answer = library.learning.distill(packing("first", said="No, always sign the wheel first.")).to_json()
    assert (answer["version"], answer["warnings"]) == ("2", [BEFORE])
    assert '- "No, always sign the wheel first."\n' in text(library, name)
    assert library.edit.history.entries(name).to_json()["entries"][-1]["reason"].endswith("session first")


def test_what_was_edited_by_hand_is_not_taken_back(library: Library) -> None:
    name = library.learning.distill(packing("first")).to_json()["skill"]
    change(library, name, "   uv build\n", "   rm -rf dist && uv build\n")
    pitfall = next(line for line in text(library, name).split("\n") if line.startswith("- `python -m build`"))
    change(library, name, f"{pitfall}\n", "")
    change(library, name, "description: ", "description: Ours. ")
    answer = library.learning.distill(packing("second", said="No, always sign the wheel first.")).to_json()
    new = text(library, name)
    assert answer["warnings"][0] == EDITED
    assert ("rm -rf dist && uv build" in new, pitfall in new, "always sign the wheel" in new) == (True, False, True)
    assert frame(library, name)[0].startswith("Ours. ")
    third = library.learning.distill(packing("third", ("pip download x", "Saved"))).to_json()
    assert (third["version"], "rm -rf dist && uv build" in text(library, name)) == ("3", True)
    assert pitfall not in text(library, name)


def test_what_was_edited_by_hand_is_not_taken_back_when_nobody_looks(library: Library) -> None:
    name = library.learning.distill(packing("first")).to_json()["skill"]
    change(library, name, "   uv build\n", "   rm -rf dist && uv build\n")
    report = library.learning.learn(packing("second", said="No, always sign the wheel first.")).to_json()["sessions"][0]
    assert EDITED in report["warnings"]
    library.edit.proposals.approve(report["proposal"])
    assert "rm -rf dist && uv build" in text(library, name)
    assert '- "No, always sign the wheel first."' in text(library, name)


def test_what_was_undone_was_not_learned(library: Library) -> None:
    name = library.learning.distill(packing("first")).to_json()["skill"]
    second = library.learning.distill(packing("second", ("pip download x", "Saved"))).to_json()
    library.edit.history.undo(str(second["entry"]))
    assert "pip download" not in text(library, name)
    again = library.learning.distill(packing("second", ("pip download x", "Saved"))).to_json()
    assert again["warnings"] == []
    assert 'distilled-sessions: "2"' in text(library, name)
    assert "pip download" in text(library, name)


def test_of_a_skill_without_a_history_nothing_is_replaced(library: Library) -> None:
    answer = library.learning.distill(packing("first"), dry_run=True).to_json()
    root = f"{library.workspace.place.home}/.agents/skills/{answer['skill']}"
    os.makedirs(root)
    main = set_value(replace_body(answer["text"], "\n# Mine\n"), "description", "Mine. Use it.")
    with open(f"{root}/SKILL.md", "w", encoding="utf-8") as file:
        file.write(main)
    library.learning.distill(packing("second"), name=answer["skill"])
    assert frame(library, answer["skill"])[0] == "Mine. Use it."
    assert "# Mine\n" in text(library, answer["skill"])


def code(*lines: str) -> str:
    return "## Steps\n\n1. Run it.\n\n   ```bash\n" + "".join(f"   {line}\n" for line in lines) + "   ```\n"


def test_where_nothing_but_the_case_changed_the_old_words_stay(library: Library) -> None:
    name = library.learning.distill(exporting("orders", name="first")).to_json()["skill"]
    library.learning.distill(exporting("legacy_bank", name="second"), name=name)
    assert ("--from orders --compress" in text(library, name), "legacy_bank" in text(library, name)) == (True, False)
    library.learning.distill(exporting("orders", "warehouse prune --old", name="third"), name=name)
    assert "warehouse prune --old" in text(library, name)


def exporting(table: str, *more: str, name: str) -> Transcript:
    """The same job for a table."""
    return session(
        user(f"Export the table {table} of the warehouse to the archive and check it."),
        bash(f"warehouse export --from {table} --compress", "exported"),
        bash("warehouse check --archive", "ok"),
        *(bash(command, "ok") for command in more),
        says("Done. The export is complete."),
        project="/srv",
        name=name,
    )


def test_new_points_stand_directly_below_the_others() -> None:
    old = "## Rules\n\n- One two.\n\n- Three four.\n"
    assert merged(old, "## Rules\n\n- Five six.\n", own=True) == "## Rules\n\n- Five six.\n- One two.\n- Three four.\n"


def test_what_is_added_stands_before_the_checks() -> None:
    old = f"# A\n\n{code('uv build')}\n## Check at the end\n\n- Look.\n"
    new = f"## Rules\n\n- Sign it.\n\n{code('sigstore sign')}\n## Pitfalls\n\n- It fails.\n"
    titles = [line for line in merged(old, new, own=False).split("\n") if line.startswith("## ")]
    assert titles == ["## Rules", "## Steps", "## Further steps", "## Pitfalls", "## Check at the end"]


def test_another_goal_is_another_title() -> None:
    assert replaced("# A\n\n## Rules\n\n- B.\n", "# C\n\n## Rules\n\n- D.\n", ABOUT) == "# C\n\n## Rules\n\n- B.\n"

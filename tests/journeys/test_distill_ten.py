"""Eleven kinds of work, kept by the clients that people use: each becomes one outline of what was done, and no more.

Every kind has a machine of its own, on which the real command makes a skill of its first session and then of its
second, which is another case and asks in other words. All kinds in one library do not get into each other's way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from journeys.machines import Machine
from journeys.transcripts import data, running, shipping
from whet import Library
from whet.guard.syntax import blocks_of, parses
from whet.library.visibility import PERSON

if TYPE_CHECKING:
    from pathlib import Path

    from journeys.transcripts.model import Case, Kind

PROCESSES = False

KINDS: dict[str, Kind] = {
    kind.name: kind
    for make in (
        *(shipping.release, shipping.site, shipping.localisation),
        *(running.incident, running.infrastructure, running.migration, running.flaky),
        *(data.invoices, data.cleaning, data.export, data.video),
    )
    for kind in [make()]
}


class Made(NamedTuple):
    """What the command made of the two sessions of a kind."""

    kind: Kind
    machine: Machine
    answers: tuple[dict[str, Any], dict[str, Any]]
    texts: tuple[str, str]
    """All files of the skill after either session."""

    def cases(self) -> tuple[tuple[Case, str], tuple[Case, str]]:
        """Each session with the skill that it left."""
        return (self.kind.first, self.texts[0]), (self.kind.second, self.texts[1])


@pytest.fixture(
    scope="module",
    params=[kind if at == 0 else pytest.param(kind, marks=pytest.mark.deep) for at, kind in enumerate(KINDS)],
)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    kind, top = KINDS[request.param], tmp_path_factory.mktemp(request.param)
    machine = Machine(top / "machine")
    answers, texts = [], []
    for number, case in enumerate((kind.first, kind.second)):
        file = kind.client(top / f"session-{number}{kind.suffix}", case.transcript)
        answers.append(machine.ask("distill", str(file), "--yes"))
        texts.append("\n".join(path.read_text() for path in sorted((machine.root / answers[-1]["skill"]).rglob("*.*"))))
    return Made(kind, machine, (answers[0], answers[1]), (texts[0], texts[1]))


def section(text: str, title: str) -> str:
    """What stands under a heading."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_skill_is_sound_for_the_specification_and_of_quality(made: Made) -> None:
    name = made.answers[1]["skill"]
    for profile in ("spec", "quality"):
        (result,) = made.machine.ask("validate", str(made.machine.root / name), "--profile", profile)["results"]
        found = [item["code"] for item in result["findings"] if item["severity"] != "info"]
        assert (result["valid"], found) == (True, ["leftover-marker"])


def test_the_guard_has_nothing_against_it(made: Made) -> None:
    """The small model still takes three requests, which are quoted in line 16, for orders of an attacker."""
    odd = (
        "Skills in your own directories with a warning are allowed: a passage resembles the instructions in malicious "
        "skills (SKILL.md, line 16)."
    )
    still = {"cleaning": [[odd], []], "export": [[], [odd]], "invoices": [[], [odd]]}
    assert [answer["warnings"] for answer in made.answers] == still.get(made.kind.name, [[], []])


def test_only_tools_that_were_used_are_allowed_to_the_sub_command(made: Made) -> None:
    kind = made.kind
    for answer in made.answers:
        granted = set(answer["allowed_tools"])
        assert (granted - {*kind.essential, *kind.other}, set(kind.essential) - granted) == (set(), set())


def test_no_secret_is_anywhere_on_the_machine(made: Made) -> None:
    files = [path for place in (made.machine.home, made.machine.state) for path in place.rglob("*") if path.is_file()]
    kept = b"\0".join(path.read_bytes() for path in files) + repr(made.answers).encode()
    secrets = (*made.kind.first.secrets, *made.kind.second.secrets)
    assert len(files) > 2
    assert [secret for secret in secrets if secret.encode() in kept] == []


def test_the_outline_is_a_draft_whose_code_parses(made: Made) -> None:
    for answer, text in zip(made.answers, made.texts, strict=True):
        assert (answer["draft"], "> **Draft.**" in text) == (True, True)
        assert [block for block in blocks_of(text) if not parses(block.language, block.text)] == []


def test_what_was_run_stands_word_for_word_and_nothing_is_a_placeholder(made: Made) -> None:
    first = made.kind.first.transcript
    ran = "\n".join(str(event.given.get("command", "")) for event in first.events)
    shown = [block.text.strip() for block in blocks_of(section(made.texts[0], "Steps")) if block.language == "bash"]
    hidden = [text for text in shown if "[secret:" not in text]
    assert len(hidden) >= 2 and [text for text in hidden if text not in ran] == []


def test_what_the_user_put_right_is_a_rule(made: Made) -> None:
    for case, text in made.cases():
        assert [words for words in case.rules if words not in section(text, "Rules")] == []


def test_what_failed_and_what_helped_are_pitfalls(made: Made) -> None:
    for case, text in made.cases():
        assert [words for words in case.pitfalls if words not in section(text, "Pitfalls")] == []


def test_the_second_session_raises_the_version_of_the_same_skill(made: Made) -> None:
    first, second = made.answers
    assert (first["created"], second["created"]) == (True, False)
    assert (second["skill"], first["version"], second["version"]) == (first["skill"], "1", "2")
    assert made.machine.names() == [first["skill"]]
    assert 'distilled-sessions: "2"' in made.machine.text(first["skill"])


def test_all_kinds_in_one_library_are_apart_and_are_found_by_other_words(tmp_path: Path, *, quick: bool) -> None:
    kinds = dict([*KINDS.items()][: 3 if quick else None])
    machine = Machine(tmp_path / "machine")
    names: list[dict[str, str]] = []
    with Library.open(home=machine.state, env=machine.env, project=machine.work) as library:
        for number in range(2):
            cases = {kind.name: (kind.first, kind.second)[number].transcript for kind in kinds.values()}
            files = {
                name: kinds[name].client(tmp_path / f"{name}{kinds[name].suffix}", case) for name, case in cases.items()
            }
            names.append({name: library.learning.distill(file).to_json()["skill"] for name, file in files.items()})
        assert names[1] == names[0]
        assert machine.names() == sorted(set(names[0].values())) and len(machine.names()) == len(kinds)
        found = {kind.name: library.find(kind.asked, caller=PERSON).to_json()["results"] for kind in kinds.values()}
    first = {kind: results[0]["name"] if results else "" for kind, results in found.items()}
    assert sum(first[kind] != name for kind, name in names[0].items()) <= 1  # other words are all that is asked with
    assert all(name in [result["name"] for result in found[kind][:3]] for kind, name in names[0].items())

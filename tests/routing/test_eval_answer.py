"""`whet eval triggers` on a library on disk, with a judge that can be foreseen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from routing.counting import Counting
from whet import Library
from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.routing.evals.answer import against_minima, eval_triggers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whet.library.card import Card

PDF = [
    {"query": "fill these forms", "should_trigger": True},
    {"query": "stamp the contract", "should_trigger": True},
    {"query": "fill the bath with forms of soap", "should_trigger": False},
]


def key_of(card: Card) -> str:
    return card.path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three skills: one with evals, one with evals of another kind, one without."""
    path = tmp_path / "skills"
    skill(path, "pdf", "Fill pdf forms.", {"evals/triggers.json": json.dumps(PDF)})
    outputs = {"skill_name": "docx", "evals": [{"id": 1, "prompt": "Write it", "expected_output": "A letter."}]}
    skill(path, "docx", "Write docx letters.", {"evals/evals.json": json.dumps(outputs)})
    skill(path, "xlsx", "Excel sheets.")
    return path


def skill(root: Path, name: str, description: str, files: dict[str, str] | None = None, extra: str = "") -> Path:
    directory = root / name
    for path, text in {
        "SKILL.md": f"---\nname: {name}\ndescription: {description}\n{extra}---\nDo it.\n",
        **(files or {}),
    }.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text, encoding="utf-8")
    return directory


@pytest.fixture
def ask(root: Path, tmp_path: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    """Evaluate with a judge that knows the skills by their paths."""
    library = Library.open([root], home=tmp_path / "state")

    def run(*names: str, **options: Any) -> dict[str, Any]:
        judge = Counting({card.path: card.description for card in library.catalogue.cards})
        if options.pop("verify", False):
            options["try_phrase"] = judge.with_phrase
        return eval_triggers(library.lookout, judge, names, key_of=key_of, **options)

    yield run
    library.close()


def test_all_skills_with_evals_are_evaluated(ask: Callable[..., dict[str, Any]], root: Path) -> None:
    answer = ask()
    assert (answer["success"], answer["cases"], answer["report"]) == (True, 3, [])
    assert answer["files"] == [str(root / "pdf" / "evals" / "triggers.json")]
    (pdf,) = answer["skills"]
    assert (pdf["skill"], pdf["must"]["precision"], pdf["offered"]["recall"]) == ("pdf", 0.5, 0.5)
    assert [row["place"] for row in pdf["missed"]] == ["[1]"]


def test_a_skill_by_its_name(ask: Callable[..., dict[str, Any]]) -> None:
    assert ask("PDF") == ask()
    for name in ("docx", "xlsx"):
        with pytest.raises(NotFoundError) as caught:
            ask(name)
        assert (caught.value.code, caught.value.message) == (
            "no-trigger-evals",
            f"{name} has no trigger evals that can be used.",
        )
    with pytest.raises(NotFoundError):
        ask("no-such")


def test_a_library_without_evals_is_no_failure(tmp_path: Path) -> None:
    skill(tmp_path / "skills", "plain", "Does one thing.")
    library = Library.open([tmp_path / "skills"], home=tmp_path / "state")
    answer = eval_triggers(library.lookout, Counting({}), key_of=key_of)
    assert (answer["success"], answer["cases"], answer["skills"], answer["files"]) == (True, 0, [], [])
    library.close()


def test_a_file_can_be_about_several_skills(ask: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    file = tmp_path / "routes.yaml"
    file.write_text(
        "cases:\n"
        "- {prompt: fill pdf forms, expect: pdf, reject: [docx]}\n"
        "- {prompt: write letters, expect: docx}\n"
        "- {prompt: sing a song, expect: null}\n"
        "- {prompt: paint it, expect: painting}\n",
        encoding="utf-8",
    )
    answer = ask(file=str(file))
    assert [(item["skill"], item["cases"]) for item in answer["skills"]] == [("docx", 2), ("pdf", 1)]
    assert (answer["no_skill"]["cases"], answer["overall"]["must"]["accuracy"]) == (1, 1.0)
    (entry,) = answer["report"]
    assert (entry["code"], entry["skill"], entry["path"]) == ("eval-skill-unknown", "painting", str(file))
    assert [item["skill"] for item in ask("pdf", file=str(file))["skills"]] == ["pdf"]


def test_a_file_about_a_skill_that_it_does_not_name(ask: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    file = tmp_path / "queries.csv"
    file.write_text("query,should_trigger\nexcel sheets,true\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        ask(file=str(file))
    assert caught.value.code == "skill-not-named"
    assert ask("xlsx", file=str(file))["overall"]["must"]["recall"] == 1.0


@pytest.mark.parametrize(
    ("content", "kind", "code"),
    [(None, NotFoundError, "path-not-found"), ("{}", InvalidError, "not-trigger-evals")],
)
def test_a_file_that_cannot_be_used(
    ask: Callable[..., dict[str, Any]], tmp_path: Path, content: str | None, kind: type[WhetError], code: str
) -> None:
    file = tmp_path / "given.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(kind) as caught:
        ask("pdf", file=str(file))
    assert caught.value.code == code


def test_a_broken_file_of_a_skill_is_reported(ask: Callable[..., dict[str, Any]], root: Path, tmp_path: Path) -> None:
    (root / "docx" / "evals" / "triggers.json").write_text("[{]", encoding="utf-8")
    outside = tmp_path / "outside.json"
    outside.write_text("[]", encoding="utf-8")
    (root / "xlsx" / "evals").mkdir()
    (root / "xlsx" / "evals" / "triggers.json").symlink_to(outside)
    answer = ask()
    assert [(item["code"], item["skill"]) for item in answer["report"]] == [
        ("not-trigger-evals", "docx"),
        ("path-escape", "xlsx"),
    ]
    with pytest.raises(NotFoundError) as caught:
        ask("docx")
    assert "is not JSON on line 1" in caught.value.hint


def test_a_thief_has_a_name_even_without_evals(ask: Callable[..., dict[str, Any]], root: Path) -> None:
    stolen = [{"query": "excel sheets as pdf", "should_trigger": True}]
    (root / "pdf" / "evals" / "triggers.json").write_text(json.dumps(stolen), encoding="utf-8")
    assert ask("pdf")["confusions"] == [{"skill": "pdf", "by": "xlsx", "count": 1, "messages": ["excel sheets as pdf"]}]


def test_several_files_of_a_skill_are_one_set(ask: Callable[..., dict[str, Any]], root: Path) -> None:
    more = [*PDF[:1], {"query": "a pdf", "should_trigger": True}]
    (root / "pdf" / "trigger-evals.json").write_text(json.dumps(more), encoding="utf-8")
    assert (ask()["cases"], len(ask()["files"])) == (4, 2)


def test_a_skill_that_only_people_ask_for(ask: Callable[..., dict[str, Any]], root: Path) -> None:
    files = {"evals/triggers.json": json.dumps([{"query": "say it", "should_trigger": True}])}
    skill(root, "quiet", "Say it aloud.", files, extra="disable-model-invocation: true\n")
    assert [(item["code"], item["severity"]) for item in ask("quiet")["report"]] == [("explicit-only", "info")]


def test_suggestions_come_from_the_part_that_is_not_held_out(ask: Callable[..., dict[str, Any]], root: Path) -> None:
    rows = [{"query": f"lease agreement number {word}", "should_trigger": True} for word in "abcdefghij"]
    rows += [{"query": f"bake a cake with {word}", "should_trigger": False} for word in "abcde"]
    (root / "pdf" / "evals" / "triggers.json").write_text(json.dumps(rows), encoding="utf-8")
    answer = ask("pdf", held_out=True, suggest=True, verify=True)
    assert (answer["cases"], answer["held_out"]) == (6, True)
    (found,) = answer["suggestions"]
    assert found == {
        "skill": "pdf",
        "kind": "use",
        "phrase": "lease agreement number",
        "messages": 6,
        "gain": 6.0,
        "verified": True,
    }
    assert ask("pdf", suggest=True)["suggestions"][0]["verified"] is False


def test_minima(ask: Callable[..., dict[str, Any]]) -> None:
    answer = ask()
    assert against_minima(answer) == {**answer, "below": []}
    assert against_minima(answer, min_precision=0.5, min_recall=0.5)["success"] is True
    missed = against_minima(answer, min_precision=0.9, min_recall=0.6)
    assert (missed["success"], missed["code"], missed["error"]) == (
        False,
        "below-minimum",
        "The precision of pdf is 0.50, below 0.90.",
    )
    assert missed["below"] == [
        {"skill": "pdf", "measure": "precision", "value": 0.5, "minimum": 0.9},
        {"skill": "pdf", "measure": "recall", "value": 0.5, "minimum": 0.6},
        {"skill": "", "measure": "precision", "value": 0.5, "minimum": 0.9},
        {"skill": "", "measure": "recall", "value": 0.5, "minimum": 0.6},
    ]
    assert missed["hint"] and missed["skills"] == answer["skills"]

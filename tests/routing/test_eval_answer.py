"""`whet learn eval triggers` on a library on disk, with a judge that can be foreseen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from routing.counting import Counting
from whet import Library
from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.routing.evals.report import against_minima, eval_triggers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


PDF = [
    {"query": "fill these forms", "should_trigger": True},
    {"query": "stamp the contract", "should_trigger": True},
    {"query": "fill the bath with forms of soap", "should_trigger": False},
]


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
    """Evaluate with a judge that knows the skills by their ids."""
    library = Library.open([root], home=tmp_path / "state")

    def run(*names: str, minima: dict[str, float] | None = None, **options: Any) -> dict[str, Any]:
        judge = Counting({str(card.id): card.description for card in library.catalogue.cards})
        if options.pop("verify", False):
            options["try_phrase"] = judge.with_phrase
        found = eval_triggers(library.workspace, judge, names, **options)
        return (found if minima is None else against_minima(found, **minima)).to_json()

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
            f"{name} has no usable trigger evals.",
        )
    with pytest.raises(NotFoundError):
        ask("no-such")


def test_a_library_without_evals_is_no_failure(tmp_path: Path) -> None:
    skill(tmp_path / "skills", "plain", "Does one thing.")
    library = Library.open([tmp_path / "skills"], home=tmp_path / "state")
    answer = eval_triggers(library.workspace, Counting({})).to_json()
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
    file = tmp_path / "queries.yaml"
    file.write_text("- query: excel sheets\n  should_trigger: true\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        ask(file=str(file))
    assert caught.value.code == "skill-not-named"
    assert ask("xlsx", file=str(file))["overall"]["must"]["recall"] == 1.0


@pytest.mark.parametrize(
    ("content", "kind", "code"),
    [
        (None, NotFoundError, "path-not-found"),
        ("{}", InvalidError, "not-trigger-evals"),
        ("[]", InvalidError, "not-trigger-evals"),
    ],
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


def test_a_file_without_a_usable_row_is_an_error_that_tells_of_each(
    ask: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "given.json"
    rows = [{"query": "a"}, {"query": 5, "should_trigger": True}, {"query": "b", "expected_skill": "pfd"}]
    file.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(InvalidError) as caught:
        ask(file=str(file))
    error = caught.value
    assert (error.code, error.message) == ("not-trigger-evals", f"{file} has no usable rows.")
    assert [(item["code"], item["message"], item["hint"]) for item in error.details["report"]] == [
        ("case-unlabelled", "[0] has no verdict.", "Add should_trigger: true or false."),
        ("case-without-message", "[1] has no message, or one that is not text.", "Give it as text."),
        (
            "eval-skill-unknown",
            "Messages for pfd are left out: There is no skill 'pfd'.",
            "Did you mean pdf?",
        ),
    ]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("t.json", '[\n  // one\n  {"query": "x",},\n  {"query" "y"}\n]', "JSON on line 4: Expecting ':' delimiter"),
        ("t.yaml", "cases:\n  - prompt: a\n   expect: b\n", "YAML on line 3: "),
    ],
)
def test_a_broken_file_is_named_once_with_the_line(
    ask: Callable[..., dict[str, Any]], root: Path, tmp_path: Path, name: str, content: str, problem: str
) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidError) as caught:
        ask("pdf", file=str(file))
    assert caught.value.message.startswith(f"{file} is not {problem}")
    own = root / "docx" / "evals" / f"trigger-{name}"
    own.write_text(content, encoding="utf-8")
    (entry,) = ask()["report"]
    assert (entry["path"], entry["message"]) == (str(own), f"The file{caught.value.message.removeprefix(str(file))}")


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
    answer = ask("quiet")
    assert [(item["code"], item["severity"]) for item in answer["report"]] == [("explicit-only", "info")]
    (quiet,) = answer["skills"]
    assert (quiet["explicit"], answer["cases"], answer["overall"]["offered"]["recall"]) == (True, 1, None)
    assert ask("quiet", minima={"min_precision": 1.0, "min_recall": 1.0})["success"] is True
    assert ask()["overall"] == ask("pdf")["overall"]


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
    assert ask(minima={}) == {**answer, "below": []}
    assert ask(minima={"min_precision": 0.5, "min_recall": 0.5})["success"] is True
    missed = ask(minima={"min_precision": 0.9, "min_recall": 0.6})
    assert (missed["success"], missed["code"]) == (False, "below-minimum")
    assert missed["error"] == (
        "Below the minimum: the precision of pdf is 0.50, not 0.90; the recall of pdf is 0.50, not 0.60; the precision "
        "of all skills together is 0.50, not 0.90; the recall of all skills together is 0.50, not 0.60."
    )
    assert missed["below"] == [
        {"skill": "pdf", "measure": "precision", "value": 0.5, "minimum": 0.9},
        {"skill": "pdf", "measure": "recall", "value": 0.5, "minimum": 0.6},
        {"skill": "", "measure": "precision", "value": 0.5, "minimum": 0.9},
        {"skill": "", "measure": "recall", "value": 0.5, "minimum": 0.6},
    ]
    assert missed["hint"] and missed["skills"] == answer["skills"]


def test_messages_for_a_skill_that_is_not_there_are_a_failure_where_minima_are_given(
    ask: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "routes.json"
    file.write_text(json.dumps([{"query": "fill pdf forms", "expect": "pdf"}, {"query": "x", "expect": "pfd"}]))
    assert ask(file=str(file), minima={})["success"] is True
    failed = ask(file=str(file), minima={"min_recall": 0.5})
    assert (failed["success"], failed["code"], failed["error"], failed["below"]) == (
        False,
        "eval-skill-unknown",
        "Some messages are for skills that do not exist: pfd.",
        [],
    )
    assert [entry["hint"] for entry in failed["report"]] == ["Did you mean pdf?"]


def test_messages_for_which_a_skill_is_only_offered(ask: Callable[..., dict[str, Any]], root: Path) -> None:
    rows = [{"query": "a pdf", "should_trigger": True}, {"query": "fill forms", "should_trigger": True}]
    (root / "pdf" / "evals" / "triggers.json").write_text(json.dumps(rows), encoding="utf-8")
    (pdf,) = ask()["skills"]
    assert (pdf["missed"], pdf["offered"]["recall"], pdf["must"]["recall"]) == ([], 1.0, 0.5)
    assert [(row["message"], row["tier"], row["confidence"]) for row in pdf["only_offered"]] == [("a pdf", "may", 0.5)]

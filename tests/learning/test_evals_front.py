"""Tests, evals and improving through the front door and the command line, which says the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from learning.evaluated import BODY, DESCRIPTION, EVALS, NAME, edit, improver, obedient, opened, with_evals
from whet.authoring.results import Changes
from whet.errors import RefusedError, WhetError
from whet.guard.sandbox import levels
from whet.guard.sandbox.levels import level
from whet.interfaces.cli import main
from whet.learning.models.recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet import Library
    from whet.notes import Progress

pytestmark = pytest.mark.skipif(not level().isolates, reason="evals run in a sandbox, and this machine offers none")

SIGNED = edit("End with `Signed-off-by: Ann`.", why="Notes are signed.")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command line on the library of the test: code, output, and what is said."""
    env = {"HOME": str(tmp_path / "home"), "WHET_HOME": str(tmp_path / "state"), "PATH": ""}

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["--root", str(tmp_path / "skills"), *words], env)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return command


def created(top: Path) -> Library:
    library = opened(top)
    library.edit.apply([{"action": "create", "name": NAME, "description": DESCRIPTION, "body": BODY}])
    with_evals(top)
    return library


def test_progress_is_told_in_runs(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with created(tmp_path) as library:
        library.progress = seen.append
        library.learning.eval_skill(NAME, obedient(), runs=2)
    assert [(item.what, item.unit, item.total) for item in seen] == [(f"Evals of {NAME}", "runs", 4)] * 5
    assert [item.done for item in seen] == [0, 1, 2, 3, 4]


def test_the_model_may_be_named_in_the_settings(tmp_path: Path) -> None:
    cassette = tmp_path / "answers.jsonl"
    with created(tmp_path) as library:
        library.learning.eval_skill(NAME, Recorded(str(cassette), obedient()))
        with pytest.raises(WhetError) as unnamed:
            library.learning.eval_skill(NAME)
    (tmp_path / "state" / "config.toml").write_text(f'model = "recorded:{cassette}"\n', encoding="utf-8")
    with opened(tmp_path) as library:
        told = library.learning.eval_skill(NAME).to_json()
        with pytest.raises(WhetError) as refused:
            library.learning.eval_skill(NAME, "")
    assert (unnamed.value.code, refused.value.code) == ("model-not-named", "model-not-named")
    assert (told["model"], told["grader"]) == (f"recorded:{cassette}", f"recorded:{cassette}")


def test_a_budget_holds_for_both_models_together(tmp_path: Path) -> None:
    with created(tmp_path) as library:
        whole = library.learning.eval_skill(NAME, obedient(), grader=obedient()).to_json()
        short = library.learning.eval_skill(NAME, obedient(), grader=obedient(), budget=1_300).to_json()
    assert (whole["complete"], short["complete"], short["code"]) == (True, False, "eval-incomplete")


def test_tests_are_run_through_the_front_door(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    seen: list[Progress] = []
    with created(tmp_path) as library:
        folder = tmp_path / "skills" / NAME / "tests"
        folder.mkdir()
        (folder / "good.sh").write_text("exit 0\n", encoding="utf-8")
        library.progress = seen.append
        assert library.learning.run_tests(NAME, only_list=True).to_json()["tests"] == [{"path": "tests/good.sh"}]
        assert run("skill", "test", NAME, "--list") == (0, "tests/good.sh\n", "1 test.\n")
        if not level().isolates:
            pytest.skip("this machine offers no sandbox")
        told = library.learning.run_tests(NAME).to_json()
    assert (told["success"], told["passed"], told["failed"]) == (True, 1, 0)
    assert [(item.what, item.done, item.unit) for item in seen] == [("Tests", 1, "tests")]


def test_a_better_description_is_written_only_when_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        library.edit.apply([{"action": "create", "name": "books", "description": "Helps.", "body": "Compare rows."}])
        wanted = [f"reconcile the supplier invoices of month {at}" for at in range(8)]
        cases = [{"query": text, "should_trigger": True} for text in wanted]
        cases += [{"query": f"write poem {at}", "should_trigger": False} for at in range(6)]
        folder = tmp_path / "skills" / "books" / "evals"
        folder.mkdir()
        (folder / "triggers.json").write_text(json.dumps(cases), encoding="utf-8")
        shown = library.learning.optimise_description("books").to_json()
        assert (shown["improved"], shown["applied"], library.read("books").skill.description) == (True, False, "Helps.")
        written = library.learning.optimise_description("books", apply=True).to_json()
        assert (written["applied"], written["version"]) == (True, "2")
        assert library.read("books").skill.description == written["description"]


def test_the_command_line_improves(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    cassette = tmp_path / "answers.jsonl"
    with created(tmp_path) as library:
        library.learning.improve(NAME, Recorded(str(cassette), improver([SIGNED])), dry_run=True)
    words = ("learn", "improve", NAME, "--model", f"recorded:{cassette}")
    code, out, said = run(*words, "--dry-run")
    row, *diff = out.split("\n")
    tokens = row.split("\t")[4]
    assert (code, row.split("\t")) == (0, ["1", "accepted", "0.50", "1.00", tokens, "1", "Notes are signed."])
    assert [line for line in diff if line.startswith("+")] == [
        *("+++ better/SKILL.md", '+  version: "2"', "+", f"+{SIGNED['text']}"),
    ]
    first, *rest = said.split("\n")
    assert first.startswith(f"{NAME}: the score from 0.50 to 1.00 on 1 eval; ")
    assert rest == [
        "Every expectation is met. [all-met]",
        "hint: Run it again without `--dry-run` to keep it.",
        "",
    ]
    code, _, said = run(*words)
    assert (code, said.split("\n")[2:]) == (
        0,
        [
            "Saved as proposal 1. It has not been reviewed yet.",
            f"hint: {Changes((), proposal=1).hint}",
            "",
        ],
    )
    (tmp_path / "skills" / NAME / "evals" / "evals.json").write_text(json.dumps({"evals": []}), encoding="utf-8")
    code, out, said = run(*words)
    assert (code, out, said.split("\n")[0].endswith("has no task with a prompt and expectations.")) == (1, "", True)


def test_a_no_is_said_with_what_was_tried(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    cassette = tmp_path / "answers.jsonl"
    evals = {"evals": [*EVALS["evals"], {"prompt": "Write."}]}
    with created(tmp_path) as library:
        (tmp_path / "skills" / NAME / "evals" / "evals.json").write_text(json.dumps(evals), encoding="utf-8")
        worse = improver([edit("Write nothing.")])
        library.learning.improve(NAME, Recorded(str(cassette), worse), rounds=1, dry_run=True)
    code, out, said = run("learn", "improve", NAME, "--model", f"recorded:{cassette}", "--rounds", "1")
    assert (code, out.split("\t")[:4]) == (1, ["1", "rejected", "0.50", "0.00"])
    told = said.split("\n")
    assert told[0].endswith("evals[1] has no `expectations`. [eval-without-expectations]")
    assert told[1].startswith(f"{NAME}: the score stays 0.50 on 1 eval; ")
    assert told[2] == (
        f"{NAME} is unchanged: no candidate is better. The last one: Worse than before: signed from 0.50 to 0.00. "
        "[not-improved]"
    )
    assert told[3].startswith("hint: `rounds` lists what was tried.")


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ({"files": ["gone.csv"], "expectations": ["It adds up"]}, "eval-file-missing"),
        ({"expectations": [{"type": "exit_code", "command": "true"}]}, "no-sandbox"),
    ],
)
def test_what_cannot_be_measured_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: dict[str, Any], code: str
) -> None:
    monkeypatch.setattr(levels, "level", lambda: levels.NONE)
    with opened(tmp_path) as library:
        library.edit.apply([{"action": "create", "name": NAME, "description": DESCRIPTION, "body": BODY}])
        with_evals(tmp_path, evals={"evals": [*EVALS["evals"], {"id": "last", "prompt": "Add it up.", **last}]})
        model = obedient()
        with pytest.raises(WhetError) as caught:
            library.learning.eval_skill(NAME, model)
    assert (caught.value.code, model.requests) == (code, [])


# publishing


def published(run: Callable[..., tuple[int, str, str]], top: Path, *words: str) -> tuple[int, Any]:
    code, out, _ = run("sources", "publish", NAME, "--index", str(top / "site"), "--json", *words)
    return code, json.loads(out)


def test_a_skill_is_published_once_its_evals_passed(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    library = created(tmp_path)
    code, answer = published(run, tmp_path)
    assert (code, answer["code"]) == (3, "failing-checks")
    assert answer["error"] == f"{NAME} is not published: The evals of {NAME} were not run on the skill as it is now."
    assert answer["hint"].startswith(f"Run `whet learn eval {NAME}`. `--allow-failing REASON`")
    assert [problem["code"] for problem in answer["problems"]] == ["evals-not-run"]
    assert not (tmp_path / "site").exists()
    library.learning.eval_skill(NAME, obedient())
    assert published(run, tmp_path)[0] == 0
    library.edit.patch(NAME, find="one line", replace="one short line")
    assert published(run, tmp_path)[1]["code"] == "failing-checks"


def test_a_skill_whose_evals_failed_is_published_with_a_reason_only(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    library = created(tmp_path)
    assert library.learning.eval_skill(NAME, obedient(), min_pass_rate=1.0).problem
    code, answer = published(run, tmp_path)
    assert (code, [problem["code"] for problem in answer["problems"]]) == (3, ["evals-failed"])
    assert published(run, tmp_path, "--allow-failing", " ")[1]["code"] == "reason-needed"
    code, answer = published(run, tmp_path, "--allow-failing", "The note is a draft.")
    assert (code, [(note["code"], note["severity"]) for note in answer["notes"]]) == (0, [("evals-failed", "warning")])
    last = library.guard.audit_log(last=1).records[-1]
    told = (last.action, last.skill, last.decision, last.reason)
    assert told == ("publish", NAME, "allow", "The note is a draft. (evals-failed)")


def test_the_tests_of_a_skill_run_before_it_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = opened(tmp_path)
    library.edit.apply([{"action": "create", "name": NAME, "description": DESCRIPTION, "body": BODY}])
    path, site = str(tmp_path / "skills" / NAME), str(tmp_path / "site")
    test = tmp_path / "skills" / NAME / "tests" / "test_it.sh"
    test.parent.mkdir()
    test.write_text("exit 1\n", encoding="utf-8")
    with pytest.raises(RefusedError) as caught:
        library.sources.publish(path, index=site)
    assert [problem["code"] for problem in caught.value.details["problems"]] == ["tests-failed"]
    test.write_text("exit 0\n", encoding="utf-8")
    assert library.sources.publish(path, index=site).changed
    monkeypatch.setattr("whet.guard.sandbox.levels.level", lambda: levels.NONE)
    with pytest.raises(RefusedError) as caught:
        library.sources.publish(path, index=site)
    assert [problem["code"] for problem in caught.value.details["problems"]] == ["tests-not-run"]


def test_results_that_were_kept_elsewhere_count(tmp_path: Path, run: Callable[..., tuple[int, str, str]]) -> None:
    created(tmp_path).learning.eval_skill(NAME, obedient(), out=tmp_path / "kept")
    (tmp_path / "state").rename(tmp_path / "another-machine")
    assert published(run, tmp_path)[1]["code"] == "failing-checks"
    assert published(run, tmp_path, "--eval-results", str(tmp_path / "kept"))[0] == 0

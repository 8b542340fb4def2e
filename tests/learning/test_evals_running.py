"""Doing evals with a model, and what is made of it: conversations, numbers, files."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from learning.evaluated import BETTER, obedient, one_eval, opened, subject
from whet.errors import InvalidError, UsageError
from whet.guard.sandbox.levels import levels
from whet.learning.evals import results_directory
from whet.learning.evals.evaluation import measure
from whet.learning.evals.results import Evaluation, Output, Result, Run, scores, spread
from whet.learning.models.model import Budget, Budgeted, Call, Completion, ModelError
from whet.learning.models.scripted import Scripted
from whet.runtime.trials import TURNS, Trials

if TYPE_CHECKING:
    from whet.learning.evals.formats import Eval
    from whet.learning.evals.results import Side
    from whet.learning.models.model import Model, Request

pytestmark = pytest.mark.skipif(not levels(), reason="evals run in a sandbox, and this machine offers none")

SIDES: tuple[Side, ...] = ("with_skill", "without_skill")


def done(model: Model, body: str = BETTER, runs: int = 1, **more: Any) -> tuple[Run, ...]:
    tried = subject(body, **more)
    sides = {"with_skill": tried, "without_skill": None}
    with tempfile.TemporaryDirectory() as top, opened(Path(top)) as library:
        workspace = library.workspace
        return measure(workspace.place, tried, sides, model, Trials(workspace), runs=runs)  # type: ignore[arg-type]  # the names are those of sides


def test_a_skill_that_helps_is_seen_to_help() -> None:
    runs = done(obedient(), runs=2)
    assert [(run.side, run.number, run.pass_rate) for run in runs] == [
        *(("with_skill", 1, 1.0), ("without_skill", 1, 0.5), ("with_skill", 2, 1.0), ("without_skill", 2, 0.5)),
    ]
    assert all(run.output.seconds > 0 and run.output.tokens > 0 and run.grading_tokens > 0 for run in runs)
    assert scores(runs, "with_skill") == {"signed": 1.0}
    numbers = told(runs).summary.to_json()
    assert numbers["with_skill"]["pass_rate"] == {"mean": 1.0, "stddev": 0.0, "min": 1.0, "max": 1.0}
    assert numbers["delta"]["pass_rate"] == "+0.50"
    assert [row.flags for row in told(runs).expectations] == [(), ("passes-in-both",)]


def test_each_try_is_a_conversation_of_its_own_and_sees_no_rubric() -> None:
    model = obedient()
    done(model, references__more_md=b"More.", tests__test_x=b"secret rubric")
    tasks = [request for request in model.requests if "You grade" not in request.messages[0].text]
    assert [len(request.messages) for request in tasks] == [2, 2]
    first, second = (request.messages[1].text for request in tasks)
    assert "<skill" in first and "references/more.md" in first and second == "Write the note for the login fix."
    assert tasks[0].messages[0] == tasks[1].messages[0] and tasks[0].tools == tasks[1].tools
    for request in tasks:
        text = str(request)
        assert "what was fixed about the login" not in text and "evals" not in text and "tests/" not in text


def test_a_try_has_the_tools_of_a_run_and_what_it_leaves_is_its_output() -> None:
    calls = [
        Call("1", "Read", {"file_path": "references/more.md"}),
        Call("2", "Read", {"file_path": "evals/evals.json"}),
        Call("3", "Bash", {"command": "cat data > out.txt; ls -d */; echo no > $WHET_SKILL_DIR/x"}),
        Call("4", "Write", {"file_path": "out/a.txt", "content": "A"}),
        Call("5", "Write", {"file_path": "../b.txt", "content": "B"}),
        Call("6", "WebFetch", {"url": "https://name.example/"}),
        Call("7", "odd", {}),
    ]
    answers: list[str] = []

    def answer(request: Request) -> Completion | str:
        told = [message.text for message in request.messages if message.role == "tool"]
        if not told:
            return Completion("", calls=tuple(calls))
        answers.extend(told)
        return "Done."

    evals = [{"id": "x", "prompt": "x", "assertions": [{"type": "contains", "file": "out/a.txt", "value": "A"}]}]
    evals[0]["files"] = ["evals/data"]
    run, without = done(Scripted(answer), evals=evals, references__more_md=b"More.", evals__data=b"Data.")
    assert (run.pass_rate, run.output.calls) == (1.0, 7)
    assert run.output[:2] == ("Done.", {"out/a.txt": b"A", "out.txt": b"Data."})
    assert run.output.viewed == ("references/more.md", "evals/evals.json")
    assert answers[0] == "     1\tMore." and answers[1].startswith("Read failed: No such file")
    assert "Exit code" in answers[2] and "evals" not in answers[2]  # the skill cannot be written
    assert answers[3] == "Wrote 1 bytes." and answers[4].startswith("Denied: ")
    assert answers[5].startswith("The user did not approve") and answers[6].startswith("Denied: There is no tool odd.")
    assert answers[7].startswith("Read failed: No such file") and without.output.files["out/a.txt"] == b"A"


def test_a_skill_that_grants_little_is_measured_with_little() -> None:
    def answer(request: Request) -> Completion | str:
        told = [message.text for message in request.messages if message.role == "tool"]
        call = Call("1", "Write", {"file_path": "a.txt", "content": "A"})
        return told[0] if told else Completion("", calls=(call,))

    evals = [{"id": "x", "prompt": "x", "assertions": [{"type": "file_not_exists", "path": "a.txt"}]}]
    runs = done(Scripted(answer), frontmatter="allowed-tools: Read\n", evals=evals)
    assert [run.output.answer.partition(".")[0] for run in runs] == ["Denied: Write is not granted"] * 2


def test_a_model_that_never_ends_is_ended() -> None:
    endless = Scripted(lambda _: Completion("", calls=(Call("1", "odd", {}),)))
    run = done(endless, evals=[{"prompt": "x", "assertions": [{"type": "contains", "value": "x"}]}])[0]
    assert (len(endless.requests), run.pass_rate) == (2 * TURNS, 0.0)


def test_a_failed_try_has_no_score_and_a_used_up_budget_ends_all() -> None:
    count = 0

    def answer(_: Request) -> str:
        nonlocal count
        count += 1
        if count == 1:
            raise ModelError("model-timeout", "Too slow.")
        return "x"

    evals = [{"prompt": "x", "assertions": [{"type": "contains", "value": "x"}]}]
    runs = done(Scripted(answer), evals=evals)
    assert [(run.pass_rate, run.error) for run in runs] == [(None, "Too slow."), (1.0, "")]
    assert scores(runs, "with_skill") == {"1": None}
    assert [row.flags for row in told(runs).expectations] == [("no-score",)]
    count = 5
    short = done(Budgeted(Scripted(answer), Budget(calls=2)), evals=evals, runs=2)
    assert [bool(run.error) for run in short] == [False, False, True, True]
    assert short[3].error == "Not run: The budget of 2 calls for models is used up."
    with pytest.raises(ModelError, match="Too slow"):
        done(Scripted(lambda _: (_ for _ in ()).throw(ModelError("model-timeout", "Too slow."))), evals=evals)
    with pytest.raises(UsageError, match="above zero"):
        done(obedient(), runs=0)


def made(passes: dict[Side, list[list[bool]]], item: Eval | None = None) -> list[Run]:
    """Runs in which the expectations were met like this."""
    item = item or one_eval(expectations=["a", "b"])
    return [
        Run(item, side, number, Output("x"), tuple(Result(str(at), one, "") for at, one in enumerate(met)))
        for side, tries in passes.items()
        for number, met in enumerate(tries, 1)
    ]


def test_expectations_that_tell_nothing_are_flagged() -> None:
    runs = made({"with_skill": [[True, False]] * 3, "without_skill": [[True, False]] * 3})
    assert [row.flags for row in told(runs).expectations] == [("passes-in-both",), ("fails-in-both",)]
    runs = made(
        {"with_skill": [[True, False], [False, False], [True, False]], "without_skill": [[False, True]] * 3},
    )
    assert [row.flags for row in told(runs).expectations] == [("high-variance",), ("worse-with-skill",)]


def test_spread() -> None:
    assert spread([]) is None
    assert spread([0.5]) == (0.5, 0.0, 0.5, 0.5)
    mean = spread([0.0, 1.0])
    assert mean is not None and mean.to_json() == {"mean": 0.5, "stddev": 0.7071, "min": 0.0, "max": 1.0}


def told(runs: tuple[Run, ...] | list[Run]) -> Evaluation:
    return Evaluation("x", "/x", "d", "m", "m", "none", SIDES, tuple(runs), "2026-01-01T00:00:00Z")


def test_the_workspace_has_the_common_layout(tmp_path: Path) -> None:
    runs = done(obedient(), runs=2)
    place = results_directory.begin(str(tmp_path / "out"))
    results_directory.write(place, told(runs))
    found = sorted(str(path.relative_to(place)) for path in (tmp_path / "out").rglob("*") if path.is_file())
    each = ("grading.json", "outputs/answer.md", "timing.json")
    sides = [f"eval-signed/{side}/run-{run}/{file}" for side in SIDES for run in (1, 2) for file in each]
    assert (os.path.basename(place), found) == (
        "iteration-1",
        ["benchmark.json", "eval-signed/eval_metadata.json", *sides],
    )
    folder = tmp_path / "out" / "iteration-1" / "eval-signed" / "without_skill" / "run-2"
    grading = json.loads((folder / "grading.json").read_text())
    assert grading["summary"] == {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5}
    assert [*grading["expectations"][0]] == ["text", "passed", "evidence", "by"]
    timing = json.loads((folder / "timing.json").read_text())
    output = runs[3].output
    assert (timing["total_tokens"], timing["duration_ms"]) == (output.tokens, round(output.seconds * 1000))
    whole = json.loads((tmp_path / "out" / "iteration-1" / "benchmark.json").read_text())
    assert whole["run_summary"]["delta"]["pass_rate"] == "+0.50" and len(whole["runs"]) == 4


def test_the_newest_results_of_a_content_are_found(tmp_path: Path) -> None:
    out, runs = str(tmp_path / "out"), made({side: [[True, True]] for side in SIDES})
    for digest in ("old", "now", "now", "other"):
        results_directory.write(results_directory.begin(out), told(runs)._replace(digest=digest))
    (tmp_path / "out" / "iteration-4" / "benchmark.json").write_text("[1]")
    path, found = results_directory.find_results(out, "now")
    assert path.endswith(os.path.join("iteration-3", "benchmark.json")) and found["complete"]
    for directory, digest in ((out, "other"), (str(tmp_path / "none"), "now")):
        with pytest.raises(InvalidError) as caught:
            results_directory.find_results(directory, digest)
        assert caught.value.code == "evals-outdated"

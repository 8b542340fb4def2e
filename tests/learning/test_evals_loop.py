"""The whole loop on a real library, offline: written, measured, improved, measured again; worse changes are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from learning.evaluated import BETTER, BODY, DESCRIPTION, NAME, obedient, opened, with_evals
from whet.authoring.drafts import improve
from whet.authoring.writer import Provenance
from whet.errors import NotFoundError, UsageError
from whet.guard.sandbox.levels import levels
from whet.interfaces.cli import main
from whet.learning.evals.evaluation import earlier, eval_skill, scorer
from whet.learning.evals.gate import judge
from whet.learning.evals.subject import subject_at
from whet.learning.models.recorded import Recorded
from whet.runtime.trials import Trials

if TYPE_CHECKING:
    from pathlib import Path

    from whet import Library
    from whet.learning.models.model import Model

pytestmark = pytest.mark.skipif(not levels(), reason="evals run in a sandbox, and this machine offers none")

WORSE = "# Commit notes\n\nWrite nothing.\n"


def created(top: Path) -> Library:
    library = opened(top)
    library.edit.apply([{"action": "create", "name": NAME, "description": DESCRIPTION, "body": BODY}])
    with_evals(top)
    return library


def measured(library: Library, model: Model, **how: Any) -> dict[str, Any]:
    attempt = Trials(library.workspace)
    return eval_skill(library.workspace, library.edit.journal, NAME, model, attempt, min_pass_rate=1.0, **how).to_json()


def looped(top: Path, model: Model) -> list[Any]:
    """The loop, and everything it says that does not depend on the place."""
    with created(top) as library:
        told: list[Any] = []
        first = measured(library, model, out=str(top / "out"))
        told.append((first["success"], first["code"], first["evals"]))
        before = dict(subject_at(library.workspace, NAME).tree)
        score = scorer(library.workspace, NAME, model, Trials(library.workspace))
        for body in (WORSE, BETTER):
            verdict = judge(before, improve(before, body=body).tree, NAME, score)
            told.append((verdict.accepted, [reason.code for reason in verdict.reasons], verdict.before, verdict.after))
            if verdict.accepted:
                library.edit.apply(
                    [{"action": "edit", "name": NAME, "body": body}], by=Provenance("agent"), viewed=lambda *_: True
                )
        second = measured(library, model, out=str(top / "out"), against="old")
        told.append((second["success"], second["evals"], second["summary"]["delta"]["pass_rate"]))
        entries = library.edit.history.entries(NAME).to_json()["entries"]
        told.append([entry["action"] for entry in entries])
        told.append(library.read(NAME).skill.version)
        return told


def test_the_loop_runs_offline_from_recorded_answers(tmp_path: Path) -> None:
    cassette = str(tmp_path / "answers.jsonl")
    told = looped(tmp_path / "one", Recorded(cassette, obedient()))
    assert told == [
        (False, "below-minimum", [{"id": "signed", "with_skill": 0.5, "without_skill": 0.5}]),
        (False, ["gate-regression", "gate-not-better"], 0.5, 0.0),
        (True, [], 0.5, 1.0),
        (True, [{"id": "signed", "with_skill": 1.0, "old_skill": 0.5}], "+0.50"),
        ["create", "found", "edit"],
        "2",
    ]
    assert looped(tmp_path / "two", Recorded(cassette)) == told


def test_a_worse_candidate_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with created(tmp_path) as library:
        library.edit.apply([{"action": "edit", "name": NAME, "body": BETTER}])
        before = dict(subject_at(library.workspace, NAME).tree)
        score = scorer(library.workspace, NAME, obedient(), Trials(library.workspace))
        verdict = judge(before, improve(before, body=WORSE).tree, NAME, score)
        assert [reason.code for reason in verdict.reasons] == ["gate-regression", "gate-not-better"]
        assert (verdict.accepted, verdict.before, verdict.after) == (False, 1.0, 0.0)


def test_what_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with opened(tmp_path) as library:
        library.edit.apply([{"action": "create", "name": NAME, "description": DESCRIPTION, "body": BODY}])
        with pytest.raises(NotFoundError) as missing:
            measured(library, obedient())
        with_evals(tmp_path)
        with pytest.raises(UsageError) as odd:
            measured(library, obedient(), against="odd")
        journal, subject = library.edit.journal, subject_at(library.workspace, NAME)
        with pytest.raises(NotFoundError) as first:
            earlier(journal, subject)
    codes = (missing.value.code, odd.value.code, first.value.code)
    assert codes == ("no-output-evals", "bad-against", "no-such-version")


def test_a_skill_that_makes_it_worse_is_told(tmp_path: Path) -> None:
    evals = {"evals": [{"prompt": "login", "assertions": [{"type": "not_contains", "value": "Signed"}]}]}
    with opened(tmp_path) as library:
        library.edit.apply([{"action": "create", "name": NAME, "description": DESCRIPTION, "body": BETTER}])
        with_evals(tmp_path, evals=evals)
        told = measured(library, obedient())
        assert (told["success"], told["code"], told["expectations"][0]["flags"]) == (
            *(False, "eval-worse"),
            ["worse-with-skill"],
        )
        short = measured(library, obedient(), tokens=1_050)
        assert (short["success"], short["code"], short["complete"]) == (False, "eval-incomplete", False)


def test_the_command_line_measures_and_keeps_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cassette = str(tmp_path / "answers.jsonl")
    with created(tmp_path) as library:
        measured(library, Recorded(cassette, obedient()))
    monkeypatch.chdir(tmp_path)
    env = {"HOME": str(tmp_path / "home"), "WHET_HOME": str(tmp_path / "state"), "PATH": ""}
    words = ["--root", str(tmp_path / "skills"), "eval", NAME, "--model", f"recorded:{cassette}", "--out", "out"]
    assert main([*words, "--json"], env) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"]["with_skill"]["pass_rate"]["mean"] == 0.5 and answer["out"].endswith("iteration-1")
    assert (tmp_path / "out" / "iteration-1" / "benchmark.json").is_file()
    assert main([*words, "--min-pass-rate", "0.9"], env) == 1
    shown = capsys.readouterr()
    assert shown.out.split("\n")[0] == "signed\t0.00\t0.00\tfails-in-both\tcontains: Signed-off-by: Ann"
    assert "[below-minimum]" in shown.err and "iteration-2" in shown.err

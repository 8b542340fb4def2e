"""`whet list-as`: what a model is told of, and what it is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from whet.api import Library
from whet.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from whet.interfaces.cli.output import Screen

    Run = Callable[..., CompletedProcess[str]]

NAMES = ("alpha", "beta", "gamma", "omega")


@pytest.fixture
def run(skill: Callable[..., Path], whet: Run, tmp_path: Path) -> Run:
    """The command line with four skills of the user."""
    (tmp_path / "state").mkdir()
    for name in NAMES:
        skill(name, f"Handles {name}. Use when asked about {name}.")
    return whet


def told(run: CompletedProcess[str]) -> Any:
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads(run.stdout)


def rows(run: Run, *options: str) -> list[str]:
    return run("prompt", "index", "--no-rules", "--quiet", *options).stdout.splitlines()


def row(name: str) -> str:
    return f"▸ {name}: Handles {name}. Use when asked about {name}."


def test_each_way_to_list_a_skill(run: Run, shown: Callable[..., Screen]) -> None:
    assert run("prompt", "list-as", "omega", "always").stderr == "omega is always listed.\n"
    assert run("prompt", "list-as", "omega", "always").stderr == "omega was already always listed.\n"
    assert run("prompt", "list-as", "beta", "name").stderr == "beta is listed by name only.\n"
    assert run("prompt", "list-as", "gamma", "manual").stderr == "gamma is not listed for models.\n"
    index = run("prompt", "index", "--no-rules")
    assert index.stdout.splitlines() == [row("omega"), row("alpha"), "▸ beta"]
    assert index.stderr.splitlines()[1:] == ["As you decided: 1 always listed, 1 by name only, 1 manual only."]
    report = told(run("prompt", "index", "--json"))["report"]
    assert [report[key] for key in ("total", "shortened", "always", "name_only", "manual")] == [3, 0, 1, 1, 1]
    listed = {item["name"]: item.get("listing") for item in told(run("list", "--json"))["skills"]}
    assert listed == {"alpha": None, "beta": "name", "gamma": "manual", "omega": "always"}
    assert told(run("show", "gamma", "--json"))["listing"] == "manual"
    assert "listing        not listed for models\n" in run("show", "gamma").stdout
    heads = [line for line in shown("-v", "list").text().splitlines() if line.startswith(NAMES)]
    assert heads == [
        "alpha  user",
        "beta  user, listed by name only",
        "gamma  user, not listed for models",
        "omega  user, always listed",
    ]
    assert run("prompt", "list-as", "gamma", "normal").stderr == "gamma is listed as usual.\n"
    assert row("gamma") in rows(run)


def test_a_skill_that_is_always_listed_keeps_its_description_under_pressure(run: Run) -> None:
    run("prompt", "list-as", "omega", "always")
    for budget in (200, 150, 110):
        listed = rows(run, "--budget", str(budget))
        assert (listed[0], len("\n".join(listed)) <= budget) == (row("omega"), True)
        assert rows(run, "--budget", str(budget)) == listed
    assert rows(run, "--budget", "200", "--for", "tell me about alpha")[0] == row("omega")


def test_a_person_calls_what_no_model_is_offered(run: Run, tmp_path: Path) -> None:
    run("prompt", "list-as", "gamma", "manual")
    assert run("prompt", "render", "gamma").returncode == 0
    assert "/gamma" in run("prompt", "commands").stdout
    with Library.open(home=tmp_path / "state") as library:
        session = library.session()
        assert [match.name for match in session.find("gamma")] == []
        assert [card.name for card in session.skills()] == ["alpha", "beta", "omega"]
        with pytest.raises(RefusedError, match="Only a person may invoke it, by whet list-as"):
            session.view("gamma")
        session.invoke("/gamma")
        assert session.view("gamma").content


def test_a_decision_follows_a_rename(run: Run) -> None:
    run("prompt", "list-as", "omega", "always")
    run("prompt", "list-as", "gamma", "manual")
    assert run("skill", "rename", "omega", "zeta").returncode == 0
    assert run("skill", "rename", "gamma", "delta").returncode == 0
    listed = {item["name"]: item.get("listing") for item in told(run("list", "--json"))["skills"]}
    assert listed == {"alpha": None, "beta": None, "delta": "manual", "zeta": "always"}


def test_a_decision_for_one_project_counts_there_alone(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for directory in (other, tmp_path / "work"):
        (directory / ".git").mkdir(parents=True)
    run("prompt", "list-as", "alpha", "name")
    assert told(run("--project", str(other), "prompt", "list-as", "alpha", "normal", "--here", "--json")) == {
        "success": True,
        "name": "alpha",
        "mode": "normal",
        "project": str(other),
        "changed": True,
        "hint": "",
    }
    assert (rows(run)[0], rows(run, "--project", str(other))[0]) == ("▸ alpha", row("alpha"))
    failed = run(
        "--root", str(tmp_path / "home" / ".agents" / "skills"), "prompt", "list-as", "alpha", "name", "--here"
    )
    assert (failed.returncode, failed.stderr.splitlines()[0]) == (2, "error: Explicit roots have no project.")


def test_settings_list_skills_and_a_project_only_less_prominently(run: Run, tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir()
    with (tmp_path / "state" / "config.toml").open("a") as config:
        config.write('[listing]\nalways = ["beta"]\nmanual = ["alpha"]\n')
    (work / ".whet.toml").write_text('[listing]\nalways = ["gamma"]\nname = ["beta", "alpha"]\n')
    assert rows(run) == [row("beta"), row("gamma"), row("omega")]
    run("guard", "trust")
    assert rows(run) == ["▸ beta", row("gamma"), row("omega")]
    assert run("prompt", "list-as", "beta", "always").stderr == (
        "beta is always listed.\nhint: It is listed as `name` by .whet.toml.\n"
    )
    notes = [note for note in told(run("doctor", "--json"))["report"] if note["code"] == "listing-raised"]
    assert [(note["message"], note["path"]) for note in notes] == [
        ("listing.always is ignored: gamma.", str(work / ".whet.toml"))
    ]
    assert run("prompt", "list-as", "alpha", "always").returncode == 0
    assert rows(run)[0] == "▸ alpha"


@pytest.mark.parametrize("listing", ['listing = "x"', '[listing]\nsometimes = ["alpha"]', "[listing]\nname = [1]"])
def test_a_listing_that_cannot_be_understood_is_an_error(run: Run, tmp_path: Path, listing: str) -> None:
    (tmp_path / "state" / "config.toml").write_text(f"{listing}\n")
    failed = run("list")
    assert failed.returncode == 2
    assert failed.stderr.endswith("Write `listing` as lists of quoted names under always, normal, name, manual.\n")

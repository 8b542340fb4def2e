"""`whet find`, `whet list --query` and `whet prompt index --for`: skills by what a message says."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from prompt.world import card

from whet.interfaces.cli.commands.match import render_find as render
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.parser import Namespace
from whet.interfaces.cli.text import width
from whet.notes import Note
from whet.prompt.matcher import Match, Matches
from whet.skill.gates import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess


@pytest.fixture(autouse=True)
def library(skill: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    skill("pdf-forms", "Fills in PDF forms. Use when a PDF form has to be filled in.")
    skill("charts", "Draws charts from a CSV file.", body="Label the axes.\n")
    skill("rust-forms", "Fills in PDF forms with Rust.", extra="paths: ['*.rs']\n")


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    assert (run.returncode, run.stderr) == (0, "")
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_the_document(whet: Callable[..., CompletedProcess[str]], home: Path) -> None:
    told = answer(whet("find", "fill", "in", "this", "pdf form", "-k", "1", "--json"))
    (result,) = told["results"]
    assert (result["name"], result["path"]) == ("pdf-forms", str(home / ".agents" / "skills" / "pdf-forms"))
    assert isinstance(result["score"], float) and isinstance(result["why"], list)


def test_on_a_pipe_each_skill_is_a_line(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("find", "$charts of this pdf form")
    rows = [row.split("\t") for row in run.stdout.splitlines()]
    assert rows[0] == ["charts", "1.0000", "the message names it"]
    assert [row[0] for row in rows[1:]] == ["pdf-forms"]
    assert rows[1][2].endswith("also: rust-forms")
    assert (run.returncode, run.stderr) == (0, "")


def test_the_message_may_come_from_standard_input(
    whet: Callable[..., CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO("label\nthe axes \xff".encode("latin-1")), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    assert answer(whet("find", "-", "--json"))["results"][0]["name"] == "charts"


def test_nothing_found_is_an_answer(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("find", "qwxyz")
    hint = "hint: `whet list` shows every skill; `whet find --everywhere` also searches your sources.\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, "", f"No skill fits.\n{hint}")


def test_a_skill_of_the_gallery_that_fits_is_named_until_it_is_added(
    whet: Callable[..., CompletedProcess[str]],
) -> None:
    message = "the build is flaky since yesterday"
    name = "debugging-systematically"
    hint = f"hint: {name} fits, and ships with Whet: `whet gallery add {name}`.\n"
    assert whet("find", message).stderr.endswith(hint)
    assert whet("gallery", "add", name).returncode == 0
    found = whet("find", message)
    assert (found.stdout.split("\t")[0], found.stderr) == (name, "")


@pytest.mark.parametrize("columns", [40, 80])
def test_a_terminal_gets_a_table_that_fits(columns: int) -> None:
    notes = (Note("one", "info", "One.", "Two."), Note("three", "info", "Three."))
    why = ("matched trigger 'backport'", "words: fix, branch, \x1b[31mred, and many more than fit in one line here")
    results = [match("backport", 0.934, *why), match("x", 0.05, explicit=True), match("y", 0.049)]
    screen = Screen(tty=True, colour=False, columns=columns)
    render(Matches(results, notes=notes), screen, Namespace())
    assert max(map(width, screen.text().splitlines())) <= columns
    assert (
        screen.text()
        == {
            40: "SKILL     FIT  WHY\n"
            "backport  93%  matched trigger\n"
            "               'backport'; words: fix,\n"
            "               branch, \\x1b[31mred, and\n"
            "               many more than fit in one\n"
            "               line here\n"
            "x         5%   only on request\n",
            80: "SKILL     FIT  WHY\n"
            "backport  93%  matched trigger 'backport'; words: fix, branch, \\x1b[31mred, and\n"
            "               many more than fit in one line here\n"
            "x         5%   only on request\n",
        }[columns]
    )
    assert (screen.messages, screen.hints) == (["One.", "Three."], ["Two."])


def match(name: str, fit: float, *why: str, explicit: bool = False) -> Match:
    return Match(card(name, gates=OPEN._replace(model_invocable=not explicit)), fit, why)


def test_below_a_long_name_the_reasons_have_lines_of_their_own() -> None:
    screen = Screen(tty=True, colour=False, columns=40)
    results = [match("a-name-that-is-very-long-indeed", 0.9, "described by 'name', 'long'"), match("x", 1.0)]
    render(Matches(results, notes=()), screen, Namespace())
    assert screen.text() == (
        "SKILL  FIT\na-name-that-is-very-long-indeed  90%\n      described by 'name', 'long'\nx  100%\n"
    )


def test_where_nothing_fits_well_that_is_said() -> None:
    hint = (
        "`whet list` shows every skill; `whet find --everywhere` also searches your sources; `whet learn feedback "
        "--help` shows how to improve matching."
    )
    faint, poor = [match("x", 0.03, "one"), match("y", 0.01)], [match("x", 0.2, "one"), match("y", 0.01)]
    table = "No skill fits well. These come closest:\nSKILL  FIT  WHY\nx      20%  one\n"
    for tty, matches, text, said in (
        (False, faint, "x\t0.0300\tone\ny\t0.0100\t\n", ["No skill fits."]),
        (True, faint, "", ["No skill fits."]),
        (True, poor, table, []),
    ):
        screen = Screen(tty=tty, colour=False, columns=80)
        render(Matches(matches, notes=()), screen, Namespace())
        assert (screen.text(), screen.messages, screen.hints) == (text, said, [hint])


def test_a_list_with_a_query_is_in_order_of_relevance(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("list", "--query", "axes")
    assert (run.returncode, run.stdout) == (0, "charts\tDraws charts from a CSV file.\n")
    names = [skill["name"] for skill in answer(whet("list", "--query", "forms rust", "--json"))["skills"]]
    assert names[0] == "rust-forms"


def test_an_index_for_a_message_lists_what_fits(whet: Callable[..., CompletedProcess[str]]) -> None:
    run = whet("prompt", "index", "--for", "draw a chart from this csv file", "--limit", "1", "--no-rules")
    assert run.stdout.splitlines()[0] == "▸ charts: Draws charts from a CSV file."
    empty = whet("prompt", "index", "--for", "")
    assert (empty.returncode, empty.stderr) == (2, "error: The message is empty.\nhint: Pass the user's words.\n")
    small = whet(
        "prompt", "index", "--for", "draw a chart from this csv file", "--budget", "80", "--no-rules", "--json"
    )
    assert "charts" in answer(small)["text"]

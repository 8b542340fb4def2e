"""Evals: the skills that have some, how well messages trigger them, and the value of a skill to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.errors import NotFoundError
from whet.web.charts import Bar, draw_bars
from whet.web.pages import Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.web.ui.requests import Asked

_MOST_RUNS = 20
_SIDES = {"with_skill": "with", "without_skill": "without", "old_skill": "before"}


def show_evals(asked: Asked) -> Page:
    """Show the skills with evals; with `measure`, how well messages trigger them."""
    learning = asked.library.learning
    answer: dict[str, Any] = {"skills": [skill.to_json() for skill in learning.list_evals()], "triggers": None}
    charts = {}
    if asked.is_set("measure"):
        answer["triggers"] = learning.eval_triggers().to_json()
        charts = _draw_triggers(answer["triggers"]["skills"])
    return Page("evals.html", answer, {"charts": charts})


def show_eval(asked: Asked) -> Page:
    """Show one skill: its trigger evals, and the form that runs its tasks."""
    return _show(asked, None)


def run_eval(asked: Asked) -> Page:
    """Run the tasks with a model, with the skill and without it, and compare."""
    found = asked.library.learning.eval_skill(
        asked.text("name"),
        asked.text("model") or None,
        runs=min(asked.number("runs", 1), _MOST_RUNS),
        against="old" if asked.is_set("old") else "none",
        out=asked.text("out") or None,
    )
    return _show(asked, found.to_json())


def _show(asked: Asked, evaluation: Mapping[str, Any] | None) -> Page:
    library, name = asked.library, asked.text("name")
    card = library.card(name)
    try:
        triggers = library.learning.eval_triggers([name]).to_json()
    except NotFoundError as error:
        triggers = error.to_json()
    known = {skill.path: skill for skill in library.learning.list_evals(name)}
    answer = {
        "skill": known[card.location].to_json(),
        "triggers": triggers,
        "evaluation": evaluation,
        "model": library.workspace.config().settings.model,
    }
    chart = _draw_evals(evaluation["evals"]) if evaluation else ""
    return Page("eval.html", answer, {"chart": chart, "given": asked.given})


def _draw_triggers(skills: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Draw a chart for each share, the worst skill first."""
    charts = {}
    for name, tier, share in (("Found", "offered", "recall"), ("Right when loaded", "must", "precision")):
        known = sorted((row[tier][share], row["skill"]) for row in skills if row[tier][share] is not None)
        if known:
            charts[name] = draw_bars([_share(skill, value) for value, skill in known], f"{name}, by skill", largest=1)
    return charts


def _share(label: str, value: float | None, kind: str = "") -> Bar:
    shown = "no result" if value is None else f"{value:.0%}"
    return Bar(label, value or 0, shown, kind or ("bad" if value is not None and value < 0.5 else ""))


def _draw_evals(evals: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the pass rate of each task with the skill and without it."""
    bars = [
        _share(f"{row['id']}, {_SIDES[side]}", rate, "" if side == "with_skill" else "quiet")
        for row in evals
        for side, rate in row.items()
        if side != "id"
    ]
    return draw_bars(bars, "Pass rate of each task", largest=1)


ROUTES = (
    Route("GET", "/evals", show_evals),
    Route("GET", "/eval", show_eval),
    Route("POST", "/eval", run_eval),
)

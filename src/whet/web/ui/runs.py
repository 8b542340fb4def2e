"""Runs of skills: what each did, as the harness saw it, and the answers to calls that wait for approval."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from whet.values import as_json
from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked


def show_runs(asked: Asked) -> Page:
    """Show every run, newest first."""
    return Page("runs.html", {"runs": as_json(asked.library.runs.list().runs)})


def show_run(asked: Asked) -> Page:
    """Show one run with its report and its diff."""
    return Page("run.html", asked.library.runs.show(asked.text("id")).to_json())


def apply_run(asked: Asked) -> Moved:
    """Apply the changes of a finished run to the project."""
    run = asked.text("id")
    asked.library.runs.resume(run, apply=True)
    return Moved(f"/run?{urlencode({'id': run})}", "The changes are applied.")


def discard_run(asked: Asked) -> Moved:
    """Delete a run and its copy of the project."""
    view = asked.library.runs.discard(asked.text("id"))
    return Moved("/runs", f"Deleted the run {view.id}.")


ROUTES = (
    Route("GET", "/runs", show_runs),
    Route("GET", "/run", show_run),
    Route("POST", "/run/apply", apply_run),
    Route("POST", "/run/discard", discard_run),
)

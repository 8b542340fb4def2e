"""The history: changes with their diffs, and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import NotFoundError
from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_SHOWN = 200


def show_history(asked: Asked) -> Page:
    """Show the last changes, newest first."""
    name = asked.text("name") or None
    history = asked.library.history
    found = history.entries(name, asked.number("last", _SHOWN))
    try:
        undoable = {run[0].run for run in history.undoable()}
    except NotFoundError:
        undoable = set()
    entries = [
        {**entry.to_json(), "what": entry.what, "undoable": entry.run in undoable} for entry in reversed(found.entries)
    ]
    return Page("history.html", {**found.to_json(), "entries": entries})


def show_change(asked: Asked) -> Page:
    """Show the changes of one run."""
    run = asked.text("run")
    history = asked.library.history
    entries = [entry for entry in history.entries().entries if entry.run == run]
    if not entries:
        raise NotFoundError("no-such-entry", f"The history has no run {run!r}.", hint="Choose one on the history page.")
    rows = [{**entry.to_json(), "what": entry.what} for entry in entries]
    undoable = any(known[0].run == run for known in history.undoable())
    return Page(
        "change.html", {"run": run, "entries": rows, "diff": history.describe_change(entries), "undoable": undoable}
    )


def undo(asked: Asked) -> Moved:
    """Undo a run, or the last change."""
    reversal = asked.library.history.undo(asked.text("run") or None)
    skills = ", ".join(dict.fromkeys(entry.skill for entry in reversal.undone))
    return Moved("/history", f"Undone: {skills}.", reversal.entries[-1].run if reversal.entries else "")


ROUTES = (
    Route("GET", "/history", show_history),
    Route("GET", "/change", show_change),
    Route("POST", "/undo", undo),
)

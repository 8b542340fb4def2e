"""Problems of the library, and their repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_RANK = {"error": 0, "warning": 1, "info": 2}


def show_doctor(asked: Asked) -> Page:
    """Show every problem, the worst first."""
    found = (*asked.library.doctor(), *asked.examine())
    notes = sorted((note.to_json() for note in found), key=lambda note: _RANK[note["severity"]])
    counts = {severity: sum(note["severity"] == severity for note in notes) for severity in _RANK}
    return Page("doctor.html", {"report": notes, "counts": counts})


def repair(asked: Asked) -> Moved:
    """Repair what can be repaired."""
    done = asked.library.repair().done
    return Moved("/doctor", " ".join(done) or "There was nothing to repair.")


ROUTES = (Route("GET", "/doctor", show_doctor), Route("POST", "/doctor/repair", repair))

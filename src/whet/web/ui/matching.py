"""Try a message: show which skills match it, how surely, and why; and record corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_RESULTS = 8


def show_match(asked: Asked) -> Page:
    """Show the skills that match a message."""
    message = asked.text("message")
    if not message.strip():
        return Page("match.html", {"message": "", "detection": None, "results": []})
    detection = asked.library.detect(message).to_json()
    results = asked.library.find(message, _RESULTS).to_json()["results"]
    return Page("match.html", {"message": message, "detection": detection, "results": results})


def teach(asked: Asked) -> Moved:
    """Record that a message is for a skill, or is not."""
    name, message = asked.text("name"), asked.text("message")
    fits = asked.is_set("fits")
    asked.library.learning.feedback(name, message, fits=fits)
    note = f"Noted: this message is {'for' if fits else 'not for'} {name}."
    return Moved(f"/match?{urlencode({'message': message})}", note)


ROUTES = (Route("GET", "/match", show_match), Route("POST", "/match/teach", teach))

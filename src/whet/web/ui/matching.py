"""Try a message: which skills come up for it, how surely, and why; and say so if that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_RESULTS = 8


def show_match(asked: Asked) -> Page:
    """What a message brings up."""
    message = asked.text("message")
    if not message.strip():
        return Page("match.html", {"message": "", "detection": None, "results": []})
    detection = asked.library.detect(message).to_json()
    results = asked.library.find(message, _RESULTS).to_json()["results"]
    return Page("match.html", {"message": message, "detection": detection, "results": results})


def teach(asked: Asked) -> Moved:
    """Note that a message is for a skill, or is not."""
    name, message = asked.text("name"), asked.text("message")
    fits = asked.is_set("fits")
    asked.library.learning.feedback(name, message, fits=fits)
    told = f"Noted: this message is {'for' if fits else 'not for'} {name}."
    return Moved(f"/match?{urlencode({'message': message})}", told)


ROUTES = (Route("GET", "/match", show_match), Route("POST", "/match/teach", teach))

"""What the model sees: the list of skills in its prompt, with its budget and cuts, here and in each client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.web.charts import draw_meter
from whet.web.pages import Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked

_BUDGET = 8_000


def show_prompt(asked: Asked) -> Page:
    """Show the index of skills, and the lists of the clients that are used here."""
    message = asked.text("message") or None
    index = asked.library.index(asked.number("budget", _BUDGET), message=message)
    answer = {**index.to_json(), "clients": [client.to_json() for client in asked.library.clients()]}
    report = answer["report"]
    limit = report["budget"]["limit"]
    meter = draw_meter(report["characters"], limit, f"{report['characters']} of {limit} characters")
    return Page("prompt.html", answer, {"given": asked.given, "meter": meter, "budget": limit})


ROUTES = (Route("GET", "/prompt", show_prompt),)

"""Reports and appeals from the page of a skill, and the queue in which moderators decide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.hub.moderation import DECISIONS, appeal, decide, list_queue, report
from whet.hub.requests import RequestError
from whet.web.hub.requests import action, page
from whet.web.pages import Moved, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.hub.requests import Asked
    from whet.values import Json

_SHOWN = 50


async def _queue(asked: Asked) -> Page:
    state = asked.query("state") or "open"
    if state not in ("open", "closed"):
        raise RequestError("bad-request", "The state is open or closed.")
    closed = state == "closed"
    found = await asked.read(list_queue, asked.hub, asked.who, closed=closed, limit=_SHOWN, cursor=asked.cursor)
    return Page("hub_moderation.html", {"state": state, **found}, {"decisions": DECISIONS})


async def _decide(asked: Asked) -> Moved:
    form, number = await asked.form(), asked.number("number")
    values = form.get("decision", ""), form.get("reason", "").strip()
    await asked.work(decide, asked.hub, asked.who, number, *values)
    return Moved("/moderation")


async def _report(asked: Asked) -> Page:
    return await _open_case(asked, report, "kind", "text")


async def _appeal(asked: Asked) -> Page:
    return await _open_case(asked, appeal, "text")


async def _open_case(asked: Asked, do: Callable[..., Json], *names: str) -> Page:
    """Send a report or an appeal about a version to the moderators, with these fields of the form."""
    form = await asked.form()
    place = (*asked.skill, asked.check_version(form.get("version", "")))
    made = await asked.work(do, asked.hub, asked.who, place, *(form.get(name, "").strip() for name in names))
    return Page("hub_case.html", {"owner": place[0], "name": place[1], **made})


ROUTES = (
    *page("/moderation", _queue),
    action("/moderation/{number}", _decide),
    action("/skills/{owner}/{name}/report", _report),
    action("/skills/{owner}/{name}/appeal", _appeal),
)

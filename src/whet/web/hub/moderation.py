"""Reports and appeals from the page of a skill, and the queue in which moderators decide them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.hub.moderation import DECISIONS, appeal, decide, list_queue, report
from whet.hub.requests import RequestError
from whet.web.hub.requests import action, page
from whet.web.pages import Moved, Page

if TYPE_CHECKING:
    from whet.hub.requests import Asked

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
    form = await asked.form()
    place = (*asked.skill, asked.check_version(form.get("version", "")))
    values = form.get("kind", ""), form.get("text", "").strip()
    made = await asked.work(report, asked.hub, asked.who, place, *values)
    return Page("hub_case.html", {"owner": place[0], "name": place[1], **made})


async def _appeal(asked: Asked) -> Page:
    form = await asked.form()
    place = (*asked.skill, asked.check_version(form.get("version", "")))
    made = await asked.work(appeal, asked.hub, asked.who, place, form.get("text", "").strip())
    return Page("hub_case.html", {"owner": place[0], "name": place[1], **made})


ROUTES = (
    *page("/moderation", _queue),
    action("/moderation/{number}", _decide),
    action("/skills/{owner}/{name}/report", _report),
    action("/skills/{owner}/{name}/appeal", _appeal),
)

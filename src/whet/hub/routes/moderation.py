"""Reports, appeals, the queue and verdicts over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from whet.hub.moderation import appeal, decide, get_upload, list_queue, report
from whet.hub.requests import VERSION, RequestError, Route, send_json
from whet.hub.rescans import list_verdicts

if TYPE_CHECKING:
    from whet.hub.requests import Asked


async def _report(asked: Asked) -> Response:
    fields = await asked.fields("kind", "text")
    values = fields.get("kind", ""), fields.get("text", "")
    return send_json(await asked.work(report, asked.hub, asked.who, asked.version, *values), 201)


async def _appeal(asked: Asked) -> Response:
    fields = await asked.fields("text")
    return send_json(await asked.work(appeal, asked.hub, asked.who, asked.version, fields.get("text", "")), 201)


async def _cases(asked: Asked) -> Response:
    state = asked.query("state") or "open"
    if state not in ("open", "closed"):
        raise RequestError("bad-request", "The state is open or closed.")
    closed = state == "closed"
    found = await asked.read(list_queue, asked.hub, asked.who, closed=closed, limit=asked.limit, cursor=asked.cursor)
    return send_json(found)


async def _upload(asked: Asked) -> Response:
    data = await asked.work(get_upload, asked.hub, asked.who, asked.number("number"))
    return Response(data, media_type="application/zip")


async def _decide(asked: Asked) -> Response:
    fields = await asked.fields("decision", "reason")
    values = fields.get("decision", ""), fields.get("reason", "")
    return send_json(await asked.work(decide, asked.hub, asked.who, asked.number("number"), *values))


async def _verdicts(asked: Asked) -> Response:
    return send_json(await asked.read(list_verdicts, asked.hub, asked.who, asked.version))


ROUTES = (
    Route("POST", f"{VERSION}/reports", _report, "token"),
    Route("POST", f"{VERSION}/appeal", _appeal, "publish"),
    Route("GET", f"{VERSION}/verdicts", _verdicts),
    Route("GET", "/api/v1/cases", _cases, "moderate"),
    Route("GET", "/api/v1/cases/{number}/archive", _upload, "moderate"),
    Route("PUT", "/api/v1/cases/{number}/decision", _decide, "moderate"),
)

"""Changes of skills and versions over HTTP: yanking, quarantine, status, tags, visibility, security fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.hub.lifecycle import set_fixes, set_status, set_tag, set_visibility
from whet.hub.requests import SKILL, VERSION, Route, send_json, send_text

if TYPE_CHECKING:
    from starlette.responses import Response

    from whet.hub.requests import Asked


async def _yank(asked: Asked) -> Response:
    reason = await asked.reason()
    return send_text(await asked.work(asked.hub.yank, asked.who, *asked.version, reason))


async def _quarantine(asked: Asked) -> Response:
    reason = await asked.reason()
    return send_text(await asked.work(asked.hub.quarantine, asked.who, *asked.version, reason))


async def _security(asked: Asked) -> Response:
    fixes = await asked.reason("fixes")
    return send_text(await asked.work(set_fixes, asked.hub, asked.who, *asked.version, fixes))


async def _status(asked: Asked) -> Response:
    fields = await asked.fields("status", "successor", "reason")
    status = fields.pop("status", "")
    return send_json(await asked.work(set_status, asked.hub, asked.who, *asked.skill, status, **fields))


async def _tag(asked: Asked) -> Response:
    version = await asked.reason("version")
    tag = asked.request.path_params["tag"]
    return send_json(await asked.work(set_tag, asked.hub, asked.who, *asked.skill, tag, version))


async def _visibility(asked: Asked) -> Response:
    visibility = (await asked.fields("visibility")).get("visibility", "")
    return send_json(await asked.work(set_visibility, asked.hub, asked.who, *asked.skill, visibility))


ROUTES = (
    Route("PUT", f"{VERSION}/yank", _yank, "yank"),
    Route("DELETE", f"{VERSION}/yank", _yank, "yank"),
    Route("PUT", f"{VERSION}/quarantine", _quarantine, "moderate"),
    Route("DELETE", f"{VERSION}/quarantine", _quarantine, "moderate"),
    Route("PUT", f"{VERSION}/security", _security, "moderate"),
    Route("DELETE", f"{VERSION}/security", _security, "moderate"),
    Route("PUT", f"{SKILL}/status", _status, "publish"),
    Route("PUT", f"{SKILL}/visibility", _visibility, "publish"),
    Route("PUT", f"{SKILL}/tags/{{tag}}", _tag, "publish"),
    Route("DELETE", f"{SKILL}/tags/{{tag}}", _tag, "publish"),
)

"""Skills and their versions over HTTP: reading and publishing."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from starlette.responses import Response

from whet.hub.diff import diff_versions
from whet.hub.requests import FOREVER, SKILL, VERSION, RequestError, Route, send_json, send_text

if TYPE_CHECKING:
    from whet.hub.requests import Asked


async def _describe(asked: Asked) -> Response:
    return send_json(asked.hub.describe())


async def _skills(asked: Asked) -> Response:
    found = await asked.read(
        asked.hub.skills, asked.who, name=asked.query("name"), limit=asked.limit, cursor=asked.cursor
    )
    return send_json(found)


async def _skill(asked: Asked) -> Response:
    return send_json(await asked.find(asked.hub.skill, *asked.skill))


async def _versions(asked: Asked) -> Response:
    if asked.mirrors.covers(asked.skill[0]):
        await asked.find(asked.hub.skill, *asked.skill)
        await asked.pull(asked.mirrors.pull_versions, *asked.skill)
    found = await asked.read(asked.hub.versions, asked.who, *asked.skill, limit=asked.limit, cursor=asked.cursor)
    return send_json(found)


async def _version(asked: Asked) -> Response:
    return send_text(await asked.find(asked.hub.version, *asked.version))


async def _archive(asked: Asked) -> Response:
    if asked.mirrors.covers(asked.skill[0]):
        await asked.find(asked.hub.version, *asked.version)
    sha256, data = await asked.work(asked.hub.archive, asked.who, *asked.version, caller=asked.downloader)
    headers = {"Cache-Control": FOREVER, "ETag": f'"sha256:{sha256}"'}
    return Response(data, media_type="application/zip", headers=headers)


async def _diff(asked: Asked) -> Response:
    old, new = (asked.check_version(asked.query(end)) for end in ("from", "to"))
    return send_json(await asked.work(diff_versions, asked.hub, asked.who, *asked.skill, old, new))


async def _digest(asked: Asked) -> Response:
    digest = asked.digest(asked.request.path_params["digest"])
    return send_json(await asked.read(asked.hub.find_digest, asked.who, digest))


async def _publish(asked: Asked) -> Response:
    hub, place = asked.hub, asked.version
    digest = asked.digest(asked.request.headers.get("whet-digest", ""))
    try:
        evals = base64.b64decode(asked.request.headers.get("whet-evals", ""), validate=True)
    except ValueError:
        raise RequestError("bad-request", "The header Whet-Evals is not base64.") from None
    data = await asked.body(hub.settings.archive_bytes)
    done = await asked.work(hub.publish, asked.who, *place, data, digest, evals)
    response = send_text(done.document, 201 if done.created else 200)
    response.headers["Location"] = asked.request.url.path
    return response


ROUTES = (
    Route("GET", "/api/v1", _describe),
    Route("GET", "/api/v1/skills", _skills),
    Route("GET", SKILL, _skill),
    Route("GET", f"{SKILL}/versions", _versions),
    Route("GET", f"{SKILL}/diff", _diff),
    Route("GET", VERSION, _version),
    Route("PUT", VERSION, _publish, "publish"),
    Route("POST", VERSION, _publish, "publish"),
    Route("GET", f"{VERSION}/archive", _archive),
    Route("GET", "/api/v1/digests/{digest}", _digest),
)

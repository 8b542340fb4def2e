"""ClawHub's API over HTTP, read-only. It has its own base path, because both APIs use the same addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.hub.clawhub import download, list_skills, list_versions, search, show_skill, show_version
from whet.hub.requests import RequestError, Route, send_json
from whet.hub.routes.discovery import send_zip

if TYPE_CHECKING:
    from starlette.responses import Response

    from whet.hub.requests import Asked

BASE = "/clawhub"
_API = f"{BASE}/api/v1"
_SKILL = f"{_API}/skills/{{slug}}"


async def _describe(asked: Asked) -> Response:
    return send_json({"apiBase": f"{asked.hub.settings.url}{BASE}"})


async def _search(asked: Asked) -> Response:
    query = " ".join(asked.query("q").split())
    if not query:
        raise RequestError("bad-request", "`q` must have 1 to 200 characters.", "Say what the skill is for.")
    return send_json(await asked.work(search, asked.hub, query, asked.limit))


async def _skills(asked: Asked) -> Response:
    return send_json(await asked.read(list_skills, asked.hub, asked.limit, asked.cursor))


async def _skill(asked: Asked) -> Response:
    return send_json(await asked.read(show_skill, asked.hub, *_place(asked)))


async def _versions(asked: Asked) -> Response:
    return send_json(await asked.read(list_versions, asked.hub, *_place(asked), asked.limit, asked.cursor))


async def _version(asked: Asked) -> Response:
    version = asked.check_version(asked.request.path_params["version"])
    return send_json(await asked.read(show_version, asked.hub, *_place(asked), version))


async def _download(asked: Asked) -> Response:
    version = asked.query("version")
    named = asked.check_version(version) if version else "", asked.query("tag")
    place = asked.query("slug"), asked.query("ownerHandle")
    return send_zip(await asked.work(download, asked.hub, *place, *named, caller=asked.downloader))


def _place(asked: Asked) -> tuple[str, str]:
    return asked.request.path_params["slug"], asked.query("ownerHandle")


ROUTES = (
    Route("GET", "/.well-known/clawhub.json", _describe),
    Route("GET", f"{_API}/search", _search),
    Route("GET", f"{_API}/skills", _skills),
    Route("GET", _SKILL, _skill),
    Route("GET", f"{_SKILL}/versions", _versions),
    Route("GET", f"{_SKILL}/versions/{{version}}", _version),
    Route("GET", f"{_API}/download", _download),
)

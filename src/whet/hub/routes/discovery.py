"""Lists for other clients over HTTP: the index of agent skills, a Claude marketplace, and their zips."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from starlette.responses import Response

from whet.hub.discovery import ARTIFACTS, make_artifact
from whet.hub.requests import FOREVER, RequestError, Route, send_text
from whet.hub.tokens import is_owner

if TYPE_CHECKING:
    from whet.hub.requests import Asked

_INDEX = f"/{ARTIFACTS}/index.json"
_MARKETPLACE = "/.claude-plugin/marketplace.json"


async def _index(asked: Asked) -> Response:
    return send_text(await asked.work(asked.hub.discovery.index, _owner(asked)))


async def _marketplace(asked: Asked) -> Response:
    return send_text(await asked.work(asked.hub.discovery.marketplace, _owner(asked)))


def _owner(asked: Asked) -> str:
    """Return the owner in the address; "" for the whole hub. Whether the owner exists is not revealed."""
    owner: str = asked.request.path_params.get("owner", "")
    if owner and not is_owner(owner):
        raise RequestError("not-found", "There is no such owner.", "See docs/hub-api.md.")
    return owner


async def _artifact(asked: Asked) -> Response:
    return send_zip(await asked.work(make_artifact, asked.hub, asked.who, asked.version, caller=asked.downloader))


def send_zip(data: bytes) -> Response:
    """Return a response with an immutable zip."""
    headers = {"Cache-Control": FOREVER, "ETag": f'"sha256:{hashlib.sha256(data).hexdigest()}"'}
    return Response(data, media_type="application/zip", headers=headers)


ROUTES = (
    Route("GET", _INDEX, _index),
    Route("GET", f"/{{owner}}{_INDEX}", _index),
    Route("GET", f"/{ARTIFACTS}/{{owner}}/{{name}}/{{version}}.zip", _artifact),
    Route("GET", _MARKETPLACE, _marketplace),
    Route("GET", f"/{{owner}}{_MARKETPLACE}", _marketplace),
)

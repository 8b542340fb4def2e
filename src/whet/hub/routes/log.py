"""The log over HTTP: changes, proofs, the checkpoint and tiles."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response

from whet.hub.requests import FOREVER, RequestError, Route, send_json
from whet.hub.tokens import sees

if TYPE_CHECKING:
    from whet.hub.log import Change
    from whet.hub.requests import Asked
    from whet.hub.tokens import Identity
    from whet.values import Json


async def _changes(asked: Asked) -> Response:
    after = asked.number("after")
    found = await asked.read(asked.hub.log.changes, after, asked.limit)
    entries = [_shown(change, asked.who) for change in found]
    return send_json({"changes": entries, "next": found[-1].number + 1 if found else after})


def _shown(change: Change, who: Identity) -> Json:
    """Return an entry, with its hidden act for callers who may see the skill."""
    entry = {"index": change.number, **json.loads(change.entry)}
    if change.hidden is None or not sees(who, change.owner, change.name):
        return entry
    return {**entry, **json.loads(change.hidden.act), "opened": change.hidden.to_json()}


async def _proof(asked: Asked) -> Response:
    return PlainTextResponse(await asked.read(asked.hub.log.prove, asked.number("number")))


async def _consistency(asked: Asked) -> Response:
    size = asked.number("size") if asked.query("size") else None
    checkpoint, path = await asked.read(asked.hub.log.prove_consistency, asked.number("number"), size)
    return send_json({"checkpoint": checkpoint, "path": [value.hex() for value in path]})


async def _checkpoint(asked: Asked) -> Response:
    return PlainTextResponse(await asked.read(asked.hub.log.checkpoint))


async def _tile(asked: Asked) -> Response:
    kind, number, width = _read_path(asked.request.path_params["rest"])
    if kind == "entries":
        data = await asked.read(asked.hub.log.bundle, number, width)
    else:
        data = await asked.read(asked.hub.log.tile, int(kind), number, width)
    return Response(data, media_type="application/octet-stream", headers={"Cache-Control": FOREVER})


def _read_path(text: str) -> tuple[str, int, int]:
    """Return the level (or `entries`), number and width of a tile: `0/x001/234.p/17`."""
    match = re.fullmatch(r"([0-5]|entries)/((?:x\d{3}/)*\d{3})(?:\.p/([1-9]\d{0,2}))?", text)
    width = int(match[3] or 256) if match else 0
    if match is None or not (1 <= width < 256 or match[3] is None) or len(match[2]) > 23:
        raise RequestError("bad-request", "This is not the address of a tile.")
    return match[1], int(match[2].replace("/", "").replace("x", "")), width


ROUTES = (
    Route("GET", "/api/v1/changes", _changes),
    Route("GET", "/api/v1/log/proof/{number}", _proof, browser=True),
    Route("GET", "/api/v1/log/consistency/{number}", _consistency, browser=True),
    Route("GET", "/log/checkpoint", _checkpoint, browser=True),
    Route("GET", "/log/tile/{rest:path}", _tile),
)

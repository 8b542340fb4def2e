"""Finding skills over HTTP: search, similar skills, collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from whet.hub.collections import list_collections, put_skill, remove_collection, set_collection, show_collection
from whet.hub.requests import SKILL, Route, send_json
from whet.hub.search import Facets
from whet.hub.similar import find_similar

if TYPE_CHECKING:
    from whet.hub.requests import Asked

_COLLECTION = "/api/v1/collections/{owner}/{collection}"
_MEMBER = f"{_COLLECTION}/skills/{{skill_owner}}/{{skill_name}}"


async def _search(asked: Asked) -> Response:
    facets = Facets(*(asked.query(name) for name in Facets._fields))
    page = asked.hub.index.page
    return send_json(await asked.work(page, asked.who, asked.query("q", 201), facets, asked.limit, asked.cursor))


async def _similar(asked: Asked) -> Response:
    return send_json(await asked.work(find_similar, asked.hub, asked.who, *asked.skill))


def _place(asked: Asked) -> tuple[str, str]:
    return asked.request.path_params["owner"], asked.request.path_params["collection"]


async def _collections(asked: Asked) -> Response:
    owner, page = asked.query("owner"), (asked.limit, asked.cursor)
    return send_json(await asked.read(list_collections, asked.hub, asked.who, owner, *page))


async def _collection(asked: Asked) -> Response:
    return send_json(await asked.read(show_collection, asked.hub, asked.who, *_place(asked)))


async def _set_collection(asked: Asked) -> Response:
    fields = await asked.fields("title", "description", "visibility")
    title = fields.pop("title", "")
    return send_json(await asked.work(set_collection, asked.hub, asked.who, *_place(asked), title=title, **fields))


async def _remove_collection(asked: Asked) -> Response:
    await asked.work(remove_collection, asked.hub, asked.who, *_place(asked))
    return Response(status_code=204)


async def _member(asked: Asked) -> Response:
    note = await asked.reason("note")
    skill = asked.request.path_params["skill_owner"], asked.request.path_params["skill_name"]
    return send_json(await asked.work(put_skill, asked.hub, asked.who, *_place(asked), skill, note))


ROUTES = (
    Route("GET", "/api/v1/search", _search),
    Route("GET", f"{SKILL}/similar", _similar),
    Route("GET", "/api/v1/collections", _collections),
    Route("GET", _COLLECTION, _collection),
    Route("PUT", _COLLECTION, _set_collection, "publish"),
    Route("DELETE", _COLLECTION, _remove_collection, "publish"),
    Route("PUT", _MEMBER, _member, "publish"),
    Route("DELETE", _MEMBER, _member, "publish"),
)

"""The pages of a hub: search, a skill with its verdict and its proof, what changed, an owner, a collection, the log.

They are routes of the hub like those of its API, so that tokens, private skills and limits hold for them, too. Each
page has a JSON form under the same address with `.json`.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import Response

from whet.errors import WhetError
from whet.hub.collections import list_collections, show_collection
from whet.hub.diff import diff_versions
from whet.hub.requests import STATUS, RequestError, Route
from whet.hub.search import Facets
from whet.hub.similar import find_similar
from whet.skill.archive import unpack
from whet.skill.frontmatter import read_document
from whet.web.markdown import render_markdown
from whet.web.pages import Page, failure, send
from whet.web.security import HEADERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from whet.hub.requests import Asked

_SKILL = "/skills/{owner}/{name}"
_MENU = (("/skills", "Skills"), ("/collections", "Collections"), ("/log", "Log"), ("/about", "About"))
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_SHOWN = 50


def _page(answer: Callable[[Asked], Awaitable[Page]], *, as_json: bool) -> Callable[[Asked], Awaitable[Response]]:
    """A route that answers with a page, also where something is wrong."""

    async def respond(asked: Asked) -> Response:
        try:
            page = await answer(asked)
        except RequestError as error:
            fields = {"error": error.message, "code": error.code, "hint": error.hint}
            page = Page("failure.html", fields, status=STATUS.get(error.code, 500))
        except WhetError as error:
            if error.http_status >= 500:
                raise
            page = failure(error)
        title = asked.hub.settings.title or "Hub"
        response = send(
            asked.request,
            page,
            as_json=as_json,
            menu=_MENU,
            notices=(),
            local=False,
            name_of_site=title,
            read_only=True,
        )
        response.headers.update(HEADERS)
        return response

    return respond


async def _search(asked: Asked) -> Page:
    facets = Facets(*(asked.query(name) for name in Facets._fields))
    text = asked.query("q", 201)
    index, page = asked.hub.index, (facets, _SHOWN, asked.cursor)
    if text.strip():
        found = await asked.work(index.page, asked.who, text, *page)
    else:
        found = await asked.work(index.browse, asked.who, *page)
    return Page("hub_skills.html", found, {"q": text, "chosen": facets._asdict()})


async def _skill(asked: Asked) -> Page:
    owner, name = asked.skill
    skill = await asked.find(asked.hub.skill, owner, name)
    wanted = asked.query("version") or skill["latest"]
    versions = (await asked.read(asked.hub.versions, asked.who, owner, name, limit=_SHOWN))["versions"]
    if not wanted:
        raise RequestError("not-found", f"{owner}/{name} has no version that can be installed.")
    version = json.loads(await asked.find(asked.hub.version, owner, name, asked.check_version(wanted)))
    similar = (await asked.work(find_similar, asked.hub, asked.who, owner, name))["skills"]
    answer = {"skill": skill, "version": version, "versions": versions, "similar": similar}
    return Page("hub_skill.html", answer, {"html": await _text(asked, version), "site": asked.hub.settings.url})


async def _text(asked: Asked, version: Mapping[str, Any]) -> Markup:
    """The instructions of a version; nothing for one that is quarantined."""
    if version["quarantined"]:
        return Markup("")

    def read() -> str:
        place = version["owner"], version["name"], version["version"]
        tree = unpack(asked.hub.archive(asked.who, *place)[1]).tree
        item = tree.get("SKILL.md")
        return render_markdown(read_document(item.data.decode("utf-8", "replace")).body) if item else ""

    return Markup(await asked.work(read))  # noqa: S704  cleaned by nh3


async def _diff(asked: Asked) -> Page:
    old, new = (asked.check_version(asked.query(end)) for end in ("from", "to"))
    return Page("hub_diff.html", await asked.work(diff_versions, asked.hub, asked.who, *asked.skill, old, new))


async def _owner(asked: Asked) -> Page:
    owner = asked.request.path_params["owner"]
    found = await asked.work(asked.hub.index.browse, asked.who, Facets(owner=owner), _SHOWN, asked.cursor)
    return Page("hub_owner.html", {"owner": owner, **found})


async def _collections(asked: Asked) -> Page:
    found = await asked.read(list_collections, asked.hub, asked.who, asked.query("owner"), _SHOWN, asked.cursor)
    return Page("hub_collections.html", found)


async def _collection(asked: Asked) -> Page:
    place = asked.request.path_params["owner"], asked.request.path_params["collection"]
    return Page("hub_collection.html", await asked.read(show_collection, asked.hub, asked.who, *place))


async def _log(asked: Asked) -> Page:
    size = await asked.read(asked.hub.log.size)
    first = asked.number("after") if asked.query("after") else max(0, size - _SHOWN)
    found = await asked.read(asked.hub.log.changes, first, _SHOWN)
    entries = [{"index": change.number, **json.loads(change.entry)} for change in reversed(found)]
    checkpoint = await asked.read(asked.hub.log.checkpoint)
    return Page("hub_log.html", {"entries": entries, "checkpoint": checkpoint, "first": first, "size": size})


async def _about(asked: Asked) -> Page:
    return Page("hub_about.html", {"about": asked.hub.describe()})


async def _static(asked: Asked) -> Response:
    name = asked.request.path_params["file"]
    kind = _TYPES.get(name.rpartition(".")[2])
    place = files("whet.web").joinpath("static", name)
    if kind is None or "/" in name or "\\" in name or not place.is_file():
        raise RequestError("not-found", f"There is nothing at {asked.request.url.path}.")
    return Response(place.read_bytes(), media_type=kind, headers={**HEADERS, "Cache-Control": "public, max-age=3600"})


_PAGES = {
    "/skills": _search,
    f"{_SKILL}/diff": _diff,
    _SKILL: _skill,
    "/owners/{owner}": _owner,
    "/collections": _collections,
    "/collections/{owner}/{collection}": _collection,
    "/log": _log,
    "/about": _about,
}
ROUTES = (
    Route("GET", "/static/{file}", _static),
    Route("GET", "/", _page(_search, as_json=False)),
    Route("GET", "/index.json", _page(_search, as_json=True)),
    *(Route("GET", f"{path}.json", _page(answer, as_json=True)) for path, answer in _PAGES.items()),
    *(Route("GET", path, _page(answer, as_json=False)) for path, answer in _PAGES.items()),
)

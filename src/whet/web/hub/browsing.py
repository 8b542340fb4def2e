"""Public pages: search, a skill with its verdict and its proof, changes, owners, collections and the log.

The pages are routes of the hub like those of its API, so that tokens, private skills and limits apply to them, too.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import Response

from whet.errors import InvalidError
from whet.guard.ruleset import ruleset
from whet.hub.collections import list_collections, show_collection
from whet.hub.diff import diff_versions
from whet.hub.members import find_owner
from whet.hub.moderation import KINDS
from whet.hub.requests import RequestError, Route
from whet.hub.search import Facets
from whet.hub.similar import find_similar
from whet.web.hub.requests import page
from whet.web.markdown import render_markdown
from whet.web.pages import Page
from whet.web.security import HEADERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.hub.requests import Asked

_SKILL = "/skills/{owner}/{name}"
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_SHOWN = 50
_LONGEST_NAME = 100


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
    versions = (await asked.read(asked.hub.versions, asked.who, owner, name, limit=_SHOWN))["versions"]
    wanted = asked.query("version") or skill["latest"] or (versions[0]["version"] if versions else "")
    if not wanted:
        raise RequestError("not-found", f"{owner}/{name} has no version.")
    version = json.loads(await asked.find(asked.hub.version, owner, name, asked.check_version(wanted)))
    similar = (await asked.work(find_similar, asked.hub, asked.who, owner, name))["skills"]
    answer = {"skill": skill, "version": version, "versions": versions, "similar": similar}
    extra = {"html": await _text(asked, version), "site": asked.hub.settings.url, "kinds": KINDS}
    return Page("hub_skill.html", answer, {**extra, "may_appeal": asked.who.may("publish", owner, name)})


async def _text(asked: Asked, version: Mapping[str, Any]) -> Markup:
    """Return the instructions of a version; empty if it is quarantined."""
    if version["quarantined"]:
        return Markup("")
    place = version["owner"], version["name"], version["version"]
    try:
        text = await asked.work(asked.hub.text, asked.who, *place)
    except InvalidError as error:
        return Markup("<p>{}</p>").format(error.message)
    return Markup(await asked.work(_render, text))  # noqa: S704  cleaned by nh3


_render = lru_cache(maxsize=32)(render_markdown)


async def _diff(asked: Asked) -> Page:
    old, new = (asked.check_version(asked.query(end)) for end in ("from", "to"))
    return Page("hub_diff.html", await asked.work(diff_versions, asked.hub, asked.who, *asked.skill, old, new))


async def _owner(asked: Asked) -> Page:
    owner = asked.request.path_params["owner"]
    await asked.read(asked.hub.database.read, lambda ask: find_owner(ask, owner))
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
    answer = {"entries": entries, "checkpoint": checkpoint, "first": first, "size": size}
    texts = {change.number: change.entry for change in found}
    return Page("hub_log.html", answer, {"texts": texts, "key": str(asked.hub.log.public_key)})


async def _about(asked: Asked) -> Page:
    facets = (await asked.work(asked.hub.index.browse, asked.who, Facets(), 1, ""))["facets"]
    answer = {"about": asked.hub.describe(), "verdicts": facets["verdict"], "ruleset": ruleset()}
    return Page("hub_about.html", {**answer, "log_entries": await asked.read(asked.hub.log.size)})


async def _static(asked: Asked) -> Response:
    name = asked.request.path_params["file"]
    kind = _TYPES.get(name.rpartition(".")[2])
    place = files("whet.web").joinpath("static", name[:_LONGEST_NAME])
    if kind is None or len(name) > _LONGEST_NAME or "/" in name or "\\" in name or not place.is_file():
        raise RequestError("not-found", f"There is nothing at {asked.request.url.path}.")
    return Response(place.read_bytes(), media_type=kind, headers={**HEADERS, "Cache-Control": "public, max-age=3600"})


ROUTES = (
    Route("GET", "/static/{file}", _static, page=True),
    *page("/", _search),
    *page("/skills", _search),
    *page(f"{_SKILL}/diff", _diff),
    *page(_SKILL, _skill),
    *page("/owners/{owner}", _owner),
    *page("/collections", _collections),
    *page("/collections/{owner}/{collection}", _collection),
    *page("/log", _log),
    *page("/about", _about),
)

"""Pages: an answer of the library as HTML for users and as JSON for programs.

Every page has both: `/skills` is HTML, `/skills.json` is the same answer as JSON. A template gets the JSON form of the
answer, so that the two cannot differ; values that only HTML needs, such as rendered Markdown, are in `extra`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, JSONResponse

from whet.notes import name_action
from whet.store.home import shorten_home
from whet.web.markdown import mark_invisible, show_invisible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2.runtime import Context
    from starlette.requests import Request
    from starlette.responses import Response

    from whet.errors import WhetError


_LIVE = Markup('id="live" hx-get="{}" hx-trigger="library-changed from:body" hx-select="#live" hx-swap="outerHTML"')
"""Attributes of an element that refreshes itself. A macro would work, but leave the page to the garbage collector."""
_CODE = re.compile(r"`([^`\n]+)`")


class Page(NamedTuple):
    """The content of a page."""

    template: str
    answer: Mapping[str, Any]
    """The page as JSON."""
    extra: Mapping[str, Any] = {}
    status: int = 200


class Moved(NamedTuple):
    """The address for the browser after a change, with a message."""

    address: str
    message: str = ""
    undo: str = ""
    """The change that can be undone."""


def failure(error: WhetError) -> Page:
    """Return the page about an error."""
    return Page("failure.html", error.to_json(), status=error.http_status)


def send(request: Request, page: Page, *, as_json: bool, **shared: Any) -> Response:
    """Return a page as JSON, or as HTML with the shared values of a site."""
    if as_json:
        return JSONResponse({"success": page.status < 400, **page.answer}, page.status)
    path, query = request.url.path, f"?{request.url.query}" if request.url.query else ""
    shared |= {
        "here": path,
        "address": path + query,
        "json_address": f"{'/index' if path == '/' else path}.json{query}",
        "live": _LIVE.format(path + query),
    }
    text = templates().get_template(page.template).render({**page.answer, **shared, **page.extra})
    return HTMLResponse(text, page.status)


@cache
def templates() -> Environment:
    """Return the templates, with automatic escaping."""
    environment = Environment(
        loader=PackageLoader("whet.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "diff": mark_diff,
        "path": lambda text: quote(text, safe=""),
        "size": size,
        "time": show_time,
        "place": show_place,
        "sentence": show_sentence,
        "action": name_action,
    }
    environment.globals |= {"query": lambda **given: urlencode({k: v for k, v in given.items() if v not in ("", None)})}
    return environment


def visible(text: str) -> Markup:
    """Return a text of a skill with invisible characters shown."""
    return Markup(mark_invisible(str(escape(show_invisible(text)))))  # noqa: S704  escaped


def show_time(time: str | None) -> Markup:
    """Return a time in readable form; None is never."""
    if not time:
        return Markup("never")
    return Markup('<time datetime="{}">{}</time>').format(time, time.replace("T", " ").removesuffix("Z")[:16])


@pass_context
def show_place(context: Context, path: str) -> Markup:
    """Return a path; below the user's home, it begins with `~`."""
    return visible(shorten_home(path, context.get("home", "")))


@pass_context
def show_sentence(context: Context, text: str) -> Markup:
    """Return a message of Whet: text in backticks is code, and paths are short."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(show_place(context, text))))  # noqa: S704  escaped


def mark_diff(text: str) -> Markup:
    """Return a unified diff with added and removed lines marked."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = []
    for line in text.splitlines():
        kind = "file" if line.startswith(("+++ ", "--- ")) else kinds.get(line[:1], "")
        lines.append(Markup('<span class="{}">{}</span>\n').format(kind, visible(line)))
    return Markup("").join(lines)


def size(count: int) -> str:
    """Return a number of bytes in readable form."""
    for unit in ("B", "KB", "MB"):
        if count < 1_000 or unit == "MB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count = count / 1_000  # type: ignore[assignment]  # a fraction from here on
    raise AssertionError

"""The application behind `whet ui`: it finds the page, calls the library in a thread, and notifies open pages."""

from __future__ import annotations

import json
import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import anyio
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, StreamingResponse
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as Address
from starlette.staticfiles import StaticFiles

from whet.errors import UsageError, WhetError
from whet.library.package import list_package
from whet.web.pages import Moved, Page, failure, send
from whet.web.ui import (
    doctor,
    editing,
    evals,
    history,
    installing,
    matching,
    prompt,
    proposals,
    runs,
    sessions,
    settings,
    skills,
    usage,
)
from whet.web.ui.requests import Asked, Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from whet.api import Library
    from whet.notes import Note, Progress

_LOG = logging.getLogger(__name__)
ROUTES: tuple[Route, ...] = (
    *skills.ROUTES,
    *prompt.ROUTES,
    *matching.ROUTES,
    *history.ROUTES,
    *proposals.ROUTES,
    *doctor.ROUTES,
    *editing.ROUTES,
    *installing.ROUTES,
    *usage.ROUTES,
    *runs.ROUTES,
    *sessions.ROUTES,
    *evals.ROUTES,
    *settings.ROUTES,
)
MENU = (
    ("/skills", "Skills"),
    ("/prompt", "What the model sees"),
    ("/match", "Try a message"),
    ("/install", "Install"),
    ("/updates", "Updates"),
    ("/usage", "Usage"),
    ("/sessions", "Sessions"),
    ("/evals", "Evals"),
    ("/runs", "Runs"),
    ("/history", "History"),
    ("/proposals", "Proposals"),
    ("/doctor", "Doctor"),
    ("/settings", "Settings"),
)
"""Pages in the menu, with their titles."""
_LONGEST = 2_000_000
"""Largest form in bytes; a skill's text is far shorter."""
_LOOK = 2.0
"""Seconds between two checks of the disk while a page is open."""
_MOST_WAITING = 100


def create_app(
    library: Library, *, read_only: bool = False, examine: Callable[[], Iterable[Note]] = tuple
) -> Starlette:
    """Create the pages over a library. `whet.web.security` decides who may request them.

    `examine` returns notes about this machine and its clients for the doctor's page.
    """
    ui = _UI(library, read_only=read_only, examine=examine)
    by_path: dict[str, dict[str, Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, {})[route.method] = route
    addresses: list[BaseRoute] = [
        Address("/", lambda _: RedirectResponse("/skills", 303)),
        Address("/events", ui.send_events),
        Mount("/static", StaticFiles(packages=[("whet.web", "static")])),
    ]
    for path, methods in by_path.items():
        if "GET" in methods:
            addresses.append(Address(f"{path}.json", ui.endpoint(methods, as_json=True), methods=[*methods]))
        addresses.append(Address(path, ui.endpoint(methods, as_json=False), methods=[*methods]))
    return Starlette(routes=addresses, exception_handlers={404: ui.answer_missing, 405: ui.answer_missing})


class _UI:
    def __init__(self, library: Library, *, read_only: bool, examine: Callable[[], Iterable[Note]]) -> None:
        self.library, self.read_only, self.examine = library, read_only, examine
        self.notices: deque[Moved] = deque(maxlen=5)
        """Messages for the next page: there is one user."""
        self.listeners: list[deque[tuple[str, Any]]] = []
        library.progress = self._tell_progress
        library.workspace.watch()

    def endpoint(self, methods: Mapping[str, Route], *, as_json: bool) -> Callable[..., Any]:
        """Return the function that answers the methods of one address."""

        async def answer(request: Request) -> Response:
            route = methods["GET" if request.method == "HEAD" else request.method]
            try:
                given = await _read_form(request) if route.method == "POST" else dict(request.query_params)
                asked = Asked(self.library, dict(request.path_params), given, self.examine)
                result = await run_in_threadpool(route.answer, asked)
                return self._send(request, result, as_json=as_json)
            except WhetError as error:
                result = failure(error)
            except Exception:  # noqa: BLE001  whatever it is, the next page is answered
                _LOG.exception("A page failed.")
                answer = {
                    "error": "This page failed.",
                    "code": "failed",
                    "hint": "The terminal with `whet ui` says why.",
                }
                result = Page("failure.html", answer, status=500)
            return self._send(request, result, as_json=as_json)

        return answer

    def _send(self, request: Request, result: Page | Moved, *, as_json: bool) -> Response:
        if isinstance(result, Moved):
            if as_json:
                return JSONResponse({"success": True, **result._asdict()})
            self.notices.append(result)
            return RedirectResponse(result.address, 303)
        shared: dict[str, Any] = {"notices": ()}
        if not as_json and "hx-request" not in request.headers:  # otherwise only a part of the page is refreshed
            shared["notices"] = [*self.notices]
            self.notices.clear()
        return send(
            request,
            result,
            as_json=as_json,
            menu=MENU,
            local=True,
            name_of_site="Whet",
            home=self.library.workspace.place.home,
            read_only=self.read_only,
            **shared,
        )

    async def answer_missing(self, request: Request, error: Any) -> Response:
        """Answer that a page does not exist, or does not support a method."""
        answer = {
            "error": f"There is no page {request.url.path}."
            if error.status_code == 404
            else "This page cannot do that.",
            "code": "page-not-found",
            "hint": "Use the menu.",
        }
        page = Page("failure.html", answer, status=error.status_code)
        return self._send(request, page, as_json=request.url.path.endswith(".json"))

    # events for open pages

    def _tell_progress(self, progress: Progress) -> None:
        self._tell("progress", progress._asdict())

    def _tell(self, event: str, data: Any) -> None:
        for waiting in [*self.listeners]:
            waiting.append((event, data))

    async def send_events(self, request: Request) -> Response:
        """Send changes on disk and progress as server-sent events; with `skill`, also changes of its files."""
        events = self._events(request.query_params.get("skill", ""))
        return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def _events(self, skill: str) -> AsyncIterator[str]:
        waiting: deque[tuple[str, Any]] = deque(maxlen=_MOST_WAITING)
        self.listeners.append(waiting)
        try:
            before = await run_in_threadpool(self._state, skill)
            yield "retry: 2000\n\n"
            while True:
                for _ in range(int(_LOOK / 0.2)):
                    while waiting:
                        event, data = waiting.popleft()
                        yield f"event: {event}\ndata: {json.dumps(data)}\n\n"
                    await anyio.sleep(0.2)
                now = await run_in_threadpool(self._state, skill)
                if now[0] is not before[0] or now[1:] != before[1:]:
                    before = now
                    yield "event: change\ndata: {}\n\n"
                else:
                    yield ": still here\n\n"
        finally:
            self.listeners[:] = [other for other in self.listeners if other is not waiting]

    def _state(self, skill: str) -> tuple[object, ...]:
        """Return a value that changes with the skills and Whet's records; for one skill, with any of its files."""
        library = self.library
        with suppress(WhetError):
            card = library.card(skill) if skill else None
            files = list_package(card.directory).files if card and card.kind == "skill" else ()
            return (
                library.catalogue,
                library.workspace.state.stamp(),
                library.learning.usage.log.stamp(),
                library.runs.stamp(),
                files,
            )
        return (None,)


async def _read_form(request: Request) -> dict[str, str]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise UsageError("bad-form", "A form must be sent as application/x-www-form-urlencoded.", hint="Use the page.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST:
            raise UsageError("bad-form", f"The form is larger than {_LONGEST:,} bytes.", hint="Shorten the text.")
    try:
        fields: Sequence[tuple[str, str]] = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100
        )
    except ValueError:
        raise UsageError("bad-form", "The form is not valid UTF-8.", hint="Use the page.") from None
    return dict(fields)

"""Health checks and metrics for the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response

from whet.hub.requests import Route

if TYPE_CHECKING:
    from whet.hub.requests import Asked


async def _health(_asked: Asked) -> Response:
    return PlainTextResponse("ok\n")


async def _ready(asked: Asked) -> Response:
    await asked.work(asked.hub.log.checkpoint)
    return PlainTextResponse("ready\n")


async def _metrics(asked: Asked) -> Response:
    text = await asked.work(asked.hub.metrics.render, asked.hub)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


ROUTES = (
    Route("GET", "/healthz", _health),
    Route("GET", "/readyz", _ready),
    Route("GET", "/metrics", _metrics, "read"),
)

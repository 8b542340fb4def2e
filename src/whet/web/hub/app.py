"""The routes of a hub's pages. `whet.hub.app.create_app` serves them beside the API."""

from __future__ import annotations

from whet.web.hub import accounts, browsing, moderation

ROUTES = (*browsing.ROUTES, *accounts.ROUTES, *moderation.ROUTES)

"""The settings and the policy in force, each with its purpose and origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.web.pages import Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.web.ui.requests import Asked


def show_settings(asked: Asked) -> Page:
    """Show every setting, the policy, the directories and the trusted repositories."""
    library = asked.library
    answer = {
        **library.settings.values().to_json(),
        "policy": library.guard.policy.to_json()["policy"],
        "machine": library.guard.explain_machine().to_json(),
        "roots": library.settings.roots().to_json()["roots"],
        "trusted": library.settings.trusted().to_json()["trusted"],
    }
    return Page("settings.html", answer)


ROUTES = (Route("GET", "/settings", show_settings),)

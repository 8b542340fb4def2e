"""A person at the pages of a hub, in a real Chromium."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from hub.local import ANYONE, hub_running

from web.test_browser import CONTRAST, LOOKS, WIDE, opened, pytestmark, shoot
from web.test_hub_pages import publish
from whet.hub.accounts import invite
from whet.hub.moderation import report
from whet.hub.registry import HubSettings
from whet.hub.tokens import OPERATOR
from whet.web.hub.app import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hub.local import LocalHub

__all__ = ["pytestmark"]
PAGES = {
    "skills": "/skills",
    "version": "/skills/acme/review",
    "diff": "/skills/acme/review/diff?from=1.0.0&to=1.1.0",
    "owner": "/owners/acme",
    "collections": "/collections",
    "log": "/log",
    "about": "/about",
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalHub]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = HubSettings(url=f"http://127.0.0.1:{port}")
    with hub_running(tmp_path, settings, port=port, pages=ROUTES) as running:
        for number in range(7):
            publish(running, "review", f"1.{number}.0", "Reviews changes. Use before a commit.", f"Read {number}.\n")
        yield running


@pytest.mark.parametrize("look", LOOKS)
def test_a_moderator_signs_in_and_decides(hub: LocalHub, look: str) -> None:
    token = hub.hub.create_token("sam", ("moderate",), "test", 7)
    report(hub.hub, ANYONE, ("acme", "review", "1.2.0"), "malware", "It sends keys away.")
    with opened(f"{hub.url}/", look) as page:
        page.goto(f"{hub.url}/skills")
        page.click("text=Sign in")
        shoot(page, f"hub-sign-in-{look}")
        page.fill("input[name=token]", token)
        page.click("button:has-text('Sign in')")
        page.click("nav >> text=Moderation")
        shoot(page, f"hub-moderation-{look}")
        assert page.evaluate(CONTRAST) == []
        page.fill("input[name=reason]", "It sends keys away.")
        page.click("button:has-text('Decide')")
        assert page.inner_text("main").endswith("There are none.")
        page.goto(f"{hub.url}/skills/acme/review?version=1.2.0")
        shoot(page, f"hub-skill-{look}")
        assert "This version is quarantined: It sends keys away." in page.inner_text("main")
        for name, path in PAGES.items():
            page.goto(f"{hub.url}{path}")
            shoot(page, f"hub-{name}-{look}")
            assert page.evaluate(CONTRAST) == [], path
            assert page.evaluate(WIDE) is False, path


def test_the_link_of_an_invitation_fills_in_the_form(hub: LocalHub) -> None:
    link = invite(hub.hub, OPERATOR, "acme", "publisher").link
    with opened(f"{hub.url}/") as page:
        page.goto(link)
        assert page.input_value("#invitation") == link.partition("#")[2]
        assert page.url == f"{hub.url}/invitation"
        page.fill("input[name=account]", "zoe")
        page.click("text=Accept")
        assert page.inner_text("h1") == "zoe"


def test_the_log_is_verified_in_the_page_and_a_changed_one_is_not(hub: LocalHub) -> None:
    with opened(f"{hub.url}/") as page:
        page.goto(f"{hub.url}/log")
        count = page.locator("tr[data-index]").count()
        page.click("#verify button")
        page.wait_for_selector("text=Verified:")
        assert (
            page.inner_text("#verify [role=status]") == f"Verified: {count} entries are in the log that the hub signed."
        )
        publish(hub, "review", "2.0.0", "Reviews changes. Use before a commit.", "Read on.\n")
        page.reload()
        page.click("#verify button")
        page.wait_for_selector(f"text=continues the one of {count} that this browser saw before")
        shoot(page, "hub-log")
        page.evaluate("document.querySelector('tr[data-index=\"3\"]').dataset.entry += ' '")
        page.click("#verify button")
        page.wait_for_selector("text=Not verified: its path does not lead to the signed root.")
        page.reload()
        page.evaluate(
            """() => { for (const name of Object.keys(localStorage)) {
                const seen = JSON.parse(localStorage.getItem(name));
                localStorage.setItem(name, JSON.stringify({ ...seen, root: "00".repeat(32) }));
            } }"""
        )
        page.click("#verify button")
        page.wait_for_selector("text=Not verified: two roots were signed for")

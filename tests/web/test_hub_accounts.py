"""Signing in to a hub's pages, moderating there, and what other sites cannot do in somebody's name."""

from __future__ import annotations

import http.client
import json
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hub.issuer import CLIENT, issuing
from hub.local import ANYONE, hub_running

from web.test_hub_pages import publish
from whet.hub.accounts import invite
from whet.hub.cases import open_case
from whet.hub.lifecycle import set_visibility
from whet.hub.moderation import list_queue
from whet.hub.registry import HubSettings
from whet.hub.requests import cookie_name
from whet.hub.settings import Login
from whet.hub.tokens import OPERATOR
from whet.web.hub.accounts import LABEL
from whet.web.hub.app import ROUTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hub.local import LocalHub

URL = "http://hub.test"
COOKIE = cookie_name(URL)
OWN = {"Origin": URL, "Sec-Fetch-Site": "same-origin"}


class Browser:
    """Sends forms and keeps cookies, as a browser does for the hub's own address."""

    def __init__(self, hub: LocalHub) -> None:
        self.hub = hub
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, form: dict[str, str] | None = None, **headers: str) -> tuple[int, Any, str]:
        told = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **headers}
        body = urlencode(form) if form is not None else ""
        connection = http.client.HTTPConnection(self.hub.url.removeprefix("http://"), timeout=60)
        try:
            connection.request(method, path, body, {name: value for name, value in told.items() if value})
            response = connection.getresponse()
            for line in response.headers.get_all("set-cookie") or ():
                for name, morsel in SimpleCookie(line).items():
                    self.cookies[name] = morsel.value
                    if not morsel.value:
                        del self.cookies[name]
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, Any, str]:
        return self.send("GET", path)

    def post(self, path: str, headers: dict[str, str] = OWN, **form: str) -> tuple[int, Any, str]:
        return self.send("POST", path, form, **headers)

    def enter(self, *scopes: str, account: str = "mia") -> str:
        token: str = self.hub.hub.create_token(account, scopes or ("read",), "test", 7)
        assert self.post("/sign-in", token=token)[0] == 303
        return token


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalHub]:
    with hub_running(tmp_path, HubSettings(url=URL), pages=ROUTES) as running:
        publish(running, "review", "1.0.0", "Reviews changes. Use before a commit.", "Read it.\n")
        yield running


@pytest.fixture
def browser(hub: LocalHub) -> Browser:
    return Browser(hub)


def test_a_token_signs_in_and_signing_out_forgets_it(browser: Browser) -> None:
    assert 'href="/sign-in">Sign in</a>' in browser.get("/")[2]
    token = browser.enter("moderate")
    assert browser.cookies == {COOKIE: token}
    page = browser.get("/sign-in")[2]
    assert "<h1>mia</h1>" in page
    assert "<code>moderate</code>" in page
    status, headers, text = browser.get("/")
    assert (status, headers["cache-control"]) == (200, "private, no-store")
    assert 'href="/sign-in">mia</a>' in text
    assert browser.post("/sign-out")[0] == 303
    assert browser.cookies == {}
    assert browser.hub.hub.identify(token).account == "mia"


def test_the_cookie_cannot_be_read_by_scripts_nor_sent_by_other_sites(browser: Browser) -> None:
    token = browser.hub.hub.create_token("mia", ("read",), "test", 7)
    _, headers, _ = browser.post("/sign-in", token=token)
    cookie = SimpleCookie(headers["set-cookie"])[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")


@pytest.mark.parametrize("bad", ["", "whet_no", "' OR 1=1", "x" * 5_000])
def test_what_is_no_token_signs_nobody_in(browser: Browser, bad: str) -> None:
    status, _, text = browser.post("/sign-in", token=bad)
    assert status in (401, 403)
    assert "Not done" in text
    assert browser.cookies == {}


def test_guesses_at_the_page_are_counted_with_those_at_the_api(browser: Browser) -> None:
    good = browser.hub.hub.create_token("mia", ("read",), "test", 7)
    for number in range(31):
        status, headers, text = browser.post("/sign-in", token=f"whet_guess{number}")
        assert status == (403 if number < 30 else 429)
    assert "More than 30 requests in a minute." in text
    assert 1 <= int(headers["retry-after"]) <= 60
    assert browser.send("GET", "/api/v1/skills", Authorization="Bearer whet_guess")[0] == 429
    assert browser.post("/invitation", invitation="guess", account="eve")[0] == 429
    assert browser.post("/sign-in", token=good)[0] == 303


@pytest.mark.parametrize("given", ["https://evil.test/", "//evil.test", "/\\evil.test", "javascript:x", ""])
def test_signing_in_leads_to_pages_of_this_hub_only(browser: Browser, given: str) -> None:
    token = browser.hub.hub.create_token("mia", ("read",), "test", 7)
    assert browser.post("/sign-in", token=token, next=given)[1]["location"] == "/"
    assert browser.post("/sign-in", token=token, next="/log")[1]["location"] == "/log"


def test_a_cookie_that_is_worth_nothing_is_dropped(browser: Browser) -> None:
    browser.cookies = {COOKIE: "whet_old"}
    assert browser.get("/")[0] == 200
    assert browser.cookies == {}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://hub.test.evil.test"},
    ],
)
def test_forms_of_other_sites_do_nothing(browser: Browser, headers: dict[str, str]) -> None:
    browser.enter("admin")
    browser.post("/skills/acme/review/report", version="1.0.0", kind="spam", text="It is an advertisement.")
    for path in ("/moderation/1", "/sign-out", "/invitation", "/sign-in", "/skills/acme/review/report"):
        status, _, text = browser.post(path, headers, decision="quarantine", reason="Because.", token="x")
        assert (status, "does not come from a page of this hub" in text) == (403, True)
    assert [case["id"] for case in list_queue(browser.hub.hub, ANYONE)["cases"]] == [1]


def test_the_api_does_not_look_at_cookies(browser: Browser) -> None:
    browser.enter("admin")
    assert browser.get("/api/v1/account")[0] in (401, 403)
    assert browser.get("/api/v1/cases")[0] in (401, 403)


def test_a_report_becomes_a_case_that_a_moderator_decides(browser: Browser) -> None:
    browser.enter()
    assert browser.get("/moderation")[0] == 403
    assert "Report to the moderators" in browser.get("/skills/acme/review")[2]
    status, _, text = browser.post(
        "/skills/acme/review/report", version="1.0.0", kind="malware", text="It sends <b>keys</b> away."
    )
    assert (status, "This is case 1" in text) == (200, True)
    browser.enter("moderate", account="sam")
    page = browser.get("/moderation")[2]
    assert "It sends &lt;b&gt;keys&lt;/b&gt; away." in page
    assert browser.post("/moderation/1", decision="quarantine", reason="")[0] == 400
    assert browser.post("/moderation/1", decision="quarantine", reason="It sends keys away.")[0] == 303
    assert "This version is quarantined: It sends keys away." in browser.get("/skills/acme/review?version=1.0.0")[2]
    assert "quarantine by sam" in browser.get("/moderation?state=closed")[2]
    assert json.loads(browser.get("/moderation.json")[2])["cases"] == []
    browser.enter("publish:acme", account="ann")
    assert "Appeal" in browser.get("/skills/acme/review?version=1.0.0")[2]
    assert browser.post("/skills/acme/review/appeal", version="1.0.0", text="It was a mistake.")[0] == 200
    browser.enter("moderate", account="sam")
    assert browser.post("/moderation/2", decision="release", reason="A false alarm.")[0] == 303
    assert "Appeal" not in browser.get("/skills/acme/review?version=1.0.0")[2]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/collections?cursor=WyJcdWQ4MDAiLCAieCJd", 400),
        ("/static/" + "a" * 300 + ".css", 404),
        ("/skills/%00/x", 400),
        ("/skills?q=%00", 400),
    ],
)
def test_odd_addresses_are_refused(browser: Browser, path: str, status: int) -> None:
    assert browser.get(path)[0] == status


def test_a_dismissed_case_of_a_private_skill_is_hidden_in_the_log(browser: Browser) -> None:
    hub = browser.hub.hub
    set_visibility(hub, ANYONE, "acme", "payroll", "private")
    hub.database.write(lambda change: open_case(change, ("acme", "payroll", "1.0.0"), "held", "Too slow.", hub.now()))
    browser.enter("admin", account="sam")
    assert browser.post("/moderation/1", decision="dismiss", reason="Nothing to see.")[0] == 303
    assert "payroll" not in Browser(browser.hub).get("/log")[2]


def test_an_invitation_makes_an_account_that_is_signed_in(browser: Browser) -> None:
    link = invite(browser.hub.hub, OPERATOR, "acme", "publisher").link
    assert 'name="account"' in browser.get("/invitation")[2]
    assert browser.post("/invitation", invitation=link, account="Not A Name")[0] == 400
    assert browser.post("/invitation", invitation=link, account="zoe")[0] == 303
    assert "<code>publish:acme</code>" in browser.get("/sign-in")[2]
    token = browser.cookies[COOKIE]
    assert browser.hub.hub.identify(token).detail == LABEL
    assert browser.post("/sign-out")[0] == 303
    browser.cookies = {COOKIE: token}
    assert "Sign in</a>" in browser.get("/")[2]
    assert browser.post("/invitation", invitation=link, account="zac")[0] == 404


def test_a_private_hub_shows_nothing_before_somebody_signs_in(tmp_path: Path) -> None:
    with hub_running(tmp_path, HubSettings(url=URL, private=True), pages=ROUTES) as hub:
        publish(hub, "review", "1.0.0", "Reviews changes. Use before a commit.", "Read it.\n")
        browser = Browser(hub)
        open_pages = ("/sign-in", "/invitation", "/sign-in/provider", "/sign-in/return", "/static/{file}")
        for route in (route for route in ROUTES if route.method == "GET"):
            path = route.path.format(owner="acme", name="review", collection="x", file="app.css")
            status, headers, text = browser.get(path)
            assert "Reviews changes" not in text
            if route.path.removesuffix(".json") in open_pages:
                assert status != 303 or not headers["location"].startswith("/sign-in?next=")
            elif path.endswith(".json"):
                assert (path, status) == (path, 401)
            else:
                assert (status, headers["location"]) == (303, "/sign-in?" + urlencode({"next": path}))
        assert browser.get("/log/checkpoint")[0] == 401
        browser.enter()
        assert "Reviews changes" in browser.get("/skills/acme/review")[2]
        assert [browser.get(path)[0] for path in ("/log/checkpoint", "/api/v1/log/proof/0", "/x")] == [200, 200, 404]


def test_a_provider_signs_in(tmp_path: Path) -> None:
    with issuing() as issuer:
        settings = HubSettings(url=URL, login=Login(issuer.url, CLIENT), private_hosts=("127.0.0.1",))
        with hub_running(tmp_path, settings, pages=ROUTES) as hub:
            _sign_in_at_the_provider(hub)


def _sign_in_at_the_provider(hub: LocalHub) -> None:
    browser = Browser(hub)
    assert 'href="/sign-in/provider"' in browser.get("/sign-in")[2]
    back = _visit_provider(browser)
    stranger = Browser(hub)
    assert stranger.get(back)[0] == 403
    status, headers, _ = browser.get(back)
    assert (status, headers["location"]) == (303, "/")
    assert hub.hub.identify(browser.cookies[COOKIE]).detail == LABEL
    assert browser.get(back)[0] in (403, 404)


def _visit_provider(browser: Browser) -> str:
    """Go from the page to the provider and back; the address of the page to which it leads."""
    path = browser.get("/sign-in/provider")[1]["location"]
    provider = urlsplit(browser.get(path)[1]["location"])
    connection = http.client.HTTPConnection(provider.netloc, timeout=60)
    connection.request("GET", f"{provider.path}?{provider.query}")
    back = urlsplit(connection.getresponse().headers["location"])
    connection.close()
    assert parse_qs(back.query)["code"]
    page = urlsplit(browser.get(f"{back.path}?{back.query}")[1]["location"])
    return f"{page.path}?{page.query}"

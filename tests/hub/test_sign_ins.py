"""Logging in at a provider, over real sockets: the command's side, the browser, the hub and an issuer of our own."""

from __future__ import annotations

import json
import threading
import time
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from hub.issuer import CLIENT, Issuer, issuing
from hub.server import Answer, Served, serving
from whet.errors import RefusedError
from whet.sources.registries.login import log_in_with_browser
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERIFIER = "v" * 43
CHALLENGE = "7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM"
BACK = "http://127.0.0.1:9/callback"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


def config(issuer: Issuer, **more: Any) -> str:
    """What the operator writes down; the hub's own address is filled in by the tests' browser."""
    login = {"issuer": issuer.url, "client_id": CLIENT, **more}
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in login.items())
    return f'private_hosts = ["127.0.0.1"]\nurl = "http://hub.test"\n[login]\n{lines}'


@pytest.fixture
def hub(tmp_path: Path, address: str, issuer: Issuer) -> Iterator[Served]:
    with serving(tmp_path, address, private=True, config=config(issuer)) as served:
        yield served


class Browser:
    """Follows redirects between the hub and the issuer, with cookies; what leads to the command's side is `left`."""

    def __init__(self, hub: Served) -> None:
        self.hub, self.cookie, self.left = hub, "", ""

    def visit(self, url: str, *, steps: int = 9) -> Answer:
        answer = self._get(url)
        while answer.status == 302 and steps > 0:
            url, steps = answer.headers["location"], steps - 1
            if not url.startswith(("http://hub.test", f"http://127.0.0.1:{self.hub.port}/", self._issuer())):
                self.left = url
                return answer
            answer = self._get(url)
        return answer

    def _issuer(self) -> str:
        return f"{self.issuer_url}/"

    issuer_url = "http://issuer.invalid"

    def _get(self, url: str) -> Answer:
        parts = urlsplit(url)
        path = f"{parts.path}?{parts.query}"
        if url.startswith(self._issuer()):
            return Served(int(parts.port or 0), {}).ask("GET", path)
        answer = self.hub.ask("GET", path, Cookie=self.cookie or "none=none")
        if "set-cookie" in answer.headers:
            kept = SimpleCookie(answer.headers["set-cookie"])
            self.cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in kept.items())
        return answer


def browser(hub: Served, issuer: Issuer) -> Browser:
    made = Browser(hub)
    made.issuer_url = issuer.url
    return made


def begin(**changed: str) -> str:
    query = {
        "redirect_uri": BACK,
        "state": "my-own-state",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    return f"http://hub.test/api/v1/login?{urlencode({**query, **changed})}"


def come_back(found: Browser) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(found.left).query).items()}


def redeem(hub: Served, code: str, verifier: str = VERIFIER) -> Answer:
    body = json.dumps({"code": code, "code_verifier": verifier, "label": "laptop"}).encode()
    return hub.ask("POST", "/api/v1/login/token", body=body)


def test_the_command_logs_somebody_in_and_knows_them_again(hub: Served, issuer: Issuer) -> None:
    def show(address: str) -> None:
        def act() -> None:
            found = browser(hub, issuer)
            found.visit(address)
            port, path = urlsplit(found.left).port, found.left.partition("/callback")[2]
            assert Served(int(port or 0), {}).ask("GET", f"/callback{path}").status == 200

        threading.Thread(target=act).start()

    location = f"http://127.0.0.1:{hub.port}"
    with Web(env={}, private_hosts=("127.0.0.1",)) as web:
        first = log_in_with_browser(location, "laptop", web, show)
        assert first.account == "jane-doe"
        account = hub.ask("GET", "/api/v1/account", first.token).json
        assert (account["account"], account["label"], account["scopes"]) == ("jane-doe", "laptop", ["account", "read"])
        issuer.person = {**issuer.person, "preferred_username": "Somebody else now"}
        assert log_in_with_browser(location, "phone", web, show).account == "jane-doe"
        issuer.person = {"sub": "another", "preferred_username": "jane-doe"}  # never given an account that exists
        assert log_in_with_browser(location, "laptop", web, show).account == "jane-doe-2"
        issuer.person = {"sub": "third", "preferred_username": "operator"}
        assert log_in_with_browser(location, "laptop", web, show).account == "person"


def test_a_code_is_worth_something_once_and_only_to_whoever_began(hub: Served, issuer: Issuer) -> None:
    found = browser(hub, issuer)
    found.visit(begin())
    answer = come_back(found)
    assert (found.left.partition("?")[0], answer["state"]) == (BACK, "my-own-state")
    missing = (404, "code-not-found")
    assert redeem(hub, answer["code"], "w" * 43).code == missing  # stolen on the way, without the verifier
    assert redeem(hub, "guess").code == missing
    assert redeem(hub, answer["code"]).status == 201
    assert redeem(hub, answer["code"]).code == missing


def test_an_answer_that_belongs_to_another_login_is_refused(hub: Served, issuer: Issuer) -> None:
    mine, theirs = browser(hub, issuer), browser(hub, issuer)
    first = mine.visit(begin(), steps=1)  # the issuer's answer is not followed
    back = first.headers["location"]
    theirs.visit(begin(), steps=0)
    for stranger in (theirs, browser(hub, issuer)):
        assert stranger.visit(back).code == (403, "login-failed")
    mine.visit(back)
    assert "code" in come_back(mine)
    assert mine.visit(back).code == (403, "login-failed")  # a second time
    assert mine.visit("http://hub.test/api/v1/login/callback?state=x&code=y").code == (403, "login-failed")


def test_a_denied_or_forged_identity_lets_nobody_in(hub: Served, issuer: Issuer) -> None:
    person = issuer.person
    for changed in (
        {"aud": "other"},
        {"nonce": "old"},
        {"exp": int(time.time()) - 100},
        {"iss": "https://x.example"},
        {"sub": ""},
    ):
        issuer.person = {**person, **changed}
        found = browser(hub, issuer)
        found.visit(begin())
        answer = come_back(found)
        assert (changed, answer["error"], answer["state"]) == (changed, "access_denied", "my-own-state")
        assert "code" not in answer
    found = browser(hub, issuer)
    state = parse_qs(urlsplit(found.visit(begin(), steps=0).headers["location"]).query)["state"][0]
    found.visit(f"http://hub.test/api/v1/login/callback?{urlencode({'state': state, 'error': 'access_denied'})}")
    assert come_back(found)["error_description"] == "The provider refused the login."


def test_a_login_must_end_on_this_computer_and_use_pkce(hub: Served, issuer: Issuer) -> None:
    found = browser(hub, issuer)
    for changed in (
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": "http://127.0.0.1.evil.example:80/callback"},
        {"redirect_uri": "http://127.0.0.1:80@evil.example/"},
        {"redirect_uri": "http://localhost:80/callback"},
        {"redirect_uri": "http://127.0.0.1:80/callback?x=1"},
        {"redirect_uri": "javascript:alert(1)"},
        {"state": ""},
        {"state": "a b\r\nSet-Cookie: x"},
        {"code_challenge": ""},
        {"code_challenge_method": "plain"},
    ):
        assert (changed, found.visit(begin(**changed)).code) == (changed, (400, "bad-request"))
    assert issuer.codes == {}


def test_only_people_of_named_domains_get_in(tmp_path: Path, issuer: Issuer) -> None:
    with serving(tmp_path, "sqlite", config=config(issuer, domains=["acme.example"])) as hub:
        person = issuer.person
        table: list[tuple[dict[str, Any], bool]] = [
            ({"email": "jane@acme.example", "email_verified": True}, True),
            ({"email": "jane@ACME.example", "email_verified": True}, True),
            ({"email": "jane@acme.example"}, False),
            ({"email": "jane@acme.example", "email_verified": "false"}, False),
            ({"email": "jane@notacme.example", "email_verified": True}, False),
            ({"email": "jane@acme.example@other.example", "email_verified": True}, False),
            ({}, False),
        ]
        for said, good in table:
            issuer.person = {**person, **said}
            found = browser(hub, issuer)
            found.visit(begin())
            assert (said, "code" in come_back(found)) == (said, good)


def test_a_hub_without_a_provider_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, "sqlite") as hub:
        assert hub.ask("GET", "/api/v1").json["login"] == {"oidc": False, "invitation": True}
        assert hub.ask("GET", begin().removeprefix("http://hub.test")).code == (404, "login-not-offered")


def test_the_command_is_told_when_the_hub_refuses(hub: Served, issuer: Issuer) -> None:
    issuer.person = {"sub": ""}

    def show(address: str) -> None:
        def act() -> None:
            found = browser(hub, issuer)
            found.visit(address)
            Served(int(urlsplit(found.left).port or 0), {}).ask(
                "GET", f"/callback{found.left.partition('/callback')[2]}"
            )

        threading.Thread(target=act).start()

    with Web(env={}, private_hosts=("127.0.0.1",)) as web, pytest.raises(RefusedError) as caught:
        log_in_with_browser(f"http://127.0.0.1:{hub.port}", "laptop", web, show)
    assert caught.value.code == "login-failed"

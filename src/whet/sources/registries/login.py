"""Get a token of a hub: by invitation, by an identity provider in the browser, or by the identity of a CI job."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import secrets
import threading
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from whet.errors import FailedError, RefusedError, UsageError, WhetError
from whet.sources.registries.hub import authorize, explain
from whet.sources.registries.registry import ANSWER_BYTES, JSON, Answer, clean_text, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whet.sources.web.client import Web
    from whet.values import Json

IDENTITY = "WHET_ID_TOKEN"
"""Variable with the identity token of a CI job on platforms such as GitLab."""
_GITHUB = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
_WAIT = 300
"""Seconds to log in with the browser."""
_PAGE = b"<!doctype html><title>Whet</title><p>You can close this window and go back to the terminal."


class NewToken(NamedTuple):
    """A new token of a hub."""

    token: str
    account: str


def accept_invitation(link: str, account: str, label: str, web: Web) -> tuple[str, NewToken]:
    """Accept an invitation; return its hub and a token for the new account. The link works once."""
    parts = urlsplit(link)
    location, ending, _ = link.partition("/invitation#")
    if not ending or not parts.fragment:
        raise UsageError("bad-invitation", "This is not an invitation.", hint="It looks like HUB/invitation#SECRET.")
    body = {"invitation": parts.fragment, "account": account, "label": label}
    return location, _ask_token(location, "invitations/accept", body, web)


def log_in_with_browser(location: str, label: str, web: Web, show: Callable[[str], None]) -> NewToken:
    """Log in at the hub's identity provider and return a token; `show` gets the address for the browser."""
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    with _Listener() as listener:
        query = {
            "redirect_uri": listener.address,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        show(f"{location}/api/v1/login?{urlencode(query)}")
        answer = listener.wait()
    if not secrets.compare_digest(answer.get("state", ""), state):
        raise RefusedError("login-failed", "The answer belongs to another login.", hint="Log in again.")
    if "code" not in answer:
        said = clean_text(answer.get("error_description") or answer.get("error") or "The hub sent no code.", 200)
        raise RefusedError("login-failed", f"The hub refused the login: {said}", hint="Ask the hub's operator.")
    body = {"code": answer["code"], "code_verifier": verifier, "label": label}
    return _ask_token(location, "login/token", body, web)


def exchange_identity(location: str, web: Web, env: Mapping[str, str]) -> str:
    """Return a short-lived token for this CI job, if the hub trusts its repository; "" outside of CI."""
    url, key = (env.get(name, "") for name in _GITHUB)
    if not env.get(IDENTITY) and not (url and key):
        return ""
    described = _read(web.get(f"{location}/api/v1", limit=ANSWER_BYTES, accept=JSON).body)
    publishing = described.optional_child("publishing")
    if publishing is None:
        return ""
    identity = env.get(IDENTITY, "")
    if not identity:
        mark = "&" if "?" in url else "?"
        asked = f"{url}{mark}{urlencode({'audience': publishing.text('audience')})}"
        identity = _read(web.get(asked, limit=ANSWER_BYTES, accept=JSON, headers=authorize(key)).body).text("value")
    return _ask_token(location, "tokens/exchange", {"token": identity}, web).token


def _ask_token(location: str, path: str, body: Json, web: Web) -> NewToken:
    url = f"{location.rstrip('/')}/api/v1/{path}"
    try:
        response = web.send(url, body=json.dumps(body).encode(), content_type=JSON, limit=ANSWER_BYTES)
    except WhetError as error:
        raise explain(error, location, "-") from error
    answer = _read(response.body)
    return NewToken(answer.text("token"), answer.prose("account"))


def _read(body: bytes) -> Answer:
    return Answer(parse_json(body, "the answer"), "the answer")


class _Listener:
    """A server on loopback that waits for one request of the browser."""

    def __init__(self) -> None:
        self._answer: dict[str, str] = {}
        self._came = threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                known = url.path == "/callback"
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                if known:
                    self.wfile.write(_PAGE)
                    owner._answer = {name: values[0] for name, values in parse_qs(url.query).items()}
                    owner._came.set()

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/callback"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait(self) -> dict[str, str]:
        """Return the parameters from the browser."""
        if not self._came.wait(_WAIT):
            raise FailedError("login-failed", "Nobody logged in within five minutes.", hint="Log in again.")
        return self._answer

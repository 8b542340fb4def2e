"""An issuer of identities on loopback: its keys, a login that lets everybody in, and tokens to forge."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

CLIENT = "whet-hub"


class Issuer:
    """Who issues identities; `fetched` counts how often its keys were asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.fetched = 0
        self.down = False
        self.person: dict[str, Any] = {"sub": "248289761001", "preferred_username": "Jane.Doe"}
        self.records: dict[str, str] = {}
        """TXT records that it knows, as a resolver."""
        self.codes: dict[str, dict[str, str]] = {}
        self.keys: dict[str, Any] = {"first": ec.generate_private_key(ec.SECP256R1())}

    def add_rsa(self, bits: int = 2048) -> None:
        self.keys[f"rsa-{bits}"] = rsa.generate_private_key(65_537, bits)

    def sign(self, claims: dict[str, Any], kid: str = "first", **header: Any) -> str:
        """A token with these claims, as the issuer signs it."""
        key = self.keys[kid]
        algorithm = "ES256" if isinstance(key, ec.EllipticCurvePrivateKey) else "RS256"
        return jwt.encode(claims, key, algorithm, headers={"kid": kid, **header})

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._configuration),
                Route("/keys", self._keys),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/dns-query", self._resolve),
            ]
        )

    async def _configuration(self, _request: Request) -> Response:
        if self.down:
            return JSONResponse({}, 500)
        ends = {"jwks_uri": "keys", "authorization_endpoint": "authorize", "token_endpoint": "token"}
        return JSONResponse({"issuer": self.url, **{name: f"{self.url}/{path}" for name, path in ends.items()}})

    async def _keys(self, _request: Request) -> Response:
        self.fetched += 1
        return JSONResponse({"keys": [self._public(kid) for kid in self.keys]})

    def _public(self, kid: str) -> Any:
        key = self.keys[kid].public_key()
        kind: Any = ECAlgorithm if isinstance(key, ec.EllipticCurvePublicKey) else RSAAlgorithm
        return {**json.loads(kind.to_jwk(key)), "kid": kid, "use": "sig"}

    async def _resolve(self, request: Request) -> Response:
        text = self.records.get(request.query_params["name"])
        return JSONResponse({"Status": 0, "Answer": [{"type": 16, "data": f'"{text}"'}] if text else []})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}", 302)

    async def _token(self, request: Request) -> Response:
        sent = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self.codes.pop(sent["code"], {})
        challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).decode()
        good = {
            asked.get("code_challenge") == challenge.rstrip("="),
            asked.get("redirect_uri") == sent["redirect_uri"],
            (sent["grant_type"], sent["client_id"]) == ("authorization_code", CLIENT),
        }
        if good != {True}:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.person}
        return JSONResponse({"id_token": self.sign(claims), "token_type": "Bearer", "access_token": "unused"})


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer that answers on loopback."""
    issuer = Issuer()
    server = uvicorn.Server(uvicorn.Config(issuer.app(), "127.0.0.1", 0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    issuer.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield issuer
    finally:
        server.should_exit = True
        thread.join()

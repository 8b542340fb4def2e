"""Identity tokens of OpenID Connect: the keys of issuers, and the validation of tokens.

Keys are fetched within limits, stored in the database for all replicas, and used from there if an issuer does not
answer. The content of a token counts only after its signature is checked: the algorithm must be one of ours and that of
its key. Times are compared with the hub's clock.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import FailedError, RefusedError, WhetError
from whet.extras import missing_extra

if TYPE_CHECKING:
    from whet.hub.database import Transaction
    from whet.hub.registry import Hub
    from whet.values import Json

ALGORITHMS = ("RS256", "ES256", "PS256", "EdDSA")
"""Only signatures with a private key: an unsigned token, or one signed with a shared secret, proves nothing."""
LEEWAY = 60
"""Allowed difference of clocks in seconds."""
_MOST_TOKEN = 16 * 1024
_MOST_DOCUMENT = 256 * 1024
_MOST_KEYS = 50
_LEAST_RSA = 2048
_FRESH = 24 * 3600
"""Seconds after which keys are fetched again."""
_PAUSE = 60
"""Seconds between two attempts to fetch the keys of an issuer."""


class Issuer(NamedTuple):
    """The configuration of an issuer."""

    keys: tuple[Json, ...]
    authorization_endpoint: str
    token_endpoint: str


def read_identity(hub: Hub, token: str, issuer: str, audience: str) -> Json:
    """Return the claims of an identity token of this issuer for this audience. Raises RefusedError."""
    jwt = _library()
    try:
        if len(token) > _MOST_TOKEN:
            raise _refuse("it is too long")
        header = jwt.get_unverified_header(token)
        algorithm, name = header.get("alg"), header.get("kid", "")
        if algorithm not in ALGORITHMS:
            raise _refuse(f"the hub does not accept the algorithm {str(algorithm)[:20]!r}")
        key = _find_key(hub, issuer, str(name), algorithm)
        checks = ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")
        options = {"verify_signature": True, **{f"verify_{claim}": False for claim in checks}}
        claims: Json = jwt.decode(token, key, algorithms=[algorithm], options=options)
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise _refuse("it is not signed by its issuer") from error
    _check_claims(claims, issuer, audience, hub.now())
    return claims


def read_issuer(token: str) -> str:
    """Return the issuer that a token names, unverified; "" if it names none."""
    jwt = _library()
    try:
        found = jwt.decode(token[:_MOST_TOKEN], options={"verify_signature": False}).get("iss", "")
    except (jwt.PyJWTError, ValueError, TypeError):
        return ""
    return found if isinstance(found, str) else ""


def find_issuer(hub: Hub, issuer: str) -> Issuer:
    """Return the configuration of an issuer, fetched or stored. Raises WhetError."""
    found = _kept(hub, issuer) or _fetch(hub, issuer)
    if found is None:
        raise FailedError("issuer-unreachable", f"{issuer} does not answer.", hint="Try again in a minute.")
    return found


def _check_claims(claims: Json, issuer: str, audience: str, now: int) -> None:
    if claims.get("iss") != issuer:
        raise _refuse("another issuer made it")
    if claims.get("aud") not in (audience, [audience]):
        raise _refuse(f"it is not meant for {audience}")
    times: dict[str, Any] = {name: claims[name] for name in ("exp", "iat", "nbf") if name in claims}
    if not {"exp", "iat"} <= times.keys() or not all(type(value) in (int, float) for value in times.values()):
        raise _refuse("it does not say how long it is valid")
    if times["exp"] <= now - LEEWAY:
        raise _refuse("it has expired")
    if max(times["iat"], times.get("nbf", 0)) > now + LEEWAY:
        raise _refuse("it is not valid yet")


def _find_key(hub: Hub, issuer: str, name: str, algorithm: str) -> Any:
    """Return the key with a name; fetch the keys again if the name is new. Raises RefusedError."""
    from jwt import PyJWK

    kept = _kept(hub, issuer)
    found = _named(kept, name)
    if found is None or not _fresh(hub, issuer):
        kept = _fetch(hub, issuer) or kept
        found = _named(kept, name)
    if found is None:
        raise _refuse("its issuer has no such key")
    key = PyJWK(found, algorithm=found.get("alg") or algorithm)
    if found.get("kty") == "RSA" and key.key.key_size < _LEAST_RSA:
        raise _refuse("its key is too short")
    return key


def _named(issuer: Issuer | None, name: str) -> Json | None:
    keys = issuer.keys if issuer else ()
    return next((key for key in keys if key.get("kid", "") == name and key.get("use", "sig") == "sig"), None)


def _kept(hub: Hub, issuer: str) -> Issuer | None:
    row = hub.database.read(lambda ask: ask.one("SELECT document FROM issuers WHERE issuer = ?", issuer))
    if row is None or not row[0]:
        return None
    fields = json.loads(row[0])
    return Issuer(tuple(fields[0]), fields[1], fields[2])


def _fresh(hub: Hub, issuer: str) -> bool:
    row = hub.database.read(lambda ask: ask.one("SELECT fetched FROM issuers WHERE issuer = ?", issuer))
    return row is not None and row[0] > hub.now() - _FRESH


def _fetch(hub: Hub, issuer: str) -> Issuer | None:
    """Fetch and store the configuration of an issuer; return None if it does not answer, or was asked recently."""
    now = hub.now()

    def turn(transaction: Transaction) -> int:
        sql = "INSERT INTO issuers (issuer, document, fetched, tried) VALUES (?, '', 0, 0) ON CONFLICT DO NOTHING"
        transaction.run(sql, issuer)
        sql = "UPDATE issuers SET tried = ? WHERE issuer = ? AND tried <= ?"
        return transaction.run(sql, now, issuer, now - _PAUSE)

    if not hub.database.write(turn):
        return None
    try:
        found = _ask(hub, issuer)
    except (WhetError, ValueError, KeyError, TypeError, AttributeError):  # the stored keys are still valid
        return None
    sql = "UPDATE issuers SET document = ?, fetched = ? WHERE issuer = ?"
    hub.database.write(lambda change: change.run(sql, json.dumps(found), now, issuer))
    return found


def _ask(hub: Hub, issuer: str) -> Issuer:
    def get(url: str) -> Json:
        found: Json = json.loads(hub.web.get(url, limit=_MOST_DOCUMENT, accept="application/json").body)
        return found

    said = get(f"{issuer}/.well-known/openid-configuration")
    if said["issuer"] != issuer:
        raise ValueError("it is another issuer")
    keys = tuple(key for key in get(said["jwks_uri"])["keys"][:_MOST_KEYS] if key.get("kty") in ("RSA", "EC", "OKP"))
    return Issuer(keys, str(said.get("authorization_endpoint", "")), str(said.get("token_endpoint", "")))


def _library() -> Any:
    try:
        import jwt
    except ImportError as error:
        raise missing_extra("Identity tokens need the extra `hub`.", "hub") from error
    return jwt


def _refuse(why: str) -> RefusedError:
    hint = "Get a new token for this hub; docs/hub-api.md says what it must have."
    return RefusedError("identity-refused", f"The identity token is refused: {why}.", hint=hint)

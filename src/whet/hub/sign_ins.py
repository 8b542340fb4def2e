"""Log in with an identity provider: the authorization code flow of OpenID Connect, with PKCE on both sides.

A command opens the browser here (`begin`), the provider sends it back (`finish`), and it continues to the command,
which listens on this computer only and redeems a code (`redeem`). A user is identified by the provider's id, never by a
name or an address. The values of one login are useless in another: state, nonce and both PKCE verifiers are random,
used once, and valid for minutes; a cookie binds the browser that began.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from whet.errors import NotFoundError, RefusedError, UsageError, WhetError
from whet.hub.accounts import grant
from whet.hub.oidc import find_issuer, read_identity
from whet.hub.registry import check_account
from whet.hub.tokens import ACCOUNT, is_owner

if TYPE_CHECKING:
    from whet.hub.accounts import Granted
    from whet.hub.database import Transaction
    from whet.hub.registry import Hub
    from whet.values import Json

CALLBACK = "/api/v1/login/callback"
RETURN = "/sign-in/return"
"""Page of this hub to which a browser returns that signs in to the pages."""
_LOOPBACK = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]):[1-9][0-9]{0,4}(?:/[A-Za-z0-9._~/-]{0,100})?")
_WORD = re.compile(r"[A-Za-z0-9._~-]{8,200}")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_SECONDS = 600
_CODE_SECONDS = 120
_MOST_OPEN = 10_000
_MOST_ANSWER = 64 * 1024
_TRIES = 1_000


class Begun(NamedTuple):
    """A login in progress: the address for the browser, and its cookie."""

    address: str
    cookie: str


def begin(hub: Hub, redirect: str, state: str, challenge: str, method: str) -> Begun:
    """Start a login: return the provider's address for the browser. Raises WhetError."""
    login = hub.settings.login
    if not login.issuer:
        raise NotFoundError("login-not-offered", "This hub has no login provider.", hint="Ask for an invitation.")
    if redirect != hub.settings.url + RETURN and not _LOOPBACK.fullmatch(redirect):
        hint = "Use http://127.0.0.1:PORT/callback."
        raise UsageError("bad-request", "`redirect_uri` must be an address of this computer.", hint=hint)
    if not _WORD.fullmatch(state) or not _CHALLENGE.fullmatch(challenge) or method != "S256":
        hint = "Send a random state and a code_challenge with the method S256."
        raise UsageError("bad-request", "`state` or `code_challenge` does not have the required form.", hint=hint)
    issuer, now = find_issuer(hub, login.issuer), hub.now()
    own, browser, nonce, verifier = (make_secret() for _ in range(4))

    def change(transaction: Transaction) -> None:
        transaction.run("DELETE FROM sign_ins WHERE expires < ?", now)
        if transaction.get("SELECT COUNT(*) FROM sign_ins")[0] >= _MOST_OPEN:
            raise RefusedError("too-many-requests", "Too many people are logging in.", hint="Wait a few minutes.")
        sql = """INSERT INTO sign_ins (state, browser, nonce, verifier, redirect, client_state, challenge, expires)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
        values = (_hash(own), _hash(browser), nonce, verifier, redirect, state, challenge, now + _SECONDS)
        transaction.run(sql, *values)

    hub.database.write(change)
    query = {
        "response_type": "code",
        "client_id": login.client_id,
        "redirect_uri": hub.settings.url + CALLBACK,
        "scope": "openid profile email",
        "state": own,
        "nonce": nonce,
        "code_challenge": make_challenge(verifier),
        "code_challenge_method": "S256",
    }
    mark = "&" if "?" in issuer.authorization_endpoint else "?"
    return Begun(f"{issuer.authorization_endpoint}{mark}{urlencode(query)}", browser)


def finish(hub: Hub, state: str, code: str, error: str, cookie: str) -> str:
    """Return the next address for the browser that the provider sends back. Raise WhetError for another browser."""
    now = hub.now()

    def take(transaction: Transaction) -> tuple[int, str, str, str, str]:
        sql = """SELECT id, browser, nonce, verifier, redirect, client_state FROM sign_ins
            WHERE state = ? AND used = 0 AND expires > ?"""
        row = transaction.one(sql + hub.database.for_update, _hash(state), now)
        if row is None or not hmac.compare_digest(bytes(row[1]), _hash(cookie)):
            message = "This login was not begun in this browser, or is over."
            raise RefusedError("login-failed", message, hint="Begin again: `whet hub login`.")
        transaction.run("UPDATE sign_ins SET used = ? WHERE id = ?", now, row[0])
        return row[0], row[2], row[3], row[4], row[5]

    number, nonce, verifier, redirect, client_state = hub.database.write(take)
    try:
        if error or not code:
            raise RefusedError("login-failed", "The provider refused the login.", hint="Try again.")
        claims = _ask(hub, code, verifier, nonce)
        answer = {
            "code": hub.database.write(lambda change: _let_in(hub, change, number, claims)),
            "state": client_state,
        }
    except WhetError as failure:
        answer = {"error": "access_denied", "error_description": failure.message, "state": client_state}
    return f"{redirect}?{urlencode(answer)}"


def redeem(hub: Hub, code: str, verifier: str, label: str) -> Granted:
    """Return the token for a code, for the command that began the login. Raises NotFoundError."""
    now = hub.now()

    def change(transaction: Transaction) -> Granted:
        hub.log.lock(transaction)
        sql = "SELECT id, challenge, account FROM sign_ins WHERE code = ? AND expires > ?"
        row = transaction.one(sql, _hash(code), now)
        if row is None or not hmac.compare_digest(row[1].encode(), make_challenge(verifier).encode()):
            message = "The code is unknown, used or expired."
            raise NotFoundError("code-not-found", message, hint="Begin again: `whet hub login`.")
        transaction.run("DELETE FROM sign_ins WHERE id = ?", row[0])
        return grant(transaction, row[2], (ACCOUNT,), label, now)

    return hub.database.write(change)


def _ask(hub: Hub, code: str, verifier: str, nonce: str) -> Json:
    """Return the provider's claims about the user with this code. Raises WhetError."""
    login = hub.settings.login
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": hub.settings.url + CALLBACK,
        "client_id": login.client_id,
        "code_verifier": verifier,
    }
    if login.client_secret:
        fields["client_secret"] = login.client_secret
    issuer = find_issuer(hub, login.issuer)
    kind = "application/x-www-form-urlencoded"
    body = urlencode(fields).encode()
    sent = hub.web.send(issuer.token_endpoint, body=body, content_type=kind, limit=_MOST_ANSWER)
    try:
        token = str(json.loads(sent.body)["id_token"])
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedError("login-failed", "The provider sent no identity.", hint="Try again.") from error
    claims = read_identity(hub, token, login.issuer, login.client_id)
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise RefusedError("login-failed", "The identity belongs to another login.", hint="Try again.")
    _, _, domain = str(claims.get("email", "")).rpartition("@")
    known = claims.get("email_verified") is True and domain.lower() in login.domains
    if login.domains and not known:
        message = f"This hub accepts only addresses of {', '.join(login.domains)}."
        raise RefusedError("login-failed", message, hint="Log in with an address of such a domain.")
    return claims


def _let_in(hub: Hub, transaction: Transaction, number: int, claims: Json) -> str:
    """Return the code for a user whom the provider knows; a new user gets an account."""
    hub.log.lock(transaction)
    issuer, subject, now = hub.settings.login.issuer, str(claims.get("sub", "")), hub.now()
    if not 1 <= len(subject) <= 255:
        raise RefusedError("login-failed", "The provider does not say who you are.", hint="Ask the hub's operator.")
    sql = "SELECT a.name FROM subjects s JOIN accounts a ON s.account = a.id WHERE s.issuer = ? AND s.subject = ?"
    row = transaction.one(sql, issuer, subject)
    name = row[0] if row else _create(transaction, issuer, subject, _wish(claims), now)
    code = make_secret()
    sql = "UPDATE sign_ins SET code = ?, account = ?, expires = ? WHERE id = ?"
    transaction.run(sql, _hash(code), name, now + _CODE_SECONDS, number)
    return code


def _create(transaction: Transaction, issuer: str, subject: str, wish: str, now: int) -> str:
    """Create an account with a name like `wish`; an existing account is never given to another user."""
    for number in range(1, _TRIES):
        name = wish if number == 1 else f"{wish[:34]}-{number}"
        sql = "INSERT INTO accounts (name, created) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"
        if transaction.run(sql, check_account(name), now):
            row = transaction.get("SELECT id FROM accounts WHERE name = ?", name)
            transaction.run("INSERT INTO subjects (issuer, subject, account) VALUES (?, ?, ?)", issuer, subject, row[0])
            return name
    raise RefusedError("login-failed", f"Too many accounts are named {wish}.", hint="Ask the hub's operator.")


def _wish(claims: Json) -> str:
    """Return a name for an account, as close as possible to the provider's."""
    said = str(claims.get("preferred_username") or str(claims.get("email", "")).partition("@")[0])
    name = re.sub(r"[^a-z0-9]+", "-", said.lower())[:39].strip("-")
    return name if is_owner(name) and name != "operator" else "person"


def make_secret() -> str:
    """Return a random secret."""
    return base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def make_challenge(verifier: str) -> str:
    """Return the PKCE challenge of a verifier."""
    return base64.urlsafe_b64encode(_hash(verifier)).decode().rstrip("=")

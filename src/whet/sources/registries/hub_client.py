"""Operations on a hub besides installing and publishing: log in, yank, manage owners, check its log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import RefusedError, UsageError, WhetError, expected_text
from whet.sources.credentials import get_home, get_token
from whet.sources.model import Ref
from whet.sources.refs.parse import read_remote
from whet.sources.registries.hub import HubSource, authorize, explain
from whet.sources.registries.registry import (
    ANSWER_BYTES,
    JSON,
    Answer,
    check_segment,
    parse_json,
    quote_segment,
    split_path,
)
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from whet.library.roots import Place
    from whet.sources.hub_logs import HubLogs
    from whet.sources.model import FetchContext


class Account(NamedTuple):
    """The account of a token and its permissions."""

    hub: str
    account: str
    scopes: tuple[str, ...]

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class LoggedOut(NamedTuple):
    """Whether there was a token, and why it could not be revoked on the hub."""

    hub: str
    logged_out: bool
    problem: str = ""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class LogCheck(NamedTuple):
    """The current log of a hub, which continues everything seen before."""

    hub: str
    key: str
    entries: int
    known: int
    """Number of entries when it was last seen; 0 at the first contact."""

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class OwnerProof(NamedTuple):
    """A domain or a repository that names its owner."""

    kind: str
    """`dns`, or the platform of a repository."""
    value: str
    proved: str


class HubOwner(NamedTuple):
    """An owner of skills on a hub."""

    hub: str
    owner: str
    tier: str
    won: str
    """How it got the tier."""
    created: str
    proofs: tuple[OwnerProof, ...]

    def to_json(self) -> Json:
        """Return the answer as JSON."""
        return answer_json(self)


class TrustedPublisher(NamedTuple):
    """A repository whose workflows may publish for an owner."""

    provider: str
    repository: str
    repository_id: str
    owner_id: str
    """The platform's number for the owner of the repository."""
    workflow: str = ""
    """"" for any, as for the following fields."""
    environment: str = ""
    ref: str = ""
    name: str = ""
    """Name of the skill."""
    id: int = 0
    """The hub's number for it."""
    used: str = ""
    """Time of the last publication; "" for never."""


def read_hub_ref(text: str, place: Place) -> Ref:
    """Read a skill on a hub: `hub:ADDRESS/OWNER/NAME@VERSION`, or without the address, on your own hub.

    Raises UsageError `hub-not-named` if no hub is named or configured.
    """
    if not isinstance(text, str):
        raise expected_text("bad-source", "The address of a hub", text, hint="Pass an address such as https://HOST.")
    if not text.startswith(("hub:", "https://", "http://")):
        home = get_home(place).rstrip("/")
        if not home:
            hint = "Log in with `whet hub login ADDRESS`, or write hub:ADDRESS/OWNER/NAME."
            raise UsageError(
                "hub-not-named", "The command does not name a hub.", hint=f"{hint} An address starts with https://."
            )
        text = f"{home}/{text}" if text else home
    return read_remote(text if text.startswith("hub:") else f"hub:{text}")


class HubClient:
    """A hub and an optional token for it."""

    def __init__(self, location: str, context: FetchContext, token: str | None = None) -> None:
        self.location = location.rstrip("/")
        self._web = context.web
        self._token = get_token(self.location, context.place) if token is None else token
        self._source = HubSource(Ref("hub", self.location), context, self._token)

    def account(self) -> Account:
        """Return the account of the token."""
        answer = self._send("GET", "account")
        scopes = tuple(scope for scope in answer.items("scopes") if isinstance(scope, str))
        return Account(self.location, answer.prose("account"), scopes)

    def revoke_token(self) -> None:
        """Revoke the token."""
        self._send("DELETE", "account/token", {})

    def has_login_page(self) -> bool:
        """Return whether users can log in at an identity provider."""
        login = self._source.describe().optional_child("login")
        return login is not None and login.flag("oidc")

    def yank(self, skill: str, version: str, reason: str | None) -> None:
        """Yank a version for a reason; None reverses a yank."""
        path = f"{_skill_path(skill)}/versions/{quote_segment(check_segment(version, 'a version'))}/yank"
        self._send("DELETE" if reason is None else "PUT", path, {} if reason is None else {"reason": reason})

    def set_status(self, skill: str, status: str, *, successor: str = "", reason: str = "") -> None:
        """Mark a skill as active, deprecated or archived."""
        self._send("PUT", f"{_skill_path(skill)}/status", {"status": status, "successor": successor, "reason": reason})

    def report(self, skill: str, version: str, reason: str) -> None:
        """Report a version, or the latest one, to the moderators of the hub."""
        path = _skill_path(skill)
        version = version or self._send("GET", path).segment("latest")
        path = f"{path}/versions/{quote_segment(check_segment(version, 'a version'))}/reports"
        self._send("POST", path, {"kind": "other", "text": reason})

    def owner(self, owner: str) -> HubOwner:
        """Return an owner, its tier and its proofs."""
        path = _owner_path(owner)
        found = self._send("GET", path)
        proofs = tuple(
            OwnerProof(row.prose("kind"), row.prose("value"), row.prose("proved"))
            for row in self._send("GET", f"{path}/proofs").children("proofs")
        )
        tier, won, created = (found.prose(name) for name in ("tier", "won", "created"))
        return HubOwner(self.location, owner, tier, won, created, proofs)

    def set_tier(self, owner: str, tier: str, reason: str) -> None:
        """Set the tier of an owner, as an admin of the hub."""
        self._send("PUT", f"{_owner_path(owner)}/tier", {"tier": tier, "reason": reason})

    def prove(self, owner: str, kind: str, value: str) -> None:
        """Ask the hub to check that a domain (`dns`) or a repository names an owner."""
        self._send("POST", f"{_owner_path(owner)}/proofs", {"kind": kind, "value": value})

    def publishers(self, owner: str) -> tuple[TrustedPublisher, ...]:
        """Return the repositories that may publish for an owner."""
        rows = self._send("GET", f"{_owner_path(owner)}/publishers").children("publishers")
        return tuple(_read_publisher(row) for row in rows)

    def add_publisher(self, owner: str, publisher: TrustedPublisher) -> TrustedPublisher:
        """Allow a repository to publish for an owner."""
        fields = {name: value for name, value in publisher._asdict().items() if name not in ("id", "used")}
        return _read_publisher(self._send("POST", f"{_owner_path(owner)}/publishers", fields))

    def remove_publisher(self, owner: str, number: int) -> None:
        """Remove a repository's permission to publish and revoke its tokens."""
        self._send("DELETE", f"{_owner_path(owner)}/publishers/{number}", {})

    def check_log(self, logs: HubLogs) -> LogCheck:
        """Check that the newest checkpoint of the log continues the one seen before, or raise `log-diverged`."""
        known, before = logs.known(self.location), logs.size(self.location)
        size = self._source.see_log(logs).size
        key = known.key if known else self._source.log_key
        logs.keep()
        return LogCheck(self.location, str(key), size, before)

    def _send(self, method: str, path: str, body: Json | None = None) -> Answer:
        if not self._token and method != "GET":
            hint = f"`whet hub login {self.location}` keeps a token for it."
            raise RefusedError("source-denied", f"{self.location} needs a token for this.", hint=hint)
        url = f"{self.location}/api/v1/{path}"
        data = b"" if body is None else json.dumps(body).encode()
        try:
            if method == "GET":
                response = self._web.get(url, limit=ANSWER_BYTES, accept=JSON, headers=authorize(self._token))
            else:
                response = self._web.send(
                    url,
                    body=data,
                    content_type=JSON,
                    method=method,
                    headers=authorize(self._token),
                    limit=ANSWER_BYTES,
                )
        except WhetError as error:
            raise explain(error, self.location, self._token) from error
        return Answer(parse_json(response.body or b"{}", response.url), "the answer", response.url)


def _read_publisher(row: Answer) -> TrustedPublisher:
    texts = {name: row.prose(name) for name in TrustedPublisher._fields if name not in ("id", "used")}
    return TrustedPublisher(**texts, id=row.number("id"), used=row.optional_text("used") or "")


def _owner_path(owner: str) -> str:
    return f"owners/{check_segment(owner, 'an owner')}"


def _skill_path(skill: str) -> str:
    owner, name = split_path(skill)
    if not owner:
        hint = "Write OWNER/NAME."
        raise UsageError("usage", f"{skill} does not say whose skill it is.", hint=hint)
    return f"skills/{owner}/{name}"

"""People of a hub over real sockets: roles, invitations and tokens, and attempts to get more than was given."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hub.server import VERSION, Answer, Served, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ACME = "/api/v1/owners/acme"


@pytest.fixture
def hub(tmp_path: Path, address: str) -> Iterator[Served]:
    with serving(tmp_path, address) as served:
        yield served


def send(hub: Served, method: str, path: str, who: str = "", **fields: str) -> Answer:
    return hub.ask(method, path, who, json.dumps(fields).encode())


def join(hub: Served, account: str, owner: str = "", role: str = "", by: str = "admin") -> str:
    """The token of somebody who came by an invitation."""
    made = send(hub, "POST", "/api/v1/invitations", by, owner=owner, role=role).json
    got = send(hub, "POST", "/api/v1/invitations/accept", invitation=made["invitation"], account=account)
    assert got.status == 201, got.body
    token: str = got.json["token"]
    return token


def test_a_team_of_two_invites_publishes_and_parts(hub: Served) -> None:
    eve = join(hub, "eve", "acme", "admin")
    dan = join(hub, "dan", "acme", "publisher", by=eve)
    account = hub.ask("GET", "/api/v1/account", dan).json
    assert (account["account"], account["kind"], account["scopes"][:2]) == ("dan", "token", ["account", "read"])
    made = hub.publish(dan)
    assert (made.status, made.json["publisher"]["account"]) == (201, "dan")
    listed = hub.ask("GET", f"{ACME}/members", dan).json["members"]
    assert [(member["account"], member["role"]) for member in listed] == [("dan", "publisher"), ("eve", "admin")]
    assert hub.ask("GET", ACME).json["tier"] == "community"
    assert send(hub, "PUT", f"{ACME}/members/dan", eve, role="reader").json["role"] == "reader"
    assert hub.ask("PUT", f"{VERSION}/yank", dan, b'{"reason": "Mine."}').code == (403, "not-allowed")
    assert hub.ask("DELETE", f"{ACME}/members/dan", dan).status == 200  # whoever wants to may leave
    assert hub.ask("GET", f"{ACME}/members", dan).code == (403, "not-allowed")
    assert hub.ask("DELETE", f"{ACME}/members/eve", eve).code == (409, "last-admin")
    assert hub.ask("DELETE", "/api/v1/account/token", dan).json == {"revoked": 1}
    assert hub.ask("GET", "/api/v1/account", dan).code == (401, "token-needed")
    acts = [(change["act"], change.get("role")) for change in hub.ask("GET", "/api/v1/changes").json["changes"]]
    assert [act for act in acts if act[0] in ("member", "revoke")] == [
        ("member", "admin"),
        ("member", "publisher"),
        ("member", "reader"),
        ("member", None),
        ("revoke", None),
    ]


def test_every_method_about_people_has_its_own_permission(hub: Served) -> None:
    eve, dan = join(hub, "eve", "acme", "admin"), join(hub, "dan", "acme", "publisher")
    zoe = join(hub, "zoe")
    who = {"": "", "ada": "ada", "mo": "mo", "zoe": zoe, "dan": dan, "eve": eve, "admin": "admin"}
    table: list[tuple[str, str, dict[str, Any], str]] = [
        ("GET", "/api/v1/account", {}, "401 200 200 200 200 200 200"),
        ("GET", "/api/v1/account/tokens", {}, "401 403 403 200 200 200 200"),
        ("POST", "/api/v1/account/tokens", {"scopes": "read"}, "401 403 403 201 201 201 201"),
        ("POST", "/api/v1/account/tokens", {"scopes": "publish:acme"}, "401 403 403 403 201 201 201"),
        ("POST", "/api/v1/account/tokens", {"scopes": "moderate"}, "401 403 403 403 403 403 201"),
        ("POST", "/api/v1/account/tokens", {"scopes": "account", "days": "x"}, "400 400 400 400 400 400 400"),
        ("DELETE", "/api/v1/account/tokens/1", {}, "401 403 403 404 404 404 200"),
        ("GET", ACME, {}, "200 200 200 200 200 200 401"),  # the admin revoked their own token
    ]
    for method, path, fields, expected in table:
        found = " ".join(str(send(hub, method, path, token, **fields).status) for token in who.values())
        assert (method, path, fields, found) == (method, path, fields, expected)


def test_managing_an_owner_needs_its_admin(hub: Served) -> None:
    eve, dan = join(hub, "eve", "acme", "admin"), join(hub, "dan", "acme", "publisher")
    assert send(hub, "POST", "/api/v1/owners", "admin", owner="other").status == 201
    who = {"": "", "ada": "ada", "mo": "mo", "dan": dan, "eve": eve, "admin": "admin"}
    table: list[tuple[str, str, dict[str, Any], str]] = [
        ("GET", f"{ACME}/members", {}, "401 403 403 200 200 200"),
        ("PUT", f"{ACME}/members/mo", {"role": "reader"}, "401 403 403 403 200 200"),
        ("PUT", f"{ACME}/members/mo", {}, "401 403 403 403 400 400"),
        ("DELETE", f"{ACME}/members/mo", {}, "401 403 200 403 200 200"),
        ("PUT", "/api/v1/owners/other/members/eve", {"role": "admin"}, "401 403 403 403 403 200"),
        ("PUT", "/api/v1/accounts/dan/role", {"role": "moderator"}, "401 403 403 403 403 200"),
        ("DELETE", "/api/v1/accounts/dan/role", {}, "401 403 403 403 403 200"),
        ("POST", "/api/v1/owners", {"owner": "third"}, "401 403 403 403 403 201"),
        ("POST", "/api/v1/invitations", {"owner": "acme", "role": "reader"}, "401 403 403 403 201 201"),
        ("POST", "/api/v1/invitations", {"role": "moderator"}, "401 403 403 403 403 201"),
        ("POST", "/api/v1/invitations", {"role": "king"}, "401 403 403 403 403 400"),
        ("GET", "/api/v1/invitations", {}, "405 405 405 405 405 405"),
    ]
    for method, path, fields, expected in table:
        found = " ".join(str(send(hub, method, path, token, **fields).status) for token in who.values())
        assert (method, path, fields, found) == (method, path, fields, expected)


def test_of_many_who_open_one_invitation_one_gets_in(hub: Served) -> None:
    secret = send(hub, "POST", "/api/v1/invitations", "admin", owner="acme", role="admin").json["invitation"]

    def accept(number: int) -> Answer:
        return send(hub, "POST", "/api/v1/invitations/accept", invitation=secret, account=f"racer-{number}")

    with ThreadPoolExecutor(8) as racers:
        answers = [*racers.map(accept, range(8))]
    assert sorted(answer.status for answer in answers) == [201] + [404] * 7
    assert {answer.json["code"] for answer in answers if answer.status == 404} == {"invitation-not-found"}
    members = hub.ask("GET", f"{ACME}/members", "admin").json["members"]
    assert [member["role"] for member in members] == ["admin"]


def test_guessing_invitations_is_slowed_down_and_says_nothing_of_accounts(tmp_path: Path) -> None:
    with serving(tmp_path, "sqlite", private=True) as hub:
        guesses = [
            send(hub, "POST", "/api/v1/invitations/accept", invitation=f"guess-{number}", account="ada")
            for number in range(35)
        ]
        assert [guess.status for guess in guesses] == [404] * 30 + [429] * 5
        assert {guess.body for guess in guesses[:30]} == {guesses[0].body}
        other = send(hub, "POST", "/api/v1/invitations/accept", invitation="guess", account="nobody-here")
        assert other.status == 429


def test_every_method_of_moderation_has_its_own_permission(hub: Served) -> None:
    assert hub.publish().status == 201
    zoe = join(hub, "zoe")
    who = {"": "", "ada": "ada", "zoe": zoe, "mo": "mo", "admin": "admin"}
    table: list[tuple[str, str, dict[str, Any], str]] = [
        ("POST", f"{VERSION}/reports", {"kind": "spam", "text": "Spam."}, "401 201 201 201 201"),
        ("POST", f"{VERSION}/reports", {"kind": "spam", "text": "Spam."}, "401 409 409 409 409"),
        ("GET", "/api/v1/cases", {}, "401 403 403 200 200"),
        ("GET", "/api/v1/cases?state=odd", {}, "401 403 403 400 400"),
        ("PUT", "/api/v1/cases/1/decision", {"decision": "quarantine", "reason": "Spam."}, "401 403 403 200 409"),
        ("GET", f"{VERSION}/archive", {}, "403 403 403 200 200"),
        ("POST", f"{VERSION}/appeal", {"text": "It is not."}, "401 201 403 403 409"),
        ("PUT", "/api/v1/cases/2/decision", {"decision": "release", "reason": "Right."}, "401 403 403 200 409"),
        ("GET", f"{VERSION}/verdicts", {}, "200 200 200 200 200"),
        ("DELETE", f"{VERSION}/appeal", {}, "405 405 405 405 405"),
    ]
    for method, path, fields, expected in table:
        found = " ".join(str(send(hub, method, path, token, **fields).status) for token in who.values())
        assert (method, path, fields, found) == (method, path, fields, expected)
    cases = hub.ask("GET", "/api/v1/cases?state=closed", "mo").json["cases"]
    assert [(case["cause"], case["decided"]["decision"], len(case["reports"])) for case in cases] == [
        ("report", "quarantine", 4),
        ("appeal", "release", 0),
    ]

"""Owners, members, tokens of people and invitations, on every database a hub runs on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hub.world import make_archive, open_hub, refused
from whet.errors import ConflictError, NotFoundError, RefusedError, UsageError
from whet.hub.accounts import accept_invitation, create_own_token, invite, list_tokens, revoke_own_token
from whet.hub.members import create_owner, find_owner, list_members, set_hub_role, set_member
from whet.hub.tokens import ANYBODY, OPERATOR, Identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.hub.registry import Hub


@pytest.fixture
def hub(address: str, tmp_path: Path) -> Iterator[Hub]:
    made = open_hub(address, str(tmp_path / "blobs"))
    yield made
    made.close()


def join(hub: Hub, account: str, owner: str = "", role: str = "") -> Identity:
    """Somebody who came by an invitation."""
    secret = invite(hub, OPERATOR, owner, role).secret
    return hub.identify(accept_invitation(hub, ANYBODY, secret, account, "laptop").token)


def again(hub: Hub, who: Identity) -> Identity:
    """The same token, looked at again."""
    sql = "SELECT t.id FROM tokens t WHERE t.id = ?"
    assert hub.database.read(lambda ask: ask.one(sql, who.token))
    secret = create_own_token(hub, who, ("account",), "again", 1).token
    return hub.identify(secret)


def acts(hub: Hub, *kinds: str) -> list[Any]:
    entries = [json.loads(entry) for _, entry in hub.log.entries(0, 1000)]
    return [{key: entry[key] for key in entry if key != "time"} for entry in entries if entry["act"] in kinds]


def test_a_role_allows_what_it_says_and_nothing_else(hub: Hub) -> None:
    hub.database.write(lambda change: hub.ensure_owner(change, "acme", 0))
    hub.database.write(lambda change: hub.ensure_owner(change, "other", 0))
    people = {role: join(hub, f"a-{role}", "acme", role) for role in ("reader", "publisher", "admin")}
    people |= {"nobody": join(hub, "nobody"), "moderator": join(hub, "mo", "", "moderator")}
    people["operator"] = join(hub, "root", "", "admin")
    verbs = ("read", "publish", "yank", "manage", "moderate", "admin")
    table = {role: tuple(verb for verb in verbs if who.may(verb, "acme", "review")) for role, who in people.items()}
    assert table == {
        "nobody": (),
        "reader": ("read",),
        "publisher": ("read", "publish", "yank"),
        "admin": ("read", "publish", "yank", "manage"),
        "moderator": ("moderate",),
        "operator": verbs,
    }
    for role in ("reader", "publisher", "admin"):
        assert not any(people[role].may(verb, "other", "review") for verb in verbs)
        assert people[role].may("read")  # a private hub may be read
    assert people["admin"].scopes == ("account", "read", "read:acme", "publish:acme", "yank:acme", "manage:acme")


def test_a_role_that_is_taken_away_is_gone_from_every_token(hub: Hub) -> None:
    hub.database.write(lambda change: hub.ensure_owner(change, "acme", 0))
    ada = join(hub, "ada", "acme", "publisher")
    narrow = create_own_token(hub, ada, ("publish:acme/review",), "ci", 30)
    archive = make_archive()
    sent = ("acme", "review", "1.0.0", archive.data, archive.digest)
    assert hub.identify(narrow.token).scopes == narrow.scopes == ("publish:acme/review",)
    assert hub.publish(hub.identify(narrow.token), *sent).created
    set_member(hub, OPERATOR, "acme", "ada", "reader")
    assert hub.identify(narrow.token).scopes == ()
    assert again(hub, ada).scopes == ("account", "read", "read:acme")
    set_member(hub, OPERATOR, "acme", "ada", "")
    assert again(hub, ada).scopes == ("account", "read")
    by = {"kind": "operator", "account": "operator", "detail": ""}
    changed = {"act": "member", "owner": "acme", "account": "ada", "by": by}
    assert acts(hub, "member")[1:] == [{**changed, "role": "reader"}, {**changed, "role": None}]


def test_nobody_gives_more_than_they_have(hub: Hub) -> None:
    hub.database.write(lambda change: hub.ensure_owner(change, "acme", 0))
    hub.database.write(lambda change: hub.ensure_owner(change, "other", 0))
    admin, publisher = join(hub, "ada", "acme", "admin"), join(hub, "bob", "acme", "publisher")
    robot = hub.identify(hub.create_token("robot", ("publish:acme",)))
    join(hub, "eve")
    no = (RefusedError, "not-allowed")
    for call in (
        lambda: set_member(hub, publisher, "acme", "bob", "admin"),
        lambda: set_member(hub, publisher, "acme", "eve", "reader"),
        lambda: set_member(hub, publisher, "acme", "ada", ""),
        lambda: set_member(hub, admin, "other", "ada", "admin"),
        lambda: set_hub_role(hub, admin, "ada", "admin"),
        lambda: invite(hub, admin, "", "moderator"),
        lambda: invite(hub, admin, "other", "reader"),
        lambda: invite(hub, publisher, "acme", "reader"),
        lambda: create_own_token(hub, publisher, ("manage:acme",), "", 1),
        lambda: create_own_token(hub, publisher, ("publish:other",), "", 1),
        lambda: create_own_token(hub, publisher, ("admin",), "", 1),
        lambda: create_own_token(hub, publisher, (), "", 1),
        lambda: create_own_token(hub, robot, ("publish:acme",), "", 1),  # the operator decides how long it lives
        lambda: create_owner(hub, admin, "mine"),
        lambda: list_members(hub, admin, "other"),
        lambda: list_tokens(hub, robot),
    ):
        assert refused(call) == no
    assert refused(lambda: set_member(hub, ANYBODY, "acme", "", "")) == (RefusedError, "token-needed")
    assert refused(lambda: set_member(hub, admin, "acme", "nobody", "reader")) == (NotFoundError, "account-not-found")
    assert refused(lambda: set_member(hub, admin, "acme", "bob", "king")) == (UsageError, "bad-request")
    assert [(member.account, member.role) for member in list_members(hub, publisher, "acme")] == [
        ("ada", "admin"),
        ("bob", "publisher"),
    ]
    set_member(hub, publisher, "acme", "bob", "")  # whoever wants to may leave
    assert len(list_members(hub, admin, "acme")) == 1


def test_the_last_admin_stays_unless_the_operator_decides(hub: Hub) -> None:
    hub.database.write(lambda change: hub.ensure_owner(change, "acme", 0))
    ada = join(hub, "ada", "acme", "admin")
    for role in ("", "reader"):
        assert refused(lambda: set_member(hub, ada, "acme", "ada", role)) == (ConflictError, "last-admin")  # noqa: B023
    join(hub, "bob", "acme", "admin")
    set_member(hub, ada, "acme", "ada", "")
    set_member(hub, OPERATOR, "acme", "bob", "")
    assert list_members(hub, OPERATOR, "acme") == ()


def test_everybody_creates_owners_where_the_hub_is_open(hub: Hub) -> None:
    ada = join(hub, "ada")
    assert refused(lambda: create_owner(hub, ada, "mine")) == (RefusedError, "not-allowed")
    hub.settings = hub.settings._replace(open_owners=True)
    assert create_owner(hub, ada, "mine")[:3] == ("mine", "community", "")
    assert refused(lambda: create_owner(hub, ada, "mine")) == (ConflictError, "owner-exists")
    assert refused(lambda: create_owner(hub, ada, "Not a name")) == (UsageError, "bad-request")
    for number in range(4):
        create_owner(hub, ada, f"mine-{number}")
    assert refused(lambda: create_owner(hub, ada, "one-more")) == (RefusedError, "too-many-owners")
    assert refused(lambda: hub.database.read(lambda ask: find_owner(ask, "one-more")))[1] == "owner-not-found"


def test_an_invitation_works_once_and_not_for_ever(hub: Hub) -> None:
    hub.database.write(lambda change: hub.ensure_owner(change, "acme", 0))
    made = invite(hub, OPERATOR, "acme", "publisher")
    assert made.link == f"http://localhost/invitation#{made.secret}"
    assert made.secret not in str(hub.database.read(lambda ask: ask.all("SELECT * FROM invitations")))
    missing = (NotFoundError, "invitation-not-found")
    assert refused(lambda: accept_invitation(hub, ANYBODY, "guess", "ada", "")) == missing
    assert refused(lambda: accept_invitation(hub, ANYBODY, made.secret, "operator", "")) == (UsageError, "bad-account")
    got = accept_invitation(hub, ANYBODY, made.secret, "ada", "laptop")
    assert (got.account, got.owner, got.role) == ("ada", "acme", "publisher")
    assert got.scopes == ("account", "read", "read:acme", "publish:acme", "yank:acme")
    assert refused(lambda: accept_invitation(hub, ANYBODY, made.secret, "bob", "")) == missing
    taken = invite(hub, OPERATOR, "acme", "admin").secret
    assert refused(lambda: accept_invitation(hub, ANYBODY, taken, "ada", "")) == (ConflictError, "account-exists")
    ada = hub.identify(got.token)
    assert accept_invitation(hub, ada, taken, "", "").role == "admin"  # it was not used up by the failure
    lower = invite(hub, OPERATOR, "acme", "reader").secret
    accept_invitation(hub, again(hub, ada), lower, "", "")
    assert list_members(hub, OPERATOR, "acme")[0].role == "admin"
    late = invite(hub, OPERATOR, "acme", "reader", 1).secret
    noon = hub.now()
    hub._clock = lambda: (noon + 86_400) * 10**9
    assert refused(lambda: accept_invitation(hub, ANYBODY, late, "late", "")) == missing
    by = {"kind": "invitation", "account": "operator", "detail": "ada"}
    joined = {"act": "member", "owner": "acme", "account": "ada", "by": by}
    assert acts(hub, "member") == [{**joined, "role": "publisher"}, {**joined, "role": "admin"}]


def test_an_invitation_of_somebody_who_lost_the_power_is_worth_nothing(hub: Hub) -> None:
    hub.database.write(lambda change: hub.ensure_owner(change, "acme", 0))
    ada = join(hub, "ada", "acme", "admin")
    secret = invite(hub, ada, "acme", "admin").secret
    set_member(hub, OPERATOR, "acme", "ada", "reader")
    assert refused(lambda: accept_invitation(hub, ANYBODY, secret, "friend", ""))[1] == "invitation-not-found"
    set_member(hub, OPERATOR, "acme", "ada", "admin")
    assert accept_invitation(hub, ANYBODY, secret, "friend", "").role == "admin"


def test_people_look_after_their_own_tokens(hub: Hub) -> None:
    ada, eve = join(hub, "ada"), join(hub, "eve")
    second = create_own_token(hub, ada, ("read",), "phone", 10)
    listed = list_tokens(hub, ada)["tokens"]
    assert [(token["label"], token["scopes"]) for token in listed] == [("laptop", ["account"]), ("phone", ["read"])]
    number = listed[1]["id"]
    assert refused(lambda: revoke_own_token(hub, eve, number)) == (NotFoundError, "token-not-found")
    assert refused(lambda: revoke_own_token(hub, hub.identify(second.token), ada.token))[1] == "not-allowed"
    assert revoke_own_token(hub, ada, number) == {"revoked": 1}
    assert refused(lambda: hub.identify(second.token)) == (RefusedError, "token-needed")
    assert revoke_own_token(hub, ada, 0) == {"revoked": 1}
    assert [entry["account"] for entry in acts(hub, "revoke")] == ["ada", "ada"]
    for _ in range(49):
        create_own_token(hub, eve, ("read",), "", 1)
    assert refused(lambda: create_own_token(hub, eve, ("read",), "", 1)) == (RefusedError, "too-many-tokens")
    assert refused(lambda: create_own_token(hub, eve, ("read",), "", 400)) == (UsageError, "bad-request")

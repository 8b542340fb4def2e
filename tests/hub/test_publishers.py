"""Trusted publishing: workflows that prove where they run, and tokens that prove nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hub.issuer import Issuer, issuing
from hub.world import ACME, NOON, make_archive, refused
from whet.errors import NotFoundError, RefusedError, UsageError
from whet.hub.publishers import add_publisher, exchange, list_publishers, providers, remove_publisher
from whet.hub.settings import OwnProvider
from whet.hub.tokens import OPERATOR, Identity
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.hub.registry import Hub

BOUND = {"provider": "work", "repository": "acme/tools", "repository_id": "42", "owner_id": "7"}
REFUSED = (RefusedError, "identity-refused")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


@pytest.fixture
def trusting(hub: Hub, issuer: Issuer) -> Hub:
    """A hub that trusts the issuer as a GitHub of its own."""
    hub.web = Web(env={}, private_hosts=("127.0.0.1",), timeout=10, total=10)
    hub.settings = hub.settings._replace(providers=(OwnProvider("work", issuer.url, "github"),))
    hub.database.write(lambda change: hub.ensure_owner(change, "acme", 0))
    return hub


def claims(issuer: Issuer, **changed: Any) -> dict[str, Any]:
    """What a workflow's token says."""
    return {
        "iss": issuer.url,
        "aud": "hub.example",
        "iat": NOON,
        "nbf": NOON,
        "exp": NOON + 300,
        "jti": "run-1",
        "sub": "repo:acme/tools:ref:refs/tags/v1.0.0",
        "repository": "acme/tools",
        "repository_id": "42",
        "repository_owner_id": "7",
        "job_workflow_ref": "acme/tools/.github/workflows/release.yml@refs/tags/v1.0.0",
        "ref": "refs/tags/v1.0.0",
        "sha": "c0ffee",
        "run_id": "99",
        **changed,
    }


def test_a_workflow_publishes_a_skill_that_did_not_exist(trusting: Hub, issuer: Issuer) -> None:
    made = add_publisher(trusting, OPERATOR, "acme", {**BOUND, "name": "review", "workflow": "release.yml"})
    got = exchange(trusting, issuer.sign(claims(issuer)))
    assert (got.account, got.scopes, got.expires) == ("work:42", ("publish:acme/review",), NOON + 900)
    who = trusting.identify(got.token)
    archive = make_archive()
    done = trusting.publish(who, "acme", "review", "1.0.0", archive.data, archive.digest)
    document = json.loads(done.document)
    assert document["publisher"] == {
        "kind": "oidc",
        "account": "work:42",
        "detail": "acme/tools@refs/tags/v1.0.0",
        "provider": "work",
        "repository": "acme/tools",
        "repository_id": "42",
        "owner_id": "7",
        "workflow": "acme/tools/.github/workflows/release.yml@refs/tags/v1.0.0",
        "environment": "",
        "ref": "refs/tags/v1.0.0",
        "commit": "c0ffee",
        "run": "99",
    }
    assert json.loads(document["log"]["entry"])["publisher"] == document["publisher"]
    other = make_archive("other")
    assert (
        refused(lambda: trusting.publish(who, "acme", "other", "1.0.0", other.data, other.digest))[1] == "not-allowed"
    )
    assert list_publishers(trusting, OPERATOR, "acme")["publishers"][0]["used"] == "2027-01-15T08:00:00Z"
    assert remove_publisher(trusting, OPERATOR, "acme", made["id"]) == {"removed": made["id"]}
    assert refused(lambda: trusting.identify(got.token)) == (RefusedError, "token-needed")
    again = issuer.sign(claims(issuer, jti="run-2"))
    assert refused(lambda: exchange(trusting, again)) == (RefusedError, "publisher-not-trusted")


def test_a_token_is_good_once_on_all_replicas(trusting: Hub, issuer: Issuer) -> None:
    add_publisher(trusting, OPERATOR, "acme", BOUND)
    token = issuer.sign(claims(issuer))
    assert exchange(trusting, token).scopes == ("publish:acme",)
    assert refused(lambda: exchange(trusting, token)) == REFUSED
    trusting._clock = lambda: (NOON + 350) * 10**9  # when others are used, old numbers are forgotten, this one is not
    assert exchange(trusting, issuer.sign(claims(issuer, jti="run-2", exp=NOON + 700)))
    assert refused(lambda: exchange(trusting, token)) == REFUSED


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")  # one of the keys is too short on purpose
def test_forged_tokens_are_refused(trusting: Hub, issuer: Issuer) -> None:
    add_publisher(trusting, OPERATOR, "acme", BOUND)
    good = claims(issuer)
    stranger = ec.generate_private_key(ec.SECP256R1())
    public = issuer.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    issuer.add_rsa(1024)
    signed = issuer.sign(good)
    head, body, signature = signed.split(".")
    changed = base64.urlsafe_b64encode(json.dumps({**good, "repository_id": "1"}).encode()).decode().rstrip("=")
    no_time = {name: value for name, value in good.items() if name != "exp"}
    no_number = {name: value for name, value in good.items() if name != "jti"}
    forged = {
        "nothing": "",
        "no token": "a.b.c",
        "too long": signed + "A" * 20_000,
        "alg none": jwt.encode(good, "", "none", headers={"kid": "first"}),
        "public key as secret": _shared_secret(good, public),
        "key of a stranger": jwt.encode(good, stranger, "ES256", headers={"kid": "first"}),
        "key in the header": jwt.encode(good, stranger, "ES256", headers={"kid": "x", "jwk": {"kty": "EC"}}),
        "unknown key": jwt.encode(good, stranger, "ES256", headers={"kid": "second"}),
        "short key": issuer.sign(good, "rsa-1024"),
        "changed body": f"{head}.{changed}.{signature}",
        "no signature": f"{head}.{body}.",
        "other audience": issuer.sign({**good, "aud": "other.example"}),
        "two audiences": issuer.sign({**good, "aud": ["hub.example", "other.example"]}),
        "no audience": issuer.sign({name: value for name, value in good.items() if name != "aud"}),
        "other issuer": issuer.sign({**good, "iss": "https://token.actions.githubusercontent.com"}),
        "issuer with a slash": issuer.sign({**good, "iss": f"{issuer.url}/"}),
        "issuer of a stranger": issuer.sign({**good, "iss": "https://issuer.example"}),
        "expired": issuer.sign({**good, "exp": NOON - 61}),
        "not good yet": issuer.sign({**good, "nbf": NOON + 61}),
        "from the future": issuer.sign({**good, "iat": NOON + 61}),
        "for ever": issuer.sign(no_time),
        "time as text": issuer.sign({**no_time, "exp": str(NOON + 300)}),
        "no number": issuer.sign(no_number),
        "unknown extension": issuer.sign(good, crit=["x"]),
    }
    taken = {what: refused(lambda: exchange(trusting, token)) for what, token in forged.items()}  # noqa: B023
    assert taken == dict.fromkeys(forged, REFUSED)
    assert exchange(trusting, signed).account == "work:42"  # the failures did not use it up


def _shared_secret(said: dict[str, Any], public: bytes) -> str:
    """A token signed with the public key as if it were a shared secret."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "HS256", "kid": "first"}, said)
    ]
    mac = hmac.new(public, ".".join(parts).encode(), hashlib.sha256).digest()
    return ".".join((*parts, base64.urlsafe_b64encode(mac).decode().rstrip("=")))


def test_only_the_run_that_was_meant_may_publish(trusting: Hub, issuer: Issuer) -> None:
    narrow = {**BOUND, "workflow": "release.yml", "environment": "production", "ref": "refs/tags/v*"}
    add_publisher(trusting, OPERATOR, "acme", narrow)
    meant = {"environment": "production"}
    others: list[dict[str, Any]] = [
        {},
        {**meant, "ref": "refs/heads/main"},
        {**meant, "job_workflow_ref": "acme/tools/.github/workflows/test.yml@refs/tags/v1.0.0"},
        {**meant, "job_workflow_ref": "eve/tools/.github/workflows/release.yml@refs/tags/v1.0.0"},
        {**meant, "repository_id": "43"},  # another repository that has taken the name
        {**meant, "repository_owner_id": "8"},
        {**meant, "repository_id": 42.5},
    ]
    for number, changed in enumerate(others):
        token = issuer.sign(claims(issuer, jti=f"other-{number}", **changed))
        assert refused(lambda: exchange(trusting, token)) == (RefusedError, "publisher-not-trusted")  # noqa: B023
    assert exchange(trusting, issuer.sign(claims(issuer, **meant))).scopes == ("publish:acme",)


def test_keys_are_fetched_seldom_kept_and_used_when_the_issuer_is_down(trusting: Hub, issuer: Issuer) -> None:
    add_publisher(trusting, OPERATOR, "acme", BOUND)
    for number in range(5):
        exchange(trusting, issuer.sign(claims(issuer, jti=f"run-{number}")))
    assert issuer.fetched == 1
    stranger = ec.generate_private_key(ec.SECP256R1())
    for number in range(20):  # names of keys that nobody has do not make the hub ask again and again
        token = jwt.encode(claims(issuer), stranger, "ES256", headers={"kid": f"odd-{number}"})
        assert refused(lambda: exchange(trusting, token)) == REFUSED  # noqa: B023
    assert issuer.fetched == 1
    later = NOON + 120
    trusting._clock = lambda: later * 10**9
    issuer.keys["second"] = ec.generate_private_key(ec.SECP256R1())
    assert exchange(trusting, issuer.sign(claims(issuer, jti="new-key"), "second")).account == "work:42"
    assert issuer.fetched == 2
    issuer.down = True
    much = NOON + 30 * 3600
    trusting._clock = lambda: much * 10**9
    assert exchange(trusting, issuer.sign(claims(issuer, jti="down", exp=much + 60)))
    assert issuer.fetched == 2


def test_binding_a_repository_needs_an_admin_and_its_numbers(trusting: Hub) -> None:
    bad = (UsageError, "bad-request")
    for changed in (
        {"provider": "odd"},
        {"repository_id": "acme/tools"},
        {"owner_id": ""},
        {"repository": ""},
        {"workflow": "a b"},
        {"name": "Not A Name"},
        {"ref": "x" * 201},
    ):
        assert refused(lambda: add_publisher(trusting, OPERATOR, "acme", {**BOUND, **changed})) == bad  # noqa: B023
    assert refused(lambda: add_publisher(trusting, ACME, "acme", BOUND)) == (RefusedError, "not-allowed")
    assert refused(lambda: list_publishers(trusting, Identity("eve", ("read",), "token"), "acme"))[1] == "not-allowed"
    assert refused(lambda: remove_publisher(trusting, OPERATOR, "acme", 9)) == (NotFoundError, "publisher-not-found")
    for _ in range(50):
        add_publisher(trusting, OPERATOR, "acme", BOUND)
    assert refused(lambda: add_publisher(trusting, OPERATOR, "acme", BOUND)) == (RefusedError, "too-many-publishers")


def test_the_table_of_platforms_has_its_shape() -> None:
    known = providers(())
    assert {*known} == {"github", "gitlab"}
    for provider in known.values():
        assert provider.issuer.startswith("https://") and not provider.issuer.endswith("/")
        assert {"{repository}", "{file}"} <= {*re.findall(r"\{\w+\}", provider.raw)}
        assert {"{repository}", "{workflow}"} <= {*re.findall(r"\{\w+\}", provider.workflow_ref)}
        assert all(provider)

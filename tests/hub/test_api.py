"""The API as a whole: every method of every address has a permission, a row in the OpenAPI document and a shape."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest

from hub.issuer import CLIENT, Issuer, issuing
from hub.server import SKILL, VERSION, Answer, Served, serving
from hub.world import ACME, Archive, make_archive, state_evals
from whet.hub.app import OPEN, ROUTES
from whet.hub.checker import Held as TooSlow
from whet.hub.instance import open_hub
from whet.hub.openapi import describe_api

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

ROLES = ("", "reader", "bob", "ada", "mo", "admin")
"""Nobody, somebody who may read, a publisher of another skill, one of this skill, a moderator, the administrator."""
MAY: Mapping[str, tuple[str, ...]] = {
    "": ROLES,
    "token": ROLES[1:],
    "read": ("reader", "bob", "admin"),
    "publish": ("ada", "admin"),
    "yank": ("ada", "admin"),
    "moderate": ("mo", "admin"),
    "admin": ("admin",),
}
BY_THE_SUBJECT = (
    "/api/v1/account/",
    "/api/v1/accounts/",
    "/api/v1/owners",
    "/api/v1/invitations",
    "/api/v1/login",
    "/api/v1/tokens/exchange",
)
"""Addresses whose permission depends on more than the address: `test_people_http.py` and others have their tables."""
COLLECTION = "/api/v1/collections/acme/starters"
OCTO = "/api/v1/owners/octo"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "sqlite") as served:
        yield served


def fill(path: str) -> str:
    values = {
        "owner": "acme",
        "name": "review",
        "slug": "review",
        "version": "1.0.0",
        "collection": "starters",
        "skill_owner": "acme",
        "skill_name": "review",
        "tag": "beta",
        "number": "0",
        "rest": "0/000.p/1",
        "digest": make_archive().digest,
    }
    return re.sub(r"\{(\w+)(?::path)?\}", lambda match: values[match[1]], path)


def test_every_method_of_every_address_has_its_permission(hub: Served) -> None:
    assert hub.publish().status == 201
    hub.ask("PUT", COLLECTION, "ada", b'{"title": "For a start"}')
    asked = 0
    for route in ROUTES:
        if route.path.startswith(BY_THE_SUBJECT):
            continue
        assert route.method == "GET" or route.needs, route  # nothing is changed without a permission
        for role in ROLES:
            answer = hub.ask(route.method, fill(route.path), role, b"" if route.method in ("GET", "DELETE") else b"{}")
            refused = 401 if role == "" else 403
            allowed = role in MAY[route.needs]
            got = (route.method, route.path, role, answer.status)
            assert (answer.status == refused) is not allowed, got
            assert allowed or answer.json["code"] == ("token-needed" if role == "" else "not-allowed"), got
            assert answer.status < 500, got
            asked += 1
    assert asked >= 6 * 39


def test_every_answer_tells_the_limits_and_is_not_guessed_at(hub: Served) -> None:
    for method, path in (("GET", "/api/v1"), ("GET", "/nowhere"), ("POST", "/api/v1"), ("PUT", VERSION)):
        headers = hub.ask(method, path).headers
        assert int(headers["ratelimit-limit"]) > int(headers["ratelimit-remaining"]) >= 0, (method, path)
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-cache")
    assert hub.ask("POST", "/api/v1").code == (405, "bad-method")
    assert {*hub.ask("POST", "/api/v1").headers["allow"].split(", ")} == {"GET", "HEAD"}


def test_every_read_has_a_tag(hub: Served) -> None:
    assert hub.publish().status == 201
    for path in ("/api/v1", "/api/v1/skills", SKILL, f"{SKILL}/versions", VERSION, "/api/v1/search?q=review"):
        tag = hub.ask("GET", path).headers["etag"]
        again = hub.ask("GET", path, If_None_Match=tag)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    before = hub.ask("GET", SKILL).headers["etag"]
    hub.ask("PUT", f"{VERSION}/yank", "ada", b'{"reason": "Broken."}')
    assert hub.ask("GET", SKILL, If_None_Match=before).status == 200


def test_metrics_count_answers_without_names(hub: Served) -> None:
    assert hub.publish().status == 201
    hub.ask("GET", VERSION)
    assert hub.ask("GET", "/metrics").code == (401, "token-needed")
    answer = hub.ask("GET", "/metrics", "reader")
    text = answer.body.decode()
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    path = "/api/v1/skills/{owner}/{name}/versions/{version}"
    assert f'whet_hub_requests_total{{method="GET",path="{path}",status="200"}} 1\n' in text
    assert f'whet_hub_requests_total{{method="PUT",path="{path}",status="201"}} 1\n' in text
    for line in ("whet_hub_skills 1", "whet_hub_versions 1", 'whet_hub_request_seconds_bucket{le="+Inf"} 3'):
        assert f"{line}\n" in text
    assert "acme" not in text and "review" not in text
    for line in text.splitlines():
        assert re.fullmatch(r'# TYPE \w+ (counter|gauge|histogram)|\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+-]+', line), line


class Held(Served):
    """A hub whose every answer is held against the OpenAPI document."""

    def __init__(self, served: Served) -> None:
        super().__init__(served.port, served.tokens)
        self.document = served.ask("GET", "/api/v1/openapi.json").json
        self.done: set[tuple[str, str]] = set()

    def ask(self, method: str, path: str, who: str = "", body: bytes = b"", **headers: str) -> Answer:
        answer = super().ask(method, path, who, body, **headers)
        shape = next(known for known in self.document["paths"] if matches(known, path.partition("?")[0]))
        operation = self.document["paths"][shape][method.lower()]
        documented = operation["responses"].get(str(answer.status), operation["responses"]["default"])
        assert answer.status >= 400 or str(answer.status) in operation["responses"], (method, path, answer.status)
        kind, content = next(iter(documented.get("content", {"": {}}).items()))
        assert answer.headers.get("content-type", "").partition(";")[0] == kind, (method, path)
        if kind == "application/json":
            components = closed(self.document["components"])
            jsonschema.validate(answer.json, {**closed(content["schema"]), "components": components})
        if answer.status < 400:
            self.done.add((method, shape))
        return answer


def matches(shape: str, path: str) -> bool:
    parts = (".+" if part == "{rest}" else "[^/]+" if part[:1] == "{" else re.escape(part) for part in shape.split("/"))
    return re.fullmatch("/".join(parts), path) is not None


def closed(schema: Any) -> Any:
    """The same schema, without fields that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {**{name: closed(part) for name, part in schema.items()}, **more}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


def test_every_route_answers_as_the_document_says(tmp_path: Path, issuer: Issuer) -> None:
    config = (
        f'private_hosts = ["127.0.0.1"]\nurl = "http://hub.test"\nresolver = "{issuer.url}/dns-query"\n'
        f'[login]\nissuer = "{issuer.url}"\nclient_id = "{CLIENT}"\n'
        f'[[providers]]\nname = "work"\nissuer = "{issuer.url}"\nlike = "github"\n'
    )
    with serving(tmp_path, "sqlite", config=config) as hub:
        with closing(open_hub(str(tmp_path / "hub"))) as same:
            same.hold(("acme", "slow", "1.0.0"), TooSlow("The scan took too long."), *make_archive("slow"), ACME)
        walk_everything(Held(hub), issuer)


def prove(archive: Archive, sha256: str) -> str:
    """The header with a statement about the evals of a skill."""
    return base64.b64encode(state_evals(archive, sha256)).decode()


def test_a_statement_about_evals_that_does_not_fit_is_refused(hub: Served) -> None:
    archive = make_archive(evals_json="[]")
    send = partial(hub.ask, "PUT", VERSION, "ada", archive.data, Whet_Digest=archive.digest)
    right = hashlib.sha256(b"[]").hexdigest()
    for evals in (prove(archive, "0" * 64), prove(make_archive(), right), base64.b64encode(b"{}").decode()):
        assert send(Whet_Evals=evals).code == (422, "bad-evals")
    assert send(Whet_Evals="?").code == (400, "bad-request")
    assert hub.ask("GET", VERSION).code == (404, "version-not-found")
    assert send(Whet_Evals=prove(archive, right)).status == 201
    assert send().status == 200


def walk_everything(held: Held, issuer: Issuer) -> None:
    for _ in range(2):
        assert held.publish().status in (200, 201)
    archive = make_archive(body="# Review\n\n1. Twice.\n", evals_json="[]")
    other = VERSION.replace("1.0.0", "1.1.0")
    evals = prove(archive, hashlib.sha256(b"[]").hexdigest())
    made = held.ask("POST", other, "ada", archive.data, Whet_Digest=archive.digest, Whet_Evals=evals)
    assert made.json["evals"]["triggers"]["messages"] == 20
    assert json.loads(made.json["log"]["entry"])["evals"]["key"] == made.json["evals"]["key"]

    def put(path: str, who: str = "ada", **fields: str) -> Answer:
        return held.ask("PUT", path, who, json.dumps(fields).encode())

    put(f"{SKILL}/tags/beta", version="1.1.0")
    put(f"{SKILL}/status", status="deprecated", reason="Old.")
    put(f"{VERSION}/security", "mo", fixes="A leak.")
    put(f"{VERSION}/yank", reason="Broken.")
    put(f"{VERSION}/quarantine", "mo", reason="A report.")

    def post(path: str, who: str, **fields: str) -> Answer:
        return held.ask("POST", path, who, json.dumps(fields).encode())

    assert post(f"{VERSION}/reports", "bob", kind="malware", text="It sends keys away.").status == 201
    assert post(f"{VERSION}/appeal", "ada", text="It does not.").status == 201
    case = held.ask("GET", "/api/v1/cases", "mo").json["cases"][0]["id"]
    assert held.ask("GET", f"/api/v1/cases/{case}/archive", "mo").body == make_archive("slow").data
    assert put(f"/api/v1/cases/{case}/decision", "mo", decision="dismiss", reason="It is fine.").status == 200
    assert held.ask("GET", f"{VERSION}/verdicts").status == 200
    put(f"{VERSION}/quarantine", "mo", reason="Another report.")
    put(COLLECTION, title="For a start")
    put(f"{COLLECTION}/skills/acme/review", note="First.")
    digest = make_archive().digest
    for path in (
        "/api/v1",
        "/api/v1/openapi.json",
        "/api/v1/skills",
        "/api/v1/skills?name=review&limit=5",
        "/api/v1/search?q=review",
        SKILL,
        f"{SKILL}/similar",
        f"{SKILL}/versions",
        VERSION,
        f"/api/v1/digests/{digest}",
        "/api/v1/collections",
        COLLECTION,
        "/api/v1/changes",
        "/api/v1/log/proof/0",
        "/api/v1/log/consistency/1",
        "/log/checkpoint",
        "/log/tile/0/000.p/1",
        "/healthz",
        "/readyz",
        f"{other}/archive",
        "/.well-known/agent-skills/index.json",
        "/acme/.well-known/agent-skills/index.json",
        "/.well-known/agent-skills/acme/review/1.1.0.zip",
        "/.claude-plugin/marketplace.json",
        "/acme/.claude-plugin/marketplace.json",
        "/.well-known/clawhub.json",
        "/clawhub/api/v1/search?q=review",
        "/clawhub/api/v1/skills",
        "/clawhub/api/v1/skills/review?ownerHandle=acme",
        "/clawhub/api/v1/skills/review/versions",
        "/clawhub/api/v1/skills/review/versions/1.1.0",
        "/clawhub/api/v1/download?slug=review",
    ):
        assert held.ask("GET", path).status == 200, path
    held.ask("DELETE", f"{VERSION}/quarantine", "mo")
    held.ask("GET", f"{SKILL}/diff?from=1.0.0&to=1.1.0")
    held.ask("DELETE", f"{VERSION}/yank", "ada")
    held.ask("DELETE", f"{VERSION}/security", "mo")
    held.ask("DELETE", f"{SKILL}/tags/beta", "ada")
    held.ask("DELETE", f"{COLLECTION}/skills/acme/review", "ada")
    held.ask("DELETE", COLLECTION, "ada")
    put(f"{SKILL}/visibility", visibility="private")
    held.ask("GET", VERSION, "ada")
    held.ask("GET", "/api/v1/changes", "ada")
    held.ask("GET", "/metrics", "reader")
    held.ask("GET", "/api/v1/account", "ada")
    for failing in (("GET", VERSION), ("GET", "/api/v1/search"), ("PUT", f"{VERSION}/yank")):
        assert held.ask(*failing).status >= 400
    walk_people(held, issuer)
    shapes = {(route.method, re.sub(r":path\}", "}", route.path)) for route in ROUTES}
    assert shapes - held.done == set()


def walk_people(held: Held, issuer: Issuer) -> None:
    """Everything about owners, members, tokens, tiers, workflows and logins."""

    def send(method: str, path: str, who: str = "", *, status: int = 200, **fields: str) -> Any:
        answer = held.ask(method, path, who, json.dumps(fields).encode() if method in ("PUT", "POST") else b"")
        assert answer.status == status, (method, path, answer.body)
        return answer.json

    send("POST", "/api/v1/owners", "admin", status=201, owner="octo")
    made = send("POST", "/api/v1/invitations", "admin", status=201, owner="octo", role="admin")
    invitation = made["invitation"]
    eve = send("POST", "/api/v1/invitations/accept", status=201, invitation=invitation, account="eve")["token"]
    own = send("POST", "/api/v1/account/tokens", eve, status=201, scopes="read", label="phone", days="3")
    numbers = {token["label"]: token["id"] for token in send("GET", "/api/v1/account/tokens", eve)["tokens"]}
    send("DELETE", f"/api/v1/account/tokens/{numbers['phone']}", eve)
    send("GET", "/api/v1/account", own["token"], status=401)
    send("PUT", "/api/v1/accounts/mo/role", "admin", role="moderator")
    send("DELETE", "/api/v1/accounts/mo/role", "admin")
    send("PUT", f"{OCTO}/members/mo", eve, role="reader")
    assert [member["account"] for member in send("GET", f"{OCTO}/members", eve)["members"]] == ["admin", "eve", "mo"]
    send("DELETE", f"{OCTO}/members/mo", eve)

    issuer.records["_whet.octo.example"] = "whet-owner=hub.example/octo"
    assert send("POST", f"{OCTO}/proofs", eve, kind="dns", value="octo.example")["tier"] == "verified"
    assert [proof["value"] for proof in send("GET", f"{OCTO}/proofs")["proofs"]] == ["octo.example"]
    send("PUT", f"{OCTO}/tier", "admin", tier="official", reason="We make it.")
    assert send("GET", OCTO)["won"] == "We make it."

    bound = {"provider": "work", "repository": "octo/tools", "repository_id": "42", "owner_id": "7"}
    number = send("POST", f"{OCTO}/publishers", eve, status=201, **bound)["id"]
    now = int(time.time())
    said = {"iss": issuer.url, "aud": "hub.example", "iat": now, "exp": now + 300, "jti": "run-1"}
    claims = {**said, "repository": "octo/tools", "repository_id": "42", "repository_owner_id": "7", "sha": "c0ffee"}
    workflow = send("POST", "/api/v1/tokens/exchange", status=201, token=issuer.sign(claims))["token"]
    published = held.publish(workflow, "/api/v1/skills/octo/lint/versions/1.0.0", name="lint")
    assert (published.status, published.json["publisher"]["commit"]) == (201, "c0ffee")
    assert send("GET", f"{OCTO}/publishers", eve)["publishers"][0]["used"]
    send("DELETE", f"{OCTO}/publishers/{number}", eve)

    challenge = base64.urlsafe_b64encode(hashlib.sha256(b"v" * 43).digest()).decode().rstrip("=")
    query = {"redirect_uri": "http://127.0.0.1:9/callback", "state": "my-own-state", "code_challenge": challenge}
    begun = held.ask("GET", f"/api/v1/login?{urlencode({**query, 'code_challenge_method': 'S256'})}")
    there = urlsplit(begun.headers["location"])
    back = Served(int(there.port or 0), {}).ask("GET", f"{there.path}?{there.query}").headers["location"]
    cookie = begun.headers["set-cookie"].partition(";")[0]
    done = held.ask("GET", back.removeprefix("http://hub.test"), Cookie=cookie)
    code = parse_qs(urlsplit(done.headers["location"]).query)["code"][0]
    jane = send("POST", "/api/v1/login/token", status=201, code=code, code_verifier="v" * 43, label="laptop")
    assert jane["account"] == "jane-doe"
    assert send("DELETE", "/api/v1/account/token", jane["token"]) == {"revoked": 1}


def test_the_document_is_complete_and_true() -> None:
    document = describe_api(ROUTES)
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names)) == len(ROUTES)
    used = {*re.findall(r'#/components/schemas/(\w+)"', json.dumps(document))}
    assert used == {*document["components"]["schemas"]}
    assert [path for path in OPEN if path not in document["paths"]] == []

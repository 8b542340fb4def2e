"""The page that says what a hub does (`docs/hub-api.md`), held against the hub of these tests."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any

from sources.hub_server import Hub, hub_serving, precedence
from sources.reaching import main, reach, sha256
from sources.test_hub import BETTER, HEX, REVIEW, digest_of, filled
from whet.skill.tree import Item
from whet.sources.model import Ref
from whet.sources.registries.wellknown import WellKnownSource

if TYPE_CHECKING:
    from sources.hub_server import Server


def ask(server: Server, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], Any]:
    connection = http.client.HTTPConnection(server.host)
    try:
        connection.request(
            method, path, body or None, {name.replace("_", "-"): value for name, value in headers.items()}
        )
        given = connection.getresponse()
        data = given.read()
        told = {name.lower(): value for name, value in given.getheaders()}
        return given.status, told, json.loads(data) if data and "json" in told["content-type"] else data
    finally:
        connection.close()


def test_a_hub_says_what_it_is_and_what_it_takes() -> None:
    hub = filled()
    hub.private = True
    with hub_serving(hub) as server:
        status, _, said = ask(server, "GET", "/api/v1")
        assert (status, said["hub"], said["api"], said["private"]) == (200, "whet", 1, True)
        assert ask(server, "GET", "/api/v1/skills")[0] == 401


def test_versions_are_listed_highest_first_and_contents_are_found_by_their_digest() -> None:
    hub = filled()
    hub.yank("acme", "review", "1.0.0", "Old.")
    with hub_serving(hub) as server:
        base = "/api/v1/skills/acme/review"
        assert ask(server, "GET", base)[2]["versions"] == 3
        page = ask(server, "GET", f"{base}/versions?limit=2")[2]
        rest = ask(server, "GET", f"{base}/versions?limit=2&cursor={page['next']}")[2]
        assert [each["version"] for each in page["versions"] + rest["versions"]] == ["2.0.0-rc.1", "1.10.0", "1.0.0"]
        assert (rest["versions"][0]["yanked"], rest["next"]) == ({"reason": "Old."}, None)
        found = ask(server, "GET", f"/api/v1/digests/{digest_of(REVIEW)}")[2]["versions"]
        assert [each["version"] for each in found] == ["1.0.0", "2.0.0-rc.1"]
        assert ask(server, "GET", f"/api/v1/digests/sha256:{HEX}")[2]["code"] == "digest-not-found"
        assert ask(server, "GET", "/api/v1/skills?limit=0")[2]["code"] == "bad-request"


def test_archives_can_be_kept_for_ever() -> None:
    with hub_serving(filled()) as server:
        path = "/api/v1/skills/acme/review/versions/1.10.0/archive"
        status, headers, body = ask(server, "GET", path)
        assert (status, body) == (200, BETTER)
        assert headers["etag"] == f'"sha256:{sha256(BETTER)}"'
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert ask(server, "GET", path, If_None_Match=headers["etag"])[0] == 304
        status, headers, body = ask(server, "HEAD", path)
        assert (status, headers["content-length"], body) == (200, str(len(BETTER)), b"")


def test_put_publishes_and_versions_are_yanked_and_taken_back() -> None:
    hub = Hub(tokens={"secret": {"acme"}})
    with hub_serving(hub) as server:
        path = "/api/v1/skills/acme/review/versions/1.0.0"
        token = {"Authorization": "Bearer secret"}
        status, headers, said = ask(server, "PUT", path, REVIEW, **token, Whet_Digest=digest_of(REVIEW))
        assert (status, headers["location"], said["signatures"]) == (201, path, [])
        assert said["files"][1] == {
            "path": "scripts/check.sh",
            "size": 10,
            "sha256": sha256(b"#!/bin/sh\n"),
            "executable": True,
        }
        assert ask(server, "PUT", f"{path}/yank", b'{"reason": "Bad."}')[0] == 401
        assert ask(server, "PUT", f"{path}/yank", b'{"reason": ""}', **token)[2]["code"] == "bad-request"
        assert ask(server, "PUT", f"{path}/yank", b'{"reason": "Bad."}', **token)[2]["yanked"] == {"reason": "Bad."}
        assert ask(server, "PUT", path, REVIEW, **token, Whet_Digest=digest_of(REVIEW))[2]["code"] == "version-exists"
        assert ask(server, "DELETE", f"{path}/yank", b"", **token)[2]["yanked"] is None
        assert ask(server, "DELETE", path)[2]["code"] == "bad-method"


def test_other_clients_can_install_from_a_hub() -> None:
    hub = filled()
    hub.yank("acme", "review", "1.10.0", "Bad.")
    with hub_serving(hub) as server:
        site = WellKnownSource(Ref("well-known", server.url), reach(server.web()))
        fetched = site.fetch(site.inspect().offers)
        assert [(package.offer.name, package.tree["SKILL.md"]) for package in fetched] == [
            ("review", Item(main("review", "Reviews changes."))),
            ("deploy", Item(main("deploy", "Deploys a service."))),
        ]
        assert fetched[0].tree["scripts/check.sh"].executable
        olga = WellKnownSource(Ref("well-known", f"{server.url}/olga"), reach(server.web()))
        assert [offer.description for offer in olga.inspect().offers] == ["Deploys elsewhere."]


def test_semantic_versions_are_ordered_as_their_page_says() -> None:
    rising = (
        "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.9.0 1.10.0"
    )
    assert sorted({*rising.split()}, key=precedence) == rising.split()

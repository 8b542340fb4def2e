"""The hub over real sockets: who may do what, what is refused, and the client against it."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from hub.server import SKILL, VERSION, Served, serving
from hub.world import make_archive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def hub(tmp_path: Path, address: str) -> Iterator[Served]:
    with serving(tmp_path, address) as served:
        yield served


def test_a_version_is_published_read_and_yanked(hub: Served) -> None:
    made = hub.publish()
    assert (made.status, made.headers["location"]) == (201, VERSION)
    assert hub.publish().status == 200
    assert hub.publish(body="# Other\n\n1. Do it.\n").code == (409, "version-exists")
    read = hub.ask("GET", VERSION)
    assert (read.status, read.body, read.headers["cache-control"]) == (200, made.body, "no-cache")
    again = hub.ask("GET", VERSION, If_None_Match=read.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    archive = hub.ask("GET", f"{VERSION}/archive")
    kept = archive.headers
    assert (archive.body, kept["content-type"]) == (make_archive().data, "application/zip")
    assert kept["etag"] == f'"sha256:{made.json["archive"]["sha256"]}"'
    assert kept["cache-control"] == "public, max-age=31536000, immutable"
    assert hub.ask("GET", f"{VERSION}/archive", "ada").headers["cache-control"].startswith("private, max-age")
    assert hub.ask("HEAD", f"{VERSION}/archive").headers["content-length"] == str(len(archive.body))
    digest = made.json["digest"]
    assert hub.ask("GET", f"/api/v1/digests/{digest}").json["versions"][0]["name"] == "review"
    diff = hub.ask("GET", f"{SKILL}/diff?from=1.0.0&to=1.0.0")
    assert (diff.json["diff"], diff.json["from"]) == ("", "1.0.0")
    assert hub.ask("GET", f"{SKILL}/diff?from=1.0.0&to=1.0.0", If_None_Match=diff.headers["etag"]).status == 304
    yanked = hub.ask("PUT", f"{VERSION}/yank", "ada", b'{"reason": "Broken."}')
    assert (yanked.status, yanked.json["yanked"]) == (200, {"reason": "Broken."})
    assert hub.ask("GET", "/api/v1/skills/acme/review").json["latest"] is None
    assert hub.ask("GET", f"{VERSION}/archive").status == 200  # a lock that names it can be restored
    assert hub.ask("DELETE", f"{VERSION}/yank", "ada").json["yanked"] is None
    acts = [change["act"] for change in hub.changes()]
    assert acts[-3:] == ["publish", "yank", "unyank"]
    assert hub.ask("GET", "/log/checkpoint").body.startswith(b"hub.example\n")
    size = len(acts)
    assert len(hub.ask("GET", f"/log/tile/0/000.p/{size}").body) == 32 * size
    assert hub.ask("GET", "/log/tile/entries/000.p/1").status == 200


def test_every_method_has_its_own_permission(hub: Served) -> None:
    assert hub.publish().status == 201
    reason = b'{"reason": "Because."}'
    status = b'{"status": "archived", "reason": "Done."}'
    version, fixes, private = b'{"version": "1.0.0"}', b'{"fixes": "A leak."}', b'{"visibility": "private"}'
    yank, quarantine = f"{VERSION}/yank", f"{VERSION}/quarantine"
    table: list[tuple[str, str, bytes, dict[str, int]]] = [
        ("GET", VERSION, b"", {"": 200, "bob": 200, "ada": 200, "mo": 200, "admin": 200}),
        ("PUT", yank, reason, {"": 401, "bob": 403, "mo": 403, "ada": 200, "admin": 200}),
        ("DELETE", yank, b"", {"": 401, "bob": 403, "mo": 403, "ada": 200, "admin": 200}),
        ("PUT", quarantine, reason, {"": 401, "bob": 403, "ada": 403, "mo": 200, "admin": 200}),
        ("DELETE", quarantine, b"", {"": 401, "bob": 403, "ada": 403, "mo": 200, "admin": 200}),
        ("PUT", f"{SKILL}/status", status, {"": 401, "bob": 403, "mo": 403, "ada": 200}),
        ("PUT", f"{SKILL}/tags/beta", version, {"": 401, "bob": 403, "mo": 403, "ada": 200, "admin": 200}),
        ("DELETE", f"{SKILL}/tags/beta", b"", {"": 401, "bob": 403, "mo": 403, "ada": 200, "admin": 200}),
        ("PUT", f"{VERSION}/security", fixes, {"": 401, "bob": 403, "ada": 403, "mo": 200, "admin": 200}),
        ("DELETE", f"{VERSION}/security", b"", {"": 401, "bob": 403, "ada": 403, "mo": 200, "admin": 200}),
        ("PUT", f"{SKILL}/visibility", private, {"": 401, "bob": 403, "mo": 403, "ada": 200, "admin": 200}),
        ("GET", SKILL, b"", {"": 404, "bob": 404, "mo": 200, "ada": 200, "admin": 200}),
        ("GET", VERSION, b"", {"": 404, "bob": 404, "mo": 200, "ada": 200, "admin": 200}),
        ("GET", f"{VERSION}/archive", b"", {"": 404, "bob": 404, "mo": 200, "ada": 200, "admin": 200}),
        ("DELETE", f"{SKILL}/visibility", b"", {"": 405, "admin": 405}),
        ("DELETE", VERSION, b"", {"": 405, "admin": 405}),
        ("POST", yank, reason, {"": 405, "admin": 405}),
        ("POST", "/api/v1/skills", b"{}", {"": 405, "admin": 405}),
    ]
    for method, path, body, expected in table:
        found = {who: hub.ask(method, path, who, body).status for who in expected}
        assert (method, path, found) == (method, path, expected)
    seen, unseen = ([change.get("name", "") for change in hub.changes(who)] for who in ("ada", ""))
    assert (seen[-1], unseen[-1]) == ("review", "")
    assert hub.publish("").code == (401, "token-needed")
    assert hub.publish("bob").code == (403, "not-allowed")
    assert hub.publish("bob", "/api/v1/skills/acme/other/versions/1.0.0", name="other").status == 201


def test_bad_requests_get_a_code_and_a_hint(hub: Served) -> None:
    archive = make_archive()
    cases: list[tuple[str, str, str, bytes, dict[str, str], tuple[int, str]]] = [
        ("GET", "/nowhere", "", b"", {}, (404, "not-found")),
        ("GET", "/api/v1/skills/acme/none", "", b"", {}, (404, "skill-not-found")),
        ("GET", "/api/v1/skills/acme/none/versions/1.0.0", "", b"", {}, (404, "version-not-found")),
        ("GET", "/api/v1/skills/acme/none/versions/latest", "", b"", {}, (400, "bad-request")),
        ("GET", "/api/v1/skills/..%2f..%2fetc/passwd/versions/1.0.0", "", b"", {}, (404, "not-found")),
        ("GET", f"{SKILL}/diff?from=1.0.0&to=x", "", b"", {}, (400, "bad-request")),
        ("GET", f"{SKILL}/diff?from=1.0.0&to=2.0.0", "", b"", {}, (404, "version-not-found")),
        ("GET", "/api/v1/skills?limit=1000", "", b"", {}, (400, "bad-request")),
        ("GET", "/api/v1/skills?cursor=%ff%00", "", b"", {}, (400, "bad-request")),
        ("GET", "/api/v1/digests/sha256:zz", "", b"", {}, (400, "bad-request")),
        ("GET", "/log/tile/0/../../etc", "", b"", {}, (400, "bad-request")),
        ("GET", "/log/tile/9/000", "", b"", {}, (400, "bad-request")),
        ("GET", "/log/tile/0/000", "", b"", {}, (404, "tile-not-found")),
        ("GET", "/api/v1/changes?after=x", "", b"", {}, (400, "bad-request")),
        ("GET", "/api/v1/log/proof/99", "", b"", {}, (404, "entry-not-found")),
        ("PUT", VERSION, "ada", archive.data, {}, (400, "bad-request")),
        ("PUT", VERSION, "ada", b"junk", {"Whet_Digest": archive.digest}, (400, "bad-archive")),
        ("PUT", f"{VERSION}/yank", "ada", b"[]", {}, (400, "bad-request")),
        ("PUT", f"{VERSION}/yank", "ada", b"{", {}, (400, "bad-request")),
        ("PUT", f"{VERSION}/yank", "ada", b'{"reason": 7}', {}, (400, "bad-request")),
        ("GET", VERSION, "whet_stolen", b"", {}, (401, "token-needed")),
        ("GET", VERSION, "", b"", {"Authorization": "Basic YTpi"}, (401, "token-needed")),
    ]
    for method, path, who, body, headers, expected in cases:
        answer = hub.ask(method, path, who, body, **headers)
        assert (method, path, answer.code) == (method, path, expected)
        assert {*answer.json} == {"error", "code", "hint"}
    assert hub.ask("GET", "/api/v1/skills").json == {"skills": [], "next": None}


def test_skills_are_found_and_put_into_collections(hub: Served) -> None:
    assert hub.publish().status == 201
    found = hub.ask("GET", "/api/v1/search?q=review+of+a+diff")
    assert [skill["name"] for skill in found.json["skills"]] == ["review"]
    assert {*found.json} == {"skills", "facets", "next"}
    assert hub.ask("GET", "/api/v1/search?q=review&tier=official").json["skills"] == []
    assert hub.ask("GET", "/api/v1/search").code == (400, "bad-request")
    assert hub.ask("GET", f"{SKILL}/similar").json == {"skills": []}
    shelf = "/api/v1/collections/acme/starters"
    for who, status in (("", 401), ("bob", 403), ("mo", 403), ("ada", 200)):
        assert hub.ask("PUT", shelf, who, b'{"title": "For a start"}').status == status
        assert hub.ask("PUT", f"{shelf}/skills/acme/review", who, b"{}").status == status
    assert [skill["name"] for skill in hub.ask("GET", shelf).json["skills"]] == ["review"]
    assert [each["name"] for each in hub.ask("GET", "/api/v1/collections").json["collections"]] == ["starters"]
    assert hub.ask("DELETE", f"{shelf}/skills/acme/review", "bob").status == 403
    assert hub.ask("DELETE", f"{shelf}/skills/acme/review", "ada").json["skills"] == []
    assert [hub.ask("DELETE", shelf, who).status for who in ("", "bob", "ada")] == [401, 403, 204]
    assert hub.ask("GET", shelf).code == (404, "collection-not-found")


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
        wire.sendall(request)
        wire.settimeout(20)
        return wire.recv(65_536)


def test_a_body_must_have_a_length_that_is_allowed(hub: Served) -> None:
    head = f"PUT {VERSION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {hub.tokens['ada']}\r\n"
    head += f"Whet-Digest: {make_archive().digest}\r\n"
    assert b" 413 " in raw(hub.port, f"{head}Content-Length: 99999999999\r\n\r\n".encode())
    assert b" 411 " in raw(hub.port, f"{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode())
    assert hub.ask("GET", "/healthz").body == b"ok\n"


def test_guessing_tokens_is_slowed_down(tmp_path: Path) -> None:
    with serving(tmp_path, "sqlite") as hub:
        statuses = [hub.ask("GET", VERSION, f"whet_{number}").status for number in range(35)]
        assert statuses == [401] * 30 + [429] * 5
        refused = hub.ask("GET", VERSION, "whet_x")
        assert refused.code == (429, "too-many-requests") and 1 <= int(refused.headers["retry-after"]) <= 60
        assert hub.ask("GET", "/api/v1").status == 200
        assert hub.ask("GET", "/api/v1").headers["ratelimit-limit"] == "1200"


def test_a_private_hub_shows_nothing_without_a_token(tmp_path: Path) -> None:
    with serving(tmp_path, "sqlite", private=True) as hub:
        assert hub.publish().status == 201
        for path in ("/api/v1/skills", VERSION, f"{VERSION}/archive", "/api/v1/changes", "/log/checkpoint"):
            assert hub.ask("GET", path).code == (401, "token-needed")
            assert hub.ask("GET", path, "bob").status == 200
        assert hub.ask("GET", "/api/v1").json["private"] is True
        assert [hub.ask("GET", path).status for path in ("/healthz", "/readyz")] == [200, 200]

"""Who is answered: a strange host, another origin, no cookie, a used token, and what a browser may do with a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from web.site import serve
from whet.web.security import HEADERS
from whet.web.ui.app import ROUTES

if TYPE_CHECKING:
    from pathlib import Path

    from web.site import Site

SAFE = [route.path for route in ROUTES if route.method == "GET"]
UNSAFE = [route.path for route in ROUTES if route.method == "POST"]
STRANGE_HOSTS = ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", "", "0.0.0.0:80"]
FOREIGN: list[dict[str, str | None]] = [
    {"Origin": None, "Sec-Fetch-Site": None},
    {"Origin": "null"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": None, "Sec-Fetch-Site": "cross-site"},
    {"Origin": None, "Sec-Fetch-Site": "same-site"},
    {"Origin": None, "Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("host", STRANGE_HOSTS)
def test_only_our_own_host_is_answered(site: Site, host: str) -> None:
    assert site.send("GET", "/skills", {"Host": host}).status == 403
    assert site.send("GET", f"/sign-in?token={site.sign_in.token}", {"Host": host, "Cookie": None}).status == 403
    assert site.get("/skills").status == 200


def test_without_a_host_nothing_is_answered(site: Site) -> None:
    assert site.send("GET", "/skills", {"Host": None}).status in (400, 403)


@pytest.mark.parametrize("path", [*SAFE, "/static/app.js", "/events", "/skills.json", "/nothing"])
def test_nothing_is_answered_without_the_cookie(site: Site, path: str) -> None:
    for cookie in (None, "", "whet_ui=x", f"whet_ui_{site.port}=", f"whet_ui_{site.port}=guess", "\x01=;;=,"):
        assert site.send("GET", path, {"Cookie": cookie}).status == 401


def test_an_address_signs_in_once(site: Site) -> None:
    token = site.sign_in.token
    answer = site.enter()
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(answer.headers["set-cookie"].split("; "))
    assert site.get("/skills").status == 200
    again = site.send("GET", f"/sign-in?token={token}", {"Cookie": None})
    assert (again.status, again.headers["set-cookie"]) == (401, None)
    for guess in ("", "token=", "token=%00", f"token={token[:-1]}", "other=1"):
        assert site.send("GET", f"/sign-in?{guess}", {"Cookie": None}).status == 401


@pytest.mark.parametrize("path", UNSAFE)
def test_only_our_own_pages_change_anything(site: Site, path: str) -> None:
    for headers in FOREIGN:
        assert site.post(path, headers).status == 403
    assert site.post(path, {"Cookie": None}).status == 401
    assert path in SAFE or site.send("GET", path).status == 405


def test_read_only_pages_change_nothing(tmp_path: Path) -> None:
    with serve(tmp_path, read_only=True) as site:
        assert site.get("/skills").status == 200
        assert {site.post(path).status for path in UNSAFE} == {403}
        assert "<form method" not in site.get("/skill", name="charts").text


@pytest.mark.parametrize(
    "path", ["/skills", "/static/app.css", "/nothing", "/skills.json", "/file?name=charts&file=../x"]
)
def test_every_answer_has_the_security_headers(site: Site, path: str) -> None:
    for cookie in (f"whet_ui_{site.port}={site.cookie}", None):
        headers = site.send("GET", path, {"Cookie": cookie}).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize(
    "file", ["../../../etc/passwd", "/etc/passwd", "..", "a/../../b", "\0", "SKILL.md/../../charts/x"]
)
def test_files_outside_the_skill_are_not_shown(site: Site, file: str) -> None:
    answer = site.get("/file.json", name="charts", file=file)
    assert answer.status in (400, 403, 404, 422)
    assert answer.json["success"] is False


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/security.py", "/static//etc/passwd", "/static/"])
def test_only_static_files_are_static(site: Site, path: str) -> None:
    assert site.send("GET", path).status == 404


def test_forms_that_are_none(site: Site) -> None:
    assert site.post("/undo", {"Content-Type": "text/plain"}).status == 400
    assert site.post("/undo", {"Content-Type": "multipart/form-data; boundary=x"}).status == 400
    assert site.post("/match/teach", name="charts", message="x" * 2_100_000).status == 400

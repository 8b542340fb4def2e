"""The web client against servers that behave, and against those that do not."""

from __future__ import annotations

import gzip
import hashlib
import socket
import threading
from email.utils import formatdate

import pytest

from sources.loopback import (
    Request,
    Route,
    answer,
    chunked,
    dripping,
    endless,
    excessive,
    failure,
    gzip_bomb,
    hang,
    header_flood,
    redirect,
    reset,
    serving,
    stall,
    truncated,
    until_closed,
    verbatim,
)
from whet import __version__
from whet.errors import (
    FailedError,
    InvalidError,
    NotFoundError,
    RefusedError,
    UsageError,
    WhetError,
)
from whet.sources.web.client import Web
from whet.sources.web.request import Response

KIB = 1024


# Answers


def test_an_answer_comes_with_its_address_status_and_headers() -> None:
    with serving({"/a": answer(b"hello", content_type="text/plain", X_One="1")}) as server, server.web() as web:
        response = web.get(f"{server.url}/a?b=c", limit=5)
        headers = {"content-type": "text/plain", "x-one": "1", "content-length": "5"}
        assert response == Response(f"{server.url}/a?b=c", 200, headers, b"hello")


def test_a_request_says_who_asks_and_for_what() -> None:
    with serving({"/a": b""}) as server, server.web() as web:
        web.get(f"{server.url}/a", limit=0, accept="text/markdown", headers={"Authorization": "Bearer x"})
        sent = {
            "host": server.host,
            "user-agent": f"whet/{__version__}",
            "accept": "text/markdown",
            "accept-encoding": "identity",
            "authorization": "Bearer x",
        }
        assert server.requests == [Request("GET", "/a", sent)]


def test_a_header_of_the_caller_replaces_ours() -> None:
    with serving({"/a": b""}) as server, server.web() as web:
        web.get(f"{server.url}/a", limit=0, headers={"accept": "text/csv", "user-agent": "other/1"})
        sent = {"host": server.host, "accept-encoding": "identity", "accept": "text/csv", "user-agent": "other/1"}
        assert server.requests == [Request("GET", "/a", sent)]


@pytest.mark.parametrize(
    ("route", "body"),
    [
        (chunked(b"ab", b"c" * 100_000, b"d"), b"ab" + b"c" * 100_000 + b"d"),
        (chunked(b"ab", end=b"0;x=y\r\nTrailer: 1\r\n\r\n"), b"ab"),
        (chunked(), b""),
        (until_closed(b"to the end"), b"to the end"),
        (answer(b"x" * 300_000), b"x" * 300_000),
        (answer(b"", 204), b""),
        (answer(b"made", 201), b"made"),
        (answer(b"", 304), b""),
        (dripping(b"slowly", 0.001), b"slowly"),
        (verbatim(b"HTTP/1.0 200 OK\r\n\r\nold"), b"old"),
        (verbatim(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok"), b"ok"),
        (
            verbatim(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"),
            b"a",
        ),
    ],
)
def test_a_body_is_read_to_its_end(route: Route, body: bytes) -> None:
    with serving({"/a": route}) as server, server.web() as web:
        assert web.get(f"{server.url}/a", limit=len(body)).body == body


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def repeating(start: bytes, piece: bytes) -> Route:
    return Route(raw=start, pieces=lambda: iter(lambda: piece, None))


@pytest.mark.parametrize(
    ("route", "kind", "code"),
    [
        (answer(b"x" * 1001), InvalidError, "response-too-large"),
        (answer(gzip.compress(b"x" * 1001), content_encoding="gzip"), InvalidError, "response-too-large"),
        (chunked(b"x" * 1001), InvalidError, "response-too-large"),
        (until_closed(b"x" * 1001), InvalidError, "response-too-large"),
        (endless(), InvalidError, "response-too-large"),
        (gzip_bomb(10_000_000), InvalidError, "response-too-large"),
        (header_flood(), InvalidError, "response-too-large"),
        (verbatim(HEAD + b"X: " + b"x" * 70_000 + b"\r\n\r\n"), InvalidError, "response-too-large"),
        (repeating(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), InvalidError, "response-too-large"),
        (repeating(CHUNKED, b"1;" + b"x" * 4000 + b"\r\nx\r\n"), InvalidError, "response-too-large"),
        (truncated(b"abc"), FailedError, "response-cut-off"),
        (truncated(b"", 1000), FailedError, "response-cut-off"),
        (excessive(b"abc"), FailedError, "response-cut-off"),
        (excessive(b""), FailedError, "response-cut-off"),
        (excessive(b"abc")._replace(after="close"), FailedError, "response-cut-off"),
        (chunked(b"abc", end=b""), FailedError, "response-cut-off"),
        (verbatim(CHUNKED + b"5\r\nabc"), FailedError, "response-cut-off"),
        (verbatim(CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n"), InvalidError, "bad-response"),
        (verbatim(CHUNKED + b"3\r\nabc\r\n0\r\n"), FailedError, "response-cut-off"),
        (answer(gzip.compress(b"abc")[:-3], content_encoding="gzip"), FailedError, "response-cut-off"),
        (reset(b"abc", 10), FailedError, "response-cut-off"),
        (verbatim(CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n"), InvalidError, "bad-response"),
        (verbatim(CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n"), InvalidError, "bad-response"),
        (verbatim(CHUNKED + b"0\r\n" + b"A: b\r\n" * 200 + b"\r\n"), InvalidError, "bad-response"),
        (verbatim(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n"), InvalidError, "bad-response"),
        (verbatim(HEAD + b"Content-Length: -1\r\n\r\nabc"), InvalidError, "bad-response"),
        (verbatim(HEAD + b"Content-Length: 3x\r\n\r\nabc"), InvalidError, "bad-response"),
        (verbatim(HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), InvalidError, "bad-response"),
        (verbatim(b"SSH-2.0-OpenSSH_9.2\r\n"), InvalidError, "bad-response"),
        (verbatim(b"HTTP/9 200 OK\r\n\r\n"), InvalidError, "bad-response"),
        (answer(b"abc", content_encoding="br"), InvalidError, "bad-response"),
        (answer(b"abc", content_encoding="gzip"), InvalidError, "bad-response"),
        (answer(gzip.compress(b"abc") + b"x", content_encoding="gzip"), InvalidError, "bad-response"),
        (answer(b"abc", 206), InvalidError, "bad-response"),
        (answer(b"abc", 302), InvalidError, "bad-response"),
        (answer(b"", 302, Location="https://user:secret@a.example/"), InvalidError, "bad-response"),
        (answer(b"", 418), InvalidError, "bad-response"),
        (answer(b"", 404), NotFoundError, "source-not-found"),
        (answer(b"", 410), NotFoundError, "source-not-found"),
        (answer(b"", 401), RefusedError, "source-denied"),
        (answer(b"", 403), RefusedError, "source-denied"),
        (answer(b"", 403, X_RateLimit_Remaining="0"), FailedError, "rate-limited"),
        (answer(b"", 429), FailedError, "rate-limited"),
        (answer(b"", 500), FailedError, "server-failed"),
        (answer(b"", 503), FailedError, "server-failed"),
        (reset(), FailedError, "unreachable"),
        (verbatim(b""), FailedError, "unreachable"),
    ],
)  # fmt: skip
def test_a_bad_answer_is_refused_by_name(route: Route, kind: type[WhetError], code: str) -> None:
    with serving({"/a": route}) as server, server.web() as web:
        assert failure(lambda: web.get(f"{server.url}/a?token=secret", limit=1000)) == (kind, code)


@pytest.mark.parametrize(
    "route", [hang(), stall(b"abc"), Route(raw=HEAD, after="hang"), Route(raw=CHUNKED + b"5\r\nabc", after="hang")]
)
def test_a_server_that_says_nothing_more_is_given_up(route: Route) -> None:
    with serving({"/a": route}) as server, server.web(timeout=0.05) as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=1000)) == (FailedError, "too-slow")


@pytest.mark.parametrize("route", [dripping(b"x" * 10_000, 0.01), endless(b"x")._replace(interval=0.01)])
def test_a_server_that_never_finishes_is_given_up(route: Route) -> None:
    with serving({"/a": route}) as server, server.web(total=0.2) as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=10**9)) == (FailedError, "too-slow")


def test_what_is_too_large_is_not_read() -> None:
    body = b"x" * 50_000_000
    with serving({"/a": Route(length=str(len(body)), pieces=lambda: iter([body]))}) as server, server.web() as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=1000)) == (InvalidError, "response-too-large")
    assert server.sent < KIB


def test_a_packed_answer_is_unpacked() -> None:
    with serving({"/a": answer(gzip.compress(b"hello"), content_encoding="gzip")}) as server, server.web() as web:
        assert web.get(f"{server.url}/a", limit=100).body == b"hello"


def test_the_hash_of_the_body_is_checked() -> None:
    good = hashlib.sha256(b"hello").hexdigest()
    with serving({"/a": b"hello"}) as server, server.web() as web:
        for spelled in (good, f"sha256:{good}", good.upper()):
            assert web.get(f"{server.url}/a", limit=5, sha256=spelled).body == b"hello"
        wrong = hashlib.sha256(b"other").hexdigest()
        assert failure(lambda: web.get(f"{server.url}/a", limit=5, sha256=wrong)) == (InvalidError, "digest-mismatch")


def test_the_hash_may_be_that_of_the_packed_bytes_which_are_the_body_then() -> None:
    packed = gzip.compress(b"hello", mtime=0)
    with serving({"/a": answer(packed, content_encoding="gzip")}) as server, server.web() as web:
        for body in (packed, b"hello"):
            assert web.get(f"{server.url}/a", limit=100, sha256=hashlib.sha256(body).hexdigest()).body == body


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    with serving({"/a": b"x" * 200_000, "/b": chunked(b"ab")}) as server, server.web() as web:
        web.get(f"{server.url}/a", limit=10**6, progress=lambda done, total: seen.append((done, total)))
        assert seen == sorted(set(seen))
        assert seen[-1] == (200_000, 200_000)
        seen.clear()
        web.get(f"{server.url}/b", limit=10**6, progress=lambda done, total: seen.append((done, total)))
        assert seen == [(2, 0)]


# Ending early


def test_what_is_cancelled_before_it_began_asks_nobody() -> None:
    cancelled = threading.Event()
    cancelled.set()
    with serving({"/a": b""}) as server, server.web() as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=1, cancelled=cancelled)) == (FailedError, "cancelled")
        assert (server.connections, server.requests) == (0, [])


def test_a_cancel_is_noticed_while_nothing_comes() -> None:
    cancelled = threading.Event()

    def hang_and_cancel(_: Request) -> Route:
        cancelled.set()
        return hang()

    with serving({"/a": hang_and_cancel}) as server, server.web() as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=1, cancelled=cancelled)) == (FailedError, "cancelled")


def test_a_cancel_is_noticed_between_reads() -> None:
    cancelled = threading.Event()

    def stop(_done: int, _total: int) -> None:
        cancelled.set()

    with serving({"/a": dripping(b"x" * 1000)}) as server, server.web() as web:
        call = lambda: web.get(f"{server.url}/a", limit=1000, cancelled=cancelled, progress=stop)  # noqa: E731  used once
        assert failure(call) == (FailedError, "cancelled")


def test_a_cancel_is_noticed_between_tries() -> None:
    cancelled = threading.Event()
    with serving({"/a": answer(b"", 500)}) as server, server.web(pause=lambda _: cancelled.set()) as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=1, cancelled=cancelled)) == (FailedError, "cancelled")
        assert len(server.requests) == 1


# Asking again


@pytest.mark.parametrize("trouble", [reset(), verbatim(b""), reset(b"ab", 9), answer(b"", 500), answer(b"", 503)])
def test_a_passing_trouble_is_sat_out(trouble: Route) -> None:
    pauses: list[float] = []
    with serving({"/a": [trouble, trouble, b"at last"]}) as server, server.web(pause=pauses.append) as web:
        assert web.get(f"{server.url}/a", limit=100).body == b"at last"
        assert sum(pauses) == 2.0
        assert max(pauses) <= 0.25


@pytest.mark.parametrize("trouble", [reset(), answer(b"", 500), answer(b"", 503, Retry_After="1")])
def test_a_lasting_trouble_is_tried_three_times(trouble: Route) -> None:
    with serving({"/a": trouble}) as server, server.web() as web:
        failure(lambda: web.get(f"{server.url}/a", limit=100))
        assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 503])
def test_a_short_wait_is_waited(status: int) -> None:
    pauses: list[float] = []
    with (
        serving({"/a": [answer(b"", status, Retry_After="3"), b"ok"]}) as server,
        server.web(pause=pauses.append) as web,
    ):
        assert web.get(f"{server.url}/a", limit=100).body == b"ok"
        assert sum(pauses) == 3.0


def test_a_wait_may_be_told_as_a_time() -> None:
    past = formatdate(0, usegmt=True)
    with serving({"/a": [answer(b"", 429, Retry_After=past), b"ok"]}) as server, server.web() as web:
        assert web.get(f"{server.url}/a", limit=100).body == b"ok"


@pytest.mark.parametrize(("status", "code"), [(429, "rate-limited"), (503, "server-failed"), (403, "rate-limited")])
def test_a_long_wait_is_for_the_caller(status: int, code: str) -> None:
    with serving({"/a": answer(b"", status, Retry_After="3600")}) as server, server.web() as web:
        with pytest.raises(FailedError) as caught:
            web.get(f"{server.url}/a", limit=100)
        assert (caught.value.code, caught.value.details) == (code, {"status": status, "retry_after": 3600})
        assert len(server.requests) == 1


@pytest.mark.parametrize("value", ["soon", "-1", "Fri, 99 Foo 2999"])
def test_a_wait_that_makes_no_sense_counts_as_none(value: str) -> None:
    with serving({"/a": answer(b"", 429, Retry_After=value)}) as server, server.web() as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=100)) == (FailedError, "rate-limited")
        assert len(server.requests) == 1


def test_what_the_server_says_of_a_failure_is_passed_on() -> None:
    body = b'{"error": "no such\x1b skill"}' + b" " * 600
    with serving({"/a": answer(body, 404, content_type="application/json")}) as server, server.web() as web:
        with pytest.raises(NotFoundError) as caught:
            web.get(f"{server.url}/a", limit=100)
        assert caught.value.details == {"status": 404, "answer": '{"error": "no such  skill"}'}


# Redirects


def test_redirects_are_followed() -> None:
    routes = {"/a": redirect("b/c", 301), "/b/c": redirect("/d?e", 308), "/d": answer(b"there")}
    with serving(routes) as server, server.web() as web:
        assert web.get(f"{server.url}/a", limit=5)[:2] == (f"{server.url}/d?e", 200)
        assert web.follow(f"{server.url}/a") == f"{server.url}/d?e"
        assert server.connections == 1


def test_five_redirects_are_enough() -> None:
    routes: dict[str, bytes | Route] = {f"/{number}": redirect(f"/{number + 1}") for number in range(6)}
    with serving({**routes, "/6": b"there"}) as server, server.web() as web:
        assert web.get(f"{server.url}/1", limit=5).body == b"there"
        assert failure(lambda: web.get(f"{server.url}/0", limit=5)) == (RefusedError, "too-many-redirects")


@pytest.mark.parametrize("to", ["/a", "/b"])
def test_a_circle_is_recognised(to: str) -> None:
    with serving({"/a": redirect(to), "/b": redirect("/a")}) as server, server.web() as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=5)) == (RefusedError, "too-many-redirects")
        assert len(server.requests) == len({"/a", to})


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("https://127.0.0.1:1/", "private-address"),
        ("https://[::ffff:169.254.169.254]/", "private-address"),
        ("https://localhost/", "private-address"),
        ("http://example.com/", "not-https"),
        ("file:///etc/passwd", "bad-response"),
        ("ftp://example.com/", "not-https"),
        ("javascript:alert(1)", "bad-response"),
        ("https://2130706433/", "bad-response"),
        ("https://private.example/", "private-address"),
    ],
)
def test_a_redirect_is_judged_like_the_first_address(to: str, code: str) -> None:
    with serving({"/a": redirect(to)}) as server, server.web(resolve=lambda _host, _port: ["10.0.0.1"]) as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=5))[1] == code
        assert failure(lambda: web.follow(f"{server.url}/a"))[1] == code


def test_headers_of_the_caller_stay_with_the_first_origin() -> None:
    token = {"Authorization": "Bearer secret", "X-Key": "secret"}
    with serving({"/b": b"there", "/c": b"here"}) as other:
        routes = {"/a": redirect("/a2"), "/a2": redirect(f"{other.url}/b")}
        with serving(routes) as server, server.web(private_hosts=[other.host]) as web:
            assert web.get(f"{server.url}/a", limit=5, headers=token, accept="text/plain").body == b"there"
            sent = [(request.path, request.headers.get("authorization")) for request in server.requests]
            assert sent == [("/a", "Bearer secret"), ("/a2", "Bearer secret")]
            assert other.requests[0].headers == {
                "host": other.host,
                "user-agent": f"whet/{__version__}",
                "accept": "text/plain",
                "accept-encoding": "identity",
            }


def test_headers_do_not_come_back_with_a_redirect_that_does() -> None:
    with serving({}) as first, serving({}) as other:
        first._listener.routes = {"/a": [redirect(f"{other.url}/b")], "/c": [b"end"]}
        other._listener.routes = {"/b": [redirect(f"{first.url}/c")]}
        with first.web(private_hosts=[other.host]) as web:
            web.get(f"{first.url}/a", limit=5, headers={"Authorization": "Bearer secret"})
        assert ["authorization" in request.headers for request in first.requests] == [True, False]


# Sending


def test_a_body_is_sent() -> None:
    with serving({"/a": answer(b'{"ok": true}', 201)}) as server, server.web() as web:
        body = bytes(range(256)) * 4096
        response = web.send(
            f"{server.url}/a", body=body, content_type="application/zip", headers={"X-Key": "k"}, limit=99
        )
        assert (response.status, response.body) == (201, b'{"ok": true}')
        request = server.requests[0]
        assert (request.method, request.body) == ("POST", body)
        assert (request.headers["content-type"], request.headers["x-key"]) == ("application/zip", "k")


@pytest.mark.parametrize(
    ("route", "code"),
    [
        (reset(), "unreachable"),
        (answer(b"", 500), "server-failed"),
        (answer(b"", 502), "server-failed"),
        (redirect("/b"), "bad-response"),
        (redirect("/b", 307), "bad-response"),
    ],
)
def test_what_may_have_been_taken_is_not_sent_again(route: Route, code: str) -> None:
    with serving({"/a": route, "/b": b""}) as server, server.web() as web:
        assert failure(lambda: web.send(f"{server.url}/a", body=b"x", content_type="text/plain"))[1] == code
        assert len(server.requests) == 1


def test_what_was_not_taken_is_sent_again() -> None:
    with serving({"/a": [answer(b"", 503, Retry_After="1"), b"ok"]}) as server, server.web() as web:
        assert web.send(f"{server.url}/a", body=b"x", content_type="text/plain").body == b"ok"


def test_a_server_that_takes_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        host = f"127.0.0.1:{deaf.getsockname()[1]}"
        with Web(env={}, private_hosts=[host], timeout=0.05) as web:
            call = lambda: web.send(f"http://{host}/", body=bytes(50_000_000), content_type="x/y")  # noqa: E731  used once
            assert failure(call) == (FailedError, "too-slow")


@pytest.mark.parametrize(
    "headers", [{"A": "b\r\nC: d"}, {"A": "secret\n"}, {"A: b": "c"}, {"": "x"}, {"A": "ü"}, {"host": "x"}]
)
def test_a_header_that_would_be_two_or_is_not_the_callers_is_refused(headers: dict[str, str]) -> None:
    with Web(env={}) as web:
        assert failure(lambda: web.get("https://a.example/", limit=1, headers=headers)) == (UsageError, "bad-header")

"""The web client on its way to servers: connections, names, TLS and proxies."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from sources.loopback import (
    NAME,
    Request,
    answer,
    certificate_file,
    chunked,
    dropped,
    failure,
    redirect,
    reset,
    serving,
    truncated,
    until_closed,
)
from whet.errors import (
    FailedError,
    RefusedError,
    UsageError,
)
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def trusted() -> Iterator[dict[str, str]]:
    """An environment in which the certificate of the loopback servers is trusted."""
    with certificate_file() as path:
        yield {"SSL_CERT_FILE": path}


# Connections


def test_a_connection_is_used_again() -> None:
    with serving({"/a": b"hello", "/b": chunked(b"x"), "/c": answer(b"", 204)}) as server, server.web() as web:
        for path in "/a", "/b", "/c", "/a":
            web.get(f"{server.url}{path}", limit=5)
        assert server.connections == 1


@pytest.mark.parametrize("route", [dropped(b"once"), [b"once", reset(), b"once"]])
def test_a_connection_that_is_gone_is_replaced(route: Any) -> None:
    pauses: list[float] = []
    with serving({"/a": route}) as server, server.web(pause=pauses.append) as web:
        assert [web.get(f"{server.url}/a", limit=5).body for _ in range(2)] == [b"once"] * 2
        assert (server.connections, pauses) == (2, [])


def test_a_connection_with_something_unasked_on_it_is_not_used_again() -> None:
    late = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    with serving({"/a": chunked(b"ab", end=b"0\r\n\r\n" + late), "/b": b"good"}) as server, server.web() as web:
        assert web.get(f"{server.url}/a", limit=5).body == b"ab"
        assert web.get(f"{server.url}/b", limit=5).body == b"good"


def test_a_kept_connection_survives_a_call_that_is_cancelled() -> None:
    cancelled = threading.Event()
    with serving({"/a": b"hello"}) as server, server.web() as web:
        web.get(f"{server.url}/a", limit=5)
        cancelled.set()
        assert failure(lambda: web.get(f"{server.url}/a", limit=5, cancelled=cancelled)) == (FailedError, "cancelled")
        web.get(f"{server.url}/a", limit=5)
        assert server.connections == 1


def test_a_failed_answer_leaves_no_connection_behind() -> None:
    with serving({"/a": truncated(b"abc"), "/b": b"good"}) as server, server.web() as web:
        for _ in range(3):
            failure(lambda: web.get(f"{server.url}/a", limit=5))
            assert web.get(f"{server.url}/b", limit=5).body == b"good"


def test_several_threads_use_one_web() -> None:
    routes = {f"/{number}": b"%d" % number * 50_000 for number in range(8)}
    with serving(routes) as server, server.web() as web, ThreadPoolExecutor(8) as pool:
        paths = [path for path in routes for _ in range(6)]
        bodies = list(pool.map(lambda path: web.get(server.url + path, limit=10**6).body, paths))
        assert bodies == [routes[path] for path in paths]
        assert server.connections <= 8


def test_a_closed_web_opens_again() -> None:
    with serving({"/a": b"hello"}) as server:
        web = server.web()
        for _ in range(2):
            assert web.get(f"{server.url}/a", limit=5).body == b"hello"
            web.close()
        assert server.connections == 2


def test_a_forgotten_web_closes_its_connections() -> None:
    with serving({"/a": b"hello"}) as server:
        assert server.web().get(f"{server.url}/a", limit=5).body == b"hello"


# Names and addresses


def test_a_name_is_looked_up_once_and_the_connection_goes_where_it_was_judged() -> None:
    asked: list[tuple[str, int]] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    with serving({"/a": b"hello"}) as server:
        with Web(env={}, private_hosts=[f"{NAME}:{server.port}"], resolve=resolve) as web:
            assert web.get(f"http://{NAME}:{server.port}/a", limit=5).body == b"hello"
        assert asked == [(NAME, server.port)]
        assert server.requests[0].headers["host"] == f"{NAME}:{server.port}"


@pytest.mark.parametrize(
    "found", [["127.0.0.1"], ["1.1.1.1", "10.0.0.1"], ["::ffff:127.0.0.1"], ["fe80::1%lo"], ["odd"]]
)
def test_a_name_that_leads_into_a_private_network_is_refused(found: list[str]) -> None:
    with serving({}) as server, Web(env={}, resolve=lambda _host, _port: found) as web:
        url = f"https://a.example:{server.port}/?token=secret"
        assert failure(lambda: web.get(url, limit=5)) == (RefusedError, "private-address")
        assert failure(lambda: web.addresses(url)) == (RefusedError, "private-address")
        assert server.connections == 0


def test_the_judged_addresses_of_a_host_are_told() -> None:
    with Web(env={}, resolve=lambda _host, _port: ["1.1.1.1", "2606:4700::1111"]) as web:
        assert web.addresses("https://a.example/x") == ("1.1.1.1", "2606:4700::1111")
        assert web.addresses("https://8.8.8.8/") == ("8.8.8.8",)
        assert failure(lambda: web.addresses("http://a.example/")) == (RefusedError, "not-https")
        assert failure(lambda: web.addresses("https://127.1/")) == (UsageError, "bad-address")
        assert failure(lambda: web.addresses("https://127.0.0.1/")) == (RefusedError, "private-address")
    with Web(env={"HTTPS_PROXY": "http://proxy:1"}) as web:
        assert web.addresses("https://a.example/x") == ()
        assert failure(lambda: web.addresses("https://10.0.0.1/")) == (RefusedError, "private-address")


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    with serving({"/a": b"hello"}) as server:
        hosts = [f"{NAME}:{server.port}"]
        with Web(env={}, private_hosts=hosts, resolve=lambda _host, _port: ["127.0.0.2", "127.0.0.1"]) as web:
            assert web.get(f"http://{NAME}:{server.port}/a", limit=5).body == b"hello"


def test_the_system_looks_up_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(host: str, port: int, **_: object) -> list[Any]:
        assert (host, port) == (NAME, server.port)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))] * 2

    with serving({"/a": b"hello"}) as server, server.web(private_hosts=[NAME]) as web:
        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        assert web.addresses(f"http://{NAME}:{server.port}/a") == ("127.0.0.1",)
        assert web.get(f"http://{NAME}:{server.port}/a", limit=5).body == b"hello"


@pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label too long")])
def test_a_name_that_does_not_exist_is_unreachable(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def getaddrinfo(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with Web(env={}) as web:
        assert failure(lambda: web.get("https://a.example/", limit=5)) == (FailedError, "unreachable")
    with Web(env={}, resolve=lambda _host, _port: []) as web:
        assert failure(lambda: web.get("https://a.example/", limit=5)) == (FailedError, "unreachable")


def test_a_name_system_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ending, cancelled = threading.Event(), threading.Event()

    def getaddrinfo(*_: object, **__: object) -> list[Any]:
        cancelled.set()
        ending.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    try:
        with Web(env={}, timeout=0.05) as web:
            assert failure(lambda: web.get("https://a.example/", limit=5)) == (FailedError, "too-slow")
        with Web(env={}) as web:
            cancelled.clear()
            assert failure(lambda: web.get("https://a.example/", limit=5, cancelled=cancelled))[1] == "cancelled"
    finally:
        ending.set()


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Web(env={}, private_hosts=["127.0.0.1"]) as web:
        with pytest.raises(FailedError) as caught:
            web.get(f"http://127.0.0.1:{port}/a?secret", limit=5)
        assert caught.value.code == "unreachable"
        assert caught.value.message.startswith(f"http://127.0.0.1:{port}/a cannot be reached: ")


# TLS


def test_https_does_not_lead_to_http_unless_both_are_named(trusted: dict[str, str]) -> None:
    with serving({"/b": b"plain"}) as plain, serving({"/a": redirect(f"{plain.url}/b")}, tls=True) as secure:
        with secure.web(env=trusted, private_hosts=[plain.host]) as web:
            assert web.get(f"{secure.url}/a", limit=5).body == b"plain"
        with serving({}, tunnels={f"{NAME}:443": secure.host}) as proxy:
            env = {**trusted, "HTTPS_PROXY": proxy.url}
            with Web(env=env, private_hosts=[plain.host]) as web:
                assert failure(lambda: web.get(f"https://{NAME}/a", limit=5)) == (RefusedError, "not-https")


def test_the_certificate_is_that_of_the_name(trusted: dict[str, str]) -> None:
    with serving({"/a": b"hello"}, tls=True) as server:
        hosts = [NAME, "other.test"]
        with Web(env=trusted, private_hosts=hosts, resolve=lambda _host, _port: ["127.0.0.1"]) as web:
            for _ in range(2):
                assert web.get(f"https://{NAME}:{server.port}/a", limit=5).body == b"hello"
            assert server.connections == 1
            call = lambda: web.get(f"https://other.test:{server.port}/a", limit=5)  # noqa: E731  used once
            assert failure(call) == (FailedError, "unreachable")
            assert len(server.requests) == 2


def test_a_certificate_that_nobody_trusts_is_refused() -> None:
    with serving({"/a": b"hello"}, tls=True) as server, server.web() as web:
        with pytest.raises(FailedError) as caught:
            web.get(f"{server.url}/a", limit=5)
        assert caught.value.code == "unreachable"
        assert "certificate" in caught.value.message
        assert server.requests == []


def test_a_large_body_comes_over_tls_in_both_directions(trusted: dict[str, str]) -> None:
    body = bytes(range(256)) * 8192
    with serving({"/a": lambda request: request.body}, tls=True) as server, server.web(env=trusted) as web:
        assert web.send(f"{server.url}/a", body=body, content_type="x/y", limit=len(body)).body == body


def test_a_server_that_does_not_speak_tls_is_unreachable(trusted: dict[str, str]) -> None:
    with serving({"/a": b""}) as server, server.web(env=trusted) as web:
        url = f"https://{server.host}/a"
        assert failure(lambda: web.get(url, limit=5)) == (FailedError, "unreachable")


def test_a_handshake_that_stalls_is_given_up(trusted: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        host = f"127.0.0.1:{deaf.getsockname()[1]}"
        with Web(env=trusted, private_hosts=[host], timeout=0.05) as web:
            assert failure(lambda: web.get(f"https://{host}/", limit=5)) == (FailedError, "too-slow")


def test_an_end_without_a_goodbye_is_no_end(trusted: dict[str, str]) -> None:
    routes = {"/a": until_closed(b"half"), "/b": truncated(b"half")}
    with serving(routes, tls=True) as server, server.web(env=trusted) as web:
        assert failure(lambda: web.get(f"{server.url}/a", limit=9)) == (FailedError, "response-cut-off")
        assert failure(lambda: web.get(f"{server.url}/b", limit=9)) == (FailedError, "response-cut-off")


def test_certificates_that_cannot_be_read_are_named() -> None:
    with serving({}, tls=True) as server, server.web(env={"SSL_CERT_FILE": "/nowhere.pem"}) as web:
        assert failure(lambda: web.get(f"{server.url}/", limit=5)) == (UsageError, "bad-certificates")


# Proxies


def test_a_proxy_makes_the_way_and_sees_the_host_only(trusted: dict[str, str]) -> None:
    with serving({"/a": b"hello"}, tls=True) as server, serving({}, tunnels={f"{NAME}:443": server.host}) as proxy:
        env = {**trusted, "HTTPS_PROXY": f"http://me:secret@{proxy.host}"}
        with Web(env=env) as web:
            for _ in range(2):
                assert web.get(f"https://{NAME}/a?b", limit=5, headers={"X-Key": "k"}).body == b"hello"
        sent = {"host": f"{NAME}:443", "proxy-authorization": "Basic bWU6c2VjcmV0"}
        assert proxy.requests == [Request("CONNECT", f"{NAME}:443", sent)]
        assert [(request.path, request.headers["host"]) for request in server.requests] == [("/a?b", NAME)] * 2


def test_a_proxy_is_used_for_named_hosts_without_tls_too() -> None:
    with (
        serving({"/a": b"hello"}) as server,
        serving({}, tunnels={f"{NAME}:80": server.host}) as proxy,
        Web(env={"http_proxy": proxy.url}, private_hosts=[NAME]) as web,
    ):
        assert web.get(f"http://{NAME}/a", limit=5).body == b"hello"


@pytest.mark.parametrize("url", ["https://10.0.0.1/", "https://[::1]/", "https://metadata.google.internal/"])
def test_a_proxy_is_not_asked_for_private_hosts(url: str) -> None:
    with serving({}, tunnels={}) as proxy, Web(env={"HTTPS_PROXY": proxy.url}) as web:
        assert failure(lambda: web.get(url, limit=5)) == (RefusedError, "private-address")
        assert proxy.requests == []


def test_a_proxy_that_refuses_is_named_without_its_password() -> None:
    with serving({}, tunnels={}) as proxy, Web(env={"HTTPS_PROXY": f"http://me:secret@{proxy.host}"}) as web:
        with pytest.raises(FailedError) as caught:
            web.get("https://a.example/x?secret", limit=5)
        assert (caught.value.code, caught.value.message) == (
            "unreachable",
            f"The proxy {proxy.host} refuses to connect to https://a.example/x: 403.",
        )


def test_a_proxy_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Web(env={"HTTPS_PROXY": f"http://127.0.0.1:{port}"}) as web:
        with pytest.raises(FailedError) as caught:
            web.get("https://a.example/", limit=5)
        assert caught.value.code == "unreachable"
        assert f"through the proxy 127.0.0.1:{port}" in caught.value.message

"""Hosts: what a URL leads to, however it is spelled."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.hosts import (
    URL,
    Host,
    host_of,
    is_installer,
    is_placeholder,
    is_unsafe,
    odd_top,
    serves_installers,
    serves_modules,
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://203.0.113.7/a", Host("203.0.113.7", "address")),
        ("http://3405803783/a", Host("3405803783", "address")),
        ("http://0xcb007107/a", Host("0xcb007107", "address")),
        ("http://0313.0.0161.07/a", Host("0313.0.0161.07", "address")),
        ("http://203.0.28935/", Host("203.0.28935", "address")),
        ("http://[2001:db8::7]:8080/a", Host("[2001:db8::7]", "address")),
        ("http://2130706433/", Host("2130706433", "loopback")),
        ("http://0x7f.1/", Host("0x7f.1", "loopback")),
        ("http://127.0.0.1:8000/", Host("127.0.0.1", "loopback")),
        ("http://0.0.0.0/", Host("0.0.0.0", "loopback")),
        ("http://[::1]/", Host("[::1]", "loopback")),
        ("http://localhost:3000", Host("localhost", "loopback")),
        ("http://10.1.2.3/", Host("10.1.2.3", "private")),
        ("http://192.168.1.1", Host("192.168.1.1", "private")),
        ("http://printer.local/", Host("printer.local", "private")),
        ("http://db/", Host("db", "private")),
        ("https://github.com@203.0.113.7/a", Host("203.0.113.7", "address")),
        ("https://user:secret@pastebin.com:443/raw/x", Host("pastebin.com", "paste")),
        ("HTTPS://GLOT.IO./snippets/x", Host("glot.io", "paste")),
        ("https://abc.webhook.site/x", Host("abc.webhook.site", "drop")),
        ("https://discord.com/api/webhooks/1/2", Host("discord.com", "drop")),
        ("https://discord.com/developers", Host("discord.com", "other")),
        ("https://api.telegram.org/bot1:x/send", Host("api.telegram.org", "drop")),
        ("https://x.ngrok-free.app", Host("x.ngrok-free.app", "tunnel")),
        ("https://bit.ly/abc", Host("bit.ly", "shortener")),
        ("https://notbit.ly/abc", Host("notbit.ly", "other")),
        ("https://a.vercel.app/", Host("a.vercel.app", "free")),
        ("https://api.example.com/", Host("api.example.com", "reserved")),
        ("https://a.invalid", Host("a.invalid", "reserved")),
        ("https://raw.githubusercontent.com/a/b", Host("raw.githubusercontent.com", "known")),
        ("https://evil.com/x", Host("evil.com", "drop")),
        ("https://c2.acme.io", Host("c2.acme.io", "drop")),
        ("https://medieval.com/x", Host("medieval.com", "other")),
        ("https://bücher.de/", Host("bücher.de", "other")),
        ("https://xn--bcher-kva.de/", Host("xn--bcher-kva.de", "other")),
        ("acme.io/path", Host("acme.io", "other")),
        ("acme.io:8080/path", Host("acme.io", "other")),
        ("", Host("", "private")),
    ],
)
def test_a_host_is_known_however_it_is_spelled(url: str, expected: Host) -> None:
    assert host_of(url) == expected


def test_shady_is_where_nobody_serves_anything_of_good_name() -> None:
    urls = {
        "address": "http://203.0.113.7",
        "paste": "https://rentry.co/a",
        "drop": "https://webhook.site/a",
        "tunnel": "https://a.trycloudflare.com",
        "shortener": "https://tinyurl.com/a",
        "free": "https://a.github.io",
        "known": "https://github.com",
        "other": "https://acme.io",
        "loopback": "http://localhost",
        "private": "http://10.0.0.1",
        "reserved": "https://example.com",
    }

    assert {name: host_of(url).kind for name, url in urls.items()} == {name: name for name in urls}
    assert {name for name, url in urls.items() if host_of(url).shady} == {
        *("address", "paste", "drop", "tunnel", "shortener")
    }


def test_installers_are_known_by_host_and_path_over_tls_only() -> None:
    assert [
        is_installer(url)
        for url in (
            "https://astral.sh/uv/install.sh",
            "https://www.bun.sh/install",
            "https://sh.rustup.rs",
            "http://astral.sh/uv/install.sh",
            "https://astral.sh.evil.invalid/x",
            "https://raw.githubusercontent.com.evil.invalid/x",
            "https://acme.io/install.sh",
        )
    ] == [True, True, True, False, False, False, False]
    assert (serves_installers("astral.sh"), serves_installers("sh"), serves_installers("")) == (True, False, False)


def test_a_host_that_only_begins_like_an_installer_is_none() -> None:
    assert [
        is_installer(f"https://{host}") for host in ("sh.rustup.rs.evil.invalid/x", "get.docker.com.evil.invalid")
    ] == [
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            (name, True)
            for name in ("example.com", "your-host", "your-domain.com", "my-server.local", "api.yourcompany.com")
        ),
        *(
            (name, False)
            for name in ("evil.example", "get.example.com", "mydomains.io", "yourtools.dev", "hostinger.com")
        ),
    ],
)
def test_a_placeholder_stands_for_what_the_reader_has(name: str, expected: bool) -> None:
    assert is_placeholder(name) is expected


def test_top_levels_that_campaigns_like() -> None:
    assert [odd_top(name) for name in ("a.xyz", "a.zip", "a.com", "xyz.com", "xyz")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_urls_end_where_the_text_goes_on() -> None:
    assert URL.findall('see (https://a.invalid/x), <http://b.invalid> and "wss://c.invalid/y".') == [
        "https://a.invalid/x",
        "http://b.invalid",
        "wss://c.invalid/y",
    ]


@settings(max_examples=200, deadline=None)
@given(st.integers(1 << 24, (1 << 32) - 1))
def test_every_spelling_of_an_address_is_the_same_kind(number: int) -> None:
    parts = [number >> 24, number >> 16 & 255, number >> 8 & 255, number & 255]
    spellings = (
        ".".join(map(str, parts)),
        str(number),
        hex(number),
        ".".join(map(hex, parts)),
        ".".join(f"0{part:o}" for part in parts),
        f"{parts[0]}.{number & 0xFFFFFF}",
    )

    assert len({host_of(f"http://{spelling}/").kind for spelling in spellings}) == 1


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_no_text_is_too_much(text: str) -> None:
    assert host_of(text).kind
    assert host_of(f"http://{text}").kind


def test_an_unsafe_address_is_shady_or_plain_and_not_near() -> None:
    for url in (
        "http://vendor.example/x",
        "HTTP://vendor.example/x",
        "https://pastebin.com/x",
    ):
        assert is_unsafe(url), url
    for url in ("https://vendor.example/x", "http://localhost:8080/x", "http://10.0.0.1/x"):
        assert not is_unsafe(url), url


def test_hosts_that_serve_public_packages_are_known_with_their_subdomains() -> None:
    urls = [
        "https://esm.sh/d3@7",
        "https://cdn.jsdelivr.net/npm/d3",
        "https://esm.sh.invalid/d3",
        "https://unpkg.invalid/a",
    ]
    assert [serves_modules(url) for url in urls] == [True, True, False, False]

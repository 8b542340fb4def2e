"""Which addresses are read, which are refused, and which of those that are read may be visited."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import RefusedError, UsageError
from whet.sources.web.addresses import Address, Allowed, is_public, joined, read_address, shown
from whet.sources.web.proxies import Proxy, proxy_for

if TYPE_CHECKING:
    from collections.abc import Callable

READ = [
    ("https://example.com", Address("https", "example.com", 443, "/")),
    ("HTTPS://Example.COM:443/A?b=c#d", Address("https", "example.com", 443, "/A?b=c")),
    ("https://example.com:8443?x", Address("https", "example.com", 8443, "/?x")),
    ("https://xn--bcher-kva.example/ü", Address("https", "xn--bcher-kva.example", 443, "/%C3%BC")),
    ("https://example.com/a%20b/../c", Address("https", "example.com", 443, "/a%20b/../c")),
    ("https://a_b.example/@scope/x", Address("https", "a_b.example", 443, "/@scope/x")),
    ("https://1.1.1.1/", Address("https", "1.1.1.1", 443, "/")),
    ("https://[2606:4700::0:1111]/", Address("https", "2606:4700::1111", 443, "/")),
    ("http://localhost:8000/x", Address("http", "localhost", 8000, "/x")),
    ("ftp://example.com/x", Address("ftp", "example.com", 0, "/x")),
]

UNREADABLE = [
    "",
    "example.com",
    "//example.com/",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "https://",
    "https://?x",
    "https://:443/",
    " https://example.com",
    "https://example.com/a b",
    "https://exam\tple.com/",
    "https://example.com/\r\nHost: other",
    "https://example.com/\x00",
    "https://example.com/\x7f",
    "https://example.com\\@127.0.0.1/",
    "https:\\\\127.0.0.1/",
    "https://127.0.0.1\\.example.com/",
    "https://user@example.com/",
    "https://user:secret@127.0.0.1/",
    "https://example.com@127.0.0.1/",
    "https://example.com%40127.0.0.1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://0x7f.0x0.0x0.0x1/",
    "https://0177.0.0.1/",
    "https://127.0.0.01/",
    "https://127.1/",
    "https://127.0.1/",
    "https://0/",
    "https://256.256.256.256/",
    "https://1.2.3.4.5/",
    "https://example.1/",
    "https://127.0.0.1./",
    "https://example.com./",
    "https://example..com/",
    "https://.example.com/",
    "https://-example.com/",
    "https://%31%32%37.0.0.1/",
    "https://１２７.0.0.1/",
    "https://127。0。0。1/",
    "https://①②⑦.0.0.1/",
    "https://bücher.example/",
    "https://exam\u200bple.com/",
    "https://exam\u00adple.com/",
    "https://example.com/\ud800",
    "https://[::1/",
    "https://::1/",
    "https://[::1]x/",
    "https://[127.0.0.1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[v1.x]/",
    "https://[::1]:/",
    "https://example.com:/",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://example.com:+443/",
    "https://example.com:4 43/",
    "https://example.com:443:443/",
    "https://example.com:٤٤٣/",
    f"https://{'a' * 64}.example/",
    f"https://{'a.' * 130}example/",
    f"https://example.com/{'a' * 9000}",
]

PRIVATE = [
    "https://127.0.0.1/",
    "https://127.255.255.254/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://100.100.100.200/",
    "https://100.64.0.1/",
    "https://192.0.0.192/",
    "https://168.63.129.16/",
    "https://192.0.2.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://198.18.0.1/",
    "https://192.88.99.1/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[::]/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::127.0.0.1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[::ffff:0:127.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:808:808::1]/",
    "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[2606:4700::5efe:10.0.0.1]/",
    "https://[2606:4700::200:5efe:192.168.0.1]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/",
    "https://[fd20:ce::254]/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://[100::1]/",
    "https://[4000::1]/",
    "https://localhost/",
    "https://LOCALHOST:8443/",
    "https://a.localhost/",
    "https://metadata/",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://printer.local/",
    "https://nas.lan/",
    "https://wiki.corp/",
    "https://router.home.arpa/",
    "https://intranet/",
]

PUBLIC = [
    "https://example.com/",
    "https://local.example.com/",
    "https://internal-tools.example.com/",
    "https://1.1.1.1/",
    "https://172.15.255.255/",
    "https://172.32.0.1/",
    "https://100.63.255.255/",
    "https://100.128.0.1/",
    "https://192.167.1.1/",
    "https://[2606:4700::1111]/",
    "https://[2001:200::1]/",
    "https://[::ffff:1.1.1.1]/",
    "https://[64:ff9b::1.1.1.1]/",
    "https://[2606:4700::5efe:1.1.1.1]/",
]


@pytest.mark.parametrize(("text", "address"), READ, ids=[text for text, _ in READ])
def test_an_address_has_one_normal_spelling(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert address.port == 0 or read_address(address.url) == address


@pytest.mark.parametrize("text", UNREADABLE, ids=ascii)
def test_an_odd_spelling_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_address(text)
    assert caught.value.code == "bad-address"
    assert caught.value.hint
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("text", PRIVATE)
def test_what_is_not_public_is_refused(text: str) -> None:
    with pytest.raises(RefusedError) as caught:
        Allowed(()).check(address := read_address(text))
    hint = f'If this is your own host, add `private_hosts = ["{address.host}"]` to config.toml (see docs/settings.md).'
    assert (caught.value.code, caught.value.hint) == ("private-address", hint)


@pytest.mark.parametrize("text", PUBLIC)
def test_what_is_public_is_not_refused(text: str) -> None:
    Allowed(()).check(read_address(text))


@pytest.mark.parametrize(
    "text", ["http://example.com/", "ftp://example.com/", "file://host/etc/passwd", "ws://a.example"]
)
def test_only_https_is_spoken(text: str) -> None:
    with pytest.raises(RefusedError) as caught:
        Allowed(()).check(read_address(text))
    assert caught.value.code == "not-https"


@pytest.mark.parametrize(
    ("hosts", "visited", "refused"),
    [
        (["localhost"], ["http://localhost/", "https://LOCALHOST:9/"], ["http://a.localhost/"]),
        (["Skills.Corp:8080"], ["http://skills.corp:8080/"], ["http://skills.corp/", "https://skills.corp/"]),
        (["10.0.0.5"], ["http://10.0.0.5/", "https://10.0.0.5:1/"], ["https://10.0.0.6/", "https://[::ffff:a00:5]/"]),
        (["127.0.0.1:80"], ["http://127.0.0.1/"], ["http://127.0.0.1:81/"]),
        (["::1"], ["http://[::1]/", "http://[0::1]:5/"], ["https://[::2]/"]),
        (["[::1]:5"], ["http://[::1]:5/"], ["http://[::1]:6/"]),
    ],
)
def test_allowed_hosts_are_exactly_those_named(hosts: list[str], visited: list[str], refused: list[str]) -> None:
    allowed = Allowed(hosts)
    for text in visited:
        allowed.check(read_address(text))
        allowed.check_found(read_address(text), ["127.0.0.1"])
    for text in refused:
        with pytest.raises(RefusedError):
            allowed.check(read_address(text))


@pytest.mark.parametrize(
    "entry", ["", "http://localhost", "*", "10.0.0.0/8", "a b", "host:99999", "0x7f.1", "user@host"]
)
def test_an_entry_that_is_no_host_is_refused(entry: str) -> None:
    with pytest.raises(UsageError) as caught:
        Allowed([entry])
    assert caught.value.code == "bad-address"
    assert "private_hosts" in caught.value.message


def test_one_private_address_among_those_found_refuses_the_name() -> None:
    address = read_address("https://rebind.example/x?token=secret")
    Allowed(()).check_found(address, ["1.1.1.1", "2606:4700::1111"])
    with pytest.raises(RefusedError) as caught:
        Allowed(()).check_found(address, ["1.1.1.1", "fe80::1%eth0"])
    assert caught.value.message == (
        "The host of https://rebind.example/x is at fe80::1%eth0, which is not on the public internet."
    )


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "https://example.com/b"),
        ("b?x=1#y", "https://example.com/a/b?x=1"),
        ("//other.example/b", "https://other.example/b"),
        ("https://other.example", "https://other.example/"),
        (" /with space ", "https://example.com/with%20space"),
        ("/caf\u00c3\u00a9", "https://example.com/caf%C3%A9"),
    ],
)
def test_a_redirect_is_read_relative_to_where_it_came_from(location: str, target: str) -> None:
    assert joined(read_address("https://example.com/a/c"), location).url == target


@pytest.mark.parametrize(
    "location", ["https://user:pw@x.example/", "\\\\127.0.0.1\\x", "https://[::1", "https://127.1/"]
)
def test_a_redirect_in_an_odd_spelling_is_refused(location: str) -> None:
    with pytest.raises(UsageError):
        joined(read_address("https://example.com/a"), location)


def test_messages_show_no_secrets() -> None:
    assert shown("https://user:secret@host.example/x?token=secret#secret") == "'…@host.example/x'"
    assert shown("a\u202eb") == "'a\\u202eb'"
    assert read_address("https://host.example/x?token=secret").shown == "https://host.example/x"
    assert len(read_address(f"https://host.example/{'x' * 5000}").shown) == 201


PRIVATE_4 = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
]
PRIVATE_6 = [
    "::/96",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "2002::/16",
    "2001::/32",
    "2001:db8::/32",
    "100::/64",
]


def inside_4(network: str) -> st.SearchStrategy[IPv4Address]:
    whole = IPv4Network(network)
    return st.integers(int(whole[0]), int(whole[-1])).map(IPv4Address)


def inside_6(network: str) -> st.SearchStrategy[IPv6Address]:
    whole = IPv6Network(network)
    return st.integers(int(whole[0]), int(whole[-1])).map(IPv6Address)


EMBEDDINGS: dict[str, Callable[[IPv4Address, int], str]] = {
    "plain": lambda ip, _: str(ip),
    "mapped": lambda ip, _: str(IPv6Address(0xFFFF << 32 | int(ip))),
    "compatible": lambda ip, _: str(IPv6Address(int(ip))),
    "translated": lambda ip, _: str(IPv6Address(0xFFFF << 48 | int(ip))),
    "nat64": lambda ip, _: str(IPv6Address(int(IPv6Address("64:ff9b::")) | int(ip))),
    "local nat64": lambda ip, rest: str(
        IPv6Address(int(IPv6Address("64:ff9b:1::")) | rest % (1 << 48) << 32 | int(ip))
    ),
    "6to4": lambda ip, rest: str(IPv6Address(0x2002 << 112 | int(ip) << 80 | rest)),
    "teredo": lambda ip, rest: str(IPv6Address(0x20010000 << 96 | rest % (1 << 64) << 32 | int(ip) ^ 0xFFFFFFFF)),
    "isatap": lambda ip, rest: str(IPv6Address(0x2606 << 112 | rest % (1 << 48) << 64 | 0x5EFE << 32 | int(ip))),
}


@settings(max_examples=200, deadline=None)
@given(
    ip=st.one_of(*map(inside_4, PRIVATE_4)),
    embedding=st.sampled_from(sorted(EMBEDDINGS)),
    rest=st.integers(0, (1 << 80) - 1),
)
def test_no_private_ipv4_address_is_public_in_any_embedding(ip: IPv4Address, embedding: str, rest: int) -> None:
    spelled = EMBEDDINGS[embedding](ip, rest)
    assert not is_public(spelled)
    url = f"https://[{spelled}]/" if ":" in spelled else f"https://{spelled}/"
    with pytest.raises(RefusedError) as caught:
        Allowed(()).check(read_address(url))
    assert caught.value.code == "private-address"


@settings(max_examples=200, deadline=None)
@given(ip=st.one_of(*map(inside_6, PRIVATE_6)), exploded=st.booleans())
def test_no_private_ipv6_address_is_public(ip: IPv6Address, exploded: bool) -> None:
    spelled = ip.exploded if exploded else str(ip)
    assert not is_public(spelled)
    with pytest.raises(RefusedError):
        Allowed(()).check(read_address(f"https://[{spelled}]/"))


@settings(max_examples=200, deadline=None)
@given(
    number=st.integers(0, (1 << 32) - 1),
    spelling=st.sampled_from(["{0}", "0x{0:x}", "0{0:o}", "{1}.{2}", "0x{1:x}.{2}"]),
)
def test_an_ipv4_address_in_another_spelling_is_never_read(number: int, spelling: str) -> None:
    text = spelling.format(number, number >> 24, number & 0xFFFFFF)
    with pytest.raises(UsageError):
        read_address(f"https://{text}/")


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=()), max_size=40),
    prefix=st.sampled_from(["", "https://", "https://a.example/", "http://[", "https://a@"]),
)
def test_whatever_is_read_is_plain_and_read_again(text: str, prefix: str) -> None:
    try:
        address = read_address(prefix + text)
    except UsageError:
        return
    assert re.fullmatch(r"[\x21-\x7e]+", address.url)
    if address.port:
        assert read_address(address.url) == address


PROXY = "http://proxy.corp:3128"


@pytest.mark.parametrize(
    ("url", "env", "proxy"),
    [
        ("https://a.example/", {}, None),
        ("https://a.example/", {"HTTPS_PROXY": PROXY}, Proxy("proxy.corp", 3128)),
        ("https://a.example/", {"HTTPS_PROXY": PROXY, "https_proxy": "other:1/"}, Proxy("other", 1)),
        ("https://a.example/", {"HTTP_PROXY": PROXY}, None),
        ("http://a.example/", {"HTTP_PROXY": PROXY}, Proxy("proxy.corp", 3128)),
        ("http://a.example/", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, None),
        ("https://a.example/", {"HTTPS_PROXY": "http://me:p%40ss@[::1]"}, Proxy("::1", 80, "Basic bWU6cEBzcw==")),
        ("https://localhost/", {"HTTPS_PROXY": PROXY}, None),
        ("https://127.0.0.1/", {"HTTPS_PROXY": PROXY}, None),
        ("https://a.example/", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, None),
        ("https://a.example/", {"HTTPS_PROXY": PROXY, "NO_PROXY": "x, a.example"}, None),
        ("https://a.example/", {"HTTPS_PROXY": PROXY, "no_proxy": ".example"}, None),
        ("https://a.example/", {"HTTPS_PROXY": PROXY, "no_proxy": "*.example:443"}, None),
        ("https://a.example/", {"HTTPS_PROXY": PROXY, "no_proxy": "a.example:80"}, Proxy("proxy.corp", 3128)),
        ("https://ba.example/", {"HTTPS_PROXY": PROXY, "no_proxy": "a.example,"}, Proxy("proxy.corp", 3128)),
        ("https://10.1.2.3/", {"HTTPS_PROXY": PROXY, "no_proxy": "10.0.0.0/8"}, None),
        ("https://[fd00::1]/", {"HTTPS_PROXY": PROXY, "no_proxy": "fd00::1"}, None),
        ("https://a.example/", {"HTTPS_PROXY": PROXY, "no_proxy": "10.0.0.0/8"}, Proxy("proxy.corp", 3128)),
    ],
)
def test_the_environment_names_the_proxy(url: str, env: dict[str, str], proxy: Proxy | None) -> None:
    assert proxy_for(read_address(url), env) == proxy


@pytest.mark.parametrize(
    "value", ["socks5://me:secret@h:1", "https://me:secret@h:1", "http://h:0", "http://h:99999", "h h"]
)
def test_a_proxy_of_another_kind_is_refused_without_its_password(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        proxy_for(read_address("https://a.example/"), {"HTTPS_PROXY": value})
    assert (caught.value.code, caught.value.message) == (
        "bad-proxy",
        "HTTPS_PROXY does not name a proxy that Whet can use.",
    )

"""Tiers: domains and repositories that say whom they belong to, and what says nothing."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hub.world import ACME, publish, refused
from whet.errors import InvalidError, NotFoundError, RefusedError, UsageError
from whet.hub.namespaces import list_proofs, prove, set_tier
from whet.hub.settings import OwnProvider
from whet.hub.tokens import ANYBODY, OPERATOR
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whet.hub.registry import Hub

LINE = "whet-owner=hub.example/acme"


class Internet(ThreadingHTTPServer):
    """A resolver and a platform on loopback."""

    texts: dict[str, str]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        texts: dict[str, str] = self.server.texts  # type: ignore[attr-defined]  # an Internet
        self.send_response(200 if self.path in texts else 404)
        self.end_headers()
        self.wfile.write(texts.get(self.path, "").encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def internet(hub: Hub) -> Iterator[dict[str, str]]:
    """What is there to read, by path."""
    server = Internet(("127.0.0.1", 0), _Handler)
    server.texts = {}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    hub.web = Web(env={}, private_hosts=(f"127.0.0.1:{server.server_port}",), timeout=10, total=10)
    work = OwnProvider("work", url, "gitlab")
    hub.settings = hub.settings._replace(resolver=f"{url}/dns-query", providers=(work,))
    publish(hub)
    yield server.texts
    server.shutdown()
    server.server_close()


def record(domain: str, *texts: str, kind: int = 16) -> dict[str, str]:
    rows = [{"name": f"_whet.{domain}", "type": kind, "data": f'"{text}"'} for text in texts]
    return {f"/dns-query?name=_whet.{domain}&type=TXT": json.dumps({"Status": 0, "Answer": rows})}


def test_a_domain_wins_the_tier_and_documents_and_the_log_say_how(hub: Hub, internet: dict[str, str]) -> None:
    internet |= record("acme.example", "v=spf1 -all", LINE)
    before = hub.skill(ANYBODY, "acme", "review")
    won = prove(hub, OPERATOR, "acme", "dns", "acme.example")
    assert (won["tier"], won["won"]) == ("verified", "dns:acme.example")
    after = hub.skill(ANYBODY, "acme", "review")
    assert after == {**before, "tier": "verified", "won": "dns:acme.example"}
    assert list_proofs(hub, "acme")["proofs"] == [
        {"kind": "dns", "value": "acme.example", "proved": "2027-01-15T08:00:00Z"}
    ]
    set_tier(hub, OPERATOR, "acme", "official", "We make it.")
    internet["/acme/tools/-/raw/HEAD/.whet-owner"] = f"{LINE}\n"
    assert prove(hub, OPERATOR, "acme", "work", "acme/tools")["tier"] == "official"  # a proof takes nothing away
    acts: list[Any] = [json.loads(entry) for _, entry in hub.log.entries(2, 100)]
    assert [(act["act"], act.get("won", act.get("value"))) for act in acts] == [
        ("proof", "acme.example"),
        ("tier", "dns:acme.example"),
        ("tier", "We make it."),
        ("proof", "acme/tools"),
    ]


def test_what_does_not_say_it_proves_nothing(hub: Hub, internet: dict[str, str]) -> None:
    internet |= record("other.example", "whet-owner=hub.example/other", f"x{LINE}", "whet-owner=other.example/acme")
    internet |= record("alias.example", LINE, kind=5)
    internet["/dns-query?name=_whet.odd.example&type=TXT"] = "[1]"
    internet["/acme/tools/-/raw/HEAD/.whet-owner"] = "whet-owner=hub.example/eve"
    no = (InvalidError, "not-proved")
    for kind, value in (
        ("dns", "other.example"),
        ("dns", "alias.example"),
        ("dns", "odd.example"),
        ("dns", "nothing.example"),
        ("work", "acme/tools"),
        ("work", "acme/none"),
    ):
        assert (value, refused(lambda: prove(hub, OPERATOR, "acme", kind, value))) == (value, no)  # noqa: B023
    for kind, value in (
        ("dns", "localhost"),
        ("dns", "127.0.0.1"),
        ("dns", "a.example&type=A"),
        ("work", "../../etc"),
        ("work", "acme/../x"),
        ("work", "acme"),
        ("work", "acme/tools?x=1"),
        ("work", "a@b/c"),
        ("odd", "acme/tools"),
    ):
        bad = (UsageError, "bad-request")
        assert (value, refused(lambda: prove(hub, OPERATOR, "acme", kind, value))) == (value, bad)  # noqa: B023
    assert hub.skill(ANYBODY, "acme", "review")["tier"] == "community"
    assert refused(lambda: prove(hub, ACME, "acme", "dns", "acme.example")) == (RefusedError, "not-allowed")
    assert refused(lambda: prove(hub, OPERATOR, "none", "dns", "acme.example")) == (NotFoundError, "owner-not-found")
    assert refused(lambda: set_tier(hub, ACME, "acme", "official", "Me.")) == (RefusedError, "not-allowed")
    assert refused(lambda: set_tier(hub, OPERATOR, "acme", "king", "Me.")) == (UsageError, "bad-request")


def test_the_hub_does_not_look_into_its_own_network(hub: Hub, internet: dict[str, str]) -> None:
    internet["/acme/tools/-/raw/HEAD/.whet-owner"] = LINE
    hub.web = Web(env={}, timeout=10, total=10)  # the platform's host is not one that the operator named
    assert refused(lambda: prove(hub, OPERATOR, "acme", "work", "acme/tools")) == (InvalidError, "not-proved")

"""What other clients read of a hub: the index of agent skills and a Claude marketplace, installed from for real."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from sources.loopback import Request, answer, certificate_file
from sources.loopback import serving as standing

from hub.server import VERSION, Served, serving
from hub.test_client import Person
from hub.world import DESCRIBED, make_archive, publish
from whet.hub.discovery import make_artifact
from whet.hub.lifecycle import set_visibility
from whet.hub.tokens import ANYBODY, OPERATOR
from whet.skill.archive import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.hub.registry import Hub

INDEX = "/.well-known/agent-skills/index.json"
MARKETPLACE = "/.claude-plugin/marketplace.json"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, "sqlite") as running:
        yield running


def names(hub: Hub, owner: str = "") -> list[str]:
    """Where the entries of the index lead; the marketplace must have the same."""
    entries = json.loads(hub.discovery.index(owner))["skills"]
    start = "../../../.well-known/agent-skills/" if owner else ""
    found = [entry["url"].removeprefix(start) for entry in entries]
    plugins = json.loads(hub.discovery.marketplace(owner))["plugins"]
    assert [plugin["source"]["url"] for plugin in plugins] == [
        f"http://localhost/.well-known/agent-skills/{path}" for path in found
    ]
    return found


def test_the_index_has_the_newest_version_of_each_skill(store: Hub) -> None:
    assert names(store) == []
    publish(store, "1.0.0")
    publish(store, "1.1.0", body="# Review\n\n1. Read it twice.\n")
    publish(store, "0.1.0", "tidy", body="# Tidy\n\nSort the imports of every module that was changed.\n")
    assert names(store) == ["acme/review/1.1.0.zip", "acme/tidy/0.1.0.zip"]
    entry = json.loads(store.discovery.index())["skills"][0]
    data = make_artifact(store, ANYBODY, ("acme", "review", "1.1.0"))
    assert entry == {
        "name": "review",
        "type": "archive",
        "description": DESCRIBED,
        "url": "acme/review/1.1.0.zip",
        "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
    }
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        assert opened.namelist() == ["SKILL.md"]
    sent = make_archive(body="# Review\n\n1. Read it twice.\n").data
    assert unpack(data).tree == unpack(sent).tree


def test_of_one_name_the_skill_that_was_published_first_is_listed(store: Hub) -> None:
    publish(store, owner="zeta")
    publish(store, body="# Review\n\nAsk for the reason of every change that you do not see at once.\n")
    assert names(store) == ["zeta/review/1.0.0.zip"]
    assert (names(store, "acme"), names(store, "nobody")) == (["acme/review/1.0.0.zip"], [])
    store.yank(OPERATOR, "zeta", "review", "1.0.0", "Broken.")
    assert names(store) == ["acme/review/1.0.0.zip"]


@pytest.mark.parametrize("way", ["private", "yanked", "quarantined"])
def test_what_nobody_should_install_is_never_listed(store: Hub, way: str) -> None:
    publish(store, "1.0.0")
    assert names(store) == names(store, "acme") == ["acme/review/1.0.0.zip"]
    match way:
        case "private":
            set_visibility(store, OPERATOR, "acme", "review", "private")
        case "yanked":
            store.yank(OPERATOR, "acme", "review", "1.0.0", "Broken.")
        case _:
            store.quarantine(OPERATOR, "acme", "review", "1.0.0", "A report.")
    assert names(store) == names(store, "acme") == []


def test_a_list_is_made_again_only_when_the_log_has_grown(store: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(store)
    first = store.discovery.index()
    assert store.discovery.index() is first
    store.yank(OPERATOR, "acme", "review", "1.0.0", "Broken.")
    assert store.discovery.index() != first
    publish(store, "1.1.0", body="# Review\n\n1. Read it twice.\n")
    monkeypatch.setattr("whet.hub.discovery._MOST_BYTES", 100)  # less than one entry
    publish(store, "0.1.0", "tidy", body="# Tidy\n\nSort the imports of every module that was changed.\n")
    assert names(store) == []


def test_the_zip_of_a_version_is_handed_out_as_its_archive_is(served: Served) -> None:
    path = "/.well-known/agent-skills/acme/review/1.0.0.zip"
    assert served.ask("GET", path).code == (404, "version-not-found")
    assert served.publish().status == 201
    answer = served.ask("GET", path)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/zip")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    digest = served.ask("GET", INDEX).json["skills"][0]["digest"]
    assert answer.headers["etag"] == f'"{digest}"'
    assert served.ask("GET", path, If_None_Match=answer.headers["etag"]).status == 304
    head = served.ask("HEAD", path)
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(answer.body)))
    assert served.ask("GET", path.replace("1.0.0", "one")).code == (400, "bad-request")
    assert served.ask("GET", f"/No--body{INDEX}").code == (404, "not-found")
    served.ask("PUT", "/api/v1/skills/acme/review/visibility", "ada", b'{"visibility": "private"}')
    assert served.ask("GET", path).code == (404, "version-not-found")
    assert served.ask("GET", path, "ada").body == answer.body
    served.ask("PUT", "/api/v1/skills/acme/review/visibility", "ada", b'{"visibility": "public"}')
    served.ask("PUT", f"{VERSION}/quarantine", "mo", b'{"reason": "A report."}')
    assert served.ask("GET", path).code == (403, "quarantined")


def test_whet_installs_from_the_index_of_a_hub(tmp_path: Path, served: Served) -> None:
    assert served.publish(notes_md="# Notes\n").status == 201
    for number, address in enumerate(("", "/acme")):
        bob = Person(tmp_path / f"bob{number}", served)
        code, done = bob.whet("install", f"well-known:{bob.address}{address}")
        assert (code, done["installed"]) == (0, ["review"])
        entry = bob.lock()["skills"]["skills/review"]
        assert entry["digest"] == make_archive(notes_md="# Notes\n").digest
    assert served.publish(path=VERSION.replace("1.0.0", "1.1.0")).status == 201
    code, done = bob.whet("update")
    assert (code, bob.lock()["skills"]["skills/review"]["digest"]) == (0, make_archive().digest)


@pytest.mark.deep
def test_whet_installs_from_the_marketplace_of_a_hub(tmp_path: Path) -> None:
    """Archives of a marketplace come over https, so a server with a certificate stands before the hub."""
    behind: list[Served] = []

    def forward(request: Request) -> Any:
        came = behind[0].ask("GET", request.path)
        return answer(came.body, came.status, content_type=came.headers["content-type"])

    artifact = "/.well-known/agent-skills/acme/review/1.0.0.zip"
    with (
        certificate_file() as certificate,
        standing({MARKETPLACE: forward, artifact: forward}, tls=True) as front,
        serving(tmp_path, "sqlite", config=f'url = "{front.url}"\n') as hub,
    ):
        behind.append(hub)
        assert hub.publish(notes_md="# Notes\n").status == 201
        data = hub.ask("GET", artifact).body
        assert hub.ask("GET", MARKETPLACE).json == {
            "name": "hub-example",
            "owner": {"name": "Acme"},
            "plugins": [
                {
                    "name": "review",
                    "description": DESCRIBED,
                    "version": "1.0.0",
                    "author": {"name": "acme"},
                    "source": {
                        "source": "archive",
                        "url": f"{front.url}{artifact}",
                        "sha256": hashlib.sha256(data).hexdigest(),
                    },
                    "strict": False,
                    "skills": ["./"],
                }
            ],
        }
        assert hub.ask("GET", f"/acme{MARKETPLACE}").json["name"] == "hub-example-acme"
        bob = Person(tmp_path / "bob", hub)
        source = f"marketplace:{front.url}{MARKETPLACE}#path=review"
        code, done = bob.whet("install", source, SSL_CERT_FILE=certificate)
        assert (code, done["installed"]) == (0, ["review"])
        assert bob.lock()["skills"]["skills/review"]["digest"] == make_archive(notes_md="# Notes\n").digest

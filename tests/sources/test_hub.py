"""The client of a hub, against a hub that does what its page says, and one that lies."""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.hub_server import Answer, Asked, Hub, hub_serving
from sources.loopback import Request, Route, serving
from sources.reaching import codes, dumped, json_values, main, packed, reach, sha256
from whet.errors import (
    AmbiguousError,
    ConflictError,
    FailedError,
    InvalidError,
    NotFoundError,
    RefusedError,
    UsageError,
    WhetError,
)
from whet.library.roots import Place
from whet.skill.archive import unpack
from whet.skill.tree import Item
from whet.sources.credentials import Login, forget_login, get_home, get_token, keep_login, read_logins
from whet.sources.model import Fetched, Listing, Offer, Ref
from whet.sources.publish.hub import send_version
from whet.sources.registries.hub import MOST_LISTED, HubSource, Version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sources.hub_server import Server

REVIEW = packed("review", {"scripts/check.sh": b"#!/bin/sh\n"}, "Reviews changes.")
BETTER = packed("review", {"references/guide.md": b"# Guide\n"}, "Reviews changes better.")
HEX = "a" * 64


def digest_of(archive: bytes) -> str:
    return unpack(archive).digest


def filled() -> Hub:
    hub = Hub(tokens={"secret": {"acme"}})
    hub.publish("acme", "review", "1.0.0", REVIEW)
    hub.publish("acme", "review", "1.10.0", BETTER)
    hub.publish("acme", "review", "2.0.0-rc.1", REVIEW)
    hub.publish("acme", "deploy", "0.1.0", packed("deploy", description="Deploys a service."))
    hub.publish("olga", "deploy", "3.0.0", packed("deploy", {"x.md": b"x"}, "Deploys elsewhere."))
    return hub


def source(server: Server, path: str = "", ref: str = "", env: Mapping[str, str] | None = None) -> HubSource:
    return HubSource(Ref("hub", server.url, ref, path), reach(server.web(), env))


# reading


def test_a_skill_is_inspected_and_fetched_in_its_latest_version() -> None:
    with hub_serving(filled()) as server:
        hub = source(server, "acme/review")
        digest = digest_of(BETTER)
        offer = Offer("review", "Reviews changes better.", hub.ref, "1.10.0", digest, "1.10.0", digest)
        assert hub.inspect() == Listing(hub.ref, "1.10.0", (offer,))
        tree = {
            "SKILL.md": Item(main("review", "Reviews changes better.")),
            "references/guide.md": Item(b"# Guide\n"),
        }
        assert hub.fetch([offer]) == (Fetched(offer, tree),)
        hub.close()


def test_a_version_can_be_asked_for_and_executables_stay_so() -> None:
    with hub_serving(filled()) as server:
        hub = source(server, "acme/review", "1.0.0")
        (fetched,) = hub.fetch(hub.inspect().offers)
        assert fetched.offer.ref == Ref("hub", server.url, "1.0.0", "acme/review")
        assert fetched.tree["scripts/check.sh"] == Item(b"#!/bin/sh\n", executable=True)
        assert [offer.version for offer in source(server, "acme/review", "2.0.0-rc.1").inspect().offers] == [
            "2.0.0-rc.1"
        ]


def test_a_name_alone_is_enough_where_one_owner_has_it() -> None:
    with hub_serving(filled()) as server:
        (offer,) = source(server, "review").inspect().offers
        assert offer.ref == Ref("hub", server.url, "", "acme/review")
        with pytest.raises(AmbiguousError) as several:
            source(server, "deploy").inspect()
        assert several.value.details == {"candidates": ["acme/deploy", "olga/deploy"]}
        with pytest.raises(NotFoundError) as missing:
            source(server, "nothing").inspect()
        assert missing.value.code == "source-not-found"


def test_what_is_not_there_is_told_in_the_words_of_the_hub() -> None:
    with hub_serving(filled()) as server:
        with pytest.raises(NotFoundError) as missing:
            source(server, "acme/reviw").inspect()
        assert (missing.value.message, missing.value.hint) == (
            "There is no skill acme/reviw.",
            "`whet find --everywhere WORDS` searches your sources.",
        )
        with pytest.raises(NotFoundError) as version:
            source(server, "acme/review", "9.0.0").inspect()
        assert version.value.message == "acme/review has no version 9.0.0."


def test_everything_is_listed_where_nothing_is_named_and_names_are_looked_up() -> None:
    with hub_serving(filled()) as server:
        listed = source(server).inspect()
        assert [(offer.ref.path, offer.version) for offer in listed.offers] == [
            ("acme/deploy", "0.1.0"),
            ("acme/review", "1.10.0"),
            ("olga/deploy", "3.0.0"),
        ]
        named = source(server).inspect(["olga/deploy", "review"])
        assert [offer.ref.path for offer in named.offers] == ["olga/deploy", "acme/review"]
        hub = source(server)
        assert [package.offer for package in hub.fetch(listed.offers)] == list(listed.offers)


def test_a_long_list_is_read_page_by_page_and_cut() -> None:
    hub = Hub()
    for number in range(MOST_LISTED + 5):
        name = f"skill-{number:05}"
        hub.publish("acme", name, "1.0.0", packed(name))
    with hub_serving(hub) as server:
        listing = source(server).inspect()
        assert len(listing.offers) == MOST_LISTED
        assert codes(listing.notes) == [("listing-cut", "")]
        assert len(source(server).search("skill", 250)) == 250
        assert len(source(server).search("skill", 7)) == 7


def test_search_is_that_of_the_hub() -> None:
    with hub_serving(filled()) as server:
        assert [offer.ref.path for offer in source(server).search("deploy", 10)] == ["acme/deploy", "olga/deploy"]
        assert [offer.ref.path for offer in source(server).search("Reviews & more", 10)] == ["acme/review"]
        assert source(server).search(" \n", 10) == ()
        assert source(server).search("nothing at all", 10) == ()
        assert source(server).search("x" * 1000, 10) == ()


def test_a_list_that_leads_in_a_circle_ends() -> None:
    page = {"skills": [{"owner": "a", "name": "b", "latest": None}], "next": "again"}
    with serving({"/api/v1/skills": dumped(page)}) as server:
        hub = HubSource(Ref("hub", server.url), reach(server.web()))
        assert hub.inspect().offers == ()
        assert len(server.requests) == 2


# yanked


def test_a_yanked_version_is_never_the_latest_and_refused_unless_it_is_asked_for() -> None:
    hub = filled()
    hub.yank("acme", "review", "1.10.0", "It deletes too much.")
    with hub_serving(hub) as server:
        assert [offer.version for offer in source(server, "acme/review").inspect().offers] == ["1.0.0"]
        pinned = source(server, "acme/review", "1.10.0")
        listing = pinned.inspect()
        assert [(note.code, note.severity) for note in listing.notes] == [("version-yanked", "warning")]
        assert "It deletes too much." in listing.notes[0].message
        assert pinned.fetch(listing.offers)[0].notes == listing.notes


def test_a_skill_with_nothing_but_yanked_versions_is_refused() -> None:
    hub = filled()
    hub.yank("olga", "deploy", "3.0.0", "Withdrawn.")
    with hub_serving(hub) as server:
        with pytest.raises(RefusedError) as caught:
            source(server, "olga/deploy").inspect()
        assert caught.value.code == "version-yanked"
        assert [offer.ref.path for offer in source(server).inspect().offers] == ["acme/deploy", "acme/review"]
        assert [offer.ref.path for offer in source(server).search("deploy", 9)] == ["acme/deploy"]


def test_what_was_yanked_after_it_was_listed_is_not_fetched() -> None:
    hub = filled()
    with hub_serving(hub) as server:
        listed = source(server).inspect().offers
        hub.yank("acme", "deploy", "0.1.0", "Withdrawn.")
        with pytest.raises(RefusedError) as caught:
            source(server).fetch(listed[:1])
        assert caught.value.code == "version-yanked"


# a hub that lies


def lying(change: Any, where: str = "/versions/1.10.0") -> Hub:
    """A hub that changes the answers of one kind."""
    hub = filled()

    def twist(asked: Asked, answer: Answer) -> Answer:
        if not asked.path.endswith(where):
            return answer
        if callable(change):
            return answer._replace(body=change(answer.body))
        return answer._replace(body=dumped({**json.loads(answer.body), **change}))

    hub.twist = twist
    return hub


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda body: body[:-1] + b"x", "/archive"),
        (lambda _: REVIEW, "/archive"),
        ({"digest": f"sha256:{HEX}"}, "/versions/1.10.0"),
        ({"archive": {"url": "/api/v1/skills/acme/review/versions/1.0.0/archive", "sha256": HEX, "size": 1}}, "1.10.0"),
    ],
)
def test_content_that_is_not_what_was_promised_is_refused(change: Any, where: str) -> None:
    with hub_serving(lying(change, where)) as server:
        hub = source(server, "acme/review")
        with pytest.raises(InvalidError) as caught:
            hub.fetch(hub.inspect().offers)
        assert caught.value.code in ("digest-mismatch", "response-too-large")
        assert caught.value.message.startswith("review: ")


def test_a_size_that_is_not_true_is_refused() -> None:
    archive = {"url": "archive", "sha256": sha256(BETTER), "size": len(BETTER) + 1}
    base = "/api/v1/skills/acme/review/versions/1.10.0"
    archive["url"] = f"{base}/archive"
    with hub_serving(lying({"archive": archive}, "/1.10.0")) as server:
        hub = source(server, "acme/review")
        with pytest.raises(InvalidError) as caught:
            hub.fetch(hub.inspect().offers)
        assert caught.value.code == "digest-mismatch"


def test_a_version_that_names_another_content_later_is_refused() -> None:
    with hub_serving(filled()) as server:
        listed = source(server).inspect().offers
    with hub_serving(lying({"digest": f"sha256:{HEX}"}, "/versions/0.1.0")) as server:
        moved = listed[0]._replace(ref=listed[0].ref._replace(location=server.url))
        with pytest.raises(InvalidError) as caught:
            source(server).fetch([moved])
        assert caught.value.code == "digest-mismatch"


@pytest.mark.parametrize(
    "change",
    [
        {"owner": "mallory"},
        {"name": "other"},
        {"version": "1.0.0"},
        {"version": 1},
        {"digest": None},
        {"digest": HEX},
        {"digest": f"sha256:{'g' * 64}"},
        {"archive": None},
        {"archive": []},
        {"archive": {}},
        {"archive": {"url": "x", "sha256": HEX}},
        {"archive": {"url": "x", "sha256": HEX, "size": "1"}},
        {"archive": {"url": "x", "sha256": HEX, "size": -1}},
        {"archive": {"url": "x", "sha256": HEX, "size": True}},
        {"archive": {"url": "x", "sha256": f"sha256:{HEX}", "size": 1}},
        {"archive": {"url": "file:///etc/passwd", "sha256": HEX, "size": 1}},
        {"archive": {"url": "http://[x", "sha256": HEX, "size": 1}},
        {"yanked": "yes"},
        {"yanked": {"reason": 7}},
        {"description": {}},
    ],
)
def test_a_wrong_field_is_a_bad_response(change: dict[str, Any]) -> None:
    with hub_serving(lying(change)) as server, pytest.raises(InvalidError) as caught:
        source(server, "acme/review").inspect()
    assert caught.value.code == "bad-response"


def test_missing_and_further_fields_are_tolerated() -> None:
    def bare(body: bytes) -> bytes:
        kept = {
            key: value
            for key, value in json.loads(body).items()
            if key in ("owner", "name", "version", "digest", "archive")
        }
        return dumped({**kept, "downloads": 7, "signatures": [{"keyid": "x"}]})

    with hub_serving(lying(bare)) as server:
        hub = source(server, "acme/review")
        assert len(hub.fetch(hub.inspect().offers)) == 1


JSON = json_values(
    ["skills", "next", "owner", "name", "latest", "version", "digest", "archive", "yanked"], ["acme", "review", "1.0.0"]
)
SKILLS = st.fixed_dictionaries(
    {"owner": JSON | st.just("acme"), "name": JSON | st.just("review")},
    optional={"latest": JSON | st.just("1.0.0"), "digest": JSON | st.just(f"sha256:{HEX}"), "description": JSON},
)
ANSWERS = (
    JSON
    | SKILLS
    | st.fixed_dictionaries({"skills": st.lists(SKILLS | JSON)}, optional={"next": JSON})
    | st.fixed_dictionaries(
        {"owner": st.just("acme"), "name": st.just("review"), "version": st.just("1.0.0")},
        optional={"digest": st.just(f"sha256:{HEX}"), "archive": JSON, "yanked": JSON},
    )
)


def test_whatever_json_comes_is_an_answer_or_refused() -> None:
    said = [b""]

    def speak(_: Request) -> bytes:
        return said[0]

    base = "/api/v1/skills/acme/review"
    routes: dict[str, Any] = dict.fromkeys(
        ("/api/v1/skills", "/api/v1/search", base, f"{base}/versions/1.0.0", f"{base}/versions/1.0.0/archive"), speak
    )
    with serving(routes) as server:
        hub = HubSource(Ref("hub", server.url), reach(server.web()))
        pinned = HubSource(Ref("hub", server.url, "1.0.0", "acme/review"), reach(server.web()))

        @settings(max_examples=100, deadline=None)
        @given(ANSWERS)
        def holds(answer: Any) -> None:
            said[0] = json.dumps(answer).encode()
            for ask in (hub.inspect, pinned.inspect, lambda: hub.search("x", 5)):
                with contextlib.suppress(WhetError):
                    ask()

        holds()


# tokens


def place_with(directory: Path, **env: str) -> Place:
    return Place(str(directory), str(directory), str(directory / "state"), "linux", env)


def test_a_token_goes_to_the_hub_it_belongs_to_and_to_no_other(tmp_path: Path) -> None:
    own = place_with(tmp_path, WHET_HUB_TOKEN="secret", WHET_HUB="https://Hub.Example/skills")
    assert get_token("https://hub.example:443/skills", own) == "secret"
    for other in ("https://hub.example:8443", "http://hub.example", "https://hub.example.evil.example", "nonsense"):
        assert get_token(other, own) == ""
    assert get_token("https://hub.example", place_with(tmp_path, WHET_HUB_TOKEN="secret")) == ""
    assert get_token("nonsense", place_with(tmp_path, WHET_HUB_TOKEN="secret", WHET_HUB="nonsense")) == ""
    with pytest.raises(UsageError) as caught:
        get_token("https://hub.example", own._replace(env={**own.env, "WHET_HUB_TOKEN": "two\nlines"}))
    assert (caught.value.code, "two" in caught.value.message) == ("bad-token", False)


def test_a_login_keeps_the_token_for_its_hub_in_a_file_of_ones_own(tmp_path: Path) -> None:
    place = place_with(tmp_path)
    file = tmp_path / "state" / "credentials.json"
    assert (read_logins(place), get_home(place), forget_login("https://hub.example", place)) == ((), "", False)
    keep_login(Login("https://hub.example", "ada", "one"), place)
    keep_login(Login("https://hub.example:443", "ada", "two"), place)
    assert read_logins(place) == (Login("https://hub.example:443", "ada", "two"),)
    assert (file.stat().st_mode & 0o777, get_home(place)) == (0o600, "https://hub.example:443")
    assert [get_token(at, place) for at in ("https://hub.example/x", "http://hub.example")] == ["two", ""]
    keep_login(Login("https://other.example", "ada", "three"), place)
    assert get_home(place) == ""
    assert get_home(place._replace(env={"WHET_HUB": "https://third.example"})) == "https://third.example"
    assert (forget_login("https://hub.example", place), len(read_logins(place))) == (True, 1)
    for damage in (
        b"{",
        b"[]",
        b'{"https://a.example": {}}',
        b'{"https://a.example": {"account": "a", "token": "a b"}}',
    ):
        file.write_bytes(damage)
        with pytest.raises(FailedError) as damaged:
            read_logins(place)
        assert damaged.value.code == "credentials-damaged"


def test_a_private_hub_is_read_with_its_token_and_without_it_the_way_is_told() -> None:
    hub = filled()
    hub.private = True
    with hub_serving(hub) as server:
        env = {"WHET_HUB": server.url, "WHET_HUB_TOKEN": "secret"}
        private = source(server, "acme/review", env=env)
        assert len(private.fetch(private.inspect().offers)) == 1
        assert {request.headers.get("authorization") for request in hub.requests} == {"Bearer secret"}
        for wrong in ({}, {"WHET_HUB_TOKEN": "secret"}, {**env, "WHET_HUB": "https://other.example"}):
            hub.requests.clear()
            with pytest.raises(RefusedError) as caught:
                source(server, "acme/review", env=wrong).inspect()
            assert caught.value.code == "source-denied"
            ways = f"`whet hub login {server.url}`, or set WHET_HUB to it and WHET_HUB_TOKEN to your token."
            assert caught.value.hint == f"Log in with {ways}"
            assert [request.headers.get("authorization") for request in hub.requests] == [None]
        with pytest.raises(RefusedError) as caught:
            source(server, "acme/review", env={**env, "WHET_HUB_TOKEN": "stale"}).inspect()
        assert caught.value.hint == "Send a token of this hub."


def test_an_archive_on_another_host_is_fetched_without_the_token() -> None:
    with serving({"/review.skill": BETTER}) as store:
        archive = {"url": f"{store.url}/review.skill", "sha256": sha256(BETTER), "size": len(BETTER)}
        with hub_serving(lying({"archive": archive}, "/1.10.0")) as server:
            env = {"WHET_HUB": server.url, "WHET_HUB_TOKEN": "secret"}
            web = server.web(private_hosts=(store.host,))
            hub = HubSource(Ref("hub", server.url, "", "acme/review"), reach(web, env))
            assert len(hub.fetch(hub.inspect().offers)) == 1
        assert ["authorization" in request.headers for request in store.requests] == [False]


def test_a_redirect_to_another_host_does_not_carry_the_token() -> None:
    with serving({"/stolen": b"{}"}) as thief:
        routes: dict[str, Any] = {"/api/v1/skills/acme/review": Route(302, {"Location": f"{thief.url}/stolen"})}
        with serving(routes) as server:
            env = {"WHET_HUB": server.url, "WHET_HUB_TOKEN": "secret"}
            web = server.web(private_hosts=(thief.host,))
            with pytest.raises(InvalidError):
                HubSource(Ref("hub", server.url, "", "acme/review"), reach(web, env)).inspect()
            assert ["authorization" in request.headers for request in server.requests] == [True]
        assert ["authorization" in request.headers for request in thief.requests] == [False]


# publishing


def test_a_version_is_published_once_and_can_be_sent_again() -> None:
    hub = Hub(tokens={"secret": {"acme"}})
    with hub_serving(hub) as server:
        arguments = (server.web(), f"{server.url}/", "secret", "acme", "review", "1.0.0", REVIEW, digest_of(REVIEW))
        version, created = send_version(*arguments)
        assert created
        url = f"{server.url}/api/v1/skills/acme/review/versions/1.0.0"
        sha256 = hashlib.sha256(REVIEW).hexdigest()
        said = ("acme", "review", "1.0.0", "Reviews changes.", digest_of(REVIEW))
        assert version == Version(*said, version.url, sha256, len(REVIEW), None, "2026-01-01T00:00:01Z")
        assert version.url.startswith(url)
        assert send_version(*arguments) == (version, False)
        installed = source(server, "acme/review")
        assert installed.fetch(installed.inspect().offers)[0].tree["SKILL.md"] == Item(
            main("review", "Reviews changes.")
        )


@pytest.mark.parametrize(
    ("changes", "error", "code"),
    [
        ({"archive": BETTER, "digest": digest_of(BETTER), "version": "1.0.0"}, ConflictError, "version-exists"),
        ({"token": "wrong"}, RefusedError, "source-denied"),
        ({"token": ""}, RefusedError, "source-denied"),
        ({"owner": "olga"}, RefusedError, "source-denied"),
        ({"token": "two words"}, UsageError, "bad-token"),
        ({"archive": b"no archive"}, InvalidError, "hub-refused"),
        ({"archive": packed("other"), "digest": digest_of(packed("other"))}, InvalidError, "hub-refused"),
        ({"digest": f"sha256:{HEX}"}, InvalidError, "hub-refused"),
        ({"version": "one"}, InvalidError, "hub-refused"),
        ({"version": "../x"}, UsageError, "bad-source"),
        ({"name": "a/b"}, UsageError, "bad-source"),
    ],
)
def test_what_the_hub_refuses_is_told(changes: dict[str, Any], error: type[WhetError], code: str) -> None:
    given = {
        "token": "secret",
        "owner": "acme",
        "name": "review",
        "version": "3.0.0",
        "archive": REVIEW,
        "digest": digest_of(REVIEW),
        **changes,
    }
    hub = filled()
    before = dict(hub.versions)
    with hub_serving(hub) as server, pytest.raises(error) as caught:
        send_version(server.web(), server.url, **given)
    assert caught.value.code == code
    assert hub.versions == before


def test_a_hub_that_stored_something_else_is_noticed() -> None:
    hub = Hub(tokens={"secret": {"acme"}})
    hub.twist = lambda _, answer: answer._replace(
        body=dumped({**json.loads(answer.body), "digest": f"sha256:{HEX}"}) if answer.status == 201 else answer.body
    )
    with hub_serving(hub) as server, pytest.raises(InvalidError) as caught:
        send_version(server.web(), server.url, "secret", "acme", "review", "1.0.0", REVIEW, digest_of(REVIEW))
    assert caught.value.code == "digest-mismatch"

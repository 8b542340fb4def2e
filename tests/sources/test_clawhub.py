"""Skills of a registry that speaks ClawHub's language."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.loopback import answer, serving, truncated
from sources.reaching import codes, dumped, json_values, main, reach
from sources.repositories import Repository
from whet.errors import FailedError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.skill.tree import Item
from whet.sources.model import Fetched, Listing, Offer, Ref
from whet.sources.registries import clawhub
from whet.sources.registries.clawhub import ClawHubSource
from whet.sources.registries.registry import split_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sources.loopback import Server

API = "/api/v1"
SKILL = f"{API}/skills/gifgrep"
VERSION = f"{SKILL}/versions/1.2.3"


def skill(**changes: Any) -> dict[str, Any]:
    given = {
        "skill": {
            "slug": "gifgrep",
            "displayName": "GifGrep",
            "summary": "Finds pictures.",
            "tags": {"latest": "1.2.3", "stable": "1.0.0"},
            "stats": {},
            "createdAt": 0,
        },
        "latestVersion": {"version": "1.2.3", "createdAt": 0, "changelog": "…"},
        "owner": {"handle": "petra", "displayName": "Petra", "image": None},
        "moderation": None,
        "metadata": None,
        **changes,
    }
    return {field: value for field, value in given.items() if value is not ...}


def version(number: str = "1.2.3", **more: Any) -> bytes:
    return dumped({"version": {"version": number, "createdAt": 0, "changelog": "", **more}, "skill": None})


def zipped(**files: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


PACKAGE = zipped(**{"SKILL.md": main("gifgrep"), "_meta.json": b"{}", "docs/_meta.json": b"[]", ".env.example": b"A=1"})
HONEST: Mapping[str, Any] = {SKILL: dumped(skill()), VERSION: version(), f"{API}/download": PACKAGE}


def source(server: Server, path: str = "petra/gifgrep", ref: str = "") -> ClawHubSource:
    return ClawHubSource(Ref("clawhub", server.url, ref, path), reach(server.web()))


def asked(server: Server) -> list[str]:
    return [request.path.removeprefix(API) for request in server.requests]


def test_a_skill_is_inspected_and_fetched_in_its_latest_version() -> None:
    with serving(HONEST) as server:
        registry = source(server)
        ref = Ref("clawhub", server.url, "", "petra/gifgrep")
        offer = Offer("gifgrep", "Finds pictures.", ref, "1.2.3", "1.2.3", "1.2.3")
        assert registry.inspect() == Listing(ref, "1.2.3", (offer,))
        (fetched,) = registry.fetch([offer])
        tree = {"SKILL.md": Item(main("gifgrep")), "docs/_meta.json": Item(b"[]"), ".env.example": Item(b"A=1")}
        assert fetched == Fetched(offer, tree, fetched.notes)
        assert codes(fetched.notes) == [("left-out", "gifgrep")]
        registry.close()
        assert asked(server) == [
            "/skills/gifgrep?ownerHandle=petra",
            "/skills/gifgrep/versions/1.2.3?ownerHandle=petra",
            "/download?slug=gifgrep&version=1.2.3&ownerHandle=petra",
        ]


def test_the_owner_that_the_registry_names_becomes_part_of_the_reference() -> None:
    with serving(HONEST) as server:
        (offer,) = source(server, "gifgrep").inspect().offers
        assert offer.ref == Ref("clawhub", server.url, "", "petra/gifgrep")


def test_without_an_owner_the_slug_alone_is_used() -> None:
    with serving({**HONEST, SKILL: dumped(skill(owner=None))}) as server:
        registry = source(server, "gifgrep")
        offers = registry.inspect().offers
        assert [offer.ref.path for offer in offers] == ["gifgrep"]
        assert len(registry.fetch(offers)) == 1
        assert asked(server)[-1] == "/download?slug=gifgrep&version=1.2.3"


def test_a_skill_of_somebody_else_is_not_the_one_that_was_asked_for() -> None:
    with serving(HONEST) as server, pytest.raises(NotFoundError) as caught:
        source(server, "mallory/gifgrep").inspect()
    assert caught.value.code == "source-not-found"
    assert "belongs to petra" in caught.value.message


@pytest.mark.parametrize(("ref", "number"), [("1.0.0", "1.0.0"), ("stable", "1.0.0"), ("latest", "1.2.3")])
def test_a_version_or_a_tag_can_be_asked_for(ref: str, number: str) -> None:
    with serving({**HONEST, f"{SKILL}/versions/1.0.0": version("1.0.0")}) as server:
        (offer,) = source(server, ref=ref).inspect().offers
        assert (offer.ref.ref, offer.revision, offer.version) == (ref, number, number)


def test_a_range_takes_the_highest_version_in_it() -> None:
    numbers = ["2.0.0", "1.2.3", "1.10.0", "1.11.0-beta", "0.9.0"]
    pages = [
        dumped({"items": [{"version": number} for number in some], "nextCursor": cursor})
        for some, cursor in ((numbers[:2], "a b"), (numbers[2:], None))
    ]
    with serving(
        {**HONEST, f"{SKILL}/versions": [*pages, *pages], f"{SKILL}/versions/1.10.0": version("1.10.0")}
    ) as server:
        (offer,) = source(server, ref="^1.2").inspect().offers
        assert (offer.ref.ref, offer.revision, offer.version) == ("^1.2", "1.10.0", "1.10.0")
        assert asked(server)[1:3] == [
            "/skills/gifgrep/versions?limit=100&ownerHandle=petra",
            "/skills/gifgrep/versions?limit=100&cursor=a%20b&ownerHandle=petra",
        ]
        with pytest.raises(NotFoundError) as caught:
            source(server, ref="^3").inspect()
        assert (caught.value.code, caught.value.hint) == ("no-such-version", "It has 2.0.0, 1.10.0, 1.2.3, 0.9.0.")


def test_a_version_that_is_not_there_is_not_found() -> None:
    routes = {**HONEST, f"{SKILL}/versions/7.0.0": dumped({"version": None, "skill": None})}
    with serving(routes) as server:
        for ref in ("9.9.9", "7.0.0"):
            with pytest.raises(NotFoundError) as caught:
                source(server, ref=ref).inspect()
            assert f"There is no version {ref}." in caught.value.message


def test_a_registry_without_version_pages_is_enough_for_the_latest() -> None:
    with serving({SKILL: HONEST[SKILL]}) as server:
        assert [offer.revision for offer in source(server).inspect().offers] == ["1.2.3"]


def test_an_old_name_is_told() -> None:
    moved = skill(skill={"slug": "gif-search", "summary": "Finds pictures."})
    routes = {**HONEST, SKILL: dumped(moved), f"{API}/skills/gif-search/versions/1.2.3": version()}
    with serving(routes) as server:
        listing = source(server).inspect()
        assert [(offer.name, offer.ref.path) for offer in listing.offers] == [("gif-search", "petra/gifgrep")]
        assert codes(listing.notes) == [("skill-renamed", "gif-search")]
        assert [offer.ref.path for offer in source(server, "gifgrep").inspect().offers] == ["petra/gif-search"]


@pytest.mark.parametrize(
    ("moderation", "security"),
    [
        ({"isMalwareBlocked": True, "isSuspicious": True}, None),
        ({"isMalwareBlocked": False, "verdict": "malicious", "summary": "It steals."}, None),
        (None, {"status": "malicious"}),
    ],
)
def test_malware_is_refused(moderation: Any, security: Any) -> None:
    routes = {**HONEST, SKILL: dumped(skill(moderation=moderation)), VERSION: version(security=security)}
    with serving(routes) as server, pytest.raises(RefusedError) as caught:
        source(server).inspect()
    assert caught.value.code == "source-blocked"


@pytest.mark.parametrize(
    ("moderation", "security"),
    [
        ({"isSuspicious": True, "summary": "It is odd.\x1b[2J"}, None),
        ({"verdict": "suspicious"}, None),
        (None, {"status": "suspicious"}),
    ],
)
def test_what_is_suspected_is_told_when_it_is_listed_and_when_it_is_fetched(moderation: Any, security: Any) -> None:
    routes = {**HONEST, SKILL: dumped(skill(moderation=moderation)), VERSION: version(security=security)}
    with serving(routes) as server:
        registry = source(server)
        listing = registry.inspect()
        assert [(note.code, note.severity) for note in listing.notes] == [("source-suspicious", "warning")]
        assert all(note.message.isprintable() for note in listing.notes)
        assert registry.fetch(listing.offers)[0].notes[0] == listing.notes[0]


def test_clean_and_pending_reviews_say_nothing() -> None:
    clean = {"isSuspicious": False, "isMalwareBlocked": False, "verdict": "clean"}
    routes = {**HONEST, SKILL: dumped(skill(moderation=clean)), VERSION: version(security={"status": "pending"})}
    with serving(routes) as server:
        assert source(server).inspect().notes == ()


def test_several_names_are_looked_up_and_none_at_all_is_refused() -> None:
    other = skill(skill={"slug": "other"}, owner={"handle": "olga"})
    routes = {**HONEST, f"{API}/skills/other": dumped(other)}
    with serving(routes) as server:
        listing = source(server, "").inspect(["gifgrep", "olga/other", "petra/gifgrep"])
        assert [offer.ref.path for offer in listing.offers] == ["petra/gifgrep", "olga/other"]
        with pytest.raises(UsageError) as caught:
            source(server, "").inspect()
        assert caught.value.code == "skill-not-named"


def test_search_is_that_of_the_registry() -> None:
    results = [
        {"slug": "gifgrep", "summary": "Finds pictures.", "version": "1.2.3", "ownerHandle": "petra", "score": 0.9},
        {"slug": "two", "displayName": "Two", "version": None, "owner": {"handle": "olga"}, "score": 0.5, "new": []},
        {"slug": "three", "summary": None, "score": 0.4},
        {"displayName": "no slug", "score": 0.3},
        {"slug": "three", "summary": "again"},
    ]
    with serving({f"{API}/search": dumped({"results": results})}) as server:
        ref = Ref("clawhub", server.url)
        assert source(server, "").search("gif & find", 3) == (
            Offer("gifgrep", "Finds pictures.", ref._replace(path="petra/gifgrep"), "1.2.3", "1.2.3", "1.2.3"),
            Offer("two", "Two", ref._replace(path="olga/two"), ""),
            Offer("three", "", ref._replace(path="three"), ""),
        )
        assert asked(server) == ["/search?q=gif%20%26%20find&limit=3"]


def test_what_search_found_can_be_fetched_at_once() -> None:
    results = {"results": [{"slug": "gifgrep", "ownerHandle": "petra"}]}
    with serving({**HONEST, f"{API}/search": dumped(results)}) as server:
        registry = source(server, "")
        (fetched,) = registry.fetch(registry.search("gif", 1))
        assert fetched.offer.revision == "1.2.3"


@pytest.mark.parametrize(
    ("routes", "error", "code"),
    [
        ({}, NotFoundError, "source-not-found"),
        ({SKILL: dumped(skill(skill=None))}, NotFoundError, "source-not-found"),
        ({SKILL: answer(b"Rate limit exceeded", 429, retry_after="60")}, FailedError, "rate-limited"),
        ({SKILL: answer(b"", 403)}, RefusedError, "source-denied"),
        ({SKILL: b"<html>"}, InvalidError, "bad-response"),
        ({SKILL: b"[]"}, InvalidError, "bad-response"),
        ({SKILL: truncated(dumped(skill()))}, FailedError, "response-cut-off"),
    ],
)
def test_a_failing_registry_is_an_error(routes: Any, error: type[WhetError], code: str) -> None:
    with serving(routes) as server, pytest.raises(error) as caught:
        source(server).inspect()
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (skill(skill=7), "skill"),
        (skill(skill={}), "slug"),
        (skill(skill={"slug": "../up"}), "slug"),
        (skill(skill={"slug": ["x"]}), "slug"),
        (skill(skill={"slug": "gifgrep", "summary": 7}), "summary"),
        (skill(skill={"slug": "gifgrep", "tags": []}), "latestVersion"),
        (skill(latestVersion=[]), "latestVersion"),
        (skill(latestVersion={}), "version"),
        (skill(latestVersion={"version": "1/2"}), "version"),
        (skill(owner="petra"), "owner"),
        (skill(owner={"handle": "a/b"}), "handle"),
        (skill(moderation=True), "moderation"),
        (skill(moderation={"isSuspicious": "yes"}), "isSuspicious"),
        (skill(moderation={"isMalwareBlocked": 1}), "isMalwareBlocked"),
        (skill(moderation={"verdict": []}), "verdict"),
    ],
)
def test_a_wrong_field_is_named(wrong: Any, field: str) -> None:
    if field == "latestVersion" and isinstance(wrong["latestVersion"], dict):
        wrong = {**wrong, "latestVersion": 7}
    with serving({**HONEST, SKILL: dumped(wrong)}) as server, pytest.raises(InvalidError) as caught:
        source(server).inspect()
    assert caught.value.code == "bad-response"
    assert field in caught.value.message


def test_an_answer_about_another_version_is_refused() -> None:
    with serving({**HONEST, VERSION: version("6.6.6")}) as server, pytest.raises(InvalidError) as caught:
        source(server).inspect()
    assert caught.value.code == "bad-response"


@pytest.mark.parametrize(
    ("package", "code"),
    [
        (b"", "archive-not-readable"),
        (PACKAGE[:-40], "archive-not-readable"),
        (zipped(**{"_meta.json": b"{}"}), "archive-no-skill"),
        (zipped(**{"SKILL.md": b"x", "../up": b"x"}), "archive-unsafe-path"),
        (truncated(PACKAGE), "response-cut-off"),
        (answer(b"", 410), "source-not-found"),
        (answer(b"blocked", 403), "source-denied"),
    ],
)
def test_a_bad_package_is_refused_whole(package: Any, code: str) -> None:
    with serving({**HONEST, f"{API}/download": package}) as server:
        registry = source(server)
        with pytest.raises(WhetError) as caught:
            registry.fetch(registry.inspect().offers)
    assert caught.value.code == code
    assert caught.value.message.startswith("gifgrep: ")


def test_a_skill_in_a_repository_is_fetched_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "petra").mkdir()
    repository = Repository.new(tmp_path / "petra" / "skills")
    first = repository.commit({"skills/gifgrep/SKILL.md": main("gifgrep"), "README.md": b"x"})
    latest = repository.commit({"skills/gifgrep/SKILL.md": main("gifgrep", "Better."), "README.md": b"x"})
    install = {
        "ok": True,
        "installKind": "github",
        "github": {"repo": "petra/skills", "path": "skills/gifgrep", "commit": latest, "contentHash": "x"},
    }
    routes = {SKILL: dumped(skill(latestVersion=None)), f"{SKILL}/install": dumped(install)}
    # The registry only ever names GitHub; here a directory of this machine stands in for it.
    monkeypatch.setattr(clawhub, "GITHUB", f"{tmp_path.as_uri()}/")
    with serving(routes) as server:
        held = reach(server.web(), env={"PATH": os.environ["PATH"]}, state=str(tmp_path / "state"))
        for ref, commit, text in (("", latest, "Better."), (first, first, "Does one thing.")):
            registry = ClawHubSource(Ref("clawhub", server.url, ref, "petra/gifgrep"), held)
            listing = registry.inspect()
            (offer,) = listing.offers
            assert (offer.ref, offer.revision, offer.version) == (registry.ref, commit, "")
            (fetched,) = registry.fetch([offer])
            assert (fetched.offer, fetched.tree) == (offer, {"SKILL.md": Item(main("gifgrep", text))})


@pytest.mark.parametrize(
    ("install", "code"),
    [
        ({"ok": False, "reason": "github_scan_failed", "message": "It waits for a check."}, "source-not-found"),
        ({}, "source-not-found"),
        ({"ok": True}, "bad-response"),
        ({"ok": True, "github": {"repo": "a/b"}}, "bad-response"),
        ({"ok": True, "github": {"repo": "a/b", "commit": "main"}}, "bad-response"),
        ({"ok": True, "github": {"repo": "../../x", "commit": "a" * 40}}, "bad-response"),
    ],
)
def test_a_skill_that_cannot_be_resolved_is_refused(install: Any, code: str) -> None:
    routes = {SKILL: dumped(skill(latestVersion=None)), f"{SKILL}/install": dumped(install)}
    with serving(routes) as server, pytest.raises(WhetError) as caught:
        source(server).inspect()
    assert caught.value.code == code


def test_an_archive_behind_the_resolver_is_taken() -> None:
    install = {"ok": True, "installKind": "archive", "archive": {"version": "2.0.0", "downloadUrl": "/x"}}
    routes = {**HONEST, SKILL: dumped(skill(latestVersion=None)), f"{SKILL}/install": dumped(install)}
    with serving(routes) as server:
        assert [offer.revision for offer in source(server).inspect().offers] == ["2.0.0"]


def test_paths_are_owner_and_slug() -> None:
    assert split_path("petra/gifgrep") == ("petra", "gifgrep")
    assert split_path("@petra/gifgrep") == ("petra", "gifgrep")
    assert split_path("gifgrep") == ("", "gifgrep")
    for wrong in ("", "/", "a/", "/a", "a/b/c", "..", "a b", "a?b", "a/..", "x" * 200):
        with pytest.raises(UsageError) as caught:
            split_path(wrong)
        assert caught.value.code == "bad-source"


def test_the_usual_registry_is_meant_where_none_is_named() -> None:
    with serving({}) as server:
        assert ClawHubSource(Ref("clawhub", "", "", "x"), reach(server.web())).ref.location == clawhub.LOCATION


JSON = json_values(
    ["skill", "slug", "tags", "latestVersion", "version", "owner", "handle", "moderation", "results"],
    ["gifgrep", "1.2.3"],
)
ANSWERS = JSON | st.fixed_dictionaries(
    {"skill": st.fixed_dictionaries({"slug": st.just("gifgrep") | JSON}, optional={"summary": JSON, "tags": JSON})},
    optional={
        "latestVersion": JSON | st.fixed_dictionaries({"version": JSON | st.just("1.2.3")}),
        "owner": JSON | st.fixed_dictionaries({"handle": JSON | st.just("petra")}),
        "moderation": JSON
        | st.fixed_dictionaries({}, optional={"isSuspicious": JSON, "verdict": JSON, "summary": JSON}),
        "results": st.lists(JSON),
        "ok": JSON,
    },
)


def test_whatever_json_comes_is_an_answer_or_refused() -> None:
    said = {"skill": b"", "version": b"", "search": b""}
    routes: dict[str, Any] = {
        SKILL: lambda _: said["skill"],
        VERSION: lambda _: said["version"],
        f"{SKILL}/install": lambda _: said["version"],
        f"{API}/search": lambda _: said["search"],
    }
    with serving(routes) as server:
        registry = source(server)

        @settings(max_examples=100, deadline=None)
        @given(st.tuples(ANSWERS, ANSWERS, ANSWERS))
        def holds(answers: tuple[Any, ...]) -> None:
            said.update(zip(said, (json.dumps(each).encode() for each in answers), strict=True))
            with contextlib.suppress(WhetError):
                assert registry.inspect().offers[0].name
            with contextlib.suppress(WhetError):
                assert len(registry.search("x", 5)) <= 5

        holds()

"""Skills that a site publishes about itself."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tarfile
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.loopback import Request, Route, answer, redirect, serving, truncated
from sources.reaching import codes, dumped, find, json_values, main, packed, reach, sha256
from whet.errors import FailedError, InvalidError, NotFoundError, WhetError
from whet.skill.tree import Item
from whet.sources.model import Fetched, Listing, Offer, Ref
from whet.sources.registries.registry import MOST_NOTES
from whet.sources.registries.wellknown import (
    Entry,
    EntryFile,
    Index,
    WellKnownSource,
    hash_files,
    list_addresses,
    read_index,
)

if TYPE_CHECKING:
    from pathlib import Path

    from sources.loopback import Routes, Server

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
INDEX = "/.well-known/agent-skills/index.json"
OLD = "/.well-known/skills/index.json"
AT = f"https://site.example{INDEX}"
HEX = "a" * 64


def entry(name: Any = "review", **changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "name": name,
        "type": "skill-md",
        "description": "Reviews.",
        "url": f"{name}/SKILL.md",
        "digest": f"sha256:{HEX}",
        **changes,
    }
    return {field: value for field, value in given.items() if value is not ...}


def index(*skills: Any, **more: Any) -> bytes:
    return dumped({"$schema": SCHEMA, "skills": list(skills), **more})


def source(server: Server, prefix: str = "", path: str = "") -> WellKnownSource:
    return WellKnownSource(Ref("well-known", f"{server.url}{prefix}", "", path), reach(server.web()))


def tar_gz(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(target.getvalue(), mtime=0)


# the index as a value


def test_an_index_of_the_present_form_lists_artifacts() -> None:
    body = index(
        entry("review"), entry("wrangler", type="archive", url="/files/wrangler.tar.gz"), generator="something new"
    )
    assert read_index(body, AT) == Index(
        (
            Entry(
                "review", "Reviews.", "skill-md", "https://site.example/.well-known/agent-skills/review/SKILL.md", HEX
            ),
            Entry("wrangler", "Reviews.", "archive", "https://site.example/files/wrangler.tar.gz", HEX),
        ),
        (),
    )


def test_an_index_of_the_older_form_lists_files() -> None:
    body = dumped(
        {
            "version": "0.2.0",
            "skills": [
                {"name": "old", "description": "Old.", "files": ["SKILL.md", "references/a b.md"]},
                {"name": "draft", "files": [{"path": "SKILL.md", "digest": f"sha256:{HEX}"}, {"path": "x.md"}]},
            ],
        }
    )
    base = "https://site.example/.well-known/skills"
    assert read_index(body, f"{base}/index.json") == Index(
        (
            Entry(
                "old",
                "Old.",
                files=(
                    EntryFile("SKILL.md", f"{base}/old/SKILL.md"),
                    EntryFile("references/a b.md", f"{base}/old/references/a%20b.md"),
                ),
            ),
            Entry(
                "draft",
                "",
                files=(EntryFile("SKILL.md", f"{base}/draft/SKILL.md", HEX), EntryFile("x.md", f"{base}/draft/x.md")),
            ),
        ),
        (),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        entry(name=...),
        entry(name=7),
        entry(name=""),
        entry(name="Not A Name"),
        entry(name="../up"),
        entry(name="a" * 65),
        entry(type=...),
        entry(type=["skill-md"]),
        entry(description=...),
        entry(description=""),
        entry(description=3),
        entry(url=...),
        entry(url="ftp://site.example/x"),
        entry(url="http://[broken"),
        entry(url="https://user:password@site.example/x"),
        entry(url="file:///etc/passwd"),
        entry(url=["x"]),
        entry(digest=...),
        entry(digest=HEX),
        entry(digest="sha256:abc"),
        entry(digest=f"sha256:{HEX.upper()}"),
        entry(digest=f"sha512:{HEX}"),
        entry(digest=None),
        "review",
        None,
        [],
        7,
    ],
)
def test_a_wrong_entry_costs_only_itself(wrong: Any) -> None:
    found = read_index(index(entry("first"), wrong, entry("last")), AT)
    assert [skill.name for skill in found.skills] == ["first", "last"]
    assert [(note.code, note.severity) for note in found.notes] == [("index-entry-wrong", "error")]
    assert "skills[1] is skipped" in found.notes[0].message


@pytest.mark.parametrize(
    "files",
    [
        ...,
        None,
        "SKILL.md",
        [],
        ["README.md"],
        ["SKILL.md", 7],
        ["SKILL.md", {"digest": f"sha256:{HEX}"}],
        ["SKILL.md", {"path": "x", "digest": "md5:1"}],
        ["SKILL.md", "../up.md"],
        ["SKILL.md", "/etc/passwd"],
        ["SKILL.md", "a\\b"],
        ["SKILL.md", "con.md"],
        ["SKILL.md", "a.md", "A.md"],
        ["SKILL.md", "SKILL.md"],
        ["SKILL.md", *(f"{number}.md" for number in range(2001))],
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_wrong_list_of_files_costs_only_that_skill(files: Any) -> None:
    wrong = {"name": "wrong", "files": files} if files is not ... else {"name": "wrong"}
    body = dumped({"skills": [wrong, {"name": "good", "files": ["SKILL.md"]}]})
    found = read_index(body, AT)
    assert [skill.name for skill in found.skills] == ["good"]
    assert codes(found.notes) == [("index-entry-wrong", "wrong")]


def test_an_unknown_type_is_skipped_and_told() -> None:
    found = read_index(index(entry("new", type="container"), entry("review")), AT)
    assert [skill.name for skill in found.skills] == ["review"]
    assert codes(found.notes) == [("index-type-unknown", "new")]


def test_an_artifact_elsewhere_is_allowed_and_told() -> None:
    found = read_index(index(entry(url="https://files.example/review.md")), AT)
    assert found.skills[0].url == "https://files.example/review.md"
    assert [(note.code, note.severity) for note in found.notes] == [("index-entry-elsewhere", "info")]


def test_of_two_entries_with_one_name_the_first_counts() -> None:
    found = read_index(index(entry(description="First."), entry(description="Second.")), AT)
    assert [skill.description for skill in found.skills] == ["First."]
    assert codes(found.notes) == [("index-entry-duplicate", "review")]


def test_names_in_any_script_and_several_thousand_entries_are_read() -> None:
    names = ["überblick", "要約", *(f"skill-{number}" for number in range(5000))]
    found = read_index(index(*map(entry, names)), AT)
    assert [skill.name for skill in found.skills] == names
    assert found.notes == ()
    assert found.skills[1].url == "https://site.example/.well-known/agent-skills/%E8%A6%81%E7%B4%84/SKILL.md"


def test_descriptions_come_out_plain() -> None:
    found = read_index(index(entry(description="One\x1b[31m\n\ttwo\u202e\ud800 three" + "x" * 5000)), AT)
    assert found.skills[0].description.startswith("One[31m two threexxx")
    assert len(found.skills[0].description) == 1024


@pytest.mark.parametrize("schema", ["https://schemas.agentskills.io/discovery/9.0.0/schema.json", "", None, 7, ["x"]])
def test_an_unknown_schema_is_not_guessed_at(schema: Any) -> None:
    with pytest.raises(InvalidError) as caught:
        read_index(dumped({"$schema": schema, "skills": [entry()]}), AT)
    assert caught.value.code == "index-unknown"


@pytest.mark.parametrize(
    "body", [b"", b"<!doctype html>", b"[]", b"7", b"{}", b'{"skills": {}}', b"[" * 100_000, b"\xff\xfe", b"9" * 5000]
)
def test_what_is_no_index_is_a_bad_response(body: bytes) -> None:
    with pytest.raises(InvalidError) as caught:
        read_index(body, AT)
    assert caught.value.code == "bad-response"


JSON = json_values(
    ["$schema", "skills", "name", "type", "description", "url", "digest", "files", "path"], [SCHEMA, "archive", "a"]
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "name": JSON | st.sampled_from(["a", "b"]),
        "type": JSON | st.sampled_from(["archive", "skill-md"]),
        "description": JSON | st.text(st.characters(), min_size=1),
        "url": JSON | st.text(st.characters()) | st.just("x.zip"),
        "digest": JSON | st.just(f"sha256:{HEX}"),
        "files": JSON | st.lists(st.text(st.characters()) | st.just("SKILL.md")),
    },
)


@settings(max_examples=150, deadline=None)
@given(JSON | st.fixed_dictionaries({"skills": st.lists(ENTRIES | JSON)}, optional={"$schema": st.just(SCHEMA) | JSON}))
def test_whatever_json_comes_is_an_index_or_refused(value: Any) -> None:
    with contextlib.suppress(InvalidError):
        found = read_index(json.dumps(value).encode(), AT)
        assert len({skill.name for skill in found.skills}) == len(found.skills)
        assert all(note.message.isprintable() for note in found.notes)


# over the wire


def test_the_index_is_looked_for_below_the_address_first_and_then_at_the_origin() -> None:
    assert list_addresses("https://site.example/docs/") == (
        f"https://site.example/docs{INDEX}",
        f"https://site.example/docs{OLD}",
        f"https://site.example{INDEX}",
        f"https://site.example{OLD}",
    )
    assert list_addresses("https://site.example") == (f"https://site.example{INDEX}", f"https://site.example{OLD}")


@pytest.mark.parametrize("found_at", [f"/docs{INDEX}", f"/docs{OLD}", INDEX, OLD])
def test_the_first_index_that_is_there_is_taken(found_at: str) -> None:
    body = index(entry())
    with serving({found_at: body}) as server:
        listing = source(server, "/docs").inspect()
        ref = Ref("well-known", f"{server.url}/docs")
        digest = f"sha256:{HEX}"
        offer = Offer("review", "Reviews.", ref._replace(path="review"), digest, digest)
        assert listing == Listing(ref, f"sha256:{sha256(body)}", (offer,))


def test_a_page_in_place_of_the_index_is_passed_over_and_told() -> None:
    page = answer(b"<!doctype html>", content_type="text/html")
    with serving({f"/docs{INDEX}": page, f"/docs{OLD}": answer(b"", 403), INDEX: index(entry())}) as server:
        listing = source(server, "/docs").inspect()
        assert [offer.name for offer in listing.offers] == ["review"]
        assert [(note.code, note.severity) for note in listing.notes] == [
            ("bad-response", "warning"),
            ("source-denied", "warning"),
        ]


def test_an_unknown_index_is_passed_over_and_is_the_error_when_nothing_else_is_there() -> None:
    unknown = dumped({"$schema": "https://example.com/9", "skills": []})
    old = dumped({"skills": [{"name": "old", "files": ["SKILL.md"]}]})
    with serving({INDEX: unknown, OLD: old}) as server:
        listing = source(server).inspect()
        assert ([offer.name for offer in listing.offers], codes(listing.notes)) == (["old"], [("index-unknown", "")])
    with serving({INDEX: unknown, OLD: b"<html>"}) as server, pytest.raises(InvalidError) as caught:
        source(server).inspect()
    assert caught.value.code == "index-unknown"


@pytest.mark.parametrize(
    ("routes", "error", "code"),
    [
        ({}, NotFoundError, "source-not-found"),
        ({INDEX: b"<html>"}, InvalidError, "bad-response"),
        ({INDEX: answer(b"", 500)}, FailedError, "server-failed"),
        ({INDEX: truncated(index(entry()))}, FailedError, "response-cut-off"),
    ],
)
def test_no_index_is_an_error(routes: Routes, error: type[WhetError], code: str) -> None:
    with serving(routes) as server, pytest.raises(error) as caught:
        source(server).inspect()
    assert caught.value.code == code


def test_a_reference_with_a_path_is_one_skill() -> None:
    with serving({INDEX: index(entry("review"), entry("deploy"), entry("broken", digest=""))}) as server:
        assert [offer.name for offer in source(server, path="deploy").inspect().offers] == ["deploy"]
        with pytest.raises(NotFoundError) as missing:
            source(server, path="reviw").inspect()
        assert (missing.value.code, missing.value.details) == ("skill-not-in-source", {"suggestions": ["review"]})
        with pytest.raises(InvalidError) as broken:
            source(server, path="broken").inspect()
        assert broken.value.code == "index-entry-wrong"


def test_many_wrong_entries_are_counted() -> None:
    with serving({INDEX: index(entry(), *(entry(f"wrong-{number}", url=7) for number in range(3000)))}) as server:
        notes = source(server).inspect().notes
        assert len(notes) == MOST_NOTES + 1
        assert notes[-1].message == f"There are {3000 - MOST_NOTES} more like this."


def test_artifacts_are_fetched_relative_to_where_the_index_really_is() -> None:
    text, zipped = main("review"), packed("tools", {"scripts/run.sh": b"#!/bin/sh\n"})
    flat = tar_gz({"SKILL.md": main("flat"), ".git/config": b"x"})
    body = index(
        entry("review", digest=f"sha256:{sha256(text)}"),
        entry("tools", type="archive", url="../../files/tools.zip", digest=f"sha256:{sha256(zipped)}"),
        entry("flat", type="archive", url="flat.tar.gz", digest=f"sha256:{sha256(flat)}"),
    )
    routes: Routes = {
        INDEX: redirect("/moved/here/index.json"),
        "/moved/here/index.json": body,
        "/moved/here/review/SKILL.md": text,
        "/files/tools.zip": zipped,
        "/moved/here/flat.tar.gz": flat,
    }
    with serving(routes) as server:
        site = source(server)
        offers = site.inspect().offers
        fetched = site.fetch(offers)
    assert [package.offer for package in fetched] == list(offers)
    assert [package.tree for package in fetched] == [
        {"SKILL.md": Item(text)},
        {"SKILL.md": Item(main("tools")), "scripts/run.sh": Item(b"#!/bin/sh\n", executable=True)},
        {"SKILL.md": Item(main("flat"))},
    ]
    assert [codes(package.notes) for package in fetched] == [[], [], [("left-out", "flat")]]


@pytest.mark.parametrize("kind", ["skill-md", "archive"])
def test_an_artifact_with_another_hash_is_refused(kind: str) -> None:
    with serving({INDEX: index(entry(type=kind, url="x")), "/.well-known/agent-skills/x": main("review")}) as server:
        site = source(server)
        with pytest.raises(InvalidError) as caught:
            site.fetch(site.inspect().offers)
    assert caught.value.code == "digest-mismatch"
    assert caught.value.message.startswith("review: ")


@pytest.mark.parametrize(
    ("artifact", "kind", "code"),
    [
        (truncated(main("review")), "skill-md", "response-cut-off"),
        (answer(b"", 404), "skill-md", "source-not-found"),
        (main("review") + b"x" * 1024 * 1024, "skill-md", "response-too-large"),
        (b"no archive", "archive", "archive-not-readable"),
        (tar_gz({"README.md": b"x"}), "archive", "archive-no-skill"),
        (tar_gz({"SKILL.md": b"x", "../up": b"x"}), "archive", "archive-unsafe-path"),
    ],
)
def test_a_bad_artifact_is_refused_whole(artifact: bytes | Route, kind: str, code: str) -> None:
    raw = artifact if isinstance(artifact, bytes) else artifact.body
    body = index(entry(type=kind, url="x", digest=f"sha256:{sha256(raw)}"))
    with serving({INDEX: body, "/.well-known/agent-skills/x": artifact}) as server:
        site = source(server)
        with pytest.raises(WhetError) as caught:
            site.fetch(site.inspect().offers)
    assert caught.value.code == code


OLD_FILES = {"SKILL.md": main("old"), "references/größe.md": b"big", "scripts/run.sh": b"#!/bin/sh\n"}


def old_site(**changes: Any) -> Routes:
    listed = [{"name": "old", "description": "Old.", "files": list(OLD_FILES)}]
    routes: dict[str, Any] = {OLD: dumped({"skills": listed})}
    for path, data in OLD_FILES.items():
        routes[f"/.well-known/skills/old/{path.replace('ö', '%C3%B6').replace('ß', '%C3%9F')}"] = data
    return routes | changes


def test_a_skill_of_the_older_form_is_fetched_file_by_file() -> None:
    with serving(old_site()) as server:
        site = source(server)
        (offer,) = site.inspect().offers
        assert (offer.revision, offer.marker) == ("", "")
        tree = {path: Item(data) for path, data in OLD_FILES.items()}
        revision = hash_files(tree)
        (fetched,) = site.fetch([offer])
        assert fetched == Fetched(offer._replace(revision=revision, marker=revision), tree, fetched.notes)
        assert codes(fetched.notes) == [("unverified", "old")]
        assert site.fetch([fetched.offer])[0].tree == tree
        with pytest.raises(InvalidError) as caught:
            site.fetch([offer._replace(revision="sha256:" + HEX)])
        assert caught.value.code == "digest-mismatch"


def test_of_the_older_form_all_files_come_or_nothing() -> None:
    routes = old_site(**{"/.well-known/skills/old/scripts/run.sh": answer(b"", 404)})
    with serving(routes) as server:
        site = source(server)
        with pytest.raises(NotFoundError) as caught:
            site.fetch(site.inspect().offers)
        assert caught.value.code == "source-not-found"


def test_at_most_eight_files_are_fetched_at_a_time() -> None:
    now, most, lock, full = [0], [0], threading.Lock(), threading.Event()

    def slow(_: Request) -> bytes:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if now[0] == 8:
                full.set()
        full.wait(10)
        with lock:
            now[0] -= 1
        return main("many")

    names = ["SKILL.md", *(f"{number}.md" for number in range(31))]
    routes: dict[str, Any] = {f"/.well-known/skills/many/{name}": slow for name in names}
    with serving({OLD: dumped({"skills": [{"name": "many", "files": names}]}), **routes}) as server:
        site = source(server)
        assert len(site.fetch(site.inspect().offers)[0].tree) == 32
    assert most == [8]


def test_the_hashes_of_the_draft_between_the_forms_are_checked() -> None:
    text = main("draft")
    files = [{"path": "SKILL.md", "digest": f"sha256:{sha256(text)}"}]
    with serving(
        {
            OLD: dumped({"skills": [{"name": "draft", "files": files}]}),
            "/.well-known/skills/draft/SKILL.md": [text, b"other"],
        }
    ) as server:
        site = source(server)
        offers = site.inspect().offers
        assert site.fetch(offers)[0].notes == ()
        with pytest.raises(InvalidError) as caught:
            site.fetch(offers)
    assert caught.value.code == "digest-mismatch"


def test_a_fetch_without_a_look_looks_first_and_what_is_gone_is_told() -> None:
    text = main("review")
    body = index(entry(digest=f"sha256:{sha256(text)}"))
    with serving({INDEX: [body, index()], "/.well-known/agent-skills/review/SKILL.md": text}) as server:
        offers = source(server).inspect().offers
        with pytest.raises(NotFoundError) as caught:
            source(server).fetch(offers)
    assert caught.value.code == "skill-not-in-source"


def test_a_cancelled_fetch_ends() -> None:
    with serving({INDEX: index(entry())}) as server:
        held = reach(server.web())
        site = WellKnownSource(Ref("well-known", server.url), held)
        offers = site.inspect().offers
        held.cancelled.set()
        for ended in (lambda: site.fetch(offers), site.inspect):
            with pytest.raises(FailedError) as caught:
                ended()
            assert caught.value.code == "cancelled"
        site.close()


def test_skills_are_found_by_words(tmp_path: Path) -> None:
    with serving({INDEX: index(entry("review", description="Reviews pull requests."), entry("deploy"))}) as server:
        context = reach(server.web(), state=str(tmp_path))
        found = find(Ref("well-known", server.url), context, "pull requests", 5)
        assert [hit.offer.name for hit in found] == ["review"]

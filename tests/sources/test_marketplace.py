"""Skills of Claude marketplaces: in a directory, in a repository, and as a file on the web."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sources.loopback import certificate_file, serving
from sources.reaching import codes, dumped, find, json_values, main, packed, reach, sha256
from sources.repositories import Repository, World
from whet.errors import InvalidError, NotFoundError, WhetError
from whet.skill.tree import Item
from whet.sources.model import Ref, open_source
from whet.sources.refs.parse import ref_text
from whet.sources.registries.marketplace import (
    FILE,
    Marketplace,
    MarketplaceSource,
    Plugin,
    group_by_plugin,
    read_marketplace,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHA = "0123456789abcdef0123456789abcdef01234567"
HEX = "a" * 64


def market(*plugins: Any, **more: Any) -> dict[str, Any]:
    return {"name": "things", "owner": {"name": "Somebody"}, "plugins": list(plugins), **more}


def plugin(name: str = "tools", source: Any = "./", **more: Any) -> dict[str, Any]:
    return {"name": name, "source": source, "description": f"About {name}.", **more}


def read(*plugins: Any, **more: Any) -> Marketplace:
    return read_marketplace(dumped(market(*plugins, **more)))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as made:
        yield made


def paths(source: MarketplaceSource, names: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    return [(offer.group, offer.name, offer.ref.path) for offer in source.inspect(names).offers]


# the file as a value


@pytest.mark.parametrize(
    ("source", "roots", "place"),
    [
        ("./", ("",), None),
        (".", ("",), None),
        ("./plugins/tools", ("plugins/tools",), None),
        ("./plugins/tools/", ("plugins/tools",), None),
        ("tools", ("tools",), None),
        ({"source": "local", "path": "./tools"}, ("tools",), None),
        ({"source": "github", "repo": "Acme/Tools"}, ("",), Ref("git", "https://github.com/acme/tools")),
        (
            {"source": "github", "repo": "acme/tools", "ref": "v1"},
            ("",),
            Ref("git", "https://github.com/acme/tools", "v1"),
        ),
        (
            {"source": "github", "repo": "acme/tools", "ref": "v1", "sha": SHA, "path": "a/b"},
            ("a/b",),
            Ref("git", "https://github.com/acme/tools", SHA),
        ),
        (
            {"source": "url", "url": "https://github.com/acme/tools.git"},
            ("",),
            Ref("git", "https://github.com/acme/tools"),
        ),
        (
            {"source": "url", "url": "https://git.example/team/tools.git", "ref": "main"},
            ("",),
            Ref("git", "https://git.example/team/tools.git", "main"),
        ),
        (
            {"source": "url", "url": "git@github.com:acme/tools.git"},
            ("",),
            Ref("git", "ssh://git@github.com/acme/tools"),
        ),
        (
            {"source": "git-subdir", "url": "acme/mono", "path": "./packages/tools", "ref": "main"},
            ("packages/tools",),
            Ref("git", "https://github.com/acme/mono", "main"),
        ),
        (
            {"source": "archive", "url": "https://files.example/tools.zip", "sha256": HEX},
            ("",),
            Ref("url", "https://files.example/tools.zip", f"sha256:{HEX}"),
        ),
        (
            {"source": "archive", "url": "https://files.example/tools.zip"},
            ("",),
            Ref("url", "https://files.example/tools.zip"),
        ),
    ],
)
def test_every_source_of_a_plugin_is_read(source: Any, roots: tuple[str, ...], place: Ref | None) -> None:
    assert read(plugin(source=source)) == Marketplace((Plugin("tools", "About tools.", roots, place),), ())


@pytest.mark.parametrize("kind", ["npm", "pip", "command", "something-new"])
def test_what_would_have_to_be_run_or_is_unknown_is_told_and_left_alone(kind: str) -> None:
    found = read(plugin(source={"source": kind, "package": "x", "command": "rm -rf ~"}), plugin("other"))
    assert [each.name for each in found.plugins] == ["other"]
    assert [(note.code, note.severity, note.skill) for note in found.notes] == [
        ("plugin-not-supported", "error", "tools")
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        "tools",
        None,
        {},
        {"name": "tools"},
        {"name": 7, "source": "./"},
        {"name": "", "source": "./"},
        {"name": "a/b", "source": "./"},
        plugin(source=7),
        plugin(source=None),
        plugin(source=""),
        plugin(source=[]),
        plugin(source={}),
        plugin(source="../up"),
        plugin(source="./a/../../up"),
        plugin(source="/etc"),
        plugin(source="C:\\skills"),
        plugin(source={"source": "github"}),
        plugin(source={"source": "github", "repo": "acme"}),
        plugin(source={"source": "github", "repo": "acme/../../x"}),
        plugin(source={"source": "github", "repo": "acme/tools", "sha": "main"}),
        plugin(source={"source": "github", "repo": "acme/tools", "ref": "--upload-pack=x"}),
        plugin(source={"source": "github", "repo": "acme/tools", "ref": 7}),
        plugin(source={"source": "github", "repo": "acme/tools", "path": "../x"}),
        plugin(source={"source": "url", "url": "file:///etc"}),
        plugin(source={"source": "url", "url": "/etc"}),
        plugin(source={"source": "url", "url": "ext::sh -c id"}),
        plugin(source={"source": "url", "url": "https://me:secret@git.example/x"}),
        plugin(source={"source": "git-subdir", "url": "acme/mono"}),
        plugin(source={"source": "git-subdir", "url": "https://github.com/acme/mono/tree/main/x", "path": "y"}),
        plugin(source={"source": "archive", "url": "http://files.example/x.zip"}),
        plugin(source={"source": "archive", "url": "https://files.example/x.zip", "sha256": "abc"}),
        plugin(source={"source": "archive"}),
        plugin(skills=7),
        plugin(skills=[7]),
        plugin(skills=["../up"]),
        plugin(skills=["/etc"]),
        plugin(description=7),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_a_wrong_plugin_costs_only_itself(wrong: Any) -> None:
    found = read(wrong, plugin("good"))
    assert [each.name for each in found.plugins] == ["good"]
    assert [note.code for note in found.notes] == ["plugin-wrong"]
    assert "secret" not in found.notes[0].message


def test_of_two_plugins_with_one_name_the_first_counts() -> None:
    found = read(plugin(source="./a"), plugin("Tools", source="./b"))
    assert ([each.roots for each in found.plugins], codes(found.notes)) == ([("a",)], [("plugin-duplicate", "Tools")])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'"plugins"',
        b"7",
        b"[]",
        b"{}",
        b'{"plugins": {}}',
        b'{"plugins": [], "metadata": 7}',
        b"\xff",
        b"[" * 9**5,
    ],
)
def test_what_is_no_marketplace_is_refused_and_groups_nothing(data: bytes) -> None:
    with pytest.raises(InvalidError) as caught:
        read_marketplace(data)
    assert caught.value.code == "bad-response"
    assert group_by_plugin(data, DIRECTORIES) == {}


DIRECTORIES = (
    "",
    "skills/pdf",
    "skills/xlsx",
    "plugins/a/skills/one",
    "plugins/a/skills/deep/two",
    "plugins/b",
    "b",
    "loose",
)


@pytest.mark.parametrize(
    ("entry", "more", "members"),
    [
        (plugin(source="./", skills=["./skills/pdf"]), {}, ["skills/pdf"]),
        (plugin(source="./", skills="./skills"), {}, ["skills/pdf", "skills/xlsx"]),
        (plugin(source="./"), {}, ["skills/pdf", "skills/xlsx"]),
        (plugin(source="./plugins/a"), {}, ["plugins/a/skills/one", "plugins/a/skills/deep/two"]),
        (plugin(source="./plugins/a", skills=["skills/deep"]), {}, ["plugins/a/skills/deep/two"]),
        (plugin(source="./plugins/b"), {}, ["plugins/b"]),
        (plugin(source="b"), {"metadata": {"pluginRoot": "./plugins"}}, ["plugins/b"]),
        (plugin(source="./b"), {"metadata": {"pluginRoot": "./plugins"}}, ["b"]),
        (
            plugin(source="./a"),
            {"metadata": {"pluginRoot": "./plugins"}},
            ["plugins/a/skills/one", "plugins/a/skills/deep/two"],
        ),
        (plugin(source="./nowhere"), {}, []),
        (plugin(source="./plugins"), {}, []),
    ],
)
def test_which_skills_belong_to_a_plugin(entry: Any, more: Any, members: list[str]) -> None:
    (found,) = read(entry, **more).plugins
    assert found.members(DIRECTORIES) == members


def test_groups_say_which_plugin_a_directory_belongs_to() -> None:
    listed = market(
        plugin("documents", skills=["./skills/pdf", "./skills/xlsx"]),
        plugin("a", "./plugins/a"),
        plugin("far", {"source": "github", "repo": "acme/far"}),
    )
    assert group_by_plugin(dumped(listed), DIRECTORIES) == {
        "skills/pdf": "documents",
        "skills/xlsx": "documents",
        "plugins/a/skills/one": "a",
        "plugins/a/skills/deep/two": "a",
    }


JSON = json_values(
    ["name", "source", "repo", "url", "path", "ref", "sha", "skills", "plugins"], ["./", "github", "a/b"]
)
SOURCES = JSON | st.fixed_dictionaries(
    {"source": st.sampled_from(["github", "url", "git-subdir", "archive", "local", "npm"]) | JSON},
    optional={field: JSON | st.text(st.characters()) for field in ("repo", "url", "path", "ref", "sha", "sha256")},
)
PLUGINS = st.fixed_dictionaries(
    {"name": st.just("a") | st.text(st.characters(), max_size=5) | JSON, "source": SOURCES},
    optional={"skills": JSON, "description": JSON},
)


@settings(max_examples=150, deadline=None)
@given(JSON | st.fixed_dictionaries({"plugins": st.lists(PLUGINS | JSON)}, optional={"metadata": JSON, "name": JSON}))
def test_whatever_json_comes_is_a_marketplace_or_refused(value: Any) -> None:
    data = json.dumps(value).encode()
    with contextlib.suppress(InvalidError):
        found = read_marketplace(data, local=True)
        assert all(note.message.isprintable() for note in found.notes)
        assert all(place.location.startswith(("https://", "ssh://", "http://", "file:///")) for place in _places(found))
    assert group_by_plugin(data, DIRECTORIES).keys() <= {*DIRECTORIES}


def _places(found: Marketplace) -> list[Ref]:
    return [each.place for each in found.plugins if each.place is not None]


# a directory


def write(top: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        target = top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def test_a_directory_offers_the_skills_of_its_plugins(tmp_path: Path, world: World) -> None:
    top = tmp_path / "market"
    write(
        top,
        {
            FILE: dumped(
                market(plugin("documents", skills=["./skills/pdf"]), plugin("tools", "./tools"), plugin("none", "./x"))
            ),
            "skills/pdf/SKILL.md": main("pdf"),
            "skills/loose/SKILL.md": main("loose"),
            "tools/skills/deploy/SKILL.md": main("deploy"),
            "tools/skills/deploy/run.md": b"x",
        },
    )
    source = MarketplaceSource(Ref("marketplace", str(top)), world.reach)
    listing = source.inspect()
    assert [(offer.group, offer.name, offer.ref) for offer in listing.offers] == [
        ("documents", "pdf", Ref("path", str(top), "", "skills/pdf")),
        ("tools", "deploy", Ref("path", str(top), "", "tools/skills/deploy")),
    ]
    assert [note.code for note in listing.notes] == ["plugin-without-skills"]
    fetched = source.fetch(listing.offers[::-1])
    assert [(package.offer, set(package.tree)) for package in fetched] == [
        (listing.offers[1], {"SKILL.md", "run.md"}),
        (listing.offers[0], {"SKILL.md"}),
    ]
    # What was offered can be fetched again without the marketplace.
    alone = open_source(listing.offers[1].ref, world.reach)
    assert alone.fetch(alone.inspect().offers)[0].tree == fetched[0].tree
    source.close()
    assert source.fetch(listing.offers)[0].tree == fetched[1].tree
    source.close()


def test_a_plugin_and_a_skill_of_it_can_be_named(tmp_path: Path, world: World) -> None:
    listed = market(plugin("tools", "./tools"), plugin("npm-thing", {"source": "npm", "package": "x"}))
    write(
        tmp_path / "market",
        {
            FILE: dumped(listed),
            "tools/skills/deploy/SKILL.md": main("deploy"),
            "tools/skills/review/SKILL.md": main("review"),
        },
    )

    def named(path: str) -> MarketplaceSource:
        return MarketplaceSource(Ref("marketplace", str(tmp_path / "market"), "", path), world.reach)

    assert [offer.name for offer in named("tools").inspect().offers] == ["deploy", "review"]
    assert [offer.name for offer in named("Tools/review").inspect().offers] == ["review"]
    for path, code in (
        ("tols", "skill-not-in-source"),
        ("tools/x", "skill-not-in-source"),
        ("npm-thing", "plugin-not-supported"),
    ):
        with pytest.raises(WhetError) as caught:
            named(path).inspect()
        assert caught.value.code == code


def test_a_directory_without_a_marketplace_is_not_one(tmp_path: Path, world: World) -> None:
    for location in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NotFoundError) as caught:
            MarketplaceSource(Ref("marketplace", str(location)), world.reach).inspect()
        assert caught.value.code == "source-not-found"


# a repository


def test_a_repository_offers_its_own_skills_by_their_git_references(tmp_path: Path, world: World) -> None:
    repository = Repository.new(tmp_path / "market")
    listed = market(plugin("documents", skills=["./skills/pdf"]), plugin("tools", "./tools"))
    commit = repository.commit(
        {
            FILE: dumped(listed),
            "skills/pdf/SKILL.md": main("pdf"),
            "tools/skills/deploy/SKILL.md": main("deploy"),
            "loose/SKILL.md": main("loose"),
        }
    )
    source = MarketplaceSource(Ref("marketplace", repository.url, "main"), world.reach)
    listing = source.inspect()
    assert [(offer.group, offer.ref, offer.revision) for offer in listing.offers] == [
        ("documents", Ref("git", repository.url, "main", "skills/pdf"), commit),
        ("tools", Ref("git", repository.url, "main", "tools/skills/deploy"), commit),
    ]
    assert [package.tree for package in source.fetch(listing.offers)] == [
        {"SKILL.md": Item(main("pdf"))},
        {"SKILL.md": Item(main("deploy"))},
    ]
    source.close()


def test_a_repository_without_a_marketplace_is_not_one(tmp_path: Path, world: World) -> None:
    repository = Repository.new(tmp_path / "market")
    repository.commit({"SKILL.md": main("x")})
    with pytest.raises(NotFoundError) as caught:
        MarketplaceSource(Ref("marketplace", repository.url), world.reach).inspect()
    assert caught.value.code == "source-not-found"
    with pytest.raises(WhetError):
        MarketplaceSource(Ref("marketplace", "ext::sh -c id"), world.reach).inspect()


def test_plugins_elsewhere_are_looked_into_when_they_are_named(tmp_path: Path, world: World) -> None:
    far = Repository.new(tmp_path / "far")
    old = far.commit({"skills/one/SKILL.md": main("one"), "sub/skills/two/SKILL.md": main("two")})
    far.commit({"skills/one/SKILL.md": main("one", "New."), "sub/skills/two/SKILL.md": main("two")})
    url = {"source": "url", "url": far.url}
    listed = market(
        plugin("near", "./near"),
        plugin("far", url),
        plugin("pinned", {**url, "sha": old}),
        plugin("sub", {"source": "git-subdir", "url": far.url, "path": "sub", "ref": "main"}),
        plugin("gone", {"source": "url", "url": (tmp_path / "gone").as_uri()}),
    )
    near = Repository.new(tmp_path / "market")
    near.commit({FILE: dumped(listed), "near/skills/here/SKILL.md": main("here")})

    def opened(path: str = "") -> MarketplaceSource:
        return MarketplaceSource(Ref("marketplace", near.url, "", path), world.reach)

    with contextlib.closing(opened()) as source:
        listing = source.inspect()
        assert [offer.name for offer in listing.offers] == ["here"]
        assert [(note.code, note.path) for note in listing.notes] == [
            ("plugin-elsewhere", name) for name in ("far", "pinned", "sub", "gone")
        ]
        assert paths(source, ("sub",)) == [("near", "here", "near/skills/here"), ("sub", "two", "sub/skills/two")]
        assert paths(source, ("here",)) == [("near", "here", "near/skills/here")]
        searched = source.inspect(("one",))
        assert [(offer.group, offer.name) for offer in searched.offers] == [
            ("near", "here"),
            ("far", "one"),
            ("pinned", "one"),
            ("sub", "two"),
        ]
        assert [note.skill for note in searched.notes if note.severity == "error"] == ["gone"]
    with contextlib.closing(opened("pinned")) as source:
        (offer,) = source.inspect().offers
        assert (offer.ref, offer.revision) == (Ref("git", far.url, old, "skills/one"), old)
        assert source.fetch([offer])[0].tree == {"SKILL.md": Item(main("one"))}
    with contextlib.closing(opened("gone")) as source, pytest.raises(WhetError) as caught:
        source.inspect()
    assert caught.value.message.startswith("gone: ")


# a file on the web


def test_a_file_on_the_web_offers_archives_and_tells_what_it_cannot_reach() -> None:
    archive = packed("deploy", {"notes.md": b"x"})
    with certificate_file() as certificate:
        listed: list[bytes] = []
        with serving({"/marketplace.json": lambda _: listed[0], "/tools.zip": archive}, tls=True) as server:
            address = {"source": "archive", "url": f"{server.url}/tools.zip"}
            pinned = {**address, "sha256": sha256(archive)}
            wrong = {**address, "sha256": HEX}
            listed.append(dumped(market(plugin("near", "./near"), plugin("far", pinned), plugin("wrong", wrong))))
            held = reach(server.web(env={"SSL_CERT_FILE": certificate}))

            def opened(path: str) -> MarketplaceSource:
                return MarketplaceSource(Ref("marketplace", f"{server.url}/marketplace.json", "", path), held)

            everything = opened("").inspect()
            assert everything.offers == ()
            assert [(note.code, note.severity) for note in everything.notes] == [
                ("source-not-found", "error"),
                ("plugin-elsewhere", "info"),
                ("plugin-elsewhere", "info"),
            ]
            source = opened("far")
            (offer,) = source.inspect().offers
            revision = f"sha256:{sha256(archive)}"
            assert (offer.ref, offer.revision, offer.group) == (
                Ref("url", f"{server.url}/tools.zip", revision),
                revision,
                "far",
            )
            assert set(source.fetch([offer])[0].tree) == {"SKILL.md", "notes.md"}
            source.close()
            for path, code in (("near", "source-not-found"), ("wrong", "digest-mismatch")):
                with pytest.raises(WhetError) as caught:
                    opened(path).inspect()
                assert caught.value.code == code


def test_search_finds_skills_here_and_plugins_elsewhere(tmp_path: Path, world: World) -> None:
    far = plugin("spreadsheets", {"source": "github", "repo": "acme/sheets"}, description="Works on spreadsheets.")
    write(
        tmp_path / "market",
        {FILE: dumped(market(plugin("near", "./"), far)), "skills/pdf/SKILL.md": main("pdf", "Works on PDF files.")},
    )
    here = Ref("marketplace", str(tmp_path / "market"))
    (near,) = find(here, world.reach, "pdf", 5)
    assert near.offer.ref == Ref("path", str(tmp_path / "market"), "", "skills/pdf")
    (elsewhere,) = find(here, world.reach, "spreadsheets", 5)
    assert elsewhere.offer.ref == here._replace(path="spreadsheets")
    assert elsewhere.install == ref_text(elsewhere.offer.ref)

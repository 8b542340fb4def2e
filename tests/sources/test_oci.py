"""Skills of OCI registries: what is found, who is told credentials, and what a hostile registry achieves."""

from __future__ import annotations

import base64
import gzip
import io
import json
import shutil
import socket
import subprocess
import tarfile
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from sources.loopback import failure
from sources.oci_registry import CONFIG, INDEX, MANIFEST, PASSWORD, TOKEN, USER, Registry, digest_of, oci_serving
from sources.reaching import codes, main, reach
from whet.guard.finding import Scan
from whet.sources.age import DAY, Cooldown, Looks, read_time
from whet.sources.model import Newer, Ref, open_source
from whet.sources.publish.oci import publish_oci
from whet.sources.publish.prepare import prepare
from whet.sources.refs.parse import read_remote, ref_trust, shown
from whet.sources.web.client import Web
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sources.oci_registry import Served
    from whet.sources.model import Fetched, Offer
    from whet.sources.publish.prepare import Prepared

NOW = "2026-11-17T10:00:00Z"
HASH = f"sha256:{'a' * 64}"


def layer(files: Mapping[str, bytes]) -> bytes:
    """A tar.gz."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(target.getvalue(), mtime=0)


def get(served: Served, ref: str = "", path: str = "", repository: str = "acme/review", **env: str) -> Fetched:
    """The one skill of a reference."""
    source = open_source(Ref("oci", f"{served.url}/{repository}", ref, path), reach(served.web(), env))
    (package,) = source.fetch(source.inspect().offers)
    return package


def prepared(tmp_path: Path, version: str = "1.0.0", more: str = "", name: str = "review") -> Prepared:
    """A skill to publish."""
    directory = tmp_path / name
    directory.mkdir(exist_ok=True)
    text = f"---\nname: {name}\ndescription: Reviews code.\nmetadata:\n  version: {version}\n---\n\nDo it.{more}\n"
    (directory / "SKILL.md").write_text(text)
    return prepare(str(directory), scan=lambda _: Scan("", "safe", ()))


REFS = {
    "oci:registry.example/acme/review": Ref("oci", "https://registry.example/acme/review"),
    "oci:Registry.example:5000/acme/review:1.2.0": Ref("oci", "https://registry.example:5000/acme/review", "1.2.0"),
    "oci:http://127.0.0.1:5000/review:latest": Ref("oci", "http://127.0.0.1:5000/review", "latest"),
    f"oci:registry.example/a/review@{HASH}": Ref("oci", "https://registry.example/a/review", HASH),
    f"oci:registry.example/a/review:1.0@{HASH}": Ref("oci", "https://registry.example/a/review", HASH),
    "oci:registry.example/a/review@^1.2": Ref("oci", "https://registry.example/a/review", "^1.2"),
    "oci:registry.example/a/all#path=notes": Ref("oci", "https://registry.example/a/all", path="notes"),
}


@pytest.mark.parametrize("text", REFS)
def test_what_people_write_is_one_reference(text: str) -> None:
    assert read_remote(text) == REFS[text]
    assert read_remote(shown(REFS[text])) == REFS[text]


@pytest.mark.parametrize(
    "text", ["oci:registry.example", "oci:registry.example/Acme/review", "oci:ftp://registry.example/a", "oci:a/../b"]
)
def test_what_is_no_repository_is_refused(text: str) -> None:
    assert failure(lambda: read_remote(text))[1] == "bad-source"


def test_a_repository_is_of_the_community_unless_it_is_listed() -> None:
    ref = read_remote("oci:registry.example/acme/review:1.0.0")
    listed = ["oci:registry.example/acme/review"]
    assert (ref_trust(ref), ref_trust(ref, ["registry.example/acme"]), ref_trust(ref, listed)) == (
        "community",
        "community",
        "trusted",
    )


def test_the_highest_version_a_range_a_tag_and_a_digest() -> None:
    registry = Registry()
    registry.page = 2
    digests = {}
    for number in ("1.2.0", "1.10.0", "2.0.0", "3.0.0-rc.1"):
        root = "" if number == "1.2.0" else "review/"
        content = layer({f"{root}SKILL.md": main("review", f"Is {number}.")})
        digests[number] = registry.tag("acme/review", number, registry.skill("review", number, content))
    registry.tags["acme/review"]["latest"] = digests["1.2.0"]
    with oci_serving(registry) as served:
        asked = {"": "2.0.0", "^1.2": "1.10.0", "latest": "1.2.0", digests["1.2.0"]: "1.2.0", "1.x": "1.10.0"}
        for wanted, number in asked.items():
            package = get(served, wanted)
            offer = package.offer
            assert (offer.name, offer.version, offer.revision) == ("review", number, digests[number])
            assert package.tree["SKILL.md"].data == main("review", f"Is {number}.")
        assert failure(lambda: get(served, "^4"))[1] == "no-such-version"
        assert failure(lambda: get(served, "nope"))[1] == "source-not-found"
        registry.page, registry.loops = 1000, True
        assert get(served).offer.version == "2.0.0"


def test_a_collection() -> None:
    registry = Registry()
    entries = []
    for name in ("notes", "review"):
        manifest = registry.skill(name, "1.0.0", layer({f"{name}/SKILL.md": main(name)}))
        entries.append({"mediaType": MANIFEST, "digest": registry.tag("acme/all", name, manifest), "size": 1})
    kind = "application/vnd.agentskills.collection.v1"
    index = {"schemaVersion": 2, "mediaType": INDEX, "artifactType": kind, "manifests": entries}
    inner = {"mediaType": INDEX, "digest": registry.tag("acme/all", "inner", index), "size": 1}
    registry.tag("acme/all", "latest", {**index, "manifests": [*entries, inner]})
    with oci_serving(registry) as served:
        source = open_source(Ref("oci", f"{served.url}/acme/all", "latest"), reach(served.web()))
        listing = source.inspect()
        assert [(offer.name, offer.ref.path) for offer in listing.offers] == [("notes", "notes"), ("review", "review")]
        assert codes(listing.notes) == [("not-a-skill", "")]
        package = get(served, "latest", "notes", "acme/all")
        assert package.offer.revision == entries[0]["digest"]
        assert get(served, package.offer.revision, "notes", "acme/all").tree == package.tree
        assert failure(lambda: get(served, "latest", "other", "acme/all"))[1] == "skill-not-in-source"


def test_what_is_too_young_gives_way_to_an_older_version_and_its_time_is_only_a_claim(tmp_path: Path) -> None:
    registry = Registry()
    digests = {}
    for number, created in (("1.0.0", "2026-01-01T00:00:00Z"), ("1.1.0", "2026-11-16T00:00:00Z")):
        manifest = registry.skill("review", number, layer({"SKILL.md": main("review", number)}), created)
        digests[number] = registry.tag("acme/review", number, manifest)
    now = read_time(NOW)
    looks = Looks(StateDatabase(str(tmp_path)), now * 1_000_000_000)
    with oci_serving(registry) as served:
        ref = Ref("oci", f"{served.url}/acme/review")

        def offer(installed: str = "") -> Offer:
            cooldown = Cooldown(now - 7 * DAY, looks, {"": installed})
            return open_source(ref, reach(served.web())._replace(cooldown=cooldown)).inspect().offers[0]

        old = offer()
        assert (old.revision, old.newer) == (digests["1.0.0"], Newer("1.1.0", read_time("2026-11-16T00:00:00Z")))
        assert offer(digests["1.1.0"]).revision == digests["1.1.0"], "nothing older than what is installed"
        looks.keep()
        backdated = registry.skill("review", "1.2.0", layer({"SKILL.md": main("review", "new")}))
        registry.tag("acme/review", "1.2.0", backdated)
        assert offer().revision == digests["1.0.0"], "it was not there at the last look, whatever its date says"
        registry.tag("acme/review", "1.0.5", {**backdated, "annotations": {}})
        registry.tag("acme/review", "1.0.6", backdated)
        assert offer().revision == digests["1.0.0"], "nor do versions that are slipped in below"


@pytest.mark.parametrize("auth", ["basic", "bearer"])
def test_credentials_go_to_the_registry_they_are_for_and_nowhere_else(auth: str, tmp_path: Path) -> None:
    registry, storage = Registry(auth), Registry()
    manifest = registry.skill("review", "1.0.0", layer({"SKILL.md": main("review")}))
    registry.tag("acme/review", "1.0.0", manifest)
    storage.blobs = registry.blobs
    with oci_serving(registry) as served, oci_serving(storage) as store:
        registry.storage = store.url
        login = {"WHET_OCI_USER": USER, "WHET_OCI_PASSWORD": PASSWORD}
        source = Ref("oci", f"{served.url}/acme/review", "1.0.0")

        def fetch(**env: str) -> int:
            opened = open_source(source, reach(served.web(store.host), env, str(tmp_path)))
            return len(opened.fetch(opened.inspect().offers))

        for env in ({}, login, {**login, "WHET_OCI": "registry.example"}):
            assert failure(partial(fetch, **env))[1] == "source-denied"
        assert {asked.authorization for asked in registry.requests} == {""}, "nobody said whom they are for"
        assert fetch(**login, WHET_OCI=served.host) == 1
        (tmp_path / ".docker").mkdir()
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        other = {"auths": {"127.0.0.1": {"auth": secret}, served.host: {"auth": secret}}}
        (tmp_path / ".docker/config.json").write_text(json.dumps(other))
        assert fetch() == 1
        assert {asked.authorization for asked in storage.requests} == {""}, "storage learns no credentials"
        sent = {asked.authorization.partition(" ")[0] for asked in registry.requests if "/v2/" in asked.path}
        assert sent == ({"", "Basic"} if auth == "basic" else {"", "Bearer"})
        assert TOKEN not in json.dumps([asked.path for asked in registry.requests])


def test_publishing_again_changes_nothing_and_versions_do_not_move(tmp_path: Path) -> None:
    registry = Registry("bearer")
    with oci_serving(registry) as served:
        env = {"WHET_OCI": served.host, "WHET_OCI_USER": USER, "WHET_OCI_PASSWORD": PASSWORD}
        context = reach(served.web(), env)
        ref = Ref("oci", f"{served.url}/acme/review")

        def publish(skill: Prepared, tag: str = "") -> tuple[bool, str, str]:
            done = publish_oci([skill], ref._replace(ref=tag), context, NOW)
            return done.changed, done.releases[0].change, done.revision

        skill = prepared(tmp_path)
        changed, word, revision = publish(skill)
        assert (changed, word, registry.tags) == (True, "added", {"acme/review": {"1.0.0": revision}})
        manifest: dict[str, Any] = json.loads(registry.manifests[revision])
        assert (manifest["artifactType"], manifest["config"]["mediaType"]) == (
            "application/vnd.agentskills.skill.v1",
            CONFIG,
        )
        assert manifest["annotations"] == {
            "io.agentskills.skill.name": "review",
            "org.opencontainers.image.created": NOW,
            "org.opencontainers.image.description": "Reviews code.",
            "org.opencontainers.image.title": "review",
            "org.opencontainers.image.version": "1.0.0",
        }
        wrote = len(registry.writes)
        assert publish(skill) == (False, "unchanged", revision)
        assert len(registry.writes) == wrote
        assert get(served, **env).tree == skill.tree
        other = prepared(tmp_path, more=" Well.")
        assert failure(lambda: publish(other))[1] == "version-exists"
        assert len(registry.writes) == wrote
        assert publish(skill, "latest")[1] == "added"
        assert len(registry.writes) == wrote + 1, "the blobs are there already"
        assert publish(other, "latest")[1] == "updated"
        assert get(served, "latest", **env).tree == other.tree
        repacked = gzip.compress(gzip.decompress(registry.blobs[manifest["layers"][0]["digest"]]), 1, mtime=5)
        registry.tag("acme/review", "1.0.0", registry.skill("review", "1.0.0", repacked))
        assert publish(skill)[:2] == (False, "unchanged"), "the same files, packed by another program"


def _hostile(registry: Registry, case: str) -> dict[str, Any]:
    good = layer({"SKILL.md": main("review")})
    manifest = registry.skill("review", "1.0.0", good)
    one = manifest["layers"][0]
    if case == "other bytes":
        registry.blobs[one["digest"]] = layer({"SKILL.md": main("review", "Is another.")})
    elif case == "other config":
        registry.blobs[manifest["config"]["digest"]] = b'{"name": "other"}'
    elif case == "larger":
        one["size"] -= 1
    elif case == "smaller":
        one["size"] += 1
    elif case == "huge":
        manifest["config"] = {"mediaType": CONFIG, **registry.add(b" " * (5 * 1024 * 1024)), "size": 10**12}
    elif case == "traversal":
        one.update(registry.add(layer({"SKILL.md": main("review"), "../../evil.md": b"x"})))
    elif case == "other name":
        one.update(registry.add(layer({"SKILL.md": main("other")})))
    elif case == "two layers":
        manifest["layers"] = [one, one]
    elif case == "no digest":
        one["digest"] = "md5:1"
    elif case == "loop":
        registry.storage = registry.url
    return manifest


HOSTILE = {
    "other bytes": "digest-mismatch",
    "other config": "digest-mismatch",
    "larger": "response-too-large",
    "smaller": "digest-mismatch",
    "huge": "response-too-large",
    "traversal": "archive-unsafe-path",
    "other name": "digest-mismatch",
    "two layers": "not-a-skill",
    "no digest": "bad-response",
    "loop": "too-many-redirects",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_registry_achieves_nothing(case: str) -> None:
    registry = Registry()
    with oci_serving(registry) as served:
        registry.tag("acme/review", "1.0.0", _hostile(registry, case))
        assert failure(lambda: get(served, "1.0.0"))[1] == HOSTILE[case]


def test_a_manifest_is_what_its_digest_says() -> None:
    registry = Registry()
    digest = registry.tag(
        "acme/review", "1.0.0", registry.skill("review", "1.0.0", layer({"SKILL.md": main("review")}))
    )
    registry.manifests[digest] += b" "
    with oci_serving(registry) as served:
        for wanted in (digest, "1.0.0"):
            assert failure(partial(get, served, wanted))[1] == "digest-mismatch"
        registry.manifests[digest] = b"[" * 100_000
        registry.tags["acme/review"]["1.0.0"] = digest_of(registry.manifests[digest])
        registry.manifests[digest_of(registry.manifests[digest])] = registry.manifests[digest]
        assert failure(lambda: get(served, "1.0.0"))[1] == "bad-response"


def push_and_pull_a_collection(url: str, web: Web, tmp_path: Path) -> None:
    """Several skills in one repository: what is pushed comes back, and only what changed is new."""
    ref = Ref("oci", f"{url}/acme/all")
    review, notes = prepared(tmp_path), prepared(tmp_path, name="notes")
    push = partial(publish_oci, ref=ref._replace(ref="stable"), context=reach(web))
    assert failure(lambda: publish_oci([review, notes], ref, reach(web), NOW))[1] == "usage"  # it has no tag
    first = push([review, notes], created=NOW)
    assert [(release.name, release.change) for release in first.releases] == [("review", "added"), ("notes", "added")]
    again = push([review, notes], created="2026-11-18T10:00:00Z")
    assert (again.changed, again.revision) == (False, first.revision)
    before = {
        offer.name: offer.revision for offer in open_source(ref._replace(ref="stable"), reach(web)).inspect().offers
    }
    changed = prepared(tmp_path, "1.1.0", "Twice.")
    second = push([changed, notes], created="2026-11-18T10:00:00Z")
    assert [(release.name, release.change) for release in second.releases] == [
        ("review", "updated"),
        ("notes", "unchanged"),
    ]
    source = open_source(ref._replace(ref="stable"), reach(web))
    listing = source.inspect()
    assert (listing.revision, listing.notes) == (second.revision, ())
    found = {package.offer.name: package for package in source.fetch(listing.offers)}
    assert {name: package.tree for name, package in found.items()} == {"review": changed.tree, "notes": notes.tree}
    assert found["notes"].offer.revision == before["notes"]  # nobody is told to update what did not change
    assert found["review"].offer.revision != before["review"]
    assert push([changed], created=NOW).changed  # a skill less is a change
    publish_oci([changed, notes], ref._replace(ref="1.0"), reach(web), NOW)
    late = partial(publish_oci, [review, notes], ref._replace(ref="1.0"), reach(web), NOW)
    assert failure(late)[1] == "version-exists"


def test_a_collection_is_pushed_and_pulled(tmp_path: Path) -> None:
    with oci_serving(Registry()) as served:
        push_and_pull_a_collection(served.url, served.web(), tmp_path)


@pytest.mark.deep
def test_a_real_docker_registry(tmp_path: Path) -> None:
    program = shutil.which("docker-registry") or shutil.which("registry")
    if program is None:
        pytest.skip("needs docker-registry")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    config = tmp_path / "config.yml"
    storage = {"filesystem": {"rootdirectory": str(tmp_path / "storage")}}
    config.write_text(json.dumps({"version": 0.1, "storage": storage, "http": {"addr": host}}))
    with subprocess.Popen([program, "serve", str(config)], stderr=subprocess.DEVNULL) as running:
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", int(host.partition(":")[2]))) == 0:
                        break
                time.sleep(0.05)
            web = Web(env={}, private_hosts=(host,))
            ref = Ref("oci", f"http://{host}/acme/review")
            skill = prepared(tmp_path)
            assert publish_oci([skill], ref, reach(web), NOW).changed
            assert not publish_oci([skill], ref, reach(web), NOW).changed
            source = open_source(ref, reach(web))
            (package,) = source.fetch(source.inspect().offers)
            assert (package.offer.version, package.tree) == ("1.0.0", skill.tree)
            push_and_pull_a_collection(f"http://{host}", web, tmp_path)
        finally:
            running.terminate()

"""Skills published as a site that any web server can serve, and what clients get from it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from sources.publishable import ready
from sources.published import everything, fetched, index_of, names_of, served
from whet.errors import InvalidError, UsageError
from whet.library.package import read_tree
from whet.skill.tree import Item
from whet.sources.publish.index import OLD_SITE, SCHEMA, SITE, make_artifact, publish_index
from whet.sources.web.client import Web

if TYPE_CHECKING:
    from pathlib import Path

HELP = {"references/guide.md": "# Guide\n", "scripts/run.sh": "#!/bin/sh\necho ok\n"}


def test_a_site_offers_what_was_published(tmp_path: Path) -> None:
    site = tmp_path / "site"
    plain, full = ready(tmp_path, "plain"), ready(tmp_path, "full", files=HELP)
    published = publish_index([plain, full], str(site))
    hashes = {skill.name: make_artifact(skill.tree).sha256 for skill in (plain, full)}
    urls = {"full": f"full/{hashes['full']}/full.tar.gz", "plain": f"plain/{hashes['plain']}/SKILL.md"}
    assert published.to_json() == {
        "success": True,
        "kind": "index",
        "target": str(site),
        "changed": True,
        "published": [
            {"name": skill.name, "version": "", "digest": skill.digest, "change": "added", "at": urls[skill.name]}
            for skill in (full, plain)
        ],
        "revision": "",
        "branch": "",
        "removed": [],
        "pushed": False,
        "notes": [],
        "prepared": [],
    }
    assert index_of(site) == {
        "$schema": SCHEMA,
        "skills": [
            {
                "name": name,
                "type": kind,
                "description": f"Does {name}.",
                "url": urls[name],
                "digest": f"sha256:{hashes[name]}",
            }
            for name, kind in (("full", "archive"), ("plain", "skill-md"))
        ],
    }
    files = ["SKILL.md", "references/guide.md", "scripts/run.sh"]
    assert index_of(site, OLD_SITE) == {
        "skills": [
            {"name": "full", "description": "Does full.", "files": files},
            {"name": "plain", "description": "Does plain.", "files": ["SKILL.md"]},
        ]
    }
    for entry in index_of(site)["skills"]:
        data = (site / SITE / entry["url"]).read_bytes()
        assert entry["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert read_tree(str(site / OLD_SITE / "full")) == full.tree


def test_clients_of_both_forms_get_the_same_skills(tmp_path: Path) -> None:
    site = tmp_path / "site"
    skills = [ready(tmp_path, "plain"), ready(tmp_path, "full", files=HELP)]
    publish_index(skills, str(site))
    wanted = {skill.name: skill.digest for skill in skills}
    with served(site) as host:
        assert fetched(host, tmp_path) == wanted
    (site / SITE / "index.json").unlink()
    web_tree = {skill.name: {path: Item(item.data) for path, item in skill.tree.items()} for skill in skills}
    with served(site) as host:
        web = Web(env={}, private_hosts=(host,))
        old = json.loads(web.get(f"http://{host}/{OLD_SITE}/index.json", limit=100_000).body)
        got = {
            entry["name"]: {
                path: Item(web.get(f"http://{host}/{OLD_SITE}/{entry['name']}/{path}", limit=1000).body)
                for path in entry["files"]
            }
            for entry in old["skills"]
        }
        web.close()
    assert got == web_tree


def test_the_same_skills_give_the_same_site(tmp_path: Path) -> None:
    skills = [ready(tmp_path, "plain"), ready(tmp_path, "full", files=HELP)]
    for name, order in (("one", skills), ("two", skills[::-1])):
        publish_index(order, str(tmp_path / name))
    assert everything(tmp_path / "one") == everything(tmp_path / "two")


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    skills = [ready(tmp_path, "plain"), ready(tmp_path, "full", files=HELP)]
    publish_index(skills, str(site))
    before = {path: os.stat(site / path).st_mtime_ns for path in everything(site)}
    again = publish_index(skills, str(site))
    assert (again.changed, [release.change for release in again.releases]) == (False, ["unchanged"] * 2)
    assert {path: os.stat(site / path).st_mtime_ns for path in everything(site)} == before


def test_an_artifact_that_another_zlib_made_is_the_same_skill(tmp_path: Path) -> None:
    site, full = tmp_path / "site", ready(tmp_path, "full", files=HELP)
    publish_index([full], str(site))
    index = index_of(site)
    [entry] = index["skills"]
    other = gzip.compress(gzip.decompress((site / SITE / entry["url"]).read_bytes()), 1, mtime=0)
    sha256 = hashlib.sha256(other).hexdigest()
    entry.update(url=f"full/{sha256}/full.tar.gz", digest=f"sha256:{sha256}")
    target = site / SITE / entry["url"]
    target.parent.mkdir()
    target.write_bytes(other)
    (site / SITE / "index.json").write_text(json.dumps(index))
    assert not publish_index([full], str(site)).changed


def test_a_damaged_artifact_is_written_again(tmp_path: Path) -> None:
    site, full = tmp_path / "site", ready(tmp_path, "full", files=HELP)
    publish_index([full], str(site))
    before = everything(site)
    target = site / SITE / index_of(site)["skills"][0]["url"]
    target.write_bytes(b"cut off")
    assert publish_index([full], str(site)).changed
    assert everything(site) == before


def test_a_new_version_leaves_the_old_artifact_until_it_is_pruned(tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish_index([ready(tmp_path, "full", files=HELP), ready(tmp_path, "plain")], str(site))
    old = index_of(site)["skills"][0]["url"]
    (tmp_path / "full" / "references" / "guide.md").unlink()
    new = ready(tmp_path, "full", "Do it better.\n", files={"references/more.md": "more"})
    published = publish_index([new], str(site))
    assert [release.change for release in published.releases] == ["updated"]
    assert names_of(site) == ["full", "plain"]
    assert (site / SITE / old).is_file(), "readers of the old index still find it"
    assert (site / OLD_SITE / "full" / "references" / "guide.md").is_file()
    pruned = publish_index([new], str(site), prune=True)
    assert pruned.removed == (
        f"{SITE}/full/{old.split('/')[1]}",
        f"{OLD_SITE}/full/references/guide.md",
    )
    assert pruned.notes == ()
    with served(site) as host:
        assert fetched(host, tmp_path)["full"] == new.digest
    assert publish_index([new], str(site), prune=True).removed == ()


def test_a_file_that_becomes_a_directory_is_published(tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish_index([ready(tmp_path / "a", "full", files={"assets": "a file"})], str(site))
    new = ready(tmp_path / "b", "full", files={"assets/one": "in a directory"})
    publish_index([new], str(site))
    assert read_tree(str(site / OLD_SITE / "full")) == new.tree


def test_what_others_put_into_the_index_stays(tmp_path: Path) -> None:
    site = tmp_path / "site"
    theirs = {"name": "theirs", "type": "future", "url": "https://example.com/x", "more": [1]}
    (site / SITE).mkdir(parents=True)
    twice = {"name": "plain", "type": "skill-md"}
    index = {"$schema": SCHEMA, "note": "kept", "skills": [twice, theirs, twice]}
    (site / SITE / "index.json").write_text(json.dumps(index))
    publish_index([ready(tmp_path, "plain"), ready(tmp_path, "another")], str(site))
    found = index_of(site)
    assert found["note"] == "kept"
    assert names_of(site) == ["plain", "theirs", "another"]
    assert found["skills"][1] == theirs


@pytest.mark.parametrize("which", [SITE, OLD_SITE])
@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "{}", '{"skills": {}}', '{"skills": [1]}', '{"skills": [{"name": "../x"}]}', "[" * 100_000),
        '{"skills": [{"name": 1}], "$schema": "x"}',
    ],
)
def test_an_index_that_cannot_be_read_is_left_alone(tmp_path: Path, which: str, text: str) -> None:
    site = tmp_path / "site"
    (site / which).mkdir(parents=True)
    (site / which / "index.json").write_text(text)
    with pytest.raises(InvalidError) as error:
        publish_index([ready(tmp_path, "plain")], str(site))
    assert error.value.code == "index-damaged"
    assert everything(site) == {f"{which}/index.json": text.encode()}


def test_an_index_of_another_schema_is_left_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / SITE).mkdir(parents=True)
    (site / SITE / "index.json").write_text('{"$schema": "https://example.com/9", "skills": []}')
    with pytest.raises(InvalidError, match=r"its \$schema is 'https://example.com/9'"):
        publish_index([ready(tmp_path, "plain")], str(site))


def test_each_name_is_published_once(tmp_path: Path) -> None:
    plain = ready(tmp_path, "plain")
    for skills, code in (([plain, plain], "published-twice"), ([], "nothing-to-publish")):
        with pytest.raises(UsageError) as error:
            publish_index(skills, str(tmp_path / "site"))
        assert error.value.code == code
    assert not (tmp_path / "site").exists()


def test_a_description_with_a_lone_surrogate_stays_json(tmp_path: Path) -> None:
    plain = ready(tmp_path, "plain")._replace(description="odd \ud800 but ünïcode")
    publish_index([plain], str(tmp_path / "site"))
    assert index_of(tmp_path / "site")["skills"][0]["description"] == "odd \ud800 but ünïcode"


def test_publishers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    skills = [ready(tmp_path, f"skill-{number}", files=HELP) for number in range(8)]
    failures: list[BaseException] = []

    def publish(number: int) -> None:
        try:
            publish_index([skills[number]], str(site))
        except BaseException as error:  # noqa: BLE001  told below
            failures.append(error)

    threads = [threading.Thread(target=publish, args=(number,)) for number in range(len(skills))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(names_of(site)) == [skill.name for skill in skills]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from sources.publishable import ready
from whet.sources.publish.index import publish_index
import whet.store.atomic as atomic, whet.authoring.trees, zlib, tarfile
top, left = Path(sys.argv[2]), int(sys.argv[3])
full = ready(top / "new", "full", "New.\\n", files={"references/new.md": "new"})
skills = [full, ready(top / "new", "plain", "New.\\n")]

def step():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def armed(real):
    def call(*args, **kwargs):
        step()
        return real(*args, **kwargs)
    return call

for name in ("write", "rename", "replace", "unlink", "mkdir", "rmdir", "link", "chmod"):
    setattr(os, name, armed(getattr(os, name)))
atomic.exchange = armed(atomic.exchange)
publish_index(skills, str(top / "site"))
print("done")
"""


def check_site(site: Path, top: Path) -> None:
    """Whoever reads the site now gets every skill whole."""
    with served(site) as host:
        got = fetched(host, top)
    assert set(got) == {"full", "plain"}
    for entry in index_of(site, OLD_SITE)["skills"]:
        for path in entry["files"]:
            assert (site / OLD_SITE / entry["name"] / path).is_file()


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
def test_a_publisher_that_is_killed_leaves_a_whole_site(tmp_path: Path, *, quick: bool) -> None:
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    old = [ready(tmp_path / "old", "full", files=HELP), ready(tmp_path / "old", "plain")]
    apart = 8 if quick else 1
    site, step, seen = tmp_path / "site", 1 - apart, set()
    publish_index(old, str(site))
    before = index_of(site)
    while True:
        step += apart
        command = [sys.executable, "-c", KILLED, tests, str(tmp_path), str(step)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        check_site(site, tmp_path)
        seen.add(index_of(site) == before)
        publish_index(old, str(site), prune=True)
        assert everything(site) == everything_of(old, tmp_path / f"clean-{step}")
    assert seen == {True}, "the index is the last thing that changes"
    assert done.stdout == "done\n"
    assert index_of(site) != before
    check_site(site, tmp_path)


def everything_of(skills: list[Any], site: Path) -> dict[str, bytes]:
    publish_index(skills, str(site))
    return everything(site)

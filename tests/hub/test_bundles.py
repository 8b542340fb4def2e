"""The air gap: what one hub writes into a file, another checks without a network and stores as a mirror does."""

from __future__ import annotations

import json
import random
from contextlib import closing
from itertools import count
from shutil import copytree, rmtree
from typing import TYPE_CHECKING, Any

import pytest
from chaos.kill import Victim
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hub.world import ACME, KEY, LEAK, MODERATOR, make_archive, open_hub, publish, refused
from whet.errors import ConflictError, InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.hub.bundles import Exported, export_bundle, import_bundle
from whet.hub.lifecycle import set_status, set_visibility
from whet.hub.mirrors import Mirrors
from whet.hub.tokens import ANYBODY
from whet.sources.transparency import LogKey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.hub.checker import Checker
    from whet.hub.registry import Hub

PUBLIC = str(LogKey("hub.example", KEY.public_key().public_bytes_raw()))
OTHER = str(LogKey("hub.example", Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()))
TWICE = "# Review\n\n1. Read it twice.\n"


class Gap:
    """Two hubs with nothing between them but files."""

    def __init__(self, top: Path, checker: Checker) -> None:
        self.top, self.checker = top, checker
        self.outside = self.open("outside")
        self.inside = self.open("inside")

    def open(self, name: str) -> Hub:
        (self.top / name).mkdir(exist_ok=True)
        return open_hub(str(self.top / name / "hub.db"), str(self.top / name / "blobs"), checker=self.checker)

    def carry(self, name: str = "bundle.tar", **chosen: Any) -> str:
        export_bundle(self.outside, path := str(self.top / name), **chosen)
        return path

    def versions(self, name: str = "review") -> list[str]:
        try:
            listed = self.inside.versions(ANYBODY, "acme", name)["versions"]
        except NotFoundError:
            return []
        return [each["version"] for each in listed]


@pytest.fixture
def gap(tmp_path: Path, checker: Checker) -> Iterator[Gap]:
    made = Gap(tmp_path, checker)
    yield made
    made.outside.close()
    made.inside.close()


def test_what_is_exported_is_proved_scanned_and_stored(gap: Gap) -> None:
    first = publish(gap.outside)
    publish(gap.outside, "1.1.0", body=TWICE)
    publish(gap.outside, name="other")
    publish(gap.outside, name="leaky", check_sh=LEAK)  # in quarantine
    set_visibility(gap.outside, ACME, "acme", "secret", "private")
    publish(gap.outside, name="secret")
    gap.outside.yank(ACME, "acme", "review", "1.1.0", "It misses deletions.")
    path = str(gap.top / "all.tar")
    assert export_bundle(gap.outside, path) == Exported(path, 2, 3, gap.outside.log.verify(), 0)
    assert b"secret" not in (gap.top / "all.tar").read_bytes()

    assert refused(lambda: import_bundle(gap.inside, path)) == (UsageError, "key-needed")
    assert refused(lambda: import_bundle(gap.inside, path, OTHER))[1] == "bad-checkpoint"
    assert gap.versions() == [] and gap.inside.log.verify() == 0
    done = import_bundle(gap.inside, path, PUBLIC)
    assert (done.url, done.versions, done.known, done.refused) == ("http://localhost", 3, 0, ())
    assert done.checkpoint == gap.outside.log.checkpoint()
    document = json.loads(gap.inside.version(ANYBODY, "acme", "review", "1.0.0"))
    assert (document["digest"], document["publisher"]["mirrored"]) == (first["digest"], "hub.example")
    assert document["upstream"]["entry"] == first["log"]["entry"]
    assert gap.inside.archive(ANYBODY, "acme", "review", "1.0.0")[0] == first["archive"]["sha256"]
    shown = json.loads(gap.inside.version(ANYBODY, "acme", "review", "1.1.0"))["yanked"]
    assert (shown, gap.inside.skill(ANYBODY, "acme", "review")["latest"]) == (
        {"reason": "It misses deletions."},
        "1.0.0",
    )
    assert refused(lambda: publish(gap.inside, name="mine")) == (ConflictError, "mirrored")
    size = gap.inside.verify()[0]
    again = import_bundle(gap.inside, path)  # and now the key is known
    assert (again.versions, again.known, again.acts, gap.inside.verify()[0]) == (0, 3, 0, size)


def test_a_version_with_a_build_is_carried_over(gap: Gap) -> None:
    publish(gap.outside, "1.0.0+linux.1")
    assert import_bundle(gap.inside, gap.carry(), PUBLIC).versions == 1
    assert gap.versions() == ["1.0.0+linux.1"]


def test_one_bundle_continues_another(gap: Gap) -> None:
    publish(gap.outside)
    first = gap.carry("first.tar")
    publish(gap.outside, "1.1.0", body=TWICE)
    gap.outside.quarantine(MODERATOR, "acme", "review", "1.0.0", "It sends keys away.")
    set_status(gap.outside, ACME, "acme", "review", "deprecated", reason="Merged.")
    second = gap.carry("second.tar", since=first)
    publish(gap.outside, "1.2.0", body="# Review\n\n1. Read it three times.\n")
    third = gap.carry("third.tar", since=second)
    assert import_bundle(gap.inside, first, PUBLIC).versions == 1
    assert refused(lambda: import_bundle(gap.inside, third)) == (ConflictError, "bundle-gap")
    done = import_bundle(gap.inside, second)
    assert (done.versions, done.acts) == (1, 2)
    assert refused(lambda: gap.inside.archive(ANYBODY, "acme", "review", "1.0.0")) == (RefusedError, "quarantined")
    assert gap.inside.skill(ANYBODY, "acme", "review")["status"] == "deprecated"
    assert import_bundle(gap.inside, third).versions == 1
    assert refused(lambda: import_bundle(gap.inside, first)) == (ConflictError, "bundle-older")
    (gap.top / "note").write_text(gap.inside.log.checkpoint())  # of the other log
    assert refused(lambda: gap.carry(since=str(gap.top / "note"))) == (InvalidError, "log-diverged")


def test_a_bundle_may_have_some_skills_only(gap: Gap) -> None:
    publish(gap.outside)
    publish(gap.outside, name="other")
    gap.outside.yank(ACME, "acme", "other", "1.0.0", "Broken.")
    path = gap.carry(skills=("acme/other",))
    assert import_bundle(gap.inside, path, PUBLIC).versions == 1
    assert (gap.versions(), gap.versions("other")) == ([], ["1.0.0"])
    assert refused(lambda: gap.carry(skills=("acme/none",))) == (NotFoundError, "skill-not-found")


def test_another_history_under_the_same_key_is_refused(gap: Gap, tmp_path: Path) -> None:
    publish(gap.outside)
    assert import_bundle(gap.inside, gap.carry(), PUBLIC).versions == 1
    fork = gap.open("fork")
    publish(fork, body=TWICE)
    publish(fork, "1.1.0", body="# Review\n\n1. Approve.\n")
    export_bundle(fork, path := str(tmp_path / "fork.tar"))
    fork.close()
    assert refused(lambda: import_bundle(gap.inside, path))[1] == "log-diverged"
    assert gap.versions() == ["1.0.0"]


def test_a_bundle_that_was_changed_on_the_way_brings_nothing(gap: Gap, quick: bool) -> None:
    kept = {
        publish(gap.outside)["digest"],
        publish(gap.outside, "1.1.0", body=TWICE)["digest"],
        publish(gap.outside, name="other")["digest"],
    }
    whole = (gap.top / gap.carry()).read_bytes()
    chance, seen = random.Random(7), {"refused": 0, "whole": 0}
    for number in range(20 if quick else 150):
        at = chance.randrange(len(whole))
        data = bytearray(whole)
        if number % 5 == 0:
            del data[at:]
        else:
            data[at] ^= 1 << chance.randrange(8)
        (gap.top / "changed.tar").write_bytes(data)
        try:
            import_bundle(gap.inside, str(gap.top / "changed.tar"), PUBLIC)
        except WhetError:
            seen["refused"] += 1
            assert gap.inside.skills(ANYBODY)["skills"] == []
            continue
        # a bit that means nothing, such as one of the tar file's padding, or of a list that says less than there is
        seen["whole"] += 1
        found = gap.inside.database.read(lambda ask: ask.all("SELECT digest FROM versions"))
        assert {row[0] for row in found} <= kept
        gap.inside.close()
        rmtree(gap.top / "inside")
        gap.inside = gap.open("inside")
    assert seen["refused"] > seen["whole"]


SCRIPT = """
import sys
from chaos.kill import arm, load, serve
from hub.test_bundles import PUBLIC
from hub.world import open_hub
from whet.hub.bundles import import_bundle
from whet.hub.checker import describe
load("skill", "guard", "hub")

class Here:
    check = staticmethod(describe)
    def close(self):
        pass

def act(line):
    number, path = line.split("\\t")
    hub = open_hub(sys.argv[1] + "/hub.db", sys.argv[1] + "/blobs", checker=Here())
    arm(int(number))
    import_bundle(hub, path, PUBLIC)

serve(act)
"""


@pytest.mark.deep
def test_killed_at_any_step_an_import_leaves_whole_versions_and_goes_on(gap: Gap) -> None:
    publish(gap.outside)
    publish(gap.outside, "1.1.0", body=TWICE)
    gap.outside.yank(ACME, "acme", "review", "1.0.0", "Broken.")
    path, now = gap.carry(), gap.top / "inside"
    gap.inside.close()
    copytree(now, before := gap.top / "before")
    seen: set[int] = set()
    with Victim(SCRIPT, now) as victim:
        for step in count(1):
            rmtree(now)
            copytree(before, now)
            killed = victim.killed(step, path)
            gap.inside = gap.open("inside")
            entries, archives = gap.inside.verify()
            versions = gap.versions()
            seen.add(len(versions))
            assert archives == len(versions) and entries >= len(versions)
            for version in versions:
                gap.inside.archive(ANYBODY, "acme", "review", version)
            done = import_bundle(gap.inside, path, PUBLIC)
            assert (done.versions + done.known, gap.versions()) == (2, ["1.1.0", "1.0.0"])
            yanked = json.loads(gap.inside.version(ANYBODY, "acme", "review", "1.0.0"))["yanked"]
            assert yanked == {"reason": "Broken."}
            gap.inside.verify()
            gap.inside.close()
            if not killed:
                break
    assert seen == {0, 1, 2} and step > 8


def test_every_database_takes_a_bundle_and_what_follows(gap: Gap, store: Hub) -> None:
    publish(gap.outside)
    first = gap.carry()
    assert import_bundle(store, first, PUBLIC).versions == 1
    gap.outside.yank(ACME, "acme", "review", "1.0.0", "Broken.")
    done = import_bundle(store, gap.carry("second.tar", since=first))
    assert (done.versions, done.known, done.acts) == (0, 0, 1)
    assert json.loads(store.version(ANYBODY, "acme", "review", "1.0.0"))["yanked"] == {"reason": "Broken."}
    with closing(Mirrors(store)) as mirrors:
        assert mirrors.states() == ()
    store.verify()


def test_archives_are_those_of_the_other_hub(gap: Gap) -> None:
    made = make_archive(body=TWICE)
    publish(gap.outside, body=TWICE)
    import_bundle(gap.inside, gap.carry(), PUBLIC)
    assert gap.inside.archive(ANYBODY, "acme", "review", "1.0.0")[1] == made.data

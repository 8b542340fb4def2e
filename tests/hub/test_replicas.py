"""Two hubs on one PostgreSQL behind a balancer, each really killed under load: nothing acknowledged is lost."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hub.balancer import balancing
from hub.server import Served, serving_directory
from hub.world import Archive, make_archive
from whet.hub.instance import HubConfig, create_hub, open_hub
from whet.sources.transparency import Checkpoint, LogKey, Proof, check_consistency, read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hub.balancer import Balancer
    from hub.server import Answer

WRITERS, READERS, EACH = 4, 3, 12
Place = tuple[str, str]


class Seen(NamedTuple):
    """What a reader saw."""

    reads: int
    wrong: list[str]
    checkpoints: list[Checkpoint]


class Load:
    """Writers and readers of hubs behind a balancer, who ask again when a connection breaks."""

    def __init__(self, balancer: Balancer, tokens: Mapping[str, str], key: LogKey) -> None:
        self.hub = Served(balancer.server_address[1], tokens)
        self.key = key
        self.acknowledged: dict[Place, Archive] = {}
        self.broken = 0
        self.changed = threading.Condition()
        self.done = threading.Event()

    def persist(self, method: str, path: str, who: str, archive: Archive | None = None) -> Answer:
        """Ask until an answer comes."""
        sent = {"Content_Type": "application/zip", "Whet_Digest": archive.digest} if archive else {}
        while True:
            try:
                return self.hub.ask(method, path, who, archive.data if archive else b"", **sent)
            except (OSError, http.client.HTTPException):
                with self.changed:
                    self.broken += 1

    def write(self, number: int) -> None:
        """Publish a number of versions of one skill."""
        name = f"skill-{number}"
        for step in range(EACH):
            place = name, f"1.{step}.0"
            archive = make_archive(name, body=f"# {name}\n\n1. Read file {step} of {number}.\n")
            answer = self.persist("PUT", _path(place), f"writer-{number}", archive)
            assert answer.status in (200, 201), answer.body
            with self.changed:
                self.acknowledged[place] = archive
                self.changed.notify_all()

    def read(self, number: int) -> Seen:
        """Read what was acknowledged, and the log, until everything is written."""
        choice, who = random.Random(number), f"reader-{number}"
        seen = Seen(0, [], [])
        while not self.done.is_set():
            with self.changed:
                self.changed.wait_for(lambda: self.acknowledged)
                place, archive = choice.choice(list(self.acknowledged.items()))
            seen.wrong.extend(self.check(place, archive, who))
            note = self.persist("GET", "/log/checkpoint", who)
            seen.checkpoints.append(read_checkpoint(note.body.decode(), self.key))
            seen = seen._replace(reads=seen.reads + 3)
            self.done.wait(0.05)  # below the limit of requests in a minute
        return seen

    def check(self, place: Place, archive: Archive, who: str) -> list[str]:
        """What is wrong with the answers about a version."""
        document = self.persist("GET", _path(place), who)
        data = self.persist("GET", f"{_path(place)}/archive", who)
        if (document.status, data.status) != (200, 200):
            return [f"{place}: {document.status} {data.status} {document.body!r}"]
        log = document.json["log"]
        Proof.parse(log["proof"]).check(log["entry"].encode(), self.key)
        right = document.json["digest"] == archive.digest == json.loads(log["entry"])["digest"]
        return [] if right and data.body == archive.data else [f"{place}: not what was published"]

    def wait_for(self, share: float) -> None:
        """Wait until this share of all versions is acknowledged."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.acknowledged) >= share * WRITERS * EACH, 60)


def _path(place: Place) -> str:
    return f"/api/v1/skills/acme/{place[0]}/versions/{place[1]}"


@pytest.mark.deep
@pytest.mark.parametrize("address", ["postgres"], indirect=True)
def test_each_of_two_hubs_is_killed_under_load_and_nothing_is_lost(address: str, tmp_path: Path) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    made = create_hub(first, HubConfig("hub.example", database=address))
    shutil.copytree(first, second)
    hub = open_hub(first)
    tokens = {f"writer-{n}": hub.create_token(f"writer-{n}", ("publish:acme",)) for n in range(WRITERS)}
    tokens |= {f"reader-{n}": hub.create_token(f"reader-{n}", ("read",)) for n in range(READERS)}
    before = len(hub.log.entries(0, 100))
    hub.close()
    with ExitStack() as stack:
        hubs = [stack.enter_context(serving_directory(directory, tokens)) for directory in (first, second)]
        ports = [each.port for each in hubs]
        balancer = stack.enter_context(balancing(ports))
        load = Load(balancer, tokens, LogKey.parse(made.log_key))
        pool = stack.enter_context(ThreadPoolExecutor(WRITERS + READERS))
        stack.callback(load.done.set)
        writers = [pool.submit(load.write, number) for number in range(WRITERS)]
        readers = [pool.submit(load.read, number) for number in range(READERS)]
        for at, (directory, share) in enumerate(((first, 0.2), (second, 0.6))):
            load.wait_for(share)
            while not balancer.busy[ports[at]]:  # something is under way there
                pass
            hubs[at].kill()
            load.wait_for(share + 0.2)
            hubs[at] = stack.enter_context(serving_directory(directory, tokens, ports[at]))
        for writer in writers:
            writer.result(60)
        load.done.set()
        seen = [reader.result(60) for reader in readers]

        assert balancer.passed_over and load.broken
        assert [each.wrong for each in seen] == [[]] * READERS and all(each.reads for each in seen)
        planned = {(f"skill-{n}", f"1.{step}.0") for n in range(WRITERS) for step in range(EACH)}
        assert load.acknowledged.keys() == planned
        for each in hubs:  # both know everything
            load.hub = each
            assert [wrong for item in load.acknowledged.items() for wrong in load.check(*item, "")] == []
        newest = read_checkpoint(hubs[0].ask("GET", "/log/checkpoint").body.decode(), load.key)
        for reader in seen:
            sizes = [checkpoint.size for checkpoint in reader.checkpoints]
            assert sizes == sorted(sizes)
        for size, root in {(old.size, old.root) for each in seen for old in each.checkpoints}:
            path = hubs[1].ask("GET", f"/api/v1/log/consistency/{size}?size={newest.size}").json["path"]
            check_consistency(size, root, newest.size, newest.root, [bytes.fromhex(node) for node in path])
        acts = hubs[0].changes()[before:]
        assert [act["act"] for act in acts] == ["publish"] * len(planned)
        assert {(act["name"], act["version"]) for act in acts} == planned
    verify = [sys.executable, "-m", "whet", "hub", "verify", second, "--json"]
    verified = json.loads(subprocess.run(verify, capture_output=True, check=True).stdout)
    archives = {hashlib.sha256(archive.data).hexdigest() for archive in load.acknowledged.values()}
    assert (verified["entries"], verified["archives"]) == (newest.size, len(archives))

"""Pull-through mirrors between hubs that really serve: what is fetched is proved, scanned, logged, and stays."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sources.reaching import reach

from hub.local import ANYONE, LocalHub, hub_running
from hub.relay import Relay, Sent, relaying
from hub.server import Answer, Served
from hub.world import LEAK, MODERATOR, make_archive, publish, refused, state_evals
from whet.errors import ConflictError, InvalidError, NotFoundError, RefusedError
from whet.hub.lifecycle import set_status, set_tag
from whet.hub.mirrors import Mirrors
from whet.hub.moderation import list_queue
from whet.hub.registry import HubSettings
from whet.hub.settings import Mirror
from whet.hub.tokens import OPERATOR
from whet.hub.upstream import HubUpstream
from whet.sources.hub_logs import HubLogs, StateMemory, check_entry
from whet.sources.model import LogProof, Ref
from whet.sources.registries.hub import HubSource
from whet.sources.registries.hub_client import HubClient
from whet.sources.web.client import Web
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.hub.checker import Checker
    from whet.sources.model import Offer
    from whet.sources.registries.hub_client import LogCheck

SKILL = "/api/v1/skills/acme/review"


class Pair:
    """A hub that publishes, and one that mirrors it through a relay."""

    def __init__(self, upstream: LocalHub, relay: Relay, mirror: LocalHub) -> None:
        self.upstream, self.relay, self.mirror = upstream, relay, mirror
        self.mirrors = Mirrors(mirror.hub)

    def publish(self, version: str = "1.0.0", name: str = "review", **made: Any) -> Any:
        return self.upstream.publish("acme", name, version, make_archive(name, version, **made).data)

    def get(self, path: str) -> Answer:
        """What a reader of the mirror gets."""
        return Served(int(self.mirror.url.rpartition(":")[2]), {}).ask("GET", path)

    def follow(self) -> int:
        """Do what the upstream did since the last time; how many acts it was."""
        upstream = self.mirrors.upstreams[0]
        assert isinstance(upstream, HubUpstream)
        return self.mirrors.follow_log(upstream)

    def acts(self) -> list[Any]:
        return [json.loads(entry) for _, entry in self.mirror.hub.log.entries(0, 1000)]

    def cases(self) -> list[Any]:
        found: list[Any] = list_queue(self.mirror.hub, MODERATOR)["cases"]
        return found


class Client:
    """Somebody who reads the upstream through the relay, and remembers its log."""

    def __init__(self, relay: Relay, state: Path) -> None:
        self._url = relay.url
        self._logs = HubLogs(StateMemory(StateDatabase(str(state))))
        web = Web(env={}, private_hosts=("127.0.0.1",))
        self._context = reach(web)._replace(logs=self._logs)

    def find(self, path: str, version: str = "") -> tuple[Offer, ...]:
        return HubSource(Ref("hub", self._url, version, path), self._context).inspect().offers

    def check(self) -> LogCheck:
        return HubClient(self._url, self._context, "").check_log(self._logs)


@contextmanager
def mirroring(tmp_path: Path, checker: Checker, **settings: Any) -> Iterator[Pair]:
    with ExitStack() as stack:
        upstream = stack.enter_context(hub_running(tmp_path, name="upstream", origin="up.example", checker=checker))
        relay = stack.enter_context(relaying(int(upstream.url.rpartition(":")[2])))
        options = HubSettings(private_hosts=("127.0.0.1",), mirrors=(Mirror(relay.url, **settings),))
        mirror = stack.enter_context(
            hub_running(tmp_path, options, name="mirror", origin="mirror.example", checker=checker)
        )
        yield Pair(upstream, relay, mirror)


@pytest.fixture
def pair(tmp_path: Path, checker: Checker) -> Iterator[Pair]:
    with mirroring(tmp_path, checker) as made:
        yield made


def test_what_is_not_here_comes_from_the_upstream_with_its_proof(pair: Pair) -> None:
    original = pair.publish("1.0.0")
    pair.publish("1.1.0", body="# Review\n\n1. Read it twice.\n")
    shown = pair.get(SKILL).json
    assert (shown["latest"], shown["tier"], shown["versions"]) == ("1.1.0", "community", 1)
    version = pair.get(f"{SKILL}/versions/1.0.0").json
    assert (version["digest"], version["archive"]["sha256"]) == (original["digest"], original["archive"]["sha256"])
    assert version["publisher"] == {"kind": "token", "account": "publisher", "detail": "", "mirrored": "up.example"}
    archive = pair.get(f"{SKILL}/versions/1.0.0/archive").body
    assert hashlib.sha256(archive).hexdigest() == original["archive"]["sha256"]
    # both logs prove it
    said, named = version["upstream"], {"owner": "acme", "name": "review", "version": "1.0.0"}
    ours = pair.mirror.hub.log.public_key
    assert (
        check_entry(LogProof(str(ours), version["log"]["entry"], version["log"]["proof"]), **named)["act"] == "mirror"
    )
    assert check_entry(LogProof(said["key"], said["entry"], said["proof"]), **named)["digest"] == original["digest"]
    entry = json.loads(version["log"]["entry"])
    assert (entry["upstream"]["origin"], entry["upstream"]["entry"]) == ("up.example", original["log"]["entry"])
    assert entry["upstream"]["checkpoint"] in said["proof"] and entry["upstream"]["url"] == pair.relay.url
    assert [each["version"] for each in pair.get(f"{SKILL}/versions").json["versions"]] == ["1.1.0", "1.0.0"]
    # once it is here, nobody asks again, and what is not there is not asked for again and again
    before = len(pair.relay.asked)
    assert [pair.get(f"{SKILL}/versions/1.0.0").status, pair.get(f"{SKILL}/versions").status] == [200, 200]
    assert len(pair.relay.asked) == before
    for path in ("/api/v1/skills/acme/none", f"{SKILL}/versions/9.9.9"):
        assert pair.get(path).status == 404
        before = len(pair.relay.asked)
        assert (pair.get(path).status, len(pair.relay.asked)) == (404, before)
    assert (pair.mirror.hub.verify()[1], pair.follow()) == (2, 0)
    assert [state[3:] for state in pair.mirrors.states()] == [(pair.upstream.hub.log.verify(), 1, 2, "")]


def test_an_owner_is_mirrored_or_at_home_never_both(pair: Pair) -> None:
    pair.publish()
    pair.upstream.publish("beta", "other", "1.0.0", make_archive("other").data)
    assert publish(pair.mirror.hub, owner="beta", name="mine")["owner"] == "beta"
    assert pair.get("/api/v1/skills/beta/other").code == (404, "skill-not-found")
    assert pair.get(SKILL).status == 200
    hub, archive = pair.mirror.hub, make_archive("mine")
    for act in (
        lambda: hub.publish(ANYONE, "acme", "mine", "1.0.0", archive.data, archive.digest),
        lambda: hub.yank(ANYONE, "acme", "review", "1.0.0", "Not ours."),
        lambda: set_status(hub, ANYONE, "acme", "review", "archived", reason="Not ours."),
        lambda: set_tag(hub, ANYONE, "acme", "review", "beta", "1.0.0"),
    ):
        assert refused(act) == (ConflictError, "mirrored")


def test_a_prefix_and_a_list_of_owners_limit_a_mirror(tmp_path: Path, checker: Checker) -> None:
    with mirroring(tmp_path, checker, prefix="up-", owners=("acme",)) as pair:
        pair.publish()
        pair.upstream.publish("beta", "other", "1.0.0", make_archive("other").data)
        pair.publish(name="better")
        set_status(pair.upstream.hub, ANYONE, "acme", "review", "deprecated", reason="Old.", successor="acme/better")
        assert pair.get("/api/v1/skills/up-acme/better").json["latest"] == "1.0.0"
        shown = pair.get("/api/v1/skills/up-acme/review").json
        assert (shown["latest"], shown["status"], shown["successor"]) == ("1.0.0", "deprecated", "up-acme/better")
        assert [pair.get(path).status for path in (SKILL, "/api/v1/skills/up-beta/other")] == [404, 404]


def test_many_readers_at_once_are_one_fetch(pair: Pair) -> None:
    pair.publish()
    seen: list[int] = []
    readers = [
        threading.Thread(target=lambda: seen.append(pair.get(f"{SKILL}/versions/1.0.0").status)) for _ in range(20)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert (seen, pair.relay.count("/archive")) == ([200] * 20, 1)
    assert sum(act["act"] == "mirror" for act in pair.acts()) == 1


def test_what_happens_there_happens_here(pair: Pair) -> None:
    pair.publish("1.0.0")
    pair.publish("1.1.0", body="# Review\n\n1. Read it twice.\n")
    assert [pair.get(f"{SKILL}/versions/{number}").status for number in ("1.0.0", "1.1.0")] == [200, 200]
    there = pair.upstream.hub
    there.yank(ANYONE, "acme", "review", "1.1.0", "It misses deletions.")
    there.quarantine(OPERATOR, "acme", "review", "1.0.0", "It sends keys away.")
    set_status(there, ANYONE, "acme", "review", "deprecated", reason="Merged.", successor="")
    pair.upstream.publish("other", "unseen", "1.0.0", make_archive("unseen").data)
    assert pair.follow() == 3
    assert pair.get(f"{SKILL}/versions/1.1.0").json["yanked"] == {"reason": "It misses deletions."}
    assert pair.get(f"{SKILL}/versions/1.0.0").json["quarantined"] == {"reason": "up.example: It sends keys away."}
    assert pair.get(f"{SKILL}/versions/1.0.0/archive").code == (403, "quarantined")
    shown = pair.get(SKILL).json
    assert (shown["latest"], shown["status"], shown["reason"]) == (None, "deprecated", "Merged.")
    assert pair.follow() == 0
    # a quarantine of our own stands, whatever is released there
    pair.mirror.hub.quarantine(OPERATOR, "acme", "review", "1.1.0", "Ours.")
    there.quarantine(OPERATOR, "acme", "review", "1.1.0", "Theirs.")
    there.quarantine(OPERATOR, "acme", "review", "1.1.0", None)
    there.quarantine(OPERATOR, "acme", "review", "1.0.0", None)
    there.yank(ANYONE, "acme", "review", "1.1.0", None)
    set_status(there, ANYONE, "acme", "review", "active")
    pair.publish("1.2.0", body="# Review\n\n1. Read it three times.\n")
    assert pair.follow() == 4
    assert pair.get(f"{SKILL}/versions/1.1.0").json["quarantined"] == {"reason": "Ours."}
    shown = pair.get(SKILL).json
    assert (shown["latest"], shown["status"], shown["versions"]) == ("1.2.0", "active", 3)
    by = next(act["by"] for act in pair.acts() if act["act"] == "yank")
    assert by == {"kind": "mirror", "account": "", "detail": "up.example"}
    pair.mirror.hub.verify()


def test_an_upstream_that_is_down_takes_nothing_away(tmp_path: Path, checker: Checker) -> None:
    with mirroring(tmp_path, checker) as pair:
        pair.publish()
        assert pair.get(SKILL).status == 200
        pair.relay.change = lambda _path, _sent: Sent(500, {}, b"{}")
        served = [pair.get(path).status for path in (SKILL, f"{SKILL}/versions", f"{SKILL}/versions/1.0.0/archive")]
        assert served == [200, 200, 200]
        missing = pair.get("/api/v1/skills/acme/other")
        assert missing.code == (404, "mirror-unreachable") and pair.relay.url in missing.json["error"]
        before = len(pair.relay.asked)
        assert pair.get("/api/v1/skills/acme/third").code == (404, "mirror-unreachable")
        assert len(pair.relay.asked) == before  # it is left alone for a while


def test_what_a_publisher_says_of_evals_comes_along_and_must_be_what_the_log_has(pair: Pair) -> None:
    archive, sha256 = make_archive("review", evals_json="[]"), hashlib.sha256(b"[]").hexdigest()
    statement, better = (state_evals(archive, sha256, recall) for recall in (0.5, 1.0))
    place = ("acme", "review", "1.0.0")
    pair.upstream.hub.publish(ANYONE, *place, archive.data, archive.digest, statement)

    def say(evals: bytes) -> None:
        def change(path: str, sent: Sent) -> Sent:
            if not path.endswith("/versions/1.0.0"):
                return sent
            document = json.loads(sent.body)
            document["evals"] = {**document["evals"], "statement": evals.decode()} if evals else None
            return sent._replace(body=json.dumps(document).encode())

        pair.relay.change = change

    for evals in (better, b"{}", b""):
        say(evals)
        mirrors = Mirrors(pair.mirror.hub)
        assert refused(partial(mirrors.pull, *place)) == (RefusedError, "mirror-refused")
        mirrors.close()
        assert pair.acts()[-1]["act"] == "mirror-refused" and pair.acts()[-1]["code"] == "bad-evals"
    say(statement)
    assert pair.mirrors.pull(*place)
    version = pair.get(f"{SKILL}/versions/1.0.0").json
    there = Served(pair.relay.port, {}).ask("GET", f"{SKILL}/versions/1.0.0").json
    assert (version["evals"], version["evals"]["statement"]) == (there["evals"], statement.decode())
    said = {name: value for name, value in version["evals"].items() if name != "statement"}
    assert json.loads(version["log"]["entry"])["evals"] == said


def test_our_own_guard_looks_at_everything(pair: Pair) -> None:
    pair.publish("1.0.0", check_sh=LEAK)
    pair.upstream.hub.quarantine(OPERATOR, "acme", "review", "1.0.0", None)  # its moderators saw nothing in it
    version = pair.get(f"{SKILL}/versions/1.0.0").json
    assert (version["verdict"]["verdict"], version["status"]) == ("dangerous", "quarantined")
    assert [case["cause"] for case in pair.cases()] == ["guard"]


def test_other_bytes_and_forged_answers_are_refused_loudly(pair: Pair) -> None:
    pair.publish()
    other = make_archive("review", "1.0.0", body="# Review\n\n1. Approve everything.\n")

    def swap_archive(path: str, sent: Sent) -> Sent:
        return sent._replace(body=other.data) if path.endswith("/archive") else sent

    def swap_version(path: str, sent: Sent) -> Sent:
        if path.endswith("/archive"):
            return sent._replace(body=other.data)
        if not path.endswith("/versions/1.0.0"):
            return sent
        document = json.loads(sent.body)
        document["digest"] = other.digest
        document["archive"] |= {"sha256": hashlib.sha256(other.data).hexdigest(), "size": len(other.data)}
        return sent._replace(body=json.dumps(document).encode())

    for change, code in ((swap_archive, "digest-mismatch"), (swap_version, "bad-proof")):
        pair.relay.change = change
        mirrors = Mirrors(pair.mirror.hub)
        assert refused(partial(mirrors.pull, "acme", "review", "1.0.0")) == (RefusedError, "mirror-refused")
        mirrors.close()
        assert pair.acts()[-1]["act"] == "mirror-refused" and pair.acts()[-1]["code"] == code
        assert mirrors.states()[0].problem.startswith(f"{code}: ")
    assert [case["cause"] for case in pair.cases()] == ["mirror"]
    assert pair.get(f"{SKILL}/versions/1.0.0").code == (403, "mirror-refused")
    pair.mirror.hub.verify()


def test_an_upstream_that_rewrites_its_history_is_refused_and_what_is_here_stays(
    tmp_path: Path, checker: Checker
) -> None:
    with hub_running(tmp_path, name="upstream", origin="up.example", checker=checker):
        pass
    shutil.copytree(tmp_path / "upstream", tmp_path / "fork")
    with mirroring(tmp_path, checker) as pair:
        first = pair.publish()
        assert pair.get(f"{SKILL}/versions/1.0.0").status == 200
        with hub_running(tmp_path, name="fork", origin="up.example", checker=checker) as fork:
            fork.publish("acme", "review", "1.0.0", make_archive("review", body="# Review\n\n1. Approve.\n").data)
            fork.publish("acme", "second", "1.0.0", make_archive("second").data)
            pair.relay.target = int(fork.url.rpartition(":")[2])
            assert pair.get("/api/v1/skills/acme/second").code == (403, "mirror-refused")
            assert pair.acts()[-1]["code"] == "log-diverged"
        kept = pair.get(f"{SKILL}/versions/1.0.0").json
        assert (kept["digest"], pair.get(f"{SKILL}/versions/1.0.0/archive").status) == (first["digest"], 200)


def test_a_hub_that_was_set_back_is_refused_by_mirrors_and_clients(tmp_path: Path, checker: Checker) -> None:
    with hub_running(tmp_path, name="upstream", origin="up.example", checker=checker) as before:
        before.publish("acme", "review", "1.0.0", make_archive("review", "1.0.0").data)
    shutil.copytree(tmp_path / "upstream", tmp_path / "old")
    with mirroring(tmp_path, checker) as pair:
        pair.publish("1.1.0", body="# Review\n\n1. Read it twice.\n")
        assert pair.get(f"{SKILL}/versions/1.1.0").status == 200
        assert pair.follow() == 0
        client = Client(pair.relay, tmp_path / "state")
        assert client.find("acme/review", "1.1.0")[0].revision == "1.1.0"
        assert refused(lambda: client.find("acme/none")) == (NotFoundError, "source-not-found")
        assert client.check()[2:] == (3, 3)
        # "empty" has no entry at all: nothing contradicts what was seen, and nothing proves it
        for number, name in enumerate(("old", "empty"), 1):
            with hub_running(tmp_path, name=name, origin="up.example", checker=checker) as back:
                pair.relay.target = int(back.url.rpartition(":")[2])
                assert refused(client.check) == (InvalidError, "log-diverged")
                for path, version in (("acme/review", "1.1.0"), ("acme/none", ""), ("none", "")):
                    assert refused(partial(client.find, path, version)) == (InvalidError, "log-diverged")
                pair.mirror.hub.database.write(lambda change: change.run("UPDATE upstreams SET tried = 0"))
                pair.mirrors.follow()
                assert pair.get(f"/api/v1/skills/acme/{name}").code == (403, "mirror-refused")
            assert pair.mirrors.states()[0].problem.startswith("log-diverged: ")
            assert [act["code"] for act in pair.acts() if act["act"] == "mirror-refused"] == ["log-diverged"] * number
            assert {case["cause"] for case in pair.cases()} == {"mirror"}
            assert pair.get(SKILL).json["latest"] == "1.1.0"


def test_neither_redirects_nor_addresses_in_answers_lead_into_the_private_network(pair: Pair) -> None:
    pair.publish()
    with relaying() as inside:
        inside.change = lambda _path, _sent: Sent(200, {}, b"secret")

        def redirect(path: str, sent: Sent) -> Sent:
            return Sent(302, {"Location": f"{inside.url}/secret"}, b"") if path.endswith("/archive") else sent

        def name(path: str, sent: Sent) -> Sent:
            if not path.endswith("/versions/1.0.0"):
                return sent
            document = json.loads(sent.body)
            document["archive"]["url"] = f"{inside.url}/secret"
            return sent._replace(body=json.dumps(document).encode())

        def lead_away(path: str, _sent: Sent) -> Sent:
            return Sent(307, {"Location": f"{inside.url}{path}"}, b"")

        def metadata(path: str, sent: Sent) -> Sent:
            return Sent(302, {"Location": "https://169.254.169.254/latest"}, b"") if path.endswith("/archive") else sent

        for change in (redirect, name, lead_away, metadata):
            pair.relay.change = change
            mirrors = Mirrors(pair.mirror.hub)
            assert refused(partial(mirrors.pull, "acme", "review", "1.0.0")) == (RefusedError, "mirror-refused")
            mirrors.close()
            assert pair.acts()[-1]["code"] in ("not-https", "private-address")
        assert inside.asked == []
        assert pair.mirror.hub.skills(ANYONE)["skills"] == []


def test_an_archive_larger_than_it_says_is_cut_off(pair: Pair) -> None:
    pair.publish()
    pair.relay.change = lambda path, sent: sent._replace(body=bytes(4 << 20)) if path.endswith("/archive") else sent
    assert pair.get(SKILL).status in (403, 404)
    assert pair.mirror.hub.skills(ANYONE)["skills"] == []


def test_a_site_is_mirrored_and_its_versions_never_change(tmp_path: Path, checker: Checker) -> None:
    shelf: dict[str, bytes] = {}

    def put(name: str, version: str, body: str) -> None:
        archive = make_archive(name, version, body).data
        shelf[f"/.well-known/agent-skills/{name}.zip"] = archive
        listed = [
            {
                "name": each.rpartition("/")[2].removesuffix(".zip"),
                "type": "archive",
                "description": "A skill.",
                "url": each.rpartition("/")[2],
                "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            }
            for each, data in shelf.items()
            if each.endswith(".zip")
        ]
        index = {"$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json", "skills": listed}
        shelf["/.well-known/agent-skills/index.json"] = json.dumps(index).encode()

    with ExitStack() as stack:
        site = stack.enter_context(relaying())
        site.change = lambda path, sent: Sent(200, {}, shelf[path]) if path in shelf else sent
        put("review", "1.0.0", "# Review\n\n1. Read.\n")
        put("triage", "", "# Triage\n\n1. Read.\n")
        options = HubSettings(private_hosts=("127.0.0.1",), mirrors=(Mirror(site.url, "site", "docs"),))
        mirror = stack.enter_context(hub_running(tmp_path, options, name="mirror", checker=checker))
        pair = Pair(mirror, site, mirror)
        assert pair.get("/api/v1/skills/docs/review").json["latest"] == "1.0.0"
        version = pair.get("/api/v1/skills/docs/review/versions/1.0.0").json
        assert version["publisher"] == {"kind": "site", "account": "", "detail": site.url, "mirrored": "127.0.0.1"}
        assert version["upstream"]["artifact"] == f"sha256:{version['archive']['sha256']}"
        assert pair.get("/api/v1/skills/docs/triage").json["latest"] == "0.0.1"
        assert pair.get("/api/v1/skills/docs/none").status == 404
        # it has one that states no version: what changes gets the next number
        put("triage", "", "# Triage\n\n1. Read twice.\n")
        put("review", "1.0.0", "# Review\n\n1. Approve everything.\n")
        mirror.hub.database.write(lambda change: change.run("UPDATE upstreams SET tried = 0"))
        pair.mirrors.follow()
        assert pair.get("/api/v1/skills/docs/triage").json["latest"] == "0.0.2"
        assert pair.get("/api/v1/skills/docs/review/versions/1.0.0").json["digest"] == version["digest"]
        assert [act["code"] for act in pair.acts() if act["act"] == "mirror-refused"] == ["mirror-changed"]
        assert [case["cause"] for case in pair.cases()] == ["mirror"]
        # an artifact inside the private network is not fetched
        inside = stack.enter_context(relaying())
        index = json.loads(shelf["/.well-known/agent-skills/index.json"])
        index["skills"].append({**index["skills"][0], "name": "inner", "url": f"{inside.url}/inner.zip"})
        shelf["/.well-known/agent-skills/index.json"] = json.dumps(index).encode()
        assert pair.get("/api/v1/skills/docs/inner").code == (403, "mirror-refused")
        assert inside.asked == []

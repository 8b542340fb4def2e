"""Status, tags, private skills, downloads and security fixes, on every database."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from hub.world import ACME, KEY, MODERATOR, make_archive, open_hub, publish, refused
from whet.errors import ConflictError, FailedError, NotFoundError, RefusedError, UsageError
from whet.hub.lifecycle import set_fixes, set_status, set_tag, set_visibility
from whet.hub.tokens import ANYBODY, Identity
from whet.sources.transparency import LogKey, Proof

if TYPE_CHECKING:
    from pathlib import Path

    from whet.hub.registry import Hub, Published

REVIEW = "acme", "review"
OTHER = Identity("eve", ("publish:eve", "read"), "token", "")


def entries(hub: Hub) -> list[dict[str, Any]]:
    return [json.loads(entry) for _, entry in hub.log.entries(0, 100)]


def test_a_skill_is_deprecated_archived_and_active_again(store: Hub) -> None:
    publish(store)
    publish(store, name="audit")
    said = set_status(store, ACME, *REVIEW, "deprecated", successor="acme/audit", reason="Renamed.")
    assert (said["status"], said["successor"], said["reason"]) == ("deprecated", "acme/audit", "Renamed.")
    publish(store, "1.1.0", body="# Review\n\n1. Fix it.\n")  # what is deprecated can still be repaired
    set_status(store, ACME, *REVIEW, "archived", reason="Nobody looks after it.")
    archive = make_archive(body="# Review\n\n1. Again.\n")

    def again() -> Published:
        return store.publish(ACME, *REVIEW, "1.2.0", archive.data, archive.digest)

    assert refused(again) == (ConflictError, "archived")
    active = set_status(store, ACME, *REVIEW, "active")
    assert (active["status"], "successor" in active, active["latest"]) == ("active", False, "1.1.0")
    assert again().created
    assert [entry["status"] for entry in entries(store) if entry["act"] == "status"] == [
        "deprecated",
        "archived",
        "active",
    ]
    for status, successor, reason, code in (
        ("gone", "", "Why.", "bad-request"),
        ("deprecated", "acme/review", "Why.", "bad-request"),
        ("deprecated", "", "", "bad-request"),
        ("deprecated", "acme/none", "Why.", "skill-not-found"),
        ("deprecated", "nonsense", "Why.", "skill-not-found"),
    ):
        call = lambda: set_status(store, ACME, *REVIEW, status, successor=successor, reason=reason)  # noqa: B023, E731
        assert refused(call)[1] == code


def test_tags_name_versions_that_can_be_installed(store: Hub) -> None:
    for number, version in enumerate(("1.0.0", "2.0.0-rc.1")):
        publish(store, version, body=f"# Review\n\n1. Read it {number} times.\n")
    assert store.skill(ANYBODY, *REVIEW)["tags"] == {"latest": "1.0.0"}
    said = set_tag(store, ACME, *REVIEW, "beta", "2.0.0-rc.1")
    assert said["tags"] == {"latest": "1.0.0", "beta": "2.0.0-rc.1"}
    listed = store.versions(ANYBODY, *REVIEW)["versions"]
    assert [(version["version"], version["tags"]) for version in listed] == [("2.0.0-rc.1", ["beta"]), ("1.0.0", [])]
    size = len(entries(store))
    assert set_tag(store, ACME, *REVIEW, "beta", "2.0.0-rc.1") == said
    assert len(entries(store)) == size  # says nothing new
    store.yank(ACME, *REVIEW, "2.0.0-rc.1", "Broken.")
    assert store.skill(ANYBODY, *REVIEW)["tags"] == {"latest": "1.0.0"}
    assert set_tag(store, ACME, *REVIEW, "beta", "1.0.0")["tags"] == {"latest": "1.0.0", "beta": "1.0.0"}
    assert set_tag(store, ACME, *REVIEW, "beta", None)["tags"] == {"latest": "1.0.0"}
    acts = [(entry["tag"], entry["version"]) for entry in entries(store) if entry["act"] == "tag"]
    assert acts == [("beta", "2.0.0-rc.1"), ("beta", "1.0.0"), ("beta", "")]
    for tag in ("latest", "Beta", "1.0.0", "-x", "x-", "", "x" * 40):
        assert refused(lambda: set_tag(store, ACME, *REVIEW, tag, "1.0.0")) == (UsageError, "bad-request")  # noqa: B023
    assert refused(lambda: set_tag(store, ACME, *REVIEW, "beta", "9.0.0")) == (NotFoundError, "version-not-found")
    assert refused(lambda: set_tag(store, OTHER, *REVIEW, "beta", "1.0.0")) == (RefusedError, "not-allowed")


def test_a_private_skill_is_in_no_list_and_no_log_that_others_see(store: Hub) -> None:
    publish(store, name="audit")
    made = set_visibility(store, ACME, *REVIEW, "private")
    assert (made["private"], made["latest"], made["versions"]) == (True, None, 0)
    version = publish(store)
    store.yank(ACME, *REVIEW, "1.0.0", "Broken.")
    store.yank(ACME, *REVIEW, "1.0.0", None)
    for who in (ANYBODY, OTHER):
        assert [skill["name"] for skill in store.skills(who)["skills"]] == ["audit"]
        assert store.skills(who, name="review")["skills"] == []
        assert refused(lambda: store.skill(who, *REVIEW)) == (NotFoundError, "skill-not-found")  # noqa: B023
        assert refused(lambda: store.version(who, *REVIEW, "1.0.0")) == (NotFoundError, "version-not-found")  # noqa: B023
        assert refused(lambda: store.archive(who, *REVIEW, "1.0.0")) == (NotFoundError, "version-not-found")  # noqa: B023
        assert refused(lambda: store.find_digest(who, version["digest"])) == (NotFoundError, "digest-not-found")  # noqa: B023
    for who in (ACME, MODERATOR):
        assert [skill["name"] for skill in store.skills(who)["skills"]] == ["audit", "review"]
        assert store.skill(who, *REVIEW)["latest"] == "1.0.0"
    hidden = [entry for entry in entries(store) if "hidden" in entry]
    assert [{*entry} for entry in hidden] == [{"act", "hidden", "time"}] * 4
    assert [entry["act"] for entry in hidden] == ["visibility", "publish", "yank", "unyank"]
    told = json.dumps(entries(store))
    for secret in ("review", version["digest"], version["archive"]["sha256"]):
        assert secret not in told
    assert store.verify() == (6, 2)


def test_those_who_see_a_private_skill_can_check_its_entry(store: Hub) -> None:
    set_visibility(store, ACME, *REVIEW, "private")
    version = publish(store)
    log = version["log"]
    key = LogKey("hub.example", KEY.public_key().public_bytes_raw())
    assert Proof.parse(log["proof"]).check(log["entry"].encode(), key).size == 3
    hidden = hashlib.sha256(bytes.fromhex(log["salt"]) + log["act"].encode()).hexdigest()
    assert json.loads(log["entry"])["hidden"] == hidden
    act = json.loads(log["act"])
    assert (act["owner"], act["name"], act["digest"]) == (*REVIEW, version["digest"])
    store.database.write(lambda change: change.run("UPDATE log_hidden SET act = '{}' WHERE number = 2"))
    assert refused(store.verify) == (FailedError, "log-damaged")


def test_a_private_skill_becomes_public_with_its_versions(store: Hub) -> None:
    assert refused(lambda: set_visibility(store, ACME, *REVIEW, "public")) == (NotFoundError, "skill-not-found")
    set_visibility(store, ACME, *REVIEW, "private")
    assert refused(lambda: set_visibility(store, ACME, *REVIEW, "public")) == (ConflictError, "no-versions")
    document = publish(store)
    assert set_visibility(store, ACME, *REVIEW, "public")["private"] is False
    assert json.loads(store.version(ANYBODY, *REVIEW, "1.0.0")) == document  # its entry can be opened by all
    assert [entry.get("name", "") for entry in entries(store)] == ["", "", "", "review"]
    set_visibility(store, ACME, *REVIEW, "private")
    assert store.skills(ANYBODY)["skills"] == []
    assert refused(lambda: set_visibility(store, ACME, *REVIEW, "secret")) == (UsageError, "bad-request")
    assert refused(lambda: set_visibility(store, OTHER, *REVIEW, "public")) == (RefusedError, "not-allowed")
    assert refused(lambda: set_visibility(store, ANYBODY, *REVIEW, "public")) == (RefusedError, "token-needed")


def test_no_public_skill_names_a_private_successor(store: Hub) -> None:
    publish(store)
    set_visibility(store, ACME, "acme", "secret", "private")
    call = lambda: set_status(store, ACME, *REVIEW, "deprecated", successor="acme/secret", reason="Moved.")  # noqa: E731
    assert refused(call) == (UsageError, "bad-request")


def test_downloads_are_counted_once_an_hour_and_caller(store: Hub) -> None:
    publish(store)
    for caller in ("203.0.113.7", "203.0.113.7", "203.0.113.8", ""):
        store.archive(ANYBODY, *REVIEW, "1.0.0", caller=caller)
    assert store.skill(ANYBODY, *REVIEW)["downloads"] == 0  # not written down yet
    store.tick()
    store.tick()
    assert store.skill(ANYBODY, *REVIEW)["downloads"] == 2
    assert store.versions(ANYBODY, *REVIEW)["versions"][0]["downloads"] == 2
    assert store.skills(ANYBODY)["skills"][0]["downloads"] == 2


def test_a_closed_hub_has_written_its_downloads_down(tmp_path: Path) -> None:
    place = str(tmp_path / "hub.db"), "database"
    hub = open_hub(*place)
    publish(hub)
    hub.archive(ANYBODY, *REVIEW, "1.0.0", caller="203.0.113.7")
    hub.close()
    hub = open_hub(*place)
    assert hub.skill(ANYBODY, *REVIEW)["downloads"] == 1
    hub.close()


def test_the_hub_says_that_a_version_fixes_something(store: Hub) -> None:
    publish(store)
    place = *REVIEW, "1.0.0"
    assert refused(lambda: set_fixes(store, ACME, *place, "A leak.")) == (RefusedError, "not-allowed")
    said = set_fixes(store, MODERATOR, *place, "It leaked a token.")
    assert json.loads(said)["security"] == {"fixes": "It leaked a token."}
    assert store.versions(ANYBODY, *REVIEW)["versions"][0]["security"] == {"fixes": "It leaked a token."}
    assert store.version(ANYBODY, *place) == said
    assert json.loads(set_fixes(store, MODERATOR, *place, None))["security"] is None
    acts = [entry["fixes"] for entry in entries(store) if entry["act"] == "security"]
    assert acts == ["It leaked a token.", ""]

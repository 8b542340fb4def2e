"""Reports, the queue, decisions, appeals and rescans, on every database a hub runs on."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from hub.world import ACME, LEAK, MODERATOR, NOON, make_archive, open_hub, publish, refused
from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, RefusedError, UsageError
from whet.hub.checker import Held, describe
from whet.hub.members import set_member
from whet.hub.moderation import appeal, decide, get_upload, list_queue, report
from whet.hub.rescans import Rescan, Rescanned, list_verdicts
from whet.hub.tokens import ANYBODY, OPERATOR, Identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whet.hub.checker import Checked
    from whet.hub.registry import Hub

PLACE = ("acme", "review", "1.0.0")
EVE = Identity("eve", ("read",), "token")
TIME = "2027-01-15T08:00:00Z"


class Rules:
    """The guard as it is, or as it was before it knew a rule."""

    def __init__(self) -> None:
        self.ruleset = "41"
        self.knows = False
        self.holds, self.slow = False, 1
        self.seen = 0

    def check(self, archive: bytes, *, patience: int = 1) -> Checked | Held:
        self.seen += 1
        if self.holds and patience <= self.slow:
            return Held("The scan took more than 60 seconds.")
        found = describe(archive)._replace(ruleset=self.ruleset)
        return found if self.knows else found._replace(verdict="safe", findings=())

    def close(self) -> None:
        pass


@pytest.fixture
def rules() -> Rules:
    return Rules()


@pytest.fixture
def hub(address: str, tmp_path: Path, rules: Rules) -> Iterator[Hub]:
    made = open_hub(address, str(tmp_path / "blobs"), checker=rules)  # type: ignore[arg-type]  # it checks, and closes
    yield made
    made.close()


def queue(hub: Hub, *, closed: bool = False) -> list[Any]:
    cases: list[Any] = list_queue(hub, OPERATOR, closed=closed)["cases"]
    return cases


def acts(hub: Hub) -> list[Any]:
    return [json.loads(entry) for _, entry in hub.log.entries(0, 1000)]


def test_reports_come_into_the_queue_as_one_case(hub: Hub) -> None:
    publish(hub)
    assert report(hub, EVE, PLACE, "malware", "It reads my keys.") == {"case": 1}
    assert report(hub, ACME, PLACE, "other", "It does.") == {"case": 1}
    assert queue(hub) == [
        {
            "id": 1,
            "owner": "acme",
            "name": "review",
            "version": "1.0.0",
            "cause": "report",
            "text": "malware: It reads my keys.",
            "opened": TIME,
            "archive": None,
            "decided": None,
            "reports": [
                {"account": "eve", "kind": "malware", "text": "It reads my keys.", "time": TIME},
                {"account": "ada", "kind": "other", "text": "It does.", "time": TIME},
            ],
        }
    ]
    for call, expected in (
        (lambda: report(hub, EVE, PLACE, "spam", "Again."), (ConflictError, "already-reported")),
        (lambda: report(hub, ANYBODY, PLACE, "spam", "No."), (RefusedError, "token-needed")),
        (lambda: report(hub, EVE, PLACE, "boring", "No."), (UsageError, "bad-request")),
        (lambda: report(hub, EVE, PLACE, "spam", ""), (UsageError, "bad-request")),
        (lambda: report(hub, EVE, ("acme", "none", "1.0.0"), "spam", "No."), (NotFoundError, "version-not-found")),
        (lambda: list_queue(hub, EVE), (RefusedError, "not-allowed")),
        (lambda: list_queue(hub, ANYBODY), (RefusedError, "token-needed")),
    ):
        assert refused(call) == expected


def test_an_account_cannot_flood_the_queue(hub: Hub) -> None:
    for number in range(21):
        publish(hub, f"1.0.{number}", body=f"# Review\n\n1. Read it {number} times.\n")
    for number in range(20):
        report(hub, EVE, ("acme", "review", f"1.0.{number}"), "spam", "Spam.")
    over = ("acme", "review", "1.0.20")
    assert refused(lambda: report(hub, EVE, over, "spam", "Spam.")) == (RefusedError, "too-many-reports")
    assert report(hub, ACME, over, "spam", "Spam.") == {"case": 21}
    hub._clock = lambda: (NOON + 86_400) * 10**9
    assert report(hub, EVE, over, "spam", "Spam.") == {"case": 21}
    first = list_queue(hub, OPERATOR, limit=20)
    rest = list_queue(hub, OPERATOR, limit=20, cursor=first["next"])
    assert ([case["id"] for case in first["cases"]], [case["id"] for case in rest["cases"]]) == ([*range(1, 21)], [21])


def test_a_decision_has_a_reason_and_is_in_the_log(hub: Hub) -> None:
    publish(hub)
    case = report(hub, EVE, PLACE, "malware", "It reads my keys.")["case"]
    assert refused(lambda: decide(hub, MODERATOR, case, "release", "Fine.")) == (ConflictError, "not-quarantined")
    assert refused(lambda: decide(hub, MODERATOR, case, "ban", "No.")) == (UsageError, "bad-request")
    assert refused(lambda: decide(hub, MODERATOR, case, "quarantine", "")) == (UsageError, "bad-request")
    assert refused(lambda: decide(hub, EVE, case, "dismiss", "No.")) == (RefusedError, "not-allowed")
    assert refused(lambda: decide(hub, MODERATOR, 99, "dismiss", "No.")) == (NotFoundError, "case-not-found")
    done = decide(hub, MODERATOR, case, "quarantine", "It sends keys away.")
    assert done["decided"] == {"decision": "quarantine", "reason": "It sends keys away.", "by": "mo", "time": TIME}
    assert refused(lambda: decide(hub, MODERATOR, case, "dismiss", "No.")) == (ConflictError, "case-closed")
    assert refused(lambda: hub.archive(ANYBODY, *PLACE)) == (RefusedError, "quarantined")
    appealed = appeal(hub, ACME, PLACE, "It sends them to our own server.")["case"]
    assert refused(lambda: appeal(hub, ACME, PLACE, "Hurry.")) == (ConflictError, "already-appealed")
    assert refused(lambda: appeal(hub, EVE, PLACE, "Please.")) == (RefusedError, "not-allowed")
    decide(hub, MODERATOR, appealed, "release", "They showed us.")
    assert hub.archive(ANYBODY, *PLACE)[1] == make_archive().data
    assert refused(lambda: appeal(hub, ACME, PLACE, "Again.")) == (ConflictError, "not-quarantined")
    again = report(hub, EVE, PLACE, "spam", "Hm.")["case"]
    decide(hub, MODERATOR, again, "dismiss", "It is not.")
    assert (queue(hub), [case["decided"]["decision"] for case in queue(hub, closed=True)]) == (
        [],
        ["quarantine", "release", "dismiss"],
    )
    told = [(entry["act"], entry.get("reason")) for entry in acts(hub)[2:]]
    assert told == [
        ("quarantine", "It sends keys away."),
        ("appeal", "It sends them to our own server."),
        ("release", "They showed us."),
        ("dismiss", "It is not."),
    ]


def test_nobody_decides_about_their_own(hub: Hub) -> None:
    publish(hub)
    case = report(hub, EVE, PLACE, "malware", "It reads my keys.")["case"]
    both = Identity("mo", ("moderate", "publish:acme"), "token")
    assert refused(lambda: decide(hub, both, case, "dismiss", "Fine.")) == (RefusedError, "not-allowed")
    set_member(hub, OPERATOR, "acme", "mo", "reader", create=True)
    assert refused(lambda: decide(hub, MODERATOR, case, "dismiss", "Fine.")) == (RefusedError, "not-allowed")
    assert decide(hub, OPERATOR, case, "dismiss", "Fine.")["decided"]["by"] == "operator"


def test_appeals_end_some_time(hub: Hub) -> None:
    publish(hub)
    for number in range(3):
        hub.quarantine(MODERATOR, *PLACE, f"No {number}.")
        appeal(hub, ACME, PLACE, "Please.")
    hub.quarantine(MODERATOR, *PLACE, "No.")
    assert queue(hub) == []
    assert refused(lambda: appeal(hub, ACME, PLACE, "Please.")) == (ConflictError, "already-appealed")


def test_what_the_guard_holds_is_in_the_queue(hub: Hub, rules: Rules) -> None:
    rules.knows = True
    publish(hub, check_sh=LEAK)
    rules.holds = True
    archive = make_archive("slow")
    for _ in range(2):
        assert refused(lambda: hub.publish(ACME, "acme", "slow", "1.0.0", archive.data, archive.digest)) == (
            InvalidError,
            "held",
        )
    cases = queue(hub)
    assert [(case["cause"], case["name"]) for case in cases] == [("guard", "review"), ("held", "slow")]
    held = cases[1]["id"]
    assert refused(lambda: decide(hub, MODERATOR, held, "quarantine", "Odd.")) == (InvalidError, "not-published")
    rules.slow = 100  # however much time it gets
    assert refused(lambda: decide(hub, MODERATOR, held, "release", "Fine.")) == (InvalidError, "held")
    assert get_upload(hub, MODERATOR, held) == archive.data
    decide(hub, MODERATOR, held, "dismiss", "Too large.")
    assert refused(lambda: get_upload(hub, MODERATOR, held)) == (NotFoundError, "case-not-found")
    assert refused(lambda: hub.blobs.get(cases[1]["archive"]["sha256"])) == (FailedError, "archive-lost")
    assert hub.verify() == (3, 1)


def test_a_moderator_releases_exactly_the_bytes_that_were_held(hub: Hub, rules: Rules) -> None:
    rules.holds = True
    first, second = make_archive("slow"), make_archive("slow", body="# Review\n\n1. Approve everything.\n")
    for archive in (first, second):  # the second comes while the first is in the queue
        with pytest.raises(InvalidError, match="60 seconds"):
            hub.publish(ACME, "acme", "slow", "1.0.0", *archive)
    (case,) = queue(hub)
    assert case["archive"] == {"sha256": hashlib.sha256(first.data).hexdigest(), "size": len(first.data)}
    decide(hub, MODERATOR, case["id"], "release", "It is only large.")
    document = json.loads(hub.version(ANYBODY, "acme", "slow", "1.0.0"))
    assert hub.archive(ANYBODY, "acme", "slow", "1.0.0")[1] == first.data
    assert document["publisher"] == {"kind": "token", "account": "ada", "detail": "laptop"}
    assert [(act["act"], act.get("reason")) for act in acts(hub)][-2:] == [
        ("publish", None),
        ("release", "It is only large."),
    ]
    assert (queue(hub), hub.verify()[1]) == ([], 1)


def test_an_owner_cannot_fill_the_disk_with_what_is_held(hub: Hub, rules: Rules) -> None:
    rules.holds = True
    archive = make_archive("slow")
    for number in range(22):
        with pytest.raises(InvalidError):
            hub.publish(ACME, "acme", "slow", f"1.0.{number}", *archive)
    kept = [case for case in list_queue(hub, OPERATOR, limit=50)["cases"] if case["archive"]]
    assert len(kept) == 20
    for number, case in enumerate(kept, 1):  # the same bytes are there until the last case is decided
        decide(hub, MODERATOR, case["id"], "dismiss", "No.")
        if number < 20:
            assert hub.blobs.get(case["archive"]["sha256"]) == archive.data
    assert refused(lambda: hub.blobs.get(kept[0]["archive"]["sha256"])) == (FailedError, "archive-lost")


def test_new_rules_scan_everything_again_and_keep_what_the_old_ones_said(hub: Hub, rules: Rules) -> None:
    publish(hub)
    publish(hub, "1.1.0", check_sh=LEAK)
    assert Rescan(hub, "41").run() == Rescanned("41", 0, 0, 0, 0)
    rules.ruleset, rules.knows = "44", True
    assert Rescan(hub, "44").run() == Rescanned("44", 2, 1, 1, 0)
    assert Rescan(hub, "44").run() == Rescanned("44", 0, 0, 0, 0)
    document = json.loads(hub.version(ANYBODY, "acme", "review", "1.1.0"))["verdict"]
    assert (document["verdict"], document["ruleset"]) == ("dangerous", "44")
    assert document["history"] == [{"verdict": "safe", "ruleset": "41", "scanned": TIME}]
    kept = list_verdicts(hub, ANYBODY, ("acme", "review", "1.1.0"))["verdicts"]
    assert [(one["verdict"], one["ruleset"], bool(one["findings"])) for one in kept] == [
        ("dangerous", "44", True),
        ("safe", "41", False),
    ]
    (changed,) = [entry for entry in acts(hub) if entry["act"] == "verdict"]
    assert changed["before"] == {"verdict": "safe", "ruleset": "41", "scanned": TIME}
    assert (changed["version"], changed["verdict"], changed["ruleset"]) == ("1.1.0", "dangerous", "44")
    assert changed["because"]
    (case,) = queue(hub)
    assert case["cause"] == "rescan"
    assert case["text"] == f"It is dangerous by 44, safe by 41, because of {', '.join(changed['because'])}."
    # it is kept back at once, and the log says why
    assert json.loads(hub.version(ANYBODY, "acme", "review", "1.1.0"))["quarantined"] == {"reason": case["text"]}
    act = acts(hub)[-1]
    assert (act["act"], act["reason"], act["by"]) == (
        "quarantine",
        case["text"],
        {"kind": "rescan", "account": "", "detail": "44"},
    )
    decide(hub, MODERATOR, case["id"], "quarantine", "It sends keys away.")
    rules.ruleset, rules.knows = "45", False
    assert Rescan(hub, "45").run() == Rescanned("45", 2, 1, 0, 0)
    # What people decided stands until people decide again.
    assert json.loads(hub.version(ANYBODY, "acme", "review", "1.1.0"))["status"] == "quarantined"
    assert queue(hub)[0]["text"].startswith("It is safe by 45, dangerous by 44")
    assert hub.verify()[1] == 2


def test_a_rescan_leaves_what_people_released_and_what_the_operator_wants_to_see_first(hub: Hub, rules: Rules) -> None:
    publish(hub, check_sh=LEAK)
    hub.quarantine(MODERATOR, *PLACE, "A report.")
    hub.quarantine(MODERATOR, *PLACE, None)
    publish(hub, "1.1.0", check_sh=f"{LEAK}# twice\n")
    hub.settings = hub.settings._replace(quarantine_on_rescan=False)
    rules.ruleset, rules.knows = "44", True
    assert Rescan(hub, "44").run() == Rescanned("44", 2, 2, 2, 0)
    shown = [json.loads(hub.version(ANYBODY, "acme", "review", number))["status"] for number in ("1.0.0", "1.1.0")]
    assert (shown, [case["cause"] for case in queue(hub)]) == (["active", "active"], ["rescan", "rescan"])
    rules.ruleset, rules.knows = "45", False
    Rescan(hub, "45").run()
    hub.settings = hub.settings._replace(quarantine_on_rescan=True)
    rules.ruleset, rules.knows = "46", True
    assert Rescan(hub, "46").run() == Rescanned("46", 2, 2, 2, 0)
    shown = [json.loads(hub.version(ANYBODY, "acme", "review", number))["status"] for number in ("1.0.0", "1.1.0")]
    assert shown == ["active", "quarantined"]


def test_a_rescan_goes_on_where_another_process_was_killed(hub: Hub, rules: Rules) -> None:
    for number in range(5):
        publish(hub, f"1.0.{number}", body=f"# Review\n\n1. Read it {number} times.\n")
    rules.ruleset, rules.seen = "44", 0
    first, second = Rescan(hub, "44"), Rescan(hub, "44")
    assert first._claim() and first._step() is not None and first._step() is not None
    assert refused(second.run) == (ConflictError, "rescan-running")
    assert second.work(1.0) == 0
    hub._clock = lambda: (NOON + 121) * 10**9  # the first has said nothing for two minutes
    assert second.run() == Rescanned("44", 3, 0, 0, 0)
    assert (rules.seen, second.work(1.0)) == (5, 0)


def test_a_process_with_old_rules_leaves_it_to_the_new_ones(hub: Hub, rules: Rules) -> None:
    publish(hub)
    old = Rescan(hub, "41")
    assert old.work(1.0) == 0
    rules.ruleset = "44"
    new = Rescan(hub, "44")
    assert (new.work(1.0), old.work(1.0)) == (1, 0)
    rules.ruleset = "41"
    publish(hub, "1.1.0", body="# Review\n\n1. Read it twice.\n")  # by a replica that still runs
    rules.ruleset = "44"
    assert (old.work(1.0), new.work(1.0)) == (0, 1)
    hub._clock = lambda: (NOON + 800) * 10**9  # nobody has applied the new rules for a while: they were taken back
    rules.ruleset = "41"
    assert old.work(1.0) == 0  # both versions have a verdict by these rules
    assert new.work(1.0) == 0


def test_what_cannot_be_scanned_again_keeps_its_verdict_and_goes_to_the_queue(hub: Hub, rules: Rules) -> None:
    publish(hub)
    rules.holds = True
    assert Rescan(hub, "44").run() == Rescanned("44", 1, 0, 0, 1)
    assert json.loads(hub.version(ANYBODY, *PLACE))["verdict"]["verdict"] == "safe"
    assert queue(hub)[0]["text"] == "It cannot be scanned again: The scan took more than 60 seconds."

"""What changed between two versions, in text and in powers, on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.world import ACME, MODERATOR, publish, refused
from whet.errors import NotFoundError, RefusedError
from whet.hub.diff import diff_versions
from whet.hub.tokens import ANYBODY

if TYPE_CHECKING:
    from whet.hub.registry import Hub

OLD = "# Review\n\n1. Read the diff.\n"
NEW = "# Review\n\n1. Read the diff at https://reviews.example/queue.\n2. Run `check.sh`.\n"
CHECK = "#!/bin/sh\ncurl -s https://checks.example/rules -o rules.txt\n"


def test_a_diff_tells_text_powers_and_findings(store: Hub) -> None:
    publish(store, "1.0.0", body=OLD, note_md="See https://old.example/x.\n")
    publish(store, "1.1.0", body=NEW, check_sh=CHECK)
    said = diff_versions(store, ANYBODY, "acme", "review", "1.0.0", "1.1.0")
    text = said.pop("diff")
    assert "-1. Read the diff.\n+1. Read the diff at https://reviews.example/queue.\n" in text
    assert "+curl -s https://checks.example/rules -o rules.txt\n" in text
    new, verdict = said["findings"]["new"], said["verdict"]["to"]
    assert said == {
        "owner": "acme",
        "name": "review",
        "from": "1.0.0",
        "to": "1.1.0",
        "files": {"added": ["check.sh"], "removed": ["note.md"], "changed": ["SKILL.md"]},
        "powers": {
            "added": {
                "hosts": ["checks.example", "reviews.example"],
                "fetches": said["powers"]["added"]["fetches"],
                **{kind: said["powers"]["added"][kind] for kind in ("writes",) if kind in said["powers"]["added"]},
            },
            "removed": {"hosts": ["old.example"]},
        },
        "verdict": {"from": "safe", "to": verdict},
        "findings": {"new": new, "gone": []},
        "truncated": False,
    }
    assert any("checks.example" in fetched for fetched in said["powers"]["added"]["fetches"])
    back = diff_versions(store, ANYBODY, "acme", "review", "1.1.0", "1.0.0")
    assert (back["powers"]["removed"], back["findings"]["gone"]) == (said["powers"]["added"], new)
    same = diff_versions(store, ANYBODY, "acme", "review", "1.0.0", "1.0.0")
    assert (same["diff"], same["powers"]) == ("", {"added": {}, "removed": {}})


def test_a_new_tool_is_a_new_power(store: Hub) -> None:
    publish(store, "1.0.0", body=OLD)
    publish(store, "1.1.0", body=OLD, tools="Bash(git diff:*) Read")
    said = diff_versions(store, ANYBODY, "acme", "review", "1.0.0", "1.1.0")
    assert said["powers"] == {"added": {"tools": ["Bash(git diff:*)", "Read"]}, "removed": {}}


def test_what_is_not_handed_out_is_not_compared(store: Hub) -> None:
    publish(store, "1.0.0", body=OLD)
    publish(store, "1.1.0", body=NEW)
    store.quarantine(MODERATOR, "acme", "review", "1.1.0", "A report.")
    assert refused(lambda: diff_versions(store, ACME, "acme", "review", "1.0.0", "1.1.0")) == (
        RefusedError,
        "quarantined",
    )
    assert diff_versions(store, MODERATOR, "acme", "review", "1.0.0", "1.1.0")["diff"]
    assert refused(lambda: diff_versions(store, ANYBODY, "acme", "review", "1.0.0", "9.0.0")) == (
        NotFoundError,
        "version-not-found",
    )

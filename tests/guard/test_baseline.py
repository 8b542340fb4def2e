"""A baseline accepts what somebody has looked at: this finding, in this skill, for a reason, until its day is over."""

from __future__ import annotations

import json

import pytest

from whet.errors import InvalidError
from whet.guard.baseline import KNOWN, Applied, Entry, apply, expired, read_baseline, write_baseline
from whet.guard.finding import Finding

ONE = Finding("pipe-shady", "critical", "remote-execution", "run.sh", 3, "Fetched and run.", "curl x | sh", "No.")
TWO = ONE._replace(rule="secret-read", severity="warn", line=9, evidence="cat key")
INFO = ONE._replace(rule="uses-network", severity="info")


def test_what_is_written_is_read_and_applied() -> None:
    text = write_baseline([("deploy", (ONE, ONE, TWO, INFO))], "Read on Monday.")
    entries = read_baseline(text, "b.json")
    assert {(entry.rule, entry.reason) for entry in entries} == {
        ("pipe-shady", "Read on Monday."),
        ("secret-read", "Read on Monday."),
    }
    moved = ONE._replace(line=77, evidence="curl   x |  sh")
    applied = apply(entries, "deploy", (moved, TWO, INFO), "2027-01-01")
    assert applied.findings == (INFO,) and [finding for finding, _ in applied.accepted] == [moved, TWO]


def test_an_entry_is_for_its_skill_its_file_and_its_text() -> None:
    entries = read_baseline(write_baseline([("deploy", (ONE,))], ""), "b.json")
    assert entries[0].reason == KNOWN
    for skill, finding in (
        ("other", ONE),
        ("deploy", ONE._replace(file="other.sh")),
        ("deploy", ONE._replace(evidence="curl y | sh")),
        ("deploy", ONE._replace(rule="other")),
    ):
        assert apply(entries, skill, (finding,), "2027-01-01") == Applied((finding,), ())


def test_an_entry_ends_with_its_day() -> None:
    entry = Entry("deploy", ONE.fingerprint, ONE.rule, ONE.file, "For a while.", "2027-01-31")
    assert [expired(entry, day) for day in ("2027-01-30", "2027-01-31", "2027-02-01")] == [False, False, True]
    assert apply((entry,), "deploy", (ONE,), "2027-01-31").findings == ()
    assert apply((entry,), "deploy", (ONE,), "2027-02-01").findings == (ONE,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "entries": []}',
        '{"version": 1}',
        '{"version": 1, "entries": 7}',
        '{"version": 1, "entries": [7]}',
        '{"version": 1, "entries": [{"fingerprint": "a"}]}',
        '{"version": 1, "entries": [{"reason": "a"}]}',
        '{"version": 1, "entries": [{"fingerprint": 7, "reason": "a"}]}',
        '{"version": 1, "entries": [{"fingerprint": "a", "reason": "b", "until": "soon"}]}',
    ],
)
def test_what_is_no_baseline_is_refused(text: str) -> None:
    with pytest.raises(InvalidError) as caught:
        read_baseline(text, "b.json")
    assert caught.value.code == "bad-baseline" and "b.json" in caught.value.message and caught.value.hint


def test_the_file_is_the_same_for_the_same_findings() -> None:
    text = write_baseline([("b", (TWO, ONE)), ("a", (ONE,))], "r")
    assert text == write_baseline([("a", (ONE,)), ("b", (ONE, TWO))], "r")
    assert json.loads(text)["entries"][0] == {
        "skill": "a",
        "fingerprint": ONE.fingerprint,
        "rule": "pipe-shady",
        "file": "run.sh",
        "reason": "r",
    }

"""Counts that Hermes made: taken over once, whatever the file looks like."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import FailedError, InvalidError, NotFoundError
from whet.learning.usage import Total, Usage
from whet.learning.usage_import import import_hermes
from whet.store.repair import repair_state
from whet.store.state import StateDatabase

SECOND = 10**9
DEPLOY = {
    "created_by": "agent",
    "use_count": 7,
    "view_count": 9,
    "patch_count": 2,
    "created_at": "2026-01-01T00:00:00+00:00",
    "last_used_at": "2026-01-03T00:00:00.250000+00:00",
    "last_viewed_at": "2026-01-04T02:00:00+02:00",
    "last_patched_at": "2026-01-05T00:00:00",
    "state": "active",
    "pinned": False,
    "archived_at": None,
    "something_new": {"x": [1]},
}
DAY = 1_767_225_600 * SECOND
"""2026-01-01."""
WHOLE = Total(
    "deploy",
    views=9,
    uses=7,
    patches=2,
    first=DAY,
    last_used=DAY + 2 * 86_400 * SECOND + SECOND // 4,
    last_viewed=DAY + 3 * 86_400 * SECOND,
    last=DAY + 4 * 86_400 * SECOND,
)


@pytest.fixture
def usage(tmp_path: Path) -> Usage:
    return Usage(StateDatabase(str(tmp_path / "state")), lambda: DAY)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".usage.json"


def write(file: Path, records: Any) -> str:
    file.write_text(json.dumps(records), encoding="utf-8")
    return str(file)


def imported(count: int, *skipped: dict[str, str]) -> dict[str, Any]:
    return {"success": True, "imported": count, "skipped": list(skipped), "report": []}


def test_counts_and_times_are_taken_over(usage: Usage, file: Path) -> None:
    never = {
        "use_count": 0,
        "view_count": 0,
        "patch_count": 0,
        "created_at": DEPLOY["created_at"],
        "last_used_at": None,
    }
    answer = import_hermes(
        usage, write(file, {"deploy": DEPLOY, "never": never, "bare": {"use_count": 1}, "empty": {}})
    ).to_json()
    assert answer == imported(2)
    assert usage.totals() == (Total("bare", uses=1), WHOLE)
    assert usage.versions("deploy") == (WHOLE,)


def test_the_same_counts_are_not_taken_over_twice(usage: Usage, file: Path, tmp_path: Path) -> None:
    write(file, {"deploy": DEPLOY})
    copy = write(tmp_path / "copy.json", {"deploy": DEPLOY})
    assert [import_hermes(usage, path).to_json() for path in (str(file), str(file), copy)] == [
        imported(1),
        imported(0),
        imported(0),
    ]
    assert usage.totals() == (WHOLE,)


def test_only_what_has_grown_is_added(usage: Usage, file: Path) -> None:
    import_hermes(usage, write(file, {"deploy": DEPLOY}))
    usage.record("use", "deploy", "d", version="2.0")
    later = {**DEPLOY, "use_count": 10, "view_count": 1, "last_used_at": "2026-02-01T00:00:00Z"}
    assert import_hermes(usage, write(file, {"deploy": later, "other": {"view_count": 1}})).to_json() == imported(2)
    assert import_hermes(usage, write(file, {"deploy": {**later, "view_count": 9}})).to_json() == imported(0)
    last = DAY + 31 * 86_400 * SECOND
    whole = WHOLE._replace(version="2.0", uses=11, last_used=last, last=last)
    assert usage.totals() == (whole, Total("other", views=1))


def test_a_record_that_hermes_began_again_counts_from_the_start(usage: Usage, file: Path) -> None:
    import_hermes(usage, write(file, {"deploy": DEPLOY}))
    again = {"use_count": 3, "created_at": "2026-03-01T00:00:00+00:00"}
    assert import_hermes(usage, write(file, {"deploy": again})).to_json() == imported(1)
    assert [total.uses for total in usage.totals()] == [10]


def test_a_skill_renamed_here_is_not_taken_over_again(usage: Usage, file: Path) -> None:
    import_hermes(usage, write(file, {"deploy": DEPLOY}))
    assert usage.rename("deploy", "ship")
    assert import_hermes(usage, str(file)).to_json() == imported(0)
    assert usage.totals() == (WHOLE._replace(skill="ship"),)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (3, "It is not a record."),
        ({"use_count": -1}, "use_count is -1, which is not a count."),
        ({"view_count": "many"}, "view_count is 'many', which is not a count."),
        ({"patch_count": True}, "patch_count is True, which is not a count."),
        ({"use_count": 10**30}, f"use_count is {10**30}, which is not a count."),
        ({"use_count": 1, "last_used_at": "yesterday"}, "last_used_at is 'yesterday', which is not a time."),
        ({"use_count": 1, "created_at": 12}, "created_at is 12, which is not a time."),
        ({"use_count": 1, "created_at": "1969-01-01"}, "created_at is '1969-01-01', which is not a time."),
        ({"use_count": 1, "created_at": "9999-01-01"}, "created_at is '9999-01-01', which is not a time."),
        ({"use_count": "x" * 99}, f"use_count is '{'x' * 56}..., which is not a count."),
    ],
)
def test_a_record_that_cannot_be_understood_is_told(usage: Usage, file: Path, record: Any, reason: str) -> None:
    answer = import_hermes(usage, write(file, {"bad": record, "deploy": DEPLOY})).to_json()
    assert answer == imported(1, {"skill": "bad", "reason": reason})
    assert usage.totals() == (WHOLE,)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"deploy": {"use_count": 1}',
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"a": ' + b"9" * 5000,
    ],
)
def test_a_file_that_is_no_usage_file_changes_nothing(usage: Usage, file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(InvalidError) as caught:
        import_hermes(usage, str(file))
    assert caught.value.code == "usage-file"
    assert caught.value.message.startswith(f"{file} is not a usage file: it is not ")
    assert caught.value.hint.startswith("Nothing was imported.")
    assert caught.value.details == {"path": str(file)}
    assert (usage.totals(), os.path.exists(file.parent / "state")) == ((), False)


def test_a_missing_file_is_not_found(usage: Usage, file: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        import_hermes(usage, str(file))
    assert (caught.value.code, caught.value.details) == ("path-not-found", {"path": str(file)})


def test_a_directory_in_its_place_is_said(usage: Usage, tmp_path: Path) -> None:
    with pytest.raises(FailedError) as caught:
        import_hermes(usage, str(tmp_path))
    assert caught.value.code == "read-failed"


def test_counts_that_cannot_be_kept_are_an_error(file: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(FailedError) as caught:
        import_hermes(Usage(StateDatabase(str(tmp_path / "state")), lambda: DAY), write(file, {"deploy": DEPLOY}))
    assert caught.value.code == "lock-failed"


def test_damaged_counts_are_an_error_until_they_are_mended(usage: Usage, file: Path, tmp_path: Path) -> None:
    path = tmp_path / "state" / "state.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database")
    with pytest.raises(FailedError) as caught:
        import_hermes(usage, write(file, {"deploy": DEPLOY}))
    assert caught.value.code == "state-corrupt"
    repair_state(str(tmp_path / "state"))
    assert import_hermes(usage, write(file, {"deploy": DEPLOY})).to_json() == imported(1)
    assert (usage.totals(), usage.problems) == ((WHOLE,), ())


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
fields = st.sampled_from([*DEPLOY, "x"])
times = st.datetimes().map(lambda moment: moment.isoformat())
records = scalars | st.dictionaries(fields, scalars | times | st.integers(0, 9) | st.lists(scalars, max_size=2))


@given(st.dictionaries(st.text(max_size=5), records, max_size=5))
@settings(max_examples=60, deadline=None)
def test_any_map_is_read_and_never_counted_twice(found: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = write(Path(directory) / "usage.json", found)
        usage = Usage(StateDatabase(directory), lambda: DAY)
        first = import_hermes(usage, path).to_json()
        totals = usage.totals()
        assert first["imported"] == len(totals) <= len(found) - len(first["skipped"])
        assert import_hermes(usage, path).to_json() == {**first, "imported": 0}
        assert (usage.totals(), usage.problems) == (totals, ())

"""The lock file: what it says can be read again, and what cannot be read is an error with a place."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sources.installs_world import installed, skill
from whet.errors import FailedError, WhetError
from whet.skill.paths import collides
from whet.sources.lock import file as locks
from whet.sources.lock.file import Installed, Lock, dump, lock_file, opened_source, parse, stored_source
from whet.sources.lock.rebuild import Salvaged, salvage, sides

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PDF = installed("pdf", skill("pdf", guide="x"))
FILE = "/home/u/.agents/whet-lock.json"

HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
TEXT = st.text(max_size=20)
SEGMENT = st.from_regex(r"[a-z0-9][a-zA-Zäö0-9_-]{0,8}", fullmatch=True).filter(
    lambda name: not re.fullmatch("con|prn|aux|nul|com[0-9]|lpt[0-9]", name, re.IGNORECASE)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def extras(known: frozenset[str]) -> st.SearchStrategy[str]:
    fields = st.dictionaries(TEXT.filter(lambda name: name not in known), JSON, max_size=2)
    return fields.map(lambda values: json.dumps(values, sort_keys=True, separators=(",", ":")) if values else "")


ENTRIES = st.builds(
    Installed,
    path=st.lists(SEGMENT, min_size=1, max_size=3).map("/".join),
    name=TEXT,
    source=TEXT,
    revision=TEXT,
    marker=TEXT,
    version=TEXT,
    digest=HEX.map("sha256:{}".format),
    trust=TEXT,
    verdict=TEXT,
    ruleset=TEXT,
    files=st.dictionaries(st.lists(SEGMENT, min_size=1, max_size=3).map("/".join), HEX, max_size=4).map(
        lambda files: tuple(sorted(files.items()))
    ),
    installed=TEXT,
    updated=TEXT,
    pinned=TEXT,
    extra=extras(locks._KNOWN),
)


def sound(entries: list[Installed]) -> tuple[Installed, ...]:
    kept: list[Installed] = []
    for entry in sorted(entries):
        if not collides([*(known.path for known in kept), entry.path]):
            kept.append(entry)
    return tuple(sorted(kept, key=lambda entry: entry.path))


LOCKS = st.builds(Lock, st.lists(ENTRIES, max_size=4).map(sound), extras(frozenset({"version", "skills"})))


@settings(max_examples=150, deadline=None)
@given(LOCKS)
def test_what_is_written_is_read_again(lock: Lock) -> None:
    text = dump(lock)
    assert parse(text, FILE) == lock
    assert dump(parse(text, FILE)) == text
    assert text.endswith("\n") and text.encode()
    assert salvage(text).entries == {entry.path: (entry,) for entry in lock.entries}


def test_the_file_is_made_for_git() -> None:
    lock = Lock((PDF._replace(pinned="until it is fixed", version=""), installed("xlsx", skill("xlsx"))))
    lines = dump(lock).splitlines()
    assert lines[:5] == [
        "{",
        '  "skills": {',
        '    "skills/pdf": {',
        f'      "digest": "{PDF.digest}",',
        '      "files": {',
    ]
    assert lines[-3:] == ["  },", '  "version": 1', "}"]
    assert '      "pinned": "until it is fixed",' in lines
    assert sum('"version": ' in line for line in lines) == 2, "what an entry does not say is left out"


def test_names_of_any_script_stay_readable_and_names_that_are_no_text_survive() -> None:
    entry = PDF._replace(name="日本", files=(("ü.md", "a" * 64),))
    assert "日本" in dump(Lock((entry,)))
    odd = entry._replace(files=(("\udcff.md", "a" * 64),))
    assert parse(dump(Lock((odd,))), FILE) == Lock((odd,))
    assert dump(Lock((odd,))).isascii()


def test_what_a_later_whet_adds_is_kept() -> None:
    values = json.loads(dump(Lock((PDF,))))
    values["signed"] = {"by": ["x", 1, 1.5, None]}
    values["skills"]["skills/pdf"]["licence"] = "MIT"
    lock = parse(json.dumps(values), FILE)
    assert json.loads(dump(lock)) == values
    changed = locks.changed(lock, "skills/pdf", lock.entries[0]._replace(revision="c" * 40))
    assert json.loads(dump(changed))["skills"]["skills/pdf"]["licence"] == "MIT"
    assert json.loads(dump(changed))["signed"] == values["signed"]


def edited(**fields: Any) -> str:
    """The text of a lock with one entry, some of whose fields are others; a field that is `...` is left out."""
    values = json.loads(dump(Lock((PDF,))))
    entry = values["skills"]["skills/pdf"]
    entry.update(fields)
    values["skills"]["skills/pdf"] = {name: value for name, value in entry.items() if value is not ...}
    return json.dumps(values, indent=2)


def renamed(path: str) -> str:
    return dump(Lock((PDF,))).replace('"skills/pdf"', json.dumps(path))


DAMAGED = {
    "nothing": ("", 1, "It is not valid JSON: Expecting value."),
    "no object": ("[]", 1, "It is not an object."),
    "cut off": (dump(Lock((PDF,)))[:300], 7, "It is not valid JSON: "),
    "no version": ('{"skills": {}}', None, "`version` is missing or not a number."),
    "a version that is true": ('{"version": true, "skills": {}}', None, "`version` is missing or not a number."),
    "no skills": ('{"version": 1}', None, "`skills` is missing or not an object."),
    "a list of skills": ('{"version": 1, "skills": []}', None, "`skills` is missing or not an object."),
    "a key twice": ('{"version": 1,\n "skills": {},\n "skills": {}}', 3, "It names 'skills' twice."),
    "an entry that is text": ('{"version": 1,\n"skills": {"skills/a": "x"}}', 2, "skills/a is not an object."),
    "a number for text": (edited(revision=7), 3, "`revision` of skills/pdf is not text."),
    "no digest": (edited(digest=...), 3, "`digest` of skills/pdf is missing."),
    "a short digest": (edited(digest="sha256:12"), 3, "`digest` of skills/pdf is 'sha256:12', which is not a digest."),
    "no name": (edited(name=...), 3, "`name` of skills/pdf is missing."),
    "files in a list": (edited(files=["a"]), 3, "`files` of skills/pdf is not an object."),
    "a file with no hash": (edited(files={"a": "b"}), 3, "`files` of skills/pdf has no SHA-256 for 'a'."),
    "a file outside": (
        edited(files={"../a": "0" * 64}),
        3,
        "`files` of skills/pdf names '../a', which is not a path inside a skill.",
    ),
    "a path outside": (renamed("../pdf"), 3, "The path '../pdf' has the part '..'."),
    "an absolute path": (renamed("/etc"), 3, "The path '/etc' is absolute."),
    "a device": (renamed("skills/con"), 3, "The path 'skills/con' has the part 'con', a device on Windows."),
    "a number that is none": (
        '{"version": 1, "skills": {}, "x": NaN}',
        None,
        "It is not valid JSON: ",
    ),
    "a number too large": ('{"version": 1, "skills": {}, "x": 1e999}', None, "It is not valid JSON: "),
    "too deep": (f'{{"version": 1, "skills": {{}}, "x": {"[" * 40}{"]" * 40}}}', None, "`x` is nested too deeply."),
    "far too deep": ("[" * 200_000, None, "It is not valid JSON"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_lock_is_an_error_that_says_where(case: str) -> None:
    text, line, what = DAMAGED[case]
    with pytest.raises(FailedError) as caught:
        parse(text, FILE)
    error = caught.value
    where = FILE if line is None else f"{FILE}, line {line}"
    if case != "far too deep":
        assert error.message.startswith(f"{where}: {what}"), error.message
        assert error.details["line"] == line
    assert (error.code, error.details["path"]) == ("lock-damaged", FILE)
    assert error.message.endswith(".") and "whet doctor --repair" in error.hint


@pytest.mark.parametrize(("one", "other"), [("skills/pdf", "skills/PDF"), ("skills/a", "skills/a/b")])
def test_two_skills_cannot_have_one_place(one: str, other: str) -> None:
    with pytest.raises(FailedError, match="cannot both be skills"):
        parse(dump(Lock((PDF._replace(path=one), PDF._replace(path=other)))), FILE)


def test_the_lock_of_a_newer_whet_is_not_damaged() -> None:
    with pytest.raises(FailedError) as caught:
        parse('{"version": 2, "anything": "else"}', FILE)
    assert (caught.value.code, caught.value.hint) == ("lock-newer", "Update Whet.")


MERGE = """{
  "skills": {
<<<<<<< HEAD
    "skills/a": OURS
||||||| base
    "skills/a": BASE
=======
    "skills/a": THEIRS
>>>>>>> branch
  },
  "version": 1
}
"""


def test_a_merge_that_is_not_resolved_is_said() -> None:
    with pytest.raises(FailedError) as caught:
        parse(MERGE, FILE)
    assert caught.value.message == f"{FILE}, line 3: It has unresolved merge markers."
    assert caught.value.hint.startswith("Resolve the merge, or run `whet doctor --repair`")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_sides_of_a_merge_are_put_together_again(end: str) -> None:
    text = MERGE.replace("\n", end)
    ours, theirs = (
        f'{{\n  "skills": {{\n    "skills/a": {side}\n  }},\n  "version": 1\n}}\n'.replace("\n", end)
        for side in ("OURS", "THEIRS")
    )
    assert sides(text) == (ours, theirs)
    assert sides(ours) == (ours,)


def test_every_whole_entry_of_a_damaged_lock_is_found() -> None:
    xlsx = installed("xlsx", skill("xlsx"))
    text = dump(Lock((PDF, xlsx)))
    assert salvage(text[: text.index('"skills/xlsx"') + 200]) == ({"skills/pdf": (PDF,)}, ("skills/xlsx",), "")
    assert salvage(text.replace('"version": 1\n', "")) == ({"skills/pdf": (PDF,), "skills/xlsx": (xlsx,)}, (), "")
    wrong = text.replace(f'"{PDF.digest}"', '"none"')
    assert salvage(wrong) == ({"skills/xlsx": (xlsx,)}, ("skills/pdf",), "")
    later = PDF._replace(revision="d" * 40)
    merged = text.replace(
        f'"revision": "{PDF.revision}"',
        f'\n<<<<<<< a\n"revision": "{PDF.revision}"\n=======\n"revision": "{"d" * 40}"\n>>>>>>> b\n',
        1,
    )
    assert salvage(merged).entries == {"skills/pdf": (PDF, later), "skills/xlsx": (xlsx,)}


@settings(max_examples=200, deadline=None)
@given(
    st.text()
    | JSON.map(json.dumps)
    | LOCKS.flatmap(lambda lock: st.builds(lambda cut: dump(lock)[:cut], st.integers(0, 4000)))
)
@example('{"a":' * 50)
@example('"a":{"digest":' * 50)
@example("<<<<<<< \n=======")
def test_whatever_the_text_it_is_a_lock_or_an_error(text: str) -> None:
    lock = outcome(lambda: parse(text, FILE))
    assert lock in ("lock-damaged", "lock-newer") or outcome(lambda: parse(dump(lock), FILE)) == lock  # type: ignore[arg-type]  # a lock
    assert isinstance(outcome(lambda: salvage(text)), Salvaged) or outcome(lambda: salvage(text)) == "lock-newer"


def outcome(call: Callable[[], object]) -> object:
    """What a call gives: its value, or the code of its error."""
    try:
        return call()
    except WhetError as error:
        return error.code


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_whatever_the_bytes_they_are_a_lock_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(data)
    with pytest.raises(WhetError):
        locks.read(str(path))


def test_reading_and_writing(tmp_path: Path) -> None:
    root = tmp_path / "project" / ".agents" / "skills"
    path = lock_file(str(root))
    assert path == str((tmp_path / "project" / ".agents" / "whet-lock.json").resolve())
    assert locks.read(path) == Lock()
    locks.write(path, Lock((PDF,)))
    assert locks.read(path) == Lock((PDF,))
    (tmp_path / "project" / ".agents" / "whet-lock.json").write_bytes(b"\xef\xbb\xbf" + dump(Lock((PDF,))).encode())
    assert locks.read(path) == Lock((PDF,)), "an editor put a mark in front"
    with pytest.raises(FailedError) as caught:
        locks.read(str(tmp_path))
    assert caught.value.code == "read-failed"


def test_a_root_that_is_a_link_has_its_lock_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "real" / "skills").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "skills")
    assert lock_file(str(tmp_path / "link")) == str((tmp_path / "real" / "whet-lock.json").resolve())


STORED = [
    ("path:/project/.agents/vendor/pdf", "/project/.agents", "path:vendor/pdf"),
    ("path:/project/vendor/pdf#path=a", "/project/.agents", "path:../vendor/pdf#path=a"),
    ("archive:/project/a%20b%23.zip", "/project/.agents", "archive:../a%20b%23.zip"),
    ("marketplace:/project/plugins#path=x", "/project/.agents", "marketplace:../plugins#path=x"),
    ("path:/project/vendor/pdf", "/project/plain", "path:/project/vendor/pdf"),
    ("path:/project/plain/pdf", "/project/plain", "path:pdf"),
    ("path:/project/plainer/pdf", "/project/plain", "path:/project/plainer/pdf"),
    ("path:/elsewhere", "/project/.agents", "path:/elsewhere"),
    ("git:https://github.com/o/r#path=a", "/project/.agents", "git:https://github.com/o/r#path=a"),
    ("marketplace:https://github.com/o/r", "/project/.agents", "marketplace:https://github.com/o/r"),
    ("", "/project/.agents", ""),
]


@pytest.mark.skipif(os.sep != "/", reason="paths as they are written there")
@pytest.mark.parametrize(("text", "directory", "stored"), STORED)
def test_a_place_in_the_project_is_written_as_seen_from_the_lock(text: str, directory: str, stored: str) -> None:
    assert stored_source(text, directory) == stored
    assert opened_source(stored, directory) == text
    moved = opened_source(stored, directory.replace("/project", "/other"))
    assert moved == (text if stored == text else text.replace("/project", "/other"))

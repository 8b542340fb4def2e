"""A whole library in one file, and back."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet import __version__
from whet.authoring.trees import digest
from whet.errors import ConflictError, InvalidError, WhetError
from whet.skill import archive
from whet.skill.tree import Item, Tree
from whet.sources.lock.file import Installed
from whet.sources.publish import snapshots
from whet.sources.publish.snapshots import Exported, Snapshot, export_snapshot, read_snapshot
from whet.sources.taps import Tap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOMENT = 1_800_000_000 * 10**9
TAPS = [Tap("acme", "git:https://github.com/acme/skills")]


def tree(text: str = "main", **files: bytes) -> Tree:
    return {"SKILL.md": Item(text.encode()), **{name: Item(data) for name, data in files.items()}}


def installed(path: str, content: Tree) -> Installed:
    files = tuple(sorted((name, hashlib.sha256(item.data).hexdigest()) for name, item in content.items()))
    return Installed(
        path=path,
        name="greet",
        source="git:https://github.com/acme/skills#path=greet",
        revision="a" * 40,
        marker="b" * 40,
        version="1.0",
        digest=digest(content),
        trust="community",
        verdict="safe",
        ruleset="1",
        files=files,
        installed="2026-01-01T00:00:00Z",
        updated="2026-01-02T00:00:00Z",
        extra='{"later":1}',
    )


def exported(path: Path, skills: Sequence[Exported], **more: Any) -> bytes:
    export_snapshot(skills, TAPS, str(path), clock=lambda: MOMENT, **more)
    return path.read_bytes()


def test_a_library_survives_the_way_there_and_back(tmp_path: Path) -> None:
    base = tree("as installed", guide=b"x" * 5000)
    edited = {**tree("as edited"), "scripts/run.sh": Item(b"run\0\xff", executable=True)}
    skills = (
        Exported("user", "greet", "greet", edited, installed("skills/greet", base), base),
        Exported("user", "tools/device", "con", tree("device")),
        Exported("project", "greet", "Grüße \ud800", tree("another")),
        Exported("project", "copy", "copy", base, installed("skills/copy", base), base),
    )
    path = tmp_path / "library.snapshot"
    report = export_snapshot(skills, TAPS, str(path), clock=lambda: MOMENT)
    assert report.to_json() == {
        "success": True,
        "path": str(path),
        "size": path.stat().st_size,
        "skills": ["greet", "con", "Grüße \ud800", "copy"],
        "contents": 4,
        "taps": 1,
        "left_out": [],
    }
    assert read_snapshot(path.read_bytes()) == Snapshot(__version__, "2027-01-15T08:00:00Z", skills, tuple(TAPS))


def test_the_same_library_gives_the_same_bytes(tmp_path: Path) -> None:
    skills = [Exported("user", "one", "one", tree("1", a=b"a", b=b"b")), Exported("user", "two", "two", tree("2"))]
    first = exported(tmp_path / "a", skills)
    same = [skills[0]._replace(tree=dict(reversed(skills[0].tree.items()))), skills[1]]
    assert exported(tmp_path / "b", same) == first


def test_it_holds_what_is_said_and_nothing_else(tmp_path: Path) -> None:
    data = exported(tmp_path / "a", [Exported("user", "greet", "greet", tree())])
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        assert made.namelist() == ["snapshot.json", "skills/1.skill"]
        found = json.loads(made.read("snapshot.json"))
        packed = made.read("skills/1.skill")
    own = digest(tree())
    assert found == {
        "version": 1,
        "whet": __version__,
        "created": "2027-01-15T08:00:00Z",
        "skills": [{"scope": "user", "path": "greet", "name": "greet", "digest": own, "base": None, "lock": None}],
        "taps": [{"name": "acme", "source": "git:https://github.com/acme/skills", "default": False, "added": ""}],
        "contents": {own: "skills/1.skill"},
    }
    assert packed == archive.pack("greet", {"SKILL.md": Item(b"main")})


def test_what_cannot_be_packed_is_left_out_and_told(tmp_path: Path) -> None:
    skills = [
        Exported("user", "linked", "linked", {**tree(), "guide.md": Item(b"SKILL.md", link=True)}),
        Exported("user", "nameless", "nameless", {"notes.md": Item(b"old")}),
        Exported("user", "odd:path", "odd", tree()),
        Exported("user", "clash", "clash", tree(a=b"1", A=b"2")),
        Exported("user", "kept", "kept", tree(), base={"SKILL.md": Item(b"x"), "l": Item(b"SKILL.md", link=True)}),
    ]
    report = export_snapshot(skills, [], str(tmp_path / "a"))
    assert report.skills == ("kept",)
    assert [(entry.code, entry.severity, entry.skill) for entry in report.left_out] == [
        ("link-in-package", "warning", "linked"),
        ("archive-no-skill", "warning", "nameless"),
        ("path-drive", "warning", "odd"),
        ("archive-collision", "warning", "clash"),
        ("snapshot-without-base", "warning", "kept"),
    ]
    [kept] = read_snapshot((tmp_path / "a").read_bytes()).skills
    assert (kept.tree, kept.base) == (tree(), None)


def test_one_place_has_one_skill(tmp_path: Path) -> None:
    skills = [
        Exported("user", "greet", "first", tree("1")),
        Exported("user", "Greet", "second", tree("2")),
        Exported("user", "greet", "third", tree("1")),
        Exported("project", "greet", "fourth", tree("1")),
    ]
    report = export_snapshot(skills, [], str(tmp_path / "a"))
    assert report.skills == ("first", "fourth")
    assert report.contents == 1
    assert [(entry.code, entry.severity, entry.skill) for entry in report.left_out] == [
        ("snapshot-duplicate", "warning", "second"),
        ("snapshot-duplicate", "info", "third"),
    ]


def test_a_file_is_overwritten_only_when_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"precious")
    with pytest.raises(ConflictError) as error:
        exported(path, [])
    assert (error.value.code, path.read_bytes()) == ("file-exists", b"precious")
    assert read_snapshot(exported(path, [], overwrite=True)).skills == ()


def test_a_library_that_is_too_large_is_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "LIMITS", snapshots.LIMITS._replace(files=2))
    skills = [Exported("user", f"s{number}", "s", tree(str(number))) for number in range(3)]
    with pytest.raises(InvalidError) as error:
        exported(tmp_path / "a", skills)
    assert error.value.code == "snapshot-too-large"
    assert list(tmp_path.iterdir()) == []


# what is wrong with a snapshot


def changed(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The snapshot with another manifest."""
    return rebuilt(data, lambda files: files.update({"snapshot.json": edited(files["snapshot.json"], change)}))


def edited(manifest: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    found = json.loads(manifest)
    change(found)
    return json.dumps(found).encode()


def rebuilt(data: bytes, change: Callable[[dict[str, bytes]], object]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        files = {name: made.read(name) for name in made.namelist()}
    change(files)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return target.getvalue()


@pytest.fixture
def sound(tmp_path: Path) -> bytes:
    skills = [
        Exported("user", "greet", "greet", tree("edited"), installed("skills/greet", tree()), tree()),
        Exported("user", "other", "other", tree("other")),
    ]
    return exported(tmp_path / "sound", skills)


def other_skill() -> bytes:
    return archive.pack("greet", {"SKILL.md": Item(b"tampered")})


FILES: dict[str, Callable[[dict[str, bytes]], object]] = {
    "no manifest": lambda files: files.pop("snapshot.json"),
    "no JSON": lambda files: files.update({"snapshot.json": b"{"}),
    "deep JSON": lambda files: files.update({"snapshot.json": b"[" * 200_000}),
    "a list": lambda files: files.update({"snapshot.json": b"[]"}),
    "other content": lambda files: files.update({"skills/1.skill": other_skill()}),
    "no archive": lambda files: files.update({"skills/1.skill": b"PK"}),
    "one less": lambda files: files.pop("skills/2.skill"),
    "one more": lambda files: files.update({"skills/9.skill": other_skill()}),
    "something else": lambda files: files.update({"notes.txt": b"hello"}),
    "something ignored": lambda files: files.update({".DS_Store": b"hello"}),
    "a way out": lambda files: files.update({"../out": b"hello"}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_snapshot_with_wrong_files_is_refused(sound: bytes, name: str) -> None:
    with pytest.raises(InvalidError) as error:
        read_snapshot(rebuilt(sound, FILES[name]))
    assert error.value.code == "snapshot-damaged"


MANIFESTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no version": lambda found: found.pop("version"),
    "a version that is text": lambda found: found.update(version="1"),
    "a version that is a truth": lambda found: found.update(version=True),
    "no contents": lambda found: found.pop("contents"),
    "contents without names": lambda found: found.update(contents=dict.fromkeys(found["contents"], 1)),
    "contents exchanged": lambda found: found.update(
        contents=dict(zip(found["contents"], reversed(found["contents"].values()), strict=True))
    ),
    "no skills": lambda found: found.update(skills={}),
    "no taps": lambda found: found.update(taps=None),
    "a tap that is none": lambda found: found.update(taps=["x"]),
    "a skill that is none": lambda found: found["skills"].append("x"),
    "another scope": lambda found: found["skills"][0].update(scope="org"),
    "no name": lambda found: found["skills"][0].update(name=None),
    "a way out": lambda found: found["skills"][0].update(path="../../.ssh"),
    "no path": lambda found: found["skills"][0].update(path=None),
    "unknown content": lambda found: found["skills"][0].update(digest="sha256:" + "0" * 64),
    "a list as content": lambda found: found["skills"][0].update(digest=[]),
    "unknown base": lambda found: found["skills"][0].update(base="sha256:" + "0" * 64),
    "an empty base": lambda found: found["skills"][0].update(base=""),
    "twice one place": lambda found: found["skills"].append({**found["skills"][0], "path": "GREET"}),
    "a lock that is none": lambda found: found["skills"][0].update(lock=[]),
    "a lock without a path": lambda found: found["skills"][0]["lock"].pop("path"),
    "a lock that leaves": lambda found: found["skills"][0]["lock"].update(path="../x"),
    "a lock with a wrong digest": lambda found: found["skills"][0]["lock"].update(digest="x"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_snapshot_with_a_wrong_manifest_is_refused(sound: bytes, name: str) -> None:
    with pytest.raises(InvalidError) as error:
        read_snapshot(changed(sound, MANIFESTS[name]))
    assert error.value.code == "snapshot-damaged"


def test_a_snapshot_of_a_later_version_is_not_guessed_at(sound: bytes) -> None:
    with pytest.raises(InvalidError) as error:
        read_snapshot(rebuilt(sound, lambda files: files.update({"snapshot.json": b'{"version": 2, "new": []}'})))
    assert error.value.code == "snapshot-newer"


def test_a_snapshot_that_is_cut_off_is_refused(sound: bytes) -> None:
    for size in (0, 1, 100, len(sound) // 2, len(sound) - 1):
        with pytest.raises(InvalidError) as error:
            read_snapshot(sound[:size])
        assert error.value.code == "snapshot-damaged"


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_one_changed_byte_is_noticed_or_harmless(data: st.DataObject) -> None:
    """Zip carries a few bytes that mean nothing; whatever else changes is refused, and never read as other content."""
    skill = Exported("user", "greet", "greet", tree("x" * 50))
    whole = bytearray(made(skill))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        outcome: object = read_snapshot(bytes(whole)).skills
    except WhetError as error:
        outcome = error.code
    assert outcome in ((skill,), "snapshot-damaged", "snapshot-newer")


def made(*skills: Exported) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        return exported(Path(directory) / "a", skills)


FILE_NAMES = st.sampled_from(("a.md", "b/c.txt", "b/d/e", "Ünï.md", "scripts/run.sh"))
ITEMS = st.builds(Item, st.binary(max_size=200), executable=st.booleans(), link=st.just(False))
TREES = st.dictionaries(FILE_NAMES, ITEMS, max_size=4).map(lambda files: {"SKILL.md": Item(b"m"), **files})


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(("user", "project")), st.text(max_size=8), TREES, st.none() | TREES),
        max_size=4,
    )
)
def test_any_contents_survive(rows: list[tuple[Any, str, Tree, Tree | None]]) -> None:
    skills = tuple(
        Exported(scope, f"s{number}", name, content, None, base)
        for number, (scope, name, content, base) in enumerate(rows)
    )
    assert read_snapshot(made(*skills)).skills == skills

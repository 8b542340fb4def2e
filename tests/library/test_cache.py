"""The cache saves work and nothing else: damaged, foreign, read-only or lying, it never changes what is found."""

from __future__ import annotations

import marshal
import os
import random
import shutil
import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import FailedError
from whet.library import cache as cache_module
from whet.library.cache import Cache, fingerprint
from whet.library.card import Card
from whet.library.discovery import Bounds, Container, RootListing, discover
from whet.library.files import Signature
from whet.library.roots import Root
from whet.notes import Note
from whet.skill.gates import OPEN
from whet.store.cache import CacheDatabase
from whet.store.packed import PackedFile, write_packed

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library

GATED = """platforms: [linux, macos]
metadata:
  hermes:
    config:
      - {key: day, description: A day., default: 2024-02-29}
      - {key: list, description: Some., default: [1, two, null]}
    requires_tools: [search]
  openclaw:
    requires: {bins: [git], anyBins: [jq, yq], env: [TOKEN]}
paths: ["*.py"]
when_to_use: Always.
argument-hint: [file]
"""


def names(library: Library) -> list[str]:
    return [item["name"] for item in library.skills().to_json()["skills"]]


def codes(library: Library) -> list[str]:
    return [entry.code for entry in library.workspace.report()]


@pytest.fixture
def filled(root: str, skill: Callable[..., str]) -> str:
    """A root with everything a cache has to keep."""
    for number in range(5):
        skill(root, f"group/skill-{number}")
    skill(root, "gated", more=GATED)
    skill(root, "guided", more="when_to_use: It is due.\nargument-hint: <file>\n")
    skill(root, "remarks", description="Deploy: to # production")
    os.mkdir(f"{root}/group/skill-1/agents")
    with open(f"{root}/group/DESCRIPTION.md", "w") as file:
        file.write("A group.")
    os.symlink("group/skill-1", f"{root}/alias")
    os.symlink("nowhere", f"{root}/broken")
    os.mkfifo(f"{root}/pipe.md")
    return root


# keeping


def test_what_is_kept_comes_back_equal(filled: str, tmp_path: Path) -> None:
    place = Root(filled, "user", "claude", namespace="acme", real=filled)
    bounds = Bounds(6, 100, (filled,))
    shelf = discover(place, bounds, None, time.time_ns() + 60 * 10**9)
    for _ in range(2):
        kept = Cache(CacheDatabase(str(tmp_path / "state")))
        assert kept.save(shelf, bounds)
        found = Cache(CacheDatabase(str(tmp_path / "state")))
        again = found.shelf(place, bounds)
        assert again is not None
        assert {path: _plain(item) for path, item in again.containers.items()} == {
            path: _plain(item) for path, item in shelf.containers.items()
        }
        assert again.notes == shelf.notes
        assert discover(place, bounds, again, time.time_ns() + 60 * 10**9) is again
        (card,) = found.cards("acme:gated", place, bounds)
        assert (card.gates.commands, card.when, card.hint) == (("git",), "Always.", "[file]")
        (card,) = found.cards("acme:guided", place, bounds)
        assert (card.gates is OPEN, card.when, card.hint) == (True, "It is due.", "<file>")
        bare = [_plain(item._replace(cards=())) for item in shelf.containers.values()]
        assert [*map(_plain, found.containers(place, bounds) or ())] == bare
        assert found.size(place, bounds) == len([*shelf.cards()])


def _plain(item: Container) -> Container:
    """As it can be compared: in the order of paths, and a date as the text it is kept as."""
    cards = []
    for card in sorted(item.cards, key=lambda card: card.path):
        settings = tuple(
            setting._replace(default=str(setting.default) if setting.key == "day" else setting.default)
            for setting in card.gates.settings
        )
        cards.append(card._replace(gates=card.gates._replace(settings=settings)))
    return item._replace(cards=tuple(cards))


def test_a_root_is_known_by_everything_that_decides_what_is_found() -> None:
    root, bounds = Root("/a", "user", real="/a"), Bounds(6, 100, ("/a",))
    prints = {
        fingerprint(root, bounds),
        fingerprint(root._replace(kind="commands"), bounds),
        fingerprint(root._replace(namespace="acme"), bounds),
        fingerprint(root._replace(scope="project"), bounds),
        fingerprint(root._replace(scope="project", trusted=False), bounds),
        fingerprint(root, bounds._replace(depth=5)),
        fingerprint(root, bounds._replace(directories=99)),
    }
    assert len(prints) == 7
    assert fingerprint(root._replace(client="x"), bounds) == fingerprint(root, bounds)


def test_where_links_may_lead_matters_only_where_there_are_links(
    root: str, tmp_path: Path, skill: Callable[..., str]
) -> None:
    skill(root, "plain")
    skill(str(tmp_path / "other"), "linked")
    place = Root(root, "user", real=root)
    one, two = Bounds(6, 100, (root,)), Bounds(6, 100, (root, str(tmp_path / "other")))
    cache = Cache(CacheDatabase(str(tmp_path / "state")))
    cache.save(discover(place, one, None, 0), one)
    assert cache.shelf(place, two) is not None
    os.symlink(tmp_path / "other" / "linked", f"{root}/link")
    for bounds, others in ((one, two), (two, one)):
        before = cache.shelf(place, bounds)
        cache.save(discover(place, bounds, before, 0), bounds)
        assert cache.shelf(place, bounds) is not None
        assert cache.shelf(place, others) is None


def test_another_reader_starts_over(
    filled: str, opened: Callable[..., Library], io: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(filled, settled=True).skills()
    cold = io["read"]
    library = opened(filled, settled=True)
    io.clear()
    library.skills()
    assert io["read"] == 0
    monkeypatch.setattr(cache_module, "READER", "another")
    later = opened(filled, settled=True)
    io.clear()
    later.skills()
    assert io["read"] == cold > 0
    assert codes(later) == codes(library)


def test_a_root_nobody_used_for_long_is_forgotten(root: str, tmp_path: Path) -> None:
    bounds = Bounds(6, 100, (root,))
    places = [Root(f"{root}/{name}", "user", real=f"{root}/{name}") for name in ("a", "b")]
    cache = Cache(CacheDatabase(str(tmp_path / "state")))
    cache.save(RootListing(places[0], {"/a": _container("/a")}), bounds)
    (file,) = (tmp_path / "state" / "cache").iterdir()
    os.utime(file, (1, 1))
    cache.save(RootListing(places[1], {"/b": _container("/b")}), bounds)
    assert [cache.shelf(place, bounds) is None for place in places] == [True, False]


def test_a_root_without_anything_has_no_file(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "one")
    assert names(opened(root, settled=True)) == ["one"]
    assert len([*(tmp_path / "state" / "cache").iterdir()]) == 1
    shutil.rmtree(root)
    assert names(opened(root, settled=True)) == []
    assert [*(tmp_path / "state" / "cache").iterdir()] == []


def test_when_to_use_it_and_what_to_type_come_from_the_cache_until_the_file_changes(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], io: Counter[str]
) -> None:
    def said(library: Library) -> list[tuple[str, str]]:
        return [(card.when, card.hint) for card in library.catalogue.cards]

    skill(root, "guided", more="when_to_use: Now.\nargument-hint: [file]\n")
    library = opened(root, settled=True)
    assert said(library) == [("Now.", "[file]")]
    skill(root, "guided", more="when_to_use: Soon\nargument-hint: [file]\n")
    assert library.reload().changed == ("guided",)
    assert said(library) == [("Soon", "[file]")]
    later = opened(root, settled=True)
    io.clear()
    assert said(later) == [("Soon", "[file]")]
    assert (io["open"], io["read"]) == (0, 0)


# writing little


def root_file(top: Path) -> Path:
    """The file of the only root."""
    (path,) = (top / "state" / "cache").glob("root-*")
    return path


def test_the_file_of_a_root_is_replaced_only_when_something_changed(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for number in range(3):
        skill(root, f"skill-{number}")
    library = opened(root, settled=True)
    versions = []
    for description in ("", "", "New.", ""):
        if description:
            skill(root, "skill-1", description=description)
        library.skills()
        with PackedFile(str(root_file(tmp_path))) as file:
            versions.append(file.head[3])
    assert versions[0] == versions[1] != versions[2] == versions[3]


def test_only_what_is_out_of_the_ordinary_is_written_beside_the_fields(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "guided", more="when_to_use: Now.\n")
    skill(root, "plain")
    opened(root, settled=True).skills()
    with PackedFile(str(root_file(tmp_path))) as file:
        cards, more = file.part(2)
    (at,) = more
    assert (cards[at][2], "Now." in more[at], len(cards)) == ("guided", True, 2)


def tamper(top: Path, change: Callable[[list[Any]], list[Any] | None], *, proven: bool = True) -> None:
    """Change the fields of every card, the last one being what is behind the root, or leave it out.

    The checksums fit if it is to be `proven`.
    """
    path = root_file(top)
    sound = path.read_bytes()
    with PackedFile(str(path)) as file:
        head, (known, keys, *parts) = file.head, [*file.parts()]
    packed = []
    for cards, more in parts:
        changed = [change([*own, more.get(at)]) for at, own in enumerate(cards)]
        kept = [card for card in changed if card is not None]
        packed.append(([tuple(card[:-1]) for card in kept], {at: card[-1] for at, card in enumerate(kept) if card[-1]}))
    write_packed(str(path), head, [known, keys, *packed])
    if not proven:  # the first bytes with the checksums as they were, and the new parts
        start = len(sound) - sum(len(marshal.dumps(part, 4)) for part in (known, keys, *parts))
        path.write_bytes(sound[:start] + b"".join(marshal.dumps(part, 4) for part in (known, keys, *packed)))


@pytest.mark.parametrize("counts", [(1, 40, 300, 290, 3, 0, 70)])
def test_however_a_library_grows_and_shrinks_every_skill_is_found_by_name_and_in_the_list(
    counts: tuple[int, ...], tmp_path: Path
) -> None:
    root, bounds = Root("/a", "user", real="/a"), Bounds(6, 100, ("/a",))
    cache = Cache(CacheDatabase(str(tmp_path / "state")))
    for round_, count in enumerate(counts):
        cards = tuple(
            _card(f"skill-{number}", f"Round {round_ if number % 3 else 0}.", root) for number in range(count)
        )
        shelf = RootListing(root, {"/a": Container("/a", "", 0, Signature(round_, 2, 3, 4), cards)})
        assert cache.save(shelf, bounds)
        other = Cache(CacheDatabase(str(tmp_path / "state")))
        found = other.shelf(root, bounds)
        assert found is not None
        assert other.size(root, bounds) == count
        assert {path: _plain(item) for path, item in found.containers.items()} == {
            path: _plain(item) for path, item in shelf.containers.items()
        }
        assert [other.cards(card.key, root, bounds) for card in cards] == [(card,) for card in cards]
        assert other.cards(f"skill-{count}", root, bounds) == ()


def _card(name: str, description: str, root: Root) -> Card:
    directory = f"{root.path}/{name}"
    return Card(f"{directory}/SKILL.md", directory, name, name, description, "", "skill", 1, 2, 3, 4, 5, "", root)


def test_a_failed_save_is_said_and_made_up_for(
    root: str, skill: Callable[..., str], opened: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise FailedError("disk-full", "The disk is full.", hint="Free some space.")

    skill(root, "one")
    library = opened(root, settled=True)
    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "write_packed", fail)
        assert names(library) == ["one"]
        assert codes(library) == ["cache-unavailable"]
    skill(root, "two")
    assert names(library) == ["one", "two"]
    assert codes(library) == []
    assert names(opened(root, settled=True)) == ["one", "two"]


def test_two_that_save_in_turns_lose_nothing(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    """A skill that was away for a moment, seen to go by one and never missed by the other, must not be lost."""
    skill(root, "kept")
    skill(root, "moved")
    one, two = opened(root, settled=True), opened(root, settled=True)
    assert names(one) == names(two) == ["kept", "moved"]
    os.rename(f"{root}/moved", f"{root}/.away")
    assert names(two) == ["kept"]
    os.rename(f"{root}/.away", f"{root}/moved")
    assert names(one) == ["kept", "moved"]
    assert names(opened(root, settled=True)) == ["kept", "moved"]


# damaged, foreign, read-only


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "truncated":
        data = data[: len(data) // 2]
    elif how == "garbage":
        data = bytearray(random.Random(1).randbytes(len(data)))
    elif how == "zero bytes":
        data = bytearray()
    elif how == "zeros":
        data[4096:] = bytes(len(data) - 4096)
    elif how == "text":
        data = bytearray(b"This is no database.\n")
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["truncated", "garbage", "zero bytes", "zeros", "text"])
def test_a_damaged_cache_is_rebuilt(how: str, filled: str, tmp_path: Path, opened: Callable[..., Library]) -> None:
    """The file of a root in silence; `cache.db`, which has more than that, with a note."""
    first = opened(filled, settled=True)
    expected, digest, reported = first.skills().to_json(), first.read("gated").digest, first.workspace.report()
    first.close()
    damage(root_file(tmp_path), how)
    damage(tmp_path / "state" / "cache.db", how)
    for attempt in range(2):
        library = opened(filled, settled=True)
        assert library.skills().to_json() == expected
        assert library.read("gated").digest == digest
        remarks = [entry for entry in library.workspace.report() if entry not in reported]
        expected_codes = [] if attempt or how == "zero bytes" else ["cache-rebuilt"]
        assert [entry.code for entry in remarks] == expected_codes
        library.close()


def test_bytes_flipped_in_the_middle_never_raise_and_lose_no_skill(
    filled: str, tmp_path: Path, opened: Callable[..., Library]
) -> None:
    first = opened(filled, settled=True)
    expected = first.skills().to_json()
    first.close()
    path = root_file(tmp_path)
    sound = path.read_bytes()
    numbers = random.Random(7)
    for _ in range(60):
        data = bytearray(sound)
        start = numbers.randrange(len(data))
        for at in range(start, min(len(data), start + numbers.choice((1, 1, 4, 64)))):
            data[at] ^= numbers.choice((0x01, 0x20, 0x80, 0xFF))
        path.write_bytes(data)
        library = opened(filled, settled=True)
        assert library.skills().to_json() == expected
        library.close()
        assert path.read_bytes() != data


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: [*kept[:-1], "{"],
        lambda kept: [*kept[:-1], ((), (), ())],
        lambda kept: None if kept[2] == "gated" else kept,
        lambda kept: kept[:5],
    ],
)
def test_a_part_that_makes_no_sense_is_thrown_away(
    change: Callable[[list[Any]], list[Any] | None], filled: str, tmp_path: Path, opened: Callable[..., Library]
) -> None:
    first = opened(filled, settled=True)
    expected = first.skills().to_json()
    first.close()
    tamper(tmp_path, change)
    library = opened(filled, settled=True)
    assert library.skills().to_json() == expected
    assert names(opened(filled, settled=True)) == names(library)


def test_a_part_that_is_damaged_while_the_library_is_in_use_is_made_again(
    filled: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    library = opened(filled, settled=True)
    library.skills()
    tamper(tmp_path, lambda kept: [*kept[:4], "A lie.", *kept[5:]], proven=False)
    skill(filled, "guided", description="New.")
    assert library.card("guided").description == "New."
    assert {card.name: card.description for card in library.skills()}["guided"] == "New."
    assert names(opened(filled, settled=True)) == names(library)


def test_rows_that_lie_are_caught_by_their_signature(
    root: str, tmp_path: Path, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    skill(root, "honest")
    library = opened(root, settled=True)
    library.skills()

    def told(field: str = "", *, proven: bool = True) -> str:
        def lie(kept: list[Any]) -> list[Any]:
            kept[Card._fields.index("description")] = "A lie."
            if field:
                kept[Card._fields.index(field)] += 1
            return kept

        opened(root, settled=True).skills()
        tamper(tmp_path, lie, proven=proven)
        (item,) = opened(root, settled=True).skills()
        return str(item.description)

    for field in ("mtime", "ctime", "size", "inode", "folder"):
        assert told(field) == "Does honest.", field
    assert told(proven=False) == "Does honest."
    # Whoever can write here can do worse: a part that fits the disk and its own checksum is believed.
    assert told() == "A lie."
    assert opened(root, settled=True).read("honest").to_json()["description"] == "Does honest."


def test_a_foreign_file_is_set_aside_and_kept(filled: str, tmp_path: Path, opened: Callable[..., Library]) -> None:
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "cache.db"
    with sqlite3.connect(path) as connection:
        connection.executescript("PRAGMA application_id = 77; CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    connection.close()
    library = opened(filled, settled=True)
    assert "gated" in names(library)
    assert library.read("gated").name == "gated"
    (problem,) = [entry for entry in library.workspace.report() if entry.code == "cache-rebuilt"]
    (aside,) = [name for name in os.listdir(tmp_path / "state") if ".broken-" in name]
    assert aside in problem.message
    with sqlite3.connect(tmp_path / "state" / aside) as connection:
        assert connection.execute("SELECT x FROM theirs").fetchall() == [(1,)]
    connection.close()


def test_without_a_place_to_write_everything_works_and_is_said(unprivileged: Callable[[str], Any]) -> None:
    names, body, ((code, severity, place),), *rest = unprivileged("""
skill("root/one")
os.mkdir(top + "/state")
os.chmod(top + "/state", 0o555)
opened = library()
answer = [[card["name"] for card in opened.skills().to_json()["skills"]], opened.read("one").content, report(opened)]
opened = Library.open([top + "/root"], home=top + "/state/deeper", project=top, env={"HOME": top})
answer += [[card.name for card in opened.skills()], [entry.code for entry in opened.workspace.report()]]
""")
    assert (names, body, code, severity) == (["one"], "Body.\n", "cache-unavailable", "info")
    assert place in ("state/cache", "state/cache.db")  # what was tried last
    assert rest == [["one"], ["cache-unavailable"]]


def test_a_cache_that_may_only_be_read_is_read(unprivileged: Callable[[str], Any]) -> None:
    assert unprivileged("""
import time
import whet.library.card_reader as reading
skill("root/one")
ahead = lambda: time.time_ns() + 60 * 10**9
opened = lambda: Library.open([top + "/root"], home=top + "/state", project=top, env={"HOME": top}, clock=ahead)
with opened() as first:
    first.skills()
os.chmod(top + "/state", 0o555)
read, reading.read_card = [], lambda *rest: read.append(rest)
answer = [[card["name"] for card in opened().skills().to_json()["skills"]], len(read)]
""") == [["one"], 0]


def test_a_home_that_is_a_file_is_done_without(filled: str, tmp_path: Path, opened: Callable[..., Library]) -> None:
    (tmp_path / "state").write_text("")
    library = opened(filled)
    assert "gated" in names(library)
    assert "cache-unavailable" in codes(library)


def _container(path: str) -> Container:
    return Container(path, "", 0, Signature(1, 2, 3, 4), notes=(Note("x", "info", "y" * 100, path=path),))


def test_odd_dates_and_names_that_are_not_unicode_are_kept(
    root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    path = skill(root, "old")
    with suppress(OSError, OverflowError):  # a date that has more nanoseconds than SQLite has bits, where it can be set
        os.utime(path, ns=(0, 15_000_000_000 * 10**9))
    directory = os.fsencode(root) + b"/caf\xe9"
    try:
        os.mkdir(directory)
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    with open(directory + b"/SKILL.md", "wb") as file:
        file.write(b"---\nname: coffee\ndescription: Makes coffee.\n---\n")
    for _ in range(2):
        library = opened(root, settled=True)
        assert names(library) == ["coffee", "old"]
        assert library.read("coffee").to_json()["name"] == "coffee"
        assert not [code for code in codes(library) if code.startswith("cache")]

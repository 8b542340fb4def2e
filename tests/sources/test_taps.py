"""Named sources: those from the start, one's own, and what `tap:skill` means."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from whet.errors import ConflictError, FailedError, NotFoundError, UsageError
from whet.guard.trust import VENDORS, source_of
from whet.library.roots import Place
from whet.sources.model import Ref
from whet.sources.refs.parse import read_ref, ref_text
from whet.sources.taps import DEFAULTS, Tap, Taps, expand
from whet.store.repair import repair_state
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from pathlib import Path

PLACE = Place("/w", "/h", "/s", "linux", {})
ACME = Ref("git", "https://github.com/acme/skills")
NOON = 1_800_000_000_000_000_000
AT_NOON = "2027-01-15T08:00:00Z"


def taps_in(directory: Path) -> Taps:
    """The taps of a new person."""
    return Taps(StateDatabase(str(directory / "state")), lambda: NOON)


def start(*without: str) -> tuple[Tap, ...]:
    """The taps from the start, less some."""
    return tuple(Tap(name, source, default=True) for name, source in DEFAULTS.items() if name not in without)


def test_the_taps_from_the_start_are_the_vendors_and_one_registry(tmp_path: Path) -> None:
    assert taps_in(tmp_path).all() == start()
    vendors = tuple(source_of(tap.source.removeprefix("git:")) for tap in start("clawhub"))
    assert vendors == VENDORS
    assert not os.path.exists(tmp_path / "state")


def test_the_sources_from_the_start_are_written_as_references_are() -> None:
    assert {name: ref_text(read_ref(source, PLACE)) for name, source in DEFAULTS.items()} == DEFAULTS


def test_a_tap_is_added_and_removed(tmp_path: Path) -> None:
    taps = taps_in(tmp_path)
    tap = Tap("acme", "git:https://github.com/acme/skills", default=False, added=AT_NOON)
    assert taps.add("acme", ACME) == tap
    assert taps.all() == taps_in(tmp_path).all() == (*start(), tap)
    assert (taps.remove("acme"), taps.all()) == (tap, start())


def test_a_tap_from_the_start_stays_away_until_it_is_added_again(tmp_path: Path) -> None:
    taps = taps_in(tmp_path)
    assert taps.remove("clawhub") == Tap("clawhub", "clawhub:https://clawhub.ai", default=True)
    taps.remove("openai")
    assert taps_in(tmp_path).all() == start("clawhub", "openai")
    assert taps.add("clawhub", Ref("clawhub", "https://clawhub.ai")).default
    assert taps_in(tmp_path).all() == start("openai")


def test_another_source_may_take_the_name_of_a_removed_tap(tmp_path: Path) -> None:
    taps = taps_in(tmp_path)
    taps.remove("openai")
    taps.add("openai", ACME)
    assert taps.all()[-1] == Tap("openai", ref_text(ACME), added=AT_NOON)
    taps.remove("openai")
    assert taps.all() == start("openai")


@pytest.mark.parametrize("name", ["acme", "anthropic"])
def test_a_name_is_given_once(tmp_path: Path, name: str) -> None:
    taps = taps_in(tmp_path)
    taps.add("acme", ACME)
    with pytest.raises(ConflictError) as raised:
        taps.add(name, Ref("git", "https://github.com/other/skills"))
    assert raised.value.code == "tap-exists"


@pytest.mark.parametrize(
    "name",
    ["", "a", "A", "Acme", "a b", "a/b", "a:b", "-a", "a--b", "é", "x" * 65, "git", "hub", "github", "user", "https"],
)
def test_names_that_would_be_mistaken_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as raised:
        taps_in(tmp_path).add(name, ACME)
    assert raised.value.code == "bad-tap-name"
    assert taps_in(tmp_path).all() == start()


def test_the_registry_keeps_its_name_for_itself(tmp_path: Path) -> None:
    taps = taps_in(tmp_path)
    taps.remove("clawhub")
    with pytest.raises(UsageError, match="is reserved"):
        taps.add("clawhub", ACME)


def test_what_is_no_tap_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as raised:
        taps_in(tmp_path).remove("antropic")
    assert (raised.value.code, raised.value.details) == ("unknown-tap", {"suggestions": ["anthropic"]})


DAMAGED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff",
    b"[" * 200_000,
    b'{"version": 1, "taps": {}}',
    b'{"version": 1, "taps": [], "removed": []}',
    b'{"version": 1, "taps": {"acme": {"source": "x"}}, "removed": []}',
    b'{"version": 1, "taps": {"acme": "x"}, "removed": []}',
]


@pytest.mark.parametrize("content", DAMAGED, ids=lambda content: repr(content[:60]))
def test_a_damaged_file_of_the_version_before_is_an_error_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    """Sources that somebody removed must not come back because a file was cut off."""
    taps = taps_in(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state/taps.json").write_bytes(content)
    for call in (taps.all, lambda: taps.add("acme", ACME), lambda: taps.remove("openai")):
        with pytest.raises(FailedError) as raised:
            call()
        assert (raised.value.code, bool(raised.value.hint)) == ("state-corrupt", True)
    assert (tmp_path / "state/taps.json").read_bytes() == content
    assert repair_state(str(tmp_path / "state")).lost
    assert taps.all() == start() and (tmp_path / "state/former/taps.json").read_bytes() == content


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "state/state.db").mkdir(parents=True)
    with pytest.raises(FailedError):
        taps_in(tmp_path).all()


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    names = [f"tap-{number}" for number in range(8)]
    threads = [threading.Thread(target=taps_in(tmp_path).add, args=(name, ACME)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [tap.name for tap in taps_in(tmp_path).all() if not tap.default] == names


ANTHROPIC = Ref("git", "https://github.com/anthropics/skills")
CLAW = Ref("clawhub", "https://clawhub.ai")
HUB = Ref("hub", "https://hub.acme.example")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("anthropic", (ANTHROPIC, ())),
        ("anthropic:pdf", (ANTHROPIC, ("pdf",))),
        (" Anthropic:PDF Forms ", (ANTHROPIC, ("PDF Forms",))),
        ("anthropic:pdf@v1", (ANTHROPIC._replace(ref="v1"), ("pdf",))),
        ("pdf@anthropic", (ANTHROPIC, ("pdf",))),
        ("acme:pdf", (ACME._replace(ref="main"), ("pdf",))),
        ("acme:pdf@dev", (ACME._replace(ref="dev"), ("pdf",))),
        ("team:pdf", (HUB._replace(path="pdf"), ())),
        ("team:pdf@1.0", (HUB._replace(path="pdf", ref="1.0"), ())),
        ("clawhub", (CLAW, ())),
        ("pdf@clawhub", (CLAW._replace(path="pdf"), ())),
        ("clawhub:pdf", None),
        ("clawhub:acme/pdf@1.0", None),
        ("anthropic/pdf", None),
        ("openai/skills", None),
        ("anthropics/skills@main", None),
        ("github:acme/skills", None),
        ("https://acme.example", None),
        ("git@github.com:acme/skills", None),
        ("C:/anthropic", None),
        ("./anthropic", None),
        ("elsewhere", None),
        ("antropic", None),
        ("pdf@2", None),
        ("pdf@^1.2", None),
        ("team/pdf@^1.2", (HUB._replace(path="pdf", ref="^1.2"), ())),
        ("team/acme/pdf", (HUB._replace(path="acme/pdf"), ())),
        ("acme/pdf@1.2", (ACME._replace(ref="1.2"), ("pdf",))),
        ("elsewhere:pdf", None),
        ("pdf@elsewhere", None),
        ("@anthropic", None),
        ("anthropic:", None),
        ("anthropic:skills/pdf", (ANTHROPIC._replace(path="skills/pdf"), ())),
        ("team:acme/pdf@1.0", (HUB._replace(path="acme/pdf", ref="1.0"), ())),
        ("anthropic:/etc", None),
        ("", None),
    ],
)
def test_a_tap_and_a_skill_of_it(text: str, meant: Any) -> None:
    taps = (*start(), Tap("acme", ref_text(ACME._replace(ref="main"))), Tap("team", ref_text(HUB)))
    assert expand(text, taps, PLACE) == meant


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("antropic:pdf", "Did you mean anthropic:pdf?"),
        ("pdf@antropic", "Did you mean anthropic:pdf?"),
    ],
)
def test_a_mistyped_tap_is_pointed_out(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        expand(text, start(), PLACE)
    assert (raised.value.code, raised.value.hint) == ("unknown-source", hint)


@pytest.mark.parametrize("text", ["anthropic:pdf@--upload-pack=x", "anthropic:../x", "anthropic:a//b"])
def test_odd_revisions_and_paths_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        expand(text, start(), PLACE)
    assert raised.value.code == "bad-source"

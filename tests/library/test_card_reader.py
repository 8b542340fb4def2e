from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whet.library.card import Card, Refused, SkillFile, old_form
from whet.library.card_reader import HEAD, read_card, read_category
from whet.library.files import stamp
from whet.library.quick_card import quick_card
from whet.library.roots import Root
from whet.skill.dialects import read_skill
from whet.skill.frontmatter import MAX_DOCUMENT, read_document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AHEAD = 60 * 10**9
ROOT = Root("/r", "user", real="/r")


def read(path: Path, *, kind: str = "skill", root: Root = ROOT, ahead: int = AHEAD, **spot: Any) -> Card | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        place = SkillFile(str(path), str(path.parent), spot.get("category", ""), kind, spot.get("real", ""))
        return read_card(descriptor, place, root, spot.get("now", time.time_ns() + ahead))
    finally:
        os.close(descriptor)


def card(path: Path, **more: Any) -> Card:
    found = read(path, **more)
    assert found is not None
    return found


@pytest.fixture
def main(tmp_path: Path) -> Path:
    (tmp_path / "thing").mkdir()
    return tmp_path / "thing" / "SKILL.md"


def test_a_card_is_the_file_in_short(main: Path) -> None:
    main.write_text("---\nname: thing\ndescription: Does it.\n---\nBody.\n")
    found, around = os.stat(main), os.stat(main.parent)
    assert card(main, category="web") == Card(
        path=str(main),
        directory=str(main.parent),
        name="thing",
        key="thing",
        description="Does it.",
        category="web",
        kind="skill",
        mtime=found.st_mtime_ns,
        ctime=found.st_ctime_ns,
        size=found.st_size,
        inode=found.st_ino,
        folder=stamp(around),
        real="",
        root=ROOT,
    )


def test_a_card_is_short_where_it_is_printed(main: Path) -> None:
    main.write_text("---\nname: thing\ndescription: Does it.\n---\nBody.\n")
    assert repr(card(main)) == f"Card(name='thing', scope='{ROOT.scope}', path={str(main)!r})"


def test_a_card_read_a_moment_after_a_change_fits_no_file(main: Path) -> None:
    main.write_text("---\nname: thing\ndescription: Does it.\n---\nBody.\n")
    fresh, old = card(main, ahead=0), card(main)
    assert (fresh.mtime, fresh.folder) == (~old.mtime, ~old.folder)
    assert fresh != old
    assert fresh.settled() == old.settled() == old


def test_a_plugins_skill_is_compared_by_its_full_name(main: Path) -> None:
    main.write_text("---\nname: Thing_One\ndescription: Does it.\n---\n")
    found = card(main, root=ROOT._replace(namespace="acme"))
    assert (found.key, found.full_name, found.qualified) == ("acme:thing-one", "acme:Thing_One", "acme:Thing_One")


def test_the_category_of_the_path_wins_over_that_of_the_file(main: Path) -> None:
    main.write_text("---\nname: thing\ndescription: Does it.\ncategory: said\n---\n")
    assert (card(main).category, card(main, category="path").category) == ("said", "path")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("", ("", "")),
        ("when_to_use: It is  due.\nargument-hint: <file>\n", ("It is due.", "<file>")),
        ("when-to-use: |\n  It is\n  due.\nargument-hint: [file]\n", ("It is due.", "[file]")),
        ("when_to_use:\n  - One.\n  - Two.\nplatforms: [linux]\nargument_hint: file\n", ("One. Two.", "file")),
    ],
)
def test_a_card_says_when_to_use_it_and_what_to_type(main: Path, rows: str, expected: tuple[str, str]) -> None:
    main.write_text(f"---\nname: thing\ndescription: Does it.\n{rows}---\n# When to use\n\nIn the body.\n")
    found = card(main)
    assert (found.when, found.hint) == expected


def test_cards_that_differ_in_either_are_different(main: Path) -> None:
    main.write_text("---\nname: thing\ndescription: Does it.\nwhen_to_use: Now.\nargument-hint: file\n---\n")
    found = card(main, ahead=0)
    assert found.settled() == card(main)
    for other in (found._replace(when="Later."), found._replace(hint="")):
        assert other.settled() != found.settled()


def test_what_is_beside_the_file_counts(main: Path) -> None:
    main.write_text("---\nname: thing\ndescription: Does it.\n---\n")
    (main.parent / "agents").mkdir()
    (main.parent / "agents" / "openai.yaml").write_text("policy: {allow_implicit_invocation: false}")
    (main.parent / "skill.json").write_text("{")
    found = card(main)
    assert found.gates.model_invocable is False
    assert [note.code for note in found.notes] == ["sidecar-unreadable"]
    assert [os.path.basename(path) for path, _ in found.extras] == ["skill.json", "agents", "openai.yaml"]


# what is no skill


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "SKILL.md")
    with pytest.raises(Refused) as caught:
        read(tmp_path / "SKILL.md")
    assert caught.value.entry.code == "not-a-file"
    assert stat.S_ISFIFO(os.stat(tmp_path / "SKILL.md").st_mode)


def test_a_file_at_the_limit_is_read_and_one_beyond_it_is_refused(main: Path) -> None:
    head = b"---\nname: thing\ndescription: Does it.\n---\n"
    main.write_bytes(head.ljust(MAX_DOCUMENT, b"x"))
    assert card(main).description == "Does it."
    main.write_bytes(head.ljust(MAX_DOCUMENT + 1, b"x"))
    with pytest.raises(Refused) as caught:
        read(main)
    assert (caught.value.entry.code, caught.value.entry.message) == (
        "too-large",
        "The main file has 1,048,577 bytes; the limit is 1,048,576.",
    )


def test_a_flat_file_without_frontmatter_is_a_skill_if_it_is_named_like_one(tmp_path: Path) -> None:
    for name, text in (("Notes.md", "Only text."), ("my notes.md", "Only text."), ("empty.md", "\n")):
        (tmp_path / name).write_text(text)
        assert read(tmp_path / name, kind="flat") is None
    path = tmp_path / "notes.md"
    path.write_text("Only text.")
    assert [(found.name, found.description) for found in [card(path, kind="flat")]] == [("notes", "Only text.")]
    assert card(path, kind="command").description == "Only text."
    path.write_text("x" * (3 * HEAD))
    assert len(card(path, kind="flat").description) == 1024  # as its first change writes it


@pytest.mark.parametrize(
    ("spot", "expected"),
    [
        (SkillFile("/r/a/SKILL.md", "/r/a", "", "skill"), ()),
        (SkillFile("/r/a/skill.md", "/r/a", "", "skill"), ("old-main-name",)),
        (SkillFile("/r/a.md", "/r", "", "flat"), ("flat-skill",)),
        (SkillFile("/r/a.md", "/r", "", "command"), ("command-file",)),
    ],
)
def test_old_forms_are_named_with_the_new_one(spot: SkillFile, expected: tuple[str, ...]) -> None:
    notes = old_form(spot)
    assert tuple(note.code for note in notes) == expected
    assert all(note.hint for note in notes)


# as much of the file as it takes


LONG = "x" * 200


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: thing\ndescription: Does it.\n---\n" + "Body.\n" * 5000,
        "---\nname: thing\n" + f"filler: {LONG}\n" * 40 + "description: Far below.\n---\nBody.\n",
        "---\nname: thing\ndescription: Near.\n" + f"filler: {LONG}\n" * 40 + "when_to_use: x\nargument-hint: y\n---\n",
        "---\nname: thing\nnote: |\n  a\n  ----\n"
        + "  long\n" * 1500
        + "description: Behind what looks like a fence.\n---\n",
        "---\nname: thing\n---- # no fence\n" + f"filler: {LONG}\n" * 40 + "description: Far below.\n---\nBody.\n",
        "---\nname: thing\n" + f"filler: {LONG}\n" * 40 + "description: Never closed.\n",
        "\ufeff---\r\nname: thing\r\n" + f"filler: {LONG}\r\n" * 40 + "description: Windows.\r\n---\r\nBody.\r\n",
        "---\nname: thing\n---\n" + "\n" * 6000 + "The first prose is far below.\n",
        "---\nname: thing\n---\n# Heading\n\nProse near the top.\n" + "more\n" * 5000,
        "---\nname: thing\n---\n" + "é" * 5000 + "\n",
        "No frontmatter at all.\n" + "more\n" * 5000,
        "y" * 10_000,
        "---\nname: thing\ndescription: " + "word " * 3000 + "\n---\nBody.\n",
        "---\nname: thing\ndescription: Does it.\n---",
        "---\n---\n",
        "---",
        "",
    ],
    ids=range(17),
)
def test_a_card_says_what_the_whole_file_says(main: Path, text: str) -> None:
    main.write_bytes(text.encode())
    whole = read_skill(read_document(text.encode()), fallback_name="thing")
    found = card(main)
    assert (found.name, found.description, found.gates) == (whole.name, whole.description, whole.gates)
    assert (found.when, found.hint) == (whole.when_to_use, whole.argument_hint)


LINES = st.sampled_from(
    ["---", "name: thing", "description: Does it.", "----", "--- x", "# Heading", "Prose.", "", "key: value", LONG * 15]
)


@settings(max_examples=150, deadline=None)
@given(lines=st.lists(LINES, max_size=12))
def test_a_card_and_the_whole_file_agree_whatever_the_file(lines: list[str], tmp_path_factory: Any) -> None:
    directory = tmp_path_factory.mktemp("any") / "thing"
    directory.mkdir()
    text = "\n".join(lines)
    (directory / "SKILL.md").write_text(text)
    whole = read_skill(read_document(text), fallback_name="thing")
    found = card(directory / "SKILL.md")
    assert (found.name, found.description) == (whole.name, whole.description)


# categories


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ndescription: In the frontmatter.\n---\nBody.\n", "In the frontmatter."),
        ("# Heading\n\nThe first prose.\n\nMore.\n", "The first prose."),
        ("---\ndescription: [a, list]\n---\n", ""),
        ("", ""),
    ],
)
def test_a_category_is_described_in_one_line(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "DESCRIPTION.md").write_text(text)
    assert read_category(str(tmp_path / "DESCRIPTION.md")) == expected


def test_a_description_that_cannot_be_read_is_an_error_of_the_system(
    tmp_path: Path, unprivileged: Callable[[str], Any]
) -> None:
    with pytest.raises(OSError, match="DESCRIPTION"):
        read_category(str(tmp_path / "DESCRIPTION.md"))
    assert (
        unprivileged("""
from whet.library.card_reader import read_category
open(top + "/DESCRIPTION.md", "w").close()
os.chmod(top + "/DESCRIPTION.md", 0)
try:
    read_category(top + "/DESCRIPTION.md")
except PermissionError as error:
    answer = error.errno
""")
        == 13
    )


SAID = st.sampled_from(
    [
        *(
            "license: MIT",
            "version: 1.10",
            "tags: [a, b]",
            "tags:\n  - a",
            "category: c",
            "when_to_use: Now.",
            "odd: 1",
        ),
        *("metadata:\n  author: me", "metadata:\n  hermes:\n    tags: [a, b]\n    category: x", "name: other", "# c"),
        *("metadata:\n  hermes:\n    tags:\n      - a\n    config:\n      - key: b", "metadata:\n  hermes: x"),
        *(
            "metadata:\n  openclaw:\n    requires:\n      bins:\n        - jq\n      env: [A]",
            "metadata: text",
            "metadata:",
        ),
        *(
            "metadata:\n  a: b\n  openclaw:\n    os: [linux]\n    always: true",
            "platforms: [linux]",
            "description: Again.",
        ),
        *(
            "metadata: {openclaw: {requires: {bins: [jq]}}}",
            "argument-hint: <file>",
            "  deeper: 1",
            "- item",
            "x: \xe9",
        ),
    ]
)
DESCRIBED = st.sampled_from(
    ["Does it.", "'Does: it'", ">-\n  Does\n  it.", "TODO says what it does in one sentence", "3", ""]
)


BESIDE = st.sampled_from(["", "references", "agents", "skill.json"])


@settings(max_examples=200, deadline=None)
@given(st.lists(SAID, max_size=3), st.integers(0, 3), DESCRIBED, BESIDE, st.sampled_from(["", "acme"]), st.booleans())
@example([], 0, "Does it.", "", "", True)
def test_wherever_a_card_is_read_quickly_it_is_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[str],
    place: int,
    description: str,
    beside: str,
    namespace: str,
    settled: bool,
) -> None:
    path = tmp_path_factory.mktemp("quick") / "a-b" / "SKILL.md"
    path.parent.mkdir()
    if beside.endswith(".json"):
        (path.parent / beside).write_text('{"category": "said"}')
    elif beside:
        (path.parent / beside).mkdir()
    rows = [*entries[:place], "name: a-b", f"description: {description}", *entries[place:]]
    path.write_text("---\n" + "".join(f"{row}\n" for row in rows) + "---\nBody.\n")
    root, now = ROOT._replace(namespace=namespace), time.time_ns() + (AHEAD if settled else 0)
    card, quick = read(path, root=root, now=now), quick_card(str(path.parent), "a-b", "", root, now)
    assert quick in (None, card)
    assert quick is not None or entries or description != "Does it." or beside not in ("", "references")
    assert card is not None
    if not beside:
        assert card.gates == read_skill(read_document(path.read_bytes()), fallback_name="a-b").gates


def test_what_is_no_ordinary_skill_is_not_read_quickly(main: Path) -> None:
    def quick() -> Card | None:
        return quick_card(str(main.parent), "thing", "", ROOT, time.time_ns() + AHEAD)

    text = "---\nname: thing\ndescription: Does it.\n---\n"
    with pytest.raises(FileNotFoundError):
        quick()
    main.mkdir()
    assert quick() is None
    main.rmdir()
    (main.parent / "other.md").write_text(text)
    main.symlink_to("other.md")
    assert quick() is None
    main.unlink()
    os.mkfifo(main)
    assert quick() is None
    main.unlink()
    main.write_text(text + "x" * MAX_DOCUMENT)
    assert quick() is None
    main.write_text(text)
    assert quick() == card(main)

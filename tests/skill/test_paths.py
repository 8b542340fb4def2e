from __future__ import annotations

import posixpath
import unicodedata
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import UsageError
from whet.skill.paths import SUPPORT_DIRECTORIES, check, collides, shown

FAST = settings(max_examples=200, deadline=None)


@pytest.mark.parametrize(
    "path",
    [
        "SKILL.md",
        "references/guide.md",
        "a/b/c/d.txt",
        ".hidden",
        "..a/b..c/.d",
        "notes with spaces/a b.md",
        "日本語/メモ.md",
        "cafe\u0301.md",
        "🗂\ufe0f/index.md",
        "console.md",
        "com10",
        "nulls/auxiliary.txt",
        "a" * 255,
        "/".join(["d"] * 16),
        "~/x",
        "$HOME/x",
        "%2e%2e/x",
    ],
)
def test_a_safe_path_is_returned_as_it_is(path: str) -> None:
    assert check(path) == path


REFUSED = [
    ("", "path-empty"),
    ("  ", "path-empty"),
    ("/etc/passwd", "path-absolute"),
    ("//server/share", "path-absolute"),
    (".", "path-traversal"),
    ("..", "path-traversal"),
    ("../x", "path-traversal"),
    ("references/../../x", "path-traversal"),
    ("references/./x", "path-traversal"),
    ("references//x", "path-traversal"),
    ("references/", "path-traversal"),
    ("references\\x", "path-backslash"),
    ("..\\x", "path-backslash"),
    ("\\x", "path-backslash"),
    ("\\\\server\\share", "path-drive"),
    ("C:\\x", "path-drive"),
    ("c:x", "path-drive"),
    ("C:/x", "path-drive"),
    ("references/a.md:stream", "path-drive"),
    ("file:///etc/passwd", "path-drive"),
    ("a\x00b", "path-control"),
    ("a\nb", "path-control"),
    ("a.md\n", "path-control"),
    ("a\x7f", "path-control"),
    ("a\x85", "path-control"),
    ("a\u202egpj.exe", "path-control"),
    ("a\u200bb", "path-control"),
    ("\ufeffa", "path-control"),
    ("a\u2028b", "path-control"),
    ("a\U000e0041b", "path-control"),
    ("\u3164", "path-control"),
    ("a\ud800b", "path-control"),
    ("a" * 256, "path-too-long"),
    ("é" * 128, "path-too-long"),
    ("/".join(["d"] * 17), "path-too-long"),
    ("/".join(["d" * 200] * 6), "path-too-long"),
    ("/".join(["é" * 100] * 6), "path-too-long"),
    ("x" * 1_000_000, "path-too-long"),
    ("...", "path-reserved"),
    ("a.", "path-reserved"),
    ("a /b", "path-reserved"),
    ("references/b. /c", "path-reserved"),
    ("CON", "path-reserved"),
    ("references/nul", "path-reserved"),
    ("nul.tar.gz", "path-reserved"),
    ("Aux.md/x", "path-reserved"),
    ("prn .txt", "path-reserved"),
    ("COM1", "path-reserved"),
    ("lpt9.log", "path-reserved"),
    ("COM¹.txt", "path-reserved"),
    ("conin$", "path-reserved"),
]


@pytest.mark.parametrize("writing", [False, True])
@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_an_unsafe_path_is_refused_with_its_reason(path: str, code: str, writing: bool) -> None:
    with pytest.raises(UsageError) as caught:
        check(path, writing=writing)
    assert caught.value.code == code
    assert caught.value.hint
    assert len(caught.value.message) < 400
    assert caught.value.message.isprintable()


def test_an_empty_path_is_not_quoted() -> None:
    with pytest.raises(UsageError, match=r"^The path is empty\.$"):
        check(" ")


@pytest.mark.parametrize("directory", SUPPORT_DIRECTORIES)
def test_the_support_directories_can_be_written(directory: str) -> None:
    assert check(f"{directory}/deep/er/a.md", writing=True) == f"{directory}/deep/er/a.md"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.md", "path-not-support"),
        ("references", "path-not-support"),
        ("References/a.md", "path-not-support"),
        ("docs/a.md", "path-not-support"),
        (".git/config", "path-not-support"),
        ("SKILL.md", "path-main-file"),
        ("skill.md", "path-main-file"),
        ("references/SKILL.md", "path-main-file"),
        ("references/a/Skill.MD", "path-main-file"),
        ("references/\u017fkill.md", "path-main-file"),
        ("references/SKILL.md/a", "path-main-file"),
    ],
)
def test_writing_is_bound_to_the_support_directories(path: str, code: str) -> None:
    assert check(path) == path
    with pytest.raises(UsageError) as caught:
        check(path, writing=True)
    assert caught.value.code == code


def test_a_path_to_write_is_composed_and_a_path_to_read_is_not() -> None:
    assert check("references/cafe\u0301.md", writing=True) == "references/caf\u00e9.md"
    assert check("references/cafe\u0301.md") == "references/cafe\u0301.md"


def test_the_message_names_the_path_and_what_is_wrong_with_it() -> None:
    with pytest.raises(UsageError) as caught:
        check("references/../../etc\u202e")
    assert caught.value.to_json() == {
        "success": False,
        "error": "The path 'references/../../etc\\u202e' contains control or invisible characters.",
        "code": "path-control",
        "hint": "Use visible characters only.",
    }


def test_a_long_path_is_shortened_where_it_is_shown() -> None:
    assert shown("x" * 81) == "'" + "x" * 80 + "…'"


SEGMENTS = st.sampled_from(["a", "..", ".", "", "references", "SKILL.md", "nul", "é", "a\\b", "C:", "\u202e", "b.md"])


@FAST
@given(st.text(max_size=60) | st.lists(SEGMENTS, max_size=6).map("/".join), st.booleans())
def test_what_passes_stays_inside_on_every_system(path: str, writing: bool) -> None:
    try:
        safe = check(path, writing=writing)
    except UsageError:
        return
    assert posixpath.normpath(posixpath.join("/skill", safe)) == f"/skill/{safe}"
    assert not {"\\", ":", "\0"} & set(safe)
    assert check(safe, writing=writing) == safe
    if writing:
        assert safe.split("/")[0] in SUPPORT_DIRECTORIES
        assert safe == unicodedata.normalize("NFC", path)


@pytest.mark.parametrize(
    ("paths", "pairs"),
    [
        ([], ()),
        (["a", "b", "a.md", "d/a", "d/b"], ()),
        (["a", "a"], (("a", "a"),)),
        (["README.md", "readme.md"], (("README.md", "readme.md"),)),
        (["caf\u00e9", "cafe\u0301"], (("caf\u00e9", "cafe\u0301"),)),
        (["CAFE\u0301", "caf\u00e9"], (("CAFE\u0301", "caf\u00e9"),)),
        (["Straße", "STRASSE"], (("Straße", "STRASSE"),)),
        (["a", "a/b"], (("a", "a/b"),)),
        (["a/b/c", "A"], (("a/b/c", "A"),)),
        (["a/b", "a/b/c", "a/b/d"], (("a/b", "a/b/c"),)),
        (["Docs/a", "docs/b", "docs/c"], (("Docs/a", "docs/b"),)),
        (["d/", "d/", "d/a"], ()),
        (["d/", "d"], (("d/", "d"),)),
        (["d", "D/"], (("d", "D/"),)),
        (["ab", "a/b", "a-b"], ()),
    ],
)
def test_collisions_are_pairs_that_some_system_cannot_hold(
    paths: list[str], pairs: tuple[tuple[str, str], ...]
) -> None:
    assert collides(paths) == pairs


@FAST
@given(st.lists(st.sampled_from(["a", "A", "b", "a/b", "A/b", "a/B/c", "é", "e\u0301", "b/"]), max_size=4))
def test_whether_paths_collide_does_not_depend_on_their_order(paths: list[str]) -> None:
    assert len({bool(collides(order)) for order in permutations(paths)}) == 1

from __future__ import annotations

import hashlib
import posixpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import InvalidError
from whet.skill.tree import Entry, digest, escapes, file_entry, ignored, library_digest, link_entry

FAST = settings(max_examples=200, deadline=None)
ENTRIES = st.builds(
    file_entry,
    st.text(min_size=1, max_size=12).filter(lambda path: "\0" not in path and not ignored(path)),
    st.binary(max_size=4),
    executable=st.booleans(),
) | st.builds(
    link_entry,
    st.text(min_size=1, max_size=12).filter(lambda path: "\0" not in path and not ignored(path)),
    st.text(max_size=4),
)
TREES = st.lists(ENTRIES, max_size=6, unique_by=lambda entry: entry.path)


def test_entries_hold_the_hash_of_content_or_target() -> None:
    assert file_entry("a", b"data", executable=True) == Entry(
        "a", "file", executable=True, size=4, sha256=hashlib.sha256(b"data").hexdigest()
    )
    assert link_entry("l", "é") == Entry(
        "l", "link", executable=False, size=2, sha256=hashlib.sha256("é".encode()).hexdigest(), target="é"
    )


def test_the_digest_is_the_documented_hash_of_the_sorted_lines() -> None:
    entries = [file_entry("b", b"2", executable=True), link_entry("c", "a"), file_entry("a", b"1")]
    lines = (
        b"a\0file\0" + hashlib.sha256(b"1").hexdigest().encode() + b"\n",
        b"b\0executable\0" + hashlib.sha256(b"2").hexdigest().encode() + b"\n",
        b"c\0link\0" + hashlib.sha256(b"a").hexdigest().encode() + b"\n",
    )
    assert digest(entries) == "sha256:" + hashlib.sha256(b"".join(lines)).hexdigest()


def test_the_digest_of_a_known_package_never_changes() -> None:
    entries = [
        file_entry("SKILL.md", b"---\nname: golden\n---\nBody.\n"),
        file_entry("scripts/run.sh", b"#!/bin/sh\n", executable=True),
        file_entry(".env.example", b""),
        file_entry("references/é.md", b"x"),
        link_entry("references/latest.md", "é.md"),
    ]
    assert digest(entries) == "sha256:c47f402ad211b7e4364e9b75ae0a1df89665bddaa4c1e428ff11d18e25b0092d"
    assert digest([]) == "sha256:" + hashlib.sha256(b"").hexdigest()


def test_paths_are_sorted_by_their_bytes_not_their_characters() -> None:
    low, high = file_entry("\uff5e", b""), file_entry("\U00010000", b"")
    empty = hashlib.sha256(b"").hexdigest().encode()
    lines = b"".join(b"%s\0file\0%s\n" % (path.encode(), empty) for path in ("\uff5e", "\U00010000"))
    assert digest([high, low]) == "sha256:" + hashlib.sha256(lines).hexdigest()


@FAST
@given(TREES)
def test_the_digest_does_not_depend_on_order(entries: list[Entry]) -> None:
    assert digest(entries) == digest(reversed(entries)) == digest(sorted(entries))


@FAST
@given(TREES, TREES)
def test_different_trees_have_different_digests(one: list[Entry], other: list[Entry]) -> None:
    assert (digest(one) == digest(other)) == (sorted(one) == sorted(other))


@pytest.mark.parametrize(
    "changed",
    [
        file_entry("b", b"1"),
        file_entry("a", b"2"),
        file_entry("a", b"1", executable=True),
        link_entry("a", "1"),
    ],
)
def test_path_content_executable_bit_and_kind_all_count(changed: Entry) -> None:
    assert digest([changed]) != digest([file_entry("a", b"1")])


def test_the_executable_mark_of_a_link_does_not_count() -> None:
    link = link_entry("a", "b")
    assert digest([link._replace(executable=True)]) == digest([link])


def test_ignored_entries_do_not_count() -> None:
    kept = [file_entry("SKILL.md", b"1"), file_entry(".gitignore", b"2")]
    noise = [file_entry(path, b"x") for path in (".git/config", "scripts/__pycache__/a.pyc", "assets/.DS_Store")]
    assert digest(kept + noise) == digest(kept)


def test_a_path_listed_twice_is_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        digest([file_entry("a", b"1"), file_entry("a", b"1")])
    assert caught.value.to_json() == {
        "success": False,
        "error": "The path 'a' is listed twice in one package.",
        "code": "duplicate-path",
        "hint": "List each file once.",
    }


def test_a_path_that_could_imitate_other_entries_is_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        digest([file_entry("a\0file\0", b"1")])
    assert caught.value.code == "path-control"


def test_undecodable_file_names_have_digests_of_their_own() -> None:
    names = ["\udcff", "\udced\udcb3\udcbf", "\ufffd", "\ud800"]
    assert len({digest([file_entry(name, b"")]) for name in names}) == len(names)


@FAST
@given(st.lists(st.tuples(st.text(max_size=6), st.sampled_from(["sha256:1", "sha256:2"])), max_size=5))
def test_the_library_digest_depends_on_the_skills_and_not_on_their_order(pairs: list[tuple[str, str]]) -> None:
    assert library_digest(pairs) == library_digest(reversed(pairs))
    assert library_digest(pairs) != library_digest([*pairs, ("user:more", "sha256:3")])


def test_a_name_cannot_imitate_another_skill_in_the_library_digest() -> None:
    two = [("a", "sha256:1"), ("b", "sha256:2")]
    assert library_digest(two) != library_digest([("asha256:1\n1:b", "sha256:2")])
    assert library_digest(two) == "sha256:717c89caf511588e501b5faa9b6bac193bdaefb879ed3f9e335d2575e6e631b8"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("SKILL.md", False),
        (".gitignore", False),
        (".github/x", False),
        ("a/.git", True),
        (".git/config", True),
        ("a/__pycache__/b.pyc", True),
        (".DS_Store", True),
        ("a.DS_Store", False),
    ],
)
def test_ignored_looks_at_every_segment(path: str, expected: bool) -> None:
    assert ignored(path) == expected


@pytest.mark.parametrize(
    ("link", "target", "expected"),
    [
        ("a", "b", False),
        ("a", "d/b", False),
        ("a", "./b", False),
        ("a", ".", False),
        ("d/a", "..", False),
        ("d/a", "../b", False),
        ("d/e/a", "../../b/c", False),
        ("a", "..b/c", False),
        ("a", "..", True),
        ("a", "../b", True),
        ("d/a", "../../b", True),
        ("d/a", "./../../b", True),
        ("a", "/etc/passwd", True),
        ("a", "\\windows", True),
        ("a", "C:\\x", True),
        ("a", "c:x", True),
        ("a", "..\\b", True),
        ("d/a", "..\\b", False),
        ("d/a", "x\\y/../../../z", True),
        ("a", "", True),
        ("a", "b/../c", True),
        ("a", "up/..", True),
    ],
)
def test_a_link_that_may_lead_out_of_the_package_escapes(link: str, target: str, expected: bool) -> None:
    assert escapes(link, target) == expected


PARTS = st.lists(st.sampled_from(["..", ".", "a", "b", ""]), min_size=1, max_size=5).map("/".join)


@FAST
@given(st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=4).map("/".join), PARTS)
def test_a_link_that_stays_stays_when_it_is_resolved(link: str, target: str) -> None:
    if not escapes(link, target):
        resolved = posixpath.normpath(posixpath.join("/skill", posixpath.dirname(link), target))
        assert resolved == "/skill" or resolved.startswith("/skill/")


@FAST
@given(st.dictionaries(st.sampled_from(["a", "d/b", "d/e/c"]), PARTS, max_size=3), st.sampled_from(["a", "d/b"]))
def test_links_that_stay_one_by_one_stay_when_they_are_chained(links: dict[str, str], start: str) -> None:
    """Resolve as an operating system does, link by link, and watch the depth."""
    links = {link: target for link, target in links.items() if not escapes(link, target)}
    todo = start.split("/")
    place: list[str] = []
    for _ in range(100):
        if not todo:
            break
        part = todo.pop(0)
        if part == "..":
            assert place, "left the package"
            place.pop()
        elif part not in {"", "."}:
            target = links.get("/".join([*place, part]))
            if target is None:
                place.append(part)
            else:
                todo = target.split("/") + todo

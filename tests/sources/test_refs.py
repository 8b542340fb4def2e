"""From what people type to where it leads: every spelling, and nothing that is written to mislead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sources.refs_table import DISK, FORGES, GH, GITHUB, ODD, SECRETS, SHA, SUM, UNKNOWN, WEB, WINDOWS, git
from whet.errors import UsageError, WhetError
from whet.library.roots import Place
from whet.notes import Note
from whet.sources.model import KINDS, Ref
from whet.sources.refs.parse import candidates, existing, read_ref, reading_notes, ref_text, shown

if TYPE_CHECKING:
    from pathlib import Path

PLACE = Place("/w", "/h", "/s", "linux", {})
WINDOWS_PLACE = Place(r"D:\w", r"D:\h", r"D:\s", "win32", {})
TABLE = {**GITHUB, **FORGES, **DISK, **WEB}


@pytest.mark.parametrize(("text", "ref"), TABLE.items())
def test_what_people_type_means_one_place(text: str, ref: Ref) -> None:
    assert read_ref(text, PLACE) == ref


@pytest.mark.parametrize(("text", "ref"), WINDOWS.items())
def test_windows_paths_are_paths_on_windows(text: str, ref: Ref) -> None:
    assert read_ref(text, WINDOWS_PLACE) == ref
    assert read_ref(ref_text(ref), WINDOWS_PLACE) == ref


@pytest.mark.parametrize("ref", list(dict.fromkeys(TABLE.values())), ids=ref_text)
def test_the_text_of_a_reference_reads_back_wherever_it_is_read(ref: Ref) -> None:
    assert read_ref(ref_text(ref), PLACE) == read_ref(ref_text(ref), PLACE._replace(directory="/elsewhere")) == ref


@pytest.mark.parametrize("ref", list(dict.fromkeys(TABLE.values())), ids=ref_text)
def test_what_people_are_shown_means_the_same(ref: Ref) -> None:
    assert read_ref(shown(ref), PLACE) == ref


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:60])
def test_odd_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_ref(text, PLACE)
    assert (raised.value.code, bool(raised.value.hint)) == ("bad-source", True)
    assert len(raised.value.message) < 300


@pytest.mark.parametrize("text", [r"\\server\share", "//server/share", "C:skills", r"path:\\server\share"])
def test_windows_shares_and_paths_without_root_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_ref(text, WINDOWS_PLACE)
    assert raised.value.code in ("bad-source", "unknown-source")


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_word_that_could_be_anything_is_no_source(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_ref(text, PLACE)
    assert (raised.value.code, bool(raised.value.hint)) == ("unknown-source", True)


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_refused_and_never_repeated(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_ref(text, PLACE)
    assert raised.value.code == "secret-in-address"
    assert "hunter2" not in str(raised.value.to_json())


@pytest.mark.parametrize(
    "text",
    [
        "user:hunter2@github.com/acme/skills",
        "https://user:hunter2/x@acme.example//x",
        "ftp://user:hunter2@acme.example/x",
        "acme.example/x?token=hunter2",
        "x://hunter2@acme.example",
    ],
)
def test_no_refusal_repeats_what_may_be_a_secret(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_ref(text, PLACE)
    assert "hunter2" not in str(raised.value.to_json())


@pytest.mark.parametrize(
    ("ref", "text", "short"),
    [
        (git(GH, "main", "packs/pdf"), f"git:{GH}#ref=main&path=packs/pdf", "acme/skills/packs/pdf@main"),
        (git(GH), f"git:{GH}", "acme/skills"),
        (git(GH, path="my skill"), f"git:{GH}#path=my%20skill", f"git:{GH}#path=my%20skill"),
        (git(GH, path="a%2Fb&c#d"), f"git:{GH}#path=a%252Fb%26c%23d", f"git:{GH}#path=a%252Fb%26c%23d"),
        (git(GH, path="a@b"), f"git:{GH}#path=a@b", f"git:{GH}#path=a@b"),
        (git(GH, path="書類"), f"git:{GH}#path=書類", "acme/skills/書類"),
        (
            git("https://gitlab.com/a/b/c.git", "v1"),
            "git:https://gitlab.com/a/b/c.git#ref=v1",
            "gitlab:a/b/c@v1",
        ),
        (
            git("https://gitlab.com/a/b.git", path="c"),
            "git:https://gitlab.com/a/b.git#path=c",
            "git:https://gitlab.com/a/b.git#path=c",
        ),
        (git("ssh://git@a.example/b"), "git:ssh://git@a.example/b", "ssh://git@a.example/b"),
        (git("https://a.example/b"), "git:https://a.example/b", "git:https://a.example/b"),
        (Ref("path", "/my dir/50%"), "path:/my%20dir/50%25", "/my dir/50%"),
        (Ref("path", "/a#b", path="c"), "path:/a%23b#path=c", "path:/a%23b#path=c"),
        (Ref("url", "https://a.example/x.zip?y=1"), "url:https://a.example/x.zip?y=1", "https://a.example/x.zip?y=1"),
        (
            Ref("url", "https://a.example/x.zip", f"sha256:{SUM}"),
            f"url:https://a.example/x.zip#ref=sha256:{SUM}",
            f"https://a.example/x.zip#sha256={SUM}",
        ),
        (Ref("well-known", "https://a.example"), "well-known:https://a.example", "https://a.example"),
        (
            Ref("well-known", "https://a.example/x.md"),
            "well-known:https://a.example/x.md",
            "well-known:https://a.example/x.md",
        ),
        (Ref("clawhub", "https://clawhub.ai"), "clawhub:https://clawhub.ai", "https://clawhub.ai"),
        (
            Ref("clawhub", "https://clawhub.ai", "1.0", "a/b"),
            "clawhub:https://clawhub.ai#ref=1.0&path=a/b",
            "clawhub:a/b@1.0",
        ),
        (
            Ref("hub", "https://a.example/b", "1.0", "c/d"),
            "hub:https://a.example/b#ref=1.0&path=c/d",
            "hub:https://a.example/b/c/d@1.0",
        ),
        (Ref("hub", "https://a.example/b/c"), "hub:https://a.example/b/c#path=", "hub:https://a.example/b/c#path="),
        (Ref("marketplace", GH, "v1", "a/b"), f"marketplace:{GH}#ref=v1&path=a/b", "marketplace:acme/skills@v1#a/b"),
        (Ref("marketplace", "/w/m"), "marketplace:/w/m", "marketplace:/w/m"),
    ],
)
def test_a_reference_is_written_for_the_lock_and_for_people(ref: Ref, text: str, short: str) -> None:
    assert (ref_text(ref), shown(ref)) == (text, short)


def test_a_branch_with_slashes_is_tried_step_by_step() -> None:
    ref = read_ref("https://github.com/acme/skills/tree/feature/new/pdf", PLACE)
    assert candidates(ref) == (
        git(GH, "feature", "new/pdf"),
        git(GH, "feature/new", "pdf"),
        git(GH, "feature/new/pdf"),
    )


@pytest.mark.parametrize("ref", [git(GH), git(GH, "main"), git(GH, path="pdf"), git(GH, SHA, "a/b"), Ref("path", "/w")])
def test_where_there_is_nothing_to_guess_there_is_one_candidate(ref: Ref) -> None:
    assert candidates(ref) == (ref,)


def test_an_archive_that_lies_here_may_be_named_plainly(tmp_path: Path) -> None:
    place = PLACE._replace(directory=str(tmp_path))
    for name in ("x.skill", "x.zip", "x.tar.gz"):
        (tmp_path / name).write_bytes(b"")
        assert existing(name, place) == Ref("archive", str(tmp_path / name))
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme/x.zip").write_bytes(b"")
    assert existing("acme/x.zip", place) == Ref("archive", str(tmp_path / "acme/x.zip"))
    assert existing("acme/y.zip", place) is None
    assert read_ref("acme/x.zip", place) == git("https://github.com/acme/x.zip")


def test_the_disk_decides_what_a_path_is(tmp_path: Path) -> None:
    place = PLACE._replace(directory=str(tmp_path))
    (tmp_path / "dir.zip").mkdir()
    (tmp_path / "download").write_bytes(b"")
    assert read_ref("./dir.zip", place) == Ref("path", str(tmp_path / "dir.zip"))
    assert read_ref("./download", place) == Ref("archive", str(tmp_path / "download"))
    assert read_ref((tmp_path / "dir.zip").as_uri(), place) == git((tmp_path / "dir.zip").as_uri())


def test_a_directory_that_looks_like_a_repository_is_told_of(tmp_path: Path) -> None:
    place = PLACE._replace(directory=str(tmp_path))
    (tmp_path / "acme/skills/a b").mkdir(parents=True)
    (tmp_path / "acme/skills/SKILL.md").touch()
    path, hint = str(tmp_path / "acme/skills"), "Write github:acme/skills for the GitHub repository."
    assert read_ref("acme/skills", place) == git(GH), "what a lock or a skill says does not depend on the disk"
    for text in ("acme/skills", "acme/skills/", " acme/skills", "acme/skills/SKILL.md"):
        assert existing(text, place) == Ref("path", path), text
    message = f"acme/skills is a directory here, and Whet uses it. {hint}"
    assert reading_notes("acme/skills/", place) == (Note("local-directory-too", "info", message, hint, path=path),)
    assert reading_notes("acme/skills", place, ["acme"])[0].hint == "Write acme:skills for the tap."
    others = ("./acme/skills", "acme/other", "https://github.com/acme/skills", "", "a\0b/c", path)
    assert [(existing(text, place), reading_notes(text, place)) for text in others] == [(None, ())] * len(others)
    assert reading_notes("acme/skills/a b", place) == (), "nothing else can be meant"
    assert existing("acme", place) is None
    assert reading_notes("acme", place)[0].hint == "Write ./acme to use the directory."


def test_a_directory_named_by_a_bare_word_is_hinted_at(tmp_path: Path) -> None:
    (tmp_path / "pdf").mkdir()
    with pytest.raises(UsageError) as raised:
        read_ref("pdf", PLACE._replace(directory=str(tmp_path)))
    assert (raised.value.code, raised.value.hint) == ("unknown-source", "Write ./pdf for the directory of that name.")


SEGMENT = st.text(
    st.characters(exclude_characters="/\\", exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=9
).filter(lambda text: text not in (".", "..") and not _hides(text))
NAME = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,9}", fullmatch=True)
INNER = st.just("") | st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)
REVISION = st.just("") | st.from_regex(
    r"[A-Za-z0-9_][A-Za-z0-9_+@&=%#-]{0,9}(/[A-Za-z0-9_-]{1,5}){0,2}", fullmatch=True
)
HOST = st.from_regex(r"([a-z][a-z0-9-]{0,5}[a-z0-9]\.){1,2}example(:[1-9][0-9]{3})?", fullmatch=True)
WEB_PLACE = st.builds(
    lambda host, parts: "/".join((f"https://{host}", *parts)),
    HOST,
    st.lists(NAME.filter(lambda n: "." not in n), max_size=3),
)
OWNED = st.tuples(
    st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True), NAME.filter(lambda name: not name.endswith(".git"))
)
LOCATIONS = {
    "path": st.lists(SEGMENT, max_size=4).map(lambda parts: "/" + "/".join(parts)),
    "archive": st.lists(SEGMENT, max_size=4).map(lambda parts: "/" + "/".join(parts)),
    "git": OWNED.map(lambda pair: "https://github.com/" + "/".join(pair))
    | OWNED.map(lambda pair: "ssh://git@github.com/" + "/".join(pair))
    | st.tuples(HOST, NAME).map(lambda pair: f"https://{pair[0]}/{pair[1]}"),
    "url": WEB_PLACE.map(lambda place: f"{place}/SKILL.md"),
    "well-known": WEB_PLACE,
    "clawhub": WEB_PLACE,
    "hub": WEB_PLACE,
    "gallery": st.just("whet"),
    "oci": st.sampled_from(("https://registry.acme.example/a/b-c", "http://127.0.0.1:5000/review")),
    "marketplace": WEB_PLACE.map(lambda place: f"{place}/marketplace.json"),
}


def _hides(text: str) -> bool:
    from whet.skill.names import hidden

    return any(map(hidden, text))


@st.composite
def refs(draw: st.DrawFn) -> Ref:
    """A reference in its one spelling."""
    kind = draw(st.sampled_from(KINDS))
    return Ref(kind, draw(LOCATIONS[kind]), draw(REVISION), draw(INNER))


@settings(max_examples=200, deadline=None)
@given(refs())
def test_every_reference_is_read_back_from_its_text_and_from_what_is_shown(ref: Ref) -> None:
    assume(len(ref_text(ref)) <= 2048)
    assert read_ref(ref_text(ref), PLACE) == ref
    if ref.kind not in ("path", "archive"):
        assert read_ref(shown(ref), PLACE) == ref


WORDS = """
https:// git+ git@ github.com acme / // .. : @ # ? %2F % .git tree - ref= path= & ~ \\ skills _git file:// C:
marketplace: hub: clawhub: path: git: src branch raw SKILL.md a.zip é
"""
PIECES = st.sampled_from(WORDS.split())


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | st.lists(PIECES, max_size=12).map("".join))
def test_any_text_is_one_reference_or_an_error(text: str) -> None:
    for place in (PLACE, WINDOWS_PLACE):
        try:
            ref = read_ref(text, place)
        except WhetError as error:
            code, ref = error.code, None
        if ref is None:
            assert code in ("bad-source", "unknown-source", "secret-in-address")
        else:
            assert ref.kind in KINDS
            assert read_ref(ref_text(ref), place) == ref

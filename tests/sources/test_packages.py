from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whet.errors import AmbiguousError, InvalidError, NotFoundError, WhetError
from whet.notes import Note
from whet.skill import paths
from whet.skill.archive import contents, pack
from whet.skill.finder import MAIN_FILES, SKIPPED, SOURCE, find_skills, main_file
from whet.skill.tree import DEFAULT_LIMITS, Item, Tree, escapes, ignored
from whet.sources.model import Listing, Offer, Ref
from whet.sources.packages import (
    FETCH_BYTES,
    Archived,
    archived,
    choose,
    describe,
    left_out,
    offered,
    package_at,
    weigh,
)

FAST = settings(max_examples=200, deadline=None)
MAIN = b"---\nname: deploy\ndescription: Ships it.\nversion: 1.2.0\n---\nBody.\n"


# --- which directories hold a skill ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], ()),
        (["README.md", "docs/a.md"], ()),
        (["SKILL.md"], ("",)),
        (["a/SKILL.md", "b/c/SKILL.md"], ("a", "b/c")),
        (["b/SKILL.md", "a/SKILL.md", "\u00e9/SKILL.md", "Z/SKILL.md"], ("Z", "a", "b", "\u00e9")),
        (["a/skill.md"], ("a",)),
        (["a/skills.md"], ("a",)),
        (["a/Skill.md", "b/SKILLS.md", "c/SKILL.MD", "d/xSKILL.md"], ("a", "b")),
        (["a/SKILL.md", "a/examples/b/SKILL.md", "a/b/skill.md"], ("a",)),
        (["SKILL.md", "skills/a/SKILL.md"], ("",)),
        (["ab/SKILL.md", "a/SKILL.md", "a-b/SKILL.md"], ("a", "a-b", "ab")),
        (["skills.md", "a/SKILL.md", "b/SKILL.md"], ("a", "b")),
        (["skills.md", "SKILL.md", "a/SKILL.md"], ("",)),
        (["skill.md", "a/SKILL.md"], ("",)),
        (["skills/.curated/a/SKILL.md", ".claude/skills/b/SKILL.md"], (".claude/skills/b", "skills/.curated/a")),
        ([f"{name}/a/SKILL.md" for name in sorted(SKIPPED)], ()),
        (["x/.git/SKILL.md", "x/node_modules/y/SKILL.md", "x/.venv/lib/site-packages/z/SKILL.md"], ()),
        (["node_modules/SKILL.md/SKILL.md"], ()),
        (["/".join(["d"] * SOURCE.depth) + "/SKILL.md"], ("/".join(["d"] * SOURCE.depth),)),
        (["/".join(["d"] * (SOURCE.depth + 1)) + "/SKILL.md"], ()),
        (["/SKILL.md", "/etc/SKILL.md"], ("/etc",)),
    ],
)
def test_the_directories_with_a_skill_are_found(files: list[str], expected: tuple[str, ...]) -> None:
    assert find_skills(files) == expected
    assert find_skills(reversed(files)) == expected


def test_many_paths_take_little_work() -> None:
    files = [f"d{number % 500}/e{number % 7000}/f{number}.md" for number in range(100_000)]
    files += [f"s{number}/x/SKILL.md" for number in range(5_000)]
    files += ["/".join(["d"] * 50_000) + "/SKILL.md"] * 20
    assert len(find_skills(files)) == 5_000


SEGMENT = st.sampled_from(
    ["a", "b", "B", "\u00e9", "e\u0301", ".git", ".claude", "node_modules", "..", "", "~", "con", "x\udcff", "SKILL.md"]
)
NAME = st.sampled_from(["SKILL.md", "skill.md", "skills.md", "a", "b", "README.md", ".DS_Store", "-x"])
PATHS = st.builds(lambda above, name: "/".join([*above, name]), st.lists(SEGMENT, max_size=4), NAME)


@FAST
@given(st.lists(PATHS, max_size=20))
@example(["skills.md", "node_modules/SKILL.md"])
def test_found_directories_have_a_main_file_and_do_not_contain_each_other(files: list[str]) -> None:
    found = find_skills(files)
    assert found == tuple(sorted(set(found), key=lambda item: item.encode("utf-8", "surrogatepass")))
    for directory in found:
        assert main_file(set(files), directory)
        assert SKIPPED.isdisjoint(directory.split("/"))
        assert not any(other != directory and f"{other}/".startswith(f"{directory}/") for other in found if directory)
    for path in files:
        directory, _, name = path.rpartition("/")
        searched = SKIPPED.isdisjoint(directory.split("/")) and not path.startswith("/")
        if name == "SKILL.md" and searched:
            assert any(not item or f"{directory}/".startswith(f"{item}/") for item in found)


# --- what a main file says ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("directory", "main", "expected"),
    [
        ("skills/x", MAIN, ("deploy", "Ships it.", "1.2.0", False)),
        ("skills/x", b"# Title\n\nSays something.\n", ("x", "Says something.", "", False)),
        ("", b"---\ndescription: D.\n---\n", ("repo", "D.", "", False)),
        ("x", b"---\nname: 5\nmetadata:\n  internal: true\n---\n", ("5", "", "", True)),
        ("x", b"---\nmetadata: '{internal: true, version: 2}'\n---\n", ("x", "", "2", True)),
        ("x", b"---\nmetadata:\n  internal: no\n---\n", ("x", "", "", False)),
        ("x", b"---\nname: {a: 1}\n---\n", ("x", "", "", False)),
        ("x", b"", ("x", "", "", False)),
    ],
)
def test_a_main_file_is_read_leniently(directory: str, main: bytes, expected: tuple[str, str, str, bool]) -> None:
    ref = REF._replace(path=directory)
    name, description, version, hidden = expected
    offer = Offer(name, description, ref, "r", "m", version, hidden=hidden)
    assert describe(ref, main, fallback="repo", revision="r", marker="m") == offer


@FAST
@given(st.binary(max_size=300))
def test_any_main_file_is_described(main: bytes) -> None:
    assert isinstance(describe(REF._replace(path="x"), b"---\n" + main).name, str)


# --- the package in a directory -------------------------------------------------------------------------------------


def tree(**more: Item) -> Tree:
    return {"s/SKILL.md": Item(MAIN), **{f"s/{path}": item for path, item in more.items()}}


def test_a_package_has_the_files_of_its_directory() -> None:
    files = {
        "s/scripts/run.sh": Item(b"x", executable=True),
        "s/SKILL.md": Item(MAIN),
        "s/latest": Item(b"scripts/run.sh", link=True),
        "s/.git/config": Item(b"x"),
        "s/scripts/__pycache__/a.pyc": Item(b"x"),
        "s2/SKILL.md": Item(b"other"),
        "README.md": Item(b"x"),
    }
    package = package_at(files, "s")
    assert list(package.items()) == [
        ("SKILL.md", Item(MAIN)),
        ("latest", Item(b"scripts/run.sh", link=True)),
        ("scripts/run.sh", Item(b"x", executable=True)),
    ]
    assert package_at(package, "") == package


def test_the_older_names_of_a_main_file_stay() -> None:
    assert package_at({"skill.md": Item(b"x")}, "") == {"skill.md": Item(b"x")}
    assert package_at({"a/skills.md": Item(b"x")}, "a") == {"skills.md": Item(b"x")}


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({}, "archive-no-skill"),
        ({"s/README.md": Item(b"")}, "archive-no-skill"),
        ({"s/deep/SKILL.md": Item(b"")}, "archive-no-skill"),
        ({"s/SKILL.md": Item(b"README.md", link=True), "s/README.md": Item(b"")}, "archive-no-skill"),
        (tree(**{"../x": Item(b"")}), "archive-unsafe-path"),
        (tree(**{"-rf": Item(b"")}), "archive-unsafe-path"),
        (tree(**{"~/x": Item(b"")}), "archive-unsafe-path"),
        (tree(**{"x\udcff": Item(b"")}), "archive-unsafe-path"),
        (tree(**{".GIT/config": Item(b"")}), "archive-unsafe-path"),
        (tree(**{"/".join(["d"] * 17): Item(b"")}), "archive-unsafe-path"),
        (tree(x=Item(b""), X=Item(b"")), "archive-collision"),
        (tree(**{"skill.md": Item(b"")}), "archive-collision"),
        (tree(**{"x": Item(b""), "x/y": Item(b"")}), "archive-collision"),
        (tree(**{"x": Item(b"scripts", link=True), "x/y": Item(b"")}), "archive-collision"),
        (tree(x=Item(b"../y", link=True)), "link-escape"),
        (tree(x=Item(b"/etc/passwd", link=True)), "link-escape"),
        (tree(x=Item(b"C:\\x", link=True)), "link-escape"),
        (tree(x=Item(b"", link=True)), "link-escape"),
        (tree(x=Item(b"a/../../y", link=True)), "link-escape"),
        (tree(x=Item(b"y\0", link=True)), "archive-unsafe-path"),
        (tree(x=Item(b"\xff", link=True)), "archive-unsafe-path"),
        (tree(x=Item(b"y" * 2000, link=True)), "archive-unsafe-path"),
        (tree(**{f"f{number}": Item(b"") for number in range(2_000)}), "archive-too-many-files"),
        (tree(x=Item(bytes(16 * 1024 * 1024 + 1))), "archive-too-large"),
        (tree(**{f"f{number}": Item(bytes(16 * 1024 * 1024)) for number in range(5)}), "archive-too-large"),
        ({"s/SKILL.md": Item(bytes(1024 * 1024 + 1))}, "archive-too-large"),
    ],
)
def test_a_package_is_taken_wholly_or_not_at_all(files: Tree, code: str) -> None:
    with pytest.raises(InvalidError) as caught:
        package_at(files, "s")
    assert caught.value.code == code
    assert caught.value.hint
    assert caught.value.message.isprintable()


def test_a_directory_with_an_unsafe_name_is_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        package_at({"a/../b/SKILL.md": Item(b"")}, "a/../b")
    assert caught.value.code == "archive-unsafe-path"


ITEMS = st.builds(Item, st.sampled_from([b"", b"a", b"../a", b"a/b", b"/a"]), st.booleans(), st.booleans())


@FAST
@given(st.dictionaries(PATHS, ITEMS, max_size=12), st.sampled_from(["", "a", "a/b", ".claude"]))
def test_every_package_can_be_stored_and_stays_within_itself(files: Tree, directory: str) -> None:
    try:
        package = package_at(files, directory)
    except InvalidError:
        return
    prefix = f"{directory}/" if directory else ""
    inside = {path.removeprefix(prefix): item for path, item in files.items() if path.startswith(prefix)}
    assert package == {path: item for path, item in inside.items() if not ignored(path)}
    assert not package[main_file(package, "")].link
    assert not paths.collides(package)
    for path, item in package.items():
        assert paths.check(path) == path
        assert not item.link or not escapes(path, item.data.decode())


def test_skills_that_are_too_much_together_are_refused() -> None:
    assert weigh({"SKILL.md": Item(b"123")}, 4) == 7
    assert weigh({"SKILL.md": Item(b"1")}, FETCH_BYTES - 1) == FETCH_BYTES
    with pytest.raises(InvalidError) as caught:
        weigh({"SKILL.md": Item(b"1")}, FETCH_BYTES)
    assert caught.value.code == "source-too-large"


def test_what_fits_a_package_fits_an_archive() -> None:
    files = {f"f{number}": Item(b"") for number in range(DEFAULT_LIMITS.files - 1)}
    package = package_at({"SKILL.md": Item(b""), **files}, "")
    packed = pack("a", package)
    assert len(contents(packed)[0]) == DEFAULT_LIMITS.files


# --- archives with several skills -----------------------------------------------------------------------------------


def test_the_one_folder_of_an_archive_does_not_count() -> None:
    data = pack("a", {"SKILL.md": Item(MAIN), "scripts/x": Item(b"1", executable=True)})
    assert archived(data) == Archived("a", {"SKILL.md": Item(MAIN), "scripts/x": Item(b"1", executable=True)}, ())


REF = Ref("archive", "/x.zip")


def test_the_skills_of_an_archive_are_offered_with_what_was_left_out() -> None:
    files = {"one/SKILL.md": Item(MAIN), "one/x": Item(b"1"), "two/SKILL.md": Item(b"Two."), "README.md": Item(b"")}
    found, notes = offered(
        REF, Archived("", files, ("one/.git/config", "__MACOSX/x")), revision="sha256:1", fallback="f"
    )
    assert [(item.offer.name, item.offer.ref.path, item.offer.revision, sorted(item.tree)) for item in found] == [
        ("deploy", "one", "sha256:1", ["SKILL.md", "x"]),
        ("two", "two", "sha256:1", ["SKILL.md"]),
    ]
    assert [item.notes for item in found] == [left_out(["one/.git/config"], "deploy"), ()]
    assert notes == left_out(["__MACOSX/x"])


def test_a_reference_to_a_directory_in_an_archive_means_that_one() -> None:
    files = {"SKILL.md": Item(MAIN), "extra/a/SKILL.md": Item(b"A."), "extra/b/SKILL.md": Item(b"B.")}
    archive = Archived("top", files, ())
    found, _ = offered(REF, archive, revision="r", fallback="f")
    assert [item.offer.ref for item in found] == [REF]
    found, _ = offered(REF._replace(path="extra"), archive, revision="r", fallback="f")
    assert [item.offer.ref.path for item in found] == ["extra/a", "extra/b"]
    found, _ = offered(REF._replace(path="extra/a"), archive, revision="r", fallback="f")
    assert [(item.offer.ref.path, item.tree) for item in found] == [("extra/a", {"SKILL.md": Item(b"A.")})]
    with pytest.raises(NotFoundError) as caught:
        offered(REF._replace(path="ext"), archive, revision="r", fallback="f")
    assert caught.value.code == "no-skills-found"


def test_a_refused_skill_does_not_hide_the_others() -> None:
    bad = {"bad/SKILL.md": Item(MAIN), "bad/-x": Item(b"")}
    archive = Archived("", {"good/SKILL.md": Item(b"Good."), **bad}, ())
    found, notes = offered(REF, archive, revision="r", fallback="f")
    assert [item.offer.name for item in found] == ["good"]
    assert [(note.code, note.severity, note.skill, note.path) for note in notes] == [
        ("archive-unsafe-path", "error", "deploy", "bad")
    ]
    with pytest.raises(InvalidError) as caught:
        offered(REF, Archived("", bad, ()), revision="r", fallback="f")
    assert caught.value.code == "archive-unsafe-path"


# --- choosing -------------------------------------------------------------------------------------------------------


def offer(name: str, path: str, *, hidden: bool = False) -> Offer:
    return Offer(name, "", Ref("git", "https://example.com/r", path=path), "c0ffee", hidden=hidden)


DEPLOY, REVIEW, INNER = offer("Deploy_It", "skills/deploy"), offer("review", "x/review-2"), offer("i", "i", hidden=True)
LISTING = Listing(Ref("git", "https://example.com/r"), "c0ffee", (DEPLOY, REVIEW, INNER))


@pytest.mark.parametrize(
    ("names", "take_all", "expected"),
    [
        (["deploy-it"], False, (DEPLOY,)),
        (["deploy"], False, (DEPLOY,)),
        (["skills/deploy"], False, (DEPLOY,)),
        (["./skills/deploy/"], False, (DEPLOY,)),
        (["REVIEW", "review-2", "x/review-2"], False, (REVIEW,)),
        (["review", "deploy"], False, (REVIEW, DEPLOY)),
        (["i"], False, (INNER,)),
        ([], True, (DEPLOY, REVIEW)),
        (["i"], True, (INNER, DEPLOY, REVIEW)),
    ],
)
def test_skills_are_chosen_by_name_directory_or_path(
    names: list[str], take_all: bool, expected: tuple[Offer, ...]
) -> None:
    assert choose(LISTING, names, all=take_all) == expected


def test_the_only_skill_needs_no_name() -> None:
    assert choose(LISTING._replace(offers=(DEPLOY, INNER)), [], all=False) == (DEPLOY,)


def test_an_internal_skill_is_taken_when_the_reference_names_it() -> None:
    assert choose(Listing(INNER.ref, "c0ffee", (INNER,)), [], all=False) == (INNER,)


def failure(listing: Listing, *names: str) -> WhetError:
    with pytest.raises(WhetError) as caught:
        choose(listing, names, all=False)
    assert caught.value.hint
    return caught.value


def test_several_skills_are_listed_so_that_one_can_be_named() -> None:
    error = failure(LISTING._replace(offers=(DEPLOY, REVIEW, offer("review", "y"), INNER)))
    assert (type(error), error.code) == (AmbiguousError, "several-skills")
    assert error.details == {"candidates": ["Deploy_It", "x/review-2", "y"], "descriptions": ["", "", ""]}


def test_a_name_that_several_skills_have_is_ambiguous() -> None:
    error = failure(LISTING._replace(offers=(REVIEW, offer("Review", ""))), "review")
    assert (type(error), error.code) == (AmbiguousError, "ambiguous-skill")
    assert error.details == {"candidates": ["x/review-2", "."]}
    assert choose(LISTING._replace(offers=(REVIEW, offer("Review", ""))), ["."], all=False) == (offer("Review", ""),)


@pytest.mark.parametrize("name", ["", "nothing-like-it", "skills", "/etc"])
def test_an_unknown_name_is_an_error(name: str) -> None:
    assert failure(LISTING, name).code == "skill-not-in-source"


def test_an_unknown_name_gets_the_closest_ones() -> None:
    error = failure(LISTING, "reveiw")
    assert (type(error), error.code) == (NotFoundError, "skill-not-in-source")
    assert error.details == {"suggestions": ["review"]}


def test_naming_a_skill_that_was_refused_says_why() -> None:
    note = Note(
        "link-escape", "error", "It has a link that leaves it.", "Copy the file.", skill="broken", path="skills/broken"
    )
    for name in ("broken", "skills/broken"):
        error = failure(LISTING._replace(notes=(note,)), name)
        assert (error.code, error.message, error.hint) == ("link-escape", note.message, note.hint)
    assert failure(LISTING._replace(offers=(), notes=(note,))).code == "link-escape"


def test_a_source_without_skills_or_with_internal_ones_only_says_so() -> None:
    assert failure(LISTING._replace(offers=())).code == "no-skills-found"
    error = failure(LISTING._replace(offers=(INNER,)))
    assert (error.code, error.details) == ("no-skills-found", {"suggestions": ["i"]})


def test_thousands_of_offers_are_chosen_from_quickly() -> None:
    offers = tuple(offer(f"skill-{number}", f"skills/{number}") for number in range(5_000))
    assert len(failure(LISTING._replace(offers=offers)).details["candidates"]) == 5_000
    assert choose(LISTING._replace(offers=offers), ["4999"], all=False) == (offers[4999],)


def test_every_name_of_a_main_file_is_one_that_is_found() -> None:
    assert [find_skills([f"a/{name}"]) for name in MAIN_FILES] == [("a",)] * len(MAIN_FILES)

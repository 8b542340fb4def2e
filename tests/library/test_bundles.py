"""Bundle files: read leniently, reported when they cannot be used, written so that they read back the same."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import ConflictError, FailedError, InvalidError, NotFoundError, UsageError
from whet.library.bundles import (
    MAX_FILES,
    MAX_SIZE,
    MAX_SKILLS,
    Bundle,
    find_bundle,
    read_bundles,
    remove_bundle,
    save_bundle,
)
from whet.notes import Note

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and modes of POSIX")
HINT = "A bundle is a YAML file with name, description, skills and instruction. Fix it or remove it."


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A directory with nothing else in it."""
    made = tmp_path / "bundles"
    made.mkdir()
    return made


def write(directory: Path, name: str, text: str | bytes) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def invalid(path: str, reason: str, line: int | None = None) -> Note:
    return Note(
        "bundle-invalid", "error", f"{os.path.basename(path)} is left out: {reason}.", HINT, path=path, line=line
    )


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_bundle_is_read_with_all_it_says(shelf: Path) -> None:
    path = write(
        shelf,
        "release.yaml",
        "# ours\nname: Release Day\ndescription: All of it.\nskills: [changelog, 'slack:announce']\n"
        "instruction: |\n  Stop before\n  publishing.\n",
    )
    bundle = Bundle(
        "Release Day", "release-day", "All of it.", ("changelog", "slack:announce"), "Stop before\npublishing.\n", path
    )
    assert read_bundles([str(shelf)]) == ((bundle,), ())
    assert bundle.to_json() == {
        "name": "Release Day",
        "slug": "release-day",
        "description": "All of it.",
        "skills": ["changelog", "slack:announce"],
        "instruction": "Stop before\npublishing.\n",
        "path": path,
    }


@pytest.mark.parametrize(
    ("skills", "expected"),
    [
        ("- a\n- b\n- a", ("a", "b")),
        (" one-name", ("one-name",)),
        (" Code Review, ledger", ("Code Review", "ledger")),
        (' ["7", " b "]', ("7", "b")),
    ],
)
def test_skills_are_a_list_or_a_line_of_names(shelf: Path, skills: str, expected: tuple[str, ...]) -> None:
    path = write(shelf, "set.yml", f"skills:{skills}\n" if skills[0] == " " else f"skills:\n{skills}\n")
    assert read_bundles([str(shelf)]) == ((Bundle("set", "set", "", expected, "", path),), ())


def test_the_name_falls_back_to_the_files(shelf: Path) -> None:
    paths = [
        write(shelf, "My_Set.YAML", "\ufeffname:\r\nskills: a\r\n"),
        write(shelf, "empty.yaml", 'name: ""\nskills: a\n'),
        write(shelf, "year.yaml", "name: 2026.10\nskills: a\n"),
    ]
    assert read_bundles([str(shelf)]) == (
        (
            Bundle("My_Set", "my-set", "", ("a",), "", paths[0]),
            Bundle("empty", "empty", "", ("a",), "", paths[1]),
            Bundle("2026.10", "2026-10", "", ("a",), "", paths[2]),
        ),
        (),
    )


def test_only_visible_yaml_files_of_the_directory_itself_are_bundles(shelf: Path) -> None:
    for name in ("a.yaml.before", "a.yaml.removed", "a.txt", ".a.yaml", "._a.yml"):
        write(shelf, name, "skills: a\n")
    write(shelf / "below", "a.yaml", "skills: a\n")
    assert read_bundles([str(shelf)]) == ((), ())


def test_a_missing_directory_holds_nothing(shelf: Path) -> None:
    assert read_bundles([str(shelf / "none")]) == ((), ())
    assert read_bundles([]) == ((), ())


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        (b"skills: \xff\n", "byte 0xff is not UTF-8", None),
        ("skills: *x\n", "alias *x has no anchor before it", 1),
        ("- a\n- b\n", "not a mapping of keys to values", 1),
        ("", "it names no skills", None),
        ("name: x\n", "it names no skills", None),
        ("name: x\nskills:\n", "it names no skills", 2),
        ("skills: []\n", "it names no skills", 1),
        ("skills: ' , '\n", "it names no skills", 1),
        ("skills: 7\n", "skills is not a list of names", 1),
        ("skills: {a: b}\n", "skills is not a list of names", 1),
        ("skills: [a, 7]\n", "skills is not a list of names", 1),
        ("skills:\n  - name: a\n", "skills is not a list of names", 1),
        ("skills: [a, '']\n", "skills is not a list of names", 1),
        ("skills: [a, ~]\n", "skills is not a list of names", 1),
        ("name: [x]\nskills: a\n", "name is not text", 1),
        ("skills: a\ninstruction: {x: y}\n", "instruction is not text", 2),
        ("skills: a\nname: '!!!'\n", "its name '!!!' has no letter or digit", 2),
        ("skills: a\nskills: b\n", "the key 'skills' is given twice", 2),
        ("skills: a\n---\nskills: b\n", "a second YAML document", 2),
        ("skills: a # " + "x" * MAX_SIZE, "it is larger than 65,536 bytes", None),
        (f"skills: [{', '.join(f's{n}' for n in range(MAX_SKILLS + 1))}]\n", "it names 65 skills, more than 64", 1),
    ],
)
def test_a_file_that_cannot_be_used_is_left_out_and_reported(
    shelf: Path, text: str | bytes, reason: str, line: int | None
) -> None:
    path = write(shelf, "broken.yaml", text)
    good = write(shelf, "good.yaml", "skills: a\n")
    assert read_bundles([str(shelf)]) == (
        (Bundle("good", "good", "", ("a",), "", good),),
        (invalid(path, reason, line),),
    )


def test_aliases_cannot_blow_up(shelf: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 9)]
    path = write(shelf, "bomb.yaml", "\n".join((*rows, "skills: *a8", "")))
    assert read_bundles([str(shelf)]) == (
        (),
        (invalid(path, "more than 20,000 values once aliases are followed", 5),),
    )


@posix
def test_what_is_no_file_is_reported(shelf: Path) -> None:
    (shelf / "a.yaml").mkdir()
    os.mkfifo(shelf / "b.yaml")
    (shelf / "c.yaml").symlink_to(shelf / "none")
    assert read_bundles([str(shelf)]) == (
        (),
        (
            invalid(str(shelf / "a.yaml"), "not a regular file"),
            invalid(str(shelf / "b.yaml"), "not a regular file"),
            invalid(str(shelf / "c.yaml"), "No such file or directory"),
        ),
    )
    assert read_bundles([write(shelf, "file", "x")]) == ((), (invalid(str(shelf / "file"), "Not a directory"),))


@posix
def test_a_link_to_a_file_elsewhere_is_followed(shelf: Path) -> None:
    target = write(shelf / "elsewhere", "shared.yaml", "skills: a\n")
    (shelf / "bundles").mkdir()
    link = shelf / "bundles" / "mine.yaml"
    link.symlink_to(target)
    assert read_bundles([str(shelf / "bundles")]) == ((Bundle("mine", "mine", "", ("a",), "", str(link)),), ())


def test_the_first_bundle_of_a_name_wins(shelf: Path) -> None:
    first = write(shelf / "one", "b.yaml", "name: my set\nskills: a\n")
    second = write(shelf / "one", "c.yaml", "name: My_Set\nskills: b\n")
    third = write(shelf / "two", "a.yaml", "name: my-set\nskills: c\nodd: 1\n")
    other = write(shelf / "two", "z.yaml", "skills: d\n")
    directories = [str(shelf / "one"), str(shelf / "two"), f"{shelf}/one/../one"]
    message = f"{first} has the same name /my-set; this one is left out."
    assert read_bundles(directories) == (
        (Bundle("my set", "my-set", "", ("a",), "", first), Bundle("z", "z", "", ("d",), "", other)),
        (
            Note("bundle-duplicate", "warning", message, "Rename one of the two.", path=second),
            Note("bundle-duplicate", "warning", message, "Rename one of the two.", path=third),
        ),
    )


def test_unknown_keys_are_named(shelf: Path) -> None:
    path = write(shelf, "a.yaml", "skill: x\nskills: a\n" + "".join(f"k{n}: 1\n" for n in range(9)))
    assert read_bundles([str(shelf)]) == (
        (Bundle("a", "a", "", ("a",), "", path),),
        (
            Note(
                "bundle-unknown-key",
                "info",
                "A bundle has no key 'skill', 'k0', 'k1', 'k2', 'k3'; it is ignored.",
                "The keys are name, description, skills, instruction.",
                path=path,
            ),
        ),
    )


def test_a_directory_of_too_many_files_is_cut_and_reported(shelf: Path) -> None:
    for number in range(MAX_FILES + 1):
        write(shelf, f"b{number:04}.yaml", "skills: a\n")
    bundles, report = read_bundles([str(shelf)])
    assert [bundle.name for bundle in bundles] == [f"b{number:04}" for number in range(MAX_FILES)]
    message = "The directory has 1,001 bundles; only the first 1,000 are read."
    assert report == (Note("bundle-invalid", "error", message, "Move unused bundles elsewhere.", path=str(shelf)),)


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_saved_bundle_is_a_file_that_people_can_read(shelf: Path) -> None:
    directory = shelf / "new" / "bundles"
    saved = save_bundle(
        str(directory),
        name="Release day",
        skills=["changelog", " slack:announce ", "changelog"],
        description="on",
        instruction="Stop before\npublishing: ask.",
    )
    path = directory / "release-day.yaml"
    assert saved == Bundle(
        "Release day", "release-day", "on", ("changelog", "slack:announce"), "Stop before\npublishing: ask.", str(path)
    )
    assert path.read_text(encoding="utf-8") == (
        'name: Release day\ndescription: "on"\nskills:\n  - changelog\n  - slack:announce\n'
        "instruction: |-\n  Stop before\n  publishing: ask.\n"
    )
    assert read_bundles([str(directory)]) == ((saved,), ())
    assert os.listdir(directory) == ["release-day.yaml"]


def test_one_skill_may_be_given_as_it_is(shelf: Path) -> None:
    assert save_bundle(str(shelf), name="a", skills="ledger").skills == ("ledger",)


def test_a_bundle_is_not_overwritten_unasked(shelf: Path) -> None:
    first = save_bundle(str(shelf), name="My set", skills=["a"])
    with pytest.raises(ConflictError) as caught:
        save_bundle(str(shelf), name="my_set", skills=["b"])
    assert caught.value.to_json() == {
        "success": False,
        "error": f"The bundle /my-set already exists: {first.path}.",
        "code": "bundle-exists",
        "hint": "Choose another name, or overwrite it with `--force`.",
        "path": first.path,
    }
    assert read_bundles([str(shelf)]) == ((first,), ())


def test_what_is_overwritten_stays_beside_the_file(shelf: Path) -> None:
    path = write(shelf, "my-set.yaml", b"broken: [\xff")
    with pytest.raises(ConflictError):
        save_bundle(str(shelf), name="my set", skills=["a"])
    saved = save_bundle(str(shelf), name="my set", skills=["a"], overwrite=True)
    assert (shelf / "my-set.yaml.before").read_bytes() == b"broken: [\xff"
    assert read_bundles([str(shelf)]) == ((Bundle("my set", "my-set", "", ("a",), "", path),), ())
    before = (shelf / "my-set.yaml").read_bytes()
    again = save_bundle(str(shelf), name="my set", skills=["b"], overwrite=True)
    assert (shelf / "my-set.yaml.before").read_bytes() == before
    assert again == saved._replace(skills=("b",))


@posix
def test_a_private_bundle_stays_private(shelf: Path) -> None:
    path = write(shelf, "a.yaml", "skills: x\n")
    os.chmod(path, 0o600)
    save_bundle(str(shelf), name="a", skills=["y"], overwrite=True)
    assert [os.stat(name).st_mode & 0o777 for name in (path, f"{path}.before")] == [0o600, 0o600]


def test_a_bundle_is_replaced_in_the_file_it_lies_in(shelf: Path) -> None:
    path = write(shelf, "team.yml", "name: Release\nskills: a\n")
    saved = save_bundle(str(shelf), name="release", skills=["b"], overwrite=True)
    assert saved == Bundle("release", "release", "", ("b",), "", path)
    assert read_bundles([str(shelf)]) == ((saved,), ())
    assert sorted(os.listdir(shelf)) == ["team.yml", "team.yml.before"]


def test_nothing_is_overwritten_that_cannot_be_kept(shelf: Path) -> None:
    (shelf / "a.yaml").mkdir()
    with pytest.raises(FailedError) as caught:
        save_bundle(str(shelf), name="a", skills=["b"], overwrite=True)
    assert caught.value.code == "read-failed"
    assert os.listdir(shelf) == ["a.yaml"]


@pytest.mark.parametrize(
    ("name", "skills", "instruction", "code", "message"),
    [
        ("!!!", ["a"], "", "bundle-name", "The name '!!!' has no letter or digit."),
        ("a", [], "", "bundle-empty", "The bundle 'a' names no skill."),
        ("a", [" ", ""], "", "bundle-empty", "The bundle 'a' names no skill."),
        (
            "a",
            [f"s{n}" for n in range(65)],
            "",
            "bundle-too-large",
            "The bundle 'a' has 65 of at most 64 skills and 526 of at most 65,536 bytes.",
        ),
        (
            "a",
            ["s"],
            "x" * MAX_SIZE,
            "bundle-too-large",
            "The bundle 'a' has 1 of at most 64 skills and 65,572 of at most 65,536 bytes.",
        ),
        ("con", ["a"], "", "path-reserved", None),
        ("𐐨" * 64, ["a"], "", "path-too-long", None),
    ],
)
def test_a_bundle_that_could_not_be_read_is_not_written(
    shelf: Path, name: str, skills: list[str], instruction: str, code: str, message: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        save_bundle(str(shelf), name=name, skills=skills, instruction=instruction)
    assert caught.value.code == code
    assert message in (None, caught.value.message)
    assert os.listdir(shelf) == []


def test_half_a_character_is_refused(shelf: Path) -> None:
    with pytest.raises(InvalidError) as caught:
        save_bundle(str(shelf), name="a", skills=["b"], instruction="\ud800")
    assert caught.value.code == "cannot-edit"
    assert os.listdir(shelf) == []


TEXTS = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        ["", "no", "1.10", "~", "2026-01-01", "a: b", "- a", "a # b", "|\n", " x ", "\n", "a\n\n", "\t", "'", '"']
    ),
    st.lists(st.sampled_from(["a", "\n", " ", "\t", "#", ":", "-", "'", '"', "\r", "\x85", "\u2028"])).map("".join),
)


@given(TEXTS, st.lists(TEXTS.filter(str.strip), min_size=1, max_size=5), TEXTS, TEXTS)
@settings(max_examples=150, deadline=None)
def test_every_text_reads_back_as_it_was_saved(
    title: str, skills: list[str], description: str, instruction: str
) -> None:
    name = f"{title}set"
    with tempfile.TemporaryDirectory() as directory:
        saved = save_bundle(directory, name=name, skills=skills, description=description, instruction=instruction)
        assert (saved.name, saved.description, saved.instruction) == (name, description, instruction)
        assert saved.skills == tuple(dict.fromkeys(skill.strip() for skill in skills))
        assert read_bundles([directory]) == ((saved,), ())


# --- removing and finding ---------------------------------------------------------------------------------------------


def test_a_removed_bundle_stays_beside_its_place(shelf: Path) -> None:
    first = save_bundle(str(shelf), name="a", skills=["x"])
    content = (shelf / "a.yaml").read_bytes()
    write(shelf, "a.yaml.removed", "older")
    assert remove_bundle(first) == f"{first.path}.removed"
    assert read_bundles([str(shelf)]) == ((), ())
    assert {name: (shelf / name).read_bytes() for name in os.listdir(shelf)} == {"a.yaml.removed": content}
    with pytest.raises(NotFoundError) as caught:
        remove_bundle(first)
    assert (caught.value.code, caught.value.message) == ("bundle-not-found", f"{first.path} no longer exists.")


BUNDLES = tuple(Bundle(name, name, "", ("a",), "", f"/b/{name}.yaml") for name in ("release-day", "review"))


@pytest.mark.parametrize("name", ["release-day", "Release_Day", "RELEASE DAY"])
def test_a_bundle_is_found_however_its_name_is_spelled(name: str) -> None:
    assert find_bundle(BUNDLES, name) == BUNDLES[0]


@pytest.mark.parametrize(
    ("name", "hint", "suggestions"),
    [
        ("realease-day", "Did you mean release-day?", ["release-day"]),
        ("!!!", "`whet prompt bundle list` shows them.", []),
    ],
)
def test_an_unknown_bundle_comes_with_the_closest_names(name: str, hint: str, suggestions: list[str]) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_bundle(BUNDLES, name)
    assert caught.value.to_json() == {
        "success": False,
        "error": f"There is no bundle {name!r}.",
        "code": "bundle-not-found",
        "hint": hint,
        "suggestions": suggestions,
    }

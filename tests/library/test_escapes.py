"""Nothing outside a skill is ever given out: not by a path, not by a link, not by a race."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from whet.errors import WhetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whet.api import Library

BODY = "# Guide\n\nRead [a](references/a.md).\n"


@pytest.fixture
def guide(root: str, skill: Callable[..., str]) -> str:
    """A skill with a supporting file; gives its directory."""
    directory = os.path.dirname(skill(root, "web/guide", body=BODY))
    os.mkdir(f"{directory}/references")
    with open(f"{directory}/references/a.md", "w") as file:
        file.write("# A\n")
    return directory


BAD_PATHS = [
    ("", "path-empty"),
    (" ", "path-empty"),
    ("/", "path-absolute"),
    ("/etc/passwd", "path-absolute"),
    ("//server/share", "path-absolute"),
    ("..", "path-traversal"),
    ("../secret", "path-traversal"),
    ("../../secret", "path-traversal"),
    ("references/../../secret", "path-traversal"),
    ("references/../SKILL.md", "path-traversal"),
    ("references/..", "path-traversal"),
    (".", "path-traversal"),
    ("./SKILL.md", "path-traversal"),
    ("references/./a.md", "path-traversal"),
    ("references//a.md", "path-traversal"),
    ("references/", "path-traversal"),
    ("references/a.md/", "path-traversal"),
    ("..\\secret", "path-backslash"),
    ("references\\a.md", "path-backslash"),
    ("references\\..\\..\\secret", "path-backslash"),
    ("\\\\server\\share", "path-drive"),
    ("C:\\secret", "path-drive"),
    ("C:secret", "path-drive"),
    ("c:/secret", "path-drive"),
    ("references/a.md:stream", "path-drive"),
    ("file:///etc/passwd", "path-drive"),
    ("references/a.md\0.png", "path-control"),
    ("\0", "path-control"),
    ("references/a.md\n", "path-control"),
    ("references/\ta.md", "path-control"),
    ("references/a\u202emd", "path-control"),
    ("references/\u200ba.md", "path-control"),
    ("\x1b[31mred", "path-control"),
    ("references/\ud800", "path-control"),
    ("CON", "path-reserved"),
    ("references/nul.md", "path-reserved"),
    ("aux/a.md", "path-reserved"),
    ("references/a.md.", "path-reserved"),
    ("references/a.md ", "path-reserved"),
    ("references /a.md", "path-reserved"),
    ("a/" * 20 + "b", "path-too-long"),
    ("x" * 2000, "path-too-long"),
    ("é" * 200, "path-too-long"),
    ("references/out/secret.txt", "path-escape"),
    ("references/out-file", "path-escape"),
    ("references/absolute", "path-escape"),
    ("sneaky", "path-escape"),
    ("~/secret", "file-not-found"),
    ("$HOME/secret", "file-not-found"),
    ("%2e%2e/secret", "file-not-found"),
    ("references", "file-not-found"),
    ("pipe", "file-not-found"),
    ("＿.．/secret", "file-not-found"),
]


@pytest.mark.parametrize(("path", "code"), BAD_PATHS)
def test_no_path_leads_out_of_a_skill(
    path: str, code: str, guide: str, root: str, tmp_path: Path, opened: Callable[..., Library]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "root" / "secret").write_text("secret")
    os.symlink(tmp_path, f"{guide}/references/out")
    os.symlink("../../../../secret.txt", f"{guide}/references/out-file")
    os.symlink(secret, f"{guide}/references/absolute")
    os.symlink("references/../../../secret", f"{guide}/sneaky")
    os.mkfifo(f"{guide}/pipe")
    with pytest.raises(WhetError) as caught:
        opened(root).read("guide", path)
    assert caught.value.code == code
    assert caught.value.hint


# a race


def flipping(place: str, link_to: str, aside: str, stop: threading.Event) -> threading.Thread:
    """A thread that turns a directory into a link to another one and back, over and over."""
    os.symlink(link_to, f"{aside}.link")

    def flip() -> None:
        while not stop.is_set():
            os.rename(place, aside)
            os.rename(f"{aside}.link", place)
            os.rename(place, f"{aside}.link")
            os.rename(aside, place)

    return threading.Thread(target=flip)


@pytest.mark.parametrize("flipped", ["references", "."], ids=["a directory in the skill", "the skill itself"])
def test_a_race_of_directory_and_link_never_gives_out_a_secret(
    flipped: str,
    guide: str,
    root: str,
    tmp_path: Path,
    skill: Callable[..., str],
    opened: Callable[..., Library],
    *,
    quick: bool,
) -> None:
    outside = tmp_path / "outside"
    skill(str(tmp_path), "outside", description="A secret.", body="A secret.\n")
    for name in ("a.md", "references/a.md"):
        (outside / name).parent.mkdir(exist_ok=True)
        (outside / name).write_text("A secret.")
    stop = threading.Event()
    reads = 25 if quick else 400
    place = os.path.normpath(f"{guide}/{flipped}")
    flipper = flipping(place, str(outside), str(tmp_path / "aside"), stop)
    seen: set[str] = set()
    failures: list[BaseException] = []

    def read(library: Library) -> None:
        for _ in range(reads):
            try:
                seen.add(library.read("guide", "references/a.md").content)
                answer = library.read("guide").to_json()
                seen.add(answer["content"])
                seen.update(note["code"] for note in answer["diagnostics"])
            except WhetError as error:
                seen.add(error.code)
            except BaseException as error:  # noqa: BLE001  whatever it is, the test must fail with it
                failures.append(error)

    libraries = [opened(root) for _ in range(4)]
    readers = [threading.Thread(target=read, args=[library]) for library in libraries]
    for thread in (flipper, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    flipper.join()
    assert [str(failure) for failure in failures] == []
    assert [library.read("guide").content for library in libraries] == [BODY] * 4  # how the race ends is known
    assert not {text for text in seen if "secret" in text.lower()}
    refusals = {
        "file-not-found",
        "path-escape",
        "unreadable",
        "skill-gone",
        "skill-not-found",
        "link-escape",
        "link-broken",
    }
    assert seen <= {"# A\n", BODY, *refusals}

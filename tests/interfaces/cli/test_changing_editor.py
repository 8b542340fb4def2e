"""`whet edit` with an editor: a small program that does what a person would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess


@pytest.fixture
def thing(skill: Callable[..., Path]) -> Path:
    """The skill that is edited."""
    return skill("thing", "Does one thing. Use when one thing is asked for.")


@pytest.fixture
def editor(env: dict[str, str], tmp_path: Path) -> Callable[..., None]:
    """Make the editor a program: Python code that finds the path in `path` and the text in `text`."""

    def write(code: str, name: str = "EDITOR") -> None:
        file = tmp_path / "an editor.py"
        head = "import sys, pathlib\npath = pathlib.Path(sys.argv[-1])\ntext = path.read_text(encoding='utf-8')\n"
        file.write_text(head + code, encoding="utf-8")
        env[name] = f'"{sys.executable}" "{file}" --wait'

    return write


def answer(run: CompletedProcess[str]) -> dict[str, Any]:
    assert (run.stderr, run.stdout.count("\n")) == ("", 1)
    loaded = json.loads(run.stdout)
    assert isinstance(loaded, dict)
    return loaded


def left(tmp_path: Path) -> list[str]:
    """The copies that are kept."""
    return sorted(str(path) for path in (tmp_path / "state" / "edits").rglob("*") if path.is_file())


def test_what_the_editor_leaves_becomes_the_skill(
    thing: Path, tmp_path: Path, editor: Callable[..., None], whet: Callable[..., CompletedProcess[str]]
) -> None:
    editor("assert sys.argv[1] == '--wait' and path.name == 'SKILL.md'\npath.write_text(text.replace('it', 'that'))")
    run = whet("edit", "thing", "--reason", "Clearer.")
    assert (run.returncode, run.stdout) == (0, f"{thing}\n")
    assert run.stderr == "Changed thing; SKILL.md now says version 2.\n"
    assert (thing / "SKILL.md").read_text(encoding="utf-8").endswith("---\nDo that.\n")
    assert (os.listdir(thing), left(tmp_path)) == (["SKILL.md"], [])


def test_visual_comes_before_editor_and_prints_into_no_document(
    thing: Path, env: dict[str, str], editor: Callable[..., None], whet: Callable[..., CompletedProcess[str]]
) -> None:
    editor("print('busy')\npath.write_text(text + 'More.\\n')", "VISUAL")
    env["EDITOR"] = "no-such-editor"
    told = answer(whet("edit", "thing", "--json"))
    assert (told["name"], told["path"], told["version"], told["entry"]) == ("thing", str(thing), "2", 2)


def test_an_unchanged_text_changes_nothing(
    thing: Path, tmp_path: Path, editor: Callable[..., None], whet: Callable[..., CompletedProcess[str]]
) -> None:
    editor("path.with_name('SKILL.md~').write_text(text)")
    run = whet("edit", "thing")
    said = "No change: the text is the same.\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{thing}\n", said)
    told = answer(whet("edit", "thing", "--json"))
    assert told == {
        "success": True,
        "action": "edit",
        "name": "thing",
        "path": str(thing),
        "version": "",
        "digest": answer(whet("show", "thing", "--json"))["digest"],
        "warnings": [said.strip()],
        "entry": None,
        "entries": [],
    }
    assert (left(tmp_path), answer(whet("history", "--json"))["entries"]) == ([], [])


@pytest.mark.usefixtures("thing")
@pytest.mark.parametrize("words", [[], ["--no-input"]], ids=["no terminal", "no input"])
def test_a_text_that_cannot_be_taken_is_kept(
    words: list[str], tmp_path: Path, editor: Callable[..., None], whet: Callable[..., CompletedProcess[str]]
) -> None:
    editor("path.write_text(text.replace('name: thing', 'name: other'))")
    refused = answer(whet("edit", "thing", *words, "--json"))
    kept = left(tmp_path)
    assert (refused["code"], [refused["kept"]]) == ("rename-by-patch", kept)
    assert refused["hint"].endswith(f" Your text is kept: `whet edit thing --body-file {kept[0]}`.")
    text = Path(kept[0]).read_text(encoding="utf-8")
    assert "name: other\n" in text
    Path(kept[0]).write_text(text.replace("other", "thing") + "More.\n", encoding="utf-8")
    assert whet("edit", "thing", "--body-file", kept[0]).returncode == 0


def test_a_skill_that_changed_meanwhile_is_a_conflict(
    thing: Path, tmp_path: Path, editor: Callable[..., None], whet: Callable[..., CompletedProcess[str]]
) -> None:
    editor(
        f"path.write_text(text + 'Mine.\\n')\npathlib.Path({str(thing / 'SKILL.md')!r}).write_text(text + 'Theirs.\\n')"
    )
    run = whet("edit", "thing", "--json")
    assert (run.returncode, answer(run)["code"], left(tmp_path)) == (1, "skill-changed", [answer(run)["kept"]])
    assert (thing / "SKILL.md").read_text(encoding="utf-8").endswith("Do it.\nTheirs.\n")
    assert Path(answer(run)["kept"]).read_text(encoding="utf-8").endswith("Do it.\nMine.\n")


@pytest.mark.usefixtures("thing")
def test_an_editor_that_fails_changes_nothing(
    tmp_path: Path, editor: Callable[..., None], whet: Callable[..., CompletedProcess[str]]
) -> None:
    editor("sys.exit(3)")
    run = whet("edit", "thing", "--json")
    told = answer(run)
    assert (run.returncode, told["code"], told["hint"], left(tmp_path)) == (
        *(4, "editor-failed", "Nothing was changed."),
        [],
    )
    assert told["error"].endswith("exited with status 3.")
    editor("path.write_text('Half done.')\nsys.exit(1)")
    half = answer(whet("edit", "thing", "--json"))
    assert (half["code"], [half["kept"]]) == ("editor-failed", left(tmp_path))
    editor("path.unlink()")
    assert answer(whet("edit", "thing", "--json"))["code"] == "read-failed"


@pytest.mark.usefixtures("thing")
@pytest.mark.parametrize("command", ["", "  ", "no-such-editor", "'unclosed"])
def test_no_editor(
    command: str, env: dict[str, str], tmp_path: Path, whet: Callable[..., CompletedProcess[str]]
) -> None:
    env["EDITOR"] = command
    run = whet("edit", "thing", "--json")
    assert (run.returncode, answer(run)["code"], left(tmp_path)) == (2, "no-editor", [])


def test_a_change_to_a_plugins_skill_becomes_a_proposal(
    home: Path,
    tmp_path: Path,
    plugin: Callable[..., None],
    editor: Callable[..., None],
    whet: Callable[..., CompletedProcess[str]],
) -> None:
    plugin("theirs")
    editor("path.write_text(text + 'More.\\n', encoding='utf-8')")
    run = whet("edit", "team:theirs")
    assert (run.returncode, run.stdout, left(tmp_path)) == (0, "", [])
    reason = "It belongs to a plugin, whose updates would overwrite a change."
    assert run.stderr.startswith(f"Proposal 1 is waiting. {reason} `whet proposals approve 1` applies it.\n")
    assert not (home / ".agents" / "skills" / "theirs").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("reply", ["\n", "n\n", "\x04"])
def test_on_a_terminal_a_wrong_text_can_be_mended(
    reply: str, thing: Path, tmp_path: Path, env: dict[str, str], editor: Callable[..., None]
) -> None:
    import pty

    editor(
        "path.write_text('---\\nname: other\\n---\\n' if 'Do it.' in text else '---\\nname: thing\\n---\\nDo that.\\n')"
    )
    mine, theirs = pty.openpty()
    os.write(mine, reply.encode())
    command = [sys.executable, "-P", "-m", "whet", "edit", "thing"]
    with subprocess.Popen(command, env=env, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        talk = b""
        while chunk := _read(mine):
            talk += chunk
        output, _ = process.communicate()
    os.close(mine)
    said = talk.decode().replace("\r\n", "\n")
    assert said.count("Open the editor again? [Y/n] ") == 1
    if reply == "\n":
        assert (process.returncode, output.decode(), left(tmp_path)) == (0, f"{thing}\n", [])
        assert (thing / "SKILL.md").read_text(encoding="utf-8").endswith("---\nDo that.\n")
    else:
        assert (process.returncode, output, len(left(tmp_path))) == (2, b"", 1)
        assert f"--body-file {left(tmp_path)[0]}`" in said


def _read(terminal: int) -> bytes:
    """What a terminal shows next; nothing when the other side is gone, which Linux reports as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


def test_an_editor_that_removes_the_text_leaves_nothing_to_come_back_to(
    thing: Path, tmp_path: Path, editor: Callable[..., None], whet: Callable[..., CompletedProcess[str]]
) -> None:
    editor("path.rename(path.with_name('SKILL.md~'))")
    before = (thing / "SKILL.md").read_bytes()
    run = whet("edit", "thing", "--json")
    refused = answer(run)
    assert (run.returncode, refused["hint"]) == (4, "Check the path and the disk, then try again.")
    assert "kept" not in refused
    assert ([Path(path).name for path in left(tmp_path)], (thing / "SKILL.md").read_bytes()) == (["SKILL.md~"], before)

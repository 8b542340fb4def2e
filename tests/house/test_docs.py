"""The documentation is true: its sessions and programs run, and print what they say they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from learning.episodes import release_notes
from learning.recordings import claude_code

from whet.interfaces.cli.verbs import parser_of, read_command

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import picture  # noqa: E402  the documentation's own tools, not a package
import screenshots  # noqa: E402
from sessions import PAGES, empty_home, rewritten  # noqa: E402
from terminal import show  # noqa: E402

PROGRAM = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


FIRST = ("README.md", "library.md")
RUN = [page if page.name in FIRST else pytest.param(page, marks=pytest.mark.deep) for page in PAGES]
"""Every page is run, which takes a process for each command; the quick tier runs what is read first."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUN, ids=name)
def test_sessions_print_what_the_page_says(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == rewritten(page), "run `make docs`"


@pytest.mark.parametrize("page", RUN, ids=name)
def test_programs_run(page: Path, tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "WHET_HOME": str(tmp_path / "state"), "PYTHONUTF8": "1"}
    for code, output in PROGRAM.findall(page.read_text(encoding="utf-8")):
        run = subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert run.returncode == 0, run.stderr
        if output:
            assert run.stdout == output


@pytest.mark.deep
def test_the_lines_of_the_readme_run() -> None:
    """Each as it is printed, in a home that has what they name; a directory stands in for the repository on GitHub."""
    install, tour = SHELL.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    with empty_home() as home:
        for skill in ("downloaded-skill", "skills/pdf"):
            main = home / "shop" / skill / "SKILL.md"
            main.parent.mkdir(parents=True)
            main.write_text(f"---\nname: {main.parent.name}\ndescription: Reads PDF files.\n---\n\nRead it.\n")
        sessions = home / ".claude" / "projects" / "shop"
        sessions.mkdir(parents=True)
        claude_code(sessions / "one-session.jsonl", release_notes())
        env = {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "TERM": "xterm"}
        ran = []
        for line in tour.splitlines():
            command = line.partition("#")[0].replace("anthropics/skills", "./skills")
            shown = show(["/bin/sh", "-c", command], cwd=home / "shop", env=env)
            ran.append(line.split()[1])
            expected = "OPENAI_API_KEY" if ran[-1] == "run" else ""  # a model needs a key, and the answer names it
            assert expected in shown.text and (shown.code == 0) != bool(expected), (line, shown.text)
    assert ran == ["list", "gallery", "install", "scan", "update", "disable", "sync", "connect", "run", "distill"]
    for line in install.splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            subprocess.run([*words, "--dry-run"], cwd=ROOT, check=True, capture_output=True)
        else:
            assert words == ["uv", "tool", "install", ".[mcp,models]"]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.deep
def test_the_picture_shows_what_the_commands_print() -> None:
    """Only its text is compared: colours and places may be drawn anew at any time."""
    shown = picture.read(picture.PICTURE.read_text(encoding="utf-8"))
    assert shown == picture.read(picture.picture()), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_are_understood(page: Path) -> None:
    """Blocks that are not run, because they need a network or an agent, hold commands and options that exist."""
    text = re.sub(r"\\\n", " ", "".join(SHELL.findall(page.read_text(encoding="utf-8"))))
    for line in text.splitlines():
        words = shlex.split(re.split(r" (?:[|<>]|&&) ", line)[0], comments=True)
        if words[:1] == ["whet"]:
            command, rest, old = read_command(words[1:])
            assert not old, line
            parser_of(command)[0].read(rest)


def test_the_screenshots_are_there_and_small() -> None:
    page = (ROOT / "docs" / "ui.md").read_text(encoding="utf-8")
    for shot in screenshots.SHOTS:
        assert f'src="{shot.name}.webp"' in page
        assert 1_000 < (ROOT / "docs" / f"{shot.name}.webp").stat().st_size < 100_000


def test_screenshots_need_chromium(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(screenshots, "CHROMIUM", "")
    assert screenshots.main([]) == 1
    assert capsys.readouterr().err.startswith("Chromium is missing.")

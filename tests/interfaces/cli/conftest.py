"""The command line in this process, with a home of its own."""

from __future__ import annotations

import os
from contextlib import closing
from subprocess import CompletedProcess
from typing import TYPE_CHECKING

import pytest

from whet.interfaces.cli import main
from whet.interfaces.cli.context import Context
from whet.interfaces.cli.output import Screen
from whet.interfaces.cli.verbs import parser_of, read_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The person's home; Whet's state is in `state` beside it."""
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def env(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a run; the working directory is an empty `work` beside the home."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    return {"HOME": str(home), "WHET_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@pytest.fixture
def whet(env: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Callable[..., CompletedProcess[str]]:
    """Run one command line: `whet("list", "--json")`."""

    def run(*arguments: str) -> CompletedProcess[str]:
        capsys.readouterr()
        code = main(arguments, env)
        output = capsys.readouterr()
        return CompletedProcess(arguments, code, output.out, output.err)

    return run


@pytest.fixture
def plugin(env: dict[str, str], tmp_path: Path, skill: Callable[..., Path]) -> Callable[..., None]:
    """Make skills of a plugin `team`, which Whet never changes where they are."""

    def make(*names: str) -> None:
        for name in names:
            skill(name, root=tmp_path / "plugin")
        os.makedirs(env["WHET_HOME"], exist_ok=True)
        with open(os.path.join(env["WHET_HOME"], "config.toml"), "a", encoding="utf-8") as file:
            file.write(f"[plugins]\nteam = '{tmp_path / 'plugin'}'\n")

    return make


@pytest.fixture
def shown(env: dict[str, str]) -> Callable[..., Screen]:
    """What a terminal shows of one command line: `shown("list", columns=60).text()`."""

    def show(*arguments: str, columns: int = 80, colour: bool = False) -> Screen:
        name, words, _ = read_command(list(arguments))
        parser, command = parser_of(name)
        options = parser.read(words)
        screen = Screen(tty=True, colour=colour, columns=columns)
        screen.verbose = options.verbose
        with closing(Context(options, env)) as context:
            command.run(context, options).render(screen, options)
        return screen

    return show


@pytest.fixture
def skill(home: Path) -> Callable[..., Path]:
    """Write a skill into the person's own root, or into `root`, and return its directory."""

    def write(
        name: str,
        description: str = "Does one thing.",
        *,
        extra: str = "",
        body: str = "Do it.\n",
        root: Path | None = None,
    ) -> Path:
        directory = (root or home / ".agents" / "skills") / name
        directory.mkdir(parents=True)
        text = f"---\nname: {directory.name}\ndescription: {description}\n{extra}---\n{body}"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
        return directory

    return write

"""Nothing is silent: everything the library can have to say, said at least once."""

from __future__ import annotations

import ast
import json
import os
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import whet.library
from whet.guard.sandbox.levels import NONE, SEATBELT
from whet.library.bundles import read_bundles
from whet.library.client_lists import examine_clients, list_for
from whet.library.clients import present_clients
from whet.library.doctor import examine_sandbox, note_unscanned
from whet.library.readiness import LocalProbe
from whet.library.roots import Place
from whet.library.settings import PolicyFile
from whet.library.visibility import Caller
from whet.notes import Note
from whet.skill.gates import DRAFT

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from whet.api import Library


def sayable(*files: str) -> set[str]:
    """The codes of the notes that these files of the room say."""
    room = Path(whet.library.__path__[0])
    found = set()
    for path in (room / file for file in files):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Note":
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found.add(first.value)
    return found


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def mess(tmp_path: Path, skill: Callable[..., str]) -> None:
    """A home and a project with everything wrong that can be wrong."""
    user = tmp_path / "home" / ".agents" / "skills"
    skill(str(user), "a/b/c")
    skill(str(user), "same")
    skill(str(tmp_path / "home" / ".claude" / "skills"), "same")
    skill(str(tmp_path / "project" / ".agents" / "skills"), "waiting")
    skill(str(user), "outer", more="prerequisites: {commands: [frobnicate]}\n")
    skill(str(user), "outer/references/inner")
    skill(str(user), "needing", more="requires: {skills: [nowhere, same ^9, '>']}\n")
    skill(str(user), "large", body="x" * (1 << 20))
    write(user / "outer" / "references" / "aux.md", "No name on Windows.")
    write(tmp_path / "home" / ".claude" / "commands" / "command.md", "Do it.")
    write(user / "flat.md", "---\ndescription: Flat.\n---\n")
    write(user / "Stray.md", "Text.")
    write(user / "marked" / "SKILL.md", f"\ufeff---\nname: Marked One\ndescription: {'d' * 1025}\n---\nText.\n")
    write(user / "old" / "skill.md", "---\nname: old\ndescription: Old.\n---\n")
    write(user / "same" / "skill.json", "{")
    write(user / ".left.whet-tmp-0123456789abcdef")
    (user / "pipe").mkdir()
    os.mkfifo(user / "pipe" / "SKILL.md")
    os.mkfifo(user / "a" / "DESCRIPTION.md")
    (user / "broken").symlink_to("nowhere")
    (user / "a" / "circle").symlink_to("..")
    (user / "escape").symlink_to("/etc")
    (user / "again").symlink_to("a")
    (user / "own").symlink_to("../../.own")
    plugins = user.parent.parent / ".claude" / "plugins"
    write(plugins / "installed_plugins.json", json.dumps({"plugins": {"p@m": [{"installPath": str(plugins / "p")}]}}))
    write(plugins / "known_marketplaces.json", "damaged")
    write(plugins.parent / "settings.json", '{"enabledPlugins": {"p@m": true}}')
    write(plugins / "p" / ".claude-plugin" / "plugin.json", '{"skills": ".."}')
    (user.parent.parent / ".own").mkdir()
    (user / "d1" / "d2" / "d3").mkdir(parents=True)
    write(
        tmp_path / "state" / "config.toml",
        f"depth = 3\nclients = 7\ncolour = 'red'\nexternal = ['{tmp_path}/missing']\nbundled_skills = true\n",
    )


def guarded(tmp_path: Path, opened: Callable[..., Library]) -> Library:
    """A library whose record was changed, in a repository that wants to be looser than its user."""
    library = opened(home=str(tmp_path / "changed"))
    library.settings.trust()
    library.workspace.gate.audit.state.close()
    connection = sqlite3.connect(tmp_path / "changed" / "state.db")
    with connection:
        connection.execute("UPDATE audit SET reason = 'Another.'")
    connection.close()
    write(
        tmp_path / "project" / ".whet.toml",
        'learn = "write"\nlisting.always = ["any"]\n[policy.community]\ncaution = "allow"\n',
    )
    return library


def administered(tmp_path: Path, opened: Callable[..., Library], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What is said of a machine with a policy that does not allow the repository, and then of a broken one."""
    file = PolicyFile(str(tmp_path / "policy" / "policy.toml"), os.getuid())
    said: set[str] = set()
    write(tmp_path / "project" / ".git" / "config", '[remote "origin"]\n\turl = https://github.com/a/b\n')
    opened(home=str(tmp_path / "managed")).settings.trust()
    with monkeypatch.context() as patch:
        patch.setattr("whet.library.settings.machine_policy_file", lambda: file)
        for text in ("allowed_sources = []\n", "allowed_sources = [\n"):
            write(Path(file.path), text)
            os.chmod(file.path, 0o644)
            said |= {entry.code for entry in opened(home=str(tmp_path / "managed")).doctor()}
    return said


def bundles_say(tmp_path: Path, opened: Callable[..., Library]) -> set[str]:
    """What is said of two bundles of one name, the first of which is used and names a skill that is not there."""
    directory = tmp_path / "packed" / "bundles"
    write(directory / "a.yaml", "name: same\nskills: [none-such]\ncolour: red\n")
    write(directory / "b.yaml", "name: same\nskills: [none-such]\n")
    library = opened(home=str(tmp_path / "packed"))
    library.settings.use("same")
    said = {note.code for note in library.workspace.report()}
    return said | {note.code for note in read_bundles([str(directory)])[1]}


def clients_say(home: Path) -> set[str]:
    """What is said of skills that Codex, Gemini CLI and Copilot CLI drop, cut, rename and show."""
    for client in (".codex", ".gemini", ".copilot"):
        (home / client).mkdir(parents=True)
    for name, head in (
        ("long", f"name: long\ndescription: {'x' * 1100}"),
        ("odd", "name: odd:name\ndescription: For people.\ndisable-model-invocation: true"),
    ):
        path = home / ".agents" / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\n{head}\n---\n", encoding="utf-8")
    place = Place(str(home), str(home), "", "linux", {})
    return {note.code for note in examine_clients(list_for(client, place) for client in present_clients(place))}


def test_everything_that_can_be_reported_is_reported(
    tmp_path: Path,
    root: str,
    skill: Callable[..., str],
    opened: Callable[..., Library],
    unprivileged: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mess(tmp_path, skill)
    said = {entry.code for entry in opened().doctor()}
    # Some exclude each other, and get a place of their own.
    write(tmp_path / "small" / "config.toml", "max_directories = 1\nclients = ['claude', 'agents', 'nobody']")
    skill(root, "group/one")
    said |= {entry.code for entry in opened(root, home=str(tmp_path / "small")).workspace.report()}
    write(tmp_path / "damaged" / "cache.db", "no database")
    said |= {entry.code for entry in opened(root, home=str(tmp_path / "damaged")).workspace.report()}
    write(tmp_path / "corrupt" / "state.db", "no database" * 1000)
    said |= {entry.code for entry in opened(root, home=str(tmp_path / "corrupt")).doctor()}
    said |= {entry.code for entry in guarded(tmp_path, opened).doctor()}
    said |= administered(tmp_path, opened, monkeypatch)
    said |= bundles_say(tmp_path, opened)
    write(tmp_path / "locked" / "locks" / "skill-0.lock")
    (tmp_path / "locked" / "locks" / "skill-0.lock").chmod(0)
    said |= {entry.code for entry in opened(root, home=str(tmp_path / "locked")).doctor()}
    write(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    blocked = opened(str(tmp_path / "pipe"), home=str(tmp_path / "file"))
    said |= {entry.code for entry in (*blocked.workspace.report(), *blocked.doctor())}
    said |= set(
        unprivileged("""
os.mkdir(top + "/state")
os.chmod(top + "/state", 0o555)
answer = [entry.code for entry in library().doctor()]
""")
    )
    said |= {entry.code for entry in note_unscanned(1)}
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=0))
        said |= {entry.code for entry in opened(root, home=str(tmp_path / "small")).doctor()}
    said |= {examine_sandbox(lambda: NONE).code, examine_sandbox(lambda: SEATBELT).code}
    room = [path.name for path in Path(whet.library.__path__[0]).glob("*.py")]
    said |= clients_say(tmp_path / "clients")
    others = sayable("visibility.py") | {"main-file-name", "too-large"}  # why a skill is hidden; findings of validation
    assert sayable(*room, "../api/library.py") - others - said == set()


def test_every_reason_to_hide_is_given(
    tmp_path: Path, root: str, skill: Callable[..., str], opened: Callable[..., Library]
) -> None:
    for name, more in {
        "platform": "platforms: [beos]\n",
        "explicit": "disable-model-invocation: true\n",
        "model": "user-invocable: false\n",
        "paths": 'paths: ["*.py"]\n',
        "fallback": "metadata: {hermes: {fallback_for_tools: [search]}}\n",
        "off": "",
        "product": "",
    }.items():
        skill(root, name, more=more)
    write(Path(root) / "empty" / "SKILL.md")
    skill(root, "template", description=f"TODO {DRAFT}.")
    write(Path(root) / "product" / "agents" / "openai.yaml", "policy: {products: [chatgpt]}")
    library = opened(root, platform="linux", probe=LocalProbe({}, "linux", tools=["search"]))
    library.settings.disable("off")
    callers = (Caller(), Caller(model=True, product="codex", files=()))
    given = {
        item.get("hidden")
        for caller in callers
        for item in library.skills(caller=caller, include_hidden=True).to_json()["skills"]
    }
    for name in ("kept-back", "left-out"):
        skill(f"{tmp_path}/project/.agents/skills", name)
    project = opened()
    project.settings.trust()
    os.symlink("/etc/shadow", f"{tmp_path}/project/.agents/skills/kept-back/link")
    project.guard.audit()
    project.settings.save_bundle("other", skills=["none-such"])
    project.settings.use("other")
    given |= {item.get("hidden") for item in project.skills(include_hidden=True).to_json()["skills"]}
    assert given - {None} == sayable("visibility.py")


def test_an_entry_as_json() -> None:
    note = Note("no-frontmatter", "warning", "A sentence.", "A hint.", line=3)
    entry = note.at("deploy", "/r/deploy/SKILL.md")
    assert entry == Note(
        "no-frontmatter", "warning", "A sentence.", "A hint.", skill="deploy", path="/r/deploy/SKILL.md", line=3
    )
    assert entry.to_json() == {
        "code": "no-frontmatter",
        "severity": "warning",
        "skill": "deploy",
        "path": "/r/deploy/SKILL.md",
        "message": "A sentence.",
        "hint": "A hint.",
        "line": 3,
    }

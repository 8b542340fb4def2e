"""Every kind of source through the same life: looked at, installed, told of, changed, outdated, updated, verified."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from hub.local import hub_running
from sources.loopback import serving
from sources.reaching import sha256
from sources.repositories import Repository

from journeys.machines import Machine, content, main
from whet.skill.archive import pack
from whet.skill.tree import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sources.loopback import Request, Routes

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
INDEX = "/.well-known/agent-skills/index.json"
OLDER = "/.well-known/skills/index.json"

OLD = {"SKILL.md": main("review", "Reviews changes.", "Read it.\n")}
NEW = {"SKILL.md": main("review", "Reviews changes.", "Read it twice.\n"), "references/style.md": "Short lines.\n"}
ALONE = {"SKILL.md": NEW["SKILL.md"]}
"""For sources that are one file."""
NOTES = {"SKILL.md": main("notes", "Writes notes.")}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


def lives(
    machine: Machine,
    source: str,
    move: Callable[[], object],
    *,
    shown: str = "",
    after: Mapping[str, str] = NEW,
    versions: tuple[str, str] = ("", ""),
    trust: str = "community",
    listed: str = "",
    skills: tuple[str, ...] = ("review",),
) -> None:
    """The life of the skill `review` of a source; `move` makes it what `after` says."""
    looked = machine.ask("inspect", source)
    assert ([skill["name"] for skill in looked["skills"]], looked["trust"]) == (list(skills), listed or trust)
    assert machine.names() == []

    taken = machine.ask("install", source, "--all")
    assert [(step["name"], step["state"], step["version"]) for step in taken["plan"]] == [
        (name, "ready", versions[0]) for name in skills
    ]
    assert taken["plan"][-1]["after"] == content(OLD)
    why = machine.says("why", "review")[1].splitlines()
    assert f"  from      {shown or source}" in why
    assert f"  trust     {trust}, safe when it was scanned" in why
    assert machine.says("update", "--check") == (0, "", f"0 skills outdated, {len(skills)} current.\n")

    move()
    found = {skill["name"]: skill for skill in machine.ask("outdated", code=1)["skills"]}
    assert {name: skill["status"] for name, skill in found.items()} == {
        name: "newer" if name == "review" else "current" for name in skills
    }
    assert found["review"]["latest"]["version"] == versions[1]
    updated = [
        step for step in machine.ask("update")["plan"] if step["state"] == "ready" and step["action"] == "update"
    ]
    assert [(step["name"], step["before"], step["after"]) for step in updated] == [
        ("review", content(OLD), content(after))
    ]
    verified = machine.ask("verify")
    assert [(skill["name"], skill["status"]) for skill in verified["skills"]] == [(name, "ok") for name in skills]
    assert machine.text("review") == after["SKILL.md"]
    assert machine.ask("update")["counts"] == {"nothing": len(skills)}
    assert machine.left() == []


def written(directory: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text, encoding="utf-8")


def zipped(files: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return target.getvalue()


def tar(files: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return target.getvalue()


def packed(files: Mapping[str, str]) -> bytes:
    return pack("review", {path: Item(text.encode()) for path, text in files.items()})


def below(directory: str, files: Mapping[str, str]) -> dict[str, str]:
    return {f"{directory}/{path}": text for path, text in files.items()}


def shelf(files: Mapping[str, bytes]) -> Routes:
    """Routes that give out what the files are when they are asked for."""

    def given(path: str) -> Callable[[Request], bytes]:
        return lambda _: files[path]

    return {path: given(path) for path in files}


# the disk


def test_a_directory(machine: Machine) -> None:
    directory = machine.work / "shared" / "review"
    written(directory, OLD)
    lives(machine, "./shared/review", lambda: written(directory, NEW), shown=str(directory), trust="directory")


def archives() -> list[Any]:
    several = {**below("pack/notes", NOTES), "pack/README.md": "Two skills.\n"}
    return [
        pytest.param("review.skill", packed(OLD), packed(NEW), ("review",), "", id="skill"),
        pytest.param("review.tar.gz", tar(below("review", OLD)), tar(below("review", NEW)), ("review",), "", id="tar"),
        pytest.param(
            "pack.zip",
            zipped({**several, **below("pack/review", OLD)}),
            zipped({**several, **below("pack/review", NEW)}),
            ("notes", "review"),
            "#path=review",
            id="zip",
        ),
    ]


@pytest.mark.parametrize(("name", "old", "new", "skills", "inner"), archives())
def test_an_archive(machine: Machine, name: str, old: bytes, new: bytes, skills: tuple[str, ...], inner: str) -> None:
    file = machine.work / name
    file.write_bytes(old)
    shown = f"archive:{file}{inner}" if inner else str(file)
    lives(machine, f"./{name}", lambda: file.write_bytes(new), shown=shown, skills=skills)


# the web


def test_the_address_of_a_main_file(machine: Machine) -> None:
    files = {"/review/SKILL.md": OLD["SKILL.md"].encode()}
    with serving(shelf(files)) as server:
        moved = {"/review/SKILL.md": ALONE["SKILL.md"].encode()}
        lives(machine, f"{server.url}/review/SKILL.md", lambda: files.update(moved), after=ALONE)


def test_the_address_of_an_archive(machine: Machine) -> None:
    files = {"/review.tar.gz": tar(below("review", OLD))}
    with serving(shelf(files)) as server:
        moved = {"/review.tar.gz": tar(below("review", NEW))}
        lives(machine, f"{server.url}/review.tar.gz", lambda: files.update(moved))


def site(review: Mapping[str, str]) -> dict[str, bytes]:
    """A site with an index of the present form."""
    artifacts = {"notes": NOTES["SKILL.md"].encode(), "review": zipped(review)}
    kinds = {"notes": ("skill-md", "Writes notes.", "notes/SKILL.md"), "review": ("archive", "Reviews.", "/review.zip")}
    skills = [
        {"name": name, "type": kind, "description": about, "url": url, "digest": f"sha256:{sha256(artifacts[name])}"}
        for name, (kind, about, url) in kinds.items()
    ]
    return {
        INDEX: json.dumps({"$schema": SCHEMA, "skills": skills}).encode(),
        "/.well-known/agent-skills/notes/SKILL.md": artifacts["notes"],
        "/review.zip": artifacts["review"],
    }


def test_a_site_with_an_index(machine: Machine) -> None:
    files = site(OLD)
    with serving(shelf(files)) as server:
        shown = f"well-known:{server.url}#path=review"
        lives(machine, server.url, lambda: files.update(site(NEW)), shown=shown, skills=("notes", "review"))


def older_site(review: Mapping[str, str]) -> dict[str, bytes]:
    """A site with an index of the older form."""
    skills = [{"name": "review", "description": "Reviews.", "files": [*review]}]
    found = {f"/.well-known/skills/review/{path}": text.encode() for path, text in {**NEW, **review}.items()}
    return {OLDER: json.dumps({"skills": skills}).encode(), **found}


def test_a_site_with_an_index_of_the_older_form(machine: Machine) -> None:
    files = older_site(OLD)
    with serving(shelf(files)) as server:
        shown = f"well-known:{server.url}#path=review"
        lives(machine, server.url, lambda: files.update(older_site(NEW)), shown=shown)


# registries


def registry(number: str, review: Mapping[str, str]) -> dict[str, bytes]:
    """What a registry that speaks ClawHub's language answers."""
    version = {"version": number, "createdAt": 0, "changelog": ""}
    told = {"slug": "review", "displayName": "Review", "summary": "Reviews.", "tags": {"latest": number}}
    about = {"skill": told, "latestVersion": version, "owner": {"handle": "petra"}, "moderation": None}
    return {
        "/api/v1/skills/review": json.dumps(about).encode(),
        f"/api/v1/skills/review/versions/{number}": json.dumps({"version": version, "skill": None}).encode(),
        "/api/v1/download": zipped(review),
    }


def test_a_skill_of_clawhub(machine: Machine) -> None:
    files = {**registry("1.1.0", NEW), **registry("1.0.0", OLD)}
    with serving(shelf(files)) as server:
        source = f"clawhub:{server.url}/petra/review"
        shown = f"clawhub:{server.url}#path=petra/review"
        moved = registry("1.1.0", NEW)
        lives(machine, source, lambda: files.update(moved), shown=shown, versions=("1.0.0", "1.1.0"))


def test_a_skill_of_a_hub(machine: Machine, tmp_path: Path) -> None:
    with hub_running(tmp_path) as hub:
        hub.publish("acme", "review", "1.0.0", packed(OLD))
        source = f"hub:{hub.url}/acme/review"
        lives(
            machine,
            source,
            lambda: hub.publish("acme", "review", "1.1.0", packed(NEW)),
            versions=("1.0.0", "1.1.0"),
        )


# marketplaces and taps

MARKET = {
    ".claude-plugin/marketplace.json": json.dumps(
        {
            "name": "things",
            "owner": {"name": "Somebody"},
            "plugins": [
                {"name": "writing", "source": "./plugins/writing", "description": "About writing."},
                {"name": "quality", "source": "./plugins/quality", "description": "About quality."},
            ],
        }
    ),
    **below("plugins/writing/skills/notes", NOTES),
}


def market(review: Mapping[str, str]) -> dict[str, str]:
    return {**MARKET, **below("plugins/quality/skills/review", review)}


def test_a_marketplace_in_a_directory(machine: Machine) -> None:
    directory = machine.work / "market"
    written(directory, market(OLD))
    lives(
        machine,
        "marketplace:./market",
        lambda: written(directory, market(NEW)),
        shown=str(directory / "plugins" / "quality" / "skills" / "review"),
        trust="directory",
        listed="community",  # a list vouches for nobody; where its plugins lie is what counts
        skills=("notes", "review"),
    )


@needs_git
def test_a_plugin_of_a_marketplace_in_a_repository(machine: Machine, tmp_path: Path) -> None:
    repository = Repository.new(tmp_path / "market")
    repository.commit(market(OLD))
    source = f"marketplace:{repository.url}#quality"
    shown = f"git:{repository.url}#path=plugins/quality/skills/review"
    lives(machine, source, lambda: repository.commit(market(NEW)), shown=shown)


@needs_git
def test_a_skill_of_a_tap(machine: Machine, tmp_path: Path) -> None:
    repository = Repository.new(tmp_path / "team")
    repository.commit({**below("notes", NOTES), **below("review", OLD)})
    named = (0, "", f"Added the source team: {repository.url}.\n")
    assert machine.says("sources", "add", "team", repository.url) == named
    assert machine.ask("search", "review", "--source", "team")["skills"][0]["install"] == "team:review"
    shown = f"git:{repository.url}#path=review"
    moved = {**below("notes", NOTES), **below("review", NEW)}
    lives(machine, "team:review", lambda: repository.commit(moved), shown=shown)
    assert machine.says("sources", "remove", "team")[2] == f"Removed the source team: {repository.url}.\n"
    assert machine.ask("update")["counts"] == {"nothing": 1}, "what was installed follows its source, not the tap"

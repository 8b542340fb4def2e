"""Recorded sources are asked once each, tell of every skill that comes from them, and fail alone."""

from __future__ import annotations

import io
import shutil
import zipfile
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from sources.hub_server import SCHEMA, Hub, hub_serving
from sources.loopback import answer, serving
from sources.reaching import dumped, packed, sha256
from sources.repositories import serving_git
from sources.world import BODY, World, main, refused, told, world
from whet.sources.install.installer import ask
from whet.sources.install.report import Latest
from whet.sources.lock.file import lock_file, read, write

if TYPE_CHECKING:
    from whet import Library

__all__ = ["world"]

NEWER = BODY.replace("Last", "Newer")


def test_skills_of_one_repository_are_asked_for_once(world: World) -> None:
    names = [f"skill-{number}" for number in range(5)]
    files = {f"{name}/SKILL.md": main(name) for name in names}
    repository = world.repository(files)
    with serving_git(world.top) as server:
        library = world.library()
        library.sources.install(f"git:{server.url}/{repository.path.name}", every=True)
        repository.commit({**files, "skill-3/SKILL.md": main("skill-3", NEWER)})
        server.requests.clear()
        plan = library.sources.plan_update()
        assert len([request for request in server.requests if request.startswith("GET")]) == 2
    actions = {name: "update" if name == "skill-3" else "keep" for name in names}
    assert {step.name: step.action for step in plan.steps} == actions
    assert {step.state for step in plan.steps} == {"ready"}, "the lock gets the new revision of all of them"


def test_a_skill_at_the_root_of_its_source(world: World) -> None:
    repository = world.repository({"SKILL.md": main("deploy")})
    library = world.library()
    library.sources.install(repository.url)
    assert world.locked()["skills/deploy"].source == f"git:{repository.url}"
    repository.commit({"SKILL.md": main("deploy", NEWER)})
    assert told(library.sources.plan_update()) == {"deploy": ("update", "ready", "")}


def test_one_source_that_does_not_answer_stops_no_other(world: World) -> None:
    world.offer("here")
    gone = world.repository({"SKILL.md": main("gone")})
    library = world.library()
    library.sources.install(str(world.shelf))
    library.sources.install(gone.url)
    shutil.rmtree(gone.path)
    world.offer("here", NEWER)
    plan = library.sources.plan_update()
    assert told(plan) == {"gone": ("keep", "failed", "source-not-found"), "here": ("update", "ready", "")}


def test_one_skill_that_cannot_be_taken_stops_no_other(world: World) -> None:
    files = {name: main(name) for name in ("one", "two", "three")}
    repository = world.repository({f"{name}/SKILL.md": text for name, text in files.items()})
    library = world.library()
    library.sources.install(repository.url, every=True)
    repository.commit(
        {
            "one/SKILL.md": main("one", NEWER),
            "two/SKILL.md": "No frontmatter.",
            "three/SKILL.md": main("three", NEWER),
            "three/CON": "A device.",
        }
    )
    plan = library.sources.plan_update()
    assert told(plan) == {
        "one": ("update", "ready", ""),
        "three": ("keep", "failed", "archive-unsafe-path"),
        "two": ("keep", "failed", "not-a-skill"),
    }
    assert [item.status for item in library.sources.outdated().skills] == ["newer", "unavailable", "newer"]


def test_a_source_that_this_whet_cannot_read_fails_alone(world: World) -> None:
    for name in ("one", "two"):
        world.offer(name)
    library = world.library()
    library.sources.install(str(world.shelf), every=True)
    lock = read(lock_file(str(world.root)))
    one, two = lock.entries
    write(lock_file(str(world.root)), lock._replace(entries=(one._replace(source="npm:left-pad"), two)))
    world.offer("two", NEWER)
    plan = library.sources.plan_update()
    assert told(plan) == {"one": ("keep", "failed", "unknown-source"), "two": ("update", "ready", "")}
    assert library.sources.why("one").to_json()["installed"]["shown"] == "npm:left-pad"
    assert told(library.sources.plan_install(str(world.shelf), skills=["one"])) == {
        "one": ("install", "conflict", "other-source")
    }


def test_several_skills_of_one_name_where_the_old_place_is_gone(world: World) -> None:
    repository = world.repository({"old/SKILL.md": main("deploy")})
    library = world.library()
    library.sources.install(repository.url)
    repository.commit({"a/SKILL.md": main("deploy", NEWER), "b/SKILL.md": main("deploy", "Another.\n")})
    assert told(library.sources.plan_update()) == {"deploy": ("keep", "failed", "ambiguous-skill")}


def archive(*names: str, body: str = BODY) -> bytes:
    """A zip with these skills."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name in names:
            made.writestr(f"{name}/SKILL.md", main(name, body))
    return target.getvalue()


def test_an_archive_with_several_skills_is_followed(world: World) -> None:
    path = world.top / "skills.zip"
    path.write_bytes(archive("one", "two"))
    library = world.library()
    library.sources.install(str(path), every=True)
    assert told(library.sources.plan_update()) == dict.fromkeys(("one", "two"), ("keep", "nothing", ""))
    path.write_bytes(archive("one", "two", body=NEWER))
    assert told(library.sources.plan_update()) == dict.fromkeys(("one", "two"), ("update", "ready", ""))


def live(routes: dict[str, Any]) -> dict[str, Any]:
    """Routes that answer what is in there at the time."""
    return {path: partial(_now, routes, path) for path in routes}


def _now(routes: dict[str, Any], path: str, _request: Any) -> Any:
    return routes[path]


def test_an_address_with_several_skills_is_visited_once(world: World) -> None:
    routes: dict[str, Any] = {"/skills.zip": archive("one", "two")}
    with serving(live(routes)) as server:
        library = world.library()
        library.sources.install(f"{server.url}/skills.zip", every=True)
        routes["/skills.zip"] = archive("one", "two", body=NEWER)
        before = len(server.requests)
        assert told(library.sources.plan_update()) == dict.fromkeys(("one", "two"), ("update", "ready", ""))
        assert len(server.requests) == before + 1


def site(**held: bytes) -> dict[str, Any]:
    """The routes of a site that publishes these archives."""
    skills = [
        {
            "name": name,
            "type": "archive",
            "description": "Does one thing.",
            "url": f"/{name}.skill",
            "digest": f"sha256:{sha256(data)}",
        }
        for name, data in held.items()
    ]
    index = answer(dumped({"$schema": SCHEMA, "skills": skills}), content_type="application/json")
    return {"/.well-known/agent-skills/index.json": index, **{f"/{name}.skill": held[name] for name in held}}


def forget(world: World) -> Library:
    """Another machine, with the same lock and nothing else."""
    shutil.rmtree(world.root)
    shutil.rmtree(world.state)
    world.state.mkdir()
    world.settings('private_hosts = ["127.0.0.1"]\nmin_age = 0\n')
    return world.library()


def test_a_site_and_an_address_are_followed_and_restored(world: World) -> None:
    routes = site(one=packed("one"), two=packed("two"))
    routes["/three/SKILL.md"] = answer(main("three").encode(), content_type="text/markdown")
    with serving(live(routes)) as server:
        library = world.library()
        library.sources.install(server.url, every=True)
        library.sources.install(f"{server.url}/three/SKILL.md")
        wanted = world.there()
        assert sorted(wanted) == ["one", "three", "two"]
        assert {item.status for item in library.sources.outdated().skills} == {"current"}
        routes.update(site(one=packed("one", description="Does another thing."), two=packed("two")))
        assert told(library.sources.plan_update()) == {
            "one": ("update", "ready", ""),
            "three": ("keep", "nothing", ""),
            "two": ("keep", "nothing", ""),
        }
        routes["/three/SKILL.md"] = answer(main("three", NEWER).encode(), content_type="text/markdown")
        other = forget(world)
        plan = other.sources.plan_restore()
        assert told(plan) == {
            "one": ("restore", "failed", "digest-mismatch"),
            "three": ("keep", "failed", "digest-mismatch"),
            "two": ("restore", "ready", ""),
        }
        other.sources.apply(plan)
        assert world.there() == {"two": wanted["two"]}


def test_a_hub_is_followed_and_restored_at_the_version(world: World) -> None:
    hub = Hub()
    hub.publish("acme", "review", "1.0.0", packed("review"))
    with hub_serving(hub) as server:
        library = world.library()
        library.sources.install(f"hub:{server.url}/acme/review")
        first = world.there()
        hub.publish("acme", "review", "1.1.0", packed("review", description="Does it better."))
        (told_of,) = library.sources.outdated().skills
        assert (told_of.status, told_of.version, told_of.latest) == (
            "newer",
            "1.0.0",
            Latest("1.1.0", "1.1.0"),
        )
        other = forget(world)
        other.sources.apply(other.sources.plan_restore())
        assert world.there() == first
        assert told(other.sources.plan_update()) == {"review": ("update", "ready", "")}


def test_nothing_is_asked_when_nothing_is_installed(world: World) -> None:
    library = world.library()
    assert library.sources.plan_update().steps == library.sources.plan_restore().steps == ()
    assert library.sources.outdated().skills == ()
    refused(lambda: library.sources.plan_update("deploy"), "not-installed")
    assert ask(library.sources.installer(), (), lambda *_: True) == []


@pytest.mark.parametrize("recorded", [False, True])
def test_what_a_source_has_now_or_had_then(world: World, *, recorded: bool) -> None:
    repository = world.repository({"deploy/SKILL.md": main("deploy")})
    library = world.library()
    library.sources.install(repository.url)
    repository.commit({"deploy/SKILL.md": main("deploy", NEWER)})
    entry = world.locked()["skills/deploy"]
    (found,) = ask(library.sources.installer(), (entry,), lambda *_: True, recorded=recorded)
    assert found.package is not None
    assert found.package.tree["SKILL.md"].data.decode() == main("deploy", BODY if recorded else NEWER)
    assert found.package.offer.revision == (entry.revision if recorded else repository.git("rev-parse", "main"))

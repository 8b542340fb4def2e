"""No address reads anything outside a package, whatever lies in it and however it changes."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_server.shelves import World, data_of, put, refused, resource, uris, verify, world
from whet.errors import FailedError, InvalidError, NotFoundError, RefusedError, UsageError
from whet.interfaces.mcp import packages

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["world"]


# links and hostile names


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_inside_are_files_and_links_that_lead_elsewhere_are_not_there(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    path = world.mine("linked")
    put(path, "references/real.md", b"real")
    put(path, ".git/config", b"token")
    for name, target in {
        "near.md": "references/real.md",
        "chain.md": "near.md",
        "references/up.md": "../near.md",
        "main.md": "SKILL.md",
        "folder": "references",
        "through.md": "folder/real.md",
        "hidden": ".git/config",
        "to-hidden": "hidden",
        "dangling": "nowhere.md",
        "loop": "loop",
        "out": "../../../../secret",
        "absolute": str(tmp_path / "secret"),
        "etc": "/etc",
        "home": "..",
    }.items():
        (path / name).symlink_to(target)
    os.mkfifo(path / "pipe")
    served = world.served()
    main = (path / "SKILL.md").read_bytes()
    (skill,) = served.list_skills()["skills"]
    assert skill["resources"] == [
        resource("skill://linked/SKILL.md", main),
        resource("skill://linked/chain.md", b"real"),
        resource("skill://linked/main.md", main),
        resource("skill://linked/near.md", b"real"),
        resource("skill://linked/references/real.md", b"real"),
        resource("skill://linked/references/up.md", b"real"),
    ]
    verify(served, skill)
    gone = ("out", "absolute", "etc/passwd", "etc", "home", "home/linked/SKILL.md", "hidden", "to-hidden", "pipe")
    for name in (*gone, "dangling", "loop", "folder", "folder/real.md", "through.md", ".git/config"):
        uri = f"skill://linked/{name}"
        assert refused(served.read, uri) == ("NotFoundError", "resource-not-found")
    assert refused(served.directory, "skill://linked/folder") == ("NotFoundError", "resource-not-found")
    assert refused(served.directory, "skill://linked/etc") == ("NotFoundError", "resource-not-found")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_skill_that_is_itself_a_link_is_served_from_where_it_is(world: World) -> None:
    real = world.skill("store/linked")
    put(real, "a.md", b"a")
    (world.home / ".agents/skills").mkdir(parents=True)
    (world.home / ".agents/skills/linked").symlink_to(real)
    world.config(f'links = ["{world.top / "store"}"]')
    served = world.served()
    (skill,) = served.list_skills()["skills"]
    assert uris(skill) == ["skill://linked/SKILL.md", "skill://linked/a.md"]
    verify(served, skill)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_main_file_that_is_a_link_counts_as_the_file_it_leads_to(world: World) -> None:
    real = world.skill("store/linked")
    path = world.home / ".agents/skills/linked"
    path.mkdir(parents=True)
    (path / "SKILL.md").symlink_to(real / "SKILL.md")
    put(path, "a.md", b"a")
    world.config(f'links = ["{world.top / "store"}"]')
    served = world.served()
    (skill,) = served.list_skills()["skills"]
    assert skill["resources"] == [
        resource("skill://linked/SKILL.md", (real / "SKILL.md").read_bytes()),
        resource("skill://linked/a.md", b"a"),
    ]
    verify(served, skill)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_files_with_names_that_are_unsafe_somewhere_are_not_served(world: World) -> None:
    path = world.mine("hostile")
    for name in (
        "a\\b.md",
        "c:d.md",
        "line\nbreak.md",
        "nul.txt",
        "dot.",
        "right\u202eleft.md",
        "%2e%2e",
        "?q#f",
        "é.md",
    ):
        put(path, name, name.encode())
    with open(os.fsencode(path) + b"/\xff.md", "wb") as file:
        file.write(b"undecodable")
    put(path, "aux/x.md", b"x")
    served = world.served()
    (skill,) = served.list_skills()["skills"]
    assert uris(skill) == [
        "skill://hostile/SKILL.md",
        "skill://hostile/%252e%252e",
        "skill://hostile/%3Fq%23f",
        "skill://hostile/%C3%A9.md",
    ]
    verify(served, skill)
    assert uris(served.directory("skill://hostile")) == [
        "skill://hostile/%252e%252e",
        "skill://hostile/%3Fq%23f",
        "skill://hostile/SKILL.md",
        "skill://hostile/%C3%A9.md",
    ]


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="permissions are enforced for others than root"
)
def test_a_file_that_cannot_be_read_makes_the_skill_fail_instead_of_going_missing(world: World) -> None:
    path = world.mine("closed")
    put(path, "a.md").chmod(0)
    served = world.served()
    assert served.list_skills() == {"skills": []}
    with pytest.raises(FailedError):
        served.get_skill("skill://closed/SKILL.md")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_no_address_reads_outside_a_package_while_links_come_and_go(world: World, tmp_path: Path) -> None:
    """A directory is swapped for a link out of the package and back, as fast as it can be."""
    outside = tmp_path / "outside"
    put(outside, "a.md", b"secret")
    path = world.mine("swapped")
    put(path, "references/a.md", b"public")
    served = world.served()
    stop = threading.Event()

    def swap() -> None:
        inside, aside = path / "references", tmp_path / "aside"
        while not stop.is_set():
            inside.rename(aside)
            inside.symlink_to(outside)
            inside.unlink()
            aside.rename(inside)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes] = set()
    listed: set[tuple[str, ...]] = set()
    try:
        for _ in range(100):
            try:
                seen.add(data_of(served.read("skill://swapped/references/a.md")))
            except (NotFoundError, RefusedError):
                seen.add(b"")
            with suppress(NotFoundError, RefusedError):
                files = served.get_skill("skill://swapped/SKILL.md")["skill"]["resources"]
                listed.add(tuple(item["digest"] for item in files))
    finally:
        stop.set()
        thread.join()
    main, public = (resource("", data)["digest"] for data in ((path / "SKILL.md").read_bytes(), b"public"))
    assert seen <= {b"public", b""}
    assert listed <= {(main,), (main, public)}


TEXTS = st.text("abSKILmd.%2eEfF/\\:~ü\0", max_size=30)


def test_no_text_reads_anything_that_is_not_listed(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    path = world.mine("a")
    put(path, "b/d.md", b"x")
    if sys.platform != "win32":
        (path / "e").symlink_to(tmp_path)
    served = world.served()
    known = {data_of(served.read(item["uri"])) for item in served.get_skill("skill://a/SKILL.md")["skill"]["resources"]}

    @given(text=TEXTS | st.lists(st.sampled_from(["a", "b", "d.md", "e", "..", "%2e%2e", "secret", "/"])).map("/".join))
    @settings(max_examples=150, deadline=None)
    def try_it(text: str) -> None:
        try:
            data = data_of(served.read(f"skill://{text}"))
        except (NotFoundError, UsageError, InvalidError):
            return
        assert data in known or text.endswith("_manifest")

    try_it()


def test_a_file_that_vanishes_while_it_is_listed_is_not_in_the_entry(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world.mine("fading")
    put(path, "a.md", b"a")
    put(path, "b.md", b"b")
    served = world.served()
    listed = packages.members

    def then_it_goes(*given: Any, **more: Any) -> Any:
        found = listed(*given, **more)
        (path / "a.md").unlink()
        put(path, "b.md", b"changed meanwhile")
        return found

    monkeypatch.setattr(packages, "members", then_it_goes)
    skill = served.get_skill("skill://fading/SKILL.md")["skill"]
    assert skill["resources"][1:] == [resource("skill://fading/b.md", b"changed meanwhile")]

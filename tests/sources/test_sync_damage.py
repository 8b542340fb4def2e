"""A record that is damaged, and syncs that are cut off halfway: the next one mends it."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from shutil import copytree, rmtree
from typing import TYPE_CHECKING

import pytest
from chaos.kill import Victim

from sources.sync_world import World, refused, shape, world
from whet.errors import InvalidError
from whet.library.roots import user_root
from whet.sources.sync.apply import (
    repair_sync,
    synced,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["world"]

# --- a damaged record -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("made", ""),
        ("made", "{"),
        ("made", "[" * 100_000),
        ("made", "1"),
        ("made", '{"path": "/x"}'),
        ("directory", '"relative"'),
        ("directory", '"/a/../b"'),
        ("directory", "null"),
    ],
)
def test_a_damaged_record_is_an_error_and_can_be_repaired(world: World, kind: str, text: str) -> None:
    before = shape(world.home)
    world.sync("claude-code", "kiro")
    rmtree(world.mine / "alpha")
    with world.database.write() as connection:
        connection.execute("UPDATE synced SET entry = ? WHERE kind = ?", (text, kind))
    damaged = shape(world.home)
    for call in (lambda: world.plan("claude-code"), world.undo, lambda: synced(world.database)):
        refused(call, InvalidError, "sync-damaged")
    assert shape(world.home) == damaged
    repaired = repair_sync(world.place, world.database, [user_root(world.place)])
    links = [
        str(world.home / client / "skills" / name) for client in (".claude", ".kiro") for name in ("alpha", "beta")
    ]
    assert (repaired.kept, list(repaired.links)) == (f"{world.place.state}/sync.json.broken-1", links)
    assert repaired.to_json() == {"kept": repaired.kept, "links": links}
    assert [kind, text] in json.loads(Path(repaired.kept).read_text())
    world.undo()
    skills = {".claude/skills", ".kiro/skills"}
    assert {key for key in shape(world.home) if key not in before} == skills, "directories are not known any more"


def test_repair_takes_only_links_that_sync_would_have_made(world: World) -> None:
    skills = world.home / ".claude" / "skills"
    skills.mkdir()
    os.symlink("../../.agents/skills/alpha", skills / "alpha")
    os.symlink("../../.agents/skills/alpha", skills / "renamed")
    os.symlink("../../.agents/skills", skills / "skills")
    os.symlink(world.mine / "group" / "beta", skills / "beta")
    world.skill("gamma", where=skills)
    local = world.project / ".agents" / "skills"
    world.skill("local", where=local)
    (world.project / ".claude/skills").mkdir(parents=True)
    os.symlink("../../.agents/skills/local", world.project / ".claude/skills/local")
    repaired = repair_sync(
        world.place, world.database, [user_root(world.place), str(local)], projects=[str(world.project)]
    )
    assert repaired == ("", (str(skills / "alpha"), str(world.project / ".claude/skills/local")))
    assert {(one.name, one.state) for one in synced(world.database)} == {("alpha", "fine"), ("local", "fine")}


# --- cut off halfway ------------------------------------------------------------------------------------------------

ARMED = """
import sys
import whet.store.atomic as atomic, whet.sources.sync.apply as syncing, whet.store.schema
from chaos.kill import arm, serve
from whet.library.roots import Place, user_root
from whet.store.state import StateDatabase
top = sys.argv[1]
place = Place(top + "/project", top + "/home", top + "/state", "linux", {"HOME": top + "/home"})

def sync(state, how):
    if "--aside" in sys.argv:  # where directories cannot swap places
        atomic.exchange = lambda *_: False
    plan = syncing.plan_sync(place, state, user_root(place), ("claude-code", "windsurf"), how=how)
    syncing.apply_sync(plan, place, state)

def act(line):
    amount, what = line.split("\t")
    state = StateDatabase(place.state)
    state.open()
    arm(int(amount))
    syncing.undo_sync(place, state) if what == "undo" else sync(state, what)

serve(act)
"""
"""Asked for a number and an act, does it in a process of its own that is killed at that step."""


@pytest.fixture
def victim(world: World, act: str) -> Iterator[Victim]:
    with Victim(ARMED, world.top, "--aside" if act == "refresh-aside" else "--swap") as process:
        yield process


@pytest.mark.parametrize(
    "act", ["link", "copy", "refresh", "refresh-aside", "to-copies", "to-links", "undo-links", "undo-copies"]
)
def test_whatever_is_cut_off_the_next_sync_or_undo_completes(
    world: World, victim: Victim, act: str, *, quick: bool
) -> None:
    """Before each kill the world is as prepared; after it, both ways on lead to where they would have led."""
    (world.home / ".claude" / "skills").mkdir()
    world.skill("own", where=world.home / ".claude" / "skills")
    bare = shape(world.home)
    prepared = {
        "refresh": "copy",
        "refresh-aside": "copy",
        "to-copies": "link",
        "to-links": "copy",
        "undo-links": "link",
        "undo-copies": "copy",
    }
    wanted = {"link": "link", "to-links": "link", "undo-links": "link"}.get(act, "copy")
    done = "undo" if act.startswith("undo") else wanted
    clients = ("claude-code", "windsurf")
    if act in prepared:
        world.sync(*clients, how=prepared[act])
    if act.startswith("refresh"):
        world.skill("group/beta", "Better.\n", scripts="#!/bin/bash\n")
        world.skill("gamma")
        bare = {
            key: value for key, value in shape(world.home).items() if not key.startswith((".claude", ".codeium"))
        } | {key: value for key, value in bare.items() if key.startswith(".claude")}
    world.database.close()
    copytree(world.top, world.top.parent / "kept", symlinks=True)

    def again() -> None:
        world.database.close()
        for name in ("home", "state"):
            rmtree(world.top / name, ignore_errors=True)
            if (world.top.parent / "kept" / name).exists():
                copytree(world.top.parent / "kept" / name, world.top / name, symlinks=True)

    world.sync(*clients, how=wanted)
    complete = shape(world.home)
    for step in count(1, 12 if quick else 1):
        again()
        more = victim.killed(step, done)
        cut = shape(world.home)
        world.sync(*clients, how=wanted)
        assert shape(world.home) == complete, step
        world.undo()
        assert shape(world.home) == bare, step
        again()
        assert victim.killed(step, done) == more
        assert {key for key in shape(world.home) if "whet-" not in key} == {key for key in cut if "whet-" not in key}
        world.undo()
        assert shape(world.home) == bare, step
        if not more:
            break
    assert step > 10

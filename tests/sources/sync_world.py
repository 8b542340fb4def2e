"""A home, a project and Whet's state, for the tests of sync."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from whet import Library
from whet.library.roots import Place, user_root
from whet.sources.sync.apply import SyncReport, apply_sync, synced, undo_sync
from whet.sources.sync.plan import SyncPlan, plan_sync
from whet.store.state import StateDatabase

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.errors import WhetError

Shape = dict[str, tuple[object, ...]]


def shape(top: Path) -> Shape:
    """Everything below a directory, bytes and permissions included."""
    found: Shape = {}
    for directory, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(directory, name)
            key, mode = os.path.relpath(path, top), os.lstat(path).st_mode
            if os.path.islink(path):
                found[key] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                found[key] = ("directory", mode)
            else:
                found[key] = ("file", mode, Path(path).read_bytes())
    return found


class World:
    """A home with two skills, a project, and the state of Whet."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home, self.project = top / "home", top / "project"
        self.mine = self.home / ".agents" / "skills"
        for path in (self.mine, self.home / ".claude", self.home / ".kiro", self.project / ".git"):
            path.mkdir(parents=True)
        env = {"HOME": str(self.home), "PATH": ""}
        self.place = Place(str(self.project), str(self.home), str(top / "state"), "linux", env)
        self.database = StateDatabase(self.place.state)
        self.skill("alpha")
        self.skill("group/beta", scripts="#!/bin/sh\n")

    def skill(self, name: str, body: str = "Body.\n", *, where: Path | None = None, scripts: str = "") -> Path:
        path = (where or self.mine) / name
        path.mkdir(parents=True, exist_ok=True)
        base = os.path.basename(name)
        (path / "SKILL.md").write_text(f"---\nname: {base}\ndescription: Does {base}. Use it.\n---\n\n{body}")
        if scripts:
            (path / "scripts").mkdir(exist_ok=True)
            (path / "scripts" / "run.sh").write_text(scripts)
            (path / "scripts" / "run.sh").chmod(0o755)
        return path

    def plan(self, *clients: str, how: str = "link", **more: Any) -> SyncPlan:
        root = more.pop("root", user_root(self.place))
        return plan_sync(self.place, self.database, str(root), clients, how="copy" if how == "copy" else "link", **more)

    def sync(self, *clients: str, how: str = "link", **more: Any) -> SyncReport:
        return apply_sync(self.plan(*clients, how=how, **more), self.place, self.database)

    def undo(self, **more: Any) -> SyncReport:
        return undo_sync(self.place, self.database, **more)

    def states(self) -> dict[str, str]:
        """What sync made and how it is now, by path."""
        return {os.path.relpath(one.path, self.home): one.state for one in synced(self.database)}

    def library(self, **more: Any) -> Library:
        how = {"home": self.place.state, "project": self.project, "env": dict(self.place.env), "platform": "linux"}
        return Library.open(**{**how, **more})


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("whet.library.roots.org_directories", lambda *_: (str(tmp_path / "org"),))
    return World(tmp_path.resolve() / "world")


def states(plan: SyncPlan) -> dict[tuple[str, str], str]:
    return {(step.client, step.name): step.state for step in plan.steps}


def outcomes(report: SyncReport) -> dict[tuple[str, str], tuple[str, str]]:
    return {(done.step.client, done.step.name): (done.step.state, done.outcome) for done in report.steps}


def refused(call: Callable[[], object], kind: type[WhetError], code: str) -> WhetError:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == code
    assert caught.value.hint
    return caught.value

"""A change costs what the skill costs, not what the library costs: counted in what is asked of the disk."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from counting import databases, reads

from whet import Library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

COPIED = False
CALLS = (
    "stat",
    "lstat",
    "open",
    "scandir",
    "listdir",
    "rename",
    "replace",
    "link",
    "mkdir",
    "unlink",
    "readlink",
    "fsync",
)


def asked(top: Path, skills: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What one patch asks of the disk in a library of so many skills that is in use."""
    root = top / f"skills-{skills}"
    for number in range(skills):
        directory = root / f"skill-{number:05}"
        directory.mkdir(parents=True)
        text = f"---\nname: skill-{number:05}\ndescription: Does {number}. Use when {number}.\n---\n\nStep 0.\n"
        (directory / "SKILL.md").write_text(text)
    count: Counter[str] = Counter()

    def counting(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            count[name] += 1
            return real(*args, **kwargs)

        return call

    def later() -> int:
        """A minute from now: what was written just now has settled."""
        return time.time_ns() + 60 * 10**9

    with Library.open([root], home=top / f"state-{skills}", env={"PATH": ""}, clock=later) as library:
        library.skills()
        for step in range(3):
            operation = {
                "action": "patch",
                "name": "skill-00007",
                "find": f"Step {step}.",
                "replace": f"Step {step + 1}.",
            }
            if step < 2:
                library.edit.apply([operation])
                continue
            with monkeypatch.context() as patch:
                for name in CALLS:
                    patch.setattr(os, name, counting(name, getattr(os, name)))
                assert library.edit.apply([operation]).to_json()["replacements"] == 1
    return count


def test_a_patch_costs_the_same_in_a_small_and_in_a_large_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (asked(tmp_path, skills, monkeypatch) for skills in (20, 400))
    assert small == large
    assert small["stat"] < 120 and small["scandir"] < 10


def test_a_patch_reads_everything_once_or_nearly(tmp_path: Path) -> None:
    """Parsed: what is there, what is to be there, and by the guard what it makes of that."""
    directory = tmp_path / "skills" / "deploy"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploys. Use to deploy.\n---\n\nStep 0.\n")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.toml").write_text("stale_days = 20\n")
    os.utime(tmp_path / "state" / "config.toml", (10**9, 10**9))

    def later() -> int:
        """A minute from now: what was written just now has settled."""
        return time.time_ns() + 60 * 10**9

    def opened() -> Library:
        env = {"HOME": str(tmp_path), "PATH": ""}
        return Library.open([tmp_path / "skills"], home=tmp_path / "state", env=env, clock=later)

    with opened() as library:
        library.skills()
        library.edit.patch("deploy", find="Step 0.", replace="Step 1.")
    with opened() as library, reads() as count:
        library.edit.patch("deploy", find="Step 1.", replace="Step 2.")
    assert count == {"SKILL.md parsed": 4, "settings read": 1, "tree read": 2}


def test_a_change_is_appended_to_the_log_once_however_many_skills_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"skill-{number}" for number in range(5)]
    for name in names:
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does.\n---\n\nStep 0.\n")
    synced: list[int] = []
    real = os.fsync
    with Library.open([tmp_path / "skills"], home=tmp_path / "state", env={"PATH": ""}) as library:
        library.edit.patch("skill-0", find="Step 0", replace="Step 1")
        log = tmp_path / "state" / "history.log"

        def fsync(file: int) -> None:
            synced.append(os.fstat(file).st_ino)
            real(file)

        monkeypatch.setattr(os, "fsync", fsync)
        library.edit.patch("skill-0", find="Step 1", replace="Step 0")
        assert synced.count(log.stat().st_ino) == 1
        library.edit.apply([{"action": "patch", "name": name, "find": "Step 0", "replace": "Step 1"} for name in names])
        assert synced.count(log.stat().st_ino) == 2, "and the log of decisions waits for nobody"
        assert (tmp_path / "state" / "audit.log").stat().st_ino not in synced
        lines = log.read_text().splitlines()
        assert len(lines) == len(library.history.entries().entries) and not library.history.verify().problems


def test_a_patch_opens_two_databases_and_each_once(tmp_path: Path) -> None:
    directory = tmp_path / "skills" / "deploy"
    directory.mkdir(parents=True)
    (directory / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploys. Use it.\n---\n\nStep 0.\n")
    for step in range(2):
        with (
            databases() as count,
            Library.open([tmp_path / "skills"], home=tmp_path / "state", env={"PATH": ""}) as library,
        ):
            library.edit.patch("deploy", find=f"Step {step}", replace=f"Step {step + 1}")
        assert count == {"state.db": 1, "cache.db": 1}

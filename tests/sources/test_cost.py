"""What installing costs, counted: an operation too many fails here before it slows a machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from counting import databases, reads

from whet import Library

if TYPE_CHECKING:
    from pathlib import Path


def test_an_install_reads_the_settings_once_and_opens_two_databases(tmp_path: Path) -> None:
    source = tmp_path / "source" / "deploy"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploys. Use it.\n---\n\nStep 0.\n")
    for name in ("home", "state"):
        (tmp_path / name).mkdir()
    (tmp_path / "state" / "config.toml").write_text("stale_days = 20\n")
    os.utime(tmp_path / "state" / "config.toml", (10**9, 10**9))
    time = os.stat(tmp_path / "state" / "config.toml").st_ctime_ns + 60 * 10**9
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    with (
        databases() as opened,
        reads() as count,
        Library.open(home=tmp_path / "state", project=tmp_path / "home", env=env, clock=lambda: time) as library,
    ):
        library.sources.install(str(source))
    assert (tmp_path / "home" / ".agents" / "skills" / "deploy" / "SKILL.md").is_file()
    assert opened == {"state.db": 1, "cache.db": 1}
    assert count["settings read"] == 1

"""What installing costs, counted: an operation too many fails here before it slows a machine."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from typing import TYPE_CHECKING, Any

from whet import Library

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_an_install_opens_two_databases_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source" / "deploy"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text("---\nname: deploy\ndescription: Deploys. Use it.\n---\n\nStep 0.\n")
    opened: Counter[str] = Counter()
    connect = sqlite3.connect

    def counting(database: str, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened[os.path.basename(database)] += 1
        connection: sqlite3.Connection = connect(database, *args, **kwargs)
        return connection

    (tmp_path / "home").mkdir()
    monkeypatch.setattr(sqlite3, "connect", counting)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    with Library.open(home=tmp_path / "state", project=tmp_path / "home", env=env) as library:
        library.sources.install(str(source))
    assert (tmp_path / "home" / ".agents" / "skills" / "deploy" / "SKILL.md").is_file()
    assert opened == {"state.db": 1, "cache.db": 1}

"""What is told where an optional part of Whet is not installed: the command that adds it to this Whet."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from whet import UsageError
from whet.extras import Installation, find_installation, how_to_install

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths and quotes of POSIX")
CLONE = {"url": "file:///src/whet", "dir_info": {"editable": True}}
GIT = {"url": "https://example.com/whet.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}
WHEEL = {"url": "file:///tmp/whet-1-py3-none-any.whl", "archive_info": {}}


@pytest.mark.parametrize(
    ("adapter", "needed", "message", "extra"),
    [
        (
            "langchain",
            "langchain.agents.middleware.types",
            "Skills for LangChain need the extra `langchain`.",
            "langchain",
        ),
        (
            "pydantic_ai",
            "pydantic_ai.toolsets",
            "Skills for pydantic-ai need the extra `pydantic-ai`.",
            "pydantic-ai",
        ),
    ],
)
def test_a_missing_library_is_told_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, adapter: str, needed: str, message: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, f"whet.adapters.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, needed, None)
    with pytest.raises(UsageError) as raised:
        importlib.import_module(f"whet.adapters.{adapter}")
    hint = f"Install it with `{how_to_install(extra)}`."
    assert raised.value.to_json() == {"success": False, "error": message, "code": "extra-missing", "hint": hint}


def installed(prefix: Path, origin: object = None, installer: str = "pip", **files: str) -> str:
    """An environment with the records that installers leave of Whet; returns its path."""
    records = prefix / "lib" / "python3.11" / "site-packages" / "whet-1.dist-info"
    records.mkdir(parents=True)
    (records / "METADATA").write_text("Metadata-Version: 2.1\nName: whet\nVersion: 1\n", encoding="utf-8")
    (records / "INSTALLER").write_text(f"{installer}\n", encoding="utf-8")
    if origin:
        (records / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    for name, text in files.items():
        (prefix / name.replace("__", "-").replace("_DOT_", ".")).write_text(text, encoding="utf-8")
    return str(prefix)


RECEIPT = "uv__receipt_DOT_toml"
PIPX = "pipx_metadata_DOT_json"


@pytest.mark.parametrize(
    ("origin", "installer", "files", "expected"),
    [
        (None, "pip", {}, "{prefix}/bin/python -m pip install 'whet[mcp]'"),
        (CLONE, "pip", {}, "{prefix}/bin/python -m pip install --editable '/src/whet[mcp]'"),
        (GIT, "pip", {}, "{prefix}/bin/python -m pip install 'whet[mcp] @ git+https://example.com/whet.git'"),
        (WHEEL, "pip", {}, "{prefix}/bin/python -m pip install 'whet[mcp] @ file:///tmp/whet-1-py3-none-any.whl'"),
        (None, "uv", {}, "uv pip install --python={prefix} 'whet[mcp]'"),
        (None, "pip", {PIPX: "{}"}, "pipx install --force 'whet[mcp]'"),
        (
            None,
            "pip",
            {PIPX: json.dumps({"main_package": {"package_or_url": "whet[tokens, watch]"}})},
            "pipx install --force 'whet[mcp,tokens,watch]'",
        ),
        (CLONE, "pip", {PIPX: "{}"}, "pipx install --force --editable '/src/whet[mcp]'"),
        (None, "uv", {RECEIPT: ""}, "uv tool install 'whet[mcp]'"),
        (
            GIT,
            "uv",
            {RECEIPT: '[tool]\nrequirements = [{ name = "other" }, { name = "whet", extras = ["tokens"] }]\n'},
            "uv tool install 'whet[mcp,tokens] @ git+https://example.com/whet.git'",
        ),
    ],
)
def test_the_command_fits_how_whet_was_installed(
    tmp_path: Path, origin: object, installer: str, files: dict[str, str], expected: str
) -> None:
    (tmp_path / "uv").touch(mode=0o755)
    prefix = installed(tmp_path / "env", origin, installer, **files)
    env = {"PATH": str(tmp_path)}
    (command,) = find_installation(prefix, env).commands("mcp", env=env)
    assert " ".join(f"'{word}'" if "[" in word else word for word in command) == expected.format(prefix=prefix)


def test_a_clone_with_a_lock_is_synchronized(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    origin = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    prefix = installed(clone / ".venv", origin, "uv")
    (clone / "uv.lock").touch()
    (clone / ".venv" / "bin").mkdir()
    (clone / ".venv" / "bin" / "uv").touch()
    found = find_installation(prefix, {})
    assert found == Installation(prefix, "uv sync", str(clone), editable=True)
    uv = str(clone / ".venv" / "bin" / "uv")
    assert found.commands("models", "google-genai", env={}) == (
        (uv, "sync", "--inexact", f"--project={clone}", "--extra=models"),
        (uv, "pip", "install", f"--python={prefix}", "google-genai"),
    )


def test_the_active_environment_needs_no_path(tmp_path: Path) -> None:
    prefix = installed(tmp_path)
    found = find_installation(prefix, {})
    assert found.commands("mcp", env={"VIRTUAL_ENV": prefix}) == (("pip", "install", "whet[mcp]"),)


def test_further_packages_are_added_beside_the_extra() -> None:
    def commands(manager: str) -> tuple[tuple[str, ...], ...]:
        return Installation("/env", manager).commands("models", "google-genai", env={"VIRTUAL_ENV": "/env"})

    assert commands("pip") == (("pip", "install", "whet[models]", "google-genai"),)
    assert commands("pipx") == (
        ("pipx", "install", "--force", "whet[models]"),
        ("pipx", "inject", "whet", "google-genai"),
    )
    assert commands("uv tool") == (("uv", "tool", "install", "--with=google-genai", "whet[models]"),)

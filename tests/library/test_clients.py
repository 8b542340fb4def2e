"""The table of clients: its shape, and that the parts of it agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_clients.edge_cases import MEASURED, build_market, build_world, foreseen, install_plugins, recorded

from whet.errors import NotFoundError
from whet.interfaces.clients.known import CLIENTS as CONNECTED
from whet.library.client_formats import READERS
from whet.library.clients import CLIENTS, DIRECTORIES, client_named

if TYPE_CHECKING:
    from pathlib import Path

    from whet.library.clients import Client


def test_every_directory_is_named_once_and_the_shared_one_comes_first() -> None:
    names = [directory.name for directory in DIRECTORIES]
    assert len(set(names)) == len(names)
    assert all(directory.user and directory.kind in ("skills", "commands") for directory in DIRECTORIES)
    assert DIRECTORIES[0].name == "agents"


def test_every_client_is_named_once_and_owns_a_directory_it_reads() -> None:
    names = [name for client in CLIENTS for name in (client.name, *client.aliases)]
    assert len(set(names)) == len(names)
    owned = {directory.name: directory for directory in DIRECTORIES}
    for client in CLIENTS:
        own = owned[client.directory]
        assert own.user in client.user, client.name
        assert client.format in READERS, client.name
        assert set(client.commands) <= {*client.project, *client.user}, client.name
        assert (client.version != "") == (client.format != "standard"), client.name
        assert client.depth >= 0, client.name


def test_the_clients_whet_connects_have_the_same_names() -> None:
    other = {client.name for client in CONNECTED} - {client.name for client in CLIENTS}
    assert other == {"vscode"}  # it runs Copilot, and is connected by files of its own


@pytest.mark.parametrize("name", ["claude-code", "claude", "Claude Code", "CLAUDE_CODE"])
def test_a_client_is_found_however_it_is_spelled(name: str) -> None:
    assert client_named(name).name == "claude-code"


def test_an_unknown_client_is_named_with_those_near_it() -> None:
    with pytest.raises(NotFoundError) as error:
        client_named("gemni")
    assert (error.value.code, error.value.hint) == ("unknown-client", "Did you mean gemini?")


@pytest.mark.parametrize("client", MEASURED, ids=lambda client: client.name)
def test_what_is_foreseen_is_what_the_client_listed(client: Client, tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    build_world(home, work, client, {*client.project, *client.user, ".cursor/skills"})
    assert foreseen(client, home, work) == recorded(client, "work")
    assert foreseen(client, home, work / "sub") == recorded(client, "sub")


@pytest.mark.parametrize("client", [client for client in MEASURED if client.plugins], ids=lambda client: client.name)
def test_the_skills_of_plugins_are_foreseen_too(client: Client, tmp_path: Path) -> None:
    home, work, market = tmp_path / "home", tmp_path / "work", tmp_path / "market"
    (work / ".git").mkdir(parents=True)
    build_market(market, (home, work), client)
    install_plugins(home, market, client)
    assert foreseen(client, home, work) == recorded(client, "plugins")

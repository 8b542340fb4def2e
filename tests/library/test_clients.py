"""The table of clients: its shape, and that the parts of it agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_clients.edge_cases import MEASURED, build_market, build_world, foreseen, install_plugins, recorded

from whet.errors import NotFoundError
from whet.interfaces.clients.known import CONNECTIONS
from whet.interfaces.hooks.clients import CLIENTS as HOOKS
from whet.library.client_formats import READERS
from whet.library.clients import CLIENTS, DIRECTORIES, FORMER, client_named

if TYPE_CHECKING:
    from pathlib import Path

    from whet.library.clients import Client


def test_every_directory_is_named_once_and_the_shared_one_comes_first() -> None:
    own = [one.client for one in DIRECTORIES if one.role == "own"]
    assert len(set(own)) == len(own)
    assert {one.client for one in DIRECTORIES} == {*own} <= {"agents", "agent", *(client.name for client in CLIENTS)}
    assert all(one.user and one.kind in ("skills", "commands") for one in DIRECTORIES)
    assert DIRECTORIES[0].client == "agents"


def test_every_client_is_named_once_and_owns_a_directory_it_reads() -> None:
    names = [name for client in CLIENTS for name in (client.name, *client.aliases)]
    assert len(set(names)) == len(names)
    for client in CLIENTS:
        assert client.directory.user in client.user, client.name
        assert client.format in READERS, client.name
        assert set(client.commands) <= {*client.project, *client.user}, client.name
        assert (client.version != "") == (client.format != "standard"), client.name
        assert client.depth >= 0, client.name


def test_whoever_has_a_row_elsewhere_is_one_of_these_clients() -> None:
    names = {client.name for client in CLIENTS}
    assert {row.name for row in CONNECTIONS} <= names
    assert {*HOOKS} == {row.name for row in CONNECTIONS if row.hooks} <= names
    assert {*FORMER}.isdisjoint(names) and {*FORMER.values()} <= names


@pytest.mark.parametrize("client", [client for client in CLIENTS if client.shares], ids=lambda client: client.name)
def test_a_client_without_a_directory_shares_one(client: Client) -> None:
    assert client.directory.client == client.shares


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

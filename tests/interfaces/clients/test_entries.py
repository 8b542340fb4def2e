"""What Whet puts into a text can be recognised there, and taken out again; whatever else is in it stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import ConflictError, RefusedError, WhetError
from whet.interfaces.clients.entries import (
    Entry,
    add_entries,
    find_entries,
    hook_entries,
    read,
    remove_entries,
    server_entry,
)
from whet.interfaces.clients.known import CONNECTIONS, connection_named
from whet.interfaces.clients.locations import Program
from whet.skill.text_edit import value_at

PROGRAM = Program(("/opt/whet/bin/whet",))
NAMES = [client.name for client in CONNECTIONS]
WORDS = st.sampled_from(["mcpServers", "mcp_servers", "servers", "mcp", "hooks", "Stop", "whet", "version", "other"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


def wishes(name: str, document: Any = None, program: Program = PROGRAM) -> list[Entry]:
    """Everything that is wanted of a client, as if it were all in one file."""
    client = connection_named(name)
    server = server_entry(client, program, writes=None, document=document or {})
    return [server, *(hook_entries(client, client.hooks, program, "linux", enforce=True) if client.hooks else [])]


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(WORDS, VALUES, max_size=4), st.sampled_from(NAMES), st.sampled_from([None, 2, "\t"]))
def test_what_is_put_in_can_be_taken_out(document: dict[str, Any], name: str, indent: int | str | None) -> None:
    text = json.dumps(document, indent=indent)
    wanted = wishes(name, document)
    try:
        wired = add_entries(text, "jsonc", "f", wanted)
    except (RefusedError, ConflictError):  # it is not of the client's shape, or the place is taken
        return
    assert (
        add_entries(wired.text, "jsonc", "f", wishes(name, read(wired.text, "jsonc", "f")), wired.added).text
        == wired.text
    )
    left = read(remove_entries(wired.text, "jsonc", "f", wired.added), "jsonc", "f")
    assert find_entries(left, wanted) == find_entries(document, wanted)
    stay = {entry.path[0] for entry in wired.added if entry.kind == "key" and entry.made and left.get("hooks")}
    assert _filled({key: value for key, value in left.items() if key not in stay}) == _filled(document)


@pytest.mark.parametrize("name", ["cursor", "vscode"])
def test_a_key_that_the_file_must_have_is_as_it_was_afterwards(name: str) -> None:
    for document in ({"a": 1}, {"a": 1, "version": None}, {"a": 1, "version": 7}):
        wired = add_entries(json.dumps(document), "jsonc", "f", wishes(name))
        again = add_entries(wired.text, "jsonc", "f", wishes(name), wired.added)
        assert again == wired and json.loads(wired.text)["version"] in (1, 7)
        assert json.loads(remove_entries(again.text, "jsonc", "f", again.added)) == document
    wired = add_entries("{}", "jsonc", "f", wishes(name))
    shared = json.loads(wired.text)
    shared["hooks"]["theirs"] = [{"command": "mine.sh"}]  # which needs the key
    left = json.loads(remove_entries(json.dumps(shared), "jsonc", "f", wired.added))
    assert left == {"version": 1, "hooks": {"theirs": [{"command": "mine.sh"}]}}


def _filled(value: Any) -> Any:
    """The value without what is empty: where null stood for an empty table, an empty table may stand afterwards."""
    if isinstance(value, dict):
        inner = {key: _filled(item) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item not in (None, {}, [])}
    return [_filled(item) for item in value] if isinstance(value, list) else value


ODD: dict[str, Any] = {"mcpServers": 1, "servers": "x", "mcp": [1], "mcp_servers": True, "hooks": 3}
ODD |= {"context_servers": 1.5, "amp.mcpServers": "y", "extensions": []}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("format_", "text"),
    [
        ("jsonc", json.dumps(ODD)),
        ("yaml", yaml.safe_dump(ODD)),
        ("toml", "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in ODD.items())),
    ],
)
def test_a_file_of_another_shape_is_refused(name: str, format_: Any, text: str) -> None:
    with pytest.raises(WhetError) as caught:
        add_entries(text, format_, "f", wishes(name))
    assert caught.value.code != "internal-error" and caught.value.message.startswith("f: ")


@pytest.mark.parametrize(
    "text", ["mcp_servers:\nhooks:\n", "mcp_servers: ~\n", "mcp_servers: {}\nhooks: {}\n", "", "# c\n"]
)
def test_tables_that_are_empty_are_filled(text: str) -> None:
    wired = add_entries(text, "yaml", "f", wishes("hermes"))
    document = read(wired.text, "yaml", "f")
    assert value_at(document, ("mcp_servers", "whet", "args")) == ["mcp"]
    assert value_at(document, ("hooks", "pre_llm_call", 0, "timeout")) == 10


def test_a_hook_in_a_group_with_others_is_known_and_only_its_command_changes() -> None:
    old = {"type": "command", "command": "/old/whet hook stop --client claude-code", "timeout": 99}
    other = {"type": "command", "command": "echo hook stop --client claude-code!"}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [other, old]}]}})
    wanted = [wish for wish in wishes("claude-code") if wish.path == ("hooks", "Stop")]
    wired = add_entries(text, "jsonc", "f", wanted)
    new = {**old, "command": "/opt/whet/bin/whet hook stop --client claude-code"}
    assert json.loads(wired.text) == {"hooks": {"Stop": [{"hooks": [other, new]}]}}
    assert wired.added == (Entry("hook", ("hooks", "Stop"), new, before=old),)
    assert find_entries(json.loads(wired.text), wanted) == [Entry("hook", ("hooks", "Stop"), new)]
    assert find_entries(json.loads(wired.text), wanted, exact=True) == []
    assert json.loads(remove_entries(wired.text, "jsonc", "f", wired.added)) == json.loads(text)


def test_a_hook_that_somebody_calls_in_a_way_of_their_own_is_left_and_not_added_twice() -> None:
    command = "WHET_HOME=/srv/team timeout 3 nice whet hook stop --client claude-code"
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})
    wanted = [wish for wish in wishes("claude-code") if wish.path == ("hooks", "Stop")]
    assert add_entries(text, "jsonc", "f", wanted) == (text, ())
    assert len(find_entries(json.loads(text), wanted)) == 1
    assert find_entries(json.loads(text), wanted, exact=True) == []


def test_only_our_hook_is_taken_out_of_a_group_that_others_joined() -> None:
    wanted = [wish for wish in wishes("claude-code") if wish.path == ("hooks", "Stop")]
    wired = add_entries("{}", "jsonc", "f", wanted)
    document = json.loads(wired.text)
    other = {"type": "command", "command": "mine.sh"}
    document["hooks"]["Stop"][0]["hooks"].insert(0, other)
    text = json.dumps(document)
    for added in (wired.added, find_entries(document, wanted, exact=True)):
        assert json.loads(remove_entries(text, "jsonc", "f", added)) == {"hooks": {"Stop": [{"hooks": [other]}]}}
    assert json.loads(remove_entries(wired.text, "jsonc", "f", wired.added)) == {}


def test_a_server_that_was_there_is_as_it_was_afterwards() -> None:
    theirs = {"command": "uvx", "args": ["whet", "mcp"], "env": {"A": "b"}}
    text = json.dumps({"mcpServers": {"whet": theirs}})
    wired = add_entries(text, "jsonc", "f", wishes("cursor", json.loads(text))[:1])
    assert json.loads(wired.text)["mcpServers"]["whet"] == {
        **theirs,
        "type": "stdio",
        "command": "/opt/whet/bin/whet",
        "args": ["mcp"],
    }
    again = add_entries(wired.text, "jsonc", "f", wishes("cursor", program=Program(("/new/whet",)))[:1], wired.added)
    for one in (wired, again):
        assert json.loads(remove_entries(one.text, "jsonc", "f", one.added)) == json.loads(text)


def test_a_hook_of_another_client_or_event_is_not_ours() -> None:
    document = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/x/whet hook stop --client codex"}]}]}}
    assert find_entries(document, wishes("claude-code")) == []
    assert find_entries(document, wishes("codex")) != []


def test_notes_survive_the_record() -> None:
    for added in add_entries("", "jsonc", "f", wishes("gemini")).added:
        assert Entry.from_json(json.loads(json.dumps(added.to_json()))) == added

"""Sessions are found where their clients keep them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from learning.client_sessions import CLIENTS
from whet.api import Library
from whet.errors import NotFoundError
from whet.learning.selection.learn import learn, read_source
from whet.learning.transcripts.places import LAST, find_session, places
from whet.library.clients import CLIENTS as KNOWN

if TYPE_CHECKING:
    from pathlib import Path

ID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
FILES = {
    "claude-code": (f".claude/projects/-srv-shop/{ID}.jsonl", "claude-code"),
    "codex": (f".codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-{ID}.jsonl", "codex"),
    "gemini": (".gemini/tmp/shop/chats/session-2026-11-02T09-00-0a1b2c3d.jsonl", "gemini"),
    "qwen": (f".qwen/projects/-srv-shop/chats/{ID}.jsonl", "qwen"),
    "copilot": (f".copilot/session-state/{ID}/events.jsonl", "copilot"),
    "opencode": (".local/share/opencode/opencode.db", "opencode, database"),
}


def test_the_table_names_clients_that_are_known_and_files_below_a_directory() -> None:
    assert {place.client for place in places()} <= {client.name for client in KNOWN}
    assert {place.client for place in places()} - {"cline"} == set(FILES)
    for place in places():
        assert all(base.startswith(("$", "~/")) for base in place.base)
        assert place.base[-1].startswith("~/")
        assert all(not os.path.isabs(file) and ".." not in file for file in place.files)
        assert place.many == (not any("{" in file for file in place.files))


@pytest.mark.parametrize("client", FILES)
def test_a_session_is_learned_from_by_client_and_id(tmp_path: Path, client: str) -> None:
    file, form = FILES[client]
    path = tmp_path / "home" / file
    path.parent.mkdir(parents=True)
    CLIENTS[form][1](path)
    (tmp_path / "home" / "project").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": ""}
    wanted = "ses_1" if client == "opencode" else ID
    with Library.open(home=tmp_path / "state", project=tmp_path / "home" / "project", env=env) as library:
        context = library.learning.context
        for id_ in (wanted, LAST):
            found = read_source(context, f"{client}:{id_}")
            assert (found.client, found.session) == (client, "ses_1" if client == "opencode" else "s1")
        report = learn(context, f"{client}:{wanted}")
        assert (report.captured, report.action, report.skill) == (True, "create", "build-price-list")
        with pytest.raises(NotFoundError, match="There is no session"):
            read_source(context, f"{'codex' if client != 'codex' else 'qwen'}:{ID}")


def test_a_variable_moves_the_directory_and_an_id_is_no_pattern(tmp_path: Path) -> None:
    old, new = tmp_path / ".qwen/projects/a/chats/one1.jsonl", tmp_path / "else/projects/a/chats/one1.jsonl"
    for path in (old, new):
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    home = str(tmp_path)
    assert find_session("qwen", "one1", home, {}) == str(old)
    assert find_session("qwen", "one1", home, {"QWEN_HOME": str(tmp_path / "else")}) == str(new)
    assert [find_session("qwen", id_, home, {}) for id_ in ("*", "one*", "../one1", "two2", "")] == [""] * 5
    assert find_session("unknown", "one1", home, {}) == ""


def test_last_is_the_one_that_was_changed_last(tmp_path: Path) -> None:
    directory = tmp_path / ".copilot" / "session-state"
    for number, name in enumerate(("bbbb", "cccc", "aaaa")):
        (directory / name).mkdir(parents=True)
        (directory / name / "events.jsonl").write_text("{}")
        os.utime(directory / name / "events.jsonl", (number, number))
    assert find_session("copilot", LAST, str(tmp_path), {}) == str(directory / "aaaa" / "events.jsonl")

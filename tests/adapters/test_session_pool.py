"""One pool of sessions for every program that serves many conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.api.session_pool import LibraryPool, RecentlyUsed, SessionKey, SessionPool
from whet.library.visibility import Caller

if TYPE_CHECKING:
    from adapters.world import World


def test_what_was_used_last_is_kept_longest() -> None:
    made: list[int] = []

    def make(key: int) -> str:
        made.append(key)
        return f"value {key}"

    pool = RecentlyUsed(make, 2)
    assert [pool.get(key) for key in (1, 2, 1, 3, 1, 2)] == [f"value {key}" for key in (1, 2, 1, 3, 1, 2)]
    assert (made, pool.values()) == ([1, 2, 3, 2], ["value 1", "value 2"])


def test_what_cannot_be_made_is_not_kept() -> None:
    pool: RecentlyUsed[int, float] = RecentlyUsed(lambda key: 1 / key, 2)
    for _ in range(2):
        try:
            pool.get(0)
        except ZeroDivisionError:
            continue
        raise AssertionError
    assert pool.values() == []


def test_each_conversation_has_a_session_of_its_own_until_it_is_forgotten(world: World) -> None:
    pool = SessionPool(lambda _: world.library, most=2)
    one, two = pool.get(SessionKey("1")), pool.get(SessionKey("2"))
    assert one.session is not two.session
    assert (one.session.id, pool.get(SessionKey("1")) is one) == ("1", True)
    pool.get(SessionKey("3"))
    assert pool.get(SessionKey("2")) is not two


def test_another_project_is_another_session(world: World) -> None:
    opened: list[str | None] = []

    def open_library(project: str | None) -> Any:
        opened.append(project)
        return world.library

    pool = SessionPool(LibraryPool(open_library).get, writes="none")
    caller = Caller(surface="mcp")
    here, there = (pool.get(SessionKey("1", project, caller)) for project in (None, "/there"))
    assert here is not there
    assert here is pool.get(SessionKey("1", None, caller))
    assert (here.session.caller, here.writes, opened) == (caller, "none", [None, "/there"])


def test_shared_tools_are_those_of_every_conversation(world: World) -> None:
    tools = world.library.tools()
    pool = SessionPool(lambda _: world.library, shared=tools)
    assert pool.get(SessionKey("1")) is pool.get(SessionKey("2")) is tools


def test_a_saved_session_goes_on_in_another_pool(world: World) -> None:
    saved, key = world.library.learning.sessions, SessionKey("1", client="codex")
    saved.note("codex", "1", prompts=1)
    first = SessionPool(lambda _: world.library, saved=saved)
    session = first.session(key)
    session.view("deploy")
    assert SessionPool(lambda _: world.library, saved=saved).session(key).active == ()
    first.save(key, session)
    again = SessionPool(lambda _: world.library, saved=saved).session(key)
    assert [(again.id, item.name) for item in again.active] == [("1", "deploy")]
    saved.keep("codex", "1", {"version": -1})
    assert SessionPool(lambda _: world.library, saved=saved).session(key).active == ()

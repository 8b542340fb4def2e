"""Addresses: every safe path there and back, nothing that could mean another place, one skill for each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_server.shelves import World, world
from whet.errors import UsageError
from whet.interfaces.mcp.addresses import MAX_ADDRESS, AddressBook, address, read_address
from whet.skill.paths import check

__all__ = ["world"]


def is_safe(path: str) -> bool:
    try:
        return check(path) == path
    except UsageError:
        return False


SEGMENTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.sampled_from(
    ["SKILL.md", "%2e%2e", "a b", "ü", "日本", "100%", "a+b", "?", "#", "~x", "e\u0301", "..a", "a@b", "x;y=z"]
)
SAFE_PATHS = st.lists(SEGMENTS, min_size=1, max_size=6).map("/".join).filter(is_safe)


@given(file=SAFE_PATHS)
@settings(max_examples=200, deadline=None)
def test_every_safe_path_comes_back_from_its_address(file: str) -> None:
    uri = address(("acme", "refunds"), file)
    assert read_address(uri) == ("acme", "refunds", *file.split("/"))
    assert uri.isascii()
    assert not set(uri[len("skill://") :]) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%/")


@given(text=st.text(max_size=60) | st.text("abSK.%2eEfF/\\:@?#~\0\n", max_size=60))
@settings(max_examples=200, deadline=None)
def test_an_address_is_refused_or_has_only_plain_segments(text: str) -> None:
    try:
        segments = read_address(f"skill://{text}")
    except UsageError:
        return
    assert segments
    for segment in segments:
        assert segment not in {"", ".", ".."}
        assert not set(segment) & set("/\\\0\n")
    assert read_address(address(segments)) == segments


@pytest.mark.parametrize(
    ("uri", "what"),
    [
        ("https://pdf/SKILL.md", "does not start with skill://"),
        ("skill:/pdf/SKILL.md", "does not start with skill://"),
        ("pdf", "does not start with skill://"),
        ("", "does not start with skill://"),
        ("skill://", "has the part ''"),
        ("skill:///SKILL.md", "has the part ''"),
        ("skill://pdf/", "has the part ''"),
        ("skill://pdf//SKILL.md", "has the part ''"),
        ("skill://pdf/../other/SKILL.md", "has the part '..'"),
        ("skill://pdf/./SKILL.md", "has the part '.'"),
        ("skill://pdf/%2e%2E/x", "has the part '..'"),
        ("skill://pdf/a%2Fb", "has an encoded slash or backslash"),
        ("skill://pdf/..%2f..%2fetc", "has an encoded slash or backslash"),
        ("skill://pdf/a%5cb", "has an encoded slash or backslash"),
        ("skill://pdf/a\\b", "has a backslash"),
        ("skill://pdf/a%00b", "has control or invisible characters"),
        ("skill://pdf/a\nb", "has control or invisible characters"),
        ("skill://pdf/%E2%80%AEfdp.md", "has control or invisible characters"),
        ("skill://pdf/SKILL.md?x=1", "has a query"),
        ("skill://pdf/SKILL.md#top", "has a fragment"),
        ("skill://user@pdf/SKILL.md", "has a user or a port"),
        ("skill://pdf:80/SKILL.md", "has a user or a port"),
        ("skill://pdf/100%", "has a % without two hexadecimal digits"),
        ("skill://pdf/%zz", "has a % without two hexadecimal digits"),
        ("skill://pdf/%ff", "is not UTF-8 once it is decoded"),
        ("skill://pdf/%c0%ae", "is not UTF-8 once it is decoded"),
        ("skill://pdf/\ud800", "is not UTF-8 once it is decoded"),
    ],
)
def test_what_could_mean_another_place_is_refused(uri: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_address(uri)
    assert caught.value.code == "bad-resource-address"
    assert caught.value.message == f"The address {uri!r} {what}."


def test_a_very_long_address_is_refused() -> None:
    with pytest.raises(UsageError, match="characters; the limit is"):
        read_address("skill://" + "a" * MAX_ADDRESS)


def test_what_a_client_did_not_encode_is_read_as_it_is() -> None:
    assert read_address("SKILL://pdf/my file (1).md") == ("pdf", "my file (1).md")
    assert read_address("skill://pdf/größe.md") == read_address("skill://pdf/gr%C3%B6%c3%9fe.md") == ("pdf", "größe.md")
    assert read_address("skill://pdf/%252e%252e") == ("pdf", "%2e%2e")


# which skill has which address


def paths(world: World) -> list[str]:
    book = AddressBook(world.library().catalogue)
    return [address(book.paths[card.path]) for card in book.cards()]


def test_plain_plugin_and_shadowed_skills_have_addresses_that_end_in_their_names(world: World) -> None:
    world.config(f'[plugins]\nacme = "{world.top / "acme"}"\n')
    world.mine("deploy")
    world.skill("acme/refunds")
    world.skill("elsewhere/deploy")
    world.config(f'external = ["{world.top / "elsewhere"}"]\n[plugins]\nacme = "{world.top / "acme"}"\n')
    assert paths(world) == ["skill://acme/refunds", "skill://deploy", "skill://external/deploy"]


def test_a_plugin_called_like_a_skill_steps_aside(world: World) -> None:
    world.config(f'[plugins]\npdf = "{world.top / "plugin"}"\n')
    world.mine("pdf")
    world.skill("plugin/extract")
    assert paths(world) == ["skill://pdf", "skill://~pdf/extract"]
    found = AddressBook(world.library().catalogue).find(("~PDF", "extract", "references", "a.md"))
    assert found is not None
    assert (found.card.full_name, found.path, found.file) == ("pdf:extract", ("~pdf", "extract"), "references/a.md")


def test_two_skills_do_not_share_an_address(world: World) -> None:
    world.mine("deploy")
    second = world.skill("home/.claude/skills/deploy")
    third = world.skill("home/.codex/skills/deploy")
    book = AddressBook(world.library().catalogue)
    assert [address(book.paths[card.path]) for card in book.cards()] == ["skill://deploy", "skill://user/deploy"]
    assert book.unfit == {str(third / "SKILL.md"): f"{second} has the same address."}


def test_a_plugin_whose_name_is_no_segment_has_no_addresses(world: World) -> None:
    world.config(f'[plugins]\n"../up" = "{world.top / "plugin"}"\n')
    path = world.skill("plugin/extract")
    book = AddressBook(world.library().catalogue)
    assert book.cards() == []
    assert book.unfit == {str(path / "SKILL.md"): "The name of its plugin, '../up', cannot be part of an address."}


def test_names_are_compared_as_everywhere(world: World) -> None:
    world.mine("my-skill")
    book = AddressBook(world.library().catalogue)
    for segments in (("my-skill", "A.md"), ("My_Skill", "A.md")):
        found = book.find(segments)
        assert found is not None
        assert (found.path, found.file) == (("my-skill",), "A.md")
    assert book.find(("my-skil",)) is None
    assert book.find(("user", "my-skill")) is None

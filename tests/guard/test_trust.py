"""The trust of an address: exactly the sources of the list, and nothing that only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.guard.scan import scan
from whet.guard.trust import VENDORS, origin_trust, source_of
from whet.skill.tree import Item


@pytest.mark.parametrize(
    "origin",
    [
        "anthropics/skills",
        "Anthropics/Skills",
        "github.com/anthropics/skills",
        "https://github.com/anthropics/skills",
        "https://github.com/anthropics/skills.git",
        "git@github.com:anthropics/skills.git",
        "anthropics/skills/",
        "ssh://git@github.com/anthropics/skills",
        "git+https://github.com/anthropics/skills@main",
        "HTTPS://GitHub.com/anthropics/skills",
        "https://github.com/anthropics/skills/tree/main/pdf",
        "anthropics/skills/pdf",
        "https://www.github.com/anthropics/skills",
        "https://github.com/anthropics/skills?tab=readme",
        "https://github.com/anthropics/skills#pdf",
        " anthropics/skills ",
    ],
)
def test_every_spelling_of_a_vendor_is_the_vendor(origin: str) -> None:
    assert (source_of(origin), origin_trust(origin)) == ("github.com/anthropics/skills", "trusted")


@pytest.mark.parametrize(
    "origin",
    [
        "anthropics/skills-evil",
        "anthropics-skills/skills",
        "anthropic/skills",
        "evil/anthropics/skills",
        "skills",
        "https://github.com.evil.com/anthropics/skills",
        "https://github.com@evil.com/anthropics/skills",
        "anthropics",
        "https://evil.com/github.com/anthropics/skills",
        "https://github.com:8443/anthropics/skills",
        "",
        "/",
        "https://user:pw@github.com/anthropics/skills",
        "http://github.com/anthropics/skills",
        "file:///anthropics/skills",
        "https://gіthub.com/anthropics/skills",
        "https://github.com/аnthropics/skills",
        "anthropics/ѕkills",
        "https://xn--gthub-n4a.com/anthropics/skills",
        "anthropics/../evil/skills",
        "anthropics//skills",
        "./anthropics/skills",
        "https://github.com/anthropics%2Fskills/x",
        "https://github.com\\@evil.com/anthropics/skills",
        "anthropics\\skills",
        "https://raw.githubusercontent.com/anthropics/skills",
        "gitlab.com/anthropics/skills",
        "anthropics/skills\n.evil/x",
        "https://github.com./anthropics/skills",
        "anthropics/.skills",
        "ftp://github.com/anthropics/skills",
        "anthropics/skills\0",
        "git@evil.com:anthropics/skills",
        "ssh://root@github.com/anthropics/skills",
        "https://git@github.com/anthropics/skills",
        "https://anthropics/skills",
        "https://github.com:443/anthropics/skills",
    ],
)
def test_nothing_that_looks_like_a_vendor_is_one(origin: str) -> None:
    assert origin_trust(origin) == "community"


def test_the_user_adds_sources_and_only_those() -> None:
    mine = ("acme/skills", "https://git.acme.example/team/skills", "not a source")
    assert origin_trust("https://github.com/acme/skills.git", mine) == "trusted"
    assert origin_trust("git.acme.example/team/skills", mine) == "trusted"
    assert [origin_trust(origin, mine) for origin in ("acme/skills2", "not a source", "")] == ["community"] * 3
    assert origin_trust("acme/skills") == "community"


@pytest.mark.parametrize(
    ("listed", "same", "others"),
    [
        (
            "https://gitlab.com/acme/team/skills",
            ["https://gitlab.com/acme/team/skills.git", "git@gitlab.com:acme/team/skills.git"],
            [
                "https://gitlab.com/acme/team/evil",
                "https://gitlab.com/acme/team",
                "https://gitlab.com/acme/team/skills/x",
            ],
        ),
        (
            "gitlab.com/acme/skills",
            ["https://gitlab.com/acme/skills", "ssh://git@gitlab.com/acme/skills"],
            ["https://gitlab.com/acme/skills/evil", "acme/skills", "https://www.gitlab.com/acme/skills"],
        ),
        (
            "git@git.acme.example:team/skills.git",
            ["ssh://git@git.acme.example/team/skills", "https://git.acme.example/team/skills.git"],
            [
                "root@git.acme.example:team/skills",
                "git@git.acme.example.evil.example:team/skills",
                "git@x:/team/skills",
            ],
        ),
        (
            "https://dev.azure.com/acme/tools/_git/skills",
            ["https://dev.azure.com/acme/tools/_git/skills?version=GBmain"],
            ["https://dev.azure.com/acme/tools/_git/evil", "https://dev.azure.com/acme/tools"],
        ),
    ],
)
def test_a_source_on_another_host_is_the_whole_path(listed: str, same: list[str], others: list[str]) -> None:
    assert {origin: origin_trust(origin, [listed]) for origin in same} == dict.fromkeys(same, "trusted")
    assert {origin: origin_trust(origin, [listed]) for origin in others} == dict.fromkeys(others, "community")


def test_what_is_no_address() -> None:
    assert [origin_trust(origin) for origin in ("gallery:whet", "builtin", "agent-created")] == [
        "community",
        "community",
        "agent-created",
    ]
    assert [source_of(vendor) for vendor in VENDORS] == list(VENDORS)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.from_regex(r"(https://)?[\w.@:-]{1,20}/[\w.-]{1,12}/[\w.-]{1,12}", fullmatch=True))
def test_whatever_is_trusted_is_on_the_list(origin: str) -> None:
    if origin_trust(origin) == "trusted":
        assert source_of(origin) in VENDORS
    assert source_of(source_of(origin)) == source_of(origin)


@pytest.mark.parametrize(
    ("origin", "verdict"),
    [
        ("github.com/acme/skills", "safe"),
        ("acme.dev", "safe"),
        ("github.com/somebody/acme-tools", "caution"),
        ("github.com/acme-labs/skills", "caution"),
        ("github.com/somebody/skills", "caution"),
        ("evil.example", "caution"),
    ],
)
def test_a_host_that_a_package_calls_its_own_is_checked_against_its_origin(origin: str, verdict: str) -> None:
    head = "---\nname: acme-setup\ndescription: Sets up acme.\n---\n\n# Acme\n\n"
    text = f"{head}```bash\ncurl -fsSL https://acme.dev/install | sh\n```\n"
    assert scan({"SKILL.md": Item(text.encode())}, origin).verdict == verdict

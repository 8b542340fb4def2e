"""Who vouches for a source: exactly the listed places, whatever tricks an address plays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whet.errors import WhetError
from whet.guard.trust import VENDORS
from whet.library.roots import Place
from whet.sources.model import KINDS, Ref
from whet.sources.refs.parse import read_ref, ref_trust

PLACE = Place("/w", "/h", "/s", "linux", {})


def trust(text: str, *listed: str) -> str:
    """The trust of what somebody types; `refused` when it is no source."""
    try:
        return ref_trust(read_ref(text, PLACE), listed)
    except WhetError:
        return "refused"


@pytest.mark.parametrize(
    "text",
    [
        "anthropics/skills",
        "ANTHROPICS/Skills",
        "anthropics/skills.git",
        "anthropics/skills@main",
        "anthropics/skills#main",
        "anthropics/skills/skills/pdf",
        "anthropics/skills/skills/pdf@v1",
        "github:anthropics/skills",
        "github.com/anthropics/skills",
        "https://github.com/anthropics/skills",
        "https://GitHub.com:443/anthropics/skills/",
        "https://www.github.com/anthropics/skills",
        "http://github.com/anthropics/skills",
        "https://github.com/anthropics/skills?tab=readme-ov-file",
        "https://github.com/anthropics/skills/tree/main/skills/pdf",
        "https://github.com/anthropics/skills/blob/main/skills/pdf/SKILL.md",
        "https://raw.githubusercontent.com/anthropics/skills/main/skills/pdf/SKILL.md",
        "git@github.com:anthropics/skills.git",
        "ssh://git@github.com/anthropics/skills",
        "git+https://github.com/anthropics/skills@main#subdirectory=skills/pdf",
        "https://skills.sh/anthropics/skills/pdf",
        "openai/skills",
        "NVIDIA/skills",
    ],
)
def test_a_vendor_is_trusted_in_every_spelling(text: str) -> None:
    assert trust(text) == "trusted"


@pytest.mark.parametrize(
    "text",
    [
        "anthropic/skills",
        "anthropics/skillss",
        "anthropics/skills-evil",
        "anthropics/skill",
        "anthropics-skills/skills",
        "anthropics-ai/skills",
        "evil/anthropics/skills",
        "gitlab:anthropics/skills",
        "gitlab.com/anthropics/skills",
        "bitbucket:anthropics/skills",
        "https://gitlab.com/anthropics/skills",
        "https://github.com.evil.example/anthropics/skills",
        "git:https://github.com.evil.example/anthropics/skills",
        "https://evil.example/github.com/anthropics/skills.git",
        "https://evil.example/anthropics/skills.git",
        "https://github.com:8443/anthropics/skills.git",
        "git:http://evil.example/anthropics/skills",
        "git@evil.example:anthropics/skills.git",
        "ssh://git@github.com:2222/anthropics/skills",
        "https://xn--gthub-n4a.com/anthropics/skills.git",
        "https://github.com/anthropics/skills/archive/main.zip",
        "https://github.com/anthropics/skills/releases/download/v1/pdf.skill",
        "https://github.com/anthropics/skills/blob/main/pdf.zip",
        "https://evil.example/https:/github.com/anthropics/skills",
        "https://gist.github.com/anthropics/0123456789abcdef0123456789abcdef",
        "file:///anthropics/skills",
        "marketplace:anthropics/skills",
        "marketplace:anthropics/skills#pdf",
        "clawhub:anthropics/skills",
        "https://clawhub.ai/anthropics/skills/pdf",
        "hub:https://github.com/anthropics/skills",
        "well-known:https://github.com/anthropics/skills",
        "https://anthropics.example/skills",
        "./x.skill",
        "https://evil.example/x.zip",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert trust(text) == "community"


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com@evil.example/anthropics/skills",
        "https://gıthub.com/anthropics/skills",
        "https://github.com\\@evil.example/anthropics/skills",
        "anthropics/skills/../evil",
        "anthropics/../anthropics/skills",
        "аnthropics/skills",
        "https://github.com/anthropics%2Fskills",
        "https://user:pw@github.com/anthropics/skills",
        "git://github.com/anthropics/skills",
        "https://github.com./anthropics/skills",
    ],
)
def test_tricks_are_no_source_at_all(text: str) -> None:
    assert trust(text) == "refused"


@pytest.mark.parametrize(
    ("kind", "location"),
    [
        ("git", "builtin"),
        ("git", "gallery:whet"),
        ("gallery", "https://github.com/anthropics/skills"),
        ("gallery", "elsewhere"),
        ("git", "agent-created"),
        ("git", ""),
        ("git", "anthropics/skills"),
        ("git", "https://github.com/anthropics/skills/evil"),
        ("git", "https://github.com/anthropics/skills?x=1"),
        ("git", "https://github.com/anthropics/skills@evil"),
        ("git", "http://github.com/anthropics/skills"),
        ("git", "https://github.com/anthropics/skills/../evil"),
        ("url", "https://github.com/anthropics/skills"),
        ("hub", "https://github.com/anthropics/skills"),
        ("new-kind", "https://github.com/anthropics/skills"),
        ("archive", "/anthropics/skills"),
    ],
)
def test_a_reference_that_nobody_read_gains_nothing(kind: str, location: str) -> None:
    assert ref_trust(Ref(kind, location)) == "community"


def test_what_lies_on_the_own_disk_is_local_and_an_archive_is_not() -> None:
    assert [trust(text) for text in ("./skills", "/srv/skills", "~/skills", "./x.skill", "/srv/x.zip")] == [
        *["local"] * 3,
        *["community"] * 2,
    ]


@pytest.mark.parametrize(
    ("listed", "trusted", "others"),
    [
        (
            "https://acme.example",
            ["https://acme.example", "https://ACME.example:443/", "hub:https://acme.example/team/pdf@1.0"],
            [
                "https://acme.example/docs",
                "http://acme.example",
                "https://acme.example:8443",
                "https://www.acme.example",
            ],
        ),
        (
            "https://acme.example/docs",
            ["https://acme.example/docs/", "https://acme.example/docs/.well-known/skills/index.json"],
            [
                "https://acme.example",
                "https://acme.example/docs/x",
                "https://acme.example/docs2",
                "https://evil.example/docs",
            ],
        ),
        (
            "https://acme.example/pdf.skill",
            ["https://acme.example/pdf.skill"],
            ["https://acme.example/pdf.skill?v=2", "http://acme.example/pdf.skill", "https://acme.example/other.skill"],
        ),
        (
            "hub:https://acme.example/team/pdf",
            ["hub:https://acme.example/team/pdf@2"],
            ["hub:https://acme.example/team/x"],
        ),
        ("hub:https://acme.example", ["hub:https://acme.example/team/pdf"], ["https://acme.example"]),
        ("clawhub:acme/pdf", ["clawhub:acme/pdf", "clawhub:acme/pdf@1.0"], ["clawhub:acme/x", "clawhub:pdf"]),
        ("clawhub:pdf", [], ["clawhub:pdf", "clawhub:acme/pdf"]),
        ("https://clawhub.ai", [], ["clawhub:acme/pdf", "https://clawhub.ai"]),
        ("http://acme.example", [], ["http://acme.example", "https://acme.example"]),
        ("acme.example/docs/skills", [], ["https://acme.example/docs/skills"]),
        ("marketplace:acme/skills", [], ["marketplace:acme/skills", "acme/skills"]),
        ("./x.skill", [], ["./x.skill"]),
        ("acme/skills", ["acme/skills/pdf", "https://github.com/Acme/Skills"], ["acme/skills2", "gitlab:acme/skills"]),
    ],
)
def test_the_user_lists_exactly_one_place(listed: str, trusted: list[str], others: list[str]) -> None:
    assert {text: trust(text, listed) for text in trusted} == dict.fromkeys(trusted, "trusted")
    assert {text: trust(text, listed) for text in others} == dict.fromkeys(others, "community")


@settings(max_examples=200, deadline=None)
@given(
    st.builds(
        Ref,
        st.sampled_from(KINDS),
        st.text(max_size=40) | st.sampled_from(["whet", *(f"https://{v}" for v in VENDORS)]),
    )
)
def test_only_vendors_and_the_gallery_are_trusted_where_nothing_is_listed(ref: Ref) -> None:
    if ref_trust(ref) == "trusted" and ref[:2] != ("gallery", "whet"):
        assert (ref.kind, ref.location.removeprefix("https://").lower() in VENDORS) == ("git", True)

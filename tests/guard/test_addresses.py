"""One spelling for each source, and none for what could be mistaken."""

from __future__ import annotations

import pytest

from whet.guard.trust import address_of, covers

PLACE = "github.com/acme/skills"


@pytest.mark.parametrize(
    "text",
    [
        "acme/skills",
        "github.com/acme/skills",
        "https://github.com/acme/skills",
        "https://github.com/acme/skills.git",
        "https://GitHub.com/Acme/Skills/",
        "https://www.github.com/acme/skills",
        "https://github.com:443/acme/skills",
        "git+https://github.com/acme/skills",
        "GIT+HTTPS://github.com/acme/skills",
        "ssh://git@github.com/acme/skills.git",
        "ssh://git@github.com:22/acme/skills",
        "git@github.com:acme/skills.git",
        " acme/skills ",
        "https://github.com/acme/skills?x=1#y",
    ],
)
def test_spellings_of_the_same_place(text: str) -> None:
    assert address_of(text) == PLACE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://hub.example.com", "hub.example.com"),
        ("https://hub.example.com:8443/a/B", "hub.example.com:8443/a/B"),
        ("http://hub.example.com/a", "http://hub.example.com/a"),
        ("/opt/skills/", "/opt/skills"),
        ("/opt/skills/../other", "/opt/other"),
        ("/", "/"),
        ("https://user@github.com/acme/skills", ""),
        ("https://github.com@evil.example/acme/skills", ""),
        ("https://github.com/acme/../evil/skills", ""),
        ("https://github.com//acme/skills", ""),
        ("https://github.com/acme%2fskills", ""),
        ("https://github.com\\acme\\skills", ""),
        ("https://gith\u0443b.com/acme/skills", ""),
        ("ftp://github.com/acme/skills", ""),
        ("file:///opt/skills", ""),
        ("./skills", ""),
        ("../acme/skills", ""),
        ("", ""),
    ],
)
def test_other_places_and_what_is_none(text: str, expected: str) -> None:
    assert address_of(text) == expected


@pytest.mark.parametrize(
    ("entry", "address", "expected"),
    [
        ("acme/skills", "https://github.com/acme/skills", True),
        ("github.com/acme", "https://github.com/acme/skills", True),
        ("github.com", "https://github.com/evil/skills", True),
        ("acme/skills", "https://github.com/acme/skills-evil", False),
        ("acme/skills", "https://github.com.evil.example/acme/skills", False),
        ("acme/skills", "http://github.com/acme/skills", False),
        ("acme/skills", "https://github.com:8443/acme/skills", False),
        ("https://hub.example.com/acme", "https://hub.example.com/acme/review", True),
        ("https://hub.example.com/acme", "https://hub.example.com/evil/review", False),
        ("/opt/skills", "/opt/skills/a", True),
        ("/opt/skills", "/opt/skills-evil/a", False),
        ("/opt/skills", "/opt/skills/../evil", False),
        ("/", "/anything", True),
        ("", "", False),
    ],
)
def test_what_an_entry_covers(entry: str, address: str, *, expected: bool) -> None:
    assert covers(entry, address) is expected

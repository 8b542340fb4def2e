"""The public face of the package: exactly these names, all of them reachable, loaded only when used."""

from __future__ import annotations

import importlib.metadata

import whet

PUBLIC = [
    "MODEL",
    "PERSON",
    "AmbiguousError",
    "Caller",
    "Card",
    "Catalogue",
    "ConflictError",
    "Detection",
    "FailedError",
    "FileView",
    "Index",
    "InvalidError",
    "Invocation",
    "Library",
    "LocalProbe",
    "Match",
    "Matches",
    "MessageContext",
    "Need",
    "Needs",
    "NotFoundError",
    "Note",
    "Probe",
    "RefusedError",
    "Reload",
    "Session",
    "Skill",
    "SkillView",
    "Skills",
    "Tokenizer",
    "UsageError",
    "Use",
    "WhetError",
    "__version__",
    "recover",
]


def test_the_public_names_are_these() -> None:
    assert whet.__all__ == PUBLIC
    assert dir(whet) == sorted(PUBLIC)


def test_every_public_name_exists() -> None:
    assert [name for name in PUBLIC if getattr(whet, name, None) is None] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(whet, "Libary")


def test_the_version_is_the_distributions() -> None:
    assert importlib.metadata.version("whet") == whet.__version__

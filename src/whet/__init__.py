"""Whet: the skill system for AI agents.

`Library` is the front door; everything here is loaded when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
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

_HOMES = {
    "whet.api": ("Library", "Reload"),
    "whet.api.session": ("Session",),
    "whet.errors": (
        "AmbiguousError",
        "ConflictError",
        "FailedError",
        "InvalidError",
        "NotFoundError",
        "RefusedError",
        "UsageError",
        "WhetError",
    ),
    "whet.library.card": ("Card",),
    "whet.library.catalogue": ("Catalogue",),
    "whet.library.disclosure": ("FileView", "SkillView"),
    "whet.library.listing": ("Skills",),
    "whet.library.readiness": ("LocalProbe", "Probe"),
    "whet.library.visibility": ("MODEL", "PERSON", "Caller"),
    "whet.notes": ("Note",),
    "whet.prompt.index": ("Index", "Use"),
    "whet.prompt.invocation": ("Invocation",),
    "whet.prompt.matcher": ("Detection", "Match", "Matches", "MessageContext"),
    "whet.prompt.message": ("recover",),
    "whet.prompt.needs": ("Need", "Needs"),
    "whet.prompt.tokens": ("Tokenizer",),
    "whet.skill.model": ("Skill",),
}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whet.api import Library, Reload
    from whet.api.session import Session
    from whet.errors import (
        AmbiguousError,
        ConflictError,
        FailedError,
        InvalidError,
        NotFoundError,
        RefusedError,
        UsageError,
        WhetError,
    )
    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.disclosure import FileView, SkillView
    from whet.library.listing import Skills
    from whet.library.readiness import LocalProbe, Probe
    from whet.library.visibility import MODEL, PERSON, Caller
    from whet.notes import Note
    from whet.prompt.index import Index, Use
    from whet.prompt.invocation import Invocation
    from whet.prompt.matcher import Detection, Match, Matches, MessageContext
    from whet.prompt.message import recover
    from whet.prompt.needs import Need, Needs
    from whet.prompt.tokens import Tokenizer
    from whet.skill.model import Skill


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            value: object = getattr(import_module(module), name)
            globals()[name] = value
            return value
    message = f"module 'whet' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)

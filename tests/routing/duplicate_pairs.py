"""Skills to compare: some for the same job in other words, some made from one template for different jobs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import yaml

from whet.routing.texts import Texts


class Labelled(NamedTuple):
    """A skill, and the job it is for."""

    job: str
    texts: Texts


_COMMAND = """# {verb} {noun}s
Use the `depot` command line tool to {verb} {noun}s. Sign in first with `depot login`; the token lies in the keychain.

## Commands
- `depot {noun} list --format json` lists every {noun} of the project.
- `depot {noun} {verb} NAME` needs a name and prints the result as JSON.
- `depot {noun} {verb} NAME --dry-run` shows what would happen.

## When it fails
Exit code 2 means that you are not signed in. Exit code 3 means that the {noun} is not there. {own}
"""
_COMMANDS = (
    ("create", "webhook", "A webhook wants an HTTPS address and a signing secret; deliveries are tried five times."),
    ("rotate", "token", "Old tokens stay valid for an hour after rotation, so that clients can follow."),
    ("merge", "ticket", "Merging keeps the watchers and comments of both and closes the younger one."),
    ("export", "invoice", "PDF and UBL are the formats; sums are in cents, with the currency beside them."),
    ("restore", "snapshot", "Volumes are detached before, and the machine boots from the restored disk."),
    ("invite", "member", "Roles are viewer, editor and owner; the mail with the link ends after two days."),
)
_REVIEW = """# Reviewing {language}
Read the whole change first, then comment. Say what is wrong, why, and what to write instead. Praise what is good. Block
only on bugs, security and lost data; the rest is a suggestion. Run the formatter before you talk about style.

## What to look for in {language}
{own}
"""
_REVIEWS = (
    (
        "Rust",
        "Needless clone, unwrap outside tests, lifetimes that could be elided, unsafe without a comment, Send bounds.",
    ),
    ("Python", "Mutable default arguments, bare except, missing annotations, generators that are exhausted twice."),
    (
        "Terraform",
        "Providers without version, resources that a rename would destroy, secrets in the state, missing tags.",
    ),
    ("Swift", "Force unwrapping, retain cycles in closures, work on the main actor, structs that should be classes."),
)


def _family(name: str) -> list[Texts]:
    if name == "depot":
        return [
            Texts(
                f"depot-{noun}-{verb}",
                f"{verb.title()} {noun}s with the depot tool.",
                _COMMAND.format(verb=verb, noun=noun, own=own),
            )
            for verb, noun, own in _COMMANDS
        ]
    return [
        Texts(
            f"{language.lower()}-review",
            f"Review changes to {language} code.",
            _REVIEW.format(language=language, own=own),
        )
        for language, own in _REVIEWS
    ]


FAMILIES = {name: _family(name) for name in ("depot", "review")}
"""Siblings: one template, different jobs."""


def labelled() -> dict[str, Labelled]:
    """All skills by name; each sibling is for a job of its own."""
    path = Path(__file__).with_name("duplicate_pairs.yaml")
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))
    found = {
        skill["name"]: Labelled(job, Texts(skill["name"], skill["description"], skill["body"]))
        for job, skills in jobs.items()
        for skill in skills
    }
    siblings = {texts.name: Labelled(texts.name, texts) for family in FAMILIES.values() for texts in family}
    return {**found, **siblings}


def area(scores: list[tuple[float, bool]]) -> float:
    """The area under the ROC curve: how often a pair for one job scores above a pair for two; equals count half."""
    won = sum(
        (score > other) + (score == other) / 2 for score, same in scores if same for other, alike in scores if not alike
    )
    rights = sum(same for _, same in scores)
    return won / (rights * (len(scores) - rights))

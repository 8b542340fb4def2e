"""Which skill a draft belongs to: one that is there already and may be improved, or none yet.

A skill may be improved when it is one's own: not one that ships with Whet, was put there by an administrator or a
plugin, was installed from elsewhere, or is pinned. No body is read but those of the few skills that are likely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.main_file import main_of, said
from whet.errors import WhetError
from whet.learning.context import held_back
from whet.learning.distill.names import is_rare, tells
from whet.learning.evidence.loads import loads_of, short_name
from whet.learning.evidence.shell import programs
from whet.library.package import read_tree
from whet.routing.duplicates import THRESHOLD, resembling
from whet.routing.texts import Texts
from whet.skill.names import key, slug
from whet.skill.terms import chunks, key_terms, terms

if TYPE_CHECKING:
    from whet.authoring.journal import Journal
    from whet.learning.context import LearningContext
    from whet.learning.distill.draft import Draft
    from whet.learning.evidence.session import Evidence
    from whet.learning.transcripts.events import Transcript
    from whet.library.card import Card
    from whet.skill.tree import Tree

COUNT = "distilled-sessions"
"""In the metadata: from how many sessions a skill was distilled."""
SAME_JOB = 0.25
"""The score from which on a distilled skill is for the same job as a new draft. Of outlines of 71 sessions, pairs for
one task have 0.22 or more, and pairs for different ones 0.10 or less."""
SAME_NAME = 0.15
"""The score that is enough where the names say the same but for a word or two: short skills share few words."""
_WORDS = 0.6
"""The part of their words that such names share."""
_BEARING = 3
"""What a session must have to do with a skill to change it: a rare word and a common one, or two commands."""
_THEIRS = frozenset(("org", "plugin"))
"""Scopes of skills that are not the user's own."""


class Relative(NamedTuple):
    """A skill that is there already, for a draft's job."""

    card: Card
    own: bool
    """Whether it may be improved."""
    used: bool = False
    """Whether it is it only because the session used it: then it may be about something wider."""


def relative_of(context: LearningContext, made: Draft) -> Relative | None:
    """The skill that a draft belongs to: one of one's own that has its name; else the most alike."""
    cards = context.workspace.snapshot().catalogue.cards
    for card in cards:
        if slug(card.name) == made.name and is_own(context, card):
            return Relative(card, own=True)
    named = {card.full_name: card for card in cards}
    for found in resembling(context.workspace, "", Texts(made.name, made.description, made.body), SAME_NAME):
        card = named[found.name]
        if found.score >= least_score(card.name, made.name, distilled=_is_distilled(card)):
            return Relative(card, own=is_own(context, card))
    return None


def bearing_of(texts: Texts, evidence: Evidence, transcript: Transcript) -> int:
    """How much of a session has to do with a skill; 0 where too little does.

    What tells: that the user called it by its name, that commands were run which it names, and that it is described in
    the words of the request and of what the user put right. Words and programs of many jobs count for half.
    """
    name = key(texts.name)
    called = any(short_name(load.skill) == name and load.asked for load in loads_of(transcript.events))
    wanted = (evidence.request, *evidence.rules)
    called = called or any(name in key(rule) for rule in evidence.rules)
    ran = {ran.label for step in evidence.steps for ran in programs(step.action) if ran.label and not ran.looks}
    shared = [label for label in ran if label in texts.body]
    words = [chunk for chunk in chunks(f"{texts.name.replace('-', ' ')} {texts.description}") if tells(chunk)]
    told = {term for text in wanted for chunk in chunks(text) for term in terms(chunk)}
    kinds = {terms(word)[-1]: 2 if is_rare(word) else 1 for word in words if terms(word)}
    weight = 4 * called + sum(4 if is_rare(label.partition(" ")[0]) else 2 for label in shared)
    weight += sum(worth for term, worth in kinds.items() if term in told)
    return weight if weight >= _BEARING else 0


def concerning(evidence: Evidence, texts: Texts) -> Evidence:
    """What of a session concerns a skill: rules, errors and steps that share a word or a program with its text.

    An aside, such as how an unrelated mail is to be worded, must not change the skill that happened to be loaded.
    """
    known = key_terms(f"{texts.name.replace('-', ' ')} {texts.description} {texts.body}")
    ran = {one.label for step in evidence.steps if step.tool == "Bash" for one in programs(step.action)}
    own = [label for label in ran if label and label in texts.body]

    def concerns(text: str) -> bool:
        return bool(key_terms(text) & known) or any(label in text for label in own)

    return evidence._replace(
        rules=tuple(rule for rule in evidence.rules if concerns(rule)),
        recoveries=tuple(one for one in evidence.recoveries if concerns(f"{one.tried} {one.said}")),
        steps=tuple(step for step in evidence.steps if concerns(f"{step.title} {step.action}")),
    )


def least_score(one: str, other: str, *, distilled: bool) -> float:
    """How alike two skills of these names must be, to be for the same job; skills that somebody wrote differ less."""
    if not distilled:
        return THRESHOLD
    first, second = one.split("-"), other.split("-")
    shared = len(set(first) & set(second))
    alike = first[0] == second[0] and 2 * shared >= _WORDS * (len(first) + len(second))
    return SAME_NAME if alike else SAME_JOB


def is_own(context: LearningContext, card: Card) -> bool:
    """May this skill be improved without anybody having named it?"""
    outside = card.scope == "external" and context.workspace.explicit is None
    if card.kind != "skill" or card.scope in _THEIRS or outside:
        return False
    return not held_back(context, card)


def maker(journal: Journal, path: str) -> str:
    """Who created the skill at a path, as the history calls them; empty where it was installed or put there."""
    first = next(iter(journal.entries(path=path)), None)
    return first.actor if first is not None and first.action == "create" else ""


def sessions_in(tree: Tree) -> int:
    """From how many sessions a skill was distilled; 0 for one that somebody wrote."""
    count = said(main_of(tree).document, "metadata", COUNT)
    return int(count) if count.isascii() and count.isdecimal() and len(count) < 10 else 0


def _is_distilled(card: Card) -> bool:
    try:
        tree = read_tree(card.place) if card.kind == "skill" else None
        return tree is not None and sessions_in(tree) > 0
    except WhetError:  # the doctor tells of it; here it is one that somebody wrote
        return False

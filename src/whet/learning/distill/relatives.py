"""Finding the skill that a draft belongs to: an existing one that may be improved, or none.

Only the user's own skills may be improved: not those that ship with Whet, come from an administrator or a plugin, were
installed, or are pinned. Only the bodies of a few likely skills are read.
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
"""Metadata key: from how many sessions a skill was distilled."""
SAME_JOB = 0.25
"""Score from which on a distilled skill is for the same job as a draft. Among outlines of 71 sessions, pairs for one
task have 0.22 or more, others 0.10 or less.
"""
SAME_NAME = 0.15
"""Score that is enough if the names differ only in a word or two: short skills share few words."""
_WORDS = 0.6
"""Share of common words of such names."""
_BEARING = 3
"""Evidence that a session needs to change a skill: a rare word and a common one, or two commands."""
_THEIRS = frozenset(("org", "plugin"))
"""Scopes of skills that are not the user's own."""


class Relative(NamedTuple):
    """An existing skill for the job of a draft."""

    card: Card
    own: bool
    """Whether it may be improved."""
    used: bool = False
    """Whether it was found only because the session used it: its subject may be wider."""


def relative_of(context: LearningContext, made: Draft) -> Relative | None:
    """Return the skill that a draft belongs to: one of the user's own with its name, else the most similar."""
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
    """Return how much a session has to do with a skill; 0 if it is too little.

    Evidence: the user called it by name, commands that it names were run, and its description shares words with the
    request and the user's corrections. Words and programs of many jobs count for half.
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
    """Return the parts of a session that concern a skill: rules, errors and steps that share a word or program.

    An aside, such as the wording of an unrelated mail, must not change a skill that happened to be loaded.
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
    """Return the score that two skills need to be for the same job; handwritten skills need a higher one."""
    if not distilled:
        return THRESHOLD
    first, second = one.split("-"), other.split("-")
    shared = len(set(first) & set(second))
    alike = first[0] == second[0] and 2 * shared >= _WORDS * (len(first) + len(second))
    return SAME_NAME if alike else SAME_JOB


def is_own(context: LearningContext, card: Card) -> bool:
    """Return whether this skill may be improved without being named."""
    outside = card.scope == "external" and context.workspace.explicit is None
    if card.kind != "skill" or card.scope in _THEIRS or outside:
        return False
    return not held_back(context, card)


def maker(journal: Journal, path: str) -> str:
    """Return who created the skill at a path, as in the history; "" if it was installed or copied there."""
    first = next(iter(journal.entries(path=path)), None)
    return first.actor if first is not None and first.action == "create" else ""


def sessions_in(tree: Tree) -> int:
    """Return from how many sessions a skill was distilled; 0 for a handwritten one."""
    count = said(main_of(tree).document, "metadata", COUNT)
    return int(count) if count.isascii() and count.isdecimal() and len(count) < 10 else 0


def _is_distilled(card: Card) -> bool:
    try:
        tree = read_tree(card.place) if card.kind == "skill" else None
        return tree is not None and sessions_in(tree) > 0
    except WhetError:  # the doctor reports it; here it counts as handwritten
        return False

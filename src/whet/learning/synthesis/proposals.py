"""What learning proposed before: what waits for a decision is not proposed twice, what was rejected not again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import WhetError
from whet.learning.distilling.decided import LEARNED
from whet.learning.distilling.relatives import SAME_NAME, least_score
from whet.routing.duplicates import alike, spread
from whet.routing.texts import Texts, texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.authoring.proposals import Proposal
    from whet.learning.context import LearningContext
    from whet.learning.distilling.draft import Draft
    from whet.skill.tree import Item

MARK = LEARNED
"""How the reason of every change begins that comes from here."""
_LATEST = 200
"""Proposals that are looked at."""


def own_proposals(context: LearningContext, state: str = "") -> list[Proposal]:
    """The latest proposals that learning made."""
    every = context.editor.proposals.all(state)
    return [one for one in every if one.origin == "background" and one.reason.startswith(MARK)][-_LATEST:]


def waiting_for(context: LearningContext, path: str) -> int:
    """The number of a proposal that would change the skill at a path; 0 where none waits, whoever made it."""
    every = context.editor.proposals.all("pending")
    return next((one.id for one in every if any(change.path == path for change in one.changes)), 0)


def refused_bodies(context: LearningContext, path: str) -> list[str]:
    """What learning wanted to make of the skill at a path, and nobody wanted."""
    found = (
        _texts(change.skill, change.after)
        for proposal in own_proposals(context, "rejected")
        for change in context.editor.proposals.changes(proposal)
        if change.path == path
    )
    return [texts.body for texts in found if texts is not None]


def proposed_already(context: LearningContext, made: Draft) -> Proposal | None:
    """The proposal of a new skill for the job of a draft that waits, or was rejected; what waits comes first."""
    known: dict[str, tuple[Proposal, Texts]] = {}
    for proposal in (*own_proposals(context, "pending"), *own_proposals(context, "rejected")):
        for change in context.editor.proposals.changes(proposal):
            if change.action == "create" and (texts := _texts(change.skill, change.after)):
                known[str(proposal.id)] = proposal, texts
    if not known:
        return None
    cards = {card.full_name: card for card in context.workspace.snapshot().catalogue.cards}
    others = []
    for name in spread(cards):
        try:
            others.append(texts_of(context.workspace.read(cards[name])))
        except WhetError:  # the doctor tells of it; here it only says which words are common
            continue
    found = alike(
        Texts(made.name, made.description, made.body),
        {number: texts for number, (_, texts) in known.items()},
        others,
        among=len(cards) + len(known) + 1,
        threshold=SAME_NAME,
        most=len(known),
    )
    near = [
        known[item.name][0]
        for item in found
        if item.score >= least_score(known[item.name][1].name, made.name, distilled=True)
    ]
    return next((one for one in near if one.state == "pending"), next(iter(near), None))


def _texts(name: str, tree: Mapping[str, Item] | None) -> Texts | None:
    from whet.skill.dialects import read_skill
    from whet.skill.finder import main_file
    from whet.skill.frontmatter import read_document

    item = (tree or {}).get(main_file(tree or {}))
    if item is None:
        return None
    return texts_of(read_skill(read_document(item.data.decode("utf-8", "replace"))))._replace(name=name)

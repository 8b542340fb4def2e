"""What people said about a skill, as far as anybody wrote it down."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.trees import digest
from whet.learning.usage import counted_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.authoring.proposals import Proposal
    from whet.learning.usage import Usage
    from whet.library.card import Card
    from whet.routing.feedback import Feedback
    from whet.skill.tree import Item
    from whet.values import Json

_MOST = 5
"""Remarks of a kind that are told."""
_LONGEST = 300
"""Characters of one."""


class Heard(NamedTuple):
    """Outcomes of the version that is there now, remarks on proposals, messages that it was wrong for."""

    helped: int = 0
    failed: int = 0
    corrected: int = 0
    refusals: tuple[str, ...] = ()
    """What people said when they rejected a change of it, the latest last."""
    not_for: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Only what there is."""
        return {name: value for name, value in self._asdict().items() if value}


def heard_of(
    card: Card, tree: Mapping[str, Item], path: str, usage: Usage, remarks: Feedback, refused: Iterable[Proposal]
) -> Heard:
    """What is known about the skill at a path."""
    now = digest(tree)
    counts = [total for total in usage.versions(*counted_as(card)) if total.digest == now]
    said = [
        proposal.remark.strip()[:_LONGEST]
        for proposal in refused
        if proposal.remark.strip() and any(change.path == path for change in proposal.changes)
    ]
    wrong = remarks.examples(*card.known_as[:2]).counterexamples[:_MOST]
    return Heard(
        sum(total.helped for total in counts),
        sum(total.failed for total in counts),
        sum(total.corrected for total in counts),
        tuple(said[-_MOST:]),
        tuple(message[:_LONGEST] for message in wrong),
    )

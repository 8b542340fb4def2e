"""What is made of a session while nobody looks goes through the gate: it is written, proposed, or nothing.

Written is what the gate lets through, and only where an agent made the skill. Whatever else is sound becomes a proposal
that carries what the gate said; what is invalid or dangerous becomes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.errors import WhetError
from whet.learning.evals.formats import find_file
from whet.learning.evals.gate import Gate, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.learning.context import LearningContext
    from whet.learning.distilling.writing import Writing
    from whet.learning.models.door import Model
    from whet.skill.tree import Item


class Gated(NamedTuple):
    """What the gate lets become of a change."""

    verdict: Verdict
    dangerous: bool
    """Whether the guard says so of the skill as it would be."""

    @property
    def is_nothing(self) -> bool:
        """Whether nobody should even be asked."""
        codes = {reason.code for reason in self.verdict.reasons}
        return "gate-invalid" in codes or (self.dangerous and "gate-guard" in codes)

    @property
    def sentence(self) -> str:
        """What it said, for whoever decides."""
        if self.verdict.accepted:
            return "The gate lets it through."
        return f"The gate says no: {' '.join(reason.message for reason in self.verdict.reasons)}"


def gated(context: LearningContext, writing: Writing, name: str, model: Model | None, *, measure: bool) -> Gated:
    """What the gate says of a change. To `measure` takes the skill's evals, where it has some, and a model.

    Without a model, evals that there are cannot be met: then it is a no.
    """
    dangerous = False

    def guard(tree: Mapping[str, Item]) -> str:
        nonlocal dangerous
        from whet.guard.scan import scan

        found = scan(tree).verdict
        dangerous = dangerous or (tree is after and found == "dangerous")
        return found

    gate, before, after = Gate(guard=guard), writing.before, writing.after
    if not measure or before is None or not find_file(before):
        return Gated(Verdict(gate.examine(before, after, name)), dangerous)
    from whet.learning.evals.evaluation import scorer

    try:
        score = None if model is None else scorer(context.workspace, name, model)
        verdict = gate.judge(before, after, name, score)
    except WhetError as error:
        verdict = Verdict((Reason("gate-no-score", f"Its evals could not be done: {error.message}"),))
    return Gated(verdict, dangerous)

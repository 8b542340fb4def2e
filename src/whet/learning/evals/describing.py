"""The optimiser of descriptions at work on a library: its evals, its index, a copy of that to try things in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.learning.evals.optimiser import Optimised, from_a_model, from_phrases, optimise
from whet.learning.evals.subject import subject_at
from whet.routing.evals.answer import every_case
from whet.routing.evals.formats import Case
from whet.routing.evals.judging import IndexJudge, Trial
from whet.routing.evals.suggesting import suggest
from whet.routing.index_manager import key_of
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.models.door import Model
    from whet.library.workspace import Snapshot, Workspace
    from whet.routing.evals.judging import Judged
    from whet.routing.index_manager import IndexManager

NEAR = 20
"""Skills that count as neighbours."""


def neighbour_cases(
    judge: IndexJudge, snapshot: Snapshot, key: str, description: str, known: Sequence[Case]
) -> list[Case]:
    """What stands for the evals of near skills that have none: each should come up for its own description."""
    cards = {key_of(card): card for card in snapshot.catalogue.cards}
    measured = {case.skill for case in known if case.fits}
    near = [found.key for found in judge.find(description, NEAR) if found.key != key and found.key not in measured]
    return [
        Case(cards[other].description, other, fits=True, place="description")
        for other in near
        if other in cards and cards[other].description.strip()
    ]


class Description(NamedTuple):
    """The best description that was found for a skill, and what became of it."""

    name: str
    path: str
    old: str
    best: Optimised
    applied: bool = False
    version: str | None = None
    """Of the skill, where the description was written or proposed."""

    def to_json(self) -> Json:
        """It as every surface answers it."""
        best = self.best
        answer = {"success": True, "name": self.name, "path": self.path, "old": self.old, "improved": best.improved}
        answer |= {"description": best.description, "before": as_json(best.before), "after": as_json(best.after)}
        answer |= {"learned_from": best.cases[0], "held_out": best.cases[1], "tried": as_json(best.tried)}
        return {**answer, "applied": self.applied, **({} if self.version is None else {"version": self.version})}


def optimise_description(
    workspace: Workspace, index_manager: IndexManager, name: str, model: Model | None = None
) -> Description:
    """A better description of a skill, proved on held-out trigger evals; the skill is left as it is.

    With a model, that proposes; without one, words from the evals do. Raises NotFoundError `too-few-trigger-evals`.
    """
    card, _ = workspace.find(name)
    subject, snapshot, key = subject_at(workspace, name), workspace.snapshot(), key_of(card)
    judge, skill = IndexJudge(index_manager, snapshot), subject.skill()
    cases = list(every_case(workspace, key_of))
    cases += neighbour_cases(judge, snapshot, key, skill.description, cases)
    texts = {key_of(other): f"{other.name} {other.description} {other.when}" for other in snapshot.catalogue.cards}
    with Trial(index_manager, snapshot) as trial:

        def phrases(learned: Sequence[Judged]) -> list[tuple[str, str]]:
            return [(item.kind, item.phrase) for item in suggest(learned, texts)]

        propose = from_phrases(phrases) if model is None else from_a_model(model, skill.name, skill.body)
        result = optimise(key, skill.description, cases, judge, lambda said: trial.with_description(key, said), propose)
    names = {key_of(other): other.full_name for other in snapshot.catalogue.cards}
    tried = (item._replace(worse=tuple(names.get(one, one) for one in item.worse)) for item in result.tried)
    return Description(subject.name, subject.directory, skill.description, result._replace(tried=tuple(tried)))


def described(workspace: Workspace, name: str, description: str) -> str:
    """The main file of a skill with another description."""
    from whet.authoring.drafts import improve
    from whet.authoring.main_file import KEEP, main_of

    tree = dict(subject_at(workspace, name).tree)
    return main_of(improve(tree, description=description, version=KEEP).tree).text

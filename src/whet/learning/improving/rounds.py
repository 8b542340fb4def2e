"""Round by round from the version that is there to a better one.

In each round a model is shown what fails with the best version so far and asked for edits, and the result is judged
against that version. What is accepted is built on in the next round; what is rejected is remembered, and not tried
again. Nothing is written here but what is remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.drafts import improve as with_body
from whet.authoring.main_file import main_of
from whet.authoring.trees import digest
from whet.errors import FailedError, WhetError
from whet.learning.evals.gate import Reason
from whet.learning.improving.asking import ask, failures
from whet.learning.improving.rejected import rejection
from whet.skill.tree import Item
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from whet.learning.improving.asking import Matter
    from whet.learning.improving.edits import Edited
    from whet.learning.improving.rejected import Buffer
    from whet.learning.improving.trying import Trials
    from whet.learning.models.budget import Budget
    from whet.learning.models.door import Model

ALL_MET = "all-met"
"""What it stops for when nothing is left to learn from."""


class Round(NamedTuple):
    """One round, as it is told."""

    edited: Edited
    verdict: str
    """`accepted`, `rejected`, `known` (rejected before), `unusable` (no edit could be applied), or `undecided`."""
    reasons: tuple[Reason, ...] = ()
    before: float | None = None
    after: float | None = None
    """Mean scores; None where nothing was measured."""
    tokens: int = 0

    def to_json(self) -> Json:
        """As answers hold it."""
        edited, verdict, *others = (as_json(part) for part in self)
        told = {"verdict": verdict, "edits": edited["done"], "refused": edited["refused"]}
        return told | dict(zip(self._fields[2:], others, strict=True))


class Stop(NamedTuple):
    """Why it ended before all rounds were done."""

    code: str
    message: str
    hint: str = ""


class Course:
    """A skill on its way."""

    def __init__(
        self,
        trials: Trials,
        matter: Matter,
        model: Model,
        budget: Budget,
        buffer: Buffer,
        *,
        learn: Collection[str],
        refused: Collection[str],
        edits: int,
    ) -> None:
        """`learn` are the evals that a model may see, `refused` digests of what people did not want."""
        self.best = trials.subject.tree
        """The best version so far."""
        self.rounds: list[Round] = []
        self.stopped: Stop | None = None
        self._trials, self._matter, self._model, self._budget = trials, matter, model, budget
        self._buffer, self._learn, self._refused, self._edits = buffer, learn, refused, edits
        self._rejected = buffer.read()

    def run(self, rounds: int, unchanged: Callable[[], None], *, remember: bool) -> None:
        """So many rounds, or fewer where nothing is left to do or can be done.

        `unchanged` raises where the skill is not any more what it was. Raises where the skill cannot be measured as it
        is; later failures only end it.
        """
        self._trials.measure(self.best)
        while len(self.rounds) < rounds and self.stopped is None:
            unchanged()
            failed = failures(self._trials.measure(self.best).runs, self._learn)
            if not failed:
                self.stopped = Stop(ALL_MET, "Every expectation that can be learnt from is met.")
                return
            begun = self._budget.spent().tokens
            try:
                edited = ask(self._model, self._matter._replace(failed=failed, rejected=self._rejected), self._edits)
            except FailedError as error:
                self.stopped = Stop(error.code, error.message, error.hint)
                return
            done = self._tried(edited, remember=remember)
            self.rounds.append(done._replace(tokens=self._budget.spent().tokens - begun))

    def _tried(self, edited: Edited, *, remember: bool) -> Round:
        """What becomes of an answer."""
        if not edited.done:
            return Round(edited, "unusable", tuple(Reason("edit-refused", one.reason) for one in edited.refused))
        base = dict(self._trials.subject.tree)
        key = digest({**base, main_of(base).path: Item(edited.text.encode("utf-8", "surrogateescape"))})
        if known := next((one for one in self._rejected if one.digest == key), None):
            return Round(edited, "known", tuple(Reason("rejected-before", one.message) for one in known.reasons))
        try:
            tree = with_body(base, body=edited.text).tree
        except WhetError as error:  # authoring knows what it would break
            return self._refuse(key, edited, [Reason(error.code, error.message)], remember=remember)
        if digest(tree) in self._refused:
            why = Reason("rejected-before", "The same was proposed before, and somebody rejected it.")
            return Round(edited, "known", (why,))
        try:
            verdict = self._trials.judge(self.best, tree)
        except FailedError as error:
            self.stopped = Stop(error.code, error.message, error.hint)
            return Round(edited, "undecided", (Reason(error.code, error.message),))
        if verdict.accepted:
            self.best, self._matter = tree, self._matter._replace(text=edited.text)
            done = Round(edited, "accepted")
        else:
            done = self._refuse(key, edited, verdict.reasons, remember=remember)
        return done._replace(before=verdict.before, after=verdict.after)

    def _refuse(self, key: str, edited: Edited, reasons: Sequence[Reason], *, remember: bool) -> Round:
        new = rejection(key, edited.done, reasons)
        self._rejected = [*self._rejected, new]
        if remember:
            self._buffer.add(new)
        return Round(edited, "rejected", tuple(reasons))


def body_of(tree: Mapping[str, Item]) -> str:
    """The instructions as edits are made to them: with plain line ends."""
    return main_of(tree).document.body.replace("\r\n", "\n")

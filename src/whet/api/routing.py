"""The part of the front door that tells which skill fits a message. `Library` is made of it.

library.find_relevant("fill in this form")["results"]
library.detect("backport the login fix to 2.x")["decision"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.api.sharing import Sharing
from whet.library.visibility import MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.authoring.checks import Check
    from whet.authoring.editor import SkillEditor
    from whet.library.visibility import Caller
    from whet.library.workspace import Workspace
    from whet.notes import Note
    from whet.prompt.matcher import Relevance, SkillMatcher
    from whet.routing.feedback import Feedback


class Routing(Sharing):
    """Finding skills by what they say, near-duplicates, trigger evals, feedback."""

    def __init__(self, workspace: Workspace, check: Check | None) -> None:
        super().__init__(workspace, check)
        self._feedback: Feedback | None = None
        self._matcher: SkillMatcher | None = None

    def close(self) -> None:
        """Let databases, connections and the index go."""
        super().close()
        if self._matcher is not None:
            self._matcher.index_manager.close()

    @property
    def remarks(self) -> Feedback:
        """What people and agents said about which skill a message is for."""
        if self._feedback is None:
            from whet.routing.feedback import Feedback

            self._feedback = Feedback(self.workspace.state, self.workspace.clock)
        return self._feedback

    @property
    def matcher(self) -> SkillMatcher:
        """What answers `find_relevant`, `detect` and `relevance`: the index of what skills say, kept in step."""
        if self._matcher is None:
            from whet.prompt.matcher import SkillMatcher
            from whet.routing.index_manager import IndexManager

            self._matcher = SkillMatcher(IndexManager(self.workspace, self.remarks, self._indexed), self.used)
        return self._matcher

    def _indexed(self, count: int) -> None:
        from whet.sources.model import Progress

        self.progress(Progress("Indexing", count, 0, "skills"))

    # which skill

    def find_relevant(self, message: str, k: int = 5, *, caller: Caller = MODEL) -> dict[str, Any]:
        """The skills that fit a message best: {name, path, score, why, description, scope, explicit}, the best first.

        Skills that the message names come first. `score` is how probable it is that the skill is the right one, `why`
        what speaks for it, `explicit` that only a person may invoke it. `semantic` says whether meaning counted beside
        words; `notes` what else is worth knowing, such as a skill that fits and is hidden from this caller.
        """
        return self.matcher.find(message, k, caller).to_json()

    def detect(self, message: str, *, caller: Caller = MODEL, skill: str | None = None) -> dict[str, Any]:
        """Should a skill be brought up for a message? `decision` is must, may or none, with evidence.

        `others` may come up, too; where none does, `nearest` is what comes closest. A skill that only a person may
        invoke comes up when the message names it. With a `skill`, `about` tells why that one comes up, or why not: its
        rank, confidence and decision, what speaks `for` it and `against` it, which skill comes up `instead` and which
        ranks `ahead`, what would be `needed`, and why it is `hidden`.
        """
        return self.matcher.detect(message, caller, skill).to_json()

    def relevance(self, message: str, *, caller: Caller = MODEL, few: bool = False) -> Relevance:
        """How much each skill matters for a message, to rank skills by: a function of a `Card`.

        It gives a number from 0 to 1, and 2 for a skill that the message names; with `few`, 0 for all that do not fit.
        """
        return self.matcher.relevance(message, caller, few=few)

    def duplicates(
        self, name: str | None = None, threshold: float | None = None, limit: int | None = None
    ) -> dict[str, Any]:
        """The pairs of skills that are for the same job, or what is like one skill, the most alike first.

        `pairs` are {one, other, score, shared, paths} with a score of at least `threshold` (0.5), at most `limit`.
        """
        from whet.routing.duplicates_answer import duplicates_answer

        most = {} if limit is None else {"most": limit}
        return duplicates_answer(self.workspace, name, threshold, **most)

    # evals

    def eval_triggers(
        self, names: Sequence[str] = (), *, file: str | None = None, held_out: bool = False, suggest: bool = False
    ) -> dict[str, Any]:
        """How well skills, or all that have trigger evals, come up for the messages they are for.

        The cases come with the skills, or from a `file`. With `held_out` the numbers are about two fifths of them and
        suggestions come from the others; with `suggest`, `suggestions` are words that would help. `overall` and each
        of `skills` have precision, recall and F1 for what must and what may come up; `confusions` are which skill came
        up instead. Raises NotFoundError for a skill without evals, InvalidError for a file of none.
        """
        from whet.routing.evals.answer import eval_triggers
        from whet.routing.index_manager import key_of
        from whet.routing.trying import Judge, Trial

        index_manager, snapshot = self.matcher.index_manager, self.workspace.snapshot()
        with Trial(index_manager, snapshot) as trial:
            return eval_triggers(
                self.workspace,
                Judge(index_manager, snapshot),
                names,
                key_of=key_of,
                file=file,
                held_out=held_out,
                suggest=suggest,
                try_phrase=trial,
            )

    # feedback

    def feedback(self, name: str | None, message: str, *, fits: bool, origin: str = "person") -> dict[str, Any]:
        """Note that a message is, or is not, for a skill; later answers take it into account.

        With None for the name and `fits=False`, no skill comes up for such a message any more. `examples` and
        `counterexamples` are how many messages are known now. How a skill did once it was used is for `note_outcome`.
        """
        from whet.routing.feedback_answer import give

        return give(self.remarks, self.workspace, name, message, fits=fits, origin=origin)

    def list_feedback(self, name: str | None = None) -> dict[str, Any]:
        """What was said about a skill, or about all of them, the newest first; "" is for messages for no skill."""
        from whet.routing.feedback_answer import listed

        return listed(self.remarks, self.workspace, name)

    def forget_feedback(self, name: str | None, message: str | None = None) -> dict[str, Any]:
        """Take back what was said about a message, or about a skill altogether; None is for messages for no skill."""
        from whet.routing.feedback_answer import forget

        return forget(self.remarks, self.workspace, name, message)

    def _subscribe(self, editor: SkillEditor) -> None:
        super()._subscribe(editor)
        from whet.authoring.commits import follow_moves

        editor.on_commit(follow_moves(self.remarks))

    # mending

    def examine_routing(self) -> tuple[Note, ...]:
        """What `doctor` tells of whether skills are found by meaning."""
        from whet.routing.telling import examine

        return examine(self.workspace.config().settings)

"""The part of the front door that measures what skills are worth, and improves them by it. `Library` is made of it.

library.run_tests("release-notes")["passed"]
library.eval_skill("release-notes", "openai:gpt-5")["summary"]
library.improve("release-notes", "openai:gpt-5")["rounds"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.api.choosing import Choosing
from whet.errors import UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from whet.learning.models.door import Model

TOKENS = 1_000_000
"""What one call may spend on models, where the caller does not say."""


class Evaluating(Choosing):
    """Tests, evals, and what is improved because of them."""

    def model(self, spec: str | Model | None = None) -> Model | None:
        """The language model of that name, such as `openai:gpt-5`, or else the one that the settings name.

        A model is taken as it is; an empty name is no model, whatever the settings say.
        """
        named = self.workspace.config().settings.model if spec is None else spec
        if not isinstance(named, str):
            return named
        if not named:
            return None
        from whet.learning.models.providers import open_model

        return open_model(named, self.place.env)

    def run_tests(self, name: str, *, only_list: bool = False) -> dict[str, Any]:
        """Run a skill's own tests in the sandbox, or only tell which there are.

        `tests` are {path, status, code, seconds, output, level}. `success` is false, with the code `tests-failed`,
        where one failed. Raises NotFoundError `no-tests`, RefusedError `no-sandbox`.
        """
        from whet.learning.evals.answer import run_own_tests

        return run_own_tests(self.workspace, name, only_list=only_list, progress=self._counting("Tests", "tests"))

    def eval_skill(
        self,
        name: str,
        model: str | Model | None = None,
        *,
        grader: str | Model | None = None,
        runs: int = 1,
        against: str = "none",
        blind: bool = False,
        out: str | os.PathLike[str] | None = None,
        min_pass_rate: float | None = None,
        budget: int = TOKENS,
    ) -> dict[str, Any]:
        """Have a model do a skill's evals with the skill and without it, or with its version before, and compare.

        `evals` are the pass rates of each, `summary` mean, deviation and difference of pass rate, time and tokens,
        `expectations` the same for each expectation, with `flags` for what says nothing. Sentences are judged by
        `grader`, else by the model itself. With `blind`, that also says which of two outputs is better without knowing
        which had the skill. With `out`, everything is kept there. `budget` is in tokens, for all of it. `success` is
        false, with a code, where runs are missing (`eval-incomplete`), the skill does worse than what it is compared
        with (`eval-worse`), or stays below `min_pass_rate` (`below-minimum`). Raises NotFoundError `no-output-evals`,
        UsageError `model-not-named`, and ModelError where not a single run came to anything.
        """
        import os

        from whet.learning.evals.answer import eval_skill

        self.workspace.find(name)
        return eval_skill(
            self.workspace,
            self.edit.journal,
            name,
            self._needed(model, "Evals of what a skill does need a model."),
            grader=self.model(grader or ""),
            runs=runs,
            against=against,
            blind=blind,
            out=None if out is None else os.fspath(out),
            min_pass_rate=min_pass_rate,
            tokens=budget,
            progress=self._counting(f"Evals of {name}", "runs"),
        )

    def optimise_description(self, name: str, model: str | Model | None = "", *, apply: bool = False) -> dict[str, Any]:
        """Look for a description that brings a skill up more often when it should, and less when it should not.

        Candidates are of a model, where one is named, else made of words from the trigger evals. One is `improved`
        only if it does better on messages that were held out, and no other skill does worse. It is written only with
        `apply`; `applied` tells whether it was. Raises NotFoundError `too-few-trigger-evals`.
        """
        from whet.learning.evals.describing import described, optimise_description

        answer = optimise_description(self.workspace, self.matcher.index_manager, name, self.model(model))
        answer["applied"] = False
        if apply and answer["improved"]:
            text = described(self.workspace, name, answer["description"])
            gain = f"{answer['before']['held_out']:.2f} to {answer['after']['held_out']:.2f}"
            reason = f"A description that does better on held-out trigger evals, {gain}."
            written = self.manage([{"action": "edit", "name": name, "body": text}], reason=reason)
            answer |= {"applied": not written.get("staged", False), "version": written.get("version")}
        return answer

    def improve(
        self,
        name: str,
        model: str | Model | None = None,
        *,
        grader: str | Model | None = None,
        rounds: int = 3,
        edits: int = 4,
        runs: int = 1,
        write: bool = False,
        dry_run: bool = False,
        budget: int = TOKENS,
    ) -> dict[str, Any]:
        """Improve a skill by its evals: a model proposes at most `edits` small edits a round, and the gate decides.

        A candidate is accepted only if it is sound and strictly better on the evals, and worse on none. What is
        accepted becomes a proposal, or with `write` the next version; a skill that is pinned, installed or not the
        user's own is only ever proposed for. With `dry_run`, nothing is kept at all. `rounds` are {verdict, edits,
        refused, reasons, before, after, tokens}, `before` and `after` the scores, `diff` what changes, `stopped` why it
        ended early. What is rejected is remembered, and not tried again. `success` is false, with a code, where nothing
        is better (`not-improved`) or a model failed. Raises NotFoundError `no-output-evals`, ConflictError
        `skill-changed` where somebody else changed the skill meanwhile, FailedError where the skill cannot be measured
        as it is.
        """
        from whet.learning.improving.improve import improve

        self.workspace.find(name)
        return improve(
            self,
            name,
            self._needed(model, "Improving a skill needs a model."),
            grader=self.model(grader or ""),
            rounds=rounds,
            edits=edits,
            runs=runs,
            write=write,
            dry_run=dry_run,
            tokens=budget,
            progress=self._counting(f"Evals of {name}", "runs"),
        )

    def _needed(self, spec: str | Model | None, why: str) -> Model:
        """The model of that name or of the settings. Raises UsageError where there is none."""
        model = self.model(spec)
        if model is None:
            hint = "Name one with --model, such as openai:gpt-5 or recorded:FILE, or as `model` in config.toml."
            raise UsageError("model-not-named", why, hint=hint)
        return model

    def _counting(self, what: str, unit: str) -> Callable[[int, int], None]:
        """What tells `progress` how much of something is done."""
        from whet.sources.model import Progress

        return lambda done, every: self.progress(Progress(what, done, every, unit))

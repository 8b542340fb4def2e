"""The loop of a run: the model answers, each of its calls is decided, made and recorded, and it is asked again.

Every step is in the journal before the next begins, so that a run can be stopped anywhere and resumed in another
process. A call that needs approval stops the loop, unless the user can be asked at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from whet.learning.models.model import Budgeted, ModelError
from whet.runtime.journal import Approved, Decided, Done, End, Said, Use

if TYPE_CHECKING:
    from collections.abc import Callable

    from whet.learning.models.model import Budget, Call, Model
    from whet.runtime.journal import Journal
    from whet.runtime.proxy import Proxy
    from whet.runtime.tools import Result, Toolbox

    Confirm = Callable[[Decided], bool]
    """Asks the user about a call."""

MAX_TOKENS = 8_000
"""Largest answer in tokens."""
PROMPT = (
    "You carry out one task for a user, alone: nobody can be asked back. You work in a copy of the user's project, "
    "which is the current directory; the user decides afterwards whether your changes are kept. You have the tools "
    "that were granted, and no others. A call that is denied comes back with the reason. When you are done, answer "
    "with the result itself or, where the result is in files, with a short summary; say what you could not do. The "
    "files you changed and the commands you ran, with their exit codes, are reported separately."
)
"""System prompt of an agent."""
_DENIED = "Denied: {reason} Do not try to get the same another way; say in your answer what you could not do."
_REJECTED = "The user did not approve this call. Do not try to get the same another way."
_INTERRUPTED = "The run was interrupted during this call. What it did is not known: look before you repeat it."


class Agent:
    """Continues a run from the end of its journal."""

    def __init__(
        self,
        journal: Journal,
        toolbox: Toolbox,
        model: Model,
        budget: Budget,
        *,
        confirm: Confirm | None = None,
        proxy: Proxy | None = None,
    ) -> None:
        self._journal, self._toolbox, self._proxy = journal, toolbox, proxy
        self._model, self._budget, self._confirm = Budgeted(model, budget), budget, confirm
        self.error: ModelError | None = None
        """Why the model did not answer, after `run`."""

    def run(self) -> End:
        """Continue until the model is done, approval is needed, or a limit is reached."""
        begun = time.monotonic()
        try:
            end = self._loop()
        except ModelError as error:
            self.error = error
            end = End("stopped" if error.code == "model-budget" else "failed", error.message)
        except KeyboardInterrupt:
            end = End("interrupted", "It was interrupted.")
        end = end._replace(seconds=time.monotonic() - begun)
        self._journal.add(end)
        return end

    def _loop(self) -> End:
        while True:
            if not self._answer_calls():
                return End("waiting", "It waits for approval.")
            messages = self._journal.messages()
            if messages[-1].role == "assistant":
                return End("done")
            answer = self._model.complete(messages, tools=self._toolbox.definitions(), max_tokens=MAX_TOKENS)
            self._journal.add(Use(answer.model, answer.tokens_in, answer.tokens_out, answer.cost))
            self._journal.add(Said("assistant", answer.text, self._journal.name_calls(answer.calls)))
            if self._budget.cost is not None and answer.cost is None:
                return End("stopped", f"The price of {answer.model} is not known, so Whet cannot enforce the limit.")
            if answer.cut and not answer.calls:
                return End("stopped", f"The model's answer reached {MAX_TOKENS:,} tokens.")

    def _answer_calls(self) -> bool:
        """Answer the model's last calls; return False if the user must decide first."""
        waits = False
        for call in self._journal.open_calls():
            decided = self._journal.decisions().get(call.id)
            found = self._toolbox.decide(call.name, call.arguments)
            if decided is None and waits and found.decision == "allow":
                continue  # it comes after the waiting call
            if decided is None:
                decided = Decided(call.id, call.name, call.arguments, found.decision, found.reason)
                self._journal.add(decided)
            if decided.decision == "deny":
                self._reply(call, _DENIED.format(reason=decided.reason))
            elif decided.decision == "ask" and (answer := self._asked(decided)) != "approved":
                if answer == "rejected":
                    self._reply(call, _REJECTED)
                waits = waits or not answer
            elif not waits:
                self._make(call)
        return not waits

    def _asked(self, decided: Decided) -> str:
        """Return the user's answer about a call, including an earlier answer about the same call."""
        answers = self._journal.answers()
        same = (decided.tool, decided.given)
        known = answers.get(decided.call, "") or next(
            (
                "approved"
                for other in self._journal.decisions().values()
                if (other.tool, other.given) == same and answers.get(other.call) == "approved"
            ),
            "",
        )
        if not known and self._confirm is not None:
            known = "approved" if self._confirm(decided) else "rejected"
        if known and decided.call not in answers:
            self._journal.add(Approved(decided.call, "approved" if known == "approved" else "rejected"))
        return known

    def _make(self, call: Call) -> None:
        self._budget.step()
        begun = time.monotonic()
        result = self._toolbox.call(call.name, call.arguments)
        seconds = time.monotonic() - begun
        for contact in self._proxy.take_contacts() if self._proxy else ():
            self._journal.add(contact)
        self._journal.add(done_of(call.id, result, seconds))
        self._reply(call, result.text)

    def _reply(self, call: Call, text: str) -> None:
        self._journal.add(Said("tool", text, call=call.id))


def done_of(call: str, result: Result, seconds: float) -> Done:
    """Return the record of a call."""
    return Done(call, result.failed, seconds, result.command, result.code, result.problem, result.child)


def close_interrupted(journal: Journal) -> None:
    """Answer the calls during which a run was killed: the model learns that their effect is unknown."""
    decisions, answers = journal.decisions(), journal.answers()
    for call in journal.open_calls():
        decided = decisions.get(call.id)
        if decided and (decided.decision == "allow" or answers.get(call.id) == "approved"):
            journal.add(
                Done(
                    call.id,
                    failed=True,
                    seconds=0.0,
                    command=str(call.arguments.get("command", "")),
                    problem="interrupted",
                )
            )
            journal.add(Said("tool", _INTERRUPTED, call=call.id))

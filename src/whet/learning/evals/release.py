"""May a skill be given to others? Its own tests pass, and its evals were run on exactly this content and did not fail.

What was measured is in the record of decisions: `whet learn eval` adds an entry for the content that it measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whet.errors import NotFoundError, RefusedError
from whet.guard.audit import AuditEntry
from whet.learning.evals.evaluation import OwnTests
from whet.learning.evals.skill_tests import find_tests, run_tests
from whet.learning.evals.subject import Subject
from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whet.guard.audit import Audit
    from whet.learning.evals.results import Evaluation
    from whet.library.roots import Place
    from whet.skill.evals_proof import OutputResults
    from whet.sources.publish.prepare import Prepared

ACTION = "eval"


def record_evaluation(audit: Audit, evaluation: Evaluation, digest: str) -> None:
    """Record the result of an evaluation together with the digest of the content it measured."""
    problem = evaluation.problem
    rate = evaluation.rate("with_skill")
    reason = problem.message if problem else f"Pass rate {rate:.2f} with {evaluation.model}."
    decision = problem.code if problem else "pass"
    audit.add((AuditEntry("user", ACTION, evaluation.name, evaluation.path, digest, "", "", decision, reason),))


def find_problems(
    prepared: Prepared,
    path: str,
    audit: Audit,
    place: Place,
    outputs: OutputResults | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Iterator[Note]:
    """Why a skill should not be given to others; nothing where it has neither tests nor evals.

    `outputs` are results that were kept elsewhere, of exactly this content.
    """
    subject = Subject(prepared.name, path, prepared.tree)
    if found := find_tests(prepared.tree):
        try:
            tests = run_tests(subject, place.env, place.home, progress=progress)
        except RefusedError as error:
            message = f"The tests of {prepared.name} were not run. {error.message}"
            yield Note("tests-not-run", "error", message, error.hint, skill=prepared.name, path=path)
        else:
            if problem := OwnTests(prepared.name, path, tuple(found), tests).problem:
                hint = f"Run `whet skill test {path}`, which shows what they print."
                yield problem._replace(hint=hint, skill=prepared.name, path=path)
    try:
        subject.evals()
    except NotFoundError:
        return
    if outputs is not None and outputs.with_skill is not None:
        other = outputs.old_skill if outputs.without_skill is None else outputs.without_skill
        if other is not None and outputs.with_skill < other:
            yield _failed(prepared, path, f"the pass rate is {outputs.with_skill:.2f}, and {other:.2f} without it")
        return
    record = audit.last_about(prepared.digest, ACTION)
    if record is None:
        message = f"The evals of {prepared.name} were not run on the skill as it is now."
        hint = f"Run `whet learn eval {prepared.name}`."
        yield Note("evals-not-run", "error", message, hint, skill=prepared.name, path=path)
    elif record.decision != "pass":
        yield _failed(prepared, path, record.reason.rstrip("."))


def _failed(prepared: Prepared, path: str, why: str) -> Note:
    hint = f"Improve the skill, then run `whet learn eval {prepared.name}` again."
    return Note(
        "evals-failed", "error", f"The evals of {prepared.name} failed: {why}.", hint, skill=prepared.name, path=path
    )

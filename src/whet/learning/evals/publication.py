"""Tests and evals of a skill that is published: whether it may be, and the results that go with it.

Its tests must pass, and its evals must have passed on exactly this content. The results are in the record of decisions:
`whet learn eval` adds an entry for the content that it measured.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from whet import __version__
from whet.authoring.trees import digest as digest_of
from whet.errors import InvalidError, NotFoundError, RefusedError
from whet.guard.audit import AuditEntry
from whet.learning.evals.formats import find_file
from whet.learning.evals.results import SIDES
from whet.learning.evals.results_directory import find_results
from whet.learning.evals.skill_tests import run_tests, silent
from whet.learning.evals.subject import Subject
from whet.library.package import package_directory, read_tree
from whet.notes import Note
from whet.skill.evals_proof import CollectedEvals, EvalsFile, EvalsResults, OutputResults, TriggerResults
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whet.guard.audit import Audit
    from whet.learning.evals.results import Evaluation
    from whet.library.roots import Place
    from whet.library.workspace import Workspace
    from whet.routing.evals.report import TriggerEvals
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
    progress: Callable[[int, int], None] = silent,
) -> Iterator[Note]:
    """Yield the reasons not to publish a skill; empty if it has neither tests nor evals.

    `outputs` are results for exactly this content that were stored elsewhere.
    """
    subject = Subject(prepared.name, path, prepared.tree)
    try:
        if problem := run_tests(subject, place, progress).problem:
            hint = f"Run `whet skill test {path}`, which shows what they print."
            yield problem._replace(hint=hint, skill=prepared.name, path=path)
    except RefusedError as error:
        message = f"The tests of {prepared.name} were not run. {error.message}"
        yield Note("tests-not-run", "error", message, error.hint, skill=prepared.name, path=path)
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


def collect_evals(workspace: Workspace, path: str, results: str, run: Callable[[str], TriggerEvals]) -> CollectedEvals:
    """Return the results of the skill in a directory of the library; `run` runs the trigger evals of a skill.

    Raises NotFoundError for a skill that does not exist or has no evals, InvalidError `evals-outdated`.
    """
    directory = package_directory(path)
    cards = workspace.snapshot().catalogue.cards
    place = os.path.realpath(directory)
    card = next((card for card in cards if os.path.realpath(card.directory) == place), None)
    tree = read_tree(directory)
    if card is None or tree is None:
        message = f"{directory} is not in the library, so Whet cannot measure it among your other skills."
        hint = f"Pass its directory: `--root {os.path.dirname(directory)}`."
        raise NotFoundError("skill-not-found", message, hint=hint, path=directory)
    own, files, triggers = digest_of(tree), {}, None
    try:
        found = run(card.name)
    except NotFoundError:
        if not results:
            raise
    else:
        triggers = _read_triggers(found, card.name, len(cards))
        named = (os.path.relpath(os.path.realpath(file), place).replace(os.sep, "/") for file in found.files)
        files = {name: tree[name].data for name in named if name in tree}
    outputs = _read_outputs(results, own) if results else None
    if outputs:
        files |= {name: tree[name].data for name in [find_file(tree)] if name}
    shown = tuple(EvalsFile(name, hashlib.sha256(data).hexdigest()) for name, data in sorted(files.items()))
    told = EvalsResults(f"whet {__version__}", iso(workspace.clock()), shown, triggers, outputs)
    return CollectedEvals(own, told)


def _read_triggers(found: TriggerEvals, name: str, among: int) -> TriggerResults:
    tally = next(each for each in found.report.skills if each.skill == name)
    shares = (tally.must.precision, tally.must.recall, tally.offered.precision, tally.offered.recall)
    return TriggerResults(tally.cases, among, *(None if share is None else round(share, 4) for share in shares))


def _read_outputs(directory: str, digest: str) -> OutputResults:
    """Return the newest results of exactly this content. Raises InvalidError."""
    path, told = find_results(directory, digest)
    try:
        about, summary = told["metadata"], told["run_summary"]
        count, runs = len(about["evals_run"]), about["runs_per_configuration"]
        rates = {side: _mean(summary.get(side)) for side in SIDES}
        return OutputResults(about["executor_model"], about["analyzer_model"], count, runs, **rates)
    except (KeyError, TypeError, AttributeError) as error:
        hint = "Run `whet learn eval NAME --out DIR` again."
        raise InvalidError("evals-outdated", f"{path} has no results of evals.", hint=hint, path=path) from error


def _mean(side: Mapping[str, Any] | None) -> float | None:
    rate = (side or {}).get("pass_rate")
    return None if rate is None else round(rate["mean"], 4)

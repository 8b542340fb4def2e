"""What a skill's evals say of it, collected to be published with it: bound to its content, by tool, time and file."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from whet import __version__
from whet.authoring.trees import digest as digest_of
from whet.errors import InvalidError, NotFoundError
from whet.learning.evals.formats import FOLDERS, find_file
from whet.learning.evals.results import SIDES
from whet.learning.evals.results_directory import find_results
from whet.library.package import package_directory, read_tree
from whet.routing.evals.formats import find_files
from whet.skill.evals_proof import CollectedEvals, EvalsFile, EvalsResults, OutputResults, TriggerResults
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from whet.library.card import Card
    from whet.library.workspace import Workspace
    from whet.routing.evals.report import TriggerEvals
    from whet.values import Json


class SkillEvals(NamedTuple):
    """What a skill has to be measured by."""

    name: str
    path: str
    triggers: bool
    """Messages that it is for, or is not for."""
    tasks: bool
    """Tasks with expected results."""
    tests: bool

    def to_json(self) -> Json:
        """It as every surface answers it."""
        return self._asdict()


def list_evals(cards: Iterable[Card]) -> tuple[SkillEvals, ...]:
    """What each skill has to be measured by; it looks at the names of files only."""
    found = []
    for card in cards:
        names: list[str] = []
        with suppress(OSError):
            folders = FOLDERS if card.kind == "skill" else ()
            for folder in set(os.listdir(card.directory)).intersection(folders):
                names += (f"{folder}/{name}" for name in os.listdir(os.path.join(card.directory, folder)))
        tasks, tests = find_file(names), any(name.startswith(("tests/", "test/")) for name in names)
        triggers = any(name != tasks for name in find_files(names))
        found.append(SkillEvals(card.full_name, card.location, triggers, bool(tasks), tests))
    return tuple(found)


def collect_evals(workspace: Workspace, path: str, results: str, run: Callable[[str], TriggerEvals]) -> CollectedEvals:
    """The results of the skill in a directory of the library; `run` runs the trigger evals of a skill.

    Raises NotFoundError for one that is not there or has no evals, InvalidError `evals-outdated`.
    """
    directory = package_directory(path)
    cards = workspace.snapshot().catalogue.cards
    place = os.path.realpath(directory)
    card = next((card for card in cards if os.path.realpath(card.directory) == place), None)
    tree = read_tree(directory)
    if card is None or tree is None:
        message = f"{directory} is not a skill of the library, beside which it would be measured."
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
    tally = next(each for each in found.report.tell(found.names).skills if each.skill == name)
    shares = (tally.must.precision, tally.must.recall, tally.offered.precision, tally.offered.recall)
    return TriggerResults(tally.cases, among, *(None if share is None else round(share, 4) for share in shares))


def _read_outputs(directory: str, digest: str) -> OutputResults:
    """The newest results of exactly this content. Raises InvalidError."""
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

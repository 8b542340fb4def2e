"""`whet eval triggers`: find the evals of skills, ask a judge about them.

A skill's evals are files of its package; a file may also be given, and may then be about any skills of the library.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.library.catalogue import find
from whet.library.files import open_beneath, read_descriptor, read_file
from whet.notes import Note
from whet.routing.evals.formats import FORMS, MAX_BYTES, Case, Cases, find_files, read_cases
from whet.routing.evals.judging import judged
from whet.routing.evals.report import Report, rounded, split, tally
from whet.routing.evals.suggesting import suggest as suggestions_of
from whet.skill.names import key as name_key
from whet.store.failures import os_failures
from whet.values import Json, as_json, failure_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.workspace import Workspace
    from whet.routing.evals.judging import Judge
    from whet.routing.evals.suggesting import Try

_FOLDERS = ("evals", "eval", "tests", "")
_OUTPUT_EVALS = "evals."
"""How the name of a file begins that may hold evals of another kind only."""


class Below(NamedTuple):
    """A share that stays below what is asked for."""

    skill: str
    """Its name; "" for all skills together."""
    measure: str
    value: float
    minimum: float


class TriggerEvals(NamedTuple):
    """How skills do on their trigger evals."""

    report: Report
    names: Mapping[str, str]
    """The names of the skills, by the keys in the report."""
    files: tuple[str, ...]
    """Where the messages come from."""
    notes: tuple[Note, ...]
    below: tuple[Below, ...] | None = None
    """What stays below the minima; None where none were asked about."""
    problem: Note | None = None
    """What makes it a failure."""

    def to_json(self) -> Json:
        """The report as every surface answers it."""
        answer = {"success": True, **self.report.to_json(self.names)}
        answer |= {"files": list(self.files), "report": as_json(self.notes)}
        answer |= {} if self.below is None else {"below": as_json(self.below)}
        return failure_json(answer, self.problem)


class _Gathered(NamedTuple):
    cases: tuple[Case, ...]
    """Their skills are keys of the judge."""
    files: tuple[str, ...]
    notes: tuple[Note, ...]


def eval_triggers(
    workspace: Workspace,
    judge: Judge,
    names: Sequence[str] = (),
    *,
    key_of: Callable[[Card], str],
    file: str | None = None,
    held_out: bool = False,
    suggest: bool = False,
    try_phrase: Try | None = None,
) -> TriggerEvals:
    """How these skills, or all that have evals, do on them; with `suggest`, words that would help.

    `key_of` gives the judge's key of a skill. With `held_out` the numbers are about two fifths of the cases, and
    suggestions come from the others. Raises NotFoundError for a skill without evals, InvalidError for a file of none.
    """
    snapshot = workspace.snapshot()
    catalogue, bases = snapshot.catalogue, snapshot.config.bounds.bases
    wanted = tuple(workspace.find(name)[0] for name in dict.fromkeys(names))
    if file is not None:
        gathered = _from_file(file, catalogue, wanted, key_of)
    else:
        gathered = _from_packages(wanted or catalogue.cards, catalogue, bases, key_of)
    cases = gathered.cases
    if wanted:
        chosen = {key_of(card) for card in wanted}
        cases = tuple(case for case in cases if case.skill in chosen)
        for card in wanted:
            if not any(case.skill == key_of(card) for case in cases):
                raise _without(card, gathered.notes)
    learn, held = split(cases) if held_out else (cases, ())
    results, beside = judged(learn, judge), judged(held, judge)
    explicit = [key_of(card) for card in catalogue.cards if not card.gates.model_invocable]
    report = tally(beside if held_out else results, explicit)._replace(held_out=held_out)
    if suggest:
        texts = {key_of(card): f"{card.name} {card.description} {card.when}" for card in catalogue.cards}
        found = suggestions_of(results, texts, try_phrase=try_phrase, beside=beside)
        report = report._replace(suggestions=found)
    notes = (*gathered.notes, *_explicit_only(cases, catalogue, key_of))
    shown = {key_of(card): card.full_name for card in (*catalogue.cards, *wanted)}
    return TriggerEvals(report, shown, gathered.files, notes)


def against_minima(
    answer: TriggerEvals, *, min_precision: float | None = None, min_recall: float | None = None
) -> TriggerEvals:
    """The same, as a failure when a skill, or all of them together, stay below what is asked for.

    Precision is asked of what comes up by itself, recall of what is offered. A share of nothing is not below anything,
    and nothing is asked of skills that only a person may invoke. With a minimum, messages for skills that are not there
    are a failure, too: nobody measured them.
    """
    report, below = answer.report, list[Below]()
    skills = [(answer.names.get(one.skill, one.skill), one.must, one.offered) for one in report.asked()]
    for name, must, offered in (*skills, ("", report.must, report.offered)):
        for measure, value, least in (
            ("precision", rounded(must.precision), min_precision),
            ("recall", rounded(offered.recall), min_recall),
        ):
            if least is not None and value is not None and value < least:
                below.append(Below(name, measure, value, least))
    unknown = [entry.skill for entry in answer.notes if entry.code == "eval-skill-unknown"]
    problem = None
    if below:
        rows = (
            f"the {row.measure} of {row.skill or 'all skills together'} is {row.value:.2f}, not {row.minimum:.2f}"
            for row in below
        )
        hint = "Run it with --suggest, and look at what was missed, falsely brought up and stolen."
        problem = Note("below-minimum", "error", f"Below the minimum: {'; '.join(rows)}.", hint)
    elif unknown and (min_precision is not None or min_recall is not None):
        message = f"There are messages for skills that are not there: {', '.join(unknown)}."
        problem = Note("eval-skill-unknown", "error", message, "Correct the names.")
    return answer._replace(below=tuple(below), problem=problem)


def every_case(workspace: Workspace, key_of: Callable[[Card], str]) -> tuple[Case, ...]:
    """The trigger evals of all skills, with the judge's keys; what cannot be used is left out."""
    snapshot = workspace.snapshot()
    return _from_packages(snapshot.catalogue.cards, snapshot.catalogue, snapshot.config.bounds.bases, key_of).cases


def _from_file(file: str, catalogue: Catalogue, wanted: Sequence[Card], key_of: Callable[[Card], str]) -> _Gathered:
    path = os.path.abspath(os.path.expanduser(file))
    if not os.path.lexists(path):
        raise NotFoundError("path-not-found", f"There is nothing at {path}.", hint="Check the path.", path=path)
    with os_failures(path, doing="read", other="read-failed"):
        data = read_file(path, MAX_BYTES + 1)
    skill = wanted[0].full_name if len(wanted) == 1 else ""
    read = read_cases(data, skill, path)
    if any(case.fits and not case.skill for case in read.cases):
        hint = "Name it: `whet eval triggers NAME --file FILE`; or give each message a field `skill`."
        raise UsageError("skill-not-named", f"{path} does not say which skill its messages are for.", hint=hint)
    gathered = _resolved([(path, read)], catalogue, key_of)
    if not gathered.cases:
        message, report = f"{path} has no row that can be used.", [note.to_json() for note in gathered.notes]
        raise InvalidError("not-trigger-evals", message, hint=f"Write {FORMS}.", report=report)
    return gathered


def _from_packages(
    cards: Sequence[Card], catalogue: Catalogue, bases: Sequence[str], key_of: Callable[[Card], str]
) -> _Gathered:
    read: list[tuple[str, Cases]] = []
    for card in cards:
        for name, data in _files(card, bases):
            path = os.path.join(card.directory, *name.split("/"))
            if isinstance(data, Note):
                read.append((path, Cases((), (data,))))
                continue
            cases = _read(data, card, name, path)
            if cases is not None:
                read.append((path, cases))
    return _resolved(read, catalogue, key_of)


def _read(data: bytes, card: Card, name: str, path: str) -> Cases | None:
    """The cases of a package's file; None for one that is about something else."""
    output = os.path.basename(name).startswith(_OUTPUT_EVALS)
    try:
        found = read_cases(data, card.full_name, path)
    except InvalidError as error:
        if output and error.code == "not-trigger-evals":
            return None
        message = f"The file{error.message.removeprefix(path)}"  # the entry has the path
        return Cases((), (Note(error.code, "warning", message, error.hint, skill=card.full_name, path=path),))
    if output:
        kept = tuple(note for note in found.report if note.code != "case-unlabelled")
        return found._replace(report=kept) if found.cases or kept else None
    return found


def _files(card: Card, bases: Sequence[str]) -> Iterator[tuple[str, bytes | Note]]:
    """The files of a skill that may hold evals, with their content, or with what keeps it from being read."""
    names: list[str] = []
    for folder in _FOLDERS if card.kind == "skill" else ():
        try:
            listed = os.listdir(os.path.join(card.directory, folder))
        except OSError:
            continue  # there is no such folder; that the skill itself cannot be listed is the catalogue's to report
        names += [f"{folder}/{name}" if folder else name for name in listed]
    for name in find_files(names):
        try:
            descriptor = open_beneath(card.directory, name, bases=bases)
        except WhetError as error:
            path = os.path.join(card.directory, *name.split("/"))
            yield name, Note.from_error(error, "warning", skill=card.full_name, path=path)
            continue
        try:
            yield name, read_descriptor(descriptor, MAX_BYTES + 1)
        finally:
            os.close(descriptor)


def _resolved(read: Sequence[tuple[str, Cases]], catalogue: Catalogue, key_of: Callable[[Card], str]) -> _Gathered:
    """The cases with the judge's keys for their skills; those of skills that are not there are left out."""
    cases: dict[tuple[str, str], Case] = {}
    notes: list[Note] = []
    cards: dict[str, Card | None] = {}
    for path, (found, report) in read:
        notes += report
        for case in found:
            key = ""
            if case.skill:
                card = _card(case.skill, path, catalogue, cards, notes)
                if card is None:
                    continue
                key = key_of(card)
            cases.setdefault((case.message, key), case._replace(skill=key))
    files = tuple(path for path, (found, _) in read if found)
    return _Gathered(tuple(cases.values()), files, tuple(notes))


def _card(name: str, path: str, catalogue: Catalogue, known: dict[str, Card | None], notes: list[Note]) -> Card | None:
    """The skill of that name, None when there is none, which is noted once."""
    key = name_key(name)
    if key not in known:
        try:
            known[key] = find(catalogue, name)
        except WhetError as error:
            known[key] = None
            message = f"Messages for {name} were left out: {error.message}"
            notes.append(Note("eval-skill-unknown", "warning", message, error.hint, skill=name, path=path))
    return known[key]


def _without(card: Card, notes: Sequence[Note]) -> NotFoundError:
    hint = "Write evals/triggers.json in the skill: a JSON list of {query, should_trigger}."
    if notes:
        hint = f"{notes[0].path}: {notes[0].message} {notes[0].hint}".strip()
    return NotFoundError("no-trigger-evals", f"{card.full_name} has no trigger evals that can be used.", hint=hint)


def _explicit_only(cases: Sequence[Case], catalogue: Catalogue, key_of: Callable[[Card], str]) -> Iterator[Note]:
    """A remark for each skill that cannot do well, because it never comes up by itself."""
    expected = {case.skill for case in cases if case.fits}
    for card in catalogue.cards:
        if not card.gates.model_invocable and key_of(card) in expected:
            message = f"{card.full_name} is for people to ask for, so it never comes up by itself."
            hint = "Remove disable-model-invocation, or the messages that should bring it up."
            yield Note("explicit-only", "info", message, hint, skill=card.full_name, path=card.path)

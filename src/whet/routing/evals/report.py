"""`whet learn eval triggers`: the results of skills on their trigger evals, with numbers and messages.

A skill's evals are files of its package; a file may also be given, and may then be about any skills of the library.

Two questions are separate. *must*: of the messages that trigger a skill automatically, how many are right
(precision), and how many of those it is for trigger it (recall). *offered* counts must and may together: the skills
that a model can choose from. A message that another skill wins instead is *stolen*; this happens between siblings,
and shows which descriptions must be distinguished.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.library.catalogue import find
from whet.library.files import open_beneath, read_descriptor, read_file
from whet.notes import Note
from whet.routing.evals.formats import EXAMPLES, FOLDERS, FORMS, MAX_BYTES, Case, Cases, find_files, read_cases
from whet.routing.evals.judge import RANKS, Judge, Judged, Tier, judged
from whet.routing.evals.suggestions import suggest as suggestions_of
from whet.skill.names import key as name_key
from whet.store.failures import os_failures
from whet.values import Json, answer_json, as_json, failure_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.discovery import Bounds
    from whet.library.workspace import Workspace
    from whet.routing.evals.suggestions import Suggestion, Try

    T = TypeVar("T")

SEED = 42
HELD_OUT = 0.4
"""The share of the cases that is held out."""
_MOST_LISTED = 50
"""Maximum number of messages of a kind for one skill in a report."""
_MOST_SHOWN = 5
"""Maximum number of messages for one pair of siblings."""
_LONGEST = 300
"""Maximum length of a message in a report."""


class Scores(NamedTuple):
    """Counts of right and wrong answers, and their ratios; a ratio is None if its denominator is 0."""

    hits: int
    misses: int
    false: int
    rightly_silent: int

    @property
    def precision(self) -> float | None:
        """The share of right messages among those that triggered the skill."""
        return _share(self.hits, self.hits + self.false)

    @property
    def recall(self) -> float | None:
        """The share of messages for the skill that triggered it."""
        return _share(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return _share(2 * self.hits, 2 * self.hits + self.false + self.misses)

    @property
    def accuracy(self) -> float | None:
        """The share of right answers."""
        return _share(self.hits + self.rightly_silent, sum(self))

    def to_json(self) -> Json:
        """Return the rounded ratios and the counts."""
        shares = {name: rounded(getattr(self, name)) for name in ("precision", "recall", "f1", "accuracy")}
        return {**shares, **self._asdict()}


class Mistake(NamedTuple):
    """A message with the wrong outcome."""

    message: str
    place: str
    tier: Tier
    rank: int | None
    confidence: float | None
    winner: str | None
    first: str | None


class Theft(NamedTuple):
    """Messages for one skill that triggered another one instead."""

    skill: str
    by: str
    total: int
    messages: tuple[str, ...]
    """The first messages."""

    def to_json(self) -> Json:
        """Return the messages as JSON."""
        return {"skill": self.skill, "by": self.by, "count": self.total, "messages": list(self.messages)}


class Tally(NamedTuple):
    """The results of one skill, with a limited number of messages."""

    skill: str
    explicit: bool
    """Whether only a person may invoke it."""
    cases: int
    must: Scores
    offered: Scores
    missed: tuple[Mistake, ...]
    """Messages for the skill for which it is not even offered."""
    only_offered: tuple[Mistake, ...]
    """Messages for the skill for which it is only offered."""
    false_triggers: tuple[Mistake, ...]
    """Messages not for the skill that trigger or offer it."""
    stolen: tuple[Theft, ...]


class Overall(NamedTuple):
    """The results of all skills together, except those that never trigger automatically."""

    must: Scores
    offered: Scores
    first: float | None
    """The share of messages for which the right skill ranks first."""
    top5: float | None


class Report(NamedTuple):
    """The results of a library on its trigger evals."""

    cases: int
    held_out: bool
    overall: Overall
    skills: tuple[Tally, ...]
    """Sorted by recall, worst first."""
    no_skill: Tally | None
    """The results of messages that should trigger no skill."""
    confusions: tuple[Theft, ...]
    suggestions: tuple[Suggestion, ...]


def tally(results: Sequence[Judged], names: Mapping[str, str], explicit: Collection[str] = ()) -> Report:
    """Return the report on judged cases.

    `names` are the names of the judge's keys, `explicit` the keys of the skills that only a person may invoke.
    """
    by_skill: dict[str, list[Judged]] = {}
    for item in results:
        by_skill.setdefault(item.case.skill, []).append(item)
    tallies = {key: _tally(key, items, names, explicit=key in explicit) for key, items in sorted(by_skill.items())}
    no_skill = tallies.pop("", None)
    skills = sorted(tallies.values(), key=lambda one: (one.offered.recall is None, one.offered.recall or 0.0))
    stolen = [theft for one in skills for theft in one.stolen]
    counted = [item for item in results if item.case.skill not in explicit]
    ranks = [item.rank or RANKS + 1 for item in counted if item.case.fits]
    first, top5 = (rounded(_share(sum(rank <= most for rank in ranks), len(ranks))) for most in (1, 5))
    return Report(
        len(results),
        held_out=False,
        overall=Overall(_scores(counted, "must"), _scores(counted, "may"), first, top5),
        skills=tuple(skills),
        no_skill=no_skill,
        confusions=tuple(sorted(stolen, key=lambda theft: (-theft.total, theft))[:_MOST_LISTED]),
        suggestions=(),
    )


def split(cases: Iterable[Case]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Split cases into those to learn from and those held out, 60 to 40 of each verdict of each skill, always the same.

    A case is assigned by the hash of its message, so that adding one moves few others.
    """
    groups: dict[tuple[str, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.skill, case.fits), []).append(case)
    parts = [hold_out(group, lambda case: case.message) for group in groups.values()]
    learn, held = (tuple(case for part in parts for case in part[side]) for side in (0, 1))
    return learn, held


def hold_out(items: Iterable[T], text: Callable[[T], str]) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """Split items 60 to 40 into those to learn from and those held out, by the hash of their text; two items 1 to 1."""
    order = sorted(items, key=lambda item: sha256(f"{SEED}\0{text(item)}".encode("utf-8", "replace")).digest())
    kept = round(len(order) * HELD_OUT) if len(order) > 2 else len(order) - 1
    return tuple(order[kept:]), tuple(order[:kept])


def _tally(skill: str, items: list[Judged], names: Mapping[str, str], *, explicit: bool) -> Tally:
    stolen: dict[str, list[str]] = {}
    for item in items:
        if item.case.fits and item.tier != "must" and item.winner and item.winner != skill and not item.rightful:
            stolen.setdefault(item.winner, []).append(_shown(item.case.message))
    name = names.get(skill, skill)
    thefts = [
        Theft(name, names.get(by, by), len(messages), tuple(messages[:_MOST_SHOWN])) for by, messages in stolen.items()
    ]

    def listed(tiers: tuple[Tier, ...], *, fits: bool) -> tuple[Mistake, ...]:
        wrong = [item for item in items if item.case.fits is fits and item.tier in tiers]
        return tuple(_mistake(item, names) for item in wrong[:_MOST_LISTED])

    return Tally(
        name,
        explicit,
        len(items),
        _scores(items, "must"),
        _scores(items, "may"),
        missed=listed(("none",), fits=True),
        only_offered=listed(("may",), fits=True),
        false_triggers=listed(("must", "may"), fits=False),
        stolen=tuple(sorted(thefts, key=lambda theft: (-theft.total, theft.by))),
    )


def _scores(items: Iterable[Judged], least: Tier) -> Scores:
    """Count right and wrong answers; a skill counts as triggered from the tier `least` on."""
    counts = {(fits, up): 0 for fits in (True, False) for up in (True, False)}
    for item in items:
        counts[item.case.fits, item.tier == "must" or item.tier == least] += 1
    return Scores(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def _mistake(item: Judged, names: Mapping[str, str]) -> Mistake:
    winner, first = (names.get(key, key) or None for key in (item.winner, item.first))
    message = _shown(item.case.message)
    return Mistake(message, item.case.place, item.tier, item.rank, rounded(item.confidence), winner, first)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def rounded(value: float | None) -> float | None:
    """Return a ratio rounded for a report."""
    return None if value is None else round(value, 4)


def _shown(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"


_OUTPUT_EVALS = "evals."
"""Prefix of files that may hold only evals of another kind."""


class Below(NamedTuple):
    """A ratio below its minimum."""

    skill: str
    """The name of the skill; "" for all skills together."""
    measure: str
    value: float
    minimum: float


class TriggerEvals(NamedTuple):
    """The results of skills on their trigger evals."""

    report: Report
    files: tuple[str, ...]
    """The files of the messages."""
    notes: tuple[Note, ...]
    below: tuple[Below, ...] | None = None
    """The ratios below the minima; None if there are no minima."""
    problem: Note | None = None
    """The reason for a failure, if any."""

    def to_json(self) -> Json:
        """Return the report as JSON."""
        answer = answer_json(self.report)
        answer |= {"files": list(self.files), "report": as_json(self.notes)}
        answer |= {} if self.below is None else {"below": as_json(self.below)}
        return failure_json(answer, self.problem)


class _Gathered(NamedTuple):
    cases: tuple[Case, ...]
    """Cases whose skills are keys of the judge."""
    files: tuple[str, ...]
    notes: tuple[Note, ...]


def eval_triggers(
    workspace: Workspace,
    judge: Judge,
    names: Sequence[str] = (),
    *,
    file: str | None = None,
    held_out: bool = False,
    suggest: bool = False,
    try_phrase: Try | None = None,
) -> TriggerEvals:
    """Return the results of these skills, or of all that have evals; with `suggest`, phrases that would help.

    With `held_out` the numbers are about two fifths of the cases, and suggestions come from the others. Raises
    NotFoundError for a skill without evals, InvalidError for a file without them.
    """
    snapshot = workspace.snapshot()
    catalogue, bounds = snapshot.catalogue, snapshot.config.bounds
    wanted = tuple(workspace.find(name)[0] for name in dict.fromkeys(names))
    if file is not None:
        gathered = _from_file(file, catalogue, wanted)
    else:
        gathered = _from_packages(wanted or catalogue.cards, catalogue, bounds)
    cases = gathered.cases
    if wanted:
        chosen = {str(card.id) for card in wanted}
        cases = tuple(case for case in cases if case.skill in chosen)
        for card in wanted:
            if not any(case.skill == str(card.id) for case in cases):
                raise _without(card, gathered.notes)
    learn, held = split(cases) if held_out else (cases, ())
    results, beside = judged(learn, judge), judged(held, judge)
    explicit = {str(card.id) for card in catalogue.cards if not card.gates.model_invocable}
    shown = {str(card.id): card.full_name for card in (*catalogue.cards, *wanted)}
    report = tally(beside if held_out else results, shown, explicit)._replace(held_out=held_out)
    if suggest:
        texts = {str(card.id): f"{card.name} {card.description} {card.when}" for card in catalogue.cards}
        found = suggestions_of(results, texts, try_phrase=try_phrase, beside=beside)
        named = tuple(item._replace(skill=shown.get(item.skill, item.skill)) for item in found)
        report = report._replace(suggestions=named)
    notes = (*gathered.notes, *_explicit_only(cases, catalogue))
    return TriggerEvals(report, gathered.files, notes)


def against_minima(
    answer: TriggerEvals, *, min_precision: float | None = None, min_recall: float | None = None
) -> TriggerEvals:
    """Return the results as a failure if a skill, or all of them together, are below a minimum.

    Precision applies to skills that trigger, recall to those that are offered. A ratio without a value is not below
    anything, and skills that only a person may invoke have no minimum. With a minimum, messages for skills that do not
    exist are a failure, too, because they were not measured.
    """
    report, below = answer.report, list[Below]()
    skills = [(one.skill, one.must, one.offered) for one in report.skills if not one.explicit]
    for name, must, offered in (*skills, ("", report.overall.must, report.overall.offered)):
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
        hint = "Run again with `--suggest`, and look at the missed, false and stolen messages."
        problem = Note("below-minimum", "error", f"Below the minimum: {'; '.join(rows)}.", hint)
    elif unknown and (min_precision is not None or min_recall is not None):
        message = f"Some messages are for skills that do not exist: {', '.join(unknown)}."
        problem = Note("eval-skill-unknown", "error", message, "Fix the names.")
    return answer._replace(below=tuple(below), problem=problem)


def every_case(workspace: Workspace) -> tuple[Case, ...]:
    """Return the usable trigger evals of all skills, with the judge's keys."""
    snapshot = workspace.snapshot()
    return _from_packages(snapshot.catalogue.cards, snapshot.catalogue, snapshot.config.bounds).cases


def _from_file(file: str, catalogue: Catalogue, wanted: Sequence[Card]) -> _Gathered:
    path = os.path.abspath(os.path.expanduser(file))
    if not os.path.lexists(path):
        raise NotFoundError("path-not-found", f"There is nothing at {path}.", hint="Check the path.", path=path)
    with os_failures(path, doing="read", other="read-failed"):
        data = read_file(path, MAX_BYTES + 1)
    skill = wanted[0].full_name if len(wanted) == 1 else ""
    read = read_cases(data, skill, path)
    if any(case.fits and not case.skill for case in read.cases):
        hint = "Run `whet learn eval triggers NAME --file FILE`, or add a `skill` field to each message."
        raise UsageError("skill-not-named", f"{path} does not say which skill its messages are for.", hint=hint)
    gathered = _resolved([(path, read)], catalogue)
    if not gathered.cases:
        message, report = f"{path} has no usable rows.", [note.to_json() for note in gathered.notes]
        raise InvalidError("not-trigger-evals", message, hint=f"Write {FORMS}.", report=report)
    return gathered


def _from_packages(cards: Sequence[Card], catalogue: Catalogue, bounds: Bounds) -> _Gathered:
    read: list[tuple[str, Cases]] = []
    for card in cards:
        for name in _files(card):
            path = os.path.join(card.directory, *name.split("/"))
            if (cases := _read(card, name, path, bounds.bases_of(card))) is not None:
                read.append((path, cases))
    return _resolved(read, catalogue)


def _files(card: Card) -> list[str]:
    """Return the relative paths of the files of a skill that may hold evals."""
    names: list[str] = []
    for folder in FOLDERS if card.kind == "skill" else ():
        with suppress(OSError):  # the directory does not exist; the catalogue reports a skill that cannot be listed
            names += [f"{folder}{name}" for name in os.listdir(os.path.join(card.directory, folder))]
    return find_files(names)


def _read(card: Card, name: str, path: str, bases: Sequence[str]) -> Cases | None:
    """Return the cases of a package's file; None for a file about something else."""
    is_output = os.path.basename(name).startswith(_OUTPUT_EVALS)
    try:
        descriptor = open_beneath(card.directory, name, bases=bases)
        try:
            data = read_descriptor(descriptor, MAX_BYTES + 1)
        finally:
            os.close(descriptor)
        found = read_cases(data, card.full_name, path, examples=name.startswith(EXAMPLES))
    except WhetError as error:
        if is_output and error.code == "not-trigger-evals":
            return None
        note = Note.from_error(error, "warning", skill=card.full_name, path=path)
        if note.message.startswith(path):  # the note has the path
            note = note._replace(message=f"The file{note.message.removeprefix(path)}")
        return Cases((), (note,))
    if is_output:
        found = found._replace(report=tuple(note for note in found.report if note.code != "case-unlabelled"))
    return found if found.cases or found.report or not is_output else None


def _resolved(read: Sequence[tuple[str, Cases]], catalogue: Catalogue) -> _Gathered:
    """Return the cases with the judge's keys for their skills; cases of unknown skills are left out, with a note."""
    cases: dict[tuple[str, str], Case] = {}
    notes: list[Note] = []
    keys: dict[str | None, str | None] = {None: ""}
    for path, (found, report) in read:
        notes += report
        for case in found:
            name = name_key(case.skill) if case.skill else None
            if name not in keys:
                try:
                    keys[name] = str(find(catalogue, case.skill).id)
                except WhetError as error:
                    keys[name] = None
                    message = f"Messages for {case.skill} are left out: {error.message}"
                    notes.append(
                        Note("eval-skill-unknown", "warning", message, error.hint, skill=case.skill, path=path)
                    )
            if (key := keys[name]) is not None:
                cases.setdefault((case.message, key), case._replace(skill=key))
    files = tuple(path for path, (found, _) in read if found)
    return _Gathered(tuple(cases.values()), files, tuple(notes))


def _without(card: Card, notes: Sequence[Note]) -> NotFoundError:
    hint = "Write evals/triggers.json in the skill: a JSON list of {query, should_trigger}."
    if notes:
        hint = f"{notes[0].path}: {notes[0].message} {notes[0].hint}".strip()
    return NotFoundError("no-trigger-evals", f"{card.full_name} has no usable trigger evals.", hint=hint)


def _explicit_only(cases: Sequence[Case], catalogue: Catalogue) -> Iterator[Note]:
    """Yield a note for each tested skill that never triggers automatically."""
    expected = {case.skill for case in cases if case.fits}
    for card in catalogue.cards:
        if not card.gates.model_invocable and str(card.id) in expected:
            message = f"Only a person may invoke {card.full_name}, so it never triggers automatically."
            hint = "Remove `disable-model-invocation`, or the messages that should trigger it."
            yield Note("explicit-only", "info", message, hint, skill=card.full_name, path=card.path)

"""`whet learn eval triggers`: how well skills do on their trigger evals, the numbers and the messages behind them.

A skill's evals are files of its package; a file may also be given, and may then be about any skills of the library.

Two questions are kept apart. *must*: of the messages for which a skill comes up by itself, how many are right
(precision), and how many of those it is for are reached that way (recall). *offered* counts must and may together: what
a model gets to choose from. A message that another skill wins instead is *stolen*; that is between siblings, and
shows which descriptions have to be told apart.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.library.catalogue import find
from whet.library.files import open_beneath, read_descriptor, read_file
from whet.notes import Note
from whet.routing.evals.formats import EXAMPLES, FORMS, MAX_BYTES, Case, Cases, find_files, read_cases
from whet.routing.evals.judge import Judge, Judged, Tier, judged
from whet.routing.evals.suggestions import suggest as suggestions_of
from whet.skill.names import key as name_key
from whet.store.failures import os_failures
from whet.values import Json, answer_json, as_json, failure_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from whet.library.card import Card
    from whet.library.catalogue import Catalogue
    from whet.library.discovery import Bounds
    from whet.library.workspace import Workspace
    from whet.routing.evals.formats import Case
    from whet.routing.evals.judge import Judge
    from whet.routing.evals.suggestions import Suggestion, Try

    T = TypeVar("T")

SEED = 42
HELD_OUT = 0.4
"""The share of the cases that is kept apart."""
_MOST_LISTED = 50
"""Messages of a kind that a report holds for one skill."""
_MOST_SHOWN = 5
"""Messages that are shown for one pair of siblings."""
_LONGEST = 300
"""Characters of a message in a report."""


class Scores(NamedTuple):
    """Counts of right and wrong answers, and what is made of them; None where there is nothing to divide by."""

    hits: int
    misses: int
    false: int
    rightly_silent: int

    @property
    def precision(self) -> float | None:
        """Of the messages it came up for, the share it was for."""
        return _share(self.hits, self.hits + self.false)

    @property
    def recall(self) -> float | None:
        """Of the messages it is for, the share it came up for."""
        return _share(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two."""
        return _share(2 * self.hits, 2 * self.hits + self.false + self.misses)

    @property
    def accuracy(self) -> float | None:
        """The share of right answers."""
        return _share(self.hits + self.rightly_silent, sum(self))

    def to_json(self) -> Json:
        """The shares, rounded, and the counts."""
        shares = {name: rounded(getattr(self, name)) for name in ("precision", "recall", "f1", "accuracy")}
        return {**shares, **self._asdict()}


class Stolen(NamedTuple):
    """Messages for one skill for which another one came up instead."""

    skill: str
    by: str
    messages: tuple[str, ...]

    def tell(self, name: Callable[[str], str]) -> ToldTheft:
        """As a report holds it."""
        shown = tuple(_shown(message) for message in self.messages[:_MOST_SHOWN])
        return ToldTheft(name(self.skill), name(self.by), len(self.messages), shown)


class Tally(NamedTuple):
    """How one skill does; the key "" stands for messages that no skill should come up for."""

    skill: str
    must: Scores
    offered: Scores
    missed: tuple[Judged, ...]
    """Messages for it that it is not even offered for."""
    only_offered: tuple[Judged, ...]
    """Messages for it that it does not come up for by itself."""
    false: tuple[Judged, ...]
    """Messages not for it that it is offered, or comes up, for."""
    stolen: tuple[Stolen, ...]

    def tell(self, name: Callable[[str], str], *, explicit: bool = False) -> ToldTally:
        """As a report holds it; `explicit` says that only a person may invoke the skill."""
        missed, offered, false = (
            tuple(_tell(item, name) for item in group[:_MOST_LISTED])
            for group in (self.missed, self.only_offered, self.false)
        )
        stolen = tuple(item.tell(name) for item in self.stolen)
        told = (name(self.skill), explicit, sum(self.must), self.must, self.offered)
        return ToldTally(*told, missed, offered, false, stolen)


class ToldMessage(NamedTuple):
    """A message with the wrong outcome, as it appears in a report."""

    message: str
    place: str
    tier: Tier
    rank: int | None
    confidence: float | None
    winner: str | None
    first: str | None


class ToldTheft(NamedTuple):
    """Messages that another skill won, as a report holds them."""

    skill: str
    by: str
    total: int
    messages: tuple[str, ...]
    """The first of them."""

    def to_json(self) -> Json:
        """As JSON carries them."""
        return {"skill": self.skill, "by": self.by, "count": self.total, "messages": list(self.messages)}


class ToldTally(NamedTuple):
    """How one skill does, with names instead of keys and no more messages than people read."""

    skill: str
    explicit: bool
    cases: int
    must: Scores
    offered: Scores
    missed: tuple[ToldMessage, ...]
    only_offered: tuple[ToldMessage, ...]
    false_triggers: tuple[ToldMessage, ...]
    stolen: tuple[ToldTheft, ...]


class Overall(NamedTuple):
    """How all skills do together."""

    must: Scores
    offered: Scores
    first: float | None
    """The share of messages for which the right skill comes first."""
    top5: float | None


class ToldReport(NamedTuple):
    """How a library does, with names instead of keys."""

    cases: int
    held_out: bool
    overall: Overall
    skills: tuple[ToldTally, ...]
    no_skill: ToldTally | None
    confusions: tuple[ToldTheft, ...]
    suggestions: tuple[Suggestion, ...]


class Report(NamedTuple):
    """How a library does on its trigger evals."""

    tallies: tuple[Tally, ...]
    """By skill, the worst recall first."""
    must: Scores
    offered: Scores
    """All together, but for the skills that never come up by themselves."""
    ranks: tuple[int | None, ...]
    """Where the right skill stood in the ranking, for each message that has one."""
    explicit: frozenset[str] = frozenset()
    """The skills that only a person may invoke."""
    held_out: bool = False
    suggestions: tuple[Suggestion, ...] = ()

    def asked(self) -> list[Tally]:
        """Those of skills that come up by themselves."""
        return [one for one in self.tallies if one.skill and one.skill not in self.explicit]

    def tell(self, names: Mapping[str, str]) -> ToldReport:
        """The report as JSON; `names` are those of the keys."""

        def name(key: str) -> str:
            return names.get(key, key)

        confusions = sorted(
            (item for tally in self.tallies for item in tally.stolen), key=lambda item: (-len(item.messages), item)
        )
        first = rounded(_share(sum(rank == 1 for rank in self.ranks), len(self.ranks)))
        top5 = rounded(_share(sum(rank is not None and rank <= 5 for rank in self.ranks), len(self.ranks)))
        return ToldReport(
            sum(sum(tally.must) for tally in self.tallies),
            self.held_out,
            Overall(self.must, self.offered, first, top5),
            tuple(tally.tell(name, explicit=tally.skill in self.explicit) for tally in self.tallies if tally.skill),
            next((tally.tell(name) for tally in self.tallies if not tally.skill), None),
            tuple(item.tell(name) for item in confusions[:_MOST_LISTED]),
            tuple(item._replace(skill=name(item.skill)) for item in self.suggestions),
        )


def tally(results: Sequence[Judged], explicit: Iterable[str] = ()) -> Report:
    """The report on cases that were judged; `explicit` are the skills that only a person may invoke."""
    silent = frozenset(explicit)
    by_skill: dict[str, list[Judged]] = {}
    for item in results:
        by_skill.setdefault(item.case.skill, []).append(item)
    tallies = [_tally(skill, items) for skill, items in by_skill.items()]
    tallies.sort(key=lambda item: (item.offered.recall is None, item.offered.recall or 0.0, item.skill))
    counted = [item for item in results if item.case.skill not in silent]
    ranks = tuple(item.rank for item in counted if item.case.fits)
    return Report(tuple(tallies), _scores(counted, "must"), _scores(counted, "may"), ranks, silent)


def split(cases: Iterable[Case]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Cases to learn from and cases held out, 60 to 40 of each verdict of each skill, always the same ones.

    A case goes by the hash of its message, so that adding one moves few others.
    """
    groups: dict[tuple[str, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.skill, case.fits), []).append(case)
    parts = [hold_out(group, lambda case: case.message) for group in groups.values()]
    learn, held = (tuple(case for part in parts for case in part[side]) for side in (0, 1))
    return learn, held


def hold_out(items: Iterable[T], text: Callable[[T], str]) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """Items to learn from and items held out, 60 to 40, by the hash of their text; of two, one is held out."""
    order = sorted(items, key=lambda item: sha256(f"{SEED}\0{text(item)}".encode("utf-8", "replace")).digest())
    kept = round(len(order) * HELD_OUT) if len(order) > 2 else len(order) - 1
    return tuple(order[kept:]), tuple(order[:kept])


def _tally(skill: str, items: list[Judged]) -> Tally:
    stolen: dict[str, list[str]] = {}
    for item in items:
        if item.case.fits and item.tier != "must" and item.winner and item.winner != skill and not item.rightful:
            stolen.setdefault(item.winner, []).append(item.case.message)
    thefts = sorted((Stolen(skill, by, tuple(messages)) for by, messages in stolen.items()), key=_by_count)
    return Tally(
        skill,
        _scores(items, "must"),
        _scores(items, "may"),
        tuple(item for item in items if item.case.fits and item.tier == "none"),
        tuple(item for item in items if item.case.fits and item.tier == "may"),
        tuple(item for item in items if not item.case.fits and item.tier != "none"),
        tuple(thefts),
    )


def _by_count(item: Stolen) -> tuple[int, str]:
    return -len(item.messages), item.by


def _scores(items: Iterable[Judged], least: Tier) -> Scores:
    """Right and wrong answers when a skill counts as up from this tier on."""
    counts = {(fits, up): 0 for fits in (True, False) for up in (True, False)}
    for item in items:
        counts[item.case.fits, item.tier == "must" or item.tier == least] += 1
    return Scores(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def _tell(item: Judged, name: Callable[[str], str]) -> ToldMessage:
    return ToldMessage(
        _shown(item.case.message),
        item.case.place,
        item.tier,
        item.rank,
        rounded(item.confidence),
        name(item.winner) if item.winner else None,
        name(item.first) if item.first else None,
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def rounded(value: float | None) -> float | None:
    """As reports hold a share."""
    return None if value is None else round(value, 4)


def _shown(message: str) -> str:
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"


_FOLDERS = ("evals", "eval", "tests", "", EXAMPLES.rstrip("/"))
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
        """The report as JSON."""
        answer = answer_json(self.report.tell(self.names))
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
    file: str | None = None,
    held_out: bool = False,
    suggest: bool = False,
    try_phrase: Try | None = None,
) -> TriggerEvals:
    """How these skills, or all that have evals, do on them; with `suggest`, words that would help.

    With `held_out` the numbers are about two fifths of the cases, and
    suggestions come from the others. Raises NotFoundError for a skill without evals, InvalidError for a file of none.
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
    explicit = [str(card.id) for card in catalogue.cards if not card.gates.model_invocable]
    report = tally(beside if held_out else results, explicit)._replace(held_out=held_out)
    if suggest:
        texts = {str(card.id): f"{card.name} {card.description} {card.when}" for card in catalogue.cards}
        found = suggestions_of(results, texts, try_phrase=try_phrase, beside=beside)
        report = report._replace(suggestions=found)
    notes = (*gathered.notes, *_explicit_only(cases, catalogue))
    shown = {str(card.id): card.full_name for card in (*catalogue.cards, *wanted)}
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
        hint = "Run again with `--suggest`, and look at the missed, false and stolen messages."
        problem = Note("below-minimum", "error", f"Below the minimum: {'; '.join(rows)}.", hint)
    elif unknown and (min_precision is not None or min_recall is not None):
        message = f"Some messages are for skills that do not exist: {', '.join(unknown)}."
        problem = Note("eval-skill-unknown", "error", message, "Fix the names.")
    return answer._replace(below=tuple(below), problem=problem)


def every_case(workspace: Workspace) -> tuple[Case, ...]:
    """The trigger evals of all skills, with the judge's keys; what cannot be used is left out."""
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
        for name, data in _files(card, bounds.bases_of(card)):
            path = os.path.join(card.directory, *name.split("/"))
            if isinstance(data, Note):
                read.append((path, Cases((), (data,))))
                continue
            cases = _read(data, card, name, path)
            if cases is not None:
                read.append((path, cases))
    return _resolved(read, catalogue)


def _read(data: bytes, card: Card, name: str, path: str) -> Cases | None:
    """The cases of a package's file; None for one that is about something else."""
    output = os.path.basename(name).startswith(_OUTPUT_EVALS)
    try:
        found = read_cases(data, card.full_name, path, examples=name.startswith(EXAMPLES))
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


def _resolved(read: Sequence[tuple[str, Cases]], catalogue: Catalogue) -> _Gathered:
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
                key = str(card.id)
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
            message = f"Messages for {name} are left out: {error.message}"
            notes.append(Note("eval-skill-unknown", "warning", message, error.hint, skill=name, path=path))
    return known[key]


def _without(card: Card, notes: Sequence[Note]) -> NotFoundError:
    hint = "Write evals/triggers.json in the skill: a JSON list of {query, should_trigger}."
    if notes:
        hint = f"{notes[0].path}: {notes[0].message} {notes[0].hint}".strip()
    return NotFoundError("no-trigger-evals", f"{card.full_name} has no usable trigger evals.", hint=hint)


def _explicit_only(cases: Sequence[Case], catalogue: Catalogue) -> Iterator[Note]:
    """A remark for each skill that cannot do well, because it never comes up by itself."""
    expected = {case.skill for case in cases if case.fits}
    for card in catalogue.cards:
        if not card.gates.model_invocable and str(card.id) in expected:
            message = f"Only a person may invoke {card.full_name}, so it never triggers automatically."
            hint = "Remove `disable-model-invocation`, or the messages that should trigger it."
            yield Note("explicit-only", "info", message, hint, skill=card.full_name, path=card.path)

"""The curator: skills that the agent wrote and nobody uses become stale, then are archived; near duplicates are named.

A plan is a value. Making one reads no file, writes nothing and asks no model. The caller prints or applies it, and a
dry run is a plan that is not applied.

- Only skills that the agent created are touched, and of these none that is pinned, new, or named by something else.
- Stale is only a warning: nothing changes for the skill. It is no longer stale once it is used.
- A skill is archived when an earlier run, an interval ago at least, found it stale, so never by the first that does.
  Archiving is a delete with history, bound to the content the plan was made for, and can be undone.
- Merges are only proposals.
- Times that cannot be right change nothing: a clock that went back, or far ahead, must not make a library look unused.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.results import Change
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance, TreeChange
from whet.errors import ConflictError, RefusedError, WhetError
from whet.learning.usage import DeadSkill, Total, by_skill, counted_as
from whet.library.package import read_tree
from whet.routing.duplicates import near_duplicates
from whet.routing.texts import texts_of
from whet.skill.names import key, slug
from whet.store.clock import iso
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.authoring.editor import SkillEditor
    from whet.authoring.journal import Entry
    from whet.learning.usage import Usage
    from whet.library.card import Card
    from whet.library.workspace import Snapshot
    from whet.routing.texts import Texts
    from whet.skill.tree import Item

DAY = 86_400 * 10**9
"""One day in nanoseconds."""

_YEAR_DAYS = 365
_PAIRS = 200
"""Number of near-duplicate pairs that proposals are made from."""
_LATEST = 1 << 63


class Ages(NamedTuple):
    """The intervals of the curator, in days."""

    stale_days: int = 30
    """Days without use, view or change until a skill is stale."""
    archive_days: int = 90
    """Days without use, view or change until a stale skill is archived."""
    grace_days: int = 14
    """Days in which a new skill is not touched."""
    interval_days: int = 7
    """Days between two runs."""


AGES = Ages()


class Standing(NamedTuple):
    """The known facts about a skill. Times are nanoseconds since 1970 UTC, 0 for never or unknown."""

    name: str
    path: str
    digest: str
    created: int
    last: int
    """The last use, view or change."""
    uses: int
    pinned: bool
    referenced_by: tuple[str, ...]
    """Skills and bundles that name it."""
    mine: bool
    """Whether the agent created it."""


class Step(NamedTuple):
    """An unused skill and the action for it; valid only for the content with this digest."""

    name: str
    path: str
    digest: str
    state: str
    """`stale` or `archived`."""
    reason: str


class Kept(NamedTuple):
    """A skill that is left unchanged, with the reason."""

    name: str
    reason: str


class Merge(NamedTuple):
    """A proposal to merge two skills."""

    into: str
    other: str
    score: float
    shared: tuple[str, ...]
    """The most significant words that they share."""
    reason: str


class Plan(NamedTuple):
    """The actions of the curator at one moment."""

    at: int
    steps: tuple[Step, ...]
    kept: tuple[Kept, ...]
    merges: tuple[Merge, ...]
    due: bool
    """Whether the last run is old enough for skills to be archived."""
    start_over: bool = False
    """Whether the interval starts now: this is the first run, or the clock jumped."""
    notes: tuple[str, ...] = ()
    """Notes about the plan as a whole."""

    def to_json(self) -> Json:
        """Return the plan as JSON."""
        return {**fields_json(self), "at": iso(self.at)}


def make_plan(
    standings: Sequence[Standing], texts: Mapping[str, Texts], *, now: int, last_run: int, ages: Ages = AGES
) -> Plan:
    """Plan the actions for these skills now. `texts` has the texts of the skills, by name."""
    jumped = _clock_problem(now, last_run)
    due = bool(last_run) and not jumped and now - last_run >= ages.interval_days * DAY
    judged = [_judge(standing, now, last_run if due else 0, ages) for standing in sorted(standings)]
    steps = tuple(one for one in judged if isinstance(one, Step))
    return Plan(
        at=now,
        steps=steps,
        kept=tuple(one for one in judged if isinstance(one, Kept)),
        merges=_merges(standings, {step.path for step in steps if step.state == "archived"}, texts),
        due=due,
        start_over=not last_run or bool(jumped),
        notes=() if due else (jumped or _explain_not_due(last_run, ages),),
    )


_TRIED = 3
"""Number of failures or corrections after which a skill that never helped counts as dead."""


def find_dead(cards: Sequence[Card], totals: Sequence[Total], now: int, ages: Ages = AGES) -> tuple[DeadSkill, ...]:
    """Return the listed skills that nobody ever loaded, or that never helped; the most expensive first.

    `totals` are by id. New and recently changed skills are left out, and so are all skills until usage has been
    recorded for some time.
    """
    from whet.prompt.formats import line_cost

    known = {total.skill: total for total in totals}
    begun = min((total.first for total in totals if total.first), default=now)
    found: list[DeadSkill] = []
    for card in cards:
        counted = [known[name]._replace(skill="") for name in counted_as(card) if name in known]
        whole = next(iter(by_skill(counted)), Total(""))
        days = (now - max(begun, card.mtime, ~card.mtime)) // DAY
        loads = whole.views + whole.uses
        reason = "" if loads else "never-loaded"
        if not whole.helped and min(loads, whole.failed + whole.corrected) >= _TRIED:
            reason = "never-helped"
        if not reason or (reason == "never-loaded" and days < ages.grace_days):
            continue
        cost = line_cost(card.full_name, card.description)
        own = card.kind == "skill" and card.scope in ("user", "project")
        command = f"whet remove {card.full_name} --archive" if own else f"whet disable {card.full_name}"
        found.append(DeadSkill(card.full_name, reason, cost, max(0, days), command))
    return tuple(sorted(found, key=lambda one: (-one.tokens, one.name)))


# --- the age of skills ----------------------------------------------------------------------------------------------


def _clock_problem(now: int, last_run: int) -> str:
    """Return the problem of the clock, judged by the last run; "" if there is none."""
    if now < last_run:
        return f"The clock is earlier than the last run ({iso(last_run)}). Nothing is archived."
    if last_run and now - last_run > _YEAR_DAYS * DAY:
        return f"The last run ({iso(last_run)}) is more than a year ago, or the clock is wrong. Nothing is archived."
    return ""


def _explain_not_due(last_run: int, ages: Ages) -> str:
    """Return why a plan is not due."""
    days = _days(ages.interval_days)
    if not last_run:
        return f"The curator has not run yet. It archives nothing for {days}."
    return f"The last run was {iso(last_run)}. The curator archives nothing for {days} after it."


def _judge(standing: Standing, now: int, told: int, ages: Ages) -> Step | Kept:
    """Decide about one skill; `told` is when an earlier run reported stale skills, 0 if that was just now."""
    protected = _protection(standing, now, ages)
    if protected:
        return Kept(standing.name, protected)
    active = max(standing.last, standing.created)
    if now - active < ages.stale_days * DAY:
        return Kept(standing.name, "in use")
    old = now - active >= ages.archive_days * DAY and told - active >= ages.stale_days * DAY
    days = _days((now - active) // DAY)
    reason = f"Not used, viewed or changed for {days}." if standing.last else f"Never used in {days}."
    return Step(standing.name, standing.path, standing.digest, "archived" if old else "stale", reason)


def _protection(standing: Standing, now: int, ages: Ages) -> str:
    """Return why a skill must not be touched at any age; "" if it may be."""
    if not standing.mine:
        return "not created by the agent"
    if standing.pinned:
        return "pinned"
    if standing.referenced_by:
        return f"referenced by {', '.join(standing.referenced_by)}"
    if not standing.last and not standing.created:
        return "its age is not known"
    if standing.last > now:
        return "last active in the future; check the clock"
    if standing.created and now - standing.created < ages.grace_days * DAY:
        return "new"
    return ""


def _days(days: int) -> str:
    return f"{days} day" if days == 1 else f"{days} days"


# --- near duplicates ------------------------------------------------------------------------------------------------


def _merges(standings: Sequence[Standing], archived: set[str], texts: Mapping[str, Texts]) -> tuple[Merge, ...]:
    """Return pairs of nearly identical skills, the most similar first; no skill is in two of them."""
    times = Counter(standing.name for standing in standings)
    known = {
        standing.name: standing
        for standing in standings
        if standing.mine
        and standing.path not in archived
        and times[standing.name] == 1  # if two skills have the same name, the text could belong to either
    }
    found: list[Merge] = []
    taken: set[str] = set()
    for pair in near_duplicates({name: texts[name] for name in known if name in texts}, most=_PAIRS):
        into, other = sorted((known[pair.one], known[pair.other]), key=_precedence)
        if taken.isdisjoint((into.name, other.name)) and not other.pinned and not other.referenced_by:
            taken |= {into.name, other.name}
            reason = f"They are {pair.score:.0%} alike; {_why(into, other)}"
            found.append(Merge(into.name, other.name, pair.score, pair.shared, reason))
    return tuple(found)


def _precedence(standing: Standing) -> tuple[int, int, str]:
    """Return the sort key for which skill of a pair is kept: the one used more, then the older one."""
    return -standing.uses, standing.created or _LATEST, standing.name


def _why(into: Standing, other: Standing) -> str:
    if into.uses > other.uses:
        return "the one to keep is used more."
    if 0 < into.created < (other.created or _LATEST):
        return "the one to keep is older."
    return "only the name decides which one to keep."


_LAST_RUN = "SELECT value FROM curator WHERE key = 'last_run'"
_CURATED = frozenset(("user", "project", "external"))


class Curation(NamedTuple):
    """The curator's plan and, if it was applied, the result."""

    plan: Plan
    applied: bool = False
    run: str = ""
    """The run that `undo` reverses; "" if nothing was archived."""
    entries: tuple[int, ...] = ()
    proposals: tuple[int, ...] = ()
    """Proposed merges."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Return the value as JSON."""
        answer = {"success": True, "applied": self.applied, "run": self.run, "plan": self.plan.to_json()}
        if self.applied:
            answer |= {"entries": list(self.entries), "proposals": list(self.proposals)}
        return answer | ({"warnings": list(self.warnings)} if self.warnings else {})


class Curating:
    """The curator of one library."""

    def __init__(self, editor: SkillEditor, usage: Usage) -> None:
        self._editor = editor
        self._usage = usage
        self._state, self._decisions = editor.workspace.state, editor.workspace.decisions

    def archive(self, name: str, reason: str = "", run: str = "") -> Change:
        """Archive a skill. A pinned skill must be unpinned first."""
        card, _ = self._editor.workspace.find(name)
        target, pins = self._editor.target(card), self._decisions.pins()
        if not pins.keys().isdisjoint(card.known_as):
            hint = f"Run `whet skill unpin {target.name}` first."
            raise ConflictError("pinned", f"{target.name} is pinned.", hint=hint)
        if target.cause:
            message = f"{target.name} cannot be archived: {target.cause}"
            raise RefusedError("protected", message, hint=target.instead)
        change = TreeChange("archive", target.name, target.path, None, digest(target.before or {}))
        made, notes = self._editor.committer.commit([change], Provenance("user", reason=reason, run=run))
        return Change("archive", target.name, target.path, "", "", made[-1].id, tuple(notes))

    def plan(self) -> Plan:
        """Return the curator's current plan."""
        snapshot = self._editor.workspace.snapshot()
        settings = snapshot.config.settings
        ages = Ages(stale_days=settings.stale_days, archive_days=max(settings.stale_days, settings.archive_days))
        standings, texts = self._known(snapshot)
        now, last_run = self._editor.journal.clock(), self.last_run()
        return make_plan(standings, texts, now=now, last_run=last_run, ages=ages)

    def curate(self, *, apply: bool = False, if_due: bool = False) -> Curation:
        """Return the plan and, with `apply`, its result; with `if_due`, apply it only once per interval."""
        last_run = self.last_run()
        plan = self.plan()
        wanted = apply or (if_due and plan.due)
        if (wanted and plan.due) or ((wanted or if_due) and plan.start_over):
            claimed = self.claim(plan.at, last_run)
            if wanted and not claimed:
                hint = "Review what it did, then run it again."
                raise ConflictError("curator-ran", "Another process has just run the curator.", hint=hint)
        if not wanted:
            return Curation(plan)
        run = f"r{os.urandom(8).hex()}"
        by = Provenance("curator", "background", "Not used for a long time.", run=run)
        archived = [step for step in plan.steps if step.state == "archived"]
        changes = [TreeChange("archive", step.name, step.path, None, step.digest) for step in archived]
        made, notes = self._editor.committer.commit(changes, by) if changes else ((), ())
        proposals = tuple(number for merge in plan.merges if (number := self._propose(merge)))
        try:
            self._editor.journal.compact()
        except WhetError as error:  # the history is damaged; nothing was removed
            notes = (*notes, error.message)
        entries = tuple(entry.id for entry in made)
        return Curation(plan, True, run if made else "", entries, proposals, tuple(notes))

    def last_run(self) -> int:
        """Return when the curator last ran; 0 if never, or if the record is damaged, so that it starts over."""
        text = "".join(str(value) for (value,) in self._state.read(_LAST_RUN))
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0

    def claim(self, at: int, last_run: int) -> bool:
        """Record that the curator runs; return False if another process has run since `last_run`."""
        with self._state.write() as connection:
            if self.last_run() != last_run:
                return False
            connection.execute("REPLACE INTO curator VALUES ('last_run', ?)", (str(at),))
            return True

    def _known(self, snapshot: Snapshot) -> tuple[list[Standing], dict[str, Texts]]:
        """Return the data for the plan."""
        from whet.library.bundles import read_bundles

        entries: dict[str, list[Entry]] = {}
        for entry in self._editor.journal.entries():
            entries.setdefault(entry.path, []).append(entry)
        names = {str(card.id): card.qualified for card in snapshot.catalogue.cards}
        totals = {total.skill: total for total in self._usage.named(names)}
        pins = self._decisions.pins()
        bundles, _ = read_bundles(snapshot.config.bundle_directories)
        named: dict[str, list[str]] = {}
        for bundle in bundles:
            for member in bundle.skills:
                named.setdefault(key(member), []).append(f"/{bundle.slug}")
        cards = [card for card in snapshot.catalogue.cards if card.kind == "skill" and card.scope in _CURATED]
        installed = self._editor.installed()
        mine = [card for card in cards if card.place not in installed and _is_mine(card.place, entries)]
        skills = {card.full_name: self._editor.workspace.open(card).skill for card in mine}
        for name, skill in skills.items():
            for other in skill.related:
                named.setdefault(key(other), []).append(name)
        standings: list[Standing] = []
        for card in cards:
            own, total = entries.get(card.place, []), totals.get(card.qualified, Total(""))
            standings.append(
                Standing(
                    name=card.full_name,
                    path=card.place,
                    digest=digest(read_tree(card.place) if card.full_name in skills else None),
                    created=own[0].time if own else 0,
                    last=max([entry.time for entry in own if entry.actor != "curator"] + [total.last]),
                    uses=total.uses,
                    pinned=not pins.keys().isdisjoint(card.known_as),
                    referenced_by=tuple(dict.fromkeys(named.get(card.key, ()))),
                    mine=card.full_name in skills,
                )
            )
        return standings, {name: texts_of(skill) for name, skill in skills.items()}

    def _propose(self, merge: Merge) -> int:
        """Propose a merge of two skills; return 0 if the same proposal already waits."""
        into, other = (self._editor.workspace.find(name)[0] for name in (merge.into, merge.other))
        bases = {card.place: read_tree(card.place) for card in (into, other)}
        waiting = [sorted(change.path for change in item.changes) for item in self._editor.proposals.all("pending")]
        if sorted(bases) in waiting:
            return 0
        tree = {**(bases[into.place] or {}), **_as_references(other, bases[other.place] or {})}
        changes = [
            TreeChange("merge", into.name, into.place, tree),
            TreeChange("merge", other.name, other.place, None),
        ]
        by = Provenance("curator", "background", f"{merge.other} into {merge.into}. {merge.reason}")
        return self._editor.proposals.propose(changes, bases, by, "Near duplicates.")


def _is_mine(path: str, entries: Mapping[str, Sequence[Entry]]) -> bool:
    """Return whether the agent created this skill, by its first entry; a rename leads to its old directory."""
    seen: set[str] = set()
    while path not in seen and (own := entries.get(path)):
        seen.add(path)
        first = own[0]
        if first.action != "rename":
            return first.actor == "agent" and first.action == "create"
        gone = (entry.path for other in entries.values() for entry in other if entry.run == first.run)
        path = next((each for each in gone if each != path), path)
    return False


def _as_references(card: Card, tree: Mapping[str, Item]) -> dict[str, Item]:
    """Return a skill's files as reference files of another."""
    prefix = f"references/{slug(card.name)}"
    found: dict[str, Item] = {}
    for path, item in tree.items():
        if not item.link:
            main = path == os.path.basename(card.path)
            found[f"{prefix}.md" if main else f"{prefix}/{path}"] = item
    return found

"""The curator at work: what is known of each skill goes into a plan, and a plan that is wanted is applied.

    curating = library.learning.curating
    print(curating.curate().plan.report())    # what it would do
    curating.curate(apply=True)               # do it: one run, undone by `whet undo RUN`

Applying archives skills through the same hand that writes them, as one run with its history, bound to the contents
the plan was made for. Merges become proposals: the one to keep gets the others as reference files, and nothing happens
until a person approves.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from whet.authoring.trees import digest
from whet.authoring.writer import Provenance, TreeChange
from whet.errors import ConflictError, RefusedError
from whet.learning.curator import Ages, Plan, Standing, make_plan
from whet.library.package import read_tree
from whet.routing.texts import texts_of
from whet.skill.names import key, slug
from whet.values import Json, answer_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.authoring.editor import SkillEditor
    from whet.authoring.journal import Entry
    from whet.learning.curator import Merge
    from whet.learning.lifecycle import Lifecycle
    from whet.learning.usage import Usage
    from whet.library.card import Card
    from whet.library.workspace import Snapshot
    from whet.routing.texts import Texts
    from whet.skill.tree import Item

_CURATED = frozenset(("user", "project", "external"))


class Archived(NamedTuple):
    """A skill that was put away."""

    name: str
    path: str
    entry: int
    """What the history got."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """It as every surface answers it."""
        return _without_empty_warnings(answer_json(self))


class Curation(NamedTuple):
    """What the curator would do, and where it was applied, what came of it."""

    plan: Plan
    applied: bool = False
    run: str = ""
    """What `undo` takes back; "" where nothing was archived."""
    entries: tuple[int, ...] = ()
    proposals: tuple[int, ...] = ()
    """Merges that wait for a decision."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """It as every surface answers it."""
        answer = {"success": True, "applied": self.applied, "run": self.run, "plan": self.plan.to_json()}
        answer["report"] = self.plan.report()
        if self.applied:
            answer |= {"entries": list(self.entries), "proposals": list(self.proposals)}
        return _without_empty_warnings({**answer, "warnings": list(self.warnings)})


def _without_empty_warnings(answer: Json) -> Json:
    return answer if answer["warnings"] else {name: value for name, value in answer.items() if name != "warnings"}


class Curating:
    """The curator of one library."""

    def __init__(self, editor: SkillEditor, usage: Usage, lifecycle: Lifecycle) -> None:
        self._editor = editor
        self._usage = usage
        self._lifecycle = lifecycle

    def archive(self, name: str, reason: str = "") -> Archived:
        """Put a skill away by hand; a pinned one must be unpinned first."""
        card, _ = self._editor.workspace.find(name)
        target, pins = self._editor.target(card), self._lifecycle.pins()
        if not pins.keys().isdisjoint(card.known_as):
            hint = f"Run `whet unpin {target.name}` first."
            raise ConflictError("pinned", f"{target.name} is pinned.", hint=hint)
        if target.cause:
            hint = f"Run `whet disable {target.name}` instead."
            raise RefusedError("protected", f"{target.name} cannot be archived: {target.cause}", hint=hint)
        change = TreeChange("archive", target.name, target.path, None, digest(target.before or {}))
        made, notes = self._editor.committer.commit([change], Provenance("user", reason=reason))
        return Archived(target.name, target.path, made[-1].id, tuple(notes))

    def plan(self) -> Plan:
        """What the curator would do now."""
        snapshot = self._editor.workspace.snapshot()
        settings = snapshot.config.settings
        ages = Ages(stale_days=settings.stale_days, archive_days=max(settings.stale_days, settings.archive_days))
        standings, texts = self._known(snapshot)
        now, last_run = self._editor.journal.clock(), self._lifecycle.last_run()
        return make_plan(standings, texts, now=now, last_run=last_run, ages=ages)

    def curate(self, *, apply: bool = False, if_due: bool = False) -> Curation:
        """The plan, and with `apply` what came of it; with `if_due`, apply it only when an interval has gone by."""
        last_run = self._lifecycle.last_run()
        plan = self.plan()
        if if_due and not plan.due:
            if plan.start_over:
                self._lifecycle.ran(plan.at, after=last_run)
            return Curation(plan)
        if not (apply or if_due):
            return Curation(plan)
        if not self._lifecycle.ran(plan.at, after=last_run):
            hint = "Look at what it did, then run it again."
            raise ConflictError("curator-ran", "Another process ran the curator a moment ago.", hint=hint)
        run = f"r{os.urandom(8).hex()}"
        by = Provenance("curator", "background", "Not used for long.", run=run)
        archived = [step for step in plan.steps if step.after == "archived"]
        changes = [TreeChange("archive", step.name, step.path, None, step.digest) for step in archived]
        made, notes = self._editor.committer.commit(changes, by) if changes else ((), ())
        others = [step for step in plan.steps if step.after != "archived"]
        states = {step.path: "active" for step in others}  # an older Whet kept states by directory
        states |= {str(self._editor.workspace.identify(step.path)[0]): step.after for step in others}
        self._lifecycle.set_states(states)
        proposals = tuple(number for merge in plan.merges if (number := self._propose(merge)))
        self._editor.journal.compact()
        entries = tuple(entry.id for entry in made)
        return Curation(plan, True, run if made else "", entries, proposals, tuple(notes))

    def _known(self, snapshot: Snapshot) -> tuple[list[Standing], dict[str, Texts]]:
        """Everything the plan is made from."""
        from whet.prompt.asking import bundle_directories
        from whet.prompt.bundles import read_bundles

        workspace = self._editor.workspace
        entries: dict[str, list[Entry]] = {}
        for entry in self._editor.journal.entries():
            entries.setdefault(entry.path, []).append(entry)
        names = {str(card.id): card.qualified for card in snapshot.catalogue.cards}
        totals = {total.skill: total for total in self._usage.named(names)}
        pins, states = self._lifecycle.pins(), self._lifecycle.states()
        bundles, _ = read_bundles(bundle_directories(snapshot.config))
        named: dict[str, list[str]] = {}
        for bundle in bundles:
            for member in bundle.skills:
                named.setdefault(key(member), []).append(f"/{bundle.slug}")
        standings: list[Standing] = []
        texts: dict[str, Texts] = {}
        opened: dict[str, tuple[str, ...]] = {}
        cards = [card for card in snapshot.catalogue.cards if card.kind == "skill" and card.scope in _CURATED]
        for card in cards:
            if _is_mine(os.path.realpath(card.directory), entries):
                skill = workspace.open(card).skill
                texts[card.full_name] = texts_of(skill)
                opened[card.full_name] = skill.related
        for name, related in opened.items():
            for other in related:
                named.setdefault(key(other), []).append(name)
        for card in cards:
            path = os.path.realpath(card.directory)
            own = entries.get(path, [])
            state, since = states.get(str(card.id)) or states.get(path) or ("active", 0)
            total = totals.get(card.qualified)
            tree = read_tree(path) if card.full_name in texts else None
            standings.append(
                Standing(
                    name=card.full_name,
                    path=path,
                    digest=digest(tree),
                    created=own[0].time if own else 0,
                    last=max([entry.time for entry in own if entry.actor != "curator"] + [total.last if total else 0]),
                    uses=total.uses if total else 0,
                    state="stale" if state == "stale" else "active",
                    pinned=not pins.keys().isdisjoint(card.known_as),
                    referenced_by=tuple(dict.fromkeys(named.get(card.key, ()))),
                    mine=card.full_name in texts,
                    since=since if state == "stale" else 0,
                )
            )
        return standings, texts

    def _propose(self, merge: Merge) -> int:
        """A proposal that makes one skill of several; 0 when the same one waits already."""
        workspace = self._editor.workspace
        cards = {name: workspace.find(name)[0] for name in (merge.into, *merge.others)}
        into = cards[merge.into]
        bases = {os.path.realpath(card.directory): read_tree(card.directory) for card in cards.values()}
        kept = os.path.realpath(into.directory)
        tree = dict(bases[kept] or {})
        for name in merge.others:
            tree.update(_as_references(cards[name], bases[os.path.realpath(cards[name].directory)] or {}))
        changes = [TreeChange("merge", into.name, kept, tree)]
        changes += [
            TreeChange("merge", cards[name].name, os.path.realpath(cards[name].directory), None)
            for name in merge.others
        ]
        waiting = [sorted(change.path for change in item.changes) for item in self._editor.proposals.all("pending")]
        if sorted(bases) in waiting:
            return 0
        reason = f"{', '.join(merge.others)} into {merge.into}. {merge.reason}"
        return self._editor.proposals.propose(
            changes, bases, Provenance("curator", "background", reason), "Near duplicates."
        )


def _is_mine(path: str, entries: Mapping[str, Sequence[Entry]]) -> bool:
    """Did the agent create this skill? Its first entry tells; one that was renamed goes back to its old directory."""
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
    """A skill's files as reference material of another."""
    prefix = f"references/{slug(card.name)}"
    found: dict[str, Item] = {}
    for path, item in tree.items():
        if not item.link:
            main = path == os.path.basename(card.path)
            found[f"{prefix}.md" if main else f"{prefix}/{path}"] = item
    return found

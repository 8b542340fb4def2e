"""Sources of skills: taps, plans, the lock, syncing and publishing.

library.sources.install("anthropics/skills", skills=["pdf"])
plan = library.sources.plan_update()
print(plan.to_json())
library.sources.apply(plan)
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from whet.errors import NotFoundError, RefusedError, UsageError, WhetError, expected_text, path_text
from whet.library.clients import is_managed
from whet.records import NamedTuple
from whet.values import fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from weakref import ref

    from whet.authoring.backup import Backup, Restored
    from whet.authoring.commits import Committed
    from whet.authoring.editor import SkillEditor
    from whet.guard.finding import Scan
    from whet.guard.trust import Provenance
    from whet.library.card import Card
    from whet.library.state import TrustedKey
    from whet.library.workspace import Workspace
    from whet.notes import Note, Progress
    from whet.skill.evals_proof import CollectedEvals, OutputResults
    from whet.skill.tree import Tree
    from whet.sources.gallery import GalleryPage, GallerySkill
    from whet.sources.hub_logs import HubLogs
    from whet.sources.install.automatic import AutoUpdate
    from whet.sources.install.installer import Inspection, Installer, Wanted
    from whet.sources.install.plan import Applied, Comparison, Plan
    from whet.sources.install.report import Installation, Origin, Outdated, Verification
    from whet.sources.keys import OwnKey, SignedSkill
    from whet.sources.lock.file import Installed
    from whet.sources.lock.installs import Installs
    from whet.sources.merge import Prefer
    from whet.sources.model import FetchContext, Ref
    from whet.sources.publish.prepare import Prepared, Published
    from whet.sources.publish.snapshots import SnapshotExport
    from whet.sources.recipes import RecipePlan, Rules
    from whet.sources.registries.hub_client import Account, HubClient, LogCheck, LoggedOut
    from whet.sources.search import Finder, SearchResult
    from whet.sources.sync.apply import Synced, SyncReport
    from whet.sources.sync.plan import SyncPlan
    from whet.sources.taps import Tap, Taps
    from whet.sources.web.client import Web
    from whet.store.repair import Repaired
    from whet.values import Json


class TapInfo(NamedTuple):
    """A tap, and the trust of its skills."""

    name: str
    source: str
    default: bool
    """Whether it ships with Whet."""
    added: str
    """When it was added; "" for taps that ship with Whet."""
    shown: str
    """Its source, in readable form."""
    trust: str
    notes: tuple[Note, ...] = ()
    """Other possible meanings of the source text, when the tap was added."""

    def to_json(self) -> Json:
        """Return the tap as JSON."""
        return fields_json(self)


class SkillSources:
    """Installing, updating and the lock; sharing skills with other clients, people and machines."""

    def __init__(
        self,
        workspace: Workspace,
        editor: SkillEditor,
        progress: Callable[[Progress], None],
        check_release: Callable[[Prepared, str, OutputResults | None], tuple[Note, ...]],
    ) -> None:
        self._workspace = workspace
        self._place = workspace.place
        self._editor = editor
        self._progress = progress
        self._check_release = check_release
        self._turn = threading.Lock()
        self._running: list[ref[threading.Event]] = []
        """The events that end running operations. A reference is dead once its operation is over."""

    def close(self) -> None:
        """Close connections."""
        if "web" in self.__dict__:
            self.web.close()
            del self.web

    def cancel(self) -> None:
        """Cancel all fetches from another thread: the calls raise FailedError `cancelled`."""
        with self._turn:
            events = [known() for known in self._running]
        for event in events:
            if event is not None:
                event.set()

    @cached_property
    def installs(self) -> Installs:
        """The record of all installs, which the locks are written from."""
        from whet.sources.lock.installs import Installs

        return Installs(self._editor.journal, self._workspace.clock, self._editor.writer.recover)

    @cached_property
    def web(self) -> Web:
        """Network access, as far as the settings allow it."""
        from whet.sources.web.client import Web

        settings = self._workspace.config().settings
        hosts, timeout = settings.private_hosts, settings.network_timeout
        return Web(env=self._place.env, private_hosts=hosts, timeout=timeout)

    @property
    def reach(self) -> FetchContext:
        """The context for the sources of one operation. Each operation is cancelled separately."""
        from weakref import ref

        from whet.sources.model import FetchContext

        ended = threading.Event()
        with self._turn:
            self._running = [*(known for known in self._running if known() is not None), ref(ended)]
        return FetchContext(self._place, self.web, ended, self._progress)

    def installer(self, *, here: bool = False, min_age: int | None = None) -> Installer:
        """Return the installer for the user's root, or for the project's; `min_age` replaces that setting."""
        return self._installer(self._workspace.new_root(project=here), min_age)

    def _installer(self, root: str, min_age: int | None = None) -> Installer:
        from whet.sources.install.installer import Installer

        repository = self._workspace.config().repository
        shared = repository is not None and os.path.realpath(root) not in self._roots()
        project = repository.root if repository is not None and shared else ""
        return Installer(self._workspace, self._editor, self.installs, self.reach, root, project, min_age=min_age)

    def _roots(self, *, here: bool = False) -> list[str]:
        """Return the directories of the user's skills, or of the project's. New skills go to the first."""
        workspace, scope = self._workspace, "project" if here else "user"
        try:
            known = workspace.config().roots if workspace.explicit is None else ()
        except WhetError:  # the doctor reports it; the first root is known anyway
            known = ()
        others = (
            root.real for root in known if root.scope == scope and root.kind == "skills" and not is_managed(root.path)
        )
        return list(dict.fromkeys((os.path.realpath(workspace.new_root(project=here)), *others)))

    def _holding(
        self, names: Sequence[str] = (), *, here: bool = False, min_age: int | None = None
    ) -> list[tuple[Installer, tuple[str, ...]]]:
        """Return the installers of all roots with a lock, each with the names that its lock has.

        The first installer also gets the names that no lock has.
        """
        roots = self._roots(here=here)
        installers = [self._installer(root, min_age) for root in [*filter(self._has_lock, roots)] or roots[:1]]
        if not names or len(installers) == 1:
            return [(installer, tuple(names)) for installer in installers]
        held = [{name for name in names if one.called(name, one.installed())} for one in installers]
        held[0] |= set(names).difference(*held)
        return [
            (installer, tuple(name for name in names if name in own))
            for installer, own in zip(installers, held, strict=True)
            if own
        ]

    def _has_lock(self, root: str) -> bool:
        """Return whether a root has a lock or had one."""
        from whet.sources.lock.file import lock_file

        file = lock_file(root)
        return os.path.lexists(file) or bool(self.installs.left_by(file))

    # search

    def search(self, query: str, limit: int = 20, *, source: str = "", offline: bool = False) -> SearchResult:
        """Return the skills that fit a query, from all taps, or from one source: a tap's name, or what `install` takes.

        `install` of each of the `skills` is the text to pass to `install`. `notes` name sources that do not answer; if
        none does, it raises FailedError `no-source-answered`. With `offline`, only sources on this disk are searched.
        """
        from whet.sources.search import search

        found = search(self._finder(), self._searched(source), query, limit, offline=offline)
        return found._replace(notes=(*self._reading_notes(source), *found.notes)) if source else found

    def _finder(self) -> Finder:
        from whet.sources.model import open_source
        from whet.sources.search import Finder

        workspace = self._workspace
        return Finder(self.reach, open_source, self.installer().trust, workspace.cache_database, workspace.clock)

    def _searched(self, source: str) -> list[tuple[str, Ref]]:
        """Return name and reference of every source to search. The name is "" for a source that is not a tap."""
        from whet.skill.names import key
        from whet.sources.refs.parse import read_ref
        from whet.sources.taps import expand

        taps = self.taps.all()
        if not source:
            return [(tap.name, ref) for tap in taps if self._allows(ref := read_ref(tap.source, self._place))]
        name = next((tap.name for tap in taps if key(tap.name) == key(source)), "")
        ref, _ = expand(source, taps, self._place) or (read_ref(source, self._place), ())
        self.installer().check_allowed(ref)
        return [(name, ref)]

    def _allows(self, ref: Ref) -> bool:
        """Return whether the policy of this machine allows a source."""
        try:
            self.installer().check_allowed(ref)
        except RefusedError as error:
            if error.code == "source-not-allowed":
                return False
            raise
        return True

    def _wanted(self, sources: Sequence[str], skills: Sequence[str], *, every: bool) -> list[Wanted]:
        """Return the requested skills of each source.

        `tap:skill` names a tap and a skill of it. A bare name is a skill of the source that stands before it; without
        one, of any tap or of the gallery.
        """
        from whet.sources.gallery import EVERYTHING
        from whet.sources.install.installer import Wanted
        from whet.sources.model import Ref
        from whet.sources.refs.parse import path_of, read_ref
        from whet.sources.search import resolve, split_name
        from whet.sources.taps import expand

        if not sources:
            hint = "Name a skill, repository, path or address. `whet install` alone restores what the lock names."
            raise UsageError("usage", "No source was given.", hint=hint)
        taps = self.taps.all()
        wanted: dict[tuple[Ref, bool], Wanted] = {}
        own = {tap.name for tap in taps if not tap.default}
        source: Wanted | None = None
        for text in sources:
            found, bare = expand(text, taps, self._place), split_name(text)
            if not found and bare and (skills or every) and not source and os.path.isdir(path_of(text, self._place)):
                found = Ref("path", path_of(text, self._place)), ()  # a skill has no skills to choose from
            if found or bare is None:
                ref, names = found or (read_ref(text, self._place), ())
                one = Wanted(ref, (*names, *skills), every and not skills, self._reading_notes(text))
                source = None if names else one
            elif source and not bare[1]:
                ref, one = source.ref, source._replace(names=(*source.names, bare[0]))
                wanted.pop((ref, False), None)  # these skills of the source, not its only skill
            else:
                gallery = [("", EVERYTHING)] if self._allows(EVERYTHING) else []
                ref, path, notes = resolve(self._finder(), text, [*gallery, *self._searched("")], own)
                one = Wanted(ref, (*filter(None, [path]), *skills), notes=notes)
            before = wanted.setdefault((ref, bool(one.names)), one)
            if before is not one:  # several skills of one source come together
                names, notes = (*before.names, *one.names), (*before.notes, *one.notes)
                wanted[ref, bool(names)] = one._replace(names=tuple(dict.fromkeys(names)), notes=notes)
        return list(wanted.values())

    @contextmanager
    def _reading(self, given: Sequence[str | os.PathLike[str]]) -> Iterator[list[str]]:
        """Yield the sources as text. If one cannot be fetched, add other meanings of its name to the hint."""
        sources = [os.path.abspath(text) if isinstance(text, os.PathLike) else text for text in given]
        for text in sources:
            if not isinstance(text, str):
                raise expected_text(
                    "bad-source", "A source", text, hint="Pass owner/repo, an https address or ./directory."
                )
        try:
            yield sources
        except WhetError as error:
            notes = [note for text in sources for note in self._reading_notes(text, failed=True)]
            meant = [] if error.hint.startswith("Write ./") else [note.hint for note in notes]
            own = [f"{tap.name}/" for tap in self.taps.all() if not tap.default]
            meant += [f"Write github:{text} for the repository." for text in sources if text.startswith(tuple(own))]
            if error.code == "skill-not-in-source" and sources[1:]:
                meant.append("A name after a source is a skill of it; alone, Whet looks for it in every source.")
            error.hint = " ".join((error.hint, *meant)).strip()
            raise

    def _reading_notes(self, text: str, *, failed: bool = False) -> tuple[Note, ...]:
        """Return notes about other meanings of a source: for an existing path and, if it `failed`, for a bare name."""
        from whet.sources.refs.parse import reading_notes

        if "/" not in text and not failed:
            return ()
        return reading_notes(text, self._place, [tap.name for tap in self.taps.all() if not tap.default])

    def inspect(self, source: str | os.PathLike[str], skills: Sequence[str] = ()) -> Inspection:
        """Return the skills of a source; with `skills`, or if it has only one, also their files and findings.

        Nothing is installed. `skills` are all skills of the source, `inspected` those that were fetched.
        """
        from whet.sources.install.installer import inspect

        with self._reading([source]) as texts:
            (wanted,) = self._wanted(texts, skills, every=False)
            return inspect(self.installer(), wanted)

    # the gallery

    def gallery(self) -> tuple[GallerySkill, ...]:
        """Return the skills that ship with Whet, and which of them are added: `install("gallery:NAME")` adds one."""
        from whet.sources.gallery import list_gallery

        cards = {card.key: card.place for card in self._workspace.snapshot().catalogue.cards}
        return list_gallery(self.reach, self._installers(), cards)

    def show_gallery(self, name: str) -> GalleryPage:
        """Return a skill that ships with Whet, with its files, its findings and its instructions."""
        from whet.sources.gallery import show

        return show(self.installer(), self.gallery(), name)

    # taps

    @property
    def taps(self) -> Taps:
        """The store of named sources, behind `list_taps`, `add_tap` and `remove_tap`."""
        from whet.sources.taps import Taps

        return Taps(self._workspace.state, self._workspace.clock)

    def list_taps(self) -> tuple[TapInfo, ...]:
        """Return the named sources that `search` asks."""
        return tuple(map(self._describe_tap, self.taps.all()))

    def add_tap(self, name: str, source: str) -> TapInfo:
        """Give a source a name, so that `search` asks it and `name:skill` means a skill of it.

        Raises ConflictError if the name is taken.
        """
        from whet.sources.refs.parse import existing, read_ref

        ref = existing(source, self._place) or read_ref(source, self._place)
        self.installer().check_allowed(ref)
        notes = self._reading_notes(source)
        return self._describe_tap(self.taps.add(name, ref))._replace(notes=notes)

    def remove_tap(self, name: str) -> TapInfo:
        """Forget a named source; skills that were installed from it stay. Raises NotFoundError."""
        return self._describe_tap(self.taps.remove(name))

    def _describe_tap(self, tap: Tap) -> TapInfo:
        from whet.sources.refs.parse import read_ref, shown

        ref = read_ref(tap.source, self._place)
        return TapInfo(*tap, shown=shown(ref), trust=self.installer().trust(ref))

    # plans

    def plan_install(
        self,
        *sources: str | os.PathLike[str],
        skills: Sequence[str] = (),
        every: bool = False,
        here: bool = False,
        prefer: Prefer = "",
        min_age: int | None = None,
    ) -> Plan:
        """Plan an install: fetch, check and scan skills and apply the policy; nothing changes until `apply`.

        A source is a repository (`owner/repo`, `owner/repo/path@ref`), a path, an archive, an address, `tap:skill`, or
        the name of a skill, with or without a range of versions (`pdf@^1.2`); Whet asks all taps for it. After another
        source, a name is a skill of that source, as in `skills`, which names the skills to install; `every` installs
        all; a source with one skill needs neither. `prefer` (ours or
        theirs) decides conflicts with edits here. `min_age` replaces the setting: how many days ago something from a
        community source must have been published. A step that cannot be done is in the plan and says why.
        """
        with self._workspace.gate.expecting_scans(), self._reading(sources) as texts:
            from whet.sources.install.apply import plan_install

            installer = self.installer(here=here, min_age=min_age)
            return plan_install(installer, self._wanted(texts, skills, every=every), prefer=prefer)

    def plan_update(self, *names: str, here: bool = False, prefer: Prefer = "", min_age: int | None = None) -> Plan:
        """Plan to update the named skills, or all, to what their sources have now; local edits are merged in.

        A conflict is a step in state `conflict`, unless `prefer` is ours or theirs. Pinned skills, and updates that are
        too young (`min_age`, as for `plan_install`), are `held`.
        """
        from whet.sources.install.apply import plan_update
        from whet.sources.install.plan import join

        holding = self._holding(names, here=here, min_age=min_age)
        return join([plan_update(installer, own, prefer=prefer) for installer, own in holding])

    def has_lock(self, *, here: bool = False) -> bool:
        """Return whether there is a lock for your skills or, with `here`, for the project's."""
        from whet.sources.lock.file import lock_file

        return any(os.path.lexists(lock_file(root)) for root in self._roots(here=here))

    def plan_restore(self, *names: str, here: bool = False, force: bool = False, frozen: bool = False) -> Plan:
        """Plan to restore the skills in the lock exactly as they were installed; with `force`, even edited ones.

        With `frozen`, any other difference from the lock is a conflict, and then nothing is restored. Raises
        NotFoundError `no-lock` if there is no lock.
        """
        from whet.sources.install.apply import hold_frozen, plan_restore
        from whet.sources.install.plan import join

        holding = self._holding(names, here=here)
        plan = join([plan_restore(installer, own, force=force, frozen=frozen) for installer, own in holding])
        return hold_frozen(plan) if frozen else plan

    def plan_uninstall(self, *names: str, here: bool = False, force: bool = False, along: Sequence[str] = ()) -> Plan:
        """Plan to remove installed skills. Without names, the plan is empty.

        A skill that another one needs is a conflict, unless the other one is removed too (`along` names skills that are
        removed by other means), or with `force`.
        """
        from whet.sources.install.apply import plan_uninstall
        from whet.sources.install.plan import join

        left = list(names)
        plans = []
        for installer, own in self._holding(names, here=here):
            plans.append(
                plan_uninstall(installer, [name for name in own if name in left], force=force, along=(*along, *names))
            )
            left = [name for name in left if name not in own]
        return join(plans)

    def plan_adopt(self, *names: str, source: str = "", here: bool = False) -> Plan:
        """Start managing skills that already exist, in every directory of skills, so that a lock next to it names them.

        Without names, it adopts all skills that no lock names yet. With `source`, one skill is recorded as coming from
        there, and gets updates.
        """
        from whet.sources.install.adopt import plan_adopt
        from whet.sources.sync.record import read_record

        wanted = self._wanted([source], (), every=False)[0] if source else None
        made = [one.path for one in read_record(self._workspace.state).made.values()]
        return plan_adopt([*map(self._installer, self._roots(here=here))], names, wanted, made)

    def apply(self, plan: Plan, *, actor: str = "user", reason: str = "", override: str = "", run: str = "") -> Applied:
        """Apply the ready steps of a plan, all or nothing, and record every decision.

        `override` is the reason to apply steps that the policy asks about or blocks. It returns the plan as it was
        applied, and the names of the skills that were `done`. Changes with the same `run` are undone together. Raises
        ConflictError if something has changed since the plan was made.
        """
        from whet.sources.install.apply import accept, apply
        from whet.sources.install.plan import Applied

        parts = plan.by_root()
        if len(parts) > 1:
            run = run or f"r{os.urandom(8).hex()}"
        warnings: list[str] = []
        for number, part in enumerate(parts):
            try:
                installer = self._installer(part.root)
                done = apply(installer, part, actor=actor, reason=reason, override=override, run=run)
            except BaseException:
                with suppress(NotFoundError, UsageError):  # nothing was applied yet
                    if number:
                        self._editor.history.undo(run)
                raise
            warnings.extend(done.warnings)
        return Applied(accept(plan) if override else plan, tuple(warnings))

    def compare(self, plan: Plan) -> tuple[Comparison, ...]:
        """Return a plan's changes to existing skills: the source's, yours and the result, as unified diffs."""
        from whet.sources.install.plan import compare

        journal, found = self._editor.journal, []
        for step in plan.steps:
            if step.state == "nothing" or not step.before:
                continue
            base = None
            with suppress(WhetError):  # the installed content is no longer stored
                base = journal.content(step.previous.digest) if step.previous else None
            found.append(compare(plan, step, base))
        return tuple(found)

    def install(
        self,
        *sources: str | os.PathLike[str],
        skills: Sequence[str] = (),
        every: bool = False,
        here: bool = False,
        prefer: Prefer = "",
        min_age: int | None = None,
        reason: str = "",
        override: str = "",
    ) -> Applied:
        """Plan and apply in one call, with the arguments of `plan_install` and the result of `apply`.

        If one of the requested skills cannot be installed, none is: RefusedError if the policy does not allow it,
        ConflictError if something is in the way, FailedError if the source could not provide it.
        """
        from whet.sources.install.apply import accept, check_complete

        plan = self.plan_install(*sources, skills=skills, every=every, here=here, prefer=prefer, min_age=min_age)
        check_complete(accept(plan) if override else plan)
        return self.apply(plan, reason=reason, override=override)

    def update(
        self,
        *names: str,
        here: bool = False,
        prefer: Prefer = "",
        min_age: int | None = None,
        reason: str = "",
        override: str = "",
    ) -> Applied:
        """Update skills to what their sources have now, as `plan_update` plans it; returns what `apply` returns.

        Conflicts and updates that the policy does not allow are left unchanged and reported.
        """
        plan = self.plan_update(*names, here=here, prefer=prefer, min_age=min_age)
        return self.apply(plan, reason=reason, override=override)

    def auto_update(self) -> AutoUpdate:
        """Update your own skills as the setting `auto_update` says, and keep the news for the next session.

        `safe` makes the updates that need no decision, as one change: `undo` of its `run` reverses them. `notify`
        changes nothing.
        """
        from whet.sources.install.automatic import AutoUpdate, LeftSkill, UpdateMemory, restrict_to_safe, summarize

        mode = self._workspace.config().settings.auto_update
        done = AutoUpdate(mode)
        if mode == "notify":
            newer = (skill for skill in self.outdated().skills if skill.outdated and not skill.pinned)
            done = done._replace(left=tuple(LeftSkill(skill.name, "It is outdated.") for skill in newer))
        elif mode == "safe":
            run = f"u{os.urandom(8).hex()}"
            plan = restrict_to_safe(self.plan_update())
            done = summarize(self.apply(plan, actor="auto-update", reason="Updated automatically.", run=run), run)
        if mode != "off":
            UpdateMemory(self._workspace.state, self._workspace.clock).keep(done.news())
        return done

    def uninstall(self, *names: str, here: bool = False, force: bool = False, reason: str = "") -> Applied:
        """Remove installed skills; returns what `apply` returns. The history keeps them, and `undo` restores them.

        Without `force`, a skill that another one needs raises ConflictError `needed-by`, and nothing is removed.
        """
        from whet.sources.install.apply import check_complete

        plan = self.plan_uninstall(*names, here=here, force=force)
        check_complete(plan)
        return self.apply(plan, reason=reason)

    # reports

    def outdated(self, *names: str, here: bool = False, min_age: int | None = None) -> Outdated:
        """Return which installed skills have a newer version at their sources. Nothing is changed.

        `skills` are all skills that it asked about; `outdated` counts those with a newer version. A version that is too
        young (`min_age`, as for `plan_install`) does not count; `held` of a skill says so.
        """
        from whet.sources.install.report import outdated

        first, *others = (
            outdated(installer, own) for installer, own in self._holding(names, here=here, min_age=min_age)
        )
        return first._replace(skills=(*first.skills, *(skill for other in others for skill in other.skills)))

    def verify(self, *names: str, here: bool = False) -> Verification:
        """Verify file by file that all skills are as they were installed. No source is asked.

        `valid` is the result; `status` and `files` of each of `skills` say what is different. `unmanaged` are skills
        that no lock names.
        """
        from whet.sources.install.report import verify

        first, *others = (verify(installer, own) for installer, own in self._holding(names, here=here))
        return first._replace(
            valid=first.valid and all(other.valid for other in others),
            skills=(*first.skills, *(skill for other in others for skill in other.skills)),
            unmanaged=(*first.unmanaged, *(path for other in others for path in other.unmanaged)),
        )

    def why(self, name: str) -> Origin:
        """Return where a skill comes from, who approved it and why."""
        from whet.sources.install.report import why

        card, _ = self._workspace.find(name)
        return why(self._installer_of(card), card)

    def installation(self, card: Card) -> Installation | None:
        """Return the lock's entry for a skill, and whether the skill has changed since; None if it is in no lock."""
        from whet.sources.install.report import find_installation

        return find_installation(self._installer_of(card), card)

    def _installer_of(self, card: Card) -> Installer:
        here = card.scope == "project"
        root = card.root.real if card.root.real in self._own_roots() else self._workspace.new_root(project=here)
        return self._installer(root)

    def is_locked(self, name: str, *, here: bool = False) -> bool:
        """Return whether the lock names this skill."""
        return any(installer.called(name, installer.installed()) for installer, _ in self._holding(here=here))

    def installed_among(self, cards: Iterable[Card]) -> frozenset[str]:
        """Return the directories of the given skills that are in the lock of their root."""
        cards, found = tuple(cards), set[str]()
        for installer in self._installers():
            own = [card for card in cards if card.root.real == installer.root]
            entries, here = (installer.installed(), installer.present()) if own else ((), {})
            found.update(card.place for card in own if installer.called(card.name, entries, here))
        return frozenset(found)

    def installed_directories(self) -> frozenset[str]:
        """Return the real directories of all installed skills, and of their copies that other clients got."""
        from whet.sources.sync.record import read_record

        installers = self._installers()
        found = {
            os.path.realpath(installer.directory(installed.path))
            for installer in installers
            for installed in self._last_known(installer)
        }
        if not found:
            return frozenset()
        made = read_record(self._workspace.state).made.values()
        copies = (one.path for one in made if os.path.realpath(os.path.join(one.root, one.source)) in found)
        return frozenset(found.union(map(os.path.realpath, copies)))

    # programs that skills need

    def plan_needs(self, cards: Iterable[Card]) -> RecipePlan:
        """Plan to install programs that these skills lack, by the skills' own recipes, as far as the policy allows."""
        from whet.sources.recipes import plan_recipes

        return plan_recipes(cards, self._workspace.config().probe, self._rules(), self._place.home)

    def install_needs(self, plan: RecipePlan) -> RecipePlan:
        """Run the recipes of an approved plan; the states say how each one ended."""
        from whet.sources.recipes import run_recipes

        return run_recipes(plan, self._place.env, self.web, self._rules())

    def _rules(self) -> Rules:
        from whet.guard.policy import NO_MACHINE_POLICY
        from whet.library.trust import decide_skill
        from whet.sources.install.installer import check_source
        from whet.sources.recipes import Rules

        gate, config, origins = self._workspace.gate, self._workspace.config(), self.origins()
        machine = config.machine or NO_MACHINE_POLICY
        machine.check()
        return Rules(
            lambda card: decide_skill(gate, card, config, origins=origins).decision,
            lambda tree, url: gate.decide(gate.scan(tree, url), "community", config.policy).decision,
            lambda url: check_source(machine, url, url),
        )

    # other clients

    def plan_sync(
        self,
        *clients: str,
        how: Literal["link", "copy"] = "link",
        here: bool = False,
        names: Sequence[str] = (),
        force: bool = False,
        only: Sequence[str] = (),
    ) -> SyncPlan:
        """Plan to give these clients, or all installed ones, the skills of the user or of the project.

        A client gets links, or copies, in the directory it reads. Clients that read the root themselves get nothing,
        except with `force`. No client gets a skill that is disabled for it. A skill that is listed as `manual` or has
        `disable-model-invocation` does not go to a client whose model would see it, unless `names` has it. `only`
        limits the plan to the skills at these paths, relative to the root. Nothing is changed yet; `sync` applies the
        plan.
        """
        from whet.sources.sync.plan import known_clients, plan_sync

        self.installer(here=here).machine.check()
        root = self._workspace.new_root(project=here)
        disabled = self._workspace.disabled(everywhere=not here)
        catalogue = self._workspace.snapshot().catalogue
        cards = catalogue.trusted()
        return plan_sync(
            self._place,
            self._workspace.state,
            root,
            clients,
            how=how,
            project=here,
            names=names,
            force=force,
            refused=self._refused(),
            manual=tuple(card.directory for card in cards if disabled.listed(card).mode == "manual"),
            disabled=tuple(
                (card.directory, client)
                for card in cards
                for client in known_clients()
                if disabled.source(card, client) is not None
            ),
            only=only,
        )

    def _refused(self) -> tuple[tuple[str, str], ...]:
        """Return directory and reason of skills that are not loaded: forbidden links, and skills the guard blocks."""
        snapshot = self._workspace.snapshot()
        escaped = [note for note in snapshot.catalogue.places if note.code == "link-escape"]
        found = {os.path.dirname(note.path) if note.path.endswith(".md") else note.path: note for note in escaped}
        kept = {card.directory: snapshot.config.disabled.kept_back(card) for card in snapshot.catalogue.cards}
        return (
            *((path, f"{note.message} {note.hint}") for path, note in found.items()),
            *((path, blocked.reason) for path, blocked in kept.items() if blocked),
        )

    def sync(self, plan: SyncPlan) -> SyncReport:
        """Apply a plan of `plan_sync`, as far as nothing has changed since it was made.

        `steps` have an `outcome` each; one that fails does not stop the others. A client that got all skills gets
        those that come later, too, until `unsync`.
        """
        from whet.sources.sync.apply import apply_sync

        return apply_sync(plan, self._place, self._workspace.state)

    def unsync(self, *clients: str, here: bool = False) -> SyncReport:
        """Remove everything that syncing made, and nothing else."""
        from whet.sources.sync.apply import undo_sync

        return undo_sync(self._place, self._workspace.state, project=here, clients=clients)

    def follow_synced(self, commits: Sequence[Committed]) -> Iterator[str]:
        """Give new skills to the synced clients after a change, and update copies; yield a sentence about each."""
        from whet.sources.sync.apply import describe_steps, place_of
        from whet.sources.sync.plan import base_of
        from whet.sources.sync.record import read_followers

        if not (followers := read_followers(self._workspace.state)):
            return
        # For a restored skill, exactly the links return that were removed with it.
        changed = [(one, one.after) for one in commits if one.after and (one.before or not one.back)]
        places = [place_of(commit.entry.path, skill) for commit, skill in changed]
        for here in (False, True) if self._workspace.explicit is None else (False,):
            root, base = self._workspace.new_root(project=here), base_of(self._place, project=here)
            paths = [path for at, path in places if path and at == os.path.realpath(root)]
            ways: dict[Literal["link", "copy"], list[str]] = {}
            for one in followers:
                if paths and (one.root, one.base) == (root, base):
                    ways.setdefault(one.how, []).append(one.client)
            for how, clients in ways.items():
                yield from describe_steps(self.sync(self.plan_sync(*clients, how=how, here=here, only=paths)).steps)

    def synced(self, *clients: str) -> tuple[Synced, ...]:
        """Return the links and copies that syncing made, with their current state."""
        from whet.sources.sync.apply import synced

        return synced(self._workspace.state, clients)

    # publishing

    def publish(
        self,
        *paths: str | os.PathLike[str],
        git: str = "",
        index: str = "",
        hub: str = "",
        oci: str = "",
        owner: str = "",
        branch: str = "",
        into: str = "skills",
        message: str = "",
        push: bool | None = None,
        prune: bool = False,
        evals: Mapping[str, CollectedEvals] = MappingProxyType({}),
        allow_failing: str | None = None,
    ) -> Published:
        """Publish skills, given by their directories, to a git repository, a web directory, a hub or an OCI registry.

        Exactly one of `git`, `index` (a directory), `hub` and `oci` (`HOST/REPOSITORY`, `:TAG` for several) says where.
        `branch`, `into`, `message` and `push` are for git, `owner` and `evals` for a hub; `evals` is what
        `library.learning.collect_evals` collected, by path. `prune` removes files from a web directory that no index
        names. `releases` say what was added, `prepared` what was checked. Raises InvalidError or RefusedError for a
        skill that cannot be published, UsageError `no-version` for one without a version that a hub or a registry
        needs. A skill with failing tests or evals, or with evals that were not run on it as it is, is refused
        (RefusedError `failing-checks`), unless `allow_failing` gives a reason, which is recorded.
        """
        if sum(map(bool, (git, index, hub, oci))) != 1:
            hint = "Pass exactly one of `--git`, `--index`, `--hub` and `--oci`."
            raise UsageError("usage", "Whet needs to know where to publish.", hint=hint)
        from whet.sources.publish.prepare import prepare

        if allow_failing is not None and not allow_failing.strip():
            raise UsageError("reason-needed", "`--allow-failing` needs a reason.", hint="Say why, in a few words.")
        directories = [path_text(path) for path in paths]
        prepared = tuple(prepare(path, scan=self._scan_for_others) for path in directories)
        outputs = {path: found.results.outputs for path, found in evals.items()}
        failing = [
            problem
            for path, skill in zip(directories, prepared, strict=True)
            for problem in self._check_release(skill, path, outputs.get(path))
        ]
        if failing:
            self._allow_failing(directories, prepared, failing, allow_failing)
        if git:
            from whet.sources.publish.git import publish_git

            published = publish_git(
                prepared,
                git,
                place=self._place,
                branch=branch,
                into=into,
                message=message,
                push=push,
                cancelled=self.reach.cancelled,
            )
        elif index:
            from whet.sources.publish.index import publish_index

            published = publish_index(prepared, index, prune=prune)
        elif oci:
            from datetime import UTC, datetime

            from whet.sources.publish.oci import publish_oci
            from whet.sources.refs.parse import read_ref

            ref = read_ref(oci if oci.startswith("oci:") else f"oci:{oci}", self._place)
            now = datetime.fromtimestamp(self._workspace.clock() // 1_000_000_000, UTC)
            published = publish_oci(prepared, ref, self.reach, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        else:
            from whet.sources.publish.hub import publish_hub
            from whet.sources.refs.parse import read_ref

            ref = read_ref(hub if hub.startswith("hub:") else f"hub:{hub}", self._place)
            tried = zip(directories, prepared, strict=True)
            by_name = {skill.name: evals[path] for path, skill in tried if path in evals}
            published = publish_hub(prepared, ref, owner, self.web, self._place, by_name)
        notes = (*published.notes, *(problem._replace(severity="warning") for problem in failing))
        return published._replace(prepared=prepared, notes=notes)

    def _allow_failing(
        self, paths: Sequence[str], prepared: Sequence[Prepared], failing: Sequence[Note], reason: str | None
    ) -> None:
        """Record why skills with these problems are published anyway. Raises RefusedError without a reason."""
        if reason is None:
            others = len(failing) - 1
            more = f", and {others} more problem{'s' if others > 1 else ''}" if others else ""
            message = f"{failing[0].skill} is not published: {failing[0].message.rstrip('.')}{more}."
            hint = f"{failing[0].hint} `--allow-failing REASON` publishes it anyway and records the reason."
            listed = [problem.to_json() for problem in failing]
            raise RefusedError("failing-checks", message, hint=hint, path=failing[0].path, problems=listed)
        from whet.guard.audit import AuditEntry

        self._workspace.gate.audit.add(
            AuditEntry(
                *("user", "publish", skill.name, path, skill.digest, "", skill.verdict, "allow"),
                f"{reason.strip()} ({', '.join(problem.code for problem in failing if problem.path == path)})",
            )
            for path, skill in zip(paths, prepared, strict=True)
            if any(problem.path == path for problem in failing)
        )

    def hub(self, address: str = "", *, token: str | None = None) -> HubClient:
        """Return a client for a hub: account, yank, status, reports, log. The default is the hub you are logged in to.

        `token` replaces the one from the environment or your login.
        """
        from whet.sources.registries.hub_client import HubClient

        return HubClient(self.hub_ref(address).location, self.reach, token)

    def hub_ref(self, text: str) -> Ref:
        """Parse a reference to a hub: `hub:ADDRESS/OWNER/NAME@VERSION`, or OWNER/NAME@VERSION on your own hub."""
        from whet.sources.registries.hub_client import read_hub_ref

        return read_hub_ref(text, self._place)

    def create_key(self, name: str = "default") -> OwnKey:
        """Create a key that signs your skills. Raises ConflictError `key-exists`."""
        from whet.sources.keys import create_key

        return create_key(name, self._place)

    def keys(self) -> tuple[tuple[OwnKey, ...], tuple[TrustedKey, ...]]:
        """Return your own keys, and the keys of others that you trust."""
        from whet.sources.keys import list_keys

        return list_keys(self._place), self._workspace.decisions.trusted_keys()

    def trust_key(self, key: str, name: str) -> bool:
        """Trust the signatures of a key or of an identity; returns False if they were already trusted."""
        from whet.skill.signature import parse_signer

        return self._workspace.decisions.trust_key(parse_signer(key), name)

    def untrust_key(self, key: str) -> bool:
        """Stop trusting the signatures of a key or of a key's name; returns False if they were not trusted."""
        return self._workspace.decisions.untrust_key(key)

    def sign(self, path: str | os.PathLike[str], key: str = "default") -> SignedSkill:
        """Sign the skill in a directory: write `skill.oms.sig` into it, which covers all its other files."""
        from whet.sources.keys import sign_directory

        return sign_directory(path_text(path), key, self._place)

    def login(self, address: str, token: str) -> Account:
        """Keep a token for a hub, if the hub accepts it."""
        from whet.sources.credentials import Login, check_token, keep_login

        account = self.hub(address, token=check_token(token)).account()
        keep_login(Login(account.hub, account.account, token), self._place)
        return account

    def login_with_browser(self, address: str, show: Callable[[str], None]) -> Account:
        """Log in at a hub's identity provider, and keep the token; `show` gets the address for the browser."""
        from whet.sources.registries.login import log_in_with_browser

        location = self.hub_ref(address).location
        return self.login(location, log_in_with_browser(location, _machine(), self.web, show).token)

    def accept_invitation(self, link: str, account: str) -> Account:
        """Create an account on a hub with an invitation, which works once, and keep its token."""
        from whet.sources.registries.login import accept_invitation

        location, made = accept_invitation(link, account, _machine(), self.web)
        return self.login(location, made.token)

    def logout(self, address: str = "") -> LoggedOut:
        """Forget the token for a hub and revoke it there."""
        from whet.sources.credentials import forget_login
        from whet.sources.registries.hub_client import LoggedOut

        location = self.hub_ref(address).location
        hub = self.hub(location)
        if not forget_login(location, self._place):
            return LoggedOut(location, logged_out=False)
        try:
            hub.revoke_token()
        except WhetError as error:
            return LoggedOut(location, logged_out=True, problem=error.message)
        return LoggedOut(location, logged_out=True)

    def pin_hub(self, address: str, key: str) -> None:
        """Trust this key for a hub's log from now on, in place of any earlier key."""
        from whet.sources.transparency import LogKey

        logs = self._hub_logs
        logs.choose(self.hub_ref(address).location, LogKey.parse(key))
        logs.keep()

    def check_hub(self, address: str = "") -> LogCheck:
        """Check that the log of a hub continues the log that was seen before. Raises InvalidError `log-diverged`."""
        return self.hub(address).check_log(self._hub_logs)

    @property
    def _hub_logs(self) -> HubLogs:
        from whet.sources.hub_logs import HubLogs, StateMemory

        entries = (entry for installer in self._installers() for entry in self._last_known(installer))
        return HubLogs(StateMemory(self._workspace.state), entries)

    def _scan_for_others(self, tree: Tree) -> Scan:
        """Return the scan of a package. Raises RefusedError if the policy of this machine forbids it."""
        gate = self._workspace.gate
        scan, decision = gate.decide(gate.scan(tree), "local")
        if decision.final and decision.action == "block":
            hint = "`whet guard policy explain` shows the policy of this machine."
            raise RefusedError("machine-policy", decision.reason, hint=hint)
        return scan

    # snapshots

    def export_snapshot(
        self, path: str | os.PathLike[str], *, here: bool = False, overwrite: bool = False
    ) -> SnapshotExport:
        """Write the user's skills, with `here` also the project's, and the taps into one file.

        `left_out` lists what was left out, with reasons. Raises ConflictError if the file already exists, unless
        `overwrite` is set.
        """
        from whet.sources.install.snapshot import exported
        from whet.sources.publish.snapshots import export_snapshot

        skills, problems = exported(self.installer(), "user")
        if here:
            more, unread = exported(self.installer(here=True), "project")
            skills, problems = [*skills, *more], [*problems, *unread]
        taps = [tap for tap in self.taps.all() if not tap.default]
        made = export_snapshot(skills, taps, path_text(path), overwrite=overwrite, clock=self._workspace.clock)
        return made._replace(left_out=(*problems, *made.left_out))

    def plan_import(self, path: str | os.PathLike[str], *, here: bool = False) -> Plan:
        """Plan to install the skills of a snapshot: those of the user or, with `here`, those of the project.

        They are judged like any others; nothing is changed until `apply`. Raises NotFoundError or InvalidError for a
        file that is not a snapshot.
        """
        from whet.library.files import read_file
        from whet.sources.install.snapshot import plan_import
        from whet.sources.model import Ref
        from whet.sources.publish.snapshots import LIMITS, read_snapshot
        from whet.store.failures import os_failures

        full = os.path.expanduser(path_text(path))
        if not os.path.isfile(full):
            raise NotFoundError("path-not-found", f"There is no file {full}.", hint="Check the path.", path=full)
        with os_failures(full, doing="read", other="read-failed"):
            snapshot = read_snapshot(read_file(full, LIMITS.total_bytes + 1))
        installer = self.installer(here=here)
        installer.check_allowed(Ref("archive", os.path.abspath(full)))
        return plan_import(installer, snapshot, "project" if here else "user")

    # contents of the lock

    def pins(self) -> dict[str, str]:
        """Return the pins in the locks, by the real directories of the skills."""
        return {
            os.path.realpath(installer.directory(entry.path)): entry.pinned
            for installer in reversed(self._installers())
            for entry in installer.installed()
            if entry.pinned
        }

    def set_pin(self, directory: str, name: str, pinned: str) -> bool:
        """Write a pin into every lock that names the skill; returns whether that changed anything."""
        changed = False
        for installer in self._installers():
            known = installer.relative(os.path.realpath(directory)) if directory else name
            changed = installer.set_pin(known, pinned) or changed
        return changed

    def _installers(self) -> list[Installer]:
        """Return the installers of all roots that have a lock, or had one: the user's, and the project's."""
        return [self._installer(root) for root in self._own_roots() if self._has_lock(root)]

    def _last_known(self, installer: Installer) -> Sequence[Installed]:
        """Return what is installed. If the lock cannot be read, which the doctor reports, use the recorded state."""
        from whet.sources.lock.file import lock_file

        try:
            return installer.installed()
        except WhetError:
            return tuple(self.installs.known(lock_file(installer.root)).values())

    def _own_roots(self) -> list[str]:
        """Return the roots that can have a lock: the user's, and the project's."""
        project = self._roots(here=True) if self._workspace.explicit is None else ()
        return list(dict.fromkeys((*self._roots(), *project)))

    def backup(self, path: str | os.PathLike[str]) -> Backup:
        """Write Whet's state and the user's skills into one file, even while other processes write.

        The file is read back before it gets its name. Raises ConflictError `file-exists`, and FailedError if the state
        is damaged.
        """
        from whet.authoring.backup import write_backup

        workspace = self._workspace
        skills = {
            card.full_name: card.directory
            for card in workspace.snapshot().catalogue.cards
            if card.kind == "skill" and (card.root.scope == "user" or workspace.explicit is not None)
        }
        files = self.lock_files()
        return write_backup(workspace.state, skills, files, workspace.place.home, path_text(path), workspace.clock)

    def restore_backup(self, path: str | os.PathLike[str]) -> Restored:
        """Restore a backup. The current state directory is moved aside. No skill is overwritten.

        Everything is first compared with the list in the backup. Skills are written only into your own roots; `notes`
        name skills that belong elsewhere. Raises InvalidError `backup-damaged`.
        """
        from whet.authoring.backup import restore_backup
        from whet.library.roots import explicit_roots, own_roots
        from whet.sources.install.installer import check_source

        file, workspace, place = path_text(path), self._workspace, self._workspace.place
        if machine := workspace.configuration.read_machine():  # from the settings alone: the state may be damaged
            check_source(machine, os.path.realpath(os.path.expanduser(file)), file)
        explicit = workspace.explicit
        roots = own_roots(place) if explicit is None else [root.path for root in explicit_roots(explicit, place)]
        files = self.lock_files()
        workspace.close()
        return restore_backup(workspace.state, roots, files, file, place.home)

    def lock_files(self) -> list[str]:
        """Return the locks of the roots that skills can be installed in, whether they exist or not."""
        from whet.sources.lock.file import lock_file

        return [*map(lock_file, self._own_roots())]

    def _lock_files(self) -> list[str]:
        return [self._workspace.state.path, *self.lock_files()]

    def follow(self, commits: Sequence[Committed], planned: Any) -> None:
        """Update the record of installs after a change, in its transaction; an install passes `planned`."""
        if planned is not None:
            self.installs.enter([commit.entry for commit in commits], planned)
        else:
            self.installs.follow(commits, self._own_roots())

    def render_locks(self, commits: Sequence[Committed]) -> Iterable[str]:
        """Write the changes into the locks of their skills; return a sentence for each lock that was not changed."""
        told: list[str] = []
        for file in self.installs.locks_of(commits, self._own_roots()):
            try:
                self.installs.settle_lock(file)
            except WhetError as error:
                told.append(f"The lock was not changed: {error.message}")
        return told

    def origins(self) -> dict[str, Provenance]:
        """Return provenance and trust of the skills that the user did not write, by their directories.

        These are skills that an agent created, and installed skills, which have the trust of their source, wherever
        they are.
        """
        from whet.authoring.history import find_makers
        from whet.guard.trust import Provenance
        from whet.sources.install.installer import place_of_source

        makers = find_makers(self._editor.journal.entries())
        origins = {
            path: Provenance("agent-created") for path, actor in makers.items() if actor not in ("user", "unknown")
        }
        for installer in self._installers():
            for installed in self._last_known(installer):
                if installed.trust not in ("", "local"):
                    origin = Provenance(installed.trust, place_of_source(installed.source))
                    origins[os.path.realpath(installer.directory(installed.path))] = origin
        return origins

    # repair

    def examine(self) -> tuple[Note, ...]:
        """Return problems of the locks, of the record of installs and of synced links, for `doctor`."""
        from whet.notes import Note
        from whet.sources.lock.rebuild import examine
        from whet.sources.sync.record import read_record

        entries: tuple[Note, ...] = ()
        if any(map(os.path.lexists, self._lock_files())):
            entries = tuple(entry for root in self._own_roots() for entry in examine(self.installs, root))
        try:
            read_record(self._workspace.state)
        except WhetError as error:
            path = str(error.details.get("path", ""))
            return (*entries, Note.from_error(error, "error", path=path))
        return entries

    def repair(self) -> Repaired:
        """Finish interrupted work on the locks and the sync record, and rebuild them if they are damaged or missing."""
        from whet.store.repair import Repaired

        parts: list[Repaired] = []
        if any(map(os.path.lexists, self._lock_files())):
            from whet.sources.lock.rebuild import repair

            parts = [repair(self.installs, root) for root in self._own_roots()]
        if any(entry.code == "sync-damaged" for entry in self.examine()):
            from whet.sources.sync.apply import repair_sync

            repository = self._workspace.config().repository
            projects = (repository.root,) if repository else ()
            repaired = repair_sync(self._place, self._workspace.state, self._own_roots(), projects=projects)
            links = len(repaired.links)
            done = f"Moved the damaged sync record to {repaired.kept} and recovered {links} links."
            parts.append(Repaired((done,)))
        return Repaired(
            tuple(item for part in parts for item in part.done), tuple(item for part in parts for item in part.lost)
        )


def _machine() -> str:
    """Return the name of this machine, which the hub shows for a token made here."""
    import platform

    return platform.node()[:60] or "whet"

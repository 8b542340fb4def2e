"""The plan of an installation: a value that is shown, printed as JSON and applied unchanged.

A plan holds every decision and every content that will be written, so that applying it needs no network and no second
look at a source that may have changed meanwhile. Changes on disk since it was made are noticed when it is applied.

Three contents decide about a skill, compared by their digests: the base (as installed), the current one on disk, and
the one of the source. If only the source changed, the skill follows it; if only the skill was edited, the edits stay;
if both changed, they are merged file by file, and a merge that fails is a conflict for the user to decide. No edit is
replaced without a record: the history has everything that an update replaces.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from whet.authoring.main_file import main_of, version_of
from whet.authoring.trees import digest
from whet.errors import InvalidError, UsageError, WhetError
from whet.guard.finding import SEVERITIES
from whet.guard.ruleset import ruleset
from whet.notes import Note, Progress
from whet.records import NamedTuple
from whet.skill.names import key, slug
from whet.skill.paths import check, collides
from whet.skill.tree import entries
from whet.sources.age import is_local
from whet.sources.hub_logs import read_publication
from whet.sources.install.installer import name_offer
from whet.sources.lock.file import Installed, lock_file, stored_source
from whet.sources.lock.installs import directory_of
from whet.sources.merge import merge
from whet.sources.model import Ref
from whet.sources.refs.parse import ref_text
from whet.store.clock import iso
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from whet.guard.finding import Finding
    from whet.guard.gate import Judgement
    from whet.skill.tree import Tree
    from whet.sources.hub_logs import Publication
    from whet.sources.install.installer import Installer
    from whet.sources.merge import Clash, Prefer
    from whet.sources.model import Fetched

Action = Literal["install", "update", "merge", "adopt", "restore", "uninstall", "keep"]
State = Literal["ready", "nothing", "held", "ask", "blocked", "conflict", "failed"]
"""Only `ready` steps are carried out when the plan is applied.

`nothing`: no change needed. `held`: pinned. `ask` and `blocked`: the policy needs approval, or forbids the step.
`conflict`: an existing file or skill must not be overwritten. `failed`: the source could not be read.
"""
DECIDED: tuple[State, ...] = ("ask", "blocked")
TOO_YOUNG = "too-young"
MACHINE = "machine-policy"
MACHINE_HINT = "`whet guard policy explain` shows the policy of this machine, which no override changes."
_OPEN = ("policy-asks", "policy-blocks", "signature-needed", "signer-changed")
"""Codes of obstacles that the user may override with a reason."""


class FileChange(NamedTuple):
    """A difference between two contents of a skill in one file."""

    path: str
    change: Literal["added", "changed", "removed"]


class Step(NamedTuple):
    """The change to one skill."""

    action: Action
    state: State
    name: str
    path: str
    """Its directory, relative to the directory of the lock, with forward slashes."""
    reason: str = ""
    """One sentence that explains the state."""
    code: str = ""
    """Code of the obstacle."""
    before: str = ""
    """Digest of the current content; "" if there is none."""
    after: str = ""
    """Digest of the new content; "" if there is none."""
    entry: Installed | None = None
    """New entry of the lock; None if the skill leaves the lock."""
    previous: Installed | None = None
    """Current entry of the lock."""
    judgement: Judgement | None = None
    files: tuple[FileChange, ...] = ()
    """Changes of the content."""
    powers: tuple[str, ...] = ()
    """Abilities of the new content that the current one lacks."""
    clashes: tuple[Clash, ...] = ()
    notes: tuple[Note, ...] = ()
    hint: str = ""
    """What to do about a failure."""
    exit_code: int = 1
    """Exit code of a command for a failure."""
    needed_by: tuple[str, ...] = ()
    """Skills of the plan that need this one."""
    root: str = ""
    """Root of the skill; "" for the root of the plan."""

    @property
    def overridable(self) -> bool:
        """Whether the user may override the obstacle with a reason."""
        return self.state in DECIDED and self.code in _OPEN

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings that the user must review."""
        return self.judgement.scan.grave if self.judgement else ()

    def to_json(self) -> Json:
        """Return the step as JSON."""
        entry = self.entry or self.previous
        answer: Json = {
            "action": self.action,
            "state": self.state,
            "name": self.name,
            "path": self.path,
            "reason": self.reason,
            "code": self.code,
            "hint": self.hint,
            "before": self.before,
            "after": self.after,
            "source": entry.source if entry else "",
            "revision": entry.revision if entry else "",
            "version": entry.version if entry else "",
            "from": {"revision": self.previous.revision, "version": self.previous.version} if self.previous else None,
            "files": as_json(self.files),
            "powers": as_json(self.powers),
            "clashes": as_json(self.clashes),
            "notes": as_json(self.notes),
        }
        if self.judgement:
            decision = self.judgement.decision
            told = {key: value for key, value in decision.to_json().items() if key in ("trust", "verdict", "decision")}
            answer |= {**told, "why": decision.reason, "findings": as_json(self.findings)}
        if published := self.published:
            answer["published"] = published.to_json()
        return {**answer, "needed_by": list(self.needed_by)} if self.needed_by else answer

    @property
    def published(self) -> Publication | None:
        """What the log of a hub says about the new content."""
        return read_publication(self.entry) if self.entry and self.after else None

    def refusal(self) -> dict[str, str]:
        """Return why the policy does not allow the step."""
        decision = "ask" if self.state == "ask" else "block"
        return {"name": self.name, "decision": decision, "reason": self.reason}


class Plan(NamedTuple):
    """All changes to the skills of a root, and of other roots that steps name."""

    root: str
    steps: tuple[Step, ...]
    trees: Mapping[str, Tree]
    """Contents by digest: those that will be written, and those that later merges need."""
    notes: tuple[Note, ...] = ()
    taps: tuple[tuple[str, str], ...] = ()
    """Names and sources of taps that will be added."""

    @property
    def ready(self) -> tuple[Step, ...]:
        """Steps that are carried out when the plan is applied."""
        return tuple(step for step in self.steps if step.state == "ready")

    def directory(self, step: Step) -> str:
        """Return the directory of the skill."""
        return directory_of(lock_file(step.root or self.root), step.path)

    def by_root(self) -> tuple[Plan, ...]:
        """Return one plan per root, that of this plan's root first."""
        roots = dict.fromkeys((self.root, *(step.root or self.root for step in self.steps)))
        return tuple(
            self._replace(
                root=root,
                steps=tuple(step for step in self.steps if (step.root or self.root) == root),
                taps=self.taps if root == self.root else (),
            )
            for root in roots
        )

    def to_json(self) -> Json:
        """Return the plan as JSON; contents are named by their digests."""
        counts: dict[str, int] = {}
        for step in self.steps:
            counts[step.state] = counts.get(step.state, 0) + 1
        answer = {
            "root": self.root,
            "plan": [{**step.to_json(), "directory": self.directory(step)} for step in self.steps],
            "counts": counts,
            "refused": [step.refusal() for step in self.steps if step.state in DECIDED],
            "notes": as_json(self.notes),
        }
        taps = [{"name": name, "source": source} for name, source in self.taps]
        return {**answer, "taps": taps} if taps else answer


class Comparison(NamedTuple):
    """The changes of an update to one skill, as unified diffs."""

    name: str
    directory: str
    source: str
    """Changes of the source since the installation."""
    yours: str
    """Local changes since the installation."""
    result: str
    """Changes that the update makes here; "" if it is not carried out."""

    def to_json(self) -> Json:
        """Return the comparison as JSON."""
        return self._asdict()


def compare(plan: Plan, step: Step, base: Tree | None) -> Comparison:
    """Compare the contents of a step; `base` is the installed content."""
    from whet.authoring.history import difference
    from whet.library.package import read_tree

    directory = plan.directory(step)
    here, names = read_tree(directory), (f"{step.name} before", f"{step.name} after")
    theirs = plan.trees.get(step.entry.digest) if step.entry else None
    source, yours = (
        difference(base, new, names) if base is not None and new is not None else "" for new in (theirs, here)
    )
    changes = bool(step.after) and step.after != step.before
    result = difference(here, plan.trees.get(step.after), names) if changes else ""
    return Comparison(step.name, directory, source, yours, result)


def join(plans: Sequence[Plan]) -> Plan:
    """Join plans for several roots into one."""
    first, *others = plans
    steps = (step._replace(root=plan.root) for plan in others for step in plan.steps)
    trees = {name: tree for plan in plans for name, tree in plan.trees.items()}
    notes = dict.fromkeys(note for plan in plans for note in plan.notes)
    return first._replace(steps=(*first.steps, *steps), trees=trees, notes=tuple(notes))


class Applied(NamedTuple):
    """A plan that was applied."""

    plan: Plan
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> tuple[str, ...]:
        """Names of the skills that changed."""
        return tuple(step.name for step in self.plan.ready)

    @property
    def installed(self) -> tuple[str, ...]:
        """Names of the skills that were installed."""
        return tuple(step.name for step in self.plan.ready if step.entry)

    def to_json(self) -> Json:
        """Return the plan and its results as JSON."""
        answer = {"success": True, **self.plan.to_json(), "done": list(self.done), "installed": list(self.installed)}
        return answer | ({"warnings": list(self.warnings)} if self.warnings else {})


def file_changes(before: Mapping[str, object] | None, after: Mapping[str, object] | None) -> tuple[FileChange, ...]:
    """List the differences between the files of two contents."""
    old, new = before or {}, after or {}
    changed = sorted(path for path in {**old, **new} if old.get(path) != new.get(path))
    return tuple(
        FileChange(path, "removed" if path not in new else "changed" if path in old else "added") for path in changed
    )


_MERGED: dict[Prefer, str] = {
    "": "Your edits are kept.",
    "ours": "Your edits are kept, even where the source changed the same lines.",
    "theirs": "Your edits are kept, except where the source changed the same lines.",
}


class _Place(NamedTuple):
    """Where a package goes, and what is there."""

    path: str
    entry: Installed | None = None
    """The skill of the lock that came from the same source."""
    local: Tree | None = None
    """The content that is there."""
    obstacle: str = ""
    """Why it cannot be there."""
    error: WhetError | None = None
    """Why what is there cannot be read."""


class Planner:
    """Collects the steps of one plan."""

    def __init__(self, installer: Installer, prefer: Prefer = "") -> None:
        self.installer = installer
        self.prefer = prefer
        self.steps: list[Step] = []
        self.trees: dict[str, Tree] = {}
        self.notes: list[Note] = []
        self.locked = {entry.path: entry for entry in installer.installed()}
        self.chosen: frozenset[str] = frozenset()
        """Keys of the names that the user asked for."""
        self.needed: Mapping[str, str] = {}
        """Key of the name of a dependency -> the skill that it was fetched for."""

    def plan(self) -> Plan:
        """Return the steps collected so far as a plan."""
        return Plan(self.installer.root, tuple(self.steps), self.trees, tuple(self.notes))

    def keep(self, entry: Installed, reason: str, state: State = "nothing", code: str = "", hint: str = "") -> None:
        """Add a step that leaves a skill unchanged."""
        now = digest(self.installer.content(entry.path))
        self.steps.append(Step("keep", state, entry.name, entry.path, reason, code, now, now, entry, entry, hint=hint))

    def fail(self, entry: Installed, error: WhetError) -> None:
        """Add a step that leaves a skill unchanged because its source or the disk failed."""
        known = self.locked.get(entry.path)
        step = Step("keep", "failed", entry.name, entry.path, error.message, error.code, entry=known, previous=known)
        self.steps.append(step._replace(hint=error.hint, exit_code=error.exit_code))

    @contextmanager
    def alone(self, entry: Installed) -> Iterator[None]:
        """Turn an error about one skill into a failed step, so that it stops no other skill."""
        try:
            yield
        except WhetError as error:
            self.fail(entry, error)

    def add(self, step: Step, old: Tree | None, new: Tree, judgement: Judgement) -> None:
        """Add a step that replaces `old` with `new`, unless there is an obstacle or the policy does not allow it."""
        step = step._replace(files=file_changes(old, new), judgement=judgement)
        if target := self.installer.linked(step.path):
            reason = f"{step.path} is a link to {target}; change the skill there."
            self.steps.append(step._replace(state="conflict", reason=reason, code="fixed-directory"))
            return
        if old is not None:
            step = step._replace(powers=self._powers(old, new, judgement))
        if (action := judgement.decision.action) != "allow":
            state: State = "ask" if action == "ask" else "blocked"
            code = "policy-asks" if action == "ask" else "policy-blocks"
            step = step._replace(state=state, reason=judgement.decision.reason, code=code)
            if judgement.decision.final:
                step = step._replace(state="blocked", code=MACHINE, hint=MACHINE_HINT)
        elif step.entry:
            step = self._check_signer(step, step.entry.signer, judgement.decision.trust)
        self.trees[digest(new)] = new
        self.steps.append(step)

    def _check_signer(self, step: Step, signer: str, trust: str) -> Step:
        before = step.previous.signer if step.previous else ""
        reason, code = self.installer.check_signer(signer, before, trust)
        if not code:
            return step
        if self.installer.machine.trusted_keys is not None:
            return step._replace(state="blocked", reason=reason, code=MACHINE, hint=MACHINE_HINT)
        hint = "Ask its author for the key. `whet keys trust KEY NAME` trusts it from then on."
        return step._replace(state="ask", reason=reason, code=code, hint=hint)

    # install

    def install(self, packages: Iterable[Fetched]) -> None:
        """Plan the installation of packages; a package that is already installed is updated."""
        packages = list(packages)
        self.installer.scan_ahead(packages)
        going = [step.path for step in self.steps]
        places = []
        for package in packages:  # while others scan them
            places.append(self._place(package, going))
            going.append(places[-1].path)
        for number, (package, place) in enumerate(zip(packages, places, strict=True), 1):
            self.installer.reach.progress(Progress("Scan", number, len(packages), "skills"))
            path = place.path
            twice = [step for step in self.steps if step.path == path]
            if not twice:
                self._install(package, place)
            elif not any(step.entry and step.entry.digest == digest(package.tree) for step in twice):
                reason = f"Another skill in this plan already goes to {path}."
                step = Step("install", "conflict", package.offer.name, path, reason, "same-name")
                self.steps.append(step._replace(after=digest(package.tree)))

    def path_of(self, name: str) -> str:
        """Return the lock path of the skill in a directory of the root."""
        return self.installer.relative(os.path.join(self.installer.root, *name.split("/")))

    @cached_property
    def _sources(self) -> dict[Ref, Installed]:
        """Installed skills by their source, without revision."""
        found: dict[Ref, Installed] = {}
        for entry in self.locked.values():
            if entry.source:
                with suppress(WhetError):  # written by a later version of Whet
                    found[self._identity(self.installer.ref_of(entry))] = entry
        return found

    def _identity(self, ref: Ref) -> Ref:
        """Return a source without spelling and revision; links in a local path are resolved."""
        local = is_local(ref) and ref.kind != "gallery"
        return Ref(ref.kind, self.installer.address(ref)) if local else ref._replace(ref="")

    @cached_property
    def _present(self) -> dict[str, str]:
        return self.installer.present()

    @cached_property
    def _taken(self) -> frozenset[str]:
        """Every path in the root or in the lock; directories that may contain skills end with a slash."""
        root = self.installer.root
        names = os.listdir(root) if os.path.isdir(root) else []
        marks = ("/" if os.path.isdir(os.path.join(root, name)) else "" for name in names)
        listed = (self.path_of(name) + mark for name, mark in zip(names, marks, strict=True))
        return frozenset((*self.locked, *self._present, *listed))

    def _source(self, ref: Ref, old: Installed | None) -> str:
        """Return the source for the lock; a different spelling of the same address keeps the recorded one."""
        with suppress(WhetError):
            known = self.installer.ref_of(old) if old and old.source else ref
            if old and known.ref == ref.ref and known != ref and self._identity(known) == self._identity(ref):
                return old.source
        return stored_source(ref_text(ref), self.installer.base)

    def _place(self, package: Fetched, going: Sequence[str]) -> _Place:
        """Return where a package goes and what is there; `going` are the paths of other skills of the plan."""
        self.installer.trust_in(package)  # it is remembered
        entry = self._sources.get(self._identity(package.offer.ref))
        path = entry.path if entry else self.path_of(slug(package.offer.name))
        try:
            check(path)
            local = self.installer.content(path)
        except WhetError as error:
            return _Place(path, entry, error=error)
        if path in going or (entry and local is not None):
            return _Place(path, entry, local)
        return _Place(path, entry, local, self.in_the_way(path, package.offer.name, local, package.tree, going))

    def _install(self, package: Fetched, place: _Place) -> None:
        path, entry, local = place.path, place.entry, place.local
        judgement = self.installer.judged_package(package)
        new = self.entry(package, path, judgement)
        previous, after = self.locked.get(path), digest(package.tree)
        step = Step("install", "ready", new.name, path, after=after, entry=new, previous=previous, notes=package.notes)
        if place.error:
            self.steps.append(step._replace(state="conflict", reason=place.error.message, code=place.error.code))
            return
        step = step._replace(before=digest(local))
        if entry and entry.pinned and entry.digest != after:
            self.keep(entry, held(entry), "held", "pinned")
        elif entry and local is not None:
            self.update(package, entry)
        elif previous and previous.source and not entry:
            first = f"To replace it, run `whet remove {previous.name}` first."
            directory, source = self.installer.directory(path), self.installer.show_source(previous)
            reason = f"{directory} is installed from {source}. {first}"
            self.steps.append(step._replace(state="conflict", reason=reason, code="other-source"))
        elif place.obstacle:
            self.steps.append(step._replace(state="conflict", reason=place.obstacle, code="skill-exists"))
        elif reason := self._too_young(package):
            hint = "`--min-age 0` installs it now. An exact version or commit is installed at any age."
            hint = MACHINE_HINT if self.installer.machine.min_age else hint
            self.refuse(step, judgement, reason, TOO_YOUNG, hint)
        else:
            action: Action = "install" if local is None else "adopt"
            self.add(step._replace(action=action, reason=self._instead(package)), local, package.tree, judgement)

    def refuse(self, step: Step, judgement: Judgement, reason: str, code: str, hint: str) -> None:
        """Add a step that no override can allow."""
        decision = judgement.decision._replace(action="block", reason=reason)
        step = step._replace(state="blocked", reason=reason, code=code, hint=hint)
        self.steps.append(step._replace(judgement=judgement._replace(decision=decision)))

    def _too_young(self, package: Fetched) -> str:
        """Return why a package must wait, or ""."""
        chosen = key(package.offer.name) not in self.needed
        return self.installer.too_young(package.offer, self.installer.trust_in(package), chosen=chosen)

    def _instead(self, package: Fetched) -> str:
        """Describe the version installed instead of one that is too young, or why a young one is installed."""
        offer = package.offer
        if held := self.installer.held_back(offer):
            return f"Held back: {held}; {name_offer(offer)} is installed instead."
        if offer.security and self.installer.too_young(offer, self.installer.trust_in(package), fixes=False):
            return f"The hub marks it as a security fix, so it does not have to wait: {offer.security}"
        return ""

    def in_the_way(self, path: str, name: str, local: Tree | None, new: Tree, going: Sequence[str]) -> str:
        """Return why a content cannot be at a path: another content is there, or the name is taken; else ""."""
        place = self.installer.directory
        if local is not None and digest(local) != digest(new):
            known, mine = self.locked.get(path), self._present.get(path, "")
            if not mine:
                return f"{place(path)} already exists with different content. Rename or delete it."
            whose = "already installed" if known and known.source else "a skill of your own"
            return f"{place(path)} is {whose}, with different content. {_make_room(mine)}"
        others = self._taken.union(going) - {path, f"{path}/"}
        for pair in collides([*sorted(others), path]):
            if path in pair:
                other = (pair[0] if pair[1] == path else pair[1]).rstrip("/")
                return (
                    f"{place(other)} already exists, and some systems cannot tell it apart from {path}. "
                    "Rename or delete it."
                )
        same = [other for other, called in self._present.items() if key(called) == key(name) and other != path]
        return f"{place(same[0])} is already named {name}. {_make_room(self._present[same[0]])}" if same else ""

    # update

    def update(self, package: Fetched, entry: Installed) -> None:
        """Plan the update of an installed skill to the content of its source."""
        local, remote = self.installer.content(entry.path), digest(package.tree)
        now, judgement = digest(local), self.installer.judged_package(package)
        new = self.entry(package, entry.path, judgement)
        step = Step("update", "ready", entry.name, entry.path, before=now, after=now, entry=new, previous=entry)
        step = step._replace(notes=(*package.notes, *self._moved(package, entry)))
        if local is None:
            self.steps.append(step._replace(state="conflict", reason=missing(entry), code="locked-missing"))
        elif remote == entry.digest:
            self.stay(entry, new, step.notes)
        elif reason := self._too_young(package):
            self.keep(entry, f"Held back: {reason}", "held", TOO_YOUNG)
        elif now == entry.digest:
            step = step._replace(after=remote, reason=self._instead(package))
            self.add(step, local, package.tree, judgement)
        elif now == remote:
            self.trees[remote] = package.tree
            self.steps.append(step._replace(reason="Your edits match the source."))
        else:
            self._merge(step, entry, local, package)

    def _moved(self, package: Fetched, entry: Installed) -> tuple[Note, ...]:
        old, new = self.installer.ref_of(entry), package.offer.ref
        was, is_ = old.path, new.path
        if was == is_ or not was or self._identity(old) == self._identity(new):
            return ()
        return (
            Note("moved-in-source", "info", f"The source moved it from {was} to {is_}.", skill=entry.name, path=is_),
        )

    def stay(self, entry: Installed, new: Installed, notes: tuple[Note, ...] = ()) -> None:
        """Keep an up-to-date skill. The lock records its new revision, because the old one may disappear."""
        intact = self.installer.is_intact(entry.path, entry)
        reason = "Up to date." if intact else "Up to date; your edits are kept."
        kept = new._replace(trust=entry.trust, verdict=entry.verdict, ruleset=entry.ruleset, updated=entry.updated)
        kept = kept._replace(merged=entry.merged)
        if kept.revision != entry.revision:
            reason += " The lock records its new revision."
        self.keep(entry, reason, "nothing" if kept == entry else "ready")
        self.steps[-1] = self.steps[-1]._replace(entry=kept, notes=notes)

    def base(self, entry: Installed) -> Tree | None:
        """Return the installed content if it is still stored."""
        try:
            return self.installer.journal.content(entry.digest)
        except WhetError:
            return None

    def _merge(self, step: Step, entry: Installed, local: Tree, package: Fetched) -> None:
        base, remote = self.base(entry), package.tree
        step = step._replace(action="merge", files=file_changes(local, remote))
        if base is None and not self.prefer:
            reason = "It was edited, and the installed version is no longer stored, so nothing can be merged."
            self.steps.append(step._replace(state="conflict", reason=reason, code="no-base"))
            return
        self.trees[digest(remote)] = remote  # base of the next merge, and the other side of a conflict
        merged = merge(base or {}, local, remote, prefer=self.prefer)
        if merged.clashes:
            files = ", ".join(clash.path for clash in merged.clashes)
            reason = f"Your edits conflict with the source's changes in {files}."
            step = step._replace(state="conflict", reason=reason, code="update-conflict", clashes=merged.clashes)
            self.steps.append(step)
            return
        after = digest(merged.tree)
        new = step.entry and step.entry._replace(merged=after)
        step = step._replace(after=after, entry=new, reason=_MERGED[self.prefer])
        self.add(step, local, merged.tree, self.installer.judged_package(package, merged.tree))

    # restore

    def restore(self, tree: Tree, entry: Installed, package: Fetched | None = None) -> None:
        """Plan to restore the content that the lock names, replacing the current one.

        A fetched package has the trust of its real source, even if the lock says more.
        """
        if entry.source and self.installer.machine.allowed_sources is not None:
            self.installer.check_allowed(self.installer.ref_of(entry))
        local = self.installer.content(entry.path)
        step = Step("restore", "ready", entry.name, entry.path, before=digest(local), entry=entry, previous=entry)
        if digest(tree) == entry.digest:
            trust = self.installer.trust_of(entry)
            if package is not None and trust != "community":
                trust = self.installer.trust_in(package)
            judgement = self.installer.judged(tree, trust, entry.source)
            if package is not None and (reason := self._too_young(package)):
                self.refuse(step, judgement, reason, TOO_YOUNG, MACHINE_HINT)
                return
            self.add(step._replace(after=entry.digest), local, tree, judgement)
        else:
            reason = f"Its source has changed since it was installed: {digest(tree)}."
            self.steps.append(step._replace(state="failed", reason=reason, code="digest-mismatch"))

    # shared

    def _powers(self, old: Tree, new: Tree, judgement: Judgement) -> tuple[str, ...]:
        """Return the abilities that only the new content has: tools it asks for and rules that match newly."""
        known = {finding.rule for finding in self.installer.workspace.gate.scan(old).findings}
        worst = sorted(judgement.scan.findings, key=lambda finding: -SEVERITIES.index(finding.severity))
        seen = dict.fromkeys(finding.rule for finding in worst if finding.rule not in known)
        had = tools_of(old)
        return (*(f"asks for the tool {tool}" for tool in tools_of(new) if tool not in had), *seen)

    def entry(self, package: Fetched, path: str, judgement: Judgement) -> Installed:
        """Return the lock entry of a package at a path."""
        offer, now, old = package.offer, iso(self.installer.workspace.clock()), self.locked.get(path)
        name = key(offer.name)
        return Installed(
            path=path,
            name=offer.name,
            source=self._source(offer.ref, old),
            revision=offer.revision,
            marker=offer.marker,
            version=offer.version or version_of(main_of(package.tree).document),
            digest=digest(package.tree),
            trust=judgement.decision.trust,
            verdict=judgement.decision.verdict,
            ruleset=ruleset(),
            files=files_of(package.tree),
            installed=old.installed if old else now,
            updated=now,
            pinned=old.pinned if old else "",
            dependency="" if name in self.chosen else old.dependency if old else self.needed.get(name, ""),
            extra=old.extra if old else "",
            signer=self.installer.signer(package.tree),
            checkout=offer.checkout,
            **(offer.proof._asdict() if offer.proof else {}),
        )


def _make_room(name: str) -> str:
    return f"`whet skill rename {name} NEW` keeps it under another name; `whet remove {name}` removes it."


def held(entry: Installed) -> str:
    """Return why a pinned skill stays unchanged."""
    return f"It is pinned. `whet skill unpin {entry.name}` lets updates change it again."


def missing(entry: Installed) -> str:
    """Return the message for a skill in the lock whose directory no longer exists."""
    return f"{entry.path} no longer exists. `whet install` brings it back."


def files_of(tree: Tree) -> tuple[tuple[str, str], ...]:
    """Return path and hash of each file, for the lock."""
    return tuple((item.path, item.sha256) for item in sorted(entries(tree)))


def tools_of(tree: Tree) -> Sequence[str]:
    """Return the tools that a skill asks for; none if its main file is missing or cannot be read."""
    from whet.guard.permissions.decision import declared_tools
    from whet.skill.dialects import read_skill

    try:
        skill = read_skill(main_of(tree).document)
    except (InvalidError, UsageError):
        return ()
    return [grant.text for grant in declared_tools(skill) or ()]

"""Plan and apply changes of installed skills: install, update, restore, uninstall.

    plan = plan_install(installer, [Wanted(read_ref("anthropics/skills", place), ("pdf",))])
    apply(installer, plan)

Applying is one transaction for all skills of a plan: files, history and lock change together or not at all
(`whet.sources.lock.installs`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from whet.authoring.history import INSTALL, LOCK_ACTIONS
from whet.authoring.trees import digest
from whet.authoring.writer import Provenance, TreeChange
from whet.errors import ConflictError, FailedError, NotFoundError, RefusedError, UsageError, WhetError
from whet.guard.audit import AuditEntry
from whet.guard.finding import LABELS
from whet.library.dependencies import dependants
from whet.library.files import inside
from whet.library.repository import find_remotes, find_repository
from whet.notes import Note, Progress
from whet.skill.names import key
from whet.sources.git.failures import without_secrets
from whet.sources.install.dependencies import add_needed
from whet.sources.install.installer import Answer, ask
from whet.sources.install.plan import DECIDED, TOO_YOUNG, Applied, Plan, Planner, Step, held, missing
from whet.sources.lock.file import lock_file
from whet.sources.refs.parse import read_ref, shown
from whet.sources.taps import Taps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.authoring.journal import Entry
    from whet.library.card import Card
    from whet.sources.install.installer import Installer, Wanted
    from whet.sources.lock.file import Installed
    from whet.sources.merge import Prefer
    from whet.sources.model import Offer


NEEDED_HINT = "Remove the skills that need it as well, or use `--force` to remove only this one."


def plan_install(installer: Installer, wanted: Sequence[Wanted], *, prefer: Prefer = "") -> Plan:
    """Plan the installation of skills from their sources."""
    for ref, *_ in wanted:
        if ref.kind == "path" and inside(os.path.realpath(ref.location), installer.root):
            message = f"{ref.location} is part of the library itself."
            hint = "Use `whet sources adopt` to manage skills that are already there."
            raise UsageError("library-itself", message, hint=hint)
    packages, notes = installer.fetch(wanted)
    planner = Planner(installer, prefer)
    planner.chosen = frozenset(key(package.offer.name) for package in packages)
    planner.install(packages)
    add_needed(planner, packages)
    planner.notes.extend((*notes, *_not_for_others(installer, wanted), *_name_clones(installer, wanted)))
    return planner.plan()


def _not_for_others(installer: Installer, wanted: Sequence[Wanted]) -> Iterator[Note]:
    """Yield notes about local paths outside the project, which other users of its lock do not have."""
    for ref, *_ in wanted:
        try:
            installer.check_own(ref)
        except RefusedError as error:
            if error.code == "outside-project":
                message = f"{shown(ref)} is outside the project; others who use the project cannot install from there."
                yield Note("outside-project", "warning", message, "Move it into the repository.", path=ref.location)


def _name_clones(installer: Installer, wanted: Sequence[Wanted]) -> Iterator[Note]:
    """Yield notes about directories that are clones: their files are installed as they are on disk."""
    place = installer.workspace.place
    here = find_repository(place.directory, home=place.home).root
    for ref, *_ in wanted:
        repository = find_repository(ref.location, home=place.home) if ref.kind == "path" else None
        if repository is None or repository.root == here:
            continue
        if address := without_secrets(next(filter(None, find_remotes(repository)), "")):
            message = f"{ref.location} is a clone of {address}. Its files are installed as they are, and updates"
            message = f"{message} read the clone again; `whet install {address}` follows the repository instead."
            yield Note("local-clone", "info", message, path=ref.location)


def plan_update(installer: Installer, names: Sequence[str] = (), *, prefer: Prefer = "") -> Plan:
    """Plan to update skills, or all of them, to the content of their recorded sources."""
    planner = Planner(installer, prefer)
    asked = []
    for entry in installer.named(names):
        if entry.source and not entry.pinned:
            asked.append(entry)
            continue
        with planner.alone(entry):
            if entry.source:
                planner.keep(entry, held(entry), "held", "pinned")
            else:
                planner.keep(entry, "It has no source.")
    answers = ask(installer, asked, lambda entry, offer: not _unchanged(entry, offer))
    for number, answer in enumerate(answers, 1):
        with planner.alone(answer.entry):
            if answer.error:
                raise answer.error
            if answer.package:
                installer.reach.progress(Progress("Scan", number, len(answers), "skills"))
                planner.update(answer.package, answer.entry)
            else:
                _keep_current(planner, answer)
    add_needed(planner, [answer.package for answer in answers if answer.package and not answer.error])
    planner.steps.sort(key=lambda step: step.path)
    return planner.plan()


def _unchanged(entry: Installed, offer: Offer) -> bool:
    """Return whether the markers show that the content is the same, without fetching it."""
    return bool(offer.marker) and offer.marker == entry.marker


def _keep_current(planner: Planner, answer: Answer) -> None:
    entry, offer = answer.entry, answer.offer
    planner.notes.extend(answer.notes)
    now = digest(planner.installer.content(entry.path))
    if not now:
        planner.keep(entry, missing(entry), "conflict", "locked-missing")
    elif offer and (held := planner.installer.held_back(offer)):
        planner.keep(entry, f"Held back: {held}.", "held", TOO_YOUNG)
    else:
        moved = offer is not None and offer.ref.kind == "git"  # only in git can the revision of the same content change
        planner.stay(entry, entry._replace(revision=offer.revision) if offer and moved else entry)


def plan_restore(installer: Installer, names: Sequence[str] = (), *, force: bool = False, frozen: bool = False) -> Plan:
    """Plan to restore what the lock names: from the local store, else from the sources at their revisions.

    With `force`, edited skills are restored, too. With `frozen`, the root must match the lock: if it cannot, the
    differences are conflicts and nothing is restored.
    """
    if frozen and not os.path.lexists(lock_file(installer.root)):
        hint = "`whet install SOURCE` makes one; commit it."
        raise NotFoundError("no-lock", f"{lock_file(installer.root)} does not exist.", hint=hint)
    planner = Planner(installer)
    asked = []
    for entry in installer.named(names):
        with planner.alone(entry):
            now = digest(installer.content(entry.path))
            if installer.is_intact(entry.path, entry) or (frozen and now and now == entry.merged):
                planner.keep(entry, "Already installed.")
            elif now and frozen:
                hint = f"`whet sources verify {entry.name}` shows the files; `whet install --force` discards the edits."
                planner.keep(entry, "It differs from the lock.", "conflict", "frozen-edited", hint)
            elif frozen and entry.merged:
                reason = "It is missing, and its source does not have the edits that the lock names."
                planner.keep(entry, reason, "conflict", "frozen-edited", "Commit the skill together with the lock.")
            elif now and not force:
                planner.keep(entry, "It was edited; your edits are kept. `--force` discards them.")
            elif (kept := planner.base(entry)) is not None:
                planner.restore(kept, entry)
            elif entry.source:
                asked.append(entry)
            else:
                raise NotFoundError("no-source", f"{entry.name} has no source, and its content is not stored here.")
    for answer in _ask_recorded(installer, asked):
        with planner.alone(answer.entry):
            if frozen and isinstance(answer.error, NotFoundError):
                raise _not_in_source(answer.entry, answer.error)
            if answer.error:
                raise answer.error
            if answer.package:
                planner.restore(answer.package.tree, answer.entry, answer.package)
    if frozen:
        _freeze(planner)
    planner.steps.sort(key=lambda step: step.path)
    return planner.plan()


def _ask_recorded(installer: Installer, entries: Sequence[Installed]) -> Iterator[Answer]:
    """Yield the answers at the recorded revisions; if one is gone, the current one if its content is the same."""
    answers = ask(installer, entries, lambda *_: True, recorded=True)
    lost = [answer.entry for answer in answers if answer.error and answer.error.code == "no-such-ref"]
    now = {answer.entry.path: answer for answer in ask(installer, lost, lambda *_: True)} if lost else {}
    for answer in answers:
        entry, later = answer.entry, now.get(answer.entry.path)
        if later is None:
            yield answer
        elif later.package and digest(later.package.tree) == entry.digest:
            yield later
        else:
            source = installer.show_source(entry)
            message = f"{source} no longer has the revision {entry.revision[:12]}, and its content has changed."
            hint = f"To install what it has now, run `whet remove {entry.name}`, then `whet install` with its address."
            yield Answer(entry, error=NotFoundError("no-such-ref", message, hint=hint))


def _not_in_source(entry: Installed, error: NotFoundError) -> NotFoundError:
    """Return the error for a revision that its source lacks: the lock is ahead of it, or it was removed there."""
    message = f"Its source does not have {entry.revision[:12] or 'it'}, which the lock names. {error.message}"
    return NotFoundError("frozen-not-in-source", message, hint="Publish that revision, or update the lock.")


def _freeze(planner: Planner) -> None:
    """Add a conflict for every skill that the lock does not name."""
    hint = "Remove it, or install it, so that the lock names it."
    for path, name in planner.installer.present().items():
        if path not in planner.locked:
            step = Step("keep", "conflict", name, path, "The lock does not name it.", "frozen-extra", hint=hint)
            planner.steps.append(step)


def hold_frozen(plan: Plan) -> Plan:
    """Hold all restorations of a frozen install if any skill cannot match the lock."""
    if all(step.state in ("ready", "nothing") for step in plan.steps):
        return plan
    return _hold(plan, "frozen", "It is not restored while other skills differ from the lock.")


def hold_unanswered(plan: Plan) -> Plan:
    """Hold the other skills of an install without a terminal if one of them needs approval."""
    if all(step.state != "ask" for step in plan.steps):
        return plan
    return _hold(plan, "needs-approval", "It is not installed while another skill of this plan needs your approval.")


def _hold(plan: Plan, code: str, reason: str) -> Plan:
    steps = (
        step._replace(state="held", code=code, reason=reason) if step.state == "ready" else step for step in plan.steps
    )
    return plan._replace(steps=tuple(steps))


def plan_uninstall(
    installer: Installer, names: Sequence[str], *, force: bool = False, along: Sequence[str] = ()
) -> Plan:
    """Plan to remove installed skills; the history keeps them. A skill that others need stays, unless `force` is true.

    The caller removes the skills named in `along`, which count as removed here.
    """
    planner = Planner(installer)
    going = installer.named(names) if names else ()
    gone = {installer.directory(entry.path) for entry in going}
    cards = installer.workspace.snapshot().catalogue.cards if going else ()
    others = set(map(key, along))
    staying = [card for card in cards if card.place not in gone and card.key not in others]
    here = installer.present() if going else {}
    for entry in going:
        now = digest(installer.content(entry.path))
        reason = (
            ""
            if now == entry.digest
            else "This includes your edits, which the history keeps."
            if now
            else "It was already gone."
        )
        name = here.get(entry.path, entry.name)  # it may have been renamed
        step = Step("uninstall", "ready", name, entry.path, reason, before=now, previous=entry)
        if target := installer.linked(entry.path):
            reason = f"{entry.path} is a link to {target}; remove the skill there."
            step = step._replace(state="conflict", reason=reason, code="fixed-directory")
        elif users := dependants(staying, entry.name):
            step = step._replace(reason=f"Needed by {', '.join(users)}. {reason}".rstrip())
            step = step if force else step._replace(state="conflict", code="needed-by", hint=NEEDED_HINT)
        planner.steps.append(step)
    planner.notes.extend(_no_longer_needed(planner, staying))
    return planner.plan()


def _no_longer_needed(planner: Planner, staying: Sequence[Card]) -> Iterator[Note]:
    """Yield notes about skills that were installed only for removed ones and that nothing needs any more."""
    ready = planner.plan().ready
    going, names = {step.path for step in ready}, {key(step.previous.name) for step in ready if step.previous}
    for entry in planner.locked.values():
        if entry.path in going or key(entry.dependency) not in names or dependants(staying, entry.name):
            continue
        message = f"{entry.name} was installed for {entry.dependency} and is no longer needed."
        yield Note("no-longer-needed", "info", message, f"`whet remove {entry.name}` removes it.", skill=entry.name)


def accept(plan: Plan) -> Plan:
    """Return the plan with all overridable steps ready: the user has given a reason."""
    steps = (step._replace(state="ready", code="") if step.overridable else step for step in plan.steps)
    return plan._replace(steps=tuple(steps))


def check_complete(plan: Plan) -> None:
    """Raise an error for the first step that cannot be carried out."""
    for step in plan.steps:
        if step.state in DECIDED:
            hint = step.hint or "`whet show` shows what was found. `--override REASON` installs it anyway."
            raise RefusedError(step.code, f"{step.name} is not installed: {step.reason}", hint=hint)
        if step.state in ("conflict", "held"):
            raise ConflictError(
                step.code, f"{step.name}: {step.reason}", hint=step.hint or "Nothing was changed.", path=step.path
            )
        if step.state == "failed":
            raise FailedError(step.code, f"{step.name}: {step.reason}", hint="Nothing was changed.")


def apply(
    installer: Installer, plan: Plan, *, actor: str = "user", reason: str = "", override: str = "", run: str = ""
) -> Applied:
    """Apply the ready steps of a plan, all or nothing, and record every decision.

    With `override`, steps that the policy asks about or blocks are applied, too, and that reason is recorded. `run`
    makes it part of a change that is undone as a whole. Raises ConflictError if a skill or its lock entry changed since
    the plan was made.
    """
    _record(installer, plan, actor, override)
    if override:
        plan = accept(plan)
    notes = _commit(installer, plan, plan.ready, actor, reason, run) if plan.ready else ()
    taps = Taps(installer.workspace.state, installer.workspace.clock)
    for name, source in plan.taps:
        with suppress(ConflictError):  # another process has just added a tap with that name
            taps.add(name, read_ref(source, installer.reach.place))
    return Applied(plan, notes)


def _origin(installer: Installer, ready: Sequence[Step]) -> str:
    """Return a default reason that names the source, if all steps have the same one."""
    sources = {step.entry.source.partition("#")[0] for step in ready if step.entry}
    if len(sources) != 1 or "" in sources:
        return ""
    entry = next(step.entry for step in ready if step.entry and step.entry.source)
    try:
        return f"From {shown(installer.ref_of(entry)._replace(path=''))}."
    except WhetError:  # a source that this version of Whet cannot read
        return ""


def _commit(
    installer: Installer, plan: Plan, ready: Sequence[Step], actor: str, reason: str, run: str
) -> tuple[str, ...]:
    label = max((step.judgement.scan.verdict for step in ready if step.judgement), key=LABELS.index, default="")
    by = Provenance(actor, INSTALL, reason or _origin(installer, ready), label, run)
    changes = []
    for step in ready:
        directory = installer.directory(step.path)
        # The curator's merges remove skills and are undone as a whole; this one is an update.
        action = "update" if step.action == "merge" else step.action
        # A change of only the lock is in the history so that it can be undone.
        if step.before != step.after or action in LOCK_ACTIONS:
            tree = plan.trees[step.after] if step.after else None
            changes.append(TreeChange(action, step.name, directory, tree, step.before))
        elif digest(installer.content(step.path)) != step.before:
            raise _changed(step.name)
        base = plan.trees.get(step.entry.digest) if step.entry else None
        if base is not None and (step.before == step.after or digest(base) != step.after):
            installer.journal.retain(directory, base)  # base of later merges; the new content itself is kept anyway
    new, seen = {step.path: step.entry for step in ready}, {step.path: step.previous for step in ready}
    made: list[Entry] = []
    installer.reach.progress(Progress("Write", 0, len(ready), "skills"))
    write = (lambda lock: made.extend(installer.writer.write(changes, by, lock))) if changes else None
    installer.installs.commit(plan.root, new, write, seen)
    for step in ready:
        if step.entry is None:
            installer.journal.retain(installer.directory(step.path), None)
    installer.reach.progress(Progress("Write", len(ready), len(ready), "skills"))
    return installer.committer.publish(made).notes


def _changed(name: str) -> ConflictError:
    hint = "Review it again, then decide."
    return ConflictError("skill-changed", f"{name} has just been changed by another process.", hint=hint)


def _record(installer: Installer, plan: Plan, actor: str, override: str) -> None:
    """Record every decision of a plan in the audit log, before anything is applied."""
    gate, notes = installer.workspace.gate, []
    for step in plan.steps:
        path = installer.directory(step.path)
        if step.state == "ready" and step.action == "uninstall" and step.previous:
            entry = step.previous
            decided = (entry.digest, entry.trust, entry.verdict, "allow", f"Removed. {step.reason}".strip())
            notes.append(AuditEntry(actor, step.action, step.name, path, *decided))
        elif step.judgement and step.state in ("ready", *DECIDED):
            scan, decision = step.judgement
            if override and step.overridable and decision.action != "allow":
                gate.override(step.name, path, step.judgement, override, actor)
            told = (scan.digest, decision.trust, decision.verdict, decision.action, decision.reason)
            notes.append(AuditEntry(actor, step.action, step.name, path, *told))
    if notes:
        gate.audit.add(notes)

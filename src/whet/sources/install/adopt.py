"""Adopt existing skills: installed by another tool, or without any record.

The record of another tool (source, hash of the installed content) is used if the skill is unchanged, or if its source
still has that content, so that edits can be recognized. A source that the user names is accepted: all differences are
edits. Any other skill is adopted without a source: it is in the lock, and no update overwrites it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whet.authoring.main_file import main_of, version_of
from whet.authoring.trees import digest
from whet.errors import FailedError, NotFoundError, RefusedError, UsageError, WhetError
from whet.guard.ruleset import ruleset
from whet.skill.names import closest, key
from whet.sources.install.installer import ask
from whet.sources.install.plan import Plan, Planner, Step, files_of, join
from whet.sources.lock.file import Installed, stored_source
from whet.sources.lock.foreign import fits, look, without_record
from whet.sources.refs.parse import ref_text, shown
from whet.store.clock import iso

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from whet.guard.gate import Judgement
    from whet.skill.tree import Tree
    from whet.sources.install.installer import Installer, Wanted
    from whet.sources.install.plan import State
    from whet.sources.lock.foreign import Foreign
    from whet.sources.model import Fetched, Ref

_NO_SOURCE = "It has no source; updates skip it."
_NOT_TOLD = "its source is not recorded, and updates skip it."


def plan_adopt(
    installers: Sequence[Installer], names: Sequence[str] = (), source: Wanted | None = None, made: Collection[str] = ()
) -> Plan:
    """Plan to add unmanaged skills of the roots to their locks; with `source`, one skill as coming from there.

    `made` are the directories that sync made. They and links are skipped in all roots but the first.
    """
    found: dict[Installer, dict[str, str]] = {}
    for installer in installers:
        locked = {entry.path for entry in installer.installed()}
        found[installer] = {path: name for path, name in installer.present().items() if path not in locked}
        for path in [*found[installer]] if installer is not installers[0] and not names else ():
            if installer.directory(path) in made or installer.linked(path):
                del found[installer][path]
    if names:
        every = {installer: [_named(skills, name) for name in names] for installer, skills in found.items()}
        for at, name in enumerate(names):
            if not any(own[at] for own in every.values()):
                raise _unknown(installers[0], name, [name for skills in found.values() for name in skills.values()])
        found = {
            installer: {path: found[installer][path] for paths in own for path in paths}
            for installer, own in every.items()
        }
    if source is not None and sum(map(len, found.values())) != 1:
        raise UsageError("usage", "`--from` works for one skill at a time.", hint="Name exactly one skill.")
    return join([_plan_root(installer, skills, source, named=bool(names)) for installer, skills in found.items()])


def _plan_root(installer: Installer, skills: Mapping[str, str], source: Wanted | None, *, named: bool) -> Plan:
    planner = Planner(installer)
    others = look(installer.reach.place, installer.root, installer.base)
    planner.notes.extend(others.notes)
    known = {item.directory: item for item in others.skills}
    asked: dict[str, tuple[Foreign, Tree, Installed]] = {}
    for path, name in skills.items():
        if target := installer.linked(path):
            reason = f"{path} is a link to {target}; manage the skill there."
            state: State = "conflict" if named else "nothing"
            planner.steps.append(Step("adopt", state, name, path, reason, "fixed-directory"))
            continue
        with planner.alone(_unread(path, name)):
            tree = _content(installer, path)
            entry = unsourced(installer, path, name, tree)
            foreign = known.get(installer.directory(path))
            if source is not None:
                _adopt_from(planner, entry, tree, source)
            elif foreign is None:
                _adopt(planner, entry, tree, _NO_SOURCE)
            elif fits(foreign, tree) and _may_name(installer, foreign.ref):
                entry = entry._replace(revision=foreign.revision, marker=foreign.marker, pinned=foreign.pinned)
                _adopt_sourced(planner, entry, tree, tree, foreign.ref)
            else:
                sourced = entry._replace(source=_stored(installer, foreign.ref), revision=foreign.revision)
                asked[path] = (foreign, tree, sourced)
    _ask(planner, asked)
    planner.steps.sort(key=lambda step: step.path)
    return planner.plan()


def _named(skills: Mapping[str, str], name: str) -> list[str]:
    wanted = key(name)
    found = [path for path, called in skills.items() if wanted in (key(called), key(path), key(path.partition("/")[2]))]
    return found or [path for path in skills if wanted == key(os.path.basename(path))]


def _unknown(installer: Installer, name: str, known: Sequence[str]) -> NotFoundError:
    near = list(closest(name, known, 3))
    hint = f"Did you mean {near[0]}?" if near else "`whet sources adopt --dry-run` lists what can be adopted."
    message = f"{installer.root} has no unmanaged skill {name!r}, and neither do the other directories of skills."
    return NotFoundError("skill-not-found", message, hint=hint, suggestions=near)


def _content(installer: Installer, path: str) -> Tree:
    tree = installer.content(path)
    if tree is None:
        raise NotFoundError("skill-gone", f"{path} no longer exists.", hint="List the skills again.")
    return tree


def _adopt(planner: Planner, entry: Installed, tree: Tree, reason: str, judgement: Judgement | None = None) -> None:
    now = digest(tree)
    planner.trees[now] = tree
    step = Step("adopt", "ready", entry.name, entry.path, reason, "", now, now, entry)
    planner.steps.append(step._replace(judgement=judgement))


def _adopt_sourced(planner: Planner, entry: Installed, tree: Tree, base: Tree, ref: Ref, trust: str = "") -> None:
    """Adopt a skill whose original content is known. The policy's decision is reported but holds nothing back."""
    installer = planner.installer
    installer.check_allowed(ref)
    judgement = installer.judged(tree, trust or installer.trust(ref), ref_text(ref))
    decision = judgement.decision
    entry = entry._replace(source=_stored(installer, ref), trust=decision.trust, verdict=decision.verdict)
    planner.trees[digest(base)] = base
    edits = "" if digest(base) == digest(without_record(tree, base)) else " The differences are your edits."
    entry = entry._replace(digest=digest(base), files=files_of(base))
    _adopt(planner, entry, tree, f"It comes from {shown(ref)}.{edits}", judgement)


def _adopt_from(planner: Planner, entry: Installed, tree: Tree, source: Wanted) -> None:
    """Adopt a skill from the source that the user names: the named skill there, or the one with its name."""
    own = () if source.ref.path else (entry.name,)
    (package,), notes = planner.installer.fetch([source._replace(names=source.names or own)])
    planner.notes.extend(notes)
    _adopt_package(planner, entry, tree, package)


def _adopt_package(planner: Planner, entry: Installed, tree: Tree, package: Fetched) -> None:
    offer = package.offer
    entry = entry._replace(revision=offer.revision, marker=offer.marker)
    _adopt_sourced(planner, entry, tree, package.tree, offer.ref, planner.installer.trust_in(package))


def _ask(planner: Planner, asked: dict[str, tuple[Foreign, Tree, Installed]]) -> None:
    """Ask the sources of skills that differ from another tool's record for the recorded content.

    First at the recorded revision, then at the current one.
    """
    left = dict(asked)
    problems: dict[str, WhetError] = {}
    for recorded in (True, False):
        entries = [entry for _, _, entry in left.values() if entry.revision or not recorded]
        for answer in ask(planner.installer, entries, lambda *_: True, recorded=recorded):
            path = answer.entry.path
            foreign, tree, entry = left[path]
            if answer.error:
                problems[path] = answer.error
            if answer.package and (
                digest(answer.package.tree) == digest(without_record(tree, answer.package.tree))
                or fits(foreign, answer.package.tree)
            ):
                unpinned = answer.package.offer.ref._replace(ref=foreign.ref.ref)
                package = answer.package._replace(offer=answer.package.offer._replace(ref=unpinned))
                _adopt_package(planner, entry._replace(pinned=foreign.pinned), tree, package)
                del left[path]
    for path, (_, tree, entry) in left.items():
        problem = problems.get(path)
        if isinstance(problem, FailedError):  # the source may answer later, so nothing is decided now
            step = Step("adopt", "failed", entry.name, path, problem.message, problem.code)
            planner.steps.append(step._replace(hint=problem.hint, exit_code=problem.exit_code))
            continue
        why = problem.message if problem else "It matches neither its source nor what was installed from there."
        plain = entry._replace(source="", revision="", trust="local")
        _adopt(planner, plain, tree, f"{why} So {_NOT_TOLD}")


def _may_name(installer: Installer, ref: Ref) -> bool:
    """Return whether the lock may name a source, if that is a directory; if not, asking for it reports why."""
    try:
        if ref.kind == "path":
            installer.check_own(ref)
    except RefusedError:
        return False
    return True


def _stored(installer: Installer, ref: Ref) -> str:
    return stored_source(ref_text(ref), installer.base)


def _unread(path: str, name: str) -> Installed:
    """Return a placeholder for a skill of which nothing is known yet."""
    return Installed(path, name, "", "", "", "", "", "", "", "", (), "", "")


def unsourced(installer: Installer, path: str, name: str, tree: Tree) -> Installed:
    """Return the entry of a skill without a source."""
    now = iso(installer.workspace.clock())
    try:
        version = version_of(main_of(tree).document)
    except WhetError:  # the main file is missing, or a link
        version = ""
    return Installed(
        path=path,
        name=name,
        source="",
        revision="",
        marker="",
        version=version,
        digest=digest(tree),
        trust="local",
        verdict=installer.judged(tree, "local").scan.verdict,
        ruleset=ruleset(),
        files=files_of(tree),
        installed=now,
        updated=now,
    )

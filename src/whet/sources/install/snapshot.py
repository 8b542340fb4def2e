"""Import the skills of a snapshot as a plan, and collect those of a library for an export.

A snapshot is an untrusted file, even if the user made it: its content is judged as coming from a community source. An
installed skill keeps its source, so that it can be updated from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from whet.authoring.trees import digest
from whet.errors import WhetError
from whet.guard.ruleset import ruleset
from whet.notes import Note
from whet.sources.install.adopt import unsourced
from whet.sources.install.plan import Plan, Planner, Step
from whet.sources.publish.snapshots import Exported
from whet.sources.refs.parse import read_ref, ref_text
from whet.sources.taps import Taps, check_name

if TYPE_CHECKING:
    from whet.sources.install.installer import Installer
    from whet.sources.publish.snapshots import Snapshot

_TRUST = "community"


def plan_import(installer: Installer, snapshot: Snapshot, scope: str) -> Plan:
    """Plan to import the skills of one scope. An existing skill with different content is a conflict."""
    planner = Planner(installer)
    for skill in snapshot.skills:
        if skill.scope == scope:
            _import(planner, skill)
    taps = _taps(planner, snapshot) if scope == "user" else ()
    return planner.plan()._replace(taps=taps)


def _taps(planner: Planner, snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """Return the snapshot's new taps; a taken name is kept, with a note."""
    place = planner.installer.reach.place
    known = {tap.name: tap.source for tap in Taps(planner.installer.workspace.state).all()}
    new: dict[str, str] = {}
    for tap in snapshot.taps:
        name, source = tap.name, tap.source
        try:
            check_name(name)
            ref = read_ref(source, place)
            planner.installer.check_allowed(ref)
            source = ref_text(ref)
        except WhetError as error:
            planner.notes.append(Note.from_error(error, "warning", path=name))
            continue
        if known.get(name, source) != source:
            message = f"The tap {name} stays {known[name]}; the snapshot has {source}."
            planner.notes.append(Note("tap-exists", "warning", message, path=name))
        elif name not in known:
            new[name] = source
    return tuple(new.items())


def _import(planner: Planner, skill: Exported) -> None:
    installer, after = planner.installer, digest(skill.tree)
    path = planner.path_of(skill.path)
    judgement = installer.judged(skill.tree, _TRUST)
    entry = skill.lock._replace(path=path) if skill.lock else unsourced(installer, path, skill.name, skill.tree)
    entry = entry._replace(name=skill.name, trust=_TRUST, verdict=judgement.decision.verdict, ruleset=ruleset())
    previous = planner.locked.get(path)
    step = Step("install", "ready", skill.name, path, after=after, entry=entry, previous=previous)
    try:
        local = installer.content(path)
    except WhetError as error:
        planner.steps.append(step._replace(state="conflict", reason=error.message, code=error.code))
        return
    step = step._replace(before=digest(local))
    if problem := planner.in_the_way(path, skill.name, local, skill.tree, [step.path for step in planner.steps]):
        planner.steps.append(step._replace(state="conflict", reason=problem, code="skill-exists"))
        return
    # `restore` would bring back a base, so it is judged, too.
    if (
        skill.base is not None
        and digest(skill.base) == entry.digest
        and installer.judged(skill.base, _TRUST).decision.action == "allow"
    ):
        planner.trees[entry.digest] = skill.base  # base of the next merge
    if local is None:
        planner.add(step, local, skill.tree, judgement)
    elif previous is not None:
        planner.keep(previous, "It already exists.")
    else:
        planner.trees[after] = skill.tree
        planner.steps.append(step._replace(action="adopt", reason="It already exists.", judgement=judgement))


def exported(installer: Installer, scope: Literal["user", "project"]) -> tuple[list[Exported], list[Note]]:
    """Return every skill of a root for a snapshot, and notes about unreadable ones."""
    planner = Planner(installer)
    skills, problems = [], []
    for path, name in installer.present().items():
        inner = path.partition("/")[2]
        try:
            tree = installer.content(path)
        except WhetError as error:
            message = f"{name} is left out. {error.message}"
            problems.append(Note(error.code, "warning", message, error.hint, skill=name, path=inner))
            continue
        if tree is not None:
            entry = planner.locked.get(path)
            base = planner.base(entry) if entry and entry.digest != digest(tree) else None
            skills.append(Exported(scope, inner, name, tree, entry, base))
    return skills, problems

"""Dependencies of a plan: they are fetched, and a skill is installed only together with everything it needs.

A need is met by a skill of the plan or of the library. A missing skill comes from the source of the skill that needs
it, or from the source that the need names. The author of a skill chose its needs, so a need counts as untrusted input:
it may not name a path on this machine or shorten the cooldown, and one plan fetches only a limited number of them.
"""

from __future__ import annotations

from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from whet.authoring.main_file import main_of
from whet.errors import InvalidError, NotFoundError, RefusedError, UsageError, WhetError
from whet.library.dependencies import name_range, version_of
from whet.records import NamedTuple
from whet.skill.dialects import read_skill
from whet.skill.finder import MAIN_FILES
from whet.skill.names import key, slug
from whet.skill.versions import has_sign, in_range, is_range, join_ranges
from whet.sources.age import is_local
from whet.sources.install.installer import Wanted
from whet.sources.refs.parse import read_ref, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from whet.library.card import Card
    from whet.notes import Note
    from whet.skill.gates import SkillNeed
    from whet.skill.tree import Tree
    from whet.sources.install.installer import Got, Installer
    from whet.sources.install.plan import Planner, Step
    from whet.sources.model import Fetched, Ref

MAX_NEEDED = 100
"""Largest number of skills that one plan fetches as dependencies."""
MAX_DEPTH = 16
"""Largest depth of dependencies."""
_WITH_VERSIONS = ("git", "hub", "clawhub", "oci")
"""Kinds of sources that can select a version within a range."""
_REGISTRIES = ("hub", "clawhub")
"""Kinds of sources whose path is `owner/name`."""


class Needed(NamedTuple):
    """The fetched dependencies."""

    packages: list[Fetched]
    notes: list[Note]
    dependants: dict[str, str]
    """Key of a dependency's name -> name of the skill that it was fetched for."""
    problems: dict[str, WhetError]
    """Key of a dependency's name -> the error that prevented the fetch."""


def needs_of(tree: Tree) -> tuple[SkillNeed, ...]:
    """Return the skills that a content needs; none if its main file cannot be read."""
    if not any(b"requires" in item.data for path, item in tree.items() if path in MAIN_FILES):
        return ()  # as for most skills: skip the parser
    try:
        return read_skill(main_of(tree).document).gates.skills
    except (InvalidError, UsageError):
        return ()


def cards_of(installer: Installer) -> dict[str, Card]:
    """Return the available skills by the keys of their names; your own cannot rely on those of a project."""
    cards = installer.workspace.snapshot().catalogue.cards
    return {card.key: card for card in cards if installer.project or card.scope != "project"}


def fetch_needed(installer: Installer, packages: Iterable[Fetched]) -> Needed:
    """Fetch all direct and indirect needs of these packages that neither they nor the library have."""
    found = Needed([], [], {}, {})
    level = list(packages)
    here = cards_of(installer) if any(needs_of(package.tree) for package in level) else {}
    known = {*here, *(key(package.offer.name) for package in level)}
    for depth in range(MAX_DEPTH + 1):
        wanted: dict[str, Wanted] = {}
        ranges: dict[str, list[str]] = {}
        for package in level:
            for need in needs_of(package.tree):
                name = key(need.name)
                ranges.setdefault(name, []).append(need.range)
                if name in known or name in wanted or name in found.problems:
                    continue
                found.dependants[name] = package.offer.name
                try:
                    wanted[name] = _want(installer, package, need)
                except WhetError as error:
                    found.problems[name] = error
        if not wanted:
            break
        if len(found.packages) + len(wanted) > MAX_NEEDED or depth == MAX_DEPTH:
            found.problems.update(dict.fromkeys(wanted, _too_many()))
            break
        level = []
        for name, got in _fetch_in_range(installer, wanted, ranges).items():
            if isinstance(got, WhetError):
                found.problems[name] = got
            elif other := next((package for package in got.packages if key(package.offer.name) != name), None):
                found.problems[name] = _other_name(other)
            else:
                level.extend(got.packages)
                found.notes.extend(got.notes)
        known |= wanted.keys()
        found.packages.extend(level)
    return found


def _fetch_in_range(
    installer: Installer, wanted: Mapping[str, Wanted], ranges: Mapping[str, Sequence[str]]
) -> dict[str, Got | WhetError]:
    """Fetch the current version of each need; if it is out of range, an older one that is not, if any."""
    found = dict(zip(wanted, installer.fetch_each([*wanted.values()]), strict=True))
    older: dict[str, Wanted] = {}
    for name, got in found.items():
        ref, range_ = wanted[name].ref, join_ranges(ranges[name])
        if isinstance(got, WhetError):
            fits = got.code != "no-such-version"  # the requested version is that of the skill that needs it
        else:
            fits = all(in_range(package.offer.version, range_) for package in got.packages)
        if not fits and ref.kind in _WITH_VERSIONS and (not range_ or is_range(range_)):
            older[name] = wanted[name]._replace(ref=ref._replace(ref=range_))
    for name, got in zip(older, installer.fetch_each([*older.values()]), strict=True):
        found[name] = found[name] if isinstance(got, WhetError) else got
    return found


def _other_name(package: Fetched) -> NotFoundError:
    message = f"The skill at {shown(package.offer.ref)} is named {package.offer.name}."
    return NotFoundError("dependency-missing", message, hint="Its publisher must use the same name.")


def add_needed(planner: Planner, packages: Sequence[Fetched]) -> None:
    """Add the needs of these packages to a plan, and block the steps that lack one."""
    needed = fetch_needed(planner.installer, packages)
    planner.needed = needed.dependants
    planner.install(needed.packages)
    planner.notes.extend(needed.notes)
    if any(map(_comes, planner.steps)):
        planner.steps = settle(planner.steps, planner.trees, cards_of(planner.installer), needed)


def _too_many() -> InvalidError:
    message = f"Together they need more than {MAX_NEEDED} other skills, or the needs are more than {MAX_DEPTH} deep."
    return InvalidError(
        "too-many-dependencies", message, hint="If you trust them, install the skills that it needs yourself."
    )


def _want(installer: Installer, package: Fetched, need: SkillNeed) -> Wanted:
    """Return the request for a need. Raise WhetError for a source that the skill may not name."""
    origin = package.offer.ref
    if not need.source:
        return _beside(origin, need.name)
    ref = read_ref(need.source, installer.reach.place)
    vouched = ("local", "trusted") if is_local(origin) else ()
    if is_local(ref) and installer.trust_in(package) not in vouched:
        message = f"{package.offer.name} names {shown(ref)}, a place on this machine."
        raise RefusedError(
            "dependency-source", message, hint="If you trust that directory, install it from there yourself."
        )
    installer.reach.web.check_told(ref.location)
    return Wanted(ref, () if ref.path or ref.kind in _REGISTRIES else (need.name,))


def _beside(ref: Ref, name: str) -> Wanted:
    """Return the request for the skill of this name in the same source."""
    if ref.kind in _REGISTRIES:
        owner, slash, _ = ref.path.rpartition("/")
        return Wanted(ref._replace(ref="", path=f"{owner}{slash}{slug(name)}"))
    if ref.kind == "oci" and not ref.path:
        return Wanted(ref._replace(ref="", location=f"{ref.location.rpartition('/')[0]}/{slug(name)}"))
    return Wanted(ref._replace(ref="" if has_sign(ref.ref) else ref.ref, path=""), (name,))


class _Graph:
    """The steps of a plan and the available skills, by the keys of their names, with their needs."""

    def __init__(self, steps: Sequence[Step], trees: Mapping[str, Tree], here: Mapping[str, Card]) -> None:
        self.steps: dict[str, Step] = {}
        for step in steps:
            self.steps.setdefault(key(step.name), step)
        self.here = here
        self.needs = {name: card.gates.skills for name, card in here.items() if card.gates.skills}
        for name, step in self.steps.items():
            if step.after in trees:
                self.needs[name] = needs_of(trees[step.after])
        self.edges = {name: {key(need.name) for need in needs} for name, needs in self.needs.items()}

    @cached_property
    def dependants(self) -> dict[str, list[str]]:
        """The steps that need each skill."""
        found: dict[str, list[str]] = {}
        for user in self.steps:
            for name in self.edges.get(user, set()) - {user}:
                found.setdefault(name, []).append(user)
        return found

    def order(self) -> list[str]:
        """Return every name after those it needs; the steps of a cycle are blocked, and the cycle is cut."""
        edges = dict(self.edges)
        while True:
            try:
                return [*TopologicalSorter(edges).static_order()]
            except CycleError as error:
                circle: list[str] = error.args[1][::-1]  # each needs the next
                names = [self.steps[name].name if name in self.steps else name for name in circle]
                reason = f"The skills need each other: {' -> '.join(names)}."
                hint = "Their publisher must remove one of these dependencies."
                for name in set(circle):
                    edges.pop(name, None)
                    if name in self.steps and _comes(self.steps[name]):
                        step = self.steps[name]._replace(state="conflict", code="dependency-cycle", reason=reason)
                        self.steps[name] = step._replace(hint=hint)

    def version(self, name: str) -> str | None:
        """Return the version that will be available; None if there will be none."""
        step = self.steps.get(name)
        if step is None:
            return version_of(self.here[name]) if name in self.here else None
        if (_comes(step) or step.state == "nothing") and step.entry:
            return step.entry.version
        if name in self.here:
            return step.previous.version if step.previous else version_of(self.here[name])
        return None


def _comes(step: Step) -> bool:
    """Return whether a step is carried out, or would be with an override."""
    return (step.state == "ready" and bool(step.after)) or step.overridable


def settle(
    steps: Sequence[Step],
    trees: Mapping[str, Tree],
    here: Mapping[str, Card],
    needed: Needed,
) -> list[Step]:
    """Return the steps of a plan, held or blocked if a need is not met, or if all skills that need it are blocked.

    A step that another one blocks gets its state and code, so that one approval covers both.
    """
    graph = _Graph(steps, trees, here)
    order = graph.order()
    for name in order:
        step = graph.steps.get(name)
        if step is not None and _comes(step):
            graph.steps[name] = _with_needs(graph, step, graph.needs.get(name, ()), needed)
    for name in order[::-1]:
        step, users = graph.steps.get(name), graph.dependants.get(name)
        if step is None or not users:
            continue
        step = step._replace(needed_by=tuple(graph.steps[user].name for user in users))
        blocked = [graph.steps[user] for user in users if not _is_there(graph.steps[user])]
        if name in needed.dependants and len(blocked) == len(users) and step.state == "ready":
            reason = f"Only {', '.join(other.name for other in blocked)} would need it."
            step = step._replace(state=blocked[0].state, code=blocked[0].code, reason=reason, hint=blocked[0].hint)
        graph.steps[name] = step
    return [graph.steps.pop(key(step.name), step) for step in steps]


def _is_there(step: Step) -> bool:
    return step.state in ("ready", "nothing") or bool(step.before)


def _with_needs(graph: _Graph, step: Step, needs: Sequence[SkillNeed], needed: Needed) -> Step:
    """Return the step, blocked if a need is missing or has the wrong version."""
    for need in needs:
        name = key(need.name)
        other, version = graph.steps.get(name), graph.version(name)
        if version is None:
            problem = needed.problems.get(name)
            if other is not None:
                reason = f"It needs {need}, which is not installed: {other.reason}"
                return step._replace(state=other.state, code=other.code, reason=reason, hint=other.hint)
            forbidden = problem is not None and problem.code == "source-not-allowed"
            own = forbidden or (problem is not None and problem.code == "too-many-dependencies")
            code = problem.code if problem and own else "dependency-missing"
            reason = f"It needs {need}, which is missing." if not problem else f"It needs {need}. {problem.message}"
            hint = problem.hint if problem else ""
            return step._replace(state="blocked" if forbidden else "conflict", code=code, reason=reason, hint=hint)
        if problem_ := name_range(need, version):
            hint = f"`whet update {need.name}` may bring one that is." if name in graph.here else ""
            return step._replace(state="conflict", code="dependency-range", reason=problem_, hint=hint)
        if other is not None and other.overridable and not step.overridable:
            reason = f"It needs {need}, which is not installed: {other.reason}"
            step = step._replace(state=other.state, code=other.code, reason=reason, hint=other.hint)
    return step if not step.before or not step.entry else _with_dependants(graph, step, step.entry.version)


def _with_dependants(graph: _Graph, step: Step, version: str) -> Step:
    """Return the step, held if other skills need it, but not in the new version."""
    name = key(step.name)
    was = step.previous.version if step.previous else ""
    for user, card in graph.here.items():
        if user in graph.steps and _comes(graph.steps[user]):
            continue
        for need in card.gates.skills:
            if key(need.name) == name and in_range(was, need.range) and not in_range(version, need.range):
                reason = f"Held back: {card.name} needs {need}, and the source has {version or 'no version'}."
                return step._replace(state="held", code="dependency-range", reason=reason)
    return step

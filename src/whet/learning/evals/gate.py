"""The gate: whether a change of a skill may stay without review. It must be valid, small and no worse.

The checks without a model come first and are enough to reject: the package is valid, it grew by little, its verdict is
no worse, its links are valid, it needs no new tools, and its evals are unchanged. Then the scores decide: every eval
that was measured before is measured again, none is worse, and all together are no worse. A missing score is a
rejection.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.evals.formats import FOLDERS, find_file
from whet.skill.finder import MAIN_FILE, main_file
from whet.skill.validate import validate
from whet.skill.validate.input import ValidationInput
from whet.values import Json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from whet.guard.permissions.grants import Grant
    from whet.notes import Note
    from whet.skill.tree import Item

    Scores = Mapping[str, float | None]
    """A share from 0 to 1 for each eval by its name; None if there is no score."""

GROWTH = 0.20
"""The share by which the instructions may grow."""
ROOM = 1_500
"""Characters by which they may always grow."""
LINES = 500
"""Lines of the main file that a change must not exceed."""
_WORSE = {"safe": 0, "caution": 1, "dangerous": 2}
_EQUAL = 1e-9
INVALID, DANGEROUS = "gate-invalid", "gate-dangerous"
"""Reasons that rule out even a proposal."""


class Reason(NamedTuple):
    """One reason against a change."""

    code: str
    message: str


class Verdict(NamedTuple):
    """The decision of the gate; without reasons, a change is accepted."""

    reasons: tuple[Reason, ...]
    before: float | None = None
    """The mean score before; None if none was requested, or one is missing."""
    after: float | None = None

    @property
    def accepted(self) -> bool:
        return not self.reasons

    def to_json(self) -> Json:
        """Return the verdict in the form of reports."""
        return {"accepted": self.accepted, **fields_json(self)}


def examine(before: Mapping[str, Item] | None, after: Mapping[str, Item], name: str) -> tuple[Reason, ...]:
    """Return the reasons against a change without any score; `before` is None for a new skill."""
    changed = _changes(before, after) if before else ()
    return (*_invalid(before or {}, after, name), *changed, *_guarded(before, after))


def compare(before: Scores, after: Scores, *, strict: bool = False) -> Verdict:
    """Compare the scores of the skill before and after a change.

    Any score that belongs to the skill may be among them: its evals, its trigger evals, those of its neighbours. With
    `strict`, equal scores are not enough.
    """
    names = list(dict.fromkeys((*before, *after)))
    missing = [name for name in names if not _known(before.get(name)) or not _known(after.get(name))]
    if missing or not names:
        told = f"No score before or after: {_listed(missing)}." if names else "There are no scores."
        return Verdict((Reason("gate-no-score", told),))
    one, other = ({name: score for name in names if (score := given[name]) is not None} for given in (before, after))
    reasons = []
    worse = [f"{name} from {one[name]:.2f} to {other[name]:.2f}" for name in names if other[name] < one[name] - _EQUAL]
    if worse:
        reasons.append(Reason("gate-regression", f"Worse than before: {_listed(worse)}."))
    was, now = (math.fsum(given.values()) / len(given) for given in (one, other))
    if now < was - _EQUAL or (strict and now <= was + _EQUAL):
        what = "no better" if now >= was - _EQUAL else "worse"
        reasons.append(Reason("gate-not-better", f"The total is {what}: {was:.2f} before, {now:.2f} after."))
    return Verdict(tuple(reasons), was, now)


def judge(
    before: Mapping[str, Item],
    after: Mapping[str, Item],
    name: str,
    score: Callable[[Mapping[str, Item]], Scores] | None,
) -> Verdict:
    """Return the whole verdict. `score` measures a version of the skill; it is called only if nothing else says no.

    Without it there is no score, which is a rejection.
    """
    if reasons := examine(before, after, name):
        return Verdict(reasons)
    return compare(score(before), score(after)) if score else compare({}, {})


def _guarded(before: Mapping[str, Item] | None, after: Mapping[str, Item]) -> Iterator[Reason]:
    from whet.guard.scan import scan

    now, then = scan(after).verdict, scan(before).verdict if before is not None else "safe"
    if _WORSE[now] > _WORSE[then]:
        code = DANGEROUS if now == "dangerous" else "gate-guard"
        yield Reason(code, f"The guard now says {now}; before, it said {then}.")


def _invalid(before: Mapping[str, Item], after: Mapping[str, Item], name: str) -> Iterator[Reason]:
    """Yield new problems of the package: errors, and links that lead nowhere."""
    known = {(found.code, found.message) for found in _findings(before, name)} if before else set()
    for found in _findings(after, name):
        if found.severity == "error":
            yield Reason(INVALID, found.message)
        elif found.code == "reference-dangling" and (found.code, found.message) not in known:
            yield Reason("gate-dangling", found.message)


def _changes(before: Mapping[str, Item], after: Mapping[str, Item]) -> Iterator[Reason]:
    """Yield changes that need a review: much of its text, its tools, and its own evals."""
    old, new = _main(before), _main(after)
    most, lines = max(len(old) * (1 + GROWTH), len(old) + ROOM), new.count("\n")
    if len(new) > most:
        message = f"The main file grew from {len(old):,} to {len(new):,} characters; {int(most):,} are allowed."
        yield Reason("gate-grown", message)
    elif lines > LINES and lines > old.count("\n"):
        yield Reason("gate-grown", f"The main file has {lines:,} lines; the limit is {LINES}.")
    known = {(grant.tool, grant.rule) for grant in _grants(old)}
    if more := [grant.text for grant in _grants(new) if (grant.tool, grant.rule) not in known]:
        yield Reason("gate-tools", f"It asks for new tools: {_listed(more)}.")
    evals = find_file(before), find_file(after)
    paths = (path for path in sorted({*before, *after}) if path.split("/")[0] in FOLDERS or path in evals)
    if measures := [path for path in paths if before.get(path) != after.get(path)]:
        yield Reason("gate-measures-changed", f"It changes its own evals or tests: {_listed(measures)}.")


def _findings(tree: Mapping[str, Item], name: str) -> tuple[Note, ...]:
    main = main_file(tree)
    text = tree[main].data if main else None
    return validate(ValidationInput(name.rpartition(":")[2], text, main or MAIN_FILE, tuple(tree)), "quality")


def _grants(text: str) -> tuple[Grant, ...]:
    from whet.guard.permissions.decision import declared_tools
    from whet.skill.dialects import read_skill
    from whet.skill.frontmatter import read_document

    return declared_tools(read_skill(read_document(text))) or ()


def _main(tree: Mapping[str, Item]) -> str:
    main = main_file(tree)
    return tree[main].data.decode("utf-8", "replace") if main else ""


def _known(score: float | None) -> bool:
    return score is not None and math.isfinite(score)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{', '.join(names[:5])}{more}"

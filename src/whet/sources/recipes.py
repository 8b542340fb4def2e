"""Installing the programs that skills need, by the recipes that the skills bring: planned, shown, then run on consent.

A recipe is followed only if the policy allows its skill, its values are sound and its installer is on this machine. The
command is an argument list; no shell reads it. Downloads are described, and left to the person.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

from whet.library.readiness import missing
from whet.library.roots import platform_name
from whet.skill.recipes import KINDS, describe, install_command
from whet.values import Json, answer_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.guard.policy import Decision
    from whet.library.card import Card
    from whet.library.readiness import Probe
    from whet.skill.gates import Install

_SECONDS = 600


class RecipeStep(NamedTuple):
    """One program that is missing, and what is done about it."""

    program: str
    skill: str
    """The skill whose recipe it is."""
    state: str
    """`ready`, `manual` (a download), `blocked` (by the policy), `no-recipe`; then `installed` or `failed`."""
    command: tuple[str, ...] = ()
    reason: str = ""

    def to_json(self) -> Json:
        """The step as JSON carries it."""
        return fields_json(self)


class RecipePlan(NamedTuple):
    """What installing everything that is missing would do, or did."""

    steps: tuple[RecipeStep, ...]
    dry_run: bool = True

    @property
    def ready(self) -> tuple[RecipeStep, ...]:
        """The steps that can be done."""
        return tuple(step for step in self.steps if step.state == "ready")

    def to_json(self) -> Json:
        """The plan as JSON carries it."""
        return answer_json(self)


def plan_recipes(cards: Iterable[Card], probe: Probe, decide: Callable[[Card], Decision]) -> RecipePlan:
    """What to do about every program that these skills miss, each once; the first skill with a good recipe counts."""
    found: dict[str, RecipeStep] = {}
    for card in cards:
        for kind, name, text in missing(card.gates, probe):
            if kind == "command" and (name not in found or found[name].state != "ready"):
                step = _step(card, name, text, probe, decide)
                if name not in found or step.state == "ready":
                    found[name] = step
    return RecipePlan(tuple(found.values()))


def _step(card: Card, name: str, text: str, probe: Probe, decide: Callable[[Card], Decision]) -> RecipeStep:
    recipes = [one for one in card.gates.installs if _fits(one, name.split(" or "), probe)]
    runnable = [one for one in recipes if (command := install_command(one)) and probe.has_command(command[0]) is True]
    if not runnable:
        manual = next((describe(one) for one in recipes if describe(one)), "")
        return RecipeStep(name, card.full_name, "manual" if manual else "no-recipe", (), manual or text)
    best = min(runnable, key=lambda one: KINDS.index(one.kind))
    decision = decide(card)
    if decision.action != "allow":
        return RecipeStep(name, card.full_name, "blocked", install_command(best), decision.reason)
    return RecipeStep(name, card.full_name, "ready", install_command(best), best.label)


def _fits(install: Install, names: Sequence[str], probe: Probe) -> bool:
    """Is a recipe for one of these programs, and for this platform?"""
    platforms = {platform_name(word) for word in install.os}
    here = not platforms or probe.platform in platforms
    return here and (not install.bins or not set(install.bins).isdisjoint(names))


def run_recipes(plan: RecipePlan, env: Mapping[str, str]) -> RecipePlan:
    """Do the steps of a plan that are ready, one after the other; what fails does not stop the others."""
    return RecipePlan(tuple(_run(step, env) if step.state == "ready" else step for step in plan.steps), dry_run=False)


def _run(step: RecipeStep, env: Mapping[str, str]) -> RecipeStep:
    try:
        done = subprocess.run(  # noqa: S603  an argument list of checked words, agreed to by a person
            step.command, env=dict(env), stdin=subprocess.DEVNULL, stdout=2, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return step._replace(state="failed", reason=f"{step.command[0]} failed: {error}.")
    if done.returncode:
        reason = f"{step.command[0]} exited with status {done.returncode}."
        return step._replace(state="failed", reason=reason)
    return step._replace(state="installed")

"""Install the programs that skills need, with the recipes of the skills: planned, shown, then run on consent.

A recipe is followed only if the policy allows its skill, its values are valid and its installer is on this machine. The
command is an argument list; no shell reads it. From a download, missing programs are put into ~/.local/bin, where
nothing is overwritten: the file itself, or the files of that name in an archive, which is unpacked in memory.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import ConflictError, RefusedError, WhetError
from whet.library.readiness import missing
from whet.library.roots import platform_name
from whet.skill.archive import contents, refused
from whet.skill.recipes import KINDS, describe, install_command
from whet.skill.tree import Item, Limits
from whet.sources.web.responses import bad_response
from whet.store.atomic import write_bytes
from whet.store.directories import make_directories
from whet.values import Json, answer_json, fields_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from whet.guard.policy import Decision
    from whet.library.card import Card
    from whet.library.readiness import Probe
    from whet.skill.gates import Install
    from whet.skill.tree import Tree
    from whet.sources.web.client import Web

_SECONDS = 600
_MOST = 256 * 1024 * 1024
"""Largest download in bytes, and its largest content."""
_LIMITS = Limits(file_bytes=_MOST, total_bytes=_MOST)
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_ARCHIVES = (b"PK", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_TAR = slice(257, 262)
_PAGES = (b"<!doctype", b"<html")


class RecipeStep(NamedTuple):
    """A missing program and the step to install it."""

    program: str
    skill: str
    """The skill with the recipe."""
    state: str
    """`ready`, `manual` (for the user to do), `blocked` (by the policy), `no-recipe`; then `installed` or `failed`."""
    command: tuple[str, ...] = ()
    reason: str = ""
    url: str = ""
    """Address of the download, if no command is run."""
    sha256: str = ""
    path: str = ""
    """Destination of a downloaded program."""

    def to_json(self) -> Json:
        """Return the step as JSON."""
        return fields_json(self)


class RecipePlan(NamedTuple):
    """The steps to install all missing programs, planned or done."""

    steps: tuple[RecipeStep, ...]
    dry_run: bool = True

    @property
    def ready(self) -> tuple[RecipeStep, ...]:
        """Steps that can be carried out."""
        return tuple(step for step in self.steps if step.state == "ready")

    def to_json(self) -> Json:
        """Return the plan as JSON."""
        return answer_json(self)


class Rules(NamedTuple):
    """The checks of a recipe."""

    decide: Callable[[Card], Decision]
    """Returns the policy's decision about a skill."""
    judge: Callable[[Tree, str], Decision]
    """Returns the policy's decision about scripts from an address."""
    check_address: Callable[[str], None]
    """Raises RefusedError for an address that the policy of this machine does not allow."""


def plan_recipes(cards: Iterable[Card], probe: Probe, rules: Rules, home: str) -> RecipePlan:
    """Plan a step for every program that these skills lack; the first skill with a usable recipe counts."""
    found: dict[str, RecipeStep] = {}
    for card in cards:
        for kind, name, text in missing(card.gates, probe):
            if kind == "command" and (name not in found or found[name].state != "ready"):
                step = _step(card, name, text, probe, rules, home)
                if name not in found or step.state == "ready":
                    found[name] = step
    return RecipePlan(tuple(found.values()))


def _step(card: Card, name: str, text: str, probe: Probe, rules: Rules, home: str) -> RecipeStep:
    names = name.split(" or ")
    recipes = [one for one in card.gates.installs if _fits(one, names, probe)]
    runnable = [one for one in recipes if _can_follow(one, names, probe)]
    if not runnable:
        manual = next((describe(one) for one in recipes if describe(one)), "")
        return RecipeStep(name, card.full_name, "manual" if manual else "no-recipe", (), manual or text)
    best = min(runnable, key=lambda one: KINDS.index(one.kind))
    step = RecipeStep(name, card.full_name, "ready", install_command(best), best.label)
    if best.kind == "download":
        path = os.path.join(home, ".local", "bin", _program(best, names))
        told = best.label if best.sha256 else "It has no SHA-256, so Whet cannot verify it."
        step = step._replace(url=best.url, sha256=best.sha256, path=path, reason=told)
        if os.path.lexists(path):
            return step._replace(state="manual", reason=f"{path} is there. Add its directory to PATH.")
        try:
            rules.check_address(best.url)
        except RefusedError as error:
            return step._replace(state="blocked", reason=error.message)
    decision = rules.decide(card)
    return step if decision.action == "allow" else step._replace(state="blocked", reason=decision.reason)


def _can_follow(install: Install, names: Sequence[str], probe: Probe) -> bool:
    if install.kind == "download":
        return bool(_program(install, names))
    command = install_command(install)
    return bool(command) and probe.has_command(command[0]) is True


def _program(install: Install, names: Sequence[str]) -> str:
    """Return the program in a download, if it has a plain name."""
    wanted = next((name for name in names if not install.bins or name in install.bins), "")
    return wanted if _PROGRAM.fullmatch(wanted) else ""


def _fits(install: Install, names: Sequence[str], probe: Probe) -> bool:
    """Return whether a recipe is for one of these programs and for this platform."""
    platforms = {platform_name(word) for word in install.os}
    here = not platforms or probe.platform in platforms
    return here and (not install.bins or not set(install.bins).isdisjoint(names))


def run_recipes(plan: RecipePlan, env: Mapping[str, str], web: Web, rules: Rules) -> RecipePlan:
    """Carry out the ready steps of a plan one after the other; a failure does not stop the others."""
    steps = (_follow(step, env, web, rules) if step.state == "ready" else step for step in plan.steps)
    return RecipePlan(tuple(steps), dry_run=False)


def _follow(step: RecipeStep, env: Mapping[str, str], web: Web, rules: Rules) -> RecipeStep:
    if not step.url:
        return _run(step, env)
    try:
        _download(step, web, rules)
    except WhetError as error:
        return step._replace(state="failed", reason=error.message)
    directory = os.path.dirname(step.path)
    known = directory in env.get("PATH", "").split(os.pathsep)
    return step._replace(state="installed", reason="" if known else f"Add {directory} to PATH.")


def _download(step: RecipeStep, web: Web, rules: Rules) -> None:
    """Install a downloaded program. Raises WhetError."""
    response = web.get(step.url, limit=_MOST, sha256=step.sha256)
    rules.check_address(response.url)
    if response.body[:100].lstrip().lower().startswith(_PAGES):
        raise bad_response(step.url, "answers with a web page, not with a program")
    program = os.path.basename(step.path)
    item = _find_program(response.body, program)
    if b"\0" not in item.data:
        decision = rules.judge({program: item}, response.url)
        if decision.action != "allow":
            raise RefusedError("guard-blocked", decision.reason, hint="Read the script first.")
    make_directories(os.path.dirname(step.path))
    if os.path.lexists(step.path):
        raise ConflictError("file-exists", f"{step.path} already exists.", hint="Move it away.", path=step.path)
    write_bytes(step.path, item.data, mode=0o755)


def _find_program(data: bytes, name: str) -> Item:
    """Return the program: the download itself, or the file of that name in it. Raises InvalidError."""
    if not data.startswith(_ARCHIVES) and data[_TAR] != b"ustar":
        return Item(data, executable=True)
    files, _ = contents(data, limits=_LIMITS)
    fitting = [path for path in files if path.rsplit("/", 1)[-1] in (name, f"{name}.exe")]
    if not fitting:
        raise refused("archive-not-readable", f"The archive has no file {name}.")
    return files[min(fitting, key=lambda path: (not files[path].executable, path.count("/"), path))]


def _run(step: RecipeStep, env: Mapping[str, str]) -> RecipeStep:
    try:
        done = subprocess.run(  # noqa: S603  an argument list of checked words, approved by the user
            step.command, env=dict(env), stdin=subprocess.DEVNULL, stdout=2, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return step._replace(state="failed", reason=f"{step.command[0]} failed: {error}.")
    if done.returncode:
        reason = f"{step.command[0]} exited with status {done.returncode}."
        return step._replace(state="failed", reason=reason)
    return step._replace(state="installed")

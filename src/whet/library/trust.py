"""How far the skills of a library are trusted, and what the gate decides about them.

A repository's skills are scanned when it is trusted. A look that finds a main file new or changed scans that skill
before anything of it is listed, its description included; what changed beside the main file is scanned before a model
reads it. Other skills are scanned before they are recommended, or when somebody asks for it (`whet scan`, `whet
doctor`).

What the gate keeps back, wherever it lies, is remembered with a stamp of its files, so that lists know it at no cost. A
verdict is about one content: a look that finds the files of such a skill changed scans it again, and a look that finds
nothing changed scans nothing. `whet scan --all` and trusting again look at everything anew.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from whet.errors import NotFoundError, UsageError, WhetError
from whet.guard.audit import plain
from whet.guard.gate import Judgement
from whet.guard.policy import place_trust
from whet.guard.trust import Provenance
from whet.library.card import card_stamp
from whet.library.files import inside
from whet.library.standalone import read_card
from whet.library.state import Blocked
from whet.library.visibility import guard_blocked, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from whet.guard.finding import Scan
    from whet.guard.gate import Gate
    from whet.guard.policy import Decision, Table
    from whet.library.card import Card
    from whet.library.config import ResolvedConfig
    from whet.library.disclosure import Opened
    from whet.library.state import Decisions
    from whet.library.workspace import Snapshot
    from whet.values import Json

NO_ORIGINS: Mapping[str, Provenance] = {}


class SkillDecision(NamedTuple):
    """A skill, what was found in it, and what is done with it."""

    card: Card
    scan: Scan
    decision: Decision

    @property
    def judgement(self) -> Judgement:
        """What the gate keeps of it."""
        return Judgement(self.scan, self.decision)

    def to_json(self) -> Json:
        """The decision as JSON."""
        card, findings = self.card, [finding.to_json() for finding in self.scan.grave]
        about = {"name": card.full_name, "path": card.location, "scope": card.scope, "digest": self.scan.digest}
        return {**about, **self.decision.to_json(), "findings": findings}


def origin_of(card: Card, table: Table, origins: Mapping[str, Provenance] = NO_ORIGINS) -> Provenance:
    """The row of the policy for a skill; `origins` tells it of directories whose skills the user did not write."""
    if not card.root.trusted:
        return Provenance("community")
    level = place_level(card)
    if level == "local" and (origin := origins.get(card.place)):
        return origin
    return Provenance(place_trust(level, table))


def place_level(card: Card) -> str:
    """What the place of a skill says about its trust, as a row of the policy or `project` or `external`."""
    return {"org": "org", "user": "local", "project": "project"}.get(card.scope, "external")


def decide_skill(
    gate: Gate,
    card: Card,
    config: ResolvedConfig,
    *,
    trust: str = "",
    origins: Mapping[str, Provenance] = NO_ORIGINS,
) -> SkillDecision:
    """What is done with a skill as it is on disk now."""
    table = config.policy
    origin = origin_of(card, table, origins)
    return SkillDecision(
        card, *gate.decide(gate.scan_package(read_card(card), origin.place), trust or origin.trust, table)
    )


def admit(gate: Gate, decisions: Decisions, opened: Opened, config: ResolvedConfig) -> None:
    """Raise RefusedError for a repository's skill that the policy does not let in, and remember it."""
    found = decide_skill(gate, opened.card, config)
    if found.decision.action != "allow":
        remember(gate, decisions, (found,), "view", "guard")
        raise refusal(opened.card, guard_blocked(opened.card, found.decision.reason))


def review_skills(
    gate: Gate,
    decisions: Decisions,
    cards: Iterable[Card],
    config: ResolvedConfig,
    origins: Mapping[str, Provenance] = NO_ORIGINS,
) -> dict[str, Blocked | None]:
    """Decide about skills as they are now, and remember which are kept back.

    The answer is what could not be remembered, by the ids of the skills: why each is kept back, or None.
    """
    unsaved: dict[str, Blocked | None] = {}
    for card in cards:
        try:
            found = decide_skill(gate, card, config, origins=origins)
        except WhetError as error:
            unsaved[str(card.id)] = Blocked(f"It is new or changed and cannot be scanned: {error.message}")
            continue
        try:
            if found.decision.action == "allow":
                keep_back(decisions, found)
            else:
                remember(gate, decisions, (found,), "view", "guard")
        except WhetError:  # `whet doctor` tells why nothing can be written
            unsaved[str(card.id)] = _blocked(found, decisions)
    return unsaved


def review_project(gate: Gate, snapshot: Snapshot) -> tuple[SkillDecision, ...]:
    """What is done with the repository's skills once it is trusted.

    These are all of them: those that count, those that wait for trust, those another one shadows.
    """
    config, catalogue = snapshot.config, snapshot.catalogue
    trust = place_trust("project", config.policy)
    cards = (*catalogue.cards, *catalogue.waiting, *(loser for loser, _ in catalogue.shadowed))
    return tuple(decide_skill(gate, card, config, trust=trust) for card in cards if card.scope == "project")


def link_target(path: str, home: str) -> str:
    """The directory that links may lead into once the user trusts `path`, which may be such a link itself.

    Raises NotFoundError where there is none, and UsageError for one that holds the whole home or that anybody may fill.
    """
    real = os.path.realpath(path)
    if not os.path.isdir(real):
        message = f"There is no directory {os.path.normpath(path)}."
        raise NotFoundError("path-not-found", message, hint="Name a directory of skills.")
    if inside(os.path.realpath(home), real):
        hint = "Name the directory of one skill, or one that holds nothing but skills."
        raise UsageError("trust-too-wide", f"{real} holds your whole home directory.", hint=hint)
    if os.stat(real).st_mode & stat.S_IWOTH and os.name == "posix":
        message = f"Every user of this machine can write to {real}."
        raise UsageError("trust-writable", message, hint=f"Run `chmod o-w {real}` first.")
    return real


def review_directory(gate: Gate, config: ResolvedConfig, directory: str, now: int) -> tuple[SkillDecision, ...]:
    """What the guard says of the skills in a (resolved) directory that links are to lead into.

    Raises NotFoundError where there are none.
    """
    from whet.library.discovery import discover
    from whet.library.roots import Root

    root = Root(directory, "external", real=directory, home=os.path.realpath(config.place.home))
    found = discover(root, config.bounds._replace(bases=(directory,)), None, now)
    cards = sorted((card for card in found.cards() if card.kind == "skill"), key=lambda card: card.path)
    if not cards:
        hint = "Name a directory that holds skills. To trust a repository, run `whet guard trust` in it, without DIR."
        raise NotFoundError("no-skills-found", f"There are no skills in {directory}.", hint=hint)
    trust = place_trust("project", config.policy)
    return tuple(decide_skill(gate, card, config, trust=trust) for card in cards)


def remember(gate: Gate, decisions: Decisions, found: Iterable[SkillDecision], action: str, actor: str) -> None:
    """Keep back what is not let in, let the rest be, and record what was not decided the same way before."""
    for item in found:
        card, scan, decision = item
        last = gate.audit.about(card.location, action)
        if last is None or (last.digest, last.decision) != (scan.digest, decision.action):
            gate.record(action, card.full_name, card.location, item.judgement, actor)
        keep_back(decisions, item)


def keep_back(decisions: Decisions, found: SkillDecision) -> None:
    """Let lists know that a skill is not let in, or that it is."""
    blocked = _blocked(found, decisions)
    if blocked is None:
        decisions.unblock(str(found.card.id), plain(found.card.resolved))
    else:
        decisions.block(str(found.card.id), blocked)


def _blocked(found: SkillDecision, decisions: Decisions) -> Blocked | None:
    """Why a skill is kept back; None for one that is let in."""
    card, scan, decision = found
    if decision.action == "allow":
        return None
    return Blocked(plain(decision.reason), scan.verdict, card_stamp(card, decisions.clock()))

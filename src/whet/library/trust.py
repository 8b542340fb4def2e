"""The trust of skills in a library, and the guard's decisions about them.

A repository's skills are scanned when it is trusted. A look that finds a main file new or changed scans that skill
before anything of it is listed, its description included; changes in its other files are scanned before a model reads
it. Other skills are scanned before they are recommended, or on request (`whet scan`, `whet doctor`).

Blocked skills, in any root, are recorded with a stamp of their files, so that lists need no scan. A verdict is about
one content: a look that finds the files of such a skill changed scans it again, and a look that finds nothing changed
scans nothing. `whet scan --all` and trusting again scan everything again.
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
    """A skill, its scan, and the decision about it."""

    card: Card
    scan: Scan
    decision: Decision

    @property
    def judgement(self) -> Judgement:
        """The part that the gate records."""
        return Judgement(self.scan, self.decision)

    def to_json(self) -> Json:
        """Return the decision as JSON."""
        card, findings = self.card, [finding.to_json() for finding in self.scan.grave]
        about = {"name": card.full_name, "path": card.location, "scope": card.scope, "digest": self.scan.digest}
        return {**about, **self.decision.to_json(), "findings": findings}


def origin_of(card: Card, table: Table, origins: Mapping[str, Provenance] = NO_ORIGINS) -> Provenance:
    """Return the row of the policy for a skill; `origins` has the directories of skills that the user did not write."""
    if not card.root.trusted:
        return Provenance("community")
    level = place_level(card)
    if level == "local" and (origin := origins.get(card.place)):
        return origin
    return Provenance(place_trust(level, table))


def place_level(card: Card) -> str:
    """Return the trust that a skill's directory implies: a row of the policy, `project` or `external`."""
    return {"org": "org", "user": "local", "project": "project"}.get(card.scope, "external")


def decide_skill(
    gate: Gate,
    card: Card,
    config: ResolvedConfig,
    *,
    trust: str = "",
    origins: Mapping[str, Provenance] = NO_ORIGINS,
) -> SkillDecision:
    """Scan a skill as it is on disk now and decide about it."""
    table = config.policy
    origin = origin_of(card, table, origins)
    return SkillDecision(
        card, *gate.decide(gate.scan_package(read_card(card), origin.place), trust or origin.trust, table)
    )


def admit(gate: Gate, decisions: Decisions, opened: Opened, config: ResolvedConfig) -> None:
    """Raise RefusedError for a repository's skill that the policy does not allow, and record it."""
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
    """Decide about skills as they are now, and record which are blocked.

    Returns the decisions that could not be saved, by id: the reason for a block, or None.
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
        except WhetError:  # `whet doctor` reports why nothing can be written
            unsaved[str(card.id)] = _blocked(found, decisions)
    return unsaved


def review_project(gate: Gate, snapshot: Snapshot) -> tuple[SkillDecision, ...]:
    """Return the decisions about the repository's skills, as if it were trusted.

    These are all of its skills, including waiting and shadowed ones.
    """
    config, catalogue = snapshot.config, snapshot.catalogue
    trust = place_trust("project", config.policy)
    cards = (*catalogue.cards, *catalogue.waiting, *(loser for loser, _ in catalogue.shadowed))
    return tuple(decide_skill(gate, card, config, trust=trust) for card in cards if card.scope == "project")


def link_target(path: str, home: str) -> str:
    """Return the directory that links may lead into once the user trusts `path`, which may itself be a link.

    Raises NotFoundError if it does not exist, and UsageError if it contains the home or if anybody may write to it.
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
    """Return the decisions about the skills in a (resolved) directory that links may lead into once it is trusted.

    Raises NotFoundError if there are none.
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
    """Block skills that are not allowed, unblock the others, and record decisions that are new."""
    for item in found:
        card, scan, decision = item
        last = gate.audit.about(card.location, action)
        if last is None or (last.digest, last.decision) != (scan.digest, decision.action):
            gate.record(action, card.full_name, card.location, item.judgement, actor)
        keep_back(decisions, item)


def keep_back(decisions: Decisions, found: SkillDecision) -> None:
    """Record whether a skill is blocked, for lists."""
    blocked = _blocked(found, decisions)
    if blocked is None:
        decisions.unblock(str(found.card.id), plain(found.card.resolved))
    else:
        decisions.block(str(found.card.id), blocked)


def _blocked(found: SkillDecision, decisions: Decisions) -> Blocked | None:
    """Return why a skill is blocked; None if it is allowed."""
    card, scan, decision = found
    if decision.action == "allow":
        return None
    return Blocked(plain(decision.reason), scan.verdict, card_stamp(card, decisions.clock()))

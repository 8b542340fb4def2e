"""Whether a finished session is worth a skill: a pure function of its evidence, with the reason.

A session must have been hard, and its result must help the next time. Rules apply in a fixed order; the first rejection
decides. A failure alone is never captured: bad luck is not a lesson, and an unresolved failure is not a procedure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.evidence.loads import loads_of
from whet.learning.evidence.recoveries import MACHINE
from whet.learning.evidence.shell import only_looks, programs
from whet.learning.evidence.tool_calls import acts, working
from whet.learning.signals import HARD_TOOLS
from whet.learning.tables import pattern_of
from whet.values import Json, as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.distill.writer import Help
    from whet.learning.evals.gate import Verdict
    from whet.learning.evidence.session import Evidence, Step
    from whet.learning.transcripts.events import Event, Transcript

HARD = "hard"
CODES = {
    HARD: "The session was difficult, and its lessons can be reused.",
    "no-steps": "It did nothing that can be repeated.",
    "upkeep": "It was about the skill library itself.",
    "kept-already": "The agent already wrote a skill from it, and little happened after that.",
    "easy": "It was easy: few calls that worked, no errors but bad luck, no corrections.",
    "unresolved": "It did not succeed.",
    "secret": "What it wrote is secret.",
    "one-off": "The user said that it is a one-off.",
    "skill-sufficed": "A skill was used and worked; there is nothing to add.",
}
"""Every verdict, and its meaning."""
_STUCK = ("the last test or build failed", "the last call failed", "the user's last word was a correction")
_KEEPING = frozenset(("skill_manage", "skill_create"))
"""Tools with which an agent writes skills itself."""
_SKILLS = re.compile(
    r"(?:\A|[/\\])(?:SKILL\.md\Z|\.?(?:agents|claude|codex|hermes|whet)[/\\](?:[^\n]{0,80}[/\\])?skills[/\\])"
)
_SECRET = "[secret"  # noqa: S105  how a transcript marks what it hides
_SAYS_SECRET = re.compile(r"\b(?:echo|printf|cat\s*<<)[^|;&]{0,400}\[secret")
_SHARE = 0.5


class Report(NamedTuple):
    """The result of one session. None for fields that do not apply."""

    captured: bool
    code: str
    why: tuple[str, ...]
    """Sentences; the first is the deciding reason."""
    evidence: tuple[int, ...] = ()
    """Numbers of its events."""
    session: str | None = None
    action: str | None = None
    """`create` or `improve`."""
    skill: str | None = None
    gate: Verdict | None = None
    model: Help | None = None
    preview: str | None = None
    """The text that a dry run would write."""
    version: str | None = None
    place: str | None = None
    """The directory of the skill."""
    staged: bool | None = None
    """Whether it waits as a proposal; False if it is written."""
    proposal: int | None = None
    entries: tuple[int, ...] | None = None
    """Entries in the history."""
    error: str | None = None
    hint: str | None = None
    warnings: tuple[str, ...] | None = None

    def to_json(self) -> Json:
        """Return the report as JSON."""
        return {name: as_json(value) for name, value in self._asdict().items() if value is not None}


def judge(evidence: Evidence, transcript: Transcript) -> Report:
    """Decide whether this session is worth a skill."""
    events = transcript.events
    said = [event.text[:2_000] for event in events if event.kind == "user"]
    errors = [
        one for one in evidence.recoveries if not MACHINE.search(one.said)
    ]  # problems that others would have, too
    worked = sum(not act.failed for act in working(acts(events)))
    why: list[str] = []
    where: list[int] = []
    if worked >= HARD_TOOLS:
        why.append(f"It took {worked} tool calls.")
        where += [at for step in evidence.steps for at in step.evidence]
    if errors:
        why.append(f"{len(errors)} {'error was' if len(errors) == 1 else 'errors were'} resolved.")
        where += [at for one in errors for at in one.evidence]
    if evidence.rules:
        why.append("The user corrected it, or set a rule.")
        where += _where_said(evidence.rules, events)
    refusals = (
        ("no-steps", not evidence.calls or _only_looked(evidence)),
        ("upkeep", _is_upkeep(evidence.steps)),
        ("kept-already", _is_kept(evidence, events)),
        ("secret", _is_secret(evidence)),
        ("unresolved", _is_unresolved(evidence, events)),
        ("no-steps", not evidence.steps),
        ("easy", not why),
        ("one-off", any(pattern_of("once").search(text) for text in (evidence.request, *said))),
        ("skill-sufficed", bool(evidence.skills) and not errors and not evidence.rules and _covered(evidence, events)),
    )
    code = next((code for code, holds in refusals if holds), HARD)
    signs = [f"Signs: {', '.join(evidence.signals)}."] if code == "unresolved" and evidence.signals else []
    return Report(code == HARD, code, (CODES[code], *(why if code == HARD else signs)), tuple(sorted(set(where))))


def _where_said(rules: Sequence[str], events: Sequence[Event]) -> list[int]:
    """Return the numbers of the events with the user's corrections; some clients keep them in a result."""
    said = ((at, event.text) for at, event in enumerate(events) if event.kind in ("user", "result"))
    return [at for at, text in said if any(rule in text for rule in rules)]


def _only_looked(evidence: Evidence) -> bool:
    looked = all(step.tool == "Bash" and only_looks(step.action) for step in evidence.steps)
    return looked and bool(evidence.steps) and not evidence.rules


def _is_upkeep(steps: Sequence[Step]) -> bool:
    """Return whether at least half of the steps were for the library itself."""
    own = 0
    for step in steps:
        ran = [one.label.partition(" ")[0] for one in programs(step.action) if one.label] if step.tool == "Bash" else []
        own += 2 * ran.count("whet") >= len(ran) > 0 or _SKILLS.search(step.path) is not None
    return 2 * own >= len(steps) > 0


def _is_kept(evidence: Evidence, events: Sequence[Event]) -> bool:
    kept = [act.at for act in acts(events) if act.tool in _KEEPING and not act.failed]
    if not kept:
        return False
    after = sum(act.at > kept[-1] for act in working(acts(events)))
    return after < HARD_TOOLS and all(at < kept[-1] for at in _where_said(evidence.rules, events))


def _is_secret(evidence: Evidence) -> bool:
    """Return whether a file for secrets was written, not one that also contains a secret."""
    for text in (text for file in evidence.files for text in (file.content, *(new for _, new in file.changes))):
        lines = [line for line in text.split("\n") if line.strip()]
        if 2 * sum(_SECRET in line for line in lines) >= max(1, len(lines)):
            return True
    return any(_SAYS_SECRET.search(step.action) for step in evidence.steps if step.tool == "Bash")


def _is_unresolved(evidence: Evidence, events: Sequence[Event]) -> bool:
    if evidence.succeeded == "yes":
        return False
    if evidence.succeeded == "no" or not evidence.resolved or any(sign in evidence.signals for sign in _STUCK):
        return True
    spoken = [event for event in events if event.kind != "note" or event.about == "interrupted"]
    return bool(spoken) and spoken[-1].about == "interrupted"


def _covered(evidence: Evidence, events: Sequence[Event]) -> bool:
    """Return whether the used skills cover the steps; True if their text is not in the transcript."""
    text = "\n".join(load.text for load in loads_of(events))
    commands = {
        ran.label for step in evidence.steps if step.tool == "Bash" for ran in programs(step.action) if ran.label
    }
    if len(text) < 200 or len(commands) < 3:  # only the name is there, or too little was run
        return True
    return sum(label in text for label in commands) >= _SHARE * len(commands)

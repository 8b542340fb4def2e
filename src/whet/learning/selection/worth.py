"""Is a finished session worth a skill? A pure function of what is known of it; the answer says why.

A session has to have been hard, and what it found has to be something that helps the next time. Rules are asked in a
fixed order; the first that says no decides. Nothing is ever captured only because something went wrong: bad luck is not
a lesson, and a failure that nobody got over is not a procedure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whet.learning.evidence.loads import loads_of
from whet.learning.evidence.recoveries import LUCK, MACHINE, SLIP
from whet.learning.evidence.shell import only_looks, programs, shape
from whet.learning.evidence.tool_calls import acts
from whet.learning.signals import HARD_TOOLS, corrects
from whet.learning.transcripts.tools import is_plumbing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.evidence.recoveries import Recovery
    from whet.learning.evidence.session import Evidence
    from whet.learning.evidence.tool_calls import Act
    from whet.learning.transcripts.events import Event, Transcript

HARD = "hard"
CODES = {
    HARD: "The session was difficult, and its lessons can be reused.",
    "only-talk": "It was only questions and answers.",
    "only-reading": "It only looked at things and changed nothing.",
    "upkeep": "It was about the skill library itself.",
    "kept-already": "The agent already wrote a skill from it, and little happened after that.",
    "easy": "It was easy: few calls, no failures, no corrections.",
    "bad-luck": "It was only hard because of bad luck or this machine.",
    "unresolved": "It did not succeed.",
    "secret": "What it wrote is secret.",
    "one-off": "The user said that it is a one-off.",
    "no-steps": "No step can be repeated.",
    "skill-sufficed": "A skill was used and worked; there is nothing to add.",
}
"""Every verdict, and what it means."""
_ONCE = re.compile(
    r"(?i)\b(?:just (?:this|for) once|only this once|one[- ]off|one[- ]time (?:thing|job|only|migration|script|fix)"
    r"|throw[- ]?away|never (?:need|do) (?:this|it) again|won't need (?:this|it) again|not worth (?:keeping|automating)"
    r"|nur dieses eine mal|einmalig)\b"
)
_REFUSED = re.compile(r"(?i)the user said|reason for the rejection|user (?:feedback|message)\s*:")
"""What a client writes into the result of a call that the user did not allow."""
_STUCK = ("the last test or build failed", "the last call failed", "the user's last word was a correction")
_SHARE = 0.5


class Verdict(NamedTuple):
    """Whether to capture a session."""

    capture: bool
    why: tuple[str, ...]
    """Sentences; the first is what decided."""
    code: str = HARD
    evidence: tuple[int, ...] = ()
    """Numbers of the events that it rests on."""
    skills: tuple[str, ...] = ()
    """Skills that were used and did not quite do; an improvement belongs into one of them."""


def judge(evidence: Evidence, transcript: Transcript) -> Verdict:
    """Is this session worth a skill?"""
    events = transcript.events
    work = work_of(events)
    hard, where = _hardness(evidence, events, work)
    refusal = _refusal(evidence, events, work, hard=bool(hard))
    if refusal:
        return Verdict(False, (CODES[refusal], *_told(refusal, evidence, work)), refusal, where)
    return Verdict(True, (CODES[HARD], *hard), HARD, where, evidence.skills)


def _hardness(evidence: Evidence, events: Sequence[Event], work: Work) -> tuple[list[str], tuple[int, ...]]:
    """What was hard about it, and where."""
    why: list[str] = []
    where: list[int] = []
    if work.calls >= HARD_TOOLS:
        why.append(f"It took {work.calls} tool calls.")
        where += [at for step in evidence.steps for at in step.evidence]
    if ends := [end for end in evidence.recoveries if taught(end)]:
        why.append(f"{len(ends)} {'error was' if len(ends) == 1 else 'errors were'} resolved.")
        where += [at for end in ends for at in end.evidence]
    elif over := got_over(work):
        why.append(f"{len(over)} {'failure was' if len(over) == 1 else 'failures were'} overcome.")
        where += [act.at for act in over]
    if right := put_right(evidence, events):
        why.append("The user corrected it, or set a rule.")
        where += right
    return why, tuple(sorted(set(where)))


def put_right(evidence: Evidence, events: Sequence[Event]) -> list[int]:
    """The numbers of the messages with which the user put something right; those after the first count."""
    users = [at for at, event in enumerate(events) if event.kind == "user" and event.text.strip()]
    first = next(
        (at for at in users if events[at].text.strip()[:200] == evidence.request.strip()[:200]),
        users[0] if users else -1,
    )
    found = [at for at in users if at > first and corrects(events[at].text)]
    if found or not evidence.rules:
        return found
    later = [at for at in users if at > first]
    refused = [at for at, event in enumerate(events) if event.kind == "result" and _REFUSED.search(event.text[:4_000])]
    return later[-1:] or refused


def _refusal(evidence: Evidence, events: Sequence[Event], work: Work, *, hard: bool) -> str:
    """The rule that speaks against it, or ""."""
    right = bool(put_right(evidence, events))
    deviates = right or bool(got_over(work)) or any(taught(end) for end in evidence.recoveries)
    rules = (
        ("only-talk", not work.every and not work.kept),
        ("upkeep", _is_mostly_upkeep(work)),
        ("kept-already", _is_kept(evidence, events, work)),
        ("only-reading", not any(does(act) for act in work.every)),
        ("secret", _is_secret(work)),
        ("unresolved", _is_unresolved(evidence, events, work)),
        ("bad-luck", not hard and bool(work.luck)),
        ("easy", not hard),
        ("one-off", _is_once(evidence, events)),
        ("skill-sufficed", bool(evidence.skills) and not deviates and _covered(evidence, events)),
        ("no-steps", not evidence.steps and not evidence.rules),
    )
    return next((code for code, holds in rules if holds), "")


def _told(refusal: str, evidence: Evidence, work: Work) -> list[str]:
    """What else is worth saying about a refusal."""
    if refusal == "unresolved":
        return (
            [f"Signs: {', '.join(evidence.signals)}."] if evidence.signals else ["The last failure was not overcome."]
        )
    if refusal in ("easy", "bad-luck"):
        return [f"Without bad luck it took {work.calls} tool {'call' if work.calls == 1 else 'calls'}."]
    return [f"Used: {', '.join(evidence.skills)}."] if refusal == "skill-sufficed" else []


def _is_mostly_upkeep(work: Work) -> bool:
    """Was at least half of what was done for the library?"""
    own = len(work.upkeep) + len(work.kept)
    others = sum(act not in work.upkeep for act in work.doing)
    return len(work.upkeep) > 0 and own >= others


def _is_kept(evidence: Evidence, events: Sequence[Event], work: Work) -> bool:
    if not work.kept:
        return False
    last = work.kept[-1].at
    return sum(act.at > last for act in work.every) < HARD_TOOLS and all(
        at < last for at in put_right(evidence, events)
    )


def _is_secret(work: Work) -> bool:
    doing = [act for act in work.doing if act not in work.needless]
    if any(map(keeps_credentials, doing)):
        return True
    return bool(doing) and sum(map(stores_secret, doing)) >= _SHARE * len(doing)


def _is_unresolved(evidence: Evidence, events: Sequence[Event], work: Work) -> bool:
    if evidence.succeeded == "yes":
        return False
    if evidence.succeeded == "no" or any(sign in evidence.signals for sign in _STUCK):
        return True
    spoken = [event for event in events if event.kind != "note" or event.about == "interrupted"]
    if spoken and spoken[-1].about == "interrupted":
        return True
    failures = [*work.hitches, *work.luck]
    return not evidence.resolved or (bool(failures) and not work.doing)


def _is_once(evidence: Evidence, events: Sequence[Event]) -> bool:
    said = [evidence.request, *(event.text[:2_000] for event in events if event.kind == "user")]
    return any(_ONCE.search(text) for text in said)


def _covered(evidence: Evidence, events: Sequence[Event]) -> bool:
    """Does what was done stand in the skills that were used? True where their text is not in the transcript."""
    text = "\n".join(load.text for load in loads_of(events))
    commands = {
        ran.label for step in evidence.steps if step.tool == "Bash" for ran in programs(step.action) if ran.label
    }
    if len(text) < 200 or len(commands) < 3:  # only the name is there, or too little was run to tell
        return True
    return sum(label in text for label in commands) >= _SHARE * len(commands)


READING = frozenset(("Read", "Search", "Web", "Glob", "Grep", "LS", "WebFetch", "WebSearch", "NotebookRead"))
"""Tools that change nothing."""
WRITING = frozenset(("Write", "Edit", "NotebookEdit"))
KEEPING = frozenset(("skill_manage", "skill_create"))
"""Tools with which an agent writes skills itself."""
_OUTPUT = 4_000

_INSTALL = re.compile(
    r"\b(?:apt(?:-get)?|brew|dnf|yum|apk|pacman|pip3?|pipx|npm|pnpm|yarn|cargo|gem|go|uv|conda|snap|choco|winget|scoop)\b"
    r"[^|;&\n]{0,40}\b(?:install|add|-S|get)\b"
)
_SKILLS = re.compile(
    r"(?:\A|[/\\])(?:SKILL\.md\Z|\.?(?:agents|claude|codex|hermes|whet)[/\\](?:[^\n]{0,80}[/\\])?skills[/\\])"
)
_STORES = re.compile(r"\[secret")
_PUTS = re.compile(r"\b(?:echo|printf|tee|export|cat\s*<<|secret set|kv put|put-secret|create-secret|setx|add-generic)")

_SAYS = re.compile(r"\b(?:echo|printf|cat\s*<<)[^|;&]{0,400}\[secret")


class Work(NamedTuple):
    """What was done in a session; every item is a call with its result."""

    every: tuple[Act, ...]
    """The calls that were work, in order."""
    doing: tuple[Act, ...]
    """Those that worked and did more than look."""
    hitches: tuple[Act, ...]
    """Failures that the next one would run into, too."""
    luck: tuple[Act, ...]
    """Failures that were bad luck, or only of this machine."""
    needless: tuple[Act, ...]
    """What bad luck cost: the failures themselves, trying again, installing what was missing."""
    upkeep: tuple[Act, ...]
    """What was done to the library of skills itself."""
    kept: tuple[Act, ...]
    """Calls with which the agent wrote a skill."""

    @property
    def calls(self) -> int:
        """How many calls the task took, without what bad luck and writing skills cost."""
        return len(self.every) - len(self.needless)


def work_of(events: Sequence[Event]) -> Work:
    """The work of a session."""
    found = acts(events)
    every = tuple(act for act in found if not is_plumbing(act.tool))
    kept = tuple(act for act in found if act.tool in KEEPING and not act.failed)
    failed = [act for act in every if act.failed and not SLIP.search(act.output[:_OUTPUT])]
    luck = tuple(act for act in failed if is_luck(act.output[-_OUTPUT:]) or MACHINE.search(act.output[-_OUTPUT:]))
    hitches = tuple(act for act in failed if act not in luck)
    return Work(
        every=every,
        doing=tuple(act for act in every if does(act) and not act.failed),
        hitches=hitches,
        luck=luck,
        needless=tuple(_needless(every, luck)),
        upkeep=tuple(act for act in every if _is_upkeep(act)),
        kept=kept,
    )


def does(act: Act) -> bool:
    """Does a call do more than look?"""
    if act.tool == "Bash":
        command = act.text("command")
        return not only_looks(command) or _redirects(command)
    return act.tool not in READING


def is_luck(text: str) -> bool:
    """Does an error go away by itself?"""
    return LUCK.search(text) is not None


def taught(end: Recovery) -> bool:
    """Is a dead end one that others would run into?"""
    return not is_luck(end.said) and MACHINE.search(end.said) is None


def got_over(work: Work) -> tuple[Act, ...]:
    """The failures that were followed by a success of the same kind."""
    return tuple(act for act in work.hitches if any(_again(act, other) for other in work.every if other.at > act.at))


def stores_secret(act: Act) -> bool:
    """Is a secret what a call writes down, rather than what it is allowed with?"""
    if act.tool in WRITING:
        return any(_STORES.search(act.text(key)) for key in ("content", "new"))
    command = act.text("command")
    return bool(_STORES.search(command) and _PUTS.search(command))


def keeps_credentials(act: Act) -> bool:
    """Does a call write a file that is there for secrets, rather than one in which there is one, too?"""
    if act.tool in WRITING:
        lines = [line for key in ("content", "new") for line in act.text(key).split("\n") if line.strip()]
        return 2 * sum(_STORES.search(line) is not None for line in lines) >= max(1, len(lines))
    command = act.text("command")
    return _SAYS.search(command) is not None and _redirects(command)


def _again(failed: Act, other: Act) -> bool:
    if other.failed or not other.answered:
        return False
    if failed.tool == other.tool == "Bash":
        first, second = set(shape(failed.text("command"))), set(shape(other.text("command")))
        return does(other) and (bool(first & second) or not first)
    if {failed.tool, other.tool} <= WRITING:
        return failed.text("path") == other.text("path")
    return failed.tool == other.tool


def _needless(every: Sequence[Act], luck: Sequence[Act]) -> list[Act]:
    """The failures of bad luck, the installations after them; trying again costs nothing more than the one call."""
    unlucky = {act.at for act in luck}
    machine = [act.at for act in luck if MACHINE.search(act.output[-_OUTPUT:])]
    first = min(machine, default=-1)
    room = [act.at for act in luck if re.search(r"(?i)no space|ENOSPC|disk|quota", act.output[-_OUTPUT:])]
    cleared = min(room, default=-1)
    return [
        act
        for act in every
        if act.at in unlucky
        or (first >= 0 and act.at > first and _INSTALL.search(act.text("command")))
        or (
            cleared >= 0
            and act.at > cleared
            and re.match(r"\s*(?:rm|df|du|docker system prune)\b", act.text("command"))
        )
        or re.match(r"\s*(?:sleep|ping|curl -I|nslookup|dig)\b", act.text("command"))
    ]


def _redirects(command: str) -> bool:
    """`cat > file` and the like look like looking."""
    return re.search(r"(?<![0-9&>])>{1,2}\s*(?!/dev/null|&)[\w./~$\"'{-]", command) is not None or "| tee" in command


def _is_upkeep(act: Act) -> bool:
    if act.tool == "Bash":
        ran = [one.label.partition(" ")[0] for one in programs(act.text("command")) if one.label]
        return bool(ran) and ran.count("whet") * 2 >= len(ran)
    return act.tool in WRITING and _SKILLS.search(act.text("path")) is not None

"""Did it work out? Signs that can be seen: the last test or build, what the user said at the end, the last answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whet.learning.facts.criteria import BUILDING, TESTING
from whet.learning.signals import corrects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whet.learning.facts.acts import Act
    from whet.learning.facts.model import Outcome
    from whet.learning.transcripts.events import Event

_THANKS = re.compile(
    r"(?i)\b(?:thanks|thank you|thx|perfect|great|awesome|excellent|lovely|nice|works(?: now| great| fine)?"
    r"|that(?:'s| is) it|lgtm"
    r"|looks good|well done|exactly|merci|danke|gracias)\b"
)
_DONE = re.compile(
    r"(?i)\b(?:done|complete[d]?|finished|success(?:ful(?:ly)?)?|all (?:tests|checks) pass\w*|is (?:now )?(?:ready"
    r"|live|fixed|in place)"
    r"|has been (?:\w+ed|written|built)|have been \w+ed|saved (?:to|as|at)|written to|wrote|everything (?:works|passes)"
    r"|now (?:works|passes)|summary of|here(?:'s| is) (?:a |the )?summary)\b"
)
_NOT_DONE = re.compile(
    r"(?i)\b(?:(?:i|we) (?:could not|couldn't|was not able|wasn't able|am unable|was unable|were unable"
    r"|did not manage|cannot|can't)"
    r"|still (?:fails?|failing|broken|does not|doesn't)|gave up|(?:is|remains|are) (?:unresolved|blocked"
    r"|not (?:yet )?(?:working|fixed))"
    r"|ran out of time)\b"
)


def outcome_of(events: Sequence[Event], found: Sequence[Act], first: int) -> tuple[Outcome, tuple[str, ...]]:
    """Yes, no or unknown, with the reasons."""
    good: list[str] = []
    bad: list[str] = []
    checks = [act for act in found if _checks(act)]
    if checks:
        (bad if checks[-1].failed else good).append(
            "the last test or build " + ("failed" if checks[-1].failed else "passed")
        )
    elif found and found[-1].failed:
        bad.append("the last call failed")
    final = next((event.text for event in reversed(events) if event.kind == "assistant"), "")
    if final:
        told = final[-1_500:]
        if _NOT_DONE.search(told):
            bad.append("the last answer says that it did not work")
        elif _DONE.search(final[:1_500]) or _DONE.search(told):
            good.append("the last answer says that it is done")
    users = [(at, event.text) for at, event in enumerate(events) if event.kind == "user" and at > first]
    if users:
        at, last = users[-1]
        after = any(event.kind == "call" for event in events[at:])
        if corrects(last) and not after:
            bad.append("the user's last word was a correction")
        elif _THANKS.search(last[:200]) and not corrects(last):
            good.insert(0, "the user was content")
    if "the user was content" in good and "the user's last word was a correction" not in bad:
        return "yes", (*good, *bad)
    if bad:
        return ("no" if not good or len(bad) > 1 else "unknown"), (*bad, *good)
    return ("yes" if good else "unknown"), tuple(good)


def _checks(act: Act) -> bool:
    command = act.text("command")
    return bool(command) and act.answered and bool(TESTING.search(command) or BUILDING.search(command))

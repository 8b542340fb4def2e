"""All the facts of a session put together."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from whet.learning.facts.corrections import corrections_of
from whet.learning.facts.criteria import BUILDING, TESTING
from whet.learning.facts.failures import dead_ends_of, resolved
from whet.learning.facts.goal import goal_of, request_of, requirements_of, without_asides
from whet.learning.facts.knowledge import insights_of, knowledge_of
from whet.learning.facts.loads import skills_of
from whet.learning.facts.model import Facts, ToolUse
from whet.learning.facts.parameters import parameters_of
from whet.learning.facts.prose import spoken
from whet.learning.facts.reverted import settled
from whet.learning.facts.shell import programs
from whet.learning.facts.steps import steps_of
from whet.learning.facts.tool_calls import acts, working
from whet.learning.signals import corrects

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.learning.facts.model import Outcome
    from whet.learning.facts.tool_calls import Act
    from whet.learning.transcripts.events import Event, Transcript

_TRACE = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|File \"[^\"\n]{1,300}\", line \d+"
    r"|at [\w.$<>/ ]{1,120}\([^()\n]{1,300}\)\s*\Z"
    r"|Caused by: |\.\.\. \d+ more\Z|goroutine \d+ \[|panic: |npm ERR! |E {3,}\S|thread '[^'\n]{1,60}' panicked"
    r"|[\w.]{0,120}\w(?:Error|Exception|Fault)\b(?:: |\s*\Z)"
    r"|\[?(?:ERROR|FATAL|CRITICAL|WARN(?:ING)?|INFO|DEBUG)\b[\]: |]"
    r"|\[?(?:19|20)\d\d[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[.,\]| ]|\w{3} [ \d]\d \d\d:\d\d:\d\d "
    r"|Process exited with |Segmentation fault|fatal: |error(?:\[E\d+\])?: "
    r"|\S{1,200}:\d+:\d+: (?:error|warning|note)\b)"
)
"""A line that a program printed."""
_BEGINS = re.compile(r"\s*(?:Traceback \(most recent call last\)|goroutine \d+ \[|Exception in thread )")
_INDENTED = re.compile(r"(?: {2,}|\t)\S")
_FENCE = re.compile(r"[ \t]{0,8}(`{3,}|~{3,})")
_TROUBLE = re.compile(
    r"(?i)\b(?:i(?:'m| am)? (?:get|getting|got|see|seeing|saw)|we (?:get|see|got)"
    r"|it (?:says|prints|said|shows|fails|crashes)"
    r"|errors?|fail(?:s|ed|ing|ure)?|crash\w*|exceptions?|tracebacks?|stack ?traces?|logs?|broken|bug|doesn't work"
    r"|does not work|not working|happens|warnings?)\b"
)


def without_pasted(text: str) -> str:
    """A message without what a program printed."""
    kept: list[str] = []
    block: list[str] = []
    fence, trace = "", False
    for line in text.replace("\r\n", "\n").split("\n"):
        opening = _FENCE.match(line)
        if fence:
            block.append(line)
            if opening and opening[1].startswith(fence) and not line.strip().strip(fence[0]):
                kept += [""] if _is_output(block, kept) else block
                fence = ""
            continue
        if opening:
            fence, block, trace = opening[1][:3], [line], False
        elif _TRACE.match(line):
            trace = trace or _BEGINS.match(line) is not None or _INDENTED.match(line) is not None
            kept.append("")
        elif not (trace and _INDENTED.match(line)):
            trace = False
            kept.append(line)
    kept += [] if not fence or _is_output(block, kept) else block
    return "\n".join(kept).strip()


def _is_output(block: list[str], before: list[str]) -> bool:
    """Is a block what a program printed, by its lines or by the sentence above it?"""
    above = next((line for line in reversed(before) if line.strip()), "")
    return any(_TRACE.match(line) for line in block[1:]) or _TROUBLE.search(re.split(r"[.!?]\s", above)[-1]) is not None


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


MOST_FILES = 200
MOST_TOOLS = 200
_HOMES = ("~", "~/", ".", "$HOME")


def facts(transcript: Transcript) -> Facts:
    """What is known of a session."""
    events = _by_the_user(transcript.events)
    every = acts(events)
    done = list(working(every))
    first, request = request_of(events, [act.at for act in done])
    asked = without_asides(without_pasted(request)) or request
    goal = goal_of(asked)
    requirements = requirements_of(asked, goal)
    corrections = corrections_of(events, first, done)
    parameters = parameters_of(asked, goal, _story(asked, goal, requirements), corrections, done, transcript.project)
    homes = (*_HOMES, *(one.example for one in parameters if one.name in ("workdir", "home_dir")))
    succeeded, signals = outcome_of(events, done, first)
    stays = settled(events, first, request, done)
    return Facts(
        goal=goal,
        request=request,
        requirements=requirements,
        parameters=parameters,
        steps=steps_of(stays.acts, homes, request),
        dead_ends=dead_ends_of(stays.acts, homes, _turns(events), stays.objections),
        corrections=corrections,
        tools=_tools(stays.acts),
        files=_files(stays.acts),
        knowledge=(
            *knowledge_of(events, every, request),
            *insights_of(_without(events, every, stays.dropped), stays.acts, request, parameters),
        ),
        succeeded=succeeded,
        signals=signals,
        resolved=resolved(done),
        skills=skills_of(events),
        calls=len(done),
    )


def _by_the_user(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events with what was told to subagents as notes: it looks like a message of the user and is none."""
    told = {
        _beginning(prompt)
        for event in events
        if event.tool == "Task" and isinstance(prompt := event.given.get("prompt"), str)
    }
    return tuple(
        event._replace(kind="note", about="subagent")
        if event.kind == "user" and _beginning(event.text) in told
        else event
        for event in events
    )


def _without(events: Sequence[Event], every: Sequence[Act], dropped: Collection[int]) -> tuple[Event, ...]:
    """The events with what was said before calls that were taken back as notes: it explains what nobody wanted."""
    said = {text for act in every if act.at in dropped for text in (act.said, act.thought) if text}
    return tuple(
        event._replace(kind="note", about="withdrawn") if event.kind != "user" and event.text in said else event
        for event in events
    )


def _turns(events: Sequence[Event]) -> list[int]:
    """Where the user spoke, but for questions, which are only answered."""
    return [at for at, event in enumerate(events) if event.kind == "user" and not event.text.rstrip().endswith("?")]


def _beginning(text: str) -> str:
    return " ".join(text[:400].split())[:200]


def _story(request: str, goal: str, requirements: Sequence[str]) -> str:
    """What of a request is neither what is wanted nor how: the single case."""
    kept = "\n".join((goal, *requirements)).lower()
    return "\n".join(sentence for sentence in spoken(request) if sentence.lower().rstrip(" .") not in kept)


def _tools(done: Sequence[Act]) -> tuple[ToolUse, ...]:
    """Every tool that was used and did not fail, to the sub-command, in the order of first use."""
    counts: Counter[tuple[str, str]] = Counter()
    for act in done:
        if act.failed:
            continue
        labels = {ran.label for ran in programs(act.text("command")) if ran.label} if act.tool == "Bash" else {""}
        counts.update((act.tool, label) for label in sorted(labels))
    return tuple(ToolUse(tool, command, count) for (tool, command), count in list(counts.items())[:MOST_TOOLS])


def _files(done: Sequence[Act]) -> tuple[str, ...]:
    written = (act.text("path") for act in done if act.tool in ("Write", "Edit", "NotebookEdit") and not act.failed)
    return tuple(dict.fromkeys(path for path in written if path))[:MOST_FILES]

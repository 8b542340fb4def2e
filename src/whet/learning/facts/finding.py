"""All the facts of a session put together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from whet.learning.facts.acts import acts, working
from whet.learning.facts.asking import goal_of, request_of, requirements_of
from whet.learning.facts.corrections import corrections_of
from whet.learning.facts.insights import insights_of
from whet.learning.facts.knowledge import knowledge_of
from whet.learning.facts.mishaps import dead_ends_of, resolved
from whet.learning.facts.model import Facts, ToolUse
from whet.learning.facts.outcome import outcome_of
from whet.learning.facts.parameters import parameters_of
from whet.learning.facts.pasted import without_pasted
from whet.learning.facts.shell import programs
from whet.learning.facts.steps import steps_of
from whet.learning.facts.withdrawn import settled
from whet.learning.facts.wording import spoken

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from whet.learning.facts.acts import Act
    from whet.learning.transcripts.events import Event, Transcript

MOST_FILES = 200
MOST_TOOLS = 200
_HOMES = ("~", "~/", ".", "$HOME")


def facts(transcript: Transcript) -> Facts:
    """What is known of a session."""
    events = _by_the_user(transcript.events)
    every = acts(events)
    done = list(working(every))
    first, request = request_of(events, [act.at for act in done])
    asked = without_pasted(request) or request
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
        skills=_skills(transcript),
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


def _skills(transcript: Transcript) -> tuple[str, ...]:
    notes = (event.about.partition(":")[2] for event in transcript.events if event.about.startswith("skill:"))
    asked = (event.given.get("skill") for event in transcript.events if event.kind == "call" and event.tool == "Skill")
    return tuple(dict.fromkeys(name for name in (*notes, *asked) if isinstance(name, str) and name))[:40]

"""The evidence of a session: the request, successful steps, files, resolved errors, and messages.

Everything is verbatim, with the numbers of its events. The writer of the skill, a model or a person, rewords it.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from whet.guard.syntax import language_of
from whet.learning.evidence.loads import skills_of
from whet.learning.evidence.recoveries import Recovery, recoveries_of, resolved, same_thing
from whet.learning.evidence.shell import only_looks, programs, shape
from whet.learning.evidence.tool_calls import acts, parts, reversed_by, working
from whet.learning.evidence.values import Value, values_of
from whet.learning.signals import corrects
from whet.learning.tables import pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whet.learning.evidence.tool_calls import Act
    from whet.learning.transcripts.events import Event, Transcript

Outcome = Literal["yes", "no", "unknown"]
ENDED = {"yes": "It worked.", "no": "It did not work.", "unknown": "The session does not show whether it worked."}
"""Outcomes of a session, in words."""

REQUEST = 8_000
"""Characters of the request."""
_MESSAGE = 600
"""Characters of a later message of the user."""
_SAID = 4_000
"""Characters of the agent's last message."""
ACTION = 16_000
"""Characters of a text that are searched for names."""
MOST_STEPS = 40
_MOST_RULES = 20
_MOST_INPUTS = 20
_MOST_TOOLS = 200
_MOST_NAMES = 2_000
"""Number of programs, options and paths of a session."""
_LOOKED_BACK = 12
"""Number of steps that are searched for an earlier attempt."""
_SAME = 0.6
"""The share of words that two attempts at the same thing have in common."""

TESTING = pattern_of("testing")
BUILDING = pattern_of("building")
_REJECTED = re.compile(
    r"(?:the user said|reason for the rejection|user (?:feedback|message))\s*:\s*(.{3,600})", re.IGNORECASE | re.DOTALL
)
"""The user's words in the result of a call that they did not allow."""
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_PLAN = re.compile(
    r"(?i)(?:\A|[.!:;,—]\s+|\n)(?:(?:now|next|then|first|also|finally|so),? )?(?:let me|let's|i'll|i will|i'm going to)"
    r"(?: (?:now|next|then|first|also|just))? (?P<plan>[a-z](?:[^.:!?;\n—]|[.:](?=\S)){7,120})(?=[.:!?;\n—]|\Z)"
)
"""An agent's announcement of its next step."""
_COMMENT = re.compile(r"\s*(?:\\\s*)?#(?!!)\s*(?P<plan>\w[^\n]{5,120})")


class Step(NamedTuple):
    """One successful step."""

    tool: str
    action: str
    """The command as given; for another tool, its input or ""."""
    about: str = ""
    """The agent's description of the call, if the client keeps it."""
    path: str = ""
    """The file that was written or changed."""
    evidence: tuple[int, ...] = ()
    """Numbers of its events."""

    @property
    def title(self) -> str:
        """The step in a line."""
        if self.path:
            return f"{self.tool} {self.path}"
        return self.about or self.action.strip().partition("\n")[0][:160] or self.tool


class File(NamedTuple):
    """A file that was written or changed."""

    path: str
    content: str = ""
    """The whole final text; "" if the session does not have it."""
    changes: tuple[tuple[str, str], ...] = ()
    """For an existing file: replaced texts with their replacements."""

    @property
    def language(self) -> str:
        """Its language in the form of code fences; "" for plain text."""
        return language_of(self.path)


class ToolUse(NamedTuple):
    """A tool, and for a shell the program and sub-command."""

    tool: str
    command: str
    """`git commit`, `python3 scripts/fill.py`; "" for a tool without commands."""
    times: int


class Evidence(NamedTuple):
    """The evidence of a session."""

    request: str
    """The user's first request, verbatim."""
    follow_ups: tuple[str, ...] = ()
    """The user's later requests."""
    rules: tuple[str, ...] = ()
    """The user's corrections and rules, verbatim."""
    inputs: tuple[Value, ...] = ()
    """The values that the user gave."""
    steps: tuple[Step, ...] = ()
    files: tuple[File, ...] = ()
    recoveries: tuple[Recovery, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    skills: tuple[str, ...] = ()
    """The loaded skills."""
    said: str = ""
    """The agent's last message."""
    names: tuple[str, ...] = ()
    """Every program, option and path of successful calls, and every path in the session."""
    succeeded: Outcome = "unknown"
    signals: tuple[str, ...] = ()
    """The reasons for the outcome."""
    resolved: bool = True
    """Whether the last error was resolved, or there was none."""
    calls: int = 0
    """Number of tool calls, without those that manage the session."""


def evidence_of(transcript: Transcript) -> Evidence:
    """Return the evidence of a session."""
    events = transcript.events
    done = [*working(acts(events))]
    first, request = request_of(events, [act.at for act in done])
    rules, follow_ups = _later(events, first, done)
    answered = _beside(events, first)
    gone = _undone_calls(done) | {*answered}
    kept = [act for act in done if act.at not in gone]
    succeeded, signals = outcome_of(events, done, first)
    return Evidence(
        request=request,
        follow_ups=follow_ups,
        rules=rules,
        inputs=values_of("\n".join((request, *follow_ups)))[:_MOST_INPUTS],
        steps=steps_of(kept),
        files=files_of(kept),
        recoveries=recoveries_of(kept),
        tools=_tools(kept),
        skills=skills_of(events),
        said=_said_at_the_end(events, done),
        names=_names(events, done),
        succeeded=succeeded,
        signals=signals,
        resolved=resolved(done),
        calls=len(done),
    )


def _said_at_the_end(events: Sequence[Event], done: Sequence[Act]) -> str:
    """Return the agent's message at the end of the work, not its reply to thanks."""
    last = done[-1].at if done else -1
    after = takewhile(lambda one: one.kind != "user", events[last + 1 :])
    said = [one.text for one in after if one.kind == "assistant" and one.text.strip()]
    said = said or [one.text for one in events if one.kind == "assistant" and one.text.strip()]
    return said[-1][-_SAID:] if said else ""


# the user's messages


def request_of(events: Sequence[Event], work: Sequence[int] = ()) -> tuple[int, str]:
    """Return the message that the work answers, and its number; -1 if the user never said anything.

    That is the first one of the last run of messages before the first call, without greetings: a message that was
    answered without work, such as a joke, does not count, unless the agent asked back.
    """
    begun = min(work, default=len(events))
    users = [(at, event.text.strip()) for at, event in enumerate(events) if event.kind == "user" and event.text.strip()]
    before = [one for one in users if one[0] < begun] or users
    said = [one for one in before if len(re.findall(r"\w+", one[1])) > 3] or before
    for at, text in said:
        if at == said[-1][0] or _asked_back(events, at):
            return at, text[:REQUEST]
    return -1, ""


def _asked_back(events: Sequence[Event], at: int) -> bool:
    """Return whether a message was answered with a question, or by another message."""
    after = next((event for event in events[at + 1 :] if event.kind in ("assistant", "user", "call")), None)
    return after is None or after.kind != "assistant" or after.text.rstrip(" *_`").endswith("?")


def _later(events: Sequence[Event], first: int, done: Sequence[Act]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the user's messages after the request: corrections and lasting rules, and other requests."""
    said = [(at, event.text, False) for at, event in enumerate(events) if event.kind == "user" and at > first]
    said += [(act.at, found[1], True) for act in done if act.failed and (found := _REJECTED.search(act.output[:4_000]))]
    rules: dict[str, None] = {}
    others: dict[str, None] = {}
    for _, message, rejected in sorted(said):
        text = message.strip()
        if rejected or corrects(text) or (pattern_of("lasting").search(text) and not text.endswith("?")):
            rules[text[:_MESSAGE]] = None
        elif not text.endswith("?") and not (pattern_of("thanks").search(text[:80]) and len(text.split()) < 12):
            others[text[:_MESSAGE]] = None
    return tuple(rules)[:_MOST_RULES], tuple(others)[:_MOST_RULES]


def _beside(events: Sequence[Event], first: int) -> set[int]:
    """Return the numbers of the calls that only answered a question of the user in between."""
    found: set[int] = set()
    beside = False
    for at, event in enumerate(events):
        if event.kind == "user":
            beside = at > first and event.text.rstrip().endswith("?") and not corrects(event.text)
        elif event.kind == "assistant":
            beside = False  # after the answer, the work continues
        elif event.kind == "call" and beside:
            found.add(at)
    return found


# steps and files


def steps_of(found: Sequence[Act]) -> tuple[Step, ...]:
    """Return the successful steps in their final order, without looking around and earlier attempts."""
    worked = [act for act in found if not act.failed and act.answered]
    doing = [act for act in worked if not _looks(act)] or [act for act in worked if act.tool == "Bash"]
    kept: list[Act] = []
    for act in doing:
        recent = kept[-_LOOKED_BACK:]
        if act.tool == "Edit" and any(_is_again(one, act) for one in kept):
            continue  # its first entry already has the final text
        kept = [one for one in kept if one not in recent or not _is_again(one, act)]
        kept.append(act)
    return tuple(_step(act) for act in kept[-MOST_STEPS:])


def _looks(act: Act) -> bool:
    if act.tool == "Bash":
        return only_looks(act.text("command"))
    return act.tool in ("Read", "Search", "Web")


def _is_again(one: Act, other: Act) -> bool:
    """Return whether the second call repeats the first, which was then only an attempt."""
    if one.tool != "Bash" or other.tool != "Bash":
        both = {one.tool, other.tool} <= {"Write", "Edit"}
        return both and one.text("path") == other.text("path")
    mine, theirs = one.text("command"), other.text("command")
    if shape(mine) != shape(theirs) or set(_OPTION.findall(mine)) != set(_OPTION.findall(theirs)):
        return mine.strip() == theirs.strip()
    words, others = set(re.findall(r"\w+", mine)), set(re.findall(r"\w+", theirs))
    return len(words & others) >= _SAME * len(words | others) and same_thing(one, other)


def _step(act: Act) -> Step:
    said = [*_PLAN.finditer(act.said)][-1:] or [*filter(None, [_COMMENT.match(act.text("command"))])]
    about = " ".join((act.text("description") or "".join(one["plan"] for one in said)).split())[:160]
    ran = {one.label.partition(" ")[0] for one in programs(act.text("command"))}
    if about.partition(" ")[0] not in ran:  # `pytest -q` stays as it is typed
        about = about[:1].upper() + about[1:]
    if act.tool == "Bash":
        return Step("Bash", act.text("command"), about, "", (act.at,))
    if act.tool in ("Write", "Edit"):
        return Step(act.tool, "", about, act.text("path"), (act.at,))
    given = ", ".join(f"{key}: {value}" for key, value in act.given.items() if isinstance(value, str | int | float))
    return Step(act.tool, given[:_MESSAGE], about, "", (act.at,))


def files_of(found: Sequence[Act]) -> tuple[File, ...]:
    """Return the created and changed files in their final state, in the order of their first change."""
    files: dict[str, File] = {}
    for act in found:
        path = act.text("path")
        if act.failed or not path or act.tool not in ("Write", "Edit"):
            continue
        file = files.get(path, File(path))
        if act.tool == "Write":
            file = File(path, act.text("content"))
        elif file.content and act.text("old") in file.content:
            file = file._replace(content=file.content.replace(act.text("old"), act.text("new"), 1))
        elif not file.content:
            file = file._replace(changes=(*file.changes, (act.text("old"), act.text("new"))))
        files[path] = file
    return tuple(files.values())[:MOST_STEPS]


def _undone_calls(done: Sequence[Act]) -> set[int]:
    """Return the numbers of the calls that a later command undid, and of those commands."""
    gone: set[int] = set()
    for number, act in enumerate(done):
        if act.tool != "Bash" or act.failed:
            continue
        pieces = parts(act.text("command"))
        undone = {at for piece in pieces if piece.startswith("git ") for at in reversed_by(piece, done[:number])}
        gone |= undone | ({act.at} if undone and len(pieces) == 1 else set())
    return gone


def _tools(done: Sequence[Act]) -> tuple[ToolUse, ...]:
    """Return every successful tool by sub-command, in the order of first use."""
    counts: Counter[tuple[str, str]] = Counter()
    for act in done:
        if act.failed:
            continue
        labels = {ran.label for ran in programs(act.text("command")) if ran.label} if act.tool == "Bash" else {""}
        counts.update((act.tool, label) for label in sorted(labels))
    return tuple(ToolUse(tool, command, count) for (tool, command), count in list(counts.items())[:_MOST_TOOLS])


def _names(events: Sequence[Event], done: Sequence[Act]) -> tuple[str, ...]:
    """Return the names that a skill may use: programs and options of successful calls, and all paths."""
    found: dict[str, None] = {}
    for act in done:
        if not act.failed:
            found.update(dict.fromkeys(ran.label for ran in programs(act.text("command")) if ran.label))
            found.update(dict.fromkeys(_OPTION.findall(act.text("command")[:ACTION])))
    found.update(dict.fromkeys(_seen(events)))
    return tuple(found)[:_MOST_NAMES]


def _seen(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        texts = (event.text, *(value for value in event.given.values() if isinstance(value, str)))
        for value in values_of("\n".join(texts)[:ACTION]):
            if value.kind in ("file", "directory", "url"):
                yield value.text


# outcome


def outcome_of(events: Sequence[Event], found: Sequence[Act], first: int) -> tuple[Outcome, tuple[str, ...]]:
    """Return the outcome, with the reasons."""
    good: list[str] = []
    bad: list[str] = []
    done = ((act, act.text("command")) for act in found if act.answered)
    checks = [act for act, command in done if TESTING.search(command) or BUILDING.search(command)]
    if checks:
        (bad if checks[-1].failed else good).append(
            "the last test or build " + ("failed" if checks[-1].failed else "passed")
        )
    elif found and found[-1].failed:
        bad.append("the last call failed")
    final = next((event.text for event in reversed(events) if event.kind == "assistant"), "")
    if final:
        if pattern_of("not_done").search(final[-1_500:]):
            bad.append("the last answer says that it did not work")
        elif pattern_of("done").search(final[:1_500]) or pattern_of("done").search(final[-1_500:]):
            good.append("the last answer says that it is done")
    users = [(at, event.text) for at, event in enumerate(events) if event.kind == "user" and at > first]
    if users:
        at, last = users[-1]
        after = any(event.kind == "call" for event in events[at:])
        if corrects(last) and not after:
            bad.append("the user's last word was a correction")
        elif pattern_of("thanks").search(last[:200]) and not corrects(last):
            good.insert(0, "the user was content")
    if "the user was content" in good and "the user's last word was a correction" not in bad:
        return "yes", (*good, *bad)
    if bad:
        return ("no" if not good or len(bad) > 1 else "unknown"), (*bad, *good)
    return ("yes" if good else "unknown"), tuple(good)

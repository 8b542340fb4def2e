"""What is known of a session once it has been read: values, each tied to the events it rests on."""

from __future__ import annotations

from typing import Literal, NamedTuple

Sort = Literal["file", "directory", "url", "date", "version", "id", "email", "phone", "amount", "name", "word"]
Outcome = Literal["yes", "no", "unknown"]
Help = Literal["instead", "first", "added", "removed", "forbidden"]
"""How a dead end was got over: by another call, by one before it, by a change of a file; `forbidden`: by leaving it."""


class Parameter(NamedTuple):
    """A value that will be another one the next time."""

    name: str
    """What stands for it: `{name}`. Lower case, digits and underscores."""
    example: str
    """The value in this session."""
    sort: Sort
    where: tuple[str, ...]
    """Where it occurs: `request`, `steps`, `files`."""
    about: str
    """What it is for, in a few words."""
    spellings: tuple[str, ...] = ()
    """Other ways in which the session wrote the same value, the longest first."""


class Step(NamedTuple):
    """One thing that was done and worked."""

    title: str
    tool: str
    action: str
    """The command, the text that was written, or what else the tool was given; empty when the title says it all."""
    why: str
    """What the assistant said it was for; empty when it said nothing."""
    criterion: str
    """How one sees that it worked, as a sentence."""
    evidence: tuple[int, ...]
    """Numbers of the events it rests on."""
    language: str = ""
    """What the action is written in: `bash`, `python`, `json`; empty for plain text."""
    weight: float = 1.0
    """How much of the session's work it is; the lighter ones go first when there is no room."""


class DeadEnd(NamedTuple):
    """Something that was tried and failed, or that the user did not want."""

    tried: str
    said: str
    """The line of the error that says what was wrong; of something forbidden what the user said."""
    instead: str
    """What helped; empty for something forbidden."""
    evidence: tuple[int, ...]
    help: Help = "instead"
    """What to do with it."""
    file: str = ""
    """The file in which the change helped."""


class ToolUse(NamedTuple):
    """A tool, and for a shell the program and sub-command."""

    tool: str
    command: str
    """`git commit`, `python3 scripts/fill.py`; empty for a tool that has none."""
    times: int


class Passage(NamedTuple):
    """Something that was read in the session and used later, or said in it to explain the work, word for word."""

    text: str
    kind: Literal["skill", "document", "web", "help", "session"]
    source: str
    """Which text it is from, as people would call it."""
    section: str
    """The headings above it, joined by ` > `."""
    evidence: tuple[int, ...]
    """The event it was read in, then those that used it."""
    weight: float
    """How strong the signs are that it was used; the lighter ones go first when there is no room."""


class Facts(NamedTuple):
    """A session as far as a skill could be made of it."""

    goal: str
    """One imperative sentence."""
    request: str
    """The first thing the user asked for, as it was written."""
    requirements: tuple[str, ...]
    """Sentences of the request that say what the result has to be like."""
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]
    dead_ends: tuple[DeadEnd, ...]
    corrections: tuple[str, ...]
    """What the user put right or asked to keep to, as rules."""
    tools: tuple[ToolUse, ...]
    files: tuple[str, ...]
    """Files that were written or changed."""
    knowledge: tuple[Passage, ...]
    succeeded: Outcome
    signals: tuple[str, ...]
    """Why it is thought to have succeeded or not."""
    resolved: bool
    """The last error was got over, or there was none."""
    skills: tuple[str, ...] = ()
    """Skills that the session worked with."""
    calls: int = 0
    """Calls of tools that did something, as opposed to those that manage the session."""

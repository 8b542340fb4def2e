"""Calls with their results, and the message right before: the units of all evidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.learning.evidence.shell import only_looks, programs
from whet.learning.tables import pattern_of
from whet.learning.transcripts.tools import is_plumbing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from whet.learning.transcripts.events import Event

_TEXTS = ("command", "content", "new", "query", "url", "path", "prompt", "pattern")
_NUMBERED = re.compile(r"^[ \t]{0,12}\d{1,7}(?:→|\t)", re.MULTILINE)
_REMINDER = re.compile(r"\n*<system-reminder>.{0,20000}?</system-reminder>\s*", re.DOTALL)


class Act(NamedTuple):
    """One call with its result."""

    at: int
    """Number of the event of the call."""
    tool: str
    given: Mapping[str, Any]
    output: str
    failed: bool
    answered: bool
    """Whether there is a result; otherwise the outcome is unknown."""
    said: str
    """The assistant's message before it, unless another successful call came between."""

    def text(self, key: str) -> str:
        """Return an argument as text; "" if it is missing or not text."""
        value = self.given.get(key)
        return value if isinstance(value, str) else ""

    @property
    def words(self) -> str:
        """All input of the tool."""
        named = [self.text(key) for key in _TEXTS]
        others = [value for key, value in self.given.items() if key not in _TEXTS and isinstance(value, str)]
        return "\n".join(part for part in (*named, *others) if part)


def acts(events: Sequence[Event]) -> list[Act]:
    """Return every call of the session in order, with its result."""
    results = {event.id: event for event in reversed(events) if event.kind == "result"}
    found: list[Act] = []
    said = ""
    for at, event in enumerate(events):
        if event.kind == "assistant":
            said = event.text
        elif event.kind == "user":
            said = ""
        elif event.kind == "call":
            result = results.get(event.id)
            output = plain(result.text) if result else ""
            failed = bool(result and (result.failed or _masked(event, output)))
            found.append(Act(at, event.tool, dict(event.given), output, failed, result is not None, said))
            if not is_plumbing(event.tool) and not failed:
                said = ""
    return found


def plain(text: str) -> str:
    """Return a result without additions of clients: line numbers, reminders, other line ends."""
    text = _REMINDER.sub("", text.replace("\r\n", "\n"))
    return _NUMBERED.sub("", text) if len(_NUMBERED.findall(text)) * 2 > text.count("\n") else text


def _masked(call: Event, output: str) -> bool:
    """Return whether a command's output ends with an error although its code was 0, as after a pipe."""
    command = call.given.get("command")
    if (
        call.tool != "Bash"
        or not isinstance(command, str)
        or not pattern_of("masked").search(output[-2_000:].strip().rpartition("\n")[2])
    ):
        return False
    return not only_looks(command)


def working(found: Sequence[Act]) -> Iterator[Act]:
    """Yield the calls that are work."""
    return (act for act in found if not is_plumbing(act.tool))


_FILES = ("Write", "Edit")
_FROM_GIT = re.compile(r"\A\s*git (?:-C \S+ )?(?:checkout|restore)\s+(?!-b\b|--staged|-B\b)(?P<rest>[^\n]{1,400})\Z")
_ALL = re.compile(r"\A\s*git (?:-C \S+ )?(?:(?:checkout|restore)(?: --)? \.|reset --hard)(?:\s|\Z)")


def parts(command: str) -> list[str]:
    """Split a command at `&&` or `;`; return it whole if that is not safe."""
    if "\n" in command or "<<" in command or "$(" in command:
        return [command]
    found = re.split(r"\s*(?:&&|;)\s*", command)
    whole = all(part.count('"') % 2 == 0 and part.count("'") % 2 == 0 for part in found)
    return [part for part in found if part] if whole else [command]


def reversed_by(command: str, earlier: Sequence[Act]) -> set[int]:
    """Return the numbers of earlier calls that a git command undoes; empty if there are none in this session."""
    if _ALL.match(command):
        edits: set[int] = set()
        for act in earlier:
            if act.tool in _FILES:
                edits.add(act.at)
            elif any(ran.label == "git commit" for ran in programs(act.text("command"))):
                edits.clear()
        return edits
    if found := _FROM_GIT.match(command):
        files = {word.strip("\"'").removeprefix("./") for word in found["rest"].split() if "." in word}
        return {act.at for act in earlier if any(_touches(act, file) for file in files if len(file) > 1)}
    if not any(ran.label == "git revert" for ran in programs(command)):
        return set()
    for act in reversed(earlier):
        labels = [ran.label for ran in programs(act.text("command")) if not ran.looks and ran.label.startswith("git ")]
        if labels:
            return {act.at} if "git commit" in labels else set()
    return set()


def _touches(act: Act, file: str) -> bool:
    """Return whether a call changed a file."""
    if act.tool in _FILES:
        return f"/{act.text('path')}".replace("\\", "/").endswith(f"/{file}")
    return re.search(rf"(?<![\w.-]){re.escape(file)}(?![\w-])", act.text("command")) is not None

"""The target of every importer: a transcript that stays within its limits while it grows.

Secrets are hidden only here, so that no importer can forget it. The first and the last events are kept; dropped events
and other omissions are counted and reported.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from itertools import count
from typing import TYPE_CHECKING, Any

from whet.guard.secrets.hide import BINARY, Known, hide_secrets
from whet.guard.secrets.places import names_secret
from whet.guard.secrets.values import ANY, LITERAL, is_secret
from whet.learning.tables import pattern_of
from whet.learning.transcripts import events as bounds
from whet.learning.transcripts.events import NOTHING, Event, Kind, Transcript
from whet.learning.transcripts.tools import canonical, languages_of
from whet.learning.transcripts.values import arguments, clean_text
from whet.learning.transcripts.wrappers import spoken
from whet.notes import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_HEADER = re.compile(
    r"(?:Command: [^\n]{0,4000}\n)?(?:Chunk ID: [^\n]{0,80}\n)?(?:Exit code: (-?\d{1,10})\n)?"
    r"(?:Wall time: [^\n]{0,80}\n)?"
    r"(?:Process exited with code (-?\d{1,10})\n|Process running with session ID [^\n]{0,40}\n)?"
    r"(?:Original token count: [^\n]{0,20}\n)?(?:Total output lines: [^\n]{0,20}\n)?Output:\n?"
)
"""The lines that Codex puts above the output of a command."""
_CODE = re.compile(
    r"(?:exit(?:ed with)? code|exit status|Command failed with exit code|exit_code)[:=]? (-?\d{1,10})\b", re.IGNORECASE
)
_LAST = re.compile(r"\n[\[(]?exit(?:ed with)? (?:code|status)[:=]? ?(-?\d{1,10})[\])]?\s*\Z", re.IGNORECASE)
"""The code below the output, if there is none above it."""
_JSON = 200_000
"""Longest result in characters that is parsed as JSON."""


def outcome(text: str, *, failed: bool | None = None) -> tuple[str, bool, int | None]:
    """Return the output without its wrapping, whether it is a failure, and its exit code if known.

    The client's own `failed` counts first.
    """
    value = arguments(text) if text.startswith("{") and len(text) <= _JSON else {"input": text}
    if value != {"input": text}:  # it does not only begin like JSON
        return _told(value, text, failed)
    said = None
    if found := _HEADER.match(text):
        text, said = text[found.end() :], found[1] or found[2]
    elif found := _CODE.match(text) or _LAST.search(text, max(0, len(text) - 80)):
        said = found[1]
    code = None if said is None else int(said)
    if failed is None and code is None:
        failed = pattern_of("failure").match(text) is not None
    return text, bool(failed or code), code


def _told(value: Mapping[str, Any], text: str, failed: bool | None) -> tuple[str, bool, int | None]:
    """Return output, failure and code of a result in JSON, by its own fields."""
    metadata = value.get("metadata")
    code = value.get("exit_code", metadata.get("exit_code") if isinstance(metadata, dict) else None)
    error = value.get("error")
    if code is None:
        code = value.get("exitCode", value.get("returncode"))
    output = value.get("output", value.get("stdout"))
    if isinstance(output, str) and (
        code is not None or set(value) <= {"output", "stdout", "stderr", "error", "metadata"}
    ):
        extra = [part for part in (value.get("stderr"), error) if isinstance(part, str) and part]
        text = "\n".join(part for part in (output, *extra) if part)
    if failed is None:
        is_error = value.get("is_error") is True or value.get("success") is False or (bool(error) and code is None)
        failed = code not in {None, 0, "0"} if isinstance(code, int | str) else is_error
    number = re.fullmatch(r"-?[0-9]{1,10}", str(code))
    return text, failed, int(number[0]) if number else None


_HEAD, _TAIL = 20_000, 12_000
"""Characters at either end of a long text that are searched for secrets: the kept part, and a margin."""
_EDGE = 4_000
"""Characters that are dropped at a cut, because half a secret cannot be recognized."""
_IDS = 500_000
"""Number of calls and results that are remembered, to detect repetitions."""
_ENDS = 1_000
"""Number of call ends that are remembered until their results come."""
_NAME = 200
"""Longest name in characters: of a tool, a session, a call."""
_KINDS = 1_000
"""Number of unknown kinds of records that are distinguished."""
_DEPTH, _ITEMS = 6, 100
"""Depth of arguments, and number of items of a list or an object."""
_LABELS = ("name", "key", "field", "label", "element", "id", "selector", "variable", "header")
_CONTENTS = ("value", "text", "content", "input")
"""Keys whose value is a secret if another key says so: `{"name": "password", "value": ...}`."""


class Collector:
    """A transcript in the making."""

    def __init__(self, client: str, path: str = "", note: Callable[[Event], None] | None = None) -> None:
        self.client = client
        self.path = path
        self._noted = note
        """Receives every event at once."""
        self.session = ""
        self.project = ""
        self.counts: Counter[str] = Counter()
        """Omissions, by their names in `report`."""
        self.unknown: Counter[str] = Counter()
        """Unknown kinds of records."""
        self._first: list[Event] = []
        self._last: deque[Event] = deque()
        self._sizes = [0, 0]
        self._full = False
        self.added = 0
        """Number of events, kept or not."""
        self.skills: dict[str, str] = {}
        """The loaded skills, by the ids of the calls."""
        self._tools: dict[str, str] = {}
        self._ends: dict[str, tuple[bool, int | None]] = {}
        self._returned: set[str] = set()
        self._tasks: set[int] = set()
        self._known = Known()
        self._calls = 0
        self._open = ""

    def user(self, text: str, time: int = 0) -> None:
        """Add a message in the user's name, split into the user's words and the client's additions.

        A model's instruction to a subagent is not the user's either.
        """
        if _mark(text) in self._tasks:
            self.said("note", text, time, "subagent")
            return
        for piece in spoken(clean_text(text)):
            self.said(piece.kind, piece.text, time, piece.about)

    def said(self, kind: Kind, text: str, time: int = 0, about: str = "") -> None:
        """Add a message of one side, or of the client."""
        text = self.text(text).strip()
        if text:
            self._add(Event(kind, text, time, about=self.name(about)))

    def called(self, name: str, given: Mapping[str, Any], id_: str = "", time: int = 0) -> str:
        """Add a tool call; return its id, generated if the client has none."""
        tool, arguments = canonical(name, dict(given))
        return self._call(tool, arguments, id_, time)

    def returned(
        self,
        text: str,
        id_: str = "",
        time: int = 0,
        *,
        failed: bool | None = None,
        tool: str = "",
        code: int | None = None,
    ) -> None:
        """Add the result of a call; without an id, of the last call without a result.

        `code` is the exit code, if the client reports it separately.
        """
        id_ = self.name(id_) or self._open
        if id_ and id_ in self._returned:
            return
        if id_ and len(self._returned) < _IDS:
            self._returned.add(id_)
        self._open = "" if id_ == self._open else self._open
        tool = self._tools.get(id_, "") or self.name(canonical(tool, {})[0])
        failed, code = self._ends.pop(id_, (failed, code))
        text, failed, told = outcome(clean_text(text), failed=failed if code is None else bool(failed or code))
        code = told if code is None else code
        self._add(Event("result", self.text(text), time, tool, id_, failed=failed, code=code))

    def ended(self, id_: str, failed: bool, code: int | None) -> None:
        """Record how a call ended, if the client reports that before its result."""
        while len(self._ends) >= _ENDS:
            del self._ends[next(iter(self._ends))]
        self._ends[self.name(id_)] = failed, code

    def keep(self, event: Event) -> None:
        """Add a ready event, as a recorder wrote it; secrets are hidden and texts cut as usual."""
        if event.kind == "call":
            self._call(event.tool, dict(event.given), event.id, event.time)
        elif event.kind == "result":
            tool, text, id_ = self.name(event.tool), self.text(event.text), self.name(event.id) or self._open
            self._open = "" if id_ == self._open else self._open
            self._add(Event("result", text, event.time, tool, id_, failed=event.failed, code=event.code))
        else:
            self.said(event.kind, event.text, event.time, event.about)

    def left_out(self, kind: str) -> None:
        """Count a record of an unknown kind; the number of kinds is limited, too."""
        kind = self.name(kind)
        self.unknown[kind if kind in self.unknown or len(self.unknown) < _KINDS else "others"] += 1

    def text(self, text: str, language: str = "") -> str:
        """Return the text for storage: readable, without secrets, not too long. `language` is that of code."""
        whole = clean_text(text)
        ends = [whole] if len(whole) <= _HEAD + _TAIL else [whole[:_HEAD], whole[-_TAIL:]]
        safe, hidden = zip(*(hide_secrets(end, self._known, language) for end in ends), strict=True)
        self.counts["secrets"] += sum(hidden)
        if len(safe) == 1 and len(safe[0]) <= bounds.TEXT:
            return str(safe[0])
        self.counts["texts"] += 1
        room = bounds.TEXT - 60
        head, tail = (safe[0], safe[0][room * 3 // 4 :]) if len(safe) == 1 else (safe[0][:-_EDGE], safe[1][_EDGE:])
        head = head[: room * 3 // 4]
        tail = tail[max(0, len(tail) - room + len(head)) :]
        return f"{head}\n[{len(whole) - len(head) - len(tail):,} characters left out]\n{tail}"

    def name(self, text: Any, longest: int = _NAME) -> str:
        """Return a name for storage; "" if it is not text."""
        if not isinstance(text, str):
            return ""
        start = text[: 2 * longest]
        if len(text) > len(start):  # half a token cannot be recognized
            start = start[: max(start.rfind(" "), start.rfind("\n"), 0)]
        return hide_secrets(clean_text(start), self._known)[0][:longest]

    def transcript(self) -> Transcript:
        """Return the collected transcript."""
        self.counts["empty"] = int(not self.added)
        return Transcript(
            self.name(self.client),
            self.name(self.session),
            self.name(self.project, 1_000),
            tuple(map(self._without_known, (*self._first, *self._last))),
            report(self.counts, {self.name(kind): count for kind, count in self.unknown.items()}, self.path),
        )

    def _without_known(self, event: Event) -> Event:
        """Return the event without secrets that were found only later."""
        if not self._known:
            return event
        text, tool, id_, about = map(self._without, (event.text, event.tool, event.id, event.about))
        given = self._without(event.given, languages_of(event.tool, event.given)) if event.given else NOTHING
        return event._replace(text=text, tool=tool, id=id_, about=about, given=given)

    def _without(self, value: Any, languages: Mapping[str, str] = NOTHING, name: str = "") -> Any:
        if isinstance(value, str):
            return self._known.hide(value, languages.get(name, ""))[0]
        if isinstance(value, dict):
            return {self._known.hide(key)[0]: self._without(item, languages, key) for key, item in value.items()}
        return [self._without(item, languages) for item in value] if isinstance(value, list) else value

    def _call(self, tool: str, given: Mapping[str, Any], id_: str, time: int) -> str:
        self._calls += 1
        made = (f"call-{number}" for number in count(self._calls))
        id_ = self.name(id_) or next(one for one in made if one not in self._tools)
        if id_ in self._tools:
            return id_
        tool = self.name(tool) or "unknown"
        if len(self._tools) < _IDS:
            self._tools[id_] = tool
        self._open = id_
        if tool == "Skill" and isinstance(skill := given.get("skill"), str) and len(self.skills) < _IDS:
            self.skills[id_] = skill
        if tool == "Task" and isinstance(prompt := given.get("prompt"), str) and len(self._tasks) < _IDS:
            self._tasks.add(_mark(prompt))
        self._add(Event("call", "", time, tool, id_, self._mapping(given, languages_of(tool, given)) or NOTHING))
        return id_

    def _argument(self, value: Any, languages: Mapping[str, str], name: str = "", depth: int = 0) -> Any:
        """Return an argument of a call for storage; `languages` are those of arguments that are code."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return BINARY
        if depth >= _DEPTH and not isinstance(value, str):
            return "[...]"
        if isinstance(value, dict):
            return self._mapping(value, languages, depth)
        if isinstance(value, list | tuple | set | frozenset):
            return self._sequence(list(value)[:_ITEMS], languages, depth)
        return self.text(value if isinstance(value, str) else str(value), languages.get(name, ""))

    def _mapping(self, value: Mapping[Any, Any], languages: Mapping[str, str], depth: int = 0) -> Mapping[str, Any]:
        """Return an object without secrets, which are recognized by their keys or by another key's label."""
        labels = (value[label] for label in _LABELS if isinstance(value.get(label), str))
        labelled = next(filter(None, map(names_secret, labels)), "")
        kept: dict[str, Any] = {}
        for key, item in list(value.items())[:_ITEMS]:
            name = self.text(key if isinstance(key, str) else str(key))[:_NAME]
            kind = names_secret(name) or (labelled if key in _CONTENTS else "")
            kept[name] = self._secret(item, kind) or self._argument(item, languages, name, depth + 1)
        return kept

    def _sequence(self, value: list[Any], languages: Mapping[str, str], depth: int) -> list[Any]:
        """Return a list without secrets, which may follow their option, as on a command line."""
        kept: list[Any] = []
        before = ""
        for item, safe in zip(value, self._words(value), strict=True):
            kind = names_secret(before) if before.startswith("-") and "=" not in before else ""
            hidden = self._secret(item, kind) if safe == item else ""
            kept.append(hidden or self._argument(safe, languages, "", depth + 1))
            before = item if isinstance(item, str) else ""
        return kept

    def _words(self, value: list[Any]) -> list[Any]:
        """Return the words of a command without secrets that the words before them reveal."""
        if len(value) < 3 or not all(isinstance(item, str) and item and " " not in item for item in value):
            return value
        found = self.text(" ".join(value)).split(" ")
        return found if len(found) == len(value) else value

    def _secret(self, value: Any, kind: str) -> str:
        """Return the mark of a secret; "" if the value is not one."""
        if not kind or not isinstance(value, str) or not is_secret(value, ANY if kind == ANY else LITERAL):
            return ""
        self._known.learn(value, kind)
        self.counts["secrets"] += 1
        return f"[secret:{kind}]"

    def _add(self, event: Event) -> None:
        """Add the event: to the first half while there is room, then to the last events."""
        half = bounds.CHARACTERS // 2
        self.added += 1
        self._full = self._full or len(self._first) >= bounds.EVENTS // 2 or self._sizes[0] + _size(event) > half
        (self._last if self._full else self._first).append(event)
        self._sizes[self._full] += _size(event)
        while len(self._last) > bounds.EVENTS - bounds.EVENTS // 2 or (self._sizes[1] > half and len(self._last) > 1):
            self._sizes[1] -= _size(self._last.popleft())
            self.counts["events"] += 1
        if self._noted:
            self._noted(event)


def _size(event: Event) -> int:
    return len(event.text) + sum(len(str(value)) for value in event.given.values())


def _mark(text: str) -> int:
    """Return a hash that copies of a text share, regardless of white space."""
    return hash(" ".join(text[:2_000].split())[:1_500])


_ENTRIES = (
    (
        Note("transcript-damaged", "warning", "", "The rest of the file was read."),
        {
            "damaged": "Lines left out because they are not JSON: {n}.",
            "truncated": "The end is truncated; the last record was left out.",
            "long": "Lines left out because they are longer than 4 MiB: {n}.",
            "encoding": "Lines that are not UTF-8 and were read as Windows-1252: {n}.",
        },
    ),
    (
        Note("transcript-left-out", "info", "", "Read other sessions and subagents from their own files."),
        {
            "unknown": "Records left out because their kind is unknown: {n} ({kinds}).",
            "subagents": "Records of subagents left out: {n}.",
            "others": "Records of other sessions in the file left out: {n}.",
        },
    ),
    (
        Note("transcript-cut", "warning", "", "Split the session, or read the part that matters."),
        {
            "events": "The session is too long; events left out of its middle: {n}.",
            "texts": "Texts cut in their middle to 16,000 characters: {n}.",
        },
    ),
    (
        Note("transcript-secrets-hidden", "info", "", "The file itself still contains them."),
        {"secrets": "Secrets hidden: {n}."},
    ),
    (
        Note("transcript-no-events", "warning", "", "Choose a session that has messages."),
        {"empty": "Nothing was said or done in this session."},
    ),
)
"""Notes with their counts; the numbers are filled in."""
_NAMED_KINDS = 8
"""Number of unknown kinds that are named."""


def report(counts: Mapping[str, int], unknown: Mapping[str, int], path: str) -> tuple[Note, ...]:
    """Return the notes, with their counts."""
    totals = {**counts, "unknown": sum(unknown.values())}
    kinds = ", ".join(sorted(unknown)[:_NAMED_KINDS]) + (", ..." if len(unknown) > _NAMED_KINDS else "")
    found = []
    for note, sentences in _ENTRIES:
        told = [
            sentence.replace("{n}", f"{count:,}").replace("{kinds}", kinds)
            for key, sentence in sentences.items()
            if (count := totals.get(key, 0))
        ]
        found += [note._replace(path=path, message=" ".join(told))] if told else []
    return tuple(found)


def taken_over(transcript: Transcript) -> Transcript:
    """Return the transcript with its secrets hidden; one without secrets and within the limits stays unchanged."""
    into = Collector(transcript.client)
    into.session, into.project = transcript.session, transcript.project
    for event in transcript.events:
        into.keep(event)
    made = into.transcript()
    return made._replace(report=(*transcript.report, *made.report))

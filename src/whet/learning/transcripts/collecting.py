"""What every importer writes into: a transcript that stays within bounds while it grows.

Secrets are hidden here and nowhere else, so that no importer can forget it. The first and the last events are kept;
what falls out of the middle, and everything else that is not taken over, is counted and told.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from whet.guard.secrets.hide import Known, hide_secrets
from whet.learning.transcripts import events as bounds
from whet.learning.transcripts.arguments import Arguments
from whet.learning.transcripts.events import NOTHING, Event, Kind, Transcript
from whet.learning.transcripts.outcomes import outcome
from whet.learning.transcripts.reporting import report
from whet.learning.transcripts.tools import canonical
from whet.learning.transcripts.values import clean_text
from whet.learning.transcripts.wrappers import spoken

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEAD, _TAIL = 20_000, 12_000
"""Characters of either end of a long text in which secrets are looked for: what is kept, and room around it."""
_EDGE = 4_000
"""Characters at a cut that are dropped, since half a secret has no shape."""
_IDS = 500_000
"""Calls and results that are remembered, to know one that comes a second time."""
_NAME = 200
"""Characters of a name: of a tool, a session, a call."""
_KINDS = 1_000
"""Unknown kinds of records that are told apart."""


class Collector:
    """A transcript in the making."""

    def __init__(self, client: str, path: str = "") -> None:
        self.client = client
        self.path = path
        self.session = ""
        self.project = ""
        self.counts: Counter[str] = Counter()
        """What was left out, by what `reporting` calls it."""
        self.unknown: Counter[str] = Counter()
        """Kinds of records that are not known here."""
        self._first: list[Event] = []
        self._last: deque[Event] = deque()
        self._sizes = [0, 0]
        self._full = False
        self.added = 0
        """Events that came, kept or not."""
        self._tools: dict[str, str] = {}
        self._returned: set[str] = set()
        self._tasks: set[int] = set()
        self._known = Known()
        self._calls = 0
        self._open = ""

    def user(self, text: str, time: int = 0) -> None:
        """A message in the user's name, taken apart into what was said and what the client added.

        What a subagent was told by the model is not the user's either.
        """
        if _mark(text) in self._tasks:
            self.said("note", text, time, "subagent")
            return
        for piece in spoken(clean_text(text)):
            self.said(piece.kind, piece.text, time, piece.about)

    def said(self, kind: Kind, text: str, time: int = 0, about: str = "") -> None:
        """Something said by one side, or put in by the client."""
        text = self.text(text).strip()
        if text:
            self._add(Event(kind, text, time, about=self.name(about)))

    def called(self, name: str, given: Mapping[str, Any], id_: str = "", time: int = 0) -> str:
        """A call of a tool; its id, made up where the client gives none."""
        tool, arguments = canonical(name, dict(given))
        return self._call(tool, arguments, id_, time)

    def returned(self, text: str, id_: str = "", time: int = 0, *, failed: bool | None = None, tool: str = "") -> None:
        """What a call gave; without an id it is that of the last call that has no result yet."""
        id_ = self.name(id_) or self._open
        if id_ and id_ in self._returned:
            self.counts["repeated"] += 1
            return
        if id_ and len(self._returned) < _IDS:
            self._returned.add(id_)
        self._open = "" if id_ == self._open else self._open
        tool = self._tools.get(id_, "") or self.name(canonical(tool, {})[0])
        told = outcome(clean_text(text), failed=failed)
        self._add(Event("result", self.text(told.text), time, tool, id_, failed=told.failed))

    def keep(self, event: Event) -> None:
        """An event that is one already, as a recorder wrote it; hidden and cut like every other."""
        if event.kind == "call":
            self._call(event.tool, dict(event.given), event.id, event.time)
        elif event.kind == "result":
            tool = self.name(event.tool)
            self._add(
                Event("result", self.text(event.text), event.time, tool, self.name(event.id), failed=event.failed)
            )
        else:
            self.said(event.kind, event.text, event.time, event.about)

    def left_out(self, kind: str) -> None:
        """A record of a kind that is not known here; what a file makes up of kinds is bounded, too."""
        kind = kind[: 2 * _NAME]
        self.unknown[kind if kind in self.unknown or len(self.unknown) < _KINDS else "others"] += 1

    def latest(self, count: int) -> list[Event]:
        """The last events that came."""
        last = list(self._last)[-count:] if count else []
        return self._first[-(count - len(last)) :] + last if count > len(last) else last

    def text(self, text: str) -> str:
        """The text as it may be kept: readable, without secrets, not too long."""
        whole = clean_text(text)
        if len(whole) <= _HEAD + _TAIL:
            safe, hidden = hide_secrets(whole, self._known)
            self.counts["secrets"] += hidden
            return self._cut(safe, len(whole))
        head, first = hide_secrets(whole[:_HEAD], self._known)
        tail, last = hide_secrets(whole[-_TAIL:], self._known)
        self.counts["secrets"] += first + last
        return self._cut(head[: max(0, len(head) - _EDGE)] + tail[_EDGE:], len(whole), at=max(0, len(head) - _EDGE))

    def name(self, text: Any, longest: int = _NAME) -> str:
        """A name as it may be kept; "" for what is no text."""
        if not isinstance(text, str):
            return ""
        return hide_secrets(clean_text(text[: 2 * longest]), self._known)[0][:longest]

    def transcript(self) -> Transcript:
        """What was collected."""
        self.counts["empty"] = int(not self.added)
        return Transcript(
            self.name(self.client),
            self.name(self.session),
            self.name(self.project, 1_000),
            tuple(map(self._without_known, (*self._first, *self._last))),
            report(self.counts, {self.name(kind): count for kind, count in self.unknown.items()}, self.path),
        )

    def _without_known(self, event: Event) -> Event:
        """The event without secrets that were found only later."""
        if not self._known:
            return event
        text, tool, id_, about = map(self._without, (event.text, event.tool, event.id, event.about))
        given = self._without(event.given) if event.given else NOTHING
        return event._replace(text=text, tool=tool, id=id_, about=about, given=given)

    def _without(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._known.hide(value)[0]
        if isinstance(value, dict):
            return {self._known.hide(key)[0]: self._without(item) for key, item in value.items()}
        return [self._without(item) for item in value] if isinstance(value, list) else value

    def _call(self, tool: str, given: Mapping[str, Any], id_: str, time: int) -> str:
        self._calls += 1
        id_ = self.name(id_) or f"call-{self._calls}"
        if id_ in self._tools:
            self.counts["repeated"] += 1
            return id_
        tool = self.name(tool) or "unknown"
        if len(self._tools) < _IDS:
            self._tools[id_] = tool
        self._open = id_
        if tool == "Task" and isinstance(prompt := given.get("prompt"), str) and len(self._tasks) < _IDS:
            self._tasks.add(_mark(prompt))
        arguments = Arguments(self.text, self._known.learn)
        kept = arguments.kept(given)
        self.counts["secrets"] += arguments.hidden
        self._add(Event("call", "", time, tool, id_, kept or NOTHING))
        return id_

    def _cut(self, text: str, whole: int, at: int | None = None) -> str:
        """The text with a hole in its middle where it is too long; `at` says where one has been cut already."""
        if at is None and len(text) <= bounds.TEXT:
            return text
        self.counts["texts"] += 1
        room = bounds.TEXT - 60
        start = min(room * 3 // 4, len(text) if at is None else at)
        end = min(room - start, len(text) - (start if at is None else at))
        gap = whole - start - end
        return f"{text[:start]}\n[{gap:,} characters left out]\n{text[len(text) - end :]}"

    def _add(self, event: Event) -> None:
        """Keep the event: in the first half while there is room, then among the last."""
        size = len(event.text) + sum(len(str(value)) for value in event.given.values())
        half = bounds.CHARACTERS // 2
        self.added += 1
        if not self._full:
            self._full = len(self._first) >= bounds.EVENTS // 2 or self._sizes[0] + size > half
        if not self._full:
            self._first.append(event)
            self._sizes[0] += size
            return
        self._last.append(event)
        self._sizes[1] += size
        while len(self._last) > bounds.EVENTS - bounds.EVENTS // 2 or (self._sizes[1] > half and len(self._last) > 1):
            gone = self._last.popleft()
            self._sizes[1] -= len(gone.text) + sum(len(str(value)) for value in gone.given.values())
            self.counts["events"] += 1


def _mark(text: str) -> int:
    """What two copies of a text have in common, whatever was done to their blanks."""
    return hash(" ".join(text[:2_000].split())[:1_500])

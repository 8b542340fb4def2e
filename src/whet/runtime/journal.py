"""The journal of a run: one line of JSON for each event, written before the next one begins.

The journal of a killed run is complete: the run can be shown, and resumed from the last line. The report is computed
from it. Secrets are hidden before anything is written.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from whet.errors import InvalidError
from whet.learning.models.model import Call, Message, clean_value
from whet.learning.transcripts.recorder import Recorder
from whet.store.failures import os_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import IO

    from whet.store.clock import Clock

JOURNAL, TRANSCRIPT = "journal.jsonl", "transcript.jsonl"
Status = Literal["running", "done", "waiting", "stopped", "interrupted", "failed"]
Answer = Literal["", "approved", "rejected"]


class Start(NamedTuple):
    """The start of a run: its skill, its project, and the model or script that runs."""

    run: str
    skill: str
    directory: str
    """Directory of the skill."""
    digest: str
    arguments: str
    script: str
    """Script that runs instead of a model; empty for a run with a model."""
    project: str
    inside: str
    """Path of the project for the model."""
    model: str
    """Name of the model that is asked."""
    asked_model: str
    """Model that the skill itself names."""
    level: str
    gaps: tuple[str, ...]
    hosts: tuple[str, ...]
    """Hosts that may be reached."""
    parent: str = ""
    """The run whose model started this one."""
    time: int = 0


class Resume(NamedTuple):
    """The run was resumed."""

    time: int = 0


class Said(NamedTuple):
    """A message of the conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    call: str = ""
    time: int = 0


class Use(NamedTuple):
    """The cost of one answer of the model."""

    model: str
    """Name that the provider gives."""
    tokens_in: int
    tokens_out: int
    cost: float | None


class Decided(NamedTuple):
    """The decision about a tool call."""

    call: str
    tool: str
    given: Mapping[str, Any]
    decision: Literal["allow", "deny", "ask"]
    reason: str


class Approved(NamedTuple):
    """The user's answer about a call that needed approval."""

    call: str
    answer: Answer


class Done(NamedTuple):
    """The result of a tool call."""

    call: str
    failed: bool
    seconds: float
    command: str = ""
    """Command of a program."""
    code: int | None = None
    problem: str = ""
    child: str = ""
    """The run that it started."""


class Contact(NamedTuple):
    """A host that a program tried to reach."""

    host: str
    allowed: bool


class End(NamedTuple):
    """The run ended, or waits."""

    status: Status
    reason: str = ""
    seconds: float = 0.0
    time: int = 0


class Applied(NamedTuple):
    """The changes were applied to the project."""

    files: tuple[str, ...]
    time: int = 0


Record: TypeAlias = "Start | Resume | Said | Use | Decided | Approved | Done | Contact | End | Applied"
_KINDS: dict[str, Any] = {
    kind.__name__.lower(): kind for kind in (Start, Resume, Said, Use, Decided, Approved, Done, Contact, End, Applied)
}


class Journal:
    """The journal of one run, with all its records."""

    def __init__(
        self,
        directory: str,
        clock: Clock,
        secrets: tuple[str, ...] = (),
        observe: Callable[[Record], None] = lambda _record: None,
    ) -> None:
        """`secrets` are never written; `observe` gets each record once it is."""
        self.path = os.path.join(directory, JOURNAL)
        self.records: list[Record] = list(read_journal(self.path)) if os.path.exists(self.path) else []
        self._clock, self._secrets, self._observe = clock, secrets, observe
        self._transcript: Recorder | None = None
        self._now = 0

    def add(self, record: Record) -> None:
        """Write a record; it is on disk when this returns."""
        if "time" in record._fields:
            record = record._replace(time=self._clock())  # type: ignore[call-arg]  # the fields were just asked for it
        fields = clean_value(record._asdict(), self._secrets)
        if isinstance(record, Said):
            fields["calls"] = [clean_value(call._asdict(), self._secrets) for call in record.calls]
        line = json.dumps({"kind": type(record).__name__.lower(), **fields}, ensure_ascii=False)
        with os_failures(self.path), open(self.path, "ab+") as file:
            if self._transcript is None:  # first line of this process: a kill may have cut off the one before
                file.truncate(_whole(file))
            file.write(line.encode("utf-8", "surrogatepass") + b"\n")
        self.records.append(record)
        if self._transcript is None:  # begun, or resumed by another process
            for known in self.records:
                self._tell(known)
        else:
            self._tell(record)
        self._observe(record)

    def _tell(self, record: Record) -> None:
        """Write the record to the transcript, from which Whet learns."""
        if isinstance(record, Start):
            self._transcript = Recorder(
                os.path.join(os.path.dirname(self.path), TRANSCRIPT),
                session=record.run,
                project=record.project,
                clock=lambda: self._now,
            )
        elif isinstance(record, Said) and self._transcript is not None:
            to, self._now = self._transcript, record.time
            if record.role == "user":
                to.note(record.text, f"skill:{self.start.skill}")
                to.user(self.start.arguments or f"/{self.start.skill}")
            elif record.role == "assistant":
                if record.text:
                    to.assistant(record.text)
                for call in record.calls:
                    to.call(call.name, call.arguments, call.id)
            elif record.role == "tool":
                done = next((one for one in self.records if isinstance(one, Done) and one.call == record.call), None)
                to.result(record.text, record.call, failed=done.failed if done else True)

    @property
    def start(self) -> Start:
        """The first record."""
        first = self.records[0] if self.records else None
        if isinstance(first, Start):
            return first
        hint = "Discard it: `whet run --discard ID`."
        raise InvalidError("run-broken", f"{self.path} does not say what was run.", hint=hint)

    @property
    def end(self) -> End | None:
        """The end, if the run ended and was not resumed since."""
        last = next((one for one in reversed(self.records) if isinstance(one, End | Resume | Start)), None)
        return last if isinstance(last, End) else None

    def messages(self) -> list[Message]:
        """Return the conversation."""
        return [Message(*record[:4]) for record in self.records if isinstance(record, Said)]

    def decisions(self) -> dict[str, Decided]:
        """Return the decision about each call."""
        return {record.call: record for record in self.records if isinstance(record, Decided)}

    def answers(self) -> dict[str, Answer]:
        """Return the user's answer about each call that needed approval."""
        return {record.call: record.answer for record in self.records if isinstance(record, Approved)}

    def name_calls(self, calls: Sequence[Call]) -> tuple[Call, ...]:
        """Return the calls of an answer with unique ids: some models give every call the same one."""
        known = {call.id for record in self.records if isinstance(record, Said) for call in record.calls}
        named = []
        for call in calls:
            name, number = call.id, 1
            while not name or name in known:
                number += 1
                name = f"{call.id}-{number}"
            known.add(name)
            named.append(call._replace(id=name))
        return tuple(named)

    def open_calls(self) -> list[Call]:
        """Return the calls of the model's last turn that have no result."""
        messages = self.messages()
        answered = {message.call for message in messages}
        last = next((message for message in reversed(messages) if message.role == "assistant"), None)
        return [call for call in last.calls if call.id not in answered] if last else []


def _whole(file: IO[bytes]) -> int:
    """Return the length of the complete lines of a journal."""
    file.seek(0)
    return file.read().rfind(b"\n") + 1


def read_journal(path: str) -> Iterator[Record]:
    """Yield the records of a journal; an incomplete last line is left out."""
    with (
        os_failures(path, doing="read", other="read-failed"),
        open(path, encoding="utf-8", errors="surrogatepass") as file,
    ):
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield _read(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines):
                return
            hint = "Discard it: `whet run --discard ID`."
            raise InvalidError("run-broken", f"Line {number} of {path} is not a record.", hint=hint) from error


def _read(fields: dict[str, Any]) -> Record:
    kind = _KINDS[fields.pop("kind")]
    if "calls" in fields:
        fields["calls"] = tuple(Call(**call) for call in fields["calls"])
    made: Record = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})
    return made

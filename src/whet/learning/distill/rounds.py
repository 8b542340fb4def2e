"""The four rounds in which a session becomes a skill: each asks one thing and proposes the answer.

    distillation = begin(transcript)
    while not distillation.done:
        question = distillation.question()
        distillation = distillation.answer({"name": "fill-forms"})  # missing answers are the proposed ones
    made = distillation.draft()

A distillation is a value: an answer makes another one, `back` makes the one before, and JSON carries it to another
process, a web page or a client of MCP. Only differences from proposals are kept, so that a proposal based on an earlier
answer follows its changes. If a model wrote the skill, its text is the proposal and part of the value, so that it is
not asked twice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping  # noqa: TC003  `read_value` looks it up
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from whet.errors import InvalidError, NotFoundError, UsageError
from whet.learning.distill import draft as drafting
from whet.learning.distill.names import DESCRIPTION, TRIGGERS
from whet.learning.distill.writer import RETRIES, TRIGGER, Help, Written, check, read_written
from whet.learning.evidence.session import ENDED, MOST_STEPS, Evidence
from whet.skill.coerce import split_outside, truth
from whet.store.locks import FileLock, lock_path
from whet.values import Json, fields_json, read_value

if TYPE_CHECKING:
    from collections.abc import Collection

    from whet.learning.distill.draft import Draft
    from whet.learning.models.model import Model
    from whet.learning.transcripts.events import Transcript
    from whet.store.clock import Clock
    from whet.store.state import StateDatabase

Value = str | bool | tuple[str, ...]
Kind = Literal["text", "list", "lines", "yes-no"]
"""Commas separate the entries of a list. Lines are sentences with numbers; a new line has none."""

VERSION = 4
"""Version of the JSON; others are refused, because their evidence has another form."""
MARK = "whet-distillation"
GOAL = 400
STEP = 200
"""Characters of a step's title."""
ARGUMENTS = 9
"""Largest number of arguments."""
AGENT = "the connected agent"
"""The name of the model that calls `skill_distill`."""
ROUNDS: tuple[tuple[str, str, Mapping[str, tuple[str, Kind]]], ...] = (
    (
        "what",
        "What was done",
        {
            "goal": ("What it does", "text"),
            "name": ("Name", "text"),
            "steps": ("Steps", "lines"),
            "arguments": ("Arguments, as NAME (example)", "list"),
            "argument_hint": ("Argument hint, shown after its name", "text"),
        },
    ),
    (
        "when",
        "When to use it",
        {
            "triggers": ("Words that trigger it", "list"),
            "description": ("Description", "text"),
            "when_to_use": ("When else to use it", "text"),
        },
    ),
    ("tools", "Which tools it may use", {"tools": ("Allowed tools", "list")}),
    (
        "where",
        "Where it runs",
        {
            "fork": ("Run separately", "yes-no"),
            "here": ("Save it in this repository", "yes-no"),
        },
    ),
)
"""Id, title and fields of each round, with name, label and kind of each field, for all surfaces."""
_FIELDS = {name: asked for _, _, fields in ROUNDS for name, asked in fields.items()}
_EMPTY = ("tools", "arguments")
"""Lists that may be empty."""


class Field(NamedTuple):
    """One decision."""

    name: str
    label: str
    kind: Kind
    value: Value
    """The current answer: the proposal, or the user's."""
    options: tuple[str, ...] = ()
    """The choices of a list; other values are possible."""


class Question(NamedTuple):
    """The question of one round."""

    round: int
    """From 1 to `of`."""
    of: int
    id: str
    title: str
    text: str
    """The known facts, in a few lines."""
    fields: tuple[Field, ...]


class Source(NamedTuple):
    """The session of a distillation."""

    client: str = ""
    session: str = ""


class Distillation(NamedTuple):
    """A session that becomes a skill."""

    evidence: Evidence
    source: Source = Source()
    at: int = 0
    """Number of answered rounds."""
    edits: Mapping[str, Value] = {}
    """Answers that differ from the proposals."""
    known: str = ""
    """An existing skill for the same job; its name is proposed, and it is improved."""
    written: Written | None = None
    """The valid parts of a model's text; None for an outline."""
    help: Help | None = None
    """The model that wrote it."""
    tries: int = 0
    """Number of attempts by the calling agent."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user."""

    @property
    def done(self) -> bool:
        """Whether every round is answered."""
        return self.at >= len(ROUNDS)

    def question(self) -> Question:
        """Return the question of the current round. Raises UsageError `distillation-done` after the last."""
        number = self._round()
        name, title, fields = ROUNDS[number]
        made = self.draft()
        improves = self.known == made.name
        asked = tuple(self._field(field, made) for field in fields if not (improves and field == "here"))
        return Question(number + 1, len(ROUNDS), name, title, self._text(name, made), asked)

    def answer(self, values: Mapping[str, Any] | None = None) -> Distillation:
        """Answer the current round; missing answers are the proposed ones.

        An empty text and an empty list of triggers mean the proposal. Raises UsageError `bad-answer`.
        """
        fields = ROUNDS[self._round()][2]
        made = self.draft()
        edits = dict(self.edits)
        given = values or {}
        for name in given:
            if name not in fields:
                raise _bad(f"This round does not accept {name!r}.", f"It accepts {', '.join(fields)}.")
        for name, value in ((name, given[name]) for name in fields if name in given):
            read = checked(name, value)
            if name == "steps":
                _check_numbers(cast("tuple[str, ...]", read), len((self.written or self.evidence).steps))
            if read == getattr(made, name) and not (name == "name" and "goal" in edits):
                continue  # a confirmed name stays, even though it was proposed from an earlier goal
            if _is_proposal(name, read):
                edits.pop(name, None)
            else:
                edits[name] = read
        return self._replace(at=self.at + 1, edits=edits)

    def answer_all(self, values: Mapping[str, Any]) -> Distillation:
        """Answer every open round: with these values, otherwise as proposed. Raises UsageError `bad-answer`."""
        for name in sorted(values.keys() - _FIELDS.keys()):
            checked(name, None)
        state = self
        while not state.done:
            state = state.answer({name: values[name] for name in ROUNDS[state.at][2] if name in values})
        return state

    def back(self) -> Distillation:
        """Return the previous round with the same answers, or the first."""
        return self._replace(at=max(0, self.at - 1))

    def draft(self) -> Draft:
        """Return the skill as of the answers so far."""
        given = {**({"name": self.known} if self.known else {}), **self.edits}
        return drafting.draft(self.evidence, given, self.written)

    def write(self, answer: Mapping[str, Any]) -> tuple[Distillation, tuple[str, ...]]:
        """Return the distillation with the calling agent's skill, and sentences about its problems.

        With problems, nothing is accepted; after two attempts the valid parts are, and `refused` has the rest.
        """
        written, problems = check(read_written(answer), self.evidence)
        tried = self._replace(tries=self.tries + 1)
        if problems and (self.tries < RETRIES or not written.steps):
            return tried, problems
        return tried._replace(written=written, help=Help(AGENT, refused=problems)), ()

    def to_json(self) -> Json:
        """Return the distillation as JSON, for `from_json`."""
        return {MARK: VERSION, **fields_json(self)}

    @classmethod
    def from_json(cls, value: Any) -> Distillation:
        """Read the result of `to_json`. Raises UsageError `bad-distillation` for anything else."""
        hint = "Start again with `whet distill SESSION`."
        if not isinstance(value, dict) or MARK not in value:
            raise UsageError("bad-distillation", "This is not a distillation.", hint=hint)
        if type(value[MARK]) is not int or value[MARK] != VERSION:
            message = f"The distillation has version {value[MARK]!r}; this Whet reads version {VERSION}."
            raise UsageError("bad-distillation", message, hint=hint)
        try:
            found = read_value(cls, {name: inner for name, inner in value.items() if name != MARK}, "it")
            edits = {name: checked(name, inner) for name, inner in found.edits.items()}
            if not 0 <= found.at <= len(ROUNDS) or any(_is_proposal(*one) for one in edits.items()):
                raise ValueError("a round or an answer is not valid")  # noqa: TRY301  told below
            return cast("Distillation", found._replace(edits=edits))
        except (ValueError, UsageError) as error:
            message = f"The distillation is damaged: {str(error).rstrip('.')}."
            raise UsageError("bad-distillation", message, hint=hint) from error

    def _round(self) -> int:
        if self.done:
            hint = "Accept the draft, or go back."
            raise UsageError("distillation-done", "All rounds are answered.", hint=hint)
        return self.at

    def _field(self, name: str, made: Draft) -> Field:
        label, kind = _FIELDS[name]
        proposed = self._without(name).draft() if kind == "list" else made
        options = {
            "tools": (*proposed.tools, *proposed.asked),
            "triggers": proposed.triggers,
            "arguments": proposed.inputs,
        }
        return Field(name, label, kind, getattr(made, name), options.get(name, ()))

    def _without(self, name: str) -> Distillation:
        return self._replace(edits={key: value for key, value in self.edits.items() if key != name})

    def _text(self, name: str, made: Draft) -> str:
        evidence = self.evidence
        if name == "what":
            told = [f"Rule: {rule}" for rule in evidence.rules]
            told.append(ENDED[evidence.succeeded])
            told += [f"The skill {self.known} covers the same task; keep its name to improve it."] if self.known else []
            told.append(f"Written by {self.help.name}." if self.help else "This is an outline; no model wrote it.")
            return "\n".join(told)
        if name == "when":
            return "The description is all that most models see before they load the skill."
        if name == "tools":
            counted = [f"{use.tool} {use.command}".rstrip() + f" ({use.times} x)" for use in evidence.tools]
            return f"Tools used: {', '.join(counted)}." if counted else "No tool was used."
        why = "long" if made.fork else "short, or you took part in it"
        calls = "1 tool call" if evidence.calls == 1 else f"{evidence.calls} tool calls"
        return (
            "A skill runs in the conversation, or in a separate agent that returns only the result (`context: fork`). "
            f"This session was {why} ({calls})."
        )


def session_of(source: Any) -> Transcript:
    """Return a session from a file, from messages, or unchanged. Raises InvalidError, NotFoundError, UsageError."""
    import os

    from whet.learning.transcripts.collector import taken_over
    from whet.learning.transcripts.events import Transcript
    from whet.learning.transcripts.reader import from_messages, read_transcript
    from whet.learning.transcripts.recorder import Recorder

    if isinstance(source, Transcript):
        return taken_over(source)
    if isinstance(source, Recorder):
        return source.transcript()
    if isinstance(source, str | os.PathLike):
        return read_transcript(os.path.abspath(os.path.expanduser(os.fspath(source))))
    if isinstance(source, list | tuple):
        return from_messages(source)
    hint = "Pass the path of a transcript, a Transcript, or a list of messages."
    raise UsageError("bad-session", f"A {type(source).__name__} is not a session.", hint=hint)


def begin(transcript: Transcript) -> Distillation:
    """Begin the distillation of a session. Raises InvalidError `nothing-to-distill` if it has no successful steps."""
    from whet.learning.evidence.session import evidence_of

    found = evidence_of(transcript)
    if not found.steps:
        message = "This session has no command, edit or other tool call that worked."
        hint = "Pass the transcript of a session in which an agent did something; `whet distill` lists recent ones."
        raise InvalidError("nothing-to-distill", message, hint=hint)
    return Distillation(found, Source(transcript.client, transcript.session))


def written_by(distillation: Distillation, model: Model, existing: str = "") -> Distillation:
    """Return the distillation with the skill that a model wrote; unchanged, with a warning, if the model fails."""
    from whet.learning.distill.writer import TOKENS, write
    from whet.learning.models.model import Budget, Budgeted, ModelError

    try:
        written, helped = write(distillation.evidence, Budgeted(model, Budget(tokens=TOKENS)), existing)
    except ModelError as error:
        spent = error.tokens_in + error.tokens_out
        cost = f", after {spent} tokens" if spent else ""
        told = f"The skill is an outline, made without {model.name} ({error.code}{cost}): {error.message}"
        return distillation._replace(warnings=(*distillation.warnings, told))
    if written is None:
        told = f"The skill is an outline: Whet could not accept what {model.name} wrote."
        told = " ".join((told, *helped.refused[:3]))
        return distillation._replace(warnings=(*distillation.warnings, told))
    return distillation._replace(written=written, help=helped)


def without_taken_name(distillation: Distillation, taken: Collection[str]) -> Distillation:
    """Return the distillation without a model's name that another skill has: a new skill must not change that one."""
    written, helped = distillation.written, distillation.help
    if written is None or helped is None or written.name not in taken:
        return distillation
    told = f"The name was not accepted: another skill is named {written.name}."
    helped = helped._replace(refused=(*helped.refused, told))
    return distillation._replace(written=written._replace(name=""), help=helped)


def checked(name: str, value: Any) -> Value:
    """Convert a value for the field `name`. Raises UsageError `bad-answer`."""
    if name not in _FIELDS:
        raise _bad(f"{name!r} is not an answer.", f"Known answers: {', '.join(_FIELDS)}.")
    label, kind = _FIELDS[name]
    if kind == "yes-no":
        return _yes(value)
    if kind in ("list", "lines"):
        listed = _listed(label, kind, value)
        return {"triggers": _triggers, "tools": _grants, "arguments": _arguments, "steps": _steps}[name](listed)
    if not isinstance(value, str):
        raise _bad(f"{label} is not text.", "Pass text.")
    text = " ".join(value.split())
    if not text.isprintable():
        raise _bad(f"{label} contains a character that cannot be shown.", "Remove control characters.")
    if name == "name":
        return _name(text)
    if text and not any(character.isalnum() for character in text):
        raise _bad(f"{text!r:.40} says nothing.", "Pass a sentence, or leave it empty.")
    most = DESCRIPTION if name in ("description", "when_to_use") else GOAL
    if len(text) > most or "<" in text or ">" in text:
        raise _bad(f"{label} is too long or contains < or >.", f"Use at most {most} characters, without < and >.")
    return text


def _name(text: str) -> str:
    from whet.skill.names import slug, spec_problems

    if not text:
        return ""
    name = slug(text)
    if not any(character.isalnum() for character in text) or spec_problems(name):
        raise _bad(f"{text!r} cannot be a name.", "Use a few words; they become lowercase letters and hyphens.")
    return name


def _yes(value: Any) -> bool:
    said = truth({"fork": True, "inline": False}.get(value.strip().lower(), value)) if isinstance(value, str) else value
    if not isinstance(said, bool):
        raise _bad(f"{value!r} is neither yes nor no.", "Answer yes or no.")
    return said


def _listed(label: str, kind: Kind, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split("\n") if kind == "lines" else list(split_outside(value, ",", "()"))
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        separated = "a line for each" if kind == "lines" else "commas"
        raise _bad(f"{label} is not a list.", f"Pass a list, or one text with {separated}.")
    entries = [text for one in value if (text := " ".join(one.split()))]
    return tuple(entries if kind == "lines" else dict.fromkeys(entries))


def _triggers(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if len(word) > TRIGGER or any(character in word for character in '<>"'):
            raise _bad(f"{word!r} cannot be a trigger.", f'Give at most {TRIGGER} characters, without <, > and ".')
    if len(words) > TRIGGERS:
        raise _bad(f"{len(words)} triggers are too many.", f"Give at most {TRIGGERS}.")
    return words


def _steps(titles: tuple[str, ...]) -> tuple[str, ...]:
    if len(titles) > MOST_STEPS or any(len(title) > STEP for title in titles):
        hint = f"Give at most {MOST_STEPS}, each of at most {STEP} characters."
        raise _bad("These steps are too many or too long.", hint)
    return titles


def _check_numbers(entries: tuple[str, ...], count: int) -> None:
    """Raise UsageError `bad-answer` for the bare number of a step that does not exist."""
    for number in (entry.rstrip(".") for entry in entries):
        if number.isdecimal() and not 1 <= int(number) <= count:
            raise _bad(f"There is no step {number}.", f"Give a number from 1 to {count}, or the text of a new step.")


def _arguments(entries: tuple[str, ...]) -> tuple[str, ...]:
    read = [drafting.read_argument(entry) for entry in entries]
    if None in read or len(read) > ARGUMENTS or len({one.name for one in read if one}) < len(read):
        hint = f"Give at most {ARGUMENTS} different ones, each a NAME or NAME (example), such as VERSION (1.4.0)."
        raise _bad(f"{', '.join(entries)[:80]!r} cannot be the arguments.", hint)
    return entries


def _grants(grants: tuple[str, ...]) -> tuple[str, ...]:
    from whet.guard.permissions.grants import read_grants
    from whet.learning.distill.permissions import MOST

    for text in grants:
        problem = next((grant.problem for grant in read_grants([text]) if grant.problem), "")
        problem = problem or ("no tool has such a short name" if len(text) < 2 else "")
        if problem:
            raise _bad(f"{text!r} cannot be allowed: {problem.rstrip('.')}.", "Write it like Bash(git commit:*).")
    if len(grants) > MOST:
        raise _bad(f"{len(grants)} tools are too many.", f"Give at most {MOST}.")
    return grants


def _is_proposal(name: str, value: Value) -> bool:
    """Return whether an empty answer means the proposal."""
    return value in ("", ()) and name not in _EMPTY


def _bad(message: str, hint: str) -> UsageError:
    return UsageError("bad-answer", message, hint=hint)


MOST = 50
KEPT = 14 * 24 * 3600 * 1_000_000_000
"""Nanoseconds after which an abandoned distillation is deleted."""
_PATIENCE = 30.0
"""Seconds to wait for another process that changes one."""


class Kept:
    """The distillations of one state directory. Reading never creates it."""

    def __init__(self, state: StateDatabase, clock: Clock) -> None:
        self._state, self._clock = state, clock

    def alone(self) -> FileLock:
        """Return a lock for changes, so that no answer is lost between reading and keeping."""
        return FileLock(lock_path(self._state.directory, "distillations", ""), timeout=_PATIENCE)

    def keep(self, distillation: Distillation, id: str = "") -> str:  # noqa: A002  what it is called everywhere else
        """Store a distillation, new or in place of the one with this id; return its id."""
        import json

        name, content, now = id or os.urandom(6).hex(), json.dumps(distillation.to_json()), self._clock()
        with self._state.write() as connection:
            connection.execute("DELETE FROM distillations WHERE id = ?", (name,))
            query = "INSERT INTO distillations (id, time, content) VALUES (?, ?, ?)"
            newest = connection.execute(query, (name, now, content)).lastrowid
            connection.execute(
                "DELETE FROM distillations WHERE number <> ? AND (time < ? OR number NOT IN "
                "(SELECT number FROM distillations ORDER BY number DESC LIMIT ?))",
                (newest, now - KEPT, MOST),
            )
        return name

    def read(self, id: str) -> Distillation:  # noqa: A002  as above
        """Return the distillation of this id. Raises NotFoundError `no-such-distillation` or UsageError."""
        import json

        rows = self._state.read("SELECT content FROM distillations WHERE id = ?", (id,))
        if not rows:
            hint = "It is finished or too old. Start again with the session."
            raise NotFoundError("no-such-distillation", f"There is no distillation {id!r:.80}.", hint=hint)
        try:
            return Distillation.from_json(json.loads(rows[0][0]))
        except (ValueError, TypeError, RecursionError, UsageError) as error:
            message = f"The distillation {id} is damaged, or of another version."
            raise UsageError("bad-distillation", message, hint="Start again with the session.") from error

    def newest(self) -> str:
        """Return the id of the one that was changed last; "" if there is none."""
        query = "SELECT id FROM distillations ORDER BY number DESC LIMIT 1"
        return next((str(id_) for (id_,) in self._state.read(query)), "")

    def forget(self, id: str) -> None:  # noqa: A002  as above
        """Delete one, if it exists."""
        if self._state.existing() is not None:
            with self._state.write() as connection:
                connection.execute("DELETE FROM distillations WHERE id = ?", (id,))

"""The tool `skill_distill`: a session becomes a skill in four rounds, over as many calls as that takes.

Between the calls Whet keeps the distillation under an id, so that it outlives the conversation. It writes nothing
before a call says `finish`. A model cannot name a file: it passes the session itself, or names one that hooks reported,
which is the user's own. The model that calls is the writer: it gets the evidence of the session and returns the skill,
which Whet checks; parts that fail go back to it with the reasons, at most twice. No other model is asked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from whet.errors import InvalidError, NotFoundError, UsageError, WhetError
from whet.learning.distill.rounds import ROUNDS
from whet.values import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whet.api.session import Session
    from whet.learning.distill.rounds import Distillation, Kept
    from whet.learning.sessions import Seen
    from whet.learning.transcripts.events import Transcript

CURRENT = "current"
"""Stands for the running session in the project."""
_SOURCES = ("session", "messages", "transcript", "distillation")
_ASK = "Ask the user, then call again with distillation and answers; {} takes what is proposed."
_WRITE = "Write the skill as `write` says, and call again with distillation and skill. Without that it is an outline."
_EVIDENCE = 4_000
"""Tokens of evidence that the model gets."""
_AGREE = "Call again with distillation and finish when the user agrees."
_HERE = 'Pass the session as messages or as transcript ("## User", "## Assistant", "## Tool: Bash", "## Result").'
_NAMED = 5
"""Number of sessions that a hint names."""
_REPORTED = 10


def distill(session: Session, given: Mapping[str, Any], *, stage: bool) -> dict[str, Any]:
    """Return the tool's answer to arguments of the right types.

    Answers may be for any round; a mistake in them loses nothing, because the error has the id, and the call can be
    made again. With `stage`, the finished skill waits as a proposal.
    """
    named = [key for key in _SOURCES if given.get(key)]
    if len(named) > 1:
        raise UsageError("bad-arguments", f"{named[0]} and {named[1]} exclude each other.", hint="Use one of them.")
    if given.get("back") and ("answers" in given or given.get("finish")):
        raise UsageError(
            "bad-arguments", "back cannot be combined with other arguments.", hint="Go back first, then answer."
        )
    learning = session.learning
    kept = learning.distillations
    told: dict[str, Any] = {}
    number = given.get("distillation", "")
    if not number:
        transcript = _transcript(session, given)
        number = kept.keep(_begin(session, transcript))
        label = f"{transcript.client}:{transcript.session}" if transcript.session else ""
        told = {"session": label, "report": [entry.message for entry in transcript.report[:_REPORTED]]}
        told |= _writer_input(kept.read(number))
    try:
        with kept.alone():
            moved = _advance(kept, number, given)
            if not given.get("finish"):
                asked = _describe(moved)
                return {"success": True, "distillation": number, **asked, **told}
            answer = learning.finish_distillation(moved, stage=stage, actor="agent", allowed=session.allow)
            kept.forget(number)
    except WhetError as error:
        error.details.setdefault("distillation", number)
        raise
    written = answer.to_json()
    del written["evidence"]
    return {**written, **{name: value for name, value in told.items() if name in ("session", "report")}}


def _writer_input(distillation: Distillation) -> dict[str, Any]:
    """Return everything that a model needs to write the skill."""
    import json

    from whet.learning.distill.writer import INSTRUCTIONS, view

    return {"evidence": json.loads(view(distillation.evidence, _EVIDENCE)), "write": INSTRUCTIONS, "hint": _WRITE}


def _advance(kept: Kept, number: str, given: Mapping[str, Any]) -> Distillation:
    """Return the distillation after this call, and keep it. Raises UsageError `skill-refused` for a bad skill."""
    known = kept.read(number)
    problems: tuple[str, ...] = ()
    moved = known.back() if given.get("back") else _with_answers(known, given.get("answers"))
    if "skill" in given:
        moved, problems = moved.write(given["skill"])
    if moved != known:
        kept.keep(moved, number)
    if problems:
        hint = "Fix these parts or leave them out, and call again with distillation and the whole skill."
        error = UsageError("skill-refused", " ".join(problems[:_REPORTED]), hint=hint)
        error.details["problems"] = list(problems)
        raise error
    return moved


def _with_answers(distillation: Distillation, values: Mapping[str, Any] | None) -> Distillation:
    """Return the distillation with these answers. The current round is answered unless all answers are for earlier
    ones.

    So an answer that is repeated, or that comes after another caller's, changes only its own fields and skips no
    question.
    """
    if values is None:
        return distillation
    ahead = {name for _, _, fields in ROUNDS[distillation.at :] for name in fields}
    at = distillation.at + (0 if values and ahead.isdisjoint(values) else 1)
    return distillation._replace(at=0).answer_all(values)._replace(at=min(at, len(ROUNDS)))


def _describe(distillation: Distillation) -> dict[str, Any]:
    """Return the current question or, when all rounds are done, all answers."""
    at = {"round": min(distillation.at + 1, len(ROUNDS)), "of": len(ROUNDS), "done": distillation.done}
    if not distillation.done:
        question = distillation.question()
        told = {"title": question.title, "text": question.text, "fields": as_json(question.fields)}
        return {**at, "question": told, "hint": _ASK}
    rounds = (distillation._replace(at=number).question() for number in range(len(ROUNDS)))
    answers = {field.name: as_json(field.value) for question in rounds for field in question.fields}
    return {**at, "answers": answers, "hint": _AGREE}


def _begin(session: Session, transcript: Transcript) -> Distillation:
    """Return the first round. It does not name a skill for the same job that the model may not change."""
    distillation = session.learning.begin_distillation(transcript, model="")
    if distillation.known:
        try:
            session.allow(session.workspace.find(distillation.known)[0])
        except WhetError:  # finishing under that name is refused, with the reason
            return distillation._replace(known="")
    return distillation


def _transcript(session: Session, given: Mapping[str, Any]) -> Transcript:
    """Return the requested session. A session passed with the call never counts as one that hooks reported."""
    from whet.learning.transcripts.reader import from_messages, read_transcript

    if "messages" in given:
        return from_messages(given["messages"])._replace(session="")
    if "transcript" in given:
        return _from_text(session.workspace.place.state, given["transcript"])._replace(session="")
    seen = _find_session(session, given.get("session", ""))
    if not seen.transcript:
        raise NotFoundError("no-transcript", f"{seen.client} does not say where {seen.id} is.", hint=_HERE)
    return read_transcript(seen.transcript)._replace(client=seen.client, session=seen.id)


def _find_session(session: Session, label: str) -> Seen:
    """Return the session with this label, the running one, or the newest that waits."""
    from whet.learning.selection.consent import offered

    sessions = session.learning.sessions
    if label == CURRENT:
        client = session.caller.surface.partition("/")[2]
        for seen in sessions.all():
            if not seen.ended and seen.transcript and client in ("", seen.client) and _is_here(session, seen.project):
                return seen
        raise NotFoundError("no-such-session", "Hooks have not reported a current session here.", hint=_HERE)
    waiting = [seen for seen in reversed(offered(session.learning.context)) if os.path.isfile(seen.transcript)]
    if not label:
        if not waiting:
            raise NotFoundError("no-session-waits", "No session is waiting.", hint=_HERE)
        return waiting[0]
    for seen in sessions.all():
        if f"{seen.client}:{seen.id}" == label:
            return seen
    names = ", ".join(f"{seen.client}:{seen.id}" for seen in waiting[:_NAMED])
    hint = f"Waiting sessions: {names}." if names else _HERE
    raise NotFoundError("no-such-session", f"There is no session {label!r:.80}.", hint=hint)


def _is_here(session: Session, project: str) -> bool:
    """Return whether one of the two directories is inside the other."""
    here, there = (os.path.join(os.path.realpath(path), "") for path in (session.workspace.place.directory, project))
    return bool(project) and (here.startswith(there) or there.startswith(here))


def _from_text(state: str, text: str) -> Transcript:
    """Parse a session from text."""
    from whet.learning.transcripts.reader import read_piped

    try:
        return read_piped(state, [text.encode("utf-8", "replace")], "The text")
    except InvalidError as error:
        raise InvalidError("not-a-transcript", error.message, hint=_HERE) from error

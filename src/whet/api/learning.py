"""The part of the front door that makes skills of sessions. `Library` is made of it.

library.distill("session.jsonl")["skill"]

distillation = library.begin_distillation("session.jsonl")
while not distillation.done:
    distillation = distillation.answer(ask_somebody(distillation.question()))
library.finish_distillation(distillation)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whet.api.evaluating import Evaluating
from whet.errors import WhetError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from whet.learning.distilling.rounds import Distillation
    from whet.learning.distilling.writing import Writing
    from whet.learning.sessions import Seen
    from whet.learning.transcripts.events import Transcript

    Session = str | os.PathLike[str] | Transcript | Sequence[Any]


class Learning(Evaluating):
    """From experience to skill."""

    def transcript(self, source: Session, *, facts: bool = False) -> dict[str, Any]:
        """A session as it is read, secrets hidden: {client, session, project, events, report}, and its `facts`.

        `source` is the path of a transcript, a Transcript, or a list of messages. Events are {kind, text, time, tool,
        id, given, failed, about}. Raises InvalidError `not-a-transcript`, NotFoundError `transcript-missing`.
        """
        from whet.learning.distilling.rounds import session_of

        read = session_of(source)
        answer = {
            "success": True,
            **read._asdict(),
            "events": [{**event._asdict(), "given": dict(event.given)} for event in read.events],
            "report": [entry.to_json() for entry in read.report],
        }
        if facts:
            from whet.learning.distilling.storing import facts_to_json
            from whet.learning.facts import facts as facts_of

            answer["facts"] = facts_to_json(facts_of(read))
        return answer

    def distill(
        self, source: Session, *, name: str = "", answers: Mapping[str, Any] | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Make a skill of a session, with these answers and otherwise as proposed; no model is needed.

        `source` is the path of a transcript, a Transcript, or a list of messages. `answers` are {goal, name, triggers,
        description, tools, fork}, as far as they are to be other than proposed. What is answered is told at
        `finish_distillation`; `report` besides is what was left out of the transcript. Raises InvalidError
        `not-a-transcript` or `nothing-to-distill`, UsageError `bad-answer`.
        """
        from whet.learning.distilling.rounds import session_of

        transcript = session_of(source)
        given = {**(answers or {}), **({"name": name} if name else {})}
        distillation = self.begin_distillation(transcript).answer_all(given)
        answer = self.finish_distillation(distillation, dry_run=dry_run)
        return {**answer, "report": [entry.to_json() for entry in transcript.report]}

    def begin_distillation(self, source: Session) -> Distillation:
        """The first of four rounds in which a session becomes a skill. Nothing is written before the end.

        Where a skill of the user's own is for the same job already, its name is proposed, and it will be improved.
        """
        from whet.learning.distilling.rounds import begin, session_of
        from whet.learning.distilling.writing import same_job

        distillation = begin(session_of(source))
        made = distillation.draft()
        if made.name in {card.name for card in self.lookout.look().catalogue.cards}:
            return distillation._replace(known=made.name)
        return distillation._replace(known=same_job(self.lookout, self.changes.author.journal, made))

    def finish_distillation(self, distillation: Distillation, *, dry_run: bool = False) -> dict[str, Any]:
        """Write the skill that the rounds have made: a new one, or the next version of the one of that name.

        Rounds that are not answered are as proposed. `skill` is its name, `created` whether it is new, `findings` what
        the linter says about it, `facts` what it rests on; `path`, `version`, `digest`, `entry`, `similar` and
        `warnings` are those of `manage`, and so is what is raised. With `dry_run`, nothing is written, and `text` and
        `files` are what would be.
        """
        from whet.learning.distilling.storing import facts_to_json
        from whet.learning.distilling.writing import reason_of, writing_of

        distillation = distillation.answer_all({})
        writing = writing_of(self.lookout, self.changes.author.journal, distillation)
        told = _told(writing)
        if dry_run:
            foreseen = {"path": writing.path, "version": writing.version, "created": not writing.path, "dry_run": True}
            answer = {**told, **foreseen, "text": writing.text, "files": dict(writing.made.files), "warnings": []}
        else:
            answer = {**told, **self._written(writing, reason_of(distillation))}
            if not answer.get("staged"):
                self._note_learned(distillation, answer)
        return {**answer, "facts": facts_to_json(distillation.facts)}

    def learn(
        self, *sources: str | Seen | Transcript, write: bool = False, dry_run: bool = False, limit: int | None = None
    ) -> dict[str, Any]:
        """Learn from finished sessions: those named, or all that wait, the newest first, within the day's allowance.

        A source is CLIENT:ID of a session that hooks told of, the path of a transcript, or a Transcript. What is worth
        it becomes a proposal, or with `write` a skill; `sessions` tell of each what was `captured` and why, or why not.
        A single source that is not there raises; among several it is a report with an `error`.
        """
        from whet.learning.synthesis.learning import learn_from

        return learn_from(self, sources, write=write, dry_run=dry_run, limit=limit)

    def _written(self, writing: Writing, reason: str) -> dict[str, Any]:
        answer = self.manage(list(writing.operations), reason=reason)
        results = answer.pop("results", None)
        if results is not None:
            last = {name: results[-1][name] for name in ("version", "digest")}
            answer = {**results[0], **last, **answer}
        answer.setdefault("created", False)
        answer.setdefault("similar", [])
        answer["skill"] = answer.pop("name")
        answer.pop("action", None)
        return answer

    def _note_learned(self, distillation: Distillation, answer: dict[str, Any]) -> None:
        try:
            self.sessions.learned(*distillation.source)
        except WhetError as error:
            answer["warnings"].append(f"The session still counts as one to learn from: {error.message}")


def _told(writing: Writing) -> dict[str, Any]:
    """What is told of a draft, with what the linter says about it."""
    from whet.skill.validate import Package, validate

    made = writing.made
    package = Package(made.name, writing.text, files=("SKILL.md", *made.files))
    return {
        "success": True,
        "skill": made.name,
        "description": made.description,
        "allowed_tools": list(made.allowed_tools),
        "fork": made.fork,
        "findings": [finding.to_json() for finding in validate(package, "quality")],
    }

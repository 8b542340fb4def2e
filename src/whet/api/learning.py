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
from whet.errors import FailedError, WhetError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from whet.learning.distilling.draft import Draft
    from whet.learning.distilling.rounds import Distillation
    from whet.learning.distilling.writing import Writing
    from whet.learning.models.door import Model
    from whet.learning.sessions import Seen
    from whet.learning.transcripts.events import Transcript
    from whet.learning.transcripts.recorder import Recorder
    from whet.library.card import Card

    Session = str | os.PathLike[str] | Transcript | Recorder | Sequence[Any]


class Learning(Evaluating):
    """From experience to skill."""

    def transcript(self, source: Session, *, facts: bool = False) -> dict[str, Any]:
        """A session as it is read, secrets hidden: {client, session, project, events, report}, and its `facts`.

        `source` is the path of a transcript, a Transcript, a Recorder, or a list of messages. Events are {kind, text,
        time, tool, id, given, failed, about}. Raises InvalidError `not-a-transcript`, NotFoundError
        `transcript-missing`.
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
        self,
        source: Session,
        *,
        name: str = "",
        answers: Mapping[str, Any] | None = None,
        model: str | Model | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Make a skill of a session, with these answers and otherwise as proposed; no model is needed.

        `source` is the path of a transcript, a Transcript, a Recorder, or a list of messages. `answers` are {goal,
        name, triggers, description, tools, fork}, as far as they are to be other than proposed; `model` is that of
        `begin_distillation`. What is answered is told at `finish_distillation`; `report` besides is what was left out
        of the transcript. Raises InvalidError `not-a-transcript` or `nothing-to-distill`, UsageError `bad-answer`.
        """
        from whet.learning.distilling.rounds import session_of

        transcript = session_of(source)
        given = {**(answers or {}), **({"name": name} if name else {})}
        distillation = self.begin_distillation(transcript, model=model).answer_all(given)
        answer = self.finish_distillation(distillation, dry_run=dry_run)
        return {**answer, "report": [entry.to_json() for entry in transcript.report]}

    def begin_distillation(self, source: Session, *, model: str | Model | None = None) -> Distillation:
        """The first of four rounds in which a session becomes a skill. Nothing is written before the end.

        Where a skill of the user's own is for the same job already, its name is proposed, and it will be improved.
        `model` words the proposals: the name of one, a Model, "" for none, None for that of the setting `model`. One
        that fails is no help, which a warning tells at the end; one that is named here and cannot be opened raises.
        """
        from whet.learning.distilling.rounds import begin, session_of

        distillation = begin(session_of(source))
        made = distillation.draft()
        known = self._known(made)
        distillation = self._helped(distillation._replace(known=known), model)
        if known or distillation.refined is None:
            return distillation
        if known := self._known(distillation.draft()._replace(name=made.name)):
            return distillation._replace(known=known)
        from whet.learning.distilling.refining import renamed

        return renamed(distillation, {card.name for card in self.workspace.snapshot().catalogue.cards})

    def finish_distillation(
        self,
        distillation: Distillation,
        *,
        dry_run: bool = False,
        stage: bool = False,
        actor: str = "user",
        allowed: Callable[[Card], None] | None = None,
    ) -> dict[str, Any]:
        """Write the skill that the rounds have made: a new one, or the next version of the one of that name.

        Rounds that are not answered are as proposed. `skill` is its name, `created` whether it is new, `findings` what
        the linter says about it, `facts` what it rests on; `path`, `version`, `digest`, `entry`, `similar` and
        `warnings` are those of `manage`, and so is what is raised. `stage`, `actor` and `allowed` are those of
        `manage`. `model` is {name, tokens, refused} of the model that helped, or None. With `dry_run`, nothing is
        written: `text`, `files` and `version` are what would be, and `changes` whether anything would.
        """
        from whet.learning.distilling.storing import facts_to_json
        from whet.learning.distilling.writing import reason_of, writing_of

        distillation = distillation.answer_all({})
        writing = writing_of(self.workspace, self.edit.journal, distillation)
        told = _told(writing)
        if dry_run:
            made = writing.made
            files = dict(made.files)
            similar = [item.to_json() for item in self.edit.similar(made.name, made.description, made.body)]
            answer = {**told, **_foreseen(writing), "text": writing.text, "files": files, "warnings": []}
            answer["similar"] = similar if answer["created"] else []
        else:
            answer = {
                **told,
                **self._written(writing, reason_of(distillation), stage=stage, actor=actor, allowed=allowed),
            }
            if stage or not answer.get("staged"):
                self._note_learned(distillation, answer)
        answer["warnings"] = [*distillation.warnings, *writing.kept, *answer["warnings"]]
        return {**answer, "model": distillation.help(), "facts": facts_to_json(distillation.worded)}

    def learn(
        self,
        *sources: Session | Seen,
        write: bool | None = None,
        model: str | Model | None = None,
        dry_run: bool = False,
        limit: int | None = None,
    ) -> dict[str, Any]:
        """Learn from finished sessions: those named, or all that wait, the newest first, within the day's allowance.

        A source is CLIENT:ID of a session that hooks told of, the path of a transcript, or one in memory: a Transcript,
        a Recorder, messages. What is worth it becomes a proposal, or with `write` a skill, as far as the gate lets it;
        None is as the setting `learn` says. `model` is that of `begin_distillation`. `sessions` tell of each what was
        `captured` and why, or why not. A single source that is not there raises; among several it is a report with an
        `error`.
        """
        return self._learn(sources, write, model, dry_run=dry_run, limit=limit)

    def recorder(self, session: str = "", path: str = "") -> Recorder:
        """What takes down an agent loop, for `finish`; with a `path`, into a file that `whet learn` reads, too."""
        from whet.learning.transcripts.recorder import Recorder

        return Recorder(path, session=session, project=self.place.directory, clock=self.workspace.clock)

    def finish(
        self, source: Session | Seen, *, write: bool | None = None, model: str | Model | None = None
    ) -> dict[str, Any]:
        """A session is over: learn from it as the setting `learn` says, by itself; the report on it.

        Nothing comes of it where the setting is `off` or `note`, where the day's allowance or the breaker holds it
        back, nor where a session that hooks told of does not wait; `code` says so. `write` and `model` are those of
        `learn`. What fails is an `error` in the report.
        """
        level = self.workspace.config().settings.learn
        told: dict[str, Any] = {"captured": False, "evidence": []}
        if level in ("off", "note"):
            return {**told, "code": "learning-off", "why": [f"The setting `learn` is {level}."]}
        try:
            answer = self._learn((source,), write, model, asked=False)
        except FailedError as error:
            return {**told, "code": error.code, "why": [error.message], "error": error.message, "hint": error.hint}
        if answer["sessions"]:
            report: dict[str, Any] = answer["sessions"][0]
            warnings = [*answer.get("warnings", ()), *report.get("warnings", ())]
            return report | ({"warnings": warnings} if warnings else {})
        if "stopped" in answer:
            return {**told, "code": answer["stopped"], "why": [answer["stopped_why"]]}
        return {**told, "code": "not-waiting", "why": ["It goes on, or somebody has learned from it already."]}

    def _learn(
        self, sources: tuple[Any, ...], write: bool | None, model: str | Model | None, **how: Any
    ) -> dict[str, Any]:
        import os

        from whet.learning.synthesis.learning import learn_from

        sources = tuple(os.fspath(one) if isinstance(one, os.PathLike) else one for one in sources)
        if write is None:
            write = self.workspace.config().settings.learn == "write"
        warnings: list[str] = []
        opened = None if how.get("dry_run") else self._opened(model, warnings)
        answer = learn_from(self, sources, write=write, model=opened, **how)
        return answer | ({"warnings": [*warnings, *answer.get("warnings", ())]} if warnings else {})

    def _opened(self, named: str | Model | None, warnings: list[str]) -> Model | None:
        """The model that is meant; that the setting names none that can be opened is a warning, and no more."""
        try:
            return self.model(named)
        except WhetError as error:
            if named is not None:
                raise
            warnings.append(f"The skill was made without the model of the settings ({error.code}): {error.message}")
            return None

    def _known(self, made: Draft) -> str:
        """The skill that a draft will improve; empty where it is a new one."""
        from whet.learning.distilling.relatives import relative_of

        if made.name in {card.name for card in self.workspace.snapshot().catalogue.cards}:
            return made.name
        near = relative_of(self, made)
        return near.card.name if near is not None and near.own else ""

    def _helped(self, distillation: Distillation, named: str | Model | None) -> Distillation:
        """The distillation with a model's words, where there is a model."""
        warnings: list[str] = []
        model = self._opened(named, warnings)
        if model is None:
            return distillation._replace(warnings=tuple(warnings))
        from whet.learning.distilling.refining import helped

        return helped(distillation, model)

    def _written(self, writing: Writing, reason: str, **how: Any) -> dict[str, Any]:
        answer = self.manage(list(writing.operations), reason=reason, **how)
        results = answer.pop("results", None)
        if results is not None:
            last = {name: results[-1][name] for name in ("version", "digest")}
            entry = answer["entries"][-1] if answer["entries"] else None
            answer = {**results[0], **last, **answer, "entry": entry}
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
    from whet.skill.validate import ValidationInput, validate

    made = writing.made
    package = ValidationInput(made.name, writing.text, files=("SKILL.md", *made.files))
    return {
        "success": True,
        "skill": made.name,
        "description": made.description,
        "allowed_tools": list(made.allowed_tools),
        "fork": made.fork,
        "findings": [finding.to_finding() for finding in validate(package, "quality")],
    }


def _foreseen(writing: Writing) -> dict[str, Any]:
    """What is told of a skill that is not written."""
    created, changes = not writing.path, writing.after != writing.before
    return {"path": writing.path, "version": writing.version, "created": created, "changes": changes, "dry_run": True}

"""One finished session, from its transcript to a proposal: read, judged, drafted, put where it belongs.

    report = learn(library, "session.jsonl")

Nothing is changed unless `write` says so: what is learned waits as a proposal, with the session and the numbers of the
events it rests on as its reason. A skill for the same job is improved where it is; only where there is none, a new one
is made. What is already waiting or was rejected is not proposed again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from whet.errors import NotFoundError
from whet.learning.distilling.draft import draft, main_file
from whet.learning.facts import facts as facts_of
from whet.learning.synthesis.additions import merged
from whet.learning.synthesis.judging import judge
from whet.learning.synthesis.relatives import MARK, Relative, refused_bodies, relative_of
from whet.learning.synthesis.work import taught
from whet.learning.transcripts.events import Transcript
from whet.learning.transcripts.reading import read_transcript
from whet.learning.transcripts.redaction import redacted
from whet.routing.texts import Texts

if TYPE_CHECKING:
    from whet.learning.distilling.draft import Draft
    from whet.learning.facts.model import Facts
    from whet.learning.sessions import Seen
    from whet.learning.synthesis.judging import Verdict
    from whet.learning.synthesis.relatives import Shelf

MEANINGS = {
    "waiting": "A proposal for the same job waits for a decision.",
    "rejected-before": "The same was proposed before, and rejected.",
    "not-ours": "A skill for the same job is there, and not ours to change.",
    "nothing-new": "The skill for it says all of this already.",
}
"""What can keep a session that is worth it from becoming anything, and what that means."""
_EVIDENCE = 12
"""Numbers of events that a reason names."""


class Read(NamedTuple):
    """A session and where it is from."""

    transcript: Transcript
    client: str
    id: str
    path: str

    @property
    def label(self) -> str:
        """How people name it."""
        return f"{self.client}:{self.id}" if self.id else self.path or self.client


def learn(
    shelf: Shelf, source: str | Seen | Transcript, *, write: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Learn from one session; what was captured, or why nothing was.

    `source` is CLIENT:ID of a session that hooks told of, the path of a transcript, or a transcript. With `dry_run`
    nothing at all is changed. Raises what reading and writing raise.
    """
    read = read_source(shelf, source)
    facts = sober(facts_of(read.transcript))
    verdict = judge(facts, read.transcript)
    report: dict[str, Any] = {
        "session": read.label,
        "path": read.path,
        "goal": redacted(facts.goal)[0],
        "captured": verdict.capture,
        "code": verdict.code,
        "why": list(verdict.why),
        "evidence": list(verdict.evidence),
    }
    if verdict.capture:
        report |= _captured(shelf, read, facts, verdict, write=write, dry_run=dry_run)
    if not dry_run and report["code"] != "waiting" and read.id:
        shelf.sessions.learned(read.client, read.id)
    return report


def sober(facts: Facts) -> Facts:
    """The facts without dead ends that were bad luck or only of this machine."""
    return facts._replace(dead_ends=tuple(end for end in facts.dead_ends if taught(end)))


def read_source(shelf: Shelf, source: str | Seen | Transcript) -> Read:
    """The session that is meant. Raises NotFoundError `no-such-session` and what reading a transcript raises."""
    if isinstance(source, Transcript):
        return Read(source, source.client, source.session, "")
    if not isinstance(source, str):
        if not source.transcript:
            hint = "Name the file of its transcript instead."
            raise NotFoundError("no-transcript", f"{source.client} does not tell where {source.id} is.", hint=hint)
        return Read(
            read_transcript(source.transcript, client=source.client), source.client, source.id, source.transcript
        )
    path = os.path.expanduser(source)
    client, colon, id_ = source.partition(":")
    if colon and client and id_ and not os.path.lexists(path):
        seen = next((one for one in shelf.sessions.all() if (one.client, one.id) == (client, id_)), None)
        if seen is not None:
            return read_source(shelf, seen)
        hint = "`whet learn` without arguments takes all that wait; a file works, too."
        raise NotFoundError("no-such-session", f"No session {source!r} is known.", hint=hint)
    if not source.strip():
        raise NotFoundError("no-such-session", "An empty text names no session.", hint="Give CLIENT:ID or a file.")
    found = read_transcript(path)
    where = os.path.realpath(path)
    told = next(
        (one for one in shelf.sessions.all() if one.transcript and os.path.realpath(one.transcript) == where), None
    )
    return Read(found, told.client if told else found.client, told.id if told else found.session, path)


def _captured(
    shelf: Shelf, read: Read, facts: Facts, verdict: Verdict, *, write: bool, dry_run: bool
) -> dict[str, Any]:
    """What becomes of a session that is worth it."""
    made = draft(facts)
    near = relative_of(shelf, Texts(made.name, made.description, made.body, triggers=made.triggers), verdict.skills)
    if near is not None and near.kind != "own":
        code = {"pending": "waiting", "rejected": "rejected-before"}.get(near.kind, "not-ours")
        told = {"skill": near.name, **({"proposal": near.proposal} if near.proposal else {})}
        return {"captured": False, "code": code, "why": [MEANINGS[code], *verdict.why[1:]], **told}
    if near is not None:
        return _improved(shelf, read, verdict, made, near, write=write, dry_run=dry_run)
    name = _free(shelf, made.name)
    named = made._replace(name=name)
    operations = [
        {"action": "create", "name": name, "description": made.description, "body": main_file(named)},
        *(
            {"action": "write_file", "name": name, "file_path": path, "content": made.files[path]}
            for path in made.files
        ),
    ]
    report = {"action": "create", "skill": name, "description": made.description, "steps": _steps(facts)}
    if dry_run:
        return {**report, "preview": main_file(named)}
    answer = shelf.manage(
        operations, actor="agent", origin="background", reason=_reason(read, verdict), stage=not write
    )
    return {**report, **_told(answer)}


def _improved(
    shelf: Shelf, read: Read, verdict: Verdict, made: Draft, near: Relative, *, write: bool, dry_run: bool
) -> dict[str, Any]:
    """An existing skill with what it lacks; the version goes up by itself."""
    from whet.authoring.drafts_main import main_of
    from whet.authoring.trees import digest, read_tree

    assert near.card is not None  # noqa: S101  an own skill has a card
    path = os.path.realpath(near.card.directory)
    tree = read_tree(path)
    if tree is None:
        raise NotFoundError("skill-gone", f"{near.card.path} is not there any more.", hint="Try again.")
    body = main_of(tree).document.body
    new = merged(body, made.body, refused_bodies(shelf, path))
    told: dict[str, Any] = {"action": "improve", "skill": near.name, "added": list(new.added)}
    if not new.added:
        return {**told, "captured": False, "code": "nothing-new", "why": [MEANINGS["nothing-new"], *verdict.why[1:]]}
    if dry_run:
        return {**told, "preview": new.body}
    seen = digest(tree)
    for proposal in shelf.changes.author.proposals.all("pending"):
        if any(change.path == path for change in proposal.changes):
            why = [MEANINGS["waiting"], *verdict.why[1:]]
            return {**told, "captured": False, "code": "waiting", "why": why, "proposal": proposal.id}
    answer = shelf.manage(
        [{"action": "edit", "name": near.card.path, "body": new.body}],
        actor="agent",
        origin="background",
        reason=_reason(read, verdict),
        stage=not (write and _is_agents(shelf, path)),
        viewed=lambda where, what: (os.path.realpath(where), what) == (path, seen),
    )
    return {**told, **_told(answer)}


def _is_agents(shelf: Shelf, path: str) -> bool:
    """Did an agent make the skill? What a person made is only ever changed with consent."""
    entries = [entry for entry in shelf.changes.author.journal.entries() if entry.path == path]
    return bool(entries) and (entries[0].actor, entries[0].action) == ("agent", "create")


def _free(shelf: Shelf, name: str) -> str:
    """The name, or one with a number behind it where it is taken by a skill for something else."""
    from whet.skill.names import MAX_LENGTH, slug

    taken = {slug(card.name) for card in shelf.lookout.look().catalogue.cards}
    number, found = 1, name
    while found in taken:
        number += 1
        end = f"-{number}"
        found = name[: MAX_LENGTH - len(end)].rstrip("-") + end
    return found


def _reason(read: Read, verdict: Verdict) -> str:
    """Where it comes from and why, for the history and for whoever decides."""
    numbers = ", ".join(map(str, verdict.evidence[:_EVIDENCE]))
    more = ", …" if len(verdict.evidence) > _EVIDENCE else ""
    events = f", events {numbers}{more}" if numbers else ""
    return redacted(f"{MARK}{read.label}{events}. {' '.join(verdict.why[1:])}".strip())[0]


def _steps(facts: Facts) -> list[dict[str, Any]]:
    return [{"title": redacted(step.title)[0], "events": list(step.evidence)} for step in facts.steps]


def _told(answer: dict[str, Any]) -> dict[str, Any]:
    """What of an answer of `manage` a report keeps."""
    first = answer["results"][-1] if "results" in answer else answer
    told = {"version": first["version"], "place": first["path"], "warnings": list(answer.get("warnings", ()))}
    if answer.get("staged"):
        return {**told, "staged": True, "proposal": answer["proposal"], "hint": answer["hint"]}
    return {**told, "staged": False, "entries": answer["entries"]}

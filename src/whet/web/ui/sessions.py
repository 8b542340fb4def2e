"""Sessions that can become skills: the list, the content of a session, and the four rounds that distill it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from whet.errors import WhetError
from whet.learning.distill.rounds import ROUNDS
from whet.skill.frontmatter import read_document
from whet.values import as_json
from whet.web.markdown import render_markdown
from whet.web.pages import Moved, Page
from whet.web.ui.requests import Route

if TYPE_CHECKING:
    from whet.learning.distill.rounds import Distillation
    from whet.web.ui.requests import Asked


def show_sessions(asked: Asked) -> Page:
    """Show the sessions that wait, and the newest ones that clients keep."""
    learning = asked.library.learning
    answer = {
        "sessions": [session.to_json() for session in learning.recent_sessions()],
        "learn": asked.library.workspace.config().settings.learn,
    }
    return Page("sessions.html", answer)


def show_session(asked: Asked) -> Page:
    """Show one session, and whether it is worth a skill. Nothing is changed, and no model is asked."""
    source = asked.text("source")
    learning = asked.library.learning
    read = learning.transcript(learning.open_session(source), evidence=True)
    try:
        report = learning.learn(source, dry_run=True).sessions[0].to_json()
    except WhetError as error:
        report = {"captured": False, "code": error.code, "why": [error.message]}
    answer = read.to_json()
    del answer["events"]
    answer["steps"] = [step.title for step in read.evidence.steps] if read.evidence else []
    model = asked.library.workspace.config().settings.model
    return Page("session.html", {**answer, "source": source, "report": report, "model": model})


def begin(asked: Asked) -> Moved:
    """Begin the first round for a session; with `write`, the model of the settings writes the skill."""
    learning = asked.library.learning
    model = None if asked.is_set("write") else ""
    distillation = learning.begin_distillation(learning.open_session(asked.text("source")), model=model)
    return Moved(_address(learning.distillations.keep(distillation)))


def _address(number: str) -> str:
    return f"/distill?{urlencode({'id': number})}"


def show_distillation(asked: Asked) -> Page:
    """Show the current round; after the last, the skill as it would be written."""
    learning, number = asked.library.learning, asked.text("id")
    distillation = learning.distillations.read(number)
    answer: dict[str, Any] = {"id": number, "at": distillation.at, "of": len(ROUNDS), "question": None, "made": None}
    if not distillation.done:
        return Page("distill.html", {**answer, "question": as_json(distillation.question())})
    made = learning.finish_distillation(distillation, dry_run=True).to_json()
    html = render_markdown(read_document(made["text"]).body)
    return Page("distill.html", {**answer, "made": made}, {"html": Markup(html)})  # noqa: S704  cleaned by nh3


def answer_round(asked: Asked) -> Moved:
    """Answer the current round, or go back to the previous one."""
    kept, number = asked.library.learning.distillations, asked.text("id")
    with kept.alone():
        distillation = kept.read(number)
        if asked.is_set("back"):
            distillation = distillation.back()
        elif not distillation.done:
            distillation = distillation.answer(_answers(asked, distillation))
        kept.keep(distillation, number)
    return Moved(_address(number))


def _answers(asked: Asked, distillation: Distillation) -> dict[str, Any]:
    """Return the form's values for the fields of a round; a list has a line for each entry."""
    answers: dict[str, Any] = {}
    for field in distillation.question().fields:
        if field.kind == "yes-no":
            answers[field.name] = asked.is_set(field.name)
        elif field.kind in ("list", "lines"):
            answers[field.name] = asked.text(field.name).split("\n")
        elif field.name in asked.given:
            answers[field.name] = asked.text(field.name)
    return answers


def finish(asked: Asked) -> Moved:
    """Write the skill, or propose it."""
    learning, number = asked.library.learning, asked.text("id")
    kept = learning.distillations
    with kept.alone():
        made = learning.finish_distillation(kept.read(number), stage=asked.is_set("stage"))
        kept.forget(number)
    if made.changes is not None and made.changes.proposal is not None:
        return Moved(f"/proposal?{urlencode({'number': made.changes.proposal})}", f"{made.skill} is proposed.")
    done = f"Created {made.skill}." if made.created else f"Improved {made.skill} to version {made.version}."
    shown = any(card.place == made.path for card in asked.library.workspace.snapshot().catalogue.cards)
    address = f"/skill?{urlencode({'name': made.path})}" if shown else "/sessions"  # a project may not be trusted
    return Moved(address, done, asked.library.history.undoable()[0][0].run)


ROUTES = (
    Route("GET", "/sessions", show_sessions),
    Route("GET", "/session", show_session),
    Route("POST", "/distill/begin", begin),
    Route("GET", "/distill", show_distillation),
    Route("POST", "/distill/answer", answer_round),
    Route("POST", "/distill/finish", finish),
)
